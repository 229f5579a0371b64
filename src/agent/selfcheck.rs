//! Whether this location's own line works: the operator names targets that are always up, and every
//! round tells how many answer. The coordinator draws the conclusion (spec: decision 5.7).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Shared;
use super::attempt::Prober;
use crate::domain::location::selfcheck::{BAD_ROUNDS, Reference, SelfCheck};
use crate::domain::observation::Outcome;
use crate::protocol::Secrets;

const EVERY: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(5);

/// A reference as the operator wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Any status under 400 is fine.
    Http(Url),
    /// `host:port`: a connection is enough.
    Tcp(String),
}

impl Target {
    /// `https://…`, `http://…` or `host:port`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(url) = text.parse::<Url>()
            && matches!(url.scheme(), "http" | "https")
        {
            return Ok(Self::Http(url));
        }
        match text.rsplit_once(':') {
            Some((host, port))
                if !host.is_empty() && port.parse::<u16>().is_ok_and(|it| it > 0) =>
            {
                Ok(Self::Tcp(text.to_owned()))
            }
            _ => Err(format!("“{text}” is no reference: write https://host/ or host:port")),
        }
    }

    fn text(&self) -> &str {
        match self {
            Target::Http(url) => url.as_str(),
            Target::Tcp(address) => address,
        }
    }
}

/// A round every 30 s until `shutdown`; also when asked, and then the coordinator is told at once.
pub async fn watch(
    targets: Vec<Target>,
    prober: Arc<Prober>,
    shared: Arc<Shared>,
    shutdown: CancellationToken,
) {
    let mut last = None;
    let mut due = tokio::time::interval(EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let asked = tokio::select! {
            _ = due.tick() => false,
            () = shared.check_now.notified() => true,
            () = shutdown.cancelled() => return,
        };
        let round = tokio::select! {
            found = join_all(targets.iter().map(|target| look(target, &prober))) => next(last.as_ref(), found),
            () = shutdown.cancelled() => return,
        };
        if round.bad_rounds == BAD_ROUNDS {
            tracing::warn!(
                "most references fail for the second time: this location's line looks broken"
            );
        }
        shared.set_selfcheck(round.clone());
        if asked {
            due.reset();
            shared.beat_now.notify_one();
        }
        last = Some(round);
    }
}

/// The round after `last`.
fn next(last: Option<&SelfCheck>, targets: Vec<Reference>) -> SelfCheck {
    let (round, bad) = last.map_or((0, 0), |last| (last.round, last.bad_rounds));
    let mut next = SelfCheck { round: round + 1, bad_rounds: 0, targets };
    if next.most_fail() {
        next.bad_rounds = bad + 1;
    }
    next
}

async fn look(target: &Target, prober: &Prober) -> Reference {
    let problem = match target {
        Target::Http(url) => {
            let check = serde_json::json!({
                "kind": "http", "url": url.as_str(), "follow_redirects": false,
                "assertions": [{"on": "status", "op": "in", "value": ["2xx", "3xx"]}],
            });
            let seen = prober.attempt(check, &Secrets::default(), TIMEOUT, None).await;
            (seen.outcome != Outcome::Pass).then_some(seen.message)
        }
        Target::Tcp(address) => {
            match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("no connection within {} s", TIMEOUT.as_secs())),
            }
        }
    };
    Reference {
        target: target.text().to_owned(),
        ok: problem.is_none(),
        message: problem.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_addresses_of_pages_or_of_ports() {
        assert!(matches!(Target::parse("https://one.example"), Ok(Target::Http(_))));
        assert_eq!(Target::parse(" 192.0.2.1:53 "), Ok(Target::Tcp("192.0.2.1:53".to_owned())));
        assert_eq!(Target::parse("[::1]:53"), Ok(Target::Tcp("[::1]:53".to_owned())));
        for wrong in ["one.example", "one.example:0", ":53", "ftp://one.example", ""] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_round_is_bad_when_most_fail_and_one_good_round_ends_the_count() {
        let round = |fails: &[bool]| -> Vec<Reference> {
            let one =
                |fails: &bool| Reference { target: "t".into(), ok: !fails, message: String::new() };
            fails.iter().map(one).collect()
        };
        let first = next(None, round(&[true, true, false]));
        assert_eq!((first.round, first.bad_rounds), (1, 1));
        let second = next(Some(&first), round(&[true, true, true, false]));
        assert_eq!((second.round, second.bad_rounds), (2, 2));
        let even = next(Some(&second), round(&[true, true, false, false]));
        assert_eq!((even.round, even.bad_rounds), (3, 0));
    }
}
