//! Whether a source of logs is heard: silence is usual for some, and what comes may be old.

use jiff::{SignedDuration, Timestamp};

/// So many seconds of silence are usual, unless something else is said.
pub const PATIENCE_S: i32 = 60;
/// Lines that are this old when they come tell of the present all the same.
const OLD: SignedDuration = SignedDuration::from_mins(5);

/// How a source stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// Nothing has ever come.
    Waiting,
    /// Nothing has come for longer than is usual for it.
    Silent,
    /// Something comes, and its newest line is this old: it is catching up.
    Behind(SignedDuration),
    Live,
}

/// What is known of a source's lines.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Time of its newest line, or up to when it has said that there is none.
    pub newest_at: Option<Timestamp>,
    pub received_at: Option<Timestamp>,
    /// Its usual silence in seconds, where it was said.
    pub patience_s: Option<i32>,
}

impl Arrival {
    pub fn patience(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.patience_s.unwrap_or(PATIENCE_S)))
    }

    /// `lateness_s`: how late the fleet's lines may come.
    pub fn hearing(&self, lateness_s: u32, now: Timestamp) -> Hearing {
        let Some(received) = self.received_at else { return Hearing::Waiting };
        if now.duration_since(received) > self.patience() {
            return Hearing::Silent;
        }
        // What came was never understood, so it tells of nothing.
        let Some(newest) = self.newest_at else { return Hearing::Waiting };
        let age = now.duration_since(newest);
        let usual = self.patience().max(OLD) + SignedDuration::from_secs(i64::from(lateness_s));
        if age > usual { Hearing::Behind(age) } else { Hearing::Live }
    }
}

/// The usual silence of logs that come in files every few minutes, where nobody said anything else.
pub fn usual_patience_s(format: &str) -> Option<i32> {
    // A load balancer of AWS writes a file every five minutes and delivers it some minutes later.
    matches!(format, "aws-alb" | "aws-alb-health").then_some(600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_are_no_present_and_files_have_their_time() {
        let now = Timestamp::from_second(100_000).unwrap();
        let ago = |s: i64| Some(now - SignedDuration::from_secs(s));
        let of = |newest_at, received_at, patience_s| {
            Arrival { newest_at, received_at, patience_s }.hearing(10, now)
        };
        assert_eq!(of(None, None, None), Hearing::Waiting);
        assert_eq!(of(None, ago(1), None), Hearing::Waiting, "nothing of it was understood");
        assert_eq!(of(ago(61), ago(60), None), Hearing::Live);
        assert_eq!(of(ago(61), ago(61), None), Hearing::Silent);
        let hours = SignedDuration::from_secs(7_200);
        assert_eq!(of(ago(7_200), ago(1), None), Hearing::Behind(hours));
        assert_eq!(of(ago(599), ago(420), usual_patience_s("aws-alb")), Hearing::Live);
        assert_eq!(of(ago(900), ago(601), usual_patience_s("aws-alb")), Hearing::Silent);
    }
}
