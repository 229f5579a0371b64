//! Who changed what, and when.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::Admin,
    error::ApiResult,
    request::{At, Json, List, Query, page_limit, read_cursor},
};
use crate::store::audit;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_audit))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AuditEntry {
    pub id: i64,
    pub at: At,
    /// E-mail address, `token:NAME`, or `quorate` itself.
    pub actor: String,
    /// `monitor.create`, `user.disable`, …
    pub action: String,
    /// `monitor:UUID`, …
    pub subject: String,
    #[schema(value_type = Object)]
    pub detail: serde_json::Value,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListAudit {
    /// Exactly this subject.
    pub subject: Option<String>,
    /// Exactly this actor.
    pub actor: Option<String>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Changes, the latest first.
#[utoipa::path(get, path = "/audit", tag = "people", extensions(("x-role" = json!("admin"))),
    params(ListAudit), responses((status = 200, body = List<AuditEntry>)))]
async fn list_audit(
    State(state): State<AppState>,
    _admin: Admin,
    Query(query): Query<ListAudit>,
) -> ApiResult<Json<List<AuditEntry>>> {
    let limit = page_limit(query.limit)?;
    let before = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let (subject, actor) = (query.subject.as_deref(), query.actor.as_deref());
    let rows = audit::list(&mut conn, subject, actor, before, limit + 1).await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| row.id,
        |row| AuditEntry {
            id: row.id,
            at: At(row.at),
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            detail: row.detail,
        },
    )))
}
