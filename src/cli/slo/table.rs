//! The report as a table for people. Every figure is one of the report; none is worked out here.

use crate::cli::term::{Ink, Mark, Term, counted, cut_middle, pad, pad_left, wrap_after};
use crate::domain::Millis;
use crate::domain::slo::budget::State;
use crate::domain::slo::report::Report;
use crate::domain::slo::window::zone;
use crate::publish::wording::{exact, percent};

/// Outages and days that are listed; the rest is counted.
const LISTED: usize = 20;

pub(super) fn draw(report: &Report, term: &Term) -> String {
    let mut page = Page { report, term, text: String::new() };
    page.verdict();
    page.facts();
    page.rules();
    page.outages();
    page.locations();
    page.maintenance();
    page.warnings();
    term.text(&page.text)
}

struct Page<'a> {
    report: &'a Report,
    term: &'a Term,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A label in a column of its own, and a sentence beside it.
    fn fact(&mut self, label: &str, text: &str) {
        let first = format!("  {}", pad(label, 13));
        let wrapped = wrap_after(&first, text, self.term.width);
        let painted = self.term.paint(Ink::Dim, label);
        self.line(&wrapped.replacen(label, &painted, 1));
    }

    fn verdict(&mut self) {
        let report = self.report;
        let (mark, word) = match report.state {
            State::Ok => (Mark::Up, "Kept"),
            State::AtRisk => (Mark::Slow, "At risk"),
            State::Burning => (Mark::Down, "Burning"),
            State::Exhausted => (Mark::Slow, "Exhausted"),
            State::Breached => (Mark::Down, "Breached"),
            State::NoData => (Mark::Unknown, "No data"),
        };
        let target = &report.slo.target_pct;
        let achieved = report.availability.pct.as_ref();
        let achieved = achieved.map_or("–".to_owned(), |pct| format!("{pct}\u{a0}%"));
        let so_far = if report.window.complete { "" } else { " so far" };
        let reason = match report.state {
            State::NoData => "too little was seen to say: insufficient data.".to_owned(),
            State::Exhausted => {
                "nothing of the budget is left, and nothing is overspent.".to_owned()
            }
            _ => self.left(),
        };
        let sentence = format!("{achieved}{so_far}, {target}\u{a0}% is wanted: {reason}");
        let head = format!("{} {word}  ", mark.symbol(self.term.ascii));
        let wrapped = wrap_after(&head, &sentence, self.term.width);
        let painted = format!("{} {}  ", self.term.mark(mark), self.term.paint(mark.ink(), word));
        let name = report.slo.name.as_ref().or(report.slo.id.as_ref());
        if let Some(name) = name {
            self.line(&self.term.paint(Ink::Bold, &cut_middle(name, self.term.width)));
        }
        self.line(&wrapped.replacen(&head, &painted, 1));
        self.blank();
    }

    /// What is left of the budget.
    fn left(&self) -> String {
        let budget = &self.report.budget;
        let unit = |number: f64| format!("{number}\u{a0}{}", self.unit());
        match (budget.total_ms, budget.remaining_ms, budget.total, budget.remaining) {
            (Some(total), Some(left), ..) if left >= 0 => {
                format!("{} of {} are left.", exact(left), exact(total))
            }
            (Some(total), Some(left), ..) => {
                format!("the budget of {} is overspent by {}.", exact(total), exact(-left))
            }
            (.., Some(total), Some(left)) if left >= 0 => {
                format!("{left} of {} are left.", unit(total))
            }
            (.., Some(total), Some(left)) => {
                format!("the budget of {} is overspent by {}.", unit(total), -left)
            }
            _ => "there is no budget.".to_owned(),
        }
    }

    fn unit(&self) -> &'static str {
        match self.report.slo.sli.as_str() {
            "slices" => "slices",
            "requests" => "requests",
            _ => "results",
        }
    }

    fn facts(&mut self) {
        let report = self.report;
        let (window, time) = (&report.window, &report.time_ms);
        let still = match (window.complete, time.remaining) {
            (true, _) => ", over".to_owned(),
            (false, 0) => String::new(),
            (false, left) => format!(", {} to come", exact(left)),
        };
        let length = exact(window.length_ms);
        let (start, end) = (self.local(&window.start), self.local(&window.end));
        self.fact("window", &format!("{start} to {end}, {length}{still}"));
        let zone = &report.slo.window.timezone;
        self.fact("zone", &format!("{zone}, for all times here (zones of {})", window.tzdata));
        let parts = [
            ("up", time.up),
            ("partial", time.partial),
            ("down", time.down),
            ("unknown", time.unknown),
            ("in maintenance", time.excluded),
            ("paused", time.paused),
            ("not monitored", time.not_monitored),
        ];
        let shown = parts.iter().filter(|(_, length)| *length > 0);
        let shown: Vec<String> =
            shown.map(|(name, length)| format!("{name}\u{a0}{}", exact(*length))).collect();
        self.fact("time", &if shown.is_empty() { "–".to_owned() } else { shown.join(", ") });
        if report.events.total > 0 {
            let events = &report.events;
            let text = format!(
                "{} good of {}, {} expected, {} invalid, {} missing",
                events.good, events.total, events.expected, events.invalid, events.missing
            );
            self.fact(self.unit(), &text);
        }
        let a = &report.availability;
        let unknown = match a.best == a.worst {
            true => "nothing is unknown".to_owned(),
            false => {
                format!("{} to {}, whatever unknown time was", percent(a.worst), percent(a.best))
            }
        };
        let bounds = format!("{unknown}; {} with maintenance counted", percent(a.raw));
        self.fact("bounds", &bounds);
        let enough = if report.coverage.ok { "" } else { ", too little" };
        let fill = match report.coverage.window_fill {
            Some(fill) if fill < 1.0 => format!("; monitored {} of the time", percent(Some(fill))),
            _ => String::new(),
        };
        self.fact("seen", &format!("{}{enough}{fill}", percent(report.coverage.ratio)));
        self.budget();
        if report.latency_ms.n > 0 {
            let l = &report.latency_ms;
            let about = if l.approx { "about " } else { "" };
            let ms = |value: Option<f64>| {
                value.map_or("–".to_owned(), |ms| format!("{ms:.1}\u{a0}ms"))
            };
            let text = format!(
                "{about}p50 {}, p95 {}, p99 {}, mean {}",
                ms(l.p50),
                ms(l.p95),
                ms(l.p99),
                ms(l.mean)
            );
            self.fact("latency", &text);
        }
    }

    fn budget(&mut self) {
        let budget = &self.report.budget;
        let used = percent(budget.consumed_ratio);
        let gone = match &budget.exhausts_at_if_down {
            Some(at) => format!("; gone at {} if it is down until then", self.local(at)),
            None => String::new(),
        };
        self.fact("budget", &format!("{used} used; {}{gone}", self.left()));
    }

    fn rules(&mut self) {
        let report = self.report;
        self.blank();
        self.heads(&[("lookback", 11), ("burn rate", -12), ("seen", -10)]);
        for burn in &report.burn {
            let rate = burn.rate.map_or("–".to_owned(), |rate| format!("{rate:.3}"));
            let cells = [
                pad(&burn.lookback, 11),
                pad_left(&rate, 12),
                pad_left(&percent(burn.coverage), 10),
            ];
            self.line(&format!("  {}", cells.join("  ")));
        }
        if report.alerts.is_empty() {
            return;
        }
        self.blank();
        self.heads(&[
            ("rule", 16),
            ("severity", 8),
            ("long", -6),
            ("short", -6),
            ("factor", -9),
            ("now", 8),
        ]);
        for alert in &report.alerts {
            let (mark, now) = match (alert.firing, alert.frozen) {
                (true, false) => (Mark::Down, "fires"),
                (false, false) => (Mark::Up, "quiet"),
                (true, true) => (Mark::Unknown, "fires, frozen"),
                (false, true) => (Mark::Unknown, "quiet, frozen"),
            };
            let factor = alert.factor.map_or("–".to_owned(), |factor| format!("{factor:.3}"));
            let severity = match alert.severity {
                crate::domain::slo::definition::RuleSeverity::Page => "page",
                crate::domain::slo::definition::RuleSeverity::Ticket => "ticket",
            };
            let cells = [
                pad(&cut_middle(&alert.rule, 16), 16),
                pad(severity, 8),
                pad_left(&alert.long, 6),
                pad_left(&alert.short, 6),
                pad_left(&factor, 9),
            ];
            let line = format!("  {}  {} {now}", cells.join("  "), self.term.mark(mark));
            self.line(&line);
        }
    }

    fn outages(&mut self) {
        let outages = &self.report.outages;
        let figures = &outages.figures;
        self.blank();
        if figures.count == 0 {
            self.fact("outages", "none");
            return;
        }
        let span = |length: Option<Millis>| length.map_or("–".to_owned(), exact);
        let text = format!(
            "{}, {} still open; longest {}, mean to repair {}, mean between {}",
            counted(figures.count as usize, "outage", "outages"),
            figures.open,
            span(figures.longest_ms),
            span(figures.mttr_ms),
            span(figures.mtbf_ms)
        );
        self.fact("outages", &text);
        self.blank();
        self.heads(&[("start", 23), ("end", 23), ("downtime", -18)]);
        for outage in outages.list.iter().take(LISTED) {
            let start = self.local(&outage.start);
            let end = outage.end.as_ref().map_or("goes on".to_owned(), |end| self.local(end));
            let downtime = exact(outage.downtime_ms);
            let line =
                format!("  {}  {}  {}", pad(&start, 23), pad(&end, 23), pad_left(&downtime, 18));
            self.line(&line);
        }
        if outages.list.len() > LISTED {
            self.line(&format!(
                "  … and {} more, all of them with --json",
                outages.list.len() - LISTED
            ));
        }
    }

    fn locations(&mut self) {
        let report = self.report;
        let named: Vec<(String, Option<f64>)> = match &report.members {
            Some(members) => members.iter().map(|m| (m.id.clone(), m.ratio)).collect(),
            None => report.locations.iter().map(|l| (l.id.clone(), l.ratio)).collect(),
        };
        if named.is_empty() {
            return;
        }
        self.blank();
        let head = if report.members.is_some() { "member" } else { "location" };
        self.heads(&[(head, 24), ("share", -10)]);
        for (name, ratio) in named {
            let line =
                format!("  {}  {}", pad(&cut_middle(&name, 24), 24), pad_left(&percent(ratio), 10));
            self.line(&line);
        }
        if let Some(mean) = report.members_mean {
            let line =
                format!("  {}  {}", pad("mean, no SLO", 24), pad_left(&percent(Some(mean)), 10));
            self.line(&line);
        }
    }

    fn maintenance(&mut self) {
        if self.report.maintenance.is_empty() {
            return;
        }
        self.blank();
        self.heads(&[("maintenance", 23), ("end", 23), ("kind", 10), ("left out", -16)]);
        for entry in &self.report.maintenance {
            let out = exact(entry.excluded_ms);
            let line = format!(
                "  {}  {}  {}  {}",
                pad(&self.local(&entry.start), 23),
                pad(&self.local(&entry.end), 23),
                pad(&entry.kind, 10),
                pad_left(&out, 16)
            );
            self.line(&line);
        }
    }

    fn warnings(&mut self) {
        for warning in &self.report.warnings {
            let about = warning.rule.as_ref().map_or(String::new(), |rule| format!("rule {rule} "));
            let head = format!("{} ", Mark::Slow.symbol(self.term.ascii));
            let text = format!("{about}{}.", warning.message);
            self.blank();
            let wrapped = wrap_after(&head, &text, self.term.width);
            let painted = format!("{} ", self.term.mark(Mark::Slow));
            self.line(&wrapped.replacen(&head, &painted, 1));
        }
    }

    /// Names over columns of these widths, those of numbers on the right (a negative width).
    fn heads(&mut self, columns: &[(&str, isize)]) {
        let cell = |(name, width): &(&str, isize)| match *width < 0 {
            true => pad_left(name, width.unsigned_abs()),
            false => pad(name, width.unsigned_abs()),
        };
        let line = columns.iter().map(cell).collect::<Vec<_>>().join("  ");
        self.line(&format!("  {}", self.term.paint(Ink::Dim, line.trim_end())));
        let used = line.chars().count().min(self.term.width - 2);
        self.line(&format!("  {}", self.term.rule(used)));
    }

    /// An instant of the report in the zone of the SLO, without what is zero anyway.
    fn local(&self, stamp: &str) -> String {
        let zone = zone(&self.report.slo.window.timezone);
        let (Ok(zone), Ok(at)) = (zone, stamp.parse::<jiff::Timestamp>()) else {
            return stamp.to_owned();
        };
        let at = at.to_zoned(zone);
        let text = at.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string();
        let text = text.strip_suffix(".000").unwrap_or(&text);
        text.strip_suffix(":00").unwrap_or(text).to_owned()
    }
}
