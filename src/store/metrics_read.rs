//! What `/metrics` shows of monitors, locations and SLOs: each kind of thing in one statement, by index, and
//! nothing of the past but the last two intervals.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{
    decision::State,
    ids::{LocationKey, MonitorKey},
};

/// When an agent of each location was heard last, by name.
pub async fn last_seen(conn: &mut PgConnection) -> sqlx::Result<Vec<(String, Timestamp)>> {
    sqlx::query!(
        r#"select l.name, max(a.last_seen_at) as "at!: jiff_sqlx::Timestamp"
           from location l join agent a using (location_id)
           where l.deleted_at is null and a.revoked_at is null and a.last_seen_at is not null
           group by l.name order by l.name"#
    )
    .map(|r| (r.name, r.at.to_jiff()))
    .fetch_all(conn)
    .await
}

/// The last final result of a monitor at a location. Spans in microseconds.
#[derive(Debug, Clone)]
pub struct LastRow {
    pub monitor: String,
    pub url: String,
    pub timeout_ms: i32,
    pub location: String,
    pub passed: bool,
    pub class: i16,
    pub status: Option<i16>,
    pub resolve_us: Option<i32>,
    pub connect_us: Option<i32>,
    pub tls_us: Option<i32>,
    pub first_byte_us: Option<i32>,
    pub transfer_us: Option<i32>,
    pub total_us: i32,
    pub size_bytes: Option<i32>,
    pub http_version: Option<String>,
    pub redirects: Option<i16>,
    pub ip_protocol: Option<i16>,
    /// `domain::observation::Certificate`, of the last one that was seen.
    pub certificate: Option<serde_json::Value>,
}

/// Last final results of two intervals and a time-out, of monitors that are not paused. A failure is final when
/// the result before it was one, or when no repeat of it is to be waited for any more. Results that are our own
/// fault, or of settings that are no longer the present ones, say nothing.
pub async fn last_results(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vec<LastRow>> {
    sqlx::query!(
        r#"select m.name as "monitor!", coalesce(m.check_spec ->> 'url', '') as "url!", m.timeout_ms as "timeout_ms!",
                  l.name as "location!", r.outcome as "outcome!", r.class as "class!", r.status, r.resolve_us, r.connect_us,
                  r.tls_us, r.first_byte_us, r.transfer_us, r.total_us as "total_us!", r.size_bytes, a.http_version as "http_version?",
                  a.redirects as "redirects?", a.ip_protocol as "ip_protocol?", c.facts as "certificate?"
           from monitor m
           cross join lateral (
               select distinct on (t.location_id) t.* from (
                   select *, lag(outcome) over (partition by location_id order by effective_at) as before
                   from report
                   where monitor_id = m.monitor_id and disposition <= 1
                     and effective_at > $1::timestamptz - make_interval(secs => 2 * m.interval_s + m.timeout_ms / 1000.0)
                     and effective_at <= $1::timestamptz + interval '1 minute') as t
               where t.outcome = 0 or t.before = 1 or coalesce((m.policy ->> 'fail_after')::int4, 2) = 1
                  or t.effective_at <= $1::timestamptz
                     - make_interval(secs => 2 * m.timeout_ms / 1000.0 + coalesce((m.policy ->> 'retry_gap_s')::float8, 5))
               order by t.location_id, t.effective_at desc) as r
           join location l on l.location_id = r.location_id
           left join monitor_answer a on a.monitor_id = m.monitor_id and a.location_id = r.location_id
           left join lateral (
               select s.facts from certificate_sight s where s.monitor_id = m.monitor_id and s.location_id = r.location_id
               order by s.last_at desc limit 1) as c on true
           where m.deleted_at is null and m.enabled
           order by m.name, l.name"#,
        now.to_sqlx()
    )
    .map(|r| LastRow {
        monitor: r.monitor,
        url: r.url,
        timeout_ms: r.timeout_ms,
        location: r.location,
        passed: r.outcome == 0,
        class: r.class,
        status: r.status,
        resolve_us: r.resolve_us,
        connect_us: r.connect_us,
        tls_us: r.tls_us,
        first_byte_us: r.first_byte_us,
        transfer_us: r.transfer_us,
        total_us: r.total_us,
        size_bytes: r.size_bytes,
        http_version: r.http_version,
        redirects: r.redirects,
        ip_protocol: r.ip_protocol,
        certificate: r.certificate,
    })
    .fetch_all(conn)
    .await
}

/// A monitor with its present state and its counters.
#[derive(Debug, Clone)]
pub struct MonitorRow {
    pub key: MonitorKey,
    pub name: String,
    pub state: State,
    pub evidence_stale: bool,
    pub incident_open: bool,
    /// None before it was counted first.
    pub counters: Option<CountersRow>,
}

/// Milliseconds, and numbers of rounds.
#[derive(Debug, Clone)]
pub struct CountersRow {
    pub told_to: Timestamp,
    /// up, partial, down, unknown, excluded, paused
    pub ms: [i64; 6],
    /// up, partial, down, unknown
    pub rounds: [i64; 4],
    pub incidents: i64,
}

/// Monitors that are not deleted, by name.
pub async fn monitors(conn: &mut PgConnection) -> sqlx::Result<Vec<MonitorRow>> {
    sqlx::query!(
        r#"select m.monitor_id as "monitor_id!", m.name as "name!", v.state as "state!", coalesce(s.evidence_stale, false) as "stale!",
                  exists (select from incident i where i.monitor_id = m.monitor_id and i.resolved_at is null
                          and starts_with(i.subject, 'monitor:')) as "open!",
                  c.told_to as "told_to?: jiff_sqlx::Timestamp", array[c.up_ms, c.partial_ms, c.down_ms, c.unknown_ms, c.excluded_ms,
                  c.paused_ms, c.rounds_up, c.rounds_partial, c.rounds_down, c.rounds_unknown, c.incidents] as "numbers!: Vec<Option<i64>>"
           from monitor m join monitor_live v using (monitor_id)
           left join monitor_state s on s.monitor_id = m.monitor_id and s.to_at is null
           left join monitor_counter c on c.monitor_id = m.monitor_id
           where m.deleted_at is null order by m.name"#
    )
    .map(|r| {
        let number = |at: usize| r.numbers.get(at).copied().flatten().unwrap_or_default();
        MonitorRow {
            key: MonitorKey(r.monitor_id),
            name: r.name,
            state: State::from_code(r.state).unwrap_or(State::Unknown),
            evidence_stale: r.stale,
            incident_open: r.open,
            counters: r.told_to.map(|at| CountersRow {
                told_to: at.to_jiff(),
                ms: std::array::from_fn(number),
                rounds: std::array::from_fn(|at| number(6 + at)),
                incidents: number(10),
            }),
        }
    })
    .fetch_all(conn)
    .await
}

/// Counters of a monitor at a location.
#[derive(Debug, Clone)]
pub struct LocationRow {
    pub monitor: MonitorKey,
    pub location: LocationKey,
    /// ok, fail, invalid, missing
    pub results: [i64; 4],
    pub sum_us: i64,
    /// By the bounds of `domain::slo::counting`, and beyond them.
    pub buckets: Vec<i64>,
}

/// Counters of all monitors and locations that are not deleted.
pub async fn locations(conn: &mut PgConnection) -> sqlx::Result<Vec<LocationRow>> {
    sqlx::query!(
        "select c.monitor_id, c.location_id, c.ok, c.fail, c.invalid, c.missing, c.sum_us, c.buckets
         from location_counter c join monitor m using (monitor_id) join location l using (location_id)
         where m.deleted_at is null and l.deleted_at is null
         order by m.name, l.name"
    )
    .map(|r| LocationRow {
        monitor: MonitorKey(r.monitor_id),
        location: LocationKey(r.location_id),
        results: [r.ok, r.fail, r.invalid, r.missing],
        sum_us: r.sum_us,
        buckets: r.buckets,
    })
    .fetch_all(conn)
    .await
}

/// Keys of the SLOs that are not deleted, by name.
pub async fn slos(conn: &mut PgConnection) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar!("select slo_id from slo where deleted_at is null order by name")
        .fetch_all(conn)
        .await
}
