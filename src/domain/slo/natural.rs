//! Natural numbers of any size, for the few products and sums of fractions that 128 bits do not hold.

use std::cmp::Ordering;

/// Little-endian limbs of 32 bits, without zeros at the top; none is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Natural {
    limbs: Vec<u32>,
}

impl Natural {
    pub fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// None when it needs more than 128 bits.
    pub fn to_u128(&self) -> Option<u128> {
        if self.limbs.len() > 4 {
            return None;
        }
        Some(self.limbs.iter().rev().fold(0, |sum, limb| (sum << 32) | u128::from(*limb)))
    }

    /// Bits up to the highest that is set.
    pub fn bits(&self) -> u32 {
        match self.limbs.last() {
            None => 0,
            Some(top) => self.limbs.len() as u32 * 32 - top.leading_zeros(),
        }
    }

    pub fn times(&self, factor: u128) -> Self {
        self.product(&Self::from(factor))
    }

    pub fn product(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.to_u128(), other.to_u128())
            && let Some(small) = a.checked_mul(b)
        {
            return Self::from(small);
        }
        let mut out = vec![0_u32; self.limbs.len() + other.limbs.len()];
        for (i, a) in self.limbs.iter().enumerate() {
            let mut carry = 0_u64;
            // One more turn than limbs, for the carry.
            for (j, slot) in out.iter_mut().skip(i).enumerate() {
                let b = other.limbs.get(j).copied().unwrap_or(0);
                let sum = u64::from(*a) * u64::from(b) + u64::from(*slot) + carry;
                *slot = sum as u32;
                carry = sum >> 32;
                if j >= other.limbs.len() && carry == 0 {
                    break;
                }
            }
        }
        Self::trimmed(out)
    }

    pub fn sum(&self, other: &Self) -> Self {
        let longest = self.limbs.len().max(other.limbs.len());
        let mut out = Vec::with_capacity(longest + 1);
        let mut carry = 0_u64;
        for i in 0..=longest {
            let limb = |n: &Self| u64::from(n.limbs.get(i).copied().unwrap_or(0));
            let sum = limb(self) + limb(other) + carry;
            out.push(sum as u32);
            carry = sum >> 32;
        }
        Self::trimmed(out)
    }

    /// Zero when `other` is larger.
    pub fn less(&self, other: &Self) -> Self {
        if *self <= *other {
            return Self::default();
        }
        let mut out = Vec::with_capacity(self.limbs.len());
        let mut borrow = 0_i64;
        for (i, limb) in self.limbs.iter().enumerate() {
            let rest =
                i64::from(*limb) - i64::from(other.limbs.get(i).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(rest < 0);
            out.push(rest.rem_euclid(1 << 32) as u32);
        }
        Self::trimmed(out)
    }

    pub fn shifted(&self, bits: u32) -> Self {
        let mut limbs = vec![0; (bits / 32) as usize];
        limbs.extend_from_slice(&self.limbs);
        Self { limbs }.times(1 << (bits % 32))
    }

    /// How often `divisor` goes into it, and whether nothing is left over. A quotient beyond 126 bits is
    /// told as 2^126, and so is a division by zero.
    pub fn divided(&self, divisor: &Self) -> (u128, bool) {
        const LARGEST: u128 = 1 << 126;
        if divisor.is_zero() {
            return (LARGEST, false);
        }
        if let (Some(a), Some(b)) = (self.to_u128(), divisor.to_u128()) {
            return ((a / b).min(LARGEST), a % b == 0);
        }
        let bits = (self.bits() + 1).saturating_sub(divisor.bits()).min(126);
        let mut quotient = 0_u128;
        for bit in (0..=bits).rev() {
            let tried = quotient | (1 << bit);
            if divisor.times(tried) <= *self {
                quotient = tried;
            }
        }
        (quotient.min(LARGEST), divisor.times(quotient) == *self)
    }

    fn trimmed(mut limbs: Vec<u32>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self { limbs }
    }
}

impl From<u128> for Natural {
    fn from(number: u128) -> Self {
        Self::trimmed((0..4).map(|i| (number >> (32 * i)) as u32).collect())
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.limbs.len().cmp(&other.limbs.len());
        by_length.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn n(number: u128) -> Natural {
        Natural::from(number)
    }

    #[test]
    fn products_beyond_128_bits_are_exact() {
        // (2^128 - 1)^2 = 2^256 - 2^129 + 1
        let square = n(u128::MAX).product(&n(u128::MAX));
        assert_eq!(square.bits(), 256);
        assert_eq!(square.sum(&n(1).shifted(129)).less(&n(1)), n(1).shifted(256));
        assert_eq!(square.divided(&n(u128::MAX).times(1 << 10)), (u128::MAX >> 10, false));
        let wide = n(10_u128.pow(30)).product(&n(10_u128.pow(30)));
        assert_eq!(wide.divided(&n(10_u128.pow(35))), (10_u128.pow(25), true));
        assert_eq!(wide.sum(&n(1)).divided(&n(10_u128.pow(35))), (10_u128.pow(25), false));
    }

    proptest! {
        #[test]
        fn small_numbers_behave_as_the_machine_s(a in any::<u64>(), b in any::<u64>(), s in 0_u32..64) {
            let (wide_a, wide_b) = (u128::from(a), u128::from(b));
            prop_assert_eq!(n(wide_a).product(&n(wide_b)).to_u128(), Some(wide_a * wide_b));
            prop_assert_eq!(n(wide_a).sum(&n(wide_b)).to_u128(), Some(wide_a + wide_b));
            prop_assert_eq!(n(wide_a).less(&n(wide_b)).to_u128(), Some(wide_a.saturating_sub(wide_b)));
            prop_assert_eq!(n(wide_a).cmp(&n(wide_b)), a.cmp(&b));
            prop_assert_eq!(n(wide_a).shifted(s).to_u128(), Some(wide_a << s));
        }

        #[test]
        fn dividing_undoes_multiplying(a in any::<u128>(), b in 1..u128::MAX, q in 0_u128..1 << 100, r in any::<u64>()) {
            let divisor = n(a).product(&n(b)).sum(&n(1 << 90));
            let whole = divisor.times(q);
            prop_assert_eq!(whole.divided(&divisor), (q, true));
            let rest = whole.sum(&n(u128::from(r)));
            prop_assert_eq!(rest.divided(&divisor), (q, r == 0));
            prop_assert_eq!(rest.less(&whole).to_u128(), Some(u128::from(r)));
        }
    }
}
