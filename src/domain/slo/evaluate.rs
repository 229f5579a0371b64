//! From what is known to the report: the order in which the parts of this module are used.

use std::collections::BTreeMap;

use super::budget::{self, Budget, Circumstances, Frame};
use super::burn::{self, Burn};
use super::composite::Composite;
use super::definition::{Definition, MaintenancePolicy, Sli};
use super::evidence::{Batch, Evidence, Plan};
use super::maintenance::{self, Occurrence};
use super::measure::{self, Measured, TimePolicy};
use super::outage::{self, Incident};
use super::ratio::Ratio;
use super::report::Report;
use super::requests::{Minute, Requests};
use super::slot::{Grid, Outcome, SlotResult};
use super::timeline::{Spans, Timeline, Totals};
use super::window::Bounds;
use crate::domain::Millis;
use crate::domain::availability::Stretch;

/// Everything that is known about what an SLO watches. Lists are in order of time.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The instant for which the report is asked.
    pub as_of: Millis,
    /// What is later may still change and enters nothing; not after `as_of`.
    pub watermark: Millis,
    pub created_at: Option<Millis>,
    pub deleted_at: Option<Millis>,
    pub truth: Truth,
    pub maintenance: Vec<Occurrence>,
    /// Names of the locations that batches and plans point at.
    pub locations: Vec<String>,
    pub batches: Vec<Batch>,
    pub plans: Vec<Plan>,
    /// Requests of the fleet, for that indicator.
    pub minutes: Vec<Minute>,
    /// A figure has an edge where results or requests are left as sums of quarter hours only.
    pub summed: bool,
    pub incidents: Vec<Incident>,
    /// How the rules stood after the evaluation before, by name.
    pub standings: BTreeMap<String, burn::Standing>,
    pub identity: Identity,
}

impl Inputs {
    /// Nothing was seen up to an instant.
    pub fn nothing(as_of: Millis) -> Self {
        Self {
            as_of,
            watermark: as_of,
            created_at: None,
            deleted_at: None,
            truth: Truth::Decided(Decided::default()),
            maintenance: Vec::new(),
            locations: Vec::new(),
            batches: Vec::new(),
            plans: Vec::new(),
            minutes: Vec::new(),
            summed: false,
            incidents: Vec::new(),
            standings: BTreeMap::new(),
            identity: Identity::default(),
        }
    }
}

/// Where the timeline comes from. Intervals have to reach back to the beginning of an outage that reaches
/// into the window, and to the longest lookback before the watermark.
#[derive(Debug, Clone)]
pub enum Truth {
    Decided(Decided),
    /// The batches, as results of slots.
    Slots(Grid),
    Members(Composite, Vec<Member>),
}

/// Intervals of a monitor's decisions.
#[derive(Debug, Clone, Default)]
pub struct Decided {
    pub stretches: Vec<Stretch>,
    /// No coordinator swept.
    pub not_running: Spans,
}

/// One monitor of a composite.
#[derive(Debug, Clone)]
pub struct Member {
    pub id: String,
    pub decided: Decided,
    pub maintenance: Vec<Occurrence>,
    pub created_at: Option<Millis>,
    pub deleted_at: Option<Millis>,
}

/// What is only repeated in the report.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    pub id: Option<String>,
    pub name: Option<String>,
    pub service: Option<String>,
    pub definition_revision: Option<i64>,
    pub data_revision: Option<i64>,
    pub report_revision: Option<i64>,
    pub engine_version: String,
}

/// The report on one window. `None` when the window lies beyond the calendar.
pub fn evaluate(definition: &Definition, inputs: &Inputs) -> Option<Report> {
    let bounds = definition.window.bounds(inputs.watermark)?;
    let view = View::of(definition, inputs, bounds);
    let engine = Engine::of(definition, inputs, &view.figures);
    Some(super::assemble::report(definition, inputs, &view, &engine))
}

/// The window and the timelines that the figures are taken from.
#[derive(Debug)]
pub(super) struct View {
    pub bounds: Bounds,
    /// End of what is told: the window's end or the watermark, whichever is first, not before its start.
    pub end: Millis,
    /// Before maintenance is cut out.
    pub base: Timeline,
    /// With maintenance as the policy says.
    pub figures: Timeline,
    /// Of each member of a composite, with maintenance as the policy says.
    pub members: Vec<(String, Timeline)>,
}

impl View {
    pub(super) fn of(definition: &Definition, inputs: &Inputs, bounds: Bounds) -> Self {
        let end = inputs.watermark.clamp(bounds.start, bounds.end);
        let from = earliest(definition, inputs, bounds);
        let to = inputs.watermark.max(from);
        let excludes = definition.maintenance_policy != MaintenancePolicy::Ignore;
        let lives = |line: Timeline| line.monitored(inputs.created_at, inputs.deleted_at);
        let excluded = maintenance::excluded(&inputs.maintenance);
        let cut = |line: &Timeline| {
            if excludes { lives(line.excluding(&excluded)) } else { lives(line.clone()) }
        };
        let (base, figures, members) = match &inputs.truth {
            Truth::Decided(decided) => {
                let base = decided.timeline(from, to);
                let figures = cut(&base);
                (lives(base), figures, Vec::new())
            }
            Truth::Slots(grid) => {
                let of = |excludes: bool| {
                    let results = slot_results(inputs, excludes.then_some(&excluded));
                    grid.timeline(results, from, to)
                };
                (lives(of(false)), cut(&of(excludes)), Vec::new())
            }
            Truth::Members(rule, members) => {
                let bases: Vec<_> = members.iter().map(|m| m.timeline(from, to, None)).collect();
                let cut: Vec<_> = members
                    .iter()
                    .map(|m| m.timeline(from, to, excludes.then_some(&inputs.maintenance)))
                    .collect();
                let whole = |lines: &[Timeline]| lives(rule.timeline(lines, from, to));
                let names = members.iter().map(|member| member.id.clone());
                (whole(&bases), whole(&cut), names.zip(cut).collect())
            }
        };
        Self { bounds, end, base, figures, members }
    }
}

impl Decided {
    fn timeline(&self, from: Millis, to: Millis) -> Timeline {
        Timeline::decided(from, to, &self.stretches, &self.not_running)
    }
}

impl Member {
    /// `common` is the maintenance of the whole; none leaves all of it aside.
    fn timeline(&self, from: Millis, to: Millis, common: Option<&Vec<Occurrence>>) -> Timeline {
        let mut line = self.decided.timeline(from, to);
        if let Some(common) = common {
            let own = maintenance::excluded(&self.maintenance);
            let spans = Spans::union(maintenance::excluded(common).iter().chain(own.iter()));
            line = line.excluding(&spans);
        }
        line.monitored(self.created_at, self.deleted_at)
    }
}

/// The first instant that any figure looks at.
fn earliest(definition: &Definition, inputs: &Inputs, bounds: Bounds) -> Millis {
    let lookbacks = definition.rules.iter().map(|rule| rule.long.max(rule.short));
    let longest = lookbacks.chain([burn::DRAIN]).max().unwrap_or(0);
    let of = |decided: &Decided| decided.stretches.first().map(|s| s.from);
    let known = match &inputs.truth {
        Truth::Decided(decided) => of(decided),
        Truth::Slots(grid) => inputs.batches.first().map(|batch| batch.at - grid.interval),
        Truth::Members(_, members) => members.iter().filter_map(|m| of(&m.decided)).min(),
    };
    let first = known.unwrap_or(bounds.start).min(bounds.start);
    first.min(inputs.watermark.saturating_sub(longest))
}

/// The batches as results of slots. With `excluded`, those of excluded time are left out; those of a
/// location's own maintenance always are.
fn slot_results<'a>(
    inputs: &'a Inputs,
    excluded: Option<&'a Spans>,
) -> impl Iterator<Item = SlotResult> + 'a {
    let own = scoped(inputs, excluded.is_some());
    inputs.batches.iter().filter_map(move |batch| {
        let ignored = excluded.is_some_and(|spans| spans.contain(batch.at))
            || own.get(&batch.location).is_some_and(|spans| spans.contain(batch.at));
        let outcome = match (batch.ok, batch.fail, batch.invalid) {
            (0, 0, 0) => Outcome::Missing,
            (0, 0, _) => Outcome::Invalid,
            (0, _, _) => Outcome::Fail,
            _ => Outcome::Ok,
        };
        (!ignored).then_some(SlotResult { at: batch.at, location: batch.location, outcome })
    })
}

/// Time in which a location's results do not count, by its place.
fn scoped(inputs: &Inputs, excludes: bool) -> BTreeMap<u16, Spans> {
    let names = inputs.locations.iter().filter(|_| excludes).enumerate();
    names
        .map(|(place, name)| (place as u16, maintenance::excluded_at(&inputs.maintenance, name)))
        .filter(|(_, spans)| !spans.is_empty())
        .collect()
}

/// Measures any span by the SLO's indicator.
#[derive(Debug)]
pub(super) struct Engine<'a> {
    pub sli: Sli,
    pub policy: TimePolicy,
    pub timeline: &'a Timeline,
    pub evidence: Evidence<'a>,
    pub requests: Option<Requests<'a>>,
}

impl<'a> Engine<'a> {
    pub(super) fn of(definition: &Definition, inputs: &'a Inputs, timeline: &'a Timeline) -> Self {
        let excludes = definition.maintenance_policy != MaintenancePolicy::Ignore;
        Self::with(definition, inputs, timeline, excludes)
    }

    /// The same with no maintenance left out: for the raw figure.
    pub(super) fn raw(definition: &Definition, inputs: &'a Inputs, base: &'a Timeline) -> Self {
        Self::with(definition, inputs, base, false)
    }

    fn with(
        definition: &Definition,
        inputs: &'a Inputs,
        timeline: &'a Timeline,
        excludes: bool,
    ) -> Self {
        let evidence =
            Evidence::new(&inputs.batches, &inputs.plans, timeline, scoped(inputs, excludes));
        let requests = match definition.sli {
            Sli::Requests { fallback, .. } => {
                Some(Requests::new(&inputs.minutes, timeline, &evidence.out, fallback))
            }
            _ => None,
        };
        let policy = TimePolicy {
            unknown: definition.unknown_policy,
            maintenance: definition.maintenance_policy,
            partial_weight_ppm: definition.partial_weight_ppm,
        };
        Self { sli: definition.sli, policy, timeline, evidence, requests }
    }

    pub(super) fn measure(&self, from: Millis, to: Millis) -> Measured {
        if let Some(requests) = &self.requests {
            return requests.measure(from, to, self.policy);
        }
        measure::of_events(self.sli, &self.evidence, from, to)
            .unwrap_or_else(|| self.time(&self.timeline.totals(from, to)))
    }

    pub(super) fn time(&self, totals: &Totals) -> Measured {
        measure::of_time(totals, self.policy)
    }

    /// A lookback from the watermark.
    pub(super) fn burn(&self, lookback: Millis, watermark: Millis) -> Burn {
        Burn {
            lookback,
            measured: self.measure(watermark - lookback, watermark),
            is_time: self.sli.is_time(),
        }
    }
}

/// Burn rates by lookback, each measured once.
#[derive(Debug)]
pub(super) struct Burns(BTreeMap<Millis, Burn>);

impl Burns {
    pub(super) fn of(definition: &Definition, engine: &Engine, watermark: Millis) -> Self {
        let rules = definition.rules.iter().flat_map(|rule| [rule.long, rule.short]);
        let lookbacks = burn::LOOKBACKS.into_iter().chain(rules);
        Self(lookbacks.map(|lookback| (lookback, engine.burn(lookback, watermark))).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Burn> {
        self.0.values()
    }

    pub(super) fn get(&self, lookback: Millis) -> Option<&Burn> {
        self.0.get(&lookback)
    }
}

/// The budget of the window, and its state as far as the budget decides it.
pub(super) fn judge(
    definition: &Definition,
    view: &View,
    engine: &Engine,
    measured: &Measured,
    totals: &Totals,
    burns: &Burns,
    paging: bool,
) -> (Budget, budget::State) {
    let (bounds, end) = (view.bounds, view.end);
    let unmonitored = totals.not_monitored + totals.paused > 0;
    let remaining = bounds.end - end;
    let frame = if definition.sli.is_time() {
        Frame {
            remaining: measure::millis(remaining),
            whole: measure::millis(bounds.length()),
            nominal_only: definition.window.is_rolling() && unmonitored,
        }
    } else {
        let planned = match definition.sli {
            Sli::Slices { slice, .. } => measure::millis(remaining / slice),
            _ => engine.evidence.planned(end, bounds.end),
        };
        let whole = measured.total + planned;
        Frame { remaining: planned, whole, nominal_only: false }
    };
    let budget = Budget::of(definition.target, measured, frame);
    let covered =
        measured.coverage().is_some_and(|coverage| coverage >= definition.coverage_min.ratio());
    let drain = burns.get(burn::DRAIN).and_then(|burn| burn.rate(definition.target));
    let circumstances = Circumstances {
        seen_enough: covered && measured.total > 0,
        gone_in_any_case: Budget::at_best(definition.target, measured, frame).is_gone(),
        is_time: definition.sli.is_time(),
        complete: !definition.window.is_rolling() && remaining == 0,
        paging,
        draining: definition.window.nominal() >= burn::DRAIN
            && drain.is_some_and(|rate| rate >= Ratio::whole(1)),
    };
    let state = budget::state(&budget, circumstances);
    (budget, state)
}

/// M − Tdn of the figures about outages, by the policies of time whatever the indicator.
pub(super) fn uptime(engine: &Engine, totals: &Totals) -> Millis {
    let measured = engine.time(totals).total;
    i64::try_from(measured).unwrap_or(i64::MAX) - totals.down
}

/// The outages of the window.
pub(super) fn outages(inputs: &Inputs, view: &View) -> Vec<outage::Outage> {
    let spans = outage::spans(&view.base);
    outage::in_window(&spans, &view.figures, &inputs.incidents, view.bounds.start, view.end)
}
