//! Kind `smtp` against a mail server that is not ours, and against ones that follow a script.

use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::probe::Context;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use crate::support::mail_sink::MailSink;
use crate::support::scripted::{Act, scripted};
use crate::support::targets::{Authority, DAY, Surroundings, Target, YEAR, probe_in};
use crate::support::whole::until;

async fn within(ctx: &Context, target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    let mut value = json!({"kind": "smtp", "url": format!("smtp://{}", target.addr)});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let seen = probe_in(ctx, value, timeout_ms).await;
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

fn fact(seen: &Observation, label: &str) -> String {
    let facts = &seen.evidence.as_ref().unwrap().facts;
    facts
        .iter()
        .find(|fact| fact.label == label)
        .map_or_else(String::new, |fact| fact.value.clone())
}

#[track_caller]
fn assert_class(seen: &Observation, class: Class, words: &str) {
    assert_eq!(seen.class, Some(class), "{}", seen.message);
    assert!(seen.message.contains(words), "{words}: {}", seen.message);
}

#[tokio::test]
async fn a_real_server_with_and_without_tls() {
    let sink = MailSink::start("probe-smtp", json!({"login": false})).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(sink.ca_file()).unwrap()).unwrap();
    let ctx = Surroundings::with_roots(roots).context();
    let check = |extra: Value| {
        let mut value = json!({"kind": "smtp", "url": format!("smtp://127.0.0.1:{}", sink.port())});
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value
    };
    let good = check(json!({
        "tls": {"server_name": "localhost", "min_days_left": 14}, "ehlo_name": "probe.test",
        "assertions": [{"on": "banner", "op": "contains", "value": "sink.test"}, {"on": "cert_days_left", "op": "gt", "value": 14}]
    }));
    let seen = probe_in(&ctx, good, 10_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let certificate = seen.certificate.unwrap();
    assert!(certificate.valid && certificate.names == ["localhost"]);
    assert!(seen.phases_us.tls.is_some() && seen.phases_us.transfer.is_some());
    // The name in the certificate is not the address.
    let seen = probe_in(&ctx, check(json!({})), 10_000).await;
    assert_eq!(seen.class, Some(Class::TlsNameMismatch), "{}", seen.message);
    let seen = probe_in(&ctx, check(json!({"starttls": "never"})), 10_000).await;
    assert_eq!((seen.outcome, seen.certificate), (Outcome::Pass, None), "{}", seen.message);

    let plain =
        MailSink::start("probe-smtp-plain", json!({"security": "none", "login": false})).await;
    let url = format!("smtp://127.0.0.1:{}", plain.port());
    let seen = probe_in(&ctx, json!({"kind": "smtp", "url": url}), 10_000).await;
    assert_class(&seen, Class::DialogueRejected, "does not offer STARTTLS");
    let offered = json!({"kind": "smtp", "url": url, "starttls": "if_offered"});
    let seen = probe_in(&ctx, offered, 10_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);

    let secure = MailSink::start("probe-smtps", json!({"security": "tls", "login": false})).await;
    let url = format!("smtps://127.0.0.1:{}", secure.port());
    let seen =
        probe_in(&ctx, json!({"kind": "smtp", "url": url, "tls": {"verify": false}}), 10_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.certificate.is_some());
}

fn up_to_ehlo() -> Vec<Act> {
    vec![
        Act::Say(b"220-mail.test says hello\r\n220 ESMTP\r\n"),
        Act::HearLine,
        Act::Say(b"250-mail.test\r\n250-SIZE 1000\r\n250 starttls\r\n"),
    ]
}

#[tokio::test]
async fn the_whole_conversation() {
    let root = Authority::root("Root");
    let ctx = Surroundings::with_roots(root.roots()).context();
    let mut script = up_to_ehlo();
    script.extend([
        Act::Hear(b"STARTTLS\r\n"),
        Act::Say(b"220 go\r\n"),
        Act::Secure(root.leaf(&["127.0.0.1"], -DAY, YEAR).acceptor(&[])),
        Act::HearLine,
        Act::Say(b"250-mail.test\r\n250 AUTH PLAIN\r\n"),
        Act::Hear(b"QUIT\r\n"),
        Act::Say(b"221 bye\r\n"),
    ]);
    let target = scripted(script).await;
    let banner = "mail.test says hello\nESMTP";
    // A failing condition keeps the evidence, and is judged only after the whole conversation.
    let extra = json!({"assertions": [{"on": "banner", "op": "eq", "value": banner}, {"on": "banner", "op": "contains", "value": "nothing"}]});
    let seen = within(&ctx, &target, extra, 5_000).await;
    assert_class(&seen, Class::Assertion, "should be contains");
    assert_eq!(seen.assertions[0].holds, Some(true));
    until("QUIT was heard", async || (target.requests().len() == 4).then_some(())).await;
    let heard = target.requests();
    assert_eq!(heard, ["EHLO [127.0.0.1]\r\n", "STARTTLS\r\n", "EHLO [127.0.0.1]\r\n", "QUIT\r\n"]);
    assert_eq!(fact(&seen, "extensions"), "AUTH PLAIN", "only what was said in TLS counts");
    assert_eq!(fact(&seen, "banner"), "mail.test says hello\\nESMTP");
}

#[tokio::test]
async fn refusals_end_with_the_servers_words() {
    let ctx = Surroundings::default().context();
    let after_ehlo = |answer: &'static [u8]| {
        let mut script = up_to_ehlo();
        script.extend([Act::Hear(b"STARTTLS\r\n"), Act::Say(answer), Act::Hold]);
        script
    };
    for (script, words) in [
        (vec![Act::Say(b"554 no service\r\n"), Act::Hold], "it said \"554 no service\""),
        (vec![Act::Say(b"421-busy\r\n421 later\r\n")], "421 busy later"),
        (vec![Act::Say(b"220 a\r\n"), Act::HearLine, Act::Say(b"502 what?\r\n")], "502 what?"),
        (vec![Act::Say(b"220 a\r\n"), Act::HearLine, Act::Say(b"220 a\r\n")], "answered with 250"),
        (
            vec![Act::Say(b"SSH-2.0-OpenSSH_9.2\r\n"), Act::Hold],
            "does not speak SMTP: it said \"SSH-2.0",
        ),
        (vec![Act::Say(b"HTTP/1.1 400 Bad Request\r\n\r\n")], "does not speak SMTP"),
        (
            vec![Act::Say(b"220 a\r\n"), Act::HearLine, Act::Say(b"250 a\r\n"), Act::Hold],
            "does not offer STARTTLS",
        ),
        (after_ehlo(b"454 not now\r\n"), "does not agree to TLS: it said \"454 not now\""),
        (after_ehlo(b"220 go\r\n250 evil\r\n"), "10 more bytes came in plain text"),
        (vec![], "closed the connection while the probe waited for the greeting"),
        (vec![Act::Say(b"220-half")], "it had said \"220-half\""),
        (vec![Act::Say(b"220-a\r\n220")], "waited for the greeting"),
        (vec![Act::Say(b"220 a\r\n"), Act::HearLine], "waited for the answer to EHLO"),
        (vec![Act::Flood(b"220-more\r\n")], "more than 200 lines"),
        (vec![Act::Flood(b"220 0123456789")], "8\u{a0}KiB"),
        (vec![Act::Flood(b"\0\xff\n")], "does not speak SMTP"),
    ] {
        let target = scripted(script).await;
        let seen = within(&ctx, &target, json!({}), 20_000).await;
        assert_class(&seen, Class::DialogueRejected, words);
    }
}

#[tokio::test]
async fn silence_drips_and_resets_at_every_stage() {
    let ctx = Surroundings::default().context();
    let mut whole = up_to_ehlo();
    whole.extend([Act::Hear(b"STARTTLS\r\n"), Act::Say(b"220 go\r\n")]);
    for length in [0, 1, 2, 3, 4] {
        for (last, class) in [
            (Act::Hold, Class::DialogueTimeout),
            (Act::Drip(b"2"), Class::DialogueTimeout),
            (Act::Reset, Class::ConnectReset),
        ] {
            let mut script = whole.get(..length).unwrap().to_vec();
            script.push(last);
            let target = scripted(script).await;
            let seen = within(&ctx, &target, json!({}), 250).await;
            assert_class(&seen, class, "he probe waited for the");
        }
    }
    whole.push(Act::Hold);
    let target = scripted(whole).await;
    assert_class(&within(&ctx, &target, json!({}), 250).await, Class::TlsTimeout, "handshake");
}

#[tokio::test]
async fn a_server_that_does_not_let_go_costs_nothing() {
    let ctx = Surroundings::default().context();
    let target =
        scripted(vec![Act::Say(b"220 a\r\n"), Act::HearLine, Act::Say(b"250 a\r\n"), Act::Hold])
            .await;
    let seen = within(&ctx, &target, json!({"starttls": "never"}), 20_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let parts = seen.phases_us;
    let sum = parts.connect.unwrap() + parts.first_byte.unwrap() + parts.transfer.unwrap();
    assert!(parts.total - sum < 200_000, "the goodbye is not measured: {parts:?}");
}
