//! What a scenario file says, in the oracle's own words. Every time is a whole number of milliseconds.

use serde_json::Value;

pub(super) const SECOND: i64 = 1000;

/// One monitor's life, as a file of vectors has it.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// In the order of their names.
    pub(super) places: Vec<Place>,
    pub(super) settings: Settings,
    /// Indexes of the places that fail their self-check from beginning to end.
    pub(super) impaired: Vec<usize>,
    /// Windows, each from its beginning up to but not including its end.
    pub(super) maintenance: Vec<(i64, i64)>,
    /// The last tick, in whole seconds.
    pub(super) until: i64,
    /// As they stand in the file.
    pub(super) seen: Vec<Seen>,
}

#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) region: String,
    pub(super) domain: String,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) interval: i64,
    pub(super) timeout: i64,
    pub(super) fail_after: i64,
    pub(super) pass_after: i64,
    pub(super) min_sep: i64,
    pub(super) min_agree: i64,
    pub(super) min_domains: i64,
    pub(super) min_regions: i64,
    pub(super) partial_min: i64,
    pub(super) confirm_for: i64,
    pub(super) split_for: i64,
    pub(super) blind_for: i64,
    pub(super) slow_ms: Option<i64>,
    pub(super) reopen: i64,
    pub(super) quorum: Quorum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quorum {
    Majority,
    Any,
    All,
    AtLeast(i64),
    Percent(i64),
}

/// One result of one location.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// When the attempt began.
    pub(super) at: i64,
    pub(super) place: usize,
    pub(super) what: What,
    /// How long the answer took.
    pub(super) took: i64,
    /// Asked for by hand.
    pub(super) manual: bool,
    pub(super) received: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Pass,
    Fail,
    Error,
}

impl Settings {
    /// How old a vote may be: 2 I + τ + 20 s.
    pub(super) fn stale_after(&self) -> i64 {
        2 * self.interval + self.timeout + 20 * SECOND
    }
}

impl Scenario {
    /// Reads one entry of `vectors`. The file is right; whether wrong ones are refused is asked elsewhere.
    pub(super) fn read(entry: &Value) -> Self {
        let places: Vec<Place> = entry["fleet"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, labels)| Place {
                name: name.clone(),
                region: labels[0].as_str().unwrap().to_owned(),
                domain: labels[1].as_str().unwrap().to_owned(),
            })
            .collect();
        let mut places = places;
        places.sort_by(|a, b| a.name.cmp(&b.name));
        let find = |name: &Value| {
            places.iter().position(|place| place.name == name.as_str().unwrap()).unwrap()
        };
        let seen = entry["obs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| read_seen(row, find(&row[1])))
            .collect();
        Self {
            settings: read_settings(&entry["cfg"], places.len()),
            impaired: entry["impaired"].as_array().into_iter().flatten().map(find).collect(),
            maintenance: read_windows(&entry["maint"]),
            until: entry["until"].as_i64().unwrap(),
            seen,
            places,
        }
    }
}

/// Nothing, one pair or a list of pairs.
fn read_windows(maint: &Value) -> Vec<(i64, i64)> {
    let pair = |pair: &Value| (millis(&pair[0]), millis(&pair[1]));
    match maint.as_array() {
        None => Vec::new(),
        Some(list) if list.first().is_some_and(Value::is_array) => list.iter().map(pair).collect(),
        Some(_) => vec![pair(maint)],
    }
}

fn read_seen(row: &Value, place: usize) -> Seen {
    let at = millis(&row[0]);
    Seen {
        at,
        place,
        what: match row[2].as_str().unwrap() {
            "pass" => What::Pass,
            "fail" => What::Fail,
            "error" => What::Error,
            other => panic!("no outcome: {other}"),
        },
        took: row[3].as_i64().unwrap(),
        manual: row[4] == "manual",
        received: if row[5].is_null() { at } else { millis(&row[5]) },
    }
}

fn read_settings(cfg: &Value, places: usize) -> Settings {
    let number =
        |key: &str, default: i64| cfg.get(key).map_or(default, |value| value.as_i64().unwrap());
    let time = |key: &str, default: i64| cfg.get(key).map_or(default * SECOND, millis);
    Settings {
        interval: time("interval", 60),
        timeout: time("timeout", 10),
        fail_after: number("fail_after", if places == 1 { 3 } else { 2 }),
        pass_after: number("pass_after", 2),
        min_sep: time("min_sep", 4),
        min_agree: number("min_agree", 2),
        min_domains: number("min_domains", 2),
        min_regions: number("min_regions", 2),
        partial_min: number("partial_min", 2),
        confirm_for: time("confirm_for", 0),
        split_for: time("split_for", 600),
        blind_for: time("blind_for", 60),
        slow_ms: cfg.get("slow_ms").and_then(Value::as_i64),
        reopen: time("reopen", 600),
        quorum: match cfg.get("quorum").map_or("majority", |name| name.as_str().unwrap()) {
            "majority" => Quorum::Majority,
            "any" => Quorum::Any,
            "all" => Quorum::All,
            "at_least" => Quorum::AtLeast(cfg["k"].as_i64().unwrap()),
            "percent" => Quorum::Percent(cfg["percent"].as_i64().unwrap()),
            other => panic!("no quorum: {other}"),
        },
    }
}

fn millis(seconds: &Value) -> i64 {
    (seconds.as_f64().unwrap() * SECOND as f64).round() as i64
}
