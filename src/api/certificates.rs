//! Certificates: all that are shown now, and what a monitor's locations were shown.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    incidents::MonitorRef,
    monitor_state::key,
    monitors::LocationRef,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    view::Surroundings,
};
use crate::{
    domain::{
        certificate::{days_left, issuer},
        check::Check,
        observation::Certificate,
    },
    store::{
        self,
        certificates_read::{Filter, ShownRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_certificates))
        .routes(routes!(count_certificates))
        .routes(routes!(monitor_certificates))
}

/// A certificate that a monitor is shown now.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ShownCertificate {
    pub monitor: MonitorRef,
    /// SHA-256 of the leaf, lower-case hex.
    pub fingerprint: String,
    pub subject: String,
    pub names: Vec<String>,
    /// Its organisation, or its common name.
    pub issuer: String,
    /// All of its name.
    pub issuer_name: String,
    pub not_before: At,
    /// Earliest end of the path that was used.
    pub not_after: At,
    /// Now, floored toward "sooner"; negative once it has ended.
    pub days_left: i32,
    /// Everywhere where it is shown.
    pub valid: bool,
    /// Why it is not valid, a sentence.
    pub problem: Option<String>,
    /// Since when it is shown at the first of these places.
    pub since: At,
    pub last_seen_at: At,
    pub seen_by: Vec<SeenBy>,
    /// Locations that are shown a certificate of the monitor, this or another.
    pub locations: i64,
    /// Different certificates that the monitor is shown; above 1 it differs by location or address.
    pub certificates: i64,
    /// Days that were left of the monitor's certificate when it was renewed last; null before that was seen.
    pub renewed_days_left: Option<i32>,
    /// The open incident about it.
    pub incident: Option<Uuid>,
}

/// Where a certificate is shown.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SeenBy {
    pub location: LocationRef,
    /// Null where it is not known.
    pub address: Option<String>,
    pub since: At,
    pub last_seen_at: At,
}

/// How many certificates are shown now, and how many of them stand out.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CertificateCounts {
    /// One for each certificate of each monitor.
    pub certificates: i64,
    pub monitors: i64,
    pub expired: i64,
    /// Seven days or less are left, and it has not ended.
    pub within_7: i64,
    /// Thirty days or less are left, and it has not ended.
    pub within_30: i64,
    pub invalid: i64,
    /// Monitors that are shown several.
    pub differing: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListCertificates {
    /// Part of a monitor's name or target, of a certificate's names, or of its issuer.
    pub q: Option<String>,
    /// Id or name.
    pub monitor: Option<String>,
    /// Only those with so many days left or less; what has ended is among them. 0 to 36,500.
    pub within: Option<u32>,
    /// True: only those that are not valid.
    #[serde(default)]
    pub invalid: bool,
    /// True: only those of monitors that are shown several.
    #[serde(default)]
    pub differing: bool,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// The certificate that one location was shown last.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SeenCertificate {
    pub location: LocationRef,
    /// When this location saw it first. `certificate.days_left` is of that time.
    pub seen_at: At,
    pub certificate: Certificate,
}

/// Certificates that monitors are shown now, those that end first before the others; paused monitors are left
/// out.
#[utoipa::path(get, path = "/certificates", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    params(ListCertificates), responses((status = 200, body = List<ShownCertificate>)))]
async fn list_certificates(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListCertificates>,
) -> ApiResult<Json<List<ShownCertificate>>> {
    let limit = page_limit(query.limit)?;
    let now = state.clock.now();
    let before = match query.within {
        Some(days) if days > 36_500 => {
            let why = format!("{days} is out of range: 0 to 36500 days");
            return Err(ApiError::invalid("within", why));
        }
        days => days.map(|days| first_beyond(now, days)),
    };
    let mut conn = state.pool.acquire().await?;
    let monitor = match &query.monitor {
        None => None,
        Some(word) => {
            let found = store::monitors::named(&mut conn, std::slice::from_ref(word)).await?;
            let missing = || ApiError::given("monitor", word, "is no monitor");
            Some(found.first().ok_or_else(missing)?.0)
        }
    };
    let after: Option<(Timestamp, i32, String)> = read_cursor(query.cursor.as_deref())?;
    let filter = Filter {
        q: query.q.map(|q| q.trim().to_owned()).filter(|q| !q.is_empty()),
        monitor,
        before,
        invalid: query.invalid,
        differing: query.differing,
        after: after.map(|(at, key, text)| (at.max(Timestamp::UNIX_EPOCH), key, text)),
        limit: limit + 1,
    };
    let around = Surroundings::read(&mut conn, now).await?;
    let rows = store::certificates_read::list(&mut conn, &filter).await?;
    let page = List::page(
        rows,
        limit,
        |row| (row.not_after, row.monitor.0, row.fingerprint.clone()),
        |row| ShownCertificate::of(row, &around, now),
    );
    let items = page.items.into_iter().collect::<ApiResult<Vec<_>>>()?;
    Ok(Json(List { items, next: page.next }))
}

/// How many certificates are shown now, and how many of them end soon, have ended, are not valid or differ.
#[utoipa::path(get, path = "/certificates/counts", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = CertificateCounts)))]
async fn count_certificates(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<CertificateCounts>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let (sooner, later) = (first_beyond(now, 7), first_beyond(now, 30));
    let counts = store::certificates_read::counts(&mut conn, now, sooner, later).await?;
    Ok(Json(CertificateCounts {
        certificates: counts.certificates,
        monitors: counts.monitors,
        expired: counts.expired,
        within_7: counts.within_7,
        within_30: counts.within_30,
        invalid: counts.invalid,
        differing: counts.differing,
    }))
}

/// Whatever ends before this has no more than `days` left.
fn first_beyond(now: Timestamp, days: u32) -> Timestamp {
    let span = SignedDuration::from_hours(24 * (i64::from(days) + 1));
    now.saturating_add(span).unwrap_or(Timestamp::MAX)
}

impl ShownCertificate {
    fn of(row: ShownRow, around: &Surroundings, now: Timestamp) -> ApiResult<Self> {
        let facts: Certificate = serde_json::from_value(row.facts).map_err(anyhow::Error::from)?;
        let target = Check::parse(row.check_spec).map(|check| check.target()).unwrap_or_default();
        let seen_by = row.sights.into_iter().filter_map(|sight| {
            Some(SeenBy {
                location: around.reference(sight.location)?,
                address: Some(sight.address).filter(|address| !address.is_empty()),
                since: At(sight.since),
                last_seen_at: At(sight.last),
            })
        });
        Ok(Self {
            monitor: MonitorRef {
                id: row.uid,
                name: row.name,
                group: row.group,
                target,
                runbook_url: row.runbook_url,
            },
            fingerprint: row.fingerprint,
            subject: facts.subject,
            names: facts.names,
            issuer: issuer::name(&facts.issuer),
            issuer_name: facts.issuer,
            not_before: At(facts.not_before),
            not_after: At(row.not_after),
            days_left: days_left(row.not_after, now),
            valid: row.valid,
            problem: row.problem,
            since: At(row.since),
            last_seen_at: At(row.last),
            seen_by: seen_by.collect(),
            locations: row.locations,
            certificates: row.certificates,
            renewed_days_left: row.renewed_days,
            incident: row.incident,
        })
    }
}

/// One per location that has seen one, also when the certificate is not valid.
#[utoipa::path(get, path = "/monitors/{id}/certificates", tag = "monitors",
    extensions(("x-role" = json!("viewer"))), params(("id" = Uuid, Path)),
    responses((status = 200, body = List<SeenCertificate>)))]
async fn monitor_certificates(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<SeenCertificate>>> {
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let around = Surroundings::read(&mut conn, state.clock.now()).await?;
    let mut items = Vec::new();
    for row in store::certificates_read::of_monitor(&mut conn, key).await? {
        let Some(location) = around.reference(row.location) else { continue };
        let certificate = serde_json::from_value(row.facts).map_err(anyhow::Error::from)?;
        items.push(SeenCertificate { location, seen_at: At(row.since), certificate });
    }
    Ok(Json(List { items, next: None }))
}
