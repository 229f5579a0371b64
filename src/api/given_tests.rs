use std::collections::BTreeMap;

use serde::Deserialize;
use uuid::Uuid;

use super::*;
use crate::api::request::At;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Inner {
    flag: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be read matters")]
struct Form {
    name: String,
    count: Option<u32>,
    ratio: Option<f64>,
    colour: Option<Colour>,
    id: Option<Uuid>,
    at: Option<At>,
    #[serde(default)]
    inner: Inner,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    raw: Option<Value>,
}

#[track_caller]
fn refused(body: &str) -> (String, String) {
    match from_json::<Form>(body.as_bytes()) {
        Err(ApiError::Invalid(invalid)) => (invalid.field, invalid.message),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_refusal_says_in_our_words_what_is_wanted() {
    let ids = "must be an id such as 01900000-0000-7000-8000-000000000000";
    let known = "is not known here; known are name, count, ratio, colour, id, at, inner, words, labels, raw";
    let cases = [
        (r#"{"name":null}"#, "name", "must be text, not null"),
        (r#"{"name":"a","count":"3"}"#, "count", "must be a whole number, not text"),
        (r#"{"name":"a","count":-1}"#, "count", "must be a whole number from 0 to 4294967295"),
        (r#"{"name":"a","count":1e400}"#, "count", "must be a whole number from 0 to 4294967295"),
        (r#"{"name":"a","count":1.5}"#, "count", "must be a whole number from 0 to 4294967295"),
        (r#"{"name":"a","ratio":"x"}"#, "ratio", "must be a number, not text"),
        (r#"{"name":"a","colour":"blue"}"#, "colour", "must be one of red, green, not \"blue\""),
        (r#"{"name":"a","colour":7}"#, "colour", "must be one of red, green, not a number"),
        (r#"{"name":"a","id":"7"}"#, "id", ids),
        (r#"{"name":"a","inner":[]}"#, "inner", "must be an object, not a list"),
        (r#"{"name":"a","inner":[true]}"#, "inner", "must be an object, not a list"),
        (r#"{"name":"a","inner":{"flag":1}}"#, "inner.flag", "must be true or false, not a number"),
        (r#"{"name":"a","words":{}}"#, "words", "must be a list, not an object"),
        (r#"{"name":"a","words":["b",3]}"#, "words[1]", "must be text, not a number"),
        (r#"{"name":"a","labels":{"k":3}}"#, "labels.k", "must be text, not a number"),
        (r#"{"name":"a","nmae":1}"#, "nmae", known),
        (r#"{"name":"a","inner":{"flog":1}}"#, "inner.flog", "is not known here; known are flag"),
        (r#"{"count":1}"#, "name", "is missing"),
        (r#"{"name":"a","name":"b"}"#, "name", TWICE),
        (r#"{"name":"a","raw":{"x":[1,{"y":1,"y":2}]}}"#, "raw.x[1].y", TWICE),
        (r#" [1]"#, "", "The body must be an object, not a list."),
        (r#""x""#, "", "The body must be an object, not text."),
    ];
    for (body, field, message) in cases {
        assert_eq!(refused(body), (field.to_owned(), message.to_owned()), "{body}");
    }
}

#[test]
fn what_is_long_is_not_echoed_whole() {
    let long = "x".repeat(10_000);
    let bodies = [
        format!(r#"{{"name":"a","colour":"{long}"}}"#),
        format!(r#"{{"name":"a","{long}":1}}"#),
        format!(r#"{{"name":"a","count":{}}}"#, "9".repeat(10_000)),
        format!(r#"{{"name":"a","ratio":{}}}"#, "9".repeat(10_000)),
    ];
    for body in bodies {
        let (field, message) = refused(&body);
        assert!(field.len() < 300 && message.len() < 300, "{field}: {message}");
    }
}

#[test]
fn values_keep_their_digits() {
    let form: Form = from_json(br#"{"name":"a","ratio":0.5,"raw":{"n":0.10}}"#).unwrap();
    assert_eq!(form.raw.unwrap().to_string(), r#"{"n":0.10}"#);
    assert_eq!(form.ratio, Some(0.5));
}

#[test]
fn what_is_no_json_is_malformed() {
    for body in ["", "{", "{}x", "{\"a\":}"] {
        assert!(
            matches!(from_json::<Form>(body.as_bytes()), Err(ApiError::Malformed(_))),
            "{body}"
        );
    }
}

#[test]
fn an_instant_too_far_away_is_told_so() {
    let at = |text: &str| refused(&format!(r#"{{"name":"a","at":"{text}"}}"#));
    for text in ["10000-01-01T00:00:00Z", "+010000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
        let (field, message) = at(text);
        assert_eq!(field, "at");
        assert!(message.contains("9999"), "{message}");
    }
    assert!(at("-004000-01-01T00:00:00Z").1.contains("too early"));
    assert!(at("tomorrow").1.starts_with("must be an instant such as"));
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be read matters")]
struct Asked {
    limit: Option<u32>,
    colour: Option<Colour>,
    id: Option<Uuid>,
}

#[test]
fn a_query_is_refused_by_its_parameter() {
    let cases = [
        ("limit=x", "limit", "must be a whole number, not \"x\""),
        ("limit=1&limit=2", "limit", TWICE),
        ("colour=blue", "colour", "must be one of red, green, not \"blue\""),
        ("other=1", "other", "is not known here; known are limit, colour, id"),
        ("id=7", "id", "must be an id such as 01900000-0000-7000-8000-000000000000"),
        ("id=%00", "id", NUL),
    ];
    for (query, field, message) in cases {
        let invalid = from_query::<Asked>(query).unwrap_err();
        assert_eq!((invalid.field.as_str(), invalid.message.as_str()), (field, message), "{query}");
    }
    assert_eq!(from_query::<Asked>("limit=&colour=red").unwrap().limit, None);
}
