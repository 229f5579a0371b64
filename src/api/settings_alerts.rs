//! Settings of alerts: the fallback channel, storms, certificates, and the dead-man ping.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Viewer},
    error::{ApiError, ApiResult},
    request::{At, Json, not_null, present},
};
use crate::{
    domain::{certificate, storm},
    notify::deadman,
    store::{self, channels::Channel},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_alert_settings, change_alert_settings)).routes(routes!(
        get_deadman,
        put_deadman,
        delete_deadman
    ))
}

/// The setting's name.
const ALERTS: &str = "alerts";

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AlertSettings {
    /// Hears what no other channel has taken within 2 min; null when there is none.
    pub fallback: Option<FallbackChannel>,
    /// So many monitors that go down within 60 s and share something are one alert; 0: never.
    pub storm_monitors: u32,
    /// Days before the end of a certificate at which people are told, the most first; a monitor may have its own.
    pub certificate_days: Vec<u16>,
    /// It is told when a monitor is shown a certificate of another issuer than before.
    pub certificate_issuer: bool,
    /// Notices that went to the fallback channel within 24 h.
    pub fallback_notices_24h: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FallbackChannel {
    pub id: Uuid,
    pub name: String,
    /// It can be told something: it is switched on.
    pub enabled: bool,
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeAlertSettings {
    /// Id or name of a channel; null: none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub fallback: Option<Option<String>>,
    /// 0, or 2 to 1,000.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub storm_monitors: Option<u32>,
    /// 1 to 10 different ones, 0 to 3,650; null goes back to 30, 14, 7, 3 and 1.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<i64>>)]
    pub certificate_days: Option<Option<Vec<i64>>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub certificate_issuer: Option<bool>,
}

/// Pings to an external watch, which raises the alarm when they stay away.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Deadman {
    pub configured: bool,
    /// Host and port; the rest of the address is a secret.
    pub place: Option<String>,
    pub period_s: i64,
    pub pinged_at: Option<At>,
    /// Whether the last ping was answered with a 2xx; null while it is under way.
    pub answered: Option<bool>,
    /// What the other side said, or why it could not be asked.
    pub answer: Option<String>,
    pub looked_at: Option<At>,
    /// Why no ping is sent now, a sentence; null when nothing withholds it.
    pub withheld: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutDeadman {
    /// http or https; it is asked with GET every minute.
    pub url: String,
}

/// Settings of alerts.
#[utoipa::path(get, path = "/settings/alerts", tag = "settings", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = AlertSettings)))]
async fn get_alert_settings(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<AlertSettings>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(load(&mut conn, &state).await?))
}

/// Changes settings of alerts.
#[utoipa::path(patch, path = "/settings/alerts", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = ChangeAlertSettings, responses((status = 200, body = AlertSettings)))]
async fn change_alert_settings(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<ChangeAlertSettings>,
) -> ApiResult<Json<AlertSettings>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let mut alerts = value(&mut tx).await?;
    if let Some(word) = &body.fallback {
        alerts["fallback"] = match word {
            None => Value::Null,
            Some(word) => json!(channel(&mut tx, word).await?.id),
        };
    }
    if let Some(monitors) = body.storm_monitors {
        if monitors == 1 || monitors > 1_000 {
            let why = format!("{monitors} is out of range: 2 to 1000 monitors, or 0 for never");
            return Err(ApiError::invalid("storm_monitors", why));
        }
        alerts["storm_monitors"] = monitors.into();
    }
    if let Some(days) = &body.certificate_days {
        alerts["certificate_days"] = match days {
            None => Value::Null,
            Some(days) => json!(certificate::thresholds("certificate_days", days)?),
        };
        // What is near its end by the new days is told at once.
        store::certificates::look_soon(&mut tx, None, now).await?;
    }
    if let Some(told) = body.certificate_issuer {
        alerts["certificate_issuer"] = told.into();
    }
    store::settings::put(&mut tx, ALERTS, &alerts, None, now).await?;
    store::audit::add(&mut tx, now, &caller.name, "settings.alerts", "settings:alerts", &alerts)
        .await?;
    let settings = load(&mut tx, &state).await?;
    tx.commit().await?;
    Ok(Json(settings))
}

/// The dead-man ping: when it was sent last, what came of it, and what withholds it.
#[utoipa::path(get, path = "/settings/deadman", tag = "settings", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Deadman)))]
async fn get_deadman(State(state): State<AppState>, _viewer: Viewer) -> ApiResult<Json<Deadman>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(load_deadman(&mut conn).await?))
}

/// Sets whom the dead-man ping goes to.
#[utoipa::path(put, path = "/settings/deadman", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = PutDeadman, responses((status = 200, body = Deadman)))]
async fn put_deadman(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<PutDeadman>,
) -> ApiResult<Json<Deadman>> {
    let url: url::Url = body.url.trim().parse().ok().filter(usable).ok_or_else(|| {
        ApiError::invalid(
            "url",
            "must be an http or https URL, such as https://watch.example/ping/key",
        )
    })?;
    if let Err(blocked) = state.notifier.open_address(&url) {
        return Err(ApiError::invalid("url", blocked.by_coordinator()));
    }
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let place = json!({ "place": place(&url) });
    let sealed =
        state.sealer.seal(store::settings::place(deadman::SETTING), url.as_str().as_bytes());
    store::settings::put(&mut tx, deadman::SETTING, &place, Some(&sealed), now).await?;
    store::deadman::clear(&mut tx).await?;
    store::audit::add(&mut tx, now, &caller.name, "settings.deadman", "settings:deadman", &place)
        .await?;
    let shown = load_deadman(&mut tx).await?;
    tx.commit().await?;
    Ok(Json(shown))
}

/// Ends the dead-man ping.
#[utoipa::path(delete, path = "/settings/deadman", tag = "settings", extensions(("x-role" = json!("admin"))),
    responses((status = 204)))]
async fn delete_deadman(
    State(state): State<AppState>,
    Admin(caller): Admin,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::settings::delete(&mut tx, deadman::SETTING).await?;
    store::deadman::clear(&mut tx).await?;
    let (what, subject) = ("settings.deadman_delete", "settings:deadman");
    store::audit::add(&mut tx, now, &caller.name, what, subject, &json!({})).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The setting's value, an object.
async fn value(conn: &mut PgConnection) -> ApiResult<Value> {
    let stored = store::settings::get(conn, ALERTS).await?.map(|row| row.value);
    Ok(stored.filter(Value::is_object).unwrap_or_else(|| json!({})))
}

/// A channel by its id or name.
async fn channel(conn: &mut PgConnection, word: &str) -> ApiResult<Channel> {
    let all = store::channels::list(conn).await?;
    let found = all.into_iter().find(|one| one.id.to_string() == word || one.name == word);
    found.ok_or_else(|| ApiError::given("fallback", word, "is no channel"))
}

async fn load(conn: &mut PgConnection, state: &AppState) -> ApiResult<AlertSettings> {
    let fallback = match store::settings_read::fallback_channel(conn).await? {
        Some(id) => store::channels::get(conn, id).await?,
        None => None,
    };
    let certificates = store::settings_read::certificates(conn).await?;
    let day = state.clock.now() - jiff::SignedDuration::from_hours(24);
    Ok(AlertSettings {
        fallback: fallback.map(|channel| FallbackChannel {
            id: channel.id,
            name: channel.name,
            enabled: channel.enabled,
        }),
        storm_monitors: store::settings_read::storm_monitors(conn)
            .await?
            .unwrap_or(storm::MONITORS),
        certificate_days: certificates.days.unwrap_or_else(|| certificate::THRESHOLDS.to_vec()),
        certificate_issuer: certificates.issuer,
        fallback_notices_24h: store::fallback::told_since(conn, day).await?,
    })
}

async fn load_deadman(conn: &mut PgConnection) -> ApiResult<Deadman> {
    let setting = store::settings::get(conn, deadman::SETTING).await?;
    let pings = store::deadman::get(conn).await?;
    let place = setting.as_ref().and_then(|row| row.value["place"].as_str().map(str::to_owned));
    Ok(Deadman {
        configured: setting.is_some(),
        place,
        period_s: deadman::PERIOD.as_secs(),
        pinged_at: pings.pinged_at.map(At),
        answered: pings.answered,
        answer: pings.answer,
        looked_at: pings.looked_at.map(At),
        withheld: pings.withheld,
    })
}

fn usable(url: &url::Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

fn place(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
