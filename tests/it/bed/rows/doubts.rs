//! Locations whose line, resolver or clock is bad: what they see is theirs, and nobody is told.

use std::time::Duration;

use serde_json::json;

use super::{Bed, Row, Trial};
use crate::bed::{
    AGENTS, CLOCK_AHEAD, NAMED, NAMED_ROW,
    net::{NAMES, Pair, place},
    pairs,
    target::{Mood, Target},
    trial::{Expected, OUTAGE, Trouble, bound, span, watch},
};

/// How long packets are lost.
const LOSSY: Duration = Duration::from_secs(150);
/// A vote that nobody renews is gone by then.
const STALE: Duration = Duration::from_secs(110);
const BROKEN_RESOLVER: usize = 3;
const LOSSY_AGENT: usize = 2;
pub(crate) const TLS_ROW: u8 = 30;

pub(crate) struct Doubts<'a> {
    bed: &'a Bed,
    lossy: Trial<'a>,
    all_lossy: Trial<'a>,
    named: Trial<'a>,
    dated: &'a Target,
}

impl<'a> Doubts<'a> {
    /// Monitors of the twelfth and thirteenth targets, of the one with a name and of the one with a
    /// certificate.
    pub(crate) async fn new(
        bed: &'a Bed,
        targets: &'a [Target],
        (named, dated): (&'a Target, &'a Target),
    ) -> Self {
        let url =
            |it: &mut serde_json::Value| it["check"]["url"] = json!(format!("http://{NAMED}/"));
        Self {
            bed,
            lossy: Trial::plain(bed, "30 % lost at one location", (12, &targets[11])).await,
            all_lossy: Trial::plain(bed, "5 % lost everywhere", (20, &targets[12])).await,
            named: Trial::new(bed, "a broken resolver", (NAMED_ROW, named), url).await,
            dated,
        }
    }

    pub(crate) async fn play(&self) -> Vec<Row> {
        let one = pairs(&[LOSSY_AGENT], &[place(12)]);
        let all = pairs(&[0, 1, 2, 3, 4], &[place(20)]);
        let (lossy, all_lossy, resolver, clock) = tokio::join!(
            self.lossy(&self.lossy, 30, &one),
            self.lossy(&self.all_lossy, 5, &all),
            self.resolver(),
            clock(self.bed, self.dated),
        );
        vec![lossy, all_lossy, resolver, clock]
    }

    async fn lossy(&self, trial: &Trial<'_>, percent: u32, pairs: &[Pair]) -> Row {
        self.bed.net.lose(percent, pairs);
        tokio::time::sleep(LOSSY).await;
        let state = trial.state().await;
        self.bed.net.lose_nothing(percent, pairs);
        let mut row = Row::new(&trial.name);
        row.same("state", "up", state);
        trial.tell(&mut row, &[], None).await;
        if percent == 30 {
            row.between("fails seen", 1, 1_000, trial.seen(LOSSY_AGENT, 1).await);
        }
        row
    }

    /// Its results are errors and no votes; the others go on, and see an outage as soon.
    async fn resolver(&self) -> Row {
        let trial = &self.named;
        let line = pairs(&[BROKEN_RESOLVER], &[NAMES]);
        self.bed.net.cut(&line);
        let four = async || (trial.report().await["e"] == 4).then_some(());
        let alone = watch(STALE, four).await.is_some();
        let expected = Expected {
            state: "down",
            flag: None,
            events: OUTAGE,
            bound: Some(bound((4, 4), 0, 0)),
        };
        let mut row = trial.suffer(Trouble::Mood(Mood::Refusing), &expected).await;
        row.same("its vote is gone", true, alone);
        row.between("errors", 3, 1_000, trial.seen(BROKEN_RESOLVER, 2).await);
        row.same("fails", 0, trial.seen(BROKEN_RESOLVER, 1).await);
        self.bed.net.mend(&line);
        row
    }
}

/// A certificate that is valid for half an hour more looks expired to who is an hour ahead.
async fn clock(bed: &Bed, target: &Target) -> Row {
    let url = |it: &mut serde_json::Value| {
        it["check"]["url"] = json!(format!("https://{}/", place(TLS_ROW)));
    };
    let trial = Trial::new(bed, "a clock an hour ahead", (TLS_ROW, target), url).await;
    trial.becomes("up", Duration::from_secs(60)).await;
    let (ahead, _) = AGENTS.iter().enumerate().find(|(_, agent)| agent.0 == CLOCK_AHEAD).unwrap();
    let errors = async || (trial.seen(ahead, 2).await >= 3).then_some(());
    let errors = watch(Duration::from_secs(60), errors).await.is_some();
    let broke = crate::bed::trial::now();
    let expected =
        Expected { state: "down", flag: None, events: OUTAGE, bound: Some(bound((4, 4), 0, 0)) };
    let mut row = trial.suffer(Trouble::Mood(Mood::Refusing), &expected).await;
    row.same("dates are errors", true, errors);
    let began = trial.opened().await.map(|(_, began)| span(broke, began));
    row.within("said to begin", Duration::from_secs(10), began);
    let agents = bed.client.get("agents").await;
    let agents = agents["items"].as_array().unwrap();
    let offset = agents.iter().filter_map(|agent| agent["clock_offset_ms"].as_i64()).max();
    row.between("offset, ms", 3_590_000, 3_610_000, offset.unwrap_or(0));
    let ahead = "select count(*) from report where effective_at > now() + interval '5 seconds'";
    row.same("results from the future", 0, super::count(bed, ahead).await);
    row
}
