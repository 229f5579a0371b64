use super::*;
use crate::{
    accesslog::Context,
    domain::fleet::record::{Attribution, Outcome, Record},
};

fn read<'a>(format: &LogFormat, line: &'a str) -> Result<Record<'a>, Reject> {
    let mut stamps = Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 });
    match format.line(line.as_bytes(), &mut stamps)? {
        Line::Request(record) => Ok(record),
        other => panic!("{other:?}"),
    }
}

fn refused(format: &str) -> String {
    LogFormat::new(format).unwrap_err().0
}

const PASTED: &str = r#"
log_format  upstreams escape=default
    '$remote_addr - $remote_user [$time_local] "$request" '   # the usual
    '$status $body_bytes_sent "$http_referer" "$http_user_agent" '
    "rt=$request_time up=$upstream_addr ust=$upstream_status uct=\"$upstream_connect_time\" "
    'urt=$upstream_response_time cs=${upstream_cache_status}';
"#;

#[test]
fn a_directive_over_several_lines() {
    let format = LogFormat::new(PASTED).unwrap();
    let record = read(
        &format,
        r#"203.0.113.9 - ann 2 [05/Mar/2026:10:15:30 +0000] "GET /a\x22b HTTP/1.1" 200 512 "-" "ua 1" rt=0.412 up=10.9.0.11:80, app : [::1]:80 ust=502, 502 : 200 uct="-, - : 0.001" urt=0.120, 0.000 : 0.290 cs=-"#,
    )
    .unwrap();
    assert_eq!(record.user.unwrap().raw, b"ann 2");
    assert_eq!(record.target.unwrap().show(), "/a\"b");
    assert_eq!((record.duration_us, record.pool_empty), (Some(412_000), 1));
    let tries: Vec<_> = record
        .attempts
        .iter()
        .map(|a| (a.instance, a.status, a.duration_us, a.outcome.is_error()))
        .collect();
    assert_eq!(
        tries,
        [
            (&b"10.9.0.11:80"[..], Some(502), Some(120_000), true),
            (b"[::1]:80", Some(200), Some(290_000), false),
        ]
    );
    assert_eq!(record.attribution, Attribution::Instance);
    assert!(!record.truncated);
}

#[test]
fn the_format_alone_and_other_ways_to_write_it() {
    let bare = r#"$remote_addr - $remote_user [$time_local] "$request" $status $upstream_addr $upstream_status $request_time"#;
    let line = r#"2001:db8::7 - - [05/Mar/2026:10:15:30 +0000] "" 400 - - 0.000 and more"#;
    for pasted in [
        bare.to_owned(),
        format!("'{bare}'"),
        format!("main '{bare}';"),
        format!("log_format main '{bare}';"),
        format!("log_format main escape=default\n  '{bare}'\n  ;"),
        bare.replace(" \"$request\"", "\n  \"$request\""),
    ] {
        let record = read(&LogFormat::new(&pasted).unwrap(), line).unwrap();
        assert_eq!(record.client, Some(&b"2001:db8::7"[..]), "{pasted}");
        assert_eq!(record.request.unwrap().raw, b"");
        assert_eq!(record.attribution, Attribution::Client);
    }
}

#[test]
fn json_that_is_pasted() {
    let format = LogFormat::new(
        r#"log_format j escape=json '{"t":"$msec","r":"$request","s":$status,"ua":"$http_user_agent",' '"up":"$upstream_addr","us":"$upstream_status"}';"#,
    )
    .unwrap();
    let record = read(
        &format,
        r#"{"t":"1772705730.250","r":"GET /x\"y HTTP/1.1","s":502,"ua":"a\\","up":"app","us":"502"}"#,
    )
    .unwrap();
    assert_eq!(record.end_us, 1_772_705_730_250_000);
    assert_eq!(record.target.unwrap().show(), "/x\"y");
    assert_eq!(record.user_agent.unwrap().show(), "a\\");
    assert_eq!((record.attribution, record.pool_empty), (Attribution::Pool, 1));
    assert!(record.attempts.is_empty());
}

#[test]
fn nothing_is_escaped_when_the_format_says_so() {
    let format =
        LogFormat::new(r#"log_format n escape=none '$time_iso8601 "$request" $status';"#).unwrap();
    let record = read(&format, r#"2026-03-05T10:15:30+00:00 "GET /a\" 200"#).unwrap();
    assert_eq!(record.target.unwrap().show(), "/a\\");
    assert_eq!(record.status, Some(200));
}

#[test]
fn urls_in_parts_are_understood() {
    let format = LogFormat::new(
        r#"$time_iso8601 $request_method $scheme://$host$request_uri $status $uri$is_args$args;"#,
    )
    .unwrap();
    let record =
        read(&format, "2026-03-05T10:15:30+00:00 GET https://shop.example/pay?x=1 201 /pay?x=1;")
            .unwrap();
    assert_eq!(record.method, Some(&b"GET"[..]));
    assert_eq!((record.target.unwrap().raw, record.status), (&b"/pay?x=1"[..], Some(201)));
}

#[test]
fn tries_that_say_nothing_are_unknown() {
    let format = LogFormat::new(
        "$time_iso8601 $status $upstream_addr $upstream_status $upstream_response_time",
    )
    .unwrap();
    let record =
        read(&format, "2026-03-05T10:15:30+00:00 200 10.9.0.11:80, 10.9.0.12:80 200, - 0.100, -")
            .unwrap();
    assert_eq!(record.attempts[0].outcome, Outcome::Ok);
    assert_eq!((record.attempts[1].status, record.attempts[1].duration_us), (None, None));
    assert_eq!(record.attempts[1].outcome, Outcome::Unknown);
}

#[test]
fn a_line_that_was_cut_counts_and_another_does_not() {
    let format = LogFormat::new(PASTED).unwrap();
    let start = r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 512 "-" "ua"#;
    let record = read(&format, start).unwrap();
    assert!(record.truncated && record.status == Some(200));
    for bad in [
        r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET / HT"#,
        r#"203.0.113.9 - - [05/Mar/2026] "GET / HTTP/1.1" 200 512 "-" "ua""#,
        r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" ok 512 "-" "ua""#,
        "something else",
    ] {
        assert!(read(&format, bad).is_err(), "{bad}");
    }
}

#[test]
fn what_is_ambiguous_is_named_with_its_place() {
    let both = refused("$time_local $status $remote_addr$server_port");
    assert!(both.contains("`$remote_addr`") && both.contains("`$server_port`"), "{both}");
    let spaces = refused("$time_local $http_user_agent $status");
    assert!(spaces.contains("`$http_user_agent`") && spaces.contains("quotes"), "{spaces}");
    assert!(refused("$status").contains("no time"));
    assert!(refused("[$time_local]").contains("$status"));
    assert!(refused(" ").contains("empty"));
    assert!(refused("log_format main;").contains("nothing"));
    assert!(refused("log_format m '$time_local $status").contains("not closed"));
    assert!(refused("log_format m escape=xml '$status';").contains("escape=xml"));
    assert!(refused("log_format m '$status' x '$time_local';").contains("\"x\""));
    assert!(refused("$time_local $status $ x").contains("dollar"));
    assert!(refused("$time_local ${status x").contains("brace"));
}
