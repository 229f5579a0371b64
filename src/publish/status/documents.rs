//! A status page for other readers: the summary that many tools know, feeds, a calendar, badges.

use serde_json::Value;

use super::{Part, Planned, Post, View};
use crate::domain::Millis;
use crate::domain::status_page::post::{Impact, Progress};
use crate::publish::badge::{Badge, of_state};
use crate::publish::calendar::{Calendar, Event};
use crate::publish::feed::{Entry, Feed};
use crate::publish::summary::{self, IncidentStatus, MaintenanceStatus};

/// Entries of a feed; readers keep what they have seen.
const ENTRIES: usize = 50;

/// Planned work that the summary tells; calendars have all of it.
const PLANNED: usize = 20;

/// `summary.json`. Parts that were never measured are left out, because the format has no word for that.
pub fn summary(view: &View) -> Value {
    let group = |group: &super::Group| summary::Group {
        id: group.id.clone(),
        name: group.name.clone(),
        description: None,
        created_at: view.created_at,
    };
    let named = view.groups.iter().filter(|group| !group.name.is_empty());
    let components = view.groups.iter().flat_map(|group| {
        group.parts.iter().map(|part| summary::Component {
            id: part.id.clone(),
            name: part.name.clone(),
            description: Some(part.description.clone()).filter(|text| !text.is_empty()),
            group: (!group.name.is_empty()).then(|| group.id.clone()),
            state: part.state,
            last_known: part.last_known,
            created_at: part.created_at,
            updated_at: part.updated_at,
            only_show_if_degraded: false,
        })
    });
    summary::summary(&summary::Page {
        id: view.id.clone(),
        name: view.name.clone(),
        url: view.url.clone(),
        time_zone: view.zone.name.clone(),
        updated_at: view.now,
        groups: named.map(group).collect(),
        components: components.collect(),
        incidents: view.open.iter().map(|post| incident(view, post)).collect(),
        maintenances: view
            .coming()
            .take(PLANNED)
            .map(|planned| maintenance(view, planned))
            .collect(),
    })
}

fn incident(view: &View, post: &Post) -> summary::Incident {
    let watched = post.updates.iter().filter(|update| update.status == Progress::Monitoring);
    summary::Incident {
        id: post.id.clone(),
        name: post.title.clone(),
        status: match post.status {
            Progress::Investigating => IncidentStatus::Investigating,
            Progress::Identified => IncidentStatus::Identified,
            Progress::Monitoring => IncidentStatus::Monitoring,
            Progress::Resolved => IncidentStatus::Resolved,
        },
        impact: match post.impact {
            Impact::None => summary::Impact::None,
            Impact::Minor => summary::Impact::Minor,
            Impact::Major => summary::Impact::Major,
            Impact::Critical => summary::Impact::Critical,
        },
        url: post_url(view, post),
        started_at: post.started_at,
        created_at: post.created_at,
        updated_at: post.updated_at,
        monitoring_at: watched.map(|update| update.at).min(),
        resolved_at: post.resolved_at,
        updates: post
            .updates
            .iter()
            .map(|update| summary::Update {
                id: update.id.clone(),
                status: update.status.word().to_owned(),
                body: update.text.clone(),
                at: update.at,
            })
            .collect(),
        components: post.parts.clone(),
    }
}

fn maintenance(view: &View, planned: &Planned) -> summary::Maintenance {
    let begun = planned.from <= view.now;
    summary::Maintenance {
        id: format!("{}-{}", planned.id, planned.from / 1_000),
        name: title(view, planned),
        status: if begun { MaintenanceStatus::InProgress } else { MaintenanceStatus::Scheduled },
        url: view.url.clone(),
        from: planned.from,
        to: planned.to,
        created_at: planned.changed_at,
        updated_at: planned.changed_at,
        updates: Vec::new(),
        components: planned.parts.clone(),
    }
}

/// The window's own name is internal.
fn title(view: &View, planned: &Planned) -> String {
    format!("Planned maintenance of {}", view.concerned(&planned.parts))
}

fn post_url(view: &View, post: &Post) -> String {
    format!("{}/posts/{}", view.url, post.id)
}

/// Every update is an entry of its own, so that readers who have shown a post show what is new about it.
/// `kind` is `rss` or `atom`.
pub fn feed(view: &View, kind: &str) -> Feed {
    let posts = view.open.iter().chain(&view.earlier);
    let mut entries: Vec<Entry> = posts
        .flat_map(|post| {
            post.updates.iter().map(|update| Entry {
                id: format!("urn:uuid:{}", update.id),
                title: format!(
                    "{}: {}",
                    post.title,
                    super::posts::progress(update.status).to_lowercase()
                ),
                url: format!("{}#u-{}", post_url(view, post), update.id),
                published_at: update.at,
                updated_at: update.at,
                text: update.text.clone(),
            })
        })
        .collect();
    entries.sort_by(|a, b| b.published_at.cmp(&a.published_at).then_with(|| b.id.cmp(&a.id)));
    entries.truncate(ENTRIES);
    let newest: Option<Millis> = entries.first().map(|entry| entry.updated_at);
    Feed {
        title: format!("{}: service status", view.name),
        url: view.url.clone(),
        feed_url: format!("{}/feed.{kind}", view.url),
        updated_at: newest.unwrap_or(view.updated_at),
        entries,
    }
}

pub fn calendar(view: &View) -> Calendar {
    let host = url::Url::parse(&view.url).ok();
    let host = host.as_ref().and_then(|url| url.host_str()).unwrap_or("localhost");
    let event = |planned: &Planned| Event {
        id: planned.id.clone(),
        start: planned.from,
        end: planned.to,
        title: title(view, planned),
        description: format!("{} may not work during this time.", view.concerned(&planned.parts)),
        url: Some(view.url.clone()),
        sequence: planned.revision,
        changed_at: planned.changed_at,
        cancelled: planned.skipped,
    };
    Calendar {
        name: format!("{}: planned maintenance", view.name),
        host: host.to_owned(),
        events: view.planned.iter().map(event).collect(),
    }
}

/// Of a part, how it is now.
pub fn badge(part: &Part) -> Badge {
    of_state(&part.name, part.state)
}
