//! EVERY SQL STATEMENT, a file per subject. Functions take a connection and do one thing; the use case
//! opens and commits the transaction. No rules here: what a row means is decided in `domain`.

pub mod agents;
pub mod answers;
pub mod assignments;
pub mod audit;
mod backlog;
pub mod bench;
pub mod boots;
pub mod certificates;
pub mod certificates_read;
pub mod channels;
pub mod chores;
mod copy;
pub mod counters;
pub mod deadman;
pub mod escalations;
pub mod failover;
pub mod fallback;
pub mod fleet_cells;
pub mod fleet_events;
pub mod fleet_findings;
pub mod fleet_incidents;
pub mod fleet_live;
pub mod fleet_quarters;
pub mod fleet_sources;
pub mod fleet_states;
pub mod fleets;
pub mod health_read;
pub mod heartbeats;
pub mod hub;
pub mod incident_plans;
pub mod incidents;
pub mod incidents_read;
mod json;
pub mod links;
pub mod live;
pub mod local;
pub mod location_health;
pub mod location_read;
pub mod locations;
pub mod maintenance;
pub mod maintenance_ahead;
pub mod maintenance_entries;
pub mod maintenance_occurrences;
pub mod maintenance_plans;
pub mod metrics_read;
pub mod monitor_list;
pub mod monitors;
pub mod odds;
pub mod outbox;
pub mod parents;
pub mod plans;
pub mod platform;
pub mod probe_requests;
pub mod replay;
pub mod report_schedules;
pub mod reports;
pub mod rollups;
pub mod routes;
pub mod seal;
pub mod secrets;
pub mod sessions;
pub mod settings;
pub mod settings_read;
pub mod shippers;
mod slo_batches;
pub mod slo_context;
mod slo_context_rows;
pub mod slo_evaluations;
pub mod slo_events;
pub mod slo_incidents;
pub mod slo_inputs;
pub mod slo_reports;
pub mod slo_requests;
pub mod slo_state;
pub mod slos;
pub mod status_pages;
pub mod status_posts;
pub mod status_read;
pub mod storms;
pub mod timeline;
pub mod timeline_read;
pub mod tokens;
pub mod triage_read;
pub mod users;
pub mod wake;
pub mod withheld;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

/// The schema, embedded; run by `quorate migrate`, `quorate up` and the tests.
pub static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!();

/// What bringing the schema up to date did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// Steps that were there already.
    pub before: usize,
    /// Steps taken now.
    pub taken: usize,
}

/// Brings the schema up to date. Several may try at once; an advisory lock lets one do it. An error if
/// the database knows steps that this program does not: it was made by a newer version.
pub async fn migrate(
    conn: &mut sqlx::PgConnection,
) -> Result<Migrated, sqlx::migrate::MigrateError> {
    use sqlx::migrate::Migrate;
    const TABLE: &str = "_sqlx_migrations";
    conn.ensure_migrations_table(TABLE).await?;
    let before = conn.list_applied_migrations(TABLE).await?.len();
    MIGRATOR.run(&mut *conn).await?;
    let after = conn.list_applied_migrations(TABLE).await?.len();
    Ok(Migrated { before, taken: after.saturating_sub(before) })
}

/// The notify channel on which coordinators tell each other to look.
pub const WAKE_CHANNEL: &str = "quorate_wake";

/// A pool as every process uses it: an acquire that takes longer than 3 s is an error, so that a
/// stuck database never hangs a work loop.
pub fn pool(options: PgConnectOptions, max: u32) -> PgPool {
    // What the operator calls us in the URL is how they know us in their database's lists.
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("quorate"),
    };
    PgPoolOptions::new()
        .max_connections(max)
        .acquire_timeout(std::time::Duration::from_secs(3))
        .connect_lazy_with(options)
}

/// Database time, the `now` of every decision.
pub async fn now(conn: &mut sqlx::PgConnection) -> sqlx::Result<jiff::Timestamp> {
    let at = sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(conn).await?;
    Ok(at.to_jiff())
}

/// An id for something that begins at `now`: UUID v7, so that ids sort by time.
pub fn id_at(now: jiff::Timestamp) -> uuid::Uuid {
    let mut random = [0; 10];
    rand::fill(&mut random);
    let millis = u64::try_from(now.as_millisecond()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}
