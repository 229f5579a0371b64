//! Judging fleets: windows whose lines are all here, one after the other, each once. One coordinator at a
//! time judges a fleet; which one does not matter, since everything it needs is stored. What it remembers
//! between steps is what it would read again, but for lines that came late meanwhile.

mod late;
mod rows;
mod watermark;
mod window;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::{PgConnection, PgPool};

use self::{watermark::Known, window::Judge};
use crate::{
    domain::{
        fleet::{
            cell::{Cell, PoolCell},
            engine::WINDOWS_NEEDED,
            finding::{Change, End, Finding, Gravity, Kind, Scope, Step, key},
        },
        ids::FleetKey,
    },
    intake::{names::InstanceNames, sums},
    store::{
        self,
        fleet_cells::{CellRow, PoolRow, REVISED},
        fleets::FleetRow,
    },
    triage::{self, fleets::Stored},
};

/// Windows judged in one transaction.
const MOST_WINDOWS: i64 = 60;
/// So many windows without a line are judged one by one; a longer gap is passed over.
const LONGEST_GAP: i64 = 2 * WINDOWS_NEEDED;
/// Windows are kept so long behind the judge, then as quarter hours.
const WINDOWS_KEPT: SignedDuration = SignedDuration::from_hours(3);
/// A fleet that was followed live and of which nothing has come for so long is one without data …
const SILENT: SignedDuration = SignedDuration::from_mins(5);
/// … until it has been so for so long that nobody waits for it any more.
const GIVEN_UP: SignedDuration = SignedDuration::from_hours(24);

/// The judges of one coordinator, by fleet.
#[derive(Debug, Default)]
pub struct Fleets {
    warm: Mutex<HashMap<FleetKey, Judge>>,
}

impl Fleets {
    /// One round over all fleets; true when there may be more to do at once.
    pub async fn step(&self, pool: &PgPool, now: Timestamp) -> anyhow::Result<bool> {
        let fleets = store::fleet_live::active(&mut *pool.acquire().await?).await?;
        let mut more = false;
        for fleet in fleets {
            match self.judge(pool, fleet, now).await {
                Ok(waiting) => more |= waiting,
                Err(error) => {
                    // One fleet's trouble is not the others'.
                    let name = name(pool, fleet).await;
                    tracing::error!(fleet = name, error = format!("{error:#}"), "not judged");
                    self.forget(fleet);
                }
            }
        }
        Ok(more)
    }

    fn forget(&self, fleet: FleetKey) {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner).remove(&fleet);
    }

    async fn judge(&self, pool: &PgPool, key: FleetKey, now: Timestamp) -> anyhow::Result<bool> {
        let mut tx = pool.begin().await?;
        if !store::fleet_live::claim(&mut tx, key).await? {
            return Ok(false);
        }
        let Some(fleet) = store::fleets::by_key(&mut tx, key).await? else { return Ok(false) };
        let window_s = i64::from(fleet.config.analysis.window_s);
        let sources = store::fleet_sources::list(&mut tx, key, None).await?;
        let known = Known::of(&sources, now, &fleet.config.analysis);
        let (judged, tells) = store::fleet_live::judged_until(&mut tx, key).await?;
        let silence = silence(&mut tx, &fleet, &known, now).await?;
        let next = match judged {
            Some(at) => Some(at),
            None => first(&mut tx, key, now).await?.map(|at| sums::begin(at, window_s)),
        };
        let due = known.limit(window_s).zip(next).filter(|(limit, next)| next < limit);
        let Some((limit, next)) = due else {
            if !silence.is_empty() || store::fleet_incidents::is_muted(&mut tx, key).await? {
                self.say(&mut tx, &fleet, &silence, now).await?;
            }
            if !silence.is_empty() {
                store::fleet_live::touch(&mut tx, key, now).await?;
            }
            if let Some(judged) = judged.filter(|_| tells && known.is_silent()) {
                let mut judge = self.prepared(&mut tx, &fleet, judged, now).await?;
                judge.fall_silent(&mut tx, &fleet, &known, now).await?;
                judge.save(&mut tx, &fleet, judged, now).await?;
                tx.commit().await?;
                self.keep(key, judge);
                return Ok(false);
            }
            tx.commit().await?;
            return Ok(false);
        };
        let mut judge = self.prepared(&mut tx, &fleet, next, now).await?;
        let (until, mut changes) =
            windows(&mut tx, &fleet, &mut judge, next, limit, &known, now).await?;
        changes.extend(silence);
        self.say(&mut tx, &fleet, &changes, now).await?;
        judge.save(&mut tx, &fleet, until, now).await?;
        age(&mut tx, key, until, now).await?;
        tx.commit().await?;
        self.keep(key, judge);
        Ok(until < limit)
    }

    /// What is remembered of a fleet, if it is still what is stored; otherwise what is stored.
    async fn prepared(
        &self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        next: Timestamp,
        now: Timestamp,
    ) -> anyhow::Result<Judge> {
        let live = store::fleet_live::get(conn, fleet.key).await?;
        let warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner).remove(&fleet.key);
        match warm.filter(|judge| judge.is_of(&live, fleet)) {
            Some(judge) => Ok(judge),
            None => Judge::restore(conn, fleet, &live, next, now).await,
        }
    }

    fn keep(&self, key: FleetKey, judge: Judge) {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner).insert(key, judge);
    }

    /// Stores what was found and tells of it.
    async fn say(
        &self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        changes: &[Change],
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let mut telling = triage::fleets::Telling::begin(conn, fleet, now).await?;
        // An absorbed finding goes on as part of another, whose incident must have begun before that of
        // this one is over.
        let absorbed = |change: &&Change| change.step == Step::Closed(End::Absorbed);
        let first = changes.iter().filter(|change| !absorbed(change));
        for change in first.chain(changes.iter().filter(absorbed)) {
            let finding = change.finding.clone();
            let (id, incident) =
                store::fleet_findings::put(conn, fleet.key, &change.key, &finding, now).await?;
            let end = match change.step {
                Step::Closed(end) => Some(end),
                _ => None,
            };
            telling.apply(conn, &Stored { id, incident, finding, end }).await?;
        }
        telling.end(conn).await?;
        Ok(())
    }
}

/// What people call a fleet; its key while the database does not say.
async fn name(pool: &PgPool, key: FleetKey) -> String {
    let row = match pool.acquire().await {
        Ok(mut conn) => store::fleets::by_key(&mut conn, key).await.ok().flatten(),
        Err(_) => None,
    };
    row.map_or_else(|| format!("number {}", key.0), |row| row.name)
}

/// The first instant of which anything is here.
async fn first(
    conn: &mut PgConnection,
    fleet: FleetKey,
    now: Timestamp,
) -> sqlx::Result<Option<Timestamp>> {
    let far = now + SignedDuration::from_hours(48);
    let cell = store::fleet_cells::oldest(conn, fleet, far).await?;
    let event = store::fleet_events::first_unfolded(conn, fleet).await?;
    Ok([cell, event].into_iter().flatten().min())
}

/// Judges windows from `next` on; how far it came and what was found.
async fn windows(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    judge: &mut Judge,
    next: Timestamp,
    limit: Timestamp,
    known: &Known,
    now: Timestamp,
) -> anyhow::Result<(Timestamp, Vec<Change>)> {
    let window_s = i64::from(fleet.config.analysis.window_s);
    let mut changes = Vec::new();
    let (mut at, mut done) = (next, 0);
    while at < limit && done < MOST_WINDOWS {
        // A gap that is longer than anything looks back is passed over, all but its end.
        let cell = store::fleet_cells::next(conn, fleet.key, at).await?;
        let event = store::fleet_events::first_unfolded(conn, fleet.key).await?;
        let some = [cell, event].into_iter().flatten().min().unwrap_or(limit).max(at);
        let some = sums::begin(some.min(limit), window_s);
        at = at.max(some - SignedDuration::from_secs(LONGEST_GAP * window_s));
        changes.extend(judge.window(conn, fleet, at, known, now).await?);
        at += SignedDuration::from_secs(window_s);
        done += 1;
    }
    Ok((at, changes))
}

/// Windows that have had their time become quarter hours; late shares of judged windows become part of
/// their sums.
async fn age(
    conn: &mut PgConnection,
    fleet: FleetKey,
    until: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let names = InstanceNames::default();
    let old = sums::begin(until - WINDOWS_KEPT, 900);
    let Some(oldest) = store::fleet_cells::oldest(conn, fleet, old).await? else { return Ok(()) };
    // A day at a time, so that one step stays short however much has gathered.
    let from = sums::begin(oldest, 900);
    let to = old.min(from + SignedDuration::from_hours(24));
    let mut cells = store::fleet_cells::take_cells(conn, fleet, from, to).await?;
    let mut pools = store::fleet_cells::take_pools(conn, fleet, from, to).await?;
    let quarter = |at| sums::begin(at, 900);
    store::slo_requests::keep_windows(conn, fleet, &windows_of(&pools)).await?;
    let summed = store::fleet_quarters::pool_quarters(conn, fleet, from, to).await?;
    if pools.iter().any(|row| summed.iter().any(|sum| sum.at == quarter(row.at))) {
        store::slo_requests::revise(conn, fleet, now).await?;
    }
    cells.extend(store::fleet_quarters::quarters(conn, fleet, from, to).await?);
    pools.extend(summed);
    let mut touched: Vec<Timestamp> = cells.iter().map(|row| quarter(row.at)).collect();
    touched.extend(pools.iter().map(|row| quarter(row.at)));
    touched.sort_unstable();
    touched.dedup();
    let (cells, pools) = added(cells, pools, &names, quarter, true, REVISED);
    store::fleet_quarters::replace_quarters(conn, fleet, &touched, &cells, &pools).await
}

/// What clients asked for in each window, of all pools together.
fn windows_of(pools: &[PoolRow]) -> Vec<store::slo_requests::Window> {
    let mut sums: BTreeMap<Timestamp, PoolCell> = BTreeMap::new();
    for row in pools {
        sums.entry(row.at).or_default().merge(&row.cell);
    }
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let window = |(at, sum): (Timestamp, PoolCell)| store::slo_requests::Window {
        at,
        requests: count(sum.requests),
        failed: count(sum.failed),
        timed: sum.timed,
    };
    sums.into_iter().map(window).collect()
}

/// Rows added up by the beginning that `begin` gives, pool, instance and, unless they are dropped, route.
fn added(
    cells: Vec<CellRow>,
    pools: Vec<PoolRow>,
    names: &InstanceNames,
    begin: impl Fn(Timestamp) -> Timestamp,
    drop_routes: bool,
    stage: i16,
) -> (Vec<CellRow>, Vec<PoolRow>) {
    let mut by_cell: BTreeMap<(Timestamp, String, String, String), Cell> = BTreeMap::new();
    for row in cells {
        let route = if drop_routes { String::new() } else { row.route };
        let instance = names.resolve(&row.instance).to_owned();
        by_cell.entry((begin(row.at), row.pool, instance, route)).or_default().merge(&row.cell);
    }
    let mut by_pool = BTreeMap::new();
    for row in pools {
        let sum: &mut crate::domain::fleet::cell::PoolCell =
            by_pool.entry((begin(row.at), row.pool)).or_default();
        sum.merge(&row.cell);
    }
    let cells = by_cell.into_iter().map(|((at, pool, instance, route), cell)| CellRow {
        at,
        stage,
        pool,
        instance,
        route,
        source: None,
        cell,
    });
    let pools = by_pool.into_iter().map(|((at, pool), cell)| PoolRow {
        at,
        stage,
        pool,
        cell,
        marks: None,
    });
    (cells.collect(), pools.collect())
}

/// What is to be said of a fleet from which nothing comes any more: unknown is not well.
async fn silence(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    known: &Known,
    now: Timestamp,
) -> sqlx::Result<Vec<Change>> {
    let finding = Finding {
        kind: Kind::NoData,
        scope: Scope::Pool,
        severity: Gravity::Warning,
        pool: String::new(),
        instances: Vec::new(),
        from_us: 0,
        found_us: now.as_microsecond(),
        to_us: None,
        chronic: false,
        sentence: String::new(),
        evidence: json!({}),
    };
    let name = format!("{}:all", key(&finding));
    let open = store::fleet_findings::is_open(conn, fleet.key, "", &name).await?;
    let (newest, received) = match (known.followed(), open) {
        (Some(followed), _) => followed,
        // Those that were missed are sources no more.
        (None, Some(from)) => (from, now),
        (None, None) => return Ok(Vec::new()),
    };
    let silent = now.duration_since(received);
    let finding = Finding {
        from_us: newest.as_microsecond(),
        sentence: format!(
            "Nothing has come from any source of {} since {:.0}: how its instances are is unknown, \
             not well.",
            fleet.name, received
        ),
        evidence: json!({ "received_at": format!("{received:.3}"), "sources": known.count() }),
        ..finding
    };
    let is = silent > SILENT.max(known.patience()) && silent < GIVEN_UP;
    Ok(match (open, is) {
        (None, true) => vec![Change { key: name, step: Step::Opened, finding }],
        (Some(from), false) => vec![Change {
            key: name,
            step: Step::Closed(End::Over),
            finding: Finding {
                from_us: from.as_microsecond(),
                to_us: Some(received.max(from).as_microsecond()),
                ..finding
            },
        }],
        _ => Vec::new(),
    })
}
