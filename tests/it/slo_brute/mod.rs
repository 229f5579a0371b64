//! The engine of SLOs against an evaluator that knows nothing of intervals: it looks at every
//! millisecond, or at every second, by itself (`walk`), and works with integers only. The scenarios are
//! random (`scenario`), the same in every run.

mod scenario;
mod walk;

use quorate::domain::slo::evaluate::evaluate;

use self::scenario::Scenario;
use self::walk::Walk;
use crate::support::dice::Dice;

/// Whatever the report says is what walking says.
fn compare(scenario: &Scenario) {
    let report = evaluate(&scenario.definition(), &scenario.inputs()).unwrap();
    Walk::of(scenario).compare(&report);
}

fn run(seeds: std::ops::Range<u64>, draw: impl Fn(&mut Dice) -> Scenario) {
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let scenario = draw(&mut dice);
        let result = std::panic::catch_unwind(|| compare(&scenario));
        assert!(result.is_ok(), "seed {seed}: {scenario:?}");
    }
}

#[test]
fn short_timelines_by_the_millisecond_first_half() {
    run(0..4_500, Scenario::short);
}

#[test]
fn short_timelines_by_the_millisecond_second_half() {
    run(4_500..9_000, Scenario::short);
}

#[test]
fn long_timelines_by_the_second_first_half() {
    run(10_000..10_500, Scenario::long);
}

#[test]
fn long_timelines_by_the_second_second_half() {
    run(10_500..11_000, Scenario::long);
}
