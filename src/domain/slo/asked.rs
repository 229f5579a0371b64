//! Which window of an SLO somebody wants to see.

use jiff::tz::TimeZone;

use super::definition::Definition;
use super::document;
use super::window::{Bounds, Window, period};
use crate::domain::{Invalid, Millis};

/// Longest span that may be asked for: days of one are listed each.
const LONGEST: Millis = 3_660 * super::window::DAY;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asked {
    /// The one that the watermark lies in.
    #[default]
    Current,
    /// The one before it.
    Previous,
    /// From one instant to another, whatever the window of the SLO.
    Between(Bounds),
}

impl Asked {
    /// `current`, `previous`, or `FROM..TO` in instants or in civil dates of the zone.
    pub fn parse(text: &str, zone: &TimeZone) -> Result<Self, Invalid> {
        match text {
            "current" => return Ok(Self::Current),
            "previous" => return Ok(Self::Previous),
            _ => {}
        }
        let Some((from, to)) = text.split_once("..") else {
            let known = "is no window; known are current, previous, and FROM..TO such as 2026-03-01..2026-04-01";
            return Err(Invalid::given("window", text, known));
        };
        let start = document::bound(from, "window", zone)?;
        let end = document::bound(to, "window", zone)?;
        if start >= end {
            return Err(Invalid::given("window", text, "ends before it begins"));
        }
        if end - start > LONGEST {
            return Err(Invalid::given("window", text, "is longer than ten years"));
        }
        Ok(Self::Between(Bounds { start, end }))
    }

    /// The definition with that window, and up to where it is told: not beyond its end, so that the report
    /// on a window that is over is the same whenever it is made. None when it lies beyond the calendar.
    pub fn of(self, definition: &Definition, watermark: Millis) -> Option<(Definition, Millis)> {
        let named = |bounds: Bounds| match definition.window {
            Window::Calendar { unit, .. } | Window::Period { unit, .. } => {
                Window::Period { unit, bounds }
            }
            Window::Rolling { .. } | Window::Fixed { .. } => {
                Window::Fixed { from: bounds.start, to: bounds.end }
            }
        };
        let window = match (self, &definition.window) {
            (Self::Current, window) => window.clone(),
            (Self::Between(bounds), _) => named(bounds),
            (Self::Previous, window @ Window::Rolling { days }) => {
                let before = watermark - i64::from(*days) * super::window::DAY;
                return Some((Definition { window: window.clone(), ..definition.clone() }, before));
            }
            (Self::Previous, Window::Calendar { unit, zone, anchor }) => {
                let current = definition.window.bounds(watermark)?;
                named(period(*unit, zone, *anchor, current.start.checked_sub(1)?)?)
            }
            (Self::Previous, window) => {
                let Bounds { start, end } = window.bounds(watermark)?;
                named(Bounds { start: start.checked_sub(end - start)?, end: start })
            }
        };
        let end = match &window {
            Window::Rolling { .. } => watermark,
            window => window.bounds(watermark)?.end,
        };
        Some((Definition { window, ..definition.clone() }, watermark.min(end)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::window::{DAY, zone};
    use super::*;

    fn definition(window: serde_json::Value) -> Definition {
        let slo = json!({"target_ppb": 999_000_000_u64, "window": window});
        document::objective(slo, 0).unwrap().definition
    }

    fn at(text: &str) -> Millis {
        text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn windows_are_named_or_given_by_their_bounds() {
        let berlin = zone("Europe/Berlin").unwrap();
        let parse = |text| Asked::parse(text, &berlin);
        assert_eq!(parse("current"), Ok(Asked::Current));
        let march = Bounds { start: at("2026-02-28T23:00:00Z"), end: at("2026-03-31T22:00:00Z") };
        assert_eq!(parse("2026-03-01..2026-04-01"), Ok(Asked::Between(march)));
        assert_eq!(parse("2026-02-28T23:00:00Z..2026-03-31T22:00:00Z"), Ok(Asked::Between(march)));
        for refused in
            ["", "next", "2026-03-01..", "2026-03-01..2026-03-01", "1990-01-01..2026-01-01"]
        {
            assert_eq!(parse(refused).unwrap_err().field, "window", "{refused}");
        }
    }

    #[test]
    fn the_one_before_is_a_whole_one() {
        let month =
            definition(json!({"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin"}));
        let (of, watermark) = Asked::Previous.of(&month, at("2026-04-15T12:00:00Z")).unwrap();
        let bounds = of.window.bounds(watermark).unwrap();
        assert_eq!((bounds.start, bounds.end), (at("2026-02-28T23:00:00Z"), watermark));
        assert_eq!(watermark, at("2026-03-31T22:00:00Z"));
        let rolling = definition(json!({"kind": "rolling", "duration": "7d"}));
        let (of, watermark) = Asked::Previous.of(&rolling, 30 * DAY).unwrap();
        assert_eq!(of.window.bounds(watermark), Some(Bounds { start: 16 * DAY, end: 23 * DAY }));
        let (_, running) = Asked::Current.of(&month, at("2026-04-15T12:00:00Z")).unwrap();
        assert_eq!(running, at("2026-04-15T12:00:00Z"));
    }
}
