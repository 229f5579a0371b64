//! One instance of four fails for some minutes, by the clock of the test: found, told once, over, told
//! once, whoever judges; and what comes late counts and changes nothing that was told.

use quorate::upkeep::Upkeep;
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    fleet_traffic::{PER_MINUTE, judge, minute, send},
};

/// A fleet with two channels that hear of it.
async fn fleet(api: &Api) -> String {
    let hook = json!({"name": "hook", "kind": "webhook", "config": {"url": "https://hook.example/q"}, "min_severity": "degraded"});
    api.post("channels", hook).await.is(201);
    let mail = json!({"name": "mail", "kind": "email", "config": {"to": ["ops@example.com"]}, "min_severity": "degraded"});
    api.post("channels", mail).await.is(201);
    text(&api.post("fleets", json!({"name": "shop"})).await.is(201)["id"])
}

async fn incidents(api: &Api) -> Vec<Value> {
    api.get("incidents").await.is(200)["items"].as_array().unwrap().clone()
}

/// 30 quiet minutes, then 8 of which one instance fails, then 12 quiet ones.
fn bad_in(n: u32) -> Option<&'static str> {
    (30..38).contains(&n).then_some("app2")
}

#[tokio::test]
async fn one_bad_instance_is_named_told_once_and_over() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let monitor = json!({"name": "shop", "fleet": "shop", "check": {"kind": "http", "url": "https://shop.example/"}});
    let monitor = api.post("monitors", monitor).await.is(201);
    assert_eq!(monitor["fleet"], json!(shop));
    let start = api.clock.now();
    let mut upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    for n in 0..50 {
        send(
            &api,
            &shop,
            minute(start + jiff::SignedDuration::from_secs(60 * i64::from(n)), bad_in(n)),
        )
        .await;
        api.later(60);
        // Half of the time another coordinator goes on from what is stored.
        if n % 2 == 0 {
            upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        }
        judge(&upkeep).await;
        if n == 36 {
            let open = incidents(&api).await;
            assert_eq!(open.len(), 1, "{open:?}");
            assert_eq!(open[0]["fleet"]["name"], "shop");
            assert!(
                text(&open[0]["subject"]).ends_with(":errors:app/app2"),
                "{}",
                open[0]["subject"]
            );
            assert!(text(&open[0]["sentence"]).contains("app/app2"), "{}", open[0]["sentence"]);
            let now = &api.get(&format!("fleets/{shop}")).await.is(200)["now"];
            assert_ne!(now["state"], "ok", "{now}");
            let instances = api.get(&format!("fleets/{shop}/instances")).await.is(200);
            let worst = &instances["items"][0];
            assert_eq!(worst["instance"], "app/app2");
            assert!(worst["error_low"].as_f64().unwrap() > worst["peers_share"].as_f64().unwrap());
            // The sound ones are compared with one another, not with the one that a finding names.
            for sound in instances["items"].as_array().unwrap().iter().skip(1) {
                let peers = sound["peers_share"].as_f64().unwrap();
                assert!(peers < 0.01, "{sound}");
            }
            // No state line came: traffic alone shows them.
            for one in instances["items"].as_array().unwrap() {
                assert_eq!(
                    (&one["state"], &one["state_source"]),
                    (&json!("in_rotation"), &json!("traffic"))
                );
            }
            assert_eq!((&now["ready"], &now["in_rotation"]), (&Value::Null, &json!(4)));
        }
    }
    let all = incidents(&api).await;
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        (&all[0]["resolve_reason"], &all[0]["resolved_at"].is_string()),
        (&json!("recovered"), &true)
    );
    let page = api.get(&format!("incidents/{}", text(&all[0]["id"]))).await.is(200);
    let notices: Vec<(String, String)> = page["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (text(&n["channel_name"]), text(&n["kind"])))
        .collect();
    for channel in ["hook", "mail"] {
        for kind in ["opened", "resolved"] {
            let told = notices.iter().filter(|n| n.0 == channel && n.1 == kind).count();
            assert_eq!(told, 1, "{channel} {kind}: {notices:?}");
        }
    }
    assert_eq!(page["fleet_findings"][0]["kind"], "errors", "{}", page["fleet_findings"]);
    assert_eq!(page["fleet_findings"][0]["instances"], json!(["app/app2"]));
    // Two of three minutes, the second of them over, and ten seconds for late lines.
    let at =
        |name: &str| text(&page["fleet_findings"][0][name]).parse::<jiff::Timestamp>().unwrap();
    assert_eq!(at("found_at").as_second() - at("from").as_second(), 130);
    assert_eq!(page["fleet_findings"][0]["outside"]["felt"], Value::Null, "nobody probed");
    let metrics = api.get("/metrics").await.is(200);
    assert!(metrics.as_str().unwrap().contains("quorate_instance_transitions_total"), "{metrics}");
}

#[tokio::test]
async fn late_lines_count_and_open_nothing() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let start = api.clock.now();
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    let at = |n: u32| start + jiff::SignedDuration::from_secs(60 * i64::from(n));
    for n in 0..20 {
        send(&api, &shop, minute(at(n), None)).await;
        api.later(60);
        judge(&upkeep).await;
    }
    let span = format!("fleets/{shop}/health?from={}&to={}", at(0), at(20));
    let before = api.get(&span).await.is(200);
    assert_eq!(before["series"][5]["requests"], PER_MINUTE * 4);
    assert_eq!(
        (&before["series"][5]["judged"], &before["series"][5]["revised"]),
        (&json!(true), &json!(false))
    );
    // Minutes 5 to 9 come a second time as another balancer's, all of one instance failing.
    for n in 5..10 {
        send(&api, &shop, minute(at(n), Some("app3"))).await;
        judge(&upkeep).await;
    }
    let after = api.get(&span).await.is(200);
    assert_eq!(after["series"][5]["requests"], PER_MINUTE * 8);
    assert_eq!(after["series"][5]["revised"], true);
    assert_eq!(after["series"][4]["revised"], false);
    for n in 20..26 {
        send(&api, &shop, minute(at(n), None)).await;
        api.later(60);
        judge(&upkeep).await;
    }
    assert_eq!(incidents(&api).await, Vec::<Value>::new());
    let findings = api.get(&format!("fleets/{shop}/findings")).await.is(200);
    let errors =
        findings["items"].as_array().unwrap().iter().filter(|f| f["kind"] == "errors").count();
    assert_eq!(errors, 0, "{findings}");
    // Four hours on the windows have become quarter hours, and every line is still there.
    for n in [200, 300] {
        api.clock.advance(std::time::Duration::from_secs(6_000));
        send(&api, &shop, minute(api.clock.now() - jiff::SignedDuration::from_secs(60), None))
            .await;
        judge(&upkeep).await;
        assert!(n > 0);
    }
    let whole = api
        .get(&format!("fleets/{shop}/health?from={}&to={}&step=900", at(0), at(30)))
        .await
        .is(200);
    let total: u64 =
        whole["series"].as_array().unwrap().iter().filter_map(|s| s["requests"].as_u64()).sum();
    assert_eq!(total, u64::from(PER_MINUTE) * 4 * 31);
}

#[tokio::test]
async fn a_fleet_that_falls_silent_is_no_data_until_it_speaks_again() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    send(&api, &shop, minute(api.clock.now(), None)).await;
    api.later(60);
    judge(&upkeep).await;
    api.later(400);
    judge(&upkeep).await;
    let open = incidents(&api).await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(text(&open[0]["subject"]).contains(":no_data:") && open[0]["severity"] == "degraded");
    // By hand it can be closed; the same silence does not open it again.
    let id = text(&open[0]["id"]);
    let closed = api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(200);
    assert_eq!(closed["resolve_reason"], "closed by hand");
    api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(409);
    api.later(60);
    judge(&upkeep).await;
    assert_eq!(incidents(&api).await.len(), 1);
    send(&api, &shop, minute(api.clock.now(), None)).await;
    judge(&upkeep).await;
    let findings = api.get(&format!("fleets/{shop}/findings?open=true")).await.is(200);
    assert!(!findings.to_string().contains("no_data"), "{findings}");
}

/// What is written to the log while the guard lives, by this thread.
fn listen() -> (std::sync::Arc<std::sync::Mutex<Vec<u8>>>, tracing::subscriber::DefaultGuard) {
    struct Writer(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl std::io::Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let text = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&text);
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || Writer(std::sync::Arc::clone(&log)))
        .finish();
    (text, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn trouble_with_a_fleet_is_logged_by_its_name_and_without_what_logs_said() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let start = api.clock.now();
    let at = |n: i64| start + jiff::SignedDuration::from_secs(60 * n);
    let next = async |n: i64| {
        api.later(60);
        send(&api, &shop, minute(at(n), None)).await;
        judge(&Upkeep::new(api.db.pool().clone(), api.clock.clone())).await;
        text(&api.get(&format!("fleets/{shop}")).await.is(200)["now"]["judged_until"])
    };
    api.later(60);
    send(&api, &shop, minute(at(0), None)).await;
    assert_eq!(next(1).await, "2026-03-01T12:01:00.000Z");
    let run = async |statement: &'static str| {
        sqlx::query(statement).execute(api.db.pool()).await.unwrap();
    };
    let (log, _guard) = listen();
    let said = || String::from_utf8(std::mem::take(&mut *log.lock().unwrap())).unwrap();
    run("update fleet_live set timeline = jsonb_set(timeline, '{instances}', '\"token=hunter2\"')")
        .await;
    assert_eq!(next(2).await, "2026-03-01T12:02:00.000Z", "it goes on");
    let told = said();
    assert!(told.contains("shop") && told.contains("begins anew"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    run("alter table fleet_transition rename to elsewhere").await;
    run("alter table fleet_ready rename to elsewhere_too").await;
    run("update fleet_live set timeline = null").await;
    assert_eq!(next(3).await, "2026-03-01T12:02:00.000Z", "not judged");
    let told = said();
    assert!(told.contains("not judged") && told.contains("fleet=\"shop\""), "{told}");
    run("alter table elsewhere rename to fleet_transition").await;
    run("alter table elsewhere_too rename to fleet_ready").await;
    assert_eq!(next(4).await, "2026-03-01T12:04:00.000Z", "and caught up");
}

#[tokio::test]
async fn who_was_harmed_before_a_removal_is_counted_to_its_moment() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    let start = api.clock.now();
    let at = |ms: i64| start + jiff::SignedDuration::from_millis(ms);
    let stamp = |ms: i64| at(ms).strftime("%FT%T%.3fZ").to_string();
    let request = |ms: i64, app: u32, status: u16| {
        let begun = at(ms - 5).strftime("%d/%b/%Y:%H:%M:%S%.3f");
        format!(
            "<134>1 {} lb haproxy 7 - - 203.0.113.9:40000 [{begun}] www app/app{app} 0/0/0/5/5 {status} 512 - - \
             ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"\n",
            stamp(ms)
        )
    };
    let said = |ms: i64, what: &str, left: u32| {
        let level = if left == 3 { "online" } else { "left" };
        format!(
            "<129>1 {} lb haproxy 7 - - Server app/app2 is {what}. {left} active and 0 backup servers {level}. 0 \
             sessions active, 0 requeued, 0 remaining in queue.\n",
            stamp(ms)
        )
    };
    // app2 fails 10 a second from second 50 on, is taken out at 70.5, is back at 80 and fails 7 more.
    let mut log = String::new();
    for ms in (0..120_000).step_by(100) {
        if ms == 70_500 {
            log.push_str(&said(ms, "DOWN", 2));
        } else if ms == 80_000 {
            log.push_str(&said(ms, "UP", 3));
        }
        log.push_str(&request(ms + 20, 1, 200));
        log.push_str(&request(ms + 40, 3, 200));
        match ms {
            50_000..70_500 => log.push_str(&request(ms + 30, 2, 503)),
            70_500..80_000 => {}
            90_000..90_700 => log.push_str(&request(ms + 30, 2, 503)),
            _ => log.push_str(&request(ms + 30, 2, 200)),
        }
    }
    api.later(121);
    send(&api, &shop, log).await;
    api.later(120);
    judge(&upkeep).await;
    let removals = api.get(&format!("fleets/{shop}/removals")).await.is(200);
    let removal = &removals["items"][0];
    assert_eq!(removal["ttr_ms"], 70_500 - 50_030, "{removals}");
    assert_eq!((&removal["harmed"], &removal["client_visible"]), (&json!(205), &json!(205)));
    let instances = api.get(&format!("fleets/{shop}/instances")).await.is(200);
    let of = |name: &str| {
        let all = instances["items"].as_array().unwrap();
        all.iter().find(|i| i["instance"] == name).unwrap().clone()
    };
    assert_eq!(of("app/app2")["errors"], 212, "the sums hold the others as well");
    assert_eq!(
        (&of("app/app2")["state"], &of("app/app1")["state"]),
        (&json!("ready"), &json!("in_rotation"))
    );
}
