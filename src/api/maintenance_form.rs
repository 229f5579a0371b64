//! What maintenance may be: when it comes, its reason, what it does and what it covers.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use super::{
    error::{ApiError, ApiResult},
    maintenance::whole_millis,
    maintenance_shown::{Maintenance, MaintenanceKind},
    monitor_form::parse_labels,
    request::At,
};
use crate::{
    domain::{
        maintenance::{Switches, plan::Plan},
        monitor::Name,
    },
    store::{
        self,
        maintenance::{Scope, Terms},
        maintenance_plans::Recurrence,
    },
};

/// Longer than this is a mistake.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);
/// Groups of one window.
const MOST_GROUPS: usize = 100;

/// A window, a plan or a correction as it is written. In a change, what is left out stays.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMaintenance {
    pub name: Option<String>,
    /// Of a window that comes once.
    pub start: Option<At>,
    /// Of a window that comes once.
    pub end: Option<At>,
    /// Minute, hour, day of the month, month, day of the week: `0 2 * * 1-5`. It comes again and again, at most
    /// hourly. A time that a change of clocks leaves out comes right after the gap; one that is repeated comes once.
    pub cron: Option<String>,
    /// In which `cron` is read, such as Europe/Berlin; UTC unless given.
    pub timezone: Option<String>,
    /// How long each occurrence lasts, in elapsed seconds: 60 to 2678400, and never until it comes again.
    pub duration_s: Option<i64>,
    /// Nothing begins at this instant or later; no end unless given.
    pub until: Option<At>,
    /// Nothing begins while it is.
    pub paused: Option<bool>,
    /// Ids or names. What names no monitors, groups, labels and fleets covers everything.
    pub monitors: Option<Vec<String>>,
    /// Their monitors are covered, those that are in them when it begins.
    pub groups: Option<Vec<String>>,
    /// Monitors that have all of these labels when it begins are covered.
    pub labels: Option<BTreeMap<String, String>>,
    /// Ids or names of fleets whose alerts it keeps silent. A fleet has no probes to pause and no share in an
    /// SLO of its own, so the other two switches are about monitors.
    pub fleets: Option<Vec<String>>,
    /// On unless said otherwise.
    pub suppress_alerts: Option<bool>,
    /// On unless said otherwise.
    pub exclude_from_slo: Option<bool>,
    /// Off unless said otherwise.
    pub pause_probes: Option<bool>,
    /// Planned unless said otherwise.
    pub kind: Option<MaintenanceKind>,
    /// A correction needs one: 1 to 1,000 characters.
    pub reason: Option<String>,
    /// Ids or names: it leaves out the results of these locations only, and does nothing else.
    pub locations: Option<Vec<String>>,
}

/// What was written, understood.
#[derive(Debug)]
pub struct Form {
    pub kind: MaintenanceKind,
    pub terms: Terms,
    pub when: When,
}

#[derive(Debug)]
pub enum When {
    Once { start: Timestamp, end: Timestamp },
    Again(Recurrence),
}

impl Form {
    pub async fn read(
        conn: &mut PgConnection,
        body: &NewMaintenance,
        now: Timestamp,
    ) -> ApiResult<Self> {
        let name = body.name.as_deref().ok_or_else(|| missing("name"))?;
        let name = Name::parse("name", name)?.as_str().to_owned();
        let when = body.when(now)?;
        let reason = body.reason()?;
        let switches = body.switches()?;
        let scope = scope(conn, body).await?;
        Ok(Self { kind: body.kind(), terms: Terms { name, reason, scope, switches }, when })
    }
}

fn missing(field: &str) -> ApiError {
    ApiError::invalid(field, "is missing")
}

impl NewMaintenance {
    /// An entry as somebody would write it.
    pub fn of(shown: &Maintenance) -> Map<String, Value> {
        let again = shown.cron.is_some();
        let narrow = shown.locations.is_some();
        let mut form = Map::new();
        let mut put = |name: &str, value: Value| drop(form.insert(name.to_owned(), value));
        put("name", json!(shown.name));
        put("kind", json!(shown.kind));
        put("reason", json!(shown.reason));
        put("start", json!(shown.start.filter(|_| !again)));
        put("end", json!(shown.end.filter(|_| !again)));
        put("cron", json!(shown.cron));
        put("timezone", json!(shown.timezone));
        put("duration_s", json!(shown.duration_s));
        put("until", json!(shown.until));
        put("paused", json!(again.then_some(shown.paused)));
        put("monitors", json!(shown.monitors));
        put("groups", json!(shown.groups));
        put("labels", json!(shown.labels));
        put("fleets", json!(shown.fleets));
        put("locations", json!(shown.locations));
        // Beside locations they are not a choice.
        put("suppress_alerts", json!((!narrow).then_some(shown.suppress_alerts)));
        put("exclude_from_slo", json!((!narrow).then_some(shown.exclude_from_slo)));
        put("pause_probes", json!((!narrow).then_some(shown.pause_probes)));
        form
    }

    fn kind(&self) -> MaintenanceKind {
        self.kind.unwrap_or_default()
    }

    fn when(&self, now: Timestamp) -> ApiResult<When> {
        let again = [
            ("timezone", self.timezone.is_some()),
            ("duration_s", self.duration_s.is_some()),
            ("until", self.until.is_some()),
            ("paused", self.paused.is_some()),
        ];
        let Some(cron) = &self.cron else {
            if let Some((field, _)) = again.iter().find(|(_, given)| *given) {
                return Err(ApiError::invalid(*field, "is about what comes again; give cron too"));
            }
            let (start, end) = self.span(now)?;
            return Ok(When::Once { start, end });
        };
        if self.kind() == MaintenanceKind::Correction {
            return Err(ApiError::invalid("cron", "has no place in a correction"));
        }
        for (field, given) in [("start", self.start.is_some()), ("end", self.end.is_some())] {
            if given {
                return Err(ApiError::invalid(field, "has no place beside cron, which says when"));
            }
        }
        let duration_s = self.duration_s.ok_or_else(|| missing("duration_s"))?;
        let timezone = self.timezone.as_deref().unwrap_or("UTC");
        let until = self.until.map(|at| whole_millis(at.0));
        let plan = Plan::parse(cron, timezone, duration_s, until)?;
        plan.check(now)?;
        Ok(When::Again(Recurrence {
            cron: cron.trim().to_owned(),
            timezone: timezone.to_owned(),
            duration_s: i32::try_from(duration_s).unwrap_or(i32::MAX),
            until,
            paused: self.paused.unwrap_or(false),
        }))
    }

    fn span(&self, now: Timestamp) -> ApiResult<(Timestamp, Timestamp)> {
        let correction = self.kind() == MaintenanceKind::Correction;
        let start = self.start.ok_or_else(|| missing("start"))?.0;
        let end = self.end.ok_or_else(|| missing("end"))?.0;
        let start = if correction { whole_millis(start) } else { start.max(now) };
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

    fn reason(&self) -> ApiResult<String> {
        let reason = self.reason.as_deref().unwrap_or_default().trim();
        if reason.is_empty() && self.kind() == MaintenanceKind::Correction {
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
    fn switches(&self) -> ApiResult<Switches> {
        let narrow = if self.kind() == MaintenanceKind::Correction {
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

/// What it covers, as keys.
async fn scope(conn: &mut PgConnection, body: &NewMaintenance) -> ApiResult<Scope> {
    let named = [
        ("monitors", body.monitors.as_ref().map(Vec::len)),
        ("groups", body.groups.as_ref().map(Vec::len)),
        ("labels", body.labels.as_ref().map(BTreeMap::len)),
        ("fleets", body.fleets.as_ref().map(Vec::len)),
    ];
    let some = named.iter().any(|(_, count)| count.is_some_and(|count| count > 0));
    if let Some((field, _)) = named.iter().find(|(_, count)| *count == Some(0) && !some) {
        let message = "is empty: name at least one, or leave it out for all";
        return Err(ApiError::invalid(*field, message));
    }
    let fleets = match body.fleets.as_deref() {
        Some(words) if !words.is_empty() => Some(fleet_keys(conn, words).await?),
        _ => None,
    };
    let groups = match &body.groups {
        Some(words) if !words.is_empty() => Some(groups(words)?),
        _ => None,
    };
    let labels = match &body.labels {
        Some(labels) if !labels.is_empty() => Some(json!(parse_labels(labels.clone())?)),
        _ => None,
    };
    let monitors = match body.monitors.as_deref() {
        Some(words) => Some(keys(conn, words).await?),
        None => some.then(Vec::new),
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
    Ok(Scope { monitors, fleets, groups, labels, locations })
}

/// A group is whatever monitors name as theirs, so one that is empty today may be meant for tomorrow.
fn groups(words: &[String]) -> ApiResult<Vec<String>> {
    if words.len() > MOST_GROUPS {
        return Err(ApiError::invalid("groups", format!("names more than {MOST_GROUPS}")));
    }
    let mut groups: Vec<String> = Vec::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        let word = word.trim();
        if word.is_empty() || word.chars().count() > 200 {
            let why = "must have 1 to 200 characters";
            return Err(ApiError::invalid(format!("groups[{i}]"), why));
        }
        if !groups.iter().any(|known| known == word) {
            groups.push(word.to_owned());
        }
    }
    Ok(groups)
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
