//! The five tables, read back by a reader that knows nothing of how they were written.

use std::collections::BTreeMap;

use quorate::publish::csv::{Part, table};
use quorate::publish::document::Document;

use super::sample;

/// Rows by head. Every line ends as the format wants it.
fn rows(document: &Document, part: Part) -> Vec<BTreeMap<String, String>> {
    let text = table(document, part);
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "CRLF everywhere");
    assert!(text.ends_with("\r\n"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize::<BTreeMap<String, String>>();
    rows.map(|row| row.unwrap()).collect()
}

fn heads(document: &Document, part: Part) -> String {
    table(document, part).lines().next().unwrap().to_owned()
}

#[test]
fn every_table_has_the_heads_that_its_readers_rely_on() {
    let document = sample::document();
    let expected = [
        (
            Part::Summary,
            "report_revision,slo_id,slo_name,service,window_start_utc,window_end_utc,timezone,window_seconds,target_pct,availability_pct,availability_raw_pct,availability_best_pct,availability_worst_pct,met,state,measured_s,down_s,partial_s,unknown_s,excluded_s,paused_s,not_monitored_s,coverage_pct,budget_s,budget_consumed_pct,budget_remaining_s,incidents,incidents_open,longest_outage_s,mttr_s,mtbf_s,mtta_s,latency_mean_ms,latency_p50_ms,latency_p95_ms,latency_p99_ms",
        ),
        (
            Part::Incidents,
            "incident_id,slo_id,monitor,started_utc,confirmed_utc,ended_utc,ongoing,duration_full_s,downtime_in_window_s,excluded_s,unknown_s,cause,locations_failed,first_error,acked_utc,acked_by",
        ),
        (
            Part::Days,
            "slo_id,date,length_s,availability_pct,down_s,partial_s,unknown_s,excluded_s,incidents,latency_p95_ms",
        ),
        (
            Part::Locations,
            "slo_id,location,events_good,events_total,ratio_pct,down_s,unknown_s,coverage_pct,p50_ms,p95_ms,p99_ms",
        ),
        (Part::Maintenance, "id,kind,declared_utc,start_utc,end_utc,excluded_s,scope,reason"),
    ];
    for (part, line) in expected {
        assert_eq!(heads(&document, part), line, "{}", part.name());
        assert_eq!(Part::parse(part.name()), Some(part));
    }
    assert_eq!(Part::parse("everything"), None);
}

#[test]
fn the_summary_says_what_the_report_says() {
    let document = sample::document();
    let rows = rows(&document, Part::Summary);
    assert_eq!(rows.len(), 1);
    let expected = [
        ("report_revision", "1"),
        ("slo_id", "checkout-availability"),
        ("window_start_utc", "2026-09-30T22:00:00.000Z"),
        ("timezone", "Europe/Berlin"),
        ("window_seconds", "2682000"),
        ("target_pct", "99.9"),
        // 745 h less 2 h of maintenance and 9 min unknown; 12:50, 7:42 and 1:05 down.
        ("measured_s", "2674260"),
        ("down_s", "1297"),
        ("availability_pct", "99.951"),
        ("availability_worst_pct", "99.931"),
        ("availability_best_pct", "99.951"),
        ("availability_raw_pct", "99.866"),
        ("met", "true"),
        ("state", "ok"),
        ("unknown_s", "540"),
        ("excluded_s", "7200"),
        ("coverage_pct", "99.979"),
        ("budget_s", "2674.26"),
        ("budget_consumed_pct", "48.4993980"),
        ("budget_remaining_s", "1377.26"),
        ("incidents", "3"),
        ("incidents_open", "0"),
        ("longest_outage_s", "770"),
        ("mttr_s", "432.333"),
    ];
    for (head, value) in expected {
        assert_eq!(rows[0][head], value, "{head}");
    }
}

#[test]
fn incidents_days_locations_and_maintenance_add_up_to_the_summary() {
    let document = sample::document();
    let sum = |part: Part, head: &str| -> f64 {
        rows(&document, part).iter().map(|row| row[head].parse::<f64>().unwrap()).sum()
    };
    assert_eq!(sum(Part::Incidents, "downtime_in_window_s"), 1_297.0);
    assert_eq!(sum(Part::Days, "down_s"), 1_297.0);
    assert_eq!(sum(Part::Days, "length_s"), 2_682_000.0);
    assert_eq!(sum(Part::Days, "incidents"), 3.0);
    assert_eq!(sum(Part::Maintenance, "excluded_s"), 7_200.0);
    assert_eq!(sum(Part::Locations, "events_total"), document.report.events.total as f64);
    let days = rows(&document, Part::Days);
    assert_eq!(days.len(), 31);
    assert_eq!(days[24]["length_s"], "90000", "the 25th had 25 hours");
    let incidents = rows(&document, Part::Incidents);
    assert_eq!(incidents[0]["confirmed_utc"], "2026-10-06T12:21:15.000Z");
    assert_eq!(incidents[1]["locations_failed"], "fra ams iad sjc sin");
    assert_eq!((incidents[2]["acked_utc"].as_str(), incidents[0]["acked_by"].as_str()), ("", "pk"));
    let locations = rows(&document, Part::Locations);
    assert_eq!(locations[0]["coverage_pct"], "100.000");
    assert_eq!(locations[0]["down_s"], "", "not known is no nought");
    assert_eq!(rows(&document, Part::Maintenance)[0]["declared_utc"], "2026-10-05T09:20:00.000Z");
}

#[test]
fn free_text_is_quoted_and_no_spreadsheet_takes_it_for_a_formula() {
    let mut document = sample::document();
    let texts =
        ["=HYPERLINK(\"http://evil\")", "+1", "-1", "@SUM(A1)", "\t=1", "a,\"b\"\r\nc", "x=1"];
    for text in texts {
        document.report.slo.name = Some(text.to_owned());
        document.context.incidents[0].first_error = Some(text.to_owned());
        document.report.maintenance[0].reason = text.to_owned();
        let guarded = match text.starts_with(['=', '+', '-', '@', '\t']) {
            true => format!("'{text}"),
            false => text.to_owned(),
        };
        let read = |part, head: &str| {
            let text = table(&document, part);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let row = reader.deserialize::<BTreeMap<String, String>>().next().unwrap().unwrap();
            row[head].clone()
        };
        assert_eq!(read(Part::Summary, "slo_name"), guarded);
        assert_eq!(read(Part::Incidents, "first_error"), guarded);
        assert_eq!(read(Part::Maintenance, "reason"), guarded);
    }
    // A figure below nothing is a number, and stays one.
    document.report.budget.remaining_ms = Some(-1_200);
    assert_eq!(rows(&document, Part::Summary)[0]["budget_remaining_s"], "-1.2");
}

#[test]
fn what_is_not_known_is_empty() {
    let mut inputs = sample::inputs();
    inputs.watermark = sample::at("2026-09-01T00:00:00Z");
    let report = quorate::domain::slo::evaluate::evaluate(
        &quorate::domain::slo::definition::Definition {
            window: quorate::domain::slo::window::Window::Fixed {
                from: sample::at("2026-09-30T22:00:00Z"),
                to: sample::at("2026-10-31T23:00:00Z"),
            },
            ..sample::definition()
        },
        &inputs,
    )
    .unwrap();
    let document = Document { report, context: Default::default() };
    let row = &rows(&document, Part::Summary)[0];
    for head in [
        "availability_pct",
        "availability_raw_pct",
        "met",
        "coverage_pct",
        "mttr_s",
        "latency_p50_ms",
    ] {
        assert_eq!(row[head], "", "{head}");
    }
    assert_eq!(row["state"], "no_data");
}
