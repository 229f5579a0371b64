//! What a window of maintenance may be: its span, its reason, what it does and what it covers.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    error::{ApiError, ApiResult},
    maintenance::{MaintenanceKind, NewMaintenance, whole_millis},
};
use crate::{domain::maintenance::Switches, store};

/// Longer than this is a mistake.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);

impl NewMaintenance {
    pub fn span(&self, now: Timestamp) -> ApiResult<(Timestamp, Timestamp)> {
        let correction = self.kind == MaintenanceKind::Correction;
        let start = if correction { whole_millis(self.start.0) } else { self.start.0.max(now) };
        let end = self.end.0;
        if correction && end > now {
            return Err(ApiError::invalid(
                "end",
                "lies ahead: a correction is about what is over; plan a window for the rest",
            ));
        }
        if end <= start {
            let message = if end <= now && !correction {
                "lies in the past; enter what is over as a correction, with a reason"
            } else {
                "must be after the start"
            };
            return Err(ApiError::invalid("end", message));
        }
        if end.duration_since(start) > LONGEST {
            return Err(ApiError::invalid("end", "is more than 366 days after the start"));
        }
        Ok((start, end))
    }

    pub fn reason(&self) -> ApiResult<String> {
        let reason = self.reason.as_deref().unwrap_or_default().trim();
        if reason.is_empty() && self.kind == MaintenanceKind::Correction {
            return Err(ApiError::invalid(
                "reason",
                "is missing: a correction changes figures that were told, and says why",
            ));
        }
        if reason.chars().count() > 1_000 || reason.chars().any(|c| c.is_control() && c != '\n') {
            return Err(ApiError::invalid(
                "reason",
                "must be at most 1000 characters without control characters",
            ));
        }
        Ok(reason.to_owned())
    }

    /// What it does. Alerts of the past were sent, and a location is no reason to silence a monitor.
    pub fn switches(&self) -> ApiResult<Switches> {
        let narrow = if self.kind == MaintenanceKind::Correction {
            Some("has no place in a correction, which is about the past")
        } else if self.locations.is_some() {
            Some("has no place beside locations: the monitor is watched from the others")
        } else {
            None
        };
        if let Some(why) = narrow {
            let given = [
                ("suppress_alerts", self.suppress_alerts == Some(true)),
                ("pause_probes", self.pause_probes == Some(true)),
                ("exclude_from_slo", self.exclude_from_slo == Some(false)),
            ];
            if let Some((field, _)) = given.iter().find(|(_, given)| *given) {
                return Err(ApiError::invalid(*field, why));
            }
        }
        Ok(Switches {
            suppress_alerts: self.suppress_alerts.unwrap_or(narrow.is_none()),
            exclude_from_slo: self.exclude_from_slo.unwrap_or(true),
            pause_probes: self.pause_probes.unwrap_or(false),
        })
    }
}

/// What a window covers, as keys: see `store::maintenance::NewMaintenance`.
#[derive(Debug)]
pub struct Covered {
    pub monitors: Option<Vec<i32>>,
    pub fleets: Option<Vec<i32>>,
    pub locations: Option<Vec<i16>>,
}

pub async fn covered(conn: &mut PgConnection, body: &NewMaintenance) -> ApiResult<Covered> {
    let (monitors, fleets) = (body.monitors.as_deref(), body.fleets.as_deref());
    let empty = |list: Option<&[String]>| list.is_some_and(<[String]>::is_empty);
    let some = |list: Option<&[String]>| list.is_some_and(|list| !list.is_empty());
    let refused = |field| {
        Err(ApiError::invalid(field, "is empty: name at least one, or leave it out for all"))
    };
    if empty(monitors) && !some(fleets) {
        return refused("monitors");
    }
    if empty(fleets) && !some(monitors) {
        return refused("fleets");
    }
    let fleets = match fleets {
        Some(words) if !words.is_empty() => Some(fleet_keys(conn, words).await?),
        _ => None,
    };
    let monitors = match monitors {
        Some(words) => Some(keys(conn, words).await?),
        None => fleets.as_ref().map(|_| Vec::new()),
    };
    let locations = match &body.locations {
        Some(_) if fleets.is_some() => {
            return Err(ApiError::invalid("locations", "cannot stand beside fleets"));
        }
        Some(words) if words.is_empty() => {
            return Err(ApiError::invalid(
                "locations",
                "is empty: name at least one, or leave it out for the whole monitor",
            ));
        }
        Some(words) => Some(location_keys(conn, words).await?),
        None => None,
    };
    Ok(Covered { monitors, fleets, locations })
}

async fn location_keys(conn: &mut PgConnection, words: &[String]) -> ApiResult<Vec<i16>> {
    let known = store::locations::list(conn).await?;
    let mut keys = Vec::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        match known.iter().find(|row| row.name == *word || row.uid.to_string() == *word) {
            Some(row) => keys.push(row.key.0),
            None => return Err(ApiError::given(format!("locations[{i}]"), word, "is no location")),
        }
    }
    Ok(keys)
}

async fn fleet_keys(conn: &mut PgConnection, words: &[String]) -> ApiResult<Vec<i32>> {
    let mut keys = Vec::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        match store::fleets::named(conn, word).await? {
            Some(fleet) => keys.push(fleet.key.0),
            None => return Err(ApiError::given(format!("fleets[{i}]"), word, "is no fleet")),
        }
    }
    Ok(keys)
}

async fn keys(conn: &mut PgConnection, words: &[String]) -> ApiResult<Vec<i32>> {
    let known = store::monitors::named(conn, words).await?;
    for (i, word) in words.iter().enumerate() {
        if !known.iter().any(|(_, uid, name)| name == word || uid.to_string() == *word) {
            return Err(ApiError::given(format!("monitors[{i}]"), word, "is no monitor"));
        }
    }
    Ok(known.into_iter().map(|(key, _, _)| key.0).collect())
}
