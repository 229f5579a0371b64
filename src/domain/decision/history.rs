//! What one location folded lately, packed into a few bytes: the intermittent rule needs the times of
//! single observations, and a hundred thousand monitors carry them in every write.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Entries kept at most, whatever the policy; far more than any window holds.
const MOST: usize = 512;

/// Folded observations from old to new. Each is a little-endian base-128 number: seconds since the one
/// before, times two, plus one for a fail of a run shorter than needed. At a rhythm of a minute that is
/// one byte each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    packed: Vec<u8>,
    entries: u16,
    short: u16,
}

impl History {
    /// Entries that are fails of short runs.
    pub fn short_fails(&self) -> usize {
        usize::from(self.short)
    }

    /// Adds an observation at `at` seconds, `since_newest` after the newest one, and forgets what is
    /// older than `keep` seconds.
    pub fn push(&mut self, since_newest: i64, short_fail: bool, keep: i64) {
        let gap = if self.entries == 0 { 0 } else { since_newest.max(0) as u64 };
        let mut number = gap << 1 | u64::from(short_fail);
        loop {
            let low = (number & 0x7f) as u8;
            number >>= 7;
            if number == 0 {
                self.packed.push(low);
                break;
            }
            self.packed.push(low | 0x80);
        }
        self.entries += 1;
        self.short += u16::from(short_fail);
        self.forget(keep);
    }

    /// The newest `count` entries turn out to belong to a run that is long enough.
    pub fn lengthen(&mut self, count: u32) {
        let mut end = self.packed.len();
        for _ in 0..count {
            let Some(start) = entry_start(&self.packed, end) else { break };
            if let Some(first) = self.packed.get_mut(start) {
                self.short -= u16::from(*first & 1).min(self.short);
                *first &= !1;
            }
            end = start;
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// `(seconds before the newest, short fail)`, from new to old.
    pub fn backwards(&self) -> impl Iterator<Item = (i64, bool)> + '_ {
        let mut end = self.packed.len();
        let mut age = 0;
        std::iter::from_fn(move || {
            let start = entry_start(&self.packed, end)?;
            let (gap, short) = read(self.packed.get(start..end)?);
            end = start;
            let entry = (age, short);
            age += gap;
            Some(entry)
        })
    }

    fn forget(&mut self, keep: i64) {
        let mut end = self.packed.len();
        let (mut age, mut kept, mut short) = (0, 0_u16, 0_u16);
        while let Some(start) = entry_start(&self.packed, end) {
            if age > keep || usize::from(kept) == MOST {
                break;
            }
            let (gap, is_short) = self.packed.get(start..end).map_or((0, false), read);
            kept += 1;
            short += u16::from(is_short);
            age += gap;
            end = start;
        }
        if end > 0 {
            self.packed.drain(..end);
        }
        (self.entries, self.short) = (kept, short);
    }
}

/// Where the entry begins that ends before `end`. The last byte of an entry has its high bit clear,
/// all before it have it set.
fn entry_start(packed: &[u8], end: usize) -> Option<usize> {
    let mut start = end.checked_sub(1)?;
    while start > 0 && packed.get(start - 1).is_some_and(|byte| byte & 0x80 != 0) {
        start -= 1;
    }
    Some(start)
}

fn read(bytes: &[u8]) -> (i64, bool) {
    let number =
        bytes.iter().rev().fold(0_u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
    ((number >> 1) as i64, number & 1 == 1)
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = [0_u8; 256];
        match STANDARD_NO_PAD.encode_slice(&self.packed, &mut buffer) {
            Ok(length) => serializer.serialize_str(
                std::str::from_utf8(buffer.get(..length).unwrap_or_default()).unwrap_or_default(),
            ),
            Err(_) => serializer.serialize_str(&STANDARD_NO_PAD.encode(&self.packed)),
        }
    }
}

impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let packed = STANDARD_NO_PAD.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        // A cut-off entry at the end would never end; nothing we wrote has one.
        if packed.last().is_some_and(|byte| byte & 0x80 != 0) {
            return Err(serde::de::Error::custom("the history ends inside an entry"));
        }
        let mut history = Self { packed, entries: 0, short: 0 };
        history.forget(i64::MAX);
        Ok(history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_from_new_to_old_and_old_ones_are_forgotten() {
        let mut history = History::default();
        for (gap, short) in [(0, false), (60, true), (5, false), (100_000, true), (0, false)] {
            history.push(gap, short, 200_000);
        }
        let all: Vec<_> = history.backwards().collect();
        assert_eq!(
            all,
            [(0, false), (0, true), (100_000, false), (100_005, true), (100_065, false)]
        );
        assert_eq!(history.short_fails(), 2);
        history.push(60, false, 900);
        assert_eq!(history.backwards().collect::<Vec<_>>(), [(0, false), (60, false), (60, true)]);
        assert_eq!(history.short_fails(), 1);
    }

    #[test]
    fn a_run_that_grows_long_enough_takes_its_fails_back() {
        let mut history = History::default();
        history.push(0, true, 900);
        history.push(60, false, 900);
        history.push(300, true, 900);
        history.push(5, true, 900);
        history.lengthen(2);
        assert_eq!(
            history.backwards().map(|(_, short)| short).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        assert_eq!(history.short_fails(), 1);
    }

    #[test]
    fn a_minute_rhythm_costs_a_byte_and_survives_storage() {
        let mut history = History::default();
        for _ in 0..40 {
            history.push(60, false, 900);
        }
        let text = serde_json::to_string(&history).expect("a string");
        assert!(text.len() <= 24, "{text}");
        let again: History = serde_json::from_str(&text).expect("our own text");
        assert_eq!(again, history);
        assert!(serde_json::from_str::<History>("\"gA\"").is_err());
    }
}
