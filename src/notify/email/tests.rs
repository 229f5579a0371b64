use super::*;
use crate::notify::message;
use crate::notify::sample::outage;

fn conclude(
    to: &[&str],
    reached: &[&str],
    refused: &[(&str, &str)],
    trouble: Option<&str>,
) -> Sent {
    let to: Vec<String> = to.iter().map(|&text| text.to_owned()).collect();
    let progress = Progress {
        reached: reached.iter().map(|&text| text.to_owned()).collect(),
        refused: refused.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect(),
        trouble: trouble.map(str::to_owned),
        accepted: Some("250 queued".into()),
    };
    progress.conclude(&to)
}

#[test]
fn one_refused_recipient_does_not_fail_the_others() {
    let sent = conclude(
        &["a@x.example", "b@x.example"],
        &["a@x.example"],
        &[("b@x.example", "no such user")],
        None,
    );
    assert_eq!(sent.verdict, Verdict::Delivered);
    assert_eq!(sent.answer, "accepted for 1 of 2 recipients; no such user");
}

#[test]
fn whoever_is_still_open_is_tried_again_and_the_reached_are_remembered() {
    let sent =
        conclude(&["a@x.example", "b@x.example"], &["a@x.example"], &[], Some("451 try later"));
    assert_eq!(sent.verdict, Verdict::Later { after: None });
    assert_eq!(
        (sent.answer.as_str(), sent.reached),
        ("451 try later", vec!["a@x.example".to_owned()])
    );
}

#[test]
fn all_refused_is_final_and_all_reached_is_delivered() {
    let sent = conclude(&["b@x.example"], &[], &[("b@x.example", "no such user")], None);
    assert_eq!((sent.verdict, sent.answer.as_str()), (Verdict::Never, "no such user"));
    let sent = conclude(&["a@x.example"], &["a@x.example"], &[], None);
    assert_eq!((sent.verdict, sent.answer.as_str()), (Verdict::Delivered, "250 queued"));
}

#[test]
fn the_headers_keep_an_incident_together_and_robots_quiet() {
    let notice = outage();
    let parcel = Parcel {
        id: uuid::Uuid::from_u128(9),
        channel: None,
        now: "2026-11-17T02:07:33Z".parse().unwrap(),
        content: Content::Notice(&notice),
        reached: &[],
    };
    let around = Surroundings { public_url: None, zone: jiff::tz::TimeZone::UTC };
    let message = message::compose(&notice, &around);
    let link = format!("https://q.example/unsubscribe/{}", "x".repeat(200));
    let from = "Quorate <alerts@example.com>";
    let mail = build(from, "ops@example.com", &parcel, &message, Some(&link)).unwrap();
    let text = String::from_utf8(mail.formatted()).unwrap();
    let (head, _) = text.split_once("\r\n\r\n").unwrap();
    let thread = "<incident-00000000-0000-0000-0000-000000000002@example.com>";
    for line in [
        "From: Quorate <alerts@example.com>",
        "To: ops@example.com",
        "Subject: Down: checkout, 17 Nov 02:07 UTC",
        "Message-ID: <00000000-0000-0000-0000-000000000009@example.com>",
        &format!("In-Reply-To: {thread}"),
        &format!("References: {thread}"),
        "Auto-Submitted: auto-generated",
        &format!("List-Unsubscribe: <{link}>"),
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
        "Date: Tue, 17 Nov 2026 02:07:33 +0000",
    ] {
        assert!(head.lines().any(|known| known == line), "{line}\n{head}");
    }
    assert!(text.contains("multipart/alternative"));
    assert!(text.is_ascii(), "no server needs 8BITMIME for it");
}

#[test]
fn a_name_cannot_bring_headers_of_its_own() {
    let mut notice = outage();
    if let Some(monitor) = &mut notice.monitor {
        monitor.name = "x\r\nBcc: victim@example.com".into();
    }
    let parcel = Parcel {
        id: uuid::Uuid::from_u128(9),
        channel: None,
        now: Timestamp::UNIX_EPOCH,
        content: Content::Notice(&notice),
        reached: &[],
    };
    let around = Surroundings { public_url: None, zone: jiff::tz::TimeZone::UTC };
    let message = message::compose(&notice, &around);
    let mail = build("q@example.com", "ops@example.com", &parcel, &message, None).unwrap();
    let text = String::from_utf8(mail.formatted()).unwrap();
    let (head, _) = text.split_once("\r\n\r\n").unwrap();
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
}
