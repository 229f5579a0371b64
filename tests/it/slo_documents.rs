//! Documents on SLOs from stored state: what is downloaded, and what is made and mailed by itself.

use jiff::Timestamp;
use quorate::{
    api::auth::Role,
    domain::{decision::State, ids::MonitorKey},
    notify::{Fate, NotifySettings},
    store::{self, timeline::NewInterval},
    upkeep::Upkeep,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    api::{Api, text},
    mail_sink::MailSink,
};

/// A monitor with a February, and an SLO on it by the month of Berlin.
struct Scene {
    api: Api,
    monitor: (MonitorKey, String),
    slo: String,
}

const INTERVALS: [(&str, State); 6] = [
    ("2026-01-10T00:00:00Z", State::Up),
    ("2026-02-10T12:00:00Z", State::Down),
    ("2026-02-10T12:30:00Z", State::Up),
    ("2026-02-20T00:00:00Z", State::Unknown),
    ("2026-02-20T00:10:00Z", State::Up),
    ("2026-02-28T23:00:00Z", State::Up),
];

impl Scene {
    async fn new(api: Api) -> Self {
        let made = api.monitor("checkout").await;
        let id = text(&made["id"]);
        let pool = api.db.pool().clone();
        let key: i32 = sqlx::query_scalar(
            "update monitor set created_at = '2026-01-10T00:00:00Z' where uid = $1 returning monitor_id",
        )
        .bind(id.parse::<Uuid>().unwrap())
        .fetch_one(&pool)
        .await
        .unwrap();
        let monitor = MonitorKey(key);
        sqlx::query("delete from monitor_state where monitor_id = $1")
            .bind(key)
            .execute(&pool)
            .await
            .unwrap();
        let mut conn = pool.acquire().await.unwrap();
        for (from, state) in INTERVALS {
            let (from_at, state) = (from.parse().unwrap(), state.code());
            let new = NewInterval {
                monitor,
                from_at,
                state,
                evidence_stale: false,
                low: false,
                incident: None,
            };
            store::timeline::begin(&mut conn, &new).await.unwrap();
        }
        drop(conn);
        let slo = json!({
            "name": "Checkout <b>", "service": "shop", "monitor": id, "target_ppb": 999_000_000_u64,
            "window": {"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin"},
        });
        let slo = text(&api.post("slos", slo).await.is(201)["id"]);
        let scene = Self { api, monitor: (monitor, id), slo };
        scene.surroundings().await;
        scene
    }

    /// What only the store knows of that month.
    async fn surroundings(&self) {
        let line = |name: &str, vote: &str| {
            json!({"name": name, "region": "r", "domain": "d", "vote": vote, "class": "connect_refused",
                   "saw": "refused in 3 ms", "address": null, "simulated": false, "uncounted": null})
        };
        let evidence =
            json!({"locations": [line("eu", "down"), line("us", "down"), line("ap", "up")]});
        let pool = self.api.db.pool();
        sqlx::query(
            "insert into incident (monitor_id, incident_id, subject, severity, peak, started_at, opened_at, ended_at,
                 resolved_at, acked_at, acked_by, sentence, evidence)
             values ($1, '01900000-0000-7000-8000-000000000001', 'monitor:checkout', 'down', 'down', '2026-02-10T12:00:00Z',
                 '2026-02-10T12:00:20Z', '2026-02-10T12:30:00Z', '2026-02-10T12:30:00Z', '2026-02-10T12:02:20Z', 'pk', '', $2)",
        )
        .bind(self.monitor.0.0)
        .bind(evidence)
        .execute(pool)
        .await
        .unwrap();
        sqlx::query(
            "insert into decision (monitor_id, at, rule, state, changed, sentence, inputs)
             values ($1, '2026-02-20T00:01:00Z', 'q1', $2, true, '1 of 3 locations reported; 2 must.', '{}')",
        )
        .bind(self.monitor.0.0)
        .bind(State::Unknown.code())
        .execute(pool)
        .await
        .unwrap();
        let detail =
            json!({"name": "checkout", "before": {"interval_s": 60}, "after": {"interval_s": 30}});
        sqlx::query("insert into audit (at, actor, action, subject, detail) values ('2026-02-12T08:00:00Z', 'lm', 'monitor.change', $1, $2)")
            .bind(format!("monitor:{}", self.monitor.1))
            .bind(detail)
            .execute(pool)
            .await
            .unwrap();
        sqlx::query(
            "insert into maintenance_occurrence (monitor_id, start_at, maintenance_id, end_at, name, kind, reason, exclude_from_slo,
                 declared_at, declared_by)
             values ($1, '2026-02-15T01:00:00Z', '01900000-0000-7000-8000-000000000002', '2026-02-15T02:00:00Z', 'upgrade', 'planned',
                 'new disks', true, '2026-02-14T00:00:00Z', 'pk')",
        )
        .bind(self.monitor.0.0)
        .execute(pool)
        .await
        .unwrap();
    }

    /// Puts the clock forward, with a coordinator that swept all the time.
    async fn wait_for(&self, at: &str) -> Timestamp {
        let at: Timestamp = at.parse().unwrap();
        self.api.later(u64::try_from(at.duration_since(self.api.clock.now()).as_secs()).unwrap());
        sqlx::query("update sweep set sweep_at = $1::text::timestamptz")
            .bind(at.to_string())
            .execute(self.api.db.pool())
            .await
            .unwrap();
        at
    }

    async fn text(&self, path: &str) -> (String, String, String) {
        let answer = self.api.get(path).await;
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        let (kind, how) = (header("content-type"), header("content-disposition"));
        (kind, how, text(&answer.is(200)))
    }
}

#[tokio::test]
async fn a_report_is_downloaded_with_what_only_the_store_knows() {
    let scene = Scene::new(Api::start().await).await;
    scene.wait_for("2026-03-02T12:00:00Z").await;
    let report = format!("slos/{}/report", scene.slo);
    let (kind, how, table) =
        scene.text(&format!("{report}.csv?part=incidents&window=previous")).await;
    assert_eq!(kind, "text/csv; charset=utf-8");
    assert_eq!(how, "attachment; filename=\"checkout-b-2026-02-01-incidents.csv\"");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let row: std::collections::BTreeMap<String, String> =
        reader.deserialize().next().unwrap().unwrap();
    assert_eq!(
        (row["monitor"].as_str(), row["downtime_in_window_s"].as_str()),
        ("checkout", "1800")
    );
    assert_eq!((row["locations_failed"].as_str(), row["acked_by"].as_str()), ("eu us", "pk"));
    assert_eq!(
        (row["confirmed_utc"].as_str(), row["first_error"].as_str()),
        ("2026-02-10T12:00:20.000Z", "refused in 3 ms")
    );
    let json = scene.api.get(&format!("{report}?window=previous")).await.is(200);
    let (_, _, summary) = scene.text(&format!("{report}.csv?window=previous")).await;
    assert!(summary.contains(json["availability"]["pct"].as_str().unwrap()), "{summary}");

    let (kind, how, page) =
        scene.text(&format!("{report}.html?window=previous&customer=Shop%20GmbH")).await;
    assert_eq!(
        (kind.as_str(), how.as_str()),
        ("text/html; charset=utf-8", "inline; filename=\"checkout-b-2026-02-01.html\"")
    );
    let wanted = [
        "Availability report for <b>Shop GmbH</b>",
        "Checkout &lt;b&gt;, February 2026",
        "1 of 3 locations reported; 2 must",
        "interval 60\u{a0}s → 30\u{a0}s, by lm",
        "2 of 3",
        "new disks",
        "Sat 14 Feb 01:00:00, pk",
        "HTTP check of https://shop.example/health",
        json["sha256"].as_str().unwrap(),
    ];
    for words in wanted {
        assert!(page.contains(words), "{words}: {page}");
    }
    let refused = scene.api.get(&format!("{report}.csv?part=everything")).await;
    assert!(refused.refuses(422, "part").contains("summary, incidents, days"));
    let pdf = scene.api.get(&format!("{report}.pdf")).await.is(501);
    assert!(pdf["error"]["message"].as_str().unwrap().contains("print it"));
    scene.api.get(&format!("{report}.html?revision=1")).await.is(404);
}

#[tokio::test]
async fn a_schedule_is_checked_field_by_field() {
    let scene = Scene::new(Api::start().await).await;
    let api = &scene.api;
    api.post(
        "channels",
        json!({"name": "ops", "kind": "email", "config": {"to": ["ops@example.com"]}}),
    )
    .await
    .is(201);
    let good = json!({"name": "monthly", "slos": ["Checkout <b>"], "cron": "0 8 4 * *", "timezone": "Europe/Berlin", "channel": "ops"});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (field, value, at) in [
        ("name", json!(" "), "name"),
        ("slos", json!([]), "slos"),
        ("slos", json!(["Checkout <b>", "gone"]), "slos[1]"),
        ("cron", json!("soon"), "cron"),
        ("timezone", json!("Mars/Olympus"), "timezone"),
        ("channel", json!("nobody"), "channel"),
        ("customer", json!("x".repeat(201)), "customer"),
    ] {
        api.post("reports/schedules", with(field, value)).await.refuses(422, at);
    }
    let made = api.post("reports/schedules", good.clone()).await.is(201);
    assert_eq!(made["next_at"], "2026-03-04T07:00:00.000Z");
    assert_eq!(
        (&made["slos"][0]["name"], &made["channel_name"]),
        (&json!("Checkout <b>"), &json!("ops"))
    );
    api.post("reports/schedules", good).await.refuses(409, "name");
    let path = format!("reports/schedules/{}", text(&made["id"]));
    let ahead = [&made["upcoming"][0], &made["upcoming"][2], &made["last"]];
    let wanted = [&made["next_at"], &json!("2026-05-04T06:00:00.000Z"), &Value::Null];
    assert_eq!(ahead, wanted, "summer time has begun by the third");
    let off = api.patch(&path, json!({"enabled": false})).await.is(200);
    assert_eq!((&off["next_at"], &off["cron"]), (&Value::Null, &json!("0 8 4 * *")));
    assert_eq!(off["upcoming"], json!([]));
    let list = api.get("reports/schedules").await.is(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    api.as_role(Role::Viewer, axum::http::Method::DELETE, &path, Value::Null).await.is(403);
    api.delete(&path).await.is(204);
    api.delete(&path).await.is(404);
}

#[tokio::test]
async fn a_report_is_made_when_it_is_due_and_mailed_once() {
    let mut sink = MailSink::start("reports", json!({})).await;
    let settings =
        NotifySettings { mail: Some(sink.server(json!({}))), ..NotifySettings::default() };
    let scene = Scene::new(Api::start_telling(settings).await).await;
    let api = &scene.api;
    api.post(
        "channels",
        json!({"name": "ops", "kind": "email", "config": {"to": ["ops@example.com"]}}),
    )
    .await
    .is(201);
    let schedule = json!({"name": "monthly", "slos": [scene.slo], "cron": "0 8 4 * *", "timezone": "Europe/Berlin",
        "channel": "ops", "customer": "Shop GmbH"});
    let schedule = api.post("reports/schedules", schedule).await.is(201);
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    let early = scene.wait_for("2026-03-04T06:59:59Z").await;
    assert!(!upkeep.make_reports(early).await.unwrap(), "not yet");
    let now = scene.wait_for("2026-03-04T07:00:10Z").await;
    assert!(upkeep.make_reports(now).await.unwrap());
    assert!(!upkeep.make_reports(now).await.unwrap(), "once");
    let delivery = api.state.notifier.deliver_next(now).await.unwrap().unwrap();
    assert_eq!(delivery.fate, Fate::Delivered, "{}", delivery.answer);
    let mail = sink.next().await;
    assert_eq!(mail.to, ["ops@example.com"]);
    assert_eq!(mail.header("Subject"), "Report: Checkout <b>, February 2026");
    for name in ["", "-summary", "-incidents", "-days", "-locations", "-maintenance"] {
        let form = if name.is_empty() { "html" } else { "csv" };
        let file = format!("checkout-b-2026-02-01{name}.{form}");
        assert!(mail.raw.contains(&file), "{file}: {}", mail.raw);
    }

    // Somebody else who did not see that it was made makes no second one.
    sqlx::query("update report_schedule set next_at = '2026-03-04T07:00:00Z'")
        .execute(api.db.pool())
        .await
        .unwrap();
    assert!(upkeep.make_reports(now).await.unwrap());
    assert!(api.state.notifier.deliver_next(now).await.unwrap().is_none());
    assert_eq!(sink.rest().await.len(), 0);
    let list = api.get("reports/schedules").await.is(200);
    assert_eq!(
        list["items"][0]["next_at"], "2026-04-04T06:00:00.000Z",
        "summer time has begun by then"
    );

    let last = &list["items"][0]["last"];
    assert_eq!(
        (&last["reports"], &last["delivered"], &last["failed"]),
        (&json!(1), &json!(1), &json!(0))
    );

    let made = api.get("reports").await.is(200)["items"][0].clone();
    let verdict =
        [&made["window"]["kind"], &made["window"]["timezone"], &made["target_pct"], &made["met"]];
    assert_eq!(
        verdict,
        [&json!("calendar"), &json!("Europe/Berlin"), &json!("99.9"), &json!(true)]
    );
    assert_eq!((&made["outcome"], &made["schedule"]), (&json!("delivered"), &schedule["id"]));
    assert_eq!(made["window_start"], "2026-01-31T23:00:00.000Z");
    let file = format!("reports/{}", text(&made["id"]));
    let report = api.get(&format!("{file}.json")).await.is(200);
    assert_eq!(
        (&report["sha256"], &report["time_ms"]["down"]),
        (&made["sha256"], &json!(1_800_000))
    );
    let (_, _, page) = scene.text(&format!("{file}.html")).await;
    assert!(page.contains("Shop GmbH") && page.contains(made["sha256"].as_str().unwrap()));
    let (_, _, table) = scene.text(&format!("{file}.csv?part=maintenance")).await;
    assert!(table.contains("new disks"), "{table}");
    api.get(&format!("{file}.pdf")).await.is(501);
    api.get(&format!("{file}.doc")).await.is(404);
    api.get("reports/nothing.html").await.is(404);
}

#[tokio::test]
async fn a_report_is_made_at_once_on_demand() {
    let scene = Scene::new(Api::start().await).await;
    let api = &scene.api;
    let hook =
        json!({"name": "ops", "kind": "webhook", "config": {"url": "https://hook.example/"}});
    api.post("channels", hook).await.is(201);
    let schedule = json!({"name": "monthly", "slos": [scene.slo], "cron": "0 8 4 * *", "timezone": "Europe/Berlin",
        "channel": "ops", "enabled": false});
    let schedule = api.post("reports/schedules", schedule).await.is(201);
    let now = scene.wait_for("2026-03-10T12:00:00Z").await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    assert!(!upkeep.make_reports(now).await.unwrap(), "it is switched off");
    let send = format!("reports/schedules/{}/send", text(&schedule["id"]));
    api.as_role(Role::Viewer, axum::http::Method::POST, &send, Value::Null).await.is(403);
    api.post(&send, Value::Null).await.is(202);
    assert!(upkeep.make_reports(now).await.unwrap());
    let after = api.get("reports/schedules").await.is(200)["items"][0].clone();
    assert_eq!(
        (&after["next_at"], &after["enabled"]),
        (&Value::Null, &json!(false)),
        "it stays so"
    );
    let last = &after["last"];
    assert_eq!(
        (&last["reports"], &last["delivered"], &last["failed"]),
        (&json!(1), &json!(0), &json!(0))
    );
    assert_eq!(api.get("reports").await.is(200)["items"][0]["outcome"], Value::Null, "still tried");

    let check = |cron: &str| json!({"cron": cron, "timezone": "Europe/Berlin"});
    let told = api.post("reports/schedules/check", check("0 8 1 * *")).await.is(200);
    let wanted =
        ["2026-04-01T06:00:00.000Z", "2026-05-01T06:00:00.000Z", "2026-06-01T06:00:00.000Z"];
    assert_eq!(told["upcoming"], json!(wanted));
    api.post("reports/schedules/check", check("soon")).await.refuses(422, "cron");
}
