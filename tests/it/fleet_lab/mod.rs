//! A lab: the real nginx and HAProxy in front of five small back ends, real requests, and one fault after
//! the other. Each must be found, with the right names or as shared, and nothing else.
//!
//! `make drill` runs it. With `QUORATE_LAB_RECORD` set it keeps the logs of each fault in
//! `tests/logs/lab`; with `QUORATE_LAB_ONLY=name` it causes one fault alone.

mod backend;
mod faults;
mod proxies;
mod traffic;
mod verdict;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use quorate::clock::Clock;
use serde::{Deserialize, Serialize};

use crate::support::scratch::Scratch;
use backend::Backend;
use faults::Fault;
use proxies::Proxies;
use traffic::Traffic;

/// Back ends of each lab.
const FLEET: usize = 5;
/// Requests a second through each of the two proxies: 120 attempts an instance and window. A shared fault of
/// one call in twenty is at the edge of what a minute of half as many can tell.
const RATE: f64 = 120.0;
/// Before the fault, so that there is something to compare with.
const WARM: Duration = Duration::from_secs(75);
/// Labs at once: more would make the machine the fault.
const AT_ONCE: usize = 4;

/// The logs of one fault.
const LOGS: [&str; 3] = ["haproxy.log", "nginx.log", "nginx_error.log"];

/// What a run has recorded besides the logs.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    fault: String,
    /// µs since the Unix epoch.
    fault_us: i64,
    healed_us: i64,
    /// Addresses of b1 to b5.
    backends: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes ten minutes and needs nginx and HAProxy: make drill"]
async fn drill_every_fault_is_found_and_nothing_else() {
    let scratch = Scratch::new("lab");
    let mut found = Vec::new();
    let chosen = std::env::var("QUORATE_LAB_ONLY").ok();
    let faults: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| chosen.as_deref().is_none_or(|only| only == fault.name()))
        .collect();
    for batch in faults.chunks(AT_ONCE) {
        let runs = batch.iter().map(|fault| {
            let dir = scratch.path().join(fault.name());
            fs::create_dir(&dir).unwrap();
            tokio::spawn(run(*fault, dir))
        });
        for done in futures_util::future::join_all(runs).await {
            found.push(done.unwrap());
        }
    }
    let mut wrong = Vec::new();
    for (fault, dir) in found {
        match verdict::check(fault, &dir) {
            Ok(words) => eprintln!("{:<20} {words}", fault.name()),
            Err(words) => wrong.push(format!("{}: {words}", fault.name())),
        }
        record(fault, &dir);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What a run of the lab has left in `tests/logs/lab` is read as it was on that day.
#[test]
fn what_the_lab_recorded_is_found_again() {
    let scratch = Scratch::new("lab-again");
    let mut wrong = Vec::new();
    for fault in Fault::ALL {
        let dir = scratch.path().join(fault.name());
        fs::create_dir(&dir).unwrap();
        let from = recorded(fault);
        for name in LOGS {
            let packed = fs::read(from.join(format!("{name}.zst"))).unwrap();
            fs::write(dir.join(name), zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
        }
        fs::copy(from.join("manifest.json"), dir.join("manifest.json")).unwrap();
        match verdict::check(fault, &dir) {
            Ok(words) => eprintln!("{:<20} {words}", fault.name()),
            Err(words) => wrong.push(format!("{}: {words}", fault.name())),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// One fault from beginning to end; gives the folder with its logs.
async fn run(fault: Fault, dir: PathBuf) -> (Fault, PathBuf) {
    let mut backends = Vec::new();
    for n in 0..FLEET {
        backends.push(Backend::start(n, fault.base()).await);
    }
    let addresses: Vec<String> = backends.iter().map(Backend::address).collect();
    let proxies = Proxies::start(&dir, &addresses, fault == Fault::RouteSkew).await;
    let traffic = Traffic::start(proxies.urls(), RATE, fault == Fault::RouteSkew);
    tokio::time::sleep(WARM).await;
    let fault_us = now_us();
    fault.happen(&backends, &proxies).await;
    let healed_us = now_us();
    tokio::time::sleep(Duration::from_secs(15)).await;
    traffic.stop().await;
    proxies.stop().await;
    let manifest =
        Manifest { fault: fault.name().to_owned(), fault_us, healed_us, backends: addresses };
    fs::write(dir.join("manifest.json"), serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    (fault, dir)
}

fn record(fault: Fault, dir: &Path) {
    if std::env::var_os("QUORATE_LAB_RECORD").is_none() {
        return;
    }
    let to = recorded(fault);
    fs::create_dir_all(&to).unwrap();
    for name in LOGS {
        let log = fs::read(dir.join(name)).unwrap();
        let packed = zstd::encode_all(log.as_slice(), 19).unwrap();
        fs::write(to.join(format!("{name}.zst")), packed).unwrap();
    }
    fs::copy(dir.join("manifest.json"), to.join("manifest.json")).unwrap();
}

fn recorded(fault: Fault) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs/lab").join(fault.name())
}

fn now_us() -> i64 {
    Clock::system().now().as_microsecond()
}
