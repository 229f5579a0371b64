//! Time in each state within a span, in whole milliseconds, and what may be said of it in percent.

use super::{
    Millis,
    decision::State,
    slo::{
        outage,
        timeline::{Spans, Timeline},
    },
};

/// A stretch of one state, `[from, to)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from: Millis,
    /// None: it goes on.
    pub to: Option<Millis>,
    pub state: State,
    /// The votes behind it went stale: known to nobody.
    pub evidence_stale: bool,
}

/// Milliseconds per state; they add up to the length of the span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub up: Millis,
    pub degraded: Millis,
    pub partial: Millis,
    pub down: Millis,
    /// Unknown, pending, on stale evidence, without Quorate running, or before there was a monitor.
    pub unknown: Millis,
    pub paused: Millis,
    pub maintenance: Millis,
    /// Outages that began within the span and were not wholly in maintenance.
    pub outages: u32,
}

/// Adds up a span by the engine that every report comes from. `stretches` are in order and do not overlap;
/// `not_running` and `maintenance` (windows that are left out of figures) may overlap each other and anything.
/// Maintenance wins over everything; time without Quorate wins over every state but a pause.
pub fn of(
    from: Millis,
    to: Millis,
    stretches: &[Stretch],
    not_running: impl IntoIterator<Item = (Millis, Millis)>,
    maintenance: impl IntoIterator<Item = (Millis, Millis)>,
) -> Times {
    let earliest = stretches.first().map_or(from, |stretch| stretch.from.min(from));
    let base = Timeline::decided(earliest, to, stretches, &Spans::union(not_running));
    let figures = base.excluding(&Spans::union(maintenance));
    let totals = figures.totals(from, to);
    let outages = outage::in_window(&outage::spans(&base), &figures, &[], from, to);
    let began = outages.iter().filter(|outage| outage.start >= from).count();
    Times {
        up: totals.up - totals.degraded,
        degraded: totals.degraded,
        partial: totals.partial,
        down: totals.down,
        unknown: totals.unknown + totals.not_monitored,
        paused: totals.paused,
        maintenance: totals.excluded,
        outages: u32::try_from(began).unwrap_or(u32::MAX),
    }
}

impl Times {
    /// What counts: everything but pause and maintenance.
    pub fn counted(&self) -> Millis {
        self.up + self.degraded + self.partial + self.down + self.unknown
    }

    /// Percent of the known time in which it was not down; none without any. Partial is listed apart:
    /// most locations still reach it, so it is not down.
    pub fn percent(&self) -> Option<String> {
        floored(self.good(), self.counted() - self.unknown)
    }

    /// The same if all unknown time had been down.
    pub fn percent_low(&self) -> Option<String> {
        floored(self.good(), self.counted())
    }

    /// The same if all unknown time had been up.
    pub fn percent_high(&self) -> Option<String> {
        floored(self.good() + self.unknown, self.counted())
    }

    fn good(&self) -> Millis {
        self.up + self.degraded + self.partial
    }
}

/// Three decimals, never rounded up: 100.000 means all of it.
fn floored(part: Millis, whole: Millis) -> Option<String> {
    if whole <= 0 {
        return None;
    }
    let thousandths = i128::from(part) * 100_000 / i128::from(whole);
    Some(format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretch(from: Millis, to: Millis, state: State) -> Stretch {
        Stretch { from, to: Some(to), state, evidence_stale: false }
    }

    #[test]
    fn states_are_cut_to_the_span_and_gaps_are_unknown() {
        let list = [
            stretch(-50, 100, State::Up),
            stretch(100, 150, State::Down),
            stretch(150, 200, State::Degraded),
            stretch(300, 400, State::Partial),
            Stretch { from: 400, to: None, state: State::Up, evidence_stale: false },
        ];
        let times = of(0, 1_000, &list, [], []);
        let expected = Times {
            up: 700,
            degraded: 50,
            partial: 100,
            down: 50,
            unknown: 100,
            outages: 1,
            ..Times::default()
        };
        assert_eq!(times, expected);
        assert_eq!(times.percent().unwrap(), "94.444");
        assert_eq!(times.percent_low().unwrap(), "85.000");
        assert_eq!(times.percent_high().unwrap(), "95.000");
    }

    #[test]
    fn stale_evidence_and_our_own_absence_are_unknown() {
        let list = [
            Stretch { evidence_stale: true, ..stretch(0, 100, State::Down) },
            stretch(100, 200, State::Up),
        ];
        let times = of(0, 200, &list, [(150, 170), (160, 180)], []);
        assert_eq!(times, Times { up: 70, unknown: 130, ..Times::default() });
        assert_eq!(times.percent().unwrap(), "100.000");
    }

    #[test]
    fn maintenance_and_pause_do_not_count() {
        let list = [
            stretch(0, 100, State::Down),
            stretch(100, 200, State::Paused),
            stretch(200, 300, State::Up),
        ];
        let times = of(0, 300, &list, [(90, 110)], [(50, 150)]);
        assert_eq!(
            times,
            Times {
                down: 50,
                maintenance: 100,
                paused: 50,
                up: 100,
                outages: 1,
                ..Times::default()
            }
        );
        assert_eq!(times.counted(), 150);
        // All of it paused: nothing can be said.
        assert_eq!(of(0, 100, &[stretch(0, 100, State::Paused)], [], []).percent(), None);
    }

    #[test]
    fn percentages_are_never_rounded_up() {
        let times = Times { up: 99_999_999, down: 1, ..Times::default() };
        assert_eq!(times.percent().unwrap(), "99.999");
        assert_eq!(Times { up: 1, ..Times::default() }.percent().unwrap(), "100.000");
        assert_eq!(Times { down: 1, ..Times::default() }.percent().unwrap(), "0.000");
        // 400 years do not overflow.
        let long = Times { up: 12_622_780_800_000, ..Times::default() };
        assert_eq!(long.percent().unwrap(), "100.000");
    }

    #[test]
    fn an_outage_that_reached_in_is_not_counted_again() {
        let list = [
            stretch(-10, 10, State::Down),
            stretch(10, 20, State::Up),
            stretch(20, 30, State::Down),
        ];
        assert_eq!(of(0, 40, &list, [], []).outages, 1);
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_span(
            lengths in prop::collection::vec((0_i64..50, 0_usize..7, any::<bool>()), 0..12),
            holes in prop::collection::vec((0_i64..300, 0_i64..60), 0..4),
            windows in prop::collection::vec((0_i64..300, 0_i64..60), 0..4),
            from in 0_i64..100, length in 0_i64..300,
        ) {
            let states = [State::Pending, State::Up, State::Degraded, State::Partial, State::Down, State::Unknown, State::Paused];
            let mut at = 0;
            let mut list = Vec::new();
            for (length, state, stale) in lengths {
                list.push(Stretch { evidence_stale: stale, ..stretch(at, at + length, states[state]) });
                at += length;
            }
            let spans = |list: Vec<(i64, i64)>| list.into_iter().map(|(a, l)| (a, a + l)).collect::<Vec<_>>();
            let t = of(from, from + length, &list, spans(holes), spans(windows));
            prop_assert_eq!(t.counted() + t.paused + t.maintenance, length);
            let low: f64 = t.percent_low().unwrap_or("0".into()).parse().unwrap();
            let high: f64 = t.percent_high().unwrap_or("100".into()).parse().unwrap();
            prop_assert!(low <= high);
        }
    }
}
