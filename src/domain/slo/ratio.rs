//! Exact fractions: what decides is compared digit by digit, what is shown is rounded in one place.

use std::cmp::Ordering;

use super::natural::Natural;

/// One whole in parts per billion.
pub const BILLION: u64 = 1_000_000_000;

/// A fraction that is not negative. The denominator may be zero: then there is nothing to say, and the
/// figures made from it are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ratio {
    pub num: Natural,
    pub den: Natural,
}

impl Ratio {
    pub fn new(num: u128, den: u128) -> Self {
        Self { num: num.into(), den: den.into() }
    }

    pub fn whole(number: u128) -> Self {
        Self::new(number, 1)
    }

    /// Nothing can be said.
    pub fn is_none(&self) -> bool {
        self.den.is_zero()
    }

    pub fn plus(&self, other: &Self) -> Self {
        if self.den == other.den {
            return Self { num: self.num.sum(&other.num), den: self.den.clone() };
        }
        Self {
            num: self.num.product(&other.den).sum(&other.num.product(&self.den)),
            den: self.den.product(&other.den),
        }
    }

    /// Zero when `other` is larger.
    pub fn minus(&self, other: &Self) -> Self {
        if self.den == other.den {
            return Self { num: self.num.less(&other.num), den: self.den.clone() };
        }
        Self {
            num: self.num.product(&other.den).less(&other.num.product(&self.den)),
            den: self.den.product(&other.den),
        }
    }

    pub fn times(&self, factor: u128) -> Self {
        Self { num: self.num.times(factor), den: self.den.clone() }
    }

    pub fn product(&self, other: &Self) -> Self {
        Self { num: self.num.product(&other.num), den: self.den.product(&other.den) }
    }

    /// Divided by another; none when that is zero.
    pub fn over(&self, other: &Self) -> Self {
        Self { num: self.num.product(&other.den), den: self.den.product(&other.num) }
    }

    /// The whole part.
    pub fn floor(&self) -> u128 {
        self.num.divided(&self.den).0
    }

    /// The nearest double, ties to even; none without a denominator.
    pub fn to_f64(&self) -> Option<f64> {
        if self.is_none() {
            return None;
        }
        if self.num.is_zero() {
            return Some(0.0);
        }
        // Shifted so that the quotient has 64 to 66 bits, twelve more than a double holds; what is left
        // over then only matters for whether it is more than half of the last place.
        let lift = 65 + i64::from(self.den.bits()) - i64::from(self.num.bits());
        let (num, den) = match u32::try_from(lift) {
            Ok(lift) => (self.num.shifted(lift), self.den.clone()),
            Err(_) => (self.num.clone(), self.den.shifted(lift.unsigned_abs() as u32)),
        };
        let (quotient, even) = num.divided(&den);
        let sticky = quotient | u128::from(!even);
        Some(sticky as f64 * 2_f64.powi(-lift as i32))
    }

    /// In percent with so many decimals, cut off and never rounded up: `99.999` until it is all of it.
    pub fn percent(&self, decimals: u32) -> Option<String> {
        if self.is_none() {
            return None;
        }
        let scale = 10_u128.pow(decimals.min(12));
        let (parts, _) = self.num.times(100 * scale).divided(&self.den);
        let (whole, rest) = (parts / scale, parts % scale);
        Some(match decimals {
            0 => whole.to_string(),
            _ => format!("{whole}.{rest:0>width$}", width = decimals.min(12) as usize),
        })
    }
}

/// Fractions without a denominator are equal to nothing and stand after everything.
impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.is_none() || other.is_none() {
            return None;
        }
        if self.den == other.den {
            return Some(self.num.cmp(&other.num));
        }
        Some(self.num.product(&other.den).cmp(&other.num.product(&self.den)))
    }
}

/// The difference of two fractions, which may be negative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub negative: bool,
    pub size: Ratio,
}

impl Signed {
    pub fn difference(a: &Ratio, b: &Ratio) -> Self {
        let negative = a < b;
        Self { negative, size: if negative { b.minus(a) } else { a.minus(b) } }
    }

    pub fn to_f64(&self) -> Option<f64> {
        self.size.to_f64().map(|size| if self.negative { -size } else { size })
    }

    /// Towards minus infinity.
    pub fn floor(&self) -> i64 {
        let (whole, even) = self.size.num.divided(&self.size.den);
        let whole = i64::try_from(whole).unwrap_or(i64::MAX - 1);
        match self.negative {
            false => whole,
            true => -whole - i64::from(!even),
        }
    }

    pub fn is_zero(&self) -> bool {
        self.size.num.is_zero()
    }
}

/// Parts per billion as a percentage without needless zeros: 999000000 is `99.9`.
pub fn target_percent(ppb: u64) -> String {
    let scale = BILLION / 100;
    let text = format!("{}.{:07}", ppb / scale, ppb % scale);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentages_are_cut_off_and_never_rounded_up() {
        let all_but_one = Ratio::new(2_591_999, 2_592_000);
        assert_eq!(all_but_one.percent(3).unwrap(), "99.999");
        assert_eq!(all_but_one.percent(5).unwrap(), "99.99996");
        assert_eq!(all_but_one.percent(0).unwrap(), "99");
        assert_eq!(Ratio::new(1, 1).percent(3).unwrap(), "100.000");
        assert_eq!(Ratio::new(1, 3).percent(12).unwrap(), "33.333333333333");
        assert_eq!(Ratio::new(0, 0).percent(3), None);
        assert_eq!(target_percent(999_000_000), "99.9");
        assert_eq!(target_percent(999_999_999), "99.9999999");
        assert_eq!(target_percent(500_000_000), "50");
        assert_eq!(target_percent(1), "0.0000001");
    }

    #[test]
    fn differences_floor_towards_minus_infinity() {
        let of = |a: (u128, u128), b: (u128, u128)| {
            Signed::difference(&Ratio::new(a.0, a.1), &Ratio::new(b.0, b.1))
        };
        assert_eq!(of((26_748, 10), (2_676, 1)).floor(), -2);
        assert_eq!(of((2_676, 1), (26_748, 10)).floor(), 1);
        assert_eq!(of((3, 1), (5, 1)).floor(), -2);
        assert!(of((3, 1), (6, 2)).is_zero());
        assert_eq!(of((1, 1), (3, 2)).to_f64(), Some(-0.5));
    }

    #[test]
    fn a_fraction_too_long_for_128_bits_is_still_exact() {
        // The mean of 1/p over the primes below 100, and the same a hair less.
        let primes: Vec<u128> = (2..100).filter(|n| (2..*n).all(|d| n % d != 0)).collect();
        let sum = primes.iter().fold(Ratio::whole(0), |sum, p| sum.plus(&Ratio::new(1, *p)));
        assert!(sum.den.to_u128().is_none() || sum.den.bits() > 100);
        let float: f64 = primes.iter().map(|p| 1.0 / *p as f64).sum();
        assert!((sum.to_f64().unwrap() - float).abs() < 1e-12);
        let less = primes.iter().rev().fold(Ratio::whole(0), |sum, p| sum.plus(&Ratio::new(1, *p)));
        assert_eq!(sum.partial_cmp(&less), Some(Ordering::Equal));
        assert!(sum.minus(&Ratio::new(1, 10_u128.pow(37))) < less);
    }

    proptest! {
        #[test]
        fn small_quotients_are_the_machine_s(a in 0_u64..1 << 53, b in 1_u64..1 << 53) {
            let exact = Ratio::new(u128::from(a), u128::from(b)).to_f64().unwrap();
            prop_assert_eq!(exact, a as f64 / b as f64);
        }

        #[test]
        fn common_factors_do_not_matter(a in 0_u64..1 << 50, b in 1_u64..1 << 50, c in 1_u128..1 << 100) {
            let plain = Ratio::new(a.into(), b.into());
            let same = Ratio { num: plain.num.times(c), den: plain.den.times(c) };
            prop_assert_eq!(same.to_f64(), plain.to_f64());
            prop_assert_eq!(same.percent(7), plain.percent(7));
            prop_assert_eq!(same.partial_cmp(&plain), Some(Ordering::Equal));
        }
    }
}
