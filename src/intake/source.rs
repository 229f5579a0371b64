//! How a source is to be read: as it was said, as it was found out, or as it always was.

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{Delivery, Error, read::Recipe};
use crate::{
    accesslog::{Context, Format, Parser, generic_json::Mapping},
    domain::{
        Invalid,
        fleet::tally::{Role, SourceInfo},
    },
    store::{
        self,
        fleet_sources::{SourceRow, SourceSet},
        fleets::FleetRow,
    },
};

/// Makes the source or takes over what was said of it; and whether the fleet has a balancer's log.
pub(super) async fn prepare(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    delivery: &Delivery,
) -> Result<(SourceRow, bool), Error> {
    let all = store::fleet_sources::list(conn, fleet.key, None).await?;
    let old = all.iter().find(|row| row.name == delivery.source);
    let reading = delivery.reading.over(old)?;
    let role = delivery.role.or(old.map(|row| word(&row.role))).unwrap_or("balancer");
    let mapping = reading.mapping.as_ref().map(stored);
    let set = SourceSet {
        role,
        format: reading.format.as_deref(),
        format_set: reading.format_set,
        log_format: reading.log_format.as_deref(),
        mapping: mapping.as_ref(),
        tz: reading.tz.as_deref(),
    };
    let same = old.is_some_and(|row| {
        row.role == set.role
            && row.format.as_deref() == set.format
            && row.format_set == set.format_set
            && row.log_format.as_deref() == set.log_format
            && row.mapping.as_ref() == set.mapping
            && row.tz.as_deref() == set.tz
    });
    if !same {
        store::fleet_sources::put(conn, fleet.key, &delivery.source, set).await?;
    }
    let balanced = role == "balancer"
        || all.iter().any(|row| row.role == "balancer" && row.name != delivery.source);
    let row = match old {
        Some(row) if same => row.clone(),
        _ => store::fleet_sources::list(conn, fleet.key, Some(&delivery.source))
            .await?
            .pop()
            .ok_or(sqlx::Error::RowNotFound)?,
    };
    Ok((row, balanced))
}

fn word(role: &str) -> &'static str {
    if role == "instance" { "instance" } else { "balancer" }
}

pub(super) fn recipe(
    delivery: &Delivery,
    source: &SourceRow,
    balanced: bool,
    now: Timestamp,
) -> Result<Recipe, Invalid> {
    let role = match source.role.as_str() {
        "instance" => Role::Instance(delivery.source.clone()),
        _ => Role::Balancer,
    };
    let counts = role == Role::Balancer || !balanced;
    let format = source.format.as_deref().map(named).transpose()?;
    Ok(Recipe {
        info: SourceInfo { id: 0, role, pool: String::new(), counts },
        format,
        fixed: source.format_set,
        log_format: source.log_format.clone(),
        mapping: source.mapping.as_ref().and_then(mapping_of),
        file_name: delivery.name.clone(),
        bounds: Vec::new(),
        context: Context { tz: zone(source.tz.as_deref())?, now_us: now.as_microsecond() },
    })
}

/// The name of a source as it is kept: 1 to 100 characters.
pub fn source_name(text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 100 || text.chars().any(char::is_control) {
        return Err(Invalid::new("source", "must be 1 to 100 characters"));
    }
    Ok(text.to_owned())
}

/// How a source's lines are to be read: what is said now, or what holds with what was said before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub format: Option<String>,
    /// The format was said, not found out.
    pub format_set: bool,
    /// nginx's `log_format` as pasted, which wins over any format.
    pub log_format: Option<String>,
    /// For the format generic-json.
    pub mapping: Option<Mapping>,
    /// Zone of stamps that carry none.
    pub tz: Option<String>,
}

/// What is said anew of how lines are to be read. What is absent stays, null takes back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Instruction {
    pub format: Option<Option<String>>,
    pub log_format: Option<Option<String>>,
    pub mapping: Option<Option<Mapping>>,
    pub tz: Option<Option<String>>,
}

impl Instruction {
    /// What holds from now on for the source as it was; says which field cannot be meant.
    pub fn over(&self, old: Option<&SourceRow>) -> Result<Reading, Invalid> {
        let kept = |said: &Option<Option<String>>, old: Option<&String>| match said {
            Some(said) => said.clone(),
            None => old.cloned(),
        };
        let mapping = match &self.mapping {
            Some(said) => said.clone(),
            None => old.and_then(|row| mapping_of(row.mapping.as_ref()?)),
        };
        let mut reading = Reading {
            format: kept(&self.format, old.and_then(|row| row.format.as_ref())),
            format_set: match &self.format {
                Some(said) => said.is_some(),
                None => old.is_some_and(|row| row.format_set),
            },
            log_format: kept(&self.log_format, old.and_then(|row| row.log_format.as_ref())),
            mapping,
            tz: kept(&self.tz, old.and_then(|row| row.tz.as_ref())),
        };
        self.check_mapping(&reading)?;
        if matches!(self.mapping, Some(Some(_))) {
            // Whoever says what the keys mean has said the format too.
            reading.format = Some(Format::GenericJson.as_str().to_owned());
            reading.format_set = true;
        } else if reading.log_format.is_some()
            || reading.format.as_deref().is_some_and(|name| name != Format::GenericJson.as_str())
        {
            // Another format is said now: what the keys meant is of no use any more.
            reading.mapping = None;
        }
        reading.check()?;
        Ok(reading)
    }

    fn check_mapping(&self, reading: &Reading) -> Result<(), Invalid> {
        let Some(Some(mapping)) = &self.mapping else { return Ok(()) };
        if let Some((field, why)) = mapping.refused() {
            return Err(Invalid::new(field, format!("{why}, or leave it out")).under("mapping"));
        }
        let json = Format::GenericJson.as_str();
        if let Some(Some(format)) = self.format.as_ref().filter(|f| f.as_deref() != Some(json)) {
            let why = format!("is for {json}, not for {}", crate::domain::short(format));
            return Err(Invalid::new("mapping", why));
        }
        if reading.log_format.is_some() {
            let why = "is for JSON lines, and log_format is set, which is for lines of nginx; take one back";
            return Err(Invalid::new("mapping", why));
        }
        Ok(())
    }
}

impl Reading {
    /// Refuses a format, a pasted `log_format` or a zone that there is not.
    fn check(&self) -> Result<(), Invalid> {
        self.format.as_deref().map(named).transpose()?;
        if let Some(pasted) = &self.log_format {
            if pasted.len() > 4_000 {
                return Err(Invalid::new("log_format", "is longer than 4000 bytes"));
            }
            let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
            Parser::custom(pasted, &context)
                .map_err(|why| Invalid::new("log_format", why.to_string()))?;
        }
        zone(self.tz.as_deref()).map(|_| ())
    }
}

/// As it is stored.
pub fn stored(mapping: &Mapping) -> serde_json::Value {
    // Texts and a flag: nothing in it can fail to be written.
    serde_json::to_value(mapping).unwrap_or_default()
}

/// What was stored; none if it is not what is read today.
pub fn mapping_of(stored: &serde_json::Value) -> Option<Mapping> {
    serde_json::from_value(stored.clone()).ok()
}

fn named(format: &str) -> Result<Format, Invalid> {
    let format = crate::domain::short(format)
        .parse::<Format>()
        .map_err(|why| Invalid::new("format", why.to_string()))?;
    if matches!(format, Format::Kubernetes | Format::TargetHealth) {
        let why = "is a platform's document, not a log; send it to the fleet's events";
        return Err(Invalid::new("format", why));
    }
    Ok(format)
}

/// The zone of stamps that carry none; UTC unless said otherwise.
fn zone(tz: Option<&str>) -> Result<jiff::tz::TimeZone, Invalid> {
    let Some(name) = tz else { return Ok(jiff::tz::TimeZone::UTC) };
    jiff::tz::TimeZone::get(name).map_err(|_| {
        Invalid::given("tz", name, "is no time zone; give a name such as Europe/Berlin")
    })
}
