//! The HTTP interface alone, on a fresh database and a clock that is set by hand: requests go straight
//! into the router.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, header},
    response::Response,
};
use http_body_util::BodyExt;
use jiff::Timestamp;
use quorate::{
    api::{self, ApiConfig, AppState, auth::Role},
    clock::Clock,
    domain::{
        ids::LocationKey,
        observation::{Class, Outcome, RunKind},
        token::KeyKind,
    },
    notify::{Notifier, NotifySettings},
    process::health::Health,
    store::{self, seal::Sealer, tokens},
    triage::{Delivered, ReportBatch, Reported, Triage},
    upkeep::Upkeep,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{db::TestDb, watch::observation};

/// The interface with its database. [`Api::start`] has made a token for each role.
pub(crate) struct Api {
    pub(crate) db: Arc<TestDb>,
    pub(crate) clock: Clock,
    pub(crate) state: AppState,
    router: Router,
    stopping: CancellationToken,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The body of an answer that has this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// Refused with this status, for this field.
    #[track_caller]
    pub(crate) fn refuses(self, status: u16, field: &str) -> String {
        let body = self.is(status);
        assert_eq!(body["error"]["field"], field, "{body}");
        let message = body["error"]["message"].as_str().unwrap().to_owned();
        assert!(!message.is_empty());
        message
    }

    /// The sign-in that was handed over, as the browser sends it back.
    pub(crate) fn cookie(&self) -> String {
        let cookie = self.headers[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}

pub(crate) fn key_of(role: Role) -> String {
    KeyKind::Api.key([role as u8 + 1; 32]).into_exposed()
}

impl Api {
    pub(crate) async fn start() -> Self {
        let api = Self::start_unwatched(Duration::from_secs(10)).await;
        tokio::spawn(api.state.hub.clone().run());
        api
    }

    /// Notices go out as these settings say, when `state.notifier` is told to deliver.
    pub(crate) async fn start_telling(settings: NotifySettings) -> Self {
        let api = Self::made(Duration::from_secs(10), settings).await;
        tokio::spawn(api.state.hub.clone().run());
        api
    }

    /// Without the hub's look at the database: streams have nothing but their own pings.
    pub(crate) async fn start_unwatched(ping_every: Duration) -> Self {
        Self::made(ping_every, NotifySettings::default()).await
    }

    async fn made(ping_every: Duration, settings: NotifySettings) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let db = TestDb::new().await;
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let clock = Clock::manual(start);
        let pool = db.pool().clone();
        let upkeep = Upkeep::new(pool.clone(), clock.clone());
        upkeep.partitions(start).await.unwrap();
        upkeep.sweep(start).await.unwrap();
        let mut conn = pool.acquire().await.unwrap();
        for role in [Role::Viewer, Role::Editor, Role::Admin] {
            let new = tokens::NewToken {
                id: store::id_at(start),
                name: role.word(),
                role: role.word(),
                hash: KeyKind::Api.hash(&key_of(role)).unwrap(),
                created_by: "test",
                expires_at: None,
            };
            tokens::insert(&mut conn, &new, start).await.unwrap();
        }
        drop(conn);
        Self::on(Arc::new(db), clock, ping_every, settings)
    }

    /// A second coordinator on the same database, at the same time.
    pub(crate) fn twin(&self) -> Self {
        let ping = Duration::from_secs(10);
        Self::on(Arc::clone(&self.db), self.clock.clone(), ping, NotifySettings::default())
    }

    fn on(db: Arc<TestDb>, clock: Clock, ping_every: Duration, settings: NotifySettings) -> Self {
        let pool = db.pool().clone();
        let sealer = Sealer::from_text(&"ab".repeat(32)).unwrap();
        let notifier =
            Notifier::new(pool.clone(), clock.clone(), sealer.clone(), settings).unwrap();
        let stopping = CancellationToken::new();
        let config = ApiConfig {
            public_url: None,
            listen_url: "http://q.test".parse().unwrap(),
            mail_fixed: false,
            ping_every,
        };
        let triage = Arc::new(Triage::new(pool.clone()));
        let health = Health::new(CancellationToken::new());
        let state = AppState::new(
            pool,
            clock.clone(),
            sealer,
            triage,
            notifier,
            health,
            stopping.clone(),
            config,
        );
        let router = api::router(state.clone());
        Self { db, clock, state, router, stopping }
    }

    pub(crate) fn later(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// As if a coordinator had swept all the time until now.
    pub(crate) async fn swept(&self) {
        sqlx::query("update sweep set sweep_at = $1::text::timestamptz")
            .bind(self.clock.now().to_string())
            .execute(self.db.pool())
            .await
            .unwrap();
    }

    /// The answer as it is, before anything of it is read.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.raw(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
        };
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// As somebody with a token of this role; `body` null sends none.
    pub(crate) async fn as_role(
        &self,
        role: Role,
        method: Method,
        path: &str,
        body: Value,
    ) -> Answer {
        let bearer = format!("Bearer {}", key_of(role));
        self.send(request(method, path, &body, &[(header::AUTHORIZATION.as_str(), &bearer)])).await
    }

    /// As an administrator.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        self.as_role(Role::Admin, method, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, Value::Null).await
    }

    /// Without a token, with headers as given.
    pub(crate) async fn plain(
        &self,
        method: Method,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.send(request(method, path, &body, headers)).await
    }

    /// A location with an agent; its id and the agent's key.
    pub(crate) async fn location(&self, name: &str) -> (String, String) {
        let location = self.post("locations", json!({ "name": name })).await.is(201);
        let agent = self.post("agents", json!({ "location": name })).await.is(201);
        (text(&location["id"]), text(&agent["secret"]))
    }

    /// Lets every location report the same at once. `seq` rises from call to call.
    pub(crate) async fn all_say(&self, monitor: &str, seq: i64, outcome: Outcome) {
        let agents: Vec<(uuid::Uuid, i16)> =
            sqlx::query_as("select agent_id, location_id from agent order by location_id")
                .fetch_all(self.db.pool())
                .await
                .unwrap();
        for (agent, location) in agents {
            self.says((agent, LocationKey(location)), monitor, seq, outcome).await;
        }
    }

    /// One location reports a pass or a 503.
    pub(crate) async fn says(
        &self,
        (agent, location): (uuid::Uuid, LocationKey),
        monitor: &str,
        seq: i64,
        outcome: Outcome,
    ) {
        let class = (outcome == Outcome::Fail).then_some(Class::Status);
        let status = if outcome == Outcome::Fail { 503 } else { 200 };
        let report = Reported {
            monitor: monitor.parse().unwrap(),
            check_version: 1,
            kind: RunKind::Scheduled,
            age_at_send_ms: 0.0,
            age_estimated: false,
            observation: observation(outcome, class, Some(status)),
        };
        let delivery = ReportBatch {
            agent,
            location,
            boot: agent,
            rtt_ms: 0.0,
            sent_at: None,
            settled: 0,
            reports: vec![Delivered { seq, report: Some(report) }],
        };
        self.state.triage.accept(&delivery, self.clock.now()).await.unwrap();
    }

    /// A monitor of an HTTP address, looked at from everywhere.
    pub(crate) async fn monitor(&self, name: &str) -> Value {
        self.post("monitors", monitor(name)).await.is(201)
    }
}

pub(crate) fn monitor(name: &str) -> Value {
    json!({ "name": name, "check": { "kind": "http", "url": "https://shop.example/health" } })
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A path that does not begin with `/` is one of the API.
pub(crate) fn request(
    method: Method,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Request<Body> {
    let uri = if path.starts_with('/') { path.to_owned() } else { format!("/api/v1/{path}") };
    let mut builder = Request::builder().method(method).uri(uri).header(header::HOST, "q.test");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    if body.is_null() {
        return builder.body(Body::empty()).unwrap();
    }
    builder
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}
