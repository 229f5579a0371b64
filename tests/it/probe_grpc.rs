//! Kind `grpc` against real HTTP/2 servers: what they say, and what they do instead of saying it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::probe::{self, Context};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::targets::{
    Authority, DAY, Surroundings, Target, YEAR, answering, check, ok, probe_in, reset, silent, tcp,
    tcp_on,
};

type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What a call sent: its head and the bytes of its message.
type Calls = Arc<Mutex<Vec<(http::request::Parts, Bytes)>>>;

/// A head that gRPC accepts, a body, and trailers behind it.
fn reply(body: impl Into<Bytes>, trailers: &[(&'static str, &str)]) -> Reply {
    let trailers = map(trailers);
    let body = Full::new(body.into())
        .with_trailers(async move { Some(Ok::<_, Infallible>(trailers)) })
        .boxed_unsync();
    Response::builder().header("content-type", "application/grpc").body(body).unwrap()
}

/// The status in the head, and nothing else.
fn only_trailers(headers: &[(&'static str, &str)]) -> Reply {
    let mut response = Response::new(Empty::new().boxed_unsync());
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response.headers_mut().extend(map(headers));
    response
}

fn map(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
        .collect()
}

/// A framed health answer.
fn says(status: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, 2, 8, status]
}

async fn serve<S>(stream: S, answer: Arc<dyn Fn() -> Reply + Send + Sync>, calls: Calls)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (answer, calls) = (answer.clone(), calls.clone());
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            calls.lock().unwrap().push((parts, bytes));
            Ok::<_, hyper::Error>(answer())
        }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    // How a client leaves is no matter of these tests.
    _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn server(answer: impl Fn() -> Reply + Send + Sync + 'static) -> (Target, Calls) {
    let (answer, calls): (Arc<dyn Fn() -> Reply + Send + Sync>, Calls) =
        (Arc::new(answer), Calls::default());
    let seen = calls.clone();
    let target = tcp(move |stream, _, _| {
        let (answer, calls) = (answer.clone(), seen.clone());
        async move {
            serve(stream, answer, calls).await;
            Ok(())
        }
    })
    .await;
    (target, calls)
}

fn to(target: &Target, extra: Value) -> Value {
    let mut value = json!({"kind": "grpc", "url": format!("grpc://{}", target.addr)});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    value
}

async fn ask(target: &Target, extra: Value) -> Observation {
    within(target, extra, 5_000).await
}

async fn within(target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    let seen = probe_in(&Surroundings::default().context(), to(target, extra), timeout_ms).await;
    // These servers hold a probe for ever if they can; a busy machine only for a while.
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

/// With what a pass would leave out.
async fn in_detail(ctx: &Context, value: Value) -> Observation {
    let never = std::future::pending();
    probe::run_in_detail(&check(value), ctx, Duration::from_secs(5), never).await
}

fn facts(seen: &Observation) -> Vec<(&str, &str)> {
    let facts = &seen.evidence.as_ref().unwrap().facts;
    facts.iter().map(|fact| (fact.label.as_str(), fact.value.as_str())).collect()
}

#[tokio::test]
async fn serving_is_up_and_the_call_is_what_the_protocol_asks() {
    let (target, calls) =
        server(|| reply(says(1), &[("grpc-status", "0"), ("x-node", "n7")])).await;
    let extra = json!({"service": "shop.v1.Orders", "metadata": {"X-Tenant": ["a", "b"]}, "assertions": [
        {"on": "header", "name": "x-node", "op": "eq", "value": "n7"}, {"on": "latency_ms", "op": "lt", "value": 5000}]});
    let seen = in_detail(&Surroundings::default().context(), to(&target, extra)).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(facts(&seen), [("grpc status", "0 OK"), ("health", "SERVING")]);
    assert_eq!((seen.status, seen.http_version.as_deref()), (Some(200), Some("2")));
    assert!(seen.phases_us.connect.is_some() && seen.phases_us.first_byte.is_some());
    let calls = calls.lock().unwrap();
    let (head, body) = calls.first().unwrap();
    assert_eq!(head.method, "POST");
    assert_eq!(head.uri.to_string(), format!("http://{}/grpc.health.v1.Health/Check", target.addr));
    let header = |name: &str| {
        head.headers
            .get_all(name)
            .iter()
            .map(|v| v.to_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(header("content-type"), ["application/grpc"]);
    assert_eq!(header("te"), ["trailers"]);
    assert_eq!(header("x-tenant"), ["a", "b"]);
    assert_eq!(header("user-agent"), ["quorate-test"]);
    let left: u64 = header("grpc-timeout")[0].trim_end_matches('m').parse().unwrap();
    assert!((1..=5_000).contains(&left));
    assert_eq!(body.as_ref(), [&[0u8, 0, 0, 0, 16, 0x0a, 14][..], b"shop.v1.Orders"].concat());
}

#[tokio::test]
async fn every_other_state_is_not_serving() {
    for (status, name) in
        [(0, "UNKNOWN"), (2, "NOT_SERVING"), (3, "SERVICE_UNKNOWN"), (9, "9, which is no state")]
    {
        let (target, _) = server(move || reply(says(status), &[("grpc-status", "0")])).await;
        let seen = ask(&target, json!({"service": "a.B"})).await;
        assert_eq!(seen.class, Some(Class::GrpcNotServing), "{}", seen.message);
        assert!(
            seen.message.starts_with("The service a.B should be SERVING")
                && seen.message.contains(name),
            "{}",
            seen.message
        );
    }
}

#[tokio::test]
async fn a_call_that_fails_says_with_what() {
    for (answer, class, message) in [
        (
            only_trailers as fn(&[(&'static str, &str)]) -> Reply,
            Class::GrpcStatus,
            "The call ended with 5 NOT_FOUND: unknown service.",
        ),
        (
            |headers| reply(Bytes::new(), headers),
            Class::GrpcStatus,
            "The call ended with 5 NOT_FOUND: unknown service.",
        ),
    ] {
        let (target, _) =
            server(move || answer(&[("grpc-status", "5"), ("grpc-message", "unknown%20service")]))
                .await;
        let seen = ask(&target, json!({})).await;
        assert_eq!((seen.class, seen.message.as_str()), (Some(class), message));
    }
    for (status, class, part) in [
        ("12", Class::GrpcUnimplemented, "12 UNIMPLEMENTED."),
        ("14", Class::GrpcStatus, "14 UNAVAILABLE."),
        ("77", Class::GrpcStatus, "status 77."),
        ("soon", Class::GrpcStatus, "\"soon\", which is no status"),
    ] {
        let (target, _) = server(move || only_trailers(&[("grpc-status", status)])).await;
        let seen = ask(&target, json!({})).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
        assert!(seen.message.contains(part), "{}", seen.message);
    }
}

#[tokio::test]
async fn what_is_no_answer_of_grpc_is_told_apart() {
    let plain = |status: u16, kind: Option<&'static str>| {
        move || {
            let mut builder = Response::builder().status(status);
            if let Some(kind) = kind {
                builder = builder.header("content-type", kind);
            }
            builder.body(Full::new(Bytes::from("<html>")).boxed_unsync()).unwrap()
        }
    };
    for (status, kind, part) in [
        (502, Some("text/html"), "HTTP 502 instead"),
        (200, Some("text/html"), "The answer is text/html, not application/grpc"),
        (200, None, "without a content type"),
    ] {
        let (target, _) = server(plain(status, kind)).await;
        let seen = ask(&target, json!({})).await;
        assert_eq!(seen.class, Some(Class::HttpProtocol), "{}", seen.message);
        assert!(seen.message.contains(part), "{}", seen.message);
        assert_eq!(seen.status, Some(status));
    }
    let fine: &[(&str, &str)] = &[("grpc-status", "0")];
    for (bytes, trailers, part) in [
        (says(1), &[][..], "without grpc-status"),
        (vec![], fine, "it held no message"),
        (vec![0, 0, 0, 0, 9, 8, 1], fine, "broke off: 2 of 9 bytes"),
        (vec![1, 0, 0, 0, 2, 8, 1], fine, "compressed"),
        ([says(1), says(1)].concat(), fine, "more follows"),
        (vec![0, 0, 0, 0, 3, 0xff, 0xff, 0xff], fine, "not a health answer"),
        (vec![0; 70_000], fine, "longer than 64"),
    ] {
        let (target, _) = server(move || reply(bytes.clone(), trailers)).await;
        let seen = ask(&target, json!({})).await;
        assert_eq!(seen.class, Some(Class::GrpcStatus), "{}", seen.message);
        assert!(seen.message.contains(part), "{}", seen.message);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut_and_one_that_stops_ends_at_the_deadline() {
    let body = |chunk: &'static [u8], more: bool| {
        let chunks = futures_util::stream::unfold(true, move |first| async move {
            if !first && !more {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(chunk))), false))
        });
        Response::builder()
            .header("content-type", "application/grpc")
            .body(StreamBody::new(chunks).boxed_unsync())
            .unwrap()
    };
    let (endless, _) = server(move || body(&[0; 8_192], true)).await;
    let seen = ask(&endless, json!({})).await;
    assert_eq!(seen.class, Some(Class::GrpcStatus), "{}", seen.message);
    assert!(seen.message.contains("longer than 64"), "{}", seen.message);
    let (stopped, _) = server(move || body(&[0, 0, 0], false)).await;
    let seen = within(&stopped, json!({}), 300).await;
    assert_eq!(seen.class, Some(Class::HttpTimeoutBody), "{}", seen.message);
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    bytes.extend_from_slice(payload);
    bytes
}

fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// `:status: 200` and `content-type: application/grpc`.
fn head() -> Vec<u8> {
    let kind = b"application/grpc";
    frame(1, 4, 1, &[&[0x88, 0x5f, kind.len() as u8][..], kind].concat())
}

/// Says these bytes at once; then stays silent, or resets the connection.
async fn saying(bytes: Vec<u8>, then_reset: bool) -> Target {
    tcp(move |mut stream, _, _| {
        let bytes = bytes.clone();
        async move {
            // The request is here when the stream's first HEADERS are.
            let mut request = vec![0; 24 + 9];
            stream.read_exact(&mut request).await?;
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            if then_reset {
                // The bytes must have left before the reset takes them along.
                tokio::time::sleep(Duration::from_millis(30)).await;
                reset(stream);
                return Ok(());
            }
            std::future::pending().await
        }
    })
    .await
}

#[tokio::test]
async fn silence_at_each_stage_ends_at_the_deadline_with_its_class() {
    for (bytes, class) in [
        (vec![], Class::HttpTimeoutFirstByte),
        (settings(), Class::HttpTimeoutFirstByte),
        ([settings(), head()[..9].to_vec()].concat(), Class::HttpTimeoutFirstByte),
        ([settings(), head()].concat(), Class::HttpTimeoutBody),
        ([settings(), head(), frame(0, 0, 1, &says(1))].concat(), Class::HttpTimeoutBody),
        (
            [settings(), head(), frame(0, 0, 1, &says(1))[..11].to_vec()].concat(),
            Class::HttpTimeoutBody,
        ),
    ] {
        let target = saying(bytes.clone(), false).await;
        let seen = within(&target, json!({}), 300).await;
        assert_eq!(seen.class, Some(class), "{bytes:?}: {}", seen.message);
        assert!(seen.phases_us.total >= 300_000);
    }
    let dripping = tcp(|mut stream, _, _| async move {
        for byte in [settings(), frame(4, 0, 0, &[0, 4, 0, 1, 0, 0].repeat(40))].concat() {
            stream.write_all(&[byte]).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    })
    .await;
    let seen = within(&dripping, json!({}), 300).await;
    assert_eq!(seen.class, Some(Class::HttpTimeoutFirstByte), "{}", seen.message);
    let silent = silent().await;
    let seen = within(&silent, json!({"url": format!("grpcs://{}", silent.addr)}), 300).await;
    assert_eq!(seen.class, Some(Class::TlsTimeout), "{}", seen.message);
}

#[tokio::test]
async fn resets_refusals_and_nonsense_have_their_class() {
    for (bytes, class) in [
        (vec![], Class::ConnectReset),
        (settings(), Class::ConnectReset),
        ([settings(), head()].concat(), Class::BodyTruncated),
        ([settings(), head(), frame(0, 0, 1, &says(1))].concat(), Class::BodyTruncated),
    ] {
        let target = saying(bytes.clone(), true).await;
        let seen = ask(&target, json!({})).await;
        assert_eq!(seen.class, Some(class), "{bytes:?}: {}", seen.message);
    }
    // One call is ended by the server, with RST_STREAM or GOAWAY.
    for (last, class) in [
        (frame(3, 0, 1, &[0, 0, 0, 2]), Class::HttpProtocol),
        (frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]), Class::HttpProtocol),
        (frame(9, 4, 7, &[0xff; 200]), Class::HttpProtocol),
    ] {
        let target = saying([settings(), last].concat(), false).await;
        let seen = ask(&target, json!({})).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
    }
    for bytes in [
        ok("", "hello"),
        b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
        b"220 mail.example ESMTP\r\n".to_vec(),
        vec![0xff; 10_000],
    ] {
        let target = answering(bytes).await;
        let seen = ask(&target, json!({})).await;
        assert!(
            matches!(seen.class, Some(Class::HttpProtocol | Class::ConnectReset)),
            "{:?} {}",
            seen.class,
            seen.message
        );
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = gone.local_addr().unwrap();
    drop(gone);
    let value = json!({"kind": "grpc", "url": format!("grpc://{addr}")});
    let seen = probe_in(&Surroundings::default().context(), value, 2_000).await;
    assert_eq!(seen.class, Some(Class::ConnectRefused), "{}", seen.message);
    let value = json!({"kind": "grpc", "url": "grpc://10.0.0.1:50051"});
    let seen = probe_in(&Surroundings::default().context(), value, 2_000).await;
    assert_eq!(seen.class, Some(Class::BlockedAddress), "{}", seen.message);
}

#[tokio::test]
async fn over_tls_the_certificate_counts_and_http_2_is_asked_for() {
    let root = Authority::root("Test Root");
    let serving = |alpn: &'static [&'static [u8]], until: i64| {
        let acceptor = root.leaf(&["orders.test"], -YEAR, until).acceptor(alpn);
        async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tcp_on(listener, move |stream, _, _| {
                let acceptor = acceptor.clone();
                async move {
                    let stream = acceptor.accept(stream).await?;
                    let answer = Arc::new(|| reply(says(1), &[("grpc-status", "0")]));
                    serve(stream, answer, Calls::default()).await;
                    Ok(())
                }
            })
        }
    };
    let ctx = Surroundings::with_roots(root.roots()).context();
    let value = |target: &Target, days: i64| {
        to(
            target,
            json!({"url": format!("grpcs://{}", target.addr), "tls": {"server_name": "orders.test", "min_days_left": days}}),
        )
    };
    let good = serving(&[b"h2"], 30 * DAY).await;
    let seen = probe_in(&ctx, value(&good, 14), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.tls.is_some());
    let seen = probe_in(&ctx, value(&good, 31), 5_000).await;
    assert_eq!(seen.class, Some(Class::Assertion), "{}", seen.message);
    let expired = serving(&[b"h2"], -DAY).await;
    assert_eq!(probe_in(&ctx, value(&expired, 14), 5_000).await.class, Some(Class::TlsExpired));
    // Servers refuse in the handshake, or go on without any protocol agreed on.
    for (alpn, class) in
        [(&[b"http/1.1" as &[u8]] as &[&[u8]], Class::TlsHandshake), (&[], Class::HttpProtocol)]
    {
        let old = serving(alpn, 30 * DAY).await;
        let seen = probe_in(&ctx, value(&old, 14), 5_000).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
    }
}

#[tokio::test]
async fn a_secret_that_the_server_echoes_stays_here() {
    let (target, _) = server(|| {
        only_trailers(&[
            ("grpc-status", "16"),
            ("grpc-message", "no such token: hunter22"),
            ("x-echo", "Bearer hunter22"),
        ])
    })
    .await;
    let extra = json!({"metadata": {"authorization": "Bearer hunter22"}, "assertions": [{"on": "header", "name": "x-echo", "op": "absent"}]});
    let seen = ask(&target, extra).await;
    assert_eq!(seen.class, Some(Class::GrpcStatus));
    assert!(
        seen.message.contains("16 UNAUTHENTICATED: no such token: (hidden)"),
        "{}",
        seen.message
    );
    assert!(!serde_json::to_string(&seen).unwrap().contains("hunter22"));
}
