use super::*;
use crate::domain::notice::{IncidentFacts, Prompt};
use crate::notify::{
    mail_body,
    sample::{fleet_alert, outage, recovery},
};

fn berlin() -> Surroundings {
    Surroundings {
        public_url: Some(Url::parse("https://quorate.example/mon").unwrap()),
        zone: TimeZone::get("Europe/Berlin").unwrap(),
    }
}

fn of(change: impl FnOnce(&mut Notice)) -> Message {
    let mut notice = outage();
    change(&mut notice);
    compose(&notice, &berlin())
}

#[test]
fn an_alert_as_text() {
    insta::assert_snapshot!(mail_body::text(&compose(&outage(), &berlin())));
}

#[test]
fn an_alert_as_html() {
    insta::assert_snapshot!(mail_body::html(&compose(&outage(), &berlin())));
}

#[test]
fn a_recovery_as_text() {
    insta::assert_snapshot!(mail_body::text(&compose(&recovery(), &berlin())));
}

#[test]
fn every_subject_of_an_incident_ends_in_the_same_stem() {
    let stem = "checkout, 17 Nov 03:07 CET";
    for (kind, state) in [
        (NoticeKind::Opened, "Down"),
        (NoticeKind::Reopened, "Down"),
        (NoticeKind::AfterMaintenance, "Down"),
        (NoticeKind::FlapStart, "Flapping"),
        (NoticeKind::EvidenceWithdrawn, "In doubt"),
        (NoticeKind::Resolved, "Up again"),
        (NoticeKind::FlapEnd, "Up again"),
    ] {
        assert_eq!(of(|n| n.kind = kind).subject, format!("{state}: {stem}"));
    }
    let moved = of(|n| {
        n.kind = NoticeKind::Moved;
        n.severity = Severity::Partial;
    });
    assert_eq!(moved.subject, format!("Partly down: {stem}"));
    let late = |n: &mut Notice| {
        *n = recovery();
        n.collapsed = true;
    };
    assert_eq!(of(late).subject, format!("Was down: {stem}"));
    let paused = |n: &mut Notice| {
        *n = recovery();
        n.incident.resolve_reason = Some("paused".into());
    };
    assert_eq!(of(paused).subject, format!("Closed: {stem}"));
}

#[test]
fn headlines_say_what_happened() {
    let moved = |from, to| {
        of(|n| {
            n.kind = NoticeKind::Moved;
            n.previous_severity = Some(from);
            n.severity = to;
        })
        .headline
    };
    assert_eq!(of(|_| ()).headline, "checkout is down.");
    assert_eq!(of(|n| n.kind = NoticeKind::Reopened).headline, "checkout is down again.");
    assert_eq!(moved(Severity::Degraded, Severity::Partial), "checkout is now partly down.");
    assert_eq!(
        moved(Severity::Down, Severity::Degraded),
        "checkout is no longer down, but still degraded."
    );
    assert_eq!(
        of(|n| n.kind = NoticeKind::AfterMaintenance).headline,
        "checkout is still down after the maintenance."
    );
    let ended = |change: &dyn Fn(&mut Notice)| {
        of(|n| {
            *n = recovery();
            change(n);
        })
        .headline
    };
    assert_eq!(ended(&|_| ()), "checkout is up again after 4\u{a0}min 42\u{a0}s.");
    assert_eq!(
        ended(&|n| n.collapsed = true),
        "checkout was down for 4\u{a0}min 42\u{a0}s, and is up again."
    );
    assert_eq!(
        ended(&|n| n.incident.resolve_reason = Some("deleted".into())),
        "checkout was deleted, which closes its incident."
    );
    assert_eq!(
        ended(&|n| n.incident.resolve_reason = Some("closed by hand".into())),
        "The incident of checkout was closed: closed by hand."
    );
    assert_eq!(
        ended(&|n| n.kind = NoticeKind::FlapEnd),
        "checkout is up and steady again after 4\u{a0}min 42\u{a0}s."
    );
}

#[test]
fn an_incident_about_no_monitor_is_named_by_its_subject() {
    let message = of(|n| {
        n.monitor = None;
        n.incident.subject = "platform:blind".into();
    });
    assert_eq!(message.headline, "platform:blind is down.");
    assert!(message.links.iter().all(|(label, _)| *label == "Incident"));
}

#[test]
fn a_fleet_is_as_usual_or_not_and_all_its_findings_are_told() {
    let fleet = |change: &dyn Fn(&mut Notice)| {
        of(|n| {
            *n = fleet_alert();
            change(n);
        })
    };
    let opened = fleet(&|_| ());
    assert_eq!(opened.headline, "shop: 10.9.0.11:80 fails more than its peers.");
    assert_eq!(opened.subject, "10.9.0.11:80 fails more than its peers: shop, 17 Nov 03:07 CET");
    let text = mail_body::text(&opened);
    for told in ["10.9.0.11 failed 41 of 212 requests", "10.9.0.12 restarted", "mon/fleets/"] {
        assert!(text.contains(told), "{told} in {text}");
    }
    assert!(!text.contains("What the locations see") && !text.contains("down"), "{text}");
    let ended = fleet(&|n| {
        n.kind = NoticeKind::Resolved;
        n.incident.resolve_reason = Some("recovered".into());
        n.incident.ended_at = Some(n.incident.started_at + SignedDuration::from_secs(282));
    });
    assert_eq!(ended.headline, "shop is as usual again after 4\u{a0}min 42\u{a0}s.");
    assert_eq!(ended.subject, "As usual again: shop, 17 Nov 03:07 CET");
    assert!(mail_body::text(&ended).contains("Was"), "what it was is told with its end");
    let moved = fleet(&|n| {
        n.kind = NoticeKind::Moved;
        n.previous_severity = Some(Severity::Down);
    });
    assert_eq!(
        moved.headline,
        "shop is no longer failing, but still failing in part: 10.9.0.11:80 fails more than its peers."
    );
    let shared = fleet(&|n| {
        let fleet = n.fleet.as_mut().unwrap();
        fleet.findings[0].title = "all fail alike from a shared cause (pool shop)".into();
    });
    assert!(shared.subject.starts_with("All fail alike from a shared cause (pool shop): shop, 17"));
}

#[test]
fn a_fleets_notice_that_was_queued_before_there_were_titles_is_told_all_the_same() {
    let old = of(|n| {
        *n = fleet_alert();
        for line in &mut n.fleet.as_mut().unwrap().findings {
            line.title = String::new();
        }
    });
    assert_eq!(old.headline, "shop is failing in part.");
    assert_eq!(old.subject, "Failing in part: shop, 17 Nov 03:07 CET");
}

#[test]
fn text_cannot_break_out_of_the_html() {
    let html = mail_body::html(&of(|n| {
        n.sentence = "<script>alert('1')</script> & \"more\"".into();
        n.locations[0].saw = "<img src=x>".into();
        if let Some(monitor) = &mut n.monitor {
            monitor.runbook_url = Some("javascript:alert(1)".into());
        }
    }));
    assert!(
        html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;more&quot;")
    );
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("javascript:"));
}

#[test]
fn nothing_in_the_html_is_loaded_from_afar() {
    let html = mail_body::html(&compose(&outage(), &berlin()));
    for remote in ["src=", "url(", "@import", "<link", "background="] {
        assert!(!html.contains(remote), "{remote}");
    }
}

#[test]
fn without_an_address_there_are_no_links_to_us() {
    let around = Surroundings { public_url: None, zone: TimeZone::UTC };
    let message = compose(&outage(), &around);
    assert_eq!(message.links, [("Runbook", "https://wiki.example/checkout".to_owned())]);
    assert_eq!(
        message.facts.iter().find(|(label, _)| *label == "Began").unwrap().1,
        "Tue 17 Nov 2026, 02:07:24 UTC"
    );
}

#[test]
fn pages_lie_under_the_public_address() {
    let page = |base: &str| page(&Url::parse(base).unwrap(), "incidents/1").unwrap();
    assert_eq!(page("https://q.example"), "https://q.example/incidents/1");
    assert_eq!(page("https://q.example/mon?x=1"), "https://q.example/mon/incidents/1");
}

#[test]
fn durations_have_two_units_at_most() {
    for (secs, told) in [
        (-5, "0 s"),
        (0, "0 s"),
        (42, "42 s"),
        (60, "1 min"),
        (282, "4 min 42 s"),
        (11_100, "3 h 5 min"),
        (10_801, "3 h"),
        (187_200, "2 d 4 h"),
    ] {
        let words = duration(SignedDuration::from_secs(secs));
        assert_eq!(words.replace('\u{a0}', " "), told);
    }
}

#[test]
fn the_day_in_utc_is_named_when_it_is_another() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let told = |at: &str| instant(at.parse().unwrap(), &zone);
    assert_eq!(told("2026-07-01T10:00:00Z"), "Wed 1 Jul 2026, 12:00:00 CEST (10:00:00 UTC)");
    assert_eq!(
        told("2026-07-01T22:30:00Z"),
        "Thu 2 Jul 2026, 00:30:00 CEST (Wed 1 Jul, 22:30:00 UTC)"
    );
}

#[test]
fn an_slo_is_told_by_what_it_does() {
    let fires = super::super::sample::slo_alert();
    let around = Surroundings {
        public_url: Some("https://q.example/".parse().unwrap()),
        zone: TimeZone::UTC,
    };
    let message = compose(&fires, &around);
    assert!(message.subject.starts_with("Burns its error budget too fast: shop availability, "));
    assert_eq!(message.headline, "shop availability burns its error budget too fast.");
    assert!(message.facts.contains(&("Owner", "Ada".into())), "{:?}", message.facts);
    assert!(message.facts.contains(&("Labels", "tier=1".into())), "{:?}", message.facts);
    let slo = message.links.iter().find(|(label, _)| *label == "SLO").map(|(_, url)| url.as_str());
    assert_eq!(slo, Some("https://q.example/slos/00000000-0000-0000-0000-000000000004"));
    let over = Notice {
        kind: NoticeKind::Resolved,
        incident: IncidentFacts {
            ended_at: Some(fires.incident.started_at + SignedDuration::from_secs(720)),
            resolve_reason: Some("recovered".into()),
            ..fires.incident.clone()
        },
        ..fires
    };
    let message = compose(&over, &around);
    assert!(
        message.subject.starts_with("As usual again: shop availability"),
        "{}",
        message.subject
    );
    assert_eq!(
        message.headline,
        "shop availability no longer burns its error budget too fast, after 12\u{a0}min."
    );
}

#[test]
fn trouble_of_quorate_itself_is_told_by_what_it_does() {
    let opened = super::super::sample::platform_alert();
    let around = Surroundings { public_url: None, zone: TimeZone::UTC };
    let message = compose(&opened, &around);
    assert!(message.subject.starts_with("Cannot deliver alerts: Quorate, "), "{}", message.subject);
    assert_eq!(message.headline, "Quorate cannot deliver alerts.");
    let over = Notice {
        kind: NoticeKind::Resolved,
        incident: IncidentFacts {
            ended_at: Some(opened.incident.started_at + SignedDuration::from_secs(720)),
            resolve_reason: Some("recovered".into()),
            ..opened.incident.clone()
        },
        ..opened
    };
    let message = compose(&over, &around);
    assert!(message.subject.starts_with("As usual again: Quorate, "), "{}", message.subject);
    assert_eq!(message.headline, "Quorate delivers alerts again, after 12\u{a0}min.");
}

#[test]
fn a_certificate_is_told_by_its_end_and_then_by_its_renewal() {
    let opened = super::super::sample::certificate_alert();
    let around = Surroundings { public_url: None, zone: TimeZone::UTC };
    let message = compose(&opened, &around);
    let subject = "Shows a certificate that ends in 7 days: checkout, ";
    assert!(message.subject.starts_with(subject), "{}", message.subject);
    assert_eq!(message.headline, "checkout shows a certificate that ends in 7 days.");
    for fact in [("Issuer", "Example CA"), ("Fingerprint", &*"ab".repeat(32))] {
        assert!(message.facts.contains(&(fact.0, fact.1.to_owned())), "{:?}", message.facts);
    }
    assert_eq!((message.rows.len(), message.first), (0, None));
    let closer = Notice {
        kind: NoticeKind::Moved,
        previous_severity: Some(Severity::Degraded),
        ..opened.clone()
    };
    assert_eq!(headline(&closer), "checkout now shows a certificate that ends in 7 days.");
    let over = |reason: &str, over: Option<&str>| {
        let mut over_now = Notice { kind: NoticeKind::Resolved, ..opened.clone() };
        over_now.incident.resolve_reason = Some(reason.into());
        over_now.certificate.as_mut().unwrap().over = over.map(str::to_owned);
        compose(&over_now, &around)
    };
    let renewed = over("renewed", Some("shows a renewed certificate"));
    assert!(renewed.subject.starts_with("Renewed: checkout, "), "{}", renewed.subject);
    assert_eq!(renewed.headline, "checkout shows a renewed certificate.");
    let paused = over("paused", None);
    assert!(paused.subject.starts_with("Closed: checkout, "), "{}", paused.subject);
    assert_eq!(paused.headline, "checkout was paused, which closes its incident.");
}

#[test]
fn later_words_say_how_long_it_has_been_and_why_they_come() {
    let told = |kind: NoticeKind, prompt: Prompt| {
        of(|n| {
            n.kind = kind;
            n.decided_at = n.incident.started_at + SignedDuration::from_secs(7_500);
            n.prompt = Some(prompt.clone());
        })
    };
    let step = Prompt::Step { policy: "on-call".into(), round: 1, rounds: 2, step: 2, steps: 3 };
    let late = told(NoticeKind::Opened, step);
    assert_eq!(
        late.headline,
        "checkout is down, for 2\u{a0}h 5\u{a0}min, and nobody has acknowledged it."
    );
    assert_eq!(late.facts[0], ("Escalation", "on-call: step 2 of 3, round 1 of 2".into()));
    assert!(late.subject.starts_with("Down: "), "{}", late.subject);
    let reminder = told(NoticeKind::Reminder, Prompt::Reminder { number: 2 });
    assert_eq!(reminder.headline, "checkout is still down, for 2\u{a0}h 5\u{a0}min.");
    assert_eq!(reminder.facts[0].1, "number 2; nobody has acknowledged it");
    assert!(reminder.subject.starts_with("Still open: "), "{}", reminder.subject);
    let until = "2026-11-17T06:07:00Z".parse().unwrap();
    let ack = Prompt::Acknowledged { by: "Ada".into(), until, note: Some("Restarting it.".into()) };
    let ack = told(NoticeKind::Acknowledged, ack);
    assert_eq!(ack.headline, "Ada is at it: checkout is down.");
    assert_eq!(ack.facts[1], ("Note", "Restarting it.".into()));
}

#[test]
fn a_group_says_how_many_are_left_and_who() {
    let mut notice = super::super::sample::group_update();
    let around = Surroundings { public_url: None, zone: TimeZone::UTC };
    let message = compose(&notice, &around);
    assert!(message.subject.starts_with("23 of 25 down: checkout, "), "{}", message.subject);
    assert_eq!(
        message.headline,
        "23 of 25 monitors that share the domain shop.example are still down."
    );
    let fact = |label: &str| {
        let found = message.facts.iter().find(|(known, _)| *known == label);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    assert!(fact("Not up").starts_with("m1, m2, ") && fact("Not up").ends_with("m20 and 3 more"));
    assert_eq!(fact("Up again"), "2 more");
    let until = "2026-11-17T06:07:00Z".parse().unwrap();
    let mut taken = notice.clone();
    taken.kind = NoticeKind::Acknowledged;
    taken.prompt = Some(Prompt::Acknowledged { by: "Ada".into(), until, note: None });
    let ack = compose(&taken, &around);
    assert!(ack.subject.starts_with("Acknowledged: checkout, "), "{}", ack.subject);
    assert_eq!(
        ack.headline,
        "Ada is at it: 23 of 25 monitors that share the domain shop.example are still down."
    );
    assert!(ack.facts.iter().any(|(label, _)| *label == "Not up"));
    notice.kind = NoticeKind::Resolved;
    notice.storm.as_mut().unwrap().open = 0;
    let over = compose(&notice, &around);
    assert!(over.subject.starts_with("All 25 up again: checkout, "), "{}", over.subject);
    assert!(over.headline.starts_with("All 25 monitors that share the domain shop.example are up"));
    // The first that goes down is told as itself, with who went down beside it.
    notice.kind = NoticeKind::Opened;
    assert_eq!(compose(&notice, &around).headline, "checkout is down.");
}
