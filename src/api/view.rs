//! Monitors as they stand: settings, live row and seats put together, so that pages can ask the
//! decision core what it makes of them.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    error::ApiResult,
    monitors::{LocationRef, MonitorState, Seat as SeatMark, VoteWord},
};
use crate::{
    domain::{
        Millis,
        decision::{self, Inputs, Live, Seat, State, VoteState, ballot::Ballot, dissent},
        ids::{LocationKey, MonitorKey},
        maintenance::{Switches, Window},
    },
    store::{self, triage_read::LocationRow},
    triage::{self, Settings},
};

/// What all monitors share, read once.
#[derive(Debug)]
pub struct Surroundings {
    pub now: Timestamp,
    pub locations: HashMap<LocationKey, LocationRow>,
    windows: Vec<(Option<Vec<i32>>, Window)>,
    grace_until: Option<Millis>,
    over_cap: bool,
}

/// One monitor.
#[derive(Debug)]
pub struct View {
    pub settings: Settings,
    pub live: Live,
    pub enabled: bool,
    seats: Vec<Seat>,
    windows: Vec<Window>,
}

impl Surroundings {
    pub async fn read(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Self> {
        let store::triage_read::ContextRows { locations, windows, grace_until, over_cap, .. } =
            store::triage_read::context(conn, &[], now).await?;
        Ok(Self {
            now,
            locations: locations.into_iter().map(|row| (row.location, row)).collect(),
            windows: windows
                .into_iter()
                .map(|row| {
                    let (start, end) = (row.start_at.as_millisecond(), row.end_at.as_millisecond());
                    let switches = Switches {
                        suppress_alerts: row.suppress_alerts,
                        pause_probes: row.pause_probes,
                        ..Switches::default()
                    };
                    (row.monitors, Window { start, end, switches })
                })
                .collect(),
            grace_until: grace_until.map(|at| at.as_millisecond()),
            over_cap,
        })
    }

    /// How pages name a location; a deleted one has no name any more.
    pub fn reference(&self, key: LocationKey) -> Option<LocationRef> {
        self.locations.get(&key).map(|row| LocationRef {
            id: row.uid,
            name: row.name.clone(),
            region: row.region.clone(),
            domain: row.domain.clone(),
            simulated: row.simulated,
        })
    }

    pub fn references(&self, keys: &[LocationKey]) -> Vec<LocationRef> {
        keys.iter().filter_map(|key| self.reference(*key)).collect()
    }

    /// Puts monitors together; those that are deleted are absent.
    pub async fn views(
        &self,
        conn: &mut PgConnection,
        monitors: &[i32],
    ) -> ApiResult<HashMap<MonitorKey, View>> {
        let lives = store::live::read(conn, monitors).await?;
        let mut lives: HashMap<MonitorKey, String> =
            lives.into_iter().map(|row| (row.monitor, row.live)).collect();
        let mut divergent: HashMap<MonitorKey, Vec<LocationKey>> = HashMap::new();
        for (monitor, location) in store::location_health::divergent(conn, monitors).await? {
            divergent.entry(monitor).or_default().push(location);
        }
        let mut views = HashMap::new();
        for row in store::triage_read::configs(conn, monitors).await? {
            let (enabled, monitor) = (row.enabled, row.monitor);
            let Some(live) = lives.remove(&monitor) else { continue };
            let settings = triage::settings(row)?;
            let live: Live = serde_json::from_str(&live).map_err(anyhow::Error::from)?;
            let rows = settings.locations.iter().filter_map(|key| self.locations.get(key));
            let mut seats: Vec<Seat> = rows.map(triage::seat).collect();
            dissent::set_aside(&mut seats, divergent.get(&monitor).map_or(&[], Vec::as_slice));
            let concerns = |list: &Option<Vec<i32>>| {
                list.as_ref().is_none_or(|list| list.contains(&monitor.0))
            };
            let windows = self.windows.iter().filter(|(list, _)| concerns(list)).map(|(_, w)| *w);
            let view = View { settings, live, enabled, seats, windows: windows.collect() };
            views.insert(monitor, view);
        }
        Ok(views)
    }
}

impl View {
    pub fn inputs<'a>(&'a self, around: &Surroundings) -> Inputs<'a> {
        Inputs {
            policy: &self.settings.policy,
            check_version: self.settings.check_version,
            seats: &self.seats,
            windows: &self.windows,
            over_cap: around.over_cap,
            grace_until: around.grace_until,
            now: around.now.as_millisecond(),
        }
    }

    /// Fails first, then the rest, uncounted last.
    pub fn ballots(&self, around: &Surroundings) -> Vec<Ballot> {
        decision::ballot::ballots(&self.live, &self.inputs(around))
    }

    /// Seats as marks, in the order in which pages draw them: fails first, uncounted last.
    pub fn marks(&self, around: &Surroundings) -> Vec<SeatMark> {
        let marks = self.ballots(around).into_iter().filter_map(|ballot| {
            let row = around.locations.get(&ballot.location)?;
            Some(SeatMark {
                location: row.uid,
                name: row.name.clone(),
                vote: ballot.vote.into(),
                counts: ballot.uncounted.is_none(),
            })
        });
        marks.collect()
    }

    pub fn in_maintenance(&self, around: &Surroundings) -> bool {
        let now = around.now.as_millisecond();
        self.windows.iter().any(|window| window.contains(now))
    }

    /// The open incident.
    pub fn incident(&self) -> Option<Uuid> {
        self.live.incident.as_ref().and_then(|incident| incident.key).map(|key| key.0)
    }

    /// Start of the latest result of any location, and the latency of the latest pass.
    pub fn last_result(&self) -> (Option<Timestamp>, Option<f64>) {
        let votes = || self.live.votes.iter().filter(|vote| vote.state != VoteState::None);
        let called = self.live.calls.last.as_ref().map(|call| call.at);
        let last = votes().map(|vote| vote.last).max().max(called).map(instant);
        let pass = votes().filter(|vote| vote.saw.class.is_none()).max_by_key(|vote| vote.last);
        (last, pass.map(|vote| vote.saw.latency as f64))
    }
}

/// An instant of the decision core.
pub fn instant(millis: Millis) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl From<State> for MonitorState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Up => Self::Up,
            State::Degraded => Self::Degraded,
            State::Partial => Self::Partial,
            State::Down => Self::Down,
            State::Unknown => Self::Unknown,
            State::Paused => Self::Paused,
        }
    }
}

impl MonitorState {
    /// The state that a stored number stands for.
    pub fn from_code(code: i16) -> Self {
        State::from_code(code).unwrap_or(State::Unknown).into()
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Up => "up",
            Self::Degraded => "degraded",
            Self::Partial => "partial",
            Self::Down => "down",
            Self::Unknown => "unknown",
            Self::Paused => "paused",
        }
    }

    pub fn from_word(word: &str) -> Option<(Self, i16)> {
        let all = [
            State::Pending,
            State::Up,
            State::Degraded,
            State::Partial,
            State::Down,
            State::Unknown,
            State::Paused,
        ];
        all.into_iter().find(|state| state.name() == word).map(|state| (state.into(), state.code()))
    }
}

impl From<VoteState> for VoteWord {
    fn from(vote: VoteState) -> Self {
        match vote {
            VoteState::None => Self::None,
            VoteState::Up => Self::Up,
            VoteState::Slow => Self::Slow,
            VoteState::Suspect => Self::Suspect,
            VoteState::Down => Self::Down,
            VoteState::Recovering => Self::Recovering,
        }
    }
}
