//! One window of one fleet: its shares become a sum, the timeline and the engines look at it, and what
//! they say is stored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    added, late,
    rows::{
        fed, instant, is_told, marks, ready_row, removal_row, small, sort_out, transition, zones,
    },
    watermark::Known,
};
use crate::{
    domain::fleet::{
        cell::Window,
        config::Config,
        engine::{About, Archive, Context, Engine, EngineState, WINDOWS_NEEDED},
        event::{Event, State},
        finding::{Change, Kind},
        timeline::{Instance, ReadyPoint, Step, Timeline},
    },
    intake::names::InstanceNames,
    store::{
        self,
        fleet_cells::{CellRow, JUDGED, PoolRow},
        fleet_findings::Filter,
        fleet_live::{Figures, InstanceRow, LiveRow},
        fleets::FleetRow,
    },
};

/// Events taken in one window at most; the rest is heard with the next one.
const MOST_EVENTS: i64 = 20_000;

/// A fleet's timeline and engines, up to `judged_until`.
#[derive(Debug)]
pub(super) struct Judge {
    config: Config,
    judged_until: Option<Timestamp>,
    timeline: Timeline,
    pools: BTreeMap<String, Pool>,
    instances: BTreeMap<String, InstanceRow>,
}

#[derive(Debug)]
struct Pool {
    engine: Engine,
    archive: Archive,
}

impl Judge {
    /// Reads everything back.
    pub(super) async fn restore(
        conn: &mut PgConnection,
        fleet: &FleetRow,
        live: &LiveRow,
        next: Timestamp,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let settings = &fleet.config.analysis;
        let timeline = match read::<Timeline>(live.timeline.as_ref(), fleet, "timeline") {
            Some(timeline) => timeline.with_settings(settings),
            None => Timeline::new("", settings),
        };
        let named = fleet.config.instances.iter();
        let zones = named.filter_map(|one| Some((one.name.clone(), one.zone.clone()?)));
        let names = InstanceNames::of(&fleet.config, &[]);
        let (timeline, other_names) =
            timeline.with_zones(zones.collect()).renamed(|name| names.resolve(name).to_owned());
        store::fleet_live::drop_instances(conn, fleet.key, &other_names).await?;
        let rows = store::fleet_live::instances(conn, fleet.key).await?;
        let mut judge = Self {
            config: fleet.config.clone(),
            judged_until: live.judged_until,
            timeline,
            pools: BTreeMap::new(),
            instances: rows.into_iter().map(|row| (row.name.clone(), row)).collect(),
        };
        let mut states: BTreeMap<String, EngineState> =
            read(live.engine.as_ref(), fleet, "engine").unwrap_or_default();
        let mut history = judge.history(conn, fleet, next).await?;
        for pool in history.keys() {
            states.entry(pool.clone()).or_default();
        }
        let day = next.saturating_sub(SignedDuration::from_hours(24)).unwrap_or(now);
        let quarters = store::fleet_quarters::quarters(conn, fleet.key, day, next).await?;
        for (name, state) in states {
            let windows = history.remove(&name).unwrap_or_default();
            let mut archive = Archive::default();
            let own = quarters.iter().filter(|row| row.pool == name).cloned().collect();
            for window in judge.windows(own, Vec::new()).remove(&name).unwrap_or_default() {
                archive.add(&window, settings.window_s);
            }
            for window in &windows {
                archive.add(window, settings.window_s);
            }
            let engine = Engine::restore(&name, settings, state, windows);
            judge.pools.insert(name, Pool { engine, archive });
        }
        Ok(judge)
    }

    /// Whether this is what is stored, under the settings of now.
    pub(super) fn is_of(&self, live: &LiveRow, fleet: &FleetRow) -> bool {
        self.judged_until == live.judged_until && self.config == fleet.config
    }

    /// The windows before `next` that engines look back on, oldest first, by pool.
    async fn history(
        &self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        next: Timestamp,
    ) -> sqlx::Result<BTreeMap<String, Vec<Window>>> {
        let span = WINDOWS_NEEDED * i64::from(self.config.analysis.window_s);
        let from = next.saturating_sub(SignedDuration::from_secs(span));
        let from = from.unwrap_or(Timestamp::UNIX_EPOCH);
        let cells = store::fleet_cells::cells(conn, fleet.key, from, next).await?;
        let pools = store::fleet_cells::pools(conn, fleet.key, from, next).await?;
        Ok(self.windows(cells, pools))
    }

    /// Rows as windows, oldest first, by pool, under the names of the instances.
    fn windows(&self, cells: Vec<CellRow>, pools: Vec<PoolRow>) -> BTreeMap<String, Vec<Window>> {
        let names = self.names();
        let mut all: BTreeMap<(String, i64), Window> = BTreeMap::new();
        for row in cells {
            let index = self.index(row.at);
            let window = all.entry((row.pool, index)).or_insert_with(|| Window::new(index));
            let instance = self.timeline.resolve(names.resolve(&row.instance)).to_owned();
            let routes = window.cells.entry(instance).or_default();
            routes.entry(row.route).or_default().merge(&row.cell);
        }
        for row in pools {
            let index = self.index(row.at);
            let window = all.entry((row.pool, index)).or_insert_with(|| Window::new(index));
            window.pool.merge(&row.cell);
        }
        let mut by_pool: BTreeMap<String, Vec<Window>> = BTreeMap::new();
        for ((pool, _), window) in all {
            by_pool.entry(pool).or_default().push(window);
        }
        by_pool
    }

    fn index(&self, at: Timestamp) -> i64 {
        at.as_second().div_euclid(i64::from(self.config.analysis.window_s))
    }

    fn names(&self) -> InstanceNames {
        InstanceNames::of(&self.config, &[])
    }

    /// Judges the window that begins at `at`.
    pub(super) async fn window(
        &mut self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        at: Timestamp,
        known: &Known,
        now: Timestamp,
    ) -> anyhow::Result<Vec<Change>> {
        let window_s = i64::from(self.config.analysis.window_s);
        let end = at + SignedDuration::from_secs(window_s);
        let cells = store::fleet_cells::take_cells(conn, fleet.key, at, end).await?;
        let pools = store::fleet_cells::take_pools(conn, fleet.key, at, end).await?;
        let names = self.names();
        let mut marks = marks(&pools);
        let named = |name: &str| self.timeline.resolve(names.resolve(name)).to_owned();
        marks.fed = fed(&cells, named);
        let (mut sums, mut pool_sums) =
            added(cells, pools, &InstanceNames::default(), |_| at, false, JUDGED);
        let checks = self.timeline.rhythms.checks(std::mem::take(&mut marks.beats));
        let checks = sort_out(&checks, at, &mut sums, &mut pool_sums);
        store::fleet_cells::append(conn, fleet.key, &sums, &pool_sums).await?;
        let mut windows = self.windows(sums, pool_sums);
        let rows = store::fleet_events::unfolded(conn, fleet.key, end, MOST_EVENTS).await?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.no).collect();
        store::fleet_events::set_folded(conn, fleet.key, &numbers).await?;
        // An instance's own log tells of its checks.
        let of_checks = |mut event: Event| {
            let by = event.instance.as_deref().and_then(|name| marks.fed.get(name));
            event.feed = by.and_then(|feeds| feeds.first().cloned());
            event
        };
        let mut events: Vec<_> = rows
            .into_iter()
            .map(|row| Event { feed: Some(row.source), ..row.event })
            .chain(checks.into_iter().map(of_checks))
            .map(|mut event| {
                if let Some(instance) = &event.instance {
                    event.instance = Some(names.resolve(instance).to_owned());
                }
                event
            })
            .collect();
        events.sort_by_key(|event| event.at_us);
        let mut whole = Window::new(self.index(at));
        for window in windows.values().flatten() {
            whole.merge(window);
        }
        let heard = known.heard();
        let told = self.timeline.step(Step {
            until_us: end.as_microsecond(),
            events: &events,
            window: &whole,
            marks: &marks,
            sources: &heard,
        });
        let mut changes = told.findings;
        self.note_ready(conn, fleet, &told.ready).await?;
        for removal in &told.removals {
            store::fleet_findings::put_removal(conn, fleet.key, &removal_row(removal, now)).await?;
            let limit = self.config.rules.removal_s;
            let known_us = self.config.analysis.known_us(end.as_microsecond());
            changes.extend(late::found(removal, limit, &self.timeline, end, known_us));
        }
        let open = Filter { open: Some(true), kind: Some(Kind::SlowRemoval), ..Filter::default() };
        let open = Filter { limit: i64::from(u16::MAX), ..open };
        let open = store::fleet_findings::list(conn, fleet.key, &open).await?;
        changes.extend(late::over(open, &changes, &self.timeline, end));
        self.note_instances(conn, fleet).await?;
        for pool in windows.keys() {
            if !self.pools.contains_key(pool) {
                let engine = Engine::new(pool, &self.config.analysis);
                self.pools.insert(pool.clone(), Pool { engine, archive: Archive::default() });
            }
        }
        let aside = Aside::of(&self.timeline, &self.config, &self.instances, end);
        for (name, pool) in &mut self.pools {
            let window = windows.remove(name).and_then(|mut all| all.pop());
            let window = window.unwrap_or_else(|| Window::new(whole.index));
            pool.archive.add(&window, self.config.analysis.window_s);
            let context = Context {
                warming: &aside.warming,
                draining: &aside.draining,
                history: pool.archive.quarters(),
                about: &aside.about,
                ..Context::default()
            };
            changes.extend(pool.engine.judge(window, &context));
        }
        self.judged_until = Some(end);
        Ok(changes)
    }

    /// No source is heard any more and no window will come: what is not known from when on.
    pub(super) async fn fall_silent(
        &mut self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        known: &Known,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let told = self.timeline.fall_silent(&known.heard(), now.as_microsecond());
        self.note_ready(conn, fleet, &told.ready).await?;
        self.note_instances(conn, fleet).await
    }

    async fn note_ready(
        &self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        points: &[ReadyPoint],
    ) -> sqlx::Result<()> {
        let expected = self.timeline.expected().and_then(|expected| small(expected.count));
        for point in points {
            let row = ready_row(point, expected);
            store::fleet_states::put_ready(conn, fleet.key, &row).await?;
        }
        Ok(())
    }

    /// Writes the instances that are not as they were, and what changed about their states.
    async fn note_instances(
        &mut self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
    ) -> sqlx::Result<()> {
        for (name, instance) in self.timeline.instances() {
            let old = self.instances.get(name);
            let new = self.row(instance, old);
            if old == Some(&new) {
                continue;
            }
            if let Some(row) = transition(instance, old) {
                store::fleet_states::put_transition(conn, fleet.key, &row).await?;
            }
            store::fleet_live::put_instance(conn, fleet.key, &new).await?;
            self.instances.insert(name.clone(), new);
        }
        Ok(())
    }

    fn row(&self, instance: &Instance, old: Option<&InstanceRow>) -> InstanceRow {
        let named = self.config.named(&instance.name);
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let seen = |us: Option<i64>| us.map(instant);
        InstanceRow {
            name: instance.name.clone(),
            aliases: instance.aliases.iter().cloned().collect(),
            zone: self
                .timeline
                .zone(instance)
                .map(str::to_owned)
                .or(old.and_then(|old| old.zone.clone())),
            configured: named.is_some(),
            first_at: seen(instance.first_us),
            last_at: seen(instance.last_us),
            state: instance.state.as_str().to_owned(),
            state_at: is_told(instance).then(|| instant(instance.since_us)),
            state_source: instance.source.map(|source| source.as_str().to_owned()),
            state_reason: instance.reason.clone(),
            version: instance.version.clone(),
            restarts_certain: count(instance.restarts.certain),
            restarts_probable: count(instance.restarts.probable),
            transitions: count(instance.transitions),
        }
    }

    /// Writes what judging has come to.
    pub(super) async fn save(
        &mut self,
        conn: &mut PgConnection,
        fleet: &FleetRow,
        until: Timestamp,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        self.judged_until = Some(until);
        let engines: BTreeMap<&String, EngineState> =
            self.pools.iter().map(|(name, pool)| (name, pool.engine.state())).collect();
        let row = LiveRow {
            judged_until: Some(until),
            folded_until: Some(until),
            engine: Some(serde_json::to_value(engines)?),
            timeline: Some(serde_json::to_value(&self.timeline)?),
            figures: self.figures(),
        };
        store::fleet_live::save(conn, fleet.key, &row, now).await?;
        Ok(())
    }

    fn figures(&self) -> Figures {
        use crate::domain::fleet::event::Source;
        let point = self.timeline.ready();
        let point = point.as_ref();
        let said = point.filter(|point| point.source != Source::Traffic);
        let inside = point.filter(|point| point.source == Source::Traffic);
        let expected = self.timeline.expected();
        let from = match (self.config.analysis.expected, expected) {
            (Some(_), _) => Some("set"),
            (None, Some(expected)) if !expected.learned => Some("snapshot"),
            (None, Some(_)) => Some("learned"),
            (None, None) => None,
        };
        Figures {
            ready: said.and_then(|point| small(point.ready?)),
            ready_low: said.and_then(|point| small(point.least?)),
            ready_high: said.and_then(|point| small(point.most?)),
            ready_source: said.map(|point| point.source.as_str().to_owned()),
            in_rotation: inside.and_then(|point| small(point.ready?)),
            expected: expected.and_then(|expected| small(expected.count)),
            expected_from: from.map(str::to_owned),
            unknown: point.and_then(|point| small(point.unknown)).unwrap_or(0),
            zones: point.and_then(|point| zones(&point.zones)),
        }
    }
}

/// What judging had come to, as it is stored. Only we write it; what cannot be read is begun anew, rather than
/// have a fleet that is never judged again. What it says stays out of the log: it repeats what logs said.
fn read<T: serde::de::DeserializeOwned>(
    stored: Option<&serde_json::Value>,
    fleet: &FleetRow,
    what: &'static str,
) -> Option<T> {
    let read = serde_json::from_value(stored?.clone());
    read.inspect_err(|_| {
        tracing::warn!(fleet = fleet.name, what, "what is stored cannot be read; it begins anew");
    })
    .ok()
}

/// Who is new or leaves, and so is not compared; and what instances have in common.
struct Aside {
    warming: BTreeSet<String>,
    draining: BTreeSet<String>,
    about: BTreeMap<String, About>,
}

impl Aside {
    fn of(
        timeline: &Timeline,
        config: &Config,
        rows: &BTreeMap<String, InstanceRow>,
        end: Timestamp,
    ) -> Self {
        let mut aside =
            Self { warming: BTreeSet::new(), draining: BTreeSet::new(), about: BTreeMap::new() };
        for (name, instance) in timeline.instances() {
            if instance.is_warming(end.as_microsecond(), &config.analysis) {
                aside.warming.insert(name.clone());
            }
            if matches!(instance.state, State::Draining | State::Maintenance) {
                aside.draining.insert(name.clone());
            }
            let zone = rows.get(name).and_then(|row| row.zone.clone());
            let about = About { zone, version: instance.version.clone(), node: None };
            aside.about.insert(name.clone(), about);
        }
        aside
    }
}
