//! Kind `http` against real sockets: the cases from the field and what lies around them.

use std::sync::Arc;
use std::time::Duration;

use quorate::domain::check::Check;
use quorate::domain::observation::{Class, Outcome};
use quorate::domain::secret::Secret;
use quorate::probe;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::targets::{
    Surroundings, answering, answering_in_turn, check, note_head, ok, probe, probe_in, silent, tcp,
};

async fn compressed(coding: &str, text: &str) -> Vec<u8> {
    use async_compression::tokio::write::{
        BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
    };
    macro_rules! through {
        ($encoder:ident) => {{
            let mut encoder = $encoder::new(Vec::new());
            encoder.write_all(text.as_bytes()).await.unwrap();
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }
    match coding {
        "gzip" => through!(GzipEncoder),
        "br" => through!(BrotliEncoder),
        "zstd" => through!(ZstdEncoder),
        "zlib" => through!(ZlibEncoder),
        _ => through!(DeflateEncoder),
    }
}

#[tokio::test]
async fn case_1_a_compressed_body_is_decoded_whoever_asked_for_it() {
    let page = "<!DOCTYPE html><title>x</title>";
    for (coding, header) in [
        ("gzip", "gzip"),
        ("gzip", "X-GZIP"),
        ("br", "br"),
        ("zstd", "zstd"),
        ("zlib", "deflate"),
        ("bare", "deflate"),
    ] {
        let target = answering(ok(
            &format!("Content-Encoding: {header}\r\n"),
            compressed(coding, page).await,
        ))
        .await;
        let seen = probe(json!({
            "url": target.url("/"), "headers": {"Accept-Encoding": "gzip"},
            "assertions": [{"on": "body", "op": "contains", "value": "<!DOCTYPE html>"}]
        }))
        .await;
        assert_eq!(seen.outcome, Outcome::Pass, "{coding}: {}", seen.message);
        assert_eq!(seen.size, Some(page.len() as u64));
        assert_eq!(
            target.requests()[0].to_ascii_lowercase().matches("accept-encoding:").count(),
            1
        );
    }
}

#[tokio::test]
async fn case_2_a_literal_is_data() {
    let target = answering(ok("", "{\"status\": 2, \"x\": 1}")).await;
    let seen = probe(json!({"url": target.url("/"), "assertions": [{"on": "body", "op": "contains", "value": "\"status\": 2,"}]})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn case_3_head_ends_with_the_headers() {
    let target = tcp(|mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n").await?;
        std::future::pending().await
    })
    .await;
    // The body that is announced never comes: waiting for it would be a timeout.
    let seen = probe(json!({"url": target.url("/"), "method": "HEAD"})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn case_4_a_cookie_lives_for_one_check() {
    let target = tcp(|mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        let head = requests.lock().unwrap().last().unwrap().clone();
        let answer: &[u8] = if head.contains("cookie: s=1") {
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        } else {
            b"HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n"
        };
        stream.write_all(answer).await
    })
    .await;
    for _ in 0..2 {
        let seen = probe(json!({"url": target.url("/")})).await;
        assert_eq!((seen.outcome, seen.hops.len()), (Outcome::Pass, 1), "{}", seen.message);
    }
    let sent_cookie: Vec<bool> =
        target.requests().iter().map(|head| head.contains("cookie:")).collect();
    assert_eq!(sent_cookie, [false, true, false, true], "the second check begins without it");
}

#[tokio::test]
async fn case_5_redirects_are_followed_as_far_as_asked() {
    let hop = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    };
    let expect_302 = json!([{"on": "status", "op": "eq", "value": 302}]);
    let target = answering_in_turn(vec![hop("/a")]).await;
    let seen =
        probe(json!({"url": target.url("/"), "max_redirects": 0, "assertions": expect_302})).await;
    assert_eq!((seen.outcome, seen.status, seen.hops.len()), (Outcome::Pass, Some(302), 0));
    let seen = probe(json!({"url": target.url("/"), "follow_redirects": false})).await;
    assert_eq!((seen.class, seen.status), (Some(Class::Status), Some(302)));

    let target = answering_in_turn(vec![hop("/a"), hop("/b"), ok("", "end")]).await;
    let seen =
        probe(json!({"url": target.url("/"), "max_redirects": 1, "assertions": expect_302})).await;
    assert_eq!(
        (seen.outcome, seen.status, seen.hops.len()),
        (Outcome::Pass, Some(302), 1),
        "{}",
        seen.message
    );
    assert_eq!(target.connections(), 2);

    let target = answering_in_turn(vec![hop("/a"), hop("/b"), ok("", "end")]).await;
    let seen = probe(json!({"url": target.url("/x?y=1"), "assertions": [
        {"on": "redirects", "op": "eq", "value": 2},
        {"on": "final_url", "op": "eq", "value": target.url("/b")}
    ]}))
    .await;
    assert_eq!((seen.outcome, seen.status), (Outcome::Pass, Some(200)), "{}", seen.message);
    assert_eq!(
        seen.hops.iter().map(|hop| (hop.status, hop.location.as_str())).collect::<Vec<_>>(),
        [(302, "/a"), (302, "/b")]
    );

    let circle = answering_in_turn(vec![hop("/")]).await;
    let seen = probe(json!({"url": circle.url("/")})).await;
    assert_eq!(
        (seen.class, seen.hops.len(), circle.connections()),
        (Some(Class::RedirectLimit), 5, 6)
    );
    for bad in [
        "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 301 X\r\nLocation: ftp://a.test/\r\n\r\n",
        "HTTP/1.1 301 X\r\nLocation: http://\r\n\r\n",
    ] {
        let target = answering(bad).await;
        assert_eq!(
            probe(json!({"url": target.url("/")})).await.class,
            Some(Class::RedirectInvalid),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn case_6_an_explicit_status_replaces_the_default() {
    let target = answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    let seen = probe(
        json!({"url": target.url("/"), "assertions": [{"on": "status", "op": "eq", "value": 404}]}),
    )
    .await;
    assert_eq!(seen.outcome, Outcome::Pass);
    let seen = probe(json!({"url": target.url("/")})).await;
    assert_eq!(seen.class, Some(Class::Status));
    assert_eq!(seen.message, "status should be in [\"2xx\"], but is 404.");
}

#[tokio::test]
async fn case_7_the_actual_value_is_shown() {
    let target = answering(ok("X-Custom: actual\r\n", "x")).await;
    let seen = probe(json!({"url": target.url("/"), "assertions": [{"on": "header", "name": "x-custom", "op": "eq", "value": "expected"}]})).await;
    assert_eq!(seen.class, Some(Class::Assertion));
    let judged = seen.assertions.iter().find(|judged| judged.on == "header x-custom").unwrap();
    assert_eq!((judged.holds, judged.actual.as_str()), (Some(false), "actual"));
}

#[tokio::test]
async fn case_10_own_headers_replace_ours() {
    let target = answering(ok("", "x")).await;
    let seen = probe(json!({"url": target.url("/"), "headers": {"user-agent": "x", "host": "h", "X-Two": ["1", "2"]}})).await;
    assert_eq!(seen.outcome, Outcome::Pass);
    let head = target.requests()[0].to_ascii_lowercase();
    assert_eq!(
        head.lines().filter(|line| line.starts_with("user-agent:")).collect::<Vec<_>>(),
        ["user-agent: x"]
    );
    assert_eq!(
        head.lines().filter(|line| line.starts_with("host:")).collect::<Vec<_>>(),
        ["host: h"]
    );
    assert_eq!(
        head.lines().filter(|line| line.starts_with("x-two:")).collect::<Vec<_>>(),
        ["x-two: 1", "x-two: 2"]
    );
    let seen = probe(json!({"url": target.url("/")})).await;
    assert_eq!(seen.outcome, Outcome::Pass);
    let head = target.requests()[1].to_ascii_lowercase();
    assert!(
        head.contains("user-agent: quorate-test")
            && head.contains(&format!("host: {}", target.addr))
    );
}

#[tokio::test]
async fn cases_21_to_25_conditions_on_json_cannot_lie() {
    for (body, path, op, value, outcome, actual) in [
        (
            r#"{"data":{"name":"john"}}"#,
            "$.data.name.invalid",
            "eq",
            "\"john\"",
            Outcome::Fail,
            "missing",
        ),
        ("null", "$.data[0]", "eq", "1", Outcome::Fail, "missing"),
        ("[1]", "$.data[0]", "eq", "1", Outcome::Fail, "missing"),
        ("5", "$.data[0]", "eq", "1", Outcome::Fail, "missing"),
        ("\"s\"", "$.data[0]", "eq", "1", Outcome::Fail, "missing"),
        (
            r#"{"queue":"N/A"}"#,
            "$.queue",
            "lt",
            "100",
            Outcome::Fail,
            "\"N/A\" (text is not a number)",
        ),
        (r#"{"id":12345678}"#, "$.id", "eq", "12345678", Outcome::Pass, "12345678"),
        (
            r#"{"id":9007199254740993}"#,
            "$.id",
            "eq",
            "9007199254740993",
            Outcome::Pass,
            "9007199254740993",
        ),
        (
            r#"{"id":9007199254740993}"#,
            "$.id",
            "ne",
            "9007199254740992",
            Outcome::Pass,
            "9007199254740993",
        ),
        ("{}", "$.status", "ne", "\"error\"", Outcome::Fail, "missing"),
        ("<html>502</html>", "$.status", "ne", "\"error\"", Outcome::Fail, "body is not JSON"),
    ] {
        let target = answering(ok("Content-Type: application/json\r\n", body)).await;
        let value: serde_json::Value = serde_json::from_str(value).unwrap();
        let seen = probe(json!({"url": target.url("/"), "assertions": [{"on": "json", "path": path, "op": op, "value": value}]})).await;
        assert_eq!(seen.outcome, outcome, "{body}: {}", seen.message);
        assert!(
            seen.assertions[1].actual.starts_with(actual),
            "{body}: {}",
            seen.assertions[1].actual
        );
    }
}

#[tokio::test]
async fn case_29_another_port_of_the_host_does_not_matter() {
    let good = answering(ok("", "x")).await;
    let refused = {
        let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        gone.local_addr().unwrap()
    };
    let ctx = Surroundings::default().context();
    for _ in 0..20 {
        let seen = probe_in(&ctx, json!({"url": format!("http://{refused}/")}), 2_000).await;
        assert_eq!(seen.class, Some(Class::ConnectRefused));
        assert_eq!(seen.phases_us.resolve, None, "nothing was looked up for an address");
        assert!(seen.phases_us.connect.is_some() && seen.phases_us.first_byte.is_none());
        assert_eq!(seen.address.as_deref(), Some("127.0.0.1"));
    }
    assert_eq!(probe_in(&ctx, json!({"url": good.url("/")}), 2_000).await.outcome, Outcome::Pass);
}

#[tokio::test]
async fn phases_and_facts_of_a_pass_are_told() {
    let target = answering(ok("Content-Type: application/json\r\nX-A: 1\r\n", "{}")).await;
    let ctx = Surroundings::default().context();
    let seen = probe_in(&ctx, json!({"url": target.url("/")}), 2_000).await;
    assert_eq!(
        (seen.status, seen.http_version.as_deref(), seen.size),
        (Some(200), Some("1.1"), Some(2))
    );
    assert_eq!(seen.address.as_deref(), Some("127.0.0.1"));
    let phases = seen.phases_us;
    assert!(phases.resolve.is_none() && phases.tls.is_none());
    let sum = phases.connect.unwrap() + phases.first_byte.unwrap() + phases.transfer.unwrap();
    assert!(sum <= phases.total);
    assert_eq!(seen.evidence, None, "evidence is kept for failures");
    let detail = probe::run_in_detail(
        &check(json!({"url": target.url("/")})),
        &ctx,
        Duration::from_secs(2),
        std::future::pending(),
    )
    .await;
    let evidence = detail.evidence.unwrap();
    assert_eq!(evidence.headers["content-type"], ["application/json"]);
    assert_eq!(evidence.resolved, ["127.0.0.1"]);
}

#[tokio::test]
async fn methods_and_bodies_change_at_redirects_as_browsers_do_it() {
    for (status, method, expected) in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (307, "POST", "POST"),
        (308, "PUT", "PUT"),
        (302, "PUT", "PUT"),
    ] {
        let hop = format!("HTTP/1.1 {status} X\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")
            .into_bytes();
        let target = answering_in_turn(vec![hop, ok("", "")]).await;
        let mut value = json!({"url": target.url("/"), "method": method});
        if method != "HEAD" {
            value["body"] = json!("{}");
        }
        let seen = probe(value).await;
        assert_eq!(seen.outcome, Outcome::Pass, "{status} {method}: {}", seen.message);
        let second = target.requests()[1].clone();
        assert!(second.starts_with(&format!("{expected} /next ")), "{status} {method}: {second}");
        assert_eq!(
            second.contains("content-type: application/json"),
            expected.starts_with('P'),
            "{second}"
        );
    }
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_host() {
    let elsewhere = answering(ok("", "x")).await;
    let port = elsewhere.addr.port();
    let hop = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://u:p@localhost:{port}/there\r\nSet-Cookie: jar=1\r\nContent-Length: 0\r\n\r\n"
    );
    let target = answering(hop).await;
    let check = check(json!({
        "url": target.url("/"), "auth": {"bearer": "t0ken"},
        "headers": {"Cookie": "own=1", "X-Api-Key": "k3y", "X-Own": "${secret:own}", "X-Plain": "yes", "Host": "first.test"}
    }));
    let check = check.with_secrets(&[("own".to_owned(), Secret::from("s3cret"))].into()).unwrap();
    let seen = probe::run(&check, &Surroundings::default().context(), Duration::from_secs(2)).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let first = target.requests()[0].clone();
    for sent in [
        "authorization: Bearer t0ken",
        "cookie: own=1",
        "x-api-key: k3y",
        "x-own: s3cret",
        "x-plain: yes",
        "host: first.test",
    ] {
        assert!(first.contains(sent), "{sent}: {first}");
    }
    let second = elsewhere.requests()[0].clone();
    assert!(
        second.contains("x-plain: yes") && second.contains(&format!("host: localhost:{port}")),
        "{second}"
    );
    for kept in ["authorization", "cookie", "k3y", "s3cret", "first.test"] {
        assert!(!second.contains(kept), "{kept}: {second}");
    }
    assert_eq!(seen.hops[0].location, format!("http://(hidden)@localhost:{port}/there"));
}

#[tokio::test]
async fn secrets_do_not_leave_even_when_the_server_echoes_them() {
    let target = tcp(|mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        let head = requests.lock().unwrap().last().unwrap().clone();
        let body = format!("you sent {head} and {}s3cret", "x".repeat(4_090 - head.len()));
        let answer = format!("HTTP/1.1 500 No\r\nSet-Cookie: sid=zzz\r\nX-Echo: pa55 bWU6cGE1NQ==\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await
    })
    .await;
    let check = check(json!({
        "url": format!("{}?api_key=qu3ry&page=1", target.url("/")),
        "auth": {"basic": {"username": "me", "password": "pa55"}},
        "headers": {"X-Own": "${secret:own}"},
        "assertions": [{"on": "body", "op": "contains", "value": "nowhere"}, {"on": "header", "name": "set-cookie", "op": "absent"}, {"on": "final_url", "op": "eq", "value": "x"}]
    }));
    let check = check.with_secrets(&[("own".to_owned(), Secret::from("s3cret"))].into()).unwrap();
    let seen = probe::run(&check, &Surroundings::default().context(), Duration::from_secs(2)).await;
    assert_eq!(seen.class, Some(Class::Status));
    let everything = serde_json::to_string(&seen).unwrap();
    for secret in ["pa55", "bWU6cGE1NQ", "qu3ry", "s3cret", "zzz"] {
        assert!(!everything.contains(secret), "{secret} in {everything}");
    }
    assert!(everything.contains("page=1") && everything.contains("x-own: (hidden)"));
    // The mark at the very edge of what is kept is not cut into a readable head.
    assert!(!everything.contains("xs3"), "{everything}");
}

#[tokio::test]
async fn a_proxy_comes_from_the_monitor_and_carries_its_own_credentials() {
    let target = answering(ok("", "direct")).await;
    let proxy = answering(ok("", "by proxy")).await;
    let seen = probe(json!({
        "url": target.url("/path?q=1"), "proxy": format!("http://u:p%40ss@{}", proxy.addr),
        "assertions": [{"on": "body", "op": "eq", "value": "by proxy"}]
    }))
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(target.connections(), 0);
    let head = proxy.requests()[0].clone();
    assert!(head.starts_with(&format!("GET http://{}/path?q=1 HTTP/1.1", target.addr)), "{head}");
    assert!(head.contains("proxy-authorization: Basic dTpwQHNz"), "{head}");
}

#[tokio::test]
async fn http2_without_tls_is_spoken_when_asked_for() {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let target = tcp(|stream, _, requests| async move {
        let service =
            hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
                requests.lock().unwrap().push(format!(
                    "{:?} {} {:?}",
                    request.version(),
                    request.uri(),
                    request.headers().get("host")
                ));
                async {
                    Ok::<_, std::convert::Infallible>(http::Response::new(
                        http_body_util::Full::new(bytes::Bytes::from("two")),
                    ))
                }
            });
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
        Ok(())
    })
    .await;
    let seen = probe(json!({
        "url": target.url("/p"), "http_version": "2", "headers": {"Host": "other.test"},
        "assertions": [{"on": "http_version", "op": "eq", "value": "2"}, {"on": "body", "op": "eq", "value": "two"}]
    }))
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(target.requests(), ["HTTP/2.0 http://other.test/p None"]);
}

#[tokio::test]
async fn many_probes_of_one_context_do_not_disturb_each_other() {
    let good = answering(ok("", "fine")).await;
    let silent = silent().await;
    let ctx = Surroundings::default().context();
    let mut running = tokio::task::JoinSet::new();
    for index in 0..60 {
        let (ctx, url) =
            (ctx.clone(), Arc::new(if index % 3 == 0 { silent.url("/") } else { good.url("/") }));
        running.spawn(async move {
            (
                index,
                probe_in(&ctx, json!({"url": *url}), if index % 3 == 0 { 300 } else { 5_000 })
                    .await,
            )
        });
    }
    while let Some(done) = running.join_next().await {
        let (index, seen) = done.unwrap();
        let expected = if index % 3 == 0 { Some(Class::HttpTimeoutFirstByte) } else { None };
        assert_eq!(seen.class, expected, "{index}: {}", seen.message);
    }
}

#[test]
fn a_check_is_read_from_text_with_its_numbers_exact() {
    let text = r#"{"kind":"http","url":"https://a.test","max_body":65536,"assertions":[{"on":"json","path":"$.id","op":"eq","value":9007199254740993}]}"#;
    let check: Check = serde_json::from_str(text).unwrap();
    assert!(serde_json::to_string(&check).unwrap().contains("9007199254740993"));
}
