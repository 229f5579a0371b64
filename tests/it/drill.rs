//! Two coordinators, each a process, on one database; one is killed at every step between taking a
//! report and having told people, by webhook and by mail. Nothing is lost, and nothing is doubled: a
//! receiver may hear the same id twice, never two ids for one notice.

use quorate::{
    domain::{
        decision::{Live, State},
        ids::MonitorKey,
    },
    store,
};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::support::{
    coordinator_process::CoordinatorProcess,
    db::TestDb,
    drill::{Step, Trap, delivered},
    listeners::{Listeners, Medium},
    sender::{Attempts, Sender},
    whole::{Client, admit_client, until},
};

const MONITORS: usize = 3;

const WELL: Attempts = &[(40, true)];
const BROKEN: Attempts = &[(30, false), (25, false)];
const HEALED: Attempts = &[(15, true), (5, true)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Toll {
    One,
    /// The other one too, at the same moment.
    Both,
}

#[tokio::test]
async fn killed_as_it_begins_to_take_a_batch() {
    outage(Step::Accept, Step::Accept, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_waits_for_the_monitors() {
    outage(Step::Lock, Step::Lock, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_between_the_incident_and_the_state() {
    outage(Step::Decided, Step::Decided, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_before_the_raw_results_are_stored() {
    outage(Step::Copy, Step::Copy, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_in_a_commit_that_succeeds() {
    outage(Step::Commit, Step::Commit, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_in_a_commit_that_fails() {
    outage(Step::CommitLost, Step::CommitLost, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_before_its_answer_arrived() {
    outage(Step::Answer, Step::Answer, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_claims_a_webhook() {
    outage(Step::Claim, Step::Claim, Medium::Webhook, Toll::One).await;
}

#[tokio::test]
async fn killed_between_claiming_and_sending_a_webhook() {
    outage(Step::Claimed, Step::Claimed, Medium::Webhook, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_sends_a_webhook() {
    outage(Step::Send, Step::Send, Medium::Webhook, Toll::One).await;
}

#[tokio::test]
async fn killed_between_sending_and_settling_a_webhook() {
    outage(Step::Settle, Step::Settle, Medium::Webhook, Toll::One).await;
}

#[tokio::test]
async fn killed_in_the_commit_that_settles_a_webhook() {
    outage(Step::Settled, Step::Settled, Medium::Webhook, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_claims_a_mail() {
    outage(Step::Claim, Step::Claim, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_between_claiming_and_sending_a_mail() {
    outage(Step::Claimed, Step::Claimed, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_sends_a_mail() {
    outage(Step::Send, Step::Send, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_between_sending_and_settling_a_mail() {
    outage(Step::Settle, Step::Settle, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn killed_in_the_commit_that_settles_a_mail() {
    outage(Step::Settled, Step::Settled, Medium::Mail, Toll::One).await;
}

#[tokio::test]
async fn both_killed_and_one_started_again() {
    outage(Step::Copy, Step::Send, Medium::Webhook, Toll::Both).await;
    outage(Step::Commit, Step::Settle, Medium::Mail, Toll::Both).await;
}

/// All monitors go down and come back. A coordinator dies at `first` while the outage is dealt with, the
/// other one at `second` while its end is. Where the step is one of delivery, it is one by `medium`.
async fn outage(first: Step, second: Step, medium: Medium, toll: Toll) {
    let mut drill = Drill::start(medium).await;
    for location in 0..drill.agents.len() {
        let batch = drill.agents[location].batch(&drill.monitors, WELL);
        drill.agents[location].deliver(&batch, &drill.survivor.url).await;
    }
    drill.strike(first, BROKEN, toll).await;
    drill.strike(second, HEALED, toll).await;
    drill.check(&[first, second]).await;
}

struct Drill {
    db: TestDb,
    listeners: Listeners,
    medium: Medium,
    victim: CoordinatorProcess,
    survivor: CoordinatorProcess,
    agents: Vec<Sender>,
    monitors: Vec<Uuid>,
}

impl Drill {
    async fn start(medium: Medium) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let db = TestDb::new().await;
        db.storms_from(0).await;
        admit_client(&db).await;
        Trap::install(db.pool()).await;
        let listeners = Listeners::start("drill").await;
        let ca = listeners.ca_file();
        let (victim, survivor) = tokio::join!(
            CoordinatorProcess::start(&db, "one", &ca),
            CoordinatorProcess::start(&db, "two", &ca)
        );
        let client = Client::new(survivor.url.parse().unwrap());
        listeners.connect(&client).await;
        let mut agents = Vec::new();
        for name in ["eu", "us", "ap"] {
            let body = json!({"name": name, "region": name, "domain": format!("net-{name}")});
            let location = client.post("locations", body).await;
            let agent = client.post("agents", json!({"location": location["id"]})).await;
            agents.push(Sender::new(agent["secret"].as_str().unwrap(), name));
        }
        let mut monitors = Vec::new();
        for number in 0..MONITORS {
            monitors.push(monitor(db.pool(), &format!("shop-{number}")).await);
        }
        Self { db, listeners, medium, victim, survivor, agents, monitors }
    }

    /// Every location reports; by the second one's batch it is decided. The victim dies at that step, the
    /// survivor finishes, and both change their parts.
    async fn strike(&mut self, step: Step, attempts: Attempts, toll: Toll) {
        let Self { db, listeners, victim, survivor, agents, monitors, .. } = self;
        let medium = self.medium;
        let batches: Vec<_> = agents.iter_mut().map(|a| a.batch(monitors, attempts)).collect();
        let before = delivered(db.pool(), medium).await;
        agents[0].deliver(&batches[0], &survivor.url).await;

        listeners.hear_all().await;
        if step == Step::Send {
            listeners.hold(medium).await;
        }
        let trap = Trap::set(db, step, medium, victim.name).await;
        if step == Step::Answer {
            let lost = agents[1].post(&batches[1], &victim.url).await.unwrap();
            assert_eq!(usize::try_from(lost.accepted).unwrap(), batches[1].len());
            victim.kill().await;
        } else if step.delivers() {
            agents[1].deliver(&batches[1], &survivor.url).await;
            if step == Step::Send {
                for _ in 0..MONITORS {
                    listeners.hear(medium).await;
                }
            } else {
                trap.sprung(db).await;
            }
            victim.kill().await;
        } else {
            let url = victim.url.clone();
            let killed = async {
                trap.sprung(db).await;
                victim.kill().await;
            };
            let (answer, ()) = tokio::join!(agents[1].post(&batches[1], &url), killed);
            assert_eq!(answer, None, "it was killed before it could answer");
        }
        if toll == Toll::Both {
            survivor.kill().await;
        }
        let notices = trap.clear(db).await;
        let done = notices.delivered - before;
        match step {
            Step::Claim => assert_eq!((notices.leased, done), (0, 0)),
            Step::Claimed => assert_eq!((notices.leased, done), (1, 0)),
            Step::Send => assert_eq!((notices.leased, done), (MONITORS, 0)),
            Step::Settle => assert!(notices.leased > 0 && done == 0, "{notices:?}"),
            Step::Settled => assert!(done > 0, "{notices:?}"),
            _ => {}
        }

        listeners.answer_again(medium).await;
        let ca = listeners.ca_file();
        if toll == Toll::Both {
            *survivor = CoordinatorProcess::start(db, survivor.name, &ca).await;
        }
        if !step.delivers() {
            let again = agents[1].deliver(&batches[1], &survivor.url).await;
            let all = u32::try_from(batches[1].len()).unwrap();
            let expected = if step.is_stored() { (0, all) } else { (all, 0) };
            assert_eq!((again.accepted, again.duplicate), expected);
        }
        agents[2].deliver(&batches[2], &survivor.url).await;
        until("the survivor has told all", async || {
            for medium in Medium::ALL {
                if delivered(db.pool(), medium).await < before + MONITORS {
                    return None;
                }
            }
            Some(())
        })
        .await;
        *victim = CoordinatorProcess::start(db, victim.name, &ca).await;
        std::mem::swap(victim, survivor);
    }

    async fn check(mut self, steps: &[Step]) {
        let pool = self.db.pool();
        // Every report once, each known by the number it carries as its size.
        let stored: Vec<(String, Uuid, i32)> = sqlx::query_as(
            "select l.name, m.uid, r.size_bytes from report r join monitor m using (monitor_id)
             join location l using (location_id) order by 1, 3",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        let mut sent: Vec<(String, Uuid, i32)> =
            self.agents.iter().flat_map(Sender::sent).collect();
        sent.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
        assert_eq!(stored, sent);
        let instants = "(select distinct monitor_id, location_id, effective_at from report) as r";
        assert_eq!(count(pool, instants).await, sent.len() as i64);
        let fails = BROKEN.len() * MONITORS * self.agents.len();
        assert_eq!(count(pool, "report_detail").await, fails as i64);
        assert_eq!(count(pool, "report where disposition > 0").await, 0);
        assert_eq!(count(pool, "agent_boot where gaps > 0").await, 0);

        self.check_timeline().await;

        // One notice for each beginning and each end and channel, heard by all, each under one id.
        self.listeners.hear_all().await;
        self.listeners.check(pool, MONITORS).await;
        for medium in Medium::ALL {
            let (heard, once) = (self.listeners.messages(medium), 2 * MONITORS * medium.audience());
            let ours = medium == self.medium;
            let repeats = |s: &Step| ours && matches!(s, Step::Send | Step::Settle);
            // It may have been sending by the other medium when it died.
            let may_repeat = |s: &Step| match s {
                Step::Answer | Step::Send | Step::Settle | Step::Settled => true,
                Step::Claim | Step::Claimed => !ours,
                _ => false,
            };
            if steps.iter().any(repeats) {
                assert!(heard > once, "what may have arrived is sent again");
            } else if !steps.iter().any(may_repeat) {
                assert_eq!(heard, once, "nothing had been sent, so nothing is repeated");
            }
        }
    }

    /// One incident each, over; intervals without hole or overlap.
    async fn check_timeline(&self) {
        let pool = self.db.pool();
        let incidents: Vec<(Uuid, String, bool)> = sqlx::query_as(
            "select m.uid, i.peak, coalesce(i.started_at < i.ended_at and i.ended_at <= i.resolved_at, false)
             from incident i join monitor m using (monitor_id) order by m.monitor_id",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        let expected: Vec<_> =
            self.monitors.iter().map(|uid| (*uid, "down".to_owned(), true)).collect();
        assert_eq!(incidents, expected);
        for monitor in &self.monitors {
            let intervals: Vec<(i16, bool, bool)> = sqlx::query_as(
                "select state, to_at is null,
                        to_at is not distinct from lead(from_at) over (order by from_at)
                 from monitor_state join monitor using (monitor_id) where uid = $1 order by from_at",
            )
            .bind(monitor)
            .fetch_all(pool)
            .await
            .unwrap();
            let (up, down) = (State::Up.code(), State::Down.code());
            let expected = [(up, false, true), (down, false, true), (up, true, true)];
            assert_eq!(intervals, expected);
        }
    }
}

/// A monitor on all locations that has been up for ten minutes, and that recovers at once.
async fn monitor(pool: &PgPool, name: &str) -> Uuid {
    let mut conn = pool.acquire().await.unwrap();
    let now = store::now(&mut conn).await.unwrap();
    let start = now - jiff::SignedDuration::from_mins(10);
    let uid = store::id_at(now);
    let key: i32 = sqlx::query_scalar(
        "insert into monitor (uid, name, check_spec, interval_s, timeout_ms, locations, policy, created_at, updated_at)
         values ($1, $2, $3, 60, 10000, '\"all\"', '{\"recover_for_s\": 0}', $4, $4) returning monitor_id",
    )
    .bind(uid)
    .bind(name)
    .bind(json!({"kind": "http", "url": format!("https://{name}.example/")}))
    .bind(jiff_sqlx::Timestamp::from(start))
    .fetch_one(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into monitor_location (monitor_id, location_id, position)
         select $1, location_id, row_number() over (order by location_id) - 1 from location",
    )
    .bind(key)
    .execute(&mut *conn)
    .await
    .unwrap();
    let live = Live { state: State::Up, since: start.as_millisecond(), ..Live::default() };
    let row = store::live::LiveSave {
        monitor: MonitorKey(key),
        live: serde_json::to_string(&live).unwrap(),
        state: live.state.code(),
        since_at: start,
        wake_at: None,
    };
    store::live::insert(&mut conn, &row).await.unwrap();
    let interval = store::timeline::NewInterval {
        monitor: MonitorKey(key),
        from_at: start,
        state: live.state.code(),
        evidence_stale: false,
        low: false,
        incident: None,
    };
    store::timeline::begin(&mut conn, &interval).await.unwrap();
    uid
}

async fn count(pool: &PgPool, what: &str) -> i64 {
    let statement = sqlx::AssertSqlSafe(format!("select count(*) from {what}"));
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}
