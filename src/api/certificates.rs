//! The certificates that a monitor's locations were shown.

use axum::extract::State;
use serde::Serialize;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    monitor_state::key,
    monitors::LocationRef,
    request::{At, Json, List, Path},
    view::Surroundings,
};
use crate::{domain::observation::Certificate, store};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_certificates))
}

/// The certificate that one location was shown last.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SeenCertificate {
    pub location: LocationRef,
    /// When this location saw it first. `certificate.days_left` is of that time.
    pub seen_at: At,
    pub certificate: Certificate,
}

/// One per location that has seen one, also when the certificate is not valid.
#[utoipa::path(get, path = "/monitors/{id}/certificates", tag = "monitors",
    extensions(("x-role" = json!("viewer"))), params(("id" = Uuid, Path)),
    responses((status = 200, body = List<SeenCertificate>)))]
async fn list_certificates(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<SeenCertificate>>> {
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let around = Surroundings::read(&mut conn, state.clock.now()).await?;
    let mut items = Vec::new();
    for row in store::reports::certificates(&mut conn, key).await? {
        let Some(location) = around.reference(row.location) else { continue };
        let certificate = serde_json::from_value(row.facts).map_err(anyhow::Error::from)?;
        items.push(SeenCertificate { location, seen_at: At(row.seen_at), certificate });
    }
    Ok(Json(List { items, next: None }))
}
