//! Status pages as the public gets them: what they say of every state, by the figures of the reports; who gets to see
//! them; what a crowd costs; and that nothing internal is in any answer.

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{api::text, slo::Scene};

/// 2 April 2026, 12:00 in Berlin: the clocks went forward four days before.
const NOW: &str = "2026-04-02T10:00:00Z";
const CREATED: &str = "2026-03-20T00:00:00Z";

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn is(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// As a visitor, who has no sign-in.
async fn ask(scene: &Scene, host: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(Method::GET).uri(path).header("host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = scene.api.raw(request.body(Body::empty()).unwrap()).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

async fn visit(scene: &Scene, path: &str) -> Answer {
    ask(scene, "q.test", path, &[]).await
}

/// A monitor that has been like this up to now.
async fn watched(scene: &mut Scene, timeline: Value) -> String {
    let (key, id) = scene.monitor(CREATED).await;
    scene.past(key, &timeline).await;
    // `past` ends in the unknown; what goes on has no end.
    id
}

async fn page(scene: &Scene, more: Value) -> Value {
    let mut form = json!({ "name": "Shop", "slug": "shop", "timezone": "Europe/Berlin", "published": true, "days": 14 });
    for (name, value) in more.as_object().unwrap() {
        form[name] = value.clone();
    }
    scene.api.post("status-pages", form).await.is(201)
}

fn part(name: &str, monitor: &str) -> Value {
    json!({ "name": name, "monitor": monitor })
}

/// The row of a part.
fn row<'a>(html: &'a str, slug: &str) -> &'a str {
    let start =
        html.find(&format!("id=\"c-{slug}\"")).unwrap_or_else(|| panic!("no {slug} in {html}"));
    let rest = &html[start..];
    let end = rest[5..].find("id=\"c-").map_or(rest.len(), |at| at + 5);
    &rest[..end]
}

fn up() -> Value {
    json!([{ "from": CREATED, "state": "up" }])
}

#[tokio::test]
async fn every_state_is_told_in_words_and_by_the_figures_of_the_reports() {
    let mut scene = Scene::new().await;
    let works = watched(&mut scene, up()).await;
    let down = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-03-25T08:00:00Z", "state": "up" },
            { "from": "2026-03-25T08:00:00Z", "to": "2026-03-25T08:07:00Z", "state": "down" },
            { "from": "2026-03-25T08:07:00Z", "to": "2026-04-02T09:30:00Z", "state": "up" },
            { "from": "2026-04-02T09:30:00Z", "state": "down" },
        ]),
    )
    .await;
    let partial = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-04-01T12:00:00Z", "state": "up" },
            { "from": "2026-04-01T12:00:00Z", "state": "partial" },
        ]),
    )
    .await;
    let silent = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-03-28T23:00:00Z", "state": "up" },
            { "from": "2026-03-28T23:00:00Z", "state": "unknown" },
        ]),
    )
    .await;
    let slow = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-04-01T10:00:00Z", "state": "up" },
            { "from": "2026-04-01T10:00:00Z", "state": "degraded" },
        ]),
    )
    .await;
    let (key, mended) = scene.monitor(CREATED).await;
    scene.past(key, &up()).await;
    scene.maintenance(key, &json!([
        { "start": "2026-04-02T09:00:00Z", "end": "2026-04-02T11:00:00Z", "declared_at": "2026-04-01T00:00:00Z" },
    ])).await;
    let slo = json!({ "target_ppb": 990_000_000, "decimals": 2,
        "window": { "kind": "rolling", "duration": "30d", "timezone": "Europe/Berlin" } });
    let slo = scene.slo(&slo, ("monitor", json!(down))).await;
    scene.wait_for(NOW).await;
    let parts = [
        part("Works", &works),
        part("Fails", &down),
        part("Half", &partial),
        part("Silent", &silent),
        part("Slow", &slow),
        part("Mended", &mended),
        json!({ "name": "Promise", "slo": slo }),
    ];
    page(&scene, json!({ "groups": [{ "name": "All", "parts": parts }] })).await;
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(html.contains("Fails and Promise do not work since 11:30."), "{html}");
    assert!(html.contains("Half works only in part since Wed 1 Apr, 14:00."));
    assert!(html.contains("Silent is not measured at the moment."));
    assert!(html.contains("Planned work is going on at Mended."));
    for (slug, word, bar) in [
        ("works", "Works", "u"),
        ("fails", "Down", "d"),
        ("half", "Works in part", "p"),
        ("silent", "Not measured", "x"),
        ("slow", "Slow", "s"),
        ("mended", "Planned work", "m"),
    ] {
        let row = row(&html, slug);
        assert!(row.contains(&format!(">{word}</span>")), "{row}");
        let last = row.rfind("<i class=").unwrap();
        assert!(
            row[last..].starts_with(&format!("<i class=\"{bar}\"")),
            "{slug}: {}",
            &row[last..]
        );
    }
    // The same share as the report's over the same days, and as the monitor page's.
    let window = "2026-03-19T23:00:00Z..2026-04-02T10:00:00Z";
    let report =
        scene.api.get(&format!("slos/{slo}/report?window={window}&as_of={NOW}")).await.is(200);
    let pct = report["availability"]["pct"].as_str().unwrap();
    for slug in ["fails", "promise"] {
        assert!(
            row(&html, slug).contains(&format!("{pct}\u{a0}% in 14 days")),
            "{pct}: {}",
            row(&html, slug)
        );
    }
    assert!(row(&html, "works").contains("100.00\u{a0}% in 14 days"));
    assert!(row(&html, "fails").contains("Wed 25 Mar: down 0:07\u{a0}h"));
    // The day of 23 hours is told as 23 hours.
    assert!(row(&html, "silent").contains("Sun 29 Mar: not measured 23:00\u{a0}h"));
    assert!(row(&html, "silent").contains("h not measured"));
    // Before there was a monitor, in this zone an hour of its first day.
    assert_eq!(row(&html, "works").matches("<i class=").count(), 14);
}

#[tokio::test]
async fn what_was_never_measured_is_not_a_hundred_percent() {
    let mut scene = Scene::new().await;
    let (_, never) = scene.monitor("2026-04-01T10:00:00Z").await;
    scene.wait_for(NOW).await;
    let groups = json!([{ "parts": [part("Never", &never)] }]);
    let made = page(&scene, json!({ "groups": groups })).await;
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(html.contains("Nothing is measured at the moment"), "{html}");
    let never = row(&html, "never");
    assert!(never.contains("not measured") && !never.contains("100"), "{never}");
    assert!(never.contains("Tue 31 Mar: not monitored"), "{never}");
    let summary: Value =
        serde_json::from_str(&visit(&scene, "/status/shop/summary.json").await.is(200)).unwrap();
    assert_eq!(summary["components"], json!([]), "the format has no word for it");
    let badge: Value =
        serde_json::from_str(&visit(&scene, "/badge/shop/never.json").await.is(200)).unwrap();
    assert_eq!((&badge["message"], &badge["isError"]), (&json!("no data"), &json!(true)));
    // Without anything on it a page says so; what is behind a part may be deleted.
    let id = text(&made["groups"][0]["parts"][0]["monitor"]["id"]);
    scene.api.delete(&format!("monitors/{id}")).await.is(204);
    scene.api.later(11);
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(row(&html, "never").contains("Nothing was measured."), "{html}");
    scene
        .api
        .patch(&format!("status-pages/{}", text(&made["id"])), json!({ "groups": [] }))
        .await
        .is(200);
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(html.contains("Nothing is shown here yet."));
}

#[tokio::test]
async fn drafts_and_names_that_nobody_has_are_answered_alike() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    let groups = json!([{ "parts": [part("Works", &id)] }]);
    let draft = json!({ "published": false, "groups": groups, "domain": "status.shop.example" });
    let made = page(&scene, draft).await;
    let none = visit(&scene, "/status/nobody").await;
    let alike = |answer: &Answer| {
        let without_id = |headers: &HeaderMap| {
            let mut headers = headers.clone();
            headers.remove("x-request-id");
            headers
        };
        assert_eq!((answer.status, &answer.body), (404, &none.body));
        assert_eq!(without_id(&answer.headers), without_id(&none.headers));
    };
    for path in ["", "/summary.json", "/history", "/feed.rss", "/maintenance.ics", "/nothing"] {
        alike(&visit(&scene, &format!("/status/shop{path}")).await);
    }
    alike(&visit(&scene, "/badge/shop/works.json").await);
    alike(&visit(&scene, "/status/%ff%fe").await);
    alike(&visit(&scene, "/badge/shop/%ff.json").await);
    // Its host is its own already.
    for path in ["/", "/api/v1/monitors", "/setup/x"] {
        assert_eq!(ask(&scene, "status.shop.example", path, &[]).await.status, 404, "{path}");
    }
    let own = format!("status-pages/{}", text(&made["id"]));
    let preview = scene.api.get(&format!("{own}/preview")).await;
    assert_eq!(preview.headers["cache-control"], "no-store");
    assert!(preview.is(200).as_str().unwrap().contains("A draft:"));
    let nobody = scene.api.plain(Method::GET, &format!("{own}/preview"), Value::Null, &[]).await;
    nobody.is(401);
    scene.api.patch(&own, json!({ "published": true })).await.is(200);
    visit(&scene, "/status/shop").await.is(200);
    ask(&scene, "status.shop.example", "/", &[]).await.is(200);
    scene.api.patch(&own, json!({ "published": false })).await.is(200);
    alike(&visit(&scene, "/status/shop").await);
}

#[tokio::test]
async fn a_host_of_its_own_has_the_page_and_nothing_else_of_the_product() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    let groups = json!([{ "parts": [part("Check out", &id)] }]);
    page(&scene, json!({ "groups": groups, "domain": "status.shop.example" })).await;
    let own = async |path: &str| ask(&scene, "Status.Shop.Example:8443", path, &[]).await;
    let html = own("/").await;
    assert_eq!(html.header("content-type"), "text/html; charset=utf-8");
    let html = html.is(200);
    assert!(html.contains("Check out works.") && html.contains("href=\"/feed.atom\""), "{html}");
    assert!(!html.contains("q.test"), "{html}");
    for (path, kind) in [
        ("/history", "text/html; charset=utf-8"),
        ("/api/v2/summary.json", "application/json"),
        ("/feed.rss", "application/rss+xml; charset=utf-8"),
        ("/feed.atom", "application/atom+xml; charset=utf-8"),
        ("/maintenance.ics", "text/calendar; charset=utf-8"),
        ("/badge/check-out.json", "application/json"),
    ] {
        let answer = own(path).await;
        assert_eq!(answer.header("content-type"), kind, "{path}");
        let body = answer.is(200);
        assert!(!body.contains("q.test"), "{path}: {body}");
    }
    for path in [
        "/api/v1/monitors",
        "/api/v1/session",
        "/api/v1/openapi.json",
        "/agent/v1/stream",
        "/metrics",
        "/status/shop",
        "/monitors",
        "/index.html",
        "/assets/x.js",
        "/unsubscribe/a/b",
        "/failover/x",
        "/hb/x",
    ] {
        assert_eq!(own(path).await.status, 404, "{path}");
    }
    let login = Request::post("/api/v1/session").header("host", "status.shop.example");
    let login = login.header("content-type", "application/json").body(Body::from("{}")).unwrap();
    assert_eq!(scene.api.raw(login).await.status(), 405);
    // Any other host is the product's.
    assert_eq!(ask(&scene, "other.example", "/api/v1/monitors", &[]).await.status, 401);
    let by_path = visit(&scene, "/status/shop").await.is(200);
    assert!(by_path.contains("rel=\"canonical\" href=\"http://status.shop.example\""), "{by_path}");
    assert!(by_path.contains("href=\"/status/shop/feed.atom\""));
}

#[tokio::test]
async fn answers_are_guarded_kept_and_packed() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    page(&scene, json!({ "groups": [{ "parts": [part("Works", &id)] }] })).await;
    let first = visit(&scene, "/status/shop").await;
    assert_eq!(first.header("cache-control"), "public, max-age=10");
    assert_eq!(first.header("x-content-type-options"), "nosniff");
    assert_eq!(first.header("x-frame-options"), "DENY");
    let policy = first.header("content-security-policy").to_owned();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    // The hashes are those of what is in the page, and nothing in it needs more.
    let between = |open: &str, close: &str| {
        let at = first.body.find(open).unwrap() + open.len();
        first.body[at..at + first.body[at..].find(close).unwrap()].to_owned()
    };
    for part in [between("<style>", "</style>"), between("<script>", "</script>")] {
        use base64::{Engine, prelude::BASE64_STANDARD};
        use sha2::{Digest, Sha256};
        let hash = BASE64_STANDARD.encode(Sha256::digest(part.as_bytes()));
        assert!(policy.contains(&hash), "{hash} {policy}");
    }
    assert!(!first.body.contains(" style=\"") && !first.body.contains(" onclick"));
    let etag = first.header("etag").to_owned();
    let again = ask(&scene, "q.test", "/status/shop", &[("if-none-match", etag.as_str())]).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let packed = ask(&scene, "q.test", "/status/shop", &[("accept-encoding", "br, gzip")]).await;
    assert_eq!((packed.header("content-encoding"), packed.header("etag")), ("gzip", etag.as_str()));
    let json = visit(&scene, "/status/shop/summary.json").await;
    assert_eq!(json.header("access-control-allow-origin"), "*");
    assert_eq!(json.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn a_crowd_costs_what_one_visitor_does() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    page(&scene, json!({ "groups": [{ "parts": [part("Works", &id)] }] })).await;
    let pool = scene.api.db.pool().clone();
    // Nobody gets at the pages while this is held: whoever reads waits, and can be counted.
    let mut lock = pool.begin().await.unwrap();
    sqlx::query("lock table monitor_state in access exclusive mode")
        .execute(&mut *lock)
        .await
        .unwrap();
    let crowd = async {
        let all = (0..200).map(|_| visit(&scene, "/status/shop"));
        futures_util::future::join_all(all).await
    };
    // Not within the transaction: it would be told what it was told first, again and again.
    let mut other = pool.acquire().await.unwrap();
    let count = async {
        let waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        let mut most: i64 = 0;
        for _ in 0..20 {
            let now: i64 = sqlx::query_scalar(waiting).fetch_one(&mut *other).await.unwrap();
            most = most.max(now);
        }
        // The first of them is there for certain, because nobody else would be waited for.
        while most == 0 {
            most = sqlx::query_scalar(waiting).fetch_one(&mut *other).await.unwrap();
        }
        lock.rollback().await.unwrap();
        most
    };
    let (answers, waiting) = tokio::join!(crowd, count);
    assert_eq!(waiting, 1, "one of them reads, and the others wait for that");
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    // While it is fresh nobody reads at all, whatever is asked.
    let mut lock = pool.begin().await.unwrap();
    for table in ["status_page", "status_post", "monitor", "monitor_state", "setting"] {
        let lock_it = format!("lock table {table} in access exclusive mode");
        sqlx::query(sqlx::AssertSqlSafe(lock_it)).execute(&mut *lock).await.unwrap();
    }
    for path in [
        "/status/shop",
        "/status/shop/summary.json",
        "/status/shop/feed.rss",
        "/status/shop/history",
        "/status/nobody",
        "/badge/shop/works.json",
    ] {
        let status = visit(&scene, path).await.status;
        assert_eq!(status, if path.ends_with("nobody") { 404 } else { 200 }, "{path}");
    }
    // Nor does anybody wait for a visitor who asks for what has to be looked up.
    let lost = visit(&scene, "/status/shop/posts/01900000-0000-7000-8000-000000000000");
    let answer = tokio::select! {
        biased;
        lost = lost => panic!("answered while nothing can be read: {}", lost.status),
        answer = visit(&scene, "/status/shop") => answer,
    };
    assert_eq!(answer.status, 200);
    lock.rollback().await.unwrap();
}

#[tokio::test]
async fn without_a_database_the_last_page_is_shown_for_a_minute_and_then_nobody_knows() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    page(&scene, json!({ "groups": [{ "parts": [part("Works", &id)] }] })).await;
    let first = visit(&scene, "/status/shop").await.is(200);
    scene.api.state.pool.close().await;
    scene.api.later(30);
    assert_eq!(visit(&scene, "/status/shop").await.is(200), first);
    scene.api.later(31);
    let away = visit(&scene, "/status/shop").await;
    assert_eq!((away.header("retry-after"), away.header("cache-control")), ("10", "no-store"));
    let body = away.is(503);
    assert!(
        body.contains("We cannot say how things are at the moment.") && !body.contains("pool"),
        "{body}"
    );
}

/// Words that stand for everything that is nobody's business.
const SECRETS: [&str; 12] = [
    "sekret-name",
    "sekret-host",
    "sekret-path",
    "sekret-header",
    "sekret-value",
    "sekret-label",
    "sekret-location",
    "sekret-incident",
    "sekret-window",
    "sekret-reason",
    "sekret-slo",
    "token:admin",
];

/// Everything that the public can get of the page `shop`, with the heads of the answers.
async fn everything(scene: &Scene, parts: &[&str], posts: &[String]) -> Vec<(String, String)> {
    let mut paths: Vec<String> = [
        "",
        "/",
        "/history",
        "/history?page=2",
        "/summary.json",
        "/api/v2/summary.json",
        "/feed.rss",
        "/feed.atom",
        "/maintenance.ics",
        "/nothing",
        "/posts/01900000-0000-7000-8000-000000000000",
    ]
    .iter()
    .map(|rest| format!("/status/shop{rest}"))
    .collect();
    paths.extend(parts.iter().map(|part| format!("/badge/shop/{part}.json")));
    paths.extend(posts.iter().map(|post| format!("/status/shop/posts/{post}")));
    let mut all = Vec::new();
    for path in paths {
        let answer = visit(scene, &path).await;
        let headers = format!("{:?}", answer.headers);
        all.push((path, format!("{headers}\n{}", answer.body)));
    }
    all
}

#[tokio::test]
async fn nothing_internal_is_in_any_answer() {
    let scene = Scene::new().await;
    let (location, _) = scene.api.location("sekret-location").await;
    let check = json!({ "kind": "http", "url": "https://sekret-host.example/sekret-path?k=sekret-value",
        "headers": { "x-sekret-header": "sekret-value" } });
    let made = scene
        .api
        .post(
            "monitors",
            json!({ "name": "sekret-name", "group": "sekret-label", "check": check,
        "labels": { "sekret-label": "sekret-value" } }),
        )
        .await
        .is(201);
    let monitor = text(&made["id"]);
    let uid: Uuid = monitor.parse().unwrap();
    let key: i32 = sqlx::query_scalar("select monitor_id from monitor where uid = $1")
        .bind(uid)
        .fetch_one(scene.api.db.pool())
        .await
        .unwrap();
    let key = quorate::domain::ids::MonitorKey(key);
    sqlx::query("delete from monitor_state").execute(scene.api.db.pool()).await.unwrap();
    scene
        .past(
            key,
            &json!([
                { "from": "2026-03-01T12:00:00Z", "to": "2026-04-02T09:00:00Z", "state": "up" },
                { "from": "2026-04-02T09:00:00Z", "state": "down" },
            ]),
        )
        .await;
    let incidents = json!([{ "id": "a", "started_at": "2026-04-02T09:00:00Z" }]);
    let incident = scene.incidents(key, &incidents).await.remove(0).1;
    sqlx::query("update incident set sentence = 'sekret-incident at sekret-location', evidence = '{\"x\": \"sekret-incident\"}'")
        .execute(scene.api.db.pool())
        .await
        .unwrap();
    let slo = json!({ "name": "sekret-slo", "service": "sekret-slo", "monitor": monitor, "target_ppb": 990_000_000,
        "window": { "kind": "rolling", "duration": "30d" } });
    scene.api.post("slos", slo).await.is(201);
    scene.wait_for(NOW).await;
    let planned = json!({ "name": "sekret-window", "reason": "sekret-reason", "monitors": [monitor],
        "start": "2026-04-05T00:00:00Z", "end": "2026-04-05T02:00:00Z" });
    let planned = scene.api.post("maintenance", planned).await.is(201);
    let groups = json!([{ "parts": [part("Check out", &monitor), json!({ "name": "Promise", "slo": "sekret-slo" })] }]);
    let made = page(&scene, json!({ "groups": groups })).await;
    let part_id = &made["groups"][0]["parts"][0]["id"];
    let posts = format!("status-pages/{}/posts", text(&made["id"]));
    let mut ids = Vec::new();
    for status in ["identified", "resolved"] {
        let post = json!({ "title": "Paying fails", "parts": [part_id], "incident": incident,
            "update": { "status": status, "text": "We are on it." } });
        ids.push(text(&scene.api.post(&posts, post).await.is(201)["id"]));
    }
    let all = everything(&scene, &["check-out", "promise"], &ids).await;
    let html = &all[0].1;
    assert!(
        html.contains("Check out and Promise do not work") && html.contains("We are on it."),
        "{html}"
    );
    let internal = [monitor.clone(), incident, location, text(&planned["declared_by"])];
    for (path, answer) in &all {
        for secret in SECRETS.iter().map(|word| (*word).to_owned()).chain(internal.iter().cloned())
        {
            assert!(
                !answer.to_lowercase().contains(&secret.to_lowercase()),
                "{secret} in {path}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn what_people_typed_is_text_and_readers_of_feeds_understand_it() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    let hostile = "</title><script>alert(1)</script> & \"quoted\" 'x' ]]>";
    let groups = json!([{ "name": hostile, "parts": [
        { "name": hostile, "description": hostile, "monitor": id }] }]);
    let links =
        json!([{ "text": hostile, "url": "https://shop.example/\"><script>alert(1)</script>" }]);
    let made = page(
        &scene,
        json!({ "name": hostile, "headline": hostile, "groups": groups, "links": links }),
    )
    .await;
    let posts = format!("status-pages/{}/posts", text(&made["id"]));
    let text_of = format!("{hostile}\nsecond line");
    let post = json!({ "title": hostile, "parts": [made["groups"][0]["parts"][0]["id"]], "update": { "text": text_of } });
    let post = scene.api.post(&posts, post).await.is(201);
    let more = json!({ "text": "Found.", "status": "identified" });
    scene.api.later(60);
    scene.api.post(&format!("{posts}/{}/updates", text(&post["id"])), more).await.is(201);
    let planned = json!({ "name": "w", "monitors": [id], "start": "2026-04-05T00:00:00Z", "end": "2026-04-05T02:00:00Z" });
    scene.api.post("maintenance", planned).await.is(201);
    scene.api.later(11);
    for path in ["", "/history", &format!("/posts/{}", text(&post["id"]))] {
        let html = visit(&scene, &format!("/status/shop{path}")).await.is(200);
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert!(
            !html.contains("alert(1)</script>") && html.matches("</title>").count() == 1,
            "{html}"
        );
    }
    let rss = visit(&scene, "/status/shop/feed.rss").await.is(200);
    let rss = roxmltree::Document::parse(&rss).unwrap();
    let texts = |document: &roxmltree::Document, name: &str| -> Vec<String> {
        let named = document.descendants().filter(|node| node.has_tag_name(name));
        named.filter_map(|node| node.text()).map(str::to_owned).collect()
    };
    let items: Vec<_> = rss.descendants().filter(|node| node.has_tag_name("item")).collect();
    assert_eq!(items.len(), 2, "every update is news");
    assert_eq!(texts(&rss, "title")[1], format!("{hostile}: cause found"));
    assert!(texts(&rss, "description").contains(&text_of));
    let guids = texts(&rss, "guid");
    assert_ne!(guids[0], guids[1]);
    let atom = visit(&scene, "/status/shop/feed.atom").await.is(200);
    let atom = roxmltree::Document::parse(&atom).unwrap();
    let ns = "http://www.w3.org/2005/Atom";
    let entries: Vec<_> =
        atom.descendants().filter(|node| node.has_tag_name((ns, "entry"))).collect();
    assert_eq!(entries.len(), 2);
    let link = entries[1].children().find(|node| node.has_tag_name((ns, "link"))).unwrap();
    let url = link.attribute("href").unwrap();
    let path = url.strip_prefix("http://q.test").unwrap().split('#').next().unwrap();
    visit(&scene, path).await.is(200);
    let ics = visit(&scene, "/status/shop/maintenance.ics").await.is(200);
    let lines: Vec<String> = ics.replace("\r\n ", "").split("\r\n").map(str::to_owned).collect();
    assert!(ics.split("\r\n").all(|line| line.len() <= 75), "{ics}");
    assert!(lines.contains(&"DTSTART:20260405T000000Z".to_owned()), "{ics}");
    assert!(
        lines.iter().any(|line| line.starts_with("SUMMARY:Planned maintenance of </title>")),
        "{ics}"
    );
}

#[tokio::test]
async fn the_summary_has_the_shape_that_its_readers_know() {
    let mut scene = Scene::new().await;
    let down = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-04-02T09:30:00Z", "state": "up" },
            { "from": "2026-04-02T09:30:00Z", "state": "down" },
        ]),
    )
    .await;
    let silent = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-04-02T09:00:00Z", "state": "partial" },
            { "from": "2026-04-02T09:00:00Z", "state": "unknown" },
        ]),
    )
    .await;
    let other = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    let groups = json!([
        { "parts": [part("Loose", &silent)] },
        { "name": "Sales", "parts": [{ "name": "Check out", "description": "Paying", "monitor": down }] },
    ]);
    let made = page(&scene, json!({ "groups": groups })).await;
    let posts = format!("status-pages/{}/posts", text(&made["id"]));
    let post = json!({ "title": "Paying fails", "impact": "critical", "parts": [made["groups"][1]["parts"][0]["id"]],
        "update": { "text": "We look." } });
    scene.api.post(&posts, post).await.is(201);
    for monitor in [&down, &other] {
        let planned = json!({ "name": "w", "monitors": [monitor], "start": "2026-04-05T00:00:00Z", "end": "2026-04-05T02:00:00Z" });
        scene.api.post("maintenance", planned).await.is(201);
    }
    scene.api.later(11);
    let answer = visit(&scene, "/status/shop/api/v2/summary.json").await.is(200);
    let summary: Value = serde_json::from_str(&answer).unwrap();
    let fixture = include_str!("status_summary.json");
    assert_eq!(shape(&summary), shape(&serde_json::from_str(fixture).unwrap()), "{summary}");
    assert_eq!(summary["status"]["indicator"], "major");
    let component = |name: &str| {
        let all = summary["components"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(component("Check out")["status"], "major_outage");
    assert_eq!(component("Check out")["group_id"], component("Sales")["id"]);
    let loose = component("Loose");
    assert_eq!(
        (&loose["status"], &loose["description"]),
        (&json!("partial_outage"), &json!("no recent measurements"))
    );
    assert_eq!(summary["incidents"][0]["components"][0]["name"], "Check out");
    // Work on what is not on the page is not told.
    assert_eq!(summary["scheduled_maintenances"].as_array().unwrap().len(), 1);
    assert_eq!(summary["scheduled_maintenances"][0]["name"], "Planned maintenance of Check out");
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(
        row(&html, "loose").contains(">Not measured</span>"),
        "our own page never tells what was before: {html}"
    );
    assert!(html.contains("Sun 5 Apr, 02:00 – 04:00 CEST"), "{html}");
}

/// Fields by name with the kinds of their values; null fits everything.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.clone(), shape(value))).collect())
        }
        Value::Array(items) => items.first().map_or(json!([]), |first| json!([shape(first)])),
        Value::Null | Value::String(_) => json!("text or null"),
        Value::Bool(_) => json!("true or false"),
        Value::Number(_) => json!("number"),
    }
}

#[tokio::test]
async fn earlier_posts_are_told_a_page_at_a_time() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for(NOW).await;
    let made = page(&scene, json!({ "groups": [{ "parts": [part("Works", &id)] }] })).await;
    let posts = format!("status-pages/{}/posts", text(&made["id"]));
    for number in 1..=23 {
        let update = json!({ "status": "resolved", "text": "Over." });
        scene
            .api
            .post(&posts, json!({ "title": format!("Post {number}."), "update": update }))
            .await
            .is(201);
        scene.api.later(1);
    }
    scene.api.later(11);
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(
        html.contains("Post 23.")
            && !html.contains("Post 18.")
            && html.contains("/status/shop/history"),
        "{html}"
    );
    let first = visit(&scene, "/status/shop/history").await.is(200);
    assert!(first.contains("Post 23.") && first.contains("Post 4.") && !first.contains("Post 3."));
    let second = visit(&scene, "/status/shop/history?page=2").await.is(200);
    assert!(
        second.contains("Post 3.") && second.contains("Post 1.") && !second.contains("Post 4.")
    );
    for wrong in ["0", "3", "x", "-1", "99999999999"] {
        assert_eq!(
            visit(&scene, &format!("/status/shop/history?page={wrong}")).await.status,
            404,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn work_that_comes_again_is_in_the_calendar_each_time() {
    let mut scene = Scene::new().await;
    let id = watched(&mut scene, up()).await;
    scene.wait_for("2026-03-29T12:00:00Z").await;
    page(&scene, json!({ "groups": [{ "parts": [part("Works", &id)] }] })).await;
    let plan = json!({ "name": "sekret", "monitors": [id], "cron": "0 2 * * *", "timezone": "Europe/Berlin",
        "duration_s": 3600 });
    let plan = scene.api.post("maintenance", plan).await.is(201);
    let skip = json!({ "start": "2026-04-01T00:00:00Z" });
    scene.api.post(&format!("maintenance/{}/skip", text(&plan["id"])), skip).await.is(200);
    scene.api.later(11);
    let ics = visit(&scene, "/status/shop/maintenance.ics").await.is(200).replace("\r\n ", "");
    let events: Vec<&str> = ics.split("BEGIN:VEVENT").skip(1).collect();
    assert_eq!(events.len(), 90, "{ics}");
    let of = |start: &str| {
        let line = format!("DTSTART:{start}\r\n");
        *events
            .iter()
            .find(|event| event.contains(&line))
            .unwrap_or_else(|| panic!("{start}: {ics}"))
    };
    assert!(of("20260330T000000Z").contains("STATUS:CONFIRMED"));
    assert!(of("20260330T000000Z").contains("DTEND:20260330T010000Z"));
    let skipped = of("20260401T000000Z");
    assert!(skipped.contains("STATUS:CANCELLED"), "{skipped}");
    let names: std::collections::HashSet<&str> =
        ics.split("\r\n").filter(|line| line.starts_with("UID:")).collect();
    assert_eq!(names.len(), 90, "each has a name of its own");
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(
        html.contains("Mon 30 Mar, 02:00 – 03:00 CEST") && !html.contains("Wed 1 Apr, 02:00"),
        "{html}"
    );
    assert!(!html.contains("sekret") && !ics.contains("sekret"));
}

#[tokio::test]
async fn parts_that_are_slos_say_what_their_reports_say() {
    let mut scene = Scene::new().await;
    scene.api.location("eu").await;
    let works = watched(&mut scene, up()).await;
    let down = watched(
        &mut scene,
        json!([
            { "from": CREATED, "to": "2026-04-02T09:30:00Z", "state": "up" },
            { "from": "2026-04-02T09:30:00Z", "state": "down" },
        ]),
    )
    .await;
    let (key, checked) = scene.monitor(CREATED).await;
    scene.past(key, &up()).await;
    let results: Vec<Value> = ["ok", "ok", "fail", "ok"]
        .iter()
        .enumerate()
        .map(|(n, outcome)| {
            let at = format!("2026-04-02T09:0{n}:00Z");
            json!({ "at": at, "location": "eu", "outcome": outcome, "duration_us": 1_000 })
        })
        .collect();
    scene.results(key, &json!(results)).await;
    scene.wait_for(NOW).await;
    let window = json!({ "kind": "rolling", "duration": "30d", "timezone": "Europe/Berlin" });
    let both = json!({ "target_ppb": 990_000_000, "decimals": 2, "composite": "any_down", "window": window });
    let both = scene.slo(&both, ("members", json!([works, down]))).await;
    let checks =
        json!({ "target_ppb": 900_000_000, "decimals": 2, "sli": "probe_ratio", "window": window });
    let checks = scene.slo(&checks, ("monitor", json!(checked))).await;
    let parts =
        [json!({ "name": "Both", "slo": both }), json!({ "name": "Checks", "slo": checks })];
    page(&scene, json!({ "groups": [{ "parts": parts }] })).await;
    let html = visit(&scene, "/status/shop").await.is(200);
    assert!(html.contains("Both does not work since 11:30."), "{html}");
    assert!(row(&html, "checks").contains(">Works</span>"), "{html}");
    let asked = "window=2026-03-19T23:00:00Z..2026-04-02T10:00:05Z&as_of=2026-04-02T10:00:05Z";
    for (slug, slo, of) in [("both", &both, ""), ("checks", &checks, " of checks")] {
        let report = scene.api.get(&format!("slos/{slo}/report?{asked}")).await.is(200);
        let told = format!("{}\u{a0}%{of} in 14 days", text(&report["availability"]["pct"]));
        assert!(row(&html, slug).contains(&told), "{told}: {}", row(&html, slug));
    }
    assert!(row(&html, "checks").contains("75.00\u{a0}% of checks"), "{html}");
    // What a badge says of an SLO is its own window's.
    let badge = visit(&scene, "/badge/shop/both.json").await.is(200);
    let badge: Value = serde_json::from_str(&badge).unwrap();
    assert_eq!(badge["label"], "uptime 30d");
}
