//! What every handler takes and gives: bodies, queries and paths whose refusals name the field,
//! instants with milliseconds, lists with a cursor.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, RawPathParams, Request, rejection::BytesRejection},
    http::{StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    error::{ApiError, ApiResult},
    given::{NUL, from_json, from_query},
};
use crate::domain::{Invalid, short};

/// JSON in both directions. A body that is no JSON is 400, a field that is refused is 422 and named by
/// its path.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        to_store(&json_body(request, state).await?).map(Self)
    }
}

/// The same for what is only looked at and not stored: a NUL is left for the handler to find fault
/// with.
#[derive(Debug)]
pub struct Look<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Look<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        from_json(&json_body(request, state).await?).map(Self)
    }
}

/// A body of text in UTF-8, such as YAML, of whatever content type.
#[derive(Debug)]
pub struct Text(pub String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let bytes = Bytes::from_request(request, state).await.map_err(too_large)?;
        let text = String::from_utf8(bytes.into());
        text.map(Self).map_err(|_| ApiError::Malformed("The body is no text in UTF-8.".into()))
    }
}

/// Nothing: an empty body, or an object without fields.
#[derive(Debug)]
pub struct Empty;

/// What [`Empty`] is read from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

impl<S: Send + Sync> FromRequest<S> for Empty {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let bytes = Bytes::from_request(request, state).await.map_err(too_large)?;
        if !bytes.trim_ascii().is_empty() {
            let NoFields {} = from_json(&bytes)?;
        }
        Ok(Self)
    }
}

/// A body that may be left out.
#[derive(Debug)]
pub struct Optional<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for Optional<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let bytes = Bytes::from_request(request, state).await.map_err(too_large)?;
        match bytes.trim_ascii().is_empty() {
            true => Ok(Self(T::default())),
            false => from_json(&bytes).map(Self),
        }
    }
}

/// Refuses a body in an encoding, which nobody here would undo; but for a fleet's logs and events, which
/// are long and come packed.
pub async fn refuse_encoded(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let packed = ["/logs", "/events"].iter().any(|end| path.ends_with(end));
    if packed && path.starts_with("/api/v1/fleets/") {
        return next.run(request).await;
    }
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    match encoding.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()) {
        Some(encoding) if !encoding.trim().eq_ignore_ascii_case("identity") => {
            ApiError::Encoded(short(&encoding)).into_response()
        }
        _ => next.run(request).await,
    }
}

/// A body that says that it is JSON.
async fn json_body<S: Send + Sync>(request: Request, state: &S) -> ApiResult<Bytes> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
    });
    // Also the guard against forms of other sites: they cannot send this content type.
    if !is_json {
        return Err(ApiError::Malformed(
            "Send JSON, with the header content-type: application/json.".into(),
        ));
    }
    Bytes::from_request(request, state).await.map_err(too_large)
}

fn too_large(rejection: BytesRejection) -> ApiError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        ApiError::TooLarge(super::MAX_BODY)
    } else {
        ApiError::Malformed("The body could not be read to its end.".into())
    }
}

/// Parses JSON that will be stored, naming the field of whatever is refused.
fn to_store<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    refuse_nul(bytes)?;
    from_json(bytes)
}

/// Postgres cannot store the NUL character in a text. Nobody means it, so it is refused wherever it
/// stands.
fn refuse_nul(bytes: &[u8]) -> ApiResult<()> {
    const ESCAPED: &[u8] = b"\\u0000";
    if !bytes.windows(ESCAPED.len()).any(|window| window == ESCAPED) {
        return Ok(());
    }
    let value: serde_json::Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        // Told better by whoever parses it next.
        Err(_) => return Ok(()),
    };
    nul_free(&value).map_err(ApiError::Invalid)
}

/// The same for a value.
pub fn nul_free(value: &serde_json::Value) -> Result<(), Invalid> {
    nul_in(value).map_or(Ok(()), |path| Err(Invalid::new(path, NUL)))
}

/// Path of the first text, or key, that holds a NUL.
fn nul_in(value: &serde_json::Value) -> Option<String> {
    use serde_json::Value;
    let join = |head: String, rest: String| match rest.as_bytes().first() {
        None => head,
        Some(b'[') => head + &rest,
        Some(_) => format!("{head}.{rest}"),
    };
    match value {
        Value::String(text) => text.contains('\0').then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, item)| nul_in(item).map(|rest| join(format!("[{i}]"), rest))),
        Value::Object(fields) => fields.iter().find_map(|(name, item)| {
            if name.contains('\0') {
                return Some(name.replace('\0', "\\u0000"));
            }
            nul_in(item).map(|rest| join(name.clone(), rest))
        }),
        _ => None,
    }
}

/// The query string, refused by parameter.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        Ok(Self(from_query(parts.uri.query().unwrap_or_default())?))
    }
}

/// Path parameters. One that cannot be parsed names nothing, so it is 404, and said to be no id.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        if let Ok(axum::extract::Path(value)) = path {
            return Ok(Self(value));
        }
        let words = RawPathParams::from_request_parts(parts, state).await;
        let words = words.map_err(|_| ApiError::NotFound("thing"))?;
        let wrong = words.iter().map(|(_, word)| word).find(|word| Uuid::try_parse(word).is_err());
        Err(wrong.map_or(ApiError::NotFound("thing"), |word| ApiError::NoId(short(word))))
    }
}

/// An instant as the API speaks it: RFC 3339, UTC, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(pub Timestamp);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:.3}", self.0))
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let refused = serde::de::Error::custom;
        match text.parse() {
            Ok(at) if at < EARLIEST => {
                Err(refused("is too early: instants begin at 0001-01-01T00:00:00Z"))
            }
            Ok(at) => Ok(Self(at)),
            Err(_) if beyond_9999(&text) => {
                Err(refused("is too late: instants end at 9999-12-30T22:00:00Z"))
            }
            Err(_) => Err(refused("must be an instant such as 2026-01-31T08:00:00Z")),
        }
    }
}

/// The first instant of the year 1: what is written without a sign and the database can hold.
const EARLIEST: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Whether a text that is no instant is one of a year of five digits, or of the last day, of which
/// only a part can be told in every zone.
fn beyond_9999(text: &str) -> bool {
    let year = text.split('-').next().unwrap_or_default();
    let digits = year.trim_start_matches('+').trim_start_matches('0');
    let number = digits.bytes().all(|b| b.is_ascii_digit());
    number && (digits.len() > 4 || text.contains("9999-12-3"))
}

impl utoipa::PartialSchema for At {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(
                utoipa::openapi::KnownFormat::DateTime,
            )))
            .into()
    }
}

impl utoipa::ToSchema for At {
    fn name() -> std::borrow::Cow<'static, str> {
        "Instant".into()
    }
}

impl From<Timestamp> for At {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

/// One page of a list. `next` is null on the last one; otherwise hand it back as `cursor`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct List<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

impl<T> List<T> {
    /// A list that always comes whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// Cuts `rows`, which were asked for one more than `limit`, to a page; `key` gives the cursor of
    /// the last row kept.
    pub fn page<R, K: Serialize>(
        mut rows: Vec<R>,
        limit: i64,
        key: impl Fn(&R) -> K,
        into: impl FnMut(R) -> T,
    ) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|last| write_cursor(&key(last)));
        Self { items: rows.into_iter().map(into).collect(), next }
    }
}

/// How many rows a page may have: 50 unless asked for, 500 at most.
pub fn page_limit(limit: Option<u32>) -> ApiResult<i64> {
    match limit {
        None => Ok(50),
        Some(limit @ 1..=500) => Ok(i64::from(limit)),
        Some(limit) => {
            Err(ApiError::invalid("limit", format!("{limit} is out of range: 1 to 500")))
        }
    }
}

fn write_cursor(key: &impl Serialize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

/// Reads a cursor of ours back; a made-up one is refused.
pub fn read_cursor<K: DeserializeOwned>(cursor: Option<&str>) -> ApiResult<Option<K>> {
    let Some(cursor) = cursor else { return Ok(None) };
    BASE64_URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .map(Some)
        .ok_or_else(|| ApiError::invalid("cursor", "is not one that was handed out"))
}

/// For fields that may be left out but not be null.
pub fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// For `Option<Option<T>>` fields: absent is `None`, null is `Some(None)`.
pub fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> Invalid {
        match to_store::<serde_json::Value>(body.as_bytes()) {
            Err(ApiError::Invalid(invalid)) => invalid,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn a_nul_is_refused_by_the_name_of_its_field() {
        let cases = [
            (r#"{"name":"a\u0000"}"#, "name"),
            (
                r#"{"check":{"assertions":[{"on":"body"},{"value":["x","\u0000"]}]}}"#,
                "check.assertions[1].value[1]",
            ),
            (r#"{"labels":{"a\u0000":"b"}}"#, "labels.a\\u0000"),
        ];
        for (body, field) in cases {
            assert_eq!(refused(body).field, field, "{body}");
        }
        // An escaped backslash before the same letters is no NUL.
        assert!(to_store::<serde_json::Value>(br#"{"name":"a\\u0000"}"#).is_ok());
    }
}
