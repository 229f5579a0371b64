//! One delivery, step by step, and the loop that repeats it.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Content, Notifier, Parcel, SEND_TIMEOUT, Sent, Verdict, count, listen};
use crate::{
    domain::{
        channel::{ChannelConfig, ChannelKind, ChannelSecrets, ParsedChannel},
        notice::{FailoverNotice, Notice, NoticeKind},
        slo::context::Document,
    },
    store::{
        self,
        channels::Channel,
        outbox::{self, Claimed},
        report_schedules::SentFilter,
        seal::Secret,
    },
};

/// Twice the time-out of a sending.
const LEASE: SignedDuration = SignedDuration::from_secs(30);

/// How many of the workers one channel may hold.
const PER_CHANNEL: i64 = 4;

/// How often to look without having been woken: repeats come due, and a wake-up can be lost.
const POLL: Duration = Duration::from_secs(1);

/// A notice that was dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub notice: Uuid,
    pub channel: Uuid,
    pub fate: Fate,
    pub answer: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    /// Tried again at this instant.
    Again(Timestamp),
    /// Given up.
    Failed,
    /// Its lease had run out before the result was there; who took it over decides.
    Lost,
}

impl Notifier {
    /// Claims the next notice that is due at `now`, sends it and settles it. None when nothing is due.
    pub async fn deliver_next(&self, now: Timestamp) -> sqlx::Result<Option<Delivery>> {
        match self.claim(now).await? {
            None => Ok(None),
            Some(job) => self.deliver(job, now).await.map(Some),
        }
    }

    /// Delivers until `shutdown`, then waits for what is under way (a time-out at most).
    pub async fn run(self, shutdown: CancellationToken) {
        let again = Arc::new(Notify::new());
        let permits = Arc::new(Semaphore::new(self.0.settings.workers.max(1)));
        let mut under_way = JoinSet::new();
        under_way.spawn(listen::wake(self.0.pool.clone(), again.clone(), shutdown.clone()));
        loop {
            let permit = tokio::select! {
                () = shutdown.cancelled() => break,
                permit = permits.clone().acquire_owned() => permit,
            };
            while under_way.try_join_next().is_some() {}
            let now = self.0.clock.now();
            match self.claim(now).await {
                Ok(Some(job)) => {
                    let (notifier, again) = (self.clone(), again.clone());
                    under_way.spawn(async move {
                        if let Err(error) = notifier.deliver(job, now).await {
                            tracing::error!(%error, "a delivery could not be settled; it is repeated with the same id");
                        }
                        drop(permit);
                        again.notify_one();
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the outbox cannot be read"),
            }
            drop(permit);
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = again.notified() => {}
                () = self.0.clock.sleep(POLL) => {}
            }
        }
        while under_way.join_next().await.is_some() {}
    }

    /// Takes a lease on the next notice. What turns out not to need sending is settled on the way.
    async fn claim(&self, now: Timestamp) -> sqlx::Result<Option<Job>> {
        let until = now.saturating_add(LEASE).unwrap_or(Timestamp::MAX);
        loop {
            let mut tx = self.0.pool.begin().await?;
            let owner = store::id_at(now);
            let Some(claimed) = outbox::claim(&mut tx, now, until, owner, PER_CHANNEL).await?
            else {
                tx.commit().await?;
                return Ok(None);
            };
            let channel = store::channels::get(&mut tx, claimed.channel).await?;
            let job = match channel.filter(|channel| channel.enabled) {
                None => {
                    self.drop(&mut tx, &claimed, "the channel is switched off", now).await?;
                    None
                }
                Some(channel) => self.catch_up(&mut tx, claimed, channel, now, until).await?,
            };
            tx.commit().await?;
            if job.is_some() {
                return Ok(job);
            }
        }
    }

    /// Settles a claimed notice that is not to be sent.
    async fn drop(
        &self,
        tx: &mut PgConnection,
        claimed: &Claimed,
        why: &str,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        outbox::settle(tx, claimed, "dropped", why, now).await?;
        count(&self.0.counters.dropped);
        Ok(())
    }

    /// An incident that is over before its beginning could be delivered is told once: "was down for …".
    /// Where it would have woken somebody, it is not told at all. A beginning that may have arrived (an
    /// attempt ended without a word) is sent as it stands. The end of what never arrived is not told, and nobody
    /// is reminded of what the next word says is over.
    async fn catch_up(
        &self,
        tx: &mut PgConnection,
        claimed: Claimed,
        channel: Channel,
        now: Timestamp,
        until: Timestamp,
    ) -> sqlx::Result<Option<Job>> {
        let pages = ChannelKind::from_word(&channel.kind).is_some_and(ChannelKind::pages);
        let begins = NoticeKind::from_word(&claimed.kind).is_some_and(NoticeKind::begins);
        let ends = |kind: &str| NoticeKind::from_word(kind).is_some_and(NoticeKind::ends);
        if ends(&claimed.kind) && store::fallback::nothing_arrived(tx, &claimed).await? {
            self.drop(tx, &claimed, "nothing of the incident arrived here", now).await?;
            return Ok(None);
        }
        let surely_unsent =
            !claimed.uncertain && claimed.reached.is_empty() && (claimed.attempts == 1 || !pages);
        let reminds = claimed.kind == NoticeKind::Reminder.word();
        if !(begins || reminds) || !surely_unsent {
            return Ok(Some(Job { claimed, channel }));
        }
        let behind = outbox::waiting_behind(tx, &claimed).await?;
        let Some(at) = behind.iter().position(|(_, kind)| ends(kind)) else {
            return Ok(Some(Job { claimed, channel }));
        };
        if reminds {
            self.drop(tx, &claimed, "over before it could be sent", now).await?;
            return Ok(None);
        }
        let end = behind[at].0;
        if pages {
            outbox::settle_unsent(
                tx,
                &claimed,
                end,
                "dropped",
                "over before it could be sent",
                now,
            )
            .await?;
            for _ in 0..=at + 1 {
                count(&self.0.counters.dropped);
            }
            return Ok(None);
        }
        outbox::settle_unsent(
            tx,
            &claimed,
            end - 1,
            "collapsed",
            "told together with its end",
            now,
        )
        .await?;
        for _ in 0..=at {
            count(&self.0.counters.collapsed);
        }
        let claimed = outbox::claim_end(tx, &claimed, end, now, until).await?;
        Ok(Some(Job { claimed, channel }))
    }

    async fn deliver(&self, job: Job, now: Timestamp) -> sqlx::Result<Delivery> {
        count(&self.0.counters.attempts);
        let sent = self.attempt(&job, now).await;
        let after = self.0.clock.now().max(now);
        let mut tries = 0;
        loop {
            match self.settle(&job, &sent, after).await {
                Err(error) if tries < 3 => {
                    // It was sent; forgetting that would send it again.
                    tracing::warn!(%error, notice = %job.claimed.notice, "settling is tried again");
                    tries += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                result => return result,
            }
        }
    }

    async fn attempt(&self, job: &Job, now: Timestamp) -> Sent {
        let stored = match self.stored(&job.claimed).await {
            Ok(stored) => stored,
            Err(sent) => return sent,
        };
        let parsed = match self.open(&job.channel) {
            Ok(parsed) => parsed,
            Err(answer) => return Sent::later(answer),
        };
        let around = match self.around().await {
            Ok(around) => around,
            Err(e) => return Sent::later(format!("the settings cannot be read: {e}")),
        };
        let parcel = Parcel {
            id: job.claimed.notice,
            channel: Some(job.claimed.channel),
            now,
            content: stored.content(),
            reached: &job.claimed.reached,
        };
        // The kinds keep to the time-out themselves and know more to say; this is the last resort that
        // keeps the lease longer than the sending.
        let limit = SEND_TIMEOUT + Duration::from_secs(5);
        match tokio::time::timeout(limit, self.send(&parsed, &parcel, &around)).await {
            Ok(sent) => sent,
            Err(_) => Sent::later(format!("no answer within {} s", limit.as_secs())),
        }
    }

    /// What a claimed row says, or why that is not to be had.
    async fn stored(&self, claimed: &Claimed) -> Result<Stored, Sent> {
        let never = |what: &str, e: &dyn std::fmt::Display| {
            Sent::new(Verdict::Never, format!("the stored {what} cannot be read: {e}"))
        };
        if claimed.kind != outbox::REPORT {
            return Stored::read(claimed).map_err(|e| never("notice", &e));
        }
        let filter =
            SentFilter { report: Some(claimed.incident), limit: 1, ..SentFilter::default() };
        let row = async {
            let mut conn = self.0.pool.acquire().await?;
            store::report_schedules::sent(&mut conn, filter).await
        };
        let row = row.await.map_err(|e| Sent::later(format!("the report cannot be read: {e}")))?;
        let document = row.into_iter().next().and_then(|row| row.document).unwrap_or_default();
        let document = serde_json::from_value(document);
        document.map(|d| Stored::Report(Box::new(d))).map_err(|e| never("report", &e))
    }

    /// Records what came of an attempt, and what follows for the channel, in one transaction.
    async fn settle(&self, job: &Job, sent: &Sent, now: Timestamp) -> sqlx::Result<Delivery> {
        let Job { claimed, channel } = job;
        let fate = fate(job, sent, now, jitter());
        let mut tx = self.0.pool.begin().await?;
        let ours = match fate {
            Fate::Delivered => {
                outbox::settle(&mut tx, claimed, "delivered", &sent.answer, now).await?
            }
            Fate::Again(at) => {
                outbox::reschedule(&mut tx, claimed, at, &sent.answer, &sent.reached).await?
            }
            Fate::Failed | Fate::Lost => {
                outbox::settle(&mut tx, claimed, "failed", &sent.answer, now).await?
            }
        };
        let delivered = sent.verdict == Verdict::Delivered;
        store::channels::attempted(&mut tx, channel.id, delivered, &sent.answer, now).await?;
        if sent.verdict == Verdict::Gone {
            let reason = format!("The receiver says that it is gone for good: {}", sent.answer);
            store::channels::disable(&mut tx, channel.id, &reason, now).await?;
            outbox::drop_unsent(&mut tx, channel.id, "the receiver is gone", now).await?;
        }
        tx.commit().await?;
        let fate = if ours { fate } else { Fate::Lost };
        self.report(job, sent, fate);
        Ok(Delivery {
            notice: claimed.notice,
            channel: channel.id,
            fate,
            answer: sent.answer.clone(),
        })
    }

    fn report(&self, job: &Job, sent: &Sent, fate: Fate) {
        let counters = &self.0.counters;
        let (notice, channel) = (job.claimed.notice, &job.channel.name);
        let (attempt, answer) = (job.claimed.attempts, &sent.answer);
        match fate {
            Fate::Delivered => {
                count(&counters.delivered);
                tracing::info!(%notice, channel, attempt, answer, "delivered");
            }
            Fate::Again(at) => {
                count(&counters.retried);
                tracing::warn!(%notice, channel, attempt, answer, next = %at, "not delivered yet");
            }
            Fate::Failed => {
                count(&counters.failed);
                tracing::error!(%notice, channel, attempt, answer, "given up");
            }
            Fate::Lost => {
                count(&counters.lost_leases);
                tracing::warn!(%notice, channel, attempt, answer, "ended after its lease; the result is ignored");
            }
        }
    }

    /// A stored channel with its secrets opened, or the sentence that says why not.
    pub(super) fn open(&self, channel: &Channel) -> Result<ParsedChannel, String> {
        open_channel(&self.0.sealer, channel)
    }
}

/// A stored channel with its secrets opened, or the sentence that says why not.
pub fn open_channel(
    sealer: &store::seal::Sealer,
    channel: &Channel,
) -> Result<ParsedChannel, String> {
    let kind = ChannelKind::from_word(&channel.kind)
        .ok_or_else(|| format!("channels of kind {} are unknown to this version", channel.kind))?;
    let row = channel.id.to_string();
    let secrets = match &channel.sealed {
        None => ChannelSecrets::default(),
        Some(sealed) => {
            let text: Secret<String> = sealer
                .open_text(store::channels::place(&row), sealed)
                .map_err(|e| e.to_string())?;
            ChannelSecrets::from_text(&text)
                .ok_or("the channel's secrets cannot be read; enter them again")?
        }
    };
    ChannelConfig::stored(kind, &channel.config, &secrets).map_err(|e| e.to_string())
}

/// A notice under lease and the channel it goes to.
struct Job {
    claimed: Claimed,
    channel: Channel,
}

/// A notice as it lay in the outbox.
enum Stored {
    Notice(Box<Notice>),
    Failover(FailoverNotice),
    Report(Box<Document>),
}

impl Stored {
    fn read(claimed: &Claimed) -> serde_json::Result<Self> {
        let payload = claimed.payload.clone();
        if claimed.kind == FailoverNotice::KIND {
            return serde_json::from_value(payload).map(Self::Failover);
        }
        serde_json::from_value(payload).map(|notice| Self::Notice(Box::new(notice)))
    }

    fn content(&self) -> Content<'_> {
        match self {
            Self::Notice(notice) => Content::Notice(notice),
            Self::Failover(notice) => Content::Failover(notice),
            Self::Report(document) => Content::Report(document),
        }
    }
}

/// What follows from one attempt. `jitter` in −1..=1.
fn fate(job: &Job, sent: &Sent, now: Timestamp, jitter: f64) -> Fate {
    let after = match sent.verdict {
        Verdict::Delivered => return Fate::Delivered,
        Verdict::Never | Verdict::Gone => return Fate::Failed,
        Verdict::Later { after } => after,
    };
    let Some(kind) = ChannelKind::from_word(&job.channel.kind) else { return Fate::Failed };
    let attempts = u32::try_from(job.claimed.attempts).unwrap_or(1);
    kind.schedule()
        .next(attempts, job.claimed.created_at, now, jitter, after)
        .map_or(Fate::Failed, Fate::Again)
}

#[expect(
    clippy::disallowed_methods,
    reason = "spreads repeats; the rule that uses it takes it as an argument"
)]
fn jitter() -> f64 {
    rand::random::<f64>() * 2.0 - 1.0
}
