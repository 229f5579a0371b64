//! Between what the timeline says and what is stored.

use jiff::Timestamp;

use crate::{
    domain::fleet::{
        event::State,
        timeline::{Instance, Marks, Removal},
    },
    store::{
        self, fleet_cells::PoolRow, fleet_findings::RemovalRow, fleet_live::InstanceRow,
        fleet_states::TransitionRow,
    },
};

/// What batches noted to the µs, put together.
pub(super) fn marks(pools: &[PoolRow]) -> Marks {
    let mut all = Marks::default();
    for row in pools {
        let Some(value) = &row.marks else { continue };
        // Only we write these; what cannot be read is not worth a fleet that is never judged again.
        let Ok(marks) = serde_json::from_value::<Marks>(value.clone()) else { continue };
        all.redispatched.extend(marks.redispatched);
        all.runs.extend(marks.runs);
    }
    all.redispatched.sort_unstable();
    all.runs.sort_by_key(|run| run.from_us);
    all
}

pub(super) fn transition(instance: &Instance, old: Option<&InstanceRow>) -> Option<TransitionRow> {
    let state = instance.state.as_str();
    let at = instant(instance.since_us);
    let same = old.is_some_and(|old| old.state == state && old.state_at == Some(at));
    if same || instance.state == State::Unknown {
        return None;
    }
    Some(TransitionRow {
        at,
        instance: instance.name.clone(),
        state: state.to_owned(),
        source: instance.source.map(|source| source.as_str().to_owned()).unwrap_or_default(),
        reason: instance.reason.clone(),
        planned: matches!(instance.state, State::Draining | State::Maintenance),
    })
}

pub(super) fn removal_row(removal: &Removal, now: Timestamp) -> RemovalRow {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    RemovalRow {
        id: store::id_at(now),
        instance: removal.instance.clone(),
        failed_at: removal.failed_us.map(instant),
        removed_at: instant(removal.removed_us),
        good_at: removal.well_us.map(instant),
        returned_at: removal.returned_us.map(instant),
        cause: removal.cause.as_str().to_owned(),
        reason: removal.reason.clone(),
        source: removal.source.as_str().to_owned(),
        ttr_us: removal.time_us(),
        resolution_us: removal.resolution_us,
        harmed: count(removal.harmed),
        client_visible: count(removal.client_visible),
        minimum_us: removal.minimum_us,
    }
}

pub(super) fn small(n: u32) -> Option<i32> {
    i32::try_from(n).ok()
}

pub(super) fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}
