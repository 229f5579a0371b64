//! Raw results as they are stored, and what late ones touch.

use jiff::{SignedDuration, Timestamp};

use super::{Refusal, ReportBatch, Reported};
use crate::domain::Millis;
use crate::domain::decision::{Disposition, HistoryOnly, Seen};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::location::{effective_time, round_trip};
use crate::domain::observation::RunKind;
use crate::store::reports::{DetailRow, ReportRow};

/// Late reports up to this age are refolded into stretches that are stored as unknown.
const REFOLD: SignedDuration = SignedDuration::from_hours(24);
/// A transaction is over in this time, and the clocks of two coordinators are not further apart.
const COMMIT: SignedDuration = SignedDuration::from_secs(10);

/// A start that lies further ahead than this cannot be a rounding of clocks.
const FUTURE: SignedDuration = SignedDuration::from_secs(5);

/// A report that will be stored.
pub(super) struct Fresh<'a> {
    pub(super) seq: i64,
    pub(super) report: &'a Reported,
    /// Effective time.
    pub(super) at: Timestamp,
}

pub(super) fn report_row(
    monitor: MonitorKey,
    location: LocationKey,
    fresh: &Fresh<'_>,
    disposition: Disposition,
    now: Timestamp,
) -> ReportRow {
    let observation = &fresh.report.observation;
    let phases = &observation.phases_us;
    let us = |v: Option<u32>| v.map(|v| i32::try_from(v).unwrap_or(i32::MAX));
    ReportRow {
        effective_at: fresh.at,
        monitor,
        check_version: i32::try_from(fresh.report.check_version).unwrap_or(i32::MAX),
        resolve_us: us(phases.resolve),
        connect_us: us(phases.connect),
        tls_us: us(phases.tls),
        first_byte_us: us(phases.first_byte),
        transfer_us: us(phases.transfer),
        total_us: us(Some(phases.total)).unwrap_or(0),
        size_bytes: observation.size.map(|v| i32::try_from(v).unwrap_or(i32::MAX)),
        location,
        outcome: observation.outcome.code(),
        class: observation.class.map_or(0, |c| c.code()),
        status: observation.status.and_then(|s| i16::try_from(s).ok()),
        kind: fresh.report.kind.code(),
        disposition: disposition.code(),
        late_ms: i32::try_from(now.as_millisecond() - fresh.at.as_millisecond()).ok(),
    }
}

pub(super) fn detail_row(
    monitor: MonitorKey,
    location: LocationKey,
    fresh: &Fresh<'_>,
) -> DetailRow {
    // Postgres' jsonb cannot hold the NUL character, which a body may well contain.
    let detail =
        serde_json::to_string(&fresh.report.observation).unwrap_or_else(|_| "{}".to_owned());
    let detail = detail.replace("\\u0000", "\\ufffd");
    DetailRow { effective_at: fresh.at, monitor, location, detail }
}

/// The quarter hours that must be counted again because this report belongs to them and they were
/// counted already, or are counted before this transaction is seen. A retry may also end an event of the
/// quarter before its own.
pub(super) fn late_quarters(
    fresh: &Fresh<'_>,
    now: Timestamp,
) -> impl Iterator<Item = Timestamp> + use<> {
    use crate::domain::rollup::{is_closed, quarter_of};
    let own = quarter_of(fresh.at);
    let before = (fresh.report.kind == RunKind::Retry)
        .then(|| quarter_of(fresh.at - SignedDuration::from_secs(600)));
    let soon = now.saturating_add(COMMIT).unwrap_or(now);
    before.into_iter().chain([own]).filter(move |quarter| is_closed(*quarter, soon))
}

/// The span of reports that came too late to vote but may tell what happened in an unknown stretch.
pub(super) fn late_span(
    list: &[Fresh<'_>],
    folded: &[Disposition],
    now: Timestamp,
) -> Option<(Timestamp, Timestamp)> {
    let late = list.iter().zip(folded).filter(|(fresh, disposition)| {
        matches!(disposition, Disposition::History(HistoryOnly::TooOld | HistoryOnly::OutOfOrder))
            && now.duration_since(fresh.at) <= REFOLD
    });
    let times = late.map(|(fresh, _)| fresh.at);
    Some((times.clone().min()?, times.max()?))
}

/// When the attempt began, by our clock.
pub(super) fn effective_at(
    report: &Reported,
    delivery: &ReportBatch,
    now: Timestamp,
) -> Result<Timestamp, Refusal> {
    let (age, rtt) = (report.age_at_send_ms, delivery.rtt_ms.clamp(0.0, 60_000.0));
    if !age.is_finite() || !rtt.is_finite() || age.abs() > 1e12 {
        return Err(Refusal::BadReport);
    }
    let sent_at = delivery.sent_at.map(Timestamp::as_millisecond);
    let held_up = round_trip(now.as_millisecond(), sent_at, rtt as i64);
    let rtt_us = if held_up > rtt as i64 { held_up * 1000 } else { (rtt * 1000.0) as i64 };
    let age_us = (age * 1000.0) as i64;
    let at = effective_time(now.as_microsecond(), age_us, rtt_us);
    let at = Timestamp::from_microsecond(at).map_err(|_| Refusal::TooOld)?;
    if at.duration_since(now) > FUTURE { Err(Refusal::Future) } else { Ok(at.min(now)) }
}

pub(super) fn seen_of(location: LocationKey, list: &[Fresh<'_>], now: Timestamp) -> Vec<Seen> {
    list.iter()
        .map(|fresh| {
            let observation = &fresh.report.observation;
            Seen {
                received: now.as_millisecond(),
                class: observation.class,
                latency_ms: Millis::from(observation.phases_us.total.div_ceil(1000)),
                kind: fresh.report.kind,
                check_version: fresh.report.check_version,
                age_estimated: fresh.report.age_estimated,
                address: observation.address.clone(),
                status: observation.status,
                ..Seen::new(location, fresh.at.as_millisecond(), observation.outcome)
            }
        })
        .collect()
}
