//! Several accounts of the same span side by side: what really happened, and what policies would have made
//! of it. Incidents of any of them that overlap are one trouble.

use super::Course;
use crate::domain::Millis;

/// An incident shorter than this is brief: somebody was called, and it was over.
pub const BRIEF: Millis = 300_000;

/// An incident, as far as comparing needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spell {
    pub started_at: Millis,
    pub opened_at: Millis,
    pub ended_at: Option<Millis>,
    pub told: u32,
    /// Nobody heard of it.
    pub suppressed: bool,
}

/// A time in which at least one account has an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Where the earliest of them begins and the last one ends.
    pub from: Millis,
    pub to: Option<Millis>,
    /// By account: which of its incidents, in order of opening.
    pub incidents: Vec<Vec<usize>>,
}

/// An account in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub incidents: u32,
    /// Messages that each channel would have had.
    pub told: u32,
    /// Incidents that were told and lasted less than [`BRIEF`].
    pub brief: u32,
    /// Incidents that were told, of which the other account has none.
    pub alone: u32,
    /// Troubles that the other account told, and this one did not.
    pub missed: u32,
    /// From the beginning of a trouble to its alert, over those that began within the span: the middle one
    /// and the longest.
    pub delay_median: Option<Millis>,
    pub delay_longest: Option<Millis>,
}

impl From<&Course> for Spell {
    fn from(course: &Course) -> Self {
        Self {
            started_at: course.started_at,
            opened_at: course.opened_at,
            ended_at: course.ended_at,
            told: course.told,
            suppressed: course.suppressed,
        }
    }
}

/// Puts together what overlaps, in order of time.
pub fn troubles(accounts: &[Vec<Spell>]) -> Vec<Trouble> {
    let mut all: Vec<(usize, usize, Spell)> = accounts
        .iter()
        .enumerate()
        .flat_map(|(account, spells)| {
            spells.iter().enumerate().map(move |(index, spell)| (account, index, *spell))
        })
        .collect();
    all.sort_by_key(|(account, index, spell)| (spell.started_at, *account, *index));
    let mut troubles: Vec<Trouble> = Vec::new();
    for (account, index, spell) in all {
        let touches = |trouble: &&mut Trouble| trouble.to.is_none_or(|to| spell.started_at <= to);
        match troubles.last_mut().filter(touches) {
            Some(trouble) => {
                trouble.to = trouble.to.zip(spell.ended_at).map(|(a, b)| a.max(b));
                trouble.add(account, index);
            }
            None => {
                let mut trouble = Trouble {
                    from: spell.started_at,
                    to: spell.ended_at,
                    incidents: vec![Vec::new(); accounts.len()],
                };
                trouble.add(account, index);
                troubles.push(trouble);
            }
        }
    }
    for trouble in &mut troubles {
        trouble.incidents.iter_mut().for_each(|list| list.sort_unstable());
    }
    troubles
}

impl Trouble {
    fn add(&mut self, account: usize, index: usize) {
        if let Some(list) = self.incidents.get_mut(account) {
            list.push(index);
        }
    }

    /// The incidents of an account that people heard of.
    fn heard<'a>(
        &'a self,
        accounts: &'a [Vec<Spell>],
        account: usize,
    ) -> impl Iterator<Item = &'a Spell> + 'a {
        let spells = accounts.get(account).map_or(&[][..], Vec::as_slice);
        let indices = self.incidents.get(account).map_or(&[][..], Vec::as_slice);
        indices.iter().filter_map(|index| spells.get(*index)).filter(|spell| !spell.suppressed)
    }

    /// How long an account took to tell; none where it did not, or where the trouble was there before
    /// `from`.
    pub fn delay(&self, accounts: &[Vec<Spell>], account: usize, from: Millis) -> Option<Millis> {
        let first = self.heard(accounts, account).map(|spell| spell.opened_at).min()?;
        (self.from >= from).then_some((first - self.from).max(0))
    }
}

/// One account in numbers, held against another.
pub fn sums(
    accounts: &[Vec<Spell>],
    troubles: &[Trouble],
    account: usize,
    other: usize,
    from: Millis,
) -> Sums {
    let mut sums = Sums::default();
    let mut delays = Vec::new();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    for spell in accounts.get(account).into_iter().flatten() {
        sums.incidents += 1;
        sums.told += spell.told;
        let brief = spell.ended_at.is_some_and(|end| end - spell.started_at < BRIEF);
        sums.brief += u32::from(brief && !spell.suppressed);
    }
    for trouble in troubles {
        let (own, others) =
            (trouble.heard(accounts, account).count(), trouble.heard(accounts, other).count());
        if others == 0 {
            sums.alone += count(own);
        } else if own == 0 {
            sums.missed += 1;
        }
        delays.extend(trouble.delay(accounts, account, from));
    }
    delays.sort_unstable();
    sums.delay_median = delays.get(delays.len().saturating_sub(1) / 2).copied();
    sums.delay_longest = delays.last().copied();
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(started_at: Millis, opened_at: Millis, ended_at: Option<Millis>) -> Spell {
        Spell { started_at, opened_at, ended_at, told: 2, suppressed: false }
    }

    #[test]
    fn what_overlaps_in_any_account_is_one_trouble() {
        let real = vec![spell(100, 110, Some(500)), spell(2_000, 2_010, None)];
        let tried = vec![
            spell(120, 180, Some(300)),
            spell(400, 430, Some(700)),
            spell(900, 905, Some(950)),
        ];
        let accounts = [real, tried];
        let troubles = troubles(&accounts);
        let spans: Vec<_> = troubles.iter().map(|t| (t.from, t.to)).collect();
        assert_eq!(spans, [(100, Some(700)), (900, Some(950)), (2_000, None)]);
        assert_eq!(troubles[0].incidents, [vec![0], vec![0, 1]]);
        let of = |account| sums(&accounts, &troubles, account, 1 - account, 0);
        let (real, tried) = (of(0), of(1));
        assert_eq!((real.incidents, real.alone, real.missed), (2, 1, 1));
        assert_eq!((tried.incidents, tried.alone, tried.missed), (3, 1, 1));
        assert_eq!((real.delay_median, real.delay_longest), (Some(10), Some(10)));
        assert_eq!((tried.delay_median, tried.delay_longest), (Some(5), Some(80)));
        assert_eq!((real.brief, tried.brief, tried.told), (1, 3, 6));
    }

    #[test]
    fn what_nobody_heard_is_neither_noise_nor_missed() {
        let silent = Spell { suppressed: true, told: 0, ..spell(100, 110, Some(500)) };
        let accounts = [vec![silent], Vec::new()];
        let troubles = troubles(&accounts);
        assert_eq!(sums(&accounts, &troubles, 0, 1, 0), Sums { incidents: 1, ..Sums::default() });
        assert_eq!(sums(&accounts, &troubles, 1, 0, 0), Sums::default());
    }

    #[test]
    fn a_trouble_that_was_there_before_says_nothing_of_the_delay() {
        let accounts = [vec![spell(100, 110, Some(500))]];
        let troubles = troubles(&accounts);
        assert_eq!(troubles[0].delay(&accounts, 0, 100), Some(10));
        assert_eq!(troubles[0].delay(&accounts, 0, 101), None);
    }
}
