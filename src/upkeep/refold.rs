//! placeholder
use jiff::Timestamp;
use sqlx::PgPool;
pub(super) async fn step(_pool: &PgPool, _now: Timestamp) -> anyhow::Result<bool> { Ok(false) }
