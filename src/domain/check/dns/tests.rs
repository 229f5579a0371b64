use serde_json::{Value, json};

use super::DnsCheck;
use crate::domain::Invalid;
use crate::domain::assertion::{Seen, judge};
use crate::domain::check::{Check, kind_of_url};

fn with(extra: Value) -> Value {
    let mut check = json!({"kind": "dns", "name": "example.com"});
    check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    check
}

fn parse(extra: Value) -> Result<Check, Invalid> {
    Check::parse(with(extra))
}

fn url(text: &str) -> Result<DnsCheck, Invalid> {
    match Check::parse(json!({"kind": "dns", "url": text}))? {
        Check::Dns(check) => Ok(*check),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_given_back_and_defaults_stay_out() {
    assert_eq!(
        parse(json!({"type": "a", "transport": "UDP", "ip_family": "any", "assertions": []}))
            .unwrap()
            .to_value(),
        json!({"kind": "dns", "name": "example.com", "type": "A"})
    );
    let full = with(json!({
        "type": "MX", "server": "ns1.example.com:5353", "transport": "tcp", "ip_family": "6",
        "assertions": [
            {"on": "record", "quantifier": "all", "op": "contains", "value": "mail"},
            {"on": "rcode", "op": "in", "value": ["noerror", "NXDOMAIN"]},
            {"on": "latency_ms", "op": "le", "value": 200}
        ]
    }));
    let check = Check::parse(full.clone()).unwrap();
    assert_eq!(check.to_value(), full);
    assert_eq!(check.target(), "MX example.com at ns1.example.com:5353");
    assert_eq!(check.host(), "example.com");
    assert!(
        check.secret_names().is_empty() && check.sends_secrets_where(&parse(json!({})).unwrap())
    );
}

#[test]
fn names_are_put_into_wire_form() {
    for (name, record, wire) in [
        ("Example.COM.", "A", "example.com"),
        ("bücher.example", "A", "xn--bcher-kva.example"),
        ("mailo._domainkey.mg.example.com", "TXT", "mailo._domainkey.mg.example.com"),
        ("*.example.com", "A", "*.example.com"),
        ("0/25.2.0.192.in-addr.arpa", "PTR", "0/25.2.0.192.in-addr.arpa"),
        (".", "NS", "."),
        ("com", "SOA", "com"),
        ("1.2.3", "A", "1.2.3"),
        ("192.0.2.1", "PTR", "1.2.0.192.in-addr.arpa"),
        (
            "2001:db8::567:89ab",
            "PTR",
            "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
        ),
    ] {
        let check = parse(json!({"name": name, "type": record})).unwrap();
        assert_eq!(check.to_value()["name"], wire);
    }
}

#[test]
fn an_address_becomes_the_fields() {
    let fields = |text: &str| {
        let check = url(text).unwrap();
        let server = check.server.as_ref().map(|server| (server.host.to_string(), server.port));
        (check.name, check.record.name(), server, check.tcp)
    };
    let named = |host: &str, port| Some((host.to_owned(), port));
    assert_eq!(fields("dns:example.com"), ("example.com".into(), "A", None, false));
    assert_eq!(fields("dns:///example.com?TYPE=mx"), ("example.com".into(), "MX", None, false));
    assert_eq!(
        fields("dns://192.0.2.53:5353/a.test?type=TXT&transport=tcp"),
        ("a.test".into(), "TXT", named("192.0.2.53", 5353), true)
    );
    assert_eq!(
        fields(" DNS://[2001:db8::53]/a.test?CLASS=IN;TYPE=AAAA "),
        ("a.test".into(), "AAAA", named("[2001:db8::53]", 53), false)
    );
    assert_eq!(
        url("dns://ns1.test/a.test?type=NS").map(Box::new).map(Check::Dns).unwrap().to_value(),
        json!({"kind": "dns", "name": "a.test", "type": "NS", "server": "ns1.test"})
    );
    assert_eq!((kind_of_url("dns://1.1.1.1/x"), kind_of_url("dns:x")), (Some("dns"), Some("dns")));
}

#[test]
fn servers_are_hosts_with_a_port() {
    for (text, host, port) in [
        ("1.1.1.1", "1.1.1.1", 53),
        ("1.1.1.1:5353", "1.1.1.1", 5353),
        ("2001:db8::1", "[2001:db8::1]", 53),
        ("[2001:db8::1]", "[2001:db8::1]", 53),
        ("[2001:db8::1]:5353", "[2001:db8::1]", 5353),
        ("NS1.Example.com.", "ns1.example.com", 53),
    ] {
        let Check::Dns(check) = parse(json!({"server": text})).unwrap() else { panic!("{text}") };
        let server = check.server.as_ref().unwrap();
        assert_eq!((server.host.to_string().as_str(), server.port), (host, port), "{text}");
        assert_eq!(Check::Dns(check).to_value()["server"], text);
    }
}

#[test]
fn refusals_name_the_field() {
    let long = format!("{}.test", "x".repeat(64));
    for (extra, field) in [
        (json!({"name": null}), "name"),
        (json!({"name": ""}), "name"),
        (json!({"name": "a..b"}), "name"),
        (json!({"name": "a b"}), "name"),
        (json!({"name": "%61.test"}), "name"),
        (json!({"name": "https://a.test"}), "name"),
        (json!({"name": "${secret:x}"}), "name"),
        (json!({"name": long}), "name"),
        (json!({"name": vec!["abcdefghi"; 30].join(".")}), "name"),
        (json!({"name": "192.0.2.1"}), "name"),
        (json!({"name": 5}), "name"),
        (json!({"type": "ANY"}), "type"),
        (json!({"server": ""}), "server"),
        (json!({"server": "a.test:0"}), "server"),
        (json!({"server": "a.test:x"}), "server"),
        (json!({"server": "1.1.1.1:99999"}), "server"),
        (json!({"server": "dns://a.test"}), "server"),
        (json!({"server": "a.test/x"}), "server"),
        (json!({"transport": "tls"}), "transport"),
        (json!({"ip_family": "4"}), "ip_family"),
        (json!({"ip_family": "4", "server": "2001:db8::1"}), "ip_family"),
        (json!({"ip_family": "5", "server": "a.test"}), "ip_family"),
        (json!({"url": "dns:x"}), "url"),
        (json!({"method": "GET"}), "method"),
        (json!({"assertions": [{"on": "status", "op": "eq", "value": 200}]}), "assertions[0].on"),
        (
            json!({"assertions": [{"on": "rcode", "op": "eq", "value": "NXDOMIAN"}]}),
            "assertions[0].value",
        ),
        (json!({"assertions": [{"on": "rcode", "op": "eq", "value": 3}]}), "assertions[0].value"),
        (
            json!({"assertions": [{"on": "record", "quantifier": "some", "op": "eq", "value": "x"}]}),
            "assertions[0].quantifier",
        ),
    ] {
        let refusal = parse(extra.clone()).unwrap_err();
        assert_eq!(refusal.field, field, "{extra}: {refusal}");
    }
    for text in [
        "http://a.test",
        "a.test",
        "dns://1.1.1.1",
        "dns:///",
        "dns:///a.test?class=CH",
        "dns:///a.test?typo=MX",
        "dns:///a.test?type=XX",
        "dns://a.test:0/x",
        "dns:///a..b",
    ] {
        assert_eq!(url(text).unwrap_err().field, "url", "{text}");
    }
    assert!(
        url("dns:///a.test?type=XX").unwrap_err().message.starts_with("the type \"XX\" cannot")
    );
}

#[test]
fn the_response_code_is_asked_for_unless_the_monitor_does() {
    let labels = |extra| {
        let check = parse(extra).unwrap();
        check
            .conditions()
            .iter()
            .map(|a| format!("{} {}", a.subject().label(), a.op().name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(json!({})), ["rcode eq"]);
    assert_eq!(
        labels(json!({"assertions": [{"on": "rcode", "op": "ne", "value": "servfail"}]})),
        ["rcode ne"]
    );
}

#[test]
fn what_says_little_gets_a_warning() {
    let codes =
        |extra| parse(extra).unwrap().lint().into_iter().map(|w| w.code).collect::<Vec<_>>();
    let record = json!([{"on": "record", "op": "exists"}]);
    assert_eq!(codes(json!({})), ["only_rcode"]);
    assert!(codes(json!({"assertions": record})).is_empty());
    assert!(
        codes(json!({"assertions": [{"on": "rcode", "op": "eq", "value": "NXDOMAIN"}]})).is_empty()
    );
    assert_eq!(codes(json!({"assertions": record, "server": "10.0.0.53"})), ["closed_address"]);
}

/// Whether one condition holds for records of a type.
fn holds(record: &str, condition: Value, records: &[&str]) -> bool {
    let check = parse(json!({"type": record, "assertions": [condition]})).unwrap();
    let records: Vec<String> = records.iter().map(|text| (*text).to_owned()).collect();
    let seen = Seen { rcode: Some("NOERROR"), records: Some(&records), ..Seen::default() };
    judge(check.assertions().iter(), &seen).remove(0).holds.unwrap()
}

#[test]
fn names_compare_without_case_and_last_dot_and_texts_exactly() {
    let mx = ["10 mail.example.com", "20 backup.example.com"];
    let ask = |op: &str, value: &str| json!({"on": "record", "op": op, "value": value});
    assert!(holds("MX", ask("eq", "10 Mail.Example.COM."), &mx));
    assert!(!holds("MX", ask("eq", "mail.example.com"), &mx));
    assert!(holds("MX", ask("contains", "BACKUP.example.com."), &mx));
    assert!(holds("MX", ask("matches", "^10 MAIL\\."), &mx));
    assert!(!holds(
        "MX",
        json!({"on": "record", "quantifier": "all", "op": "matches", "value": "^10 "}),
        &mx
    ));
    assert!(holds("AAAA", ask("eq", "2001:DB8:0:0::1"), &["2001:db8::1"]));
    assert!(holds("CAA", ask("eq", "0 issue letsencrypt.org"), &["0 issue \"letsencrypt.org\""]));
    assert!(holds(
        "CNAME",
        json!({"on": "record", "op": "in", "value": ["A.test.", "b.test"]}),
        &["a.test"]
    ));
    let txt = ["v=spf1 -all", "Token=AbC"];
    assert!(holds("TXT", ask("eq", "Token=AbC"), &txt));
    assert!(
        !holds("TXT", ask("eq", "token=abc"), &txt) && !holds("TXT", ask("contains", "abc"), &txt)
    );
    assert!(!holds("TXT", ask("matches", "TOKEN"), &txt));
}

#[test]
fn quantifiers_look_at_the_whole_set_whatever_its_order() {
    let ask = |quantifier: &str, op: &str, value: &str| json!({"on": "record", "quantifier": quantifier, "op": op, "value": value});
    let (two, turned) = (["6.6.6.6", "1.1.1.1"], ["1.1.1.1", "6.6.6.6"]);
    for records in [two, turned] {
        // Case 26, and its opposites.
        assert!(!holds("A", ask("none", "eq", "6.6.6.6"), &records));
        assert!(holds("A", ask("none", "eq", "9.9.9.9"), &records));
        assert!(holds("A", ask("any", "eq", "1.1.1.1"), &records));
        assert!(!holds("A", ask("all", "eq", "1.1.1.1"), &records));
        assert!(holds("A", ask("all", "ne", "9.9.9.9"), &records));
        assert!(holds("A", ask("any", "ne", "1.1.1.1"), &records));
    }
    // Nothing is a fact, and matches nothing.
    for op in ["eq", "ne"] {
        for quantifier in ["any", "all", "none"] {
            assert!(!holds("A", ask(quantifier, op, "1.1.1.1"), &[]), "{quantifier} {op}");
        }
    }
    assert!(holds("A", json!({"on": "record", "op": "absent"}), &[]));
    assert!(!holds("A", json!({"on": "record", "op": "exists"}), &[]));
}
