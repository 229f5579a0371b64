//! The shipper and a real coordinator: every line of every file counts once, through rotation, packing,
//! restarts and files that end in the middle of a line.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Parser;
use quorate::{
    clock::Clock,
    config::{ShipConfig, ShipTiming},
    shipper,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
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
        let (url, log) = (self.whole.coordinators[0].url.to_string(), self.log());
        let dir = self.whole.folder.path().join("ship");
        let args = [
            "ship",
            "--coordinator-url",
            &url,
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
