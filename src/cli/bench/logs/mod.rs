//! `quorate logs` end to end on a file of its own, beside GoAccess and `wc -l` on the same file; and its
//! memory, from a file and from a long pipe.

mod child;
mod lines;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use self::child::{Child, Measured};
use self::lines::{Lines, Style};
use super::super::term::{Term, counted, thousands};

/// Lines a second that must be reached, findings included.
const LEAST_SPEED: f64 = 2e6;
/// So many times as fast as GoAccess.
const LEAST_RATIO: f64 = 20.0;
/// Peak of memory that is no file's.
const MOST_MEMORY: u64 = 100 * 1024 * 1024;
/// How much more memory the whole pipe may have taken than its beginning had: the sums of a day are kept
/// by quarters of an hour, and the first 2 GB are four hours.
const MOST_GROWTH: u64 = 8 * 1024 * 1024;
/// The best of so many runs counts: the machine may have other work.
const RUNS: usize = 3;
const GIB: u64 = 1 << 30;

#[derive(Debug, clap::Args)]
pub struct LogsArgs {
    /// Lines of the file.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(10_000..=100_000_000))]
    lines: u64,
    /// Measures memory on so many GB from a pipe as well.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(3..=1_000))]
    pipe_gb: Option<u64>,
}

pub(super) fn run(term: &Term, args: &LogsArgs) -> anyhow::Result<bool> {
    let goaccess = child::version("goaccess", &["--version"])
        .context("GoAccess is needed to compare with. Install it:  apt-get install goaccess")?;
    let dir = std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let measured = measure(term, args, &dir, &goaccess);
    let removed = std::fs::remove_dir_all(&dir);
    let holds = measured?;
    removed.with_context(|| format!("cannot remove {}", dir.display()))?;
    Ok(holds)
}

fn measure(term: &Term, args: &LogsArgs, dir: &Path, goaccess: &str) -> anyhow::Result<bool> {
    let mut holds = true;
    for style in [Style::OneUpstream, Style::Retries] {
        let file = dir.join("access.log");
        let bytes = write(&file, style, args.lines)?;
        holds &= compare(term, &file, style, args.lines, bytes, goaccess)?;
        std::fs::remove_file(&file)?;
    }
    if let Some(gb) = args.pipe_gb {
        holds &= pipe(term, gb)?;
    }
    Ok(holds)
}

/// Writes the file and gives its size.
fn write(file: &Path, style: Style, count: u64) -> anyhow::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let mut lines = Lines::new(style);
    let mut bytes = 0;
    let mut line = Vec::new();
    for _ in 0..count {
        line.clear();
        lines.next(&mut line);
        bytes += line.len() as u64;
        out.write_all(&line)?;
    }
    out.flush()?;
    Ok(bytes)
}

fn compare(
    term: &Term,
    file: &Path,
    style: Style,
    count: u64,
    bytes: u64,
    goaccess: &str,
) -> anyhow::Result<bool> {
    // Reads the file into the page cache too, for everybody alike.
    let wc = best(|| child::run("wc", &["-l".as_ref(), file.as_os_str()]))?;
    let ours = best(|| {
        let measured = child::run_path(
            &std::env::current_exe()?,
            &["logs".as_ref(), "--json".as_ref(), file.as_os_str()],
        )?;
        check(&measured, count)?;
        Ok(measured)
    })?;
    let report = file.with_extension("json");
    let theirs = child::run(
        "goaccess",
        &[
            file.as_os_str(),
            r#"--log-format=%h - %^ [%d:%t %^] "%r" %s %b "%R" "%u" %^"#.as_ref(),
            "--date-format=%d/%b/%Y".as_ref(),
            "--time-format=%T".as_ref(),
            "--no-progress".as_ref(),
            "-o".as_ref(),
            report.as_os_str(),
        ],
    )?;
    let speed = |measured: &Measured| count as f64 / measured.seconds;
    let ratio = speed(&ours) / speed(&theirs);
    let row = |name: &str, measured: &Measured| {
        format!(
            "  {name:<22}{:>11} lines/s {:>7} MB/s   {:>6.2} s, {:.2} s of CPU",
            thousands(speed(measured) as u64),
            thousands((bytes as f64 / measured.seconds / 1e6) as u64),
            measured.seconds,
            measured.cpu_seconds
        )
    };
    let verdict = |holds: bool| if holds { "holds" } else { "does not hold" };
    let (fast, ahead, small) =
        (speed(&ours) >= LEAST_SPEED, ratio >= LEAST_RATIO, ours.memory <= MOST_MEMORY);
    term.print(&format!(
        "logs  {} lines, {} MB, {}; best of {RUNS}\n\n{}   limit {}: {}\n{}\n{}   ({goaccess})\n  \
         {:<22}{ratio:>11.1}                         limit {LEAST_RATIO}: {}\n  \
         {:<22}{:>11.1} MiB, anonymous            limit {} MiB: {}\n\n",
        thousands(count),
        thousands(bytes / 1_000_000),
        style.name(),
        row("quorate logs", &ours),
        thousands(LEAST_SPEED as u64),
        verdict(fast),
        row("wc -l", &wc),
        row("goaccess", &theirs),
        "times GoAccess",
        verdict(ahead),
        "memory at most",
        ours.memory as f64 / f64::from(1 << 20),
        MOST_MEMORY >> 20,
        verdict(small),
    ))?;
    Ok(fast && ahead && small)
}

fn best(run: impl Fn() -> anyhow::Result<Measured>) -> anyhow::Result<Measured> {
    let mut best: Option<Measured> = None;
    let mut memory = 0;
    for _ in 0..RUNS {
        let measured = run()?;
        memory = memory.max(measured.memory);
        if best.as_ref().is_none_or(|best| measured.seconds < best.seconds) {
            best = Some(measured);
        }
    }
    let best = best.context("nothing was run")?;
    Ok(Measured { memory, ..best })
}

/// It read every line and found who is bad.
fn check(measured: &Measured, count: u64) -> anyhow::Result<()> {
    let told: Value = serde_json::from_slice(&measured.output).context("the summary")?;
    let parsed = told["files"][0]["parsed"].as_u64();
    ensure!(parsed == Some(count), "{parsed:?} of {count} lines were read");
    let named = |finding: &Value| finding["instances"] == serde_json::json!([lines::BAD]);
    let found = told["findings"].as_array().is_some_and(|all| all.iter().any(named));
    ensure!(found, "{} was not found to fail: {}", lines::BAD, told["findings"]);
    Ok(())
}

/// Memory after the first two GB of a pipe and after all of it.
fn pipe(term: &Term, gb: u64) -> anyhow::Result<bool> {
    let exe: PathBuf = std::env::current_exe()?;
    let mut child =
        Child::start(&exe, &["logs".as_ref(), "--json".as_ref(), "-".as_ref()], Stdio::piped())?;
    let Some(mut input) = child.input() else { bail!("the child takes no input") };
    let mut lines = Lines::new(Style::OneUpstream);
    let (mut sent, mut early) = (0_u64, None);
    let mut block = Vec::with_capacity(2 << 20);
    while sent < gb * GIB {
        block.clear();
        lines.block(&mut block);
        input.write_all(&block).context("the child stopped reading")?;
        sent += block.len() as u64;
        if early.is_none() && sent >= 2 * GIB {
            early = Some(child.memory());
        }
    }
    drop(input);
    let measured = child.end()?;
    let told: Value = serde_json::from_slice(&measured.output).context("the summary")?;
    ensure!(told["files"][0]["rejected"] == 0, "lines of the pipe were refused");
    let early = early.unwrap_or(measured.memory).max(1);
    let holds = measured.memory <= early + MOST_GROWTH && measured.memory <= MOST_MEMORY;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    term.print(&format!(
        "logs  {} from a pipe, {} lines\n\n  memory at most, after 2 GB {:>8.1} MiB, anonymous\n  \
         memory at most, after all  {:>8.1} MiB   limit + {} MiB: {}\n",
        counted(usize::try_from(gb).unwrap_or(usize::MAX), "GB", "GB"),
        thousands(told["files"][0]["lines"].as_u64().unwrap_or(0)),
        mib(early),
        mib(measured.memory),
        MOST_GROWTH >> 20,
        if holds { "holds" } else { "does not hold" },
    ))?;
    Ok(holds)
}
