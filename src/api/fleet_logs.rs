//! Where a fleet's logs come in: raw lines, or as Vector and Fluent Bit send them.

use std::io::Read;

use axum::{
    body::{Body, Bytes},
    extract::{FromRequestParts, State},
    http::{HeaderMap, header, request::Parts},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::{self, Role, bearer},
    error::{ApiError, ApiResult},
    fleet_sources, given,
    request::{Json, Path, Query},
};
use crate::{
    domain::{Invalid, ids::FleetKey, token::KeyKind},
    intake::{self, Delivery, Encoding, Mapping, Refused},
    store::{self, fleets::FleetRow},
};

/// A body of events is held as a whole.
const MOST_EVENTS: usize = 32 * 1024 * 1024;
/// "Last used" is not written more often than this.
const TOUCH_AFTER: SignedDuration = SignedDuration::from_mins(15);

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(send_logs)).routes(routes!(send_events))
}

/// Who may send: an editor, or a shipper of that fleet, by bearer token or as the password of Basic
/// authentication.
#[derive(Debug)]
pub enum Sender {
    Editor,
    Shipper(FleetKey),
}

impl FromRequestParts<AppState> for Sender {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let basic = password(&parts.headers);
        let key = bearer(&parts.headers).or(basic.as_deref());
        if let Some(hash) = key.and_then(|key| KeyKind::Shipper.hash(key)) {
            let mut conn = state.pool.acquire().await?;
            let known = store::shippers::find(&mut conn, &hash).await?;
            let known = known
                .ok_or(ApiError::Unauthorized("This shipper's token is unknown or revoked."))?;
            let now = state.clock.now();
            if known.last_used_at.is_none_or(|at| now.duration_since(at) > TOUCH_AFTER) {
                store::shippers::touch(&mut conn, known.id, now).await?;
            }
            return Ok(Self::Shipper(known.fleet));
        }
        let caller = match &basic {
            // An API token as a password is as good as one as a bearer.
            Some(key) => {
                let mut headers = HeaderMap::new();
                let value = format!("Bearer {key}").parse();
                let value = value.map_err(|_| ApiError::Unauthorized("This is no API token."))?;
                headers.insert(header::AUTHORIZATION, value);
                auth::caller(&headers, state).await?
            }
            None => auth::caller(&parts.headers, state).await?,
        };
        if caller.role < Role::Editor {
            return Err(ApiError::Forbidden(format!(
                "This needs the role editor or a shipper's token; your role is {}.",
                caller.role.word()
            )));
        }
        Ok(Self::Editor)
    }
}

/// The password of `Authorization: Basic`.
fn password(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    Some(plain.split_once(':')?.1.to_owned())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SendLogs {
    /// Who sends, for instance the balancer's host name; `logs` unless given. Of an instance's own log
    /// it names the instance.
    pub source: Option<String>,
    /// Of a new source `balancer` unless given; otherwise as it was.
    pub role: Option<fleet_sources::Role>,
    /// A name of `quorate logs --format`; found out by itself unless given.
    pub format: Option<String>,
    /// Id of the file that this is a part of. With it, everything counts exactly once; without it, what
    /// is sent again counts again.
    pub file: Option<String>,
    /// Where in the file's decompressed text this part begins; needed with `file`.
    pub offset: Option<u64>,
    /// The file's name. Of an ALB's files it tells which node of the balancer wrote them, so that the views
    /// of several nodes are kept apart.
    pub name: Option<String>,
    /// The file ends with this part: its last line counts although it has no end. Only with `file`.
    pub end: Option<bool>,
    /// nginx's `log_format` as it stands in its configuration, for lines of a format of one's own.
    pub log_format: Option<String>,
    /// What the keys of JSON lines mean, as a JSON object: `{"time":"when","status":"answer.code"}`. The
    /// fields are those of a source's mapping.
    pub mapping: Option<String>,
    /// Zone of stamps that carry none, such as `Europe/Berlin`; UTC unless given.
    pub tz: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LogsTaken {
    /// Lines that were read, those of no interest included.
    pub accepted: u64,
    /// Lines that were not understood.
    pub rejected: u64,
    /// Some of those, masked.
    pub samples: Vec<Refused>,
    /// Where the next part of the file begins; null without `file`. A last line without its end is left
    /// for the next part, unless this part is said to be the last.
    pub next_offset: Option<u64>,
    /// Bytes of this part that had been taken before, and count nothing.
    pub duplicate_bytes: u64,
    /// What the lines were read as.
    pub format: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SendEvents {
    /// Who sends; `events` unless given. Snapshots of one source follow one another: whom one does not
    /// name any more is gone.
    pub source: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct EventsTaken {
    /// New, or different from what was said last.
    pub accepted: usize,
    pub unchanged: usize,
}

/// Takes lines of logs: as they stand in the file, one JSON object a line, or a JSON array of objects
/// that hold the line as `message` or `log`; plain, gzip or zstd; of any length. Also for a shipper's
/// token, as bearer or as the password of Basic authentication. With `file`, 409 with `next_offset` means
/// that something before this part is missing. An empty part says that there is nothing newer.
#[utoipa::path(post, path = "/fleets/{id}/logs", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = String, Path, description = "Id or name"), SendLogs),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 200, body = LogsTaken)))]
async fn send_logs(
    State(state): State<AppState>,
    sender: Sender,
    Path(id): Path<String>,
    Query(query): Query<SendLogs>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<LogsTaken>> {
    let fleet = find(&state, &id, &sender).await?;
    let mut delivery = delivery(query, &headers)?;
    delivery.source = called(&state, &fleet, delivery.source).await?;
    let body = body.into_data_stream();
    let taken = state.intake.accept(&fleet, &delivery, body, state.clock.now()).await?;
    Ok(Json(LogsTaken {
        accepted: taken.accepted,
        rejected: taken.rejected,
        samples: taken.samples,
        next_offset: taken.next_offset,
        duplicate_bytes: taken.duplicate_bytes,
        format: taken.format.map(str::to_owned),
    }))
}

/// Takes what platforms say of instances: the output of `kubectl get pods,events -o json` or of
/// `aws elbv2 describe-target-health` as it is, or events in Quorate's own words, alone, in an array or one
/// a line. Also for a shipper's token.
#[utoipa::path(post, path = "/fleets/{id}/events", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = String, Path, description = "Id or name"), SendEvents),
    request_body(content = Object, content_type = "application/json"),
    responses((status = 200, body = EventsTaken)))]
async fn send_events(
    State(state): State<AppState>,
    sender: Sender,
    Path(id): Path<String>,
    Query(query): Query<SendEvents>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<EventsTaken>> {
    let fleet = find(&state, &id, &sender).await?;
    let source = intake::source_name(query.source.as_deref().unwrap_or("events"))?;
    let body = axum::body::to_bytes(body, MOST_EVENTS)
        .await
        .map_err(|_| ApiError::TooLarge(MOST_EVENTS))?;
    let plain = unpack(encoding(&headers)?, body)?;
    let source = called(&state, &fleet, source).await?;
    let heard = state.intake.hear(&fleet, &source, &plain, state.clock.now()).await?;
    Ok(Json(EventsTaken { accepted: heard.accepted, unchanged: heard.unchanged }))
}

/// The fleet by id or name, as far as this sender may know of it.
async fn find(state: &AppState, id: &str, sender: &Sender) -> ApiResult<FleetRow> {
    let mut conn = state.pool.acquire().await?;
    let fleet = store::fleets::named(&mut conn, id).await?;
    match (sender, fleet) {
        (Sender::Shipper(own), Some(fleet)) if fleet.key != *own => {
            Err(ApiError::Forbidden("This token is for another fleet.".into()))
        }
        (_, Some(fleet)) => Ok(fleet),
        (_, None) => Err(ApiError::NotFound("fleet")),
    }
}

/// The source that a sender means, which may have been renamed.
async fn called(state: &AppState, fleet: &FleetRow, source: String) -> ApiResult<String> {
    let mut conn = state.pool.acquire().await?;
    let called = store::fleet_sources::called(&mut conn, fleet.key, &source).await?;
    Ok(called.unwrap_or(source))
}

fn delivery(query: SendLogs, headers: &HeaderMap) -> ApiResult<Delivery> {
    let source = intake::source_name(query.source.as_deref().unwrap_or("logs"))?;
    let file = match (query.file, query.offset) {
        (Some(file), Some(offset)) => {
            if file.is_empty() || file.len() > 200 || file.chars().any(char::is_control) {
                return Err(ApiError::invalid("file", "must be 1 to 200 characters"));
            }
            if i64::try_from(offset).is_err() {
                return Err(ApiError::invalid("offset", "is larger than any file"));
            }
            Some((file, offset))
        }
        (Some(_), None) => return Err(ApiError::invalid("offset", "is missing; a file needs it")),
        (None, Some(_)) => {
            return Err(ApiError::invalid("file", "is missing; an offset is one of a file"));
        }
        (None, None) => None,
    };
    if query.end.is_some() && file.is_none() {
        return Err(ApiError::invalid("end", "is one of a file; file is missing"));
    }
    let bad = |name: &String| name.chars().count() > 1_000 || name.chars().any(char::is_control);
    if query.name.as_ref().is_some_and(bad) {
        return Err(ApiError::invalid("name", "must be at most 1000 characters"));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    Ok(Delivery {
        source,
        role: query.role.map(fleet_sources::Role::word),
        reading: intake::Instruction {
            format: query.format.map(Some),
            log_format: query.log_format.map(Some),
            mapping: query.mapping.as_deref().map(mapping).transpose()?.map(Some),
            tz: query.tz.map(Some),
        },
        file,
        name: query.name,
        end: query.end.unwrap_or(false),
        encoding: encoding(headers)?,
        json: kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json"),
    })
}

/// A mapping as it stands in a query.
fn mapping(text: &str) -> ApiResult<Mapping> {
    let refused = |invalid: Invalid| ApiError::Invalid(invalid.under("mapping"));
    let value = serde_json::from_str(text)
        .map_err(|error| refused(Invalid::new("", format!("is not valid JSON: {error}"))))?;
    given::from_value(value).map_err(refused)
}

fn encoding(headers: &HeaderMap) -> ApiResult<Encoding> {
    match headers.get(header::CONTENT_ENCODING).map(|v| v.as_bytes()) {
        None | Some(b"identity") => Ok(Encoding::Plain),
        Some(b"gzip" | b"x-gzip") => Ok(Encoding::Gzip),
        Some(b"zstd") => Ok(Encoding::Zstd),
        Some(_) => {
            Err(ApiError::Malformed("content-encoding must be gzip, zstd or identity.".into()))
        }
    }
}

/// The decompressed body, at most [`MOST_EVENTS`].
fn unpack(encoding: Encoding, body: Bytes) -> ApiResult<Bytes> {
    let bad = |_| ApiError::Malformed("The body is not what its content-encoding says.".into());
    let limit = MOST_EVENTS as u64 + 1;
    let mut plain = Vec::new();
    match encoding {
        Encoding::Plain => return Ok(body),
        Encoding::Gzip => {
            let decoder = flate2::read::MultiGzDecoder::new(body.as_ref());
            decoder.take(limit).read_to_end(&mut plain).map_err(bad)?;
        }
        Encoding::Zstd => {
            let decoder = zstd::Decoder::new(body.as_ref()).map_err(bad)?;
            decoder.take(limit).read_to_end(&mut plain).map_err(bad)?;
        }
    }
    if plain.len() > MOST_EVENTS {
        return Err(ApiError::TooLarge(MOST_EVENTS));
    }
    Ok(plain.into())
}

impl From<intake::Error> for ApiError {
    fn from(error: intake::Error) -> Self {
        match error {
            intake::Error::Invalid(invalid) => Self::Invalid(invalid),
            intake::Error::Gap { next_offset } => Self::Gap { next_offset },
            intake::Error::Body(why) => Self::Malformed(why),
            intake::Error::Sql(error) => error.into(),
        }
    }
}
