//! Several monitors as one (spec: slo 3.8): instant by instant on their timelines, never on averages.

use super::timeline::{Condition, Piece, Timeline};
use crate::domain::Millis;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Composite {
    /// All are needed: one that is down takes the whole down.
    AnyDown,
    /// One is enough: a redundant pair.
    AllDown,
}

impl Composite {
    pub fn name(self) -> &'static str {
        match self {
            Self::AnyDown => "any_down",
            Self::AllDown => "all_down",
        }
    }

    /// The timeline of the whole over `[from, to)`. Members that are paused, in maintenance or not there
    /// are left out; the whole is so only when all of them are.
    pub fn timeline(self, members: &[Timeline], from: Millis, to: Millis) -> Timeline {
        let inner = members.iter().flat_map(|m| m.within(from, to).map(|piece| piece.from));
        let mut cuts: Vec<Millis> = inner.chain([from, to]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut walks: Vec<_> = members.iter().map(|m| m.within(from, to).peekable()).collect();
        let mut here: Vec<Piece> = Vec::with_capacity(members.len());
        let mut pieces = Vec::with_capacity(cuts.len());
        for cut in cuts.windows(2) {
            let &[begin, end] = cut else { continue };
            here.clear();
            for walk in &mut walks {
                while walk.next_if(|piece| piece.to <= begin).is_some() {}
                let unknown = Piece::new(begin, end, Condition::Unknown);
                here.push(
                    walk.peek().filter(|piece| piece.from <= begin).copied().unwrap_or(unknown),
                );
            }
            pieces.push(Piece { from: begin, to: end, ..self.together(&here) });
        }
        Timeline::new(from, to, pieces)
    }

    fn together(self, members: &[Piece]) -> Piece {
        use Condition::{Down, Excluded, NotMonitored, Partial, Paused, Unknown, Up};
        let counts = |m: &&Piece| !matches!(m.condition, Excluded | Paused | NotMonitored);
        let some = |c: Condition| members.iter().any(|m| m.condition == c);
        let up = members.iter().filter(|m| m.condition == Up);
        let condition = if !members.iter().any(|m| counts(&m)) {
            match (some(Paused), some(Excluded)) {
                (true, _) => Paused,
                (false, true) => Excluded,
                (false, false) => NotMonitored,
            }
        } else {
            match self {
                Self::AnyDown => {
                    [Down, Unknown, Partial].into_iter().find(|c| some(*c)).unwrap_or(Up)
                }
                Self::AllDown if some(Up) || some(Partial) => Up,
                Self::AllDown if some(Unknown) => Unknown,
                Self::AllDown => Down,
            }
        };
        let degraded = match self {
            Self::AnyDown => up.clone().any(|m| m.degraded),
            // Degraded when nobody is better.
            Self::AllDown => some(Up) && up.clone().all(|m| m.degraded),
        };
        Piece { degraded: degraded && condition == Up, ..Piece::new(0, 0, condition) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Condition::{Down, Excluded, NotMonitored, Partial, Paused, Unknown, Up};

    fn of(rule: Composite, members: &[Condition]) -> Condition {
        let lines: Vec<Timeline> =
            members.iter().map(|c| Timeline::new(0, 10, [Piece::new(0, 10, *c)])).collect();
        rule.timeline(&lines, 0, 10).at(5).unwrap()
    }

    #[test]
    fn the_worst_or_the_best_member_decides() {
        let any = |members: &[Condition]| of(Composite::AnyDown, members);
        assert_eq!(any(&[Up, Unknown, Down]), Down);
        assert_eq!(any(&[Up, Unknown, Partial]), Unknown);
        assert_eq!(any(&[Up, Partial]), Partial);
        assert_eq!(any(&[Up, Excluded, Paused]), Up, "who is left out has no say");
        let all = |members: &[Condition]| of(Composite::AllDown, members);
        assert_eq!(all(&[Down, Partial]), Up);
        assert_eq!(all(&[Down, Unknown]), Unknown);
        assert_eq!(all(&[Down, Down, Excluded]), Down);
        for rule in [Composite::AnyDown, Composite::AllDown] {
            assert_eq!(of(rule, &[Excluded, Excluded]), Excluded);
            assert_eq!(of(rule, &[Excluded, Paused]), Paused);
            assert_eq!(of(rule, &[Excluded, NotMonitored]), Excluded);
            assert_eq!(of(rule, &[NotMonitored]), NotMonitored);
        }
    }

    #[test]
    fn each_instant_is_judged_by_itself() {
        let down = |from, to| {
            let up = |a, b| Piece::new(a, b, Up);
            Timeline::new(0, 100, [up(0, from), Piece::new(from, to, Down), up(to, 100)])
        };
        let members = [down(10, 30), down(20, 50)];
        assert_eq!(Composite::AnyDown.timeline(&members, 0, 100).totals(0, 100).down, 40);
        assert_eq!(Composite::AllDown.timeline(&members, 0, 100).totals(0, 100).down, 10);
    }
}
