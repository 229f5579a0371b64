//! Settings of the whole installation.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::{Admin, Viewer},
    channels::TestResult,
    error::{ApiError, ApiResult},
    request::{Json, not_null, present},
};
use crate::{domain::channel as domain, store};

/// Setting `{"public_url", "report_zone"}`.
pub const GENERAL: &str = "general";
/// Setting `{"raw_days"}`.
const RETENTION: &str = "retention";
/// Setting: the mail server, its password sealed beside it.
pub const MAIL: &str = "mail";

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_settings, change_settings))
        .routes(routes!(get_mail, put_mail, delete_mail))
        .routes(routes!(test_mail))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Settings {
    /// Where people reach this installation; links in notices begin with it.
    pub public_url: String,
    /// The start-up settings give it, so it cannot be changed here.
    pub public_url_fixed: bool,
    /// IANA zone in which days are counted.
    pub report_zone: String,
    pub retention: Retention,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Retention {
    /// Raw results are kept so many days.
    pub raw_days: u32,
    /// What raw results take a day, by the last full day or what there is of today.
    pub raw_bytes_per_day: i64,
    /// What they take now.
    pub raw_bytes: i64,
    /// What they will take at this rate.
    pub raw_bytes_at_rate: i64,
    pub rollup_bytes: i64,
    /// Quarter-hour roll-ups are kept so many days.
    pub quarter_days: u32,
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSettings {
    /// Null goes back to what the start-up settings say.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub public_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub report_zone: Option<String>,
    /// 1 to 3,650.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub raw_days: Option<u32>,
}

/// How mail leaves.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MailServer {
    pub configured: bool,
    /// The start-up settings give it, so it cannot be changed here.
    pub fixed: bool,
    pub host: String,
    pub port: u16,
    pub security: MailSecurity,
    pub username: Option<String>,
    /// A password is stored.
    pub has_password: bool,
    /// Sender, as `Quorate <alerts@example.com>` or as a bare address.
    pub from: String,
    /// Certificates to trust beside the system's, PEM.
    pub ca_pem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MailSecurity {
    /// STARTTLS, required.
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// Clear text.
    None,
}

/// Serialised only to be read again by the rules for mail servers.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutMailServer {
    pub host: String,
    /// 587 for starttls, 465 for tls, 25 for none unless given.
    pub port: Option<u16>,
    pub security: MailSecurity,
    pub username: Option<String>,
    /// Left out: the stored one stays.
    pub password: Option<String>,
    pub from: String,
    /// Certificates to trust beside the system's, PEM.
    pub ca_pem: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestMail {
    pub to: String,
}

/// Settings, with what retention costs.
#[utoipa::path(get, path = "/settings", tag = "settings", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Settings)))]
async fn get_settings(State(state): State<AppState>, _viewer: Viewer) -> ApiResult<Json<Settings>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(load(&mut conn, &state).await?))
}

/// Changes settings.
#[utoipa::path(patch, path = "/settings", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = ChangeSettings, responses((status = 200, body = Settings)))]
async fn change_settings(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<ChangeSettings>,
) -> ApiResult<Json<Settings>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let mut general = value(&mut tx, GENERAL).await?;
    if let Some(url) = &body.public_url {
        if state.config.public_url.is_some() {
            return Err(ApiError::in_use(
                "The start-up settings give the public address; change it there.",
            ));
        }
        general["public_url"] = match url {
            None => Value::Null,
            Some(text) => public_url(text)?.into(),
        };
    }
    if let Some(zone) = &body.report_zone {
        // Only names from the zone database: a fixed offset knows no summer time.
        let known = jiff::tz::TimeZone::get(zone).is_ok_and(|tz| tz.iana_name().is_some());
        if !known {
            return Err(ApiError::given("report_zone", zone, "is no zone such as Europe/Berlin"));
        }
        general["report_zone"] = zone.as_str().into();
    }
    store::settings::put(&mut tx, GENERAL, &general, None, now).await?;
    if let Some(days) = body.raw_days {
        if !(1..=3_650).contains(&days) {
            return Err(ApiError::invalid(
                "raw_days",
                format!("{days} is out of range: 1 to 3650 days"),
            ));
        }
        let mut retention = value(&mut tx, RETENTION).await?;
        retention["raw_days"] = days.into();
        store::settings::put(&mut tx, RETENTION, &retention, None, now).await?;
    }
    let detail = json!({
        "public_url": body.public_url, "report_zone": body.report_zone, "raw_days": body.raw_days,
    });
    store::audit::add(&mut tx, now, &caller.name, "settings.change", "settings", &detail).await?;
    let settings = load(&mut tx, &state).await?;
    tx.commit().await?;
    Ok(Json(settings))
}

/// The mail server; never its password.
#[utoipa::path(get, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    responses((status = 200, body = MailServer)))]
async fn get_mail(State(state): State<AppState>, _admin: Admin) -> ApiResult<Json<MailServer>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(load_mail(&mut conn, &state).await?))
}

/// Sets the mail server.
#[utoipa::path(put, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = PutMailServer, responses((status = 200, body = MailServer)))]
async fn put_mail(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<PutMailServer>,
) -> ApiResult<Json<MailServer>> {
    refuse_fixed_mail(&state)?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let kept = kept_mail(&mut tx, &state).await?;
    let server = domain::MailServer::parse(&json!(body), kept.as_ref())?;
    let sealed = server.login.as_ref().map(|login| {
        state.sealer.seal(store::settings::place(MAIL), login.password.expose().as_bytes())
    });
    let value = server.to_json();
    store::settings::put(&mut tx, MAIL, &value, sealed.as_deref(), now).await?;
    store::audit::add(&mut tx, now, &caller.name, "settings.mail", "settings:mail", &value).await?;
    let mail = load_mail(&mut tx, &state).await?;
    tx.commit().await?;
    Ok(Json(mail))
}

/// Forgets the mail server.
#[utoipa::path(delete, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    responses((status = 204)))]
async fn delete_mail(State(state): State<AppState>, Admin(caller): Admin) -> ApiResult<StatusCode> {
    refuse_fixed_mail(&state)?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::settings::delete(&mut tx, MAIL).await?;
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "settings.mail_delete",
        "settings:mail",
        &json!({}),
    )
    .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test mail through the server in use and tells what it said.
#[utoipa::path(post, path = "/settings/mail/test", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = TestMail, responses((status = 200, body = TestResult)))]
async fn test_mail(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<TestMail>,
) -> ApiResult<Json<TestResult>> {
    let to = super::users::email("to", &body.to)?;
    state.limits.test(caller.key())?;
    Ok(Json(state.notifier.test_mail(None, &to).await?.into()))
}

/// Quarter-hour roll-ups are kept so long.
const QUARTER_DAYS: u32 = 400;

fn refuse_fixed_mail(state: &AppState) -> ApiResult<()> {
    if state.config.mail_fixed {
        return Err(ApiError::in_use(
            "The start-up settings give the mail server; change it there.",
        ));
    }
    Ok(())
}

/// A setting's value, an object.
async fn value(conn: &mut PgConnection, name: &str) -> ApiResult<Value> {
    let stored = store::settings::get(conn, name).await?.map(|row| row.value);
    Ok(stored.filter(Value::is_object).unwrap_or_else(|| json!({})))
}

fn public_url(text: &str) -> ApiResult<String> {
    let bad = || {
        ApiError::invalid(
            "public_url",
            "must be an http or https URL without query, such as https://quorate.example",
        )
    };
    let url: url::Url = text.trim().parse().map_err(|_| bad())?;
    let fine = matches!(url.scheme(), "http" | "https")
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if fine { Ok(url.as_str().trim_end_matches('/').to_owned()) } else { Err(bad()) }
}

async fn load(conn: &mut PgConnection, state: &AppState) -> ApiResult<Settings> {
    let general = value(conn, GENERAL).await?;
    let url = state.public_url(conn).await?;
    let raw_days = store::settings_read::raw_days(conn).await?;
    let day =
        |at: jiff::Timestamp| at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y%m%d").to_string();
    let now = state.clock.now();
    let yesterday = now.saturating_sub(jiff::SignedDuration::from_hours(24)).unwrap_or(now);
    let sizes = store::health_read::sizes(conn, &day(yesterday), &day(now)).await?;
    Ok(Settings {
        public_url: url.as_str().trim_end_matches('/').to_owned(),
        public_url_fixed: state.config.public_url.is_some(),
        report_zone: general["report_zone"].as_str().unwrap_or("UTC").to_owned(),
        retention: Retention {
            raw_days: u32::try_from(raw_days).unwrap_or_default(),
            raw_bytes_per_day: sizes.raw_day,
            raw_bytes: sizes.raw,
            raw_bytes_at_rate: sizes.raw_day.saturating_mul(raw_days.into()),
            rollup_bytes: sizes.rollups,
            quarter_days: QUARTER_DAYS,
        },
    })
}

/// The stored mail server with its password, as far as it can be read.
async fn kept_mail(
    conn: &mut PgConnection,
    state: &AppState,
) -> ApiResult<Option<domain::MailServer>> {
    let Some(row) = store::settings::get(conn, MAIL).await? else { return Ok(None) };
    let mut value = row.value;
    let password = row
        .sealed
        .and_then(|sealed| state.sealer.open_text(store::settings::place(MAIL), &sealed).ok());
    if let (Some(password), Some(fields)) = (password, value.as_object_mut()) {
        fields.insert("password".to_owned(), Value::String(password.into_exposed()));
    }
    Ok(domain::MailServer::parse(&value, None).ok())
}

async fn load_mail(conn: &mut PgConnection, state: &AppState) -> ApiResult<MailServer> {
    let row = store::settings::get(conn, MAIL).await?;
    let value = row.as_ref().map_or(Value::Null, |row| row.value.clone());
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let port = value["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    Ok(MailServer {
        configured: row.is_some() || state.config.mail_fixed,
        fixed: state.config.mail_fixed,
        host: text("host"),
        port: port.unwrap_or(587),
        security: match value["security"].as_str() {
            Some("tls") => MailSecurity::Tls,
            Some("none") => MailSecurity::None,
            _ => MailSecurity::Starttls,
        },
        username: value["username"].as_str().map(str::to_owned),
        has_password: row.is_some_and(|row| row.sealed.is_some()),
        from: text("from"),
        ca_pem: value["ca_pem"].as_str().map(str::to_owned),
    })
}
