//! How parts of a page are and were: each monitor's timeline read once, whatever shows it, and judged by the engine of
//! the reports.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    api::error::ApiResult,
    domain::{
        ids::{FleetKey, MonitorKey},
        slo::{
            asked::Asked,
            composite::Composite,
            daily::{self, Daily, Now, daily},
            definition::{Definition, Sli},
            evaluate::{Inputs, Member, Truth},
            subject::Subject,
            timeline::Condition,
            window::{Bounds, Window},
        },
        status_page::{About, Group, parts},
    },
    publish::{status::Measure, summary::State},
    store::{
        self,
        slo_inputs::{self, View},
        slos::SloRow,
    },
};

/// Figures of results and requests are read again after so long: they are many, and change little in a minute.
const EVENTS_FRESH: SignedDuration = SignedDuration::from_secs(60);

/// Decimals of the percentages.
const DECIMALS: u32 = 2;

/// Figures of SLOs on results and requests, by id and revision of the definition.
#[derive(Debug, Default)]
pub struct Kept(HashMap<(Uuid, i32), (Timestamp, Daily)>);

/// What is told of a part.
#[derive(Debug, Clone)]
pub struct Told {
    pub state: State,
    pub since: Option<Timestamp>,
    pub last_known: State,
    pub figures: Daily,
    pub measure: Measure,
    /// Who is behind it, for planned work.
    pub monitors: Vec<MonitorKey>,
    pub fleet: Option<FleetKey>,
}

/// The days that are shown, in a zone.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub bounds: Bounds,
    pub timezone: &'a str,
    pub now: Timestamp,
}

/// What can be told, by what a part is about; nothing of what was deleted.
pub async fn read(
    conn: &mut PgConnection,
    groups: &[Group],
    shown: Shown<'_>,
    kept: Kept,
) -> ApiResult<(HashMap<About, Told>, Kept)> {
    let (mut uids, mut slos) = (Vec::new(), Vec::new());
    for part in parts(groups) {
        match part.about {
            About::Monitor(id) => uids.push(id),
            About::Slo(id) => slos.push(id),
        }
    }
    let monitors = store::triage_read::keys(conn, &uids).await?;
    let slos = store::slos::by_uids(conn, &slos).await?;
    let behind = slos.iter().flat_map(|slo| slo.values.subject.monitors());
    let mut keys: Vec<i32> =
        monitors.iter().map(|(_, key)| *key).chain(behind).map(|key| key.0).collect();
    keys.sort_unstable();
    keys.dedup();
    let each = slo_inputs::of_each(conn, &keys, shown.bounds.start, shown.now).await?;
    let mut reader = Reader {
        shown,
        unwatched: slo_inputs::unwatched(conn, shown.now).await?,
        inputs: each.into_iter().map(|(row, inputs)| (row.key, (row.uid, inputs))).collect(),
        firing: firing(conn, &slos).await?,
        kept,
    };
    let mut all = HashMap::new();
    for (uid, key) in monitors {
        if let Some(told) = reader.monitor(key) {
            all.insert(About::Monitor(uid), told);
        }
    }
    for slo in &slos {
        if let Some(told) = reader.slo(conn, slo).await? {
            all.insert(About::Slo(slo.uid), told);
        }
    }
    let fresh = |at: &Timestamp| shown.now.duration_since(*at) < EVENTS_FRESH;
    reader.kept.0.retain(|_, (at, _)| fresh(at));
    Ok((all, reader.kept))
}

/// SLOs of which a rule that pages fires.
async fn firing(conn: &mut PgConnection, slos: &[SloRow]) -> ApiResult<Vec<i32>> {
    let keys: Vec<i32> = slos.iter().map(|slo| slo.key.0).collect();
    let rows = store::slo_evaluations::of(conn, &keys).await?;
    let fires = |alerts: &serde_json::Value| {
        let mut alerts = alerts.as_array().into_iter().flatten();
        alerts.any(|alert| alert["firing"] == true && alert["severity"] == "page")
    };
    Ok(rows.into_iter().filter(|row| fires(&row.alerts)).map(|row| row.slo.0).collect())
}

struct Reader<'a> {
    shown: Shown<'a>,
    /// Nobody looks at the moment.
    unwatched: bool,
    inputs: BTreeMap<MonitorKey, (Uuid, Inputs)>,
    firing: Vec<i32>,
    kept: Kept,
}

impl Reader<'_> {
    fn monitor(&self, key: MonitorKey) -> Option<Told> {
        let (_, inputs) = self.inputs.get(&key)?;
        let definition = daily::plain(self.shown.bounds, self.shown.timezone, DECIMALS)?;
        let figures = daily(&definition, inputs)?;
        Some(self.told(figures, Measure::Time, vec![key], None, false))
    }

    async fn slo(&mut self, conn: &mut PgConnection, slo: &SloRow) -> ApiResult<Option<Told>> {
        let objective = slo_inputs::objective(slo, self.shown.now)?;
        let subject = &slo.values.subject;
        let monitors = subject.monitors();
        let measure = match objective.definition.sli {
            Sli::Availability => Measure::Time,
            Sli::ProbeRatio { .. } | Sli::Slices { .. } => Measure::Checks,
            Sli::Latency { .. } => Measure::InTime,
            Sli::Requests { fallback: None, .. } => Measure::Requests,
            Sli::Requests { fallback: Some(_), .. } => Measure::Time,
        };
        let fires = self.firing.contains(&slo.key.0) && measure != Measure::Time;
        let by_time = matches!(objective.definition.sli, Sli::Availability);
        let figures = if by_time && subject.fleet().is_none() {
            let rule = objective.composite.unwrap_or(Composite::AnyDown);
            let inputs = self.together(subject, rule);
            inputs.and_then(|inputs| daily(&self.here(objective.definition), &inputs))
        } else {
            self.events(conn, slo, &objective).await?
        };
        let Some(mut figures) = figures else { return Ok(None) };
        // How it is now is known better than its figures, which may be a minute old.
        if let (Subject::Monitor(key), false) = (subject, by_time)
            && let Some(told) = self.monitor(*key)
        {
            figures.now = told.figures.now;
        }
        Ok(Some(self.told(figures, measure, monitors, subject.fleet(), fires)))
    }

    /// An SLO's definition over the days and in the zone of the page.
    fn here(&self, definition: Definition) -> Definition {
        let Bounds { start: from, end: to } = self.shown.bounds;
        Definition {
            window: Window::Fixed { from, to },
            timezone: self.shown.timezone.to_owned(),
            decimals: DECIMALS,
            rules: Vec::new(),
            ..definition
        }
    }

    /// What was seen of a monitor, or of several as one.
    fn together(&self, subject: &Subject, rule: Composite) -> Option<Inputs> {
        let Subject::Composite(members) = subject else {
            let key = subject.monitors().into_iter().next()?;
            return self.inputs.get(&key).map(|(_, inputs)| inputs.clone());
        };
        let mut all = Vec::new();
        let mut watermark = self.shown.now.as_millisecond();
        for key in members {
            let Some((uid, inputs)) = self.inputs.get(key) else { continue };
            let Truth::Decided(decided) = &inputs.truth else { continue };
            watermark = watermark.min(inputs.watermark);
            all.push(Member {
                id: uid.to_string(),
                decided: decided.clone(),
                maintenance: inputs.maintenance.clone(),
                created_at: inputs.created_at,
                deleted_at: inputs.deleted_at,
            });
        }
        let as_of = self.shown.now.as_millisecond();
        Some(Inputs { watermark, truth: Truth::Members(rule, all), ..Inputs::nothing(as_of) })
    }

    /// Results and requests, kept for a while.
    async fn events(
        &mut self,
        conn: &mut PgConnection,
        slo: &SloRow,
        objective: &crate::domain::slo::document::Objective,
    ) -> ApiResult<Option<Daily>> {
        let id = (slo.uid, slo.definition_revision);
        let fresh = |at: &Timestamp| self.shown.now.duration_since(*at) < EVENTS_FRESH;
        if let Some((_, figures)) = self.kept.0.get(&id).filter(|(at, _)| fresh(at)) {
            return Ok(Some(figures.clone()));
        }
        let view = View {
            asked: Asked::Between(self.shown.bounds),
            brief: true,
            ..View::current(self.shown.now)
        };
        let read = slo_inputs::of(conn, slo, objective, view).await?;
        let Some((definition, inputs)) = read else { return Ok(None) };
        let figures = daily(&self.here(definition), &inputs);
        if let Some(figures) = &figures {
            self.kept.0.insert(id, (self.shown.now, figures.clone()));
        }
        Ok(figures)
    }

    fn told(
        &self,
        figures: Daily,
        measure: Measure,
        monitors: Vec<MonitorKey>,
        fleet: Option<FleetKey>,
        fires: bool,
    ) -> Told {
        let Now { condition, degraded, since, last_known } = figures.now;
        let before = last_known.map_or(State::Unknown, |(condition, slow)| state(condition, slow));
        let (state, since) = if self.unwatched {
            (State::Unknown, None)
        } else if fires && condition == Condition::Up {
            (State::Slow, None)
        } else {
            (state(condition, degraded), since)
        };
        let since = since.and_then(|at| Timestamp::from_millisecond(at).ok());
        Told { state, since, last_known: before, figures, measure, monitors, fleet }
    }
}

fn state(condition: Condition, degraded: bool) -> State {
    match condition {
        Condition::Up if degraded => State::Slow,
        Condition::Up => State::Up,
        Condition::Partial => State::Partial,
        Condition::Down => State::Down,
        Condition::Excluded => State::Maintenance,
        Condition::Unknown | Condition::Paused | Condition::NotMonitored => State::Unknown,
    }
}
