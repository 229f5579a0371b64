//! Decisions, revisions and raw results as pages read them.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};

#[derive(Debug, Clone)]
pub struct DecisionRow {
    pub id: i64,
    pub at: Timestamp,
    pub rule: String,
    pub state: i16,
    pub changed: bool,
    pub sentence: String,
    pub inputs: serde_json::Value,
}

/// Decisions within [from, to), the latest first, below `before`.
pub async fn decisions(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    changed: Option<bool>,
    before: Option<(Timestamp, i64)>,
    limit: i64,
) -> sqlx::Result<Vec<DecisionRow>> {
    let (before_at, before_id) = before.unzip();
    sqlx::query!(
        "select decision_id, at, rule, state, changed, sentence, inputs from decision
         where monitor_id = $1 and at >= $2 and at < $3 and ($4::bool is null or changed = $4)
           and ($5::timestamptz is null or (at, decision_id) < ($5, $6::int8))
         order by at desc, decision_id desc limit $7",
        monitor.0,
        span.0.to_sqlx(),
        span.1.to_sqlx(),
        changed,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        limit
    )
    .map(|r| DecisionRow {
        id: r.decision_id,
        at: r.at.to_jiff(),
        rule: r.rule,
        state: r.state,
        changed: r.changed,
        sentence: r.sentence,
        inputs: r.inputs,
    })
    .fetch_all(conn)
    .await
}

/// The same, oldest first, after `after`.
pub async fn decisions_in_order(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    after: Option<(Timestamp, i64)>,
    limit: i64,
) -> sqlx::Result<Vec<DecisionRow>> {
    let (after_at, after_id) = after.unzip();
    sqlx::query!(
        "select decision_id, at, rule, state, changed, sentence, inputs from decision
         where monitor_id = $1 and at >= $2 and at < $3
           and ($4::timestamptz is null or (at, decision_id) > ($4, $5::int8))
         order by at, decision_id limit $6",
        monitor.0,
        span.0.to_sqlx(),
        span.1.to_sqlx(),
        after_at.map(|t| t.to_sqlx()) as _,
        after_id,
        limit
    )
    .map(|r| DecisionRow {
        id: r.decision_id,
        at: r.at.to_jiff(),
        rule: r.rule,
        state: r.state,
        changed: r.changed,
        sentence: r.sentence,
        inputs: r.inputs,
    })
    .fetch_all(conn)
    .await
}

/// How often late reports have changed a monitor's past.
pub async fn revision(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<i32> {
    let revision = sqlx::query_scalar!(
        "select data_revision from monitor_revision where monitor_id = $1",
        monitor.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(revision.unwrap_or(0))
}

/// A raw result with what it looked like, if that was kept.
#[derive(Debug, Clone)]
pub struct ResultRow {
    pub effective_at: Timestamp,
    pub location: LocationKey,
    pub check_version: i32,
    pub phases: PhaseRow,
    pub size_bytes: Option<i32>,
    pub outcome: i16,
    pub class: i16,
    pub status: Option<i16>,
    pub kind: i16,
    pub disposition: i16,
    pub detail: Option<serde_json::Value>,
}

/// Microseconds.
#[derive(Debug, Clone, Copy)]
pub struct PhaseRow {
    pub resolve: Option<i32>,
    pub connect: Option<i32>,
    pub tls: Option<i32>,
    pub first_byte: Option<i32>,
    pub transfer: Option<i32>,
    pub total: i32,
}

#[derive(Debug, Clone)]
pub struct ResultFilter {
    pub monitor: MonitorKey,
    pub from: Timestamp,
    pub to: Timestamp,
    pub location: Option<i16>,
    pub outcome: Option<i16>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, i16)>,
    pub limit: i64,
}

/// Raw results, the latest first.
pub async fn results(conn: &mut PgConnection, f: &ResultFilter) -> sqlx::Result<Vec<ResultRow>> {
    let (before_at, before_location) = f.before.unzip();
    sqlx::query!(
        r#"select r.effective_at, r.location_id, r.check_version, r.resolve_us, r.connect_us, r.tls_us, r.first_byte_us,
                  r.transfer_us, r.total_us, r.size_bytes, r.outcome, r.class, r.status, r.kind, r.disposition,
                  (select d.detail from report_detail d where d.monitor_id = r.monitor_id and d.effective_at = r.effective_at
                     and d.location_id = r.location_id limit 1) as detail
           from report r
           where r.monitor_id = $1 and r.effective_at >= $2 and r.effective_at < $3
             and ($4::int2 is null or r.location_id = $4) and ($5::int2 is null or r.outcome = $5)
             and ($6::timestamptz is null or (r.effective_at, r.location_id) < ($6, $7::int2))
           order by r.effective_at desc, r.location_id desc limit $8"#,
        f.monitor.0,
        f.from.to_sqlx(),
        f.to.to_sqlx(),
        f.location,
        f.outcome,
        before_at.map(|t| t.to_sqlx()) as _,
        before_location,
        f.limit
    )
    .map(|r| ResultRow {
        effective_at: r.effective_at.to_jiff(),
        location: LocationKey(r.location_id),
        check_version: r.check_version,
        phases: PhaseRow {
            resolve: r.resolve_us,
            connect: r.connect_us,
            tls: r.tls_us,
            first_byte: r.first_byte_us,
            transfer: r.transfer_us,
            total: r.total_us,
        },
        size_bytes: r.size_bytes,
        outcome: r.outcome,
        class: r.class,
        status: r.status,
        kind: r.kind,
        disposition: r.disposition,
        detail: r.detail,
    })
    .fetch_all(conn)
    .await
}

/// Counts and percentiles of one step; `location` none is all of them together.
#[derive(Debug, Clone)]
pub struct StepRow {
    pub at: Timestamp,
    pub location: Option<LocationKey>,
    pub runs: i64,
    pub passes: i64,
    pub fails: i64,
    pub errors: i64,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    /// Mean microseconds of passes: resolve, connect, tls, first byte, transfer.
    pub phases: [Option<f64>; 5],
}

/// Raw results by step, by location and together, oldest first. Manual runs are left out, and results of
/// locations in quarantine.
pub async fn steps(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    step_s: i64,
    location: Option<i16>,
) -> sqlx::Result<Vec<StepRow>> {
    sqlx::query!(
        r#"select to_timestamp(floor(extract(epoch from effective_at) / $4::int8) * $4::int8) as "at!: jiff_sqlx::Timestamp",
                  location_id as "location_id?",
                  count(*) as "runs!",
                  count(*) filter (where outcome = 0) as "passes!",
                  count(*) filter (where outcome = 1) as "fails!",
                  count(*) filter (where outcome = 2) as "errors!",
                  percentile_cont(0.5) within group (order by total_us) filter (where outcome = 0) as p50,
                  percentile_cont(0.95) within group (order by total_us) filter (where outcome = 0) as p95,
                  percentile_cont(0.99) within group (order by total_us) filter (where outcome = 0) as p99,
                  avg(resolve_us) filter (where outcome = 0)::float8 as resolve,
                  avg(connect_us) filter (where outcome = 0)::float8 as connect,
                  avg(tls_us) filter (where outcome = 0)::float8 as tls,
                  avg(first_byte_us) filter (where outcome = 0)::float8 as first_byte,
                  avg(transfer_us) filter (where outcome = 0)::float8 as transfer
           from report
           where monitor_id = $1 and effective_at >= $2 and effective_at < $3 and kind <> 3
             and ($5::int2 is null or location_id = $5)
             and not exists (select from location_quarantine q where q.location_id = report.location_id
                             and q.from_at <= effective_at and (q.to_at is null or q.to_at > effective_at))
           group by grouping sets ((1, location_id), (1)) order by 1, 2 nulls first"#,
        monitor.0,
        span.0.to_sqlx(),
        span.1.to_sqlx(),
        step_s,
        location,
    )
    .map(|r| StepRow {
        at: r.at.to_jiff(),
        location: r.location_id.map(LocationKey),
        runs: r.runs,
        passes: r.passes,
        fails: r.fails,
        errors: r.errors,
        p50: r.p50,
        p95: r.p95,
        p99: r.p99,
        phases: [r.resolve, r.connect, r.tls, r.first_byte, r.transfer],
    })
    .fetch_all(conn)
    .await
}
