//! Scenarios that nobody thought of: drawn with dice, in the shape of a file of vectors.

use serde_json::{Map, Value, json};

use crate::support::dice::Dice;

/// What a scenario is made of. It is written out by [`Plan::entry`], so that it can be bent first.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) cfg: Map<String, Value>,
    pub(super) windows: Vec<[i64; 2]>,
    /// Stretches of the target's life, one after the other.
    pub(super) stretches: Vec<Stretch>,
    places: Vec<[String; 2]>,
    impaired: Vec<String>,
    interval: i64,
    /// Settles every small accident, so that bending a plan does not change all of them.
    seed: u64,
    rhythm: Rhythm,
    accidents: Accidents,
}

/// For some time, some places see trouble.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) seconds: i64,
    /// A bit for each place.
    who: u64,
    trouble: Trouble,
}

#[derive(Clone, Copy, Debug)]
enum Trouble {
    None,
    Fails,
    /// Fails, and the others say nothing.
    FailsAlone,
    /// Fails, passes, fails …
    Alternates,
    Slow,
    Silent,
    Errors,
    /// Now and then a fail.
    Flaky,
}

#[derive(Clone, Copy, Debug)]
enum Rhythm {
    /// Every place in its own slot of the interval, with repeats and questions to the others.
    Slots,
    /// Everybody at the beginning of a stretch and each interval after it.
    Bursts,
}

/// One in so many observations; 0 for none.
#[derive(Clone, Copy, Debug)]
struct Accidents {
    late: u64,
    manual: u64,
    error: u64,
    twin: u64,
    edge: u64,
    /// Times with a fraction of a second.
    fraction: bool,
    shuffled: bool,
}

pub(super) const MOST_PLACES: u64 = 9;

impl Plan {
    pub(super) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let n = match dice.below(8) {
            0 => 1 + dice.below(2),
            1 => 6 + dice.below(MOST_PLACES - 5),
            _ => 2 + dice.below(5),
        };
        let (regions, domains) = (1 + dice.below(4), 1 + dice.below(5));
        let places: Vec<[String; 2]> = (0..n)
            .map(|_| [format!("r{}", dice.below(regions)), format!("P{}", dice.below(domains))])
            .collect();
        let interval = dice.pick(&[10, 10, 20, 30, 60, 60, 15, 120]);
        let cfg = settings(&mut dice, n, interval);
        // Half an hour of flapping needs room; everything else happens in less.
        let room = if dice.one_in(8) { 4000 } else { 700 };
        let stretches = stretches(&mut dice, n, interval, room);
        let impaired = if dice.one_in(5) {
            let who = dice.next() & dice.next();
            (0..n).filter(|place| who >> place & 1 == 1).map(name).collect()
        } else {
            Vec::new()
        };
        let windows = (0..dice.pick(&[0, 0, 0, 1, 1, 2, 3]))
            .map(|_| {
                let start = dice.from(0, room / 2);
                [start, start + dice.from(1, 400)]
            })
            .collect::<Vec<_>>();
        let windows = touching(&mut dice, windows);
        Self {
            cfg,
            windows,
            stretches,
            places,
            impaired,
            interval,
            seed: dice.next(),
            rhythm: dice.pick(&[Rhythm::Slots, Rhythm::Bursts]),
            accidents: Accidents {
                late: dice.pick(&[0, 0, 6, 20]),
                manual: dice.pick(&[0, 0, 20]),
                error: dice.pick(&[0, 0, 15]),
                twin: dice.pick(&[0, 0, 15]),
                edge: dice.pick(&[0, 12, 25]),
                fraction: dice.one_in(25),
                shuffled: dice.one_in(10),
            },
        }
    }

    /// An entry of `vectors`, without what it should come to.
    pub(super) fn entry(&self) -> Value {
        let mut dice = Dice::new(self.seed);
        let mut obs = match self.rhythm {
            Rhythm::Slots => self.slots(&mut dice),
            Rhythm::Bursts => self.bursts(&mut dice),
        };
        self.have_accidents(&mut obs, &mut dice);
        obs.sort_by_key(|seen| seen.at);
        if self.accidents.shuffled {
            for last in (1..obs.len()).rev() {
                obs.swap(last, dice.below(last as u64 + 1) as usize);
            }
        }
        let fleet: Map<String, Value> =
            (0..).zip(&self.places).map(|(place, labels)| (name(place), json!(labels))).collect();
        let time = |millis: i64| {
            if millis % 1000 == 0 { json!(millis / 1000) } else { json!(millis as f64 / 1000.0) }
        };
        let rows = obs.iter().map(|seen| {
            let received = if seen.late == 0 { Value::Null } else { time(seen.at + seen.late) };
            json!([time(seen.at), name(seen.place), seen.outcome, seen.took, seen.kind, received])
        });
        json!({
            "id": 1,
            "fleet": fleet,
            "cfg": self.cfg,
            "impaired": self.impaired,
            "maint": match self.windows.as_slice() {
                [] => Value::Null,
                [one] => json!(one),
                many => json!(many),
            },
            "until": self.until(),
            "obs": rows.collect::<Vec<_>>(),
        })
    }

    pub(super) fn interval(&self) -> i64 {
        self.interval
    }

    fn until(&self) -> i64 {
        self.stretches.iter().map(|stretch| stretch.seconds).sum()
    }

    fn setting(&self, name: &str, default: i64) -> i64 {
        self.cfg.get(name).and_then(Value::as_i64).unwrap_or(default)
    }

    fn stale_after(&self) -> i64 {
        2 * self.interval + self.setting("timeout", 10) + 20
    }

    fn at(&self, second: i64) -> Option<&Stretch> {
        let mut begun = 0;
        self.stretches.iter().find(|stretch| {
            begun += stretch.seconds;
            second < begun
        })
    }

    /// What a place sees at a time, if it says anything.
    fn seen(&self, second: i64, place: u64, turn: u64, dice: &mut Dice) -> Option<Seen> {
        let stretch = self.at(second)?;
        let concerned = stretch.who >> place & 1 == 1;
        let (outcome, took) = match stretch.trouble {
            Trouble::FailsAlone if !concerned => return None,
            _ if !concerned => ("pass", 100),
            Trouble::None => ("pass", 100),
            Trouble::Fails | Trouble::FailsAlone => ("fail", 100),
            Trouble::Alternates if turn.is_multiple_of(2) => ("fail", 100),
            Trouble::Alternates => ("pass", 100),
            Trouble::Slow => ("pass", dice.pick(&[900, 1000, 1001, 3000, 3000])),
            Trouble::Silent => return None,
            Trouble::Errors => ("error", 100),
            Trouble::Flaky if dice.one_in(4) => ("fail", 100),
            Trouble::Flaky => ("pass", 100),
        };
        Some(Seen { at: second * 1000, place, outcome, took, kind: "scheduled", late: 0 })
    }

    fn slots(&self, dice: &mut Dice) -> Vec<Seen> {
        let n = self.places.len() as u64;
        let (gap, fail_after) = (self.setting("retry_delay", 5), self.setting("fail_after", 2));
        let asks = dice.one_in(2);
        let mut all = Vec::new();
        for place in 0..n {
            let mut second = place as i64 * self.interval / n as i64;
            let mut turn = 0;
            while second <= self.until() {
                turn += 1;
                if let Some(first) = self.seen(second, place, turn, dice) {
                    let repeats = if first.outcome == "fail" {
                        fail_after - 1
                    } else {
                        i64::from(dice.one_in(8))
                    };
                    for repeat in 1..=repeats {
                        turn += 1;
                        let again = self.seen(second + repeat * gap.max(1), place, turn, dice);
                        all.extend(again.map(|seen| Seen { kind: "retry", ..seen }));
                    }
                    if asks && first.outcome == "fail" && dice.one_in(4) {
                        for other in (0..n).filter(|other| *other != place) {
                            let asked = self.seen(second + 2, other, turn, dice);
                            all.extend(asked.map(|seen| Seen { kind: "confirm", ..seen }));
                        }
                    }
                    all.push(first);
                }
                second += self.interval;
            }
        }
        all
    }

    fn bursts(&self, dice: &mut Dice) -> Vec<Seen> {
        let repeats = dice.one_in(2);
        let mut all = Vec::new();
        let (mut begun, mut turn) = (0, 0);
        for stretch in &self.stretches {
            for offset in (0..stretch.seconds).step_by(self.interval as usize) {
                turn += 1;
                for place in 0..self.places.len() as u64 {
                    let second = begun + offset;
                    all.extend(self.seen(second, place, turn, dice));
                    if repeats && offset + 4 < stretch.seconds {
                        all.extend(self.seen(second + 4, place, turn, dice));
                    }
                }
            }
            begun += stretch.seconds;
        }
        all
    }

    fn have_accidents(&self, obs: &mut Vec<Seen>, dice: &mut Dice) {
        let chance = |dice: &mut Dice, one_in: u64| one_in > 0 && dice.one_in(one_in);
        let stale = self.stale_after();
        let mut more = Vec::new();
        for seen in obs.iter_mut() {
            if chance(dice, self.accidents.late) {
                seen.late = dice.pick(&[1, 2, 5, 30, 60, stale - 1, stale, stale + 1, 300]) * 1000;
            }
            if chance(dice, self.accidents.manual) {
                (seen.kind, seen.outcome) = ("manual", dice.pick(&["pass", "fail"]));
            }
            if chance(dice, self.accidents.error) {
                seen.outcome = "error";
            }
            if chance(dice, self.accidents.twin) {
                more.push(Seen { outcome: dice.pick(&["pass", "fail"]), ..seen.clone() });
            }
            if chance(dice, self.accidents.edge) {
                let apart = dice.pick(&[1, 3, 4, 5, stale, stale + 1]);
                more.push(Seen { at: seen.at + apart * 1000, ..seen.clone() });
            }
        }
        // What lies exactly at the limit of freshness says something only if nothing came between.
        if self.accidents.edge > 0 && dice.one_in(2) && !obs.is_empty() {
            let from = dice.below(obs.len() as u64) as usize;
            let (place, at) = (obs[from].place, obs[from].at);
            let later = at + dice.pick(&[stale - 1, stale, stale + 1]) * 1000;
            obs.retain(|seen| seen.place != place || seen.at <= at || seen.at >= later);
            more.push(Seen {
                at: later,
                outcome: dice.pick(&["pass", "fail"]),
                ..obs[from.min(obs.len() - 1)].clone()
            });
        }
        obs.append(&mut more);
        if self.accidents.fraction {
            for seen in obs.iter_mut() {
                seen.at += dice.pick(&[0, 1, 250, 500, 999]);
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Seen {
    at: i64,
    place: u64,
    outcome: &'static str,
    took: i64,
    kind: &'static str,
    late: i64,
}

fn name(place: u64) -> String {
    char::from(b'a' + place as u8).to_string()
}

/// Some settings are as they always are, others anything.
fn settings(dice: &mut Dice, n: u64, interval: i64) -> Map<String, Value> {
    let mut cfg = Map::new();
    if interval != 60 || dice.one_in(2) {
        cfg.insert("interval".to_owned(), json!(interval));
    }
    let often = dice.pick(&[2, 4, 8]);
    let mut maybe = |dice: &mut Dice, name: &str, values: &[i64]| {
        if dice.one_in(often) {
            cfg.insert(name.to_owned(), json!(dice.pick(values)));
        }
    };
    maybe(dice, "timeout", &[1, 5, 10, 30]);
    maybe(dice, "fail_after", &[1, 1, 2, 3, 4]);
    maybe(dice, "pass_after", &[1, 1, 2, 3]);
    maybe(dice, "retry_delay", &[1, 3, 4, 5, 10]);
    maybe(dice, "min_sep", &[0, 1, 4, 5, 30]);
    maybe(dice, "min_agree", &[0, 1, 2, 3, n as i64, n as i64 + 1]);
    maybe(dice, "min_domains", &[0, 1, 2, 3, 5]);
    maybe(dice, "min_regions", &[0, 1, 2, 3, 4]);
    maybe(dice, "partial_min", &[1, 2, 3, 4]);
    maybe(
        dice,
        "confirm_for",
        &[0, 1, 30, 60, 2 * interval - 1, 2 * interval, 2 * interval + 1, 300],
    );
    maybe(dice, "split_for", &[0, 1, 30, 100, 600]);
    maybe(dice, "blind_for", &[0, 1, 30, 60, 200]);
    maybe(dice, "slow_ms", &[1000, 999, 1000, 0]);
    maybe(dice, "reopen", &[0, 1, 60, 300, 600, 3600]);
    match dice.below(10) {
        0 => drop(cfg.insert("quorum".to_owned(), json!("any"))),
        1 => drop(cfg.insert("quorum".to_owned(), json!("all"))),
        2 => {
            cfg.insert("quorum".to_owned(), json!("at_least"));
            cfg.insert("k".to_owned(), json!(dice.below(n + 2)));
        }
        3 => {
            cfg.insert("quorum".to_owned(), json!("percent"));
            cfg.insert(
                "percent".to_owned(),
                json!(dice.pick(&[0, 1, 20, 33, 34, 50, 51, 60, 66, 67, 100])),
            );
        }
        4 => drop(cfg.insert("quorum".to_owned(), json!("majority"))),
        _ => {}
    }
    cfg
}

fn stretches(dice: &mut Dice, n: u64, interval: i64, room: i64) -> Vec<Stretch> {
    let recover = (2 * interval).clamp(60, 300);
    let everybody = (1 << n) - 1;
    let mut all = Vec::new();
    let mut used = 0;
    let calm_start = !dice.one_in(5);
    while used < room {
        let seconds = match dice.below(6) {
            0 => dice.from(1, 30),
            1 => recover + dice.from(-3, 12),
            2 => 2 * interval + dice.from(-2, 5),
            3 => dice.from(30, 150),
            4 => dice.from(100, 700),
            _ => interval * dice.from(1, 5),
        };
        let trouble = match dice.below(15) {
            0..=2 => Trouble::None,
            3..=6 => Trouble::Fails,
            7 => Trouble::Alternates,
            8 => Trouble::Slow,
            9 => Trouble::Silent,
            10 | 11 => Trouble::Flaky,
            12 | 13 => Trouble::FailsAlone,
            _ => Trouble::Errors,
        };
        let who = match dice.below(5) {
            _ if matches!(trouble, Trouble::FailsAlone) => 1 << dice.below(n) | 1 << dice.below(n),
            0 | 1 => everybody,
            2 => everybody & !(1 << dice.below(n)),
            3 => 1 << dice.below(n),
            _ => dice.next() & everybody,
        };
        let trouble = if all.is_empty() && calm_start { Trouble::None } else { trouble };
        let seconds = match trouble {
            // The others are still believed for a while, and then it must last.
            Trouble::FailsAlone => seconds + 5 * interval + 60,
            _ => seconds,
        };
        all.push(Stretch { seconds, who, trouble });
        used += seconds;
    }
    all
}

/// Now and then a window begins where another ends, or a second before or after.
fn touching(dice: &mut Dice, mut windows: Vec<[i64; 2]>) -> Vec<[i64; 2]> {
    for later in 1..windows.len() {
        if dice.one_in(3) {
            let length = windows[later][1] - windows[later][0];
            let start = windows[later - 1][1] + dice.from(-1, 2);
            windows[later] = [start.max(0), start.max(0) + length];
        }
    }
    windows
}
