//! A fleet by instance: each beside its peers, and route classes by instance.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    fleet_health::{merged, millis, names, span},
    fleet_now::{FindingBrief, Standing},
    fleets::find,
    request::{At, Json, List, Path, Query},
};
use crate::{
    domain::{
        fleet::{
            cell::Cell,
            engine::interval99,
            share::{self, Beside},
        },
        sketch::Sketch,
    },
    intake::{
        names::InstanceNames,
        sums::{self, Sum},
    },
    store::{self, fleet_live::InstanceRow, fleet_states::TransitionRow, fleets::FleetRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_instances)).routes(routes!(list_routes))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// An hour before `to` unless given.
    pub from: Option<At>,
    /// Now unless given.
    pub to: Option<At>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetInstance {
    pub instance: String,
    /// What else logs and platforms call it.
    pub aliases: Vec<String>,
    pub zone: Option<String>,
    /// Named in the settings.
    pub configured: bool,
    /// With `in_rotation` traffic alone shows it, and nobody says whether it is ready.
    /// `unknown starting ready in_rotation unready draining maintenance gone`
    pub state: String,
    pub state_since: Option<At>,
    pub state_source: Option<String>,
    pub state_reason: Option<String>,
    pub version: Option<String>,
    pub attempts: u64,
    pub errors: u64,
    pub rescued: u64,
    /// Attempts of which nothing is known but that they were made.
    pub unknown: u64,
    /// Null without attempts.
    pub error_share: Option<f64>,
    /// Its own interval of 99 %.
    pub error_low: Option<f64>,
    pub error_high: Option<f64>,
    /// What the shares of its peers on the same routes would give, without those whom an open finding
    /// blames and those who are unlike the rest; null where the peers say too little.
    pub peers_share: Option<f64>,
    pub faults: InstanceFaults,
    pub p50_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    /// Of its peers, all routes together, without those that are blamed or much slower than the rest.
    pub peers_p90_ms: Option<f64>,
    /// Of all attempts of the span.
    pub share: Option<f64>,
    pub bytes: u64,
    pub probes_passed: u64,
    pub probes_failed: u64,
    /// Since it is known; counters that only rise.
    pub restarts_certain: i64,
    pub restarts_probable: i64,
    pub transitions: i64,
    /// Transitions of the span that nobody intended.
    pub span_transitions: usize,
    pub first_at: Option<At>,
    pub last_at: Option<At>,
    /// Open findings that name it.
    pub findings: Vec<FindingBrief>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct InstanceFaults {
    pub status: u64,
    pub connect: u64,
    pub timeout: u64,
    pub reset: u64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetRoute {
    /// The class of its path; `*` stands for what differs.
    pub route: String,
    pub attempts: u64,
    pub errors: u64,
    pub instances: Vec<RouteInstance>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RouteInstance {
    pub instance: String,
    pub attempts: u64,
    pub errors: u64,
    pub p90_ms: Option<f64>,
}

/// Instances beside their peers, the worst first.
#[utoipa::path(get, path = "/fleets/{id}/instances", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = List<FleetInstance>)))]
async fn list_instances(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<Span>,
) -> ApiResult<Json<List<FleetInstance>>> {
    let now = state.clock.now();
    let (from, to) = span(query.from, query.to, now)?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let standing = Standing::read(&mut conn, &fleet, now).await?;
    let known = store::fleet_live::instances(&mut conn, fleet.key).await?;
    let names = InstanceNames::of(&fleet.config, &known);
    let whole = whole(&mut conn, &fleet, from, to, &names).await?;
    let moved = store::fleet_states::transitions(&mut conn, fleet.key, from, to).await?;
    let flips = |name: &str| flips(moved.iter().filter(|m| m.instance == name));
    let mut rows: BTreeMap<String, InstanceRow> = known
        .into_iter()
        .filter(|row| names.resolve(&row.name) == row.name)
        .map(|row| (row.name.clone(), row))
        .collect();
    for name in whole.cells.keys() {
        rows.entry(name.clone()).or_insert_with(|| InstanceRow {
            name: name.clone(),
            state: "unknown".into(),
            ..InstanceRow::default()
        });
    }
    let peers = Peers::of(&whole, &standing);
    let mut shown: Vec<FleetInstance> = rows
        .into_values()
        .map(|row| {
            let flips = flips(&row.name);
            instance(row, &whole, &peers, flips, &standing)
        })
        .collect();
    shown.sort_by(|a, b| {
        let bad = |one: &FleetInstance| (one.findings.len(), one.errors);
        bad(b).cmp(&bad(a)).then_with(|| a.instance.cmp(&b.instance))
    });
    Ok(Json(List::whole(shown)))
}

/// Route classes by instance, the busiest first. Only of the last hours: quarter hours hold no routes.
#[utoipa::path(get, path = "/fleets/{id}/routes", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = List<FleetRoute>)))]
async fn list_routes(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<Span>,
) -> ApiResult<Json<List<FleetRoute>>> {
    let (from, to) = span(query.from, query.to, state.clock.now())?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let names = names(&mut conn, &fleet).await?;
    let cells = store::fleet_cells::cells(&mut conn, fleet.key, from, to).await?;
    let sums = sums::add_up(cells, Vec::new(), i64::MAX, &names);
    let whole = sums.into_values().next().unwrap_or_default();
    let mut routes: BTreeMap<String, FleetRoute> = BTreeMap::new();
    for (name, of) in &whole.cells {
        for (route, cell) in of {
            let shown = routes.entry(route.clone()).or_insert_with(|| FleetRoute {
                route: route.clone(),
                attempts: 0,
                errors: 0,
                instances: Vec::new(),
            });
            shown.attempts += cell.attempts;
            shown.errors += cell.errors();
            shown.instances.push(RouteInstance {
                instance: name.clone(),
                attempts: cell.attempts,
                errors: cell.errors(),
                p90_ms: millis(cell.latency.quantile(0.9)),
            });
        }
    }
    let mut routes: Vec<FleetRoute> = routes.into_values().collect();
    routes.sort_by_key(|route| std::cmp::Reverse(route.attempts));
    Ok(Json(List::whole(routes)))
}

/// Turns that nobody intended. That nothing is known for a while is none, nor what is known first after it.
fn flips<'a>(of_one: impl Iterator<Item = &'a TransitionRow>) -> usize {
    let mut lost = false;
    let mut count = 0;
    for row in of_one {
        let was_lost = std::mem::replace(&mut lost, row.state == "unknown");
        count += usize::from(!row.planned && !lost && !was_lost);
    }
    count
}

/// Everything of [from, to) as one sum.
async fn whole(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    from: Timestamp,
    to: Timestamp,
    names: &InstanceNames,
) -> ApiResult<Sum> {
    let sums = sums::read(conn, fleet.key, from, to, i64::MAX, names).await?;
    Ok(sums.into_values().next().unwrap_or_default())
}

/// What every instance is set beside.
struct Peers<'a> {
    beside: Beside<'a>,
    latencies: BTreeMap<&'a str, Sketch>,
    blamed: BTreeSet<&'a str>,
    /// Attempts of all.
    all: u64,
}

impl<'a> Peers<'a> {
    fn of(whole: &'a Sum, standing: &'a Standing) -> Self {
        let findings = standing.findings.iter().map(|row| &row.finding);
        let comparing = findings.filter(|finding| finding.kind.compares());
        let blamed: BTreeSet<&str> =
            comparing.flat_map(|finding| finding.instances.iter().map(String::as_str)).collect();
        let latency = |of: &BTreeMap<String, Cell>| merged(of.values()).latency;
        Self {
            beside: Beside::of_cells(&whole.cells, |name| blamed.contains(name)),
            latencies: whole.cells.iter().map(|(n, of)| (n.as_str(), latency(of))).collect(),
            blamed,
            all: whole.cells.values().flat_map(BTreeMap::values).map(|c| c.attempts).sum(),
        }
    }

    fn p90(&self, name: &str) -> Option<u32> {
        share::p90_of_peers(name, &self.latencies, |other| self.blamed.contains(other))
    }
}

fn instance(
    row: InstanceRow,
    whole: &Sum,
    peers: &Peers<'_>,
    flips: usize,
    standing: &Standing,
) -> FleetInstance {
    let own = merged(whole.cells.get(&row.name).into_iter().flat_map(BTreeMap::values));
    let interval = (own.attempts > 0).then(|| interval99(own.errors(), own.attempts));
    let named = |w: &&store::fleet_findings::FindingRow| w.finding.instances.contains(&row.name);
    let of = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    FleetInstance {
        peers_share: peers.beside.expected(&row.name),
        peers_p90_ms: millis(peers.p90(&row.name)),
        findings: standing.findings.iter().filter(named).map(FindingBrief::from).collect(),
        instance: row.name,
        aliases: row.aliases,
        zone: row.zone,
        configured: row.configured,
        state: row.state,
        state_since: row.state_at.map(At),
        state_source: row.state_source,
        state_reason: row.state_reason,
        version: row.version,
        attempts: own.attempts,
        errors: own.errors(),
        rescued: own.rescued,
        unknown: own.unknown,
        error_share: of(own.errors(), own.attempts),
        error_low: interval.map(|(low, _)| low),
        error_high: interval.map(|(_, high)| high),
        faults: InstanceFaults {
            status: own.faults.status,
            connect: own.faults.connect,
            timeout: own.faults.timeout,
            reset: own.faults.reset,
        },
        p50_ms: millis(own.latency.quantile(0.5)),
        p90_ms: millis(own.latency.quantile(0.9)),
        share: of(own.attempts, peers.all),
        bytes: own.bytes,
        probes_passed: own.probes_passed,
        probes_failed: own.probes_failed,
        restarts_certain: row.restarts_certain,
        restarts_probable: row.restarts_probable,
        transitions: row.transitions,
        span_transitions: flips,
        first_at: row.first_at.map(At),
        last_at: row.last_at.map(At),
    }
}
