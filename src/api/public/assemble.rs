//! A page as the public is told it, from what is stored. This is the one place where internal things meet public ones:
//! what goes into a [`View`] is public names, states, times, and what people wrote for the public.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp, ToSpan};
use sqlx::PgConnection;
use uuid::Uuid;

use super::figures::{self, Kept, Shown, Told};
use crate::{
    api::{
        AppState,
        error::{ApiError, ApiResult},
        status_pages::address,
    },
    domain::{
        Millis,
        ids::{FleetKey, MonitorKey},
        slo::window::{Bounds, first_instant, zone},
        status_page::{About, Part as StoredPart, parts},
    },
    publish::{
        calendar::AHEAD,
        status::{Group, Measure, Part, Planned, Post, Update, View},
        summary::State,
        wording::Zone,
    },
    store::{
        self,
        maintenance_ahead::{Asked, OccurrenceRow},
        status_pages::PageRow,
        status_posts::{Filter, PostRow},
    },
};

/// Resolved posts on one page of them.
pub const PER_PAGE: u32 = 20;

/// Planned occurrences that are told.
const MOST_PLANNED: usize = 1_000;

/// Open posts that are shown; nobody reads more.
const OPEN: i64 = 50;

/// A page as it was read, and whose it is.
#[derive(Debug)]
pub struct Snapshot {
    pub key: i32,
    pub view: View,
    /// SLOs by the name of their part in an address.
    pub slos: Vec<(String, Uuid)>,
}

/// Reads everything about a page. A fixed number of statements, however many parts it has, but for SLOs on results
/// and requests, whose figures are `kept` for a while.
pub async fn snapshot(
    state: &AppState,
    conn: &mut PgConnection,
    row: PageRow,
    kept: Kept,
    now: Timestamp,
) -> ApiResult<(Snapshot, Kept)> {
    let values = &row.values;
    let shown = Shown {
        bounds: bounds(&values.timezone, values.days, now)?,
        timezone: &values.timezone,
        now,
    };
    let (told, kept) = figures::read(conn, &values.groups, shown, kept).await?;
    let planned = planned(conn, &row, &told, now).await?;
    let open = Filter { page: row.key, open: Some(true), limit: OPEN, ..Filter::default() };
    let open = store::status_posts::list(conn, &open).await?;
    let earlier = resolved(conn, row.key, 1).await?;
    let count =
        u32::try_from(store::status_posts::resolved(conn, row.key).await?).unwrap_or(u32::MAX);
    let product = state.public_url(conn).await?;
    let url = address(values, &product);
    let stored = |part: &StoredPart| part_of(part, told.get(&part.about), &row);
    let groups = values.groups.iter().map(|group| Group {
        id: group.id.to_string(),
        name: group.name.clone(),
        parts: group.parts.iter().map(stored).collect(),
    });
    let slos = parts(&values.groups).filter_map(|part| match part.about {
        About::Slo(id) => Some((part.slug.clone(), id)),
        About::Monitor(_) => None,
    });
    let slos = slos.collect();
    let view = View {
        id: row.uid.to_string(),
        name: values.name.clone(),
        headline: values.headline.clone(),
        zone: Zone::named(&values.timezone),
        url: url.as_str().trim_end_matches('/').to_owned(),
        mount: String::new(),
        draft: !values.published,
        now: now.as_millisecond(),
        days: values.days,
        groups: groups.collect(),
        links: values.links.clone(),
        open: open.into_iter().map(post).collect(),
        earlier,
        earlier_pages: count.div_ceil(PER_PAGE),
        planned,
        created_at: row.created_at.as_millisecond(),
        updated_at: row.updated_at.as_millisecond(),
    };
    Ok((Snapshot { key: row.key, view, slos }, kept))
}

/// From the first instant of the earliest day that is shown to now.
fn bounds(timezone: &str, days: u16, now: Timestamp) -> ApiResult<Bounds> {
    let zone = zone(timezone)?;
    let today = now.to_zoned(zone.clone()).date();
    let first = today.saturating_sub((i64::from(days) - 1).days());
    let start = first_instant(first, &zone);
    let start = start.ok_or_else(|| ApiError::invalid("days", "lie beyond the calendar"))?;
    Ok(Bounds { start, end: now.as_millisecond() })
}

fn part_of(part: &StoredPart, told: Option<&Told>, row: &PageRow) -> Part {
    let since = told.and_then(|told| told.since).map(Timestamp::as_millisecond);
    let edited = row.updated_at.as_millisecond();
    Part {
        id: part.id.to_string(),
        name: part.name.clone(),
        slug: part.slug.clone(),
        description: part.description.clone(),
        state: told.map_or(State::Unknown, |told| told.state),
        since,
        last_known: told.map_or(State::Unknown, |told| told.last_known),
        figures: told.map(|told| told.figures.clone()),
        measure: told.map_or(Measure::Time, |told| told.measure),
        created_at: row.created_at.as_millisecond(),
        updated_at: since.unwrap_or(edited),
    }
}

/// Resolved posts, one page of them, counted from 1.
pub async fn resolved(conn: &mut PgConnection, page: i32, number: u32) -> ApiResult<Vec<Post>> {
    let offset = i64::from(number.saturating_sub(1)) * i64::from(PER_PAGE);
    let filter =
        Filter { page, open: Some(false), offset, limit: PER_PAGE.into(), ..Filter::default() };
    let rows = store::status_posts::list(conn, &filter).await?;
    Ok(rows.into_iter().map(post).collect())
}

/// One post, open or resolved.
pub async fn single(conn: &mut PgConnection, page: i32, id: Uuid) -> ApiResult<Option<Post>> {
    let filter = Filter { page, id: Some(id), limit: 1, ..Filter::default() };
    Ok(store::status_posts::list(conn, &filter).await?.pop().map(post))
}

/// What the public is told of a post: neither the incident nor who wrote.
fn post(row: PostRow) -> Post {
    let millis = Timestamp::as_millisecond;
    let updates = row.updates.into_iter().map(|update| Update {
        id: update.id.to_string(),
        status: update.status,
        text: update.text,
        at: millis(update.at),
    });
    Post {
        id: row.id.to_string(),
        title: row.title,
        impact: row.impact,
        status: row.status,
        started_at: millis(row.started_at),
        resolved_at: row.resolved_at.map(millis),
        created_at: millis(row.created_at),
        updated_at: millis(row.updated_at),
        parts: row.parts.iter().map(Uuid::to_string).collect(),
        updates: updates.collect(),
    }
}

/// Planned work on parts of the page. What has nothing to do with them is nobody's business here, nor is what is about
/// single locations: no visitor notices that.
async fn planned(
    conn: &mut PgConnection,
    row: &PageRow,
    told: &HashMap<About, Told>,
    now: Timestamp,
) -> ApiResult<Vec<Planned>> {
    let ahead = SignedDuration::from_millis(AHEAD);
    let asked = Asked {
        from: now,
        to: now.saturating_add(ahead).unwrap_or(Timestamp::MAX),
        monitors: None,
        fleet: None,
        entry: None,
        after: None,
        limit: MOST_PLANNED,
    };
    let mut occurrences = store::maintenance_ahead::list(conn, &asked).await?;
    occurrences.retain(|o| !o.correction && o.terms.scope.locations.is_none());
    let millis = |at: Timestamp| -> Millis { at.as_millisecond() };
    let all = occurrences.into_iter().filter_map(|occurrence| {
        let covered = parts(&row.values.groups)
            .filter(|part| told.get(&part.about).is_some_and(|told| covers(&occurrence, told)));
        let parts: Vec<String> = covered.map(|part| part.id.to_string()).collect();
        (!parts.is_empty()).then(|| Planned {
            id: occurrence.entry.to_string(),
            from: millis(occurrence.start_at),
            to: millis(occurrence.end_at),
            skipped: occurrence.skipped,
            revision: u32::try_from(occurrence.revision).unwrap_or(0),
            changed_at: millis(occurrence.changed_at),
            parts,
        })
    });
    Ok(all.collect())
}

/// Whether it is about anything behind a part.
fn covers(occurrence: &OccurrenceRow, told: &Told) -> bool {
    let fleets = &occurrence.terms.scope.fleets;
    let of_fleet = |key: FleetKey| match fleets {
        Some(fleets) => fleets.contains(&key.0),
        None => occurrence.covered.is_none(),
    };
    let of_monitor =
        |key: &MonitorKey| occurrence.covered.as_ref().is_none_or(|all| all.contains(&key.0));
    told.monitors.iter().any(of_monitor) || told.fleet.is_some_and(of_fleet)
}
