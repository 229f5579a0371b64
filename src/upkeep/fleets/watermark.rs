//! How far a fleet's sources have come: a window is judged when no source that is still sending can add
//! to it.

use jiff::{SignedDuration, Timestamp};

use crate::{
    domain::fleet::{hearing, settings::Settings, timeline::Heard},
    intake::sums,
    store::fleet_sources::SourceRow,
};

/// A source is not waited for when it has sent nothing for longer than is usual for it; nor one whose lines are older than the newest of the others by so much: it is catching up.
const BEHIND: SignedDuration = SignedDuration::from_mins(15);

#[derive(Debug, Clone)]
pub(super) struct Known {
    sources: Vec<Source>,
    now: Timestamp,
    lateness: SignedDuration,
}

#[derive(Debug, Clone)]
struct Source {
    name: String,
    /// Time of its newest line, or up to when it has said that there is none.
    newest: Timestamp,
    received: Timestamp,
    patience: SignedDuration,
    live: bool,
    hears_from: Option<Timestamp>,
    aliases: Vec<String>,
}

impl Known {
    pub(super) fn of(rows: &[SourceRow], now: Timestamp, settings: &Settings) -> Self {
        let mut sources: Vec<Source> = rows
            .iter()
            .filter_map(|row| {
                let received = row.received_at?;
                let newest = row.newest_at.max(row.heard_until)?.min(now);
                let patience = row.arrival().patience();
                Some(Source {
                    name: row.name.clone(),
                    newest,
                    received,
                    patience,
                    live: now.duration_since(received) <= patience,
                    hears_from: row.hears_from,
                    aliases: row.aliases.clone(),
                })
            })
            .collect();
        let lateness = SignedDuration::from_secs(i64::from(settings.lateness_s));
        if let Some(front) = sources.iter().filter(|s| s.live).map(|s| s.newest).max() {
            for source in &mut sources {
                source.live &= front.duration_since(source.newest) <= BEHIND + lateness;
            }
        }
        Self { sources, now, lateness }
    }

    /// The end of the last window that may be judged; none as long as nothing has come.
    pub(super) fn limit(&self, window_s: i64) -> Option<Timestamp> {
        let live = self.sources.iter().filter(|source| source.live).map(|source| source.newest);
        if let Some(slowest) = live.min() {
            return Some(sums::begin(slowest - self.lateness, window_s));
        }
        // Nobody sends any more: what is here is all there is, the window of the last line included, once
        // that is over by the clock.
        let newest = self.sources.iter().map(|source| source.newest).max()?;
        let end = sums::begin(newest, window_s) + SignedDuration::from_secs(window_s);
        Some(end.min(sums::begin(self.now - self.lateness, window_s)))
    }

    /// Each source as the timeline wants it: whoever is silent while another one sends is missed.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.sources
            .iter()
            .map(|source| Heard {
                name: source.name.clone(),
                aliases: source.aliases.clone(),
                newest_us: source.newest.as_microsecond(),
                from_us: source.hears_from.map(Timestamp::as_microsecond),
                patience_s: (!source.live)
                    .then(|| u32::try_from(source.patience.as_secs()).unwrap_or(u32::MAX)),
                // What was never followed live, such as an old file, is not missed, nor is one whose
                // silence is usual.
                served: source.was_followed()
                    && (source.patience.as_secs() <= i64::from(hearing::PATIENCE_S)
                        || self.now.duration_since(source.received) > source.patience)
                    && self.sources.iter().any(|other| other.live && other.name != source.name),
            })
            .collect()
    }

    /// The newest line of the sources that were followed as they wrote, and when the last of them came.
    pub(super) fn followed(&self) -> Option<(Timestamp, Timestamp)> {
        let followed = || self.sources.iter().filter(|source| source.was_followed());
        Some((followed().map(|s| s.newest).max()?, followed().map(|s| s.received).max()?))
    }

    /// How long the most leisurely of the sources that were followed may be silent.
    pub(super) fn patience(&self) -> SignedDuration {
        let followed = self.sources.iter().filter(|source| source.was_followed());
        followed.map(|source| source.patience).max().unwrap_or(SignedDuration::ZERO)
    }

    /// No source is heard of the present.
    pub(super) fn is_silent(&self) -> bool {
        self.sources.iter().all(|source| !source.live)
    }

    pub(super) fn count(&self) -> usize {
        self.sources.len()
    }
}

impl Source {
    fn was_followed(&self) -> bool {
        self.received.duration_since(self.newest) <= BEHIND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn source(name: &str, newest: i64, received: i64) -> SourceRow {
        SourceRow {
            name: name.into(),
            role: "balancer".into(),
            format: None,
            format_set: false,
            log_format: None,
            mapping: None,
            tz: None,
            patience_s: None,
            aliases: Vec::new(),
            newest_at: Some(at(newest)),
            received_at: Some(at(received)),
            heard_until: None,
            hears_from: None,
            lines: 0,
            accepted: 0,
            rejected: 0,
            duplicates: 0,
            bytes: 0,
            samples: serde_json::Value::Null,
        }
    }

    fn limit(rows: &[SourceRow], now: i64) -> Option<i64> {
        Known::of(rows, at(now), &Settings::default()).limit(60).map(|at| at.as_second())
    }

    #[test]
    fn the_slowest_source_that_sends_is_waited_for() {
        assert_eq!(limit(&[], 10_000), None);
        let both = [source("a", 10_000, 10_001), source("b", 9_940, 10_001)];
        assert_eq!(limit(&both, 10_010), Some(9_900), "9,930 is within the window from 9,900");
        // A minute later b has fallen silent, and only a counts.
        let later = [source("a", 10_080, 10_081), source("b", 9_940, 10_001)];
        assert_eq!(limit(&later, 10_081), Some(10_020));
        // One that reads an old file does not hold the others up.
        let old = [source("a", 10_080, 10_081), source("b", 1_000, 10_081)];
        assert_eq!(limit(&old, 10_081), Some(10_020));
    }

    #[test]
    fn a_source_is_waited_for_as_long_as_is_said() {
        // A balancer that writes a file every five minutes, beside one that writes at once.
        let files = SourceRow { patience_s: Some(600), ..source("files", 9_700, 9_940) };
        let both = [source("a", 10_080, 10_081), files.clone()];
        assert_eq!(limit(&both, 10_081), Some(9_660), "141 s of silence are usual");
        let missed = |now| {
            let known = Known::of(&both, at(now), &Settings::default());
            known.heard().into_iter().any(|heard| heard.name == "files" && heard.served)
        };
        assert!(!missed(10_081));
        let late = [source("a", 10_580, 10_581), files];
        assert_eq!(limit(&late, 10_581), Some(10_560), "641 s are not");
        // One that is waited for less than usual.
        let brisk = [
            source("a", 10_080, 10_081),
            SourceRow { patience_s: Some(10), ..source("b", 9_940, 10_065) },
        ];
        assert_eq!(limit(&brisk, 10_081), Some(10_020));
        assert_eq!(Known::of(&both, at(10_081), &Settings::default()).patience().as_secs(), 600);
    }

    #[test]
    fn when_nobody_sends_everything_that_is_here_is_judged() {
        let old = [source("a", 1_000, 10_000)];
        assert_eq!(limit(&old, 10_010), Some(960), "it may be sending yet");
        assert_eq!(limit(&old, 10_100), Some(1_020));
        // The window of the last line is not over yet.
        let fresh = [source("a", 10_030, 10_030)];
        assert_eq!(limit(&fresh, 10_095), Some(10_080));
    }

    #[test]
    fn only_what_was_followed_is_missed() {
        let rows =
            [source("a", 10_000, 10_001), source("b", 9_000, 9_001), source("c", 100, 9_001)];
        let known = Known::of(&rows, at(10_002), &Settings::default());
        let missed: Vec<_> =
            known.heard().into_iter().filter(|h| h.served).map(|h| h.name).collect();
        assert_eq!(missed, ["b"]);
        assert_eq!(known.followed(), Some((at(10_000), at(10_001))));
    }
}
