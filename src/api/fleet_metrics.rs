//! Fleets in `/metrics`. What is not known is absent, rather than nought or stale.

use std::collections::BTreeMap;

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use sqlx::PgConnection;

use super::error::ApiResult;
use crate::{
    domain::{
        fleet::{hearing::Hearing, settings::Settings},
        ids::FleetKey,
    },
    store,
};

/// Seconds from failure to removal: checks every second to checks every minute.
const BOUNDS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 90.0, 120.0, 300.0, 600.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FleetLabel {
    fleet: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InstanceLabels {
    fleet: String,
    instance: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    fleet: String,
    kind: &'static str,
    severity: &'static str,
    /// Empty when nobody is named.
    instance: String,
}

pub async fn register(
    registry: &mut Registry,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let mut names: BTreeMap<FleetKey, String> = BTreeMap::new();
    let ready = Family::<FleetLabel, Gauge>::default();
    let expected = Family::<FleetLabel, Gauge>::default();
    let min_ready = Family::<FleetLabel, Gauge>::default();
    let arrivals = store::fleet_sources::arrivals(conn, None).await?;
    for row in store::fleet_live::numbers(conn).await? {
        let label = FleetLabel { fleet: row.name.clone() };
        names.insert(row.fleet, row.name);
        let lateness_s = row.lateness_s.and_then(|s| u32::try_from(s).ok());
        let lateness_s = lateness_s.unwrap_or(Settings::default().lateness_s);
        // Of a fleet that nobody tells of, nothing is known.
        let fresh = arrivals.iter().any(|(fleet, arrival)| {
            *fleet == row.fleet && arrival.hearing(lateness_s, now) == Hearing::Live
        });
        if let Some(count) = row.ready.filter(|_| fresh) {
            ready.get_or_create(&label).set(count.into());
        }
        let floor = || {
            let expected = u32::try_from(row.expected?).ok()?;
            i32::try_from(Settings::default().floor(expected)).ok()
        };
        if let Some(floor) = row.min_ready.or_else(floor) {
            min_ready.get_or_create(&label).set(floor.into());
        }
        if let Some(count) = row.expected {
            expected.get_or_create(&label).set(count.into());
        }
    }
    registry.register(
        "fleet_instances_ready",
        "Instances that are ready, where somebody says so",
        ready,
    );
    registry.register("fleet_instances_expected", "Instances that there should be", expected);
    registry.register("fleet_instances_min_ready", "Fewer ready than this is critical", min_ready);
    instances(registry, conn, &names).await?;
    let removals = Family::<FleetLabel, Histogram>::new_with_constructor(|| {
        Histogram::new(BOUNDS.iter().copied())
    });
    for (fleet, span_us) in store::fleet_findings::removal_spans(conn).await? {
        if let Some(name) = names.get(&fleet) {
            let label = FleetLabel { fleet: name.clone() };
            removals.get_or_create(&label).observe(span_us as f64 / 1e6);
        }
    }
    registry.register(
        "fleet_removal_seconds",
        "From an instance's first failure until it was taken out",
        removals,
    );
    let findings = Family::<FindingLabels, Gauge>::default();
    for (fleet, row) in store::fleet_findings::open_everywhere(conn).await? {
        let Some(name) = names.get(&fleet) else { continue };
        let finding = row.finding;
        let nobody = [String::new()];
        let named = if finding.instances.is_empty() { &nobody[..] } else { &finding.instances };
        for instance in named {
            let labels = FindingLabels {
                fleet: name.clone(),
                kind: finding.kind.as_str(),
                severity: finding.severity.as_str(),
                instance: instance.clone(),
            };
            findings.get_or_create(&labels).set(1);
        }
    }
    registry.register("fleet_finding", "1 for each finding that is open", findings);
    Ok(())
}

async fn instances(
    registry: &mut Registry,
    conn: &mut PgConnection,
    names: &BTreeMap<FleetKey, String>,
) -> ApiResult<()> {
    let restarts = Family::<InstanceLabels, Counter>::default();
    let transitions = Family::<InstanceLabels, Counter>::default();
    for (fleet, instance, restarted, moved) in store::fleet_live::instance_numbers(conn).await? {
        let Some(name) = names.get(&fleet) else { continue };
        let labels = InstanceLabels { fleet: name.clone(), instance };
        let count = |n: i64| u64::try_from(n).unwrap_or_default();
        restarts.get_or_create(&labels).inc_by(count(restarted));
        transitions.get_or_create(&labels).inc_by(count(moved));
    }
    // The format adds `_total` to counters by itself.
    registry.register(
        "instance_restarts",
        "Certain restarts since the instance is known",
        restarts,
    );
    registry.register(
        "instance_transitions",
        "Turns between ready and not ready since the instance is known",
        transitions,
    );
    Ok(())
}
