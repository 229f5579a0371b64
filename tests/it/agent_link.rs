//! The agent against a coordinator's end that misbehaves: nothing is lost, nothing blocks.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use quorate::{
    agent,
    clock::Clock,
    config::{AgentConfig, LinkTiming},
    domain::{
        observation::{Class, Outcome, RunKind},
        secret::Secret,
    },
    protocol::{
        Assignment, AssignmentChange, AssignmentSet, ProbeNow, Purpose, RejectCode, Rejected,
        Report, Resend, Secrets, SettledUpTo,
    },
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{
    coordinator_end::{self as end, CoordinatorEnd, Reply, Seen},
    scratch::Scratch,
};

/// An agent in this process.
struct Agent {
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Agent {
    fn start(end: &CoordinatorEnd, dir: &Path) -> Self {
        Self::start_with(end, dir, |_| {})
    }

    fn start_with(end: &CoordinatorEnd, dir: &Path, change: impl FnOnce(&mut AgentConfig)) -> Self {
        let mut config =
            AgentConfig::new(end.url.clone(), Secret::from("qra_test"), dir.to_owned());
        config.allow_net = vec!["127.0.0.0/8".parse().unwrap()];
        config.timing = LinkTiming {
            heartbeat: Duration::from_millis(30),
            silence: Duration::from_secs(30),
            flush: Duration::from_millis(5),
            backoff: (Duration::from_millis(5), Duration::from_millis(20)),
            refused: Duration::from_millis(20),
            request: Duration::from_secs(10),
            farewell: Duration::from_millis(300),
        };
        change(&mut config);
        let stop = CancellationToken::new();
        let task = tokio::spawn(agent::run(config, Clock::system(), stop.clone()));
        Self { stop, task }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// A web server that answers `status` and counts.
async fn target(status: StatusCode) -> (u16, Arc<AtomicU64>) {
    let hits = Arc::new(AtomicU64::new(0));
    let count = hits.clone();
    let handler = move || {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(status)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let routes = Router::new().route("/", get(handler));
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (port, hits)
}

/// A port that accepts and says nothing.
async fn silent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    port
}

fn assignment(id: u128, port: u16) -> Assignment {
    Assignment {
        monitor: Uuid::from_u128(id),
        name: format!("monitor {id}"),
        check_version: 1,
        check: json!({"kind": "http", "url": format!("http://127.0.0.1:{port}/")}),
        secrets: Secrets::default(),
        interval_s: 3_600,
        timeout_ms: 5_000,
        slow_ms: None,
        position: 0,
        of: 1,
        fail_after: 2,
        retry_gap_ms: 10,
        pass_after: 2,
        pass_gap_ms: 10,
        vote_down: false,
    }
}

fn set(rev: i64, ids: impl IntoIterator<Item = u128>, port: u16) -> AssignmentSet {
    AssignmentSet { rev, assignments: ids.into_iter().map(|id| assignment(id, port)).collect() }
}

fn ask(purpose: Purpose, monitor: u128) -> ProbeNow {
    ProbeNow {
        request: Uuid::from_u128(1_000 + monitor),
        purpose,
        monitor: Some(Uuid::from_u128(monitor)),
        check: None,
        secrets: Secrets::default(),
        timeout_ms: None,
        expires_in_ms: 10_000,
    }
}

fn monitors(seen: &Seen) -> BTreeSet<u128> {
    seen.accepted.values().map(|report| report.monitor.as_u128()).collect()
}

fn of(seen: &Seen, id: u128) -> Vec<&Report> {
    seen.accepted.values().filter(|report| report.monitor.as_u128() == id).collect()
}

/// Every batch holds a run of sequences, and none begins before one that was accepted has ended.
fn assert_in_order(seen: &Seen) {
    for batch in &seen.batches {
        let seqs: Vec<i64> = batch.reports.iter().map(|report| report.seq).collect();
        assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    }
}

#[tokio::test]
async fn reports_arrive_in_order_with_age_and_token() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-order"));
    let (port, hits) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..30, port)).await;
    end.until("thirty reports", |seen| seen.accepted.len() == 30).await;
    agent.stop().await;
    end.with(|seen| {
        assert_in_order(seen);
        assert_eq!(
            seen.accepted.keys().map(|key| key.1).collect::<Vec<_>>(),
            (1..=30).collect::<Vec<_>>()
        );
        assert_eq!((monitors(seen).len(), hits.load(Ordering::Relaxed)), (30, 30));
        assert_eq!(
            (seen.streams.clone(), seen.tokens.clone()),
            (vec![None], vec!["Bearer qra_test".to_owned()])
        );
        for report in seen.accepted.values() {
            assert_eq!((report.kind, report.more), (RunKind::Scheduled, false));
            assert_eq!(report.observation.outcome, Outcome::Pass, "{:?}", report.observation);
            assert!(
                report.age_at_send_ms >= f64::from(report.observation.phases_us.total) / 1_000.0
            );
            assert!(!report.age_estimated);
        }
        let beat = seen.heartbeats.last().unwrap();
        assert_eq!((beat.boot, beat.dropped), (seen.batches[0].boot, 0));
    });
}

#[tokio::test]
async fn a_lost_answer_makes_a_repetition_and_no_gap() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-lost"));
    let (port, _) = target(StatusCode::OK).await;
    end.with(|seen| seen.replies = [Reply::Vanish, Reply::Vanish].into());
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..10, port)).await;
    end.until("ten reports, one of them again", |seen| {
        let sent: usize = seen.batches.iter().map(|batch| batch.reports.len()).sum();
        seen.accepted.len() == 10 && sent > 10 && seen.replies.is_empty()
    })
    .await;
    end.until("nothing waits", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 0))
        .await;
    agent.stop().await;
    end.with(|seen| {
        assert_in_order(seen);
        let first = &seen.batches[0].reports;
        let again = &seen.batches[1].reports;
        assert_eq!(first[0].seq, again[0].seq);
        assert_eq!(first[0].observation, again[0].observation);
        assert!(first[0].age_at_send_ms < again[0].age_at_send_ms, "ages go on counting");
    });
}

#[tokio::test]
async fn one_report_that_cannot_be_read_is_set_aside_and_holds_up_nobody() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-poison"));
    let (port, _) = target(StatusCode::OK).await;
    // First everything piles up, so that the bad one travels with others.
    end.with(|seen| seen.replies = vec![Reply::Busy; 200].into());
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..20, port)).await;
    end.until("twenty wait", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 20))
        .await;
    end.with(|seen| {
        seen.poison = Some(Uuid::from_u128(5));
        seen.replies.clear();
        seen.batches.clear();
    });
    end.until("all but one", |seen| seen.accepted.len() == 19).await;
    end.with(|seen| seen.poison = None);
    end.send(end::PROBE_NOW, &ask(Purpose::Confirm, 5)).await;
    end.until("the monitor goes on", |seen| !of(seen, 5).is_empty()).await;
    agent.stop().await;
    end.with(|seen| {
        assert_eq!(of(seen, 5)[0].kind, RunKind::Confirm);
        assert_eq!(seen.accepted.len(), 20);
        assert_in_order(seen);
        let bad: Vec<_> = seen
            .batches
            .iter()
            .filter(|batch| batch.reports.iter().any(|it| it.monitor == Uuid::from_u128(5)))
            .map(|batch| batch.reports.len())
            .collect();
        // Halved until it stands alone, which happens once; then its successor.
        assert_eq!(bad.first(), Some(&20), "{bad:?}");
        assert!(
            bad.ends_with(&[1, 1]) && bad[..bad.len() - 2].iter().all(|size| *size > 1),
            "{bad:?}"
        );
    });
    let aside: Vec<_> = std::fs::read_dir(dir.path().join("set-aside")).unwrap().collect();
    assert_eq!(aside.len(), 1);
}

#[tokio::test]
async fn a_batch_that_is_too_large_comes_in_smaller_ones() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-large"));
    let (port, _) = target(StatusCode::OK).await;
    // First everything piles up, so that there is a large batch to refuse.
    end.with(|seen| seen.replies = vec![Reply::Busy; 200].into());
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..50, port)).await;
    end.until("fifty wait", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 50))
        .await;
    end.with(|seen| {
        seen.largest = Some(7);
        seen.replies.clear();
    });
    end.until("fifty reports", |seen| seen.accepted.len() == 50).await;
    agent.stop().await;
    end.with(|seen| {
        assert_in_order(seen);
        assert!(seen.batches.iter().any(|batch| batch.reports.len() > 7));
    });
}

#[tokio::test]
async fn refusals_errors_and_strangers_lose_nothing() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-errors"));
    let (port, _) = target(StatusCode::OK).await;
    end.with(|seen| {
        seen.replies = vec![
            Reply::Status(401),
            Reply::Busy,
            Reply::Portal,
            Reply::Status(500),
            Reply::Status(429),
            Reply::Status(302),
            Reply::Status(403),
            Reply::Status(404),
            Reply::Status(204),
        ]
        .into();
    });
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..10, port)).await;
    end.until("ten reports", |seen| seen.accepted.len() == 10).await;
    end.until("nothing waits", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 0))
        .await;
    agent.stop().await;
    end.with(|seen| {
        assert!(seen.replies.is_empty());
        assert_in_order(seen);
        assert_eq!(seen.batches[..10].iter().map(|it| it.reports[0].seq).max(), Some(1));
    });
}

#[tokio::test]
async fn rejected_reports_are_settled_like_the_others() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-rejected"));
    let (port, _) = target(StatusCode::OK).await;
    let rejected = Rejected { seq: 1, code: RejectCode::UnknownMonitor };
    end.with(|seen| seen.replies = [Reply::Reject(vec![rejected])].into());
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..3, port)).await;
    end.until("three reports", |seen| seen.accepted.len() == 3).await;
    end.until("nothing waits", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 0))
        .await;
    agent.stop().await;
    end.with(|seen| {
        let sent: usize = seen.batches.iter().map(|batch| batch.reports.len()).sum();
        assert_eq!(sent, 3);
    });
}

#[tokio::test]
async fn a_stream_that_is_cut_goes_on_where_it_was() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-stream"));
    let (port, _) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(7, 0..2, port)).await;
    end.until("the first two", |seen| monitors(seen).len() == 2).await;
    // In the middle of an event.
    let change =
        |rev, id| AssignmentChange { rev, upsert: vec![assignment(id, port)], remove: vec![] };
    let text = serde_json::to_string(&change(8, 2)).unwrap();
    end.send_text(format!("event: change\ndata: {}", &text[..40])).await;
    end.cut();
    end.until("a second stream", |seen| seen.streams.len() == 2).await;
    end.send(end::CHANGE, &change(8, 2)).await;
    end.until("the third monitor", |seen| monitors(seen).len() == 3).await;
    // In an orderly way.
    end.end_stream();
    end.until("a third stream", |seen| seen.streams.len() == 3).await;
    // An event that nobody can read: the whole set is wanted again.
    end.send_text("event: change\ndata: {\"rev\":\n\n".to_owned()).await;
    end.until("a fourth stream", |seen| seen.streams.len() == 4).await;
    end.with(|seen| assert_eq!(seen.streams, [None, Some(7), Some(8), None]));
    agent.stop().await;
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_left() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-silent"));
    let agent = Agent::start_with(&end, dir.path(), |config| {
        config.timing.silence = Duration::from_millis(50);
    });
    end.until("another stream", |seen| seen.streams.len() >= 3).await;
    agent.stop().await;
}

#[tokio::test]
async fn one_assignment_that_cannot_be_read_costs_only_itself() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-odd"));
    let (port, _) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    let mut odd = serde_json::to_value(set(1, 0..3, port)).unwrap();
    odd["assignments"][1]["interval_s"] = json!("soon");
    odd["assignments"][2]["check"]["kind"] = json!("from the future");
    end.send(end::SET, &odd).await;
    end.until("two reports", |seen| seen.accepted.len() == 2).await;
    agent.stop().await;
    end.with(|seen| {
        assert_eq!(monitors(seen), [0, 2].into());
        let unknown = &of(seen, 2)[0].observation;
        assert_eq!((unknown.outcome, unknown.class), (Outcome::Error, Some(Class::Internal)));
        assert!(unknown.message.contains("update the agent"), "{}", unknown.message);
    });
}

#[tokio::test]
async fn cut_off_and_started_anew_it_probes_on_and_delivers_later() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-cut-off"));
    let (port, hits) = target(StatusCode::OK).await;
    let first = Agent::start(&end, dir.path());
    let mut often = set(3, 0..4, port);
    often.assignments.iter_mut().for_each(|it| it.interval_s = 1);
    end.send(end::SET, &often).await;
    end.until("reports of all", |seen| monitors(seen).len() == 4).await;
    end.set_reachable(false);
    let before = hits.load(Ordering::Relaxed);
    wait_for(|| hits.load(Ordering::Relaxed) >= before + 4).await;
    first.stop().await;
    // Nobody to ask, and still it knows what to do.
    let second = Agent::start(&end, dir.path());
    let before = hits.load(Ordering::Relaxed);
    wait_for(|| hits.load(Ordering::Relaxed) >= before + 4).await;
    let boots = end.with(|seen| seen.accepted.keys().map(|key| key.0).collect::<BTreeSet<_>>());
    end.set_reachable(true);
    end.until("everything", |seen| {
        seen.accepted.len() as u64 + 4 >= hits.load(Ordering::Relaxed)
            && seen.accepted.keys().any(|key| !boots.contains(&key.0))
            // The stream has a rhythm of its own, and may come last.
            && seen.streams.len() > 1
            && seen
                .heartbeats
                .last()
                .is_some_and(|beat| beat.spool == 0 && !boots.contains(&beat.boot))
    })
    .await;
    second.stop().await;
    end.with(|seen| {
        assert_in_order(seen);
        assert_eq!(seen.streams.last(), Some(&Some(3)), "it goes on from the set on its disk");
        for boot in seen.accepted.keys().map(|key| key.0).collect::<BTreeSet<_>>() {
            let seqs: Vec<i64> =
                seen.accepted.keys().filter(|key| key.0 == boot).map(|key| key.1).collect();
            assert_eq!(seqs, (1..=seqs.len() as i64).collect::<Vec<_>>(), "{boot}");
        }
        assert!(seen.accepted.values().all(|report| !report.age_estimated));
    });
}

#[tokio::test]
async fn a_failure_is_repeated_and_said_to_have_a_sequel() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-retry"));
    let (port, hits) = target(StatusCode::INTERNAL_SERVER_ERROR).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, [1], port)).await;
    end.until("two attempts", |seen| seen.accepted.len() == 2).await;
    // Now it is down here: a pass is repeated as well.
    let (fine, _) = target(StatusCode::OK).await;
    let mut mended = assignment(1, fine);
    mended.check_version = 2;
    end.send(end::CHANGE, &AssignmentChange { rev: 2, upsert: vec![mended], remove: vec![] }).await;
    end.until("two more", |seen| seen.accepted.len() == 4).await;
    agent.stop().await;
    end.with(|seen| {
        let runs: Vec<_> = of(seen, 1)
            .iter()
            .map(|it| (it.check_version, it.kind, it.more, it.observation.class))
            .collect();
        let status = Some(Class::Status);
        assert_eq!(
            runs,
            [
                (1, RunKind::Scheduled, true, status),
                (1, RunKind::Retry, false, status),
                (2, RunKind::Scheduled, true, None),
                (2, RunKind::Retry, false, None),
            ]
        );
    });
    assert_eq!(hits.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn probes_on_request_are_answered() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-asked"));
    let (port, _) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, [1], port)).await;
    end.until("the first run", |seen| seen.accepted.len() == 1).await;
    end.send(end::PROBE_NOW, &ask(Purpose::Manual, 1)).await;
    let mut attempt = ask(Purpose::Try, 2);
    attempt.monitor = None;
    attempt.check =
        Some(json!({"kind": "http", "url": format!("http://127.0.0.1:{port}/${{secret:path}}")}));
    attempt.secrets = Secrets([("path".to_owned(), "nowhere".to_owned())].into());
    end.send(end::PROBE_NOW, &attempt).await;
    end.send(end::PROBE_NOW, &ask(Purpose::Manual, 3)).await;
    end.until("three answers and one report", |seen| {
        seen.answers.len() == 3 && seen.accepted.len() == 2
    })
    .await;
    agent.stop().await;
    end.with(|seen| {
        let answer = |id: u128| {
            let found = seen.answers.iter().find(|it| it.request == Uuid::from_u128(1_000 + id));
            found.unwrap().observation.clone()
        };
        assert_eq!(answer(1).outcome, Outcome::Pass);
        assert_eq!(answer(2).status, Some(404));
        assert!(
            !serde_json::to_string(&answer(2)).unwrap().contains("nowhere"),
            "secrets stay here"
        );
        assert_eq!(answer(3).class, Some(Class::Internal), "not our monitor");
        assert_eq!(of(seen, 1).last().unwrap().kind, RunKind::Manual);
    });
}

#[tokio::test]
async fn settled_reports_come_again_when_a_restored_coordinator_asks() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-resend"));
    let (port, _) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, 0..6, port)).await;
    end.until("six reports", |seen| seen.accepted.len() == 6).await;
    end.until("all settled", |seen| seen.heartbeats.last().is_some_and(|beat| beat.spool == 0))
        .await;
    let boot = end.with(|seen| {
        seen.accepted.clear();
        seen.batches[0].boot
    });
    end.until("it says what was settled", |seen| {
        let settled = &seen.heartbeats.last().unwrap().settled;
        settled == &[SettledUpTo { boot, seq: 6 }]
    })
    .await;
    end.with(|seen| seen.resend = vec![Resend { boot, after_seq: 2 }]);
    end.until("four of them again", |seen| seen.accepted.len() == 4).await;
    // A batch that is not taken, because what was before it is lost.
    end.with(|seen| {
        seen.accepted.clear();
        seen.replies.push_back(Reply::ResendAfter(3));
    });
    end.send(end::PROBE_NOW, &ask(Purpose::Confirm, 5)).await;
    end.until("all after the third, and the new one", |seen| seen.accepted.len() == 4).await;
    agent.stop().await;
    end.with(|seen| {
        let seqs: Vec<i64> = seen.accepted.keys().map(|(_, seq)| *seq).collect();
        assert_eq!(seqs, [4, 5, 6, 7]);
    });
}

#[tokio::test]
async fn a_request_whose_time_is_over_is_not_run() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-expired"));
    let (port, hits) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, [1], port)).await;
    end.until("the first run", |seen| seen.accepted.len() == 1).await;
    for purpose in [Purpose::Manual, Purpose::Confirm] {
        end.send(end::PROBE_NOW, &ProbeNow { expires_in_ms: 0, ..ask(purpose, 1) }).await;
    }
    end.send(end::PROBE_NOW, &ProbeNow { request: Uuid::from_u128(7), ..ask(Purpose::Manual, 1) })
        .await;
    end.until("the request in time is answered", |seen| seen.answers.len() == 1).await;
    agent.stop().await;
    end.with(|seen| {
        assert_eq!(seen.answers[0].request, Uuid::from_u128(7));
        assert_eq!(seen.answers.len(), 1);
    });
    assert_eq!(hits.load(Ordering::Relaxed), 2, "the first run and the request in time");
}

#[tokio::test]
async fn a_stopping_agent_records_what_it_cut_short_and_delivers_it() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-stop"));
    let port = silent().await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::SET, &set(1, [1], port)).await;
    end.until("a running probe", |seen| {
        seen.heartbeats.last().is_some_and(|beat| beat.in_flight == 1)
    })
    .await;
    agent.stop().await;
    end.with(|seen| {
        let report = of(seen, 1)[0];
        assert_eq!(report.observation.class, Some(Class::Cancelled));
        assert!(!report.more);
    });
}

#[tokio::test]
async fn an_agent_without_a_free_place_says_so_instead_of_blaming_the_target() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-busy"));
    let (silent, (port, hits)) = (silent().await, target(StatusCode::OK).await);
    let agent = Agent::start_with(&end, dir.path(), |config| config.max_in_flight = 1);
    let mut both = set(1, [1], silent);
    both.assignments[0].timeout_ms = 20_000;
    both.assignments.push(assignment(2, port));
    end.send(end::SET, &both).await;
    end.until("the second monitor", |seen| !of(seen, 2).is_empty()).await;
    agent.stop().await;
    end.with(|seen| {
        let report = &of(seen, 2)[0].observation;
        assert_eq!(report.class, Some(Class::AgentOverload));
        assert!(report.message.contains("--max-in-flight"), "{}", report.message);
    });
    assert_eq!(hits.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn references_are_reported_with_heartbeats() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-references"));
    let (port, _) = target(StatusCode::NO_CONTENT).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let agent = Agent::start_with(&end, dir.path(), |config| {
        config.references = vec![
            format!("http://127.0.0.1:{port}/"),
            format!("127.0.0.1:{closed}"),
            format!("http://127.0.0.1:{closed}/"),
        ];
    });
    end.until("a round", |seen| {
        seen.heartbeats.last().is_some_and(|beat| beat.selfcheck.is_some())
    })
    .await;
    // Asked for, the next round does not wait for its time.
    end.with(|seen| {
        let round = seen.heartbeats.last().unwrap().selfcheck.clone().unwrap();
        assert_eq!((&round["round"], &round["bad_rounds"]), (&json!(1), &json!(1)));
        seen.self_check = true;
    });
    end.until("another round", |seen| {
        let last = seen.heartbeats.last().and_then(|beat| beat.selfcheck.as_ref());
        last.is_some_and(|check| check["round"] == 2)
    })
    .await;
    agent.stop().await;
    let round = end.with(|seen| seen.heartbeats.last().unwrap().selfcheck.clone().unwrap());
    let round: quorate::domain::location::selfcheck::SelfCheck =
        serde_json::from_value(round).unwrap();
    assert_eq!((round.round, round.bad_rounds), (2, 2));
    assert_eq!(round.targets.iter().map(|it| it.ok).collect::<Vec<_>>(), [true, false, false]);
    assert!(round.targets[1].message.contains("refused"), "{:?}", round.targets[1]);
}

#[tokio::test]
async fn a_ping_alone_tells_the_time_and_unknown_events_are_passed_over() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-ping"));
    let (port, _) = target(StatusCode::OK).await;
    let agent = Agent::start(&end, dir.path());
    end.send(end::PING, &json!({"now": "2026-01-01T00:00:00Z", "later": 1})).await;
    end.send("news", &json!({"from": "tomorrow"})).await;
    end.send(end::SET, &set(1, [1], port)).await;
    end.until("a report", |seen| seen.accepted.len() == 1).await;
    agent.stop().await;
    end.with(|seen| assert_eq!(seen.streams.len(), 1));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_at_the_start() {
    let (end, dir) = (CoordinatorEnd::start().await, Scratch::new("link-settings"));
    let refused = async |change: fn(&mut AgentConfig)| {
        let agent = Agent::start_with(&end, dir.path(), change);
        format!("{:#}", agent.task.await.unwrap().unwrap_err())
    };
    let why = refused(|config| config.coordinator_url = "http://q.example".parse().unwrap()).await;
    assert!(why.contains("--insecure-http"), "{why}");
    let why = refused(|config| config.references = vec!["somewhere".to_owned()]).await;
    assert!(why.contains("--reference"), "{why}");
    let why = refused(|config| config.spool_dir = Some("/proc/no/such".into())).await;
    assert!(why.contains("--spool-dir"), "{why}");
    let first = Agent::start(&end, dir.path());
    end.until("the first one runs", |seen| !seen.heartbeats.is_empty()).await;
    let why = refused(|_| {}).await;
    assert!(why.contains("another agent"), "{why}");
    first.stop().await;
}

/// Waits for something that nobody announces.
async fn wait_for(mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "never happened");
}
