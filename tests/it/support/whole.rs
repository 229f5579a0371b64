//! The whole product in one process: coordinators on one database, agents in locations, and a client
//! that works through the HTTP interface as anybody would.

use std::time::Duration;

use clap::Parser;
use quorate::{
    agent,
    clock::Clock,
    config::{AgentConfig, CoordinatorConfig, LinkTiming},
    coordinator,
    domain::secret::Secret,
    process::Shutdown,
};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{db::TestDb, scratch::Scratch};

/// `qrt_` and 32 bytes of sevens.
const TOKEN: &str = "qrt_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";

/// A database, and whoever works on it.
pub(crate) struct Whole {
    pub(crate) db: TestDb,
    pub(crate) folder: Scratch,
    pub(crate) coordinators: Vec<Coordinator>,
    pub(crate) client: Client,
}

/// One coordinator of this process.
pub(crate) struct Coordinator {
    pub(crate) url: Url,
    shutdown: Shutdown,
    running: JoinHandle<anyhow::Result<()>>,
}

/// One agent of this process; it stops when dropped.
pub(crate) struct RunningAgent {
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

impl RunningAgent {
    /// Asks it to stop, and waits until it has delivered what it had.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    config: CoordinatorConfig,
}

impl Whole {
    /// One coordinator on a fresh database.
    pub(crate) async fn start(name: &str) -> Self {
        Self::start_with(name, &[]).await
    }

    /// The same with more arguments for the coordinator.
    pub(crate) async fn start_with(name: &str, more: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let db = TestDb::new().await;
        admit_client(&db).await;
        let first = Coordinator::start(&db, more).await;
        let client = Client::new(first.url.clone());
        Self { db, folder: Scratch::new(name), coordinators: vec![first], client }
    }

    /// Makes a location and an agent there, and starts it.
    pub(crate) async fn agent(
        &self,
        location: &str,
        change: impl FnOnce(&mut AgentConfig),
    ) -> RunningAgent {
        let body =
            json!({"name": location, "region": location, "domain": format!("net-{location}")});
        let made = self.client.post("locations", body).await;
        let enrolled = self.client.post("agents", json!({"location": made["id"]})).await;
        let token = enrolled["secret"].as_str().unwrap().to_owned();
        let url = self.coordinators[0].url.clone();
        let mut config =
            AgentConfig::new(url, Secret::new(token), self.folder.path().join(location));
        config.allow_net = vec!["127.0.0.0/8".parse().unwrap()];
        config.timing = LinkTiming { flush: Duration::from_millis(100), ..LinkTiming::default() };
        change(&mut config);
        let stop = CancellationToken::new();
        let running = tokio::spawn(agent::run(config, Clock::system(), stop.clone()));
        RunningAgent { stop, running }
    }
}

impl Coordinator {
    /// Starts one on a port of its own; it serves when this returns.
    pub(crate) async fn start(db: &TestDb, more: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let db_url = db.url();
        let args = [
            "test",
            "--database-url",
            &db_url,
            "--secret-key",
            key,
            "--allow-net",
            "127.0.0.0/8",
            "--database-connections",
            "12",
        ];
        let config = Command::parse_from(args.iter().chain(more)).config;
        let shutdown = Shutdown::new();
        let work = coordinator::run(config, listener, Clock::corrected(), shutdown.clone());
        let running = tokio::spawn(work);
        let started = Self { url, shutdown, running };
        let ready = started.url.join("readyz").unwrap();
        until("the coordinator is ready", async || {
            let answer = plain_client().get(ready.clone()).send().await;
            answer.is_ok_and(|answer| answer.status().is_success()).then_some(())
        })
        .await;
        started
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.shutdown.stop_now();
        self.running.abort();
    }
}

/// Makes the token that [`Client`] works with.
pub(crate) async fn admit_client(db: &TestDb) {
    admit_client_to(db.pool()).await;
}

/// The same where the database is none of [`TestDb`]'s.
pub(crate) async fn admit_client_to(pool: &sqlx::PgPool) {
    sqlx::query(
        "insert into api_token (token_id, name, role, token_hash, created_by, created_at)
         values (gen_random_uuid(), 'test', 'admin', $1, 'test', now())",
    )
    .bind(Sha256::digest(TOKEN.as_bytes()).to_vec())
    .execute(pool)
    .await
    .unwrap();
}

/// Works through the HTTP interface with an administrator's token.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    pub(crate) fn new(base: Url) -> Self {
        Self { http: plain_client(), base: base.join("api/v1/").unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await
    }

    /// Nothing if there is no answer, as while a coordinator is killed.
    pub(crate) async fn try_get(&self, path: &str) -> Option<Value> {
        let url = self.base.join(path).unwrap();
        let answer = self.http.get(url).bearer_auth(TOKEN).send().await.ok()?;
        answer.error_for_status().ok()?.json().await.ok()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Succeeds, or loses a race in a way that the client is told of: gone, or a conflict.
    pub(crate) async fn allowed(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let (status, text) = self.ask(&method, path, body).await;
        let fine = status.is_success() || matches!(status.as_u16(), 404 | 409);
        assert!(fine, "{method} {path}: {status} {text}");
        (status.as_u16(), serde_json::from_str(&text).unwrap_or_default())
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, text) = self.ask(&method, path, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    #[expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]
    async fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<Value>,
    ) -> (reqwest::StatusCode, String) {
        let url = self.base.join(path).unwrap();
        let mut request = self.http.request(method.clone(), url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }
}

pub(crate) fn plain_client() -> reqwest::Client {
    reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap()
}

/// Looks again and again until there is an answer. A test that waits for ever is ended by the runner,
/// which names it; `what` is in its output then.
#[expect(clippy::print_stderr, reason = "shown only when the test fails")]
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    eprintln!("waiting until {what}");
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
