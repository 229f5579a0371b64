//! The faults, one after the other as the lab causes them.

use std::time::Duration;

use super::{
    backend::{Backend, Behaviour, WELL},
    proxies::Proxies,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    OneFails,
    Refused,
    BlankAndFast,
    Slow,
    WrongCode,
    Flapping,
    Restart,
    CrashLoop,
    Drain,
    ColdStart,
    OldVersion,
    SharedOutage,
    SharedPartly,
    Overload,
    TwoOfFive,
    RouteSkew,
}

/// How long a fault lasts.
const LASTS: Duration = Duration::from_secs(50);

impl Fault {
    pub(super) const ALL: [Self; 17] = [
        Self::None,
        Self::OneFails,
        Self::Refused,
        Self::BlankAndFast,
        Self::Slow,
        Self::WrongCode,
        Self::Flapping,
        Self::Restart,
        Self::CrashLoop,
        Self::Drain,
        Self::ColdStart,
        Self::OldVersion,
        Self::SharedOutage,
        Self::SharedPartly,
        Self::Overload,
        Self::TwoOfFive,
        Self::RouteSkew,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::OneFails => "one-fails",
            Self::Refused => "refused",
            Self::BlankAndFast => "blank-and-fast",
            Self::Slow => "slow",
            Self::WrongCode => "wrong-code",
            Self::Flapping => "flapping",
            Self::Restart => "restart",
            Self::CrashLoop => "crash-loop",
            Self::Drain => "drain",
            Self::ColdStart => "cold-start",
            Self::OldVersion => "old-version",
            Self::SharedOutage => "shared-outage",
            Self::SharedPartly => "shared-partly",
            Self::Overload => "overload",
            Self::TwoOfFive => "two-of-five",
            Self::RouteSkew => "route-skew",
        }
    }

    /// How the back ends are before it.
    pub(super) fn base(self) -> Behaviour {
        match self {
            Self::RouteSkew => Behaviour { report_fails: 0.2, ..WELL },
            Self::OldVersion => Behaviour { version: "2026.11.3", ..WELL },
            _ => WELL,
        }
    }

    /// Happens to b3, to b2 and b4, or to all, and is over when this returns.
    pub(super) async fn happen(self, backends: &[Backend], proxies: &Proxies) {
        let third = &backends[2];
        let all = |change: fn(&mut Behaviour)| backends.iter().for_each(|b| b.behave(change));
        match self {
            Self::None | Self::RouteSkew => tokio::time::sleep(LASTS).await,
            Self::OneFails => lasts(third, |b| b.fails = 0.5).await,
            Self::Refused => {
                third.die();
                tokio::time::sleep(LASTS).await;
                third.rise().await;
            }
            Self::BlankAndFast => lasts(third, |b| b.blank = true).await,
            Self::Slow => lasts(third, |b| b.slow = 3.0).await,
            Self::WrongCode => lasts(third, |b| (b.fails, b.code) = (0.4, 400)).await,
            Self::Flapping => {
                for _ in 0..12 {
                    third.behave(|b| b.ready = false);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    third.behave(|b| b.ready = true);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
            }
            Self::Restart => restart(third, 4).await,
            Self::CrashLoop => {
                // nginx leaves it out for 10 s each time; with a whole window between its return and the next
                // crash, both are seen whatever way windows and crashes lie.
                for pause in [15, 15, 15] {
                    restart(third, 3).await;
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
                restart(third, 3).await;
            }
            Self::Drain => {
                proxies.tell_haproxy("set server app/b3 state drain");
                tokio::time::sleep(LASTS).await;
                proxies.tell_haproxy("set server app/b3 state ready");
            }
            Self::ColdStart => {
                third.die();
                tokio::time::sleep(Duration::from_secs(20)).await;
                third.behave(|b| b.slow = 4.0);
                third.rise().await;
                tokio::time::sleep(Duration::from_secs(12)).await;
                third.behave(|b| b.slow = 1.0);
                tokio::time::sleep(Duration::from_secs(18)).await;
            }
            Self::OldVersion => {
                for (n, backend) in backends.iter().enumerate() {
                    if n != 2 {
                        backend.behave(|b| b.version = "2026.11.4");
                    }
                }
                tokio::time::sleep(LASTS).await;
            }
            Self::SharedOutage => {
                all(|b| (b.fails, b.code, b.after) = (0.6, 503, Duration::from_millis(200)));
                tokio::time::sleep(LASTS).await;
                all(|b| *b = WELL);
            }
            Self::SharedPartly => {
                all(|b| (b.fails, b.code) = (0.05, 502));
                tokio::time::sleep(LASTS).await;
                all(|b| *b = WELL);
            }
            Self::Overload => {
                all(|b| (b.fails, b.code, b.slow) = (0.15, 503, 8.0));
                tokio::time::sleep(LASTS).await;
                all(|b| *b = WELL);
            }
            Self::TwoOfFive => {
                for bad in [&backends[1], &backends[3]] {
                    bad.behave(|b| b.fails = 0.5);
                }
                tokio::time::sleep(LASTS).await;
                all(|b| *b = WELL);
            }
        }
    }
}

async fn lasts(backend: &Backend, change: fn(&mut Behaviour)) {
    backend.behave(change);
    tokio::time::sleep(LASTS).await;
    backend.behave(|b| *b = WELL);
}

async fn restart(backend: &Backend, secs: u64) {
    backend.die();
    tokio::time::sleep(Duration::from_secs(secs)).await;
    backend.rise().await;
}
