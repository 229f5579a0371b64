//! The figures, as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::super::term::{Term, cut_middle, pad, pad_left, thousands};
use super::{Asked, Found, read::Reads};

pub(super) fn text(term: &Term, found: &Found) -> String {
    let seeded = &found.seeded;
    let count = |number: usize| thousands(number as u64);
    let mut out = format!(
        "api  {} monitors, a year of intervals ({}), 90 days of roll-ups of {} ({} quarter hours),\n     \
         {} days of results ({}), {} SLOs; {} requests of each kind, one after another,\n     \
         to a coordinator that does its chores\n\n",
        thousands(u64::from(found.size.monitors.unsigned_abs())),
        count(seeded.intervals),
        found.size.rolled_up,
        count(seeded.quarters),
        found.size.raw_days,
        count(seeded.results),
        count(seeded.slos),
        found.requests,
    );
    let _ = writeln!(out, "  {}   median      p95    limit   p95/limit", pad("", 36));
    for asked in &found.asked {
        let _ = writeln!(
            out,
            "  {}{} ms{} ms{} ms{}   {}",
            pad(&asked.name, 36),
            pad_left(&format!("{:.1}", asked.times.median), 6),
            pad_left(&format!("{:.1}", asked.times.p95), 6),
            pad_left(&format!("{:.0}", asked.limit_ms), 6),
            pad_left(&format!("{:.2}", asked.times.p95 / asked.limit_ms), 12),
            if asked.times.p95 <= asked.limit_ms { "holds" } else { "does not hold" },
        );
    }
    let _ = writeln!(
        out,
        "\n  what the statements of one request read (EXPLAIN ANALYZE, BUFFERS; pages of 8 KiB)\n  {}{}{}",
        pad("", 36),
        pad_left(&format!("{} monitors", found.fewer.monitors), 26),
        pad_left(&format!("{} monitors", found.size.monitors), 26),
    );
    for asked in &found.asked {
        let side = |reads: &Reads| {
            pad_left(
                &format!("{} rows, {} pages", thousands(reads.rows), thousands(reads.buffers)),
                26,
            )
        };
        let _ = writeln!(
            out,
            "  {}{}{}   {}",
            pad(&asked.name, 36),
            side(&asked.reads.0),
            side(&asked.reads.1),
            depends(asked),
        );
    }
    for asked in &found.asked {
        let most = &asked.reads.1.most;
        let _ = writeln!(
            out,
            "  {}: {} statements, most pages ({}): {}",
            asked.name,
            asked.reads.1.statements,
            thousands(most.buffers),
            cut_middle(&most.text, term.width.saturating_sub(20)),
        );
    }
    let _ = writeln!(
        out,
        "\n  all SLOs evaluated by upkeep, one after another, in {:.1} s; each is due every 30 s",
        seeded.evaluated.as_secs_f64(),
    );
    out
}

fn depends(asked: &Asked) -> &'static str {
    match (asked.alone, asked.reads.1.rows <= asked.reads.0.rows) {
        (false, _) => "grows with the SLOs that it lists",
        (true, true) => "no more for more monitors",
        (true, false) => "DEPENDS ON THE REST",
    }
}

pub(super) fn json(found: &Found) -> String {
    let seeded = &found.seeded;
    let asked: Vec<Value> = found.asked.iter().map(one).collect();
    let value = json!({
        "monitors": found.size.monitors, "fewer_monitors": found.fewer.monitors,
        "intervals": seeded.intervals, "quarters": seeded.quarters, "results": seeded.results,
        "slos": seeded.slos, "requests": found.requests,
        "evaluated_s": seeded.evaluated.as_secs_f64(),
        "asked": asked,
        "holds": found.asked.iter().all(Asked::holds),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn one(asked: &Asked) -> Value {
    let reads = |reads: &Reads| {
        json!({"statements": reads.statements, "rows": reads.rows, "buffers": reads.buffers,
            "most": {"statement": reads.most.text, "rows": reads.most.rows, "buffers": reads.most.buffers}})
    };
    json!({
        "name": asked.name,
        "median_ms": asked.times.median,
        "p95_ms": asked.times.p95,
        "limit_ms": asked.limit_ms,
        "ratio": asked.times.p95 / asked.limit_ms,
        "reads_with_fewer": reads(&asked.reads.0),
        "reads": reads(&asked.reads.1),
        "holds": asked.holds(),
    })
}
