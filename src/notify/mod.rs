//! Delivery: from the outbox to people and machines.
//!
//! [`Notifier::deliver_next`] is one step: claim under a lease → render (pure) → send → settle. No
//! transaction is open while sending. [`Notifier::run`] repeats it, woken by the commit that queued a
//! notice, and by a poll in case that word was lost.
//!
//! A new channel kind is a file here with a `send`, one arm in `Notifier::send`, and its
//! configuration in `domain::channel`.
//!
//! * At least once: a process that dies between sending and settling leaves a lease that runs out,
//!   and the next attempt carries the same id. Never two ids for one notice.
//! * In order per incident and channel: nothing is sent while an earlier notice of the pair waits.
//! * Nothing here reads the clock but through [`Clock`], and chance only spreads repeats.

mod ack_link;
mod alertmanager;
mod chat;
pub mod deadman;
mod deliver;
mod discord;
mod email;
mod listen;
mod mail_body;
pub mod message;
mod ntfy;
mod pagerduty;
mod post;
mod report;
#[cfg(test)]
mod sample;
mod slack;
mod teams;
mod telegram;
mod unsubscribe;
mod webhook;

pub use ack_link::AckLink;
pub use deliver::{Delivery, Fate, open_channel};
pub use unsubscribe::unsubscribe;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use sqlx::PgPool;
use url::Url;
use uuid::Uuid;

use crate::{
    clock::Clock,
    domain::{
        Invalid,
        address::{AllowList, AllowNet, Blocked},
        channel::{ChannelConfig, MailServer, ParsedChannel},
        notice::{FailoverNotice, Notice},
        slo::context::Document,
    },
    net::{Guard, GuardedClient, Resolver},
    store::seal::Sealer,
};
use message::{Message, Surroundings};
use post::Post;

/// One attempt may take so long, and a lease is twice that: whoever still sends also still holds it.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(15);

/// What the start-up settings say about delivery.
#[derive(Debug, Clone)]
pub struct NotifySettings {
    /// Base of links; overrides the settings page.
    pub public_url: Option<Url>,
    /// Base of links when nobody said anything: where we listen.
    pub listen_url: Option<Url>,
    /// From `QUORATE_SMTP_URL`; overrides the settings page.
    pub mail: Option<MailServer>,
    /// Where webhooks may go.
    pub guard: Guard,
    /// PEM: authorities to trust beside the system's, for mail servers and receivers inside a company.
    pub extra_ca: Option<String>,
    /// Deliveries under way at once.
    pub workers: usize,
    /// [`SEND_TIMEOUT`], or less in tests.
    pub timeout: Duration,
}

impl NotifySettings {
    /// From flags and environment. An error names `QUORATE_SMTP_URL` and what is wrong with it.
    pub fn from_start(
        public_url: &Option<Url>,
        smtp_url: Option<&str>,
        allow_net: &[AllowNet],
    ) -> Result<Self, NotifyError> {
        let wrong = |e: Invalid| NotifyError::Start(format!("QUORATE_SMTP_URL: {}", e.message));
        Ok(Self {
            public_url: public_url.clone(),
            mail: smtp_url.map(MailServer::from_url).transpose().map_err(wrong)?,
            guard: Guard::new(AllowList::new(allow_net.iter().copied(), Vec::new())),
            ..Self::default()
        })
    }
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            public_url: None,
            listen_url: None,
            mail: None,
            guard: Guard::default(),
            extra_ca: None,
            workers: 16,
            timeout: SEND_TIMEOUT,
        }
    }
}

/// Sends what the outbox holds. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Notifier(Arc<Inner>);

struct Inner {
    pool: PgPool,
    clock: Clock,
    sealer: Sealer,
    settings: NotifySettings,
    http: GuardedClient,
    counters: Counters,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notifier")
    }
}

/// What one test send came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSent {
    pub delivered: bool,
    /// What the other side said, or why nothing could be sent.
    pub answer: String,
    pub took: Duration,
}

/// Why there is no notifier, or no answer to a test.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    #[error("no channel has this id")]
    NoSuchChannel,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{0}")]
    Start(String),
}

impl Notifier {
    /// Reads the system's certificates, so it takes some milliseconds.
    pub fn new(
        pool: PgPool,
        clock: Clock,
        sealer: Sealer,
        settings: NotifySettings,
    ) -> Result<Self, NotifyError> {
        let wrong =
            |what: &str, e: &dyn std::fmt::Display| NotifyError::Start(format!("{what}: {e}"));
        let tls =
            post::tls(settings.extra_ca.as_deref()).map_err(|e| wrong("TLS for webhooks", &e))?;
        let resolver = Resolver::system().map_err(|e| wrong("the system's resolver", &e))?;
        let http = settings
            .guard
            .http_client(&resolver, tls, settings.timeout)
            .map_err(|e| wrong("the client for webhooks", &e))?;
        Ok(Self(Arc::new(Inner {
            pool,
            clock,
            sealer,
            settings,
            http,
            counters: Counters::default(),
        })))
    }

    /// Why nothing would ever be sent to a channel: its URL holds an address that is closed here.
    pub fn closed(&self, channel: &ChannelConfig) -> Option<Blocked> {
        channel.place().and_then(|url| self.0.settings.guard.check_url(url).err())
    }

    /// Whether a request to this URL could be sent at all: an address in it may be closed here.
    pub fn open_address(&self, url: &Url) -> Result<(), Blocked> {
        self.0.settings.guard.check_url(url)
    }

    /// Totals since the start, for `/metrics`.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.0.counters;
        Counts {
            attempts: read(&c.attempts),
            delivered: read(&c.delivered),
            retried: read(&c.retried),
            failed: read(&c.failed),
            dropped: read(&c.dropped),
            collapsed: read(&c.collapsed),
            lost_leases: read(&c.lost_leases),
        }
    }

    /// Sends a test through a channel that need not be saved, and says what the other side said.
    /// `name` is how the message calls it.
    pub async fn test_send(
        &self,
        channel: &ParsedChannel,
        name: &str,
    ) -> Result<TestSent, NotifyError> {
        let now = self.0.clock.now();
        let around = self.around().await?;
        let id = crate::store::id_at(now);
        let parcel =
            Parcel { id, channel: None, now, content: Content::Test { name }, reached: &[] };
        let started = tokio::time::Instant::now();
        let sent = self.send(channel, &parcel, &around).await;
        Ok(TestSent {
            delivered: sent.verdict == Verdict::Delivered,
            answer: sent.answer,
            took: started.elapsed(),
        })
    }

    /// The same for a saved channel; its list entry shows the result.
    pub async fn test_channel(&self, id: Uuid) -> Result<TestSent, NotifyError> {
        let mut conn = self.0.pool.acquire().await?;
        let channel =
            crate::store::channels::get(&mut conn, id).await?.ok_or(NotifyError::NoSuchChannel)?;
        drop(conn);
        let sent = match self.open(&channel) {
            Ok(parsed) => self.test_send(&parsed, &channel.name).await?,
            Err(answer) => TestSent { delivered: false, answer, took: Duration::ZERO },
        };
        let mut conn = self.0.pool.acquire().await?;
        let now = self.0.clock.now();
        crate::store::channels::attempted(&mut conn, id, sent.delivered, &sent.answer, now).await?;
        Ok(sent)
    }

    /// Sends a test mail to `to` through a mail server that need not be saved; none takes the one in
    /// use.
    pub async fn test_mail(
        &self,
        server: Option<&MailServer>,
        to: &str,
    ) -> Result<TestSent, NotifyError> {
        let started = tokio::time::Instant::now();
        let now = self.0.clock.now();
        let around = self.around().await?;
        let saved = match server {
            Some(server) => Ok(server.clone()),
            None => self.mail_server().await,
        };
        let to = [to.trim().to_owned()];
        let parcel = Parcel {
            id: crate::store::id_at(now),
            channel: None,
            now,
            content: Content::Test { name: "the mail server" },
            reached: &[],
        };
        let sent = match saved {
            Ok(server) => self.mail(&server, &to, &parcel, &around).await,
            Err(answer) => Sent::later(answer),
        };
        Ok(TestSent {
            delivered: sent.verdict == Verdict::Delivered,
            answer: sent.answer,
            took: started.elapsed(),
        })
    }

    /// Sends by the channel's kind, within the time-out.
    async fn send(
        &self,
        channel: &ParsedChannel,
        parcel: &Parcel<'_>,
        around: &Surroundings,
    ) -> Sent {
        if let ChannelConfig::Email(config) = &channel.config {
            return match self.mail_server().await {
                Ok(server) => self.mail(&server, &config.to, parcel, around).await,
                Err(answer) => Sent::later(answer),
            };
        }
        match request(channel, parcel, around, &self.0.sealer) {
            Ok(post) => post.send(&self.0.http, parcel.now).await,
            Err(answer) => Sent::new(Verdict::Never, answer),
        }
    }

    async fn mail(
        &self,
        server: &MailServer,
        to: &[String],
        parcel: &Parcel<'_>,
        around: &Surroundings,
    ) -> Sent {
        let mut server = server.clone();
        if let Some(extra) = &self.0.settings.extra_ca {
            server.ca_pem = Some(format!("{}\n{extra}", server.ca_pem.unwrap_or_default()));
        }
        email::send(&server, to, parcel, around, &self.0.sealer, self.0.settings.timeout).await
    }

    /// The mail server in use, or why there is none.
    async fn mail_server(&self) -> Result<MailServer, String> {
        const MISSING: &str = "No mail server is set up. Enter one under Settings → Mail server, or start with QUORATE_SMTP_URL.";
        if let Some(server) = &self.0.settings.mail {
            return Ok(server.clone());
        }
        let setting = async {
            let mut conn = self.0.pool.acquire().await?;
            crate::store::settings::get(&mut conn, "mail").await
        };
        let setting =
            setting.await.map_err(|e| format!("The mail settings cannot be read: {e}."))?;
        let setting = setting.ok_or(MISSING)?;
        email::server_from_setting(&setting, &self.0.sealer)
    }

    /// Links and zone as set now.
    async fn around(&self) -> sqlx::Result<Surroundings> {
        let mut conn = self.0.pool.acquire().await?;
        let general = crate::store::settings::get(&mut conn, "general").await?;
        let text = |name: &str| -> Option<String> {
            Some(general.as_ref()?.value.get(name)?.as_str()?.to_owned())
        };
        let public_url = self.0.settings.public_url.clone();
        Ok(Surroundings {
            public_url: public_url
                .or_else(|| Url::parse(&text("public_url")?).ok())
                .or_else(|| self.0.settings.listen_url.clone()),
            zone: text("report_zone")
                .and_then(|zone| TimeZone::get(&zone).ok())
                .unwrap_or(TimeZone::UTC),
        })
    }
}

/// What is posted to a channel that is no mail, or why nothing can be.
fn request(
    channel: &ParsedChannel,
    parcel: &Parcel<'_>,
    around: &Surroundings,
    sealer: &Sealer,
) -> Result<Post, String> {
    const LOST: &str = "the channel's secret is missing; enter it again";
    let secrets = &channel.secrets;
    let token = secrets.token.as_ref().map(|token| token.expose().as_str());
    let hook = || token.and_then(|url| Url::parse(url).ok()).ok_or(LOST);
    let message = || parcel.message_for(around, sealer, "");
    let no_news = || "it carries alerts only, no reports and no word on failover".to_owned();
    let (url, body) = match &channel.config {
        ChannelConfig::Email(_) => return Err("mail is not posted".to_owned()),
        ChannelConfig::Webhook(config) => {
            return Ok(webhook::request(config, secrets, parcel, around));
        }
        // Where presses of buttons are heard, a button takes the place of the link.
        ChannelConfig::Slack(config) if config.answers && around.public_url.is_some() => {
            (hook()?, slack::body(&parcel.message(around), parcel.to_acknowledge()))
        }
        ChannelConfig::Slack(_) => (hook()?, slack::body(&message(), None)),
        ChannelConfig::Teams(_) => (hook()?, teams::body(&message())),
        ChannelConfig::Discord(_) => (discord::address(hook()?), discord::body(&message())),
        ChannelConfig::Telegram(config) => {
            let address = telegram::address(config, token.ok_or(LOST)?).ok_or(LOST)?;
            (address, telegram::body(config, &message()))
        }
        ChannelConfig::Ntfy(config) => (config.server.clone(), ntfy::body(config, &message())),
        ChannelConfig::PagerDuty(config) => {
            let address = pagerduty::address(config).ok_or(LOST)?;
            let body = pagerduty::body(token.ok_or(LOST)?, parcel, around);
            (address, body.ok_or_else(no_news)?)
        }
        ChannelConfig::Alertmanager(config) => {
            let address = alertmanager::address(config).ok_or(LOST)?;
            (address, alertmanager::body(parcel, around).ok_or_else(no_news)?)
        }
    };
    let mut post = Post::json(url, body.to_string());
    if let (ChannelConfig::Ntfy(_), Some(token)) = (&channel.config, token) {
        post.header("authorization", &format!("Bearer {token}"));
    }
    Ok(post.with_secrets(secrets))
}

/// One thing to send.
struct Parcel<'a> {
    /// The id that the receiver sees, the same on every attempt.
    id: Uuid,
    /// The saved channel it goes through; none for tests.
    channel: Option<Uuid>,
    now: Timestamp,
    content: Content<'a>,
    /// Who has it already (mail addresses).
    reached: &'a [String],
}

impl Parcel<'_> {
    /// What people read.
    fn message(&self, around: &Surroundings) -> Message {
        match self.content {
            Content::Notice(notice) => message::compose(notice, around),
            Content::Failover(notice) => message::compose_failover(notice, around),
            Content::Report(document) => report::compose(document, around),
            Content::Test { name } => message::compose_test(name, self.now, around),
        }
    }
}

enum Content<'a> {
    Notice(&'a Notice),
    Failover(&'a FailoverNotice),
    /// A scheduled report.
    Report(&'a Document),
    Test {
        name: &'a str,
    },
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    verdict: Verdict,
    /// What the other side said, or what kept us from asking: a sentence, no secrets.
    answer: String,
    /// Who has it now, those of earlier attempts included (mail addresses).
    reached: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Delivered,
    /// Try again, not sooner than `after` if the other side said so.
    Later {
        after: Option<SignedDuration>,
    },
    /// It will never work as it stands.
    Never,
    /// The receiver is gone for good: the channel is switched off.
    Gone,
}

impl Sent {
    fn new(verdict: Verdict, answer: impl Into<String>) -> Self {
        Self { verdict, answer: answer.into(), reached: Vec::new() }
    }

    fn later(answer: impl Into<String>) -> Self {
        Self::new(Verdict::Later { after: None }, answer)
    }
}

/// Totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub attempts: u64,
    pub delivered: u64,
    /// Attempts that failed and will be repeated.
    pub retried: u64,
    /// Notices given up.
    pub failed: u64,
    /// Notices whose channel was switched off, or that were over before a page went out.
    pub dropped: u64,
    /// Notices told as part of "was down for …".
    pub collapsed: u64,
    /// Attempts that ended after their lease, whose result was ignored.
    pub lost_leases: u64,
}

#[derive(Default)]
struct Counters {
    attempts: AtomicU64,
    delivered: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    collapsed: AtomicU64,
    lost_leases: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
