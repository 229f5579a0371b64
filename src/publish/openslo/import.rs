//! Reading: every objective of every SLO of a file, or the first thing that cannot be taken over. What is
//! taken over with a loss is told.

mod indicator;

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::{annotation, decimal, is_name, read_share};
use super::parts::{Slices, compared, source, target};
use super::{LONGEST_DESCRIPTION, Objective, Source, VERSION, rules, windows};
use crate::domain::fields::Fields;
use crate::domain::slo::definition::{
    Definition, MaintenancePolicy, Resolution, Share, Sli, Target, UnknownPolicy,
};
use crate::domain::slo::slot::{Policy, Quorum};
use crate::domain::slo::window::DAY;
use crate::domain::{Invalid, Millis};
use crate::publish::yaml;

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    pub objectives: Vec<Objective>,
    /// Of each objective: which document of the file it stands in, from 0.
    pub documents: Vec<usize>,
    /// In words, each with the SLO that it is about.
    pub warnings: Vec<String>,
}

/// The SLOs of a text of YAML (or JSON) documents.
pub fn import(text: &str) -> Result<Imported, Invalid> {
    let mut objects = Vec::new();
    for document in yaml::read(text)? {
        match document {
            Value::Array(list) => objects.extend(list),
            Value::Null => {}
            other => objects.push(other),
        }
    }
    let file = File { objects };
    let mut out = Imported::default();
    for (index, object) in file.objects.iter().enumerate() {
        let place = format!("documents[{index}]");
        file.check(object).map_err(|error| error.under(&place))?;
        if object.get("kind").and_then(Value::as_str) == Some("SLO") {
            let name = text_at(object, "/metadata/name").unwrap_or_default();
            let mut warnings = Vec::new();
            let found = Slo { file: &file, object, warnings: &mut warnings }
                .read()
                .map_err(|error| error.under(&place))?;
            out.documents.extend(found.iter().map(|_| index));
            out.objectives.extend(found);
            out.warnings.extend(warnings.into_iter().map(|text| format!("{name}: {text}")));
        }
    }
    if out.objectives.is_empty() {
        return Err(Invalid::new("", "holds no object of kind SLO"));
    }
    Ok(out)
}

/// All objects, which may name each other.
struct File {
    objects: Vec<Value>,
}

const KINDS: [&str; 7] = [
    "DataSource",
    "SLO",
    "SLI",
    "AlertPolicy",
    "AlertCondition",
    "AlertNotificationTarget",
    "Service",
];

impl File {
    fn check(&self, object: &Value) -> Result<(), Invalid> {
        if !object.is_object() {
            return Err(Invalid::new("", "is no object with apiVersion and kind"));
        }
        match object.get("apiVersion").and_then(Value::as_str) {
            Some(VERSION) => {}
            Some(draft @ "openslo/v1alpha") => {
                let why = "is not read here: it writes SLOs differently; write them as openslo/v1";
                return Err(Invalid::given("apiVersion", draft, why));
            }
            Some(other) => {
                let why = "is not read here; known is openslo/v1";
                return Err(Invalid::given("apiVersion", other, why));
            }
            None => return Err(Invalid::new("apiVersion", "is missing: openslo/v1")),
        }
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        if !KINDS.contains(&kind) {
            let known = format!("is no kind of the format; known are {}", KINDS.join(", "));
            return Err(Invalid::given("kind", kind, &known));
        }
        let name = text_at(object, "/metadata/name").unwrap_or_default();
        if !is_name(name) {
            let why = "is no name: lower-case letters, digits and hyphens, at most 63";
            return Err(Invalid::given("metadata.name", name, why));
        }
        Ok(())
    }

    fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let named = |object: &&Value| {
            object.get("kind").and_then(Value::as_str) == Some(kind)
                && text_at(object, "/metadata/name") == Some(name)
        };
        self.objects.iter().find(named).cloned()
    }
}

fn text_at<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// One object of the kind SLO while it is read.
struct Slo<'a> {
    file: &'a File,
    object: &'a Value,
    warnings: &'a mut Vec<String>,
}

impl Slo<'_> {
    fn read(mut self) -> Result<Vec<Objective>, Invalid> {
        let spec = self.object.get("spec").cloned().unwrap_or(Value::Null);
        let mut fields = Fields::of(spec, "spec")?;
        let under = |error: Invalid| error.under("spec");
        let service = fields.required_string("service").map_err(under)?;
        let service = self.note("service").unwrap_or(service);
        let description = fields.string("description").map_err(under)?;
        if description.as_ref().is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION) {
            let why = format!("is longer than {LONGEST_DESCRIPTION} characters");
            return Err(Invalid::new("spec.description", why));
        }
        let method = fields.required_string("budgetingMethod").map_err(under)?;
        let (window, zone) = self.window(fields.list("timeWindow").map_err(under)?)?;
        let indicator = self.indicator(&mut fields, "spec")?;
        let targets = fields.list("objectives").map_err(under)?.unwrap_or_default();
        let policies = fields.list("alertPolicies").map_err(under)?.unwrap_or_default();
        let timezone = zone.or_else(|| self.note("timezone")).unwrap_or_else(|| "UTC".to_owned());
        let rules = self.rules(policies, window.nominal())?;
        let frame = Definition { rules, window, timezone, ..self.policies()? };
        let shell = Shell { service, description, method, indicator, frame };
        self.objectives(targets, &shell)
    }

    fn window(
        &mut self,
        list: Option<Vec<Value>>,
    ) -> Result<(crate::domain::slo::window::Window, Option<String>), Invalid> {
        let mut list = list.unwrap_or_default();
        match list.len() {
            0 => Err(Invalid::new(
                "spec.timeWindow",
                "is missing: an SLO here is judged over a window",
            )),
            1 => windows::read(list.remove(0), self.warnings)
                .map_err(|error| error.under("spec.timeWindow[0]")),
            more => {
                Err(Invalid::new("spec.timeWindow", format!("has {more} entries; one is allowed")))
            }
        }
    }

    /// `indicator`, or the SLI that `indicatorRef` names.
    fn indicator(&self, fields: &mut Fields, place: &str) -> Result<Option<Value>, Invalid> {
        let own = fields.take("indicator");
        let reference = fields.string("indicatorRef").map_err(|error| error.under(place))?;
        match (own, reference) {
            (Some(_), Some(_)) => {
                Err(Invalid::new(format!("{place}.indicatorRef"), "cannot stand beside indicator"))
            }
            (own, None) => Ok(own),
            (None, Some(name)) => {
                let found = self.file.find("SLI", &name).ok_or_else(|| {
                    let field = format!("{place}.indicatorRef");
                    Invalid::given(&field, &name, "is no SLI of this file")
                })?;
                let keep = |key: &str| Some((key.to_owned(), found.get(key)?.clone()));
                Ok(Some(Value::Object(
                    ["metadata", "spec"].iter().filter_map(|key| keep(key)).collect(),
                )))
            }
        }
    }

    fn rules(
        &mut self,
        policies: Vec<Value>,
        window: Millis,
    ) -> Result<Vec<crate::domain::slo::definition::Rule>, Invalid> {
        let mut out: Vec<crate::domain::slo::definition::Rule> = Vec::new();
        let file = self.file;
        for (index, policy) in policies.into_iter().enumerate() {
            let place = format!("spec.alertPolicies[{index}]");
            let reference = policy.as_str().or_else(|| policy.get("alertPolicyRef")?.as_str());
            let policy = match reference {
                None => policy,
                Some(name) => file.find("AlertPolicy", name).ok_or_else(|| {
                    Invalid::given(&place, name, "is no AlertPolicy of this file")
                })?,
            };
            let resolve = |kind: &str, name: &str| file.find(kind, name);
            let rule = rules::read(&policy, window, &resolve, self.warnings)
                .map_err(|error| error.under(&place))?;
            if out.iter().any(|other| other.name == rule.name) {
                return Err(Invalid::given(&place, &rule.name, "is the name of another policy"));
            }
            out.push(rule);
        }
        Ok(out)
    }

    /// What stands in annotations, by its name without the prefix.
    fn note(&self, name: &str) -> Option<String> {
        let notes = self.object.pointer("/metadata/annotations")?;
        notes.get(annotation(name))?.as_str().map(str::to_owned)
    }

    /// A number or a word of the annotations.
    fn noted<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Invalid> {
        let Some(text) = self.note(name) else { return Ok(None) };
        let field = format!("metadata.annotations[{}]", annotation(name));
        read(&text).map(Some).ok_or_else(|| Invalid::given(&field, &text, "cannot be read"))
    }

    /// The policies, and nothing of what the format itself says.
    fn policies(&self) -> Result<Definition, Invalid> {
        let unknown = |text: &str| {
            [UnknownPolicy::Exclude, UnknownPolicy::Up, UnknownPolicy::Down]
                .into_iter()
                .find(|policy| super::export::unknown(*policy) == text)
        };
        let maintenance = |text: &str| {
            [MaintenancePolicy::Exclude, MaintenancePolicy::CountAsUp, MaintenancePolicy::Ignore]
                .into_iter()
                .find(|policy| super::export::maintenance(*policy) == text)
        };
        let small = |most: u32| move |text: &str| text.parse().ok().filter(|n: &u32| *n <= most);
        Ok(Definition {
            target: Target::new(1).ok_or_else(|| Invalid::new("target", "is out of range"))?,
            sli: Sli::Availability,
            window: crate::domain::slo::window::Window::Rolling { days: 30 },
            timezone: "UTC".to_owned(),
            unknown_policy: self.noted("unknown-policy", unknown)?.unwrap_or_default(),
            maintenance_policy: self.noted("maintenance-policy", maintenance)?.unwrap_or_default(),
            partial_weight_ppm: self.noted("partial-weight-ppm", small(1_000_000))?.unwrap_or(0),
            coverage_min: self.noted("coverage-min", read_share)?.unwrap_or(Share::percent(90)),
            rules: Vec::new(),
            decimals: self.noted("decimals", small(9))?.unwrap_or(3),
            resolution: None,
        })
    }

    fn objectives(
        &mut self,
        targets: Vec<Value>,
        shell: &Shell,
    ) -> Result<Vec<Objective>, Invalid> {
        if targets.is_empty() {
            return Err(Invalid::new("spec.objectives", "is missing: the target stands there"));
        }
        let composite = targets.iter().any(|target| {
            ["indicator", "indicatorRef", "compositeWeight"]
                .iter()
                .any(|key| target.get(key).is_some())
        });
        if composite && shell.method != "Timeslices" {
            let why = "is made of objectives with indicators of their own (a composite); only Timeslices can be, because verdicts are joined here and not ratios";
            return Err(Invalid::given("spec.budgetingMethod", &shell.method, why));
        }
        let several = targets.len() > 1;
        let mut out = Vec::with_capacity(targets.len());
        for (index, target) in targets.into_iter().enumerate() {
            let place = format!("spec.objectives[{index}]");
            let mut objective = self.objective(target, shell, &place)?;
            if several {
                objective.name = format!("{}-{index}", objective.name);
            }
            out.push(objective);
        }
        if several {
            let count = out.len();
            self.warnings.push(format!(
                "{count} objectives are read as {count} SLOs, named -0 to -{}",
                count - 1
            ));
        }
        Ok(out)
    }

    fn objective(
        &mut self,
        value: Value,
        shell: &Shell,
        place: &str,
    ) -> Result<Objective, Invalid> {
        let mut fields = Fields::of(value, place)?;
        let own = self.indicator(&mut fields, place)?;
        if fields
            .take("compositeWeight")
            .is_some_and(|weight| decimal(&weight).as_deref() != Some("1"))
        {
            self.warnings
                .push("compositeWeight is not kept: each part is an SLO of its own".to_owned());
        }
        let target = target(&mut fields, place)?;
        let compared = compared(&mut fields);
        let slice_target = fields.take("timeSliceTarget");
        let slice_window = fields.string("timeSliceWindow").map_err(|e| e.under(place))?;
        let indicator = own.or_else(|| shell.indicator.clone()).ok_or_else(|| {
            Invalid::new("spec.indicator", "is missing: indicator or indicatorRef")
        })?;
        let source = source(&indicator, compared);
        if let Source::Foreign { .. } = &source {
            self.warnings
                .push("its metric source is kept as it is and not evaluated here".to_owned());
        }
        let slices = Slices { target: slice_target, window: slice_window };
        let sli = self.sli(&indicator, &source, shell, &slices, place)?;
        let quorum = self.quorum()?;
        let locations = self.noted("locations", |text| text.parse().ok().filter(|n| *n > 0))?;
        let interval = self.noted("slot-ms", |text| {
            text.parse().ok().filter(|ms: &Millis| (1..=DAY).contains(ms))
        })?;
        let resolution = interval
            .zip(locations)
            .map(|(interval, n): (Millis, u32)| Resolution::of(interval, &quorum, n as usize));
        let shown = text_at(self.object, "/metadata/displayName");
        let name = shown.or(text_at(self.object, "/metadata/name")).unwrap_or_default();
        Ok(Objective {
            name: name.to_owned(),
            service: shell.service.clone(),
            description: shell.description.clone(),
            owner: self.note("owner"),
            labels: self.labels(),
            channels: self.noted("channels", |text| serde_json::from_str(text).ok())?,
            source,
            usual_rules: self.note("rules").as_deref() == Some("usual"),
            definition: Definition { target, sli, resolution, ..shell.frame.clone() },
            quorum,
            locations,
            interval,
        })
    }

    fn labels(&mut self) -> BTreeMap<String, String> {
        let labels = self.object.pointer("/metadata/labels").and_then(Value::as_object);
        let mut out = BTreeMap::new();
        for (name, value) in labels.into_iter().flatten() {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Array(list) => {
                    let all: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                    self.warnings.push(format!(
                        "label {name} has several values, which are joined by commas"
                    ));
                    all.join(",")
                }
                other => other.to_string(),
            };
            out.insert(name.clone(), text);
        }
        out
    }

    fn quorum(&self) -> Result<Quorum, Invalid> {
        let policy = |text: &str| match text.split_once(':') {
            Some(("at_least", k)) => k.parse().ok().filter(|k| *k > 0).map(Policy::AtLeast),
            _ => {
                [Policy::Majority, Policy::Any, Policy::All].into_iter().find(|p| p.name() == text)
            }
        };
        let count = |text: &str| text.parse().ok().filter(|n: &u32| (1..=1_000).contains(n));
        Ok(Quorum {
            policy: self.noted("quorum", policy)?.unwrap_or(Policy::Majority),
            min_valid: self.noted("min-valid", count)?,
            confirm: self.noted("confirm", count)?,
        })
    }
}

/// What all objectives of an SLO share.
struct Shell {
    service: String,
    description: Option<String>,
    method: String,
    indicator: Option<Value>,
    frame: Definition,
}
