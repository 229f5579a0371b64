//! The small things that a file of an SLO is made of: instants, lengths, exact shares.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Number, Value};

use crate::domain::fields::{Fields, kind_of};
use crate::domain::slo::definition::Share;
use crate::domain::slo::window::{DAY, first_instant};
use crate::domain::{Invalid, Millis};

/// An instant to the millisecond; none when it is left out.
pub(super) fn instant(fields: &mut Fields, name: &str) -> Result<Option<Millis>, Invalid> {
    fields.take(name).map(|value| instant_of(&value, name)).transpose()
}

pub(super) fn required_instant(fields: &mut Fields, name: &str) -> Result<Millis, Invalid> {
    instant(fields, name)?.ok_or_else(|| Invalid::new(name, "is missing"))
}

/// RFC 3339 with a zone offset, or whole milliseconds since 1970. A leap second is the one after it.
fn instant_of(value: &Value, name: &str) -> Result<Millis, Invalid> {
    match value {
        Value::String(text) => {
            let at: Timestamp = text.parse().map_err(|_| {
                Invalid::given(name, text, "is no instant such as 2026-06-01T00:00:00Z")
            })?;
            if at.subsec_nanosecond() % 1_000_000 != 0 {
                return Err(Invalid::given(name, text, "is finer than a millisecond"));
            }
            Ok(at.as_millisecond() + if is_leap(text) { 1_000 } else { 0 })
        }
        Value::Number(number) => number
            .as_i64()
            .filter(|at| Timestamp::from_millisecond(*at).is_ok())
            .ok_or_else(|| Invalid::new(name, "must be whole milliseconds since 1970")),
        other => Err(Invalid::new(name, format!("must be an instant, not {}", kind_of(other)))),
    }
}

/// Whether the seconds are 60, which reads as 59.
fn is_leap(text: &str) -> bool {
    text.get(16..19) == Some(":60")
}

/// An instant, or a civil date whose first instant in the zone is meant.
pub(super) fn bound(
    fields: &mut Fields,
    name: &str,
    zone: &TimeZone,
) -> Result<Option<Millis>, Invalid> {
    fields.take(name).map(|value| bound_of(&value, name, zone)).transpose()
}

/// The same for a value.
pub(super) fn bound_of(value: &Value, name: &str, zone: &TimeZone) -> Result<Millis, Invalid> {
    let date = value.as_str().filter(|text| text.len() == 10).and_then(|text| text.parse().ok());
    match date.and_then(|date: Date| first_instant(date, zone)) {
        Some(start) => Ok(start),
        None => instant_of(value, name),
    }
}

/// A length in seconds, exact to the millisecond, more than nothing.
pub(super) fn seconds(
    fields: &mut Fields,
    name: &str,
    longest: Millis,
) -> Result<Option<Millis>, Invalid> {
    let Some(value) = fields.take(name) else { return Ok(None) };
    let refusal = || {
        let longest = longest / 1_000;
        Invalid::new(
            name,
            format!("must be a number of seconds above 0 and up to {longest}, to the millisecond"),
        )
    };
    let Value::Number(number) = value else { return Err(refusal()) };
    let millis = exact(&number, 3).and_then(|millis| Millis::try_from(millis).ok());
    millis.filter(|millis| *millis > 0 && *millis <= longest).map(Some).ok_or_else(refusal)
}

/// A share from 0 to 1, with every digit as it was written.
pub(super) fn share(fields: &mut Fields, name: &str) -> Result<Option<Share>, Invalid> {
    const PLACES: u32 = 18;
    let Some(value) = fields.take(name) else { return Ok(None) };
    let refusal = || Invalid::new(name, "must be a number from 0 to 1 with at most 18 decimals");
    let Value::Number(number) = value else { return Err(refusal()) };
    let whole = 10_u64.pow(PLACES);
    let parts = exact(&number, PLACES).and_then(|parts| u64::try_from(parts).ok());
    let mut num = parts.filter(|parts| *parts <= whole).ok_or_else(refusal)?;
    let mut den = whole;
    while den > 1 && num % 10 == 0 {
        (num, den) = (num / 10, den / 10);
    }
    Ok(Some(Share { num, den }))
}

/// The number times 10^places; none when that is no whole number, or negative, or too large.
fn exact(number: &Number, places: u32) -> Option<u128> {
    let text = number.as_str();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    if digits == 0 {
        return Some(0);
    }
    let shift = exponent
        .checked_add(i32::try_from(places).ok()?)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_u128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        digits.checked_mul(power)
    } else {
        digits.is_multiple_of(power).then(|| digits / power)
    }
}

/// `30s`, `5m`, `1h`, `1d`: a length that divides a day.
pub(super) fn slice(text: &str) -> Option<Millis> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => DAY,
        _ => return None,
    };
    let length = number.parse::<i64>().ok()?.checked_mul(unit)?;
    divides_a_day(length).then_some(length)
}

pub(super) fn divides_a_day(length: Millis) -> bool {
    length > 0 && DAY % length == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::of(serde_json::from_str(&format!("{{\"x\":{text}}}")).unwrap(), "").unwrap()
    }

    #[test]
    fn shares_and_seconds_keep_every_digit() {
        let share = |text| share(&mut fields(text), "x").ok().flatten().map(|s| (s.num, s.den));
        assert_eq!(share("0.90"), Some((9, 10)));
        assert_eq!(share("1"), Some((1, 1)));
        assert_eq!(share("0"), Some((0, 1)));
        assert_eq!(share("0.333333333333333333"), Some((333_333_333_333_333_333, 10_u64.pow(18))));
        assert_eq!(share("2e-2"), Some((2, 100)));
        for refused in ["1.1", "-0.1", "1e-19", "\"0.5\"", "1e400"] {
            assert_eq!(share(refused), None, "{refused}");
        }
        let seconds = |text| seconds(&mut fields(text), "x", DAY).ok().flatten();
        assert_eq!(seconds("60"), Some(60_000));
        assert_eq!(seconds("0.001"), Some(1));
        assert_eq!(seconds("6e1"), Some(60_000));
        for refused in ["0", "-1", "0.0001", "86400.001", "1e300", "true"] {
            assert_eq!(seconds(refused), None, "{refused}");
        }
    }

    #[test]
    fn instants_are_whole_milliseconds_and_leap_seconds_the_next_second() {
        let of = |value: Value| instant_of(&value, "x").ok();
        assert_eq!(of(json!("1970-01-01T01:00:00.5+01:00")), Some(500));
        assert_eq!(of(json!("2016-12-31T23:59:60Z")), of(json!("2017-01-01T00:00:00Z")));
        assert_eq!(of(json!(-5)), Some(-5));
        for refused in [
            json!("2026-06-01"),
            json!("2026-06-01T00:00:00"),
            json!("1970-01-01T00:00:00.0001Z"),
            json!(1.5),
            json!(1e300),
            json!([]),
        ] {
            assert_eq!(of(refused.clone()), None, "{refused}");
        }
    }

    #[test]
    fn a_bound_may_be_a_civil_date() {
        let zone = crate::domain::slo::window::zone("America/Havana").unwrap();
        let at = |text: &str| bound(&mut fields(&format!("\"{text}\"")), "x", &zone).unwrap();
        assert_eq!(at("2026-11-01"), at("2026-11-01T04:00:00Z"));
    }

    #[test]
    fn slices_divide_a_day() {
        assert_eq!(
            (slice("1h"), slice("90s"), slice("1d")),
            (Some(3_600_000), Some(90_000), Some(DAY))
        );
        assert_eq!(
            (slice("7h"), slice("h"), slice(""), slice("-1h"), slice("1é")),
            (None, None, None, None, None)
        );
    }
}
