use super::*;
use crate::domain::redactor::HIDDEN;
use serde_json::json;

fn parse(value: Value) -> Result<Check, Invalid> {
    Check::parse(value)
}

fn with(extra: Value) -> Value {
    let mut check = json!({"kind": "http", "url": "https://shop.example/health"});
    check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    check
}

fn secrets(pairs: &[(&str, &str)]) -> BTreeMap<String, Secret<String>> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Secret::from(*value))).collect()
}

#[test]
fn what_is_written_is_given_back_and_defaults_stay_out() {
    assert_eq!(
        parse(with(json!({"follow_redirects": true, "max_redirects": 5, "http_version": "auto", "proxy": "none", "tls": {}}))).unwrap().to_value(),
        json!({"kind": "http", "url": "https://shop.example/health", "method": "GET"})
    );
    let full = json!({
        "kind": "http", "url": "https://shop.example/a?b=c", "method": "POST", "headers": {"X-A": ["1", "2"], "host": "h"},
        "body": "{}", "auth": {"bearer": "${secret:t}"}, "follow_redirects": false, "max_redirects": 1, "http_version": "2",
        "proxy": "http://proxy.example:3128", "tls": {"verify": false, "server_name": "other.example", "min_days_left": 7},
        "ip_family": "4", "max_body": 65536,
        "assertions": [{"on": "json", "path": "$.status", "op": "eq", "value": "ok"}]
    });
    let check = parse(full.clone()).unwrap();
    assert_eq!(check.to_value(), full);
    // Through text as well, numbers and all.
    let text = serde_json::to_string(&check).unwrap();
    assert_eq!(serde_json::from_str::<Check>(&text).unwrap(), check);
}

#[test]
fn refusals_name_the_field() {
    for (value, field) in [
        (json!([]), ""),
        (json!({"url": "https://a.test"}), "kind"),
        (json!({"kind": "gopher", "url": "x"}), "kind"),
        (json!({"kind": "http"}), "url"),
        (with(json!({"url": "ftp://a.test"})), "url"),
        (with(json!({"url": "a.test"})), "url"),
        (with(json!({"url": "http://"})), "url"),
        (with(json!({"url": "http:///path"})), "url"),
        (with(json!({"url": "http://:80/"})), "url"),
        (with(json!({"url": "http://%65xample.com/"})), "url"),
        (with(json!({"url": "http://user@%2e/"})), "url"),
        (with(json!({"url": "http://a..b/"})), "url"),
        (with(json!({"url": "http://a.test:0/"})), "url"),
        (with(json!({"url": "http://a.test:99999/"})), "url"),
        (with(json!({"url": "http://${secret:host}/"})), "url"),
        (with(json!({"url": "http://a.test/${secret:x"})), "url"),
        (with(json!({"url": "https://u:p@a.test/", "auth": {"bearer": "x"}})), "url"),
        (with(json!({"method": "GE T"})), "method"),
        (with(json!({"method": "CONNECT"})), "method"),
        (with(json!({"headers": []})), "headers"),
        (with(json!({"headers": {"a b": "x"}})), "headers.a b"),
        (with(json!({"headers": {"x": "a\r\nb"}})), "headers.x"),
        (with(json!({"headers": {"x": 5}})), "headers.x"),
        (with(json!({"headers": {"X": "1", "x": "2"}})), "headers.x"),
        (with(json!({"headers": {"content-length": "5"}})), "headers.content-length"),
        (with(json!({"body": 5})), "body"),
        (with(json!({"auth": {}})), "auth"),
        (with(json!({"auth": {"basic": {"password": "x"}}})), "auth.basic.username"),
        (with(json!({"auth": {"basic": {"username": "a", "pass": "x"}}})), "auth.basic.pass"),
        (with(json!({"auth": {"digest": "x"}})), "auth.digest"),
        (with(json!({"auth": {"bearer": "x"}, "headers": {"Authorization": "y"}})), "auth"),
        (with(json!({"follow_redirects": "yes"})), "follow_redirects"),
        (with(json!({"max_redirects": 21})), "max_redirects"),
        (with(json!({"http_version": "3"})), "http_version"),
        (with(json!({"proxy": "socks5://a:1"})), "proxy"),
        (with(json!({"proxy": "http://a:1/path"})), "proxy"),
        (with(json!({"tls": {"verfy": true}})), "tls.verfy"),
        (with(json!({"tls": {"server_name": "1.2.3.4"}})), "tls.server_name"),
        (with(json!({"tls": {"min_days_left": -1}})), "tls.min_days_left"),
        (with(json!({"ip_family": "5"})), "ip_family"),
        (with(json!({"ip_family": "6", "url": "http://1.2.3.4/"})), "ip_family"),
        (with(json!({"max_body": 16777217})), "max_body"),
        (with(json!({"timeout": 5})), "timeout"),
        (with(json!({"assertions": {}})), "assertions"),
        (
            with(json!({"assertions": [{"on": "status", "op": "eq", "value": "abc"}]})),
            "assertions[0].value",
        ),
    ] {
        let refusal = parse(value.clone()).unwrap_err();
        assert_eq!(refusal.field, field, "{value}: {refusal}");
    }
    let refusal =
        parse(with(json!({"assertions": [{"on": "status"}]}))).unwrap_err().under("check");
    assert_eq!(refusal.field, "check.assertions[0].op");
}

#[test]
fn names_are_converted_and_credentials_in_the_url_become_auth() {
    let check = parse(with(json!({"url": "https://Bücher.example/"}))).unwrap();
    assert_eq!(check.host(), "xn--bcher-kva.example");
    let check = parse(with(json!({"url": "https://us%40er:p%20w@a.test/x"}))).unwrap();
    assert_eq!(check.to_value()["url"], "https://a.test/x");
    assert_eq!(
        check.to_value()["auth"],
        json!({"basic": {"username": "us@er", "password": "p w"}})
    );
    for text in ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/"] {
        assert_eq!(parse(with(json!({"url": text}))).unwrap().host(), "127.0.0.1", "{text}");
    }
    parse(with(json!({"url": "https://mailo._domainkey.mg.example.com/"}))).unwrap();
}

#[test]
fn secrets_make_the_whole_round() {
    let mut check = parse(with(json!({
        "url": "https://a.test/x?page=2&api_key=k%20ey",
        "headers": {"Cookie": "sid=abcd", "X-Own": "a ${secret:own} b", "X-Plain": "plain"},
        "auth": {"basic": {"username": "me", "password": "hunter2"}},
        "proxy": "http://u:prox%40y@proxy.example:3128",
        "body": "{\"t\":\"${secret:own}\"}"
    })))
    .unwrap();
    let written = check.clone();
    let taken = check.take_inline_secrets();
    let shown: Vec<(&str, &str)> =
        taken.iter().map(|(name, value)| (name.as_str(), value.expose().as_str())).collect();
    assert_eq!(
        shown,
        [
            ("inline.auth.password", "hunter2"),
            ("inline.header.cookie", "sid=abcd"),
            ("inline.proxy.password", "prox@y"),
            ("inline.query.api_key", "k ey"),
        ]
    );
    let stored = check.to_value().to_string();
    for secret in ["hunter2", "sid=abcd", "prox%40y", "k%20ey"] {
        assert!(!stored.contains(secret), "{stored}");
    }
    // Stored, read and filled again it is what was written.
    let names: Vec<String> = check.secret_names().into_iter().collect();
    assert_eq!(
        names,
        [
            "inline.auth.password",
            "inline.header.cookie",
            "inline.proxy.password",
            "inline.query.api_key",
            "own"
        ]
    );
    let stored = parse(check.to_value()).unwrap();
    let mut all = taken;
    assert_eq!(stored.with_secrets(&all).unwrap_err().field, "headers.X-Own");
    all.extend(secrets(&[("own", "o\"wn")]));
    let filled = stored.with_secrets(&all).unwrap();
    let Check::Http(http) = &filled else { panic!("another kind") };
    let value =
        |name: &str| http.headers.iter().find(|header| header.name == name).unwrap().value.clone();
    assert_eq!((value("Cookie").as_str(), value("X-Own").as_str()), ("sid=abcd", "a o\"wn b"));
    assert_eq!(http.url().as_str(), "https://a.test/x?page=2&api_key=k%20ey");
    assert_eq!(http.proxy().unwrap().password(), Some("prox%40y"));
    // And none of it leaves.
    let leak = "hunter2 sid=abcd abcd o\"wn o\\\"wn k ey prox%40y bWU6aHVudGVyMg== plain";
    assert_eq!(filled.redactor().clean(leak), format!("{} plain", [HIDDEN; 8].join(" ")));
    // Shown and sent back it changes nothing.
    let shown = written.redacted();
    assert_eq!(shown, stored.redacted());
    assert_eq!(shown["auth"]["basic"]["password"], HIDDEN);
    assert_eq!(shown["headers"]["X-Own"], "a ${secret:own} b");
    assert_eq!(shown["url"], "https://a.test/x?page=2&api_key=(hidden)");
    let mut again = parse(shown).unwrap();
    assert!(again.take_inline_secrets().is_empty());
    assert_eq!(again.to_value(), stored.to_value());
}

#[test]
fn kept_secrets_do_not_follow_to_another_host() {
    let old = parse(with(json!({"auth": {"bearer": "x"}}))).unwrap();
    assert!(
        parse(with(json!({"url": "https://shop.example/other"})))
            .unwrap()
            .sends_secrets_where(&old)
    );
    for extra in [
        json!({"url": "https://evil.example/health"}),
        json!({"proxy": "http://evil.example:1"}),
        json!({"tls": {"verify": false}}),
    ] {
        assert!(!parse(with(extra)).unwrap().sends_secrets_where(&old));
    }
}

#[test]
fn a_secret_with_a_line_break_cannot_break_a_header() {
    let check = parse(with(json!({"headers": {"x-key": "${secret:k}"}}))).unwrap();
    assert_eq!(
        check.with_secrets(&secrets(&[("k", "a\r\nHost: b")])).unwrap_err().field,
        "headers.x-key"
    );
}

#[test]
fn conditions_that_nobody_wrote_hold_by_default() {
    let labels = |value| {
        let check = parse(value).unwrap();
        check
            .conditions()
            .iter()
            .map(|a| format!("{} {}", a.subject().label(), a.op().name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(with(json!({}))), ["status in"]);
    assert_eq!(
        labels(with(json!({"tls": {"min_days_left": 14}}))),
        ["status in", "cert_days_left ge"]
    );
    assert_eq!(
        labels(with(json!({"assertions": [{"on": "status", "op": "eq", "value": 404}]}))),
        ["status eq"]
    );
}

#[test]
fn lint_warns_of_an_address_that_agents_refuse() {
    let warnings = |url: &str| {
        let body = json!([{"on": "body", "op": "exists"}]);
        let check = parse(json!({"kind": "http", "url": url, "assertions": body})).unwrap();
        check.lint().into_iter().map(|warning| (warning.code, warning.message)).collect::<Vec<_>>()
    };
    for (url, flag) in [
        ("http://10.1.2.3/", "--allow-net 10.1.0.0/16"),
        ("http://169.254.169.254/latest", "--allow-net 169.254.169.254/32"),
        ("http://[::1]:8080/", "--allow-net ::1/128"),
        ("http://0x7f.1/", "--allow-net 127.0.0.0/8"),
    ] {
        let said = warnings(url);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, "closed_address");
        assert!(said[0].1.contains(flag), "{said:?}");
    }
    assert!(warnings("http://1.1.1.1/").is_empty());
}

#[test]
fn lint_warns_when_only_the_status_is_looked_at() {
    let codes = |value| {
        parse(value).unwrap().lint().into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(with(json!({}))), ["only_status"]);
    assert_eq!(
        codes(with(json!({"assertions": [{"on": "status", "op": "eq", "value": 200}]}))),
        ["only_status"]
    );
    assert!(
        codes(with(json!({"assertions": [{"on": "body", "op": "contains", "value": "ok"}]})))
            .is_empty()
    );
    assert_eq!(
        codes(with(
            json!({"tls": {"verify": false}, "method": "HEAD", "assertions": [{"on": "body", "op": "exists"}]})
        )),
        ["tls_not_verified", "head_has_no_body"]
    );
}
