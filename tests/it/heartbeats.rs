//! Jobs that call us: what a call says, what silence says, who may call, and that nobody probes or votes.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use jiff::Timestamp;
use quorate::{api::auth::Role, upkeep::Upkeep};
use serde_json::{Value, json};

use crate::support::api::{Answer, Api, text};

/// A job that calls every minute, with half a minute of grace, and a channel that hears everything. The clock
/// stands at 12:00 when it is made.
struct Job {
    api: Api,
    upkeep: Upkeep,
    id: String,
    /// The path of its address.
    path: String,
}

impl Job {
    async fn new() -> Self {
        Self::with(json!({ "kind": "heartbeat", "period_s": 60, "grace_s": 30 })).await
    }

    async fn with(check: Value) -> Self {
        let api = Api::start().await;
        let hook = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": "https://hook.example/q"}});
        api.post("channels", hook).await.is(201);
        let made = api.post("monitors", json!({ "name": "backup", "check": check })).await.is(201);
        let id = text(&made["id"]);
        let path = path_of(&api, &id).await;
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { api, upkeep, id, path }
    }

    /// Lets seconds pass while a coordinator looks after it.
    async fn passes(&self, seconds: u64) {
        for _ in 0..seconds / 5 {
            self.api.later(5);
            self.sweep().await;
        }
        self.api.later(seconds % 5);
        self.sweep().await;
    }

    async fn sweep(&self) {
        self.upkeep.sweep(self.api.clock.now()).await.unwrap();
    }

    async fn calls(&self, word: &str) -> Answer {
        call(&self.api, &format!("{}{word}", self.path), "").await
    }

    async fn state(&self) -> Value {
        self.api.get(&format!("monitors/{}/state", self.id)).await.is(200)
    }

    async fn is(&self) -> String {
        text(&self.state().await["state"])
    }

    async fn incidents(&self) -> Vec<Value> {
        let list = self.api.get(&format!("incidents?monitor={}", self.id)).await.is(200);
        list["items"].as_array().unwrap().clone()
    }

    async fn list(&self, query: &str) -> Vec<Value> {
        let list = self.api.get(&format!("monitors/{}/heartbeats{query}", self.id)).await.is(200);
        list["items"].as_array().unwrap().clone()
    }

    /// What was told, in order.
    async fn told(&self) -> Vec<String> {
        sqlx::query_scalar("select kind from notice order by notice_no")
            .fetch_all(self.api.db.pool())
            .await
            .unwrap()
    }
}

/// As a job does it: without a sign-in, and with whatever it printed.
async fn call(api: &Api, path: &str, output: impl Into<Body>) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, "q.test")
        .header(header::USER_AGENT, "curl/8.11.0")
        .header("x-forwarded-for", "192.0.2.7")
        .body(output.into())
        .unwrap();
    api.send(request).await
}

async fn path_of(api: &Api, id: &str) -> String {
    let address = api.get(&format!("monitors/{id}/heartbeat")).await.is(200);
    text(&address["url"]).strip_prefix("http://q.test").unwrap().to_owned()
}

fn at(time: &str) -> Timestamp {
    format!("2026-03-01T{time}Z").parse().unwrap()
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn it_waits_for_the_first_call_and_is_down_when_one_is_missed() {
    let job = Job::new().await;
    job.passes(200).await;
    let state = job.state().await;
    assert_eq!(state["state"], "pending", "silence says nothing before the first call");
    assert_eq!(state["heartbeat"]["last_call"], Value::Null);
    let answer = job.calls("").await;
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(answer.is(200), "OK\n");
    let state = job.state().await;
    assert_eq!((&state["state"], &state["verdict"]), (&json!("up"), &json!("up")));
    let beat = &state["heartbeat"];
    assert_eq!(time(&beat["expected_at"]), at("12:04:20"));
    assert_eq!(time(&beat["deadline_at"]), at("12:04:50"));
    assert_eq!(beat["last_call"]["source"], "192.0.2.7");
    job.passes(89).await;
    assert_eq!(job.is().await, "up");
    assert_eq!(job.told().await, [] as [&str; 0]);
    job.passes(3).await;
    let state = job.state().await;
    assert_eq!(state["state"], "down");
    assert_eq!(time(&state["since"]), at("12:04:50"), "at the deadline, however late we look");
    assert_eq!(time(&state["heartbeat"]["down_since"]), at("12:04:50"));
    assert_eq!(state["heartbeat"]["expected_at"], Value::Null);
    let said = text(&state["explanation"]);
    assert!(said.contains("did not call") && said.contains("192.0.2.7"), "{said}");
    job.passes(60).await;
    job.calls("").await.is(200);
    assert_eq!(job.is().await, "up");
    assert_eq!(job.told().await, ["opened", "resolved"]);
    let incidents = job.incidents().await;
    assert_eq!(incidents.len(), 1);
    assert_eq!(time(&incidents[0]["started_at"]), at("12:04:50"));
    assert_eq!(time(&incidents[0]["ended_at"]), at("12:05:52"));
}

#[tokio::test]
async fn the_time_that_it_was_down_counts_and_the_time_before_the_first_call_does_not() {
    let job = Job::new().await;
    job.passes(100).await;
    job.calls("").await.is(200);
    job.passes(100).await;
    job.calls("/fail").await.is(200);
    job.passes(50).await;
    job.calls("").await.is(200);
    job.passes(10).await;
    let span = "from=2026-03-01T12:00:00Z&to=2026-03-01T12:04:15Z";
    let times = job.api.get(&format!("monitors/{}/availability?{span}", job.id)).await.is(200);
    // In time for 90 s, then late, failed until the call 60 s after that.
    assert_eq!((&times["down_ms"], &times["up_ms"]), (&json!(60_000), &json!(95_000)));
    let rows = job.api.get("monitors").await.is(200);
    let row = &rows["items"][0];
    assert_eq!((&row["kind"], &row["state"]), (&json!("heartbeat"), &json!("up")));
    assert_eq!(row["seats"], json!([]));
    assert_eq!(time(&row["last_at"]), at("12:04:10"));
}

#[tokio::test]
async fn a_failure_is_told_at_once_with_what_the_job_printed() {
    let job = Job::new().await;
    let path = format!("{}/3", job.path);
    let output = format!("pg_dump: postgres://app:hunter2@db/x: no space\ncurl {}/3\n", job.path);
    call(&job.api, &path, output).await.is(200);
    assert_eq!(job.is().await, "down");
    assert_eq!(job.told().await, ["opened"]);
    let calls = job.list("").await;
    let evidence = text(&calls[0]["evidence"]);
    assert!(evidence.contains("no space") && !evidence.contains("hunter2"), "{evidence}");
    assert!(!evidence.contains("qrh_"), "the address is a key: {evidence}");
    assert_eq!((&calls[0]["kind"], &calls[0]["exit_code"]), (&json!("fail"), &json!(3)));
    assert_eq!(calls[0]["agent"], "curl/8.11.0");
    let incident = &job.incidents().await[0];
    let sentence = text(&incident["sentence"]);
    assert!(sentence.contains("failed") && sentence.contains("exit code 3"), "{sentence}");
    let shown = job.api.get(&format!("incidents/{}", text(&incident["id"]))).await.is(200);
    let line = &shown["evidence"]["locations"][0];
    assert_eq!((&line["name"], &line["class"]), (&json!("the job"), &json!("heartbeat_failed")));
    job.passes(10).await;
    job.calls("/0").await.is(200);
    assert_eq!(job.told().await, ["opened", "resolved"]);
    let decisions = format!("incidents/{}/decisions", text(&incident["id"]));
    let steps = job.api.get(&decisions).await.is(200);
    let again: Vec<&Value> =
        steps["items"].as_array().unwrap().iter().map(|step| &step["again"]).collect();
    assert_eq!(again, ["same", "same"], "anybody can take them again");
    // Bytes that are no text are not kept, and neither is what a success prints.
    call(&job.api, &path, vec![0_u8, 159, 146, 150]).await.is(200);
    job.api.later(2);
    call(&job.api, &job.path, "all is well").await.is(200);
    let calls = job.list("?limit=2").await;
    assert!(calls.iter().all(|call| call["evidence"].is_null()), "{calls:?}");
    assert_eq!(job.list("?kind=fail").await.len(), 2);
}

#[tokio::test]
async fn runs_are_timed_and_must_end_in_their_time() {
    let check = json!({ "kind": "heartbeat", "period_s": 3600, "grace_s": 60, "max_run_s": 300 });
    let job = Job::with(check).await;
    job.calls("/start").await.is(200);
    assert_eq!(job.is().await, "pending");
    job.passes(120).await;
    job.calls("").await.is(200);
    assert_eq!(job.list("?limit=1").await[0]["duration_ms"], 120_000);
    job.passes(60).await;
    job.calls("/start").await.is(200);
    let beat = job.state().await["heartbeat"].clone();
    assert_eq!(time(&beat["running_since"]), at("12:03:00"));
    assert_eq!(time(&beat["deadline_at"]), at("12:08:00"));
    job.passes(299).await;
    assert_eq!(job.is().await, "up");
    job.passes(1).await;
    assert_eq!(job.is().await, "down");
    job.passes(60).await;
    job.calls("/1").await.is(200);
    assert_eq!(job.list("?limit=1").await[0]["duration_ms"], 360_000, "it is timed all the same");
    job.calls("").await.is(200);
    assert_eq!(job.is().await, "up");
    let first = job.api.get(&format!("monitors/{}/heartbeats?limit=3", job.id)).await.is(200);
    let next = text(&first["next"]);
    let second = job.list(&format!("?limit=3&cursor={next}")).await;
    assert_eq!(second.len(), 2, "five calls in all");
    assert_eq!(second[1]["kind"], "start");
}

#[tokio::test]
async fn it_is_called_by_get_head_and_post_and_by_nothing_else() {
    let job = Job::new().await;
    for method in [Method::GET, Method::HEAD, Method::POST] {
        let answer = job.api.plain(method.clone(), &job.path, Value::Null, &[]).await;
        assert_eq!(answer.status, 200, "{method}");
        job.api.later(2);
    }
    assert_eq!(job.list("").await.len(), 3);
    for method in [Method::PUT, Method::DELETE] {
        let answer = job.api.plain(method, &job.path, Value::Null, &[]).await;
        assert!(answer.headers[header::ALLOW].to_str().unwrap().contains("POST"));
        answer.is(405);
    }
    for wrong in ["/stop", "/256", "/start/now"] {
        job.calls(wrong).await.is(404);
    }
    let (there, last) = job.path.split_at(job.path.len() - 4);
    for unknown in [format!("{there}AAAA"), format!("{there}{last}x"), "/hb/qrh_".to_owned()] {
        let answer = call(&job.api, &unknown, "").await;
        assert_eq!(answer.is(404), "Not found\n", "it says nothing");
    }
    assert_eq!(job.list("").await.len(), 3);
}

#[tokio::test]
async fn many_calls_at_once_are_one_and_too_many_are_refused() {
    let job = Job::new().await;
    // Whoever is asked last is beyond the ten that may come at once, however slow the database is.
    let answers = futures_util::future::join_all((0..40).map(|_| job.calls(""))).await;
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|one| one.status == 200);
    assert!(taken.len() >= 10 && !refused.is_empty(), "{} were taken", taken.len());
    for answer in refused {
        assert!(answer.headers.contains_key(header::RETRY_AFTER));
        assert_eq!(answer.is(429), "Too many calls\n");
    }
    assert_eq!(job.list("").await.len(), 1, "the clock stood still");
}

#[tokio::test]
async fn two_coordinators_hear_one_job() {
    let job = Job::new().await;
    let twin = job.api.twin();
    job.calls("").await.is(200);
    call(&twin, &job.path, "").await.is(200);
    assert_eq!(job.list("").await.len(), 1, "the same within a second, by whichever way");
    call(&twin, &format!("{}/fail", job.path), "").await.is(200);
    assert_eq!(job.is().await, "down");
    job.calls("").await.is(200);
    assert_eq!(job.is().await, "up", "it is not what was said before");
    job.passes(60).await;
    let rounds = (0..4).map(|_| async {
        tokio::join!(job.calls(""), call(&twin, &job.path, "")).0.is(200);
    });
    futures_util::future::join_all(rounds).await;
    assert_eq!(job.list("").await.len(), 4, "at the same time");
    let upkeep = Upkeep::new(twin.db.pool().clone(), twin.clock.clone());
    job.passes(80).await;
    job.api.later(10);
    let now = job.api.clock.now();
    let (one, two) = tokio::join!(job.upkeep.sweep(now), upkeep.sweep(now));
    one.and(two).unwrap();
    assert_eq!(job.told().await, ["opened", "resolved", "reopened"]);
}

#[tokio::test]
async fn a_call_that_could_not_reach_us_is_not_the_jobs_fault() {
    let job = Job::new().await;
    job.passes(5).await;
    job.calls("").await.is(200);
    job.api.later(600);
    job.sweep().await;
    assert_eq!(job.is().await, "up", "nobody was there to hear it");
    let grace: jiff_sqlx::Timestamp = sqlx::query_scalar("select grace_until from sweep")
        .fetch_one(job.api.db.pool())
        .await
        .unwrap();
    let grace = grace.to_jiff();
    assert_eq!(time(&job.state().await["heartbeat"]["deadline_at"]), grace);
    let left = grace.duration_since(job.api.clock.now()).unsigned_abs().as_secs();
    job.passes(left - 1).await;
    assert_eq!(job.is().await, "up");
    job.passes(1).await;
    assert_eq!(job.is().await, "down");
}

#[tokio::test]
async fn without_a_database_it_is_asked_to_call_again() {
    let job = Job::new().await;
    job.api.state.pool.close().await;
    let answer = job.calls("").await;
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    assert_eq!(answer.is(503), "Not taken, try again\n");
}

#[tokio::test]
async fn an_edit_moves_the_deadline() {
    let job = Job::new().await;
    let path = format!("monitors/{}", job.id);
    job.calls("").await.is(200);
    let longer = json!({"check": {"kind": "heartbeat", "period_s": 600, "grace_s": 30}});
    job.api.patch(&path, longer).await.is(200);
    job.passes(200).await;
    assert_eq!(job.is().await, "up");
    let shorter = json!({"check": {"kind": "heartbeat", "period_s": 100, "grace_s": 30}});
    job.api.patch(&path, shorter).await.is(200);
    assert_eq!(job.is().await, "down");
    let daily =
        json!({"check": {"kind": "heartbeat", "cron": "0 3 * * *", "zone": "Europe/Berlin"}});
    job.api.patch(&path, daily).await.is(200);
    let state = job.state().await;
    assert_eq!(state["state"], "up");
    assert_eq!(text(&state["heartbeat"]["expected_at"]), "2026-03-02T02:00:00.000Z");
    job.api.patch(&path, json!({"name": "nightly"})).await.is(200);
    assert_eq!(job.is().await, "up", "another edit changes nothing of it");
}

#[tokio::test]
async fn a_pause_begins_anew_and_a_deleted_job_calls_nobody() {
    let job = Job::new().await;
    let path = format!("monitors/{}", job.id);
    job.calls("/fail").await.is(200);
    job.api.patch(&path, json!({"enabled": false})).await.is(200);
    assert_eq!(job.told().await, ["opened", "resolved"]);
    job.api.later(10);
    assert_eq!(job.calls("").await.is(200), "OK, but the monitor is paused\n");
    assert_eq!(job.list("?limit=1").await[0]["counted"], false);
    assert_eq!(job.is().await, "paused");
    job.passes(300).await;
    job.api.patch(&path, json!({"enabled": true})).await.is(200);
    job.passes(300).await;
    assert_eq!(job.is().await, "pending");
    job.calls("").await.is(200);
    assert_eq!(job.is().await, "up");
    job.api.delete(&path).await.is(204);
    job.api.later(10);
    job.calls("").await.is(404);
}

#[tokio::test]
async fn the_address_is_for_editors_and_can_be_replaced() {
    let job = Job::new().await;
    let path = format!("monitors/{}/heartbeat", job.id);
    job.api.as_role(Role::Viewer, Method::GET, &path, Value::Null).await.is(403);
    job.api
        .as_role(Role::Viewer, Method::POST, &format!("{path}/rotate"), Value::Null)
        .await
        .is(403);
    let stored: Vec<u8> = sqlx::query_scalar("select sealed || token_hash from heartbeat")
        .fetch_one(job.api.db.pool())
        .await
        .unwrap();
    let key = job.path.strip_prefix("/hb/").unwrap().as_bytes();
    assert!(!stored.windows(key.len()).any(|part| part == key), "a copy of it opens nothing");
    job.api.post(&format!("{path}/rotate"), Value::Null).await.is(200);
    job.calls("").await.is(404);
    let new = path_of(&job.api, &job.id).await;
    call(&job.api, &new, "").await.is(200);
    assert_eq!(job.is().await, "up");
    let audit = job.api.get("audit").await.is(200);
    assert_eq!(audit["items"][0]["action"], "monitor.heartbeat_rotate");
    let probed = text(&job.api.monitor("shop").await["id"]);
    job.api.get(&format!("monitors/{probed}/heartbeat")).await.is(404);
    job.api.post(&format!("monitors/{probed}/heartbeat/rotate"), Value::Null).await.is(404);
}

#[tokio::test]
async fn nobody_probes_it_and_nobody_votes() {
    let job = Job::new().await;
    job.api.location("eu").await;
    let path = format!("monitors/{}", job.id);
    let shown = job.api.get(&path).await.is(200);
    assert_eq!((&shown["looks_from"], &shown["locations"]), (&json!([]), &json!([])));
    for act in ["run", "replay"] {
        let body = if act == "run" { Value::Null } else { json!({}) };
        job.api.post(&format!("{path}/{act}"), body).await.refuses(422, "check.kind");
    }
    job.api.get(&format!("{path}/odds")).await.refuses(422, "check.kind");
    let check = json!({"kind": "heartbeat", "period_s": 60});
    job.api.post("checks/try", json!({"check": check})).await.refuses(422, "check.kind");
    for (field, value) in [
        ("locations", json!("all")),
        ("locations", json!(["eu"])),
        ("interval_s", json!(60)),
        ("timeout_s", json!(5)),
        ("slow_ms", json!(100)),
        ("policy", json!({"fail_after": 2})),
    ] {
        let mut form = json!({"name": "b", "check": check});
        form[field] = value;
        let why = job.api.post("monitors", form).await.refuses(422, field);
        assert!(why.contains("leave"), "{why}");
    }
    let wrong = json!({"name": "b", "check": {"kind": "heartbeat", "cron": "soon"}});
    job.api.post("monitors", wrong).await.refuses(422, "check.cron");
    let http = json!({"check": {"kind": "http", "url": "https://shop.example"}});
    job.api.patch(&path, http).await.refuses(422, "check.kind");
    let probed = text(&job.api.monitor("shop").await["id"]);
    let change = json!({"check": check});
    job.api.patch(&format!("monitors/{probed}"), change).await.refuses(422, "check.kind");
}

#[tokio::test]
async fn what_a_job_sends_beyond_the_limit_is_dropped_and_the_call_counts() {
    let job = Job::new().await;
    let router = quorate::api::router(job.api.state.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let app = router.into_make_service_with_connect_info::<std::net::SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
    let sent = client.post(format!("{base}{}/1", job.path)).body("x".repeat(900_000)).send().await;
    assert_eq!(sent.unwrap().status(), 200);
    let calls = job.list("").await;
    assert_eq!(text(&calls[0]["evidence"]), "x".repeat(4096));
    assert_eq!(calls[0]["source"], "127.0.0.1");
    assert_eq!(job.is().await, "down");
    server.abort();
}

#[tokio::test]
async fn calls_are_kept_as_long_as_results() {
    let job = Job::new().await;
    job.calls("").await.is(200);
    job.api.later(29 * 86_400);
    job.upkeep.partitions(job.api.clock.now()).await.unwrap();
    job.calls("").await.is(200);
    assert_eq!(job.list("").await.len(), 2);
    job.api.later(3 * 86_400);
    job.upkeep.partitions(job.api.clock.now()).await.unwrap();
    assert_eq!(job.list("").await.len(), 1);
}

#[tokio::test]
async fn maintenance_silences_it_and_a_pause_of_probes_excuses_it() {
    let job = Job::new().await;
    job.calls("").await.is(200);
    let quiet =
        json!({"name": "quiet", "start": "2026-03-01T12:00:30Z", "end": "2026-03-01T12:05:00Z"});
    job.api.post("maintenance", quiet).await.is(201);
    job.passes(120).await;
    assert_eq!(job.is().await, "down");
    job.passes(290).await;
    assert_eq!(job.told().await, [] as [&str; 0]);
    job.passes(15).await;
    assert_eq!(job.told().await, ["after_maintenance"], "two periods behind the end");
    job.calls("").await.is(200);
    assert_eq!(job.told().await, ["after_maintenance", "resolved"]);
    let pause = json!({"name": "pause", "start": "2026-03-01T12:08:00Z", "end": "2026-03-01T12:15:00Z",
        "pause_probes": true});
    job.api.post("maintenance", pause).await.is(201);
    job.passes(500).await;
    assert_eq!(job.is().await, "up", "nothing was waited for");
    assert_eq!(time(&job.state().await["heartbeat"]["deadline_at"]), at("12:16:30"));
    job.passes(65).await;
    assert_eq!(job.is().await, "down");
}

#[tokio::test]
async fn it_has_a_budget_and_stands_on_a_status_page() {
    let job = Job::new().await;
    job.calls("").await.is(200);
    let page = json!({"name": "Status", "slug": "jobs", "published": true,
        "groups": [{"name": "Jobs", "parts": [{"name": "Backups", "monitor": "backup"}]}]});
    job.api.post("status-pages", page).await.is(201);
    job.passes(60).await;
    job.calls("/fail").await.is(200);
    job.passes(60).await;
    job.calls("").await.is(200);
    job.passes(60).await;
    let slo = json!({"name": "backups", "monitor": "backup", "target_ppb": 900_000_000_u64,
        "window": {"kind": "rolling", "duration": "1d"}});
    let made = job.api.post("slos", slo).await.is(201);
    let now = &made["now"];
    let spent = now["budget_total"].as_f64().unwrap() - now["budget_left"].as_f64().unwrap();
    assert!((spent - 60_000.0).abs() < 1.0, "{now}");
    let report = job.api.get(&format!("slos/{}/report.html", text(&made["id"]))).await.is(200);
    let said = "the job calls by itself, and a call every 1\u{a0}min is waited for";
    assert!(report.as_str().unwrap().contains(said), "it says how it was measured");
    let page = job.api.plain(Method::GET, "/status/jobs", Value::Null, &[]).await.is(200);
    assert!(page.as_str().unwrap().contains("Backups"));
    let overview = job.api.get("overview").await.is(200);
    assert_eq!(overview["counts"]["up"], 1);
}
