//! Names, annotations and numbers as the format spells them.

use serde_json::{Map, Value};

use crate::domain::slo::definition::Share;
pub(super) use crate::domain::slug::is_slug as is_name;

/// `quorate.dev/confirm` of `confirm`.
pub(super) fn annotation(name: &str) -> String {
    format!("quorate.dev/{name}")
}

/// A name after RFC 1123; `slo` when nothing of it is left.
pub fn slug(name: &str) -> String {
    crate::domain::slug::slug(name).unwrap_or_else(|| "slo".to_owned())
}

/// A share with every digit: decimal where that is exact, else a fraction.
pub(super) fn share(share: Share) -> String {
    const PLACES: u32 = 18;
    let whole = 10_u128.pow(PLACES);
    let (num, den) = (u128::from(share.num), u128::from(share.den).max(1));
    if !(num * whole).is_multiple_of(den) {
        return format!("{num}/{den}");
    }
    let parts = num * whole / den;
    let text = format!("{}.{:018}", parts / whole, parts % whole);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share as it was written; none when it is none, or more than all.
pub(super) fn read_share(text: &str) -> Option<Share> {
    if let Some((num, den)) = text.split_once('/') {
        let share = Share { num: num.parse().ok()?, den: den.parse().ok()? };
        return (share.den > 0 && share.num <= share.den).then_some(share);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 18 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let den = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let num = format!("{whole}{fraction}").parse::<u64>().ok()?;
    (num <= den).then_some(Share { num, den })
}

/// Parts per billion of a share from 0 to 1, to the ninth decimal.
pub(super) fn ppb(text: &str) -> Option<u64> {
    let share = read_share(text)?;
    let parts = u128::from(share.num) * 1_000_000_000;
    parts.is_multiple_of(share.den.into()).then(|| (parts / u128::from(share.den)) as u64)
}

/// A number as a decimal without an exponent, as it was written or as short as it can be.
pub(super) fn decimal(value: &Value) -> Option<String> {
    let number = value.as_number()?;
    let text = number.to_string();
    if text.contains(['e', 'E']) { Some(format!("{}", number.as_f64()?)) } else { Some(text) }
}

/// A number of a document; the text is one already.
pub(super) fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// What is there, in an object.
pub(super) fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_that_the_format_allows() {
        assert_eq!(slug("Checkout – Zahlung (EU)"), "checkout-zahlung-eu");
        assert_eq!(slug("…"), "slo");
    }

    #[test]
    fn shares_keep_every_digit() {
        for text in ["0.9", "1", "0", "0.333333333333333333", "0.02", "1/3"] {
            assert_eq!(share(read_share(text).unwrap()), text);
        }
        for none in ["1.1", "2/1", "1/0", "-0.1", "", "x", "0.1234567890123456789", "1e-2"] {
            assert!(read_share(none).is_none(), "{none}");
        }
        assert_eq!(ppb("0.999"), Some(999_000_000));
        assert_eq!(ppb("0.9999999999"), None);
    }
}
