//! One timeline per monitor (spec: slo 3.3): every instant has exactly one condition, so that the seven
//! totals of any span add up to its length.

use crate::domain::Millis;
use crate::domain::availability::Stretch;
use crate::domain::decision::State;

/// What holds at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Up,
    /// Reached from most locations, not from all.
    Partial,
    Down,
    /// Nobody knows: no fresh votes, no coordinator, nothing stored.
    Unknown,
    /// Within maintenance that is left out of figures.
    Excluded,
    Paused,
    /// Before there was a monitor, or after.
    NotMonitored,
}

/// A stretch `[from, to)` of one condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub from: Millis,
    pub to: Millis,
    pub condition: Condition,
    /// Up, but slow or failing now and then.
    pub degraded: bool,
    /// Up, because failures were too few in a row to be confirmed.
    pub suppressed: bool,
}

impl Piece {
    pub fn new(from: Millis, to: Millis, condition: Condition) -> Self {
        Self { from, to, condition, degraded: false, suppressed: false }
    }

    fn continues(&self, next: &Self) -> bool {
        (self.condition, self.degraded, self.suppressed)
            == (next.condition, next.degraded, next.suppressed)
    }
}

/// Pieces in order without gaps, from one instant to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    pieces: Vec<Piece>,
}

impl Timeline {
    /// Covers `[from, to)`; what no piece covers is unknown, what reaches beyond is cut. `pieces` are in
    /// order and do not overlap.
    pub fn new(from: Millis, to: Millis, pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut timeline = Self { pieces: Vec::new() };
        let mut at = from;
        for piece in pieces {
            let piece = Piece { from: piece.from.max(at), to: piece.to.min(to), ..piece };
            if piece.from < piece.to {
                timeline.push(Piece::new(at, piece.from, Condition::Unknown));
                timeline.push(piece);
                at = piece.to;
            }
        }
        timeline.push(Piece::new(at, to, Condition::Unknown));
        timeline
    }

    /// The decisions about a monitor as conditions. `not_running` are spans in which no coordinator
    /// swept; they and stale evidence are unknown whatever was decided, a pause stays a pause.
    pub fn decided(from: Millis, to: Millis, stretches: &[Stretch], not_running: &Spans) -> Self {
        let piece = |s: &Stretch| Piece {
            degraded: s.state == State::Degraded && !s.evidence_stale,
            ..Piece::new(s.from, s.to.unwrap_or(to), condition_of(s))
        };
        Self::new(from, to, stretches.iter().map(piece)).laid_over(not_running, |piece| match piece
            .condition
        {
            Condition::Paused => piece,
            _ => Piece::new(piece.from, piece.to, Condition::Unknown),
        })
    }

    /// Left-out maintenance over everything but time without a monitor.
    pub fn excluding(&self, excluded: &Spans) -> Self {
        self.laid_over(excluded, |piece| match piece.condition {
            Condition::NotMonitored => piece,
            _ => Piece::new(piece.from, piece.to, Condition::Excluded),
        })
    }

    /// There was a monitor only from `created` to `deleted`.
    pub fn monitored(&self, created: Option<Millis>, deleted: Option<Millis>) -> Self {
        let outside = Spans::union([
            (Millis::MIN, created.unwrap_or(Millis::MIN)),
            (deleted.unwrap_or(Millis::MAX), Millis::MAX),
        ]);
        self.laid_over(&outside, |piece| Piece::new(piece.from, piece.to, Condition::NotMonitored))
    }

    /// The same timeline with something else wherever `spans` cover it.
    pub fn laid_over(&self, spans: &Spans, change: impl Fn(Piece) -> Piece) -> Self {
        let mut out = Self { pieces: Vec::with_capacity(self.pieces.len() + 2 * spans.0.len()) };
        let mut next = 0;
        for piece in &self.pieces {
            let mut at = piece.from;
            while spans.0.get(next).is_some_and(|span| span.1 <= at) {
                next += 1;
            }
            for &(from, to) in spans.0.get(next..).unwrap_or_default() {
                if from >= piece.to {
                    break;
                }
                let (from, to) = (from.max(at), to.min(piece.to));
                out.push(Piece { from: at, to: from, ..*piece });
                out.push(change(Piece { from, to, ..*piece }));
                at = to;
            }
            out.push(Piece { from: at, ..*piece });
        }
        out
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The pieces within `[from, to)`, cut to it.
    pub fn within(&self, from: Millis, to: Millis) -> impl Iterator<Item = Piece> + '_ {
        let first = self.pieces.partition_point(|piece| piece.to <= from);
        let rest = self.pieces.get(first..).unwrap_or_default().iter();
        rest.take_while(move |piece| piece.from < to).map(move |piece| Piece {
            from: piece.from.max(from),
            to: piece.to.min(to),
            ..*piece
        })
    }

    /// What holds at an instant; none outside the timeline.
    pub fn at(&self, instant: Millis) -> Option<Condition> {
        self.within(instant, instant.saturating_add(1)).next().map(|piece| piece.condition)
    }

    /// Time per condition in `[from, to)`. What lies outside the timeline is unknown.
    pub fn totals(&self, from: Millis, to: Millis) -> Totals {
        let mut totals = Totals::default();
        let mut covered = 0;
        for piece in self.within(from, to) {
            totals.add(&piece);
            covered += piece.to - piece.from;
        }
        totals.unknown += (to - from).max(0) - covered;
        totals
    }

    fn push(&mut self, piece: Piece) {
        if piece.from >= piece.to {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.to == piece.from && last.continues(&piece) => last.to = piece.to,
            _ => self.pieces.push(piece),
        }
    }
}

fn condition_of(stretch: &Stretch) -> Condition {
    match stretch.state {
        State::Paused => Condition::Paused,
        _ if stretch.evidence_stale => Condition::Unknown,
        State::Up | State::Degraded => Condition::Up,
        State::Partial => Condition::Partial,
        State::Down => Condition::Down,
        State::Pending | State::Unknown => Condition::Unknown,
    }
}

/// Milliseconds per condition: seven that add up to the length of the span, and two that are contained
/// in `up`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub up: Millis,
    pub partial: Millis,
    pub down: Millis,
    pub unknown: Millis,
    pub excluded: Millis,
    pub paused: Millis,
    pub not_monitored: Millis,
    /// Contained in `up`.
    pub degraded: Millis,
    /// Contained in `up`.
    pub suppressed: Millis,
}

impl Totals {
    fn add(&mut self, piece: &Piece) {
        let length = piece.to - piece.from;
        let slot = match piece.condition {
            Condition::Up => &mut self.up,
            Condition::Partial => &mut self.partial,
            Condition::Down => &mut self.down,
            Condition::Unknown => &mut self.unknown,
            Condition::Excluded => &mut self.excluded,
            Condition::Paused => &mut self.paused,
            Condition::NotMonitored => &mut self.not_monitored,
        };
        *slot += length;
        self.degraded += if piece.degraded { length } else { 0 };
        self.suppressed += if piece.suppressed { length } else { 0 };
    }

    /// Of two spans that do not overlap.
    pub fn plus(self, other: &Self) -> Self {
        Self {
            up: self.up + other.up,
            partial: self.partial + other.partial,
            down: self.down + other.down,
            unknown: self.unknown + other.unknown,
            excluded: self.excluded + other.excluded,
            paused: self.paused + other.paused,
            not_monitored: self.not_monitored + other.not_monitored,
            degraded: self.degraded + other.degraded,
            suppressed: self.suppressed + other.suppressed,
        }
    }

    /// The sum of the seven: the length of the span.
    pub fn elapsed(&self) -> Millis {
        self.measured() + self.unknown + self.excluded + self.paused + self.not_monitored
    }

    /// Time of which it is known how it was.
    pub fn measured(&self) -> Millis {
        self.up + self.partial + self.down
    }
}

/// Half-open spans in order, without overlaps or gaps of nothing between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(Millis, Millis)>);

impl Spans {
    /// Any spans, taken together.
    pub fn union(spans: impl IntoIterator<Item = (Millis, Millis)>) -> Self {
        let mut list: Vec<_> = spans.into_iter().filter(|(from, to)| from < to).collect();
        list.sort_unstable();
        let mut out: Vec<(Millis, Millis)> = Vec::with_capacity(list.len());
        for (from, to) in list {
            match out.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => out.push((from, to)),
            }
        }
        Self(out)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Millis, Millis)> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contain(&self, at: Millis) -> bool {
        let next = self.0.partition_point(|span| span.1 <= at);
        self.0.get(next).is_some_and(|span| span.0 <= at)
    }

    /// What of `[from, to)` they cover.
    pub fn within(&self, from: Millis, to: Millis) -> impl Iterator<Item = (Millis, Millis)> + '_ {
        let first = self.0.partition_point(|span| span.1 <= from);
        let rest = self.0.get(first..).unwrap_or_default().iter();
        rest.take_while(move |span| span.0 < to).map(move |span| (span.0.max(from), span.1.min(to)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretch(from: Millis, to: Millis, state: State) -> Stretch {
        Stretch { from, to: Some(to), state, evidence_stale: false }
    }

    #[test]
    fn gaps_are_unknown_and_what_wins_lies_on_top() {
        let stretches = [
            stretch(-50, 100, State::Up),
            stretch(100, 150, State::Down),
            stretch(160, 200, State::Paused),
            Stretch { from: 300, to: None, state: State::Degraded, evidence_stale: false },
        ];
        let decided = Timeline::decided(0, 400, &stretches, &Spans::union([(90, 170)]));
        let totals = decided.totals(0, 400);
        assert_eq!((totals.up, totals.down, totals.paused), (190, 0, 40));
        assert_eq!((totals.unknown, totals.degraded), (170, 100));
        let excluding = decided.excluding(&Spans::union([(180, 320)]));
        let totals = excluding.totals(0, 400);
        assert_eq!((totals.up, totals.paused, totals.excluded), (170, 20, 140), "over a pause too");
        let monitored = excluding.monitored(Some(200), Some(350)).totals(0, 400);
        assert_eq!((monitored.not_monitored, monitored.excluded, monitored.up), (250, 120, 30));
        assert_eq!(monitored.elapsed(), 400);
        assert_eq!(decided.totals(-10, 10).unknown, 10, "outside nothing is known");
    }

    #[test]
    fn stale_evidence_is_unknown_and_not_degraded() {
        let stale = Stretch { evidence_stale: true, ..stretch(0, 50, State::Degraded) };
        let totals = Timeline::decided(0, 50, &[stale], &Spans::default()).totals(0, 50);
        assert_eq!((totals.unknown, totals.degraded), (50, 0));
    }

    #[test]
    fn spans_are_taken_together() {
        let spans = Spans::union([(5, 9), (0, 3), (3, 4), (8, 12), (20, 20)]);
        assert_eq!(spans.iter().collect::<Vec<_>>(), [(0, 4), (5, 12)]);
        assert!(spans.contain(3) && !spans.contain(4) && spans.contain(5) && !spans.contain(12));
        assert_eq!(spans.within(2, 6).collect::<Vec<_>>(), [(2, 4), (5, 6)]);
    }

    proptest! {
        /// The invariant: at every instant exactly one of the seven holds.
        #[test]
        fn the_seven_totals_add_up_to_the_elapsed_time(
            lengths in prop::collection::vec((0_i64..50, 0_usize..7, any::<bool>(), 0_i64..20), 0..14),
            holes in prop::collection::vec((0_i64..400, 0_i64..60), 0..4),
            windows in prop::collection::vec((0_i64..400, 0_i64..60), 0..4),
            created in prop::option::of(0_i64..300), deleted in prop::option::of(200_i64..500),
            from in -20_i64..400, length in 0_i64..400,
        ) {
            let states = [State::Pending, State::Up, State::Degraded, State::Partial, State::Down, State::Unknown, State::Paused];
            let mut at = 0;
            let mut list = Vec::new();
            for (length, state, stale, gap) in lengths {
                list.push(Stretch { evidence_stale: stale, ..stretch(at, at + length, states[state]) });
                at += length + gap;
            }
            let spans = |list: Vec<(i64, i64)>| Spans::union(list.into_iter().map(|(a, l)| (a, a + l)));
            let timeline = Timeline::decided(0, 400, &list, &spans(holes))
                .excluding(&spans(windows))
                .monitored(created, deleted);
            let totals = timeline.totals(from, from + length);
            prop_assert_eq!(totals.elapsed(), length);
            prop_assert!(totals.degraded + totals.suppressed <= totals.up);
            for pair in timeline.pieces().windows(2) {
                prop_assert_eq!(pair[0].to, pair[1].from);
                prop_assert!(!pair[0].continues(&pair[1]));
            }
            // Any cut gives parts that add up.
            let middle = from + length / 2;
            let (left, right) = (timeline.totals(from, middle), timeline.totals(middle, from + length));
            prop_assert_eq!(left.down + right.down, totals.down);
            prop_assert_eq!(left.excluded + right.excluded, totals.excluded);
        }
    }
}
