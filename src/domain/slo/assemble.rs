//! Fills in the report.

use super::breakdown::{days, locations, members};
use super::budget::{self, Budget};
use super::burn::{self, Standing};
use super::definition::{Definition, Rule, RuleSeverity, Sli};
use super::evaluate::{Burns, Engine, Inputs, Truth, View, judge, outages, uptime};
use super::evidence::Counts;
use super::measure::Measured;
use super::natural::Natural;
use super::outage;
use super::ratio::{Ratio, target_percent};
use super::report::{
    Alert, Availability, BudgetOf, BurnOf, Coverage, Events, Incidents, Maintenance, OutageOf,
    Outages, QuorumOf, Report, RequestShares, Slo, TimeMs, WindowKind, WindowOf, stamp,
};
use super::slot::Policy;
use super::timeline::Totals;
use super::window;
use super::{latency, maintenance, warning};

/// The report on one window.
pub(super) fn report(
    definition: &Definition,
    inputs: &Inputs,
    view: &View,
    engine: &Engine,
) -> Report {
    let (start, end) = (view.bounds.start, view.end);
    let totals = view.figures.totals(start, end);
    let measured = engine.measure(start, end);
    let burns = Burns::of(definition, engine, inputs.watermark);
    let alerts = alerts(definition, inputs, &burns);
    let paging = alerts.iter().any(|alert| alert.firing && alert.severity == RuleSeverity::Page);
    let (budget, state) = judge(definition, view, engine, &measured, &totals, &burns, paging);
    let counts = engine.evidence.counts(start, end);
    let batches = engine.evidence.within(start, end);
    let found = outages(inputs, view);
    let (members, members_mean) = members(inputs, view, engine);
    Report {
        slo: slo(definition, inputs),
        window: window_of(definition, inputs, view),
        time_ms: time_ms(&totals, view),
        availability: availability(definition, inputs, view, &measured),
        coverage: coverage(definition, &measured, &totals),
        events: events(engine, &counts, view),
        requests: engine.requests.as_ref().map(|requests| {
            let (by_requests_ms, by_monitor_ms) = requests.shares(start, end);
            RequestShares { by_requests_ms, by_monitor_ms }
        }),
        budget: budget_of(definition, inputs, view, &measured, &budget),
        state,
        burn: burns
            .iter()
            .map(|burn| BurnOf {
                lookback: burn::label(burn.lookback),
                rate: burn.rate(definition.target).and_then(|rate| rate.to_f64()),
                coverage: burn.measured.coverage().and_then(|coverage| coverage.to_f64()),
            })
            .collect(),
        alerts,
        outages: Outages {
            figures: outage::figures(
                &found,
                &inputs.incidents,
                uptime(engine, &totals),
                start,
                end,
            ),
            list: found.iter().map(outage_of).collect(),
        },
        incidents: Incidents {
            count: outage::incidents_with_downtime(
                &inputs.incidents,
                &found,
                &view.figures,
                start,
                end,
            ),
        },
        latency_ms: latency::of(batches.iter().copied()),
        locations: locations(definition, inputs, view, engine),
        maintenance: maintenance_of(inputs, view),
        days: days(definition, view, engine, &found),
        members,
        members_mean,
        warnings: warning::of(definition),
        data_revision: inputs.identity.data_revision,
        report_revision: inputs.identity.report_revision,
        engine_version: inputs.identity.engine_version.clone(),
        sha256: String::new(),
    }
    .sealed()
}

fn slo(definition: &Definition, inputs: &Inputs) -> Slo {
    let identity = &inputs.identity;
    let quorum = match &inputs.truth {
        Truth::Slots(grid) => Some(QuorumOf {
            policy: grid.quorum.policy.name().to_owned(),
            k: match grid.quorum.policy {
                Policy::AtLeast(k) => Some(k),
                _ => None,
            },
            min_valid: grid.quorum.min_valid(grid.locations),
            confirm: grid.quorum.confirm(grid.locations),
        }),
        _ => None,
    };
    Slo {
        id: identity.id.clone(),
        name: identity.name.clone(),
        service: identity.service.clone(),
        sli: definition.sli.name().to_owned(),
        within_us: match definition.sli {
            Sli::Requests { within_us, .. } => within_us,
            _ => None,
        },
        target_ppb: definition.target.ppb(),
        target_pct: target_percent(definition.target.ppb()),
        window: WindowKind {
            kind: definition.window.kind().to_owned(),
            duration: definition.window.duration(),
            timezone: definition.timezone.clone(),
        },
        unknown_policy: definition.unknown_policy,
        maintenance_policy: definition.maintenance_policy,
        partial_weight_ppm: definition.partial_weight_ppm,
        coverage_min: definition.coverage_min.ratio().to_f64().unwrap_or(0.0),
        quorum,
        composite: match &inputs.truth {
            Truth::Members(rule, _) => Some(rule.name().to_owned()),
            _ => None,
        },
        definition_revision: identity.definition_revision,
    }
}

fn window_of(definition: &Definition, inputs: &Inputs, view: &View) -> WindowOf {
    WindowOf {
        start: stamp(view.bounds.start),
        end: stamp(view.bounds.end),
        length_ms: view.bounds.length(),
        as_of: stamp(inputs.as_of),
        watermark: stamp(inputs.watermark),
        complete: !definition.window.is_rolling() && view.end == view.bounds.end,
        tzdata: window::zones_version().to_owned(),
        resolution: if inputs.summed { "quarter_hour" } else { "event" }.to_owned(),
    }
}

fn time_ms(totals: &Totals, view: &View) -> TimeMs {
    TimeMs {
        up: totals.up,
        down: totals.down,
        partial: totals.partial,
        unknown: totals.unknown,
        excluded: totals.excluded,
        paused: totals.paused,
        not_monitored: totals.not_monitored,
        remaining: view.bounds.end - view.end,
        degraded: totals.degraded,
        suppressed: totals.suppressed,
    }
}

fn availability(
    definition: &Definition,
    inputs: &Inputs,
    view: &View,
    measured: &Measured,
) -> Availability {
    let engine = Engine::raw(definition, inputs, &view.base);
    let raw = engine.measure(view.bounds.start, view.end);
    let float = |ratio: Option<Ratio>| ratio.and_then(|ratio| ratio.to_f64());
    let percent = |ratio: Option<Ratio>| ratio.and_then(|r| r.percent(definition.decimals));
    let met = measured.met(&definition.target.ratio());
    let (good, total) = whole_numbers(measured);
    Availability {
        ratio: float(measured.ratio()),
        pct: percent(measured.ratio()),
        best: float(measured.best()),
        best_pct: percent(measured.best()),
        worst: float(measured.worst()),
        worst_pct: percent(measured.worst()),
        raw: float(raw.ratio()),
        raw_pct: percent(raw.ratio()),
        met,
        attainment_to_date: met,
        good_num: good,
        total_den: total,
        approx: measured.is_approximate(),
    }
}

/// Good and total as whole numbers: times the smallest power of ten that makes them so, or the
/// denominator where none does.
fn whole_numbers(measured: &Measured) -> (String, String) {
    let total = Ratio::whole(measured.total.into());
    let good = total.minus(&measured.bad);
    let text = |number: &Natural| number.to_u128().map_or("0".into(), |n| n.to_string());
    let scales = (0..=6).map(|power| 10_u128.pow(power));
    let scaled = scales.into_iter().find_map(|scale| {
        let (whole, even) = good.times(scale).num.divided(&good.den);
        even.then(|| (whole.to_string(), total.times(scale).num))
    });
    match scaled {
        Some((good, total)) => (good, text(&total)),
        None => (text(&good.num), text(&total.num.product(&good.den))),
    }
}

fn coverage(definition: &Definition, measured: &Measured, totals: &Totals) -> Coverage {
    let ratio = measured.coverage();
    let elapsed = totals.elapsed();
    let monitored = elapsed - totals.not_monitored - totals.paused;
    let fill = (elapsed > 0).then(|| Ratio::new(monitored as u128, elapsed as u128));
    Coverage {
        ok: ratio.as_ref().is_some_and(|ratio| *ratio >= definition.coverage_min.ratio()),
        pct: ratio.as_ref().and_then(|ratio| ratio.percent(definition.decimals)),
        ratio: ratio.and_then(|ratio| ratio.to_f64()),
        window_fill: fill.and_then(|fill| fill.to_f64()),
    }
}

fn events(engine: &Engine, counts: &Counts, view: &View) -> Events {
    let (start, end) = (view.bounds.start, view.end);
    if engine.requests.is_some() || (engine.evidence.is_empty() && engine.sli.is_time()) {
        // Nothing was given, so nothing is missing. Requests are no probes.
        let Some(requests) = engine.requests.as_ref().filter(|r| r.is_pooled()) else {
            return Events::default();
        };
        let seen = requests.measure(start, end, engine.policy);
        let good = seen.total.saturating_sub(seen.bad.floor() as u64);
        return Events { good, total: seen.total, expected: seen.total, ..Events::default() };
    }
    let expected = engine.evidence.expected(start, end, counts);
    let measured = engine.measure(start, end);
    let good = match engine.sli {
        Sli::Latency { .. } | Sli::Slices { .. } => {
            measured.total.saturating_sub(measured.bad.floor() as u64)
        }
        _ => counts.ok,
    };
    let total = match engine.sli {
        Sli::Latency { .. } | Sli::Slices { .. } => measured.total,
        _ => counts.valid(),
    };
    Events {
        good,
        total,
        expected,
        invalid: counts.invalid,
        missing: expected.saturating_sub(counts.valid() + counts.invalid),
    }
}

fn budget_of(
    definition: &Definition,
    inputs: &Inputs,
    view: &View,
    measured: &Measured,
    budget: &Budget,
) -> BudgetOf {
    let is_time = definition.sli.is_time();
    let whole = |ratio: &Ratio| i64::try_from(ratio.floor()).unwrap_or(i64::MAX);
    let rolling = definition.window.is_rolling();
    let complete = !rolling && view.end == view.bounds.end;
    let end = (!rolling).then_some(view.bounds.end);
    let exhausts = (is_time && !complete && measured.total > 0)
        .then(|| budget::exhausts_at(budget, inputs.watermark, end))
        .flatten();
    BudgetOf {
        total_ms: is_time.then(|| whole(&budget.total)),
        total: if is_time { None } else { budget.total.to_f64() },
        consumed_ratio: budget.consumed().and_then(|consumed| consumed.to_f64()),
        remaining_ms: is_time.then(|| budget.left.floor()),
        remaining: (!is_time).then(|| budget.left.floor()),
        remaining_ratio: budget.left_ratio(),
        nominal_ms: is_time.then(|| whole(&budget.nominal)),
        exhausts_at_if_down: exhausts.map(stamp),
    }
}

/// Rules that look back no further than the window.
fn alerts(definition: &Definition, inputs: &Inputs, burns: &Burns) -> Vec<Alert> {
    let window = definition.window.nominal();
    let rules = definition.rules.iter().filter(|rule| !rule.exceeds(window));
    rules.filter_map(|rule| alert(rule, definition, inputs, burns)).collect()
}

fn alert(rule: &Rule, definition: &Definition, inputs: &Inputs, burns: &Burns) -> Option<Alert> {
    let window = definition.window.nominal();
    let (long, short) = (burns.get(rule.long)?, burns.get(rule.short)?);
    let seen = burn::look(rule, definition.target, window, long, short);
    let before = inputs.standings.get(&rule.name).copied();
    let Standing { firing_since, frozen } = rule.step(&seen, before, inputs.watermark);
    Some(Alert {
        rule: rule.name.clone(),
        severity: rule.severity,
        factor: rule.factor(window).to_f64(),
        long: burn::label(rule.long),
        short: burn::label(rule.short),
        firing: firing_since.is_some(),
        frozen,
        since: firing_since.map(stamp),
    })
}

fn outage_of(outage: &outage::Outage) -> OutageOf {
    OutageOf {
        start: stamp(outage.start),
        end: outage.end.map(stamp),
        ongoing: outage.end.is_none(),
        duration_full_ms: outage.full,
        downtime_ms: outage.downtime,
        excluded_ms: outage.excluded,
        unknown_ms: outage.unknown,
        incident: outage.incident.clone(),
    }
}

fn maintenance_of(inputs: &Inputs, view: &View) -> Vec<Maintenance> {
    let (start, end) = (view.bounds.start, view.end);
    let credited = maintenance::credited(&inputs.maintenance, &view.figures, start, end);
    let touching = inputs.maintenance.iter().zip(credited);
    touching
        .filter(|(m, _)| m.start < view.bounds.end && m.end > start)
        .map(|(m, excluded_ms)| Maintenance {
            id: m.id.clone(),
            start: stamp(m.start),
            end: stamp(m.end),
            excluded_ms,
            kind: m.kind.name().to_owned(),
            reason: m.reason.clone(),
        })
        .collect()
}
