//! Whom a failover group serves now and why, somebody's word over what monitors say, and what was served when.

use axum::{extract::State, response::Response};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    failover::{FailoverGroup, answer, find, one, subject},
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::failover::{self, Reason},
    store::{
        self,
        failover::{GroupRow, OverrideRow},
    },
    triage::failover::Looked,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(set_failover_override, drop_failover_override))
        .routes(routes!(list_failover_changes))
}

/// Whom to serve now.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverNow {
    pub at: At,
    /// Names, in the group's order.
    pub serve: Vec<String>,
    /// Too few would have been left, so all are served but those that somebody took out.
    pub fail_open: bool,
    /// The fewest that may be left.
    pub min_members: u16,
    /// What is served, in one sentence.
    pub sentence: String,
    pub members: Vec<FailoverMemberNow>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverMemberNow {
    pub name: String,
    pub address: String,
    pub weight: u16,
    pub serve: bool,
    pub reason: Reason,
    /// Out by its monitor since.
    pub out_since: Option<At>,
    /// When it comes back if it stays well.
    pub returns_at: Option<At>,
    #[serde(rename = "override")]
    pub said: Option<FailoverOverride>,
}

/// Somebody's word over what monitors say.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverOverride {
    pub serve: bool,
    pub reason: String,
    pub set_by: String,
    pub set_at: At,
    pub until: At,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetFailoverOverride {
    pub serve: bool,
    pub reason: String,
    /// At most 30 days ahead.
    pub until: At,
}

/// What was served from `at` on.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverChange {
    pub at: At,
    pub serve: Vec<String>,
    pub fail_open: bool,
    pub sentence: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListFailoverChanges {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Serves a member, or does not, whatever its monitor says, until an instant at most 30 days ahead.
#[utoipa::path(put, path = "/failover/{id}/members/{member}/override", tag = "failover",
    extensions(("x-role" = json!("editor"))), params(("id" = Uuid, Path), ("member" = String, Path)),
    request_body = SetFailoverOverride, responses((status = 200, body = FailoverGroup)))]
async fn set_failover_override(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, member)): Path<(Uuid, String)>,
    Json(set): Json<SetFailoverOverride>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let longest = SignedDuration::from_millis(failover::LONGEST_OVERRIDE);
    if set.until.0 <= now {
        return Err(ApiError::invalid("until", "lies in the past"));
    }
    if set.until.0.duration_since(now) > longest {
        return Err(ApiError::invalid("until", "is more than 30 days ahead"));
    }
    let reason = set.reason.trim();
    if reason.is_empty() || reason.chars().count() > 500 {
        return Err(ApiError::invalid(
            "reason",
            "must be 1 to 500 characters: others will read it",
        ));
    }
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    known_member(&row, &member)?;
    if !set.serve {
        let words = store::failover::overrides(&mut tx, Some(row.key), now).await?;
        let stays = row.group.members.iter().any(|other| {
            let drained = words.iter().any(|word| word.member == other.name && !word.serve);
            other.name != member && !drained
        });
        if !stays {
            return Err(ApiError::invalid(
                "serve",
                "would leave nobody: every other member was taken out by hand",
            ));
        }
    }
    let word = OverrideRow {
        group: row.key,
        member,
        serve: set.serve,
        reason: reason.to_owned(),
        set_by: caller.name.clone(),
        set_at: now,
        until_at: set.until.0,
    };
    store::failover::put_override(&mut tx, &word).await?;
    let detail = json!({ "member": word.member, "serve": word.serve, "reason": word.reason,
        "until": set.until });
    store::audit::add(&mut tx, now, &caller.name, "failover.override", &subject(id), &detail)
        .await?;
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    Ok(answer(group))
}

/// Takes somebody's word back: monitors decide again.
#[utoipa::path(delete, path = "/failover/{id}/members/{member}/override", tag = "failover",
    extensions(("x-role" = json!("editor"))), params(("id" = Uuid, Path), ("member" = String, Path)),
    responses((status = 200, body = FailoverGroup)))]
async fn drop_failover_override(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, member)): Path<(Uuid, String)>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    known_member(&row, &member)?;
    if store::failover::drop_override(&mut tx, row.key, &member).await? {
        let detail = json!({ "member": member });
        store::audit::add(&mut tx, now, &caller.name, "failover.release", &subject(id), &detail)
            .await?;
    }
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    Ok(answer(group))
}

/// What was served when, the latest first.
#[utoipa::path(get, path = "/failover/{id}/changes", tag = "failover",
    extensions(("x-role" = json!("viewer"))), params(("id" = Uuid, Path), ListFailoverChanges),
    responses((status = 200, body = List<FailoverChange>)))]
async fn list_failover_changes(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListFailoverChanges>,
) -> ApiResult<Json<List<FailoverChange>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<i64> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id, false).await?;
    let rows = store::failover::changes(&mut conn, row.key, before, limit + 1).await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| row.no,
        |row| FailoverChange {
            at: At(row.at),
            serve: row.served,
            fail_open: row.fail_open,
            sentence: row.sentence,
        },
    )))
}

fn known_member(row: &GroupRow, member: &str) -> ApiResult<()> {
    let known = row.group.members.iter().any(|known| known.name == member);
    if known { Ok(()) } else { Err(ApiError::NotFound("member")) }
}

impl FailoverNow {
    pub fn of(looked: &Looked, now: Timestamp) -> Self {
        let at = |millis| At(super::view::instant(millis));
        let members = looked.row.group.members.iter().zip(&looked.answer.members);
        Self {
            at: At(now),
            serve: looked.served(),
            fail_open: looked.answer.fail_open,
            min_members: looked.answer.min_members,
            sentence: looked.sentence(),
            members: members
                .map(|(member, judged)| FailoverMemberNow {
                    name: member.name.clone(),
                    address: member.address.clone(),
                    weight: member.weight,
                    serve: judged.serve,
                    reason: judged.reason,
                    out_since: judged.out_since.map(at),
                    returns_at: judged.returns_at.map(at),
                    said: looked.overrides.iter().find(|word| word.member == member.name).map(
                        |word| FailoverOverride {
                            serve: word.serve,
                            reason: word.reason.clone(),
                            set_by: word.set_by.clone(),
                            set_at: At(word.set_at),
                            until: At(word.until_at),
                        },
                    ),
                })
                .collect(),
        }
    }
}
