//! What every handler takes and gives: bodies, queries and paths whose refusals name the field,
//! instants with milliseconds, lists with a cursor.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request, rejection::BytesRejection},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::error::{ApiError, ApiResult};
use crate::domain::Invalid;

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
        from_json(&json_body(request, state).await?).map(Self)
    }
}

/// The same for what is only looked at and not stored: a NUL is left for the handler to find fault
/// with.
#[derive(Debug)]
pub struct Look<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Look<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        parse(&json_body(request, state).await?).map(Self)
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

/// Parses JSON, naming the field of whatever is refused.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    // Serde would take an array for a struct, field by field.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiError::Invalid(Invalid::new("", "The body must be a JSON object.")));
    }
    refuse_nul(bytes)?;
    parse(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        match inner.classify() {
            serde_json::error::Category::Data => {
                ApiError::Invalid(refusal(&path, &inner.to_string()))
            }
            _ => ApiError::Malformed(format!("The body is not valid JSON: {inner}.")),
        }
    })?;
    json.end()
        .map_err(|error| ApiError::Malformed(format!("The body is not valid JSON: {error}.")))?;
    Ok(value)
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
    match nul_in(&value) {
        Some(path) => Err(ApiError::Invalid(Invalid::new(path, NUL))),
        None => Ok(()),
    }
}

const NUL: &str = "holds the NUL character (\\u0000), which cannot be stored";

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

/// Serde's words turned into a field and a sentence.
fn refusal(path: &str, text: &str) -> Invalid {
    let text = text.split(" at line ").next().unwrap_or(text);
    let path = if path == "." { "" } else { path };
    let quoted = |prefix: &str| {
        text.strip_prefix(prefix).and_then(|rest| rest.split('`').next()).map(str::to_owned)
    };
    let join = |name: String| if path.is_empty() { name } else { format!("{path}.{name}") };
    if let Some(name) = quoted("missing field `") {
        return Invalid::new(join(name), "is missing");
    }
    if let Some(name) = quoted("unknown field `") {
        let known = text.split_once("expected ").map(|(_, known)| known.replace('`', ""));
        let field = if path == name || path.ends_with(&format!(".{name}")) {
            path.to_owned()
        } else {
            join(name)
        };
        return Invalid::new(
            field,
            match known {
                Some(known) => format!("is not a field that is known here; expected {known}"),
                None => "is not a field that is known here".to_owned(),
            },
        );
    }
    Invalid::new(path, text.replace('`', "'"))
}

/// The query string, refused by parameter.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        if let Some((name, _)) = pairs.clone().find(|(_, value)| value.contains('\0')) {
            return Err(ApiError::Invalid(Invalid::new(name, NUL)));
        }
        let query = serde::de::value::MapDeserializer::new(pairs.map(|(k, v)| (k, Word(v))));
        serde_path_to_error::deserialize(query).map(Self).map_err(|error| {
            let path = error.path().to_string();
            let inner: serde::de::value::Error = error.into_inner();
            ApiError::Invalid(refusal(&path, &inner.to_string()))
        })
    }
}

/// One value of a query, which is text and becomes what the field wants.
struct Word<'a>(std::borrow::Cow<'a, str>);

macro_rules! parse_words {
    ($($method:ident $visit:ident $kind:ty, $what:literal;)*) => {$(
        fn $method<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            match self.0.parse::<$kind>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(serde::de::Error::custom(concat!("must be ", $what))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Word<'de> {
    type Error = serde::de::value::Error;

    parse_words! {
        deserialize_bool visit_bool bool, "true or false";
        deserialize_u16 visit_u16 u16, "a whole number";
        deserialize_u32 visit_u32 u32, "a whole number";
        deserialize_u64 visit_u64 u64, "a whole number";
        deserialize_i64 visit_i64 i64, "a whole number";
        deserialize_f64 visit_f64 f64, "a number";
    }

    fn deserialize_any<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            std::borrow::Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            std::borrow::Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: serde::de::Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        serde::de::IntoDeserializer::<Self::Error>::into_deserializer(self.0.as_ref())
            .deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> serde::de::IntoDeserializer<'de, serde::de::value::Error> for Word<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// Path parameters; one that cannot be parsed names nothing, so it is 404.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|_| ApiError::NotFound("thing"))
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
        text.parse().map(Self).map_err(|_| {
            serde::de::Error::custom("must be an instant such as 2026-01-31T08:00:00Z")
        })
    }
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
        match from_json::<serde_json::Value>(body.as_bytes()) {
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
        assert!(from_json::<serde_json::Value>(br#"{"name":"a\\u0000"}"#).is_ok());
    }

    #[test]
    fn an_array_is_no_object() {
        assert!(refused(" [1]").message.contains("object"));
    }
}
