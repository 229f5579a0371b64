//! Ways to tell people: kinds of channel, what each may be configured with, and when a failed
//! delivery is tried again.

mod config;
mod mail;

pub use config::{
    AlertmanagerConfig, ChannelConfig, ChannelSecrets, EmailConfig, HookConfig, NtfyConfig,
    PagerDutyConfig, ParsedChannel, SlackConfig, TelegramConfig, WebhookConfig, key_bytes,
};
pub use mail::{Login, MailServer, MailTls};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::notice::Severity;

/// The kinds there are. A new one is an arm here and in `channel::config`, and a file in `notify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    Email,
    Webhook,
    Slack,
    Teams,
    Discord,
    Telegram,
    Ntfy,
    PagerDuty,
    Alertmanager,
}

impl ChannelKind {
    pub const ALL: [ChannelKind; 9] = [
        ChannelKind::Email,
        ChannelKind::Webhook,
        ChannelKind::Slack,
        ChannelKind::Teams,
        ChannelKind::Discord,
        ChannelKind::Telegram,
        ChannelKind::Ntfy,
        ChannelKind::PagerDuty,
        ChannelKind::Alertmanager,
    ];

    /// The word in the database and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            ChannelKind::Email => "email",
            ChannelKind::Webhook => "webhook",
            ChannelKind::Slack => "slack",
            ChannelKind::Teams => "teams",
            ChannelKind::Discord => "discord",
            ChannelKind::Telegram => "telegram",
            ChannelKind::Ntfy => "ntfy",
            ChannelKind::PagerDuty => "pagerduty",
            ChannelKind::Alertmanager => "alertmanager",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// From which severity on a channel of this kind hears, unless it says otherwise.
    pub fn default_min_severity(self) -> Severity {
        if self.pages() { Severity::Down } else { Severity::Degraded }
    }

    /// Whether it wakes people up. An incident that was over before such a channel could be told is
    /// not told there at all.
    pub fn pages(self) -> bool {
        self == ChannelKind::PagerDuty
    }

    /// Whether it can carry what is no alert: reports, and what a failover group serves.
    pub fn carries_news(self) -> bool {
        !matches!(self, ChannelKind::PagerDuty | ChannelKind::Alertmanager)
    }

    /// Whether people can answer it where they read it: what they do there is called back (`domain::callback`).
    pub fn answers(self) -> bool {
        matches!(self, ChannelKind::Slack | ChannelKind::PagerDuty)
    }

    /// When a delivery that failed is tried again.
    pub fn schedule(self) -> Schedule {
        match self {
            ChannelKind::Webhook => Schedule::WEBHOOK,
            _ => Schedule::PEOPLE,
        }
    }
}

/// Waits between attempts, seconds. After the last of `waits`, `then` for as long as the next attempt
/// falls within `within` of the notice's creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    waits: &'static [i64],
    then: Option<i64>,
    within: i64,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;

impl Schedule {
    /// For what people read: quick at first, and useless after six hours.
    pub const PEOPLE: Schedule = Schedule {
        waits: &[5, 15, 45, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE],
        then: Some(30 * MINUTE),
        within: 6 * HOUR,
    };

    /// The schedule that Standard Webhooks recommends: machines may be told days later.
    pub const WEBHOOK: Schedule = Schedule {
        waits: &[
            5,
            5 * MINUTE,
            30 * MINUTE,
            2 * HOUR,
            5 * HOUR,
            10 * HOUR,
            14 * HOUR,
            20 * HOUR,
            24 * HOUR,
        ],
        then: None,
        within: 7 * 24 * HOUR,
    };

    /// When to try again after attempt number `attempts` (from 1) has failed at `now`, or none to give
    /// up. `jitter` in −1..=1 moves the wait by up to 20 %. The other side's `retry_after` is a lower
    /// bound: jitter never undercuts it.
    pub fn next(
        self,
        attempts: u32,
        created_at: Timestamp,
        now: Timestamp,
        jitter: f64,
        retry_after: Option<SignedDuration>,
    ) -> Option<Timestamp> {
        let at = usize::try_from(attempts.max(1) - 1).unwrap_or(usize::MAX);
        let wait = self.waits.get(at).copied().or(self.then)?;
        let wait = SignedDuration::from_secs(wait).mul_f64(1.0 + 0.2 * jitter.clamp(-1.0, 1.0));
        let wait = wait.max(retry_after.unwrap_or(SignedDuration::ZERO));
        let next = now.checked_add(wait).ok()?;
        let end = created_at.checked_add(SignedDuration::from_secs(self.within)).ok()?;
        (next <= end).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds after creation of every attempt, the first at 0.
    fn attempts(schedule: Schedule, jitter: f64) -> Vec<i64> {
        let start = Timestamp::UNIX_EPOCH;
        let mut at = vec![0];
        let mut now = start;
        while let Some(next) = schedule.next(at.len() as u32, start, now, jitter, None) {
            at.push(next.as_second());
            now = next;
        }
        at
    }

    #[test]
    fn the_schedules_are_as_published() {
        let gaps = |at: Vec<i64>| -> Vec<i64> { at.windows(2).map(|w| w[1] - w[0]).collect() };
        assert_eq!(
            gaps(attempts(Schedule::WEBHOOK, 0.0)),
            [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
        );
        let people = attempts(Schedule::PEOPLE, 0.0);
        assert_eq!(people[..8], [0, 5, 20, 65, 185, 485, 1_085, 2_285]);
        assert!(people[8..].windows(2).all(|w| w[1] - w[0] == 1_800));
        let last = *people.last().unwrap();
        assert!(last <= 21_600 && last + 1_800 > 21_600, "{last}");
    }

    #[test]
    fn jitter_moves_a_wait_by_a_fifth_at_most() {
        let at = |jitter| {
            let zero = Timestamp::UNIX_EPOCH;
            Schedule::WEBHOOK.next(2, zero, zero, jitter, None).unwrap().as_millisecond()
        };
        assert_eq!([at(-1.0), at(0.0), at(1.0), at(9.0)], [240_000, 300_000, 360_000, 360_000]);
    }

    #[test]
    fn retry_after_is_a_lower_bound_and_can_end_it() {
        let zero = Timestamp::UNIX_EPOCH;
        let next = |after| {
            Schedule::PEOPLE.next(1, zero, zero, -1.0, Some(SignedDuration::from_secs(after)))
        };
        assert_eq!(next(120).unwrap().as_second(), 120);
        assert_eq!(next(1).unwrap().as_second(), 4);
        assert_eq!(next(7 * HOUR), None);
        assert_eq!(next(i64::MAX), None);
    }

    #[test]
    fn words_and_json_are_the_same() {
        for kind in ChannelKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
            assert_eq!(ChannelKind::from_word(kind.word()), Some(kind));
        }
    }
}
