//! What a file tells beside the figures: enough for the documents, without the names and causes that only
//! a server knows.

use std::path::Path;

use crate::domain::slo::evaluate::Inputs;
use crate::publish::document::{Context, Incident, Maintenance};

pub(super) fn context(inputs: &Inputs, file: &Path) -> Context {
    let incidents = inputs.incidents.iter().map(|incident| Incident {
        id: incident.id.clone(),
        started_at: incident.started_at,
        confirmed_at: Some(incident.opened_at),
        ended_at: incident.ended_at,
        acked_at: incident.acked_at,
        ..Incident::default()
    });
    let maintenance = inputs.maintenance.iter().map(|occurrence| Maintenance {
        id: occurrence.id.clone(),
        start: occurrence.start,
        declared_at: occurrence.declared_at,
        scope: match &occurrence.locations {
            Some(locations) => locations.join(", "),
            None => "everything".to_owned(),
        },
        ..Maintenance::default()
    });
    Context {
        incidents: incidents.collect(),
        maintenance: maintenance.collect(),
        command: Some(format!("quorate slo eval {}", quoted(file))),
        ..Context::default()
    }
}

/// As a shell takes it.
fn quoted(file: &Path) -> String {
    let name = file.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    match name.chars().all(plain) {
        true => name,
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}
