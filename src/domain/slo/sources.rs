//! Where the results of a span are read from: one by one where a figure has an edge, as sums everywhere else.
//! A sum counts the same events as the results that it was made of, so that a figure is exact to the event as
//! long as results are kept around its edges.

use super::timeline::Spans;
use super::window::DAY;
use crate::domain::Millis;

const QUARTER: Millis = 900_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Each result.
    Raw,
    /// Sums of quarter hours.
    Quarter,
    /// Sums of days in UTC.
    Day,
}

/// What is kept.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// Results from here on.
    pub raw_from: Millis,
    /// Sums up to here.
    pub summed_to: Millis,
}

/// What is asked of a span.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub from: Millis,
    pub to: Millis,
    /// Results that are expected in an hour.
    pub per_hour: u64,
    /// Figures begin and end at edges and at midnights of UTC only, so that whole days of sums are enough.
    pub by_days: bool,
}

/// So many results are read one by one rather than as sums, for exact percentiles.
const FEW: u64 = 20_000;

/// Adjoining parts that cover a span in order. `edges` are instants at which a figure begins or ends.
pub fn sources(wanted: Wanted, kept: Kept, edges: &mut [Millis]) -> Vec<(Grain, Millis, Millis)> {
    let Wanted { from, to, per_hour, by_days } = wanted;
    let mut out: Vec<(Grain, Millis, Millis)> = Vec::new();
    let hours = (to - from).max(0) as u64 / 3_600_000 + 1;
    let few = hours.saturating_mul(per_hour) <= FEW;
    edges.sort_unstable();
    let cut = |a: Millis, b: Millis| {
        let next = edges.partition_point(|edge| *edge <= a);
        edges.get(next).is_some_and(|edge| *edge < b)
    };
    let mut at = from;
    while at < to {
        let day = at.div_euclid(DAY) * DAY;
        let quarter = at.div_euclid(QUARTER) * QUARTER;
        let (day_end, quarter_end) = (day + DAY, quarter + QUARTER);
        let whole = |begin: Millis, end: Millis| {
            at == begin && end <= to && end <= kept.summed_to && !cut(begin, end)
        };
        let (grain, end) = if quarter_end <= kept.raw_from {
            if by_days && whole(day, day_end) && day_end <= kept.raw_from {
                (Grain::Day, day_end)
            } else {
                (Grain::Quarter, quarter_end.min(to))
            }
        } else if few {
            (Grain::Raw, to)
        } else if by_days && whole(day, day_end) {
            (Grain::Day, day_end)
        } else if whole(quarter, quarter_end) {
            (Grain::Quarter, quarter_end)
        } else {
            (Grain::Raw, quarter_end.min(to))
        };
        match out.last_mut() {
            Some(last) if last.0 == grain => last.2 = end,
            _ => out.push((grain, at, end)),
        }
        at = end;
    }
    out
}

/// Edges of spans in which nothing counts.
pub fn edges_of(spans: &Spans) -> impl Iterator<Item = Millis> + '_ {
    spans.iter().flat_map(|(from, to)| [from, to])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = 3_600_000;

    fn plan(
        to: Millis,
        per_hour: u64,
        by_days: bool,
        edges: &[Millis],
    ) -> Vec<(Grain, Millis, Millis)> {
        let kept = Kept { raw_from: 20 * DAY, summed_to: 59 * DAY + 10 * HOUR };
        let wanted = Wanted { from: 5 * DAY + 60_000, to, per_hour, by_days };
        sources(wanted, kept, &mut edges.to_vec())
    }

    #[test]
    fn parts_cover_the_span_without_gaps() {
        let end = 59 * DAY + 10 * HOUR + 5 * 60_000;
        for (per_hour, by_days) in [(180, true), (180, false), (1, true), (1, false)] {
            let parts = plan(end, per_hour, by_days, &[30 * DAY + HOUR + 1, 40 * DAY]);
            assert_eq!(parts.first().map(|p| p.1), Some(5 * DAY + 60_000));
            assert_eq!(parts.last().map(|p| p.2), Some(end));
            assert!(parts.windows(2).all(|w| w[0].2 == w[1].1 && w[0].0 != w[1].0), "{parts:?}");
        }
    }

    #[test]
    fn edges_are_read_one_by_one_and_the_rest_as_sums() {
        let end = 59 * DAY + 10 * HOUR + 5 * 60_000;
        let cut = 30 * DAY + HOUR + 1;
        let parts = plan(end, 180, false, &[cut, 40 * DAY]);
        let quarter = 30 * DAY + HOUR;
        let expected = [
            (Grain::Quarter, 5 * DAY + 60_000, quarter),
            (Grain::Raw, quarter, quarter + QUARTER),
            (Grain::Quarter, quarter + QUARTER, 59 * DAY + 10 * HOUR),
            (Grain::Raw, 59 * DAY + 10 * HOUR, end),
        ];
        assert_eq!(parts, expected);
        let parts = plan(end, 180, true, &[cut, 40 * DAY]);
        let days: Millis = parts.iter().filter(|p| p.0 == Grain::Day).map(|p| p.2 - p.1).sum();
        assert_eq!(days, 52 * DAY, "all whole days but the one with the edge");
    }

    #[test]
    fn few_results_are_read_one_by_one_while_they_are_kept() {
        let parts = plan(21 * DAY, 1, false, &[]);
        assert_eq!(parts.last(), Some(&(Grain::Raw, 20 * DAY, 21 * DAY)));
    }
}
