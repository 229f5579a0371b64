//! One error, one envelope, one status match. A 5xx tells the log what happened, and the client only
//! that it did.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{domain::Invalid, process::log::reasons};

/// What a handler answers when it cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// 400: not JSON, or not a request at all.
    #[error("{0}")]
    Malformed(String),
    /// 422: a value was refused; the field is named as the client wrote it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// 401: no sign-in, or one that has ended.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// 403: signed in, but not allowed to.
    #[error("{0}")]
    Forbidden(String),
    /// 404: `what` there is not.
    #[error("There is no such {0}.")]
    NotFound(&'static str),
    /// 404: it could be there, but nobody has set it up; with the way to do so.
    #[error("{0}")]
    NotSetUp(&'static str),
    /// 404: a word in the path that no id is written like.
    #[error("{0:?} is no id; ids look like 01900000-0000-7000-8000-000000000000.")]
    NoId(String),
    /// 415: the body is compressed.
    #[error("Send the body as it is: content-encoding {0} is not taken here.")]
    Encoded(String),
    /// 405
    #[error("This address does not answer to that method.")]
    Method,
    /// 409: a name is taken, or the thing is in use.
    #[error("{message}")]
    Conflict { field: Option<String>, message: String },
    /// 409: somebody else saved in between.
    #[error(
        "This was changed meanwhile; the present revision is {current}. Load it and try again."
    )]
    Revision { current: i32 },
    /// 409: a part of a log file, of which something before it is missing. With `next_offset`.
    #[error("The file is here up to byte {next_offset}; go on from there.")]
    Gap { next_offset: u64 },
    /// 413
    #[error("The body is larger than {0} bytes.")]
    TooLarge(usize),
    /// 429, with `retry-after` in seconds.
    #[error("Too many requests; try again in {0} s.")]
    TooMany(u64),
    /// 503: the database is away.
    #[error("The database cannot be reached at the moment; try again shortly.")]
    Unavailable(#[source] anyhow::Error),
    /// 502: another server (mail, webhook) did not do its part.
    #[error("{0}")]
    Upstream(String),
    /// 501: nothing here does that, and what does instead.
    #[error("{0}")]
    NotBuilt(&'static str),
    /// 500
    #[error("Something went wrong here; the log has the reason under this request's id.")]
    Internal(#[source] anyhow::Error),
}

/// The error envelope.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    pub error: ErrorDetail,
    /// Of a part of a log file that does not follow on what is here: where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ErrorDetail {
    /// `malformed invalid unauthorized forbidden not_found method_not_allowed conflict revision gap
    /// too_large unsupported_encoding rate_limited upstream unavailable not_implemented internal`
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// The field at fault, as a path: `check.assertions[1].value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(Invalid::new(field, message))
    }

    /// A refusal that begins with what was given, shortened.
    pub fn given(field: impl Into<String>, given: &str, why: &str) -> Self {
        Self::Invalid(Invalid::given(field, given, why))
    }

    pub fn conflict(field: &str, message: impl Into<String>) -> Self {
        Self::Conflict { field: Some(field.to_owned()), message: message.into() }
    }

    /// A conflict that no single field is to blame for.
    pub fn in_use(message: impl Into<String>) -> Self {
        Self::Conflict { field: None, message: message.into() }
    }

    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Malformed(_) => (StatusCode::BAD_REQUEST, "malformed"),
            Self::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::NotFound(_) | Self::NotSetUp(_) | Self::NoId(_) => {
                (StatusCode::NOT_FOUND, "not_found")
            }
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::Conflict { .. } => (StatusCode::CONFLICT, "conflict"),
            Self::Revision { .. } => (StatusCode::CONFLICT, "revision"),
            Self::Encoded(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding"),
            Self::Gap { .. } => (StatusCode::CONFLICT, "gap"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Self::Upstream(_) => (StatusCode::BAD_GATEWAY, "upstream"),
            Self::NotBuilt(_) => (StatusCode::NOT_IMPLEMENTED, "not_implemented"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }

    /// The envelope, as it is sent.
    pub fn body(&self) -> ErrorBody {
        let (field, message) = match self {
            Self::Invalid(Invalid { field, message }) => {
                ((!field.is_empty()).then(|| field.clone()), message.clone())
            }
            Self::Conflict { field, message } => (field.clone(), message.clone()),
            other => (None, other.to_string()),
        };
        let next_offset = match self {
            Self::Gap { next_offset } => Some(*next_offset),
            _ => None,
        };
        ErrorBody { error: ErrorDetail { code: self.status().1, message, field }, next_offset }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, _) = self.status();
        match &self {
            Self::Internal(reason) => {
                tracing::error!(reason = reasons(reason), "request failed")
            }
            Self::Unavailable(reason) => {
                tracing::warn!(reason = reasons(reason), "database unavailable");
            }
            _ => {}
        }
        let mut response = (status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        match &self {
            Self::TooMany(secs) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(*secs));
            }
            Self::Unavailable(_) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(5));
            }
            Self::Encoded(_) => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            Self::Unauthorized(_) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Named constraints in the client's words: the database holds the rule, this gives it a sentence.
const CONSTRAINTS: &[(&str, &str, &str)] = &[
    ("app_user_email_key", "email", "Somebody with this address exists already."),
    ("api_token_name_key", "name", "A token of this name exists already."),
    ("secret_name_key", "name", "A secret of this name exists already."),
    ("location_name_key", "name", "A location of this name exists already."),
    ("monitor_name_key", "name", "A monitor of this name exists already."),
    ("channel_name_key", "name", "A channel of this name exists already."),
    ("fleet_name_key", "name", "A fleet of this name exists already."),
    ("report_schedule_name_key", "name", "A schedule of this name exists already."),
    ("slo_name_key", "name", "An SLO of this name exists already."),
    ("escalation_name_key", "name", "An escalation of this name exists already."),
    ("route_name_key", "name", "A route of this name exists already."),
    ("failover_group_name_key", "name", "A failover group of this name exists already."),
    ("status_page_slug_key", "slug", "Another status page has this address already."),
    ("status_page_domain_key", "domain", "Another status page has this host already."),
    ("shipper_token_name_key", "name", "This fleet has a token of this name already."),
    ("maintenance_order_check", "end", "The end must be after the start."),
];

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(db) => {
                let constraint = db.constraint().unwrap_or_default();
                if let Some((_, field, message)) =
                    CONSTRAINTS.iter().find(|(name, _, _)| *name == constraint)
                {
                    return Self::conflict(field, *message);
                }
                // Shutting down, crashed, starting up, too many connections, read-only: it is away.
                match db.code().as_deref() {
                    Some("57P01" | "57P02" | "57P03" | "53300" | "25006" | "08006") => {
                        Self::Unavailable(error.into())
                    }
                    _ => Self::Internal(error.into()),
                }
            }
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed => Self::Unavailable(error.into()),
            _ => Self::Internal(error.into()),
        }
    }
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        Self::Internal(error)
    }
}
