//! TLS as probes see it: real handshakes, chains of every kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quorate::domain::observation::{Class, Outcome};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::targets::{
    Authority, Chain, DAY, HOME, Say, Surroundings, YEAR, answering, dns, note_head, ok, probe_in,
    reset, silent, tcp, tcp_on, tls, tls_on, write_and_close,
};

async fn named_context(
    authority: &Authority,
) -> (quorate::probe::Context, tokio::task::JoinHandle<()>) {
    let (server, task) = dns(|_, _, _| Say::Addresses(vec![HOME])).await;
    (
        Surroundings { servers: vec![server], ..Surroundings::with_roots(authority.roots()) }
            .context(),
        task,
    )
}

#[tokio::test]
async fn a_good_chain_passes_and_its_facts_are_told() {
    let root = Authority::root("Root");
    let middle = root.intermediate("Middle CA", 40 * DAY);
    let target =
        tls(middle.leaf(&["a.test", "www.a.test"], -DAY, 90 * DAY).and(&middle), ok("", "hi"))
            .await;
    let (ctx, _dns) = named_context(&root).await;
    let seen = probe_in(
        &ctx,
        json!({"url": format!("https://a.test:{}/", target.addr.port()), "assertions": [
            {"on": "cert_days_left", "op": "eq", "value": 40}, {"on": "cert_issuer", "op": "contains", "value": "Middle CA"}]}),
        5_000,
    )
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let certificate = seen.certificate.unwrap();
    // The intermediate ends first, and it is part of the path.
    assert_eq!((certificate.days_left, certificate.chain_length, certificate.valid), (40, 2, true));
    assert_eq!(certificate.names, ["a.test", "www.a.test"]);
    assert_eq!(
        (certificate.tls_version.as_deref(), certificate.fingerprint.len()),
        (Some("TLS 1.3"), 64)
    );
    assert!(seen.phases_us.resolve.is_some() && seen.phases_us.tls.is_some());
}

#[tokio::test]
async fn case_11_the_asked_name_follows_a_redirect() {
    let root = Authority::root("Root");
    let second = tls(root.leaf(&["b.test"], -DAY, YEAR), ok("", "b")).await;
    let hop = format!(
        "HTTP/1.1 307 X\r\nLocation: https://b.test:{}/\r\nContent-Length: 0\r\n\r\n",
        second.addr.port()
    );
    let first = tls(root.leaf(&["a.test"], -DAY, YEAR), hop.into_bytes()).await;
    let (ctx, _dns) = named_context(&root).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", first.addr.port())}), 5_000)
            .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(seen.certificate.unwrap().names, ["b.test"]);
    // A name given for the first host is not asked for at the second.
    let first = tls(
        root.leaf(&["other.test"], -DAY, YEAR),
        format!("HTTP/1.1 307 X\r\nLocation: https://b.test:{}/\r\n\r\n", second.addr.port())
            .into_bytes(),
    )
    .await;
    let seen = probe_in(&ctx, json!({"url": format!("https://a.test:{}/", first.addr.port()), "tls": {"server_name": "other.test"}}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn case_12_an_incomplete_chain_names_the_missing_issuer() {
    let root = Authority::root("Root");
    let middle = root.intermediate("Middle CA", YEAR);
    let target = tls(middle.leaf(&["a.test"], -DAY, YEAR), ok("", "hi")).await;
    let (ctx, _dns) = named_context(&root).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", target.addr.port())}), 5_000)
            .await;
    assert_eq!(seen.class, Some(Class::TlsIncompleteChain));
    assert!(seen.message.contains("Middle CA"), "{}", seen.message);
    assert!(target.requests().is_empty(), "nothing may be sent to a server that was not verified");
}

#[tokio::test]
async fn case_13_a_renewed_certificate_is_seen_at_the_next_probe() {
    let root = Authority::root("Root");
    let acceptors: Arc<Vec<_>> = Arc::new(vec![
        root.leaf(&["a.test"], -DAY, 10 * DAY).acceptor(&[b"http/1.1"]),
        root.leaf(&["a.test"], -DAY, 80 * DAY).acceptor(&[b"http/1.1"]),
    ]);
    let served = Arc::new(AtomicUsize::new(0));
    let target = tcp(move |stream, number, requests| {
        let (acceptors, served) = (acceptors.clone(), served.clone());
        async move {
            let mut stream = acceptors[number.min(1)].accept(stream).await?;
            loop {
                note_head(&mut stream, &requests).await?;
                served.fetch_add(1, Ordering::SeqCst);
                stream.write_all(&ok("Connection: keep-alive\r\n", "x")).await?;
            }
        }
    })
    .await;
    let (ctx, _dns) = named_context(&root).await;
    let mut days = Vec::new();
    for _ in 0..2 {
        let seen = probe_in(
            &ctx,
            json!({"url": format!("https://a.test:{}/", target.addr.port())}),
            5_000,
        )
        .await;
        days.push(seen.certificate.unwrap().days_left);
    }
    assert_eq!(days, [10, 80]);
}

#[tokio::test]
async fn case_14_days_left_are_floored_and_go_below_zero() {
    let root = Authority::root("Root");
    let (ctx, _dns) = named_context(&root).await;
    let soon = tls(root.leaf(&["a.test"], -DAY, DAY + 13 * 3_600), ok("", "x")).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", soon.addr.port())}), 5_000)
            .await;
    assert_eq!((seen.outcome, seen.certificate.unwrap().days_left), (Outcome::Pass, 1));
    let seen = probe_in(&ctx, json!({"url": format!("https://a.test:{}/", soon.addr.port()), "tls": {"min_days_left": 2}}), 5_000).await;
    assert_eq!(seen.class, Some(Class::Assertion));

    for ended in [3_600, DAY] {
        let gone = tls(root.leaf(&["a.test"], -YEAR, -ended), ok("", "x")).await;
        let url = format!("https://a.test:{}/", gone.addr.port());
        let seen = probe_in(&ctx, json!({"url": url}), 5_000).await;
        assert_eq!(
            (seen.class, seen.certificate.unwrap().days_left),
            (Some(Class::TlsExpired), -1),
            "{}",
            seen.message
        );
        // Not verified, it is told all the same.
        let seen = probe_in(&ctx, json!({"url": url, "tls": {"verify": false}}), 5_000).await;
        let certificate = seen.certificate.unwrap();
        assert_eq!(
            (seen.outcome, certificate.days_left, certificate.valid),
            (Outcome::Pass, -1, false)
        );
    }
}

#[tokio::test]
async fn case_15_a_silent_port_fails_at_the_deadline() {
    let target = silent().await;
    let root = Authority::root("Root");
    let (ctx, _dns) = named_context(&root).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", target.addr.port())}), 300)
            .await;
    assert_eq!(seen.class, Some(Class::TlsTimeout), "{}", seen.message);
    let phases = seen.phases_us;
    assert!(phases.tls.unwrap() > 200_000 && phases.first_byte.is_none());
    assert!((300_000..350_000).contains(&phases.total), "{}", phases.total);
}

#[tokio::test]
async fn every_other_fault_of_a_chain_has_its_class() {
    let (root, stranger) = (Authority::root("Root"), Authority::root("Stranger"));
    let middle = root.intermediate("Old Middle", -DAY);
    let unknown_middle = stranger.intermediate("Strange Middle", YEAR);
    let (ctx, _dns) = named_context(&root).await;
    let cases: Vec<(Chain, Class, &str)> = vec![
        (
            root.leaf(&["other.test"], -DAY, YEAR),
            Class::TlsNameMismatch,
            "other.test, not for a.test",
        ),
        (root.leaf(&["a.test"], DAY, YEAR), Class::TlsNotYetValid, "2026-06-02"),
        (middle.leaf(&["a.test"], -DAY, YEAR).and(&middle), Class::TlsExpired, "of the chain"),
        (stranger.leaf(&["a.test"], -DAY, YEAR).and(&stranger), Class::TlsUntrusted, "Stranger"),
        (
            unknown_middle.leaf(&["a.test"], -DAY, YEAR).and(&unknown_middle),
            Class::TlsUntrusted,
            "Stranger",
        ),
    ];
    for (chain, class, words) in cases {
        let target = tls(chain, ok("", "x")).await;
        let seen = probe_in(
            &ctx,
            json!({"url": format!("https://a.test:{}/", target.addr.port())}),
            5_000,
        )
        .await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
        assert!(seen.message.contains(words), "{}", seen.message);
        assert!(seen.assertions.iter().all(|judged| judged.holds.is_none()));
    }
}

#[tokio::test]
async fn an_expired_certificate_beside_a_good_path_does_not_matter() {
    let root = Authority::root("Root");
    let old_cross = Authority::root("Old Root").intermediate("Root", -YEAR);
    let middle = root.intermediate("Middle", YEAR);
    let target =
        tls(middle.leaf(&["a.test"], -DAY, 60 * DAY).and(&old_cross).and(&middle), ok("", "x"))
            .await;
    let (ctx, _dns) = named_context(&root).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", target.addr.port())}), 5_000)
            .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let certificate = seen.certificate.unwrap();
    assert_eq!((certificate.days_left, certificate.chain_length), (60, 2));
}

#[tokio::test]
async fn http2_is_used_when_offered_and_missed_when_demanded() {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let root = Authority::root("Root");
    let acceptor = root.leaf(&["a.test"], -DAY, YEAR).acceptor(&[b"h2", b"http/1.1"]);
    let target = tcp(move |stream, _, _| {
        let acceptor = acceptor.clone();
        async move {
            let stream = acceptor.accept(stream).await?;
            let service = hyper::service::service_fn(
                |request: http::Request<hyper::body::Incoming>| async move {
                    let text = format!("{:?} {}", request.version(), request.uri());
                    Ok::<_, std::convert::Infallible>(http::Response::new(
                        http_body_util::Full::new(bytes::Bytes::from(text)),
                    ))
                },
            );
            let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
            Ok(())
        }
    })
    .await;
    let (ctx, _dns) = named_context(&root).await;
    let url = format!("https://a.test:{}/p", target.addr.port());
    for (wanted, version) in [("auto", "2"), ("2", "2"), ("1.1", "1.1")] {
        let seen = probe_in(
            &ctx,
            json!({"url": url, "http_version": wanted, "assertions": [{"on": "http_version", "op": "eq", "value": version}]}),
            5_000,
        )
        .await;
        assert_eq!(seen.outcome, Outcome::Pass, "{wanted}: {}", seen.message);
    }
    let old = tls(root.leaf(&["a.test"], -DAY, YEAR), ok("", "x")).await;
    let seen = probe_in(
        &ctx,
        json!({"url": format!("https://a.test:{}/", old.addr.port()), "http_version": "2"}),
        5_000,
    )
    .await;
    assert!(
        matches!(seen.class, Some(Class::TlsHandshake | Class::HttpProtocol)),
        "{}",
        seen.message
    );
}

#[tokio::test]
async fn a_handshake_that_breaks_says_how() {
    let root = Authority::root("Root");
    let (ctx, _dns) = named_context(&root).await;
    let ask = async |port: u16| {
        probe_in(&ctx, json!({"url": format!("https://a.test:{port}/")}), 2_000).await
    };
    let plain = answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    let talking = tcp(|mut stream, _, _| async move {
        stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await?;
        std::future::pending().await
    })
    .await;
    let seen = ask(talking.addr.port()).await;
    assert_eq!(seen.class, Some(Class::TlsHandshake));
    assert!(seen.message.contains("does not speak TLS"), "{}", seen.message);
    drop(plain);
    let closing = tcp(|stream, _, _| async move {
        stream.readable().await?;
        let mut buffer = [0; 4096];
        while stream.try_read(&mut buffer).is_ok_and(|read| read == buffer.len()) {}
        Ok(())
    })
    .await;
    let seen = ask(closing.addr.port()).await;
    assert_eq!(seen.class, Some(Class::TlsHandshake), "{}", seen.message);
    let resetting = tcp(|stream, _, _| async move {
        stream.readable().await?;
        reset(stream);
        Ok(())
    })
    .await;
    assert_eq!(ask(resetting.addr.port()).await.class, Some(Class::ConnectReset));
    // A fatal alert: handshake_failure, as servers without a common cipher send it.
    let refusing =
        tcp(|mut stream, _, _| async move { stream.write_all(&[21, 3, 3, 0, 2, 2, 40]).await })
            .await;
    assert_eq!(ask(refusing.addr.port()).await.class, Some(Class::TlsNoCommonVersion));
    let old_only =
        tcp(|mut stream, _, _| async move { stream.write_all(&[21, 3, 1, 0, 2, 2, 70]).await })
            .await;
    assert_eq!(ask(old_only.addr.port()).await.class, Some(Class::TlsNoCommonVersion));
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_needs_no_tls_farewell() {
    let root = Authority::root("Root");
    let acceptor = root.leaf(&["a.test"], -DAY, YEAR).acceptor(&[b"http/1.1"]);
    let target = tcp(move |stream, _, requests| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await?;
            note_head(&mut stream, &requests).await?;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it").await?;
            stream.flush().await?;
            stream.get_mut().0.shutdown().await
        }
    })
    .await;
    let (ctx, _dns) = named_context(&root).await;
    let seen = probe_in(
        &ctx,
        json!({"url": format!("https://a.test:{}/", target.addr.port()), "assertions": [{"on": "body", "op": "eq", "value": "all of it"}]}),
        2_000,
    )
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn an_address_is_verified_as_an_address() {
    let root = Authority::root("Root");
    let target = tls(root.leaf(&["127.0.0.1"], -DAY, YEAR), ok("", "x")).await;
    let ctx = Surroundings::with_roots(root.roots()).context();
    let seen = probe_in(
        &ctx,
        json!({"url": format!("https://{}/", target.addr), "headers": {"Host": "a.test"}}),
        2_000,
    )
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let target = tls(root.leaf(&["a.test"], -DAY, YEAR), ok("", "x")).await;
    let seen = probe_in(
        &ctx,
        json!({"url": format!("https://{}/", target.addr), "headers": {"Host": "a.test"}}),
        2_000,
    )
    .await;
    assert_eq!(
        seen.class,
        Some(Class::TlsNameMismatch),
        "an address is used as it is whatever the Host header says"
    );
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_way_through_and_sees_only_that() {
    let root = Authority::root("Root");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = tls_on(listener, root.leaf(&["a.test"], -DAY, YEAR), ok("", "through"));
    let behind = target.addr;
    let proxy = tcp(move |mut stream, number, requests| async move {
        note_head(&mut stream, &requests).await?;
        if number == 1 {
            return write_and_close(&mut stream, b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
        }
        stream.write_all(b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n").await?;
        let mut onward = tokio::net::TcpStream::connect(behind).await?;
        tokio::io::copy_bidirectional(&mut stream, &mut onward).await.map(|_| ())
    })
    .await;
    let (ctx, _dns) = named_context(&root).await;
    let value = json!({"url": "https://a.test:4433/", "proxy": format!("http://{}", proxy.addr), "assertions": [{"on": "body", "op": "eq", "value": "through"}]});
    let seen = probe_in(&ctx, value.clone(), 2_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(proxy.requests()[0].starts_with("CONNECT a.test:4433 HTTP/1.1\r\n"));
    let seen = probe_in(&ctx, value, 2_000).await;
    assert_eq!(seen.class, Some(Class::ConnectRefused));
    assert!(seen.message.contains("HTTP 403"), "{}", seen.message);
}

#[tokio::test]
async fn a_slow_handshake_cannot_outlast_the_deadline() {
    // One byte of a plausible record every 20 ms, for ever.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = tcp_on(listener, |mut stream, _, _| async move {
        stream.write_all(&[22, 3, 3, 0x3f, 0]).await?;
        loop {
            stream.write_all(&[2]).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let root = Authority::root("Root");
    let (ctx, _dns) = named_context(&root).await;
    let seen =
        probe_in(&ctx, json!({"url": format!("https://a.test:{}/", target.addr.port())}), 250)
            .await;
    assert!(
        matches!(seen.class, Some(Class::TlsTimeout | Class::TlsHandshake)),
        "{}",
        seen.message
    );
    // The record would take five minutes.
    assert!(seen.phases_us.total < 5_000_000);
}
