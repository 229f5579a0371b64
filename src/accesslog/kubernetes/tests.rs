use super::*;
use crate::domain::fleet::event::State;

const LIST: &[u8] = include_bytes!("../../../tests/logs/kubernetes_pods_events.json");
const EVENTS_V1: &[u8] = include_bytes!("../../../tests/logs/kubernetes_events_v1.json");
const WATCH: &[u8] = include_bytes!("../../../tests/logs/kubernetes_watch.json");

/// One line an event about `name`: time of day, matter, reason.
fn told(events: &[Event], name: &str) -> Vec<String> {
    let about = |event: &&Event| event.instance.as_deref() == Some(name);
    events.iter().filter(about).map(line).collect()
}

fn line(event: &Event) -> String {
    let at = jiff::Timestamp::from_microsecond(event.at_us).unwrap().to_string();
    let what = match &event.what {
        What::State(state) => state.as_str().to_owned(),
        What::RestartCount(count) => format!("restarts {count}"),
        What::Count { name, total } => format!("{name} {total}"),
        What::Check { passed } => format!("check {passed}"),
        What::Version(version) => format!("version {version}"),
        other => format!("{other:?}"),
    };
    let reason = event.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("{} {what}{reason}", &at[11..])
}

#[test]
fn a_pod_that_is_well() {
    let events = read(LIST, None).unwrap();
    let name = "checkout-7d9f8b6c5-2mzkw";
    assert_eq!(
        told(&events, name),
        [
            "18:00:00Z version 7d9f8b6c5",
            "18:00:00Z restarts 0",
            "18:00:03Z Started",
            "18:00:21Z ready",
            "19:30:12Z restarts 0"
        ]
    );
    let event = events.iter().find(|event| event.instance.as_deref() == Some(name)).unwrap();
    assert_eq!(
        event.aliases,
        [
            "5e0d5cbe-6f31-4b5f-9d1b-aaaaaaaaaaa1",
            "10.42.1.11",
            "10.42.1.11:8080",
            "10.42.1.11:9090"
        ]
    );
    assert_eq!(event.pool.as_deref(), Some("checkout"));
    assert_eq!(event.node.as_deref(), Some("node-a"));
    assert_eq!(event.zone.as_deref(), Some("eu-1a"));
    assert!(events.is_sorted_by_key(|event| event.at_us));
}

#[test]
fn a_container_that_ran_out_of_memory_and_is_back() {
    let events = read(LIST, None).unwrap();
    assert_eq!(
        told(&events, "checkout-7d9f8b6c5-7xq9p"),
        [
            "18:00:00Z version 7d9f8b6c5",
            "18:00:00Z restarts 0",
            // In the status it is the proxy's, in the events the container's of the two that was first.
            "18:00:03Z Started",
            "18:40:02Z restarts 1",
            "18:40:02Z Started",
            "19:10:10Z unready: OOMKilled, exit code 137",
            "19:10:12Z restarts 2: OOMKilled, exit code 137",
            "19:10:12Z Started: OOMKilled, exit code 137",
            "19:10:31Z ready",
            "19:30:12Z restarts 2",
        ]
    );
}

#[test]
fn a_crash_loop_with_its_evidence() {
    let events = read(LIST, None).unwrap();
    let told = told(&events, "checkout-7d9f8b6c5-hq4tn");
    let probes: Vec<&String> =
        told.iter().filter(|line| line.contains("readiness probe failed")).collect();
    let words = "Readiness probe failed: HTTP probe failed with statuscode: 503";
    let slow = "Readiness probe failed: Get \"http://10.42.1.13:8080/readyz\": context deadline \
                exceeded (Client.Timeout exceeded while awaiting headers)";
    assert_eq!(
        probes,
        [
            &format!("19:01:30Z readiness probe failed 1: {words}"),
            &format!("19:01:40Z readiness probe failed 2: {slow}"),
            &format!("19:02:00Z readiness probe failed 3: {slow}"),
            &format!("19:27:10Z readiness probe failed 9: {words}"),
        ]
    );
    for line in [
        "18:00:04Z Started",
        "19:01:30Z check false: Readiness probe failed: HTTP probe failed with statuscode: 503",
        "19:02:00Z unready: CrashLoopBackOff: back-off 2m40s restarting failed container=app \
         pod=checkout-7d9f8b6c5-hq4tn_shop(5e0d5cbe-6f31-4b5f-9d1b-aaaaaaaaaaa3)",
        "19:03:20Z liveness probe failed 3: Liveness probe failed: HTTP probe failed with \
         statuscode: 500",
        "19:03:20Z unready: Container app failed liveness probe, will be restarted",
        // Six restarts, and the moment of only one of them is left.
        "18:00:00Z restarts 0",
        "18:00:00.000001Z restarts 5: at times that are not known any more",
        "19:28:40Z restarts 6",
        "19:28:40Z Started",
        "19:28:55Z unready: Error, exit code 1",
        "19:28:55Z BackOff: back-off 2m40s restarting failed container=app \
         pod=checkout-7d9f8b6c5-hq4tn_shop(5e0d5cbe-6f31-4b5f-9d1b-aaaaaaaaaaa3)",
        "19:30:12Z restarts 6",
    ] {
        assert!(told.iter().any(|told| told == line), "{line}\n{told:#?}");
    }
}

#[test]
fn pods_that_begin_and_pods_that_end() {
    let events = read(LIST, None).unwrap();
    let told = |name| told(&events, name);
    let starting = "19:30:00Z starting: ContainersNotReady: containers with unready status: [app]";
    assert!(told("checkout-5c4b7d9f6-v8w2l").iter().any(|line| line == starting));
    assert_eq!(
        told("checkout-5c4b7d9f6-zzz9x"),
        [
            "19:30:00Z version 5c4b7d9f6",
            "19:30:00Z starting: Unschedulable: 0/2 nodes are available: 2 Insufficient memory.",
        ]
    );
    let going = told("checkout-7d9f8b6c5-k2r8d");
    assert!(going.iter().any(|line| line == "18:00:25Z ready"));
    // The deadline is at 19:30:42 and the grace period has 30 s.
    assert!(going.iter().any(|line| line == "19:30:12Z draining: being deleted"), "{going:#?}");
    let evicted = told("checkout-7d9f8b6c5-evict");
    let gone = "18:50:00Z gone: Evicted: The node was low on resource: memory.";
    assert!(evicted.iter().any(|line| line == gone), "{evicted:#?}");
    assert_eq!(told("migrate-x7k2p"), [""; 0], "a Job's pod is no instance");
    assert_eq!(told("node-b"), [""; 0]);
}

#[test]
fn the_workload_says_how_many_there_should_be_and_its_former_replica_sets_do_not() {
    let events = read(LIST, None).unwrap();
    let expected: Vec<&Event> =
        events.iter().filter(|event| matches!(event.what, What::Expected(_))).collect();
    let [event] = expected[..] else { panic!("{expected:?}") };
    assert_eq!(event.what, What::Expected(4));
    assert_eq!(event.pool.as_deref(), Some("checkout"));
    assert_eq!(line(event), "19:30:12Z Expected(4)", "the newest stamp, not a deadline");
    let later = read(LIST, Some(1_800_000_000_000_000)).unwrap();
    assert_eq!(later.last().unwrap().at_us, 1_800_000_000_000_000);
}

#[test]
fn both_shapes_of_events_tell_the_same() {
    let name = "checkout-7d9f8b6c5-hq4tn";
    let told = told(&read(EVENTS_V1, None).unwrap(), name);
    let probe = "Readiness probe failed: HTTP probe failed with statuscode: 503";
    let back_off = "Back-off restarting failed container app in pod \
                    checkout-7d9f8b6c5-hq4tn_shop(5e0d5cbe-6f31-4b5f-9d1b-aaaaaaaaaaa3)";
    assert_eq!(
        told,
        [
            "17:59:59.5Z FailedScheduling 1: 0/2 nodes are available: 2 Insufficient memory.",
            &format!("19:01:30.123456Z readiness probe failed 1: {probe}"),
            &format!("19:01:30.123456Z check false: {probe}"),
            &format!("19:04:00Z BackOff 1: {back_off}"),
            &format!("19:27:10.654321Z readiness probe failed 7: {probe}"),
            &format!("19:27:10.654321Z check false: {probe}"),
            &format!("19:29:40Z BackOff 31: {back_off}"),
            &format!("19:29:40Z BackOff: {back_off}"),
        ]
    );
}

/// Without repeats, as a state machine sees them.
fn states(events: &[Event]) -> Vec<String> {
    let mut states: Vec<(i64, State)> = Vec::new();
    for event in events {
        if let What::State(state) = event.what
            && states.last().is_none_or(|(_, last)| *last != state)
        {
            states.push((event.at_us, state));
        }
    }
    let time = |us| jiff::Timestamp::from_microsecond(us).unwrap().to_string()[11..19].to_owned();
    states.into_iter().map(|(at, state)| format!("{} {}", time(at), state.as_str())).collect()
}

#[test]
fn a_stream_of_objects_is_a_life() {
    let events = read(WATCH, None).unwrap();
    assert_eq!(
        states(&events),
        [
            "19:30:00 starting",
            "19:30:40 ready",
            "19:31:10 unready",
            "19:31:40 ready",
            "19:32:00 draining",
            "19:32:05 unready",
        ]
    );
    let last = events.last().unwrap();
    assert_eq!(last.what, What::Gone);
    let count = |what: &What| events.iter().filter(|event| event.what == *what).count();
    assert!(count(&What::RestartCount(1)) > 0);
    // The same objects one after another without the envelope of the watch, and cut at the end.
    let bare: Vec<u8> = serde_json::Deserializer::from_slice(WATCH)
        .into_iter::<Value>()
        .flat_map(|value| serde_json::to_vec(value.unwrap().get("object").unwrap()).unwrap())
        .collect();
    let cut = &bare[..bare.len() - 40];
    assert_eq!(states(&read(cut, None).unwrap())[..5], states(&events)[..5]);
}

#[test]
fn items_of_a_list_of_the_api_have_no_kind() {
    let mut list: Value = serde_json::from_slice(LIST).unwrap();
    let pods = list["items"].as_array_mut().unwrap();
    pods.retain(|item| item["kind"] == "Pod");
    for pod in pods.iter_mut() {
        pod.as_object_mut().unwrap().remove("kind");
    }
    list["kind"] = "PodList".into();
    let events = read(&serde_json::to_vec(&list).unwrap(), None).unwrap();
    assert!(!told(&events, "checkout-7d9f8b6c5-2mzkw").is_empty());
}

#[test]
fn what_is_no_such_document_is_refused_with_its_reason() {
    let refused = |text: &str| read(text.as_bytes(), None).unwrap_err().to_string();
    assert!(refused("NAME READY STATUS").contains("not JSON"));
    assert!(refused("{\"kind\":").contains("not JSON"));
    assert!(refused("{\"TargetHealthDescriptions\":[]}").contains("kind, metadata"));
    assert!(refused("").contains("kind, metadata"));
    assert_eq!(read(br#"{"kind":"List","items":[]}"#, None).unwrap(), []);
    // Anything may be missing or of another kind.
    let odd = br#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a","creationTimestamp":
        "2026-11-29T19:00:00Z","ownerReferences":{}},"status":{"conditions":[null,3,{"type":"Ready"}],
        "containerStatuses":[{"restartCount":-1,"state":null},[]]}},{"kind":"Event","metadata":{"name":
        "b"},"involvedObject":{"kind":"Pod","name":"a"}}, 5, null]}"#;
    assert_eq!(told(&read(odd, None).unwrap(), "a"), ["19:00:00Z starting"]);
}

proptest::proptest! {
    #[test]
    fn nothing_in_a_document_makes_it_panic(
        cut in 0..LIST.len(), at in 0..LIST.len(), byte: u8, junk: Vec<u8>, from in 0_usize..3
    ) {
        let mut document = [LIST, EVENTS_V1, WATCH][from].to_vec();
        if let Some(place) = document.get_mut(at) {
            *place = byte;
        }
        let _ = read(&document, None);
        document.truncate(cut);
        let _ = read(&document, Some(0));
        let _ = read(&junk, None);
    }
}
