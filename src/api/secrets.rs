//! Values for `${secret:name}` in checks: encrypted, sent only to agents whose checks name them, never
//! shown again.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::{Admin, Editor},
    error::{ApiError, ApiResult},
    request::{At, Json, List, Path},
};
use crate::{
    domain::ids::MonitorKey,
    store::{self, secrets::SecretRow, wake::Change},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_secrets)).routes(routes!(put_secret, delete_secret))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Secret {
    /// Letters, digits, `_`, `-` and `.`; used as `${secret:name}`.
    pub name: String,
    pub created_at: At,
    pub updated_at: At,
    /// Names of the monitors that use it.
    pub used_by: Vec<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretValue {
    /// 1 to 8,192 characters.
    pub value: String,
}

/// All secrets by name; never their values.
#[utoipa::path(get, path = "/secrets", tag = "settings", extensions(("x-role" = json!("editor"))),
    responses((status = 200, body = List<Secret>)))]
async fn list_secrets(
    State(state): State<AppState>,
    _editor: Editor,
) -> ApiResult<Json<List<Secret>>> {
    let mut conn = state.pool.acquire().await?;
    let mut items = Vec::new();
    for row in store::secrets::list(&mut conn).await? {
        items.push(shown(&mut conn, row).await?);
    }
    Ok(Json(List::whole(items)))
}

/// Creates or replaces a secret; agents hear of it at once.
#[utoipa::path(put, path = "/secrets/{name}", tag = "settings", extensions(("x-role" = json!("admin"))),
    params(("name" = String, Path)), request_body = SecretValue, responses((status = 200, body = Secret)))]
async fn put_secret(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(name): Path<String>,
    Json(body): Json<SecretValue>,
) -> ApiResult<Json<Secret>> {
    check_name(&name)?;
    if body.value.is_empty() || body.value.len() > 8_192 {
        return Err(ApiError::invalid("value", "must be 1 to 8192 bytes long"));
    }
    let now = state.clock.now();
    let sealed = state.sealer.seal(store::secrets::place(&name), body.value.as_bytes());
    let mut tx = state.pool.begin().await?;
    let row = store::secrets::put(&mut tx, store::id_at(now), &name, &sealed, now).await?;
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "secret.put",
        &format!("secret:{name}"),
        &json!({}),
    )
    .await?;
    let users = store::secrets::users(&mut tx, &name).await?;
    let changes: Vec<Change> =
        users.iter().map(|(key, _)| Change::Monitor(MonitorKey(*key))).collect();
    store::wake::change(&mut tx, &changes, now).await?;
    let secret = shown(&mut tx, row).await?;
    tx.commit().await?;
    Ok(Json(secret))
}

/// Deletes a secret; 409 while a monitor uses it.
#[utoipa::path(delete, path = "/secrets/{name}", tag = "settings", extensions(("x-role" = json!("admin"))),
    params(("name" = String, Path)), responses((status = 204)))]
async fn delete_secret(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(name): Path<String>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let users = store::secrets::users(&mut tx, &name).await?;
    if let Some((_, first)) = users.first() {
        let others = users.len() - 1;
        let more = if others == 0 { String::new() } else { format!(" and {others} more") };
        return Err(ApiError::in_use(format!(
            "The monitor {first}{more} uses this secret; change it first."
        )));
    }
    if !store::secrets::delete(&mut tx, &name).await? {
        return Err(ApiError::NotFound("secret"));
    }
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "secret.delete",
        &format!("secret:{name}"),
        &json!({}),
    )
    .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check_name(name: &str) -> ApiResult<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > 100 || !name.chars().all(plain) {
        return Err(ApiError::invalid("name", "must be 1 to 100 letters, digits, _ - or ."));
    }
    if name.starts_with("inline.") {
        return Err(ApiError::invalid(
            "name",
            "begins with inline., which is for values typed into checks",
        ));
    }
    Ok(())
}

async fn shown(conn: &mut PgConnection, row: SecretRow) -> ApiResult<Secret> {
    let users = store::secrets::users(conn, &row.name).await?;
    Ok(Secret {
        name: row.name,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
        used_by: users.into_iter().map(|(_, name)| name).collect(),
    })
}
