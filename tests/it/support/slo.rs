//! An interface with monitors whose past is written as the product writes it.

use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{decision::State, ids::MonitorKey, maintenance::Switches},
    store::{self, reports::ReportRow, timeline::NewInterval},
    upkeep::Upkeep,
};
use serde_json::Value;
use uuid::Uuid;

use super::api::{Api, text};

/// The interface, with a monitor's past to be written.
pub(crate) struct Scene {
    pub(crate) api: Api,
    made: usize,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self { api: Api::start().await, made: 0 }
    }

    /// A monitor without locations, which is no coarser than any target; there since `created`.
    pub(crate) async fn monitor(&mut self, created: &str) -> (MonitorKey, String) {
        self.made += 1;
        let made = self.api.monitor(&format!("m{}", self.made)).await;
        let id = text(&made["id"]);
        let created: Timestamp = created.parse().unwrap();
        let key: i32 = sqlx::query_scalar(
            "update monitor set created_at = $2::text::timestamptz where uid = $1 returning monitor_id",
        )
        .bind(id.parse::<Uuid>().unwrap())
        .bind(created.to_string())
        .fetch_one(self.api.db.pool())
        .await
        .unwrap();
        sqlx::query("delete from monitor_state where monitor_id = $1")
            .bind(key)
            .execute(self.api.db.pool())
            .await
            .unwrap();
        (MonitorKey(key), id)
    }

    /// Writes intervals as decisions do: each begins where the one before ends.
    pub(crate) async fn past(&self, monitor: MonitorKey, timeline: &Value) {
        let mut conn = self.api.db.pool().acquire().await.unwrap();
        let mut list: Vec<(Timestamp, Option<Timestamp>, &str)> = timeline
            .as_array()
            .unwrap()
            .iter()
            .map(|s| {
                let to = s["to"].as_str().map(|to| to.parse().unwrap());
                (text(&s["from"]).parse().unwrap(), to, s["state"].as_str().unwrap())
            })
            .collect();
        list.sort();
        let mut end: Option<Timestamp> = None;
        let begin = async |conn: &mut sqlx::PgConnection, from_at, state: State| {
            let (state, evidence_stale, low) = (state.code(), false, false);
            let new = NewInterval { monitor, from_at, state, evidence_stale, low, incident: None };
            store::timeline::begin(conn, &new).await.unwrap();
        };
        for (from, to, state) in list {
            if let Some(end) = end.filter(|end| *end < from) {
                begin(&mut conn, end, State::Unknown).await;
            }
            let state = [
                State::Up,
                State::Degraded,
                State::Partial,
                State::Down,
                State::Unknown,
                State::Paused,
            ]
            .into_iter()
            .find(|known| known.name() == state)
            .unwrap();
            begin(&mut conn, from, state).await;
            end = to;
        }
        if let Some(end) = end {
            begin(&mut conn, end, State::Unknown).await;
        }
    }

    /// Maintenance as it was declared and written down.
    pub(crate) async fn maintenance(&self, monitor: MonitorKey, list: &Value) {
        let mut conn = self.api.db.pool().acquire().await.unwrap();
        for (place, window) in (0..).zip(list.as_array().into_iter().flatten()) {
            let at = |name: &str| window[name].as_str().map(|at| at.parse::<Timestamp>().unwrap());
            let start = at("start").unwrap();
            let terms = store::maintenance::Terms {
                name: "upgrade".to_owned(),
                reason: window["reason"].as_str().unwrap_or_default().to_owned(),
                scope: store::maintenance::Scope {
                    monitors: Some(vec![monitor.0]),
                    ..Default::default()
                },
                switches: Switches {
                    exclude_from_slo: window["effect"] != "label",
                    ..Switches::default()
                },
            };
            let new = store::maintenance::NewMaintenance {
                // Of those that begin together the one that is written first comes first.
                id: store::id_at(start + SignedDuration::from_millis(place)),
                terms: &terms,
                start_at: start,
                end_at: at("end").unwrap(),
                correction: window["kind"] == "correction",
                declared_by: "test",
            };
            store::maintenance::insert(&mut conn, &new, at("declared_at").unwrap_or(start))
                .await
                .unwrap();
            store::maintenance_occurrences::begin_one(&mut conn, new.id, new.end_at).await.unwrap();
        }
    }

    /// Rows of maintenance of this name that are written down.
    pub(crate) async fn written(&self, name: &str) -> i64 {
        sqlx::query_scalar("select count(*) from maintenance_occurrence where name = $1")
            .bind(name)
            .fetch_one(self.api.db.pool())
            .await
            .unwrap()
    }

    pub(crate) async fn incidents(
        &self,
        monitor: MonitorKey,
        list: &Value,
    ) -> Vec<(String, String)> {
        let mut names = Vec::new();
        for incident in list.as_array().into_iter().flatten() {
            let id = store::id_at(self.api.clock.now());
            sqlx::query(
                "insert into incident (monitor_id, incident_id, subject, severity, peak, started_at, opened_at, ended_at,
                     resolved_at, acked_at, sentence, evidence)
                 values ($1, $2, 'monitor:' || $2, 'down', 'down', $3::text::timestamptz, $4::text::timestamptz,
                     $5::text::timestamptz, $5::text::timestamptz, $6::text::timestamptz, '', '{}')",
            )
            .bind(monitor.0)
            .bind(id)
            .bind(incident["started_at"].as_str())
            .bind(incident["opened_at"].as_str().or(incident["started_at"].as_str()))
            .bind(incident["ended_at"].as_str())
            .bind(incident["acked_at"].as_str())
            .execute(self.api.db.pool())
            .await
            .unwrap();
            names.push((text(&incident["id"]), id.to_string()));
        }
        names
    }

    /// Puts the clock behind `as_of`, with a coordinator that swept all the time.
    pub(crate) async fn wait_for(&self, as_of: &str) {
        let as_of: Timestamp = as_of.parse().unwrap();
        let ahead = as_of.duration_since(self.api.clock.now()).as_secs() + 10;
        self.api.later(u64::try_from(ahead).unwrap_or(0));
        self.api.swept().await;
    }

    /// Saves an SLO, also one that is too fine for its monitor.
    pub(crate) async fn slo(&mut self, slo: &Value, about: (&str, Value)) -> String {
        let mut body = slo.clone();
        self.made += 1;
        body["name"] = format!("slo {}", self.made).into();
        body[about.0] = about.1;
        text(&self.api.post("slos", body).await.is(201)["id"])
    }

    pub(crate) async fn report(&self, id: &str, as_of: &str) -> Value {
        self.api.get(&format!("slos/{id}/report?as_of={as_of}")).await.is(200)
    }

    /// Results as agents deliver them, copied in: `at`, `location`, `outcome` and `duration_us` of each.
    pub(crate) async fn results(&self, monitor: MonitorKey, events: &Value) {
        let mut conn = self.api.db.pool().acquire().await.unwrap();
        let locations = store::locations::list(&mut conn).await.unwrap();
        let mut rows = Vec::new();
        for event in events.as_array().unwrap() {
            let at: Timestamp = text(&event["at"]).parse().unwrap();
            let day = at.to_zoned(jiff::tz::TimeZone::UTC).date();
            store::reports::ensure_partition(&mut conn, day).await.unwrap();
            let name = event["location"].as_str().unwrap();
            let outcome = match event["outcome"].as_str().unwrap() {
                "ok" => 0,
                "fail" => 1,
                "invalid" => 2,
                _ => continue,
            };
            rows.push(ReportRow {
                effective_at: at,
                monitor,
                check_version: 1,
                resolve_us: None,
                connect_us: None,
                tls_us: None,
                first_byte_us: None,
                transfer_us: None,
                total_us: event["duration_us"].as_i64().unwrap_or(1_000) as i32,
                size_bytes: None,
                location: locations.iter().find(|row| row.name == name).unwrap().key,
                outcome,
                class: 0,
                status: None,
                kind: 0,
                disposition: 0,
                late_ms: Some(1),
            });
        }
        store::reports::copy_in(&mut conn, &rows).await.unwrap();
    }

    pub(crate) fn upkeep(&self) -> Upkeep {
        Upkeep::new(self.api.db.pool().clone(), self.api.clock.clone())
    }
}
