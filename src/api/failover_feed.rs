//! What DNS servers and balancers ask: which members of a group to serve now. Read with the group's own key,
//! as a bearer token or, for programs that can send nothing but an address, as `?token=`.
//!
//! The answer must not fail because we do: without a database the group is answered as it was last known,
//! with everybody in, because nobody knows better.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    AppState, auth,
    error::{ApiError, ApiResult},
    request::{At, Json, Path, Query},
};
use crate::{
    domain::{
        failover::{Member, Mode, Reason},
        token::KeyKind,
    },
    store,
    triage::failover::look,
};

/// Whoever polls waits a second or two and then takes the member for dead, so we do not wait longer for the
/// database.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long an answer may be used before it is asked for again, in seconds.
const MAX_AGE_S: u32 = 5;

pub fn router() -> Router<AppState> {
    Router::new()
        .route("/failover/{name}", get(feed))
        .route("/failover/{name}/members/{member}", get(member))
}

/// Groups as they were last read, for when the database is away. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<HashMap<String, Remembered>>>);

#[derive(Debug, Clone)]
struct Remembered {
    token_hash: Vec<u8>,
    mode: Mode,
    members: Vec<Member>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    token: Option<String>,
}

/// Whom to serve now.
#[derive(Debug, Serialize)]
struct Feed {
    group: String,
    mode: Mode,
    at: At,
    fail_open: bool,
    /// The database gave no answer, so nobody knows how the members are.
    stale: bool,
    sentence: String,
    /// Those to serve, in order.
    serve: Vec<Served>,
    /// Everybody, with the reason.
    members: Vec<Told>,
    max_age_s: u32,
}

#[derive(Debug, Serialize)]
struct Served {
    name: String,
    address: String,
    weight: u16,
}

#[derive(Debug, Serialize)]
struct Told {
    name: String,
    address: String,
    weight: u16,
    serve: bool,
    reason: Reason,
}

async fn feed(
    State(state): State<AppState>,
    Path(name): Path<String>,
    Query(key): Query<Key>,
    headers: HeaderMap,
) -> Response {
    match ask(&state, &name, &key, &headers).await {
        Ok(feed) => Json(feed).into_response(),
        Err(error) => error.into_response(),
    }
}

/// 200 for a member to serve, 503 for one that is out: all that a DNS server or a balancer understands.
async fn member(
    State(state): State<AppState>,
    Path((name, member)): Path<(String, String)>,
    Query(key): Query<Key>,
    headers: HeaderMap,
) -> Response {
    let feed = match ask(&state, &name, &key, &headers).await {
        Ok(feed) => feed,
        Err(error) => return error.into_response(),
    };
    let Some(told) = feed.members.iter().find(|told| told.name == member) else {
        return ApiError::NotFound("member").into_response();
    };
    let status = if told.serve { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if told.serve { "serve" } else { "out" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let body = match serde_json::to_value(told.reason) {
        Ok(serde_json::Value::String(reason)) => format!("{word} {reason}\n"),
        _ => format!("{word}\n"),
    };
    (status, headers, body).into_response()
}

async fn ask(state: &AppState, name: &str, key: &Key, headers: &HeaderMap) -> ApiResult<Feed> {
    let given = auth::bearer(headers).or(key.token.as_deref());
    let hash = given
        .and_then(|key| KeyKind::Failover.hash(key))
        .ok_or(ApiError::Unauthorized("This needs the group's key."))?;
    let now = state.clock.now();
    let answered = match tokio::time::timeout(PATIENCE, current(state, name, &hash, now)).await {
        Ok(answered) => answered,
        Err(_) => Err(ApiError::Unavailable(anyhow::anyhow!("the database takes too long"))),
    };
    match answered {
        // Whatever is wrong with us is no reason to take a member out.
        Err(error @ (ApiError::Unavailable(_) | ApiError::Internal(_))) => {
            let known = state.failover.recall(name).filter(|known| opens(&known.token_hash, &hash));
            let Some(known) = known else { return Err(error) };
            tracing::warn!(group = name, ?error, "answered without the database: all are served");
            Ok(unknown(name, known, now))
        }
        answered => answered,
    }
}

/// A wrong key and a group that is not there are answered alike: names are not given away.
const NO_ENTRY: ApiError = ApiError::Unauthorized("The key does not open this group.");

async fn current(state: &AppState, name: &str, hash: &[u8; 32], now: Timestamp) -> ApiResult<Feed> {
    let mut conn = state.pool.acquire().await?;
    let row = store::failover::named(&mut conn, name).await?;
    let Some(row) = row.filter(|row| opens(&row.token_hash, hash)) else {
        return Err(NO_ENTRY);
    };
    state.failover.remember(name, &row);
    let looked = look(&mut conn, vec![row], now).await?.pop().ok_or(NO_ENTRY)?;
    let members = looked.row.group.members.iter().zip(&looked.answer.members);
    let members = members.map(|(member, judged)| told(member, judged.serve, judged.reason));
    Ok(Feed::new(
        (name, looked.row.group.mode),
        members.collect(),
        (looked.answer.fail_open, false),
        looked.sentence(),
        now,
    ))
}

fn unknown(name: &str, known: Remembered, now: Timestamp) -> Feed {
    let members = known.members.iter().map(|member| told(member, true, Reason::Unknown)).collect();
    let sentence =
        "Nobody can be looked up at the moment, so nobody is known to be down; all are served.";
    Feed::new((name, known.mode), members, (true, true), sentence.to_owned(), now)
}

fn told(member: &Member, serve: bool, reason: Reason) -> Told {
    Told {
        name: member.name.clone(),
        address: member.address.clone(),
        weight: member.weight,
        serve,
        reason,
    }
}

/// Hashes of random keys are compared: how long that takes tells nothing of use.
fn opens(stored: &[u8], given: &[u8; 32]) -> bool {
    stored == given
}

impl Feed {
    fn new(
        (name, mode): (&str, Mode),
        members: Vec<Told>,
        (fail_open, stale): (bool, bool),
        sentence: String,
        now: Timestamp,
    ) -> Self {
        let serve = members.iter().filter(|told| told.serve);
        Self {
            group: name.to_owned(),
            mode,
            at: At(now),
            fail_open,
            stale,
            sentence,
            serve: serve
                .map(|told| Served {
                    name: told.name.clone(),
                    address: told.address.clone(),
                    weight: told.weight,
                })
                .collect(),
            members,
            max_age_s: MAX_AGE_S,
        }
    }
}

impl Memory {
    fn remember(&self, name: &str, row: &store::failover::GroupRow) {
        let known = Remembered {
            token_hash: row.token_hash.clone(),
            mode: row.group.mode,
            members: row.group.members.clone(),
        };
        self.lock().insert(name.to_owned(), known);
    }

    fn recall(&self, name: &str) -> Option<Remembered> {
        self.lock().get(name).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
