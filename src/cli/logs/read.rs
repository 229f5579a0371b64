//! The files, interleaved by time: chunks are read here, parsed on workers, and merged here in their
//! order; windows are judged as soon as no file can add to them. Memory is a few chunks and what is not
//! judged yet, however long the files are.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::judge::{Judge, Silences};
use super::part::{self, Counts, Part, Recipe};
use super::plan::{Kind, Planned, Refused};
use super::progress::Progress;
use super::source::{Input, Source};
use crate::accesslog::{Format, Parser, kubernetes, target_health};
use crate::domain::fleet::{
    event::Event,
    settings::Settings,
    tally::{Role, Tally},
};

/// So much is parsed at a time, when few files are read at once.
const CHUNK: usize = 1024 * 1024;
/// With many files at once their chunks are smaller, so that all together take no more than this.
const ALL_CHUNKS: usize = 8 * CHUNK;
const SMALLEST_CHUNK: usize = 64 * 1024;
/// Chunks of one file that are under way.
const AHEAD: usize = 4;
/// A platform's document is held as a whole.
const LARGEST_DOCUMENT: usize = 512 * 1024 * 1024;

/// What was read.
pub(super) struct Outcome {
    pub(super) judge: Judge,
    /// By file, in the order in which they were named.
    pub(super) counts: Vec<Counts>,
    /// The first and the last stamp, in µs.
    pub(super) span: Option<(i64, i64)>,
    /// Stopped before the end.
    pub(super) interrupted: bool,
}

struct Job {
    file: usize,
    number: u64,
    chunk: Vec<u8>,
}

struct Done {
    file: usize,
    number: u64,
    /// Without one reading it has failed.
    part: Option<Part>,
}

/// How a chunk becomes a part.
type ReadPart = dyn Fn(&[u8], &mut Parser, &Recipe, &Settings) -> Part + Sync;

/// A file that is being read.
struct Live {
    file: usize,
    source: Source,
    /// As far as it is merged, in µs.
    newest_us: i64,
    given: u64,
    merged: u64,
    waiting: BTreeMap<u64, Part>,
    ended: bool,
}

/// Reads everything. `stop` ends it early, with what was read until then.
pub(super) fn read(
    planned: Vec<Planned>,
    settings: &Settings,
    now_us: i64,
    progress: &mut Progress,
    stop: &AtomicBool,
) -> Result<Outcome, Refused> {
    read_with(&part::read, planned, settings, now_us, progress, stop)
}

fn read_with(
    read_part: &ReadPart,
    mut planned: Vec<Planned>,
    settings: &Settings,
    now_us: i64,
    progress: &mut Progress,
    stop: &AtomicBool,
) -> Result<Outcome, Refused> {
    let mut reading = Reading::new(&planned, settings);
    for plan in &mut planned {
        if let Kind::Document(format) = plan.kind {
            reading.document(plan, format, now_us)?;
        }
    }
    if let Some(pool) = reading.judge.only_pool() {
        // What names no pool is of the one that the platform tells of.
        for plan in planned.iter_mut().filter(|plan| plan.info.pool.is_empty()) {
            plan.info.pool.clone_from(&pool);
        }
    }
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(1, 8));
    let (jobs, taken) = channel::<Job>();
    let (finished, done) = channel::<Done>();
    let taken = Mutex::new(taken);
    let recipes = recipes(&planned);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let finished = finished.clone();
            let (taken, recipes) = (&taken, &recipes);
            scope.spawn(move || work(read_part, taken, &finished, recipes, settings));
        }
        drop(finished);
        // The workers end when there will be no more jobs, however this ends.
        let read = reading.files(&mut planned, jobs, &done, workers, progress, stop);
        progress.clear();
        read
    })?;
    Ok(reading.end(stop.load(Ordering::Relaxed)))
}

fn recipes(planned: &[Planned]) -> Vec<Option<Recipe>> {
    let recipe = |plan: &Planned| match &plan.kind {
        Kind::Lines(parser) => Some(Recipe {
            parser: parser.as_ref().clone(),
            info: plan.info.clone(),
            again: plan.again.clone(),
        }),
        Kind::Empty | Kind::Document(_) => None,
    };
    planned.iter().map(recipe).collect()
}

/// Parses chunks until there are no more. Every job is answered, whatever reading it does: nobody would
/// notice that one is missing.
fn work(
    read_part: &ReadPart,
    jobs: &Mutex<Receiver<Job>>,
    finished: &Sender<Done>,
    recipes: &[Option<Recipe>],
    settings: &Settings,
) {
    let mut parsers: BTreeMap<usize, Parser> = BTreeMap::new();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { file, number, chunk }) = job else { return };
        let Some(Some(recipe)) = recipes.get(file) else {
            if finished.send(Done { file, number, part: None }).is_err() {
                return;
            }
            continue;
        };
        if parsers.len() > 64 {
            parsers.clear();
        }
        let parser = parsers.entry(file).or_insert_with(|| recipe.parser.clone());
        // What a panic leaves behind is not used any more: the command ends with it.
        let part = catch_unwind(AssertUnwindSafe(|| read_part(&chunk, parser, recipe, settings)));
        let part = part.ok();
        if finished.send(Done { file, number, part }).is_err() {
            return;
        }
    }
}

struct Reading {
    judge: Judge,
    tally: Tally,
    counts: Vec<Counts>,
    span: Option<(i64, i64)>,
    /// That of documents, which were made when somebody asked for them: it counts where there are no lines.
    documents: Option<(i64, i64)>,
    lateness_us: i64,
    live: Vec<Live>,
    /// Not opened yet, by where they begin.
    pending: VecDeque<usize>,
    /// Each balancer's log by name.
    heard: BTreeMap<String, Silences>,
    under_way: usize,
}

impl Reading {
    fn new(planned: &[Planned], settings: &Settings) -> Self {
        let mut pending: Vec<usize> = (0..planned.len())
            .filter(|file| matches!(planned[*file].kind, Kind::Lines(_)))
            .collect();
        // What says no time in its first lines is opened first.
        pending.sort_by_key(|file| planned[*file].first_us);
        Self {
            judge: Judge::new(settings),
            tally: Tally::new(settings),
            counts: vec![Counts::default(); planned.len()],
            span: None,
            documents: None,
            lateness_us: i64::from(settings.lateness_s) * 1_000_000,
            live: Vec::new(),
            pending: pending.into(),
            heard: BTreeMap::new(),
            under_way: 0,
        }
    }

    /// Takes what a platform's document says.
    fn document(&mut self, plan: &mut Planned, format: Format, now_us: i64) -> Result<(), Refused> {
        let events = document(plan, format, now_us)?;
        let counts = &mut self.counts[plan.info.id as usize];
        counts.lines += 1;
        counts.parsed += 1;
        for event in &events {
            self.documents = widened(self.documents, (event.at_us, event.at_us));
        }
        self.judge.hear(events);
        Ok(())
    }

    fn files(
        &mut self,
        planned: &mut [Planned],
        jobs: Sender<Job>,
        done: &Receiver<Done>,
        workers: usize,
        progress: &mut Progress,
        stop: &AtomicBool,
    ) -> Result<(), Refused> {
        loop {
            self.open(planned)?;
            while self.under_way < workers * 2 && !stop.load(Ordering::Relaxed) {
                if !self.give(planned, &jobs)? {
                    break;
                }
            }
            if self.under_way == 0 {
                if stop.load(Ordering::Relaxed) || (self.live.is_empty() && self.pending.is_empty())
                {
                    return Ok(());
                }
                self.retire(planned);
                continue;
            }
            let Ok(Done { file, number, part }) = done.recv() else {
                return Err(failed(planned, self.live.first().map_or(0, |live| live.file)));
            };
            self.under_way -= 1;
            let part = part.ok_or_else(|| failed(planned, file))?;
            self.take(planned, file, number, part, progress);
            self.retire(planned);
        }
    }

    /// Opens every file that begins before what is read next.
    fn open(&mut self, planned: &mut [Planned]) -> Result<(), Refused> {
        while let Some(file) = self.pending.front().copied() {
            let first_us = planned[file].first_us.unwrap_or(i64::MIN);
            if self.live.iter().map(|live| live.newest_us).min().is_some_and(|at| at < first_us) {
                return Ok(());
            }
            self.pending.pop_front();
            let plan = &mut planned[file];
            let source = match plan.opened.take() {
                Some(source) => source,
                None => {
                    Source::open(&plan.input).map_err(|error| Refused::io(&plan.input, &error))?
                }
            };
            self.live.push(Live {
                file,
                source,
                newest_us: first_us,
                given: 0,
                merged: 0,
                waiting: BTreeMap::new(),
                ended: false,
            });
        }
        Ok(())
    }

    /// Reads a chunk of the file that is furthest behind. False when there is none to read now.
    fn give(&mut self, planned: &[Planned], jobs: &Sender<Job>) -> Result<bool, Refused> {
        let size = (ALL_CHUNKS / self.live.len().max(1)).clamp(SMALLEST_CHUNK, CHUNK);
        let ready = self
            .live
            .iter_mut()
            .filter(|live| !live.ended && live.given - live.merged < AHEAD as u64);
        let Some(live) = ready.min_by_key(|live| (live.newest_us, live.given - live.merged)) else {
            return Ok(false);
        };
        let chunk = live
            .source
            .chunk(size)
            .map_err(|error| Refused::io(&planned[live.file].input, &error))?;
        if chunk.is_empty() {
            live.ended = true;
            return Ok(true);
        }
        let job = Job { file: live.file, number: live.given, chunk };
        live.given += 1;
        self.under_way += 1;
        Ok(jobs.send(job).is_ok())
    }

    /// Merges a part, and those that waited for it.
    fn take(
        &mut self,
        planned: &[Planned],
        file: usize,
        number: u64,
        part: Part,
        progress: &mut Progress,
    ) {
        let of_file = |live: &&mut Live| live.file == file;
        let Some(live) = self.live.iter_mut().find(of_file) else { return };
        live.waiting.insert(number, part);
        let read = live.source.position.load(Ordering::Relaxed);
        // One after the other, so that what is judged does not depend on which worker was faster.
        while let Some(live) = self.live.iter_mut().find(of_file)
            && let Some(part) = live.waiting.remove(&live.merged)
        {
            live.merged += 1;
            if let Some(span) = part.span {
                live.newest_us = live.newest_us.max(span.1);
                self.span = widened(self.span, span);
                if planned[file].info.role == Role::Balancer {
                    let stem = planned[file].stem.clone();
                    self.heard.entry(stem).or_default().hear(span, part.gaps);
                }
            }
            progress.lines(part.counts.lines);
            self.counts[file].merge(part.counts);
            self.tally.merge(part.tally);
            self.judge.hear(part.events);
            self.judge_what_is_complete(planned);
        }
        progress.show(&planned[file].input, file, read);
    }

    /// Files that are read to their end hold nothing up.
    fn retire(&mut self, planned: &[Planned]) {
        self.live.retain(|live| !(live.ended && live.given == live.merged));
        if self.live.is_empty() && self.pending.is_empty() {
            self.judge_what_is_complete(planned);
        }
    }

    /// No open file can add to a window that all have passed.
    fn judge_what_is_complete(&mut self, planned: &[Planned]) {
        let open = self.live.iter().map(|live| live.newest_us);
        let next = self.pending.front().and_then(|file| planned[*file].first_us);
        let Some(passed) = open.chain(next).min().filter(|at| *at != i64::MIN) else { return };
        self.judge.advance(&mut self.tally, Some(passed - self.lateness_us), &self.heard);
        for silences in self.heard.values_mut() {
            silences.forget(passed - self.lateness_us);
        }
    }

    fn end(mut self, interrupted: bool) -> Outcome {
        self.judge.advance(&mut self.tally, None, &self.heard);
        let span = self.span.or(self.documents);
        Outcome { judge: self.judge, counts: self.counts, span, interrupted }
    }
}

/// Reading a file has failed by our own fault.
fn failed(planned: &[Planned], file: usize) -> Refused {
    let name = planned.get(file).map_or_else(|| "a file".to_owned(), |plan| plan.input.name());
    let why = "reading its lines failed inside Quorate, which is a bug. Leave the file out, and please report \
               it with what stands above";
    Refused::Unreadable { name, why: why.to_owned() }
}

/// Reads a platform's document as a whole.
pub(super) fn document(
    plan: &mut Planned,
    format: Format,
    now_us: i64,
) -> Result<Vec<Event>, Refused> {
    let failed = |error: io::Error| Refused::io(&plan.input, &error);
    let refused = |why: String| Refused::Unreadable { name: plan.input.name(), why };
    let mut source = match plan.opened.take() {
        Some(source) => source,
        None => Source::open(&plan.input).map_err(failed)?,
    };
    let whole = source.all(LARGEST_DOCUMENT).map_err(failed)?;
    let whole = whole.ok_or_else(|| {
        refused("a document of more than 512 MiB is not read; ask for one namespace".to_owned())
    })?;
    // What a snapshot says holds when it was made.
    let at_us = made_us(&plan.input).unwrap_or(now_us);
    let events = match format {
        Format::TargetHealth => target_health::read(&whole, at_us),
        _ => kubernetes::read(&whole, Some(at_us)),
    };
    events.map_err(|error| refused(error.to_string()))
}

fn widened(span: Option<(i64, i64)>, by: (i64, i64)) -> Option<(i64, i64)> {
    Some(span.map_or(by, |(first, last)| (first.min(by.0), last.max(by.1))))
}

/// When a file was written, in µs.
fn made_us(input: &Input) -> Option<i64> {
    let Input::File(path) = input else { return None };
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    jiff::Timestamp::try_from(modified).ok().map(jiff::Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::Context;
    use crate::cli::logs::plan::{self, Wanted};
    use crate::cli::term::{Term, TermOptions};

    #[test]
    fn a_worker_that_panics_ends_the_command_with_the_files_name() {
        let names = ["a", "b"].map(|name| {
            let name = format!("quorate-logs-{name}-{}", std::process::id());
            std::env::temp_dir().join(name)
        });
        let line =
            "203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ua\"\n";
        std::fs::write(&names[0], line.repeat(30_000)).unwrap();
        std::fs::write(&names[1], line.repeat(30_000)).unwrap();
        let inputs: Vec<Input> = names.iter().map(|name| Input::new(name)).collect();
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let settings = Settings::default();
        for broken in [0, 1] {
            let planned = plan::plan(&inputs, &Wanted::Auto, None, &context).unwrap();
            let term = Term::detect(TermOptions::default());
            let mut progress = Progress::new(&term, 2, 0);
            let read_part =
                move |chunk: &[u8], parser: &mut Parser, recipe: &Recipe, set: &Settings| {
                    assert_ne!(recipe.info.id, broken, "on purpose");
                    part::read(chunk, parser, recipe, set)
                };
            let stop = AtomicBool::new(false);
            let ended = read_with(&read_part, planned, &settings, 0, &mut progress, &stop);
            let Err(why) = ended else { panic!("a panic looks like an end") };
            let name = names[broken as usize].display().to_string();
            assert!(why.to_string().starts_with(&name), "{why}");
        }
        names.iter().for_each(|name| std::fs::remove_file(name).unwrap());
    }
}
