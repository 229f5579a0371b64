//! OpenSLO: reading what was written gives the same, and what cannot be taken over is refused by name.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use quorate::domain::slo::definition::{
    Definition, Denominator, MaintenancePolicy, Resolution, Rule, RuleSeverity, Share, Sli, Target,
    UnknownPolicy, Weight,
};
use quorate::domain::slo::slot::{Policy, Quorum};
use quorate::domain::slo::window::{Unit, Window, zone};
use quorate::publish::openslo::{Imported, Objective, Source, export, import};
use quorate::publish::{sloth, yaml};
use serde_json::{Value, json};

use super::sample;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,30}",
        // What YAML readers take for something else than text.
        proptest::sample::select(vec![
            "no",
            "~",
            "null",
            "1e3",
            "0x10",
            "1_000",
            "2026-01-01",
            "- a",
            "a: b",
            "#x",
            "'",
            "\"",
            "&a",
            "*a",
            "!x",
            "%",
            "@",
            "`",
            " lead",
            "trail ",
            "12:30:45",
            "<<",
            "true",
            "…",
        ])
        .prop_map(str::to_owned),
    ]
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        (0_u64..=1_000).prop_map(|num| Share { num, den: 1_000 }),
        (1_u64..1 << 40, 0_u64..1 << 40).prop_map(|(a, b)| Share { num: a, den: a + b }),
    ]
}

fn sli() -> impl Strategy<Value = Sli> {
    let slice = || proptest::sample::select(vec![60_000_i64, 300_000, 3_600_000, 90_000, 500]);
    prop_oneof![
        Just(Sli::Availability),
        Just(Sli::ProbeRatio { weight: Weight::Pooled }),
        Just(Sli::ProbeRatio { weight: Weight::LocationMean }),
        slice().prop_map(|slice| Sli::ProbeRatio { weight: Weight::SliceMean(slice) }),
        (slice(), share()).prop_map(|(slice, target)| Sli::Slices { slice, target }),
        (1_u32.., any::<bool>()).prop_map(|(threshold_us, all)| Sli::Latency {
            threshold_us,
            denominator: if all { Denominator::All } else { Denominator::OkOnly },
        }),
        (option::of(1_u32..), option::of(1_u32..))
            .prop_map(|(within_us, fallback)| Sli::Requests { within_us, fallback }),
    ]
}

fn window() -> impl Strategy<Value = (Window, String)> {
    let units = vec![Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];
    let zones = || {
        proptest::sample::select(vec![
            "UTC",
            "Europe/Berlin",
            "Australia/Lord_Howe",
            "Asia/Kathmandu",
        ])
    };
    let anchor = option::of((1971_i16..2100, 1_i8..13, 1_i8..29));
    prop_oneof![
        (1_u16..=3_660, zones())
            .prop_map(|(days, name)| (Window::Rolling { days }, name.to_owned())),
        (proptest::sample::select(units), zones(), anchor).prop_map(|(unit, name, anchor)| {
            let anchor = anchor.map(|(y, m, d)| jiff::civil::date(y, m, d));
            (Window::Calendar { unit, zone: zone(name).unwrap(), anchor }, name.to_owned())
        }),
    ]
}

prop_compose! {
    fn rule()(name in text(), page in any::<bool>(), long in prop_oneof![1_i64..5_000_000_000, (1_i64..5_000).prop_map(|m| m * 60_000)],
              part in 1_i64..100, fraction in share(), min_bad in any::<u64>()) -> Rule {
        let severity = if page { RuleSeverity::Page } else { RuleSeverity::Ticket };
        Rule { name, severity, long, short: (long * part / 100).max(1), fraction, min_bad }
    }
}

prop_compose! {
    fn definition()(ppb in 1_u64..1_000_000_000, sli in sli(), (window, timezone) in window(),
                    unknown in 0..3, maintenance in 0..3, weight in prop_oneof![Just(0), 0_u32..=1_000_000],
                    coverage_min in share(), rules in vec(rule(), 0..4), decimals in 0_u32..=9) -> Definition {
        let mut seen = Vec::new();
        let rules = rules.into_iter().filter(|rule| {
            let new = !seen.contains(&rule.name);
            seen.push(rule.name.clone());
            new
        }).collect();
        Definition {
            target: Target::new(ppb).unwrap(),
            sli,
            window,
            timezone,
            unknown_policy: [UnknownPolicy::Exclude, UnknownPolicy::Up, UnknownPolicy::Down][unknown as usize],
            maintenance_policy: [MaintenancePolicy::Exclude, MaintenancePolicy::CountAsUp, MaintenancePolicy::Ignore][maintenance as usize],
            partial_weight_ppm: weight,
            coverage_min,
            rules,
            decimals,
            resolution: None,
        }
    }
}

fn quorum() -> impl Strategy<Value = Quorum> {
    let policy = prop_oneof![
        Just(Policy::Majority),
        Just(Policy::Any),
        Just(Policy::All),
        (1_u32..9).prop_map(Policy::AtLeast),
    ];
    (policy, option::of(1_u32..9), option::of(1_u32..9))
        .prop_map(|(policy, min_valid, confirm)| Quorum { policy, min_valid, confirm })
}

fn source() -> impl Strategy<Value = Source> {
    let foreign = (text(), any::<u32>(), -1e9..1e9_f64).prop_map(|(query, number, value)| Source::Foreign {
        indicator: json!({"metadata": {"name": "theirs"}, "spec": {"ratioMetric": {"counter": true,
            "good": {"metricSource": {"type": "Prometheus", "spec": {"query": query, "n": number, "list": [1, null, true]}}},
            "total": {"metricSource": {"type": "Prometheus", "metricSourceRef": "x", "spec": {"query": query}}}}}}),
        compared: json!({"op": "lte", "value": value}),
    });
    prop_oneof![
        text().prop_map(Source::Monitor),
        (text(), option::of(text())).prop_map(|(fleet, monitor)| Source::Fleet { fleet, monitor }),
        vec(text(), 1..4)
            .prop_map(|monitors| Source::Composite { rule: "any_down".into(), monitors }),
        foreign,
    ]
}

prop_compose! {
    fn objective()(name in text(), service in text(), description in option::of("\\PC{1,40}(\n\\PC{1,20}){0,2}"),
                   owner in option::of(text()), labels in btree_map("[a-z]{1,6}", text(), 0..3),
                   source in source(), definition in definition(), quorum in quorum(),
                   locations in option::of(1_u32..20), interval in option::of(1_i64..86_400_000),
                   channels in option::of(vec(text(), 0..3)), usual_rules in any::<bool>()) -> Objective {
        let mut definition = definition;
        // Somebody else's metric has no states, latencies or requests of ours.
        let ours_only = matches!(definition.sli, Sli::Availability | Sli::Latency { .. } | Sli::Requests { .. });
        if matches!(source, Source::Foreign { .. }) && ours_only {
            definition.sli = Sli::ProbeRatio { weight: Weight::Pooled };
        }
        if matches!(definition.sli, Sli::Slices { target: Share { num: 0, .. }, .. }) {
            definition.sli = Sli::Slices { slice: 60_000, target: Share { num: 1, den: 2 } };
        }
        definition.resolution = interval.zip(locations)
            .map(|(interval, n)| Resolution::of(interval, &quorum, n as usize));
        Objective {
            name, service, description, owner, labels, channels, source, definition, usual_rules, quorum, locations, interval,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn reading_what_was_written_gives_the_same(objectives in vec(objective(), 1..3)) {
        let text = export(&objectives).unwrap();
        let again = import(&text).map_err(|e| TestCaseError::fail(format!("{e:?}\n{text}")))?;
        prop_assert_eq!(&again.objectives, &objectives, "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_stumble(text in "(---\n)?\\PC{0,60}(\n\\PC{0,40}){0,4}") {
        let _ = import(&text);
    }
}

/// As most would write it.
fn plain() -> Value {
    json!({
        "apiVersion": "openslo/v1",
        "kind": "SLO",
        "metadata": {"name": "checkout", "displayName": "Checkout"},
        "spec": {
            "service": "shop",
            "indicator": {"metadata": {"name": "checkout"}, "spec": {"ratioMetric": {"counter": true,
                "good": {"metricSource": {"type": "Prometheus", "spec": {"query": "good"}}},
                "total": {"metricSource": {"type": "Prometheus", "spec": {"query": "all"}}}}}},
            "timeWindow": [{"duration": "28d", "isRolling": true}],
            "budgetingMethod": "Occurrences",
            "objectives": [{"target": 0.999}],
        },
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut document = plain();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        parent => parent[name] = value,
    }
    document
}

fn read(document: &Value) -> Result<Imported, String> {
    import(&yaml::write(document)).map_err(|error| format!("{}: {}", error.field, error.message))
}

fn policy(op: &str) -> Value {
    json!({"kind": "AlertPolicy", "metadata": {"name": "fast"}, "spec": {
        "alertWhenBreaching": true,
        "conditions": [{"kind": "AlertCondition", "metadata": {"name": "fast"}, "spec": {"severity": "page",
            "condition": {"kind": "burnrate", "op": op, "threshold": 14.4, "lookbackWindow": "1h", "alertAfter": "5m"}}}],
        "notificationTargets": [{"targetRef": "on-call"}]}})
}

#[test]
fn somebody_else_s_file_is_read_and_kept() {
    let mut document = plain();
    document["spec"]["alertPolicies"] = json!([policy("gte")]);
    let read = read(&document).unwrap();
    let one = &read.objectives[0];
    assert_eq!((one.name.as_str(), one.service.as_str()), ("Checkout", "shop"));
    assert_eq!(one.definition.target.ppb(), 999_000_000);
    assert_eq!(one.definition.window, Window::Rolling { days: 28 });
    let Source::Foreign { indicator, .. } = &one.source else { panic!("{:?}", one.source) };
    assert_eq!(*indicator, document["spec"]["indicator"]);
    // 14.4 × 1 h of 28 days.
    let rule = &one.definition.rules[0];
    assert_eq!(rule.fraction, Share { num: 144, den: 6_720 });
    assert_eq!((rule.long, rule.short, rule.severity), (3_600_000, 300_000, RuleSeverity::Page));
    let told = read.warnings.join("\n");
    for words in ["not evaluated here", "the short one is 5m", "alertAfter 5m is not kept"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn what_cannot_be_taken_over_is_refused_by_its_field() {
    let window = "/spec/timeWindow/0";
    let calendar = |duration: &str, start: &str, zone: &str| json!({"duration": duration, "isRolling": false, "calendar": {"startTime": start, "timeZone": zone}});
    let first = "2026-01-01 00:00:00";
    let rolling = json!({"duration": "28d", "isRolling": true});
    let cases = [
        (
            with("/apiVersion", json!("openslo/v1alpha")),
            "apiVersion: \"openslo/v1alpha\" is not read here",
        ),
        (with("/kind", json!("Slo")), "kind: \"Slo\" is no kind"),
        (with("/metadata/name", json!("Check out")), "metadata.name: \"Check out\" is no name"),
        (
            with("/spec/timeWindow", json!([rolling, rolling])),
            "spec.timeWindow: has 2 entries; one is allowed",
        ),
        (with("/spec/timeWindow", json!([])), "spec.timeWindow: is missing"),
        (
            with("/spec/objectives/0/target", json!(0)),
            "spec.objectives[0].target: must be more than 0",
        ),
        (
            with("/spec/objectives/0/target", json!(1)),
            "spec.objectives[0].target: must be more than 0",
        ),
        (
            with("/spec/objectives/0/target", json!(1.0)),
            "spec.objectives[0].target: must be more than 0",
        ),
        (
            with("/spec/objectives/0", json!({"targetPercent": 100})),
            "spec.objectives[0].targetPercent: must be more than 0 and less than 100",
        ),
        (
            with("/spec/objectives/0", json!({"targetPercent": 99.9, "target": 0.999})),
            "targetPercent: cannot stand beside target",
        ),
        (with("/spec/objectives", json!([])), "spec.objectives: is missing"),
        (
            with(window, calendar("1m", first, "UTC")),
            "spec.timeWindow[0].duration: \"1m\" is no period of a calendar: m is a minute and h an hour; a month is 1M",
        ),
        (
            with(window, calendar("24h", first, "UTC")),
            "duration: \"24h\" is no period of a calendar",
        ),
        (
            with(window, calendar("2M", first, "UTC")),
            "duration: \"2M\" is no period of the calendar here",
        ),
        (
            with(window, calendar("1M", first, "Mars/Olympus")),
            "spec.timeWindow[0].calendar.timeZone: \"Mars/Olympus\" is no zone",
        ),
        (
            with(window, calendar("1M", "2026-01-01 06:00:00", "UTC")),
            "calendar.startTime: \"2026-01-01 06:00:00\" is no beginning of a day",
        ),
        (with(window, json!({"duration": "1M", "isRolling": false})), "calendar: is missing"),
        (
            with(window, json!({"duration": "90m", "isRolling": true})),
            "duration: \"90m\" is no whole number of days",
        ),
        (
            with("/spec/alertPolicies", json!([policy("lte")])),
            "spec.alertPolicies[0].spec.conditions[0].spec.condition.op: \"lte\" would alert while the budget burns slowly",
        ),
        (with("/spec/alertPolicies", json!([policy("lt")])), "condition.op: \"lt\" would alert"),
        (
            with("/spec/alertPolicies", json!([{"alertPolicyRef": "gone"}])),
            "spec.alertPolicies[0]: \"gone\" is no AlertPolicy of this file",
        ),
        (with("/spec/indicator", Value::Null), "spec.indicator: is missing"),
        (
            with("/spec/budgetingMethod", json!("Guess")),
            "spec.budgetingMethod: \"Guess\" is no method",
        ),
        (
            with("/spec/budgetingMethod", json!("Timeslices")),
            "timeSliceTarget: must be a number above 0",
        ),
        (
            with(
                "/spec/objectives",
                json!([{"target": 0.9, "indicatorRef": "a", "compositeWeight": 1}]),
            ),
            "spec.budgetingMethod: \"Occurrences\" is made of objectives with indicators of their own",
        ),
    ];
    for (document, message) in cases {
        let said = read(&document).expect_err(message);
        assert!(said.contains(message), "{message}\n{said}");
        assert!(said.starts_with("documents[0]"), "{said}");
    }
    let said =
        read(&json!({"apiVersion": "openslo/v1", "kind": "Service", "metadata": {"name": "shop"}}));
    assert!(said.unwrap_err().contains("holds no object of kind SLO"));
    assert!(import("a: [").unwrap_err().message.contains("is not YAML"));
}

#[test]
fn what_is_taken_over_with_a_loss_is_told() {
    let cases = [
        (with("/spec/timeWindow/0/duration", json!("1M")), "a rolling 1M is read as 30 days"),
        (with("/spec/timeWindow/0/duration", json!("1Q")), "a rolling 1Q is read as 90 days"),
        (with("/spec/timeWindow/0/duration", json!("1Y")), "a rolling 1Y is read as 365 days"),
        (with("/metadata/labels", json!({"team": ["a", "b"]})), "label team has several values"),
        (
            with("/spec/objectives", json!([{"target": 0.9}, {"target": 0.99}])),
            "2 objectives are read as 2 SLOs, named -0 to -1",
        ),
    ];
    for (document, words) in cases {
        let read = read(&document).unwrap();
        assert!(
            read.warnings.iter().any(|text| text.contains(words) && text.starts_with("checkout: ")),
            "{words}: {:?}",
            read.warnings
        );
    }
    let two = read(&with("/spec/objectives", json!([{"target": 0.9}, {"targetPercent": 99.95}])))
        .unwrap();
    let names: Vec<_> =
        two.objectives.iter().map(|o| (o.name.as_str(), o.definition.target.ppb())).collect();
    assert_eq!(names, [("Checkout-0", 900_000_000), ("Checkout-1", 999_500_000)]);
}

#[test]
fn references_are_found_within_the_file() {
    let mut slo = plain();
    slo["spec"]["indicator"] = Value::Null;
    slo["spec"].as_object_mut().unwrap().remove("indicator");
    slo["spec"]["indicatorRef"] = json!("requests");
    slo["spec"]["alertPolicies"] = json!([{"alertPolicyRef": "fast"}]);
    let mut fast = policy("gte");
    fast["apiVersion"] = json!("openslo/v1");
    let condition = fast["spec"]["conditions"][0].clone();
    fast["spec"]["conditions"] = json!([{"conditionRef": "hot"}]);
    let others = [
        json!({"apiVersion": "openslo/v1", "kind": "SLI", "metadata": {"name": "requests"}, "spec": plain()["spec"]["indicator"]["spec"]}),
        fast,
        json!({"apiVersion": "openslo/v1", "kind": "AlertCondition", "metadata": {"name": "hot"}, "spec": condition["spec"]}),
    ];
    let text: String =
        std::iter::once(&slo).chain(&others).map(|d| format!("---\n{}", yaml::write(d))).collect();
    let read = import(&text).unwrap();
    assert_eq!(read.objectives[0].definition.rules[0].long, 3_600_000);
    // The same as one list of JSON, which is YAML too.
    let list = json!([slo, others[0], others[1], others[2]]).to_string();
    assert_eq!(import(&list).unwrap(), read);
    assert!(import(&yaml::write(&slo)).unwrap_err().message.contains("is no SLI of this file"));
}

/// An SLO of ours.
fn ours() -> Objective {
    Objective {
        name: "Checkout (EU)".into(),
        service: "shop".into(),
        description: None,
        owner: Some("payments".into()),
        labels: BTreeMap::from([("team".to_owned(), "shop".to_owned())]),
        channels: None,
        usual_rules: false,
        source: Source::Monitor("check\"out {{x}}".into()),
        definition: sample::definition(),
        quorum: Quorum { policy: Policy::AtLeast(2), min_valid: None, confirm: Some(2) },
        locations: Some(3),
        interval: Some(60_000),
    }
}

#[test]
fn a_quorum_is_told_as_the_share_of_passes_that_keeps_a_slice_good() {
    let share = |policy, locations| {
        let quorum = Quorum { policy, ..ours().quorum };
        let text = export(&[Objective { quorum, locations: Some(locations), ..ours() }]).unwrap();
        yaml::read(&text).unwrap()[0]
            .pointer("/spec/objectives/0/timeSliceTarget")
            .unwrap()
            .as_f64()
            .unwrap()
    };
    assert_eq!(share(Policy::Majority, 3), 0.5);
    assert_eq!(share(Policy::Any, 3), 1.0);
    assert_eq!(share(Policy::All, 4), 0.25);
    assert_eq!(share(Policy::AtLeast(2), 4), 0.75);
    let document = yaml::read(&export(&[ours()]).unwrap()).unwrap().remove(0);
    let at = |pointer: &str| document.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/metadata/name"), "checkout-eu");
    assert_eq!(at("/spec/timeWindow/0/duration"), "1M");
    assert_eq!(at("/spec/timeWindow/0/calendar/timeZone"), "Europe/Berlin");
    assert_eq!(at("/spec/objectives/0/target"), 0.999);
    assert_eq!(at("/spec/objectives/0/timeSliceWindow"), "1m");
    assert_eq!(at("/metadata/annotations/quorate.dev~1confirm"), "2");
    let fast = "/spec/alertPolicies/0";
    assert_eq!(at(&format!("{fast}/metadata/annotations/quorate.dev~1short-window")), "5m");
    assert_eq!(at(&format!("{fast}/spec/conditions/0/spec/condition/threshold")), 14.4);
    assert_eq!(at(&format!("{fast}/spec/conditions/0/spec/condition/op")), "gte");
    let fixed = Window::Fixed { from: 0, to: 1 };
    let definition = Definition { window: fixed, ..ours().definition };
    assert_eq!(export(&[Objective { definition, ..ours() }]).unwrap_err().field, "slos[0].window");
}

#[test]
fn sloth_gets_the_increases_of_our_metrics() {
    let spec = |sli| {
        let definition = Definition { sli, ..ours().definition };
        sloth::spec("Shop", &[Objective { definition, ..ours() }])
            .map(|text| yaml::read(&text).unwrap().remove(0))
            .map_err(|error| format!("{}: {}", error.field, error.message))
    };
    let time = spec(Sli::Availability).unwrap();
    assert_eq!((&time["version"], &time["service"]), (&json!("prometheus/v1"), &json!("shop")));
    let slo = &time["slos"][0];
    assert_eq!((&slo["name"], &slo["objective"]), (&json!("checkout-eu"), &json!(99.9)));
    assert_eq!(
        slo["sli"]["events"]["error_query"],
        r#"sum(increase(quorate_monitor_state_seconds_total{monitor="check\"out {{`{{`}}x}}",state="down"}[{{.window}}]))"#
    );
    assert!(
        slo["sli"]["events"]["total_query"]
            .as_str()
            .unwrap()
            .contains("state=~\"up|partial|down\"")
    );
    assert_eq!(slo["alerting"]["page_alert"]["labels"]["severity"], "page");
    let latency = |threshold_us| Sli::Latency { threshold_us, denominator: Denominator::OkOnly };
    let quick = spec(latency(250_000)).unwrap();
    assert!(
        quick["slos"][0]["sli"]["events"]["error_query"].as_str().unwrap().contains("le=\"0.25\"")
    );
    assert!(spec(latency(300_000)).unwrap_err().starts_with("slos[0].threshold_us: is no bound"));
    assert!(
        spec(Sli::Requests { within_us: None, fallback: None })
            .unwrap_err()
            .contains("cannot be told")
    );
}
