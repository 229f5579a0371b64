//! The budget: how it was used up over the window, and what was left.

use std::fmt::Write;

use maud::{Markup, html};

use super::chart::{WIDTH, px};
use super::glyph::Mark;
use super::{View, section};
use crate::domain::Millis;
use crate::domain::slo::definition::UnknownPolicy;
use crate::domain::slo::report::{Day, Report};
use crate::publish::wording::{exact, percent};

const TOP: f64 = 12.0;
const BOTTOM: f64 = 50.0;

/// Budgets of time step down day by day; others have a bar.
pub(super) fn budget(view: &View) -> Markup {
    let report = &view.document.report;
    let budget = &report.budget;
    let Some(consumed) = budget.consumed_ratio else { return html! {} };
    let drawn = match budget.total_ms {
        Some(total) if total > 0 && report.days.len() > 1 && report.slo.sli == "availability" => {
            steps(report, total)
        }
        _ => bar(consumed),
    };
    let remark = match (budget.total_ms, budget.remaining_ms) {
        (Some(total), Some(left)) if left >= 0 => {
            format!("{} of {} used, {} left", percent(Some(consumed)), exact(total), exact(left))
        }
        (Some(total), Some(left)) => {
            format!(
                "{} of {} used, {} too much",
                percent(Some(consumed)),
                exact(total),
                exact(-left)
            )
        }
        _ => format!("{} used", percent(Some(consumed))),
    };
    let gone =
        budget.exhausts_at_if_down.as_ref().and_then(|at| crate::publish::document::instant(at));
    let content = html! {
        div.scroll { (drawn) }
        @if let Some(at) = gone {
            p.s.foot { "If it were down from now on, nothing would be left at " (view.zone.dated(at)) "." }
        }
    };
    section("Budget", &remark, &content)
}

/// Left at the end of each day; below nothing when it is overspent.
fn left_by_day(report: &Report, total: Millis) -> Vec<(f64, f64, f64)> {
    let weight = f64::from(report.slo.partial_weight_ppm) / 1e6;
    let bad = |day: &Day| {
        let unknown = match report.slo.unknown_policy {
            UnknownPolicy::Down => day.unknown_ms,
            _ => 0,
        };
        (day.down_ms + unknown) as f64 + weight * day.partial_ms as f64
    };
    let unknown = |day: &Day| match report.slo.unknown_policy {
        UnknownPolicy::Exclude => day.unknown_ms as f64,
        _ => 0.0,
    };
    let (mut at, mut left, mut worst) = (0, total as f64, total as f64);
    let mut out = Vec::new();
    for day in &report.days {
        at += day.length_ms;
        left -= bad(day);
        worst -= bad(day) + unknown(day);
        out.push((at as f64, left, worst));
    }
    out
}

fn steps(report: &Report, total: Millis) -> Markup {
    let days = left_by_day(report, total);
    let whole = report.window.length_ms.max(1) as f64;
    let lowest =
        days.iter().fold(0.0_f64, |low, (_, _, worst)| low.min(*worst)).max(-(total as f64));
    let x = |at: f64| at / whole * WIDTH;
    let y = |left: f64| {
        let share = (total as f64 - left.max(lowest)) / (total as f64 - lowest);
        TOP + share * (BOTTOM - TOP)
    };
    let (mut line, mut worst) = (format!("M0 {}", px(TOP)), Vec::new());
    let mut before = 0.0;
    for (at, left, at_worst) in &days {
        let _ = write!(line, "V{}H{}", px(y(*left)), px(x(*at)));
        worst.push((x(before), x(*at), y(*left), y(*at_worst)));
        before = *at;
    }
    let zero = px(y(0.0));
    let end = days.last().map_or(WIDTH, |(at, ..)| x(*at));
    html! {
        svg width="100%" viewBox="0 0 678 62" role="img"
            aria-label="What was left of the budget at the end of each day" {
            path d={ "M0 " (px(TOP)) "L678 " (zero) } stroke="var(--edge)" stroke-dasharray="2 3" fill="none" {}
            path d={ "M0 " (zero) "H678" } stroke="var(--text)" {}
            @for (from, to, high, low) in worst.iter().filter(|(_, _, high, low)| low - high > 0.2) {
                rect x=(px(*from)) y=(px(*high)) width=(px(to - from)) height=(px(low - high)) fill=(Mark::Unknown.fill()) {}
            }
            path d=(line) stroke="var(--text)" stroke-width="2" fill="none" {}
            @if end < WIDTH - 1.0 {
                path d={ "M" (px(end)) " 8V54" } stroke="var(--text3)" {}
                text.f x=(px(end + 4.0)) y="16" { "so far" }
            }
            text.f x="0" y="8" { (exact(total)) }
            text.f x="678" y="8" text-anchor="end" { "dashed: an even pace · hatched: if what is unknown was bad" }
            text.f x="678" y="60" text-anchor="end" { "nothing left at the line" }
        }
    }
}

/// Used of all.
fn bar(consumed: f64) -> Markup {
    let used = consumed.clamp(0.0, 1.0) * WIDTH;
    html! {
        svg width="100%" viewBox="0 0 678 22" role="img" aria-label={ "Budget used: " (percent(Some(consumed))) } {
            rect x="0.5" y="4.5" width="677" height="13" fill="none" stroke="var(--text)" {}
            rect x="0" y="4" width=(px(used)) height="14" fill="var(--text)" {}
        }
    }
}
