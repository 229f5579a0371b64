//! Badges, the summary that other readers know, feeds and calendars.

use quorate::domain::Millis;
use quorate::domain::slo::budget;
use quorate::publish::badge::{Badge, of_slo, of_state};
use quorate::publish::calendar::{AHEAD, Calendar, Event, ics};
use quorate::publish::feed::{Entry, Feed, atom, rss};
use quorate::publish::summary::{
    Component, Group, Impact, Incident, IncidentStatus, Maintenance, MaintenanceStatus, Page,
    State, Update, summary,
};
use serde_json::{Value, json};

use super::sample;

fn badge_of(change: impl Fn(&mut quorate::domain::slo::report::Report)) -> Badge {
    let mut report = sample::document().report;
    change(&mut report);
    of_slo(&report)
}

#[test]
fn badges_hold_what_shields_knows_and_nothing_else() {
    let badge = serde_json::to_value(badge_of(|_| ())).unwrap();
    assert_eq!(
        badge,
        json!({"schemaVersion": 1, "label": "uptime this month", "message": "99.951%", "color": "brightgreen", "cacheSeconds": 300})
    );
    let known = [
        "schemaVersion",
        "label",
        "message",
        "color",
        "labelColor",
        "isError",
        "namedLogo",
        "logoSvg",
        "logoColor",
        "style",
        "cacheSeconds",
    ];
    let no_data =
        serde_json::to_value(badge_of(|report| report.state = budget::State::NoData)).unwrap();
    assert!(no_data.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
    assert_eq!(
        (&no_data["message"], &no_data["color"], &no_data["isError"]),
        (&json!("no data"), &json!("lightgrey"), &json!(true))
    );
    // Whatever else it says, a report without a figure is no pass.
    let nothing = badge_of(|report| report.availability.pct = None);
    assert!(nothing.is_error && nothing.message == "no data");
}

#[test]
fn the_colour_of_a_badge_is_that_of_its_state() {
    let colour = |state| badge_of(|report| report.state = state).color;
    assert_eq!(colour(budget::State::AtRisk), "yellow");
    assert_eq!(colour(budget::State::Exhausted), "yellow");
    assert_eq!(colour(budget::State::Burning), "orange");
    assert_eq!(colour(budget::State::Breached), "red");
    let close = badge_of(|report| report.budget.consumed_ratio = Some(0.8));
    assert_eq!(close.color, "green", "met, and not by far");
    let below = badge_of(|report| report.availability.met = Some(false));
    assert_eq!(below.color, "yellow");
    assert_eq!(of_state("shop", State::Down).message, "down");
    assert!(of_state("shop", State::Unknown).is_error);
}

const START: &str = "2026-10-06T12:21:08Z";

fn component(id: &str, state: State, last_known: State) -> Component {
    Component {
        id: id.into(),
        name: id.to_uppercase(),
        description: None,
        group: None,
        state,
        last_known,
        created_at: 0,
        updated_at: sample::at(START),
        only_show_if_degraded: false,
    }
}

fn status_page(components: Vec<Component>) -> Page {
    let update = |status: &str| Update {
        id: "u".into(),
        status: status.into(),
        body: "We look into it.".into(),
        at: sample::at(START),
    };
    Page {
        id: "p1".into(),
        name: "Shop".into(),
        url: "https://status.shop.example".into(),
        time_zone: "Europe/Berlin".into(),
        updated_at: sample::at(START),
        groups: vec![Group {
            id: "g".into(),
            name: "Sales".into(),
            description: None,
            created_at: 0,
        }],
        components,
        incidents: vec![Incident {
            id: "i1".into(),
            name: "Checkout fails".into(),
            status: IncidentStatus::Investigating,
            impact: Impact::Major,
            url: "https://status.shop.example/i1".into(),
            started_at: sample::at(START),
            created_at: sample::at(START),
            updated_at: sample::at(START),
            monitoring_at: None,
            resolved_at: None,
            updates: vec![update("investigating")],
            components: vec!["a".into()],
        }],
        maintenances: vec![Maintenance {
            id: "m1".into(),
            name: "New database host".into(),
            status: MaintenanceStatus::InProgress,
            url: "https://status.shop.example/m1".into(),
            from: sample::at(START),
            to: sample::at(START) + 7_200_000,
            created_at: 0,
            updated_at: 0,
            updates: vec![update("in_progress")],
            components: vec!["b".into()],
        }],
    }
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_summary_has_the_fields_that_readers_of_it_expect() {
    let page = status_page(vec![
        component("a", State::Down, State::Down),
        component("b", State::Maintenance, State::Up),
    ]);
    let summary = summary(&page);
    assert_eq!(
        keys(&summary),
        ["components", "incidents", "page", "scheduled_maintenances", "status"]
    );
    assert_eq!(keys(&summary["page"]), ["id", "name", "time_zone", "updated_at", "url"]);
    let component = [
        "created_at",
        "description",
        "group",
        "group_id",
        "id",
        "name",
        "only_show_if_degraded",
        "page_id",
        "position",
        "showcase",
        "start_date",
        "status",
        "updated_at",
    ];
    assert_eq!(keys(&summary["components"][1]), component);
    let incident = [
        "components",
        "created_at",
        "id",
        "impact",
        "incident_updates",
        "monitoring_at",
        "name",
        "page_id",
        "resolved_at",
        "shortlink",
        "started_at",
        "status",
        "updated_at",
    ];
    assert_eq!(keys(&summary["incidents"][0]), incident);
    assert_eq!(summary["incidents"][0]["components"][0]["id"], "a");
    let planned = &summary["scheduled_maintenances"][0];
    assert_eq!(
        (&planned["impact"], &planned["status"]),
        (&json!("maintenance"), &json!("in_progress"))
    );
    assert_eq!(planned["scheduled_until"], "2026-10-06T14:21:08.000Z");
    assert_eq!(summary["components"][0]["group"], true, "groups stand with the components");
}

#[test]
fn states_are_told_in_the_words_of_the_format() {
    let cases = [
        (State::Up, "operational", "none"),
        (State::Slow, "degraded_performance", "minor"),
        (State::Partial, "partial_outage", "minor"),
        (State::Down, "major_outage", "major"),
        (State::Maintenance, "under_maintenance", "maintenance"),
    ];
    for (state, status, indicator) in cases {
        let page =
            status_page(vec![component("a", state, state), component("b", State::Up, State::Up)]);
        let summary = summary(&page);
        assert_eq!(summary["components"][1]["status"], status);
        assert_eq!(summary["status"]["indicator"], indicator, "{state:?}");
    }
    let all = status_page(vec![component("a", State::Down, State::Down)]);
    assert_eq!(summary(&all)["status"]["indicator"], "critical");
    let mut grouped = status_page(vec![component("a", State::Partial, State::Up)]);
    grouped.components[0].group = Some("g".into());
    let group = &summary(&grouped)["components"][0];
    assert_eq!((&group["status"], &group["components"]), (&json!("partial_outage"), &json!(["a"])));
}

#[test]
fn unknown_is_told_as_what_was_known_last_with_a_note() {
    let mut silent = component("a", State::Unknown, State::Down);
    silent.description = Some("Pays".into());
    let never = component("b", State::Unknown, State::Unknown);
    let summary = summary(&status_page(vec![silent, never]));
    let components = summary["components"].as_array().unwrap();
    assert_eq!(components.len(), 2, "the group and a: of what was never measured nothing is said");
    assert_eq!(components[1]["status"], "major_outage");
    assert_eq!(components[1]["description"], "Pays (no recent measurements)");
    let silent = component("a", State::Unknown, State::Up);
    let told = quorate::publish::summary::summary(&status_page(vec![silent]));
    assert_eq!(told["components"][1]["description"], "no recent measurements");
}

fn feed() -> Feed {
    Feed {
        title: "Shop & Co <status>".into(),
        url: "https://status.shop.example/?a=1&b=2".into(),
        feed_url: "https://status.shop.example/feed.atom".into(),
        updated_at: sample::at(START),
        entries: vec![Entry {
            id: "tag:status.shop.example,2026:i1".into(),
            title: "]]> \"Checkout\" fails\u{0}\u{8}".into(),
            url: "https://status.shop.example/i1".into(),
            published_at: sample::at(START),
            updated_at: sample::at(START) + 60_000,
            text: "We look into it.\n<b>Soon</b>".into(),
        }],
    }
}

#[test]
fn feeds_escape_what_people_wrote_and_date_it_as_their_format_does() {
    let (rss, atom) = (rss(&feed()), atom(&feed()));
    for text in [&rss, &atom] {
        assert!(text.contains("Shop &amp; Co &lt;status&gt;"), "{text}");
        assert!(text.contains("&lt;b&gt;Soon&lt;/b&gt;"));
        assert!(!text.contains('\u{0}') && !text.contains('\u{8}'), "no XML has these");
        assert!(text.contains("https://status.shop.example/?a=1&amp;b=2"));
    }
    assert!(rss.contains("<pubDate>Tue, 06 Oct 2026 12:21:08 GMT</pubDate>"));
    assert!(rss.contains("<guid isPermaLink=\"false\">tag:status.shop.example,2026:i1</guid>"));
    assert!(atom.contains("<updated>2026-10-06T12:22:08Z</updated>"));
    assert!(atom.contains("<id>tag:status.shop.example,2026:i1</id>"));
}

/// Lines put together again, as a reader of calendars does it.
fn unfolded(text: &str) -> Vec<String> {
    assert!(text.ends_with("\r\n"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    for line in text.split("\r\n") {
        assert!(line.len() <= 75, "{} octets: {line}", line.len());
    }
    text.replace("\r\n ", "")
        .split("\r\n")
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn event(start: Millis) -> Event {
    Event {
        id: "m1".into(),
        start,
        end: start + 7_200_000,
        title: "Umzug; neuer Host, „größer“ und mit einem Titel, der länger ist als eine Zeile dieses Formates sein darf".into(),
        description: "Two\r\nlines \\ and a \u{7}bell".into(),
        url: Some("https://status.shop.example/m1".into()),
        sequence: 3,
        changed_at: start - 60_000,
        cancelled: false,
    }
}

#[test]
fn a_calendar_keeps_to_its_format() {
    let now = sample::at(START);
    let calendar = Calendar {
        name: "Shop, planned work".into(),
        host: "status.shop.example".into(),
        events: vec![
            event(now + 3_600_000),
            Event { cancelled: true, sequence: 4, ..event(now + 86_400_000) },
            event(now - 7_200_000),
            event(now + AHEAD),
        ],
    };
    let lines = unfolded(&ics(&calendar, now));
    let of = |name: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(name)).collect()
    };
    assert_eq!(
        (lines[0].as_str(), lines.last().unwrap().as_str()),
        ("BEGIN:VCALENDAR", "END:VCALENDAR")
    );
    assert_eq!(of("VERSION:"), ["2.0"]);
    assert_eq!(of("REFRESH-INTERVAL;VALUE=DURATION:"), ["PT1H"]);
    assert_eq!(
        of("UID:"),
        ["m1-20261006T132108Z@status.shop.example", "m1-20261007T122108Z@status.shop.example"],
        "neither what is over nor what is far"
    );
    assert_eq!(of("DTSTART:"), ["20261006T132108Z", "20261007T122108Z"]);
    assert_eq!(of("DTEND:")[0], "20261006T152108Z");
    assert_eq!(of("DTSTAMP:"), ["20261006T122108Z"; 2]);
    assert_eq!(of("LAST-MODIFIED:")[0], "20261006T132008Z");
    assert_eq!(of("SEQUENCE:"), ["3", "4"]);
    assert_eq!(of("STATUS:"), ["CONFIRMED", "CANCELLED"]);
    assert_eq!(of("CATEGORIES:"), ["MAINTENANCE"; 2]);
    assert!(
        of("SUMMARY:")[0].starts_with("Umzug\\; neuer Host\\, „größer“ und"),
        "{:?}",
        of("SUMMARY:")
    );
    assert_eq!(of("DESCRIPTION:")[0], "Two\\nlines \\\\ and a bell");
    // The same occurrence keeps its name whatever is changed about it.
    let later = ics(&calendar, now + 60_000);
    assert!(later.contains("UID:m1-20261006T132108Z@status.shop.example"));
}
