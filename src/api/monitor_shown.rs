//! From stored monitors to what is answered, and back to a form that an edit is laid over.

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    error::{ApiError, ApiResult},
    monitor_form::{self, text_map},
    monitor_save,
    monitors::{
        AllWord, ChangeMonitor, LocationLabels, Locations, Monitor, MonitorState, NewMonitor,
        PolicyInForce,
    },
    request::At,
    routes::told_by,
    view::Surroundings,
};
use crate::{
    domain::{
        check::Check,
        escalation::route::Own,
        ids::MonitorKey,
        monitor::{LocationSelector, Policy, Quorum},
    },
    store::{self, monitors::MonitorRow},
};

/// A stored monitor with a change on top, as a form again.
pub fn merged(old: &MonitorRow, change: ChangeMonitor) -> ApiResult<NewMonitor> {
    let v = &old.values;
    let ids = |value: &serde_json::Value| -> ApiResult<Vec<String>> {
        Ok(serde_json::from_value(value.clone()).map_err(anyhow::Error::from)?)
    };
    Ok(NewMonitor {
        name: change.name.unwrap_or_else(|| v.name.clone()),
        group: change.group.unwrap_or_else(|| v.group_name.clone()),
        check: change.check.unwrap_or_else(|| v.check_spec.clone()),
        interval_s: change.interval_s.or(u32::try_from(v.interval_s).ok()),
        timeout_s: change.timeout_s.or(Some(f64::from(v.timeout_ms) / 1_000.0)),
        slow_ms: change.slow_ms.unwrap_or_else(|| v.slow_ms.and_then(|ms| u32::try_from(ms).ok())),
        locations: Some(change.locations.unwrap_or_else(|| v.locations.clone())),
        policy: match change.policy {
            Some(policy) => policy,
            None => serde_json::from_value(v.policy.clone()).map_err(anyhow::Error::from)?,
        },
        labels: change.labels.unwrap_or_else(|| text_map(&v.labels)),
        depends_on: match change.depends_on {
            Some(words) => words,
            None => ids(&v.depends_on)?,
        },
        fleet: change.fleet.unwrap_or_else(|| v.fleet.clone()),
        channels: match change.channels {
            Some(words) => words,
            None => v.channels.as_ref().map(ids).transpose()?,
        },
        escalation: change.escalation.unwrap_or_else(|| v.escalation.clone()),
        certificate_days: change.certificate_days.unwrap_or_else(|| {
            v.certificate_days.as_ref().map(|days| days.iter().copied().map(i64::from).collect())
        }),
        runbook_url: change.runbook_url.unwrap_or_else(|| v.runbook_url.clone()),
        enabled: change.enabled.unwrap_or(v.enabled),
    })
}

/// A monitor as it is answered.
pub async fn load(conn: &mut PgConnection, key: MonitorKey, now: Timestamp) -> ApiResult<Monitor> {
    let row = store::monitors::get(conn, key).await?.ok_or(ApiError::NotFound("monitor"))?;
    let around = Surroundings::read(conn, now).await?;
    let mut views = around.views(conn, &[key.0]).await?;
    let view = views.remove(&key).ok_or(ApiError::NotFound("monitor"))?;
    let check = Check::parse(row.values.check_spec).map_err(anyhow::Error::from)?;
    let uids = |value: serde_json::Value| -> ApiResult<Vec<Uuid>> {
        Ok(serde_json::from_value(value).map_err(anyhow::Error::from)?)
    };
    let channels = row.values.channels.map(uids).transpose()?;
    let escalation: Option<Uuid> = row.values.escalation.and_then(|id| id.parse().ok());
    let labels = text_map(&row.values.labels);
    let own = Own { channels: channels.clone(), escalation, labels: labels.clone() };
    let told_by = told_by(conn, &own).await?;
    Ok(Monitor {
        id: row.uid,
        name: row.values.name,
        group: row.values.group_name,
        check: check.redacted(),
        interval_s: u32::try_from(row.values.interval_s).unwrap_or_default(),
        timeout_s: f64::from(row.values.timeout_ms) / 1_000.0,
        slow_ms: row.values.slow_ms.and_then(|ms| u32::try_from(ms).ok()),
        locations: Locations::shown(monitor_save::selector(&row.values.locations)?, &around),
        policy: serde_json::from_value(row.values.policy).map_err(anyhow::Error::from)?,
        policy_in_force: PolicyInForce::from(&view.settings.policy),
        looks_from: around.references(&row.looks_from),
        labels,
        depends_on: uids(row.values.depends_on)?,
        fleet: row.values.fleet,
        channels,
        escalation,
        certificate_days: row
            .values
            .certificate_days
            .map(|days| days.into_iter().filter_map(|day| u16::try_from(day).ok()).collect()),
        told_by,
        runbook_url: row.values.runbook_url,
        enabled: row.values.enabled,
        warnings: monitor_form::warnings(&check, &view.settings.policy, row.looks_from.len()),
        state: MonitorState::from_code(row.state),
        since: At(row.since_at),
        check_version: row.check_version,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    })
}

impl Locations {
    /// A stored rule with names in place of ids.
    pub fn shown(rule: LocationSelector, around: &Surroundings) -> Self {
        match rule {
            LocationSelector::Word(_) => Self::All(AllWord::All),
            LocationSelector::Labels { labels } => Self::Labelled(LocationLabels { labels }),
            LocationSelector::Names(ids) => {
                let name = |id: &String| {
                    around
                        .locations
                        .values()
                        .find(|row| row.uid.to_string() == *id)
                        .map(|row| row.name.clone())
                };
                Self::Listed(ids.iter().filter_map(name).collect())
            }
        }
    }
}

impl From<&Policy> for PolicyInForce {
    fn from(p: &Policy) -> Self {
        let secs = |millis: i64| millis as f64 / 1_000.0;
        Self {
            quorum: match p.quorum {
                Quorum::Majority => "majority".to_owned(),
                Quorum::AtLeast(k) => format!("at_least {k}"),
                Quorum::Percent(percent) => format!("percent {percent}"),
                Quorum::All => "all".to_owned(),
                Quorum::Any => "any".to_owned(),
            },
            fail_after: p.fail_after,
            pass_after: p.pass_after,
            retry_gap_s: secs(p.retry_gap),
            pass_gap_s: secs(p.pass_gap),
            min_separation_s: secs(p.min_separation),
            stale_after_s: secs(p.stale_after),
            min_agree: p.min_agree,
            min_domains: p.min_domains,
            min_regions: p.min_regions,
            partial_min: p.partial_min,
            confirm_for_s: secs(p.confirm_for),
            split_for_s: secs(p.split_for),
            blind_for_s: secs(p.blind_for),
            recover_for_s: secs(p.recover_for),
            reopen_within_s: secs(p.reopen_within),
        }
    }
}
