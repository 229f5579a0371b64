//! From the body of a request to an SLO as it is stored. The rules for what is measured are those of
//! `domain::slo::document`; here are those for what it is called and what it is about.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    error::{ApiError, ApiResult},
    monitor_form::parse_labels,
};
use crate::{
    domain::{
        Invalid,
        fields::{Fields, kind_of},
        ids::MonitorKey,
        monitor::Name,
        slo::{
            alert::BUDGET,
            definition::{Definition, Sli, Weight},
            document::{self, Objective},
            report::Warning,
            subject::Subject,
            warning,
        },
    },
    store::{self, slo_inputs, slos::Values},
};

/// Bounds on how long requests of one fleet take, at most.
const MOST_BOUNDS: usize = 6;
/// Members of a composite, at most.
const MOST_MEMBERS: usize = 200;

/// Fields that are no part of the definition.
const ABOUT: [&str; 8] =
    ["name", "service", "description", "owner", "labels", "channels", "monitor", "fleet"];

/// What `quorate slo eval` needs and the monitor knows: taken from there.
const OF_THE_MONITOR: [&str; 3] = ["interval_s", "locations", "quorum"];

/// An SLO that may be saved.
#[derive(Debug)]
pub struct Form {
    pub values: Values,
    pub objective: Objective,
    pub warnings: Vec<Warning>,
}

impl Form {
    /// The refusal of a target that no probe of the monitor can tell.
    pub fn refuse_too_fine(&self) -> ApiResult<()> {
        let refused = self.warnings.iter().find(|warning| warning.code == "resolution_refused");
        match refused {
            None => Ok(()),
            Some(warning) => Err(ApiError::invalid(
                "target_ppb",
                format!(
                    "is finer than the monitor can tell: {}; lower the target, probe more often, or judge a longer window",
                    warning.message
                ),
            )),
        }
    }
}

/// Reads a body. Refusals name the field as it was written.
pub async fn read(conn: &mut PgConnection, body: Value, now: Timestamp) -> ApiResult<Form> {
    let Value::Object(mut map) = body else {
        let message = format!("The body must be an object, not {}.", kind_of(&body));
        return Err(ApiError::Malformed(message));
    };
    for name in OF_THE_MONITOR {
        map.remove(name);
    }
    let mut about = Map::new();
    for name in ABOUT.into_iter().chain(["members"]) {
        if let Some(value) = map.remove(name) {
            about.insert(name.to_owned(), value);
        }
    }
    for name in ["id", "definition_revision"] {
        if map.contains_key(name) {
            return Err(ApiError::invalid(name, "is given out here, and cannot be chosen"));
        }
    }
    if !map.contains_key("sli") && about.get("fleet").is_some_and(|fleet| !fleet.is_null()) {
        map.insert("sli".to_owned(), "requests".into());
    }
    map.retain(|_, value| !value.is_null());
    let definition = Value::Object(map);
    let mut about = Fields::of(Value::Object(about), "")?;
    let name = Name::parse("name", &about.required_string("name")?)?;
    let service = text(&mut about, "service", 200)?;
    let description = text(&mut about, "description", 1_050)?;
    let owner = text(&mut about, "owner", 200)?;
    let labels = labels(about.take("labels"))?;
    let channels = channels(conn, about.list("channels")?).await?;
    let words = Words::of(&mut about)?;
    let objective = document::objective(definition.clone(), now.as_millisecond())?;
    if let Some(i) = objective.definition.rules.iter().position(|rule| !is_rule_name(&rule.name)) {
        let place = format!("rules[{i}].name");
        let why = format!(
            "must be 1 to 60 letters, digits, _ - or ., and not {BUDGET}, which is the alert on the budget itself"
        );
        return Err(ApiError::invalid(place, why));
    }
    let subject = words.subject(conn, &objective).await?;
    fits(&objective.definition, &subject)?;
    few_bounds(conn, &objective.definition, &subject).await?;
    let mut form = Form {
        values: Values {
            name: name.into_string(),
            service,
            description,
            owner,
            labels,
            subject,
            definition,
            channels,
        },
        objective,
        warnings: Vec::new(),
    };
    form.warnings = warnings(conn, &form.values.subject, &form.objective.definition).await?;
    Ok(form)
}

/// What is strange about a definition, with what its monitors can tell.
pub async fn warnings(
    conn: &mut PgConnection,
    subject: &Subject,
    definition: &Definition,
) -> ApiResult<Vec<Warning>> {
    let keys: Vec<i32> = subject.monitors().iter().map(|key| key.0).collect();
    let resolution = slo_inputs::resolution(&store::slo_state::monitors(conn, &keys).await?);
    Ok(warning::of(&Definition { resolution, ..definition.clone() }))
}

/// It becomes part of the subject of incidents.
fn is_rule_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=60).contains(&name.len()) && name.chars().all(plain) && name != BUDGET
}

fn text(fields: &mut Fields, name: &str, longest: usize) -> Result<String, Invalid> {
    let text = fields.string(name)?.unwrap_or_default().trim().to_owned();
    if text.chars().count() > longest {
        return Err(Invalid::new(name, format!("is longer than {longest} characters")));
    }
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(Invalid::new(name, "holds a control character"));
    }
    Ok(text)
}

fn labels(value: Option<Value>) -> ApiResult<Value> {
    let Some(value) = value else { return Ok(Value::Object(Map::new())) };
    let Value::Object(map) = value else {
        return Err(ApiError::invalid("labels", "must be an object of texts"));
    };
    let mut all = BTreeMap::new();
    for (key, value) in map {
        let Value::String(text) = value else {
            let why = format!("must be text, not {}", kind_of(&value));
            return Err(ApiError::invalid(format!("labels.{key}"), why));
        };
        all.insert(key, text);
    }
    let all = parse_labels(all)?;
    Ok(all.into_iter().map(|(key, text)| (key, Value::String(text))).collect())
}

async fn channels(
    conn: &mut PgConnection,
    list: Option<Vec<Value>>,
) -> ApiResult<Option<Vec<Uuid>>> {
    let Some(list) = list else { return Ok(None) };
    let known = store::channels::list(conn).await?;
    let mut chosen = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        let word = value.as_str().unwrap_or_default();
        let found = known.iter().find(|c| c.name == word || c.id.to_string() == word);
        let Some(channel) = found else {
            return Err(ApiError::given(format!("channels[{i}]"), word, "is no channel"));
        };
        if !chosen.contains(&channel.id) {
            chosen.push(channel.id);
        }
    }
    Ok(Some(chosen))
}

/// Ids or names of what it is about.
struct Words {
    monitor: Option<String>,
    fleet: Option<String>,
    members: Option<Vec<String>>,
}

impl Words {
    fn of(fields: &mut Fields) -> Result<Self, Invalid> {
        let members = fields.list("members")?.map(|list| {
            let words = list.into_iter().enumerate().map(|(i, value)| match value {
                Value::String(word) => Ok(word),
                other => {
                    let why = format!("must be an id or a name, not {}", kind_of(&other));
                    Err(Invalid::new(format!("members[{i}]"), why))
                }
            });
            words.collect::<Result<Vec<_>, _>>()
        });
        let members = members.transpose()?;
        Ok(Self { monitor: fields.string("monitor")?, fleet: fields.string("fleet")?, members })
    }

    async fn subject(self, conn: &mut PgConnection, of: &Objective) -> ApiResult<Subject> {
        let Self { monitor, fleet, members } = self;
        let composite = members.is_some() || of.composite.is_some();
        if composite {
            let beside = [("monitor", monitor.is_some()), ("fleet", fleet.is_some())];
            if let Some((name, _)) = beside.iter().find(|(_, given)| *given) {
                return Err(ApiError::invalid(
                    *name,
                    "cannot stand beside the members of a composite",
                ));
            }
            return Ok(Subject::Composite(composite_of(conn, members).await?));
        }
        let monitor = match monitor {
            Some(word) => monitors(conn, &[word], "monitor").await?.pop(),
            None => None,
        };
        match (fleet, monitor) {
            (Some(word), monitor) => {
                let row = store::fleets::named(conn, &word).await?;
                let row = row.ok_or_else(|| ApiError::given("fleet", &word, "is no fleet"))?;
                Ok(Subject::Fleet { fleet: row.key, monitor })
            }
            (None, Some(monitor)) => Ok(Subject::Monitor(monitor)),
            (None, None) => Err(ApiError::invalid(
                "monitor",
                "is missing: name a monitor, a fleet, or the members of a composite",
            )),
        }
    }
}

async fn composite_of(
    conn: &mut PgConnection,
    members: Option<Vec<String>>,
) -> ApiResult<Vec<MonitorKey>> {
    let words = members.unwrap_or_default();
    if words.is_empty() {
        return Err(ApiError::invalid(
            "members",
            "is missing: name the monitors that are judged together",
        ));
    }
    if words.len() > MOST_MEMBERS {
        let why = format!("has more than {MOST_MEMBERS} entries");
        return Err(ApiError::invalid("members", why));
    }
    monitors(conn, &words, "members").await
}

/// Keys of monitors in the order of their ids or names, each once.
async fn monitors(
    conn: &mut PgConnection,
    words: &[String],
    field: &str,
) -> ApiResult<Vec<MonitorKey>> {
    let known = store::monitors::named(conn, words).await?;
    let mut keys = Vec::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        let place = if field == "monitor" { field.to_owned() } else { format!("{field}[{i}]") };
        let found = known.iter().find(|(_, uid, name)| name == word || uid.to_string() == *word);
        let Some((key, _, _)) = found else {
            return Err(ApiError::given(place, word, "is no monitor"));
        };
        if keys.contains(key) {
            return Err(ApiError::given(place, word, "is named twice"));
        }
        keys.push(*key);
    }
    Ok(keys)
}

/// Each bound on requests is counted as lines come, so that there are few of a fleet.
async fn few_bounds(
    conn: &mut PgConnection,
    definition: &Definition,
    subject: &Subject,
) -> ApiResult<()> {
    let (Sli::Requests { within_us: Some(bound), .. }, Some(fleet)) =
        (definition.sli, subject.fleet())
    else {
        return Ok(());
    };
    let known = store::slo_requests::bounds(conn, fleet).await?;
    if known.contains(&bound) || known.len() < MOST_BOUNDS {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    let known = known.join(", ");
    let why = format!(
        "would be one more than the {MOST_BOUNDS} that are counted of a fleet; take one of {known}"
    );
    Err(ApiError::given("threshold_us", &bound.to_string(), &why))
}

/// What can be told of a subject from stored state.
fn fits(definition: &Definition, subject: &Subject) -> Result<(), Invalid> {
    let refuse = |why: &str| Err(Invalid::given("sli", definition.sli.name(), why));
    match (definition.sli, subject) {
        (Sli::Slices { .. }, _) => {
            refuse("is worked out by `quorate slo eval` only; use availability or probe_ratio")
        }
        (Sli::ProbeRatio { weight: Weight::SliceMean(_) }, _) => Err(Invalid::new(
            "weight",
            "by slices is worked out by `quorate slo eval` only; use pooled or location_mean",
        )),
        (Sli::Requests { fallback: Some(_), .. }, Subject::Fleet { monitor: None, .. }) => {
            Err(Invalid::new("monitor", "is missing: with fallback it speaks for quiet minutes"))
        }
        (Sli::Requests { .. }, Subject::Fleet { .. }) => Ok(()),
        (Sli::Requests { .. }, _) => refuse("needs a fleet, whose balancer saw the requests"),
        (_, Subject::Fleet { .. }) => refuse("is not told of a fleet; requests is"),
        (Sli::Availability, _) | (_, Subject::Monitor(_)) => Ok(()),
        (_, Subject::Composite(_)) => refuse("is not told of a composite; availability is"),
    }
}
