//! A mergeable histogram with fixed buckets (spec: fleet 3.5): merging is adding, whatever the order.

/// Histogram of latencies in integer microseconds: 16 buckets an octave, so that a bucket is at most
/// 1/16 of its value wide (half of that is the largest error of a quantile, 3.2 %). Values below 16 µs
/// have a bucket each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Bucket and count, by bucket: a few dozen at most, of which one is touched at a time.
    buckets: Vec<(u16, u32)>,
}

impl Sketch {
    pub fn add(&mut self, micros: u32) {
        self.add_to(0, bucket_of(micros), 1);
    }

    /// Adds `count` times the same value.
    pub fn add_many(&mut self, micros: u32, count: u32) {
        if count > 0 {
            self.add_to(0, bucket_of(micros), count);
        }
    }

    /// Takes back what was merged before.
    pub fn subtract(&mut self, other: &Sketch) {
        let mut from = 0;
        for (bucket, count) in &other.buckets {
            from = self.add_to(from, *bucket, 0);
            if let Some((_, mine)) = self.buckets.get_mut(from) {
                *mine = mine.saturating_sub(*count);
            }
            from += 1;
        }
        self.buckets.retain(|(_, count)| *count > 0);
    }

    pub fn merge(&mut self, other: &Sketch) {
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
            return;
        }
        let mut from = 0;
        for (bucket, count) in &other.buckets {
            from = self.add_to(from, *bucket, *count) + 1;
        }
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Adds to a bucket that does not stand before `from`, and says where it stands.
    fn add_to(&mut self, from: usize, bucket: u16, count: u32) -> usize {
        // Sums of the same kind mostly have the same buckets, so the next one is right here.
        let at = match self.buckets.get(from) {
            Some((here, _)) if *here == bucket => from,
            _ => {
                let later = self.buckets.get(from..).unwrap_or_default();
                from + later.partition_point(|(other, _)| *other < bucket)
            }
        };
        match self.buckets.get_mut(at) {
            Some((same, mine)) if *same == bucket => *mine = mine.saturating_add(count),
            _ => {
                // Growing from one on costs more than what is kept free.
                if self.buckets.capacity() == 0 {
                    self.buckets.reserve(16);
                }
                self.buckets.insert(at, (bucket, count));
            }
        }
        at
    }

    /// The value in µs below or at which a share `q` (0 to 1) of the values lies: the middle of its
    /// bucket. None when empty.
    pub fn quantile(&self, q: f64) -> Option<u32> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += u64::from(*count);
            if seen >= rank {
                let (low, high) = bounds_of(*bucket);
                return Some(low + (high - low) / 2);
            }
        }
        None
    }

    /// How many values lie in buckets above the one of `micros`.
    pub fn over(&self, micros: u32) -> u64 {
        let bucket = bucket_of(micros);
        let above = self.buckets.iter().rev().take_while(|(other, _)| *other > bucket);
        above.map(|(_, count)| u64::from(*count)).sum()
    }

    /// How many values lie in buckets below the one of `micros`.
    pub fn under(&self, micros: u32) -> u64 {
        let bucket = bucket_of(micros);
        let below = self.buckets.iter().take_while(|(other, _)| *other < bucket);
        below.map(|(_, count)| u64::from(*count)).sum()
    }

    /// Between how many and how many values are at or under `micros`: exact when the threshold stands at
    /// the end of a bucket.
    pub fn at_or_under(&self, micros: u32) -> (u64, u64) {
        let (mut certain, mut possible) = (0, 0);
        for (bucket, count) in &self.buckets {
            let (low, high) = bounds_of(*bucket);
            if high <= micros {
                certain += u64::from(*count);
            }
            if low <= micros {
                possible += u64::from(*count);
            }
        }
        (certain, possible)
    }

    /// Pairs of (gap to the previous bucket, count) as LEB128.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.buckets.len() * 3);
        let mut last = 0;
        for (bucket, count) in &self.buckets {
            put_varint(&mut out, u32::from(bucket - last));
            put_varint(&mut out, *count);
            last = *bucket;
        }
        out
    }

    /// None when the bytes are no sketch.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut sketch = Self::default();
        let mut last: u16 = 0;
        while !bytes.is_empty() {
            let gap = take_varint(&mut bytes)?;
            let count = take_varint(&mut bytes)?;
            last = last.checked_add(u16::try_from(gap).ok()?)?;
            let at = sketch.buckets.len().saturating_sub(1);
            sketch.add_to(at, last, count);
        }
        Some(sketch)
    }
}

fn bucket_of(micros: u32) -> u16 {
    if micros < 16 {
        return micros as u16;
    }
    let octave = 31 - micros.leading_zeros();
    let within = (micros >> (octave - 4)) & 15;
    ((octave - 3) * 16 + within) as u16
}

/// Smallest and largest value of a bucket.
fn bounds_of(bucket: u16) -> (u32, u32) {
    let bucket = u32::from(bucket);
    if bucket < 16 {
        return (bucket, bucket);
    }
    let octave = (bucket / 16 + 3).min(31);
    let width = 1_u32 << (octave - 4);
    let low = (16 + bucket % 16) << (octave - 4);
    (low, low + (width - 1))
}

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value: u32 = 0;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_that_are_no_sketch_are_refused() {
        assert_eq!(Sketch::from_bytes(&[0x80]), None);
        assert_eq!(Sketch::from_bytes(&[1]), None);
        assert_eq!(Sketch::from_bytes(&[0xff, 0xff, 0xff, 0xff, 0xff, 1]), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_buckets_are_narrow(v in any::<u32>()) {
            let (low, high) = bounds_of(bucket_of(v));
            prop_assert!(low <= v && v <= high);
            prop_assert!(u64::from(high - low) * 16 <= u64::from(low.max(16)));
        }

        #[test]
        fn quantiles_err_by_half_a_bucket(mut values in prop::collection::vec(1_u32..100_000_000, 1..200), q in 0.0..1.0_f64) {
            let mut sketch = Sketch::default();
            for v in &values { sketch.add(*v); }
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = f64::from(values[rank - 1]);
            let told = f64::from(sketch.quantile(q).unwrap_or(0));
            prop_assert!((told - exact).abs() <= (exact * 0.032).max(1.0), "{told} for {exact}");
        }

        #[test]
        fn what_is_over_and_under_a_value_leaves_out_its_bucket(values in prop::collection::vec(1_u32..1_000_000, 1..100), at in 1_u32..1_000_000) {
            let mut sketch = Sketch::default();
            for v in &values { sketch.add_many(*v, 2); }
            let (low, high) = bounds_of(bucket_of(at));
            prop_assert_eq!(sketch.over(at), 2 * values.iter().filter(|v| **v > high).count() as u64);
            prop_assert_eq!(sketch.under(at), 2 * values.iter().filter(|v| **v < low).count() as u64);
        }

        #[test]
        fn subtracting_takes_back(a in prop::collection::vec(any::<u32>(), 0..100), b in prop::collection::vec(any::<u32>(), 0..100)) {
            let of = |values: &[u32]| { let mut s = Sketch::default(); for v in values { s.add(*v); } s };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            merged.subtract(&of(&b));
            prop_assert_eq!(merged, of(&a));
        }

        #[test]
        fn merging_is_adding(a in prop::collection::vec(any::<u32>(), 0..100), b in prop::collection::vec(any::<u32>(), 0..100)) {
            let of = |values: &[u32]| { let mut s = Sketch::default(); for v in values { s.add(*v); } s };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both: Vec<u32> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&both));
            prop_assert_eq!(Sketch::from_bytes(&merged.to_bytes()), Some(merged));
        }
    }
}
