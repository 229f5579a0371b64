use super::*;
use crate::domain::observation::Judged;
use serde_json::json;

fn parse(value: Value) -> Result<Assertion, Invalid> {
    Assertion::parse(value, HTTP_SUBJECTS)
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn look(assertion: Value, seen: &Seen<'_>) -> Judged {
    let assertion = parse(assertion).unwrap();
    judge(std::iter::once(&assertion), seen).remove(0)
}

fn body(text: &str) -> Seen<'_> {
    Seen {
        status: Some(200),
        body: Some(Body { text, size: text.len() as u64, cut: false }),
        ..Seen::default()
    }
}

fn json_holds(document: &str, path: &str, op: &str, value: Value) -> (bool, String) {
    let judged =
        look(json!({"on": "json", "path": path, "op": op, "value": value}), &body(document));
    (judged.holds.unwrap(), judged.actual)
}

#[test]
fn what_is_missing_matches_nothing_but_absent() {
    let all = [
        ("eq", json!("error")),
        ("ne", json!("error")),
        ("in", json!(["a"])),
        ("not_in", json!(["a"])),
        ("contains", json!("a")),
        ("not_contains", json!("a")),
        ("matches", json!("a")),
        ("not_matches", json!("a")),
        ("lt", json!(1)),
        ("ge", json!(1)),
        ("len_eq", json!(0)),
        ("exists", Value::Null),
    ];
    for (op, value) in all {
        for (document, why) in
            [("{}", "missing"), ("<h1>502</h1>", "body is not JSON"), ("", "body is not JSON")]
        {
            let (holds, actual) = json_holds(document, "$.status", op, value.clone());
            assert!(!holds && actual.starts_with(why), "{op} on {document:?}: {actual}");
        }
        if !["lt", "ge"].contains(&op) {
            for on in [json!({"on": "header", "name": "x-id"}), json!({"on": "body"})] {
                let mut assertion = on;
                assertion["op"] = json!(op);
                assertion["value"] = value.clone();
                let judged = look(assertion, &body(""));
                assert!(
                    judged.holds == Some(false) && judged.actual.starts_with("missing"),
                    "{op}: {}",
                    judged.actual
                );
            }
        }
    }
    assert!(json_holds("{}", "$.status", "absent", Value::Null).0);
    assert!(!json_holds("<html>", "$.status", "absent", Value::Null).0);
    assert!(json_holds("{\"status\":null}", "$.status", "exists", Value::Null).0);
}

#[test]
fn fields_cases_about_json_hold() {
    // The numbers are those of the cases from the field.
    assert!(
        !json_holds(r#"{"data":{"name":"john"}}"#, "$.data.name.invalid", "eq", json!("john")).0,
        "21"
    );
    for document in ["null", "[1]", "5", "\"s\""] {
        assert!(!json_holds(document, "$.data[0]", "eq", json!(1)).0, "22: {document}");
    }
    let (holds, actual) = json_holds(r#"{"queue":"N/A"}"#, "$.queue", "lt", json!(100));
    assert!(!holds && actual.contains("text is not a number"), "23: {actual}");
    assert!(json_holds(r#"{"id":12345678}"#, "$.id", "eq", json!(12345678)).0, "24");
    let big = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert!(
        json_holds(r#"{"id":9007199254740993}"#, "$.id", "eq", big("9007199254740993")).0,
        "24"
    );
    assert!(
        json_holds(r#"{"id":9007199254740993}"#, "$.id", "ne", big("9007199254740992")).0,
        "24"
    );
    assert!(
        !json_holds(r#"{"id":9007199254740993}"#, "$.id", "eq", big("9007199254740992")).0,
        "24"
    );
    assert!(json_holds(r#"{"x":0.2}"#, "$.x", "eq", big("0.20")).0, "24");
    assert!(json_holds(r#"{"x":0.2}"#, "$.x", "le", big("0.2")).0, "24");
    assert!(!json_holds("{}", "$.status", "ne", json!("error")).0, "25");
}

#[test]
fn types_are_not_guessed() {
    for (document, value, why) in [
        (r#"{"v":"5"}"#, json!(5), "text is not a number"),
        (r#"{"v":5}"#, json!("5"), "a number is not text"),
        (r#"{"v":"true"}"#, json!(true), "text is not true or false"),
        (r#"{"v":null}"#, json!("x"), "null is not text"),
    ] {
        for op in ["eq", "ne"] {
            let (holds, actual) = json_holds(document, "$.v", op, value.clone());
            assert!(!holds && actual.contains(why), "{op} {document}: {actual}");
        }
    }
    assert!(json_holds(r#"{"v":"a"}"#, "$.v", "not_in", json!([1, "b"])).0);
    assert!(json_holds(r#"{"v":[1.0,{"a":2}]}"#, "$.v", "eq", json!([1, {"a": 2}])).0);
    assert!(json_holds(r#"{"v":["a","b"]}"#, "$.v", "contains", json!("b")).0);
    assert!(json_holds(r#"{"v":["a","b"]}"#, "$.v", "len_eq", json!(2)).0);
    assert!(json_holds(r#"{"v":"äö"}"#, "$.v", "len_lt", json!(3)).0);
}

#[test]
fn several_values_hold_if_one_does_and_negatives_if_none_does() {
    let seen_headers = headers(&[("x-node", "a"), ("x-node", "b")]);
    let seen = Seen { headers: &seen_headers, ..Seen::default() };
    let check = |op: &str, value: Value| {
        look(json!({"on": "header", "name": "X-Node", "op": op, "value": value}), &seen)
            .holds
            .unwrap()
    };
    assert!(check("eq", json!("b")));
    assert!(!check("eq", json!("c")));
    assert!(!check("ne", json!("a")));
    assert!(check("ne", json!("c")));
    assert!(check("not_contains", json!("c")));
    assert!(!check("not_matches", json!("^b$")));
    assert!(json_holds(r#"[{"ok":true},{"ok":false}]"#, "$[*].ok", "eq", json!(false)).0);
    assert!(!json_holds(r#"[{"ok":true},{"ok":false}]"#, "$[*].ok", "ne", json!(false)).0);
}

#[test]
fn statuses_take_numbers_ranges_and_classes_with_both_ends() {
    let check = |status: u16, op: &str, value: Value| {
        look(
            json!({"on": "status", "op": op, "value": value}),
            &Seen { status: Some(status), ..Seen::default() },
        )
        .holds
        .unwrap()
    };
    assert!(check(404, "eq", json!(404)));
    assert!(
        check(200, "in", json!(["200-204"]))
            && check(204, "in", json!(["200-204"]))
            && !check(205, "in", json!(["200-204"]))
    );
    assert!(
        check(200, "in", json!(["2xx"]))
            && check(299, "eq", json!("2XX"))
            && !check(300, "eq", json!("2xx"))
    );
    assert!(
        check(503, "not_in", json!(["2xx", 404])) && !check(404, "not_in", json!(["2xx", 404]))
    );
    assert!(check(499, "lt", json!(500)) && !check(500, "lt", json!(500)));
}

#[test]
fn bounds_are_inclusive_as_written() {
    let at = |us: u64, op: &str| {
        let seen = Seen { latency_us: Some(us), ..Seen::default() };
        look(json!({"on": "latency_ms", "op": op, "value": 500}), &seen).holds.unwrap()
    };
    assert!(at(500_000, "le") && !at(500_000, "lt") && at(500_000, "ge") && !at(500_000, "gt"));
    assert!(!at(500_001, "le") && at(500_001, "gt"));
}

#[test]
fn what_was_cut_cannot_decide() {
    let seen = Seen { body: Some(Body { text: "abc", size: 3, cut: true }), ..Seen::default() };
    let check = |on: &str, op: &str, value: Value| {
        let judged = look(json!({"on": on, "op": op, "value": value}), &seen);
        (judged.holds.unwrap(), judged.actual)
    };
    assert!(check("body", "contains", json!("b")).0);
    for (on, op, value) in [
        ("body", "contains", json!("z")),
        ("body", "not_contains", json!("z")),
        ("body", "eq", json!("abc")),
        ("body", "ne", json!("abcd")),
        ("body", "len_eq", json!(3)),
        ("size", "le", json!(10)),
        ("size", "eq", json!(3)),
        ("size", "ne", json!(5)),
    ] {
        let (holds, actual) = check(on, op, value);
        assert!(!holds && actual.contains("reading stopped"), "{on} {op}: {actual}");
    }
    assert!(check("body", "ne", json!("xyz")).0);
    assert!(check("body", "len_gt", json!(2)).0);
    assert!(check("size", "ge", json!(3)).0);
    assert!(!json_cut().0, "{}", json_cut().1);
}

fn json_cut() -> (bool, String) {
    let seen = Seen { body: Some(Body { text: "{\"a\":", size: 5, cut: true }), ..Seen::default() };
    let judged = look(json!({"on": "json", "path": "$.a", "op": "exists"}), &seen);
    (judged.holds.unwrap(), judged.actual)
}

#[test]
fn what_the_server_sends_is_never_a_pattern() {
    assert!(
        !look(json!({"on": "body", "op": "contains", "value": "a.c"}), &body("abc")).holds.unwrap()
    );
    assert!(
        look(
            json!({"on": "body", "op": "contains", "value": "\"status\": 2,"}),
            &body("{\"status\": 2, \"x\": 1}")
        )
        .holds
        .unwrap()
    );
    assert!(
        look(json!({"on": "body", "op": "matches", "value": "a.c"}), &body("abc")).holds.unwrap()
    );
}

#[test]
fn everything_is_refused_by_name_when_it_is_saved() {
    for (value, field) in [
        (json!({"on": "statu", "op": "eq", "value": 1}), "on"),
        (json!({"op": "eq", "value": 1}), "on"),
        (json!({"on": "status", "op": "equals", "value": 1}), "op"),
        (json!({"on": "status", "op": "eq", "value": 200, "extra": 1}), "extra"),
        (json!({"on": "status", "op": "eq"}), "value"),
        (json!({"on": "status", "op": "eq", "value": "200"}), "value"),
        (json!({"on": "status", "op": "eq", "value": 99}), "value"),
        (json!({"on": "status", "op": "in", "value": ["299-200"]}), "value[0]"),
        (json!({"on": "status", "op": "in", "value": []}), "value"),
        (json!({"on": "status", "op": "lt", "value": "4xx"}), "value"),
        (json!({"on": "status", "op": "contains", "value": "2"}), "op"),
        (json!({"on": "latency_ms", "op": "le", "value": "2xx"}), "value"),
        (json!({"on": "latency_ms", "op": "le", "value": "fast"}), "value"),
        (json!({"on": "latency_ms", "op": "matches", "value": "1"}), "op"),
        (json!({"on": "header", "op": "eq", "value": "x"}), "name"),
        (json!({"on": "header", "name": "a b", "op": "eq", "value": "x"}), "name"),
        (json!({"on": "header", "name": "a", "op": "eq", "value": 5}), "value"),
        (json!({"on": "header", "name": "a", "op": "lt", "value": 5}), "op"),
        (json!({"on": "body", "op": "matches", "value": "("}), "value"),
        (json!({"on": "body", "op": "matches", "value": "(a{1000}){1000}"}), "value"),
        (json!({"on": "body", "op": "contains", "value": ""}), "value"),
        (json!({"on": "body", "op": "eq", "value": ""}), "value"),
        (json!({"on": "body", "path": "$.x", "op": "eq", "value": "x"}), "path"),
        (json!({"on": "json", "path": "x..", "op": "eq", "value": 1}), "path"),
        (json!({"on": "json", "op": "eq", "value": 1}), "path"),
        (json!({"on": "json", "path": "$.x", "op": "len_eq", "value": -1}), "value"),
        (json!({"on": "json", "path": "$.x", "op": "exists", "value": 1}), "value"),
        (json!({"on": "cert_fingerprint", "op": "eq", "value": "abc"}), "value"),
        (json!({"on": "http_version", "op": "eq", "value": "3"}), "value"),
        (json!({"on": "record", "op": "eq", "value": "3"}), "on"),
    ] {
        assert_eq!(parse(value.clone()).unwrap_err().field, field, "{value}");
    }
    let list = vec![
        json!({"on": "status", "op": "eq", "value": 200}),
        json!({"on": "latency_ms", "op": "le", "value": "2xx"}),
    ];
    let refusal = Assertion::parse_list(list, HTTP_SUBJECTS).unwrap_err();
    assert_eq!(refusal.field, "[1].value");
    assert_eq!(refusal.message, "2xx is a class; latency_ms needs a number, such as 800");
}

#[test]
fn what_is_written_is_given_back() {
    for value in [
        json!({"on": "status", "op": "in", "value": ["2xx", 304]}),
        json!({"on": "header", "name": "x-id", "op": "exists"}),
        json!({"on": "json", "path": "$.a", "op": "eq", "value": null}),
    ] {
        assert_eq!(parse(value.clone()).unwrap().to_value(), value);
    }
}
