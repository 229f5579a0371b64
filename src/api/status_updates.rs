//! Updates of a post on a status page.

use axum::{extract::State, http::StatusCode, response::Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Editor,
    error::{ApiError, ApiResult},
    request::{At, Json, Path, not_null},
    status_pages::{find, subject},
    status_posts::{StatusPost, answer, one},
};
use crate::{
    domain::status_page::post::{Progress, read_text},
    store::{
        self,
        status_posts::{PostRow, UpdateRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(add_status_update))
        .routes(routes!(change_status_update, delete_status_update))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatusUpdate {
    #[serde(default)]
    pub status: Progress,
    /// Plain text, 1 to 5,000 characters.
    pub text: String,
    /// Now unless given, and never later.
    pub at: Option<At>,
}

/// What is left out stays.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStatusUpdate {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub status: Option<Progress>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub at: Option<At>,
}

/// Tells the public more. `resolved` closes the post; any other status opens it again.
#[utoipa::path(post, path = "/status-pages/{id}/posts/{post}/updates", tag = "status pages",
    extensions(("x-role" = json!("editor"))), params(("id" = Uuid, Path), ("post" = Uuid, Path)),
    request_body = NewStatusUpdate, responses((status = 201, body = StatusPost, headers(("etag" = String)))))]
async fn add_status_update(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, post)): Path<(Uuid, Uuid)>,
    Json(form): Json<NewStatusUpdate>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    one(&mut tx, &page, post).await?;
    let update = read_update(form, &caller.name, now)?;
    store::status_posts::add_update(&mut tx, post, &update).await?;
    store::status_posts::settle(&mut tx, post, now).await?;
    let mut detail = said(&update);
    detail["post"] = json!(post);
    store::audit::add(&mut tx, now, &caller.name, "status_update.create", &subject(id), &detail)
        .await?;
    let answer = answer(&state, &mut tx, &page, post, StatusCode::CREATED).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer)
}

/// Corrects an update. The audit log keeps what it said before.
#[utoipa::path(patch, path = "/status-pages/{id}/posts/{post}/updates/{update}", tag = "status pages",
    extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("post" = Uuid, Path), ("update" = Uuid, Path)),
    request_body = ChangeStatusUpdate, responses((status = 200, body = StatusPost, headers(("etag" = String)))))]
async fn change_status_update(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, post, update)): Path<(Uuid, Uuid, Uuid)>,
    Json(change): Json<ChangeStatusUpdate>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    let old = one(&mut tx, &page, post).await?;
    let old = find_update(old, update)?;
    let row = UpdateRow {
        status: change.status.unwrap_or(old.status),
        text: match &change.text {
            Some(text) => read_text("text", text)?,
            None => old.text.clone(),
        },
        at: past("at", change.at, now)?.unwrap_or(old.at),
        edited: Some((now, caller.name.clone())),
        ..old.clone()
    };
    store::status_posts::edit_update(&mut tx, &row).await?;
    store::status_posts::settle(&mut tx, post, now).await?;
    let mut detail = said(&row);
    (detail["post"], detail["before"]) = (json!(post), said(&old));
    store::audit::add(&mut tx, now, &caller.name, "status_update.change", &subject(id), &detail)
        .await?;
    let answer = answer(&state, &mut tx, &page, post, StatusCode::OK).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer)
}

/// Takes an update back; 409 for the only one of its post. The audit log keeps what it said.
#[utoipa::path(delete, path = "/status-pages/{id}/posts/{post}/updates/{update}", tag = "status pages",
    extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("post" = Uuid, Path), ("update" = Uuid, Path)),
    responses((status = 200, body = StatusPost, headers(("etag" = String)))))]
async fn delete_status_update(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, post, update)): Path<(Uuid, Uuid, Uuid)>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    let old = one(&mut tx, &page, post).await?;
    let only = old.updates.len() == 1;
    let row = find_update(old, update)?;
    if only {
        return Err(ApiError::in_use("This is all that the post says. Delete the post instead."));
    }
    store::status_posts::delete_update(&mut tx, update).await?;
    store::status_posts::settle(&mut tx, post, now).await?;
    let mut detail = said(&row);
    detail["post"] = json!(post);
    store::audit::add(&mut tx, now, &caller.name, "status_update.delete", &subject(id), &detail)
        .await?;
    let answer = answer(&state, &mut tx, &page, post, StatusCode::OK).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer)
}

fn find_update(post: PostRow, id: Uuid) -> ApiResult<UpdateRow> {
    post.updates.into_iter().find(|row| row.id == id).ok_or(ApiError::NotFound("update"))
}

pub fn read_update(form: NewStatusUpdate, by: &str, now: Timestamp) -> ApiResult<UpdateRow> {
    Ok(UpdateRow {
        id: store::id_at(now),
        status: form.status,
        text: read_text("text", &form.text)?,
        at: past("at", form.at, now)?.unwrap_or(now),
        by: by.to_owned(),
        edited: None,
    })
}

/// An instant that is not in the future.
pub fn past(field: &str, at: Option<At>, now: Timestamp) -> ApiResult<Option<Timestamp>> {
    match at {
        Some(At(at)) if at > now => Err(ApiError::invalid(field, "lies in the future")),
        at => Ok(at.map(|at| at.0)),
    }
}

/// What an update says, for the audit log.
pub fn said(update: &UpdateRow) -> Value {
    json!({ "update": update.id, "status": update.status, "text": update.text, "at": At(update.at) })
}
