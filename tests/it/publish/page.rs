//! The page: what it says, that nothing in it is taken for markup, and how it prints.

use std::process::Command;

use quorate::domain::slo::{budget::State, context::MemberName, report::Member};
use quorate::publish::document::{Context, Document};
use quorate::publish::html::page;

use super::sample;
use crate::support::scratch::Scratch;

/// Text between tags, with one space for any white space.
fn words(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let mut text = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => {
                inside = true;
                text.push(' ');
            }
            '>' => inside = false,
            c if !inside => text.push(if c == '\u{a0}' { ' ' } else { c }),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn members_are_told_by_their_names() {
    let mut document = sample::document();
    let member = |id: &str, ratio| Member { id: id.to_owned(), ratio: Some(ratio) };
    document.report.members = Some(vec![member("m-1", 0.99951), member("m-2", 0.9)]);
    document.context.members = vec![MemberName { id: "m-1".into(), name: "till <b>".into() }];
    document.report.slo.service = Some(String::new());
    let text = words(&page(&document));
    assert!(text.contains("till &lt;b&gt; 99.951 %"), "{text}");
    assert!(text.contains("m-2 90.000 %"), "one of which no name is known: {text}");
    assert!(!text.contains("Service"), "none is named: {text}");
}

#[test]
fn a_month_says_what_a_reader_needs() {
    let text = words(&page(&sample::document()));
    let wanted = [
        "Availability report for Shop Example GmbH",
        "checkout, October 2026",
        "Europe/Berlin, 745 h (clocks went back on Sun 25 Oct) 2026-09-30T22:00:00Z – 2026-10-31T23:00:00Z",
        "Revision 1, final, made Tue 3 Nov 2026 00:10 CET",
        "Target 99.9 % Met: 99.951 %",
        "Down 0:21:37 3 incidents",
        "Budget left 22 min 57 s 48.499 % of 44 min 34.26 s used",
        "99.931–99.951",
        "Unknown 0:09:00 0.020 % left out",
        "Maintenance 2:00:00 0.268 % left out; 0:38:00 of it down",
        "With maintenance counted like any other time: 99.866 %",
        "Tue 6 Oct 14:21:08 – 14:33:58 2026-10-06T12:21:08Z – 12:33:58Z",
        "5 of 6 fra, ams, iad, sjc, sin",
        "mean between failures (MTBF) 10 d 7 h 29 min",
        "none: nothing was left out after the fact",
        "checkout-fast",
        "condition on $.status added, version 7 → 8, by lm",
        "Interval unchanged. Not paused.",
        "every 60 s from 6 locations (fra, ams, iad, sjc, sin, syd; in 3 regions and 4 networks)",
        "insufficient data is not a pass",
        "0.1 % of the time that counts may be bad",
        "quorate slo eval checkout-2026-10.json",
    ];
    for phrase in wanted {
        assert!(text.contains(phrase), "{phrase}\n{text}");
    }
    assert!(text.contains(&format!("sha256 {}", sample::document().report.sha256)));
}

#[test]
fn what_people_typed_is_text_and_nothing_else() {
    let mut document = sample::document();
    let hostile = "\"'><script>alert(1)</script></style>{}&";
    let context = &mut document.context;
    context.customer = Some(hostile.into());
    context.subject = Some(hostile.into());
    context.command = Some(hostile.into());
    context.method.check = Some(hostile.into());
    context.method.quorum = Some(hostile.into());
    context.incidents[0].cause = Some(hostile.into());
    context.incidents[0].locations_failed = vec![hostile.into()];
    context.incidents[0].first_error = Some(hostile.repeat(5));
    context.maintenance[0].scope = hostile.into();
    context.months[0].first_day = hostile.into();
    context.months[0].pct = Some(hostile.into());
    context.alerts.as_mut().unwrap()[0].rule = hostile.into();
    context.gaps.as_mut().unwrap()[0].reason = hostile.into();
    context.changes.as_mut().unwrap()[0].what = hostile.into();
    document.report.slo.name = Some(hostile.into());
    document.report.slo.service = Some(hostile.into());
    document.report.maintenance[0].reason = hostile.into();
    document.report.locations[0].id = hostile.into();
    document.report.days[0].date = hostile.into();
    document.report.slo.window.timezone = hostile.into();
    document.report.engine_version = hostile.into();
    let page = page(&document);
    assert!(!page.contains("<script"), "no script");
    assert_eq!(page.matches("</style>").count(), 1, "the style sheet ends where it ends");
    for outside in ["src=", "url(http", "<link", "@import", "<iframe", " on"] {
        let tags = page.split('<').filter_map(|part| part.split_once('>')).map(|(tag, _)| tag);
        assert!(!tags.into_iter().any(|tag| tag.contains(outside)), "{outside}");
    }
}

#[test]
fn too_little_data_is_never_a_pass() {
    let mut document = sample::document();
    document.report.state = State::NoData;
    document.report.coverage.ok = false;
    let text = words(&page(&document));
    assert!(text.contains("Target 99.9 % Insufficient data 99.979 % was seen"), "{text}");
    assert!(!text.contains("Met: "), "{text}");
}

#[test]
fn a_report_alone_makes_a_shorter_page() {
    let report = sample::document().report;
    let text = words(&page(&Document { report, context: Context::default() }));
    assert!(text.contains("Met: 99.951 %"));
    for absent in ["Burn alerts that fired", "The periods before", "What the data lacks"] {
        assert!(!text.contains(absent), "what is not known is not claimed: {absent}");
    }
}

/// The real browser, headless, as somebody prints.
#[test]
fn a_usual_month_prints_on_two_sheets() {
    let scratch = Scratch::new("print");
    let html = scratch.path().join("report.html");
    let pdf = scratch.path().join("report.pdf");
    std::fs::write(&html, page(&sample::document())).unwrap();
    let browser = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", scratch.path().join("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", html.display()))
        .output();
    let output = output.expect("chromium is installed (scripts/setup test)");
    let bytes = std::fs::read(&pdf);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let bytes = bytes.unwrap_or_else(|error| panic!("no PDF, {error}: {said}"));
    assert!(bytes.starts_with(b"%PDF"));
    let text = String::from_utf8_lossy(&bytes);
    // Each sheet is an object of this type; their list has another.
    let sheets = text.matches("/Type /Page\n").count() + text.matches("/Type /Page/").count();
    assert_eq!(sheets, 2, "sheets of A4");
    assert!(text.contains("/MediaBox [0 0 594") || text.contains("/MediaBox [0 0 595"), "A4");
}
