//! Outages and the figures made from them (spec: slo 3.11 and its settled points).

use serde::{Deserialize, Serialize};

use super::timeline::{Condition, Timeline};
use crate::domain::Millis;

/// From the first to the last instant of down without up, partial, a pause or an end of monitoring
/// between. Unknown time inside neither ends it nor is downtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: Millis,
    /// Behind the last instant of down.
    pub end: Millis,
    /// Something ended it. Otherwise it goes on, as far as is known.
    pub closed: bool,
}

/// An incident as stored; several outages may lie in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub id: String,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// When it was decided.
    pub opened_at: Millis,
    pub acked_at: Option<Millis>,
}

/// An outage as a window sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub start: Millis,
    /// None while it goes on.
    pub end: Option<Millis>,
    /// From its start to its end, or to the last instant of down that is known, whatever the window.
    pub full: Millis,
    /// Within the window.
    pub downtime: Millis,
    pub excluded: Millis,
    pub unknown: Millis,
    pub incident: Option<String>,
}

/// Milliseconds, or numbers of outages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportFigures)]
pub struct Figures {
    /// With downtime in the window.
    pub count: u64,
    /// Of these, begun in the window.
    pub started: u64,
    /// Of these, ended in the window.
    pub resolved: u64,
    /// Of these, not ended at all.
    pub open: u64,
    pub longest_ms: Option<Millis>,
    pub longest_full_ms: Option<Millis>,
    /// Mean full duration of the resolved ones.
    pub mttr_ms: Option<Millis>,
    /// Measured time without downtime, per outage begun.
    pub mtbf_ms: Option<Millis>,
    /// Mean from the start to the decision.
    pub mttd_ms: Option<Millis>,
    /// Mean from the decision to the acknowledgement, of those acknowledged.
    pub mtta_ms: Option<Millis>,
}

/// The outages of a timeline before maintenance is cut out.
pub fn spans(base: &Timeline) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for piece in base.pieces() {
        match (piece.condition, out.last_mut().filter(|span| !span.closed)) {
            (Condition::Down, Some(open)) => open.end = piece.to,
            (Condition::Down, None) => {
                out.push(Span { start: piece.from, end: piece.to, closed: false });
            }
            (Condition::Unknown | Condition::Excluded, _) | (_, None) => {}
            (_, Some(open)) => open.closed = true,
        }
    }
    out
}

/// The outages that have downtime in `[from, to)` of a timeline with maintenance cut out.
pub fn in_window(
    spans: &[Span],
    figures: &Timeline,
    incidents: &[Incident],
    from: Millis,
    to: Millis,
) -> Vec<Outage> {
    let touching = spans.iter().filter(|span| span.start < to && span.end > from);
    let seen = touching.map(|span| {
        let totals = figures.totals(span.start.max(from), span.end.min(to));
        let incident = incidents.iter().find(|incident| {
            incident.started_at < span.end && incident.ended_at.is_none_or(|end| end > span.start)
        });
        Outage {
            start: span.start,
            end: span.closed.then_some(span.end),
            full: span.end - span.start,
            downtime: totals.down,
            excluded: totals.excluded,
            unknown: totals.unknown,
            incident: incident.map(|incident| incident.id.clone()),
        }
    });
    seen.filter(|outage| outage.downtime > 0).collect()
}

/// `uptime`: measured time less downtime.
pub fn figures(
    outages: &[Outage],
    incidents: &[Incident],
    uptime: Millis,
    from: Millis,
    to: Millis,
) -> Figures {
    let started = outages.iter().filter(|o| from <= o.start && o.start < to).count() as u64;
    let resolved: Vec<Millis> = outages
        .iter()
        .filter(|o| o.end.is_some_and(|end| from < end && end <= to))
        .map(|o| o.full)
        .collect();
    let rows: Vec<(&Outage, &Incident)> = outages
        .iter()
        .filter_map(|o| {
            let id = o.incident.as_ref()?;
            Some((o, incidents.iter().find(|incident| incident.id == *id)?))
        })
        .collect();
    // An outage that began when its incident was open already was not found anew.
    let found = rows.iter().map(|(o, incident)| incident.opened_at - o.start).filter(|t| *t >= 0);
    // Several outages may share a row, which was acknowledged once.
    let mut acknowledged: Vec<&Incident> = rows.iter().map(|(_, incident)| *incident).collect();
    acknowledged.dedup_by_key(|incident| &incident.id);
    let acked = acknowledged
        .iter()
        .filter_map(|incident| Some((incident.acked_at? - incident.opened_at).max(0)));
    Figures {
        count: outages.len() as u64,
        started,
        resolved: resolved.len() as u64,
        open: outages.iter().filter(|o| o.end.is_none()).count() as u64,
        longest_ms: outages.iter().map(|o| o.downtime).max(),
        longest_full_ms: outages.iter().map(|o| o.full).max(),
        mttr_ms: mean(resolved),
        mtbf_ms: (started > 0).then(|| uptime / started as i64),
        mttd_ms: mean(found),
        mtta_ms: mean(acked),
    }
}

/// How many incidents have downtime in the window. Without any on record each outage stands for one.
pub fn incidents_with_downtime(
    incidents: &[Incident],
    outages: &[Outage],
    figures: &Timeline,
    from: Millis,
    to: Millis,
) -> u64 {
    if incidents.is_empty() {
        return outages.len() as u64;
    }
    let down = |incident: &&Incident| {
        let end = incident.ended_at.unwrap_or(to).min(to);
        let start = incident.started_at.max(from);
        start < end && figures.totals(start, end).down > 0
    };
    incidents.iter().filter(down).count() as u64
}

/// Whole milliseconds, cut off; none of nothing.
fn mean(values: impl IntoIterator<Item = Millis>) -> Option<Millis> {
    let (sum, count) =
        values.into_iter().fold((0_i128, 0_i128), |(sum, n), v| (sum + i128::from(v), n + 1));
    (count > 0).then(|| i64::try_from(sum / count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{Piece, Spans};
    use super::*;
    use Condition::{Down, Partial, Paused, Unknown, Up};

    fn line(parts: &[(Millis, Condition)]) -> Timeline {
        let mut at = 0;
        let pieces: Vec<Piece> = parts
            .iter()
            .map(|(length, condition)| {
                at += length;
                Piece::new(at - length, at, *condition)
            })
            .collect();
        Timeline::new(0, at, pieces)
    }

    #[test]
    fn unknown_time_inside_does_not_end_an_outage_and_a_pause_does() {
        let base = line(&[
            (10, Up),
            (10, Down),
            (5, Unknown),
            (5, Down),
            (10, Unknown),
            (10, Partial),
            (10, Down),
            (10, Paused),
            (10, Down),
            (10, Unknown),
        ]);
        let found = spans(&base);
        let plain: Vec<_> = found.iter().map(|s| (s.start, s.end, s.closed)).collect();
        assert_eq!(plain, [(10, 30, true), (50, 60, true), (70, 80, false)]);
        let outages = in_window(&found, &base, &[], 0, 90);
        assert_eq!((outages[0].full, outages[0].downtime, outages[0].unknown), (20, 15, 5));
        let figures = figures(&outages, &[], 20, 0, 90);
        assert_eq!((figures.count, figures.started, figures.resolved, figures.open), (3, 3, 2, 1));
        assert_eq!((figures.mttr_ms, figures.mtbf_ms), (Some(15), Some(6)));
    }

    #[test]
    fn an_outage_within_maintenance_is_none_of_the_window() {
        let base = line(&[(10, Up), (20, Down), (30, Up), (10, Down), (30, Up)]);
        let figures = base.excluding(&Spans::union([(5, 40), (65, 100)]));
        let outages = in_window(&spans(&base), &figures, &[], 0, 100);
        assert_eq!(outages.len(), 1);
        assert_eq!((outages[0].start, outages[0].downtime, outages[0].excluded), (60, 5, 5));
    }

    #[test]
    fn an_incident_that_holds_two_outages_counts_once() {
        let base = line(&[(10, Up), (10, Down), (5, Partial), (10, Down), (65, Up)]);
        let incidents = [Incident {
            id: "i1".into(),
            started_at: 10,
            ended_at: Some(35),
            opened_at: 14,
            acked_at: Some(30),
        }];
        let outages = in_window(&spans(&base), &base, &incidents, 0, 100);
        let figures = figures(&outages, &incidents, 80, 0, 100);
        assert_eq!((figures.count, figures.mttd_ms, figures.mtta_ms), (2, Some(4), Some(16)));
        assert_eq!(incidents_with_downtime(&incidents, &outages, &base, 0, 100), 1);
        assert_eq!(incidents_with_downtime(&[], &outages, &base, 0, 100), 2);
        assert_eq!(incidents_with_downtime(&incidents, &outages, &base, 50, 100), 0);
    }
}
