//! An outbox to deliver from: a database, a clock, channels, and notices as triage would queue them.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use quorate::{
    clock::Clock,
    domain::{
        address::{AllowList, AllowNet},
        channel::{ChannelConfig, ChannelKind, MailServer, ParsedChannel},
        ids::MonitorKey,
        incident::Severity,
        notice::{IncidentFacts, LocationLine, MonitorFacts, Notice, NoticeKind},
    },
    net::Guard,
    notify::{Delivery, Notifier, NotifySettings},
    store::{
        self,
        channels::{self, Channel, ChannelValues},
        outbox::{self, NewNotice, NoticeRow},
        seal::Sealer,
    },
};
use serde_json::Value;
use sqlx::{PgPool, pool::PoolConnection};
use uuid::Uuid;

use super::db::TestDb;

pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) clock: Clock,
    pub(crate) notifier: Notifier,
}

impl World {
    /// Mail goes to `mail`, webhooks may go to 127.0.0.1.
    pub(crate) async fn new(mail: Option<MailServer>) -> Self {
        Self::with(|settings| settings.mail = mail).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut NotifySettings)) -> Self {
        let db = TestDb::new().await;
        let clock = Clock::manual(at("2026-11-17T02:00:00Z"));
        let mut settings = settings();
        change(&mut settings);
        let notifier = notifier(db.pool().clone(), &clock, KEY, settings);
        Self { db, clock, notifier }
    }

    pub(crate) fn pool(&self) -> &PgPool {
        self.db.pool()
    }

    pub(crate) async fn conn(&self) -> PoolConnection<sqlx::Postgres> {
        self.pool().acquire().await.unwrap()
    }

    /// A saved channel; the second value is the signing key that was made for it.
    pub(crate) async fn channel(&self, kind: ChannelKind, config: Value) -> (Uuid, Option<String>) {
        let mut parsed = ChannelConfig::parse(kind, &config, None).unwrap();
        let key = parsed.ensure_key([7; 32]).map(|key| key.expose().clone());
        (self.save(&parsed).await, key)
    }

    pub(crate) async fn save(&self, parsed: &ParsedChannel) -> Uuid {
        let id = store::id_at(self.clock.now());
        let sealed = Sealer::from_text(KEY)
            .unwrap()
            .seal(channels::place(&id.to_string()), parsed.secrets.to_text().expose().as_bytes());
        let values = ChannelValues {
            name: &format!("channel {id}"),
            kind: parsed.config.kind().word(),
            config: &parsed.config.to_json(),
            sealed: (!parsed.secrets.is_empty()).then_some(&sealed),
            is_default: true,
            min_severity: "degraded",
            enabled: true,
        };
        channels::insert(&mut *self.conn().await, id, &values, self.clock.now()).await.unwrap();
        id
    }

    pub(crate) async fn webhook(&self, url: &str) -> Uuid {
        self.channel(ChannelKind::Webhook, serde_json::json!({ "url": url })).await.0
    }

    pub(crate) async fn channel_row(&self, id: Uuid) -> Channel {
        channels::get(&mut *self.conn().await, id).await.unwrap().unwrap()
    }

    /// Queues notices of incident number `incident`, in this order, and gives their ids.
    pub(crate) async fn queue(
        &self,
        incident: u128,
        channel: Uuid,
        kinds: &[NoticeKind],
    ) -> Vec<Uuid> {
        let now = self.clock.now();
        let notices: Vec<NewNotice> = kinds
            .iter()
            .map(|&kind| NewNotice {
                notice: store::id_at(now),
                monitor: MonitorKey(1),
                incident: Uuid::from_u128(incident),
                channel,
                payload: notice(kind, incident, now),
                created_at: now,
            })
            .collect();
        let mut tx = self.pool().begin().await.unwrap();
        outbox::insert(&mut tx, &notices).await.unwrap();
        tx.commit().await.unwrap();
        notices.into_iter().map(|new| new.notice).collect()
    }

    /// One step at the present instant.
    pub(crate) async fn step(&self) -> Option<Delivery> {
        self.notifier.deliver_next(self.clock.now()).await.unwrap()
    }

    /// Steps until nothing is due.
    pub(crate) async fn steps(&self) -> Vec<Delivery> {
        let mut all = Vec::new();
        while let Some(delivery) = self.step().await {
            all.push(delivery);
        }
        all
    }

    pub(crate) async fn notices(&self, incident: u128) -> Vec<NoticeRow> {
        let incident = Uuid::from_u128(incident);
        outbox::of_incident(&mut *self.conn().await, MonitorKey(1), incident).await.unwrap()
    }

    /// Outcomes in the order of the queue; `-` is still open.
    pub(crate) async fn outcomes(&self, incident: u128) -> Vec<String> {
        let rows = self.notices(incident).await;
        rows.into_iter().map(|row| row.outcome.unwrap_or_else(|| "-".into())).collect()
    }
}

pub(crate) fn settings() -> NotifySettings {
    let loopback: AllowNet = "127.0.0.1/32".parse().unwrap();
    NotifySettings {
        public_url: Some("https://quorate.example/".parse().unwrap()),
        guard: Guard::new(AllowList::new([loopback], Vec::new())),
        timeout: Duration::from_secs(10),
        ..NotifySettings::default()
    }
}

pub(crate) fn notifier(
    pool: PgPool,
    clock: &Clock,
    key: &str,
    settings: NotifySettings,
) -> Notifier {
    Notifier::new(pool, clock.clone(), Sealer::from_text(key).unwrap(), settings).unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A notice of an outage of `checkout` that began a minute before `now`.
pub(crate) fn notice(kind: NoticeKind, incident: u128, now: Timestamp) -> Notice {
    let monitor = Uuid::from_u128(1);
    let began = now - jiff::SignedDuration::from_secs(60);
    let line = |name: &str, vote: &str, class: Option<&str>, saw: &str| LocationLine {
        name: name.into(),
        region: name.into(),
        domain: name.into(),
        vote: vote.into(),
        class: class.map(Into::into),
        saw: saw.into(),
        address: Some("203.0.113.10".into()),
        simulated: false,
        uncounted: None,
    };
    Notice {
        kind,
        severity: Severity::Down,
        previous_severity: None,
        monitor: Some(MonitorFacts {
            uid: monitor,
            name: "checkout".into(),
            group: "shop".into(),
            target: "https://shop.example/health".into(),
            labels: BTreeMap::new(),
            runbook_url: None,
        }),
        fleet: None,
        slo: None,
        platform: None,
        certificate: None,
        prompt: None,
        storm: None,
        incident: IncidentFacts {
            uid: Uuid::from_u128(incident),
            subject: format!("monitor:{monitor}"),
            started_at: began,
            opened_at: now,
            ended_at: kind.ends().then_some(now),
            resolve_reason: kind.ends().then(|| "recovered".into()),
            low: false,
        },
        sentence: "2 of 3 locations see it fail, 2 are needed.".into(),
        locations: vec![
            line("eu", "down", Some("connect_refused"), "The connection was refused."),
            line("us", "down", Some("connect_refused"), "The connection was refused."),
            line("ap", "up", None, ""),
        ],
        scope: Some("global".into()),
        eligible: 3,
        needed: 2,
        down: 2,
        decided_at: now,
        collapsed: false,
    }
}
