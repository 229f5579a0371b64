//! Two coordinators, each a process, on one database; one is killed at every step between taking a
//! report and having told people. Nothing is lost, and nothing is doubled: a receiver may hear the same
//! id twice, never two ids for one notice.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use quorate::{
    domain::{
        channel::{ChannelConfig, ChannelKind},
        decision::{Live, State},
        ids::MonitorKey,
        observation::{Class, Observation, Outcome, RunKind},
    },
    protocol::{Batch, BatchAnswer, Report},
    store::{
        self,
        channels::{self, ChannelValues},
        seal::Sealer,
    },
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use uuid::Uuid;

use crate::support::{
    coordinator_process::CoordinatorProcess,
    db::TestDb,
    delivery::KEY,
    drill::{Step, Trap, until},
    hook_sink::{HookSink, Order},
    watch::observation,
};

/// `qrt_` and 32 bytes of sevens.
const TOKEN: &str = "qrt_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";
const MONITORS: usize = 3;

/// Seconds before now, and whether the target answered. Far enough apart that the order is beyond
/// doubt, although each coordinator measures by a clock that it set by the database's.
type Attempts = &'static [(u64, bool)];
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
    outage(Step::Accept, Step::Accept, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_waits_for_the_monitors() {
    outage(Step::Lock, Step::Lock, Toll::One).await;
}

#[tokio::test]
async fn killed_between_the_incident_and_the_state() {
    outage(Step::Decided, Step::Decided, Toll::One).await;
}

#[tokio::test]
async fn killed_before_the_raw_results_are_stored() {
    outage(Step::Copy, Step::Copy, Toll::One).await;
}

#[tokio::test]
async fn killed_in_a_commit_that_succeeds() {
    outage(Step::Commit, Step::Commit, Toll::One).await;
}

#[tokio::test]
async fn killed_in_a_commit_that_fails() {
    outage(Step::CommitLost, Step::CommitLost, Toll::One).await;
}

#[tokio::test]
async fn killed_before_its_answer_arrived() {
    outage(Step::Answer, Step::Answer, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_claims_a_notice() {
    outage(Step::Claim, Step::Claim, Toll::One).await;
}

#[tokio::test]
async fn killed_between_claiming_and_sending() {
    outage(Step::Claimed, Step::Claimed, Toll::One).await;
}

#[tokio::test]
async fn killed_while_it_sends() {
    outage(Step::Send, Step::Send, Toll::One).await;
}

#[tokio::test]
async fn killed_between_sending_and_settling() {
    outage(Step::Settle, Step::Settle, Toll::One).await;
}

#[tokio::test]
async fn killed_in_the_commit_that_settles() {
    outage(Step::Settled, Step::Settled, Toll::One).await;
}

#[tokio::test]
async fn both_killed_and_one_started_again() {
    outage(Step::Copy, Step::Send, Toll::Both).await;
    outage(Step::Commit, Step::Settle, Toll::Both).await;
}

/// All monitors go down and come back. A coordinator dies at `first` while the outage is dealt with, the
/// other one at `second` while its end is.
async fn outage(first: Step, second: Step, toll: Toll) {
    let mut drill = Drill::start().await;
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
    sink: HookSink,
    /// Requests taken from the sink before the end.
    received: usize,
    heard: BTreeMap<(String, String), Vec<String>>,
    victim: CoordinatorProcess,
    survivor: CoordinatorProcess,
    agents: Vec<Sender>,
    monitors: Vec<Uuid>,
}

impl Drill {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let db = TestDb::new().await;
        sqlx::query(
            "insert into api_token (token_id, name, role, token_hash, created_by, created_at)
             values (gen_random_uuid(), 'test', 'admin', $1, 'test', now())",
        )
        .bind(Sha256::digest(TOKEN.as_bytes()).to_vec())
        .execute(db.pool())
        .await
        .unwrap();
        Trap::install(db.pool()).await;
        let (victim, survivor) =
            tokio::join!(CoordinatorProcess::start(&db, "one"), CoordinatorProcess::start(&db, "two"));
        let sink = HookSink::start().await;
        save_channel(db.pool(), &sink.url).await;
        let mut agents = Vec::new();
        for name in ["eu", "us", "ap"] {
            let body = json!({"name": name, "region": name, "domain": format!("net-{name}")});
            let location = post(&survivor.url, "locations", body).await;
            let agent = post(&survivor.url, "agents", json!({"location": location["id"]})).await;
            agents.push(Sender::new(agent["secret"].as_str().unwrap(), name));
        }
        let mut monitors = Vec::new();
        for number in 0..MONITORS {
            monitors.push(monitor(db.pool(), &format!("shop-{number}")).await);
        }
        Self {
            db,
            sink,
            received: 0,
            heard: BTreeMap::new(),
            victim,
            survivor,
            agents,
            monitors,
        }
    }

    /// Every location reports; by the second one's batch it is decided. The victim dies at that step, the
    /// survivor finishes, and both change their parts.
    async fn strike(&mut self, step: Step, attempts: Attempts, toll: Toll) {
        let Self { db, sink, victim, survivor, agents, monitors, .. } = self;
        let batches: Vec<_> = agents.iter_mut().map(|a| a.batch(monitors, attempts)).collect();
        let before: i64 = count(db.pool(), "notice where outcome = 'delivered'").await;
        agents[0].deliver(&batches[0], &survivor.url).await;

        for request in sink.drain() {
            note(&mut self.heard, request);
            self.received += 1;
        }
        if step == Step::Send {
            sink.always(Order::Hold);
        }
        let trap = Trap::set(db, step, victim.name).await;
        if step == Step::Answer {
            let lost = agents[1].post(&batches[1], &victim.url).await.unwrap();
            assert_eq!(usize::try_from(lost.accepted).unwrap(), batches[1].len());
            victim.kill().await;
        } else if step.delivers() {
            agents[1].deliver(&batches[1], &survivor.url).await;
            if step == Step::Send {
                for _ in 0..MONITORS {
                    note(&mut self.heard, sink.next().await);
                    self.received += 1;
                }
            } else {
                trap.sprung(db.pool()).await;
            }
            victim.kill().await;
        } else {
            let url = victim.url.clone();
            let killed = async {
                trap.sprung(db.pool()).await;
                victim.kill().await;
            };
            let (answer, ()) = tokio::join!(agents[1].post(&batches[1], &url), killed);
            assert_eq!(answer, None, "it was killed before it could answer");
        }
        if toll == Toll::Both {
            survivor.kill().await;
        }
        let notices = trap.clear(db.pool()).await;
        let delivered = notices.delivered - before;
        match step {
            Step::Claim => assert_eq!((notices.leased, delivered), (0, 0)),
            Step::Claimed => assert_eq!((notices.leased, delivered), (1, 0)),
            Step::Send => assert_eq!((notices.leased, delivered), (MONITORS as i64, 0)),
            Step::Settle => assert!(notices.leased > 0 && delivered == 0, "{notices:?}"),
            Step::Settled => assert!(delivered > 0, "{notices:?}"),
            _ => {}
        }

        sink.always(Order::Answer(200, "", "thanks"));
        if toll == Toll::Both {
            *survivor = CoordinatorProcess::start(db, survivor.name).await;
        }
        if !step.delivers() {
            let again = agents[1].deliver(&batches[1], &survivor.url).await;
            let all = u32::try_from(batches[1].len()).unwrap();
            let expected = if step.is_stored() { (0, all) } else { (all, 0) };
            assert_eq!((again.accepted, again.duplicate), expected);
        }
        agents[2].deliver(&batches[2], &survivor.url).await;
        let due = before + MONITORS as i64;
        until("the survivor has told all", async || {
            count(db.pool(), "notice where outcome = 'delivered'").await == due
        })
        .await;
        *victim = CoordinatorProcess::start(db, victim.name).await;
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
        let mut sent: Vec<(String, Uuid, i32)> = self.agents.iter().flat_map(Sender::sent).collect();
        sent.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
        assert_eq!(stored, sent);
        let instants = "(select distinct monitor_id, location_id, effective_at from report) as r";
        assert_eq!(count(pool, instants).await, sent.len() as i64);
        let fails = BROKEN.len() * MONITORS * self.agents.len();
        assert_eq!(count(pool, "report_detail").await, fails as i64);
        assert_eq!(count(pool, "report where disposition > 0").await, 0);
        assert_eq!(count(pool, "agent_boot where gaps > 0").await, 0);

        self.check_timeline().await;

        // One notice for each beginning and each end, all delivered, each under one id of its own.
        for request in self.sink.drain() {
            note(&mut self.heard, request);
            self.received += 1;
        }
        let notices: Vec<(Uuid, String, Uuid, String)> =
            sqlx::query_as("select incident_id, kind, notice_id, outcome from notice")
                .fetch_all(pool)
                .await
                .unwrap();
        let mut expected = BTreeMap::new();
        for (incident, kind, id, outcome) in notices {
            assert_eq!(outcome, "delivered");
            let twin = expected.insert((incident.to_string(), format!("incident.{kind}")), id.to_string());
            assert_eq!(twin, None, "two notices of one {kind}");
        }
        assert_eq!(expected.len(), 2 * MONITORS);
        let ids = |all: &Vec<String>| all.iter().cloned().collect::<BTreeSet<_>>();
        let heard: BTreeMap<_, _> = self.heard.iter().map(|(what, all)| (what.clone(), ids(all))).collect();
        let expected: BTreeMap<_, _> =
            expected.into_iter().map(|(what, id)| (what, BTreeSet::from([id]))).collect();
        assert_eq!(heard, expected);
        let repeated = steps.iter().any(|s| matches!(s, Step::Send | Step::Settle));
        if repeated {
            assert!(self.received > 2 * MONITORS, "what may have arrived is sent again");
        } else if !steps.iter().any(|s| matches!(s, Step::Answer | Step::Settled)) {
            assert_eq!(self.received, 2 * MONITORS, "nothing had been sent, so nothing is repeated");
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
        let expected: Vec<_> = self.monitors.iter().map(|uid| (*uid, "down".to_owned(), true)).collect();
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

/// Delivers as an agent does: in the order of its numbers, again until somebody took it.
struct Sender {
    token: String,
    location: &'static str,
    boot: Uuid,
    http: reqwest::Client,
    /// Monitor of each report, by its number less one.
    monitors: Vec<Uuid>,
}

/// A report that waits, and when its attempt began.
struct Kept {
    report: Report,
    ago: Duration,
    since: Instant,
}

impl Sender {
    fn new(token: &str, location: &'static str) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        Self { token: token.to_owned(), location, boot: Uuid::new_v4(), http, monitors: Vec::new() }
    }

    fn batch(&mut self, monitors: &[Uuid], attempts: Attempts) -> Vec<Kept> {
        let mut batch = Vec::new();
        for (at, (seconds, well)) in attempts.iter().enumerate() {
            for monitor in monitors {
                self.monitors.push(*monitor);
                let seq = i64::try_from(self.monitors.len()).unwrap();
                let report = Report {
                    seq,
                    monitor: *monitor,
                    check_version: 1,
                    kind: if at == 0 { RunKind::Scheduled } else { RunKind::Retry },
                    age_at_send_ms: 0.0,
                    age_estimated: false,
                    more: false,
                    observation: Observation { size: u64::try_from(seq).ok(), ..saw(*well) },
                };
                let ago = Duration::from_secs(*seconds);
                batch.push(Kept { report, ago, since: Instant::now() });
            }
        }
        batch
    }

    /// Once; none if no answer came.
    async fn post(&self, batch: &[Kept], url: &str) -> Option<BatchAnswer> {
        let reports = batch.iter().map(|kept| {
            let age = kept.ago + kept.since.elapsed();
            Report { age_at_send_ms: age.as_secs_f64() * 1000.0, ..kept.report.clone() }
        });
        let batch = Batch { boot: self.boot, rtt_ms: 0.0, reports: reports.collect() };
        let json = serde_json::to_vec(&batch).unwrap();
        let request = self
            .http
            .post(format!("{url}agent/v1/reports"))
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .header("content-encoding", "zstd")
            .body(zstd::encode_all(&*json, 0).unwrap());
        let answer = request.send().await.ok()?.error_for_status().ok()?;
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }

    /// Until it is taken; nothing of it is refused.
    async fn deliver(&self, batch: &[Kept], url: &str) -> BatchAnswer {
        let mut taken = None;
        until("a batch is taken", async || {
            taken = self.post(batch, url).await;
            taken.is_some()
        })
        .await;
        let taken = taken.unwrap();
        assert_eq!(taken.rejected, []);
        taken
    }

    fn sent(&self) -> impl Iterator<Item = (String, Uuid, i32)> {
        (1..).zip(&self.monitors).map(|(seq, monitor)| (self.location.to_owned(), *monitor, seq))
    }
}

fn saw(well: bool) -> Observation {
    match well {
        true => observation(Outcome::Pass, None, Some(200)),
        false => observation(Outcome::Fail, Some(Class::ConnectRefused), None),
    }
}

/// A webhook that hears everything, saved as the coordinators' key can open it.
async fn save_channel(pool: &PgPool, url: &str) {
    let id = Uuid::new_v4();
    let mut parsed = ChannelConfig::parse(ChannelKind::Webhook, &json!({ "url": url }), None).unwrap();
    parsed.ensure_key([7; 32]);
    let row = id.to_string();
    let text = parsed.secrets.to_text();
    let sealed = Sealer::from_text(KEY).unwrap().seal(channels::place(&row), text.expose().as_bytes());
    let values = ChannelValues {
        name: "hook",
        kind: "webhook",
        config: &parsed.config.to_json(),
        sealed: Some(&sealed),
        is_default: true,
        min_severity: "degraded",
        enabled: true,
    };
    let mut conn = pool.acquire().await.unwrap();
    let now = store::now(&mut conn).await.unwrap();
    channels::insert(&mut conn, id, &values, now).await.unwrap();
}

/// A monitor on all locations that has been up for ten minutes, and that recovers at once.
async fn monitor(pool: &PgPool, name: &str) -> Uuid {
    let mut conn = pool.acquire().await.unwrap();
    let now = store::now(&mut conn).await.unwrap();
    let start = now - jiff::SignedDuration::from_mins(10);
    let uid = Uuid::new_v4();
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

/// Sorts a request by incident and type.
fn note(
    heard: &mut BTreeMap<(String, String), Vec<String>>,
    request: crate::support::hook_sink::Received,
) {
    let body = request.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let what = (text(&body["data"]["incident"]["id"]), text(&body["type"]));
    heard.entry(what).or_default().push(request.id().to_owned());
}

async fn post(base: &str, path: &str, body: Value) -> Value {
    let request = reqwest::Client::new().post(format!("{base}api/v1/{path}")).bearer_auth(TOKEN);
    let answer = request.json(&body).send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{path}: {status} {text}");
    serde_json::from_str(&text).unwrap()
}

async fn count(pool: &PgPool, what: &str) -> i64 {
    let statement = sqlx::AssertSqlSafe(format!("select count(*) from {what}"));
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}
