//! A status page in the shape of Statuspage v2 `summary.json`, which many readers know. Its vocabulary has
//! no word for unknown: there the last known value stands, and the description says so. Whoever fills a
//! [`Page`] takes care that no internal name or address is in it.

use serde_json::{Value, json};

use crate::domain::Millis;
use crate::domain::slo::report::stamp;

/// How a part of a page is, as the public is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Up,
    /// Answers, and slowly.
    Slow,
    Partial,
    Down,
    Maintenance,
    Unknown,
}

/// Everything that the page shows. Ids are those of the page, not those of monitors.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub id: String,
    pub name: String,
    pub url: String,
    /// IANA name.
    pub time_zone: String,
    pub updated_at: Millis,
    pub groups: Vec<Group>,
    /// In the order of the page.
    pub components: Vec<Component>,
    pub incidents: Vec<Incident>,
    pub maintenances: Vec<Maintenance>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub created_at: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub group: Option<String>,
    pub state: State,
    /// What it was before it was unknown; unknown itself when it was never measured.
    pub last_known: State,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub only_show_if_degraded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentStatus {
    Investigating,
    Identified,
    Monitoring,
    Resolved,
    Postmortem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impact {
    None,
    Minor,
    Major,
    Critical,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    pub id: String,
    pub name: String,
    pub status: IncidentStatus,
    pub impact: Impact,
    pub url: String,
    pub started_at: Millis,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub monitoring_at: Option<Millis>,
    pub resolved_at: Option<Millis>,
    /// The newest first.
    pub updates: Vec<Update>,
    /// Ids of components.
    pub components: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub id: String,
    /// As the status of the incident or maintenance is spelt.
    pub status: String,
    pub body: String,
    pub at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceStatus {
    Scheduled,
    InProgress,
    Verifying,
    Completed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Maintenance {
    pub id: String,
    pub name: String,
    pub status: MaintenanceStatus,
    pub url: String,
    pub from: Millis,
    pub to: Millis,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub updates: Vec<Update>,
    pub components: Vec<String>,
}

/// `GET /api/v2/summary.json`. Parts that were never measured are left out: nothing can be said of them.
pub fn summary(page: &Page) -> Value {
    let shown: Vec<&Component> =
        page.components.iter().filter(|component| told(component) != State::Unknown).collect();
    let mut components: Vec<Value> = Vec::new();
    for (position, group) in page.groups.iter().enumerate() {
        components.push(group_json(page, group, &shown, position + 1));
    }
    for (position, component) in shown.iter().enumerate() {
        components.push(component_json(page, component, position + 1));
    }
    let (indicator, description) = overall(&shown);
    json!({
        "page": {
            "id": page.id,
            "name": page.name,
            "url": page.url,
            "time_zone": page.time_zone,
            "updated_at": stamp(page.updated_at),
        },
        "status": {"indicator": indicator, "description": description},
        "components": components,
        "incidents": page.incidents.iter().map(|i| incident_json(page, i, &shown)).collect::<Vec<_>>(),
        "scheduled_maintenances":
            page.maintenances.iter().map(|m| maintenance_json(page, m, &shown)).collect::<Vec<_>>(),
    })
}

/// The state that is told: the last known one while nothing is known.
fn told(component: &Component) -> State {
    if component.state == State::Unknown { component.last_known } else { component.state }
}

fn status(state: State) -> &'static str {
    match state {
        State::Up | State::Unknown => "operational",
        State::Slow => "degraded_performance",
        State::Partial => "partial_outage",
        State::Down => "major_outage",
        State::Maintenance => "under_maintenance",
    }
}

/// The higher, the worse.
fn rank(state: State) -> u8 {
    match state {
        State::Up | State::Unknown => 0,
        State::Maintenance => 1,
        State::Slow => 2,
        State::Partial => 3,
        State::Down => 4,
    }
}

fn worst<'a>(components: impl Iterator<Item = &'a Component>) -> State {
    components.map(told).max_by_key(|state| rank(*state)).unwrap_or(State::Up)
}

/// Indicator, and the same in words.
fn overall(components: &[&Component]) -> (&'static str, &'static str) {
    let all_down = !components.is_empty() && components.iter().all(|c| told(c) == State::Down);
    match worst(components.iter().copied()) {
        _ if all_down => ("critical", "Everything is down"),
        State::Up | State::Unknown => ("none", "Everything works"),
        State::Maintenance => ("maintenance", "Planned work is going on"),
        State::Slow => ("minor", "Parts are slow"),
        State::Partial => ("minor", "Parts can be reached from some places only"),
        State::Down => ("major", "Parts are down"),
    }
}

fn component_json(page: &Page, component: &Component, position: usize) -> Value {
    let mut description = component.description.clone();
    if component.state == State::Unknown {
        let note = "no recent measurements";
        description = Some(match description {
            Some(text) if !text.is_empty() => format!("{text} ({note})"),
            _ => note.to_owned(),
        });
    }
    json!({
        "id": component.id,
        "name": component.name,
        "status": status(told(component)),
        "created_at": stamp(component.created_at),
        "updated_at": stamp(component.updated_at),
        "position": position,
        "description": description,
        "showcase": false,
        "start_date": null,
        "group_id": component.group,
        "page_id": page.id,
        "group": false,
        "only_show_if_degraded": component.only_show_if_degraded,
    })
}

fn group_json(page: &Page, group: &Group, shown: &[&Component], position: usize) -> Value {
    let members: Vec<&Component> =
        shown.iter().copied().filter(|c| c.group.as_ref() == Some(&group.id)).collect();
    let updated = members.iter().map(|c| c.updated_at).max().unwrap_or(group.created_at);
    let ids: Vec<&str> = members.iter().map(|c| c.id.as_str()).collect();
    json!({
        "id": group.id,
        "name": group.name,
        "status": status(worst(members.iter().copied())),
        "created_at": stamp(group.created_at),
        "updated_at": stamp(updated),
        "position": position,
        "description": group.description,
        "showcase": false,
        "start_date": null,
        "group_id": null,
        "page_id": page.id,
        "group": true,
        "only_show_if_degraded": false,
        "components": ids,
    })
}

fn incident_json(page: &Page, incident: &Incident, shown: &[&Component]) -> Value {
    let status = match incident.status {
        IncidentStatus::Investigating => "investigating",
        IncidentStatus::Identified => "identified",
        IncidentStatus::Monitoring => "monitoring",
        IncidentStatus::Resolved => "resolved",
        IncidentStatus::Postmortem => "postmortem",
    };
    let impact = match incident.impact {
        Impact::None => "none",
        Impact::Minor => "minor",
        Impact::Major => "major",
        Impact::Critical => "critical",
    };
    json!({
        "id": incident.id,
        "name": incident.name,
        "status": status,
        "created_at": stamp(incident.created_at),
        "updated_at": stamp(incident.updated_at),
        "monitoring_at": incident.monitoring_at.map(stamp),
        "resolved_at": incident.resolved_at.map(stamp),
        "impact": impact,
        "shortlink": incident.url,
        "started_at": stamp(incident.started_at),
        "page_id": page.id,
        "incident_updates": updates_json(&incident.id, &incident.updates),
        "components": named(page, &incident.components, shown),
    })
}

fn maintenance_json(page: &Page, maintenance: &Maintenance, shown: &[&Component]) -> Value {
    let status = match maintenance.status {
        MaintenanceStatus::Scheduled => "scheduled",
        MaintenanceStatus::InProgress => "in_progress",
        MaintenanceStatus::Verifying => "verifying",
        MaintenanceStatus::Completed => "completed",
    };
    let over = maintenance.status == MaintenanceStatus::Completed;
    json!({
        "id": maintenance.id,
        "name": maintenance.name,
        "status": status,
        "created_at": stamp(maintenance.created_at),
        "updated_at": stamp(maintenance.updated_at),
        "monitoring_at": null,
        "resolved_at": over.then(|| stamp(maintenance.to)),
        "impact": "maintenance",
        "shortlink": maintenance.url,
        "started_at": stamp(maintenance.from),
        "page_id": page.id,
        "incident_updates": updates_json(&maintenance.id, &maintenance.updates),
        "components": named(page, &maintenance.components, shown),
        "scheduled_for": stamp(maintenance.from),
        "scheduled_until": stamp(maintenance.to),
    })
}

fn updates_json(incident: &str, updates: &[Update]) -> Vec<Value> {
    let of = |update: &Update| {
        json!({
            "id": update.id,
            "status": update.status,
            "body": update.body,
            "incident_id": incident,
            "created_at": stamp(update.at),
            "updated_at": stamp(update.at),
            "display_at": stamp(update.at),
        })
    };
    updates.iter().map(of).collect()
}

/// The components with these ids, as the page tells them.
fn named(page: &Page, ids: &[String], shown: &[&Component]) -> Vec<Value> {
    let all = shown.iter().enumerate();
    all.filter(|(_, component)| ids.contains(&component.id))
        .map(|(position, component)| component_json(page, component, position + 1))
        .collect()
}
