//! The dead-man ping: tells an external watch every minute that Quorate does its work. What must hold for that
//! is `domain::deadman`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Notifier, Verdict, post::Post};
use crate::store;

/// From one ping to the next.
pub const PERIOD: SignedDuration = SignedDuration::from_secs(60);

/// How often it is looked whether a ping is due.
const LOOK: Duration = Duration::from_secs(1);

/// The setting that holds the sealed address.
pub const SETTING: &str = "deadman";

/// What a look came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinged {
    /// No address is set, or the last ping is not a minute ago.
    NotDue,
    Withheld(String),
    Sent {
        /// With a 2xx.
        answered: bool,
        answer: String,
    },
}

impl Notifier {
    /// Sends the ping if it is due, if nothing withholds it, and if no other coordinator does.
    pub async fn ping(&self, now: Timestamp) -> sqlx::Result<Pinged> {
        let mut conn = self.0.pool.acquire().await?;
        let Some(url) = self.watcher(&mut conn).await? else { return Ok(Pinged::NotDue) };
        let pings = store::deadman::get(&mut conn).await?;
        let last_before = now - PERIOD;
        if pings.pinged_at.is_some_and(|at| at > last_before) {
            return Ok(Pinged::NotDue);
        }
        if let Some(why) = store::deadman::vitals(&mut conn, now).await?.withheld() {
            store::deadman::withhold(&mut conn, &why, now).await?;
            return Ok(Pinged::Withheld(why));
        }
        if !store::deadman::claim(&mut conn, now, last_before).await? {
            return Ok(Pinged::NotDue);
        }
        drop(conn);
        let sent = Post::get(url).send(&self.0.http, now).await;
        let answered = sent.verdict == Verdict::Delivered;
        let mut conn = self.0.pool.acquire().await?;
        store::deadman::answer(&mut conn, now, answered, &sent.answer).await?;
        Ok(Pinged::Sent { answered, answer: sent.answer })
    }

    /// Looks every second until `stop`.
    pub async fn run_pings(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.ping(self.0.clock.now()).await {
                Ok(Pinged::Sent { answered: false, answer }) => {
                    tracing::warn!(answer, "the dead-man ping was not taken");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "no dead-man ping: the database fails"),
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.0.clock.sleep(LOOK) => {}
            }
        }
    }

    async fn watcher(&self, conn: &mut sqlx::PgConnection) -> sqlx::Result<Option<Url>> {
        let setting = store::settings::get(conn, SETTING).await?;
        let Some(sealed) = setting.and_then(|setting| setting.sealed) else { return Ok(None) };
        let url = self.0.sealer.open_text(store::settings::place(SETTING), &sealed);
        Ok(url.ok().and_then(|url| Url::parse(url.expose()).ok()))
    }
}
