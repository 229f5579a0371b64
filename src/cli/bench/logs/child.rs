//! Another program, with the time, the CPU time and the memory that it takes.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// How often its memory is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What one run took.
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    /// Peak of anonymous memory, in bytes.
    pub(super) memory: u64,
    pub(super) output: Vec<u8>,
}

/// A program that runs.
pub(super) struct Child {
    child: std::process::Child,
    begun: Instant,
    cpu_before: f64,
    memory: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    watch: JoinHandle<()>,
    output: JoinHandle<std::io::Result<Vec<u8>>>,
    name: String,
}

impl Child {
    pub(super) fn start(program: &Path, args: &[&OsStr], input: Stdio) -> anyhow::Result<Self> {
        let name = program.display().to_string();
        let cpu_before = cpu_seconds();
        let begun = Instant::now();
        let mut child = Command::new(program)
            .args(args)
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut stdout = child.stdout.take().context("the output of the program")?;
        let output = std::thread::spawn(move || {
            let mut all = Vec::new();
            stdout.read_to_end(&mut all).map(|_| all)
        });
        let (memory, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let status = format!("/proc/{}/status", child.id());
        let watch = std::thread::spawn({
            let (memory, over) = (memory.clone(), over.clone());
            move || {
                while !over.load(Ordering::Relaxed) {
                    if let Some(now) = anonymous(&status) {
                        memory.fetch_max(now, Ordering::Relaxed);
                    }
                    std::thread::sleep(LOOK);
                }
            }
        });
        Ok(Self { child, begun, cpu_before, memory, over, watch, output, name })
    }

    pub(super) fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The peak so far.
    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> anyhow::Result<Measured> {
        let status = self.child.wait()?;
        let seconds = self.begun.elapsed().as_secs_f64();
        self.over.store(true, Ordering::Relaxed);
        let output = self.output.join().ok().context("reading its output")??;
        self.watch.join().ok().context("watching its memory")?;
        ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(Measured {
            seconds,
            cpu_seconds: cpu_seconds() - self.cpu_before,
            memory: self.memory.load(Ordering::Relaxed),
            output,
        })
    }
}

pub(super) fn run(program: &str, args: &[&OsStr]) -> anyhow::Result<Measured> {
    run_path(Path::new(program), args)
}

pub(super) fn run_path(program: &Path, args: &[&OsStr]) -> anyhow::Result<Measured> {
    Child::start(program, args, Stdio::null())?.end()
}

/// The first line that a program says of its version.
pub(super) fn version(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(args).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned())
}

/// Of all children that have ended.
fn cpu_seconds() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
        seconds(usage.user_time()) + seconds(usage.system_time())
    })
}

/// `RssAnon` of a process, in bytes.
fn anonymous(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}
