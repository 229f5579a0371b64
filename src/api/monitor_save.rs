//! Saving, pausing and deleting monitors: one transaction each,
//! which takes the monitor's lock first and tells the agents before it commits.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
    heartbeats::{give_address, is_heartbeat},
    monitor_form::{self, Draft},
};
use crate::{
    domain::{
        decision::Live,
        ids::{LocationKey, MonitorKey},
        monitor::LocationSelector,
    },
    store::{
        self,
        live::LiveSave,
        monitors::{MonitorRow, Values},
        timeline::NewInterval,
        wake::{Change, NewRequest},
    },
};

/// "Probe at once" after a save is not worth doing later than this.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(30);

/// Stores a new monitor; the caller holds the set of locations and commits.
pub async fn create(
    conn: &mut PgConnection,
    state: &AppState,
    draft: &Draft,
    actor: &str,
    now: Timestamp,
) -> ApiResult<MonitorKey> {
    let uid = store::id_at(now);
    let values = values(state, uid, draft)?;
    let key = store::monitors::insert(conn, uid, &values, now).await?;
    let millis = now.as_millisecond();
    let live = Live { folded_at: millis, since: millis, ..Live::default() };
    let row = LiveSave {
        monitor: key,
        live: serde_json::to_string(&live).map_err(anyhow::Error::from)?,
        state: live.state.code(),
        since_at: now,
        wake_at: None,
    };
    store::live::insert(conn, &row).await?;
    let interval = NewInterval {
        monitor: key,
        from_at: now,
        state: live.state.code(),
        evidence_stale: false,
        low: false,
        incident: None,
    };
    store::timeline::begin(conn, &interval).await?;
    store::live::lock(conn, &[key.0]).await?;
    place(conn, key, &draft.looks_from).await?;
    store::plans::note(conn, &[key.0], now).await?;
    if is_heartbeat(&values.check_spec) {
        give_address(conn, state, (key, uid), now).await?;
    }
    if draft.enabled {
        state.triage.edited(conn, key, now).await?;
        ask_at_once(conn, key, &draft.looks_from, actor, now).await?;
    } else {
        state.triage.pause(conn, key, now).await?;
    }
    let detail = json!({ "name": draft.name.as_str(), "after": shown(&values) });
    store::audit::add(conn, now, actor, "monitor.create", &format!("monitor:{uid}"), &detail)
        .await?;
    store::wake::change(conn, &[Change::Monitor(key)], now).await?;
    Ok(key)
}

/// Stores an edit; the caller holds the set of locations and the monitor's lock, has read `old` after
/// that, and commits.
pub async fn update(
    conn: &mut PgConnection,
    state: &AppState,
    old: &MonitorRow,
    draft: &Draft,
    actor: &str,
    now: Timestamp,
) -> ApiResult<()> {
    let key = old.key;
    let mut values = values(state, old.uid, draft)?;
    if !draft.inline_changed && draft.inline.len() == monitor_form::stored_inline(state, old)?.len()
    {
        values.sealed.clone_from(&old.values.sealed);
    }
    if values == old.values && draft.looks_from == old.looks_from {
        return Ok(());
    }
    let new_check = values.check_spec != old.values.check_spec
        || draft.inline_changed
        || values.timeout_ms != old.values.timeout_ms
        || values.interval_s != old.values.interval_s;
    store::monitors::update(conn, key, &values, new_check, now).await?;
    if draft.looks_from == old.looks_from {
        store::monitors::raise_config(conn, &[key.0]).await?;
    } else {
        place(conn, key, &draft.looks_from).await?;
    }
    store::plans::note(conn, &[key.0], now).await?;
    match (old.values.enabled, draft.enabled) {
        (_, true) => {
            state.triage.edited(conn, key, now).await?;
            ask_at_once(conn, key, &draft.looks_from, actor, now).await?;
        }
        (true, false) => state.triage.pause(conn, key, now).await?,
        (false, false) => {}
    }
    let action = match (old.values.enabled, draft.enabled) {
        (true, false) => "monitor.pause",
        (false, true) => "monitor.resume",
        _ => "monitor.change",
    };
    let detail = json!({ "name": draft.name.as_str(), "before": shown(&old.values), "after": shown(&values) });
    store::audit::add(conn, now, actor, action, &format!("monitor:{}", old.uid), &detail).await?;
    store::wake::change(conn, &[Change::Monitor(key)], now).await?;
    Ok(())
}

/// Deletes a monitor; the caller holds its lock and commits.
pub async fn delete(
    conn: &mut PgConnection,
    state: &AppState,
    old: &MonitorRow,
    actor: &str,
    now: Timestamp,
) -> ApiResult<()> {
    state.triage.delete(conn, old.key, now).await?;
    store::monitors::delete(conn, old.key, now).await?;
    store::heartbeats::forget(conn, old.key).await?;
    let detail = json!({ "name": old.values.name, "before": shown(&old.values) });
    store::audit::add(conn, now, actor, "monitor.delete", &format!("monitor:{}", old.uid), &detail)
        .await?;
    store::wake::change(conn, &[Change::Monitor(old.key)], now).await?;
    Ok(())
}

/// Takes a monitor's lock and reads it in the statement after that.
pub async fn lock(conn: &mut PgConnection, uid: Uuid) -> ApiResult<MonitorRow> {
    let key = store::monitors::key(conn, uid).await?.ok_or(ApiError::NotFound("monitor"))?;
    store::live::lock(conn, &[key.0]).await?;
    store::monitors::get(conn, key).await?.ok_or(ApiError::NotFound("monitor"))
}

/// A stored rule; it was checked when it was saved. That of a heartbeat, which is not probed, is empty.
pub fn selector(value: &Value) -> ApiResult<LocationSelector> {
    if value.as_array().is_some_and(Vec::is_empty) {
        return Ok(LocationSelector::Names(Vec::new()));
    }
    LocationSelector::parse(value.clone()).map_err(|invalid| {
        ApiError::Internal(anyhow::anyhow!("a stored rule of locations: {invalid}"))
    })
}

async fn place(
    conn: &mut PgConnection,
    key: MonitorKey,
    looks_from: &[LocationKey],
) -> ApiResult<()> {
    let of = vec![key.0; looks_from.len()];
    let location: Vec<i16> = looks_from.iter().map(|l| l.0).collect();
    let position: Vec<i16> = (0..).take(looks_from.len()).collect();
    store::monitors::set_locations(conn, &[key.0], &of, &location, &position).await?;
    Ok(())
}

async fn ask_at_once(
    conn: &mut PgConnection,
    key: MonitorKey,
    looks_from: &[LocationKey],
    actor: &str,
    now: Timestamp,
) -> ApiResult<()> {
    let batch = store::id_at(now);
    let requests: Vec<NewRequest> = looks_from
        .iter()
        .map(|location| NewRequest {
            uid: store::id_at(now),
            batch,
            location: *location,
            monitor: Some(key),
            kind: "confirm",
            sealed_check: None,
            timeout_ms: None,
            requested_by: actor.to_owned(),
            created_at: now,
            expires_at: now.saturating_add(AT_ONCE).unwrap_or(now),
        })
        .collect();
    store::wake::request(conn, &requests).await?;
    Ok(())
}

/// The columns of a draft.
fn values(state: &AppState, uid: Uuid, draft: &Draft) -> ApiResult<Values> {
    let inline: HashMap<&str, &str> =
        draft.inline.iter().map(|(name, value)| (name.as_str(), value.expose().as_str())).collect();
    let sealed = if inline.is_empty() {
        None
    } else {
        let text = serde_json::to_vec(&inline).map_err(anyhow::Error::from)?;
        Some(state.sealer.seal(store::monitors::place(&uid.to_string()), &text))
    };
    Ok(Values {
        name: draft.name.as_str().to_owned(),
        group_name: draft.group.clone(),
        check_spec: draft.check.to_value(),
        sealed,
        interval_s: i32::try_from(draft.interval.secs()).unwrap_or(i32::MAX),
        timeout_ms: i32::try_from(draft.timeout.millis()).unwrap_or(i32::MAX),
        slow_ms: draft.slow_ms.and_then(|ms| i32::try_from(ms).ok()),
        locations: to_json(&draft.selector)?,
        policy: to_json(&draft.spec)?,
        labels: to_json(&draft.labels)?,
        channels: draft.channels.as_ref().map(to_json).transpose()?,
        depends_on: to_json(&draft.depends_on)?,
        fleet: draft.fleet.map(|id| id.to_string()),
        escalation: draft.escalation.map(|id| id.to_string()),
        certificate_days: draft
            .certificate_days
            .as_ref()
            .map(|days| days.iter().copied().map(i32::from).collect()),
        runbook_url: draft.runbook_url.clone(),
        enabled: draft.enabled,
    })
}

fn to_json(value: &(impl serde::Serialize + ?Sized)) -> ApiResult<Value> {
    Ok(serde_json::to_value(value).map_err(anyhow::Error::from)?)
}

/// What the audit keeps: settings without anything secret. Typed-in secrets are placeholders already.
fn shown(values: &Values) -> Value {
    json!({
        "name": values.name,
        "group": values.group_name,
        "check": values.check_spec,
        "interval_s": values.interval_s,
        "timeout_ms": values.timeout_ms,
        "slow_ms": values.slow_ms,
        "locations": values.locations,
        "policy": values.policy,
        "labels": values.labels,
        "channels": values.channels,
        "escalation": values.escalation,
        "certificate_days": values.certificate_days,
        "depends_on": values.depends_on,
        "runbook_url": values.runbook_url,
        "enabled": values.enabled,
    })
}
