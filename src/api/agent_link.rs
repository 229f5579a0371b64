//! The coordinator's side of the agents' link (`protocol`): who speaks, heartbeats, results, answers.
//! The stream of assignments is `agent_stream`.

use std::io::Read;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    middleware,
    routing::{get, post},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    AppState, agent_stream,
    auth::bearer,
    error::{ApiError, ApiResult},
    locations::OFFLINE,
    request::{Json, refuse_encoded},
};
use crate::{
    domain::{location, token::KeyKind},
    protocol::{
        BatchAnswer, Heartbeat, HeartbeatAnswer, MAX_BATCH, MAX_BATCH_BYTES, MAX_STARTS,
        ProbeAnswer, RejectCode, Rejected, Report, Resend, SettledUpTo,
    },
    store::{self, agents::KnownAgent, wake::Change},
    triage::{Delivered, Refusal, ReportBatch, Reported, Settled},
};

pub fn router() -> Router<AppState> {
    Router::new()
        .route("/agent/v1/stream", get(agent_stream::stream))
        .route("/agent/v1/heartbeat", post(heartbeat))
        .route("/agent/v1/answers", post(answers))
        .route_layer(middleware::from_fn(refuse_encoded))
        .route("/agent/v1/reports", post(reports))
        .layer(DefaultBodyLimit::max(MAX_BATCH_BYTES))
}

/// An agent that is known and not revoked.
#[derive(Debug, Clone, Copy)]
pub struct Agent(pub KnownAgent);

impl FromRequestParts<AppState> for Agent {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let hash = bearer(&parts.headers).and_then(|key| KeyKind::Agent.hash(key));
        let hash = hash.ok_or(ApiError::Unauthorized("This is no agent token."))?;
        let mut conn = state.pool.acquire().await?;
        let agent = store::agents::find(&mut conn, &hash).await?;
        agent.map(Self).ok_or(ApiError::Unauthorized("This agent token is unknown or revoked."))
    }
}

async fn heartbeat(
    State(state): State<AppState>,
    Agent(agent): Agent,
    body: Bytes,
) -> ApiResult<Json<HeartbeatAnswer>> {
    let beat: Heartbeat = read(&body)?;
    let now = state.clock.now();
    let small = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    let version: String = beat.version.chars().take(100).collect();
    let row = store::agents::Beat {
        version: &version,
        clock_offset_ms: clock_offset(beat.wall, beat.rtt_ms, now),
        in_flight: small(beat.in_flight.into()),
        spool: small(beat.spool),
        dropped: i64::try_from(beat.dropped).unwrap_or(i64::MAX),
        selfcheck: beat.selfcheck.as_ref(),
    };
    heard(&state, agent, &row, now).await?;
    let resend = unknown(&state, agent, &beat.settled).await?;
    let mut conn = state.pool.acquire().await?;
    let review = store::location_health::review_of(&mut conn, agent.location, now).await?;
    Ok(Json(HeartbeatAnswer { now, resend, self_check: review.is_some() }))
}

/// Of what an agent was told to be settled, what the database does not know: it was restored. A start of
/// which nothing is known any more comes again from its beginning.
async fn unknown(
    state: &AppState,
    agent: KnownAgent,
    settled: &[SettledUpTo],
) -> ApiResult<Vec<Resend>> {
    let settled = settled.get(..MAX_STARTS).unwrap_or(settled);
    if settled.is_empty() {
        return Ok(Vec::new());
    }
    let boots: Vec<uuid::Uuid> = settled.iter().map(|told| told.boot).collect();
    let mut conn = state.pool.acquire().await?;
    let known = store::boots::last_seqs(&mut conn, agent.id, &boots).await?;
    let lacking = settled.iter().filter_map(|told| {
        let last = known.get(&told.boot).copied().unwrap_or(0);
        (last < told.seq).then_some(Resend { boot: told.boot, after_seq: last })
    });
    Ok(lacking.collect())
}

/// Remembers that an agent is there. One that comes back takes its share of the work again.
async fn heard(
    state: &AppState,
    agent: KnownAgent,
    beat: &store::agents::Beat<'_>,
    now: Timestamp,
) -> ApiResult<()> {
    let offline = now.saturating_sub(OFFLINE).unwrap_or(now);
    let mut tx = state.pool.begin().await?;
    if store::agents::beat(&mut tx, agent.id, beat, now, offline).await? {
        store::wake::change(&mut tx, &[Change::Location(agent.location)], now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The agent's wall clock minus ours, in milliseconds; half a round trip ago it read `wall`.
fn clock_offset(wall: Timestamp, rtt_ms: f64, now: Timestamp) -> i32 {
    let half = if rtt_ms.is_finite() { (rtt_ms.clamp(0.0, 60_000.0) / 2.0) as i64 } else { 0 };
    let offset = wall.as_millisecond() + half - now.as_millisecond();
    i32::try_from(offset).unwrap_or(if offset < 0 { i32::MIN } else { i32::MAX })
}

/// A batch whose reports are read one by one, so that a bad one takes no other with it.
#[derive(Deserialize)]
struct RawBatch<'a> {
    boot: uuid::Uuid,
    #[serde(default)]
    rtt_ms: f64,
    #[serde(default)]
    sent_at: Option<Timestamp>,
    #[serde(default)]
    settled: i64,
    #[serde(borrow)]
    reports: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlySeq {
    seq: i64,
}

async fn reports(
    State(state): State<AppState>,
    Agent(agent): Agent,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<Json<BatchAnswer>> {
    let plain = unpack(&headers, &body)?;
    let delivery = decode(agent, &plain)?;
    let settled = state.triage.accept(&delivery, state.clock.now()).await?;
    Ok(Json(answered(settled)))
}

/// The decompressed body, at most [`MAX_BATCH_BYTES`].
fn unpack<'a>(headers: &HeaderMap, body: &'a Bytes) -> ApiResult<std::borrow::Cow<'a, [u8]>> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|v| v.as_bytes());
    match encoding {
        None | Some(b"identity") => Ok(body.as_ref().into()),
        Some(b"zstd") => {
            let bad = |_| ApiError::Malformed("The batch is not valid zstd.".into());
            let decoder = zstd::Decoder::new(body.as_ref()).map_err(bad)?;
            let mut plain = Vec::with_capacity(body.len() * 4);
            let limit = MAX_BATCH_BYTES as u64 + 1;
            decoder.take(limit).read_to_end(&mut plain).map_err(bad)?;
            if plain.len() > MAX_BATCH_BYTES {
                return Err(ApiError::TooLarge(MAX_BATCH_BYTES));
            }
            Ok(plain.into())
        }
        Some(_) => Err(ApiError::Malformed("content-encoding must be zstd or identity.".into())),
    }
}

/// What targets sent may hold the NUL character, which Postgres cannot store: it is replaced before
/// anything is read, so that no answer of a target can hold a batch up.
fn without_nul(plain: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const ESCAPED: &[u8] = b"\\u0000";
    if !plain.windows(ESCAPED.len()).any(|window| window == ESCAPED) {
        return plain.into();
    }
    // An escape is ASCII in ASCII, so that this stays valid UTF-8.
    String::from_utf8_lossy(plain).replace("\\u0000", "\\ufffd").into_bytes().into()
}

/// What an agent says of itself, or of a probe by hand. Fields that a newer agent knows are passed over.
fn read<T: DeserializeOwned>(body: &[u8]) -> ApiResult<T> {
    serde_json::from_slice(&without_nul(body))
        .map_err(|error| ApiError::Malformed(format!("The message cannot be read: {error}.")))
}

fn decode(agent: KnownAgent, plain: &[u8]) -> ApiResult<ReportBatch> {
    let bad = |what: String| ApiError::Malformed(format!("The batch cannot be read: {what}."));
    let plain = without_nul(plain);
    let plain = plain.as_ref();
    let batch: RawBatch<'_> = serde_json::from_slice(plain).map_err(|e| bad(e.to_string()))?;
    if batch.reports.len() > MAX_BATCH {
        return Err(bad(format!(
            "it holds {} reports, at most {MAX_BATCH} are taken",
            batch.reports.len()
        )));
    }
    let mut reports = Vec::with_capacity(batch.reports.len());
    for raw in batch.reports {
        reports.push(match serde_json::from_str::<Report>(raw.get()) {
            Ok(mut report) => {
                location::distrust_dates(&mut report.observation, agent.clock_offset_ms);
                Delivered { seq: report.seq, report: Some(reported(report)) }
            }
            Err(error) => {
                // Named by its number, it can be settled alone.
                let only: OnlySeq = serde_json::from_str(raw.get())
                    .map_err(|_| bad(format!("a report without seq: {error}")))?;
                Delivered { seq: only.seq, report: None }
            }
        });
    }
    Ok(ReportBatch {
        agent: agent.id,
        location: agent.location,
        boot: batch.boot,
        rtt_ms: batch.rtt_ms,
        sent_at: batch.sent_at,
        settled: batch.settled,
        reports,
    })
}

fn reported(report: Report) -> Reported {
    Reported {
        monitor: report.monitor,
        check_version: report.check_version,
        kind: report.kind,
        age_at_send_ms: report.age_at_send_ms,
        age_estimated: report.age_estimated,
        observation: report.observation,
    }
}

fn answered(settled: Settled) -> BatchAnswer {
    let code = |refusal| match refusal {
        Refusal::TooOld => RejectCode::TooOld,
        Refusal::Future => RejectCode::Future,
        Refusal::UnknownMonitor => RejectCode::UnknownMonitor,
        Refusal::BadReport => RejectCode::BadReport,
    };
    let rejected = settled.rejected.into_iter().map(|(seq, why)| Rejected { seq, code: code(why) });
    BatchAnswer {
        accepted: settled.accepted,
        duplicate: settled.duplicate,
        rejected: rejected.collect(),
        resend_after: settled.resend_after,
    }
}

/// The result of a probe by hand. One that nobody waits for any more is settled too.
async fn answers(
    State(state): State<AppState>,
    Agent(agent): Agent,
    body: Bytes,
) -> ApiResult<StatusCode> {
    let answer: ProbeAnswer = read(&body)?;
    let observation = serde_json::to_string(&answer.observation).map_err(anyhow::Error::from)?;
    // Postgres' jsonb cannot hold the NUL character, which a body may well contain.
    let observation = observation.replace("\\u0000", "\\ufffd");
    let observation = serde_json::from_str(&observation).map_err(anyhow::Error::from)?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    if store::probe_requests::answer(&mut tx, answer.request, agent.id, &observation, now).await? {
        store::wake::notify(&mut tx, "answer").await?;
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An agent that opens its stream is there, before its first heartbeat.
pub async fn arrived(state: &AppState, agent: KnownAgent, now: Timestamp) -> ApiResult<()> {
    let offline = now.saturating_sub(OFFLINE).unwrap_or(now);
    let mut tx = state.pool.begin().await?;
    if store::agents::touch(&mut tx, agent.id, now, offline).await? {
        store::wake::change(&mut tx, &[Change::Location(agent.location)], now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// How long a request has still to live.
pub fn millis_left(expires_at: Timestamp, now: Timestamp) -> u32 {
    let left = expires_at.duration_since(now).max(SignedDuration::ZERO);
    u32::try_from(left.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::ids::LocationKey;

    const AGENT: KnownAgent =
        KnownAgent { id: Uuid::nil(), location: LocationKey(1), clock_offset_ms: None };

    fn report(seq: i64) -> serde_json::Value {
        serde_json::json!({
            "seq": seq, "monitor": Uuid::nil(), "check_version": 1, "kind": "scheduled", "age_at_send_ms": 12.5,
            "observation": {"outcome": "pass", "class": null, "status": 200, "http_version": null,
                "address": null, "size": 3, "certificate": null, "evidence": null}
        })
    }

    fn batch(reports: &[serde_json::Value]) -> Vec<u8> {
        serde_json::to_vec(
            &serde_json::json!({"boot": Uuid::nil(), "rtt_ms": 1.5, "sent_at": "2026-03-01T12:00:00Z", "reports": reports}),
        )
        .unwrap()
    }

    #[test]
    fn a_nul_in_what_a_target_sent_is_replaced() {
        let plain = without_nul(br#"{"names":["evil\u0000.example"]}"#);
        let value: serde_json::Value = serde_json::from_slice(&plain).unwrap();
        assert_eq!(value["names"][0], "evil\u{fffd}.example");
    }

    #[test]
    fn a_bad_report_is_named_by_its_number_and_takes_no_other_with_it() {
        let mut bad = report(2);
        bad["kind"] = "sometimes".into();
        let delivery = decode(AGENT, &batch(&[report(1), bad, report(3)])).unwrap();
        let seen: Vec<_> = delivery.reports.iter().map(|r| (r.seq, r.report.is_some())).collect();
        assert_eq!(seen, [(1, true), (2, false), (3, true)]);
        assert_eq!(delivery.rtt_ms, 1.5);
        assert_eq!(delivery.sent_at, "2026-03-01T12:00:00Z".parse().ok());
    }

    #[test]
    fn a_batch_that_cannot_be_read_is_refused_as_a_whole() {
        let mut nameless = report(1);
        nameless.as_object_mut().unwrap().remove("seq");
        for bytes in [b"".to_vec(), b"[]".to_vec(), b"{\"boot\":".to_vec(), batch(&[nameless])] {
            assert!(matches!(decode(AGENT, &bytes), Err(ApiError::Malformed(_))));
        }
        let many: Vec<_> = (1..=1001).map(report).collect();
        assert!(matches!(decode(AGENT, &batch(&many)), Err(ApiError::Malformed(_))));
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = zstd::encode_all(vec![b' '; MAX_BATCH_BYTES + 1].as_slice(), 1).unwrap();
        assert!(bomb.len() < 10_000);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, "zstd".parse().unwrap());
        assert!(matches!(unpack(&headers, &bomb.into()), Err(ApiError::TooLarge(_))));
        assert!(matches!(
            unpack(&headers, &Bytes::from_static(b"nonsense")),
            Err(ApiError::Malformed(_))
        ));
        headers.insert(header::CONTENT_ENCODING, "br".parse().unwrap());
        assert!(matches!(unpack(&headers, &Bytes::new()), Err(ApiError::Malformed(_))));
    }

    #[test]
    fn an_agents_clock_is_compared_as_it_was_half_a_round_trip_ago() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        assert_eq!(clock_offset(at(10_000), 200.0, at(10_100)), 0);
        assert_eq!(clock_offset(at(13_000), 0.0, at(10_000)), 3_000);
        assert_eq!(clock_offset(at(10_000), f64::NAN, at(10_000)), 0);
        assert_eq!(clock_offset(Timestamp::MIN, 0.0, at(0)), i32::MIN);
    }
}
