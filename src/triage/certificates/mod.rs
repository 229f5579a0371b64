//! Certificates that end, and issuers that change: looks at what locations are shown, keeps what was told, and
//! tells the rest. Never downtime of the monitor.
//!
//! A look takes the lock of the monitor's live row, so that two coordinators tell a thing once.

mod tell;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::{PgConnection, PgPool};

pub use self::tell::resolve;
pub(super) use self::tell::{end, look_again};
use super::{at, context::Context, lost_a_race};
use crate::domain::{
    certificate::{self, Sight, THRESHOLDS, habit, issuer, watch},
    decision::Standing,
    ids::MonitorKey,
    observation::Certificate,
};
use crate::store::{
    self,
    certificates::{SightRow, Watched},
};

/// Monitors of one step.
const BATCH: i64 = 50;
/// While something may come to be told although nothing new is seen.
const OFTEN: SignedDuration = SignedDuration::from_mins(15);
const SELDOM: SignedDuration = SignedDuration::from_hours(6);
/// What was not shown for so long before the latest is forgotten.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// After an edit the locations get so long to look anew.
pub(super) const SETTLE: SignedDuration = SignedDuration::from_mins(2);

/// Looks at the monitors whose time has come; true when more are waiting.
pub async fn step(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let due = store::certificates::due(&mut *pool.acquire().await?, now, BATCH).await?;
    let mut trouble = None;
    for key in &due {
        let mut attempt = 0;
        let ended = loop {
            match look_once(pool, *key, now).await {
                Err(error) if attempt < super::RETRIES && lost_a_race(&error) => attempt += 1,
                other => break other,
            }
        };
        // One monitor that cannot be read must not keep the others from being told.
        trouble = ended.err().or(trouble);
    }
    match trouble {
        Some(error) => Err(error),
        None => Ok(i64::try_from(due.len()) == Ok(BATCH)),
    }
}

async fn look_once(pool: &PgPool, key: MonitorKey, now: Timestamp) -> sqlx::Result<()> {
    let mut tx = pool.begin().await?;
    look(&mut tx, key, now).await?;
    tx.commit().await
}

/// What is shown at a monitor, and by which rules it is looked at.
struct View {
    /// Of locations that are believed, in use.
    sights: Vec<Sight>,
    /// Facts of every certificate that is in use, with its earliest end.
    facts: BTreeMap<String, Certificate>,
    thresholds: Vec<u16>,
    /// A change of issuer is told.
    issuer: bool,
    /// Nothing was ever shown under the present settings, and there was time.
    bare: bool,
    /// When the latest of all was shown.
    latest: Option<Timestamp>,
}

impl View {
    async fn read(
        conn: &mut PgConnection,
        key: MonitorKey,
        watched: &Watched,
        now: Timestamp,
    ) -> sqlx::Result<Self> {
        let rows = store::certificates::sights(conn, key, watched.check_version).await?;
        let settings = store::settings_read::certificates(conn).await?;
        let own = watched.days.as_ref().map(|days| {
            days.iter().filter_map(|day| u16::try_from(*day).ok()).collect::<Vec<u16>>()
        });
        let interval = i64::from(watched.interval_s);
        let patience = certificate::window(interval);
        let context = Context::read(conn, &[key.0], now).await?;
        let seats = context.seats(key, &watched.locations);
        let believed = |row: &&SightRow| {
            seats.iter().any(|seat| seat.key == row.location && seat.standing == Standing::Counted)
        };
        let counted: Vec<&SightRow> = rows.iter().filter(believed).collect();
        let sights = counted.iter().map(|row| sight(row)).collect::<sqlx::Result<Vec<_>>>()?;
        let sights = certificate::in_use(sights, interval);
        let mut facts: BTreeMap<String, Certificate> = BTreeMap::new();
        for row in counted {
            let one = read(row)?;
            let known = facts.get(&row.fingerprint);
            let shown = sights.iter().any(|sight| sight.fingerprint == row.fingerprint);
            if shown && known.is_none_or(|known| one.not_after < known.not_after) {
                facts.insert(row.fingerprint.clone(), one);
            }
        }
        Ok(Self {
            sights,
            facts,
            thresholds: own.or(settings.days).unwrap_or_else(|| THRESHOLDS.to_vec()),
            issuer: settings.issuer,
            bare: rows.is_empty() && now.duration_since(watched.edited_at) >= patience,
            latest: rows.iter().map(|row| row.last).max(),
        })
    }
}

fn sight(row: &SightRow) -> sqlx::Result<Sight> {
    Ok(Sight {
        location: row.location,
        address: (!row.address.is_empty()).then(|| row.address.clone()),
        fingerprint: row.fingerprint.clone(),
        issuer: issuer::name(&read(row)?.issuer),
        not_after: row.not_after,
        since: row.since,
        last: row.last,
    })
}

fn read(row: &SightRow) -> sqlx::Result<Certificate> {
    tell::facts(row.facts.clone())
}

async fn look(conn: &mut PgConnection, key: MonitorKey, now: Timestamp) -> sqlx::Result<()> {
    store::live::lock(conn, &[key.0]).await?;
    let Some(watched) = store::certificates::watched(conn, key).await? else {
        return store::certificates::forget(conn, key).await;
    };
    if watched.look_at.is_none_or(|at| at > now) {
        // Another coordinator has looked meanwhile.
        return Ok(());
    }
    let version = watched.check_version;
    if !watched.enabled {
        let (kept, habit) = (&watched.kept, &watched.habit);
        return store::certificates::looked(conn, key, watched.kept_of, kept, habit, None).await;
    }
    let view = View::read(conn, key, &watched, now).await?;
    let maintenance = store::incident_plans::quiet(conn, key, None, now, now).await?;
    let alarms = store::certificates::alarms(conn, key).await?;
    let known: BTreeMap<_, _> =
        alarms.iter().map(|(name, (alarm, _))| (name.clone(), alarm.clone())).collect();
    let given = watch::Given {
        sights: &view.sights,
        thresholds: &view.thresholds,
        alarms: &known,
        quiet: !maintenance.is_empty(),
        bare: view.bare,
        now,
    };
    let acts = watch::look(given);
    for act in &acts {
        tell::act(conn, key, &view, &alarms, act, now).await?;
    }
    let touched: Vec<&str> = acts.iter().map(watch::Act::fingerprint).collect();
    for (fingerprint, (_, incident)) in alarms.iter().filter(|(_, (alarm, _))| alarm.open) {
        if !touched.contains(&fingerprint.as_str()) {
            tell::rewrite(conn, key, &view, fingerprint, *incident, now).await?;
        }
    }
    let (before, habit) = if watched.kept_of == version {
        (watched.kept, watched.habit)
    } else {
        // Somebody has changed what is asked, or how: whoever answers now is no news.
        Default::default()
    };
    let kept = issuers(conn, key, &before, &view, given.quiet, now).await?;
    let habit = habit::follow(&habit, &view.sights, now);
    if let Some(latest) = view.latest {
        let long = KEPT.max(certificate::window(i64::from(watched.interval_s)));
        let before = latest.saturating_sub(long).unwrap_or(Timestamp::MIN);
        store::certificates::forget_sights(conn, key, before).await?;
    }
    let restless = !acts.is_empty()
        || kept.differ_since.is_some()
        || known.values().any(|alarm| alarm.open)
        || view.facts.len() > 1;
    let again = now.saturating_add(if restless { OFTEN } else { SELDOM }).unwrap_or(now);
    let over = maintenance.iter().map(|(_, end)| at(*end)).max();
    let next = [Some(again), watch::next(given), over.filter(|over| *over > now)];
    let next = next.into_iter().flatten().min();
    store::certificates::looked(conn, key, version, &kept, &habit, next).await
}

/// Looks whether the issuer changed, tells that, and answers what is known from here on.
async fn issuers(
    conn: &mut PgConnection,
    key: MonitorKey,
    before: &issuer::Kept,
    view: &View,
    quiet: bool,
    now: Timestamp,
) -> sqlx::Result<issuer::Kept> {
    let seen = view.sights.iter().map(|sight| sight.issuer.clone()).collect();
    let (kept, change) = issuer::look(&seen, before, quiet, now);
    if let Some(change) = change.filter(|_| view.issuer) {
        tell::issuer(conn, key, view, &change, now).await?;
    }
    Ok(kept)
}
