//! `/metrics`: the same numbers as the report, counters that only grow, both formats; in the drill the real
//! promtool and the real Prometheus read it.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use axum::http::Method;
use jiff::SignedDuration;
use quorate::{
    api::auth::Role,
    clock::Clock,
    domain::observation::Outcome::{self, Fail, Pass},
    upkeep::Upkeep,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{
    api::{Api, key_of, text},
    scratch::Scratch,
    targets::{self, Authority, HOME, Say, dns, ok},
    whole::{Whole, until},
};

struct Scene {
    api: Api,
    upkeep: Upkeep,
    monitor: String,
    slo: String,
    seq: i64,
}

impl Scene {
    /// A monitor with a name that has to be escaped, seen from three locations, and an objective.
    async fn new() -> Self {
        let api = Api::start().await;
        for name in ["eu", "us", "ap"] {
            api.location(name).await;
        }
        let monitor = text(&api.monitor("shop \"one\" \\").await["id"]);
        let slo = json!({
            "name": "shop availability", "service": "shop", "target_ppb": 990_000_000, "monitor": monitor,
            "window": { "kind": "rolling", "duration": "30d" },
        });
        let slo = text(&api.post("slos", slo).await.is(201)["id"]);
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { api, upkeep, monitor, slo, seq: 0 }
    }

    /// So many minutes, at the beginning of which every location reports, with a coordinator that sweeps.
    async fn minutes(&mut self, count: usize, outcome: Outcome) {
        for _ in 0..count {
            self.seq += 1;
            self.api.all_say(&self.monitor, self.seq, outcome).await;
            for _ in 0..6 {
                self.api.later(10);
                self.upkeep.sweep(self.api.clock.now()).await.unwrap();
            }
        }
    }

    async fn count(&self) {
        self.upkeep.evaluate_slos(self.api.clock.now()).await.unwrap();
        self.upkeep.count(self.api.clock.now()).await.unwrap();
    }

    async fn page(&self, accept: &str) -> String {
        let bearer = format!("Bearer {}", key_of(Role::Admin));
        let headers = [("authorization", bearer.as_str()), ("accept", accept)];
        text(&self.api.plain(Method::GET, "/metrics", Value::Null, &headers).await.is(200))
    }

    /// Samples by name and labels as they are written.
    async fn samples(&self) -> BTreeMap<String, f64> {
        let page = self.page("text/plain").await;
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let mut all = BTreeMap::new();
        for line in lines {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let twice = all.insert(series.to_owned(), value.parse().unwrap());
            assert!(twice.is_none(), "{series} twice");
        }
        all
    }
}

const M: &str = r#"monitor="shop \"one\" \\""#;
const S: &str = r#"slo="shop availability",service="shop""#;

fn state_seconds(all: &BTreeMap<String, f64>, state: &str) -> f64 {
    all[&format!("quorate_monitor_state_seconds_total{{{M},state=\"{state}\"}}")]
}

#[tokio::test]
async fn gauges_and_counters_say_what_the_report_says() {
    let mut scene = Scene::new().await;
    scene.minutes(20, Pass).await;
    scene.minutes(6, Fail).await;
    scene.minutes(14, Pass).await;
    scene.count().await;
    let all = scene.samples().await;
    let report = scene.api.get(&format!("slos/{}/report", scene.slo)).await.is(200);
    let time = &report["time_ms"];
    assert!(time["down"].as_i64().unwrap() >= 300_000, "{time}");
    for state in ["up", "down", "partial", "unknown", "excluded", "paused"] {
        assert_eq!(state_seconds(&all, state) * 1e3, time[state].as_f64().unwrap(), "{state}");
    }
    let budget = &report["budget"];
    for (name, value) in [
        ("sli_ratio", report["availability"]["ratio"].as_f64().unwrap()),
        ("coverage_ratio", report["coverage"]["ratio"].as_f64().unwrap()),
        ("error_budget_seconds", budget["total_ms"].as_f64().unwrap() / 1e3),
        ("error_budget_remaining_seconds", budget["remaining_ms"].as_f64().unwrap() / 1e3),
        ("error_budget_remaining_ratio", budget["remaining_ratio"].as_f64().unwrap()),
    ] {
        assert_eq!(all[&format!("quorate_slo_{name}{{{S},window=\"30d\"}}")], value, "{name}");
    }
    for burn in report["burn"].as_array().unwrap() {
        let lookback = burn["lookback"].as_str().unwrap();
        let series = format!("quorate_slo_burn_rate_ratio{{{S},lookback=\"{lookback}\"}}");
        assert_eq!(all.get(&series).copied(), burn["rate"].as_f64(), "{lookback}");
    }
    assert_eq!(all[&format!("quorate_slo_objective_ratio{{{S}}}")], 0.99);
    // What is an event's only is not there for an indicator of time.
    assert!(!all.keys().any(|series| series.starts_with("quorate_slo_error_budget_events")));
    assert_eq!(all[&format!("quorate_incidents_total{{{M}}}")], 1.0);
    assert_eq!(all[&format!("quorate_incident_open{{{M}}}")], 0.0);
    assert_eq!(all[&format!("quorate_monitor_state{{{M},state=\"up\"}}")], 1.0);
    let states = all.iter().filter(|(series, _)| series.starts_with("quorate_monitor_state{"));
    assert_eq!(states.map(|(_, value)| value).sum::<f64>(), 1.0);
    for location in ["eu", "us", "ap"] {
        let of = |outcome: &str| {
            let labels = format!("{M},location=\"{location}\",outcome=\"{outcome}\"");
            all[&format!("quorate_probe_results_total{{{labels}}}")]
        };
        assert_eq!((of("fail"), of("invalid"), of("missing")), (6.0, 0.0, 0.0), "{location}");
        let took = format!("quorate_probe_duration_seconds_count{{{M},location=\"{location}\"}}");
        assert_eq!(all[&took], of("ok"), "every pass took some time");
        assert!(of("ok") >= 30.0, "{}", of("ok"));
        let last = format!(
            r#"probe_success{{job="shop \"one\" \\",instance="https://shop.example/health",probe="{location}"}}"#
        );
        assert_eq!(all[&last], 1.0);
    }
}

#[tokio::test]
async fn counters_never_go_back_whatever_is_corrected_and_whoever_counts() {
    let mut scene = Scene::new().await;
    scene.minutes(10, Pass).await;
    scene.count().await;
    let before = scene.samples().await;
    // Seconds that were told already turn out to have been otherwise.
    sqlx::query("update monitor_state set state = 3").execute(scene.api.db.pool()).await.unwrap();
    scene.minutes(5, Pass).await;
    let twin = scene.api.twin();
    let other = Upkeep::new(twin.db.pool().clone(), twin.clock.clone());
    let now = scene.api.clock.now();
    let (one, two) = tokio::join!(scene.upkeep.count(now), other.count(now));
    one.unwrap();
    two.unwrap();
    let after = scene.samples().await;
    for (series, value) in before.iter().filter(|(series, _)| series.contains("_total{")) {
        assert!(after[series] >= *value, "{series}: {value} and then {}", after[series]);
    }
    let sum = |all: &BTreeMap<String, f64>| -> f64 {
        let own = all.iter().filter(|(name, _)| name.starts_with("quorate_monitor_state_seconds"));
        own.map(|(_, value)| value).sum()
    };
    let mark = |all: &BTreeMap<String, f64>| {
        all[&format!("quorate_monitor_watermark_timestamp_seconds{{{M}}}")]
    };
    let grown = mark(&after) - mark(&before);
    assert!(grown >= 240.0, "{grown}");
    assert!((sum(&after) - sum(&before) - grown).abs() < 1e-6, "each second once, by one of both");
}

#[tokio::test]
async fn a_series_ends_two_intervals_after_its_last_result_and_a_first_failure_waits_for_its_repeat()
 {
    let mut scene = Scene::new().await;
    scene.minutes(2, Pass).await;
    let success = async |scene: &Scene| {
        let all = scene.samples().await;
        let own: Vec<f64> = all
            .iter()
            .filter(|(series, _)| series.starts_with("probe_success{"))
            .map(|(_, value)| *value)
            .collect();
        own
    };
    assert_eq!(success(&scene).await, [1.0, 1.0, 1.0]);
    scene.seq += 1;
    scene.api.all_say(&scene.monitor, scene.seq, Fail).await;
    scene.api.later(1);
    assert_eq!(success(&scene).await, [1.0, 1.0, 1.0], "a repeat may come");
    scene.api.later(59);
    assert_eq!(success(&scene).await, [0.0, 0.0, 0.0], "no repeat came");
    scene.seq += 1;
    scene.api.all_say(&scene.monitor, scene.seq, Fail).await;
    scene.api.later(1);
    assert_eq!(success(&scene).await, [0.0, 0.0, 0.0]);
    scene.api.later(150);
    assert!(success(&scene).await.is_empty());
}

#[tokio::test]
async fn the_format_is_the_one_that_was_asked_for() {
    let scene = Scene::new().await;
    let text = scene.page("*/*").await;
    assert!(
        !text.contains("# EOF") && text.contains("# TYPE quorate_notice_attempts_total counter")
    );
    let open = scene.page("application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE quorate_notice_attempts counter"));
    // One group per family.
    for page in [&text, &open] {
        let mut families = std::collections::BTreeSet::new();
        for line in page.lines().filter(|line| line.starts_with("# TYPE ")) {
            assert!(families.insert(line.split(' ').nth(2).unwrap()), "{line}");
        }
    }
}

#[test]
fn every_query_of_the_dashboard_asks_for_a_family_that_is_described() {
    let described = std::fs::read_to_string(here("docs/metrics.md")).unwrap();
    let queries = dashboard();
    assert!(queries.len() >= 20, "{queries:?}");
    for query in &queries {
        for word in query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if word.starts_with("quorate_") || word.starts_with("probe_") {
                let family = word.trim_end_matches("_bucket");
                assert!(described.contains(&format!("`{family}`")), "{family} in {query}");
            }
        }
    }
}

#[tokio::test]
async fn every_family_is_described() {
    let mut scene = Scene::new().await;
    scene.minutes(5, Pass).await;
    scene.count().await;
    let described = std::fs::read_to_string(here("docs/metrics.md")).unwrap();
    let page = scene.page("text/plain").await;
    for line in page.lines().filter(|line| line.starts_with("# TYPE ")) {
        let family = line.split(' ').nth(2).unwrap();
        assert!(
            described.contains(&format!("`{family}`")),
            "{family} is missing in docs/metrics.md"
        );
    }
}

/// How long a page of 1,000 monitors at 5 locations takes is printed, not judged.
#[tokio::test]
#[ignore = "writes many rows; for the figures in its output"]
async fn drill_a_page_of_a_thousand_monitors() {
    let scene = Scene::new().await;
    for name in ["sa", "af"] {
        scene.api.location(name).await;
    }
    let pool = scene.api.db.pool();
    let now = scene.api.clock.now().to_string();
    for statement in [
        "insert into monitor (uid, name, check_spec, interval_s, timeout_ms, locations, policy, created_at, updated_at)
         select gen_random_uuid(), 'm' || n, check_spec, 60, 10000, locations, policy, $1::timestamptz - interval '2 hours', $1::timestamptz
         from monitor, generate_series(1, 1000) n",
        "insert into monitor_live (monitor_id, live, state, since_at)
         select m.monitor_id, v.live, 1, $1::timestamptz from monitor m, (select live from monitor_live limit 1) v
         where m.name like 'm%'",
        "insert into monitor_location select monitor_id, location_id, location_id from monitor, location where monitor.name like 'm%'",
        "insert into report (effective_at, monitor_id, check_version, resolve_us, connect_us, tls_us, first_byte_us, transfer_us,
             total_us, size_bytes, location_id, outcome, class, status, kind, disposition)
         select $1::timestamptz - n * interval '1 minute' - interval '5 seconds', monitor_id, 1, 1000, 2000, 3000, 4000, 5000,
                15000, 100, location_id, 0, 0, 200, 0, 0
         from monitor_location, generate_series(0, 59) n",
        "insert into monitor_answer select monitor_id, location_id, '1.1', 0, 4 from monitor_location where $1 <> ''",
        "insert into certificate_sight (monitor_id, location_id, address, fingerprint, check_version, since_at, last_at, not_after,
             valid, facts)
         select monitor_id, location_id, '', 'f', 1, $1::timestamptz, $1::timestamptz, '2027-01-01', true, '{\"subject\":\"CN=a\",\"issuer\":\"CN=b\",\"fingerprint\":\"f\",\"names\":[\"a\"],
             \"not_before\":\"2026-01-01T00:00:00Z\",\"not_after\":\"2027-01-01T00:00:00Z\",\"days_left\":9,\"chain_length\":2,
             \"tls_version\":\"TLS 1.3\",\"valid\":true}' from monitor_location",
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement.replace("$1", &format!("'{now}'"))))
            .execute(pool)
            .await
            .unwrap();
    }
    sqlx::query("analyze").execute(pool).await.unwrap();
    scene.api.later(30);
    let began = std::time::Instant::now();
    while scene.upkeep.count(scene.api.clock.now()).await.unwrap() {}
    eprintln!("an hour of results counted in {:?}", began.elapsed());
    for _ in 0..3 {
        let began = std::time::Instant::now();
        let page = scene.page("text/plain").await;
        let took = began.elapsed();
        let series = page.lines().filter(|line| !line.starts_with('#')).count();
        assert!(page.matches("\nprobe_success{").count() >= 5_000);
        eprintln!("{series} series, {} bytes, {took:?}", page.len());
    }
}

#[tokio::test]
#[ignore = "needs promtool, which `make drill` installs"]
async fn drill_the_real_promtool_finds_nothing_to_say() {
    let mut scene = Scene::new().await;
    scene.minutes(5, Pass).await;
    scene.minutes(5, Fail).await;
    scene.count().await;
    let page = scene.page("text/plain").await;
    let mut tool = tokio::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is in the apt package prometheus; `make drill` installs it");
    let mut stdin = tool.stdin.take().unwrap();
    stdin.write_all(page.as_bytes()).await.unwrap();
    drop(stdin);
    let said = tool.wait_with_output().await.unwrap();
    let said_text = [said.stdout, said.stderr].concat();
    assert!(
        said.status.success() && said_text.is_empty(),
        "{}",
        String::from_utf8_lossy(&said_text)
    );
}

/// The real Prometheus reads a coordinator whose agents look at a target that answers and at one that
/// refuses. Every query of foreign dashboards, and of ours, has data then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Prometheus, which `make drill` installs"]
async fn drill_the_real_prometheus_answers_every_query_of_a_dashboard() {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let whole = Whole::start_with("metrics", &["--metrics-listen", &listen]).await;
    let authority = Authority::root("Test Root");
    let ca = whole.folder.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let mut agents = Vec::new();
    for location in ["eu", "us", "ap"] {
        let (server, _) = dns(|name, _, _| match name {
            "shop.test" | "control.test" => Say::Addresses(vec![HOME]),
            _ => Say::Nxdomain,
        })
        .await;
        let agent = whole.agent(location, |config| {
            config.name_servers = vec![server];
            config.control_names = vec!["control.test".to_owned()];
            config.ca_file = Some(ca.clone());
        });
        agents.push(agent.await);
    }
    // Ten days are left of its certificate.
    let leaf = authority.leaf(&["shop.test"], -86_400, left_s());
    let well = targets::tls(leaf, ok("", "well")).await;
    for (name, port) in [("well", well.addr.port()), ("refused", free_port())] {
        let check = json!({"kind": "http", "url": format!("https://shop.test:{port}/health")});
        let policy = json!({"retry_gap_s": 0.4, "min_separation_s": 0.2, "pass_gap_s": 0.4});
        let made = whole.client.post("monitors", json!({
            "name": name, "check": check, "interval_s": 10, "timeout_s": 1.0, "locations": "all", "policy": policy,
        }));
        let id = text(&made.await["id"]);
        let slo = json!({
            "name": name, "service": "shop", "target_ppb": 900_000_000, "monitor": id,
            "window": {"kind": "rolling", "duration": "30d"},
        });
        whole.client.post("slos", slo).await;
    }
    let prometheus = Prometheus::start(port).await;
    until("the target is scraped", async || {
        let up = prometheus.query("up == 1").await;
        (!up.is_empty()).then_some(())
    })
    .await;
    let mut queries = fixture();
    queries.extend(dashboard());
    for query in &queries {
        until(&format!("{query} has data"), async || {
            let found = prometheus.query(query).await;
            (!found.is_empty()).then_some(())
        })
        .await;
    }
    // Labels are those that we gave, not renamed.
    assert!(prometheus.query("probe_success{exported_job!=\"\"}").await.is_empty());
    assert_eq!(prometheus.query("probe_success{job=\"well\"}").await.len(), 3);
    let log = std::fs::read_to_string(prometheus.folder.path().join("log")).unwrap();
    let loud: Vec<&str> =
        log.lines().filter(|l| l.contains("level=warn") || l.contains("level=error")).collect();
    assert!(loud.is_empty(), "{loud:?}");
}

struct Prometheus {
    url: String,
    folder: Scratch,
    client: reqwest::Client,
    _running: tokio::process::Child,
}

impl Prometheus {
    /// With the sample of deploy/, read every second.
    async fn start(target: u16) -> Self {
        let folder = Scratch::new("prometheus");
        let sample = std::fs::read_to_string(here("deploy/prometheus/prometheus.yml")).unwrap();
        assert!(sample.contains("127.0.0.1:9109") && sample.contains("scrape_interval: 30s"));
        let config = sample
            .replace("127.0.0.1:9109", &format!("127.0.0.1:{target}"))
            .replace("scrape_interval: 30s", "scrape_interval: 1s");
        let dir = folder.path();
        std::fs::write(dir.join("prometheus.yml"), config).unwrap();
        let port = free_port();
        let running = tokio::process::Command::new("prometheus")
            .arg(format!("--config.file={}/prometheus.yml", dir.display()))
            .arg(format!("--storage.tsdb.path={}/data", dir.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("log")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect("Prometheus is an apt package; `make drill` installs it");
        let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        until("Prometheus is ready", async || {
            let answer = client.get(format!("{url}/-/ready")).send().await;
            answer.is_ok_and(|answer| answer.status().is_success()).then_some(())
        })
        .await;
        Self { url, folder, client, _running: running }
    }

    /// What a query, or a variable of a dashboard, finds. One that is refused is a failure of the test.
    async fn query(&self, query: &str) -> Vec<Value> {
        let (path, name, expression) = match query.strip_prefix("label_values(") {
            Some(rest) => {
                let (of, label) = rest.trim_end_matches(')').rsplit_once(", ").unwrap();
                (format!("label/{label}/values"), "match[]", of)
            }
            None => ("query".to_owned(), "query", query),
        };
        let mut url = url::Url::parse(&format!("{}/api/v1/{path}", self.url)).unwrap();
        url.query_pairs_mut().append_pair(name, expression);
        let answer: Value = self.client.get(url).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let found = if name == "query" { &answer["data"]["result"] } else { &answer["data"] };
        found.as_array().unwrap().clone()
    }
}

fn here(path: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Ten days from now, as certificates of these tests count.
fn left_s() -> i64 {
    let start: jiff::Timestamp = targets::NOW.parse().unwrap();
    (Clock::system().now() + SignedDuration::from_hours(240)).duration_since(start).as_secs()
}

/// A query with the variables of a dashboard filled in.
fn filled(query: &str) -> String {
    query
        .replace("$__rate_interval", "1m")
        .replace("$__range", "1h")
        .replace("$monitor", ".*")
        .replace("$slo", ".*")
        .replace("$job", ".+")
        .replace("$instance", ".+")
}

/// Queries that dashboards for blackbox_exporter ask.
fn fixture() -> Vec<String> {
    let file = std::fs::read_to_string(here("tests/metrics/dashboards.txt")).unwrap();
    file.lines().filter(|line| !line.starts_with('#')).map(filled).collect()
}

/// Every query of our own dashboard, its variables too.
fn dashboard() -> Vec<String> {
    let file = std::fs::read_to_string(here("deploy/grafana/quorate.json")).unwrap();
    let board: Value = serde_json::from_str(&file).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let variables = board["templating"]["list"].as_array().unwrap().iter();
    let variables = variables.filter(|v| v["type"] == "query").map(|v| &v["query"]["query"]);
    targets.map(|t| &t["expr"]).chain(variables).map(|q| filled(q.as_str().unwrap())).collect()
}
