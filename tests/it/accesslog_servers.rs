//! Access and error logs of nginx, Apache, Traefik and Caddy as the programs wrote them.

use std::{collections::BTreeMap, fs, path::Path};

use quorate::{
    accesslog::{Context, Detected, Format, Line, Parser, Undetected, detect},
    domain::fleet::{
        event::{Event, What},
        record::{Attribution, Fault, Outcome, Record, Text},
    },
};

fn log(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name)).unwrap()
}

fn context() -> Context {
    Context { tz: jiff::tz::TimeZone::UTC, now_us: us("2026-11-30T00:00:00Z") }
}

fn us(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
}

/// What a file says.
#[derive(Default)]
struct Said<'a> {
    records: Vec<Record<'a>>,
    events: Vec<Event>,
    nothing: usize,
    rejected: Vec<(usize, &'static str)>,
}

fn say(parser: &mut Parser, bytes: &'static [u8]) -> Said<'static> {
    let mut said = Said::default();
    for (number, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        match parser.line(line) {
            Ok(Line::Request(record)) => said.records.push(record),
            Ok(Line::Event(event)) => said.events.push(event),
            Ok(Line::Nothing) => said.nothing += 1,
            Err(reject) => said.rejected.push((number + 1, reject.0)),
        }
    }
    said
}

/// Reads a whole file and wants every line taken.
fn read(name: &str, format: Format) -> Said<'static> {
    let said = say(&mut Parser::new(format, &context()), log(name).leak());
    assert_eq!(said.rejected, [], "{name}");
    said
}

fn one(format: Format, line: &'static str) -> Record<'static> {
    match Parser::new(format, &context()).line(line.as_bytes()).unwrap() {
        Line::Request(record) => record,
        other => panic!("{other:?}"),
    }
}

fn shown(text: Option<Text<'_>>) -> String {
    text.map(Text::show).unwrap_or_default()
}

/// Attempts as `address status ms outcome`, absent as `-`.
fn tries(record: &Record<'_>) -> Vec<String> {
    let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let each = record.attempts.iter().map(|attempt| {
        format!(
            "{} {} {} {}",
            String::from_utf8_lossy(attempt.instance),
            number(attempt.status.map(u64::from)),
            number(attempt.duration_us.map(|us| us / 1_000)),
            attempt.outcome.as_str(),
        )
    });
    each.collect()
}

const UPSTREAM_FORMAT: &str = r#"log_format up '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
 '"$http_referer" "$http_user_agent" upstream=$upstream_addr ust=$upstream_status urt=$upstream_response_time '
 'uct=$upstream_connect_time rt=$request_time ubytes=$upstream_bytes_received';"#;

#[test]
fn every_line_of_every_generated_file_is_taken() {
    for (name, format, requests) in [
        ("nginx_combined.log", Format::NginxCombined, 746),
        ("nginx_combined_up.log", Format::NginxCombined, 746),
        ("nginx_json.log", Format::NginxJson, 746),
        ("nginx_ingress_upstreaminfo.log", Format::IngressNginx, 746),
        ("apache_common.log", Format::ApacheCommon, 1531),
        ("apache_combined.log", Format::ApacheCombined, 1531),
        ("apache_vhost_combined.log", Format::ApacheVhost, 1531),
        ("apache_balancer.log", Format::ApacheCombined, 1531),
        ("caddy_access.json", Format::CaddyJson, 917),
    ] {
        let said = read(name, format);
        assert_eq!(
            (said.records.len(), said.events.len(), said.nothing),
            (requests, 0, 0),
            "{name}"
        );
        assert!(said.records.iter().all(|record| !record.truncated), "{name}");
    }
}

#[test]
fn formats_are_told_by_their_lines() {
    for (name, want) in [
        ("nginx_combined.log", Format::NginxCombined),
        ("nginx_combined_up.log", Format::NginxCombined),
        ("nginx_json.log", Format::NginxJson),
        ("nginx_ingress_upstreaminfo.log", Format::IngressNginx),
        ("nginx_error.log", Format::NginxError),
        ("apache_common.log", Format::ApacheCommon),
        ("apache_combined.log", Format::ApacheCombined),
        ("apache_vhost_combined.log", Format::ApacheVhost),
        ("apache_balancer.log", Format::ApacheCombined),
        ("caddy_access.json", Format::CaddyJson),
        ("caddy_runtime.json", Format::CaddyJson),
        ("lnav_caddy.log", Format::CaddyJson),
        ("lnav_shop_access.log", Format::NginxCombined),
        ("lnav_vhost_access.log", Format::ApacheVhost),
        ("beats_ingress_nginx.log", Format::IngressNginx),
        ("beats_nginx_access.log", Format::NginxCombined),
    ] {
        assert_eq!(detect(&log(name), &context()), Ok(want), "{name}");
    }
    let generic = br#"{"@timestamp":"2026-03-05T10:15:30Z","http.response.status_code":200}"#;
    assert_eq!(detect(generic, &context()), Ok(Format::GenericJson));
    let flat = br#"{"time":"2026-03-05T10:15:30Z","status":200,"path":"/","duration_ms":12}"#;
    assert_eq!(detect(flat, &context()), Ok(Format::GenericJson));
}

#[test]
fn what_cannot_be_read_is_named() {
    let said = |head: &str| -> Detected { detect(head.as_bytes(), &context()) };
    let name = |head: &str| match said(head) {
        Err(Undetected::Unbuilt { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        name(
            "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: x\n2018-01-01 08:09:10 127.0.0.1 GET / - 80\n"
        ),
        "iis-w3c"
    );
    assert_eq!(
        name(
            "Sep 20 15:44:23 127.0.0.1 haproxy[25457]: 127.0.0.1:40962 [20/Sep/2018:15:44:23.285] main app/<NOSRV> -1/-1/1 212 SC 1/1/0/0/0 0/0"
        ),
        "haproxy-tcp"
    );
    assert_eq!(
        name(
            r#"192.168.33.1 - - [02/Oct/2017:20:22:07 +0000] "GET / HTTP/1.1" 304 0 "-" "ua" 262 "Host-host-1" "http://172.19.0.3:5601" 2ms"#
        ),
        "traefik-clf"
    );
    assert_eq!(
        name(
            "tls 2.0 2026-03-05T10:15:30 net/x/1 c 1.2.3.4:1 5.6.7.8:443 5 3 98 246 - - - - - - - - - - - -"
        ),
        "aws-nlb"
    );
    assert_eq!(
        name(
            "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes\n2026-03-05\t10:15:30\tFRA\t5\n"
        ),
        "aws-cloudfront"
    );
    assert_eq!(said(""), Err(Undetected::Empty));
    let unknown = said("something\nelse\n").unwrap_err().to_string();
    assert!(unknown.contains("95 %") && unknown.contains("--log-format"), "{unknown}");
    let misnamed = "nginx".parse::<Format>().unwrap_err().to_string();
    assert!(misnamed.contains("nginx-combined") && misnamed.contains("generic-json"), "{misnamed}");
    assert!("iis-w3c".parse::<Format>().unwrap_err().to_string().contains("not built"));
    assert!(Format::ALL.into_iter().all(|format| format.as_str().parse() == Ok(format)));
}

/// One nginx wrote the same 746 requests in four formats.
#[test]
fn four_formats_of_one_server_tell_the_same() {
    let plain = read("nginx_combined.log", Format::NginxCombined).records;
    let named = read("nginx_combined_up.log", Format::NginxCombined).records;
    let json = read("nginx_json.log", Format::NginxJson).records;
    let ingress = read("nginx_ingress_upstreaminfo.log", Format::IngressNginx).records;
    let mut pasted = Parser::custom(UPSTREAM_FORMAT, &context()).unwrap();
    let pasted = say(&mut pasted, log("nginx_combined_up.log").leak());
    assert_eq!(pasted.rejected, []);

    for (i, whole) in named.iter().enumerate() {
        let line = i + 1;
        assert_eq!(whole, &pasted.records[i], "line {line}");
        let tries_of = tries(whole);
        for (other, what) in [(&plain[i], "plain"), (&json[i], "json"), (&ingress[i], "ingress")] {
            assert_eq!(other.end_us / 1_000_000, whole.end_us / 1_000_000, "{what} {line}");
            assert_eq!(other.status, whole.status, "{what} {line}");
            assert_eq!(other.bytes, whole.bytes, "{what} {line}");
            assert_eq!(other.client, whole.client, "{what} {line}");
            assert_eq!(shown(other.request), shown(whole.request), "{what} {line}");
            assert_eq!(other.method, whole.method, "{what} {line}");
            assert_eq!(shown(other.target), shown(whole.target), "{what} {line}");
            assert_eq!(shown(other.user_agent), shown(whole.user_agent), "{what} {line}");
            if what != "plain" {
                assert_eq!(tries(other), tries_of, "{what} {line}");
                assert_eq!(other.attribution, whole.attribution, "{what} {line}");
                assert_eq!(other.pool_empty, whole.pool_empty, "{what} {line}");
            }
        }
        assert_eq!(ingress[i].duration_us, whole.duration_us, "line {line}");
        assert_eq!(ingress[i].user, whole.user, "line {line}");
        assert!(plain[i].attempts.is_empty() && plain[i].pool_empty == 0);
    }
}

#[test]
fn what_the_lists_of_the_lab_say() {
    let records = read("nginx_combined_up.log", Format::NginxCombined).records;
    let count = |holds: &dyn Fn(&Record<'_>) -> bool| records.iter().filter(|r| holds(r)).count();
    // The name of the group stands in the place of an address: alone 71 times, before an address 32, after
    // one 4.
    assert_eq!(count(&|r| r.pool_empty > 0), 107);
    assert_eq!(count(&|r| r.attribution == Attribution::Pool), 75);
    assert_eq!(count(&|r| r.pool_empty > 0 && r.attribution == Attribution::Instance), 32);
    assert!(
        records.iter().flat_map(|r| &r.attempts).all(|a| a.instance.starts_with(b"127.0.0.1:"))
    );
    // Users saw a 200 where one or two instances had failed.
    assert_eq!(
        count(&|r| r.status == Some(200) && r.attempts.iter().any(|a| a.outcome.is_error())),
        8
    );
    assert_eq!(count(&|r| r.attribution == Attribution::Client), 8);
    // The client left after the instance had answered.
    let left = records.iter().find(|r| r.status == Some(499)).unwrap();
    assert_eq!((left.attribution, left.attempts[0].outcome), (Attribution::Client, Outcome::Ok));

    let mut faults = BTreeMap::new();
    for attempt in records.iter().flat_map(|r| &r.attempts) {
        if let Outcome::Error(fault) = attempt.outcome {
            *faults.entry(fault.as_str()).or_insert(0) += 1;
        }
    }
    // 8 refused and 37 hung up, as the error log of the same run says.
    assert_eq!(faults, BTreeMap::from([("connect", 8), ("reset", 37), ("status", 9)]));
}

/// What stands behind the combined format adds to it and changes nothing of it.
#[test]
fn fields_behind_the_combined_format() {
    let start = r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "ua" "#;
    let read = |rest: &str| one(Format::NginxCombined, format!("{start}{rest}").leak());
    let bare = read("");
    assert_eq!(bare, read(r#""10.0.0.1, 10.0.0.2""#));
    assert_eq!(bare, read("status=500 time=x bytes=7 whatever"));
    assert_eq!(read("310 0.021 0.020 .").duration_us, Some(21_000));
    let named = read(
        r#""-" rt=0.021 upstream="10.9.0.11:80, 10.9.0.12:80" us="502, 200" x=1 urt=0.001, 0.020"#,
    );
    assert_eq!(tries(&named), ["10.9.0.11:80 502 1 error", "10.9.0.12:80 200 20 ok"]);
    assert_eq!((named.duration_us, named.attribution), (Some(21_000), Attribution::Instance));
    assert_eq!(read("rt=0.000 upstream=- us=-").attribution, Attribution::Proxy);
}

#[test]
fn odd_requests_keep_their_line() {
    let records = read("nginx_combined.log", Format::NginxCombined).records;
    let at = |line: usize| &records[line - 1];
    let tls = at(547);
    assert_eq!(tls.request.unwrap().decode()[..4], [0x16, 3, 1, 2]);
    assert_eq!((tls.method, tls.target, tls.status), (None, None, Some(400)));
    assert_eq!(tls.attribution, Attribution::Client);
    let empty = at(548);
    assert_eq!(
        (empty.request.unwrap().raw, empty.status, empty.bytes),
        (&b""[..], Some(400), Some(0))
    );
    assert_eq!(empty.attribution, Attribution::Client);
    // HTTP/0.9
    assert_eq!((at(549).method, shown(at(549).target)), (Some(&b"GET"[..]), "/old".to_owned()));
    assert_eq!(shown(at(551).target), "http://other.example:81/abs");
    assert_eq!(at(552).method, Some(&b"PATCHp"[..]));
    let long = at(554);
    assert!(long.target.unwrap().raw.len() > 2_900 && long.status == Some(200));
    // A target with spaces is no target; the line is whole.
    assert_eq!((at(558).method, shown(at(558).request)), (None, "GET /a b c HTTP/1.1".to_owned()));
    let john = records.iter().find(|r| r.user.is_some()).unwrap();
    assert_eq!((shown(john.user), shown(john.target)), ("john doe".to_owned(), "/auth".to_owned()));
    assert!(records.iter().any(|r| r.client == Some(b"::1")));
    let bytes =
        records.iter().find(|r| str::from_utf8(&r.request.unwrap_or_default().decode()).is_err());
    assert_eq!(
        bytes.unwrap().user_agent.unwrap().decode().as_ref(),
        b"\xc3\xa9t\xe9 \xf0\x9f\x90\xa2"
    );

    let json = read("nginx_json.log", Format::NginxJson).records;
    assert_eq!(
        json[545].request.unwrap().decode().as_ref(),
        bytes.unwrap().request.unwrap().decode().as_ref()
    );
}

#[test]
fn apache_tells_arrival_and_worker() {
    let common = read("apache_common.log", Format::ApacheCommon).records;
    let combined = read("apache_combined.log", Format::ApacheCombined).records;
    let vhost = read("apache_vhost_combined.log", Format::ApacheVhost).records;
    let balancer = read("apache_balancer.log", Format::ApacheCombined).records;
    for (i, known) in balancer.iter().enumerate() {
        for other in [&common[i], &combined[i], &vhost[i]] {
            assert_eq!(other.status, known.status, "line {}", i + 1);
            assert_eq!(shown(other.request), shown(known.request), "line {}", i + 1);
            assert_eq!(other.client, known.client, "line {}", i + 1);
            assert!(other.end_us <= known.end_us && other.attempts.is_empty());
        }
        assert_eq!(known.bytes, common[i].bytes);
        assert_eq!(combined[i], vhost[i]);
    }
    // `"GET / HTTP/1.1" 200 5360 … 8100 http://127.0.0.1:9101 a`
    assert_eq!(balancer[0].end_us, us("2026-11-29T19:36:46.0081Z"));
    assert_eq!(tries(&balancer[0]), ["127.0.0.1:9101 200 8 ok"]);
    let blank = balancer.iter().find(|r| r.bytes == Some(0)).unwrap();
    assert_eq!(blank.attempts[0].instance, b"127.0.0.1:9103");
    let failed: Vec<_> =
        balancer.iter().filter(|r| r.attempts.iter().any(|a| a.outcome.is_error())).collect();
    assert_eq!(failed.len(), 24 + 2 + 28 + 124);
    assert!(failed.iter().all(|r| r.attribution == Attribution::Instance));
    let alone: Vec<_> =
        balancer.iter().filter(|r| r.attempts.is_empty()).map(|r| r.status).collect();
    assert_eq!(alone, [Some(400), Some(408), Some(400), Some(400)]);
    let noise = |r: &&Record<'_>| r.attempts.is_empty() && r.attribution != Attribution::Client;
    assert_eq!(balancer.iter().find(noise), None);

    let agents: Vec<_> = combined[1_500..].iter().map(|r| shown(r.user_agent)).collect();
    for agent in ["Alba 10\" Build", "a\\\"b", "{a|b} #c"] {
        assert!(agents.iter().any(|known| known == agent), "{agent}");
    }
}

#[test]
fn lines_of_other_tools_files() {
    let ingress = read("beats_ingress_nginx.log", Format::IngressNginx).records;
    assert_eq!(tries(&ingress[1]), [""; 0]);
    assert_eq!((ingress[1].pool, ingress[1].attribution), (None, Attribution::Client));
    assert_eq!(tries(&ingress[3]), ["172.17.0.6:8080 200 100 ok", "172.17.0.7:8080 203 4 ok"]);
    assert_eq!(ingress[4].client, Some(&b"2a02:cf40::"[..]));
    assert_eq!(shown(ingress[4].user), "remote_monitoring_user");
    assert_eq!(tries(&ingress[4]), ["[2a02:cf40::]:9200 200 36 ok"]);
    assert_eq!(ingress[5].attempts[0].outcome, Outcome::Error(Fault::Reset));
    assert_eq!(tries(&ingress[7]), ["unix:/var/run/php-fpm.sock 200 2 ok"]);
    assert_eq!(tries(&ingress[8]), ["172.17.0.6:8080 200 100 ok", "172.17.0.7:8080 - - unknown"]);

    let nginx = read("beats_nginx_access.log", Format::NginxCombined).records;
    let clients: Vec<_> =
        nginx.iter().map(|r| String::from_utf8_lossy(r.client.unwrap())).collect();
    assert_eq!(clients[0], "10.0.0.2");
    assert_eq!(clients[4], "10.5.102.222");
    assert_eq!(clients[5], "2a03:0000:10ff:f00f:0000:0000:0:8000");
    assert_eq!(nginx[0].end_us, us("2016-12-07T10:05:07Z"));

    let apache = read("beats_apache_access.log", Format::ApacheCombined).records;
    assert_eq!((apache[2].status, apache[2].bytes, apache[2].request), (Some(408), Some(0), None));
    assert_eq!(apache[4].client, Some(&b"monitoring-server"[..]));
    assert_eq!(apache[6].client, Some(&b"123.123.123.123"[..]));

    let cut = read("elastic_apache_cut.log", Format::ApacheCombined).records;
    let whole: Vec<_> = cut.iter().map(|r| r.truncated).collect();
    assert_eq!(whole.iter().filter(|cut| **cut).count(), 1);
    assert!(cut[9].truncated && cut[9].status == Some(200) && cut[9].user_agent.is_some());

    let vhost = read("lnav_vhost_access.log", Format::ApacheVhost).records;
    assert_eq!((shown(vhost[0].user), vhost[0].duration_us), ("jsmith".to_owned(), Some(116_075)));

    let caddy = read("lnav_caddy.log", Format::CaddyJson);
    assert_eq!((caddy.records.len(), caddy.events.len(), caddy.nothing), (4, 0, 35));
}

/// Reports against other tools, with our own values (spec: fleet 6).
#[test]
fn reports_against_other_tools() {
    // elastic/beats #20813
    let retried = one(
        Format::IngressNginx,
        r#"198.51.100.7 - - [05/Mar/2026:10:15:30 +0000] "GET /pay HTTP/2.0" 200 512 "-" "ua/1" 310 0.412 [shop-pay-8443] [] 10.9.0.11:8443, 10.9.0.12:8443 0, 512 0.120, 0.290 502, 200 7f3c"#,
    );
    assert_eq!(tries(&retried), ["10.9.0.11:8443 502 120 error", "10.9.0.12:8443 200 290 ok"]);
    assert_eq!((retried.status, retried.pool), (Some(200), Some(&b"shop-pay-8443"[..])));
    assert_eq!((retried.duration_us, retried.attribution), (Some(412_000), Attribution::Instance));

    // elastic/beats #30697
    let unknown = one(
        Format::IngressNginx,
        r#"198.51.100.7 - - [05/Mar/2026:10:15:30 +0000] "GET /pay HTTP/2.0" 200 512 "-" "ua/1" 310 0.412 [shop-pay-8443] [] 10.9.0.11:8443, 10.9.0.12:8443 61, - 0.100, - 200, - 7f3c"#,
    );
    assert_eq!(tries(&unknown), ["10.9.0.11:8443 200 100 ok", "10.9.0.12:8443 - - unknown"]);

    // kubernetes/ingress-nginx #3450
    let groups = one(
        Format::IngressNginx,
        r#"198.51.100.7 - - [05/Mar/2026:10:15:30 +0000] "GET /pay HTTP/2.0" 200 512 "-" "ua/1" 310 0.412 [shop-pay-8443] [] 10.9.0.11:8443 : 10.9.0.12:8443 0 : 512 0.120 : 0.290 502 : 200 7f3c"#,
    );
    assert_eq!(tries(&groups), ["10.9.0.11:8443 502 120 error", "10.9.0.12:8443 200 290 ok"]);

    // vectordotdev/vrl #226
    for (line, request) in [
        (r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "" 400 0 "" """#, ""),
        (
            r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "\x16\x03\x01" 400 157 "-" "-""#,
            "\u{16}\u{3}\u{1}",
        ),
    ] {
        for format in [Format::NginxCombined, Format::ApacheCombined] {
            let noise = one(format, line);
            assert_eq!((shown(noise.request), noise.method), (request.to_owned(), None));
            assert_eq!((noise.status, noise.attribution), (Some(400), Attribution::Client));
        }
    }

    // fluent/fluent-bit #566, #1339, fluentd #2841
    let quotes = one(
        Format::ApacheCombined,
        r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "Tab 10\" Build/X""#,
    );
    assert_eq!(shown(quotes.user_agent), "Tab 10\" Build/X");

    // influxdata/telegraf #1973 and #1810
    let v6 = one(
        Format::ApacheCommon,
        r#"2001:db8::7 - - [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 5"#,
    );
    assert_eq!(v6.client, Some(&b"2001:db8::7"[..]));
    let user = one(
        Format::ApacheCommon,
        r#"203.0.113.9 - ann 2 [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 5"#,
    );
    assert_eq!((shown(user.user), user.client), ("ann 2".to_owned(), Some(&b"203.0.113.9"[..])));
}

#[test]
fn nginx_error_log_tells_of_upstreams() {
    let said = read("nginx_error.log", Format::NginxError);
    let mut counts = BTreeMap::new();
    for event in &said.events {
        let what = match &event.what {
            What::PoolEmpty => "empty",
            What::Ejected { enforced: true } => "ejected",
            What::Failed if event.reason.as_ref().unwrap().contains("refused") => "refused",
            What::Failed if event.reason.as_ref().unwrap().contains("prematurely") => "hung up",
            other => panic!("{other:?}"),
        };
        *counts.entry(what).or_insert(0) += 1;
        match event.what {
            What::PoolEmpty => {
                assert_eq!((&event.pool, &event.instance), (&None, &None));
                assert!(event.reason.as_ref().unwrap().ends_with(": app"), "{event:?}");
            }
            _ => {
                assert!(event.instance.as_ref().unwrap().starts_with("127.0.0.1:910"), "{event:?}")
            }
        }
    }
    assert_eq!(
        counts,
        BTreeMap::from([("empty", 107), ("ejected", 22), ("refused", 8), ("hung up", 37)])
    );
    assert_eq!(said.events.len() + said.nothing, 211);

    let other = |line: &'static str| match Parser::new(Format::NginxError, &context())
        .line(line.as_bytes())
        .unwrap()
    {
        Line::Event(event) => (event.what, event.instance, event.reason),
        other => panic!("{other:?}"),
    };
    let (what, instance, reason) = other(
        r#"2026/03/05 10:15:30 [error] 7#7: *12 upstream timed out (110: Connection timed out) while reading response header from upstream, client: 203.0.113.9, server: _, request: "GET / HTTP/1.1", upstream: "fastcgi://unix:/run/php.sock:", host: "a""#,
    );
    assert_eq!((what, instance.as_deref()), (What::Failed, Some("unix:/run/php.sock")));
    assert_eq!(
        reason.unwrap(),
        "upstream timed out (110: Connection timed out) while reading response header from upstream"
    );
    let (_, instance, _) = other(
        r#"2026/03/05 10:15:30 [error] 7#7: *12 connect() failed (111: Connection refused) while connecting to upstream, client: ::1, server: , request: "GET / HTTP/1.1", upstream: "http://[2001:db8::9]:8080/x", host: "a""#,
    );
    assert_eq!(instance.as_deref(), Some("[2001:db8::9]:8080"));
}

#[test]
fn caddy_tells_of_requests_and_of_checks() {
    let access = read("caddy_access.json", Format::CaddyJson).records;
    assert_eq!(access.iter().filter(|r| r.attempts.len() == 1).count(), 916);
    assert_eq!(
        access.iter().filter(|r| r.attempts.iter().any(|a| a.outcome.is_error())).count(),
        26
    );
    let left: Vec<_> = access.iter().filter(|r| r.status.is_none()).collect();
    assert_eq!((left.len(), left[0].attribution), (1, Attribution::Client));
    assert_eq!(access[0].end_us, us("2026-11-29T19:38:15.15054Z"));
    assert_eq!(
        (access[0].duration_us, shown(access[0].version)),
        (Some(14_525), "1.4.2".to_owned())
    );

    let runtime = read("caddy_runtime.json", Format::CaddyJson);
    let ups = runtime.events.iter().filter(|e| matches!(e.what, What::State(_))).count();
    let failed = runtime.events.iter().filter(|e| e.what == What::Check { passed: false }).count();
    assert_eq!(ups + failed, runtime.events.len());
    assert_eq!((ups, failed, runtime.nothing), (7, 30, 12));
}
