//! The report on one SLO as a page: one file with everything in it, light and dark on a screen, two sheets
//! of A4 for a usual month (spec: slo 7). Everything that somebody typed is escaped; nothing is loaded
//! from anywhere, and nothing in it runs.

mod budget;
mod chart;
pub(super) mod glyph;
mod lists;
mod method;
mod verdict;

use std::fmt::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::Document;
use super::wording::{Zone, period};

const STYLE: &str = include_str!("style.css");

/// What is passed to every part of the page.
struct View<'a> {
    document: &'a Document,
    zone: Zone,
    period: String,
}

/// The whole page.
pub fn page(document: &Document) -> String {
    let zone = Zone::of(&document.report);
    let period = period(&document.report, &zone);
    let view = View { document, zone, period };
    let title = format!("{}, {}", document.name(), view.period);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="referrer" content="no-referrer";
                meta name="generator" content={ "Quorate " (document.report.engine_version) };
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(sheets(&view))) }
            }
            body {
                (glyph::definitions())
                main { (parts(&view)) }
            }
        }
    };
    page.into_string()
}

/// The parts in the order of the report, each with its number.
fn parts(view: &View) -> Markup {
    html! {
        (verdict::title(view))
        (verdict::verdict(view))
        (verdict::classes(view))
        (chart::days(view))
        (budget::budget(view))
        (lists::outages(view))
        (lists::maintenance(view))
        (lists::locations(view))
        (lists::latency(view))
        (lists::alerts(view))
        (chart::months(view))
        (lists::quality(view))
        (method::method(view))
        (method::proof(view))
    }
}

/// Head and foot of the sheets, which only paper has.
fn sheets(view: &View) -> String {
    let report = &view.document.report;
    let revision = match report.report_revision {
        Some(revision) => format!("revision {revision}"),
        None => "not frozen".to_owned(),
    };
    let left = format!("{} · {} · {revision}", view.document.name(), view.period);
    let hash = format!("sha256 {}…", report.sha256.get(..16).unwrap_or(&report.sha256));
    let font = "font:10px/14px Arial,\"Liberation Sans\",sans-serif;color:#5F6872";
    format!(
        "@page{{size:A4;margin:12mm 16mm 15mm;\
         @bottom-left{{content:{};{font};width:46%}}\
         @bottom-center{{content:{};{font};width:34%}}\
         @bottom-right{{content:\"page \" counter(page) \" of \" counter(pages);{font};width:20%}}}}",
        css_string(&shortened(&left)),
        css_string(&hash),
    )
}

/// One line of a foot.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 70;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// A string of a style sheet. Everything but letters, digits and spaces is written by its number, so that
/// nothing can end the string or the sheet.
fn css_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            ' ' => out.push(c),
            c if c.is_ascii_alphanumeric() => out.push(c),
            c => {
                let _ = write!(out, "\\{:x} ", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// A part with its heading and, in grey, what is to be known about it.
fn section(heading: &str, remark: &str, content: &Markup) -> Markup {
    html! {
        section {
            h2 { (heading) @if !remark.is_empty() { small { (remark) } } }
            (content)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_string_of_the_style_sheet() {
        let hostile = "a\"}</style><script>é\\\n";
        let text = css_string(hostile);
        assert!(text.starts_with('"') && text.ends_with('"'));
        let inner = &text[1..text.len() - 1];
        assert!(
            inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '\\' || c == ' '),
            "{inner}"
        );
        assert!(inner.starts_with("a\\22 \\7d \\3c \\2f style"));
        assert_eq!(shortened(&"ü".repeat(100)).chars().count(), 70);
    }
}
