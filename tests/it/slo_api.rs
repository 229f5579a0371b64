//! SLOs through the interface, from what is stored: the same vectors that `quorate slo eval` answers.

use std::{fs, path::PathBuf};

use jiff::Timestamp;
use quorate::{
    domain::{decision::State, ids::MonitorKey},
    store::{self, timeline::NewInterval},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::api::{Api, text};

/// The interface, with a monitor's past to be written.
struct Scene {
    api: Api,
    made: usize,
}

impl Scene {
    async fn new() -> Self {
        Self { api: Api::start().await, made: 0 }
    }

    /// A monitor without locations, which is no coarser than any target; there since `created`.
    async fn monitor(&mut self, created: &str) -> (MonitorKey, String) {
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
    async fn past(&self, monitor: MonitorKey, timeline: &Value) {
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
    async fn maintenance(&self, monitor: MonitorKey, list: &Value) {
        let mut conn = self.api.db.pool().acquire().await.unwrap();
        for window in list.as_array().into_iter().flatten() {
            let at = |name: &str| window[name].as_str().map(|at| at.parse::<Timestamp>().unwrap());
            let start = at("start").unwrap();
            let new = store::maintenance::NewMaintenance {
                id: Uuid::now_v7(),
                name: "upgrade",
                start_at: start,
                end_at: at("end").unwrap(),
                monitors: Some(&[monitor.0]),
                fleets: None,
                suppress_alerts: true,
                exclude_from_slo: window["effect"] != "label",
                pause_probes: false,
                correction: window["kind"] == "correction",
                reason: window["reason"].as_str().unwrap_or_default(),
                locations: None,
                declared_by: "test",
            };
            store::maintenance::insert(&mut conn, &new, at("declared_at").unwrap_or(start))
                .await
                .unwrap();
            store::maintenance_occurrences::begin_due(
                &mut conn,
                Some(new.id),
                at("end").unwrap(),
                1,
            )
            .await
            .unwrap();
        }
    }

    async fn incidents(&self, monitor: MonitorKey, list: &Value) -> Vec<(String, String)> {
        let mut names = Vec::new();
        for incident in list.as_array().into_iter().flatten() {
            let id = Uuid::now_v7();
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
    async fn wait_for(&self, as_of: &str) {
        let as_of: Timestamp = as_of.parse().unwrap();
        let ahead = as_of.duration_since(self.api.clock.now()).as_secs() + 10;
        self.api.later(u64::try_from(ahead).unwrap_or(0));
        sqlx::query("update sweep set sweep_at = $1::text::timestamptz")
            .bind(self.api.clock.now().to_string())
            .execute(self.api.db.pool())
            .await
            .unwrap();
    }

    /// Saves an SLO, also one that is too fine for its monitor.
    async fn slo(&mut self, slo: &Value, about: (&str, Value)) -> String {
        let mut body = slo.clone();
        self.made += 1;
        body["name"] = format!("slo {}", self.made).into();
        body[about.0] = about.1;
        text(&self.api.post("slos", body).await.is(201)["id"])
    }

    async fn report(&self, id: &str, as_of: &str) -> Value {
        self.api.get(&format!("slos/{id}/report?as_of={as_of}")).await.is(200)
    }
}

fn cases(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo").join(name);
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// Ratios to half a unit in the ninth decimal, everything else exactly.
fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) if a.to_string().contains('.') => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 5e-10
        }
        _ => expected == got,
    }
}

fn check(title: &str, case: &Value, got: &Value, ids: &[(String, String)]) {
    for (pointer, expected) in case["expect"].as_object().unwrap() {
        let mut expected = expected.clone();
        if let Some((_, id)) = ids.iter().find(|(name, _)| expected == name.as_str()) {
            expected = id.clone().into();
        }
        let value = got.pointer(pointer).unwrap_or(&Value::Null);
        let time = format!("{} {}", got["time_ms"], got["window"]);
        assert!(
            same(&expected, value),
            "{title}: {pointer}: {expected} expected, {value} got, of {time}"
        );
    }
}

/// Cases whose verdicts come from slots, or whose indicator is worked out by the tool alone.
fn only_by_file(case: &Value) -> bool {
    let slo = &case["file"]["slo"];
    case["file"].get("slots").is_some()
        || slo["sli"] == "slices"
        || slo["sli"] == "requests"
        || slo["weight"].as_str().is_some_and(|weight| weight.starts_with("slice_mean"))
}

#[tokio::test]
async fn every_vector_of_time_comes_out_of_stored_intervals() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut all: Vec<(String, Value)> = Vec::new();
    // How fine a monitor measures is not in its past: that vector has a test of its own.
    for name in names.iter().filter(|name| !name.starts_with("21-")) {
        let own = cases(name).into_iter().filter(|case| !only_by_file(case));
        all.extend(own.map(|case| (format!("{name}, {}", case["title"]), case)));
    }
    all.retain(|(_, case)| {
        case["file"].get("timeline").is_some() || case["file"].get("members").is_some()
    });
    // The clock only goes forward.
    let as_of = |case: &Value| text(&case["file"]["as_of"]).parse::<Timestamp>().unwrap();
    all.sort_by_key(|(_, case)| as_of(case));
    assert!(all.len() >= 60, "{}", all.len());
    let mut scene = Scene::new().await;
    for (title, case) in &all {
        let file = &case["file"];
        let created = file["created_at"].as_str().unwrap_or("1990-01-01T00:00:00Z");
        let mut ids = Vec::new();
        let about = if let Some(members) = file["members"].as_array() {
            let mut uids = Vec::new();
            for member in members {
                let (key, id) = scene.monitor(created).await;
                scene.past(key, &member["timeline"]).await;
                ids.push((text(&member["id"]), id.clone()));
                uids.push(id);
            }
            ("members", json!(uids))
        } else {
            let (key, id) = scene.monitor(created).await;
            scene.past(key, &file["timeline"]).await;
            scene.maintenance(key, &file["maintenance"]).await;
            ids = scene.incidents(key, &file["incidents"]).await;
            ("monitor", json!(id))
        };
        scene.wait_for(file["as_of"].as_str().unwrap()).await;
        let id = scene.slo(&file["slo"], about).await;
        let got = scene.report(&id, file["as_of"].as_str().unwrap()).await;
        check(title, case, &got, &ids);
    }
}
