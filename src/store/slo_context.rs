//! What documents say beside a report, from what is stored: `domain::slo::context::Context`. A fixed number of
//! statements, each by index.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::PgConnection;

use super::slo_context_rows::{
    self as rows, AlertRow, BlindRow, ChangeRow, IncidentRow, LatencyRow, PeriodRow, Span,
    WatchedRow,
};
use super::slo_inputs::instant;
use super::slos::SloRow;
use crate::domain::{
    Millis,
    check::Check,
    decision::{RULE_VERSION, State, verdict::emin},
    monitor::{Interval, PolicySpec, Quorum, Timeout},
    notice::LocationLine,
    observation::Class,
    slo::{
        burn,
        context::{
            Change, ChangeKind, Context, FiredAlert, Gap, Incident, LatencySlo, Maintenance,
            MemberName, Method, Month,
        },
        definition::{Definition, Sli},
        document,
        evaluate::{Decided, Inputs, Truth},
        ratio::target_percent,
        subject::Subject,
        timeline::{Condition, Timeline},
        window::{Bounds, Window, zone},
    },
};

/// Shorter stretches of unknown time are not listed one by one.
const GAP: Millis = 5 * 60_000;
/// Periods that are told, this one included.
const PERIODS: usize = 12;

/// For the report on a window that was made from `inputs`. Who it is for, when it was made and frozen, and the
/// present period among those before, are the caller's to add.
pub async fn read(
    conn: &mut PgConnection,
    slo: &SloRow,
    definition: &Definition,
    inputs: &Inputs,
    bounds: Bounds,
) -> sqlx::Result<Context> {
    let end = inputs.watermark.clamp(bounds.start, bounds.end);
    let span = Span { from: instant(bounds.start), to: instant(end) };
    let keys: Vec<i32> = slo.values.subject.monitors().iter().map(|key| key.0).collect();
    let watched = rows::watched(conn, &keys).await?;
    let subjects: Vec<String> = watched.iter().map(|row| row.subject.clone()).collect();
    let incidents = rows::incidents(conn, &keys, span).await?;
    let mut changes = changes(rows::changes(conn, &subjects, span).await?);
    changes.extend(late(rows::late(conn, &keys, span).await?));
    changes.sort_by_key(|change| change.at);
    let blind = rows::blind(conn, &keys, span, State::Unknown.code()).await?;
    let before = rows::periods(conn, slo.key, span.from, PERIODS as i64 - 1).await?;
    let fleet: Vec<i32> = slo.values.subject.fleet().iter().map(|key| key.0).collect();
    let fleets = super::slos::fleets(conn, &fleet).await?;
    let names = fleets.iter().map(|f| &f.name).chain(watched.iter().map(|row| &row.name));
    Ok(Context {
        subject: Some(names.cloned().collect::<Vec<_>>().join(", ")).filter(|s| !s.is_empty()),
        members: watched.iter().filter_map(member).collect(),
        method: method(&slo.values.subject, &watched),
        incidents: incidents.into_iter().map(incident).collect(),
        maintenance: maintenance(conn, &keys, span, inputs, &watched).await?,
        months: months(before, definition),
        alerts: Some(alerts(rows::alerts(conn, slo.key, span).await?, definition)),
        latency_slos: rows::latencies(conn, slo.key, &keys, span.from)
            .await?
            .into_iter()
            .filter_map(|row| latency(row, end))
            .collect(),
        gaps: Some(gaps(inputs, &watched, &blind, bounds.start, end)),
        changes: Some(changes),
        ..Context::default()
    })
}

fn member(row: &WatchedRow) -> Option<MemberName> {
    let id = row.subject.strip_prefix("monitor:")?;
    Some(MemberName { id: id.to_owned(), name: row.name.clone() })
}

/// Cause and first error are those of the moment in which it was decided, or in which it got worse.
fn incident(row: IncidentRow) -> Incident {
    let lines: Vec<LocationLine> = row
        .evidence
        .get("locations")
        .cloned()
        .and_then(|lines| serde_json::from_value(lines).ok())
        .unwrap_or_default();
    let counted: Vec<&LocationLine> =
        lines.iter().filter(|line| line.uncounted.is_none()).collect();
    let failing: Vec<&&LocationLine> = counted
        .iter()
        .filter(|line| ["down", "suspect", "recovering"].contains(&line.vote.as_str()))
        .collect();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for class in failing.iter().filter_map(|line| line.class.as_deref()) {
        *classes.entry(class).or_default() += 1;
    }
    let commonest = classes.into_iter().max_by_key(|(_, count)| *count).map(|(class, _)| class);
    let words = |class: &str| {
        Class::from_name(class)
            .map_or(class.to_owned(), |class| class.sentence().trim_end_matches('.').to_owned())
    };
    Incident {
        id: row.id,
        monitor: Some(row.monitor),
        started_at: row.started_at,
        confirmed_at: Some(row.opened_at),
        ended_at: row.ended_at,
        cause: commonest.map(words),
        locations_failed: failing.iter().map(|line| line.name.clone()).collect(),
        locations_counted: u32::try_from(counted.len()).ok().filter(|count| *count > 0),
        first_error: failing.first().map(|line| line.saw.clone()).filter(|saw| !saw.is_empty()),
        acked_at: row.acked_at,
        acked_by: row.acked_by,
    }
}

async fn maintenance(
    conn: &mut PgConnection,
    keys: &[i32],
    span: Span,
    inputs: &Inputs,
    watched: &[WatchedRow],
) -> sqlx::Result<Vec<Maintenance>> {
    let declared = rows::maintenance(conn, keys, span).await?;
    let monitors: Vec<&str> = watched.iter().map(|row| row.name.as_str()).collect();
    let of = |row: rows::MaintenanceRow| {
        let known = inputs.maintenance.iter().find(|m| m.id == row.id && m.start == row.start);
        let whom = if row.everything { "everything".to_owned() } else { monitors.join(", ") };
        let scope = match known.and_then(|m| m.locations.as_ref()) {
            Some(locations) => format!("{whom}, seen from {}", locations.join(", ")),
            None => whom,
        };
        let down = match &inputs.truth {
            Truth::Decided(decided) => {
                known.map(|m| down(decided, m.start, m.end.min(inputs.watermark)))
            }
            _ => None,
        };
        Maintenance {
            id: row.id,
            start: row.start,
            declared_at: Some(row.declared_at),
            declared_by: Some(row.declared_by),
            scope,
            down_ms: down,
        }
    };
    Ok(declared.into_iter().map(of).collect())
}

fn down(decided: &Decided, from: Millis, to: Millis) -> Millis {
    if from >= to {
        return 0;
    }
    Timeline::decided(from, to, &decided.stretches, &decided.not_running).totals(from, to).down
}

/// The latest come first and are told last.
fn months(rows: Vec<PeriodRow>, definition: &Definition) -> Vec<Month> {
    if !matches!(definition.window, Window::Calendar { .. } | Window::Period { .. }) {
        return Vec::new();
    }
    let of = |row: PeriodRow| Month {
        first_day: first_day(row.start, &definition.timezone),
        met: row.met.filter(|_| row.state.as_deref() != Some("no_data")),
        pct: row.pct,
    };
    rows.into_iter().rev().map(of).collect()
}

/// The civil day of an instant in a zone.
pub fn first_day(at: Millis, timezone: &str) -> String {
    let zone = zone(timezone).unwrap_or(jiff::tz::TimeZone::UTC);
    instant(at).to_zoned(zone).date().to_string()
}

/// Burn-rate alerts; those on the budget itself are the verdict.
fn alerts(rows: Vec<AlertRow>, definition: &Definition) -> Vec<FiredAlert> {
    let of = |row: AlertRow| {
        let name = row.subject.splitn(3, ':').nth(2)?;
        let rule = definition.rules.iter().find(|rule| rule.name == name)?;
        Some(FiredAlert {
            rule: rule.name.clone(),
            severity: rule.severity,
            long: burn::label(rule.long),
            short: burn::label(rule.short),
            factor: rule.factor(definition.window.nominal()).to_f64(),
            worst_long: row.worst.0,
            worst_short: row.worst.1,
            from: row.from,
            to: row.to,
            did: None,
        })
    };
    rows.into_iter().filter_map(of).collect()
}

fn latency(row: LatencyRow, at: Millis) -> Option<LatencySlo> {
    let definition = document::objective(row.definition, at).ok()?.definition;
    let Sli::Latency { threshold_us, .. } = definition.sli else { return None };
    Some(LatencySlo {
        name: row.name,
        threshold_ms: f64::from(threshold_us) / 1_000.0,
        met: row.met.filter(|_| row.state.as_deref() != Some("no_data")),
        pct: row.pct,
        target_pct: target_percent(definition.target.ppb()),
    })
}

/// Unknown stretches that are long enough, with what was decided when they began.
fn gaps(
    inputs: &Inputs,
    watched: &[WatchedRow],
    blind: &[BlindRow],
    from: Millis,
    to: Millis,
) -> Vec<Gap> {
    let mut out = Vec::new();
    let mut one = |decided: &Decided,
                   row: Option<&WatchedRow>,
                   born: Option<Millis>,
                   gone: Option<Millis>| {
        let line = Timeline::decided(from, to, &decided.stretches, &decided.not_running)
            .monitored(born, gone);
        for piece in line
            .within(from, to)
            .filter(|p| p.condition == Condition::Unknown && p.to - p.from > GAP)
        {
            let reason = match decided.not_running.contain(piece.from) {
                true => "no coordinator was running".to_owned(),
                false => reason(blind, row, piece.from),
            };
            let whose = row.filter(|_| watched.len() > 1).map(|row| format!("{}: ", row.name));
            out.push(Gap {
                from: piece.from,
                to: (piece.to < to).then_some(piece.to),
                reason: whose.unwrap_or_default() + &reason,
            });
        }
    };
    match &inputs.truth {
        Truth::Decided(decided) => {
            one(decided, watched.first(), inputs.created_at, inputs.deleted_at)
        }
        Truth::Members(_, members) => {
            for member in members {
                let row = watched.iter().find(|row| row.subject.ends_with(&member.id));
                one(&member.decided, row, member.created_at, member.deleted_at);
            }
        }
        Truth::Slots(_) => {}
    }
    out.sort_by_key(|gap| gap.from);
    out
}

/// The sentence of the decision nearest behind the beginning of a stretch.
fn reason(blind: &[BlindRow], row: Option<&WatchedRow>, from: Millis) -> String {
    const NEAR: Millis = 10 * 60_000;
    let of_it =
        |b: &&BlindRow| row.is_none_or(|row| row.key == b.monitor) && (b.at - from).abs() <= NEAR;
    let nearest = blind.iter().filter(of_it).min_by_key(|b| (b.at - from).abs());
    nearest.map_or_else(
        || "too few locations had something to say".to_owned(),
        |b| b.sentence.trim_end_matches('.').to_owned(),
    )
}

fn changes(rows: Vec<ChangeRow>) -> Vec<Change> {
    let of = |row: ChangeRow| {
        let subject = row.detail.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, what) = match row.action.as_str() {
            "monitor.create" => (ChangeKind::Created, "created".to_owned()),
            "monitor.delete" => (ChangeKind::Deleted, "deleted".to_owned()),
            "monitor.pause" => (ChangeKind::Paused, "paused".to_owned()),
            "monitor.resume" => (ChangeKind::Resumed, "resumed".to_owned()),
            "monitor.change" => changed(&row.detail)?,
            _ => return None,
        };
        Some(Change { at: row.at, kind, subject, what, by: Some(row.actor) })
    };
    rows.into_iter().filter_map(of).collect()
}

/// Which settings differ; none when only words do (name, group, labels).
fn changed(detail: &Value) -> Option<(ChangeKind, String)> {
    const MEASURED: [&str; 6] =
        ["check", "interval_s", "timeout_s", "slow_ms", "locations", "policy"];
    let (before, after) = (detail.get("before")?, detail.get("after")?);
    let differs = |key: &&str| before.get(*key) != after.get(*key);
    if differs(&"interval_s") {
        let of = |value: &Value| value.get("interval_s").map_or("–".to_owned(), Value::to_string);
        let what = format!("interval {}\u{a0}s → {}\u{a0}s", of(before), of(after));
        return Some((ChangeKind::Interval, what));
    }
    let named: Vec<String> = MEASURED
        .into_iter()
        .filter(differs)
        .map(|key| key.trim_end_matches("_s").trim_end_matches("_ms").to_owned())
        .collect();
    (!named.is_empty()).then(|| (ChangeKind::Reconfigured, format!("{} changed", named.join(", "))))
}

fn late(rows: Vec<(Millis, String)>) -> Vec<Change> {
    let of = |(at, subject)| Change {
        at,
        kind: ChangeKind::LateData,
        subject,
        what: "results that came late".to_owned(),
        by: None,
    };
    rows.into_iter().map(of).collect()
}

/// In the words of the one monitor; of several only what is common to all of them.
fn method(subject: &Subject, watched: &[WatchedRow]) -> Method {
    let rules = Some(RULE_VERSION.to_owned());
    let (Subject::Monitor(_), [one]) = (subject, watched) else {
        return Method { rules, ..Method::default() };
    };
    let distinct = |of: fn(&(String, String, String)) -> &String| {
        let all: BTreeSet<&String> = one.locations.iter().map(of).collect();
        u32::try_from(all.len()).ok().filter(|count| *count > 0)
    };
    let policy = policy(one);
    let count = one.locations.len();
    let check = Check::parse(one.check.clone()).ok();
    if let Some(Check::Heartbeat(job)) = &check {
        return Method { called: Some(job.waited_for()), rules, ..Method::default() };
    }
    Method {
        check: check
            .map(|check| format!("{} check of {}", check.kind().to_uppercase(), check.target())),
        called: None,
        interval_s: Some(one.interval_s.into()),
        timeout_s: Some(f64::from(one.timeout_ms) / 1_000.0),
        locations: one.locations.iter().map(|(name, ..)| name.clone()).collect(),
        regions: distinct(|(_, region, _)| region),
        networks: distinct(|(_, _, domain)| domain),
        quorum: policy.as_ref().map(|policy| quorum(policy.quorum, policy.min_domains)),
        min_evidence: u32::try_from(emin(count)).ok().filter(|_| count > 1),
        fail_after: policy.as_ref().map(|policy| policy.fail_after),
        pass_after: policy.as_ref().map(|policy| policy.pass_after),
        rules,
    }
}

fn policy(row: &WatchedRow) -> Option<crate::domain::monitor::Policy> {
    let spec: PolicySpec = serde_json::from_value(row.policy.clone()).ok()?;
    let interval = Interval::from_secs(u32::try_from(row.interval_s).ok()?).ok()?;
    let timeout = Timeout::from_secs(f64::from(row.timeout_ms) / 1_000.0).ok()?;
    let slow = row.slow_ms.and_then(|ms| u32::try_from(ms).ok());
    spec.resolve(interval, timeout, slow, row.locations.len()).ok()
}

fn quorum(quorum: Quorum, domains: u32) -> String {
    let many = match quorum {
        Quorum::Majority => "a majority of the locations that count".to_owned(),
        Quorum::All => "every location that counts".to_owned(),
        Quorum::Any => "any location that counts".to_owned(),
        Quorum::AtLeast(1) => "at least 1 location".to_owned(),
        Quorum::AtLeast(k) => format!("at least {k} locations"),
        Quorum::Percent(percent) => format!("{percent}\u{a0}% of the locations that count"),
    };
    match domains {
        0 | 1 => many,
        more => format!("{many}, on at least {more} networks"),
    }
}
