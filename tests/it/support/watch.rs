//! Locations, agents and monitors put straight into the database, and reports handed to triage: for
//! tests of deciding that need no network.

use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{
        ids::{LocationKey, MonitorKey},
        observation::{Class, Observation, Outcome, Phases, RunKind},
    },
    store,
    triage::{Delivered, ReportBatch, Reported, Settled, Triage},
    upkeep::Upkeep,
};
use sqlx::PgPool;
use uuid::Uuid;

use super::db::TestDb;

/// One database with locations `eu`, `us`, `ap` in a region and a network each, an agent at each, and
/// whatever monitors the test adds.
pub(crate) struct Watch {
    pub(crate) db: TestDb,
    pub(crate) triage: Triage,
    pub(crate) agents: Vec<Agent>,
    pub(crate) start: Timestamp,
}

pub(crate) struct Agent {
    pub(crate) id: Uuid,
    pub(crate) location: LocationKey,
    boot: Uuid,
    seq: i64,
}

impl Agent {
    /// A batch of reports that began at the given instants.
    pub(crate) fn batch(
        &mut self,
        now: Timestamp,
        reports: impl IntoIterator<Item = (Uuid, Timestamp, Observation)>,
    ) -> ReportBatch {
        let reports = reports
            .into_iter()
            .map(|(monitor, at, observation)| {
                self.seq += 1;
                let report = Reported {
                    monitor,
                    check_version: 1,
                    kind: RunKind::Scheduled,
                    age_at_send_ms: now.duration_since(at).as_secs_f64() * 1000.0,
                    age_estimated: false,
                    observation,
                };
                Delivered { seq: self.seq, report: Some(report) }
            })
            .collect();
        ReportBatch {
            agent: self.id,
            location: self.location,
            boot: self.boot,
            rtt_ms: 0.0,
            sent_at: None,
            settled: 0,
            reports,
        }
    }
}

impl Watch {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        let start: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        let triage = Triage::new(db.pool().clone());
        let mut agents = Vec::new();
        for name in ["eu", "us", "ap"] {
            agents.push(add_location(db.pool(), name, start).await);
        }
        let watch = Self { db, triage, agents, start };
        watch.upkeep().partitions(start).await.unwrap();
        watch.db.storms_from(0).await;
        watch
    }

    pub(crate) fn pool(&self) -> &PgPool {
        self.db.pool()
    }

    /// Seconds after the start.
    pub(crate) fn at(&self, second: i64) -> Timestamp {
        self.start + SignedDuration::from_secs(second)
    }

    pub(crate) fn upkeep(&self) -> Upkeep {
        Upkeep::new(self.db.pool().clone(), quorate::clock::Clock::manual(self.start))
    }

    /// A monitor on all locations, every 60 s.
    pub(crate) async fn monitor(&self, name: &str) -> Uuid {
        let uid = store::id_at(self.start);
        let key: i32 = sqlx::query_scalar(
            "insert into monitor (uid, name, check_spec, interval_s, timeout_ms, locations, policy, created_at, updated_at)
             values ($1, $2, $3, 60, 10000, '\"all\"', '{}', $4, $4) returning monitor_id",
        )
        .bind(uid)
        .bind(name)
        .bind(serde_json::json!({"kind": "http", "url": format!("https://{name}.example/")}))
        .bind(jiff_sqlx::Timestamp::from(self.start))
        .fetch_one(self.pool())
        .await
        .unwrap();
        let mut conn = self.pool().acquire().await.unwrap();
        for (position, agent) in self.agents.iter().enumerate() {
            sqlx::query("insert into monitor_location (monitor_id, location_id, position) values ($1, $2, $3)")
                .bind(key)
                .bind(agent.location.0)
                .bind(i16::try_from(position).unwrap())
                .execute(&mut *conn)
                .await
                .unwrap();
        }
        let live = quorate::domain::decision::Live::default();
        store::live::insert(
            &mut conn,
            &store::live::LiveSave {
                monitor: MonitorKey(key),
                live: serde_json::to_string(&live).unwrap(),
                state: live.state.code(),
                since_at: self.start,
                wake_at: None,
            },
        )
        .await
        .unwrap();
        store::timeline::begin(
            &mut conn,
            &store::timeline::NewInterval {
                monitor: MonitorKey(key),
                from_at: self.start,
                state: live.state.code(),
                evidence_stale: false,
                low: false,
                incident: None,
            },
        )
        .await
        .unwrap();
        uid
    }

    /// The inside key of a monitor.
    pub(crate) async fn key(&self, monitor: Uuid) -> MonitorKey {
        let key = sqlx::query_scalar("select monitor_id from monitor where uid = $1")
            .bind(monitor)
            .fetch_one(self.pool())
            .await
            .unwrap();
        MonitorKey(key)
    }

    /// A channel that hears everything.
    pub(crate) async fn channel(&self, name: &str) -> Uuid {
        let id = store::id_at(self.start);
        sqlx::query(
            "insert into channel (channel_id, name, kind, config, min_severity, created_at, updated_at)
             values ($1, $2, 'webhook', '{\"url\":\"https://sink.example/\"}', 'degraded', $3, $3)",
        )
        .bind(id)
        .bind(name)
        .bind(jiff_sqlx::Timestamp::from(self.start))
        .execute(self.pool())
        .await
        .unwrap();
        id
    }

    /// One report of one location, received as it happens.
    pub(crate) async fn report(
        &mut self,
        location: usize,
        monitor: Uuid,
        second: i64,
        observation: Observation,
    ) -> Settled {
        let now = self.at(second);
        let batch = self.agents[location].batch(now, [(monitor, now, observation)]);
        self.triage.accept(&batch, now).await.unwrap()
    }

    /// Every location reports once a minute, staggered as agents do, from one second to another; a
    /// failed attempt is repeated five seconds later. Time passes every second in between.
    pub(crate) async fn run(
        &mut self,
        monitor: Uuid,
        seconds: std::ops::Range<i64>,
        see: impl Fn(usize, i64) -> Observation,
    ) {
        let count = self.agents.len();
        for second in seconds {
            for location in 0..count {
                let turn = (60 / count * location) as i64;
                let due = (second - turn).rem_euclid(60) == 0;
                let again = (second - 5 - turn).rem_euclid(60) == 0
                    && see(location, second - 5).outcome == Outcome::Fail;
                if due || again {
                    self.report(location, monitor, second, see(location, second)).await;
                }
            }
            while self.triage.sweep(self.at(second)).await.unwrap() {}
        }
    }

    /// The monitor's intervals as (second, state, found late).
    pub(crate) async fn intervals(&self, monitor: Uuid) -> Vec<(i64, String, bool)> {
        let rows: Vec<(i64, i16, bool, bool)> = sqlx::query_as(
            "select extract(epoch from s.from_at - $2)::int8, s.state, s.evidence_stale, s.found_late
             from monitor_state s join monitor m using (monitor_id) where m.uid = $1 order by s.from_at",
        )
        .bind(monitor)
        .bind(jiff_sqlx::Timestamp::from(self.start))
        .fetch_all(self.pool())
        .await
        .unwrap();
        rows.into_iter()
            .map(|(second, state, stale, late)| {
                let state = quorate::domain::decision::State::from_code(state).unwrap().name();
                (second, format!("{state}{}", if stale { " (stale)" } else { "" }), late)
            })
            .collect()
    }

    /// Notices in order: (kind, channel).
    pub(crate) async fn notices(&self) -> Vec<(String, Uuid)> {
        sqlx::query_as("select kind, channel_id from notice order by notice_no")
            .fetch_all(self.pool())
            .await
            .unwrap()
    }

    pub(crate) async fn count(&self, table: &'static str) -> i64 {
        sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select count(*) from {table}")))
            .fetch_one(self.pool())
            .await
            .unwrap()
    }
}

async fn add_location(pool: &PgPool, name: &str, now: Timestamp) -> Agent {
    let key: i16 = sqlx::query_scalar(
        "insert into location (uid, name, region, domain, created_at) values ($1, $2, $2, $2, $3)
         returning location_id",
    )
    .bind(store::id_at(now))
    .bind(name)
    .bind(jiff_sqlx::Timestamp::from(now))
    .fetch_one(pool)
    .await
    .unwrap();
    let id = store::id_at(now);
    sqlx::query(
        "insert into agent (agent_id, location_id, token_hash, created_at, last_seen_at)
         values ($1, $2, $3, $4, $4 + interval '10 years')",
    )
    .bind(id)
    .bind(key)
    .bind(id.as_bytes().to_vec())
    .bind(jiff_sqlx::Timestamp::from(now))
    .execute(pool)
    .await
    .unwrap();
    Agent { id, location: LocationKey(key), boot: store::id_at(now), seq: 0 }
}

pub(crate) fn pass() -> Observation {
    observation(Outcome::Pass, None, Some(200))
}

pub(crate) fn refused() -> Observation {
    observation(Outcome::Fail, Some(Class::ConnectRefused), None)
}

pub(crate) fn observation(
    outcome: Outcome,
    class: Option<Class>,
    status: Option<u16>,
) -> Observation {
    Observation {
        outcome,
        class,
        message: class.map_or_else(String::new, |c| c.sentence().to_owned()),
        phases_us: Phases { total: 38_000, ..Phases::default() },
        status,
        http_version: None,
        address: Some("203.0.113.10".to_owned()),
        size: None,
        hops: Vec::new(),
        certificate: None,
        assertions: Vec::new(),
        evidence: None,
    }
}
