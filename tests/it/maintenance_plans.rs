//! Maintenance that comes again: what its occurrences silence and leave out, what a change may still touch,
//! and who writes them down.

use axum::http::Method;
use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{
        decision::State,
        ids::{FleetKey, LocationKey},
        observation::Outcome,
    },
    store::{self, timeline::NewInterval},
    upkeep::Upkeep,
};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, request, text},
    slo::Scene,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Ten minutes from half past of every hour, for the group of shops.
fn hourly() -> Value {
    json!({"name": "backup", "cron": "30 * * * *", "timezone": "Europe/Berlin", "duration_s": 600})
}

/// A monitor that three locations look at every minute, with a channel that hears everything.
struct Watched {
    api: Api,
    upkeep: Upkeep,
    monitor: String,
    seq: i64,
}

impl Watched {
    async fn new() -> Self {
        let api = Api::start().await;
        for name in ["eu", "us", "ap"] {
            api.location(name).await;
        }
        let hook = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": "https://hook.example/q"}});
        api.post("channels", hook).await.is(201);
        let monitor = text(&api.monitor("shop").await["id"]);
        api.patch(&format!("monitors/{monitor}"), json!({"group": "shops"})).await.is(200);
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { api, upkeep, monitor, seq: 0 }
    }

    /// Minutes until this time, in which all locations see the same.
    async fn until(&mut self, time: &str, outcome: Outcome) {
        let until = at(&format!("2026-03-01T{time}:00Z"));
        while self.api.clock.now() < until {
            self.minute(outcome).await;
        }
    }

    async fn minute(&mut self, outcome: Outcome) {
        for _ in 0..5 {
            self.api.later(12);
            while self.upkeep.sweep(self.api.clock.now()).await.unwrap() {}
        }
        self.seq += 1;
        self.api.all_say(&self.monitor, self.seq, outcome).await;
    }

    /// Incidents, the earliest first: when it began, whether it was kept silent, kinds of its notices.
    async fn told(&self) -> Vec<(String, bool, Vec<String>)> {
        let rows = self.api.get("incidents").await.is(200);
        let mut all = Vec::new();
        for row in rows["items"].as_array().unwrap().iter().rev() {
            let one = self.api.get(&format!("incidents/{}", text(&row["id"]))).await.is(200);
            let kinds = one["notices"].as_array().unwrap().iter().map(|n| text(&n["kind"]));
            let began = text(&one["started_at"])[11..16].to_owned();
            all.push((began, one["suppressed"] == true, kinds.collect()));
        }
        all
    }
}

#[tokio::test]
async fn alerts_are_silent_in_every_occurrence_and_heard_between() {
    use Outcome::{Fail, Pass};
    let mut one = Watched::new().await;
    let mut plan = hourly();
    plan["groups"] = json!(["shops"]);
    let plan = one.api.post("maintenance", plan).await.is(201);
    assert_eq!((&plan["phase"], &plan["covers"]), (&json!("planned"), &json!(1)));
    assert_eq!(plan["start"], "2026-03-01T12:30:00.000Z");
    for (time, seen) in [("12:31", Pass), ("12:35", Fail), ("13:00", Pass), ("13:05", Fail)] {
        one.until(time, seen).await;
    }
    one.until("13:31", Pass).await;
    one.until("13:35", Fail).await;
    let page = one.api.get("monitors").await.is(200);
    assert_eq!(page["items"][0]["maintenance"], true, "inside the second one");
    one.until("13:38", Pass).await;
    // Another coordinator takes over, and what fails now outlasts the occurrence and its two intervals.
    one.upkeep = Upkeep::new(one.api.db.pool().clone(), one.api.clock.clone());
    one.until("13:41", Fail).await;
    let silent = one.told().await;
    let kinds: Vec<(bool, usize)> = silent.iter().map(|i| (i.1, i.2.len())).collect();
    assert_eq!(kinds[..2], [(true, 0), (false, 2)], "{silent:?}");
    assert!(kinds[2..].iter().all(|kind| *kind == (true, 0)), "{silent:?}");
    one.until("13:45", Fail).await;
    let told = one.told().await;
    let last = told.last().unwrap();
    assert_eq!(
        last,
        &("13:40".to_owned(), false, vec!["after_maintenance".to_owned()]),
        "{told:?}"
    );
    // The occurrence after that is one more: it began silent for nobody, but pauses nothing that was told.
    let list = one.api.get("maintenance/occurrences?from=2026-03-01T12:00:00Z").await.is(200);
    let phases: Vec<&str> = list["items"].as_array().unwrap()[..3]
        .iter()
        .map(|o| o["phase"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["past", "past", "planned"]);
}

/// A monitor whose past is written, an SLO on it.
async fn measured() -> (Scene, quorate::domain::ids::MonitorKey, String) {
    let mut scene = Scene::new().await;
    let (monitor, id) = scene.monitor("2025-01-01T00:00:00Z").await;
    let up = json!([{"from": "2025-01-01T00:00:00Z", "to": null, "state": "up"}]);
    scene.past(monitor, &up).await;
    let slo =
        json!({"target_ppb": 990_000_000_u64, "window": {"kind": "rolling", "duration": "1d"}});
    let slo = scene.slo(&slo, ("monitor", json!(id))).await;
    (scene, monitor, slo)
}

/// A coordinator that swept all the time until now.
async fn wait_for(scene: &Scene, time: &str) {
    let until = at(time) - SignedDuration::from_secs(10);
    scene.wait_for(&until.to_string()).await;
    while scene.upkeep().sweep(scene.api.clock.now()).await.unwrap() {}
}

#[tokio::test]
async fn figures_leave_out_just_the_occurrences_and_edits_touch_only_what_has_not_begun() {
    let (scene, monitor, slo) = measured().await;
    let api = &scene.api;
    wait_for(&scene, "2026-03-01T12:01:00Z").await;
    let plan = api.post("maintenance", hourly()).await.is(201);
    let path = format!("maintenance/{}", text(&plan["id"]));
    api.post(&format!("{path}/end"), Value::Null).await.is(409);
    wait_for(&scene, "2026-03-01T12:05:00Z").await;
    let mut conn = api.db.pool().acquire().await.unwrap();
    let down = NewInterval {
        monitor,
        from_at: api.clock.now(),
        state: State::Down.code(),
        evidence_stale: false,
        low: false,
        incident: None,
    };
    store::timeline::begin(&mut conn, &down).await.unwrap();
    // The first one is ended early; the plan goes on.
    wait_for(&scene, "2026-03-01T12:34:00Z").await;
    let ended = api.post(&format!("{path}/end"), Value::Null).await.is(200);
    assert_eq!(
        (&ended["phase"], &ended["start"]),
        (&json!("planned"), &json!("2026-03-01T13:30:00.000Z"))
    );
    // In the middle of the second one it is made shorter, and does no longer touch figures: from the third on.
    wait_for(&scene, "2026-03-01T13:33:00Z").await;
    let changed = api.patch(&path, json!({"duration_s": 300, "name": "copy"})).await.is(200);
    assert_eq!(
        (&changed["phase"], &changed["end"], &changed["duration_s"]),
        (&json!("running"), &json!("2026-03-01T13:40:00.000Z"), &json!(300))
    );
    wait_for(&scene, "2026-03-01T15:00:00Z").await;
    api.patch(&path, json!({"exclude_from_slo": false})).await.is(200);
    wait_for(&scene, "2026-03-01T16:00:10Z").await;
    let report = scene.report(&slo, "2026-03-01T16:00:00Z").await;
    let whole: i64 = (16 * 60 - (12 * 60 + 5)) * 60_000;
    let left_out = (4 + 10 + 5) * 60_000;
    assert_eq!(report["time_ms"]["excluded"], left_out, "{}", report["maintenance"]);
    assert_eq!(report["time_ms"]["down"], whole - left_out);
    let listed: Vec<(String, i64)> = report["maintenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (text(&m["reason"]), m["excluded_ms"].as_i64().unwrap()))
        .filter(|(_, ms)| *ms > 0)
        .collect();
    let named = |name: &str, minutes: i64| (name.to_owned(), minutes * 60_000);
    assert_eq!(listed, [named("backup", 4), named("backup", 10), named("copy", 5)]);
    // The plan goes; what was stays, to the millisecond.
    api.delete(&path).await.is(204);
    api.get(&path).await.is(404);
    let again = scene.report(&slo, "2026-03-01T16:00:00Z").await;
    assert_eq!(again["time_ms"], report["time_ms"]);
    let all = api.get("maintenance/occurrences?from=2026-03-01T12:00:00Z").await.is(200);
    let ends: Vec<String> =
        all["items"].as_array().unwrap().iter().map(|o| text(&o["end"])[11..16].into()).collect();
    assert_eq!(ends, ["12:34", "13:40", "14:35", "15:35"], "nothing is to come");
    assert_eq!(scene.written("backup").await, 2);
    assert_eq!(scene.written("copy").await, 2);
}

#[tokio::test]
async fn two_coordinators_write_each_occurrence_once_and_make_up_for_a_long_sleep() {
    let (scene, _, _) = measured().await;
    let api = &scene.api;
    for minute in [5, 25] {
        let mut plan = hourly();
        plan["cron"] = json!(format!("{minute} * * * *"));
        api.post("maintenance", plan).await.is(201);
    }
    let once =
        json!({"name": "once", "start": "2026-03-01T13:00:00Z", "end": "2026-03-01T14:00:00Z"});
    api.post("maintenance", once).await.is(201);
    // Nobody ran for a day; then four wake at the same moment, and one is killed in the middle.
    api.later(86_400);
    let now = api.clock.now();
    let mut killed = api.db.pool().begin().await.unwrap();
    store::maintenance_occurrences::begin_due(&mut killed, now, 100).await.unwrap();
    let sweeps: Vec<_> = (0..4).map(|_| scene.upkeep()).collect();
    let together = futures_util::future::join_all(sweeps.iter().map(|upkeep| upkeep.sweep(now)));
    let (swept, ()) = tokio::join!(together, async { killed.rollback().await.unwrap() });
    for done in swept {
        done.unwrap();
    }
    while scene.upkeep().sweep(now).await.unwrap() {}
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(
        "select count(*) filter (where begun), count(*) filter (where not begun), count(distinct start_at)
         from maintenance where plan_id is not null group by plan_id",
    )
    .fetch_all(api.db.pool())
    .await
    .unwrap();
    assert_eq!(rows, [(24, 1, 25), (24, 1, 25)]);
    assert_eq!(scene.written("backup").await, 48);
    assert_eq!(scene.written("once").await, 1);
    // What was missed stands in the list as it would have been.
    let all = api.get("maintenance/occurrences?from=2026-03-01T12:00:00Z&limit=7").await.is(200);
    let mut starts: Vec<String> = Vec::new();
    let mut page = all;
    loop {
        starts.extend(page["items"].as_array().unwrap().iter().map(|o| text(&o["start"])));
        let Some(cursor) = page["next"].as_str() else { break };
        let path = format!(
            "maintenance/occurrences?from=2026-03-01T12:00:00Z&to=2026-03-03T00:00:00Z&limit=7&cursor={cursor}"
        );
        page = api.get(&path).await.is(200);
    }
    let mut sorted = starts.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(starts, sorted);
    assert_eq!(starts.len(), 36 * 2 + 1, "written down and to come");
}

#[tokio::test]
async fn what_has_come_is_not_lost_to_a_change_at_that_moment() {
    let (scene, _, _) = measured().await;
    let api = &scene.api;
    let plan = api.post("maintenance", hourly()).await.is(201);
    // It has come, and another coordinator is at it: nobody else can begin it.
    api.later(30 * 60 + 5);
    let mut busy = api.db.pool().begin().await.unwrap();
    sqlx::query("select from maintenance where plan_id is not null for update")
        .execute(&mut *busy)
        .await
        .unwrap();
    let path = format!("maintenance/{}", text(&plan["id"]));
    api.patch(&path, json!({"duration_s": 300, "name": "copy"})).await.is(200);
    busy.rollback().await.unwrap();
    while scene.upkeep().sweep(api.clock.now()).await.unwrap() {}
    let list = api.get("maintenance/occurrences?to=2026-03-01T14:00:00Z").await.is(200);
    let told: Vec<(String, String)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| (text(&o["name"]), text(&o["end"])[11..16].to_owned()))
        .collect();
    let expected = [("backup", "12:40"), ("copy", "13:35")];
    assert_eq!(told, expected.map(|(name, end)| (name.to_owned(), end.to_owned())));
    assert_eq!(scene.written("backup").await, 1);
}

#[tokio::test]
async fn the_public_calendar_of_some_monitors_is_theirs_alone() {
    let (mut scene, first, _) = measured().await;
    let (second, id) = scene.monitor("2025-01-01T00:00:00Z").await;
    let api = &scene.api;
    let eu = text(&api.post("locations", json!({"name": "eu"})).await.is(201)["id"]);
    let mut plan = hourly();
    plan["cron"] = json!("0 2 * * *");
    plan["monitors"] = json!([id]);
    let plan = api.post("maintenance", plan).await.is(201);
    let path = format!("maintenance/{}", text(&plan["id"]));
    let skip = json!({"start": "2026-03-03T01:00:00Z"});
    api.post(&format!("{path}/skip"), skip).await.is(200);
    let local = json!({"name": "provider", "start": "2026-03-02T00:00:00Z", "end": "2026-03-02T01:00:00Z",
        "monitors": [id], "locations": [eu]});
    api.post("maintenance", local).await.is(201);
    let correction = json!({"name": "late", "kind": "correction", "start": "2026-03-01T00:00:00Z",
        "end": "2026-03-01T11:00:00Z", "reason": "r"});
    api.post("maintenance", correction).await.is(201);
    let mut conn = api.db.pool().acquire().await.unwrap();
    let (from, to) = (api.clock.now(), api.clock.now() + SignedDuration::from_hours(90 * 24));
    let ahead = store::maintenance_ahead::of_monitors;
    assert!(ahead(&mut conn, &[first.0], from, to).await.unwrap().is_empty());
    let all = ahead(&mut conn, &[second.0, first.0], from, to).await.unwrap();
    assert_eq!(all.len(), 90);
    assert!(all.iter().all(|o| o.terms.name == "backup" && o.entry.to_string() == plan["id"]));
    let skipped: Vec<Timestamp> = all.iter().filter(|o| o.skipped).map(|o| o.start_at).collect();
    assert_eq!(skipped, [at("2026-03-03T01:00:00Z")]);
    // At 02:00 in Berlin, also when clocks have gone forward.
    assert_eq!(all.last().unwrap().start_at, at("2026-05-30T00:00:00Z"));
    assert_eq!((all[0].revision, all[0].changed_at), (2, from));
}

#[tokio::test]
async fn groups_and_labels_are_whoever_is_in_them_when_it_begins() {
    let (mut scene, _, _) = measured().await;
    let (_, second) = scene.monitor("2025-01-01T00:00:00Z").await;
    let (_, third) = scene.monitor("2025-01-01T00:00:00Z").await;
    let api = &scene.api;
    let mut plan = hourly();
    plan["groups"] = json!(["shops"]);
    plan["labels"] = json!({"team": "pay", "tier": "1"});
    plan["pause_probes"] = json!(true);
    let plan = api.post("maintenance", plan).await.is(201);
    assert_eq!((&plan["covers"], &plan["monitors"]), (&json!(0), &json!([])));
    api.patch(&format!("monitors/{second}"), json!({"group": "shops"})).await.is(200);
    let half = json!({"labels": {"team": "pay"}});
    api.patch(&format!("monitors/{third}"), half).await.is(200);
    let covered = async |path: &str| {
        let list = api.get(path).await.is(200);
        list["items"].as_array().unwrap().iter().map(|o| o["monitors"].clone()).collect::<Vec<_>>()
    };
    let ahead = "maintenance/occurrences?to=2026-03-01T14:00:00Z";
    assert_eq!(covered(ahead).await, vec![json!([second]); 2]);
    wait_for(&scene, "2026-03-01T12:31:00Z").await;
    // Too late for the one that runs.
    let both = json!({"labels": {"team": "pay", "tier": "1"}});
    api.patch(&format!("monitors/{third}"), both).await.is(200);
    assert_eq!(covered(ahead).await, [json!([second]), json!([second, third])]);
    let of_third = format!("maintenance/occurrences?monitor={third}&to=2026-03-01T14:00:00Z");
    assert_eq!(covered(&of_third).await.len(), 1);
    wait_for(&scene, "2026-03-01T13:31:00Z").await;
    let running = api.get("maintenance?phase=running").await.is(200);
    assert_eq!(running["items"][0]["covers"], 2);
    // Those are not probed, and the first one is.
    api.location("eu").await;
    let mut conn = api.db.pool().acquire().await.unwrap();
    let now = api.clock.now();
    let probed = store::assignments::keys(&mut conn, LocationKey(1), now).await.unwrap();
    assert_eq!(probed.len(), 1, "{probed:?}");
    let sharing = store::assignments::sharing(&mut conn, LocationKey(1), now, now).await.unwrap();
    assert_eq!(sharing.pausing.len(), 1);
}

#[tokio::test]
async fn one_occurrence_is_skipped_and_a_plan_is_paused_and_ends() {
    let (scene, _, _) = measured().await;
    let api = &scene.api;
    let mut plan = hourly();
    plan["until"] = json!("2026-03-01T15:30:00Z");
    let plan = api.post("maintenance", plan).await.is(201);
    let path = format!("maintenance/{}", text(&plan["id"]));
    let next = |shown: &Value| -> Vec<String> {
        let list = shown["next"].as_array().unwrap().iter();
        list.map(|o| {
            let mark = if o["skipped"] == true { "-" } else { "" };
            format!("{mark}{}", &text(&o["start"])[11..16])
        })
        .collect()
    };
    assert_eq!(next(&plan), ["12:30", "13:30", "14:30"], "the end is not among them");
    let skip = |start: &str| json!({ "start": format!("2026-03-01T{start}:00Z") });
    api.post(&format!("{path}/skip"), skip("12:31")).await.refuses(422, "start");
    api.post(&format!("{path}/skip"), skip("11:30")).await.refuses(422, "start");
    let stale =
        request(Method::POST, &format!("{path}/skip"), &skip("12:30"), &[("if-match", "\"7\"")]);
    assert_eq!(api.send(stale).await.status.as_u16(), 401, "who asks comes first");
    let skipped = api.post(&format!("{path}/skip"), skip("12:30")).await.is(200);
    assert_eq!(next(&skipped), ["-12:30", "13:30", "14:30"]);
    assert_eq!(
        (&skipped["start"], &skipped["revision"]),
        (&json!("2026-03-01T13:30:00.000Z"), &json!(2))
    );
    let mut back = skip("12:30");
    back["skip"] = json!(false);
    let back = api.post(&format!("{path}/skip"), back).await.is(200);
    assert_eq!(back["start"], "2026-03-01T12:30:00.000Z");
    api.post(&format!("{path}/skip"), skip("12:30")).await.is(200);
    wait_for(&scene, "2026-03-01T12:35:00Z").await;
    assert_eq!(scene.written("backup").await, 0);
    let list = api.get("maintenance/occurrences?from=2026-03-01T12:00:00Z").await.is(200);
    assert_eq!(list["items"][0]["phase"], "skipped");
    wait_for(&scene, "2026-03-01T13:31:00Z").await;
    assert_eq!(scene.written("backup").await, 1);
    api.delete(&path).await.is(409);
    // Paused while one runs: that one goes on, and nothing follows.
    let paused = api.patch(&path, json!({"paused": true})).await.is(200);
    assert_eq!((&paused["phase"], next(&paused).len()), (&json!("running"), 1));
    wait_for(&scene, "2026-03-01T14:45:00Z").await;
    let paused = api.get(&path).await.is(200);
    assert_eq!((&paused["phase"], next(&paused).len()), (&json!("paused"), 0));
    assert_eq!(scene.written("backup").await, 1);
    // It comes again only when its end is put off.
    api.patch(&path, json!({"paused": false})).await.refuses(422, "until");
    let on = json!({"paused": false, "until": "2026-03-01T15:31:00Z"});
    assert_eq!(next(&api.patch(&path, on).await.is(200)), ["15:30"]);
    wait_for(&scene, "2026-03-01T18:00:00Z").await;
    assert_eq!(scene.written("backup").await, 2);
    let over = api.get("maintenance?phase=past").await.is(200);
    assert_eq!(over["items"][0]["id"], plan["id"]);
    let endless = api.patch(&path, json!({"until": null})).await.is(200);
    assert_eq!(
        (&endless["until"], &endless["start"]),
        (&Value::Null, &json!("2026-03-01T18:30:00.000Z"))
    );
    let audited = api.get("audit?limit=100").await.is(200);
    let mut actions: Vec<String> =
        audited["items"].as_array().unwrap().iter().map(|a| text(&a["action"])).collect();
    actions.retain(|action| action.starts_with("maintenance."));
    assert_eq!(actions.len(), 7, "{actions:?}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name() {
    let api = Api::start().await;
    let with = |change: Value| {
        let mut plan = hourly();
        for (name, value) in change.as_object().unwrap() {
            plan[name] = value.clone();
        }
        plan
    };
    for (change, field) in [
        (json!({"cron": "30 * * *"}), "cron"),
        (json!({"cron": "*/10 * * * *", "duration_s": 60}), "cron"),
        (json!({"timezone": "Mars/Olympus"}), "timezone"),
        (json!({"duration_s": 3_601}), "duration_s"),
        (json!({"duration_s": null}), "duration_s"),
        (json!({"until": "2026-03-01T12:30:00Z"}), "until"),
        (json!({"start": "2026-03-01T13:00:00Z"}), "start"),
        (json!({"kind": "correction", "reason": "r"}), "cron"),
        (json!({"cron": null}), "timezone"),
        (json!({"name": null}), "name"),
        (json!({"groups": []}), "groups"),
        (json!({"groups": ["shops", " "]}), "groups[1]"),
        (json!({"labels": {}}), "labels"),
        (json!({"labels": {"a b": "c"}}), "labels.a b"),
        (json!({"locations": ["nowhere"]}), "locations[0]"),
        (json!({"every": 5}), "every"),
    ] {
        api.post("maintenance", with(change)).await.refuses(422, field);
    }
    let why = api.post("maintenance", with(json!({"duration_s": 3_601}))).await;
    let why = why.refuses(422, "duration_s");
    assert!(why.contains("2026-03-01 13:30 CET"), "{why}");
    let preview = "maintenance/preview?cron=0%202%20*%20*%20*&timezone=Europe/Berlin&duration_s";
    let shown = api.get(&format!("{preview}=3600")).await.is(200);
    assert_eq!(shown["next"].as_array().unwrap().len(), 5);
    assert_eq!(shown["next"][0]["start"], "2026-03-02T01:00:00.000Z");
    api.get(&format!("{preview}=90000")).await.refuses(422, "duration_s");
    api.get("maintenance?days=91").await.refuses(422, "days");
    api.get("maintenance/occurrences?to=2026-03-01T11:00:00Z").await.refuses(422, "to");
    // What comes once stays so, and is changed until it begins.
    let once =
        json!({"name": "once", "start": "2026-03-02T00:00:00Z", "end": "2026-03-02T01:00:00Z"});
    let once = api.post("maintenance", once).await.is(201);
    let path = format!("maintenance/{}", text(&once["id"]));
    api.patch(&path, json!({"cron": "30 * * * *", "start": null, "end": null, "duration_s": 60}))
        .await
        .refuses(422, "cron");
    let moved = api.patch(&path, json!({"end": "2026-03-02T02:00:00Z"})).await.is(200);
    assert_eq!((&moved["start"], &moved["revision"]), (&once["start"], &json!(2)));
    let stale = request(
        Method::DELETE,
        &path,
        &Value::Null,
        &[
            ("if-match", "\"1\""),
            (
                "authorization",
                &format!("Bearer {}", crate::support::api::key_of(quorate::api::auth::Role::Admin)),
            ),
        ],
    );
    assert_eq!(api.send(stale).await.status.as_u16(), 409);
    api.later(86_400);
    api.patch(&path, json!({"name": "late"})).await.is(409);
    api.post(&format!("{path}/skip"), json!({"start": "2026-03-09T00:00:00Z"})).await.is(409);
}

#[tokio::test]
async fn fleets_are_silent_in_the_second_occurrence_too() {
    let (scene, _, _) = measured().await;
    let api = &scene.api;
    let shop = api.post("fleets", json!({"name": "shop"})).await.is(201);
    api.post("fleets", json!({"name": "pay"})).await.is(201);
    let mut plan = hourly();
    plan["fleets"] = json!([shop["id"]]);
    api.post("maintenance", plan).await.is(201);
    let quiet = async |time: &str| {
        wait_for(&scene, time).await;
        let mut conn = api.db.pool().acquire().await.unwrap();
        let now = api.clock.now();
        let mut both = [false; 2];
        for (key, quiet) in (1..).zip(&mut both) {
            let fleet = FleetKey(key);
            *quiet = store::fleet_incidents::is_quiet(&mut conn, fleet, now, now).await.unwrap();
        }
        both
    };
    assert_eq!(quiet("2026-03-01T12:29:00Z").await, [false, false]);
    assert_eq!(quiet("2026-03-01T12:35:00Z").await, [true, false]);
    assert_eq!(quiet("2026-03-01T12:45:00Z").await, [false, false]);
    assert_eq!(quiet("2026-03-01T13:35:00Z").await, [true, false]);
}

#[tokio::test]
async fn it_says_what_it_does_to_the_budget_of_each_slo() {
    let (mut scene, _, rolling) = measured().await;
    let (_, other) = scene.monitor("2025-01-01T00:00:00Z").await;
    let monthly = json!({"target_ppb": 999_000_000_u64,
        "window": {"kind": "calendar", "duration": "1M", "timezone": "UTC"}});
    let month = scene.slo(&monthly, ("monitor", json!(other))).await;
    let counting = json!({"target_ppb": 999_000_000_u64, "maintenance_policy": "ignore",
        "window": {"kind": "calendar", "duration": "1M", "timezone": "UTC"}});
    scene.slo(&counting, ("monitor", json!(other))).await;
    let api = &scene.api;
    // An hour every Monday: five of them in this March, at 02:00.
    let plan =
        json!({"name": "weekly", "cron": "0 2 * * 1", "timezone": "UTC", "duration_s": 3_600});
    let plan = api.post("maintenance", plan).await.is(201);
    let path = format!("maintenance/{}/effect", text(&plan["id"]));
    let effects = api.get(&path).await.is(200);
    let of = |id: &str| {
        let all = effects["items"].as_array().unwrap();
        all.iter().find(|e| e["slo"]["id"] == id).unwrap().clone()
    };
    assert_eq!(effects["items"].as_array().unwrap().len(), 2, "{effects}");
    let month = of(&month);
    assert_eq!(
        (&month["occurrences"], &month["left_out_ms"], &month["to_come_ms"]),
        (&json!(5), &json!(5 * 3_600_000), &json!(5 * 3_600_000))
    );
    assert_eq!(
        (&month["budget_ms"], &month["budget_left_ms"]),
        (&json!(31 * 86_400), &json!(31 * 86_400 - 5 * 3_600))
    );
    assert!(month["longest_of_budget"].as_f64().unwrap() > 1.3);
    assert_eq!(of(&rolling)["occurrences"], 1, "a day from now on");
    let counted = json!({"exclude_from_slo": false});
    api.patch(&format!("maintenance/{}", text(&plan["id"])), counted).await.is(200);
    assert_eq!(api.get(&path).await.is(200)["items"], json!([]));
}
