//! The latest evaluation of each SLO, and how its rules stand.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::SloKey;

/// What lists, gauges and alerts need of an evaluation.
#[derive(Debug, Clone)]
pub struct EvaluationRow {
    pub slo: SloKey,
    pub evaluated_at: Timestamp,
    pub watermark: Timestamp,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub definition_revision: i32,
    pub data_revision: i64,
    pub state: String,
    pub ratio: Option<f64>,
    pub pct: Option<String>,
    pub met: Option<bool>,
    pub coverage: Option<f64>,
    /// Milliseconds, or events.
    pub budget_total: Option<f64>,
    pub budget_left: Option<i64>,
    pub consumed_ratio: Option<f64>,
    pub remaining_ratio: Option<f64>,
    /// `domain::slo::report::BurnOf` and `Alert`, as they are written in a report.
    pub burn: serde_json::Value,
    pub alerts: serde_json::Value,
}

pub async fn save(conn: &mut PgConnection, e: &EvaluationRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into slo_evaluation (slo_id, evaluated_at, watermark, window_start, window_end, definition_revision,
             data_revision, state, ratio, pct, met, coverage, budget_total, budget_left, consumed_ratio, remaining_ratio,
             burn, alerts)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         on conflict (slo_id) do update set evaluated_at = excluded.evaluated_at, watermark = excluded.watermark,
             window_start = excluded.window_start, window_end = excluded.window_end,
             definition_revision = excluded.definition_revision, data_revision = excluded.data_revision,
             state = excluded.state, ratio = excluded.ratio, pct = excluded.pct, met = excluded.met,
             coverage = excluded.coverage, budget_total = excluded.budget_total, budget_left = excluded.budget_left,
             consumed_ratio = excluded.consumed_ratio, remaining_ratio = excluded.remaining_ratio,
             burn = excluded.burn, alerts = excluded.alerts",
        e.slo.0,
        e.evaluated_at.to_sqlx(),
        e.watermark.to_sqlx(),
        e.window_start.to_sqlx(),
        e.window_end.to_sqlx(),
        e.definition_revision,
        e.data_revision,
        e.state,
        e.ratio,
        e.pct,
        e.met,
        e.coverage,
        e.budget_total,
        e.budget_left,
        e.consumed_ratio,
        e.remaining_ratio,
        e.burn,
        e.alerts,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn of(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<EvaluationRow>> {
    sqlx::query!(
        "select slo_id, evaluated_at, watermark, window_start, window_end, definition_revision, data_revision, state,
                ratio, pct, met, coverage, budget_total, budget_left, consumed_ratio, remaining_ratio, burn, alerts
         from slo_evaluation where slo_id = any($1)",
        keys
    )
    .map(|r| EvaluationRow {
        slo: SloKey(r.slo_id),
        evaluated_at: r.evaluated_at.to_jiff(),
        watermark: r.watermark.to_jiff(),
        window_start: r.window_start.to_jiff(),
        window_end: r.window_end.to_jiff(),
        definition_revision: r.definition_revision,
        data_revision: r.data_revision,
        state: r.state,
        ratio: r.ratio,
        pct: r.pct,
        met: r.met,
        coverage: r.coverage,
        budget_total: r.budget_total,
        budget_left: r.budget_left,
        consumed_ratio: r.consumed_ratio,
        remaining_ratio: r.remaining_ratio,
        burn: r.burn,
        alerts: r.alerts,
    })
    .fetch_all(conn)
    .await
}

/// SLOs whose evaluation is older than `before` or missing, the oldest first, locked; those that somebody
/// else is at are passed over.
pub async fn due(conn: &mut PgConnection, before: Timestamp, limit: i64) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar!(
        "select s.slo_id from slo s left join slo_evaluation e using (slo_id)
         where s.deleted_at is null and (e.evaluated_at is null or e.evaluated_at <= $1)
         order by e.evaluated_at nulls first, s.slo_id limit $2
         for no key update of s skip locked",
        before.to_sqlx(),
        limit
    )
    .fetch_all(conn)
    .await
}

/// Leaves an evaluation as it is until the next turn.
pub async fn postpone(conn: &mut PgConnection, slo: SloKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update slo_evaluation set evaluated_at = $2 where slo_id = $1",
        slo.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A rule between two evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandingRow {
    pub firing_since: Option<Timestamp>,
    pub frozen: bool,
    pub incident: Option<Uuid>,
}

/// How an SLO's rules stand, by name.
pub async fn standings(
    conn: &mut PgConnection,
    slo: SloKey,
) -> sqlx::Result<BTreeMap<String, StandingRow>> {
    let rows = sqlx::query!(
        "select rule, firing_since, frozen, incident_id from slo_rule_standing where slo_id = $1",
        slo.0
    )
    .map(|r| {
        let row = StandingRow {
            firing_since: r.firing_since.map(|t| t.to_jiff()),
            frozen: r.frozen,
            incident: r.incident_id,
        };
        (r.rule, row)
    })
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Replaces how an SLO's rules stand.
pub async fn save_standings(
    conn: &mut PgConnection,
    slo: SloKey,
    standings: &BTreeMap<String, StandingRow>,
) -> sqlx::Result<()> {
    let names: Vec<&str> = standings.keys().map(String::as_str).collect();
    let since: Vec<_> = standings.values().map(|s| s.firing_since.map(|t| t.to_sqlx())).collect();
    let frozen: Vec<bool> = standings.values().map(|s| s.frozen).collect();
    let incident: Vec<Option<Uuid>> = standings.values().map(|s| s.incident).collect();
    sqlx::query!(
        "delete from slo_rule_standing where slo_id = $1 and not (rule = any($2::text[]))",
        slo.0,
        &names as _
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into slo_rule_standing (slo_id, rule, firing_since, frozen, incident_id)
         select $1, r, s, f, i from unnest($2::text[], $3::timestamptz[], $4::bool[], $5::uuid[]) as u(r, s, f, i)
         on conflict (slo_id, rule) do update
         set firing_since = excluded.firing_since, frozen = excluded.frozen, incident_id = excluded.incident_id
         where (slo_rule_standing.firing_since, slo_rule_standing.frozen, slo_rule_standing.incident_id)
               is distinct from (excluded.firing_since, excluded.frozen, excluded.incident_id)",
        slo.0,
        &names as _,
        &since as _,
        &frozen,
        &incident as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}
