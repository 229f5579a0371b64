//! Kind `tcp` against real sockets: dialogues, TLS in both ways, and servers that mean no good.

use quorate::domain::observation::{Class, Observation, Outcome};
use serde_json::{Value, json};

use crate::support::scripted::{Act, scripted};
use crate::support::targets::{Authority, DAY, Surroundings, Target, YEAR, probe_in, silent};
use crate::support::whole::until;

async fn within(target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    within_in(&Surroundings::default().context(), target, extra, timeout_ms).await
}

async fn within_in(
    ctx: &quorate::probe::Context,
    target: &Target,
    extra: Value,
    timeout_ms: u64,
) -> Observation {
    let mut value = json!({"kind": "tcp", "url": format!("tcp://{}", target.addr)});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let seen = probe_in(ctx, value, timeout_ms).await;
    // These servers hold a probe for ever if they can; a busy machine only for a while.
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

#[track_caller]
fn assert_class(seen: &Observation, class: Class, words: &str) {
    assert_eq!(seen.class, Some(class), "{}", seen.message);
    assert!(seen.message.contains(words), "{words}: {}", seen.message);
}

fn tls(target: &Target) -> String {
    format!("tcps://{}", target.addr)
}

#[tokio::test]
async fn an_open_port_is_up_and_a_closed_one_is_not() {
    let target = silent().await;
    let seen = within(&target, json!({}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.connect.is_some() && seen.phases_us.first_byte.is_none());
}

#[tokio::test]
async fn nothing_listens_where_nothing_is_bound() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let value = json!({"kind": "tcp", "url": format!("tcp://{unused}")});
    let seen = probe_in(&Surroundings::default().context(), value, 5_000).await;
    assert_class(&seen, Class::ConnectRefused, "refused");
}

#[tokio::test]
async fn a_closed_address_is_not_connected_to() {
    let target = silent().await;
    let ctx = Surroundings { allow: Vec::new(), ..Surroundings::default() }.context();
    let seen = within_in(&ctx, &target, json!({}), 5_000).await;
    assert_class(&seen, Class::BlockedAddress, "--allow-net");
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_dialogue_goes_step_by_step_and_shows_what_it_heard() {
    let target = scripted(vec![
        Act::Spell(b"\xff220 db ready\r\n+more\r\n"),
        Act::Hear(b"PING 1\r\n\0"),
        Act::Say(b"-\xfe\r\n250 pong\r\n"),
        Act::Hear(b"QUIT"),
    ])
    .await;
    let seen = within(
        &target,
        json!({
            "dialogue": [{"reject": "^5"}, {"expect": "220 "}, {"send": "PING 1\\r\\n\\0"}, {"expect": "^250 \\w+$"}, {"send": "QUIT"}],
            "assertions": [{"on": "banner", "op": "contains", "value": "220 db ready"}]
        }),
        5_000,
    )
    .await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(seen.assertions[0].holds, Some(true));
    // The last words arrive, though nobody waits for them.
    until("QUIT was heard", async || (target.requests().len() == 2).then_some(())).await;
    assert_eq!(target.requests(), ["PING 1\r\n\0", "QUIT"]);
    assert!(seen.phases_us.first_byte.is_some() && seen.phases_us.transfer.is_some());
}

#[tokio::test]
async fn a_banner_is_the_first_line() {
    let banner =
        |value: &str| json!({"assertions": [{"on": "banner", "op": "eq", "value": value}]});
    let target = scripted(vec![Act::Say(b"SSH-2.0-OpenSSH_9.2\r\nmore"), Act::Hold]).await;
    let seen = within(&target, banner("SSH-2.0-OpenSSH_9.2"), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    // One that ends with the connection counts too.
    let target = scripted(vec![Act::Say(b"hello")]).await;
    let seen = within(&target, banner("hello"), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let target = scripted(vec![Act::Say(b"HTTP/1.1 400 Bad Request\r\n")]).await;
    let seen = within(&target, banner("hello"), 5_000).await;
    assert_class(&seen, Class::Assertion, "HTTP/1.1 400 Bad Request");
    assert_eq!(seen.evidence.unwrap().facts[0].label, "banner");
    let target = scripted(vec![]).await;
    assert_class(&within(&target, banner("hello"), 5_000).await, Class::Assertion, "said nothing");
    let target = scripted(vec![Act::Say(b"hel"), Act::Hold]).await;
    let seen = within(&target, banner("hello"), 250).await;
    assert_class(&seen, Class::DialogueTimeout, "\"hel\"");
}

#[tokio::test]
async fn what_is_rejected_ends_the_check_at_once() {
    let steps = json!({"dialogue": [{"expect": "^220"}, {"reject": "ERR|550"}, {"send": "x\\n"}, {"expect": "OK"}, {"expect": "never"}]});
    let target = scripted(vec![Act::Say(b"220 550 is only a number here\n"), Act::Hold]).await;
    // The reject stands after the first match; what was said before it is still unread.
    let seen = within(&target, steps.clone(), 60_000).await;
    assert_class(&seen, Class::DialogueRejected, "Step 2 rejects /ERR|550/");
    let target = scripted(vec![
        Act::Say(b"220 hello\n"),
        Act::Hear(b"x\n"),
        Act::Say(b"OK and ERR 7\n"),
        Act::Hold,
    ])
    .await;
    let seen = within(&target, steps, 60_000).await;
    assert_class(&seen, Class::DialogueRejected, "ERR 7");
    assert_eq!(seen.evidence.unwrap().facts.len(), 2, "the banner and step 1");
}

#[tokio::test]
async fn silence_names_the_step_and_what_came() {
    let steps = json!({"dialogue": [{"expect": "^220"}, {"send": "x\\n"}, {"expect": "^250"}]});
    for (script, words) in [
        (
            vec![Act::Hold],
            "Step 1 waited for /^220/ until the limit of 0.25\u{a0}s and got nothing.",
        ),
        (vec![Act::Say(b"22"), Act::Hold], "and got \"22\"."),
        (vec![Act::Say(b"220\n"), Act::Hold], "Step 3 waited for /^250/"),
        (
            vec![Act::Say(b"220\n"), Act::Hear(b"x\n"), Act::Say(b"451 \x07busy\r\n"), Act::Hold],
            "451 \\x07busy",
        ),
        (vec![Act::Drip(b"x")], "got \"x"),
        (vec![Act::Say(b"220\n"), Act::Drip(b"\xff\n")], "Step 3 waited"),
    ] {
        let target = scripted(script).await;
        let seen = within(&target, steps.clone(), 250).await;
        assert_class(&seen, Class::DialogueTimeout, words);
    }
}

#[tokio::test]
async fn ends_resets_and_floods_have_their_class() {
    let steps = json!({"dialogue": [{"expect": "^220"}, {"send": "x\\n"}, {"expect": "^250"}]});
    for (script, class, words) in [
        (vec![], Class::DialogueRejected, "closed the connection while step 1 waited for /^220/"),
        (vec![Act::Say(b"421 busy\r\n")], Class::DialogueRejected, "it had said \"421 busy\""),
        (vec![Act::Say(b"220\n")], Class::DialogueRejected, "step 3"),
        (vec![Act::Reset], Class::ConnectReset, "reset while step 1"),
        (vec![Act::Say(b"220\n"), Act::Hear(b"x\n"), Act::Reset], Class::ConnectReset, "step 3"),
        (vec![Act::Flood(b"0123456789abcdef")], Class::DialogueRejected, "64\u{a0}KiB"),
        (vec![Act::Flood(b"\n")], Class::DialogueRejected, "64\u{a0}KiB"),
        (
            vec![Act::Say(b"HTTP/1.1 400 Bad Request\r\n\r\n")],
            Class::DialogueRejected,
            "HTTP/1.1 400",
        ),
    ] {
        let target = scripted(script).await;
        assert_class(&within(&target, steps.clone(), 20_000).await, class, words);
    }
}

#[tokio::test]
async fn a_match_at_the_edge_of_what_is_kept_is_found() {
    // 64 KiB of noise in lines that match nothing, then the word: the rest is kept whole up to there.
    let noise: &'static [u8] = vec![b'.'; 60_000].leak();
    let target = scripted(vec![Act::Say(noise), Act::Say(b"\nready\n"), Act::Hold]).await;
    let seen = within(&target, json!({"dialogue": [{"expect": "^ready$"}]}), 20_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn a_secret_is_sent_and_never_comes_back() {
    let target = scripted(vec![
        Act::Hear(b"AUTH hun\\ter2\r\n"),
        Act::Say(b"no such password: hun\\ter2 aHVuXHRlcjI=\r\n"),
        Act::Hold,
    ])
    .await;
    let check = quorate::domain::check::Check::parse(json!({
        "kind": "tcp", "url": format!("tcp://{}", target.addr),
        "dialogue": [{"send": "AUTH ${secret:pw}\\r\\n"}, {"expect": "password"}, {"reject": "aHV"}, {"expect": "welcome"}]
    }))
    .unwrap();
    let filled = check.with_secrets(&[("pw".to_owned(), "hun\\ter2".into())].into()).unwrap();
    let ctx = Surroundings::default().context();
    let seen = quorate::probe::run(&filled, &ctx, std::time::Duration::from_secs(20)).await;
    assert_class(&seen, Class::DialogueRejected, "(hidden)");
    let told = serde_json::to_string(&seen).unwrap();
    assert!(!told.contains("hun") && !told.contains("aHVuXHRlcjI"), "{told}");
    assert_eq!(target.requests(), ["AUTH hun\\ter2\r\n"]);
}

#[tokio::test]
async fn tls_from_the_first_byte() {
    let root = Authority::root("Root");
    let acceptor = root.leaf(&["127.0.0.1"], -DAY, 30 * DAY).acceptor(&[]);
    let target = scripted(vec![
        Act::Secure(acceptor),
        Act::Say(b"hello\r\n"),
        Act::Hear(b"x"),
        Act::Say(b"bye"),
    ])
    .await;
    let ctx = Surroundings::with_roots(root.roots()).context();
    let dialogue = json!([{"expect": "hello"}, {"send": "x"}, {"expect": "bye"}]);
    let extra = json!({
        "url": tls(&target), "dialogue": dialogue, "tls": {"min_days_left": 20},
        "assertions": [{"on": "banner", "op": "eq", "value": "hello"}, {"on": "cert_days_left", "op": "eq", "value": 30}]
    });
    let seen = within_in(&ctx, &target, extra, 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.tls.is_some() && seen.certificate.is_some());
    let extra = json!({"url": tls(&target), "tls": {"min_days_left": 31}});
    assert_class(&within_in(&ctx, &target, extra, 5_000).await, Class::Assertion, "cert_days_left");
    let seen = within(&target, json!({"url": tls(&target)}), 5_000).await;
    assert_eq!(seen.class, Some(Class::TlsIncompleteChain), "{}", seen.message);
    for (script, class) in [
        (vec![Act::Hold], Class::TlsTimeout),
        (vec![Act::Say(b"220 plain text\r\n"), Act::Hold], Class::TlsHandshake),
        (vec![], Class::TlsHandshake),
        (vec![Act::Reset], Class::ConnectReset),
    ] {
        let target = scripted(script).await;
        let seen = within_in(&ctx, &target, json!({"url": tls(&target)}), 300).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
    }
}

/// What each protocol says before TLS, as a good server says it.
fn consents() -> Vec<(&'static str, Vec<Act>)> {
    vec![
        (
            "smtp",
            vec![
                Act::Say(b"220-mail\r\n220 ready\r\n"),
                Act::HearLine,
                Act::Say(b"250-mail\r\n250 STARTTLS\r\n"),
                Act::Hear(b"STARTTLS\r\n"),
                Act::Say(b"220 go\r\n"),
            ],
        ),
        (
            "imap",
            vec![
                Act::Say(b"* OK [CAPABILITY] ready\r\n"),
                Act::Hear(b"q1 STARTTLS\r\n"),
                Act::Say(b"* CAPABILITY x\r\nq1 OK go\r\n"),
            ],
        ),
        ("pop3", vec![Act::Say(b"+OK ready\r\n"), Act::Hear(b"STLS\r\n"), Act::Say(b"+OK\r\n")]),
        (
            "ftp",
            vec![
                Act::Say(b"220-Welcome\r\n 230 is not for you\r\n220 ready\r\n"),
                Act::Hear(b"AUTH TLS\r\n"),
                Act::Say(b"234 go\r\n"),
            ],
        ),
        ("postgres", vec![Act::Hear(&[0, 0, 0, 8, 4, 210, 22, 47]), Act::Say(b"S")]),
    ]
}

#[tokio::test]
async fn starttls_in_the_words_of_each_protocol() {
    let root = Authority::root("Root");
    let ctx = Surroundings::with_roots(root.roots()).context();
    for (protocol, mut script) in consents() {
        let acceptor = root.leaf(&["127.0.0.1"], -DAY, YEAR).acceptor(&[]);
        script.extend([Act::Secure(acceptor), Act::Hear(b"after\n"), Act::Say(b"welcome\n")]);
        let target = scripted(script).await;
        let steps = json!([{"send": "after\\n"}, {"expect": "welcome"}]);
        let extra = json!({"starttls": protocol, "dialogue": steps});
        let seen = within_in(&ctx, &target, extra, 5_000).await;
        assert_eq!(seen.outcome, Outcome::Pass, "{protocol}: {}", seen.message);
        assert!(seen.certificate.is_some());
    }
}

#[tokio::test]
async fn words_put_in_before_the_handshake_are_a_failure() {
    for (protocol, mut script) in consents() {
        // In the same packet as the consent.
        let Some(Act::Say(consent)) = script.pop() else { panic!("no consent") };
        script.push(Act::Say([consent, &b"evil\r\n"[..]].concat().leak()));
        let target = scripted(script).await;
        let seen = within(&target, json!({"starttls": protocol}), 5_000).await;
        assert_class(&seen, Class::DialogueRejected, "6 more bytes came in plain text");
    }
}

#[tokio::test]
async fn starttls_with_a_silent_or_broken_server() {
    for (protocol, script) in consents() {
        for length in 0..script.len() {
            let begun = || script.get(..length).unwrap().to_vec();
            for (last, class) in [
                (Act::Hold, Class::DialogueTimeout),
                (Act::Drip(b"* "), Class::DialogueTimeout),
                (Act::Reset, Class::ConnectReset),
            ] {
                if matches!(last, Act::Drip(_)) && protocol == "postgres" {
                    continue;
                }
                let mut script = begun();
                script.push(last);
                let target = scripted(script).await;
                let seen = within(&target, json!({"starttls": protocol}), 250).await;
                assert_class(&seen, class, "");
            }
        }
        let mut script = script.clone();
        script.push(Act::Hold);
        let target = scripted(script).await;
        let seen = within(&target, json!({"starttls": protocol}), 250).await;
        assert_class(&seen, Class::TlsTimeout, "");
    }
}

#[tokio::test]
async fn starttls_that_is_declined_or_not_spoken() {
    let declined: &[(&str, &[u8], &[u8], &str)] = &[
        ("smtp", b"554 no\r\n", b"", "greet with 220"),
        ("smtp", b"220 a\r\n", b"502 what?\r\n", "EHLO"),
        ("smtp", b"220 a\r\n250 a\r\n", b"502 no TLS here\r\n", "502 no TLS here"),
        ("smtp", b"SSH-2.0-x\r\n", b"", "does not speak SMTP"),
        ("imap", b"* BYE busy\r\n", b"", "does not start with TLS"),
        ("imap", b"* OK hi\r\n", b"q1 BAD no\r\n", "does not agree to TLS"),
        ("imap", b"+OK\r\n", b"", "does not speak IMAP"),
        ("imap", b"* OK hi\r\n", b"what?\r\n", "does not speak IMAP"),
        ("pop3", b"-ERR busy\r\n", b"", "does not agree to TLS"),
        ("pop3", b"+OK\r\n", b"-ERR no\r\n", "does not agree to TLS"),
        ("pop3", b"220 hi\r\n", b"", "does not speak POP3"),
        ("ftp", b"421 busy\r\n", b"", "greet with 220"),
        ("ftp", b"220 hi\r\n", b"534 no\r\n", "does not agree to TLS"),
        ("ftp", b"* OK\r\n", b"", "does not speak FTP"),
        ("postgres", b"N", b"", "does not offer TLS"),
        ("postgres", b"220 mail\r\n", b"", "does not speak PostgreSQL: it said \"2"),
    ];
    for (protocol, greeting, answer, words) in declined {
        // The answer needs no question to be wrong.
        let target = scripted(vec![Act::Say(greeting), Act::Say(answer), Act::Hold]).await;
        let seen = within(&target, json!({"starttls": protocol}), 5_000).await;
        assert_class(&seen, Class::DialogueRejected, words);
    }
    let flood = scripted(vec![Act::Say(b"* OK hi\r\n"), Act::Flood(b"* more\r\n")]).await;
    let seen = within(&flood, json!({"starttls": "imap"}), 20_000).await;
    assert_class(&seen, Class::DialogueRejected, "More than 100 lines");
    let flood = scripted(vec![Act::Flood(b"220-more\r\n")]).await;
    let seen = within(&flood, json!({"starttls": "ftp"}), 20_000).await;
    assert_class(&seen, Class::DialogueRejected, "more than 200 lines");
    let flood = scripted(vec![Act::Flood(b"0123456789")]).await;
    let seen = within(&flood, json!({"starttls": "pop3"}), 20_000).await;
    assert_class(&seen, Class::DialogueRejected, "8\u{a0}KiB");
}

#[tokio::test]
async fn a_line_is_matched_as_a_whole_however_it_is_cut() {
    let steps = json!({"dialogue": [{"reject": "^ERR$"}, {"expect": "^OK$"}]});
    let target = scripted(vec![Act::Spell(b"ERROR?\nOKAY\nOK\n"), Act::Hold]).await;
    let seen = within(&target, steps.clone(), 20_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    // The end of the connection is one of the line as well.
    let target = scripted(vec![Act::Say(b"OKAY\nOK")]).await;
    let seen = within(&target, steps.clone(), 20_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let target = scripted(vec![Act::Say(b"OKAY\nERR")]).await;
    assert_class(&within(&target, steps, 20_000).await, Class::DialogueRejected, "rejects /^ERR$/");
}
