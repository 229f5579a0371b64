//! Late reports: what an agent spooled while nobody heard it. The same pure function runs again over the
//! touched span, from the live row kept at its beginning, in effective-time order. Only stretches that
//! are stored as unknown are replaced; nothing opens, closes, moves or is told.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::{PgConnection, PgPool};

use crate::domain::Millis;
use crate::domain::decision::{self, Inputs, Live, Seat, Seen, Standing, State};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::monitor::Policy;
use crate::domain::observation::{Class, Outcome, RunKind};
use crate::store;
use crate::store::reports::FoldRow;
use crate::store::timeline::Interval;
use crate::triage;

/// A monitor is refolded once its last late report is this old: by then the agent has delivered all.
const QUIET: SignedDuration = SignedDuration::from_secs(20);
/// How far back late reports count.
const REACH: SignedDuration = SignedDuration::from_hours(24);

/// Refolds one monitor; true when there may be more.
pub(super) async fn step(pool: &PgPool, now: Timestamp) -> anyhow::Result<bool> {
    let mut tx = pool.begin().await?;
    let Some(monitor) = store::chores::next_refold(&mut tx, now - QUIET).await? else {
        return Ok(false);
    };
    // The monitor's lock comes first, as where late reports are marked; then it may be taken already.
    store::live::lock(&mut tx, &[monitor.0]).await?;
    let Some((from, to)) = store::chores::take_refold(&mut tx, monitor, now - QUIET).await? else {
        return Ok(true);
    };
    if let Some(row) = store::triage_read::configs(&mut tx, &[monitor.0]).await?.pop() {
        let config = triage::settings(row)?;
        let stale_after = SignedDuration::from_millis(config.policy.stale_after);
        let span = (from, now.min(to + stale_after));
        let (unknown, still_open) = unknown_spans(&mut tx, monitor, span, now).await?;
        let mut written = false;
        for gap in unknown {
            written |= fill(&mut tx, monitor, &config, &gap, now).await?;
        }
        if written {
            store::timeline::bump_revision(&mut tx, monitor, now).await?;
        }
        if still_open && now.duration_since(to) <= REACH {
            store::chores::mark_refold(&mut tx, monitor, from, to, now).await?;
        }
    }
    tx.commit().await?;
    Ok(true)
}

/// A closed stretch of which nothing is known, with the incident it lies in.
#[derive(Debug)]
struct Gap {
    from: Timestamp,
    to: Timestamp,
    incident: Option<uuid::Uuid>,
}

/// The closed unknown stretches that touch a span, and whether one that is still open does.
async fn unknown_spans(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    now: Timestamp,
) -> sqlx::Result<(Vec<Gap>, bool)> {
    let intervals = store::timeline::between(conn, monitor, span.0, span.1).await?;
    let mut gaps = Vec::new();
    let mut open = false;
    for one in &intervals {
        if one.state != State::Unknown.code() && !one.evidence_stale {
            continue;
        }
        match one.to_at {
            Some(to) => gaps.push(Gap { from: one.from_at, to, incident: one.incident }),
            None => open = true,
        }
    }
    for (from, to) in store::chores::not_running(conn, span.0, span.1).await? {
        // What was refolded before is known by now.
        let mut at = from;
        for one in intervals.iter().filter(|i| i.found_late) {
            let end = one.to_at.unwrap_or(now);
            if one.from_at > at && at < to {
                gaps.push(Gap { from: at, to: one.from_at.min(to), incident: None });
            }
            at = at.max(end);
        }
        if at < to {
            gaps.push(Gap { from: at, to, incident: None });
        }
    }
    gaps.retain(|gap| gap.from < gap.to);
    Ok((gaps, open))
}

/// Replays one gap and writes what was found; false when nothing was.
async fn fill(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    config: &triage::Settings,
    gap: &Gap,
    now: Timestamp,
) -> anyhow::Result<bool> {
    let Some((start, text)) = store::timeline::checkpoint(conn, monitor, gap.from).await? else {
        return Ok(false);
    };
    let live: Live = serde_json::from_str(&text)?;
    let stale_after = SignedDuration::from_millis(config.policy.stale_after);
    let rows = store::reports::for_refold(conn, monitor, start - stale_after, gap.to).await?;
    let locations: HashMap<LocationKey, _> = store::triage_read::locations(conn, now)
        .await?
        .into_iter()
        .map(|row| (row.location, row))
        .collect();
    let aside = store::location_health::quarantined(conn, gap.from, gap.to).await?;
    let seats: Vec<Seat> = config
        .locations
        .iter()
        .filter_map(|key| locations.get(key))
        .map(|row| {
            let standing = match (row.enabled, aside.contains(&row.location)) {
                (false, _) => Standing::Disabled,
                (true, true) => Standing::Quarantined,
                (true, false) => Standing::Counted,
            };
            Seat { standing, ..triage::seat(row) }
        })
        .collect();
    let seen: Vec<Seen> = rows.iter().filter_map(seen_of).collect();
    let pieces = replay(live, &config.policy, config.check_version, &seats, &seen, gap);
    let mut written = false;
    for piece in pieces {
        if matches!(piece.state, State::Unknown | State::Pending | State::Paused) {
            continue;
        }
        let interval = Interval {
            from_at: piece.from,
            to_at: Some(piece.to),
            state: piece.state.code(),
            evidence_stale: false,
            low: piece.low,
            found_late: true,
            incident: gap.incident,
        };
        store::timeline::splice(conn, monitor, &interval, piece.to).await?;
        written = true;
    }
    Ok(written)
}

fn seen_of(row: &FoldRow) -> Option<Seen> {
    let at = row.effective_at.as_millisecond();
    Some(Seen {
        // As if it had come in time.
        received: at,
        class: Class::from_code(row.class),
        latency_ms: Millis::from((row.total_us + 999) / 1000),
        kind: RunKind::from_code(row.kind)?,
        check_version: u32::try_from(row.check_version).ok()?,
        status: row.status.and_then(|s| u16::try_from(s).ok()),
        ..Seen::new(row.location, at, Outcome::from_code(row.outcome)?)
    })
}

/// What the monitor would have been said to be.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    from: Timestamp,
    to: Timestamp,
    state: State,
    low: bool,
}

/// Runs the fold over `seen`, ticking at each report and at each deadline up to the gap's end, and cuts
/// the outcome to the gap.
fn replay(
    mut live: Live,
    policy: &Policy,
    check_version: u32,
    seats: &[Seat],
    seen: &[Seen],
    gap: &Gap,
) -> Vec<Piece> {
    let (start, end) = (gap.from.as_millisecond(), gap.to.as_millisecond());
    // (beginning, state, low confidence); what is stale counts as unknown.
    let mut course: Vec<(Millis, State, bool)> = vec![(live.folded_at, as_read(&live), live.low)];
    let mut rest = seen;
    let mut wake = None;
    let mut now = live.folded_at;
    while now < end {
        let due = rest.partition_point(|s| s.at <= now);
        let (batch, later) = rest.split_at(due);
        rest = later;
        let inputs = Inputs {
            policy,
            check_version,
            seats,
            windows: &[],
            over_cap: false,
            grace_until: None,
            now,
        };
        let step = decision::step(&mut live, &inputs, batch);
        let since = match (&step.state_change, &step.stale_change) {
            (Some(change), _) => Some(change.since),
            (None, Some(stale)) => Some(stale.at),
            (None, None) => None,
        };
        if let Some(since) = since {
            course.retain(|(at, ..)| *at < since);
            course.push((since, as_read(&live), live.low));
        }
        wake = step.wake_at.filter(|at| *at > now).or(wake.filter(|at| *at > now));
        now = match (rest.first().map(|s| s.at), wake) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => break,
        };
    }
    let ends = course.iter().skip(1).map(|(at, ..)| *at).chain([end]);
    course
        .iter()
        .zip(ends)
        .map(|((from, state, low), to)| (*(from.max(&start)), to.min(end), *state, *low))
        .filter(|(from, to, ..)| from < to)
        .filter_map(|(from, to, state, low)| {
            let from = Timestamp::from_millisecond(from).ok()?;
            // The gap's own edges have microseconds; a piece that reaches an edge takes it.
            let from = if from.as_millisecond() == start { gap.from } else { from };
            let to = if to == end { gap.to } else { Timestamp::from_millisecond(to).ok()? };
            Some(Piece { from, to, state, low })
        })
        .collect()
}

fn as_read(live: &Live) -> State {
    if live.evidence_stale { State::Unknown } else { live.state }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats() -> Vec<Seat> {
        [(1, "eu"), (2, "us"), (3, "ap")]
            .into_iter()
            .map(|(key, name)| Seat {
                key: LocationKey(key),
                name: name.to_owned(),
                region: name.to_owned(),
                domain: name.to_owned(),
                standing: Standing::Counted,
            })
            .collect()
    }

    fn ts(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small instant")
    }

    /// Every location passes each minute from `from` to `to` seconds, except within `down`.
    fn reports(from: i64, to: i64, down: std::ops::Range<i64>) -> Vec<Seen> {
        let mut all = Vec::new();
        for second in from..to {
            for key in [1_i64, 2, 3] {
                let outcome = if down.contains(&second) { Outcome::Fail } else { Outcome::Pass };
                if second % 20 == (key - 1) * 5 {
                    all.push(Seen::new(LocationKey(key as i16), second * 1000, outcome));
                }
            }
        }
        all
    }

    #[test]
    fn an_unknown_stretch_becomes_what_the_late_reports_say() {
        let policy = Policy::defaults(60_000, 10_000, 3);
        let live = Live { folded_at: 1_000_000, state: State::Unknown, ..Live::default() };
        let gap = Gap { from: ts(1_000), to: ts(3_000), incident: None };
        let pieces = replay(live, &policy, 0, &seats(), &reports(900, 3_100, 1_500..2_000), &gap);
        let states: Vec<State> = pieces.iter().map(|p| p.state).collect();
        assert_eq!(states, [State::Up, State::Down, State::Up], "{pieces:?}");
        assert_eq!(pieces[0].from, ts(1_000));
        assert_eq!(pieces[1].from, ts(1_500), "dated back to the first fail");
        assert_eq!(pieces[2].from, ts(2_000), "and to the first pass");
        assert_eq!(pieces[2].to, ts(3_000));
        assert!(pieces.windows(2).all(|w| w[0].to == w[1].from), "no hole: {pieces:?}");
    }

    #[test]
    fn what_nobody_saw_stays_unknown() {
        let policy = Policy::defaults(60_000, 10_000, 3);
        let live = Live { folded_at: 1_000_000, state: State::Unknown, ..Live::default() };
        let gap = Gap { from: ts(1_000), to: ts(3_000), incident: None };
        let pieces = replay(live, &policy, 0, &seats(), &reports(900, 1_400, 0..0), &gap);
        assert_eq!(pieces.first().map(|p| p.state), Some(State::Up));
        let last = pieces.last().expect("pieces");
        assert_eq!((last.state, last.to), (State::Unknown, ts(3_000)), "{pieces:?}");
    }
}
