//! Servers that break off, stay silent, drip, never end or send nonsense, at every stage. None of them
//! may hold a probe, hurt its agent, or be mistaken for another.

use std::time::Duration;

use quorate::domain::observation::{Class, Observation, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::targets::{
    Surroundings, Target, answering, note_head, ok, probe, probe_in, reset, silent, tcp,
};

/// Says these bytes after the request, then does nothing more.
async fn saying_then_silent(bytes: &'static [u8]) -> Target {
    tcp(move |mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        stream.write_all(bytes).await?;
        std::future::pending().await
    })
    .await
}

/// Says these bytes after the request, then resets the connection.
async fn saying_then_reset(bytes: &'static [u8]) -> Target {
    tcp(move |mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        stream.write_all(bytes).await?;
        stream.flush().await?;
        // The bytes must have left before the reset takes them along.
        tokio::time::sleep(Duration::from_millis(30)).await;
        reset(stream);
        Ok(())
    })
    .await
}

async fn within(target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    let mut value = json!({"url": target.url("/")});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let seen = probe_in(&Surroundings::default().context(), value, timeout_ms).await;
    // These servers hold a probe for ever if they can; a busy machine only for a while.
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

#[tokio::test]
async fn silence_at_each_stage_ends_at_the_deadline_with_its_own_class() {
    for (bytes, class) in [
        (&b""[..], Class::HttpTimeoutFirstByte),
        (b"HTTP/1.1 200 OK\r\nX-Half: ", Class::HttpTimeoutFirstByte),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", Class::HttpTimeoutBody),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            Class::HttpTimeoutBody,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08", Class::HttpTimeoutBody),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Class::HttpTimeoutFirstByte),
    ] {
        let target = saying_then_silent(bytes).await;
        let seen = within(&target, json!({}), 250).await;
        assert_eq!(
            seen.class,
            Some(class),
            "{:?}: {}",
            String::from_utf8_lossy(bytes),
            seen.message
        );
    }
}

#[tokio::test]
async fn what_was_in_the_head_is_judged_even_if_the_body_never_ends() {
    let target =
        saying_then_silent(b"HTTP/1.1 503 Busy\r\nX-A: 1\r\nContent-Length: 10\r\n\r\nhalf").await;
    let seen = within(&target, json!({"assertions": [{"on": "header", "name": "x-a", "op": "eq", "value": "1"}, {"on": "body", "op": "contains", "value": "x"}]}), 250).await;
    assert_eq!((seen.class, seen.status), (Some(Class::HttpTimeoutBody), Some(503)));
    assert_eq!(
        seen.assertions.iter().map(|judged| judged.holds).collect::<Vec<_>>(),
        [Some(false), Some(true), None]
    );
}

#[tokio::test]
async fn resets_and_early_ends_have_their_class() {
    let target = tcp(|stream, _, _| async move {
        stream.readable().await?;
        reset(stream);
        Ok(())
    })
    .await;
    assert_eq!(within(&target, json!({}), 2_000).await.class, Some(Class::ConnectReset));
    let target = saying_then_reset(b"HTTP/1.1 200 OK\r\nX-Ha").await;
    assert_eq!(within(&target, json!({}), 2_000).await.class, Some(Class::ConnectReset));
    for (bytes, class) in [
        ("", Class::HttpProtocol),
        ("HTTP/1.1 200 OK\r\nX-Ha", Class::HttpProtocol),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf", Class::BodyTruncated),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            Class::BodyTruncated,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Class::HttpProtocol),
    ] {
        let target = answering(bytes).await;
        let seen = within(&target, json!({}), 2_000).await;
        assert_eq!(seen.class, Some(class), "{bytes:?}: {}", seen.message);
    }
}

#[tokio::test]
async fn case_8_a_truncated_body_says_how_much_came() {
    let target =
        saying_then_reset(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345678901234567890")
            .await;
    let seen = within(&target, json!({}), 2_000).await;
    assert_eq!(seen.class, Some(Class::BodyTruncated), "{}", seen.message);
    assert!(seen.message.contains("20 of 100 bytes"), "{}", seen.message);
    let target =
        answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345678901234567890").await;
    let seen = within(&target, json!({}), 2_000).await;
    assert_eq!(seen.class, Some(Class::BodyTruncated), "{}", seen.message);
    assert!(seen.message.contains("20 of 100 bytes"), "{}", seen.message);
    // The count is that of the wire, also under a coding.
    let target =
        answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Encoding: gzip\r\n\r\n\x1f")
            .await;
    let seen = within(&target, json!({}), 2_000).await;
    assert_eq!(seen.class, Some(Class::BodyTruncated), "{}", seen.message);
    assert!(seen.message.contains("1 of 100 bytes"), "{}", seen.message);
}

async fn endless(head: &'static str, chunk: &'static [u8]) -> Target {
    tcp(move |mut stream, _, requests| async move {
        note_head(&mut stream, &requests).await?;
        stream.write_all(head.as_bytes()).await?;
        loop {
            stream.write_all(chunk).await?;
        }
    })
    .await
}

#[tokio::test]
async fn case_9_an_endless_body_is_read_up_to_the_limit() {
    let target = endless(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"10\r\n0123456789abcdef\r\n",
    )
    .await;
    let seen = within(&target, json!({"max_body": 65536}), 5_000).await;
    assert_eq!((seen.outcome, seen.size), (Outcome::Pass, Some(65_536)), "{}", seen.message);
    // What was not read cannot be vouched for.
    let seen = within(&target, json!({"max_body": 65536, "assertions": [{"on": "body", "op": "not_contains", "value": "error"}]}), 5_000).await;
    assert_eq!(seen.class, Some(Class::Assertion));
    assert!(seen.assertions[1].actual.contains("reading stopped"), "{}", seen.assertions[1].actual);
    let seen = within(&target, json!({"max_body": 65536, "assertions": [{"on": "body", "op": "contains", "value": "abcdef"}]}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_whole() {
    let target = answering(ok("", vec![b'x'; 1_000])).await;
    let size_is = |size: u64| json!({"max_body": size, "assertions": [{"on": "size", "op": "eq", "value": 1000}]});
    assert_eq!(within(&target, size_is(1_000), 2_000).await.outcome, Outcome::Pass);
    assert_eq!(within(&target, size_is(999), 2_000).await.outcome, Outcome::Fail);
}

#[tokio::test]
async fn a_long_body_is_counted_whole_whether_or_not_a_condition_looks_into_it() {
    use async_compression::tokio::write::GzipEncoder;
    let body = ["x".repeat(300_000), "the end".to_owned()].concat();
    let mut packed = GzipEncoder::new(Vec::new());
    packed.write_all(body.as_bytes()).await.unwrap();
    packed.shutdown().await.unwrap();
    let plain = answering(ok("", &body)).await;
    let gzip = answering(ok("Content-Encoding: gzip\r\n", packed.into_inner())).await;
    let last = json!({"assertions": [{"on": "body", "op": "contains", "value": "the end"}]});
    let size = json!({"assertions": [{"on": "size", "op": "eq", "value": 300_007}]});
    for target in [plain, gzip] {
        for extra in [json!({}), last.clone(), size.clone()] {
            let seen = within(&target, extra.clone(), 5_000).await;
            assert_eq!(
                (seen.outcome, seen.size),
                (Outcome::Pass, Some(300_007)),
                "{extra}: {}",
                seen.message
            );
        }
    }
}

#[tokio::test]
async fn a_bomb_costs_no_more_than_the_limit() {
    use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZstdEncoder};
    let zeros = vec![0u8; 1 << 20];
    macro_rules! bomb {
        ($encoder:ident) => {{
            let mut encoder = $encoder::new(Vec::new());
            for _ in 0..4 {
                encoder.write_all(&zeros).await.unwrap();
            }
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }
    for (coding, body) in
        [("gzip", bomb!(GzipEncoder)), ("br", bomb!(BrotliEncoder)), ("zstd", bomb!(ZstdEncoder))]
    {
        assert!(body.len() < 1 << 17, "{coding}");
        let target = answering(ok(&format!("Content-Encoding: {coding}\r\n"), body)).await;
        let seen = within(&target, json!({"max_body": 65536}), 5_000).await;
        assert_eq!(
            (seen.outcome, seen.size),
            (Outcome::Pass, Some(65_536)),
            "{coding}: {}",
            seen.message
        );
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_its_header_says_is_an_encoding_failure() {
    for (headers, body) in [
        ("Content-Encoding: gzip\r\n", &b"plain text"[..]),
        ("Content-Encoding: gzip\r\n", b"\x1f\x8b\x08\0\0\0\0\0\0\xff"),
        ("Content-Encoding: br\r\n", b"\xff\xff\xff\xff"),
        ("Content-Encoding: zstd\r\n", b"plain text"),
        ("Content-Encoding: deflate\r\n", b"\x78\x9cnonsense"),
        ("Content-Encoding: lzma\r\n", b"x"),
        ("Content-Encoding: gzip, gzip, gzip, gzip\r\n", b"x"),
    ] {
        let target = answering(ok(headers, body)).await;
        let seen = within(&target, json!({}), 2_000).await;
        assert_eq!(seen.class, Some(Class::BodyEncoding), "{headers}: {}", seen.message);
    }
    // Nothing to decode is nothing to complain about.
    let target = answering(ok("Content-Encoding: gzip\r\n", "")).await;
    assert_eq!(within(&target, json!({}), 2_000).await.outcome, Outcome::Pass);
    let target = answering("HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n").await;
    assert_eq!(within(&target, json!({}), 2_000).await.outcome, Outcome::Pass);
}

#[tokio::test]
async fn garbage_is_a_protocol_failure() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"\0\x01\x02\xff\xfe\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"ICY 200 OK\r\n\r\n",
        b"<html>no head</html>",
    ] {
        let target = answering(bytes).await;
        let seen = within(&target, json!({}), 2_000).await;
        assert_eq!(
            seen.class,
            Some(Class::HttpProtocol),
            "{:?}: {}",
            String::from_utf8_lossy(bytes),
            seen.message
        );
    }
}

#[tokio::test]
async fn headers_are_limited_and_a_flood_ends_at_once() {
    let large =
        format!("HTTP/1.1 200 OK\r\nX-Large: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(60_000));
    let target = answering(large).await;
    assert_eq!(within(&target, json!({}), 2_000).await.outcome, Outcome::Pass);
    for target in [
        answering(format!(
            "HTTP/1.1 200 OK\r\nX-Large: {}\r\nContent-Length: 0\r\n\r\n",
            "x".repeat(70_000)
        ))
        .await,
        endless("HTTP/1.1 200 OK\r\n", b"X-A: 0123456789\r\n").await,
        endless("HTTP/1.1 200 OK\r\nX-A: ", b"0123456789abcdef0123456789abcdef").await,
    ] {
        let seen = within(&target, json!({}), 5_000).await;
        assert_eq!(seen.class, Some(Class::HttpProtocol), "{}", seen.message);
        assert!(seen.message.contains("64\u{a0}KiB"), "{}", seen.message);
    }
}

#[tokio::test]
async fn a_drip_cannot_outlast_the_deadline() {
    for head in
        ["HTTP/1.1 200 OK\r\nX-Drip: ", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"]
    {
        let target = tcp(move |mut stream, _, requests| async move {
            note_head(&mut stream, &requests).await?;
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b"x").await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let seen = within(&target, json!({}), 250).await;
        assert!(
            matches!(seen.class, Some(Class::HttpTimeoutFirstByte | Class::HttpTimeoutBody)),
            "{}",
            seen.message
        );
    }
}

#[tokio::test]
async fn endless_interim_answers_and_a_server_that_never_reads_end_at_the_deadline() {
    let target = endless("", b"HTTP/1.1 103 Early Hints\r\n\r\n").await;
    assert_eq!(within(&target, json!({}), 250).await.class, Some(Class::HttpTimeoutFirstByte));
    let target = silent().await;
    let body = "x".repeat(200_000);
    assert_eq!(
        within(&target, json!({"method": "POST", "body": body}), 250).await.class,
        Some(Class::HttpTimeoutFirstByte)
    );
}

#[tokio::test]
async fn an_answer_before_the_request_was_read_still_counts() {
    let target = tcp(|mut stream, _, _| async move {
        let mut some = [0u8; 100];
        stream.read_exact(&mut some).await?;
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await?;
        std::future::pending().await
    })
    .await;
    let seen = within(&target, json!({"method": "POST", "body": "x".repeat(100_000)}), 2_000).await;
    assert_eq!((seen.class, seen.status), (Some(Class::Status), Some(413)), "{}", seen.message);
}

#[tokio::test]
async fn deep_json_and_odd_text_hurt_nobody() {
    let deep = "[".repeat(100_000);
    let wide = format!("[{}1]", "1,".repeat(200_000));
    for body in [
        deep.as_str(),
        wide.as_str(),
        "\u{0}",
        "{\"a\":1e999999999999999999999}",
        "{\"a\":\"\\ud800\"}",
    ] {
        let target = answering(ok("Content-Type: application/json; charset=utf-8\r\n", body)).await;
        let seen = within(
            &target,
            json!({"assertions": [{"on": "json", "path": "$..a", "op": "lt", "value": 5}]}),
            5_000,
        )
        .await;
        assert_eq!(seen.class, Some(Class::Assertion), "{}", seen.message);
        assert!(serde_json::to_string(&seen).unwrap().len() < 20_000, "an observation stays small");
    }
}

#[tokio::test]
async fn one_invalid_byte_does_not_hide_what_stands_elsewhere() {
    let target =
        answering(ok("Content-Type: text/html\r\n", b"\xff\xfa broken, then needle")).await;
    let seen = probe(json!({"url": target.url("/"), "assertions": [{"on": "body", "op": "contains", "value": "needle"}]})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let target =
        answering(ok("Content-Type: text/plain; charset=iso-8859-1\r\n", b"gr\xfc\xdfe")).await;
    let seen = probe(json!({"url": target.url("/"), "assertions": [{"on": "body", "op": "eq", "value": "grüße"}]})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}
