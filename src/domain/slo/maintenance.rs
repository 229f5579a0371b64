//! Which maintenance is left out of figures (spec: slo 3.10 and decision 5.8).

use super::timeline::{Spans, Timeline};
use crate::domain::Millis;

/// One occurrence, or an entry made afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub id: String,
    pub start: Millis,
    pub end: Millis,
    pub kind: Kind,
    /// Whether it is left out of figures, or only shown.
    pub excludes: bool,
    /// Declared while running it is left out from then on only. None: in time.
    pub declared_at: Option<Millis>,
    pub reason: String,
    /// Covers the results of these locations only; none is the whole monitor.
    pub locations: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Planned,
    /// Entered afterwards, with a reason: listed apart, and covers all of its span.
    Correction,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Correction => "correction",
        }
    }
}

impl Occurrence {
    /// What it leaves out: nothing, all of it, or what came after it was declared.
    pub fn span(&self) -> Option<(Millis, Millis)> {
        let start = match (self.kind, self.declared_at) {
            (Kind::Planned, Some(declared)) => self.start.max(declared),
            _ => self.start,
        };
        (self.excludes && start < self.end).then_some((start, self.end))
    }
}

/// The spans that are left out of the whole monitor, taken together.
pub fn excluded(list: &[Occurrence]) -> Spans {
    Spans::union(list.iter().filter(|m| m.locations.is_none()).filter_map(Occurrence::span))
}

/// The spans in which the results of a location do not count, beside those of the whole monitor.
pub fn excluded_at(list: &[Occurrence], location: &str) -> Spans {
    let covers = |m: &&Occurrence| {
        m.locations.as_ref().is_some_and(|names| names.iter().any(|name| name == location))
    };
    Spans::union(list.iter().filter(covers).filter_map(Occurrence::span))
}

/// Milliseconds of `[from, to)` that each occurrence left out, in the order of the list. What several
/// cover is credited to the planned one that began first, so that these add up to the excluded time.
pub fn credited(list: &[Occurrence], timeline: &Timeline, from: Millis, to: Millis) -> Vec<Millis> {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|i| list.get(*i).map(|m| (m.kind == Kind::Correction, m.start, m.end)));
    let mut before = Spans::default();
    let mut out = vec![0; list.len()];
    for index in order {
        let Some(occurrence) = list.get(index).filter(|m| m.locations.is_none()) else { continue };
        let Some(span) = occurrence.span() else { continue };
        let taken = |spans: &Spans| {
            let pieces = spans.within(from, to);
            pieces.map(|(a, b)| timeline.totals(a, b).excluded).sum::<Millis>()
        };
        let after = Spans::union(before.iter().chain([span]));
        if let Some(slot) = out.get_mut(index) {
            *slot = taken(&after) - taken(&before);
        }
        before = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{Condition, Piece};
    use super::*;

    fn planned(start: Millis, end: Millis, declared_at: Option<Millis>) -> Occurrence {
        Occurrence {
            id: String::new(),
            start,
            end,
            kind: Kind::Planned,
            excludes: true,
            declared_at,
            reason: String::new(),
            locations: None,
        }
    }

    #[test]
    fn what_was_declared_late_is_left_out_from_then_on() {
        assert_eq!(planned(100, 200, None).span(), Some((100, 200)));
        assert_eq!(planned(100, 200, Some(99)).span(), Some((100, 200)));
        assert_eq!(planned(100, 200, Some(150)).span(), Some((150, 200)));
        assert_eq!(planned(100, 200, Some(200)).span(), None);
        let correction = Occurrence { kind: Kind::Correction, ..planned(100, 200, Some(500)) };
        assert_eq!(correction.span(), Some((100, 200)));
        let label = Occurrence { excludes: false, ..planned(100, 200, None) };
        assert_eq!(label.span(), None);
    }

    #[test]
    fn what_several_cover_is_credited_once() {
        let list = [
            Occurrence { kind: Kind::Correction, ..planned(0, 100, None) },
            planned(50, 150, None),
            planned(140, 160, None),
            Occurrence { locations: Some(vec!["eu".into()]), ..planned(0, 500, None) },
        ];
        let base = Timeline::new(0, 1_000, [Piece::new(0, 1_000, Condition::Up)]);
        let timeline = base.excluding(&excluded(&list));
        assert_eq!(credited(&list, &timeline, 20, 1_000), [30, 100, 10, 0]);
        assert_eq!(timeline.totals(20, 1_000).excluded, 140);
        assert_eq!(excluded_at(&list, "eu").iter().collect::<Vec<_>>(), [(0, 500)]);
        assert!(excluded_at(&list, "us").is_empty());
    }
}
