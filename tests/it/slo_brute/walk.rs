//! Every step of a timeline looked at by itself. A set of steps is a bit for each, so that 64 of them are
//! looked at in one operation; figures are counts of bits.

use quorate::domain::decision::State;
use quorate::domain::slo::budget::State as Verdict;
use quorate::domain::slo::definition::{MaintenancePolicy, UnknownPolicy};
use quorate::domain::slo::report::{Report, stamp};

use super::scenario::Scenario;

const BILLION: i128 = 1_000_000_000;
const MILLION: i128 = 1_000_000;
const DAY: i64 = 86_400_000;

/// A set of steps.
#[derive(Clone)]
struct Steps(Vec<u64>);

impl Steps {
    fn none(count: i64) -> Self {
        Self(vec![0; (count as usize).div_ceil(64)])
    }

    /// Adds the steps of `[from, to)`, as far as there are any.
    fn add(&mut self, from: i64, to: i64, count: i64) {
        let (from, to) = (from.clamp(0, count) as usize, to.clamp(0, count) as usize);
        if from >= to {
            return;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let head = u64::MAX << (from % 64);
        let tail = u64::MAX >> (63 - (to - 1) % 64);
        if first == last {
            self.0[first] |= head & tail;
            return;
        }
        self.0[first] |= head;
        self.0[first + 1..last].fill(u64::MAX);
        self.0[last] |= tail;
    }

    fn count(&self, from: i64, to: i64) -> i64 {
        let (from, to) = (from.max(0) as usize, (to.max(0) as usize).min(self.0.len() * 64));
        if from >= to {
            return 0;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let mut sum = 0;
        for word in first..=last {
            let mut bits = self.0[word];
            if word == first {
                bits &= u64::MAX << (from % 64);
            }
            if word == last {
                bits &= u64::MAX >> (63 - (to - 1) % 64);
            }
            sum += i64::from(bits.count_ones());
        }
        sum
    }
}

/// The conditions, each a set of steps; no step is in two.
struct Sets {
    up: Steps,
    partial: Steps,
    down: Steps,
    unknown: Steps,
    excluded: Steps,
    paused: Steps,
    unmonitored: Steps,
    degraded: Steps,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    up: i64,
    partial: i64,
    down: i64,
    unknown: i64,
    excluded: i64,
    paused: i64,
    unmonitored: i64,
    degraded: i64,
}

impl Sets {
    /// Milliseconds in each within a span of steps.
    fn count(&self, from: i64, to: i64, step: i64) -> Count {
        let of = |set: &Steps| set.count(from, to) * step;
        Count {
            up: of(&self.up),
            partial: of(&self.partial),
            down: of(&self.down),
            unknown: of(&self.unknown),
            excluded: of(&self.excluded),
            paused: of(&self.paused),
            unmonitored: of(&self.unmonitored),
            degraded: of(&self.degraded),
        }
    }
}

/// Known time, time that counts, bad time in millionths of a millisecond, each by the policies.
struct Judged {
    known: i128,
    known_bad: i128,
    total: i128,
    bad: i128,
    unknown: i128,
}

pub(super) struct Walk<'a> {
    s: &'a Scenario,
    /// Before maintenance.
    base: Sets,
    figures: Sets,
    /// The window in steps, and the end of what is told.
    start: i64,
    end: i64,
    told: i64,
}

impl<'a> Walk<'a> {
    pub(super) fn of(s: &'a Scenario) -> Self {
        let n = s.steps;
        let set = |spans: &mut dyn Iterator<Item = (i64, i64)>| {
            let mut set = Steps::none(n);
            spans.for_each(|(from, to)| set.add(from, to, n));
            set
        };
        let of = |wanted: &[State], stale: Option<bool>| {
            let list = s.stretches.iter().filter(|(_, _, state, is_stale)| {
                wanted.contains(state) && stale.is_none_or(|stale| stale == *is_stale)
            });
            set(&mut list.map(|(from, to, ..)| (*from, to.unwrap_or(n))))
        };
        let up = of(&[State::Up, State::Degraded], Some(false));
        let degraded = of(&[State::Degraded], Some(false));
        let (partial, down) = (of(&[State::Partial], Some(false)), of(&[State::Down], Some(false)));
        let paused = of(&[State::Paused], None);
        let away = set(&mut s.not_running.iter().copied());
        let lives = set(&mut [(s.created.unwrap_or(0), s.deleted.unwrap_or(n))].into_iter());
        let out = set(&mut s.maintenance.iter().filter_map(span_of));
        let ignored = s.policy == MaintenancePolicy::Ignore;
        let build = |excludes: bool| {
            let mut sets: Vec<Vec<u64>> = (0..8).map(|_| Vec::with_capacity(up.0.len())).collect();
            for w in 0..up.0.len() {
                // Steps behind the last are in no set.
                let valid =
                    if w + 1 == up.0.len() && n % 64 != 0 { (1 << (n % 64)) - 1 } else { u64::MAX };
                let lives = lives.0[w];
                let excluded = if excludes { lives & out.0[w] } else { 0 };
                let here = lives & !excluded & valid;
                let paused = here & paused.0[w];
                let seen = here & !paused & !away.0[w];
                let (up_now, partial) = (seen & up.0[w], seen & partial.0[w]);
                let down = seen & down.0[w];
                let unknown = here & !paused & !up_now & !partial & !down;
                let words = [
                    up_now,
                    partial,
                    down,
                    unknown,
                    excluded & valid,
                    paused,
                    !lives & valid,
                    seen & degraded.0[w],
                ];
                sets.iter_mut().zip(words).for_each(|(set, word)| set.push(word));
            }
            let mut sets = sets.into_iter().map(Steps);
            let mut next = || sets.next().unwrap();
            Sets {
                up: next(),
                partial: next(),
                down: next(),
                unknown: next(),
                excluded: next(),
                paused: next(),
                unmonitored: next(),
                degraded: next(),
            }
        };
        let (start, end) = match s.window {
            Ok(bounds) => bounds,
            Err(days) => (n - i64::from(days) * DAY / s.step, n),
        };
        let told = n.clamp(start, end);
        Self { s, base: build(false), figures: build(!ignored), start, end, told }
    }

    fn judge(&self, c: &Count, policy: MaintenancePolicy) -> Judged {
        let forgiven = if policy == MaintenancePolicy::CountAsUp { c.excluded } else { 0 };
        let known = i128::from(c.up + c.partial + c.down + forgiven);
        let known_bad =
            i128::from(c.down) * MILLION + i128::from(c.partial) * i128::from(self.s.weight_ppm);
        let unknown = i128::from(c.unknown);
        let (total, bad) = match self.s.unknown {
            UnknownPolicy::Exclude => (known, known_bad),
            UnknownPolicy::Up => (known + unknown, known_bad),
            UnknownPolicy::Down => (known + unknown, known_bad + unknown * MILLION),
        };
        Judged { known, known_bad, total, bad, unknown }
    }

    pub(super) fn compare(&self, report: &Report) {
        let c = self.figures.count(self.start, self.told, self.s.step);
        let j = self.judge(&c, self.s.policy);
        self.times(report, &c);
        self.ratios(report, &j);
        self.outages(report, &c, &j);
        let paging = self.burn(report);
        self.budget(report, &c, &j, paging);
        self.days(report);
        self.maintenance(report);
    }

    fn times(&self, report: &Report, c: &Count) {
        let t = &report.time_ms;
        assert_eq!((t.up, t.partial, t.down), (c.up, c.partial, c.down));
        assert_eq!((t.unknown, t.excluded, t.paused), (c.unknown, c.excluded, c.paused));
        assert_eq!((t.not_monitored, t.degraded), (c.unmonitored, c.degraded));
        assert_eq!(t.remaining, (self.end - self.told) * self.s.step);
        let sum = c.up + c.partial + c.down + c.unknown + c.excluded + c.paused + c.unmonitored;
        assert_eq!(sum, (self.told - self.start) * self.s.step, "the seven are the elapsed time");
        let monitored = sum - c.unmonitored - c.paused;
        assert_eq!(report.coverage.window_fill, (sum > 0).then(|| monitored as f64 / sum as f64));
    }

    fn ratios(&self, report: &Report, j: &Judged) {
        let a = &report.availability;
        let whole = |total: i128| total * MILLION;
        if j.total == 0 {
            assert_eq!((a.ratio, &a.pct, a.met), (None, &None, None));
        } else {
            let good: i128 = a.good_num.parse().unwrap();
            let total: i128 = a.total_den.parse().unwrap();
            assert_eq!(good * j.total * MILLION, (whole(j.total) - j.bad) * total);
            let met = (whole(j.total) - j.bad) * BILLION
                >= i128::from(self.s.target_ppb) * whole(j.total);
            assert_eq!(a.met, Some(met));
            let parts = (whole(j.total) - j.bad) * 100_000 / whole(j.total);
            let text = format!("{}.{:03}", parts / 1_000, parts % 1_000);
            assert_eq!(a.pct.as_deref(), Some(&*text));
        }
        close(a.ratio, whole(j.total) - j.bad, whole(j.total));
        let all = j.known + j.unknown;
        close(a.best, whole(all) - j.known_bad, whole(all));
        close(a.worst, whole(j.known) - j.known_bad, whole(all));
        close(report.coverage.ratio, j.known, all);
        let enough = all > 0 && j.known * 100 >= i128::from(self.s.coverage_percent) * all;
        assert_eq!(report.coverage.ok, enough);
        let raw = self.base.count(self.start, self.told, self.s.step);
        let raw = self.judge(&raw, MaintenancePolicy::Ignore);
        close(a.raw, whole(raw.total) - raw.bad, whole(raw.total));
    }

    /// Step by step along the timeline before maintenance.
    fn outages(&self, report: &Report, c: &Count, j: &Judged) {
        let mut found: Vec<(i64, i64, bool)> = Vec::new();
        let mut open: Option<(i64, i64)> = None;
        let b = &self.base;
        for w in 0..b.down.0.len() {
            let down = b.down.0[w];
            let ends = b.up.0[w] | b.partial.0[w] | b.paused.0[w] | b.unmonitored.0[w];
            let at = w as i64 * 64;
            match (&mut open, down, ends) {
                (None, 0, _) | (_, 0, 0) => continue,
                (Some(open), u64::MAX, _) => open.1 = at + 64,
                _ => {
                    for bit in 0..64 {
                        let step = at + bit;
                        if down >> bit & 1 == 1 {
                            open = Some((open.map_or(step, |(start, _)| start), step + 1));
                        } else if ends >> bit & 1 == 1
                            && let Some((start, end)) = open.take()
                        {
                            found.push((start, end, true));
                        }
                    }
                }
            }
        }
        found.extend(open.map(|(start, end)| (start, end, false)));
        let ms = self.s.step;
        let at = |step: i64| stamp(self.s.origin + step * ms);
        let mut list = report.outages.list.iter();
        let (mut started, mut resolved, mut still_open) = (0, Vec::new(), 0);
        let (mut longest, mut longest_full) = (None, None);
        for (start, end, closed) in found {
            let (from, to) = (start.max(self.start), end.min(self.told));
            let within = self.figures.count(from, to, ms);
            if from >= to || within.down == 0 {
                continue;
            }
            let told = list.next().unwrap();
            assert_eq!((&told.start, &told.end), (&at(start), &closed.then(|| at(end))));
            assert_eq!((told.ongoing, told.duration_full_ms), (!closed, (end - start) * ms));
            assert_eq!(told.downtime_ms, within.down);
            assert_eq!((told.excluded_ms, told.unknown_ms), (within.excluded, within.unknown));
            started += i64::from(start >= self.start);
            still_open += u64::from(!closed);
            if closed && end > self.start && end <= self.told {
                resolved.push((end - start) * ms);
            }
            longest = longest.max(Some(within.down));
            longest_full = longest_full.max(Some((end - start) * ms));
        }
        assert!(list.next().is_none());
        let f = &report.outages.figures;
        assert_eq!((f.started as i64, f.resolved as usize), (started, resolved.len()));
        assert_eq!((f.open, f.longest_ms, f.longest_full_ms), (still_open, longest, longest_full));
        let sum: i64 = resolved.iter().sum();
        assert_eq!(f.mttr_ms, (!resolved.is_empty()).then(|| sum / resolved.len() as i64));
        let uptime = j.total as i64 - c.down;
        assert_eq!(f.mtbf_ms, (started > 0).then(|| uptime / started));
        assert_eq!(report.incidents.count, report.outages.list.len() as u64);
    }

    /// Bad time of a lookback in millionths, known and unknown time; none when it reaches back too far.
    fn lookback(&self, steps: i64) -> Option<Judged> {
        let n = self.s.steps;
        (steps <= n)
            .then(|| self.judge(&self.figures.count(n - steps, n, self.s.step), self.s.policy))
    }

    fn nominal(&self) -> i128 {
        i128::from((self.end - self.start) * self.s.step)
    }

    /// Whether a rule that pages fires.
    fn burn(&self, report: &Report) -> bool {
        let allowed = BILLION - i128::from(self.s.target_ppb);
        let named = [("5m", 300_000), ("1h", 3_600_000), ("1d", DAY), ("3d", 3 * DAY)];
        for (label, length) in named {
            let told = report.burn.iter().find(|burn| burn.lookback == label).unwrap();
            if let Some(j) =
                self.lookback(length / self.s.step).filter(|_| length % self.s.step == 0)
            {
                close(told.rate, j.bad * 1_000, i128::from(length) * allowed);
                close(told.coverage, j.known, j.known + j.unknown);
            }
        }
        let window = self.nominal();
        let mut paging = false;
        for (index, (long, short, per_mille)) in self.s.rules.iter().enumerate() {
            let told = report.alerts.iter().find(|alert| alert.rule == format!("rule {index}"));
            let (long_ms, short_ms) = (long * self.s.step, short * self.s.step);
            if i128::from(long_ms) > window {
                assert!(told.is_none());
                continue;
            }
            let told = told.unwrap();
            let (in_long, in_short) =
                (self.lookback(*long).unwrap(), self.lookback(*short).unwrap());
            let share = i128::from(*per_mille);
            // bad(long) >= f·(1−t)·W, bad(short)·long >= f·W·short·(1−t), each times 10^3·10^9.
            let fires = in_long.bad * 1_000 * 1_000 >= share * allowed * window
                && in_short.bad * i128::from(long_ms) * 1_000 * 1_000
                    >= share * window * i128::from(short_ms) * allowed;
            let all = in_short.known + in_short.unknown;
            let frozen = all > 0 && in_short.known * 2 < all;
            assert_eq!((told.firing, told.frozen), (fires && !frozen, frozen));
            paging |= index == 0 && told.firing;
        }
        paging
    }

    fn budget(&self, report: &Report, c: &Count, j: &Judged, paging: bool) {
        let allowed = BILLION - i128::from(self.s.target_ppb);
        let rolling = self.s.window.is_err();
        let remaining = i128::from((self.end - self.told) * self.s.step);
        let nominal = self.nominal();
        let of = |total: i128| match rolling && c.unmonitored + c.paused > 0 {
            true => nominal,
            false => total + remaining,
        };
        // In 10^15ths of a millisecond.
        let unit = BILLION * MILLION;
        let budget = of(j.total) * allowed * MILLION;
        let bad = j.bad * BILLION;
        let b = &report.budget;
        assert_eq!(b.total_ms.map(i128::from), Some(budget.div_euclid(unit)));
        assert_eq!(b.remaining_ms.map(i128::from), Some((budget - bad).div_euclid(unit)));
        assert_eq!(b.nominal_ms.map(i128::from), Some((nominal * allowed).div_euclid(BILLION)));
        close(b.consumed_ratio, bad, budget);
        close(b.remaining_ratio, budget - bad, budget);
        let seen_enough = report.coverage.ok && j.total > 0;
        let at_best = of(j.known + j.unknown) * allowed * MILLION;
        let gone_in_any_case = j.known_bad * BILLION > at_best;
        let complete = !rolling && self.told == self.end;
        let draining = self.nominal() >= i128::from(3 * DAY)
            && self.three_days().is_some_and(|bad| bad * 1_000 >= i128::from(3 * DAY) * allowed);
        let state = if !seen_enough && gone_in_any_case || seen_enough && bad > budget {
            Verdict::Breached
        } else if !seen_enough {
            Verdict::NoData
        } else if budget - bad < unit {
            Verdict::Exhausted
        } else if complete {
            Verdict::Ok
        } else if paging {
            Verdict::Burning
        } else if draining || bad * 4 >= budget * 3 {
            Verdict::AtRisk
        } else {
            Verdict::Ok
        };
        assert_eq!(report.state, state);
        let exhausts = (!complete && j.total > 0 && bad <= budget).then(|| {
            self.s.origin + self.s.steps * self.s.step + (budget - bad).div_euclid(unit) as i64
        });
        let last = self.s.origin + self.end * self.s.step;
        let exhausts = exhausts.filter(|at| rolling || *at <= last);
        assert_eq!(b.exhausts_at_if_down, exhausts.map(stamp));
    }

    /// Bad time of three days; time before the first step is unknown, or there was no monitor.
    fn three_days(&self) -> Option<i128> {
        let steps = 3 * DAY / self.s.step;
        let n = self.s.steps;
        let mut c = self.figures.count((n - steps).max(0), n, self.s.step);
        let before = (steps - n).max(0) * self.s.step;
        match self.s.created {
            Some(_) => c.unmonitored += before,
            None => c.unknown += before,
        }
        Some(self.judge(&c, self.s.policy).bad)
    }

    fn days(&self, report: &Report) {
        let ms = self.s.step;
        let (from, to) = (self.s.origin + self.start * ms, self.s.origin + self.told * ms);
        let mut list = report.days.iter();
        let mut at = from;
        while at < to {
            let end = ((at.div_euclid(DAY) + 1) * DAY).min(to);
            let day = list.next().unwrap();
            // Days of UTC may begin between two steps; then the step belongs to the earlier one.
            if (at - self.s.origin) % ms == 0 && (end - self.s.origin) % ms == 0 {
                let steps = |at: i64| (at - self.s.origin) / ms;
                let c = self.figures.count(steps(at), steps(end), ms);
                assert_eq!((day.length_ms, day.down_ms), (end - at, c.down));
                assert_eq!((day.partial_ms, day.unknown_ms), (c.partial, c.unknown));
                assert_eq!(day.excluded_ms, c.excluded);
                let j = self.judge(&c, self.s.policy);
                assert_eq!(day.pct.is_some(), j.total > 0);
            }
            at = end;
        }
        assert!(list.next().is_none());
    }

    /// Each excluded step belongs to the planned occurrence that began first, then to a correction.
    fn maintenance(&self, report: &Report) {
        let list = &self.s.maintenance;
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|i| (list[*i].correction, list[*i].start, list[*i].end, *i));
        let n = self.s.steps;
        let mut free = self.figures.excluded.clone();
        let mut credited = vec![0; list.len()];
        for index in order {
            let Some((from, to)) = span_of(&list[index]) else { continue };
            credited[index] = free.count(from.max(self.start), to.min(self.told)) * self.s.step;
            let mut own = Steps::none(n);
            own.add(from, to, n);
            free.0.iter_mut().zip(&own.0).for_each(|(free, own)| *free &= !own);
        }
        for (index, m) in list.iter().enumerate() {
            let told = report.maintenance.iter().find(|entry| entry.id == index.to_string());
            let shown = m.start < self.end && m.end > self.start;
            assert_eq!(told.map(|entry| entry.excluded_ms), shown.then_some(credited[index]));
        }
    }
}

/// What an occurrence leaves out, in steps.
fn span_of(m: &super::scenario::Planned) -> Option<(i64, i64)> {
    let start = match m.declared {
        Some(declared) if !m.correction => m.start.max(declared),
        _ => m.start,
    };
    (m.excludes && start < m.end).then_some((start, m.end))
}

/// A double and the quotient that it stands for; none when there is no denominator.
fn close(told: Option<f64>, num: i128, den: i128) {
    if den == 0 {
        assert_eq!(told, None);
        return;
    }
    let exact = num as f64 / den as f64;
    let told = told.unwrap();
    assert!((told - exact).abs() <= 1e-12 * exact.abs().max(1e-3), "{told} for {num}/{den}");
}
