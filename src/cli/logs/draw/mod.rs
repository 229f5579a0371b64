//! The summary as a text: verdict first, then who stands where, how many were ready, what was found and
//! what to do.

mod ready;
mod table;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::words::{Times, kind_label};
use super::report::{PoolReport, Report, Standing};
use crate::cli::term::{Ink, Mark, Term, counted, pad, thousands, wrap_after};
use crate::domain::fleet::finding::{Finding, Gravity, Kind, Scope};
use crate::domain::fleet::timeline::Removal;

/// So many findings are told; the rest is in --json.
const MOST_FINDINGS: usize = 12;
/// Refused lines in a hundred from which one is shown.
const MANY_REJECTED: u64 = 1;
/// Failed attempts in a hundred from which it is said, though nobody is unlike the others.
const MANY_FAILED: u64 = 5;

/// The whole text. `now_us` is what today is told by.
pub(super) fn text(term: &Term, report: &Report, now_us: i64) -> String {
    let times = Times::new(term.zone(), report.span, now_us);
    let mut out = headline(term, report, &times);
    out.push_str("\n\n");
    out.push_str(&summary(term, report, &times));
    for pool in &report.pools {
        out.push('\n');
        if report.pools.len() > 1 {
            let name = if pool.name.is_empty() { "without a name" } else { &pool.name };
            out.push_str(&term.paint(Ink::Bold, &format!("pool {name}")));
            out.push('\n');
        }
        out.push_str(&table::draw(term, pool));
        out.push_str(&ready::draw(term, pool, report.span, &times));
    }
    out.push_str(&findings(term, report, &times));
    out.push_str(&notes(term, report));
    out.push_str(&what_next(term, report));
    term.text(&out)
}

/// The finding that the first line tells, with its pool.
fn first_finding(report: &Report) -> Option<(&PoolReport, &Finding)> {
    let worst = report.pools.iter().filter_map(|pool| {
        let worst = pool.findings.iter().find(|finding| is_bad(finding))?;
        Some((pool, worst))
    });
    worst.min_by_key(|(_, finding)| std::cmp::Reverse(finding.severity))
}

fn is_bad(finding: &Finding) -> bool {
    finding.severity > Gravity::Info && !finding.chronic
}

fn headline(term: &Term, report: &Report, times: &Times) -> String {
    let (mark, text) = verdict(report, times);
    let text = wrap_after(&format!("{} ", mark.symbol(term.ascii)), &text, term.width);
    let ink = if mark == Mark::Down { Ink::Down } else { mark.ink() };
    let lines = text.lines().map(|line| term.paint(ink, line));
    lines.collect::<Vec<_>>().join("\n")
}

fn verdict(report: &Report, times: &Times) -> (Mark, String) {
    if report.lines() == 0 {
        let names: Vec<&str> = report.files.iter().map(|file| file.name.as_str()).collect();
        return match names.as_slice() {
            [name] => (Mark::Unknown, format!("{name} is empty: nothing to judge.")),
            _ => (Mark::Unknown, "All files are empty: nothing to judge.".to_owned()),
        };
    }
    if let Some((_, finding)) = first_finding(report) {
        return (mark_of(finding), lead(finding, times));
    }
    let attempts: u64 = report.pools.iter().map(PoolReport::attempts).sum();
    if report.pools.is_empty() {
        return (
            Mark::Unknown,
            "No line names an instance: nobody was asked in any of these requests.".to_owned(),
        );
    }
    let instances: usize = report.pools.iter().map(|pool| pool.instances.len()).sum();
    let failed: u64 = report.pools.iter().flat_map(|p| &p.instances).map(|s| s.cell.errors()).sum();
    if instances == 1 && attempts > 0 {
        let name = &report.pools[0].instances[0].name;
        return (
            Mark::Unknown,
            format!(
                "Only one instance, {name}, is named: it failed {}, and there is nobody to compare it with.",
                share_of(failed, attempts)
            ),
        );
    }
    let who = counted(instances, "instance", "instances");
    if attempts == 0 {
        return (Mark::Up, format!("Nothing stands out: {who}, no requests in these logs."));
    }
    without_findings(report, &who, (failed, attempts))
}

/// Nothing was found. What the sums of all show is said all the same: a log may be too short for a finding.
fn without_findings(report: &Report, who: &str, (failed, attempts): (u64, u64)) -> (Mark, String) {
    let window = words::span(i64::from(report.window_s) * 1_000_000);
    let takes = format!("2 of 3 windows of {window}. `--window 5` looks closer.");
    let standings = || report.pools.iter().flat_map(|pool| &pool.instances);
    let mut unlike: Vec<&Standing> = standings().filter(|standing| standing.is_unlike()).collect();
    unlike
        .sort_by(|a, b| b.failed.unwrap_or_default().0.total_cmp(&a.failed.unwrap_or_default().0));
    if let Some(worst) = unlike.first() {
        let more = match unlike.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        return (
            Mark::Slow,
            format!(
                "{}{more} failed {}, its peers {} of the same routes, but not for long enough to be a finding: that takes {takes}",
                worst.name,
                share_of(worst.cell.errors(), worst.cell.attempts),
                words::percent(worst.peers.unwrap_or_default()),
            ),
        );
    }
    if failed * 100 >= attempts * MANY_FAILED {
        return (
            Mark::Slow,
            format!(
                "{who} failed {}, all of them alike; no finding, which takes a change that lasts: {takes}",
                share_of(failed, attempts)
            ),
        );
    }
    let removals: Vec<&Removal> = report.pools.iter().flat_map(|pool| &pool.removals).collect();
    let out: BTreeSet<&str> = removals.iter().map(|r| r.instance.as_str()).collect();
    if let Some(first) = out.first() {
        let more = match out.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let times = counted(removals.len(), "time", "times");
        return (
            Mark::Up,
            format!(
                "No finding: {who}, {} failed. {first}{more} left the rotation, {times} in all; see below.",
                share_of(failed, attempts)
            ),
        );
    }
    (
        Mark::Up,
        format!(
            "Nothing stands out: {who}, {} failed; none is unlike its peers.",
            share_of(failed, attempts)
        ),
    )
}

/// `41 of 212 attempts (19 %)`.
fn share_of(part: u64, of: u64) -> String {
    format!(
        "{} of {} attempts ({})",
        thousands(part),
        thousands(of),
        words::percent(part as f64 / of.max(1) as f64)
    )
}

fn mark_of(finding: &Finding) -> Mark {
    match (finding.scope, finding.kind) {
        (Scope::Shared | Scope::Differs, _) => Mark::Partial,
        (_, Kind::NoData) => Mark::Unknown,
        (_, Kind::Latency) => Mark::Slow,
        (Scope::One | Scope::Group, _) if finding.severity == Gravity::Critical => Mark::Down,
        (
            Scope::One | Scope::Group,
            Kind::Errors | Kind::BlackHole | Kind::Blank | Kind::CodeMix,
        ) => Mark::Down,
        (_, Kind::FewReady) if finding.severity == Gravity::Critical => Mark::Down,
        _ => Mark::Slow,
    }
}

/// The sentence of a finding, with the verdict where it does not begin with it.
fn lead(finding: &Finding, times: &Times) -> String {
    let sentence = &finding.sentence;
    match (finding.scope, finding.kind) {
        (Scope::One, Kind::Errors | Kind::Blank | Kind::CodeMix) => {
            format!("One instance is bad: {sentence}")
        }
        (Scope::One | Scope::Pool, kind) if !kind.compares() => {
            format!(
                "{}: {sentence} {}",
                words::capital(kind_label(finding)),
                times.stretch(finding)
            )
        }
        _ => sentence.clone(),
    }
}

/// `14:20 – 14:35 CET, 1 file, haproxy, 24,980 lines, 3 unreadable, 12 client aborts`.
fn summary(term: &Term, report: &Report, times: &Times) -> String {
    let mut parts = Vec::new();
    if let Some(span) = report.span {
        parts.push(times.span(span));
    }
    parts.push(counted(report.files.len(), "file", "files"));
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for format in report.files.iter().filter_map(|file| file.format) {
        *formats.entry(format).or_default() += 1;
    }
    parts.extend(formats.into_keys().map(str::to_owned));
    let lines = usize::try_from(report.lines()).unwrap_or(usize::MAX);
    parts.push(counted(lines, "line", "lines"));
    if report.rejected() > 0 {
        parts.push(format!("{} unreadable", thousands(report.rejected())));
    }
    let pools = report.pools.iter().map(|pool| &pool.pool).chain([&report.elsewhere]);
    let (mut aborts, mut empty) = (0, 0);
    for pool in pools {
        aborts += pool.clients;
        empty += pool.empty;
    }
    if aborts > 0 {
        let noun = if aborts == 1 { "abort" } else { "aborts" };
        parts.push(format!("{} client {noun}", thousands(aborts)));
    }
    if empty > 0 {
        parts.push(format!("{} with nobody to ask", thousands(empty)));
    }
    if report.interrupted {
        parts.push("interrupted".to_owned());
    }
    wrap_after("", &parts.join(", "), term.width) + "\n"
}

fn findings(term: &Term, report: &Report, times: &Times) -> String {
    let told = first_finding(report).map(|(_, finding)| finding);
    let all: Vec<&Finding> = report.pools.iter().flat_map(|pool| &pool.findings).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", term.paint(Ink::Dim, "findings"));
    for (number, finding) in all.iter().take(MOST_FINDINGS).enumerate() {
        let first = format!("{:>4}  {} ", number + 1, pad(kind_label(finding), 14));
        let chronic = if finding.chronic { " It has always been like this." } else { "" };
        let text = if told.is_some_and(|told| std::ptr::eq(told, *finding)) {
            format!("As above. {}", times.stretch(finding))
        } else {
            format!("{} {}{chronic}", finding.sentence, times.stretch(finding))
        };
        out.push_str(&wrap_after(&first, &text, term.width));
        out.push('\n');
    }
    if all.len() > MOST_FINDINGS {
        let more = counted(all.len() - MOST_FINDINGS, "more is", "more are");
        out.push_str(&format!("      {more} in --json\n"));
    }
    out
}

/// What the figures leave out.
fn notes(term: &Term, report: &Report) -> String {
    let mut out = String::new();
    let rejected = report.rejected();
    if rejected > 0 && rejected * 100 >= report.lines() * MANY_REJECTED {
        let sample = report.files.iter().find_map(|file| file.counts.samples.first());
        let text = format!(
            "{} of {} lines fit no format, such as:  {}",
            thousands(rejected),
            thousands(report.lines()),
            sample.map_or("", String::as_str)
        );
        out.push_str(&format!("\n{}\n", wrap_after("unreadable  ", &text, term.width)));
    }
    if report.late > 0 {
        let text = format!(
            "{} came after later ones had been judged. They are in every sum and opened no finding; sort \
             the lines by time to have them judged.",
            counted(usize::try_from(report.late).unwrap_or(usize::MAX), "request", "requests")
        );
        out.push_str(&format!("\n{}\n", wrap_after("late        ", &text, term.width)));
    }
    out
}

fn what_next(term: &Term, report: &Report) -> String {
    let files: Vec<&str> = report.files.iter().map(|file| file.name.as_str()).collect();
    let files = match files.as_slice() {
        [name] => (*name).to_owned(),
        [name, ..] => format!("{name} …"),
        [] => String::new(),
    };
    let Some(text) = advice(report, &files) else { return String::new() };
    format!("\n{}\n", wrap_after("what next   ", &text, term.width))
}

fn advice(report: &Report, files: &str) -> Option<String> {
    let Some((pool, finding)) = first_finding(report) else {
        let alone = report.pools.len() == 1 && report.pools[0].instances.len() < 2;
        let nobody = report.lines() > 0 && (report.pools.is_empty() || alone);
        return nobody.then(|| {
            "name more logs, one for each instance, or the log of whatever balances them; in nginx, add \
             $upstream_addr $upstream_status $upstream_response_time to its log_format."
                .to_owned()
        });
    };
    let at =
        report.pools.iter().flat_map(|p| &p.findings).position(|f| std::ptr::eq(f, finding))?;
    let look = format!(
        "quorate\u{a0}logs\u{a0}{files}\u{a0}--json\u{a0}|\u{a0}jq\u{a0}'.findings[{at}].evidence'"
    );
    let alive = pool.instances.iter().filter(|standing| standing.cell.attempts > 0).count();
    let named = finding.instances.len();
    match finding.scope {
        Scope::One | Scope::Group if named > 0 && named < alive => {
            let load = alive as f64 / (alive - named) as f64;
            let who = if named == 1 { &*finding.instances[0] } else { "them" };
            Some(format!(
                "take {who} out (the others then carry ×\u{a0}{load:.2}), or look at the numbers:  {look}"
            ))
        }
        Scope::Shared => Some(format!(
            "look at what they share: a database, a network, a release. Taking instances out would only \
             load the others. The numbers:  {look}"
        )),
        _ => Some(format!("the numbers:  {look}")),
    }
}
