//! Settings of the whole installation.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::{Admin, Viewer},
    channels::TestResult,
    error::ApiResult,
    request::{Json, present},
    setup::later,
};

/// Setting `{"public_url", "report_zone"}`.
pub const GENERAL: &str = "general";

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
    pub report_zone: Option<String>,
    /// 1 to 3,650.
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
    /// Sender address.
    pub from: String,
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

#[derive(Deserialize, utoipa::ToSchema)]
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
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestMail {
    pub to: String,
}

/// Settings, with what retention costs.
#[utoipa::path(get, path = "/settings", tag = "settings", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Settings)))]
async fn get_settings(
    State(_state): State<AppState>,
    _caller: Viewer,
) -> ApiResult<Json<Settings>> {
    later()
}

/// Changes settings.
#[utoipa::path(patch, path = "/settings", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = ChangeSettings, responses((status = 200, body = Settings)))]
async fn change_settings(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<ChangeSettings>,
) -> ApiResult<Json<Settings>> {
    later()
}

/// The mail server; never its password.
#[utoipa::path(get, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    responses((status = 200, body = MailServer)))]
async fn get_mail(State(_state): State<AppState>, _caller: Admin) -> ApiResult<Json<MailServer>> {
    later()
}

/// Sets the mail server.
#[utoipa::path(put, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = PutMailServer, responses((status = 200, body = MailServer)))]
async fn put_mail(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<PutMailServer>,
) -> ApiResult<Json<MailServer>> {
    later()
}

/// Forgets the mail server.
#[utoipa::path(delete, path = "/settings/mail", tag = "settings", extensions(("x-role" = json!("admin"))),
    responses((status = 204)))]
async fn delete_mail(State(_state): State<AppState>, _caller: Admin) -> ApiResult<StatusCode> {
    later()
}

/// Sends a test mail and tells what the server said.
#[utoipa::path(post, path = "/settings/mail/test", tag = "settings", extensions(("x-role" = json!("admin"))),
    request_body = TestMail, responses((status = 200, body = TestResult)))]
async fn test_mail(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<TestMail>,
) -> ApiResult<Json<TestResult>> {
    later()
}
