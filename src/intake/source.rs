//! How a source is to be read: as it was said, as it was found out, or as it always was.

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{Delivery, Error, read::Recipe};
use crate::{
    accesslog::{Context, Format, Parser},
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
    check(delivery.format.as_deref(), None, delivery.tz.as_deref())?;
    let all = store::fleet_sources::list(conn, fleet.key, None).await?;
    let old = all.iter().find(|row| row.name == delivery.source);
    let role = delivery.role.or(old.map(|row| word(&row.role))).unwrap_or("balancer");
    let said = delivery.format.is_some();
    let set = SourceSet {
        role,
        format: delivery.format.as_deref().or(old.and_then(|row| row.format.as_deref())),
        format_set: said || old.is_some_and(|row| row.format_set),
        log_format: old.and_then(|row| row.log_format.as_deref()),
        tz: delivery.tz.as_deref().or(old.and_then(|row| row.tz.as_deref())),
    };
    let same = old.is_some_and(|row| {
        row.role == set.role
            && row.format.as_deref() == set.format
            && row.format_set == set.format_set
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
        file_name: delivery.name.clone(),
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

/// Refuses a format, a pasted `log_format` or a zone that there is not.
pub fn check(
    format: Option<&str>,
    log_format: Option<&str>,
    tz: Option<&str>,
) -> Result<(), Invalid> {
    format.map(named).transpose()?;
    if let Some(pasted) = log_format {
        if pasted.len() > 4_000 {
            return Err(Invalid::new("log_format", "is longer than 4000 bytes"));
        }
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        Parser::custom(pasted, &context)
            .map_err(|why| Invalid::new("log_format", why.to_string()))?;
    }
    zone(tz).map(|_| ())
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
