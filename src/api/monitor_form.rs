//! A monitor as somebody wrote it, read field by field into values that are valid. All refusals are
//! gathered, so that a form can show them together.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    AppState, error::ApiResult, heartbeat_form, heartbeats::is_heartbeat, monitors::NewMonitor,
};
use crate::{
    domain::{
        Invalid,
        certificate::thresholds,
        check::{Check, Warning},
        ids::LocationKey,
        monitor::{Interval, LocationSelector, Name, Policy, PolicySpec, Quorum, Timeout},
        secret::Secret,
    },
    store::{self, monitors::MonitorRow},
};

pub use crate::{domain::fields::text_map, triage::candidates};

/// A monitor that may be stored.
#[derive(Debug)]
pub struct Draft {
    pub name: Name,
    pub group: String,
    pub check: Check,
    /// Secrets typed into the check, old and new, as they will be stored.
    pub inline: BTreeMap<String, Secret<String>>,
    /// Some of them were typed in just now.
    pub inline_changed: bool,
    pub interval: Interval,
    pub timeout: Timeout,
    pub slow_ms: Option<u32>,
    pub selector: LocationSelector,
    pub looks_from: Vec<LocationKey>,
    pub spec: PolicySpec,
    pub policy: Policy,
    pub labels: BTreeMap<String, String>,
    pub depends_on: Vec<Uuid>,
    pub channels: Option<Vec<Uuid>>,
    pub escalation: Option<Uuid>,
    /// The most first.
    pub certificate_days: Option<Vec<u16>>,
    pub fleet: Option<Uuid>,
    pub runbook_url: Option<String>,
    pub enabled: bool,
}

/// What a form gave: the draft unless something was refused, and what could be worked out anyway.
#[derive(Debug, Default)]
pub struct Outcome {
    pub draft: Option<Draft>,
    pub errors: Vec<Invalid>,
    pub looks_from: Vec<LocationKey>,
    pub policy: Option<Policy>,
}

/// Collects what is refused.
#[derive(Debug, Default)]
struct Gather(Vec<Invalid>);

impl Gather {
    fn take<T>(&mut self, result: Result<T, Invalid>) -> Option<T> {
        result.map_err(|invalid| self.0.push(invalid)).ok()
    }
}

/// Reads a form. `old` is the monitor that is edited.
pub async fn read(
    conn: &mut PgConnection,
    state: &AppState,
    form: NewMonitor,
    old: Option<&MonitorRow>,
) -> ApiResult<Outcome> {
    let locations = store::locations::list(conn).await?;
    let candidates = candidates(&locations);
    let mut gather = Gather::default();
    gather.take(heartbeat_form::stays_what_it_is(old, &form.check));
    let is_heartbeat = is_heartbeat(&form.check);
    let form = match is_heartbeat {
        true => {
            let (form, refused) = heartbeat_form::read(form, old);
            gather.0.extend(refused);
            form
        }
        false => form,
    };

    let name = gather.take(Name::parse("name", &form.name));
    if let Some(name) = &name
        && store::monitors::name_taken(conn, name.as_str(), old.map(|row| row.uid)).await?
    {
        gather.0.push(Invalid::new("name", TAKEN));
    }
    let group = gather.take(parse_group(&form.group));
    let interval = gather.take(Interval::from_secs(form.interval_s.unwrap_or(60)));
    let timeout = gather.take(Timeout::from_secs(form.timeout_s.unwrap_or(10.0)));
    let slow_ms = gather.take(parse_slow(form.slow_ms));
    let selector = match is_heartbeat {
        true => Ok(LocationSelector::Names(Vec::new())),
        false => LocationSelector::parse(form.locations.unwrap_or_else(|| "all".into())),
    };
    let selector = gather.take(selector.and_then(|rule| rule.with_ids(&candidates)));
    let looks_from = selector.as_ref().map(|rule| rule.choose(&candidates)).unwrap_or_default();
    if let Some(LocationSelector::Labels { .. }) = &selector
        && looks_from.is_empty()
    {
        gather.0.push(Invalid::new("locations.labels", "no enabled location has these labels"));
    }
    let policy = match (interval, timeout, slow_ms) {
        (Some(interval), Some(timeout), Some(slow)) => {
            gather.take(form.policy.resolve(interval, timeout, slow, looks_from.len()))
        }
        _ => None,
    };
    let labels = gather.take(parse_labels(form.labels));
    let depends_on = depends_on(conn, &form.depends_on, old, &mut gather).await?;
    let channels = channels(conn, form.channels.as_deref(), &mut gather).await?;
    let runbook_url = gather.take(parse_runbook(form.runbook_url));
    let fleet = fleet(conn, form.fleet.as_deref(), &mut gather).await?;
    let certificate_days = form.certificate_days.as_deref();
    let certificate_days = certificate_days.map(|days| thresholds("certificate_days", days));
    let certificate_days = gather.take(certificate_days.transpose()).flatten();
    let escalation = escalation(conn, form.escalation.as_deref(), &mut gather).await?;
    let check = check(conn, state, form.check, old, &mut gather).await?;

    let mut outcome =
        Outcome { looks_from: looks_from.clone(), policy: policy.clone(), ..Outcome::default() };
    if gather.0.is_empty()
        && let (Some(name), Some(group), Some(interval), Some(timeout)) =
            (name, group, interval, timeout)
        && let (Some(slow_ms), Some(selector), Some(policy)) = (slow_ms, selector, policy)
        && let (Some(labels), Some(runbook_url), Some(check)) = (labels, runbook_url, check)
    {
        outcome.draft = Some(Draft {
            name,
            group,
            check: check.check,
            inline: check.inline,
            inline_changed: check.changed,
            interval,
            timeout,
            slow_ms,
            selector,
            looks_from,
            spec: form.policy,
            policy,
            labels,
            depends_on,
            channels,
            escalation,
            certificate_days,
            fleet,
            runbook_url,
            enabled: form.enabled,
        });
    }
    outcome.errors = gather.0;
    Ok(outcome)
}

/// What is allowed but probably not meant, of a monitor that is looked at from so many locations.
pub fn warnings(check: &Check, policy: &Policy, locations: usize) -> Vec<Warning> {
    let mut warnings = check.lint();
    if let Quorum::AtLeast(k) = policy.quorum
        && usize::try_from(k).is_ok_and(|k| k > locations)
    {
        let from = match locations {
            1 => "one location".to_owned(),
            n => format!("{n} locations"),
        };
        warnings.push(Warning {
            code: "quorum_above_locations".into(),
            message: format!("at_least {k} asks for more than there are: it is looked at from {from}, and all that count will have to agree. Lower k, or add locations."),
        });
    }
    warnings
}

/// The words of a name that is taken, the same whether seen beforehand or by the database.
pub const TAKEN: &str = "A monitor of this name exists already.";

/// A check with the secrets that were typed into it.
#[derive(Debug)]
pub struct ReadCheck {
    /// Placeholders in place, fit for storing.
    pub check: Check,
    pub inline: BTreeMap<String, Secret<String>>,
    pub changed: bool,
    /// Every secret it needs, the named ones too.
    pub all: BTreeMap<String, Secret<String>>,
}

async fn check(
    conn: &mut PgConnection,
    state: &AppState,
    value: Value,
    old: Option<&MonitorRow>,
    gather: &mut Gather,
) -> ApiResult<Option<ReadCheck>> {
    match read_check(conn, state, value, old).await? {
        Ok(check) => Ok(Some(check)),
        Err(invalid) => {
            gather.0.push(invalid);
            Ok(None)
        }
    }
}

/// Reads a check and finds its secrets: typed in now, stored with `old`, or named. Refusals begin with
/// `check`.
pub async fn read_check(
    conn: &mut PgConnection,
    state: &AppState,
    value: Value,
    old: Option<&MonitorRow>,
) -> ApiResult<Result<ReadCheck, Invalid>> {
    let mut check = match Check::parse(value) {
        Ok(check) => check,
        Err(invalid) => return Ok(Err(invalid.under("check"))),
    };
    let typed = check.take_inline_secrets();
    let changed = !typed.is_empty();
    let mut inline = match old {
        Some(old) => stored_inline(state, old)?,
        None => BTreeMap::new(),
    };
    // Kept values go where they went before, or nowhere.
    let same_place = old
        .and_then(|old| Check::parse(old.values.check_spec.clone()).ok())
        .is_some_and(|old| check.sends_secrets_where(&old));
    if !same_place {
        inline.clear();
    }
    inline.extend(typed);
    let names = check.secret_names();
    inline.retain(|name, _| names.contains(name));
    let mut all = inline.clone();
    all.extend(named(conn, state, names.into_iter().collect()).await?);
    if let Err(invalid) = check.with_secrets(&all) {
        return Ok(Err(invalid.under("check")));
    }
    Ok(Ok(ReadCheck { check, inline, changed, all }))
}

/// Secrets that were typed into a stored monitor's check.
pub fn stored_inline(
    state: &AppState,
    row: &MonitorRow,
) -> ApiResult<BTreeMap<String, Secret<String>>> {
    open_inline(state, &row.uid.to_string(), row.values.sealed.as_deref())
}

/// The same from its parts.
pub fn open_inline(
    state: &AppState,
    uid: &str,
    sealed: Option<&[u8]>,
) -> ApiResult<BTreeMap<String, Secret<String>>> {
    let Some(sealed) = sealed else { return Ok(BTreeMap::new()) };
    let text =
        state.sealer.open_text(store::monitors::place(uid), sealed).map_err(anyhow::Error::from)?;
    let map: BTreeMap<String, String> =
        serde_json::from_str(text.expose()).map_err(anyhow::Error::from)?;
    Ok(map.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

/// The values of named secrets; those that are not there are absent.
pub async fn named(
    conn: &mut PgConnection,
    state: &AppState,
    names: Vec<String>,
) -> ApiResult<BTreeMap<String, Secret<String>>> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut found = BTreeMap::new();
    for (name, sealed) in store::secrets::sealed(conn, &names).await? {
        let value = state
            .sealer
            .open_text(store::secrets::place(&name), &sealed)
            .map_err(anyhow::Error::from)?;
        found.insert(name, value);
    }
    Ok(found)
}

fn parse_group(text: &str) -> Result<String, Invalid> {
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    Name::parse("group", text).map(Name::into_string)
}

fn parse_slow(slow_ms: Option<u32>) -> Result<Option<u32>, Invalid> {
    match slow_ms {
        Some(ms) if !(1..=60_000).contains(&ms) => {
            Err(Invalid::new("slow_ms", format!("{ms} is out of range: 1 to 60000 milliseconds")))
        }
        other => Ok(other),
    }
}

/// At most 50 labels; keys of letters, digits, `_`, `-`, `.` and `/`, values up to 200 characters.
pub fn parse_labels(labels: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Invalid> {
    if labels.len() > 50 {
        return Err(Invalid::new("labels", "has more than 50 entries"));
    }
    for (key, value) in &labels {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if key.is_empty() {
            return Err(Invalid::new("labels", "has a label with an empty name"));
        }
        if key.len() > 63 || !key.chars().all(plain) {
            return Err(Invalid::new(
                format!("labels.{key}"),
                "is no label: 1 to 63 letters, digits, _ - . or /",
            ));
        }
        if value.chars().count() > 200 || value.chars().any(char::is_control) {
            return Err(Invalid::new(
                format!("labels.{key}"),
                "must be at most 200 characters without control characters",
            ));
        }
    }
    Ok(labels)
}

fn parse_runbook(url: Option<String>) -> Result<Option<String>, Invalid> {
    let Some(text) = url.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    // It becomes a link that people click: nothing but the web.
    let fine = text.len() <= 2_000
        && url::Url::parse(&text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if fine {
        Ok(Some(text))
    } else {
        Err(Invalid::new("runbook_url", "must be an http or https URL of at most 2000 characters"))
    }
}

async fn depends_on(
    conn: &mut PgConnection,
    words: &[String],
    old: Option<&MonitorRow>,
    gather: &mut Gather,
) -> ApiResult<Vec<Uuid>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let known = store::monitors::named(conn, words).await?;
    let mut ids = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let found = known.iter().find(|(_, uid, name)| name == word || uid.to_string() == *word);
        match found {
            None => {
                gather.0.push(Invalid::given(format!("depends_on[{i}]"), word, "is no monitor"))
            }
            Some((_, uid, _)) if old.is_some_and(|old| old.uid == *uid) => {
                gather.0.push(Invalid::new(
                    format!("depends_on[{i}]"),
                    "a monitor cannot depend on itself",
                ));
            }
            Some((_, uid, _)) if !ids.contains(uid) => ids.push(*uid),
            Some(_) => {}
        }
    }
    if let Some(old) = old.filter(|_| !ids.is_empty()) {
        // A new monitor is nobody's parent yet; an old one may be.
        let above = store::parents::above(conn, &ids).await?;
        if above.contains(&old.uid) {
            let why = "would close a circle: one of these depends on this monitor";
            gather.0.push(Invalid::new("depends_on", why));
        }
    }
    Ok(ids)
}

/// The fleet behind it, by id or name.
async fn fleet(
    conn: &mut PgConnection,
    word: Option<&str>,
    gather: &mut Gather,
) -> ApiResult<Option<Uuid>> {
    let Some(word) = word else { return Ok(None) };
    let found = store::fleets::named(conn, word).await?;
    if found.is_none() {
        gather.0.push(Invalid::given("fleet", word, "is no fleet"));
    }
    Ok(found.map(|fleet| fleet.uid))
}

/// Who is called when, by id or name.
async fn escalation(
    conn: &mut PgConnection,
    word: Option<&str>,
    gather: &mut Gather,
) -> ApiResult<Option<Uuid>> {
    let Some(word) = word else { return Ok(None) };
    let found = store::escalations::named(conn, word).await?;
    if found.is_none() {
        gather.0.push(Invalid::given("escalation", word, "is no escalation"));
    }
    Ok(found.map(|row| row.id))
}

async fn channels(
    conn: &mut PgConnection,
    words: Option<&[String]>,
    gather: &mut Gather,
) -> ApiResult<Option<Vec<Uuid>>> {
    let Some(words) = words else { return Ok(None) };
    let known = store::channels::list(conn).await?;
    let mut ids = Vec::new();
    for (i, word) in words.iter().enumerate() {
        match known.iter().find(|channel| channel.name == *word || channel.id.to_string() == *word)
        {
            None => gather.0.push(Invalid::given(format!("channels[{i}]"), word, "is no channel")),
            Some(channel) if !ids.contains(&channel.id) => ids.push(channel.id),
            Some(_) => {}
        }
    }
    Ok(Some(ids))
}
