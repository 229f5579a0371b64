//! SLOs as they are answered.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{error::ApiResult, request::At, slo_form};
use crate::{
    domain::{
        fields::text_map,
        slo::{
            definition::{
                Definition, Denominator, MaintenancePolicy, Rule, RuleSeverity, Sli, UnknownPolicy,
                Weight,
            },
            document::Objective,
            ratio::target_percent,
            report::{Alert, BurnOf, Warning},
            window::Window,
        },
    },
    store::{
        self,
        slo_evaluations::EvaluationRow,
        slo_inputs::objective,
        slos::{SloRow, Watched},
    },
};

/// An SLO, with how it stood at its last evaluation.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Slo {
    pub id: Uuid,
    pub name: String,
    pub service: String,
    pub description: String,
    pub owner: String,
    pub labels: BTreeMap<String, String>,
    /// `monitor fleet composite`
    pub subject: &'static str,
    /// Of a fleet: who speaks for its quiet minutes. Null for one that was deleted.
    pub monitor: Option<SloWatched>,
    pub fleet: Option<SloWatched>,
    /// `any_down all_down`
    pub composite: Option<&'static str>,
    pub members: Vec<SloWatched>,
    /// `availability probe_ratio latency requests`
    pub sli: &'static str,
    pub target_ppb: u64,
    /// In percent, without needless zeros.
    pub target_pct: String,
    pub window: SloWindow,
    pub unknown_policy: UnknownPolicy,
    pub maintenance_policy: MaintenancePolicy,
    pub partial_weight_ppm: u32,
    pub coverage_min: f64,
    /// Only for `probe_ratio`: `pooled location_mean`.
    pub weight: Option<&'static str>,
    /// Only for `latency`.
    pub threshold_us: Option<u32>,
    /// Only for `latency`: `ok_only all`.
    pub denominator: Option<&'static str>,
    /// Only for `requests`: minutes with fewer count by the monitor; null: they count like all others.
    pub min_requests: Option<u32>,
    pub rules: Vec<SloRule>,
    /// None were written: these are the usual ones for the window.
    pub usual_rules: bool,
    pub decimals: u32,
    /// Null: the default channels.
    pub channels: Option<Vec<Uuid>>,
    /// Null before the first evaluation, which follows within seconds of saving.
    pub now: Option<SloNow>,
    pub warnings: Vec<Warning>,
    /// Rises when what is measured changes.
    pub definition_revision: i32,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct SloWatched {
    pub id: Uuid,
    pub name: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloWindow {
    /// `rolling calendar fixed`
    pub kind: &'static str,
    /// `30d`, `1M`; null when fixed.
    pub duration: Option<String>,
    pub timezone: String,
    /// Only when fixed, or a calendar's period that was named by its bounds.
    pub from: Option<At>,
    pub to: Option<At>,
    /// From where a calendar's periods are counted: a date.
    pub anchor: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloRule {
    pub name: String,
    pub severity: RuleSeverity,
    pub long_s: f64,
    pub short_s: f64,
    /// Share of the budget that is used up within `long_s` when it fires.
    pub budget_fraction: f64,
    pub min_bad: u64,
    /// How many times faster than evenly the budget then burns.
    pub factor: Option<f64>,
    /// It looks back further than the window, or its factor is never reached.
    pub cannot_fire: bool,
}

/// The last evaluation of the present window, at most half a minute old.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloNow {
    /// `ok at_risk burning exhausted breached no_data`
    pub state: String,
    pub ratio: Option<f64>,
    /// Cut off, never rounded up.
    pub pct: Option<String>,
    pub met: Option<bool>,
    pub coverage: Option<f64>,
    /// Milliseconds, or events: see `unit`.
    pub budget_total: Option<f64>,
    pub budget_left: Option<i64>,
    /// `ms events`
    pub unit: &'static str,
    pub consumed_ratio: Option<f64>,
    pub remaining_ratio: Option<f64>,
    #[schema(value_type = Vec<BurnOf>)]
    pub burn: serde_json::Value,
    #[schema(value_type = Vec<Alert>)]
    pub alerts: serde_json::Value,
    pub window_start: At,
    pub window_end: At,
    /// Nothing after it enters any figure.
    pub watermark: At,
    pub evaluated_at: At,
}

/// SLOs with everything that is told of them, in the order of `rows`.
pub async fn shown(
    conn: &mut PgConnection,
    rows: Vec<SloRow>,
    now: Timestamp,
) -> ApiResult<Vec<Slo>> {
    let keys: Vec<i32> = rows.iter().map(|row| row.key.0).collect();
    let mut evaluations: BTreeMap<i32, EvaluationRow> = BTreeMap::new();
    for row in store::slo_evaluations::of(conn, &keys).await? {
        evaluations.insert(row.slo.0, row);
    }
    let subjects = rows.iter().flat_map(|row| row.values.subject.monitors());
    let monitors: Vec<i32> = subjects.map(|key| key.0).collect();
    let monitors = store::slos::monitors(conn, &monitors).await?;
    let fleets: Vec<i32> =
        rows.iter().filter_map(|row| row.values.subject.fleet()).map(|key| key.0).collect();
    let fleets = store::slos::fleets(conn, &fleets).await?;
    let names = Names { monitors: by_key(monitors), fleets: by_key(fleets) };
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let objective = objective(&row, now)?;
        let evaluation = evaluations.remove(&row.key.0);
        all.push(one(row, objective, evaluation, &names));
    }
    Ok(all)
}

/// The same for one, with what is strange about it.
pub async fn shown_one(conn: &mut PgConnection, row: SloRow, now: Timestamp) -> ApiResult<Slo> {
    let definition = objective(&row, now)?.definition;
    let warnings = slo_form::warnings(conn, &row.values.subject, &definition).await?;
    let slo = shown(conn, vec![row], now).await?.pop();
    slo.map(|slo| Slo { warnings, ..slo }).ok_or(super::error::ApiError::NotFound("SLO"))
}

struct Names {
    monitors: BTreeMap<i32, SloWatched>,
    fleets: BTreeMap<i32, SloWatched>,
}

fn by_key(list: Vec<Watched>) -> BTreeMap<i32, SloWatched> {
    list.into_iter().map(|w| (w.key, SloWatched { id: w.uid, name: w.name })).collect()
}

fn one(row: SloRow, objective: Objective, evaluation: Option<EvaluationRow>, names: &Names) -> Slo {
    let Objective { definition, composite, usual_rules } = objective;
    let values = row.values;
    let own = values.subject.monitors();
    let named = own.iter().filter_map(|key| names.monitors.get(&key.0)).cloned();
    let (monitor, members) = match values.subject.kind() {
        "composite" => (None, named.collect()),
        _ => (own.first().and_then(|key| names.monitors.get(&key.0)).cloned(), Vec::new()),
    };
    let is_time = definition.sli.is_time();
    let window = definition.window.nominal();
    Slo {
        id: row.uid,
        name: values.name,
        service: values.service,
        description: values.description,
        owner: values.owner,
        labels: text_map(&values.labels),
        subject: values.subject.kind(),
        monitor,
        fleet: values.subject.fleet().and_then(|key| names.fleets.get(&key.0)).cloned(),
        composite: (values.subject.kind() == "composite")
            .then(|| composite.map_or("any_down", |rule| rule.name())),
        members,
        sli: definition.sli.name(),
        target_ppb: definition.target.ppb(),
        target_pct: target_percent(definition.target.ppb()),
        window: window_of(&definition),
        unknown_policy: definition.unknown_policy,
        maintenance_policy: definition.maintenance_policy,
        partial_weight_ppm: definition.partial_weight_ppm,
        coverage_min: definition.coverage_min.ratio().to_f64().unwrap_or(0.0),
        weight: match definition.sli {
            Sli::ProbeRatio { weight: Weight::LocationMean } => Some("location_mean"),
            Sli::ProbeRatio { .. } => Some("pooled"),
            _ => None,
        },
        threshold_us: match definition.sli {
            Sli::Latency { threshold_us, .. } => Some(threshold_us),
            Sli::Requests { within_us, .. } => within_us,
            _ => None,
        },
        denominator: match definition.sli {
            Sli::Latency { denominator: Denominator::OkOnly, .. } => Some("ok_only"),
            Sli::Latency { denominator: Denominator::All, .. } => Some("all"),
            _ => None,
        },
        min_requests: match definition.sli {
            Sli::Requests { fallback, .. } => fallback,
            _ => None,
        },
        rules: definition.rules.iter().map(|rule| rule_of(rule, &definition, window)).collect(),
        usual_rules,
        decimals: definition.decimals,
        channels: values.channels,
        now: evaluation.map(|row| now_of(row, is_time)),
        warnings: Vec::new(),
        definition_revision: row.definition_revision,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    }
}

fn window_of(definition: &Definition) -> SloWindow {
    let at = |millis| Timestamp::from_millisecond(millis).ok().map(At);
    let (from, to, anchor) = match &definition.window {
        Window::Fixed { from, to } => (at(*from), at(*to), None),
        Window::Period { bounds, .. } => (at(bounds.start), at(bounds.end), None),
        Window::Calendar { anchor, .. } => (None, None, anchor.map(|date| date.to_string())),
        Window::Rolling { .. } => (None, None, None),
    };
    SloWindow {
        kind: definition.window.kind(),
        duration: definition.window.duration(),
        timezone: definition.timezone.clone(),
        from,
        to,
        anchor,
    }
}

pub fn rule_of(rule: &Rule, definition: &Definition, window: i64) -> SloRule {
    SloRule {
        name: rule.name.clone(),
        severity: rule.severity,
        long_s: rule.long as f64 / 1_000.0,
        short_s: rule.short as f64 / 1_000.0,
        budget_fraction: rule.fraction.ratio().to_f64().unwrap_or(0.0),
        min_bad: rule.min_bad,
        factor: rule.factor(window).to_f64(),
        cannot_fire: rule.exceeds(window) || !rule.can_fire(definition.target, window),
    }
}

fn now_of(row: EvaluationRow, is_time: bool) -> SloNow {
    SloNow {
        state: row.state,
        ratio: row.ratio,
        pct: row.pct,
        met: row.met,
        coverage: row.coverage,
        budget_total: row.budget_total,
        budget_left: row.budget_left,
        unit: if is_time { "ms" } else { "events" },
        consumed_ratio: row.consumed_ratio,
        remaining_ratio: row.remaining_ratio,
        burn: row.burn,
        alerts: row.alerts,
        window_start: At(row.window_start),
        window_end: At(row.window_end),
        watermark: At(row.watermark),
        evaluated_at: At(row.evaluated_at),
    }
}
