//! Everybody who hears of incidents: a webhook receiver, and two people with addresses at a mail server.
//! What each of them was told is noted under the ids that a receiver tells repeats by.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use super::{
    hook_sink::{HookSink, Order, Received},
    mail_sink::{MailSink, Taken},
    whole::Client,
};

const PEOPLE: [&str; 2] = ["ops@example.com", "night@example.com"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Medium {
    Webhook,
    Mail,
}

impl Medium {
    pub(crate) const ALL: [Self; 2] = [Self::Webhook, Self::Mail];

    /// The kind of channel.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Mail => "email",
        }
    }

    /// How many hear each notice.
    pub(crate) fn audience(self) -> usize {
        match self {
            Self::Webhook => 1,
            Self::Mail => PEOPLE.len(),
        }
    }
}

/// Who heard what of which incident.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    medium: Medium,
    who: String,
    incident: String,
    kind: &'static str,
}

pub(crate) struct Listeners {
    hook: HookSink,
    mail: MailSink,
    /// The ids under which each item came, repeats included.
    heard: BTreeMap<Item, Vec<String>>,
}

impl Listeners {
    pub(crate) async fn start(name: &str) -> Self {
        let (hook, mail) = tokio::join!(HookSink::start(), MailSink::start(name, json!({})));
        Self { hook, mail, heard: BTreeMap::new() }
    }

    /// What a coordinator must believe to send mail here.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.mail.ca_file()
    }

    /// A channel to each.
    pub(crate) async fn connect(&self, client: &Client) {
        let settings = json!({
            "host": "localhost", "port": self.mail.port(), "security": "starttls",
            "username": "svc", "password": "secret", "from": "Quorate <quorate@example.com>",
        });
        client.call(reqwest::Method::PUT, "settings/mail", Some(settings)).await;
        for (medium, config) in [
            (Medium::Webhook, json!({"url": self.hook.url})),
            (Medium::Mail, json!({"to": PEOPLE})),
        ] {
            let word = medium.word();
            let channel = json!({"name": word, "kind": word, "config": config});
            client.post("channels", channel).await;
        }
    }

    /// From now on it takes what comes and does not answer.
    pub(crate) async fn hold(&mut self, medium: Medium) {
        match medium {
            Medium::Webhook => self.hook.always(Order::Hold),
            Medium::Mail => self.mail.hold().await,
        }
    }

    pub(crate) async fn answer_again(&mut self, medium: Medium) {
        match medium {
            Medium::Webhook => self.hook.always(Order::Answer(200, "", "thanks")),
            Medium::Mail => self.mail.go().await,
        }
    }

    /// Waits for one to arrive.
    pub(crate) async fn hear(&mut self, medium: Medium) {
        match medium {
            Medium::Webhook => {
                let request = self.hook.next().await;
                self.note_request(&request);
            }
            Medium::Mail => {
                let mail = self.mail.next().await;
                self.note_mail(&mail);
            }
        }
    }

    /// Notes what came until now.
    pub(crate) async fn hear_all(&mut self) {
        for request in self.hook.drain() {
            self.note_request(&request);
        }
        for mail in self.mail.drain().await {
            self.note_mail(&mail);
        }
    }

    /// How many messages came, repeats included.
    pub(crate) fn messages(&self, medium: Medium) -> usize {
        self.heard.iter().filter(|(item, _)| item.medium == medium).map(|(_, ids)| ids.len()).sum()
    }

    /// Everybody heard each stored notice, all of them delivered, and nothing else: one beginning and one
    /// end of each incident, each under the stored id, however often it came.
    pub(crate) async fn check(&self, pool: &PgPool, incidents: usize) {
        let notices: Vec<(String, Uuid, String, Uuid, Option<String>)> = sqlx::query_as(
            "select c.kind, n.incident_id, n.kind, n.notice_id, n.outcome
             from notice n join channel c using (channel_id)",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        let mut expected = BTreeMap::new();
        for (channel, incident, kind, id, outcome) in notices {
            assert_eq!(outcome.as_deref(), Some("delivered"));
            let kind = ["opened", "resolved"].into_iter().find(|known| *known == kind).unwrap();
            let medium = Medium::ALL.into_iter().find(|known| known.word() == channel).unwrap();
            let audience = match medium {
                Medium::Webhook => vec!["hook"],
                Medium::Mail => PEOPLE.to_vec(),
            };
            for who in audience {
                let (who, incident) = (who.to_owned(), incident.to_string());
                let twin = expected
                    .insert(Item { medium, who, incident, kind }, BTreeSet::from([id.to_string()]));
                assert_eq!(twin, None, "two notices of one {kind} for one channel");
            }
        }
        let audience: usize = Medium::ALL.into_iter().map(Medium::audience).sum();
        assert_eq!(expected.len(), incidents * 2 * audience);
        let heard: BTreeMap<Item, BTreeSet<String>> = self
            .heard
            .iter()
            .map(|(item, ids)| (item.clone(), ids.iter().cloned().collect()))
            .collect();
        assert_eq!(heard, expected);
    }

    fn note_request(&mut self, request: &Received) {
        let body = request.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let kind = match text(&body["type"]).as_str() {
            "incident.opened" => "opened",
            "incident.resolved" => "resolved",
            other => panic!("nothing of {other} happened"),
        };
        let incident = text(&body["data"]["incident"]["id"]);
        self.note(Medium::Webhook, "hook".to_owned(), incident, kind, request.id().to_owned());
    }

    fn note_mail(&mut self, mail: &Taken) {
        let subject = mail.header("subject");
        let kind = match subject.split_once(": ").unwrap().0 {
            "Down" => "opened",
            "Up again" => "resolved",
            other => panic!("nothing of {other} happened"),
        };
        let at_home = |name: &str| {
            let value = mail.header(name);
            value.strip_prefix('<').unwrap().strip_suffix("@example.com>").unwrap().to_owned()
        };
        let incident = at_home("in-reply-to").strip_prefix("incident-").unwrap().to_owned();
        let [to] = mail.to.as_slice() else { panic!("a mail for several: {:?}", mail.to) };
        self.note(Medium::Mail, to.clone(), incident, kind, at_home("message-id"));
    }

    fn note(
        &mut self,
        medium: Medium,
        who: String,
        incident: String,
        kind: &'static str,
        id: String,
    ) {
        self.heard.entry(Item { medium, who, incident, kind }).or_default().push(id);
    }
}
