//! Maintenance windows (spec: decision 5.8) as values. Which windows concern a monitor is settled before a
//! decision is taken; when those of a plan begin, in [`plan`].

pub mod plan;

use serde::{Deserialize, Serialize};

use super::Millis;

/// One occurrence, `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start: Millis,
    pub end: Millis,
    pub switches: Switches,
}

/// What a window does; each can be switched alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { suppress_alerts: true, exclude_from_slo: true, pause_probes: false }
    }
}

impl Window {
    /// The window itself, for what lasts exactly as long as it: paused probes, excluded time.
    pub fn contains(&self, at: Millis) -> bool {
        self.start <= at && at < self.end
    }

    /// First instant at which alerts are heard again: two intervals after the end, so that a monitor
    /// has time to be seen up.
    pub fn quiet_end(&self, interval: Millis) -> Millis {
        self.end.saturating_add(2 * interval)
    }

    fn quiets(&self, interval: Millis, at: Millis) -> bool {
        self.switches.suppress_alerts && self.start <= at && at < self.quiet_end(interval)
    }
}

/// Whether what happens now is kept silent: `[start, end + 2I)` of any window that suppresses alerts.
pub fn quiet(windows: &[Window], interval: Millis, at: Millis) -> bool {
    windows.iter().any(|window| window.quiets(interval, at))
}

/// When silence ends that holds now, overlapping and adjoining windows taken together; none when it
/// does not hold now.
pub fn quiet_until(windows: &[Window], interval: Millis, at: Millis) -> Option<Millis> {
    let mut until = at;
    while let Some(next) = windows
        .iter()
        .filter(|window| window.quiets(interval, until))
        .map(|window| window.quiet_end(interval))
        .max()
    {
        until = next;
    }
    (until > at).then_some(until)
}

/// Latest end among the windows that keep this instant silent.
pub fn quieting_end(windows: &[Window], interval: Millis, at: Millis) -> Option<Millis> {
    windows.iter().filter(|window| window.quiets(interval, at)).map(|window| window.end).max()
}

/// Latest end of a suppressing window whose silence is over; what an announcement after maintenance
/// is dated to.
pub fn last_end(windows: &[Window], interval: Millis, at: Millis) -> Option<Millis> {
    windows
        .iter()
        .filter(|window| window.switches.suppress_alerts && window.quiet_end(interval) <= at)
        .map(|window| window.end)
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: Millis, end: Millis) -> Window {
        Window { start, end, switches: Switches::default() }
    }

    #[test]
    fn silence_lasts_two_intervals_longer_than_the_window() {
        let windows = [window(100, 400)];
        assert!(!quiet(&windows, 60, 99));
        assert!(quiet(&windows, 60, 100));
        assert!(quiet(&windows, 60, 519));
        assert!(!quiet(&windows, 60, 520));
        assert!(windows[0].contains(399) && !windows[0].contains(400));
    }

    #[test]
    fn a_window_that_lets_alerts_through_keeps_nothing_silent() {
        let loud = Window {
            switches: Switches { suppress_alerts: false, ..Switches::default() },
            ..window(100, 400)
        };
        assert!(!quiet(&[loud], 60, 200));
        assert_eq!(last_end(&[loud], 60, 1000), None);
    }

    #[test]
    fn adjoining_windows_are_one_silence() {
        let windows = [window(100, 400), window(500, 600), window(2000, 2100)];
        assert_eq!(quiet_until(&windows, 60, 150), Some(720));
        assert_eq!(quiet_until(&windows, 60, 50), None);
        assert_eq!(last_end(&windows, 60, 720), Some(600));
        assert_eq!(quieting_end(&windows, 60, 510), Some(600));
    }
}
