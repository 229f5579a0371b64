//! Durations and windows: `5m`, `30d`, a month of a calendar.

use jiff::civil::{Date, DateTime};
use serde_json::{Value, json};

use crate::domain::fields::Fields;
use crate::domain::slo::window::{DAY, Unit, Window, zone};
use crate::domain::{Invalid, Millis};

const MINUTE: Millis = 60_000;
const STAMP: &str = "%Y-%m-%d %H:%M:%S";

/// The largest unit that divides it; none when it is no whole number of minutes.
pub(super) fn shorthand(length: Millis) -> Option<String> {
    let units = [(DAY, "d"), (60 * MINUTE, "h"), (MINUTE, "m")];
    let fits = |(unit, _): &&(Millis, &str)| length > 0 && length % unit == 0;
    units.iter().find(fits).map(|(unit, name)| format!("{}{name}", length / unit))
}

/// Number and unit: `m h d w M Q Y`.
pub(super) fn split(text: &str) -> Option<(u32, char)> {
    let unit = text.chars().next_back().filter(|unit| "mhdwMQY".contains(*unit))?;
    let digits = text.strip_suffix(unit)?;
    let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())??;
    (number > 0).then_some((number, unit))
}

/// A length of time; months, quarters and years are 30, 90 and 365 days.
pub(super) fn length(text: &str) -> Option<Millis> {
    let (number, unit) = split(text)?;
    let each = match unit {
        'm' => MINUTE,
        'h' => 60 * MINUTE,
        'd' => DAY,
        'w' => 7 * DAY,
        'M' => 30 * DAY,
        'Q' => 90 * DAY,
        _ => 365 * DAY,
    };
    each.checked_mul(number.into()).filter(|length| *length <= 36_600 * DAY)
}

/// The one entry of `timeWindow`. A window with fixed bounds has no counterpart.
pub(super) fn write(window: &Window, timezone: &str) -> Result<Value, Invalid> {
    match window {
        Window::Rolling { days } => Ok(json!({"duration": format!("{days}d"), "isRolling": true})),
        Window::Calendar { unit, anchor, .. } => {
            let start = anchor.unwrap_or_else(|| unit.anchor()).at(0, 0, 0, 0);
            Ok(json!({
                "duration": unit.name(),
                "isRolling": false,
                "calendar": {"startTime": start.strftime(STAMP).to_string(), "timeZone": timezone},
            }))
        }
        Window::Period { .. } | Window::Fixed { .. } => Err(Invalid::new(
            "window",
            "has fixed bounds, which OpenSLO has no word for; only rolling and calendar windows can be exported",
        )),
    }
}

/// A window, the name of its zone when it is one of the calendar, and what is to be said about it.
pub(super) fn read(
    value: Value,
    warnings: &mut Vec<String>,
) -> Result<(Window, Option<String>), Invalid> {
    let mut fields = Fields::of(value, "")?;
    let duration = fields.required_string("duration")?;
    let calendar = fields.take("calendar");
    let rolling = fields.bool("isRolling")?.unwrap_or(calendar.is_none());
    fields.finish(&["duration", "calendar", "isRolling"])?;
    match (rolling, calendar) {
        (true, Some(_)) => Err(Invalid::new("calendar", "has no place in a rolling window")),
        (true, None) => Ok((rolling_of(&duration, warnings)?, None)),
        (false, None) => Err(Invalid::new("calendar", "is missing: the window does not roll")),
        (false, Some(calendar)) => {
            let (window, zone) = calendar_of(&duration, calendar)?;
            Ok((window, Some(zone)))
        }
    }
}

fn rolling_of(duration: &str, warnings: &mut Vec<String>) -> Result<Window, Invalid> {
    let wrong = |why: &str| Invalid::given("duration", duration, why);
    let (_, unit) = split(duration)
        .ok_or_else(|| wrong("is no duration such as 30d; units are m h d w M Q Y"))?;
    let length = length(duration).ok_or_else(|| wrong("is too long"))?;
    if length % DAY != 0 {
        return Err(wrong("is no whole number of days, and windows here are (a month is 1M)"));
    }
    let days = u16::try_from(length / DAY).ok().filter(|days| *days <= 3_660);
    let days = days.ok_or_else(|| wrong("is longer than 3,660 days"))?;
    if "MQY".contains(unit) {
        warnings.push(format!("timeWindow: a rolling {duration} is read as {days} days"));
    }
    Ok(Window::Rolling { days })
}

fn calendar_of(duration: &str, calendar: Value) -> Result<(Window, String), Invalid> {
    let wrong = |why: &str| Invalid::given("duration", duration, why);
    let unit = match split(duration) {
        Some((_, 'm' | 'h')) => {
            return Err(wrong(
                "is no period of a calendar: m is a minute and h an hour; a month is 1M",
            ));
        }
        Some((1, 'd')) => Unit::Day,
        Some((1, 'w') | (7, 'd')) => Unit::Week,
        Some((1, 'M')) => Unit::Month,
        Some((1, 'Q') | (3, 'M')) => Unit::Quarter,
        Some((1, 'Y') | (12, 'M') | (4, 'Q')) => Unit::Year,
        _ => return Err(wrong("is no period of the calendar here; known are 1d, 1w, 1M, 1Q, 1Y")),
    };
    let mut fields = Fields::of(calendar, "calendar")?;
    let under = |error: Invalid| error.under("calendar");
    let start = fields.required_string("startTime").map_err(under)?;
    let name = fields.required_string("timeZone").map_err(under)?;
    fields.finish(&["startTime", "timeZone"]).map_err(under)?;
    let zone = zone(&name).map_err(|_| {
        Invalid::given(
            "calendar.timeZone",
            &name,
            "is no zone known here, such as Europe/Berlin or UTC",
        )
    })?;
    let date = first_day(&start).ok_or_else(|| {
        let why = "is no beginning of a day such as 2026-01-01 00:00:00, which windows here need";
        Invalid::given("calendar.startTime", &start, why)
    })?;
    let anchor = (date != unit.anchor()).then_some(date);
    Ok((Window::Calendar { unit, zone, anchor }, name))
}

/// Its date, when it is the beginning of one.
fn first_day(text: &str) -> Option<Date> {
    let at = DateTime::strptime(STAMP, text).ok()?;
    (at.time() == jiff::civil::Time::midnight()).then(|| at.date())
}
