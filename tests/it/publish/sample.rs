//! A month as a customer gets it: three outages, a gap, maintenance, six locations, a change of clocks.

use quorate::domain::Millis;
use quorate::domain::availability::Stretch;
use quorate::domain::decision::State;
use quorate::domain::slo::burn::default_rules;
use quorate::domain::slo::definition::{
    Definition, MaintenancePolicy, RuleSeverity, Share, Sli, Target, UnknownPolicy,
};
use quorate::domain::slo::evaluate::{Decided, Identity, Inputs, Truth, evaluate};
use quorate::domain::slo::evidence::{Batch, Plan, Timing};
use quorate::domain::slo::maintenance::{Kind, Occurrence};
use quorate::domain::slo::outage;
use quorate::domain::slo::window::{Unit, Window, zone};
use quorate::publish::document::{
    Change, ChangeKind, Context, Document, FiredAlert, Gap, Incident, LatencySlo, Maintenance,
    Method, Month,
};

use crate::support::dice::Dice;

const LOCATIONS: [&str; 6] = ["fra", "ams", "iad", "sjc", "sin", "syd"];

pub(super) fn at(text: &str) -> Millis {
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

/// From, to, state.
const TIMELINE: [(&str, &str, State); 12] = [
    ("2026-09-20T00:00:00Z", "2026-10-06T12:21:08Z", State::Up),
    ("2026-10-06T12:21:08Z", "2026-10-06T12:33:58Z", State::Down),
    ("2026-10-06T12:33:58Z", "2026-10-08T20:40:00Z", State::Up),
    ("2026-10-08T20:40:00Z", "2026-10-08T21:18:00Z", State::Down),
    ("2026-10-08T21:18:00Z", "2026-10-14T00:33:19Z", State::Up),
    ("2026-10-14T00:33:19Z", "2026-10-14T00:41:01Z", State::Down),
    ("2026-10-14T00:41:01Z", "2026-10-21T13:08:40Z", State::Degraded),
    ("2026-10-21T13:08:40Z", "2026-10-21T13:09:45Z", State::Down),
    ("2026-10-21T13:09:45Z", "2026-10-24T23:12:00Z", State::Up),
    ("2026-10-24T23:12:00Z", "2026-10-24T23:21:00Z", State::Unknown),
    ("2026-10-24T23:21:00Z", "2026-10-28T10:00:00Z", State::Up),
    ("2026-10-28T10:00:00Z", "2026-11-02T00:00:00Z", State::Up),
];

pub(super) fn definition() -> Definition {
    let zone_name = "Europe/Berlin";
    Definition {
        target: Target::new(999_000_000).unwrap(),
        sli: Sli::Availability,
        window: Window::Calendar {
            unit: Unit::Month,
            zone: zone(zone_name).unwrap(),
            anchor: None,
        },
        timezone: zone_name.to_owned(),
        unknown_policy: UnknownPolicy::Exclude,
        maintenance_policy: MaintenancePolicy::Exclude,
        partial_weight_ppm: 0,
        coverage_min: Share::percent(90),
        rules: default_rules(30 * 86_400_000),
        decimals: 3,
        resolution: None,
    }
}

pub(super) fn inputs() -> Inputs {
    let stretches = TIMELINE.iter().map(|(from, to, state)| Stretch {
        from: at(from),
        to: Some(at(to)),
        state: *state,
        evidence_stale: false,
    });
    let end = at("2026-10-31T23:00:00Z");
    Inputs {
        as_of: end,
        watermark: end,
        created_at: None,
        deleted_at: None,
        truth: Truth::Decided(Decided { stretches: stretches.collect(), ..Decided::default() }),
        maintenance: vec![Occurrence {
            id: "m-1".into(),
            start: at("2026-10-08T20:00:00Z"),
            end: at("2026-10-08T22:00:00Z"),
            kind: Kind::Planned,
            excludes: true,
            declared_at: Some(at("2026-10-05T09:20:00Z")),
            reason: "move to the new database host".into(),
            locations: None,
        }],
        locations: LOCATIONS.map(str::to_owned).to_vec(),
        batches: results(at("2026-09-30T22:00:00Z"), end),
        plans: vec![Plan {
            from: Millis::MIN,
            to: Millis::MAX,
            interval: 900_000,
            locations: (0..6).collect(),
        }],
        minutes: Vec::new(),
        summed: false,
        incidents: incidents(),
        standings: Default::default(),
        identity: Identity {
            id: Some("checkout-availability".into()),
            name: Some("checkout".into()),
            service: Some("shop".into()),
            definition_revision: Some(4),
            data_revision: Some(17),
            report_revision: Some(1),
            engine_version: "0.1.0".into(),
        },
    }
}

/// A result of each location every quarter of an hour, failing while it is down.
fn results(from: Millis, to: Millis) -> Vec<Batch> {
    let mut dice = Dice::new(7);
    let down = |at: Millis| {
        let spans = TIMELINE.iter().filter(|(.., state)| *state == State::Down);
        let mut spans = spans.map(|(a, b, _)| (self::at(a), self::at(b)));
        spans.any(|(a, b)| a <= at && at < b)
    };
    let mut out = Vec::new();
    let mut at = from;
    while at < to {
        let fails = down(at);
        for location in 0..6_u16 {
            let us = 38_000 + u32::from(location) * 31_000 + dice.below(40_000) as u32;
            let timing = if fails { Timing::None } else { Timing::One(us) };
            let (ok, fail) = (u64::from(!fails), u64::from(fails));
            out.push(Batch { at, to: at + 1, location, ok, fail, timing, ..Batch::default() });
        }
        at += 900_000;
    }
    out
}

/// Id, start, decided, end, acknowledged.
const INCIDENTS: [(&str, &str, &str, &str, Option<&str>); 3] = [
    (
        "i-1",
        "2026-10-06T12:21:08Z",
        "2026-10-06T12:21:15Z",
        "2026-10-06T12:33:58Z",
        Some("2026-10-06T12:23:19Z"),
    ),
    (
        "i-2",
        "2026-10-14T00:33:19Z",
        "2026-10-14T00:33:28Z",
        "2026-10-14T00:41:01Z",
        Some("2026-10-14T00:34:38Z"),
    ),
    ("i-3", "2026-10-21T13:08:40Z", "2026-10-21T13:09:11Z", "2026-10-21T13:09:45Z", None),
];

fn incidents() -> Vec<outage::Incident> {
    let of = |(id, start, opened, end, acked): &(&str, &str, &str, &str, Option<&str>)| {
        outage::Incident {
            id: (*id).into(),
            started_at: at(start),
            ended_at: Some(at(end)),
            opened_at: at(opened),
            acked_at: acked.map(at),
        }
    };
    INCIDENTS.iter().map(of).collect()
}

/// The document as the store would fill it.
pub(super) fn document() -> Document {
    let report = evaluate(&definition(), &inputs()).unwrap();
    Document { report, context: context() }
}

fn context() -> Context {
    let told = [
        ("HTTP 502", "HTTP 502 Bad Gateway from 203.0.113.10", 6, Some("pk")),
        ("connection refused", "connection refused by 203.0.113.10:443", 5, Some("lm")),
        ("no first byte in 10 s", "no first byte within 10 s", 4, None),
    ];
    let incidents =
        INCIDENTS.iter().zip(told).map(|((id, start, opened, end, acked), told)| Incident {
            id: (*id).into(),
            monitor: Some("checkout".into()),
            started_at: at(start),
            confirmed_at: Some(at(opened)),
            ended_at: Some(at(end)),
            cause: Some(told.0.into()),
            locations_failed: LOCATIONS[..told.2].iter().map(|name| (*name).to_owned()).collect(),
            locations_counted: Some(6),
            first_error: Some(told.1.into()),
            acked_at: acked.map(at),
            acked_by: told.3.map(str::to_owned),
        });
    Context {
        customer: Some("Shop Example GmbH".into()),
        subject: Some("checkout".into()),
        members: Vec::new(),
        generated_at: Some(at("2026-11-02T23:10:00Z")),
        frozen_at: Some(at("2026-11-03T23:00:00Z")),
        method: method(),
        incidents: incidents.collect(),
        maintenance: vec![Maintenance {
            id: "m-1".into(),
            start: at("2026-10-08T20:00:00Z"),
            declared_at: Some(at("2026-10-05T09:20:00Z")),
            declared_by: Some("pk".into()),
            scope: "checkout, every location".into(),
            down_ms: Some(38 * 60_000),
        }],
        months: months(),
        alerts: Some(alerts()),
        latency_slos: vec![LatencySlo {
            name: "checkout-fast".into(),
            threshold_ms: 300.0,
            pct: Some("97.402".into()),
            target_pct: "95".into(),
            met: Some(true),
        }],
        gaps: Some(vec![Gap {
            from: at("2026-10-24T23:12:00Z"),
            to: Some(at("2026-10-24T23:21:00Z")),
            reason: "3 of 6 locations reported, 4 must: fra, sin and syd were silent".into(),
        }]),
        changes: Some(vec![Change {
            at: at("2026-10-12T08:02:00Z"),
            kind: ChangeKind::Reconfigured,
            subject: "checkout".into(),
            what: "condition on $.status added, version 7 → 8".into(),
            by: Some("lm".into()),
        }]),
        command: Some("quorate slo eval checkout-2026-10.json".into()),
    }
}

fn method() -> Method {
    Method {
        check: Some("HTTP GET of https://shop.example/health, which must answer 2xx".into()),
        called: None,
        interval_s: Some(60.0),
        timeout_s: Some(10.0),
        locations: LOCATIONS.map(str::to_owned).to_vec(),
        regions: Some(3),
        networks: Some(4),
        quorum: Some("a majority of the locations that count, on at least 2 networks".into()),
        min_evidence: Some(4),
        fail_after: Some(2),
        pass_after: Some(2),
        rules: Some("q1".into()),
    }
}

fn months() -> Vec<Month> {
    let figures = [
        ("2025-11-01", "99.987"),
        ("2025-12-01", "100.000"),
        ("2026-01-01", "99.981"),
        ("2026-02-01", "99.992"),
        ("2026-03-01", "99.899"),
        ("2026-04-01", "99.964"),
        ("2026-05-01", ""),
        ("2026-06-01", "99.971"),
        ("2026-07-01", "99.958"),
        ("2026-08-01", "99.930"),
        ("2026-09-01", "99.995"),
        ("2026-10-01", "99.951"),
    ];
    let of = |(day, pct): (&str, &str)| Month {
        first_day: day.into(),
        pct: (!pct.is_empty()).then(|| pct.to_owned()),
        met: (!pct.is_empty()).then(|| pct.parse::<f64>().unwrap() >= 99.9),
    };
    figures.map(of).to_vec()
}

fn alerts() -> Vec<FiredAlert> {
    let all = [
        (
            "fast",
            "1h",
            "5m",
            14.4,
            (213.0, 1_000.0),
            "2026-10-06T12:22:00Z",
            "2026-10-06T12:38:54Z",
        ),
        ("mid", "6h", "30m", 6.0, (35.6, 427.0), "2026-10-06T12:23:18Z", "2026-10-06T13:03:48Z"),
        (
            "fast",
            "1h",
            "5m",
            14.4,
            (128.0, 1_000.0),
            "2026-10-14T00:34:11Z",
            "2026-10-14T00:45:57Z",
        ),
        ("mid", "6h", "30m", 6.0, (21.3, 256.0), "2026-10-14T00:35:29Z", "2026-10-14T01:10:51Z"),
        ("fast", "1h", "5m", 14.4, (18.0, 216.0), "2026-10-21T13:09:32Z", "2026-10-21T13:14:41Z"),
    ];
    let of = |(rule, long, short, factor, worst, from, to): (
        &str,
        &str,
        &str,
        f64,
        (f64, f64),
        &str,
        &str,
    )| FiredAlert {
        rule: rule.into(),
        severity: RuleSeverity::Page,
        long: long.into(),
        short: short.into(),
        factor: Some(factor),
        worst_long: Some(worst.0),
        worst_short: Some(worst.1),
        from: at(from),
        to: Some(at(to)),
        did: Some("page, with the incident".into()),
    };
    all.into_iter().map(of).collect()
}
