//! Channels: who is told, and how.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use url::Url;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    callbacks,
    error::{ApiError, ApiResult},
    incidents::Severity,
    request::{At, Empty, Json, List, Path, not_null},
};
use crate::{
    domain::{
        Invalid,
        channel::{ChannelConfig, ChannelKind, ParsedChannel},
        monitor::Name,
        secret::Secret,
    },
    notify::{self, NotifyError, TestSent},
    store::{
        self,
        channels::{Channel as Row, ChannelValues},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_channels, create_channel))
        .routes(routes!(get_channel, change_channel, delete_channel))
        .routes(routes!(test_channel))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Channel {
    pub id: Uuid,
    pub name: String,
    pub kind: ChannelKind,
    /// As it was given, with null for what is secret (`url` of a chat, `token`, `routing_key`, values of
    /// headers), `server` for where it goes, and `(hidden)` for a `signing_secret` or `webhook_secret` that is set.
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// A signing key or password is stored.
    pub has_secret: bool,
    /// Where the other side calls back; null for a kind that cannot be answered.
    pub callback: Option<Callback>,
    /// Hears every monitor that names no channels itself.
    pub default: bool,
    /// Hears nothing milder.
    pub min_severity: Severity,
    pub enabled: bool,
    /// Why it was switched off by itself.
    pub disabled_reason: Option<String>,
    pub last_delivery: Option<Delivery>,
    pub created_at: At,
    pub updated_at: At,
}

/// What people do about an incident on the other side is heard at an address of ours, once both sides are set up.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Callback {
    /// To be entered there: as the request URL of a Slack app's interactivity, as the address of a PagerDuty
    /// webhook.
    pub url: String,
    /// The secret with which the other side signs (`signing_secret`, `webhook_secret`) is stored.
    pub ready: bool,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Delivery {
    pub at: At,
    /// `delivered failed …`; null while it is still being tried.
    pub outcome: Option<String>,
    pub answer: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChannel {
    pub name: String,
    pub kind: ChannelKind,
    /// email `{"to": ["ops@shop.example"]}`; webhook `{"url", "headers"}`; slack, teams, discord `{"url"}` of
    /// their incoming webhook, slack also `"signing_secret"`? of the app; telegram `{"token", "chat", "thread"?,
    /// "server"?}`; ntfy `{"topic", "server"?, "token"?}`; pagerduty `{"routing_key", "server"?}` (Events API v2) and
    /// `"webhook_secret"`? of a webhook subscription; alertmanager `{"url", "headers"}`. With the secret that signs
    /// calls to us (see `callback` of what is answered) people can acknowledge there; an empty one takes it away.
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// webhook: the signing key `whsec_…`; one is made, and answered this once, when it is left out.
    pub secret: Option<String>,
    #[serde(default = "yes")]
    pub default: bool,
    /// `degraded` unless given.
    pub min_severity: Option<Severity>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeChannel {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub config: Option<serde_json::Value>,
    /// Replaces the stored one.
    pub secret: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub default: Option<bool>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub min_severity: Option<Severity>,
    /// Enabling clears `disabled_reason`.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub enabled: Option<bool>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SavedChannel {
    #[serde(flatten)]
    pub channel: Channel,
    /// The signing key that was made, shown this once.
    pub secret: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TestResult {
    pub delivered: bool,
    /// What the other side said, or why nothing could be sent.
    pub answer: String,
    pub took_ms: i64,
}

/// All channels by name.
#[utoipa::path(get, path = "/channels", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Channel>)))]
async fn list_channels(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Channel>>> {
    let mut conn = state.pool.acquire().await?;
    let public = state.public_url(&mut conn).await?;
    let rows = store::channels::list(&mut conn).await?;
    Ok(Json(List::whole(rows.into_iter().map(|row| Channel::shown(row, &public)).collect())))
}

/// Adds a channel.
#[utoipa::path(post, path = "/channels", tag = "alerting", extensions(("x-role" = json!("editor"))),
    request_body = NewChannel, responses((status = 201, body = SavedChannel)))]
async fn create_channel(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(body): Json<NewChannel>,
) -> ApiResult<(StatusCode, Json<SavedChannel>)> {
    let now = state.clock.now();
    let name = Name::parse("name", &body.name)?;
    let mut parsed = parse(body.kind, body.config, body.secret, None)?;
    refuse_closed(&state, &parsed)?;
    let made = parsed.ensure_key(super::random());
    let id = store::id_at(now);
    let (config, sealed) = stored(&state, id, &parsed);
    let kind = body.kind;
    let least = body.min_severity.map_or(kind.default_min_severity().name(), Severity::word);
    let values = ChannelValues {
        name: name.as_str(),
        kind: kind.word(),
        config: &config,
        sealed: sealed.as_deref(),
        is_default: body.default,
        min_severity: least,
        enabled: body.enabled,
    };
    let mut tx = state.pool.begin().await?;
    store::channels::insert(&mut tx, id, &values, now).await?;
    store::audit::add(&mut tx, now, &caller.name, "channel.create", &subject(id), &shown(&values))
        .await?;
    let public = state.public_url(&mut tx).await?;
    let channel = Channel::shown(load(&mut tx, id).await?, &public);
    tx.commit().await?;
    let secret = made.map(Secret::into_exposed);
    Ok((StatusCode::CREATED, Json(SavedChannel { channel, secret })))
}

/// One channel.
#[utoipa::path(get, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Channel)))]
async fn get_channel(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Channel>> {
    let mut conn = state.pool.acquire().await?;
    let public = state.public_url(&mut conn).await?;
    Ok(Json(Channel::shown(load(&mut conn, id).await?, &public)))
}

/// Changes a channel. A secret that is left out stays, header values only while the URL stays on its
/// host. Switching it off drops what waits to be sent through it.
#[utoipa::path(patch, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = ChangeChannel, responses((status = 200, body = Channel)))]
async fn change_channel(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Json(body): Json<ChangeChannel>,
) -> ApiResult<Json<Channel>> {
    let now = state.clock.now();
    let name = body.name.as_deref().map(|name| Name::parse("name", name)).transpose()?;
    let mut tx = state.pool.begin().await?;
    let old = load(&mut tx, id).await?;
    let kind = ChannelKind::from_word(&old.kind)
        .ok_or_else(|| anyhow::anyhow!("a channel of kind {} is stored", old.kind))?;
    let (config, sealed) = if body.config.is_some() || body.secret.is_some() {
        let kept = notify::open_channel(&state.sealer, &old).ok();
        let changed = body.config.is_some();
        let config = body.config.unwrap_or_else(|| old.config.clone());
        let mut parsed = parse(kind, config, body.secret, kept.as_ref())?;
        if changed {
            refuse_closed(&state, &parsed)?;
        }
        parsed.ensure_key(super::random());
        stored(&state, id, &parsed)
    } else {
        (old.config.clone(), old.sealed.clone())
    };
    let enabled = body.enabled.unwrap_or(old.enabled);
    let values = ChannelValues {
        name: name.as_ref().map_or(&old.name, Name::as_str),
        kind: kind.word(),
        config: &config,
        sealed: sealed.as_deref(),
        is_default: body.default.unwrap_or(old.is_default),
        min_severity: body.min_severity.map_or(old.min_severity.as_str(), |least| least.word()),
        enabled,
    };
    store::channels::update(&mut tx, id, &values, now).await?;
    if old.enabled && !enabled {
        store::outbox::drop_unsent(&mut tx, id, "The channel was switched off.", now).await?;
    }
    store::audit::add(&mut tx, now, &caller.name, "channel.change", &subject(id), &shown(&values))
        .await?;
    let public = state.public_url(&mut tx).await?;
    let channel = Channel::shown(load(&mut tx, id).await?, &public);
    tx.commit().await?;
    Ok(Json(channel))
}

/// Removes a channel that no escalation and no route names (409); what waits to be sent through it is dropped.
#[utoipa::path(delete, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_channel(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = load(&mut tx, id).await?;
    let by = store::escalations::naming_channel(&mut tx, id).await?;
    if !by.is_empty() {
        let why = format!("{} is named by {}. Take it out there first.", old.name, by.join(", "));
        return Err(ApiError::in_use(why));
    }
    store::channels::delete(&mut tx, id, now).await?;
    store::outbox::drop_unsent(&mut tx, id, "The channel was deleted.", now).await?;
    let detail = json!({ "name": old.name, "kind": old.kind });
    store::audit::add(&mut tx, now, &caller.name, "channel.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test message and tells what the other side said.
#[utoipa::path(post, path = "/channels/{id}/test", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = TestResult)))]
async fn test_channel(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<TestResult>> {
    state.limits.test(caller.key())?;
    Ok(Json(state.notifier.test_channel(id).await?.into()))
}

/// Refuses a channel that cannot carry what is no alert, under the name of the field that names it.
pub fn must_carry_news(field: &str, channel: &Row) -> ApiResult<()> {
    match ChannelKind::from_word(&channel.kind) {
        Some(kind) if !kind.carries_news() => Err(ApiError::given(
            field,
            &channel.name,
            "carries alerts only: choose mail, a webhook or a chat",
        )),
        _ => Ok(()),
    }
}

fn subject(id: Uuid) -> String {
    format!("channel:{id}")
}

/// A configuration with the key that was given beside it, if one was.
fn parse(
    kind: ChannelKind,
    mut config: Value,
    secret: Option<String>,
    kept: Option<&ParsedChannel>,
) -> Result<ParsedChannel, Invalid> {
    let beside = secret.is_some();
    if let (Some(secret), Some(fields)) = (secret, config.as_object_mut()) {
        fields.insert("secret".to_owned(), Value::String(secret));
    }
    ChannelConfig::parse(kind, &config, kept).map_err(|invalid| match invalid.field.as_str() {
        "config.secret" if beside => Invalid::new("secret", invalid.message),
        _ => invalid,
    })
}

/// An address that nothing will ever be sent to.
fn refuse_closed(state: &AppState, parsed: &ParsedChannel) -> Result<(), Invalid> {
    match state.notifier.closed(&parsed.config) {
        Some(blocked) => {
            let shown = parsed.config.to_json();
            let hosted = shown.get("server").is_some() && shown.get("url").is_none();
            let field = if hosted { "config.server" } else { "config.url" };
            Err(Invalid::new(field, blocked.by_coordinator()))
        }
        None => Ok(()),
    }
}

/// What is stored of a configuration: the part that may be shown, and the sealed rest.
fn stored(state: &AppState, id: Uuid, parsed: &ParsedChannel) -> (Value, Option<Vec<u8>>) {
    let sealed = (!parsed.secrets.is_empty()).then(|| {
        let text = parsed.secrets.to_text();
        state.sealer.seal(store::channels::place(&id.to_string()), text.expose().as_bytes())
    });
    (parsed.config.to_json(), sealed)
}

fn shown(values: &ChannelValues<'_>) -> Value {
    json!({
        "name": values.name, "kind": values.kind, "config": values.config, "default": values.is_default,
        "min_severity": values.min_severity, "enabled": values.enabled,
    })
}

async fn load(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    store::channels::get(conn, id).await?.ok_or(ApiError::NotFound("channel"))
}

impl Channel {
    /// `public` is where people reach us.
    fn shown(row: Row, public: &Url) -> Self {
        let kind = ChannelKind::from_word(&row.kind).unwrap_or(ChannelKind::Webhook);
        let base = public.as_str().trim_end_matches('/');
        let set = |name: &str| row.config.get(name).is_some_and(|value| !value.is_null());
        let callback = kind.answers().then(|| Callback {
            url: format!("{base}/{}", callbacks::path(kind, row.id)),
            ready: set("signing_secret") || set("webhook_secret"),
        });
        let health = row.health;
        let last_delivery = health.last_attempt_at.map(|at| Delivery {
            at: At(at),
            outcome: Some(
                if health.last_success_at == Some(at) { "delivered" } else { "failed" }.to_owned(),
            ),
            answer: health.last_answer,
        });
        Self {
            id: row.id,
            name: row.name,
            kind,
            config: row.config,
            has_secret: row.sealed.is_some(),
            callback,
            default: row.is_default,
            min_severity: Severity::from_stored(&row.min_severity),
            enabled: row.enabled,
            disabled_reason: row.disabled_reason,
            last_delivery,
            created_at: At(row.created_at),
            updated_at: At(row.updated_at),
        }
    }
}

impl From<TestSent> for TestResult {
    fn from(sent: TestSent) -> Self {
        let took_ms = i64::try_from(sent.took.as_millis()).unwrap_or(i64::MAX);
        Self { delivered: sent.delivered, answer: sent.answer, took_ms }
    }
}

impl From<NotifyError> for ApiError {
    fn from(error: NotifyError) -> Self {
        match error {
            NotifyError::NoSuchChannel => Self::NotFound("channel"),
            NotifyError::Database(error) => error.into(),
            NotifyError::Start(text) => Self::Internal(anyhow::anyhow!(text)),
        }
    }
}
