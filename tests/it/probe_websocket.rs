//! Kind `websocket` against a server that is not ours, and against ones that say exactly the bytes of the
//! test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::probe::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use crate::support::targets::{
    Authority, DAY, Surroundings, Target, YEAR, answering, note_head, probe_in, reset, silent, tcp,
};

async fn within(target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    within_in(&Surroundings::default().context(), target, extra, timeout_ms).await
}

async fn within_in(ctx: &Context, target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    let mut value = json!({"kind": "websocket", "url": format!("ws://{}/feed?a=1", target.addr)});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let seen = probe_in(ctx, value, timeout_ms).await;
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

#[track_caller]
fn assert_class(seen: &Observation, class: Class, words: &str) {
    assert_eq!(seen.class, Some(class), "{}", seen.message);
    assert!(seen.message.contains(words), "{words}: {}", seen.message);
}

#[track_caller]
fn assert_pass(seen: &Observation) {
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

/// Switches, then does what the test wants with the messages.
async fn socket<F, R>(serve: F) -> Target
where
    F: Fn(WebSocketStream<tokio::net::TcpStream>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<(), tokio_tungstenite::tungstenite::Error>> + Send + 'static,
{
    tcp(move |stream, _, _| {
        let serve = serve.clone();
        async move {
            let socket =
                tokio_tungstenite::accept_async(stream).await.map_err(std::io::Error::other)?;
            serve(socket).await.map_err(std::io::Error::other)
        }
    })
    .await
}

/// Answers a handshake by the book.
async fn switch<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    requests: &Arc<Mutex<Vec<String>>>,
    extra: &str,
) -> std::io::Result<()> {
    note_head(stream, requests).await?;
    let head = requests.lock().unwrap().last().unwrap().clone();
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-Websocket-Key: ")).unwrap();
    let accept = derive_accept_key(key.as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{extra}\r\n"
    );
    stream.write_all(answer.as_bytes()).await
}

/// Switches, then says these bytes, then ends as told.
async fn saying(bytes: &'static [u8], then: Then) -> Target {
    tcp(move |mut stream, _, requests| async move {
        switch(&mut stream, &requests, "").await?;
        stream.write_all(bytes).await?;
        match then {
            Then::Close => stream.shutdown().await?,
            Then::Hold => std::future::pending().await,
            Then::Reset => {
                tokio::time::sleep(Duration::from_millis(30)).await;
                reset(stream);
                return Ok(());
            }
            Then::Flood => loop {
                stream.write_all(bytes).await?;
            },
            Then::Drip => loop {
                stream.write_all(bytes).await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            },
        }
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(|_| ())
    })
    .await
}

#[derive(Clone, Copy)]
enum Then {
    Close,
    Hold,
    Reset,
    Flood,
    Drip,
}

#[tokio::test]
async fn the_switch_is_enough_unless_a_message_is_expected() {
    let target = socket(|mut socket| async move {
        while let Some(message) = socket.next().await {
            message?;
        }
        Ok(())
    })
    .await;
    let seen = within(&target, json!({}), 5_000).await;
    assert_pass(&seen);
    assert_eq!((seen.status, seen.size), (Some(101), None));
    assert!(seen.phases_us.first_byte.is_some());
    assert_class(
        &within(&target, json!({"expect": "x"}), 250).await,
        Class::DialogueTimeout,
        "No message that matches /x/ within 0.25\u{a0}s.",
    );
    let size = json!({"assertions": [{"on": "size", "op": "ge", "value": 0}]});
    assert_class(&within(&target, size, 250).await, Class::DialogueTimeout, "No message within");
}

#[tokio::test]
async fn case_27_a_close_without_a_code() {
    for target in [
        socket(|mut socket| async move { socket.close(None).await }).await,
        saying(b"\x88\x00", Then::Close).await,
        saying(b"", Then::Close).await,
    ] {
        assert_pass(&within(&target, json!({}), 5_000).await);
        let seen = within(&target, json!({"expect": "x"}), 5_000).await;
        assert_class(&seen, Class::DialogueRejected, "before the message came");
    }
    let target = socket(|mut socket| async move {
        socket.send(Message::text("other")).await?;
        let reason = CloseFrame { code: CloseCode::Policy, reason: "who are you?".into() };
        socket.close(Some(reason)).await
    })
    .await;
    let seen = within(&target, json!({"expect": "x$"}), 5_000).await;
    assert_class(&seen, Class::DialogueRejected, "with code 1008 and \"who are you?\"");
    assert!(seen.message.contains("one other message came"), "{}", seen.message);
    let silent = silent().await;
    let seen = within(&silent, json!({}), 250).await;
    assert_class(&seen, Class::HttpTimeoutFirstByte, "handshake of WebSocket");
}

#[tokio::test]
async fn a_message_is_sent_and_the_answer_is_judged() {
    let target = socket(|mut socket| async move {
        let Some(asked) = socket.next().await else { return Ok(()) };
        socket.send(Message::text("hello")).await?;
        socket.send(Message::Ping("are you there".into())).await?;
        // Nothing more comes before the ping was answered.
        let Some(Message::Pong(pong)) = socket.next().await.transpose()? else { return Ok(()) };
        assert_eq!(&pong[..], b"are you there");
        socket.send(Message::text(format!("{{\"echo\":{}}}", asked?.into_text()?))).await?;
        while socket.next().await.is_some() {}
        Ok(())
    })
    .await;
    let seen = within(
        &target,
        json!({
            "send": "{\"id\":\"\\n7\"}", "expect": "echo",
            "assertions": [
                {"on": "json", "path": "$.echo.id", "op": "eq", "value": "\n7"},
                {"on": "size", "op": "eq", "value": 21},
                {"on": "header", "name": "upgrade", "op": "eq", "value": "websocket"},
                {"on": "body", "op": "not_contains", "value": "error"}
            ]
        }),
        5_000,
    )
    .await;
    assert_pass(&seen);
    assert_eq!(seen.assertions.len(), 5, "101 is asked for too");
}

#[tokio::test]
async fn fragments_are_joined_and_bytes_are_searched() {
    // "re" + ping + "ady", as the RFC allows.
    let target = saying(b"\x01\x02re\x89\x00\x80\x03ady", Then::Hold).await;
    assert_pass(&within(&target, json!({"expect": "^ready$"}), 5_000).await);
    let target = saying(b"\x82\x04\xff\x00ok", Then::Hold).await;
    let value = json!({"expect": "(?-u)\\xff\\x00ok", "assertions": [{"on": "size", "op": "eq", "value": 4}, {"on": "body", "op": "contains", "value": "ok"}]});
    assert_pass(&within(&target, value, 5_000).await);
}

#[tokio::test]
async fn the_handshake_is_ours_with_the_monitors_headers() {
    let target = tcp(|mut stream, _, requests| async move {
        switch(&mut stream, &requests, "Sec-WebSocket-Protocol: mqtt\r\n").await?;
        std::future::pending().await
    })
    .await;
    let extra =
        json!({"subprotocol": "mqtt", "headers": {"Origin": "https://a.test", "User-Agent": "me"}});
    let seen = within(&target, extra, 5_000).await;
    assert_pass(&seen);
    let head = &target.requests()[0];
    assert!(head.starts_with("GET /feed?a=1 HTTP/1.1\r\n"), "{head}");
    for line in [
        format!("Host: {}", target.addr),
        "Origin: https://a.test".into(),
        "User-Agent: me".into(),
        "Connection: Upgrade".into(),
        "Upgrade: websocket".into(),
        "Sec-Websocket-Version: 13".into(),
        "Sec-Websocket-Protocol: mqtt".into(),
    ] {
        assert_eq!(head.lines().filter(|known| **known == line).count(), 1, "{line}: {head}");
    }
    let seen = within(&target, json!({"subprotocol": "wamp"}), 5_000).await;
    assert_class(&seen, Class::HttpProtocol, "should be wamp, but is mqtt");
}

#[tokio::test]
async fn any_other_answer_is_shown_and_not_followed() {
    for (answer, status) in [
        ("HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503),
    ] {
        let target = answering(answer).await;
        let seen = within(&target, json!({}), 5_000).await;
        assert_class(&seen, Class::Status, &format!("is {status}"));
        assert_eq!((seen.status, target.connections()), (Some(status), 1));
        let own = json!({"assertions": [{"on": "status", "op": "lt", "value": 600}]});
        assert_pass(&within(&target, own, 5_000).await);
        let both =
            json!({"expect": "x", "assertions": [{"on": "status", "op": "lt", "value": 600}]});
        let seen = within(&target, both, 5_000).await;
        assert_class(&seen, Class::Status, "did not switch to WebSocket");
    }
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: bm8=\r\n\r\n",
        b"",
    ] {
        let target = answering(bytes).await;
        let seen = within(&target, json!({}), 5_000).await;
        assert_class(&seen, Class::HttpProtocol, "");
    }
    let target = tcp(|stream, _, _| async move {
        stream.readable().await?;
        reset(stream);
        Ok(())
    })
    .await;
    assert_class(&within(&target, json!({}), 5_000).await, Class::ConnectReset, "reset");
}

#[tokio::test]
async fn broken_frames_floods_and_resets_have_their_class() {
    for (bytes, then, class, words) in [
        (&b"\x81\x05hal"[..], Then::Close, Class::DialogueRejected, "ended the connection"),
        (b"\x81\x05hal", Then::Reset, Class::ConnectReset, "broke"),
        (b"\x81\x05hal", Then::Hold, Class::DialogueTimeout, "No message that matches"),
        (b"\x83\x00", Then::Hold, Class::HttpProtocol, "not valid WebSocket"),
        (b"\xf1\x00", Then::Hold, Class::HttpProtocol, "not valid WebSocket"),
        (b"\x81\x02\xff\xfe", Then::Hold, Class::HttpProtocol, "not valid WebSocket"),
        (b"\x80\x01x", Then::Hold, Class::HttpProtocol, "not valid WebSocket"),
        (b"HTTP/1.1 200 OK\r\nServer: something that is not a frame of any kind\r\nContent-Length: 0\r\nX-More: and more\r\n\r\n", Then::Hold, Class::HttpProtocol, "not valid WebSocket"),
        (
            b"\x81\x7f\x00\x00\x00\x00\x00\x20\x00\x00",
            Then::Hold,
            Class::DialogueRejected,
            "larger than 1\u{a0}MiB",
        ),
        (
            b"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff",
            Then::Hold,
            Class::DialogueRejected,
            "larger than 1\u{a0}MiB",
        ),
        (b"\x81\x03two", Then::Flood, Class::DialogueTimeout, "the last of them \"two\""),
        (b"\x89\x00", Then::Flood, Class::DialogueTimeout, "No message"),
        (b"\x81\x03two", Then::Drip, Class::DialogueTimeout, "\"two\""),
    ] {
        let target = saying(bytes, then).await;
        let seen = within(&target, json!({"expect": "^x$"}), 400).await;
        assert_class(&seen, class, words);
    }
    // One message in endless fragments.
    let large: &'static [u8] = {
        let mut frame = b"\x00\x7e\xff\xff".to_vec();
        frame.extend_from_slice(&[b'.'; 65_535]);
        frame.leak()
    };
    let target = tcp(move |mut stream, _, requests| async move {
        switch(&mut stream, &requests, "").await?;
        stream.write_all(b"\x01\x01x").await?;
        loop {
            stream.write_all(large).await?;
        }
    })
    .await;
    let seen = within(&target, json!({"expect": "^y$"}), 20_000).await;
    assert_class(&seen, Class::DialogueRejected, "larger than 1\u{a0}MiB");
}

#[tokio::test]
async fn it_goes_over_tls_and_hides_its_secrets() {
    let root = Authority::root("Root");
    let acceptor = root.leaf(&["127.0.0.1"], -DAY, YEAR).acceptor(&[b"http/1.1"]);
    let target = tcp(move |stream, _, requests| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await?;
            switch(&mut stream, &requests, "X-Echo: t0ken\r\n").await?;
            let mut frame = [0u8; 2];
            stream.read_exact(&mut frame).await?;
            stream.write_all(b"\x81\x10you sent hunter2").await?;
            std::future::pending().await
        }
    })
    .await;
    let check = quorate::domain::check::Check::parse(json!({
        "kind": "websocket", "url": format!("wss://{}/?token=t0ken", target.addr), "send": "${secret:s}", "expect": "sent",
        "tls": {"min_days_left": 14},
        "assertions": [{"on": "body", "op": "contains", "value": "nothing"}, {"on": "cert_days_left", "op": "gt", "value": 14}]
    }))
    .unwrap();
    let filled = check.with_secrets(&[("s".to_owned(), "hunter2".into())].into()).unwrap();
    let ctx = Surroundings::with_roots(root.roots()).context();
    let seen = quorate::probe::run(&filled, &ctx, Duration::from_secs(20)).await;
    assert_class(&seen, Class::Assertion, "you sent (hidden)");
    let told = serde_json::to_string(&seen).unwrap();
    assert!(!told.contains("hunter2") && !told.contains("t0ken"), "{told}");
    assert_eq!(seen.assertions.last().unwrap().holds, Some(true));
}
