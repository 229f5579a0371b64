//! Findings of fleets → incidents and notices, in the transaction that judges.

use jiff::Timestamp;
use sqlx::PgConnection;

use crate::store::{self, fleets::FleetRow};

/// Ends what is open of a fleet that is being deleted. The caller holds the fleet's lock.
pub async fn close(conn: &mut PgConnection, fleet: &FleetRow, now: Timestamp) -> sqlx::Result<()> {
    store::fleet_findings::close_all(conn, fleet.key, now).await
}
