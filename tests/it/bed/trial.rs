//! One monitor on one target, what is done to it, and what came of that.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use quorate::clock::Clock;
use serde_json::{Value, json};

use super::{
    Bed,
    facts::Row,
    net::{AGENTS, place},
    pairs,
    target::{Mood, Target},
};

/// Of every monitor in the bed, in seconds.
pub(crate) const INTERVAL: u32 = 10;
const TIMEOUT: u32 = 2;
const RETRY_GAP: u32 = 1;
/// From a decision to the probes that it asks for.
const DISPATCH: u32 = 2;
/// How long a notice may take to its receiver when everything works.
const TELLING: Duration = Duration::from_secs(3);
/// A coordinator that was killed is replaced well within this.
const ANSWER: Duration = Duration::from_secs(30);

/// What can befall a target.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    Mood(Mood),
    /// These agents (places in the list) do not reach it.
    Cut(Vec<usize>),
}

pub(crate) struct Trial<'a> {
    pub(crate) bed: &'a Bed,
    pub(crate) name: String,
    pub(crate) id: String,
    row: u8,
    target: &'a Target,
}

/// What a row is expected to show.
pub(crate) struct Expected<'a> {
    /// While the trouble lasts.
    pub(crate) state: &'a str,
    pub(crate) flag: Option<&'a str>,
    /// From the beginning to after its end, as the incidents have them.
    pub(crate) events: &'a [&'a str],
    /// From the beginning to the decision.
    pub(crate) bound: Option<Duration>,
}

/// The longest time to a decision by the formula of the rules, for an outage that `affected` of `eligible`
/// locations see and whose failing attempts take `attempt` seconds. `hold` is what the state must hold.
pub(crate) fn bound((affected, eligible): (u32, u32), attempt: u32, hold: u32) -> Duration {
    let asked = f64::from((eligible - affected + 1) * INTERVAL) / f64::from(eligible)
        + f64::from(3 * attempt + RETRY_GAP + DISPATCH);
    let in_turn = f64::from(INTERVAL + 2 * attempt + RETRY_GAP);
    Duration::from_secs_f64(asked.min(in_turn) + f64::from(hold))
}

/// What an attempt takes that gets no answer.
pub(crate) const UNANSWERED: u32 = TIMEOUT;
/// How long a state of some locations alone must hold.
pub(crate) const PARTIAL_HOLD: u32 = 2 * INTERVAL;

pub(crate) fn now() -> Timestamp {
    Clock::system().now()
}

/// Looks until there is an answer or the time is over.
pub(crate) async fn watch<T>(
    patience: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> Option<T> {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(patience, looking).await.ok()
}

impl<'a> Trial<'a> {
    /// A monitor of the target at the row's own address; `change` may alter what is asked for.
    pub(crate) async fn new(
        bed: &'a Bed,
        name: &str,
        (row, target): (u8, &'a Target),
        change: impl FnOnce(&mut Value),
    ) -> Self {
        let mut monitor = monitor(name, &format!("http://{}/", place(row)));
        change(&mut monitor);
        let made = bed.client.post("monitors", monitor).await;
        let id = made["id"].as_str().unwrap().to_owned();
        Self { bed, name: name.to_owned(), id, row, target }
    }

    pub(crate) async fn plain(bed: &'a Bed, name: &str, at: (u8, &'a Target)) -> Self {
        Self::new(bed, name, at, |_| {}).await
    }

    /// Its state and everything that follows from, as soon as somebody answers.
    pub(crate) async fn report(&self) -> Value {
        let path = format!("monitors/{}/state", self.id);
        let answer = watch(ANSWER, async || self.bed.client.try_get(&path).await).await;
        answer.unwrap_or_else(|| panic!("nobody answers for {path}"))
    }

    pub(crate) async fn state(&self) -> String {
        self.report().await["state"].as_str().unwrap().to_owned()
    }

    /// Whether it got there in time.
    pub(crate) async fn becomes(&self, state: &str, patience: Duration) -> bool {
        let look = async || (self.state().await == state).then_some(());
        watch(patience, look).await.is_some()
    }

    /// Waits until so many locations see it down.
    pub(crate) async fn is_seen_down_by(&self, locations: i64, patience: Duration) -> bool {
        let look = async || (self.report().await["d"].as_i64() == Some(locations)).then_some(());
        watch(patience, look).await.is_some()
    }

    /// Waits for an event of its incidents.
    pub(crate) async fn happens(&self, event: &str, patience: Duration) -> bool {
        let look = async || self.events().await.iter().any(|word| word == event).then_some(());
        watch(patience, look).await.is_some()
    }

    /// Maintenance from now on for so long; its end.
    pub(crate) async fn maintain(&self, span: SignedDuration) -> Timestamp {
        let begin = now();
        let end = Timestamp::from_millisecond((begin + span).as_millisecond()).unwrap();
        let window = json!({
            "name": format!("work on {}", self.name), "start": begin.to_string(),
            "end": end.to_string(), "monitors": [self.id],
        });
        self.bed.client.post("maintenance", window).await;
        end
    }

    /// How many results of that agent (its place in the list) had this outcome: 0 pass, 1 fail, 2 error.
    pub(crate) async fn seen(&self, agent: usize, outcome: i16) -> i64 {
        sqlx::query_scalar(
            "select count(*) from report r join monitor m using (monitor_id)
             join location l using (location_id)
             where m.uid = $1::uuid and l.name = $2 and r.outcome = $3",
        )
        .bind(&self.id)
        .bind(AGENTS[agent].0)
        .bind(outcome)
        .fetch_one(&self.bed.pool)
        .await
        .unwrap()
    }

    pub(crate) async fn begin(&self, trouble: &Trouble) -> Timestamp {
        let at = now();
        match trouble {
            Trouble::Mood(mood) => self.target.be(*mood).await,
            Trouble::Cut(agents) => self.bed.net.cut(&pairs(agents, &[place(self.row)])),
        }
        at
    }

    pub(crate) async fn end(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Mood(_) => self.target.be(Mood::Well).await,
            Trouble::Cut(agents) => self.bed.net.mend(&pairs(agents, &[place(self.row)])),
        }
    }

    /// What its incidents say happened, in order.
    pub(crate) async fn events(&self) -> Vec<String> {
        sqlx::query_scalar(
            "select e.kind from incident_event e join monitor m using (monitor_id)
             where m.uid = $1::uuid order by e.at, e.event_no",
        )
        .bind(&self.id)
        .fetch_all(&self.bed.pool)
        .await
        .unwrap()
    }

    /// When its first incident was decided, and when that is said to have begun.
    pub(crate) async fn opened(&self) -> Option<(Timestamp, Timestamp)> {
        let row: Option<(jiff_sqlx::Timestamp, jiff_sqlx::Timestamp)> = sqlx::query_as(
            "select i.opened_at, i.started_at from incident i join monitor m using (monitor_id)
             where m.uid = $1::uuid order by i.opened_at limit 1",
        )
        .bind(&self.id)
        .fetch_optional(&self.bed.pool)
        .await
        .unwrap();
        row.map(|(opened, started)| (opened.to_jiff(), started.to_jiff()))
    }

    /// The trouble comes, is seen as expected, and goes; the row says how that was.
    pub(crate) async fn suffer(&self, trouble: Trouble, expected: &Expected<'_>) -> Row {
        let patience = expected.bound.unwrap_or(Duration::from_secs(30)) + Duration::from_secs(15);
        let broke = self.begin(&trouble).await;
        if expected.events.is_empty() {
            let Trouble::Cut(agents) = &trouble else { panic!("an outage that is none") };
            self.is_seen_down_by(agents.len() as i64, patience).await;
        } else {
            self.becomes(expected.state, patience).await;
        }
        let report = self.report().await;
        self.end(&trouble).await;
        self.becomes("up", Duration::from_secs(60)).await;
        let mut row = Row::new(&self.name);
        row.same("state", expected.state, report["state"].as_str().unwrap_or("-"));
        if expected.flag.is_some() || report["flag"].is_string() {
            let flag = report["flag"].as_str().unwrap_or("none");
            row.same("flag", expected.flag.unwrap_or("none"), flag);
        }
        self.tell(&mut row, expected.events, Some(broke)).await;
        if let Some(bound) = expected.bound {
            let opened = self.opened().await.map(|(opened, _)| span(broke, opened));
            row.within("detection", bound, opened);
        }
        row
    }

    /// What its incidents and its listener say: these events, each of them told once.
    pub(crate) async fn tell(&self, row: &mut Row, events: &[&str], broke: Option<Timestamp>) {
        let expected: Vec<String> = events.iter().map(|word| (*word).to_owned()).collect();
        let measured = self.events().await;
        let kinds: Vec<String> = measured.iter().filter_map(|word| notice_of(word)).collect();
        let enough = async || (self.told().len() >= kinds.len()).then_some(());
        watch(Duration::from_secs(60), enough).await;
        row.list("events", &expected, &measured);
        row.list("notices", &kinds, &self.told());
        let first = self.bed.ears.of(&self.name).first().map(|heard| heard.at);
        if let (Some(_), Some(heard), Some((opened, _))) = (broke, first, self.opened().await)
            && expected.first().is_some_and(|word| notice_of(word).is_some())
        {
            row.within("told", TELLING, Some(span(opened, heard)));
        }
    }

    /// What the listener heard, each id once, in order.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut ids = std::collections::BTreeSet::new();
        let heard = self.bed.ears.of(&self.name).into_iter();
        heard.filter(|heard| ids.insert(heard.id.clone())).map(|heard| heard.kind).collect()
    }
}

/// A monitor that decides as quickly as the shortest interval allows.
pub(crate) fn monitor(name: &str, url: &str) -> Value {
    json!({
        "name": name,
        "check": {"kind": "http", "url": url},
        "interval_s": INTERVAL, "timeout_s": f64::from(TIMEOUT), "locations": "all",
        "policy": {
            "retry_gap_s": f64::from(RETRY_GAP), "min_separation_s": 0.5, "pass_gap_s": 1.0,
            "recover_for_s": 8.0,
        },
    })
}

/// The notice that an event becomes; none for what is suppressed.
pub(crate) fn notice_of(event: &str) -> Option<String> {
    let kind = match event.split(':').collect::<Vec<_>>()[..] {
        ["suppressed", ..] => return None,
        ["opened", _, "after_maintenance"] => "after_maintenance",
        ["escalated" | "downgraded", ..] => "moved",
        ["resolved", "flap_end"] => "flap_end",
        [kind, ..] => kind,
        [] => return None,
    };
    Some(kind.to_owned())
}

/// An outage that all or some see and that ends. Its locations recover in turn, so for a moment it may be one
/// of some locations alone.
pub(crate) const OUTAGE: &[&str] = &["opened:down", "[downgraded:partial]", "resolved"];

/// From one instant to a later one.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).max(SignedDuration::ZERO).unsigned_abs()
}
