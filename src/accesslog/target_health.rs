//! `aws elbv2 describe-target-health --output json`: what the load balancer thinks of each target at one
//! instant (spec: fleet 1.7).

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{self, Invalid, address, items, number, text};
use crate::domain::fleet::event::{Event, Source, State, What};

/// The state of every target. The document has no stamp, so the caller says when it was taken.
pub fn read(document: &[u8], at_us: i64) -> Result<Vec<Event>, Invalid> {
    let values = document::values(document)?;
    let lists = values.iter().filter(|value| value.get(LIST).is_some_and(Value::is_array));
    let targets: Vec<&Value> =
        lists.flat_map(|value| items(value, "/TargetHealthDescriptions")).collect();
    if targets.is_empty() && !values.iter().any(|value| value.get(LIST).is_some()) {
        return Err(Invalid::Foreign { expected: "TargetHealthDescriptions" });
    }
    // One host with several ports is several targets: then its bare name means none of them.
    let mut ports: BTreeMap<&str, usize> = BTreeMap::new();
    for id in targets.iter().filter_map(|target| text(target, "/Target/Id")) {
        *ports.entry(id).or_default() += 1;
    }
    let alone = |id: &str| ports.get(id) == Some(&1);
    Ok(targets.iter().filter_map(|target| event(target, at_us, &alone)).collect())
}

const LIST: &str = "TargetHealthDescriptions";

fn event(target: &Value, at_us: i64, alone: &dyn Fn(&str) -> bool) -> Option<Event> {
    let id = text(target, "/Target/Id")?;
    let code = text(target, "/TargetHealth/Reason");
    let state = state(text(target, "/TargetHealth/State")?, code);
    let mut event = Event::new(at_us, Source::AlbHealth, What::State(state));
    event = match number(target, "/Target/Port") {
        Some(port) => event.of(address(id, port)),
        None => event.of(id),
    };
    if alone(id) && event.instance.as_deref() != Some(id) {
        event.aliases.push(id.to_owned());
    }
    event.zone =
        text(target, "/Target/AvailabilityZone").filter(|zone| *zone != "all").map(str::to_owned);
    event.reason = reason(target, code);
    Some(event)
}

fn state(name: &str, code: Option<&str>) -> State {
    match name {
        "healthy" => State::Ready,
        "initial" => State::Starting,
        "draining" | "unhealthy.draining" => State::Draining,
        // Not registered any more, or its machine is stopped or terminated.
        "unused" if matches!(code, Some("Target.NotRegistered" | "Target.InvalidState")) => {
            State::Gone
        }
        // Registered, but no listener uses it or its zone is not enabled.
        "unused" => State::Maintenance,
        // Health checks are off.
        "unavailable" => State::Unknown,
        _ => State::Unready,
    }
}

/// Code and words, and that the balancer weighs the target down because it errs more than the others.
fn reason(target: &Value, code: Option<&str>) -> Option<String> {
    let words = text(target, "/TargetHealth/Description");
    let anomaly = match text(target, "/AnomalyDetection/Result") {
        Some("anomalous") => match text(target, "/AnomalyDetection/MitigationInEffect") {
            Some("yes") => Some("anomalous, gets less traffic"),
            _ => Some("anomalous"),
        },
        _ => None,
    };
    let stated = match (code, words) {
        (Some(code), Some(words)) => Some(format!("{code}: {words}")),
        (one, other) => one.or(other).map(str::to_owned),
    };
    match (stated, anomaly) {
        (Some(stated), Some(anomaly)) => Some(format!("{stated}; {anomaly}")),
        (stated, anomaly) => stated.or(anomaly.map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &[u8] = include_bytes!("../../tests/logs/target_health.json");

    #[test]
    fn every_state_of_a_target() {
        let events = read(TARGETS, 7).unwrap();
        let line = |event: &Event| {
            let What::State(state) = event.what else { panic!("{event:?}") };
            let name = event.instance.as_deref().unwrap();
            let reason = event.reason.as_deref().unwrap_or_default();
            let zone = event.zone.as_deref().unwrap_or("-");
            assert_eq!((event.at_us, event.source), (7, Source::AlbHealth));
            format!("{name} {:?} {} {zone} {reason}", event.aliases, state.as_str())
        };
        assert_eq!(
            events.iter().map(line).collect::<Vec<_>>(),
            [
                r#"10.9.0.11:8443 ["10.9.0.11"] ready eu-central-1a "#,
                r#"10.9.0.12:8443 ["10.9.0.12"] unready eu-central-1b Target.ResponseCodeMismatch: Health checks failed with these codes: [502]"#,
                r#"10.9.0.13:8443 ["10.9.0.13"] starting eu-central-1a Elb.RegistrationInProgress: Target registration is in progress"#,
                r#"10.9.0.14:8443 ["10.9.0.14"] draining eu-central-1a Target.DeregistrationInProgress: Target deregistration is in progress"#,
                r#"10.9.0.15:8443 ["10.9.0.15"] maintenance eu-central-1c Target.NotInUse: Target is in an Availability Zone that is not enabled for the load balancer"#,
                r#"10.9.0.16:8443 ["10.9.0.16"] gone eu-central-1a Target.InvalidState: Target is in the stopped state"#,
                r#"10.9.0.17:8443 ["10.9.0.17"] unknown eu-central-1a Target.HealthCheckDisabled: Health checks are not enabled for this target"#,
                r#"i-0f76fade435676abd:32768 [] ready eu-central-1a anomalous, gets less traffic"#,
                r#"i-0f76fade435676abd:32769 [] unready eu-central-1a Target.Timeout: Request timed out"#,
                r#"[2001:db8::7]:8443 ["2001:db8::7"] ready - "#,
            ]
        );
    }

    #[test]
    fn what_is_no_such_document_is_refused_with_its_reason() {
        let refused = |text: &str| read(text.as_bytes(), 0).unwrap_err().to_string();
        assert!(refused("TARGETHEALTHDESCRIPTIONS").contains("not JSON"));
        assert!(refused(r#"{"kind":"List"}"#).contains("TargetHealthDescriptions"));
        assert_eq!(read(br#"{"TargetHealthDescriptions":[]}"#, 0).unwrap(), []);
        let odd = br#"{"TargetHealthDescriptions":[null,{"Target":{"Id":"a"}},
            {"Target":{"Id":"arn:aws:lambda:x"},"TargetHealth":{"State":"healthy"}}]}"#;
        assert_eq!(read(odd, 0).unwrap()[0].instance.as_deref(), Some("arn:aws:lambda:x"));
    }

    #[test]
    fn the_two_kinds_of_documents_are_told_apart() {
        use crate::accesslog::{Format, document::recognise};
        assert_eq!(recognise(TARGETS), Some(Format::TargetHealth));
        let pods = include_bytes!("../../tests/logs/kubernetes_watch.json");
        assert_eq!(recognise(pods), Some(Format::Kubernetes));
        assert_eq!(recognise(br#"{"ts":1,"status":200}"#), None);
        assert_eq!(recognise(b"10.0.0.1 - - \"apiVersion\" \"kind\""), None);
    }
}
