//! The shipper and a real coordinator: every line of every file counts once, through rotation, packing,
//! restarts and files that end in the middle of a line.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use clap::Parser;
use quorate::{
    clock::Clock,
    config::{ShipConfig, ShipTiming},
    shipper,
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::support::whole::{Whole, until};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    config: ShipConfig,
}

/// A coordinator with a fleet, and a folder of logs.
struct Yard {
    whole: Whole,
    fleet: String,
    secret: String,
}

/// A shipper of this process.
struct Running {
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

impl Yard {
    async fn start(name: &str) -> Self {
        let whole = Whole::start(name).await;
        let fleet = whole.client.post("fleets", json!({ "name": "shop" })).await;
        let fleet = fleet["id"].as_str().unwrap().to_owned();
        let path = format!("fleets/{fleet}/shippers");
        let shipper = whole.client.post(&path, json!({ "name": "lb-1" })).await;
        let secret = shipper["secret"].as_str().unwrap().to_owned();
        Self { whole, fleet, secret }
    }

    fn log(&self) -> PathBuf {
        self.whole.folder.path().join("access.log")
    }

    fn ship(&self, more: &[&str]) -> Running {
        self.ship_to(self.whole.coordinators[0].url.as_str(), more)
    }

    fn ship_to(&self, url: &str, more: &[&str]) -> Running {
        let log = self.log();
        let dir = self.whole.folder.path().join("ship");
        let args = [
            "ship",
            "--coordinator-url",
            url,
            "--token",
            &self.secret,
            "--fleet",
            "shop",
            "--source",
            "lb-1",
            "--state-dir",
            dir.to_str().unwrap(),
            log.to_str().unwrap(),
        ];
        let mut config = Command::parse_from(args.iter().chain(more)).config;
        let often = Duration::from_millis(20);
        config.timing = ShipTiming {
            poll: often,
            linger: often * 5,
            backoff: (often, often * 5),
            ..ShipTiming::default()
        };
        let stop = CancellationToken::new();
        let running = tokio::spawn(shipper::run(config, Clock::system(), stop.clone()));
        Running { stop, running }
    }

    async fn source(&self) -> Option<Value> {
        let path = format!("fleets/{}/sources", self.fleet);
        let sources = self.whole.client.get(&path).await;
        sources["items"].as_array()?.first().cloned()
    }

    /// Waits until so many lines were read, and looks whether there are no more and none was refused.
    async fn has(&self, lines: u64) {
        let source = until("all lines are in", async || {
            self.source().await.filter(|source| source["lines"].as_u64() >= Some(lines))
        })
        .await;
        assert_eq!((&source["lines"], &source["rejected"]), (&json!(lines), &json!(0)), "{source}");
    }
}

impl Running {
    async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

/// The way to the coordinator, which can be closed.
struct Gate {
    url: String,
    open: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
}

impl Gate {
    async fn before(yard: &Yard) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (open, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let behind = yard.whole.coordinators[0].url.to_string();
        let behind = behind.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let gate = Self { url, open: open.clone(), refused: refused.clone() };
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                if !open.load(Ordering::SeqCst) {
                    refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let (behind, open) = (behind.clone(), open.clone());
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(behind).await.unwrap();
                    let shut = async {
                        while open.load(Ordering::SeqCst) {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
                        () = shut => {}
                    }
                });
            }
        });
        gate
    }

    fn set_open(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
    }

    /// Waits until the shipper has found it closed.
    async fn tried(&self) {
        until("the shipper tries in vain", async || {
            (self.refused.load(Ordering::SeqCst) > 0).then_some(())
        })
        .await;
    }
}

/// What logrotate does: the present file becomes `.1`, and what was that is packed.
fn rotate(log: &Path, packed_as: &str) {
    let first = log.with_extension("log.1");
    if first.exists() {
        pack(&first, &log.with_extension(packed_as));
        fs::remove_file(&first).unwrap();
    }
    fs::rename(log, &first).unwrap();
}

/// Packs a file and keeps its time, as gzip does.
fn pack(from: &Path, to: &Path) {
    let mut packer =
        flate2::write::GzEncoder::new(File::create(to).unwrap(), flate2::Compression::fast());
    packer.write_all(&fs::read(from).unwrap()).unwrap();
    let modified = from.metadata().unwrap().modified().unwrap();
    packer.finish().unwrap().set_modified(modified).unwrap();
}

/// Lines of a balancer, numbered from `from` on, which end now.
fn lines(from: usize, count: usize) -> String {
    let now = Clock::system().now().strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    (from..from + count)
        .map(|n| {
            format!(
                "203.0.113.7 - - [{now}] \"GET /p/{n} HTTP/1.1\" 200 512 \"-\" \"ua/1\" 310 0.012 [shop] [] 10.9.0.11:8080 512 0.012 200 r{n}\n"
            )
        })
        .collect()
}

fn append(path: &Path, text: &str) {
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[tokio::test]
async fn lines_count_once_through_rotation_packing_and_restarts() {
    let yard = Yard::start("ship-rotation").await;
    let (log, first) = (yard.log(), yard.log().with_extension("log.1"));
    append(&log, &lines(0, 100));
    let ship = yard.ship(&[]);
    yard.has(100).await;
    append(&log, &lines(100, 50));
    fs::rename(&log, &first).unwrap();
    append(&log, &lines(150, 30));
    yard.has(180).await;
    ship.stop().await;
    // While nobody looks: more in the present file, which is then rotated and packed, and a new one.
    append(&log, &lines(180, 20));
    let text = fs::read(&log).unwrap();
    let packed = log.with_extension("log.2.gz");
    let mut packer =
        flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::fast());
    packer.write_all(&text).unwrap();
    packer.finish().unwrap();
    fs::remove_file(&log).unwrap();
    append(&log, &lines(200, 10));
    let ship = yard.ship(&[]);
    yard.has(210).await;
    ship.stop().await;
    let ship = yard.ship(&[]);
    append(&log, &lines(210, 5));
    yard.has(215).await;
    ship.stop().await;
}

#[tokio::test]
async fn a_coordinator_that_is_away_for_several_rotations_misses_nothing() {
    let yard = Yard::start("ship-away").await;
    let gate = Gate::before(&yard).await;
    let log = yard.log();
    append(&log, &lines(0, 100));
    let ship = yard.ship_to(&gate.url, &[]);
    yard.has(100).await;
    gate.set_open(false);
    append(&log, &lines(100, 50));
    gate.tried().await;
    for n in 0..4 {
        rotate(&log, &format!("log.{n}.gz"));
        append(&log, &lines(150 + n * 40, 40));
    }
    gate.set_open(true);
    yard.has(310).await;
    // The same while the shipper is away as well: it finds all of it at its next start.
    ship.stop().await;
    for n in 4..8 {
        append(&log, &lines(310 + n * 10, 10));
        rotate(&log, &format!("log.{n}.gz"));
        append(&log, &lines(400 + n * 20, 20));
    }
    let ship = yard.ship_to(&gate.url, &[]);
    yard.has(430).await;
    rotate(&log, "log.8.gz");
    append(&log, &lines(600, 1));
    yard.has(431).await;
    ship.stop().await;
}

#[tokio::test]
async fn what_lay_there_before_is_not_sent_whatever_becomes_of_it() {
    let yard = Yard::start("ship-before").await;
    let log = yard.log();
    append(&log.with_extension("log.1"), &lines(0, 30));
    append(&log, &lines(30, 10));
    let ship = yard.ship(&[]);
    yard.has(10).await;
    // Packed without keeping its time, so that it looks as new as what comes now.
    let first = log.with_extension("log.1");
    pack(&first, &log.with_extension("log.2.gz"));
    let now = std::time::SystemTime::from(Clock::system().now());
    File::options()
        .append(true)
        .open(log.with_extension("log.2.gz"))
        .unwrap()
        .set_modified(now)
        .unwrap();
    fs::remove_file(&first).unwrap();
    rotate(&log, "");
    append(&log, &lines(40, 5));
    yard.has(15).await;
    ship.stop().await;
    // All of it, where that is wanted.
    let all = Yard::start("ship-backfill").await;
    append(&all.log().with_extension("log.1"), &lines(0, 30));
    append(&all.log(), &lines(30, 10));
    let ship = all.ship(&["--backfill"]);
    all.has(40).await;
    ship.stop().await;
}

#[tokio::test]
async fn of_hundreds_of_older_files_each_counts_once() {
    let yard = Yard::start("ship-hundreds").await;
    let log = yard.log();
    for n in 0..130 {
        append(&log.with_extension(format!("log.{}", n + 2)), &lines(n * 2, 2));
    }
    append(&log, &lines(1_000, 1));
    let ship = yard.ship(&["--backfill"]);
    yard.has(261).await;
    rotate(&log, "");
    append(&log, &lines(1_001, 1));
    yard.has(262).await;
    ship.stop().await;
    let ship = yard.ship(&["--backfill"]);
    append(&log, &lines(1_002, 1));
    yard.has(263).await;
    ship.stop().await;
}

#[tokio::test]
async fn a_file_that_is_still_being_packed_is_not_taken_for_another() {
    let yard = Yard::start("ship-packing").await;
    let log = yard.log();
    append(&log, &lines(0, 400));
    let ship = yard.ship(&[]);
    yard.has(400).await;
    rotate(&log, "");
    let first = log.with_extension("log.1");
    pack(&first, &log.with_extension("whole"));
    let whole = fs::read(log.with_extension("whole")).unwrap();
    fs::remove_file(log.with_extension("whole")).unwrap();
    let packed = log.with_extension("log.2.gz");
    // Not enough to tell what it begins with, then more, then all.
    for (n, part) in [12, 40, whole.len() - 30].into_iter().enumerate() {
        fs::write(&packed, &whole[..part]).unwrap();
        append(&log, &lines(400 + n, 1));
        rotate(&log, &format!("log.5{n}.gz"));
        append(&log, &lines(500 + n, 1));
    }
    fs::write(&packed, &whole).unwrap();
    append(&log, &lines(600, 1));
    yard.has(407).await;
    ship.stop().await;
    let ship = yard.ship(&[]);
    append(&log, &lines(700, 1));
    yard.has(408).await;
    ship.stop().await;
}

#[tokio::test]
async fn a_file_that_is_copied_and_emptied_is_another_file() {
    let yard = Yard::start("ship-truncation").await;
    let log = yard.log();
    append(&log, &lines(0, 40));
    let ship = yard.ship(&[]);
    yard.has(40).await;
    ship.stop().await;
    append(&log, &lines(40, 10));
    fs::copy(&log, log.with_extension("log.1")).unwrap();
    File::create(&log).unwrap();
    append(&log, &lines(50, 7));
    let ship = yard.ship(&[]);
    yard.has(57).await;
    ship.stop().await;
}

#[tokio::test]
async fn the_last_line_counts_without_its_end_once_the_file_is_over() {
    let yard = Yard::start("ship-unfinished").await;
    let log = yard.log();
    append(&log, lines(0, 3).trim_end());
    let ship = yard.ship(&["--once"]);
    ship.running.await.unwrap().unwrap();
    yard.has(3).await;
    let ship = yard.ship(&[]);
    append(&log, &format!("\n{}", lines(3, 2)));
    append(&log, lines(5, 1).trim_end());
    // The line that is being written waits.
    yard.has(5).await;
    fs::rename(&log, log.with_extension("log.1")).unwrap();
    append(&log, &lines(6, 1));
    yard.has(7).await;
    ship.stop().await;
}

#[tokio::test]
async fn a_line_as_long_as_none_is_thrown_away_and_holds_nothing_up() {
    let yard = Yard::start("ship-long").await;
    let log = yard.log();
    append(&log, &lines(0, 2));
    append(&log, &"x".repeat(9 << 20));
    append(&log, &format!("\n{}", lines(2, 2)));
    let ship = yard.ship(&["--once"]);
    ship.running.await.unwrap().unwrap();
    let source = yard.source().await.unwrap();
    assert_eq!(source["accepted"], 4, "{source}");
    assert!(source["rejected"].as_u64().is_some_and(|count| count > 0), "{source}");
}

/// JSON lines with keys of somebody's own, as they are mapped with `--map`.
#[tokio::test]
async fn keys_of_ones_own_reach_the_coordinator_with_what_they_mean() {
    let yard = Yard::start("ship-map").await;
    let (log, map) = (yard.log(), yard.whole.folder.path().join("map"));
    fs::write(&map, "# ours=theirs\ntime=when\nstatus=answer\n").unwrap();
    let now = Clock::system().now();
    let lines = |count: usize, answer: u16| -> String {
        (0..count)
            .map(|n| {
                let line = json!({"when": now.to_string(), "answer": answer, "who": format!("10.9.0.{}:8080", 11 + n % 2), "m": "GET", "p": "/pay"});
                format!("{line}\n")
            })
            .collect()
    };
    append(&log, &lines(60, 200));
    let map = map.to_str().unwrap();
    let more = ["--map", map, "--map", "instance=who", "--map", "method=m", "--map", "target=p"];
    let ship = yard.ship(&more);
    yard.has(60).await;
    append(&log, &lines(40, 503));
    yard.has(100).await;
    ship.stop().await;
    // Once it is known what the keys mean, it need not be said again.
    append(&log, &lines(20, 200));
    let ship = yard.ship(&[]);
    yard.has(120).await;
    ship.stop().await;
    let source = yard.source().await.unwrap();
    assert_eq!(source["format"], "generic-json", "{source}");
    assert_eq!(source["mapping"]["instance"], "who", "{source}");
    let to = Clock::system().now() + jiff::SignedDuration::from_secs(60);
    let path = format!("fleets/{}/instances?to={to}", yard.fleet);
    let instances = yard.whole.client.get(&path).await;
    let counts: Vec<_> = instances["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["instance"].as_str().unwrap(), one["attempts"].as_u64(), one["errors"].as_u64())
        })
        .collect();
    assert_eq!(
        counts,
        [("10.9.0.11:8080", Some(60), Some(20)), ("10.9.0.12:8080", Some(60), Some(20))]
    );
    let routes = yard.whole.client.get(&format!("fleets/{}/routes?to={to}", yard.fleet)).await;
    assert_eq!(routes["items"][0]["route"], "GET /pay", "{routes}");
}
