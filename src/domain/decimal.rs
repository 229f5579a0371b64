//! Numbers as written, compared digit by digit: 9007199254740993 is not …992, and 0.2 is 0.2.

use std::cmp::Ordering;

/// A decimal number of any size, in one normal form: value = ± 0.d₁d₂… × 10^point, with d₁ and the
/// last digit not 0; zero has no digits. Equal values are equal structs (`1.0`, `1`, `10e-1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads a JSON number. `None` for anything else. An exponent beyond 64 bits is taken as the
    /// largest there is, which keeps the order right against every number that fits.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !all_digits(whole)
            || !all_digits(fraction)
            || (mantissa.contains('.') && fraction.is_empty())
        {
            return None;
        }
        let joined: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        let leading = joined.iter().take_while(|d| **d == 0).count();
        let end = joined.iter().rposition(|d| *d != 0).map_or(0, |last| last + 1);
        if end == 0 {
            return Some(Self { negative: false, digits: Vec::new(), point: 0 });
        }
        let digits = joined.get(leading..end).unwrap_or_default().to_vec();
        let point = (whole.len() as i64).saturating_sub(leading as i64).saturating_add(exponent);
        Some(Self { negative, digits, point })
    }

    /// The number that a JSON number holds.
    pub fn of(number: &serde_json::Number) -> Option<Self> {
        Self::parse(number.as_str())
    }

    /// `micros` / 1000, exactly: microseconds as milliseconds.
    pub fn thousandths(micros: u64) -> Self {
        let mut number = Self::from(micros);
        if !number.digits.is_empty() {
            number.point -= 3;
        }
        number
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => {
                self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits))
            }
        }
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Self::from(i128::from(number))
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self::from(i128::from(number))
    }
}

impl From<i128> for Decimal {
    fn from(number: i128) -> Self {
        Self::parse(&number.to_string()).unwrap_or(Self {
            negative: false,
            digits: Vec::new(),
            point: 0,
        })
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Half the range, so that adding the digits before the point cannot overflow.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(i64::MAX / 2);
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn values_compare_exactly_whatever_their_spelling() {
        assert_eq!(d("1.0"), d("1"));
        assert_eq!(d("10e-1"), d("1"));
        assert_eq!(d("0.2"), d("2E-1"));
        assert_eq!(d("-0"), d("0.000"));
        assert_eq!(d("0e99999999999999999999999"), d("0"));
        assert!(d("9007199254740993") > d("9007199254740992"));
        assert!(d("0.1") < d("0.10000000000000000000000000001"));
        assert!(d("-2") < d("-1"));
        assert!(d("1e400") > d("1e399"));
        assert!(d("1e99999999999999999999") > d("1e400"));
        assert!(d("-1e99999999999999999999") < d("0"));
        assert_eq!(Decimal::thousandths(500_000), d("500"));
        assert!(Decimal::thousandths(500_001) > d("500"));
    }

    #[test]
    fn other_text_is_not_a_number() {
        for text in ["", "-", "+1", "1.", ".5", "1e", "1e+", "NaN", "0x10", "1 ", "--1", "1.2.3"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn integers_order_as_they_do_in_rust(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(Decimal::from(a).cmp(&Decimal::from(b)), a.cmp(&b));
        }

        #[test]
        fn scaling_keeps_the_value(a in any::<i32>(), zeros in 0usize..12) {
            let scaled = format!("{a}{}e-{zeros}", "0".repeat(zeros));
            prop_assert_eq!(d(&scaled), Decimal::from(i64::from(a)));
        }
    }
}
