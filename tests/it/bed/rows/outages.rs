//! Targets that fail, for all or for some.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;

use super::{Bed, Row, Trial};
use crate::bed::{
    target::{Mood, Target},
    trial::{Expected, OUTAGE, PARTIAL_HOLD, Trouble, UNANSWERED, bound, now, span},
};

/// How long a state may take to be left again, holds of flapping included.
const OVER: Duration = Duration::from_secs(90);
const SLOW: Duration = Duration::from_secs(1);

pub(crate) struct Outages<'a> {
    refused: Trial<'a>,
    silent: Trial<'a>,
    broken: Trial<'a>,
    three: Trial<'a>,
    region: Trial<'a>,
    domains: Trial<'a>,
    domain: Trial<'a>,
    slow: Trial<'a>,
    flapping: Trial<'a>,
    still: Trial<'a>,
    within: Trial<'a>,
}

impl<'a> Outages<'a> {
    /// Monitors of the first eleven targets.
    pub(crate) async fn new(bed: &'a Bed, targets: &'a [Target]) -> Self {
        let at = |row: u8| (row, &targets[usize::from(row) - 1]);
        let plain = async |name, row| Trial::plain(bed, name, at(row)).await;
        Self {
            refused: plain("target down for all: refused", 1).await,
            silent: plain("target down for all: silent", 2).await,
            broken: plain("target down for all: 503", 11).await,
            three: plain("target down for three of five", 3).await,
            region: plain("one region cut", 4).await,
            domains: plain("two domains in one region", 5).await,
            domain: plain("one domain in two regions", 6).await,
            slow: Trial::new(bed, "slow target", at(7), |it| it["slow_ms"] = json!(500)).await,
            flapping: plain("flapping target", 8).await,
            still: plain("maintenance, and down after it", 9).await,
            within: plain("maintenance, down within it", 10).await,
        }
    }

    /// In three shares, so that at no time much of what a location looks at begins to fail.
    pub(crate) async fn play(&self) -> Vec<Row> {
        let first = async {
            tokio::join!(
                for_all(&self.refused),
                for_three(&self.three),
                one_region(&self.region),
                two_domains(&self.domains),
            )
        };
        let second = async {
            tokio::join!(
                down(&self.silent, Mood::Silent, UNANSWERED),
                down(&self.broken, Mood::Broken, 0),
                one_domain(&self.domain),
                after_maintenance(&self.still),
                within_maintenance(&self.within),
            )
        };
        let share = async { (first.await, second.await) };
        let ((first, second), slow, flapping) =
            tokio::join!(share, slow(&self.slow), flapping(&self.flapping));
        let mut rows: Vec<Row> = [first.0, first.1, first.2, first.3].into();
        rows.extend([second.0, second.1, second.2, slow, flapping, second.3, second.4]);
        rows
    }
}

pub(crate) async fn for_all(trial: &Trial<'_>) -> Row {
    down(trial, Mood::Refusing, 0).await
}

async fn down(trial: &Trial<'_>, mood: Mood, attempt: u32) -> Row {
    let bound = Some(bound((5, 5), attempt, 0));
    let expected = Expected { state: "down", flag: None, events: OUTAGE, bound };
    trial.suffer(Trouble::Mood(mood), &expected).await
}

pub(crate) async fn for_three(trial: &Trial<'_>) -> Row {
    let bound = Some(bound((3, 5), UNANSWERED, 0));
    let expected = Expected { state: "down", flag: None, events: OUTAGE, bound };
    trial.suffer(Trouble::Cut(vec![0, 2, 4]), &expected).await
}

/// The only location there: it alone is not enough.
pub(crate) async fn one_region(trial: &Trial<'_>) -> Row {
    let expected = Expected { state: "up", flag: Some("local:e"), events: &[], bound: None };
    trial.suffer(Trouble::Cut(vec![4]), &expected).await
}

async fn two_domains(trial: &Trial<'_>) -> Row {
    let bound = Some(bound((2, 5), UNANSWERED, PARTIAL_HOLD));
    let events = &["opened:partial", "resolved"];
    let expected = Expected { state: "partial", flag: None, events, bound };
    trial.suffer(Trouble::Cut(vec![0, 1]), &expected).await
}

/// One provider in trouble is not the target's.
async fn one_domain(trial: &Trial<'_>) -> Row {
    let expected = Expected { state: "up", flag: Some("domain_suspect"), events: &[], bound: None };
    trial.suffer(Trouble::Cut(vec![0, 3]), &expected).await
}

/// Three slow passes of most locations.
async fn slow(trial: &Trial<'_>) -> Row {
    let bound = Some(Duration::from_secs(34));
    let events = &["opened:degraded", "resolved"];
    let expected = Expected { state: "degraded", flag: None, events, bound };
    trial.suffer(Trouble::Mood(Mood::Slow(SLOW)), &expected).await
}

/// The fourth change is no end any more, but the beginning of one alert that holds.
async fn flapping(trial: &Trial<'_>) -> Row {
    let trouble = Trouble::Mood(Mood::Refusing);
    let broke = trial.begin(&trouble).await;
    for change in ["resolved", "flap_start"] {
        trial.becomes("down", OVER).await;
        trial.end(&trouble).await;
        trial.happens(change, OVER).await;
        if change == "resolved" {
            trial.begin(&trouble).await;
        }
    }
    trial.happens("resolved:flap_end", OVER).await;
    let mut row = Row::new(&trial.name);
    let events = &[
        "opened:down",
        "[downgraded:partial]",
        "resolved",
        "reopened:down",
        "[downgraded:partial]",
        "flap_start",
        "[downgraded:partial]",
        "resolved:flap_end",
    ];
    trial.tell(&mut row, events, Some(broke)).await;
    row
}

/// Silence while it lasts; an alert once it is over and the target is not back.
async fn after_maintenance(trial: &Trial<'_>) -> Row {
    let end = trial.maintain(SignedDuration::from_secs(30)).await;
    let trouble = Trouble::Mood(Mood::Refusing);
    trial.begin(&trouble).await;
    trial.happens("opened:down:after_maintenance", Duration::from_secs(90)).await;
    trial.end(&trouble).await;
    trial.becomes("up", OVER).await;
    let mut row = Row::new(&trial.name);
    let events = &[
        "suppressed:opened:down",
        "opened:down:after_maintenance",
        "[downgraded:partial]",
        "resolved",
    ];
    trial.tell(&mut row, events, Some(now())).await;
    let opened = trial.opened().await;
    row.within("after its end", Duration::from_secs(23), opened.map(|(at, _)| span(end, at)));
    row.same("begins at its end", true, opened.is_some_and(|(_, began)| began == end));
    row
}

/// Nobody hears of what came and went inside.
async fn within_maintenance(trial: &Trial<'_>) -> Row {
    trial.maintain(SignedDuration::from_secs(120)).await;
    let events =
        &["suppressed:opened:down", "[suppressed:downgraded:partial]", "suppressed:resolved"];
    let bound = Some(bound((5, 5), 0, 0));
    let expected = Expected { state: "down", flag: None, events, bound };
    trial.suffer(Trouble::Mood(Mood::Refusing), &expected).await
}
