//! A job that calls us: when its calls are due, and how late they may be. Nothing is probed.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Check;
use super::kind::Kind;
use super::secret::Secrets;
use crate::domain::assertion::Assertion;
use crate::domain::cron::{self, Schedule};
use crate::domain::decision::explain::span;
use crate::domain::decision::heartbeat::{Due, Plan};
use crate::domain::fields::Fields;
use crate::domain::{Invalid, Millis};

/// As in `kind`.
pub const KIND: &str = "heartbeat";

/// A year and a day.
const LONGEST_S: i64 = 366 * 86_400;
/// Until something else is said, a call may be five minutes late.
const GRACE_S: i64 = 300;

const FIELDS: &[&str] = &["kind", "period_s", "cron", "zone", "grace_s", "max_run_s"];

/// The `check` object of a heartbeat for the API document.
#[derive(utoipa::ToSchema)]
#[schema(as = HeartbeatCheck)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(crate) struct Described {
    /// `heartbeat`
    #[schema(example = "heartbeat")]
    kind: String,
    /// Seconds from one call to the next; this, or `cron`.
    #[schema(minimum = 10, maximum = 31622400)]
    period_s: Option<u32>,
    /// When the job runs, in five fields.
    #[schema(example = "30 2 * * *")]
    cron: Option<String>,
    /// The IANA name of the zone that `cron` is read in.
    #[schema(default = "UTC", example = "Europe/Berlin")]
    zone: Option<String>,
    /// How many seconds later than due it may call.
    #[schema(default = 300, minimum = 10, maximum = 31622400)]
    grace_s: Option<u32>,
    /// How many seconds a run may take that has said that it starts; unless given, the ordinary deadline
    /// holds.
    #[schema(minimum = 10, maximum = 31622400)]
    max_run_s: Option<u32>,
}

/// The settings of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatCheck {
    when: When,
    grace_s: i64,
    max_run_s: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum When {
    Every { period_s: i64 },
    Cron { cron: String, zone: String },
}

impl HeartbeatCheck {
    /// Reads the fields but `kind`, which the caller has taken. Looks at a cron expression as it is from a
    /// fixed day on: one that never comes is refused.
    pub fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let seconds = 10..=LONGEST_S;
        let period = fields.integer("period_s", seconds.clone())?;
        let expression = fields.string("cron")?;
        let zone = fields.string("zone")?;
        let when = match (period, expression) {
            (Some(period_s), None) => match zone {
                None => When::Every { period_s },
                Some(_) => return Err(Invalid::new("zone", "belongs to cron; leave it out")),
            },
            (None, Some(cron)) => {
                let (cron, zone) =
                    (cron.trim().to_owned(), zone.unwrap_or_else(|| "UTC".to_owned()));
                cron::next(&cron, &zone, Timestamp::UNIX_EPOCH).map_err(named)?;
                When::Cron { cron, zone }
            }
            (None, None) => {
                return Err(Invalid::new(
                    "period_s",
                    "is missing: say how often the job calls, or when, with cron",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(Invalid::new(
                    "cron",
                    "cannot stand beside period_s; leave one of them out",
                ));
            }
        };
        let grace_s = fields.integer("grace_s", seconds.clone())?.unwrap_or(GRACE_S);
        let max_run_s = fields.integer("max_run_s", seconds)?;
        fields.finish(FIELDS)?;
        Ok(Self { when, grace_s, max_run_s })
    }

    /// A stored check, if it is a heartbeat's.
    pub fn of(value: &Value) -> Option<Result<Self, Invalid>> {
        (value.get("kind")?.as_str()? == KIND).then(|| {
            let mut fields = Fields::of(value.clone(), "")?;
            fields.take("kind");
            Self::parse(fields)
        })
    }

    /// What is waited for: `a call every 5 min`.
    pub fn waited_for(&self) -> String {
        match &self.when {
            When::Every { period_s } => format!("a call every {}", span(period_s * 1000)),
            When::Cron { cron, zone } => format!("a call at {cron} ({zone})"),
        }
    }

    /// What deciding needs to know. Refused only if it is no longer what was checked.
    pub fn plan(&self) -> Result<Plan, Invalid> {
        let due = match &self.when {
            When::Every { period_s } => Due::Every(millis(*period_s)),
            When::Cron { cron, zone } => {
                Due::At(Box::new(Schedule::parse(cron, zone).map_err(named)?))
            }
        };
        Ok(Plan { due, grace: millis(self.grace_s), max_run: self.max_run_s.map(millis) })
    }
}

impl Kind for HeartbeatCheck {
    fn name(&self) -> &'static str {
        KIND
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("kind", KIND.into());
        match &self.when {
            When::Every { period_s } => {
                put("period_s", (*period_s).into());
            }
            When::Cron { cron, zone } => {
                put("cron", cron.as_str().into());
                if zone != "UTC" {
                    put("zone", zone.as_str().into());
                }
            }
        }
        if self.grace_s != GRACE_S {
            put("grace_s", self.grace_s.into());
        }
        if let Some(max_run_s) = self.max_run_s {
            put("max_run_s", max_run_s.into());
        }
        Value::Object(map)
    }

    fn target(&self) -> String {
        self.waited_for()
    }

    /// Nothing is connected to.
    fn host(&self) -> String {
        String::new()
    }

    fn assertions(&self) -> &[Assertion] {
        &[]
    }

    fn with_secrets(&self, _: &Secrets) -> Result<Check, Invalid> {
        Ok(Check::Heartbeat(self.clone()))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        matches!(old, Check::Heartbeat(_))
    }
}

fn millis(seconds: i64) -> Millis {
    seconds * 1000
}

/// Here it is called `zone`.
fn named(invalid: Invalid) -> Invalid {
    match invalid.field.as_str() {
        "timezone" => Invalid { field: "zone".to_owned(), ..invalid },
        _ => invalid,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<HeartbeatCheck, Invalid> {
        HeartbeatCheck::of(&value).expect("a heartbeat")
    }

    #[test]
    fn what_is_read_is_written_the_same() {
        for value in [
            json!({"kind": "heartbeat", "period_s": 300}),
            json!({"kind": "heartbeat", "period_s": 86_400, "grace_s": 10, "max_run_s": 7_200}),
            json!({"kind": "heartbeat", "cron": "30 2 * * *", "zone": "Europe/Berlin", "grace_s": 600}),
            json!({"kind": "heartbeat", "cron": "0 8 29 2 *"}),
        ] {
            let check = read(value.clone()).unwrap();
            assert_eq!(check.to_value(), value);
            check.plan().unwrap();
        }
        assert!(HeartbeatCheck::of(&json!({"kind": "http", "url": "https://a.test"})).is_none());
    }

    #[test]
    fn people_read_what_is_waited_for() {
        let told = |value| read(value).unwrap().waited_for().replace('\u{a0}', " ");
        let every = json!({"kind": "heartbeat", "period_s": 300});
        assert_eq!(told(every), "a call every 5 min");
        let cron = json!({"kind": "heartbeat", "cron": "30 2 * * *", "zone": "Europe/Berlin"});
        assert_eq!(told(cron), "a call at 30 2 * * * (Europe/Berlin)");
    }

    #[test]
    fn every_refusal_names_its_field() {
        for (field, value) in [
            ("period_s", json!({"kind": "heartbeat"})),
            ("period_s", json!({"kind": "heartbeat", "period_s": 9})),
            ("period_s", json!({"kind": "heartbeat", "period_s": "300"})),
            ("cron", json!({"kind": "heartbeat", "period_s": 60, "cron": "* * * * *"})),
            ("cron", json!({"kind": "heartbeat", "cron": "0 8 30 2 *"})),
            ("cron", json!({"kind": "heartbeat", "cron": "soon"})),
            ("zone", json!({"kind": "heartbeat", "cron": "* * * * *", "zone": "Mars/Olympus"})),
            ("zone", json!({"kind": "heartbeat", "period_s": 60, "zone": "UTC"})),
            ("grace_s", json!({"kind": "heartbeat", "period_s": 60, "grace_s": 0})),
            ("max_run_s", json!({"kind": "heartbeat", "period_s": 60, "max_run_s": -1})),
            ("url", json!({"kind": "heartbeat", "period_s": 60, "url": "https://a.test"})),
        ] {
            let refused = read(value.clone()).unwrap_err();
            assert_eq!(refused.field, field, "{value}: {refused}");
        }
    }
}
