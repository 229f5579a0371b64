//! Fleets in `/metrics`. What is not known is absent, rather than nought or stale.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    error::ApiResult,
    exposition::{Exposition, Kind},
};
use crate::{
    domain::{
        fleet::{hearing::Hearing, settings::Settings},
        ids::FleetKey,
    },
    store,
};

/// Seconds from failure to removal: checks every second to checks every minute.
const BOUNDS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 90.0, 120.0, 300.0, 600.0];

pub async fn write(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let mut names: BTreeMap<FleetKey, String> = BTreeMap::new();
    let [mut ready, mut expected, mut min_ready] = [const { Vec::new() }; 3];
    let arrivals = store::fleet_sources::arrivals(conn, None).await?;
    for row in store::fleet_live::numbers(conn).await? {
        names.insert(row.fleet, row.name.clone());
        let lateness_s = row.lateness_s.and_then(|s| u32::try_from(s).ok());
        let lateness_s = lateness_s.unwrap_or(Settings::default().lateness_s);
        // Of a fleet that nobody tells of, nothing is known.
        let fresh = arrivals.iter().any(|(fleet, arrival)| {
            *fleet == row.fleet && arrival.hearing(lateness_s, now) == Hearing::Live
        });
        let floor = || {
            let expected = u32::try_from(row.expected?).ok()?;
            i32::try_from(Settings::default().floor(expected)).ok()
        };
        ready.extend(row.ready.filter(|_| fresh).map(|count| (row.name.clone(), count)));
        expected.extend(row.expected.map(|count| (row.name.clone(), count)));
        min_ready.extend(row.min_ready.or_else(floor).map(|floor| (row.name, floor)));
    }
    for (name, help, counts) in [
        ("ready", "Instances that are ready, where somebody says so", ready),
        ("expected", "Instances that there should be", expected),
        ("min_ready", "Fewer ready than this is critical", min_ready),
    ] {
        let name = format!("quorate_fleet_instances_{name}");
        let mut family = page.family(Kind::Gauge, &name, help);
        for (fleet, count) in counts {
            family.add(&[("fleet", &fleet)], count.into());
        }
    }
    instances(page, conn, &names).await?;
    removals(page, conn, &names).await?;
    findings(page, conn, &names).await
}

async fn removals(
    page: &mut Exposition,
    conn: &mut PgConnection,
    names: &BTreeMap<FleetKey, String>,
) -> ApiResult<()> {
    let mut spans: BTreeMap<&str, ([u64; BOUNDS.len() + 1], f64)> = BTreeMap::new();
    for (fleet, span_us) in store::fleet_findings::removal_spans(conn).await? {
        let Some(name) = names.get(&fleet) else { continue };
        let seconds = span_us as f64 / 1e6;
        let (counts, sum) = spans.entry(name).or_default();
        *sum += seconds;
        if let Some(count) = counts.get_mut(BOUNDS.partition_point(|bound| *bound < seconds)) {
            *count += 1;
        }
    }
    let mut family = page.family(
        Kind::Histogram,
        "quorate_fleet_removal_seconds",
        "From an instance's first failure until it was taken out",
    );
    for (fleet, (counts, sum)) in &spans {
        family.histogram(&[("fleet", fleet)], &BOUNDS, counts, *sum);
    }
    Ok(())
}

async fn findings(
    page: &mut Exposition,
    conn: &mut PgConnection,
    names: &BTreeMap<FleetKey, String>,
) -> ApiResult<()> {
    // A second finding of the same kind about the same instance is no second series.
    let mut open = std::collections::BTreeSet::new();
    for (fleet, row) in store::fleet_findings::open_everywhere(conn).await? {
        let Some(name) = names.get(&fleet) else { continue };
        let (kind, severity) = (row.finding.kind.as_str(), row.finding.severity.as_str());
        let mut named = row.finding.instances;
        if named.is_empty() {
            // Nobody is named.
            named.push(String::new());
        }
        open.extend(named.into_iter().map(|instance| (name, kind, severity, instance)));
    }
    let mut family =
        page.family(Kind::Gauge, "quorate_fleet_finding", "1 for each finding that is open");
    for (fleet, kind, severity, instance) in &open {
        let labels = [
            ("fleet", fleet.as_str()),
            ("kind", kind),
            ("severity", severity),
            ("instance", instance),
        ];
        family.add(&labels, 1.0);
    }
    Ok(())
}

async fn instances(
    page: &mut Exposition,
    conn: &mut PgConnection,
    names: &BTreeMap<FleetKey, String>,
) -> ApiResult<()> {
    let numbers = store::fleet_live::instance_numbers(conn).await?;
    for (name, help, moved) in [
        ("restarts", "Certain restarts since the instance is known", false),
        ("transitions", "Turns between ready and not ready since the instance is known", true),
    ] {
        let name = format!("quorate_instance_{name}");
        let mut family = page.family(Kind::Counter, &name, help);
        for (fleet, instance, restarts, transitions) in &numbers {
            let Some(fleet) = names.get(fleet) else { continue };
            let count = if moved { transitions } else { restarts };
            family.add(&[("fleet", fleet), ("instance", instance)], *count as f64);
        }
    }
    Ok(())
}
