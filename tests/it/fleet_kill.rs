//! Lines flow from files that rotate into a fleet's sums, while the shipper, the coordinator and the
//! database are killed one after the other. In the end the sums are exact.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use quorate::clock::Clock;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{dice::Dice, scratch::Scratch};

const INSTANCES: u64 = 5;
const KILLS: usize = 30;
/// Files are rotated after so many lines, and the one before is packed.
const ROTATE: u64 = 400_000;

#[test]
#[ignore = "takes minutes: make drill"]
fn drill_no_line_is_lost_or_doubled_while_everything_is_killed() {
    let lines: u64 = std::env::var("QUORATE_KILL_LINES")
        .map_or(5_000_000, |text| text.parse().expect("QUORATE_KILL_LINES is a number"));
    let scratch = Scratch::new("kill");
    let mut world = World::start(scratch.path());
    let from = Clock::system().now() - jiff::SignedDuration::from_mins(80);
    let log = scratch.path().join("access.log");
    File::create(&log).unwrap();
    let writer = thread::spawn({
        let log = log.clone();
        move || write_lines(&log, lines, from)
    });
    world.ship(&log);
    let mut dice = Dice::new(20_261_130);
    for n in 0..KILLS {
        thread::sleep(Duration::from_millis(500 + dice.below(2_500)));
        match dice.below(3) {
            0 => world.kill_shipper(&log),
            1 => world.kill_coordinator(),
            _ => world.kill_database(),
        }
        match world.lines() {
            Some(lines) => eprintln!("{} of {KILLS}: {lines} lines are in", n + 1),
            None => eprintln!("{} of {KILLS}: the coordinator does not answer now", n + 1),
        }
    }
    let wanted = writer.join().unwrap();
    world.wait_for(lines);
    let got = world.sums(from);
    assert_eq!(got, wanted, "attempts and errors by instance");
    let source = &world.get(&format!("fleets/{}/sources", world.fleet)).unwrap()["items"][0];
    assert_eq!((&source["lines"], &source["rejected"]), (&json!(lines), &json!(0)), "{source}");
}

/// Attempts and errors by instance, in the order of their names.
type Sums = Vec<(String, u64, u64)>;

/// Writes and rotates; gives what it wrote.
fn write_lines(log: &Path, lines: u64, from: jiff::Timestamp) -> Sums {
    let mut sums: Sums = (0..INSTANCES).map(|n| (format!("10.9.0.{n}:8080"), 0, 0)).collect();
    let mut out = BufWriter::new(File::options().append(true).open(log).unwrap());
    let span = 75 * 60;
    let began = Instant::now();
    for n in 0..lines {
        let at = from + jiff::SignedDuration::from_secs(i64::try_from(n * span / lines).unwrap());
        let stamp = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
        let who = (n * 7 + n / 3) % INSTANCES;
        let bad = n % 101 == 0;
        let status = if bad { 502 } else { 200 };
        let entry = &mut sums[usize::try_from(who).unwrap()];
        entry.1 += 1;
        entry.2 += u64::from(bad);
        writeln!(
            out,
            "203.0.113.{} - - [{stamp}] \"GET /p/{} HTTP/1.1\" {status} 512 \"-\" \"ua/1\" 310 0.0{} [shop] [] {} 512 0.0{} {status} r{n}",
            n % 250, n % 40, 10 + n % 80, entry.0, 10 + n % 80
        )
        .unwrap();
        if n % ROTATE == ROTATE - 1 {
            out.flush().unwrap();
            rotate(log, n / ROTATE);
            out = BufWriter::new(File::options().create(true).append(true).open(log).unwrap());
        }
        // About a minute in all, so that the kills fall into it.
        if n % 10_000 == 0 {
            let due = Duration::from_secs_f64(60.0 * n as f64 / lines as f64);
            thread::sleep(due.saturating_sub(began.elapsed()));
        }
    }
    out.flush().unwrap();
    sums
}

/// The present file becomes `.1`, and what was `.1` is packed, as logrotate does with delaycompress.
fn rotate(log: &Path, n: u64) {
    let first = log.with_extension("log.1");
    if first.exists() {
        let packed = log.with_extension(format!("log.{}.gz", n + 2));
        let text = fs::read(&first).unwrap();
        let modified = first.metadata().unwrap().modified().unwrap();
        let mut packer = flate2::write::GzEncoder::new(
            File::create(&packed).unwrap(),
            flate2::Compression::fast(),
        );
        packer.write_all(&text).unwrap();
        packer.finish().unwrap().set_modified(modified).unwrap();
        fs::remove_file(&first).unwrap();
    }
    fs::rename(log, &first).unwrap();
}

/// One `quorate up` and one `quorate ship`, as processes.
struct World {
    dir: PathBuf,
    port: u16,
    runtime: tokio::runtime::Runtime,
    client: Client,
    token: String,
    fleet: String,
    shipper_token: String,
    up: Child,
    ship: Option<Child>,
}

impl World {
    fn start(dir: &Path) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let up = spawn_up(dir, port);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let token = || fs::read_to_string(dir.join("data/admin.token")).ok();
        let mut world = Self {
            dir: dir.to_owned(),
            port,
            runtime: tokio::runtime::Runtime::new().unwrap(),
            client,
            token: String::new(),
            fleet: String::new(),
            shipper_token: String::new(),
            up,
            ship: None,
        };
        until("the coordinator serves", 120, || {
            world.token = token()?.trim().to_owned();
            world.get("fleets")
        });
        let fleet = world.post("fleets", &json!({ "name": "shop" }));
        world.fleet = fleet["id"].as_str().unwrap().to_owned();
        let path = format!("fleets/{}/shippers", world.fleet);
        let shipper = world.post(&path, &json!({ "name": "lb-1" }));
        world.shipper_token = shipper["secret"].as_str().unwrap().to_owned();
        world
    }

    fn ship(&mut self, log: &Path) {
        let child = quorate()
            .args(["ship", "--fleet", &self.fleet, "--source", "lb-1"])
            .args(["--coordinator-url", &format!("http://127.0.0.1:{}", self.port)])
            .arg("--state-dir")
            .arg(self.dir.join("ship"))
            .arg(log)
            .env("QUORATE_SHIPPER_TOKEN", &self.shipper_token)
            .stderr(
                File::options().create(true).append(true).open(self.dir.join("ship.log")).unwrap(),
            )
            .spawn()
            .unwrap();
        self.ship = Some(child);
    }

    fn kill_shipper(&mut self, log: &Path) {
        let mut child = self.ship.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        self.ship(log);
    }

    fn kill_coordinator(&mut self) {
        self.up.kill().unwrap();
        self.up.wait().unwrap();
        self.up = spawn_up(&self.dir, self.port);
    }

    /// The server's first process; the others of it end themselves.
    fn kill_database(&self) {
        let file = self.dir.join("data/pg/postmaster.pid");
        let pid = fs::read_to_string(file).ok().and_then(|text| text.lines().next()?.parse().ok());
        if let Some(pid) = pid {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    fn get(&self, path: &str) -> Option<Value> {
        let url = format!("http://127.0.0.1:{}/api/v1/{path}", self.port);
        let (status, body) = self.ask(self.client.get(url)).ok()?;
        (status == 200).then(|| serde_json::from_str(&body).ok()).flatten()
    }

    fn ask(&self, request: RequestBuilder) -> reqwest::Result<(u16, String)> {
        self.runtime.block_on(async {
            let answer = request.bearer_auth(&self.token).send().await?;
            Ok((answer.status().as_u16(), answer.text().await?))
        })
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("http://127.0.0.1:{}/api/v1/{path}", self.port);
        let (status, body) = self.ask(self.client.post(url).json(body)).unwrap();
        assert!(status == 200 || status == 201, "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn lines(&self) -> Option<u64> {
        let sources = self.get(&format!("fleets/{}/sources", self.fleet))?;
        sources["items"][0]["lines"].as_u64()
    }

    fn wait_for(&self, lines: u64) {
        until("all lines are in", 900, || (self.lines()? >= lines).then_some(()));
    }

    fn sums(&self, from: jiff::Timestamp) -> Sums {
        let path = format!(
            "fleets/{}/instances?from={}&to={}",
            self.fleet,
            from - jiff::SignedDuration::from_mins(2),
            from + jiff::SignedDuration::from_mins(80)
        );
        let answer = until("the sums are read", 60, || self.get(&path));
        let mut sums: Sums = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| {
                let number = |name: &str| i[name].as_u64().unwrap();
                (i["instance"].as_str().unwrap().to_owned(), number("attempts"), number("errors"))
            })
            .collect();
        sums.sort();
        sums
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(ship) = &mut self.ship {
            let _ = ship.kill();
            let _ = ship.wait();
        }
        // Stops the database as well.
        let pid = Pid::from_raw(i32::try_from(self.up.id()).unwrap());
        let _ = kill(pid, Signal::SIGTERM);
        let _ = self.up.wait();
    }
}

fn spawn_up(dir: &Path, port: u16) -> Child {
    quorate()
        .args(["up", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
        .arg(dir.join("data"))
        .stdout(File::options().create(true).append(true).open(dir.join("up.out")).unwrap())
        .stderr(File::options().create(true).append(true).open(dir.join("up.log")).unwrap())
        .spawn()
        .unwrap()
}

fn quorate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn until<T>(what: &str, seconds: u64, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < Duration::from_secs(seconds), "{what}: not within {seconds} s");
        thread::sleep(Duration::from_millis(100));
    }
}
