//! Failover groups: their rules, somebody's word over what monitors say, and what was served when. Whoever
//! serves by them reads `failover_feed`.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    request::{At, Json, List, Path, Query, not_null, page_limit, read_cursor},
};
use crate::{
    domain::{
        failover::{self, Group, Reason},
        token::KeyKind,
    },
    store::{
        self,
        failover::{GroupRow, GroupSet, OverrideRow},
    },
    triage::failover::{Looked, look},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_failover_groups, create_failover_group))
        .routes(routes!(get_failover_group, change_failover_group, delete_failover_group))
        .routes(routes!(replace_failover_key))
        .routes(routes!(set_failover_override, drop_failover_override))
        .routes(routes!(list_failover_changes))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverGroup {
    pub id: Uuid,
    /// Stands in the feed's address.
    pub name: String,
    #[serde(flatten)]
    pub rules: Group,
    /// Channels that are told of changes.
    pub channels: Vec<Uuid>,
    pub now: FailoverNow,
    /// Where it is read, by whoever has the key.
    pub feed_url: String,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
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
pub struct NewFailoverGroup {
    pub name: String,
    #[serde(default)]
    pub mode: failover::Mode,
    pub members: Vec<failover::Member>,
    pub min_members: Option<u16>,
    pub return_after_s: Option<u32>,
    #[serde(default)]
    pub channels: Vec<Uuid>,
}

/// What is left out stays; null is what a new group would have.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFailoverGroup {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub mode: Option<failover::Mode>,
    /// Replaces all members.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub members: Option<Vec<failover::Member>>,
    #[serde(default, deserialize_with = "super::request::present")]
    #[schema(value_type = Option<u16>)]
    pub min_members: Option<Option<u16>>,
    #[serde(default, deserialize_with = "super::request::present")]
    #[schema(value_type = Option<u32>)]
    pub return_after_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub channels: Option<Vec<Uuid>>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedFailoverGroup {
    pub group: FailoverGroup,
    /// `qro_…`, shown this once: it reads this group's feed and nothing else.
    pub secret: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverKey {
    /// `qro_…`, shown this once. The one before opens nothing any more.
    pub secret: String,
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

/// All groups by name, each with whom to serve now.
#[utoipa::path(get, path = "/failover", tag = "failover", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<FailoverGroup>)))]
async fn list_failover_groups(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<FailoverGroup>>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let url = state.public_url(&mut conn).await?;
    let rows = store::failover::list(&mut conn).await?;
    let all = look(&mut conn, rows, now).await?;
    Ok(Json(List::whole(all.into_iter().map(|one| shown(one, &url, now)).collect())))
}

/// Adds a group. The key of its feed is answered this once.
#[utoipa::path(post, path = "/failover", tag = "failover", extensions(("x-role" = json!("editor"))),
    request_body = NewFailoverGroup, responses((status = 201, body = CreatedFailoverGroup)))]
async fn create_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewFailoverGroup>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let group = Group {
        mode: form.mode,
        members: form.members,
        min_members: form.min_members,
        return_after_s: form.return_after_s,
    };
    failover::check_name("name", &form.name)?;
    group.check()?;
    let (secret, hash) = fresh_key()?;
    let id = store::id_at(now);
    let mut tx = state.pool.begin().await?;
    known(&mut tx, &group, &form.channels).await?;
    let set = GroupSet { name: &form.name, group: &group, channels: &form.channels };
    store::failover::insert(&mut tx, id, &set, &hash, now).await?;
    let detail = json!({ "name": form.name, "rules": group, "channels": form.channels });
    store::audit::add(&mut tx, now, &caller.name, "failover.create", &subject(id), &detail).await?;
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    let tag = [(header::ETAG, etag(group.revision))];
    Ok((StatusCode::CREATED, tag, Json(CreatedFailoverGroup { group, secret })).into_response())
}

/// One group with whom to serve now, and why.
#[utoipa::path(get, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)),
    responses((status = 200, body = FailoverGroup, headers(("etag" = String)))))]
async fn get_failover_group(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    Ok(answer(one(&mut conn, id, &state, now).await?))
}

/// Changes a group. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), request_body = ChangeFailoverGroup,
    responses((status = 200, body = FailoverGroup, headers(("etag" = String)))))]
async fn change_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeFailoverGroup>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let group = Group {
        mode: change.mode.unwrap_or(old.group.mode),
        members: change.members.unwrap_or_else(|| old.group.members.clone()),
        min_members: change.min_members.unwrap_or(old.group.min_members),
        return_after_s: change.return_after_s.unwrap_or(old.group.return_after_s),
    };
    let name = change.name.unwrap_or_else(|| old.name.clone());
    let channels = change.channels.unwrap_or_else(|| old.channels.clone());
    failover::check_name("name", &name)?;
    group.check()?;
    known(&mut tx, &group, &channels).await?;
    let set = GroupSet { name: &name, group: &group, channels: &channels };
    store::failover::update(&mut tx, old.key, &set, now).await?;
    let detail = json!({ "name": name, "rules": group, "channels": channels,
        "before": { "name": old.name, "rules": old.group, "channels": old.channels } });
    store::audit::add(&mut tx, now, &caller.name, "failover.change", &subject(id), &detail).await?;
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    Ok(answer(group))
}

/// Deletes a group: its feed answers 404 from now on.
#[utoipa::path(delete, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    store::failover::delete(&mut tx, row.key, now).await?;
    let detail = json!({ "name": row.name });
    store::audit::add(&mut tx, now, &caller.name, "failover.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes another key for the feed. The old one opens nothing any more, so whoever reads it needs the new one.
#[utoipa::path(post, path = "/failover/{id}/key", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = FailoverKey)))]
async fn replace_failover_key(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: super::request::Empty,
) -> ApiResult<Json<FailoverKey>> {
    let now = state.clock.now();
    let (secret, hash) = fresh_key()?;
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    store::failover::set_token(&mut tx, row.key, &hash).await?;
    store::audit::add(&mut tx, now, &caller.name, "failover.key", &subject(id), &json!({})).await?;
    tx.commit().await?;
    Ok(Json(FailoverKey { secret }))
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

async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<GroupRow> {
    store::failover::get(conn, id, lock).await?.ok_or(ApiError::NotFound("failover group"))
}

fn known_member(row: &GroupRow, member: &str) -> ApiResult<()> {
    let known = row.group.members.iter().any(|known| known.name == member);
    if known { Ok(()) } else { Err(ApiError::NotFound("member")) }
}

fn subject(id: Uuid) -> String {
    format!("failover:{id}")
}

fn fresh_key() -> ApiResult<(String, [u8; 32])> {
    let key = KeyKind::Failover.key(super::random());
    let hash = KeyKind::Failover
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    Ok((key.into_exposed(), hash))
}

fn answer(group: FailoverGroup) -> Response {
    (StatusCode::OK, [(header::ETAG, etag(group.revision))], Json(group)).into_response()
}

/// Refuses monitors, locations and channels that are not there.
async fn known(conn: &mut PgConnection, group: &Group, channels: &[Uuid]) -> ApiResult<()> {
    let wanted: Vec<Uuid> = group.members.iter().map(|member| member.monitor).collect();
    let monitors = store::triage_read::keys(conn, &wanted).await?;
    let locations = store::locations::names(conn).await?;
    for (i, member) in group.members.iter().enumerate() {
        if !monitors.iter().any(|(id, _)| *id == member.monitor) {
            let field = format!("members[{i}].monitor");
            return Err(ApiError::invalid(field, format!("{} is no monitor", member.monitor)));
        }
        for (j, id) in member.locations.iter().flatten().enumerate() {
            if !locations.iter().any(|(_, known, _)| known == id) {
                let field = format!("members[{i}].locations[{j}]");
                return Err(ApiError::invalid(field, format!("{id} is no location")));
            }
        }
    }
    let known = store::channels::list(conn).await?;
    for (i, id) in channels.iter().enumerate() {
        if !known.iter().any(|channel| channel.id == *id) {
            return Err(ApiError::invalid(format!("channels[{i}]"), format!("{id} is no channel")));
        }
    }
    Ok(())
}

async fn one(
    conn: &mut PgConnection,
    id: Uuid,
    state: &AppState,
    now: Timestamp,
) -> ApiResult<FailoverGroup> {
    let url = state.public_url(conn).await?;
    let row = find(conn, id, false).await?;
    let looked = look(conn, vec![row], now).await?.pop();
    Ok(shown(looked.ok_or(ApiError::NotFound("failover group"))?, &url, now))
}

fn shown(looked: Looked, url: &url::Url, now: Timestamp) -> FailoverGroup {
    let told = FailoverNow::of(&looked, now);
    let row = looked.row;
    let feed = url.join(&format!("failover/{}", row.name)).map(String::from).unwrap_or_default();
    FailoverGroup {
        id: row.id,
        name: row.name,
        rules: row.group,
        channels: row.channels,
        now: told,
        feed_url: feed,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    }
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
