//! Notices for the unit tests of this module.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::domain::{
    incident::Severity,
    notice::{
        CertificateFacts, FleetFacts, FleetLine, IncidentFacts, LocationLine, MonitorFacts, Notice,
        NoticeKind, PlatformFacts, SloFacts, StormFacts, StormLine,
    },
    platform::{Fallback, Trouble},
};

/// The outage of the UI's drawings: four of five locations see `checkout` fail.
pub(super) fn outage() -> Notice {
    Notice {
        kind: NoticeKind::Opened,
        severity: Severity::Down,
        previous_severity: None,
        monitor: Some(MonitorFacts {
            uid: Uuid::from_u128(0x1),
            name: "checkout".into(),
            group: "shop".into(),
            target: "https://shop.example/health".into(),
            labels: BTreeMap::from([("team".into(), "shop".into()), ("tier".into(), "1".into())]),
            runbook_url: Some("https://wiki.example/checkout".into()),
        }),
        fleet: None,
        slo: None,
        platform: None,
        certificate: None,
        prompt: None,
        storm: None,
        incident: IncidentFacts {
            uid: Uuid::from_u128(0x2),
            subject: format!("monitor:{}", Uuid::from_u128(0x1)),
            started_at: "2026-11-17T02:07:24Z".parse().unwrap(),
            opened_at: "2026-11-17T02:07:31.25Z".parse().unwrap(),
            ended_at: None,
            resolve_reason: None,
            low: false,
        },
        sentence: "4 of 5 locations see it fail, 3 are needed. All four reached 203.0.113.10; sjc, which passes, reached 203.0.113.74.".into(),
        locations: vec![
            line("sjc", "us", "up", None, "", Some("203.0.113.74"), None),
            line("fra", "eu", "down", Some("assertion"), "The status was 503.", Some("203.0.113.10"), None),
            line("ams", "eu", "down", Some("assertion"), "The status was 503.", Some("203.0.113.10"), None),
            line("syd", "ap", "down", Some("connect_timeout"), "The connection was not answered in time.", None, Some("quarantined")),
            line("iad", "us", "down", Some("connect_refused"), "The connection was refused.", Some("203.0.113.10"), None),
        ],
        scope: Some("global".into()),
        eligible: 5,
        needed: 3,
        down: 4,
        decided_at: "2026-11-17T02:07:31.25Z".parse().unwrap(),
        collapsed: false,
    }
}

/// Its end, 4 min 42 s later.
pub(super) fn recovery() -> Notice {
    let mut notice = outage();
    notice.kind = NoticeKind::Resolved;
    notice.previous_severity = Some(Severity::Down);
    notice.incident.ended_at = Some("2026-11-17T02:12:06Z".parse().unwrap());
    notice.incident.resolve_reason = Some("recovered".into());
    notice.decided_at = "2026-11-17T02:13:06Z".parse().unwrap();
    notice.sentence = "All 5 locations pass again.".into();
    for line in &mut notice.locations {
        line.vote = "up".into();
        line.class = None;
        line.saw = String::new();
    }
    notice
}

/// One instance of a fleet fails, another restarted.
pub(super) fn fleet_alert() -> Notice {
    let mut notice = outage();
    let uid = Uuid::from_u128(0x3);
    let line = |kind: &str, title: &str, sentence: &str, severity| FleetLine {
        subject: format!("fleet:{uid}:{kind}"),
        title: title.into(),
        severity,
        sentence: sentence.into(),
        open: true,
    };
    notice.monitor = None;
    notice.severity = Severity::Partial;
    notice.incident.subject = format!("fleet:{uid}:errors:10.9.0.11:80");
    notice.sentence =
        "10.9.0.11 failed 41 of 212 requests (19 %); its 7 peers failed 0.6 %.".into();
    notice.fleet = Some(FleetFacts {
        uid,
        name: "shop".into(),
        findings: vec![
            line(
                "errors:10.9.0.11:80",
                "10.9.0.11:80 fails more than its peers",
                &notice.sentence,
                Severity::Partial,
            ),
            line(
                "restart:10.9.0.12:80",
                "10.9.0.12:80 keeps restarting",
                "10.9.0.12 restarted 3 times.",
                Severity::Degraded,
            ),
        ],
    });
    notice.locations = Vec::new();
    notice.scope = None;
    (notice.eligible, notice.needed, notice.down) = (0, 0, 0);
    notice
}

/// An SLO whose rule that pages fires.
pub(super) fn slo_alert() -> Notice {
    let mut notice = fleet_alert();
    let uid = Uuid::from_u128(0x4);
    notice.fleet = None;
    notice.severity = Severity::Down;
    notice.incident.subject = format!("slo:{uid}:fast");
    notice.sentence =
        "Over the last 1\u{a0}h the error budget burnt 33.3 times as fast as evenly.".into();
    notice.slo = Some(SloFacts {
        uid,
        name: "shop availability".into(),
        service: "shop".into(),
        owner: "Ada".into(),
        labels: std::iter::once(("tier".to_owned(), "1".to_owned())).collect(),
        alert: "fast".into(),
        title: "burns its error budget too fast".into(),
    });
    notice
}

/// No channel takes anything.
pub(super) fn platform_alert() -> Notice {
    let trouble = Trouble::undelivered(2, &["mail".to_owned()], Fallback::Told);
    let mut notice = slo_alert();
    notice.slo = None;
    notice.incident.subject = trouble.subject();
    notice.sentence = trouble.sentence;
    notice.platform = Some(PlatformFacts {
        cause: trouble.cause.word().to_owned(),
        title: trouble.title,
        over: trouble.over,
    });
    notice
}

/// A certificate that ends in a week.
pub(super) fn certificate_alert() -> Notice {
    let mut notice = outage();
    let not_after = notice.decided_at + jiff::SignedDuration::from_hours(7 * 24 + 1);
    notice.severity = Severity::Degraded;
    notice.incident.subject = format!("certificate:{}:{}", Uuid::from_u128(0x1), "ab".repeat(8));
    notice.sentence = "The certificate ends in 7 days.".into();
    notice.locations = Vec::new();
    notice.scope = None;
    (notice.eligible, notice.needed, notice.down) = (0, 0, 0);
    notice.certificate = Some(CertificateFacts {
        title: "shows a certificate that ends in 7 days".into(),
        over: None,
        fingerprint: "ab".repeat(32),
        names: vec!["shop.example".into()],
        issuer: "Example CA".into(),
        not_after,
        days_left: 7,
    });
    notice
}

/// Of 25 monitors that went down together, 23 are still down; 20 are listed.
pub(super) fn group_update() -> Notice {
    let mut notice = outage();
    notice.kind = NoticeKind::GroupUpdate;
    let monitors = (1..=20).map(|n: u128| StormLine {
        monitor: Uuid::from_u128(n),
        name: format!("m{n}"),
        severity: Severity::Down,
        started_at: notice.incident.started_at,
        open: true,
    });
    notice.storm = Some(StormFacts {
        shared: "the domain shop.example".into(),
        total: 25,
        open: 23,
        monitors: monitors.collect(),
    });
    notice
}

fn line(
    name: &str,
    region: &str,
    vote: &str,
    class: Option<&str>,
    saw: &str,
    address: Option<&str>,
    uncounted: Option<&str>,
) -> LocationLine {
    LocationLine {
        name: name.into(),
        region: region.into(),
        domain: format!("{region}-host"),
        vote: vote.into(),
        class: class.map(Into::into),
        saw: saw.into(),
        address: address.map(Into::into),
        simulated: name == "iad",
        uncounted: uncounted.map(Into::into),
    }
}
