//! The form of a heartbeat: nothing is probed, so what says how to probe must be left out.

use super::{
    error::{ApiError, ApiResult},
    heartbeats::is_heartbeat,
    monitors::NewMonitor,
};
use crate::{
    domain::{Invalid, check::heartbeat::HeartbeatCheck, monitor::PolicySpec},
    store::monitors::MonitorRow,
};

/// A form with what stands in the place of the fields that a heartbeat leaves out, and what is refused. `old` is
/// the monitor that is edited: what a form only repeats is no mistake.
pub fn read(mut form: NewMonitor, old: Option<&MonitorRow>) -> (NewMonitor, Vec<Invalid>) {
    let mut refused = Vec::new();
    let mut none = |given: bool, field: &str, why: &str| {
        if given {
            refused.push(Invalid::new(field, format!("{why}: leave {field} out")));
        }
    };
    let was = old.map(|old| &old.values);
    let rows = |value: &serde_json::Value| value.as_array().is_some_and(Vec::is_empty);
    let interval = was.and_then(|was| u32::try_from(was.interval_s).ok());
    let timeout = was.map(|was| f64::from(was.timeout_ms) / 1_000.0);
    none(
        form.locations.take().is_some_and(|given| !rows(&given)),
        "locations",
        "a heartbeat is not probed",
    );
    none(
        form.interval_s.is_some() && form.interval_s != interval,
        "interval_s",
        "a heartbeat has a period of its own",
    );
    none(
        form.timeout_s.take().is_some_and(|given| Some(given) != timeout),
        "timeout_s",
        "a heartbeat is not probed",
    );
    none(form.slow_ms.take().is_some(), "slow_ms", "a heartbeat is not probed");
    none(form.policy != PolicySpec::default(), "policy", "a heartbeat is not voted on");
    let plan = HeartbeatCheck::of(&form.check).and_then(Result::ok).and_then(|c| c.plan().ok());
    form.interval_s = plan.and_then(|plan| u32::try_from(plan.interval() / 1_000).ok());
    (form, refused)
}

/// Refuses an edit that makes a heartbeat of something else, or something else of a heartbeat: votes and calls
/// have nothing in common that could be carried over.
pub fn stays_what_it_is(
    old: Option<&MonitorRow>,
    check: &serde_json::Value,
) -> Result<(), Invalid> {
    match old.map(|old| is_heartbeat(&old.values.check_spec)) {
        Some(was) if was != is_heartbeat(check) => {
            let why =
                if was { "of a heartbeat stays heartbeat" } else { "cannot become heartbeat" };
            Err(Invalid::new("check.kind", format!("{why}: add a new monitor instead")))
        }
        _ => Ok(()),
    }
}

/// Refuses what only makes sense for a monitor that locations look at.
pub fn probed(check: &serde_json::Value) -> ApiResult<()> {
    if is_heartbeat(check) { Err(not_probed()) } else { Ok(()) }
}

pub fn not_probed() -> ApiError {
    ApiError::invalid("check.kind", "is heartbeat: nobody probes or votes, the job calls")
}
