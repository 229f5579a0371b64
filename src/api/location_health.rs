//! Whom not to believe, and why: what speaks against each location, what is withheld of it, and what people
//! say of it by hand.

use std::collections::BTreeMap;

use axum::extract::State;
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
    locations::{self, Location},
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    view::instant,
};
use crate::{
    domain::{
        ids::LocationKey,
        location::{
            health::{CLEAN_ROUNDS, Health, LONGEST_TRUST, REACH, REVIEW, Trust},
            selfcheck::{Reference, SelfCheck},
        },
    },
    store::{
        self,
        location_health::HealthRow,
        location_read::{DissentRow, TrustRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(trust_location, stop_trusting_location))
        .routes(routes!(list_quarantines))
}

/// Why a location is in doubt, and until when.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LocationDoubt {
    pub since: At,
    /// What was found against it, when that was last so, in plain phrases.
    pub reasons: Vec<String>,
    /// When something was last found against it.
    pub last_found_at: At,
    /// Rounds of half a minute in a row without, and how many are needed.
    pub clean_rounds: u32,
    pub needed_rounds: u32,
    /// How long it must have been clean; twice as long each time within a day.
    pub hold_s: i64,
    /// The earliest end, if nothing more is found.
    pub release_at: At,
    /// Since when its votes have not counted. Null while it is in doubt and counted all the same: there are
    /// more than may be set aside, or somebody said that it is to be believed.
    pub quarantined_since: Option<At>,
    /// Its results from here on are left out of its own figures.
    pub withheld_from: Option<At>,
}

/// What one agent found at the targets that its operator knows to be always up.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AgentReferences {
    pub agent: Uuid,
    /// Rounds in a row in which most failed; two are against the location.
    pub bad_rounds: u64,
    pub targets: Vec<Reference>,
}

/// A monitor on which a location is against the rest.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LocationDissent {
    pub monitor: Uuid,
    pub name: String,
    pub since: At,
}

/// Somebody's word about a location.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LocationTrust {
    pub kind: Trust,
    pub reason: String,
    pub set_by: String,
    pub set_at: At,
    pub until: At,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustLocation {
    pub kind: Trust,
    /// 1 to 500 characters: others will read it.
    pub reason: String,
    /// At most 24 hours ahead.
    pub until: At,
}

/// A stretch in which a location's votes did not count.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Quarantine {
    pub since: At,
    /// Its results from here on are left out of its own figures.
    pub withheld_from: At,
    pub until: Option<At>,
    pub reason: String,
    /// Why it ended: `clean`, `over_cap`, `believed` or `disabled`.
    pub released: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListQuarantines {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Believes a location whatever is found, or does not, until an instant at most 24 hours ahead. It takes the
/// place of what was said before.
#[utoipa::path(post, path = "/locations/{id}/trust", tag = "locations", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = TrustLocation, responses((status = 200, body = Location)))]
async fn trust_location(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Json(body): Json<TrustLocation>,
) -> ApiResult<Json<Location>> {
    let now = state.clock.now();
    let until = body.until.0;
    if until <= now {
        return Err(ApiError::invalid("until", "lies in the past"));
    }
    if until.duration_since(now) > SignedDuration::from_millis(LONGEST_TRUST) {
        return Err(ApiError::invalid("until", "is more than 24 hours ahead"));
    }
    let reason = body.reason.trim();
    if reason.is_empty() || reason.chars().count() > 500 {
        return Err(ApiError::invalid(
            "reason",
            "must be 1 to 500 characters: others will read it",
        ));
    }
    let mut tx = state.pool.begin().await?;
    // One word at a time for all locations, so that two do not end the same one.
    store::locations::lock_set(&mut tx).await?;
    let location = locations::key(&mut tx, id).await?;
    store::location_read::end_trust(&mut tx, location, &caller.name, now).await?;
    let row = TrustRow {
        id: store::id_at(now),
        location,
        kind: body.kind,
        reason: reason.to_owned(),
        set_by: caller.name.clone(),
        from_at: now,
        until_at: until,
    };
    store::location_read::say_trust(&mut tx, &row).await?;
    let detail = json!({ "kind": row.kind, "reason": row.reason, "until": body.until });
    let subject = format!("location:{id}");
    store::audit::add(&mut tx, now, &caller.name, "location.trust", &subject, &detail).await?;
    let location = locations::one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(location))
}

/// Takes somebody's word about a location back: what is found decides again.
#[utoipa::path(delete, path = "/locations/{id}/trust", tag = "locations", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Location)))]
async fn stop_trusting_location(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Location>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set(&mut tx).await?;
    let key = locations::key(&mut tx, id).await?;
    if store::location_read::end_trust(&mut tx, key, &caller.name, now).await? {
        let subject = format!("location:{id}");
        store::audit::add(&mut tx, now, &caller.name, "location.untrust", &subject, &json!({}))
            .await?;
    }
    let location = locations::one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(location))
}

/// When a location's votes did not count, the latest first.
#[utoipa::path(get, path = "/locations/{id}/quarantines", tag = "locations", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListQuarantines), responses((status = 200, body = List<Quarantine>)))]
async fn list_quarantines(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListQuarantines>,
) -> ApiResult<Json<List<Quarantine>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<Timestamp> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let key = locations::key(&mut conn, id).await?;
    let rows = store::location_read::quarantines(&mut conn, key, before, limit + 1).await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| row.since_at,
        |row| Quarantine {
            since: At(row.since_at),
            withheld_from: At(row.from_at),
            until: row.to_at.map(At),
            reason: row.reason,
            released: row.released,
        },
    )))
}

/// What is known of all locations' health, read once.
#[derive(Debug)]
pub struct Healths {
    rows: BTreeMap<LocationKey, HealthRow>,
    trusts: Vec<TrustRow>,
    dissents: Vec<DissentRow>,
    counts: BTreeMap<LocationKey, i64>,
    divergences: Vec<DissentRow>,
    references: Vec<(LocationKey, AgentReferences)>,
    read_at: Timestamp,
}

/// What a location shows of it.
#[derive(Debug)]
pub struct Shown {
    pub trust: Option<LocationTrust>,
    pub doubt: Option<LocationDoubt>,
    pub references: Vec<AgentReferences>,
    pub dissents: Vec<LocationDissent>,
    pub dissent_count: i64,
    pub divergent: Vec<LocationDissent>,
    pub review_since: Option<At>,
}

impl Healths {
    pub async fn read(conn: &mut PgConnection, now: Timestamp) -> ApiResult<Self> {
        let offline = now.saturating_sub(locations::OFFLINE).unwrap_or_default();
        let rows = store::location_health::rows(conn, now).await?;
        let checks = store::location_read::selfchecks(conn, offline).await?;
        let references = checks.into_iter().filter_map(|row| {
            let SelfCheck { bad_rounds, targets, .. } = SelfCheck::read(&row.selfcheck)?;
            Some((row.location, AgentReferences { agent: row.agent, bad_rounds, targets }))
        });
        Ok(Self {
            rows: rows.into_iter().map(|row| (row.location, row)).collect(),
            references: references.collect(),
            trusts: store::location_read::trusts(conn, now).await?,
            dissents: store::location_read::dissents(conn).await?,
            counts: store::location_health::dissents(conn).await?.into_iter().collect(),
            divergences: store::location_read::divergences(conn).await?,
            read_at: now,
        })
    }

    /// Takes out what concerns one location.
    pub fn take(&mut self, location: LocationKey) -> Shown {
        let row = self.rows.remove(&location);
        let of = |rows: &[DissentRow]| -> Vec<LocationDissent> {
            let own = rows.iter().filter(|row| row.location == location);
            own.map(|row| LocationDissent {
                monitor: row.monitor,
                name: row.name.clone(),
                since: At(row.since_at),
            })
            .collect()
        };
        let trust = self.trusts.iter().find(|row| row.location == location);
        let recent = |at: &Timestamp| self.read_at.duration_since(*at) < REVIEW;
        let review = row.as_ref().and_then(|row| row.review_at).filter(recent);
        Shown {
            review_since: review.map(At),
            doubt: row.as_ref().and_then(|row| doubt(&row.health, &row.evidence)),
            trust: trust.map(|row| LocationTrust {
                kind: row.kind,
                reason: row.reason.clone(),
                set_by: row.set_by.clone(),
                set_at: At(row.from_at),
                until: At(row.until_at),
            }),
            references: self
                .references
                .extract_if(.., |(key, _)| *key == location)
                .map(|(_, references)| references)
                .collect(),
            dissents: of(&self.dissents),
            dissent_count: self.counts.get(&location).copied().unwrap_or(0),
            divergent: of(&self.divergences),
        }
    }
}

fn doubt(health: &Health, evidence: &serde_json::Value) -> Option<LocationDoubt> {
    let doubt = health.doubt?;
    let at = |millis| At(instant(millis));
    let reasons = crate::triage::health::reasons(evidence);
    Some(LocationDoubt {
        since: at(doubt.since),
        reasons: reasons.into_iter().map(|reason| reason.words()).collect(),
        last_found_at: at(doubt.bad_at),
        clean_rounds: doubt.clean,
        needed_rounds: CLEAN_ROUNDS,
        hold_s: doubt.hold / 1_000,
        release_at: at(doubt.release_at()),
        quarantined_since: health.quarantined_since.map(at),
        withheld_from: health.quarantined_since.map(|since| at(since - REACH)),
    })
}
