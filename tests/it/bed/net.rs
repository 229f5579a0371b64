//! Hosts that are network namespaces, on one switch that can cut pairs of them apart or lose what they say.
//!
//! ```text
//!   a b c d (agents)   db  c1 c2 (coordinators)  door (balancer)  target  world  desk (the test)
//!   └─┴─┴─┴──────────────┴───┴──┴──────────────────┴────────────────┴───────┴──────┴──┐
//!                                   hub: a bridge, with the rules                      │
//!                                   far: a router ── delay line ── e (agent)  ─────────┘
//! ```

use std::{
    fs::{self, File},
    io::Write,
    net::Ipv4Addr,
    path::Path,
    process::{Command, Stdio},
    thread::JoinHandle,
};

use nix::sched::{CloneFlags, setns};

pub(crate) const DESK: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const DATABASE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 10);
pub(crate) const COORDINATORS: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 77, 0, 11), Ipv4Addr::new(10, 77, 0, 12)];
pub(crate) const DOOR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 13);
pub(crate) const TARGET: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 20);
/// Who hears of incidents, the name server, and what is always up.
pub(crate) const WORLD: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 30);
/// The name server: another address of the world's.
pub(crate) const NAMES: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 31);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 50);
/// The agents, by the names of their locations. The last one is far away.
pub(crate) const AGENTS: [(&str, Ipv4Addr); 5] = [
    ("a", Ipv4Addr::new(10, 77, 1, 1)),
    ("b", Ipv4Addr::new(10, 77, 1, 2)),
    ("c", Ipv4Addr::new(10, 77, 1, 3)),
    ("d", Ipv4Addr::new(10, 77, 1, 4)),
    ("e", Ipv4Addr::new(10, 78, 0, 5)),
];
/// One way to the far agent, in milliseconds, and how much it varies.
const DISTANCE: (u32, u32) = (60, 5);
/// Losses in percent that a pair may have, each way.
const LOSSES: [u32; 2] = [5, 30];

/// The address that the target answers on for one row of the drill. A network of its own each, so that what
/// fails in one row has nothing in common with what fails in another.
pub(crate) fn place(row: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 80, row, 1)
}

/// Two hosts that talk to each other.
pub(crate) type Pair = (Ipv4Addr, Ipv4Addr);

/// The namespaces of one test; they go with this value.
pub(crate) struct Net {
    prefix: String,
    line: Option<std::process::Child>,
}

impl Net {
    /// Makes all of it, or says why that is not possible here.
    pub(crate) fn build() -> Result<Self, String> {
        for program in ["ip", "nft", "setpriv", "python3", "cc"] {
            if !installed(program) {
                return Err(format!("{program} is not installed (scripts/setup test installs it)"));
            }
        }
        if !nix::unistd::geteuid().is_root() {
            return Err("network namespaces need root".to_owned());
        }
        if File::options().read(true).write(true).open("/dev/net/tun").is_err() {
            return Err("/dev/net/tun cannot be opened".to_owned());
        }
        sweep();
        let mut net = Self { prefix: format!("qb{}-", std::process::id()), line: None };
        ip(&["netns", "add", &net.name("hub")])?;
        net.switch();
        let near = AGENTS[..4].iter().copied();
        let [one, two] = COORDINATORS;
        let others = [
            ("desk", DESK),
            ("db", DATABASE),
            ("c1", one),
            ("c2", two),
            ("door", DOOR),
            ("target", TARGET),
            ("world", WORLD),
            ("far", FAR),
        ];
        for (host, address) in others.into_iter().chain(near) {
            net.plug_in(host, address);
        }
        net.lengthen();
        Ok(net)
    }

    fn name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }

    fn switch(&self) {
        self.ip_in("hub", &["link add br0 type bridge", "link set br0 up", "link set lo up"]);
        let mut rules = "table bridge bed {\n set cut { type ipv4_addr . ipv4_addr; }\n".to_owned();
        rules += " set dead { type ipv4_addr; }\n";
        for percent in LOSSES {
            rules += &format!(" set lose{percent} {{ type ipv4_addr . ipv4_addr; }}\n");
        }
        rules += " chain pass {\n  type filter hook forward priority 0; policy accept;\n  ip saddr . ip daddr @cut drop\n  ip saddr @dead drop\n  ip daddr @dead drop\n";
        for percent in LOSSES {
            rules += &format!(
                "  ip saddr . ip daddr @lose{percent} numgen random mod 100 < {percent} drop\n"
            );
        }
        self.nft(&(rules + " }\n}\n"));
    }

    fn plug_in(&self, host: &str, address: Ipv4Addr) {
        let (name, hub) = (self.name(host), self.name("hub"));
        must(ip(&["netns", "add", &name]));
        let port = format!("to-{host}");
        must(ip(&[
            "link", "add", &port, "netns", &hub, "type", "veth", "peer", "name", "eth0", "netns",
            &name,
        ]));
        self.ip_in("hub", &[&format!("link set {port} master br0 up")]);
        self.ip_in(
            host,
            &[
                "link set lo up",
                &format!("addr add {address}/16 dev eth0"),
                "link set eth0 up",
                &format!("route add 10.80.0.0/16 via {TARGET}"),
                &format!("route add 10.78.0.0/16 via {FAR}"),
            ][..if address == TARGET || address == FAR { 3 } else { 5 }],
        );
        if address == WORLD {
            self.ip_in(host, &[&format!("addr add {NAMES}/16 dev eth0")]);
        }
        if address == TARGET {
            let home = "route add local 10.80.0.0/16 dev lo";
            self.ip_in(host, &[home, &format!("route add 10.78.0.0/16 via {FAR}")]);
        }
    }

    /// The last agent, at the other end of a long line.
    fn lengthen(&mut self) {
        let (host, address) = AGENTS[4];
        must(ip(&["netns", "add", &self.name(host)]));
        let pid = std::process::id();
        let (near, distant) = (format!("q{pid}n"), format!("q{pid}f"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bed/delay_line.py");
        let mut line = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "python3"])
            .arg(script)
            .args([&self.name("far"), &near, &self.name(host), &distant])
            .args([DISTANCE.0.to_string(), DISTANCE.1.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut out = std::io::BufReader::new(line.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
        assert_eq!(said, "ready\n", "the delay line did not start");
        self.line = Some(line);
        self.ip_in(
            "far",
            &[
                &format!("route add {address}/32 dev {near}"),
                &format!("route add 10.80.0.0/16 via {TARGET}"),
            ],
        );
        self.ip_in(
            host,
            &[
                "link set lo up",
                &format!("addr add {address}/32 dev {distant}"),
                &format!("route add default dev {distant}"),
            ],
        );
        let forward = [
            "netns",
            "exec",
            &self.name("far"),
            "sh",
            "-c",
            "echo 1 > /proc/sys/net/ipv4/ip_forward",
        ];
        must(ip(&forward));
    }

    /// Nothing passes between these any more.
    pub(crate) fn cut(&self, pairs: &[Pair]) {
        self.nft(&format!("add element bridge bed cut {{ {} }}\n", both_ways(pairs)));
    }

    pub(crate) fn mend(&self, pairs: &[Pair]) {
        self.nft(&format!("delete element bridge bed cut {{ {} }}\n", both_ways(pairs)));
    }

    /// Whatever these say or are told is lost: a line that is dead behind the first router.
    pub(crate) fn kill_lines(&self, hosts: &[Ipv4Addr]) {
        self.nft(&format!("add element bridge bed dead {{ {} }}\n", listed(hosts)));
    }

    pub(crate) fn revive_lines(&self, hosts: &[Ipv4Addr]) {
        self.nft(&format!("delete element bridge bed dead {{ {} }}\n", listed(hosts)));
    }

    /// Of what these say to each other, so much is lost each way. One of 5 and 30.
    pub(crate) fn lose(&self, percent: u32, pairs: &[Pair]) {
        self.nft(&format!("add element bridge bed lose{percent} {{ {} }}\n", both_ways(pairs)));
    }

    pub(crate) fn lose_nothing(&self, percent: u32, pairs: &[Pair]) {
        self.nft(&format!("delete element bridge bed lose{percent} {{ {} }}\n", both_ways(pairs)));
    }

    /// A program on that host. It dies with the thread that starts it.
    pub(crate) fn command(&self, host: &str, program: &str) -> tokio::process::Command {
        let mut command = tokio::process::Command::new("setpriv");
        let name = self.name(host);
        command.args(["--pdeathsig", "KILL", "ip", "netns", "exec", &name, program]);
        command.kill_on_drop(true);
        command
    }

    /// The way onto that host for parts of the test.
    pub(crate) fn enter(&self, host: &str) -> Namespace {
        let file = File::open(format!("/run/netns/{}", self.name(host))).unwrap();
        Namespace { host: host.to_owned(), file }
    }

    fn ip_in(&self, host: &str, lines: &[&str]) {
        let name = self.name(host);
        must(feed(
            Command::new("ip").args(["-n", &name, "-batch", "-"]),
            &(lines.join("\n") + "\n"),
        ));
    }

    fn nft(&self, rules: &str) {
        let name = self.name("hub");
        must(feed(Command::new("ip").args(["netns", "exec", &name, "nft", "-f", "-"]), rules));
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            let _ = line.kill();
            let _ = line.wait();
        }
        remove(&self.prefix);
    }
}

/// One host's network.
pub(crate) struct Namespace {
    host: String,
    file: File,
}

impl Namespace {
    /// A thread on the host: whatever it opens, and whatever threads and processes it starts, are there too.
    pub(crate) fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let thread = std::thread::Builder::new().name(self.host);
        let entered = move || {
            setns(self.file, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        };
        thread.spawn(entered).unwrap()
    }

    /// The same for what waits, on a runtime of its own.
    pub(crate) fn run<T: Send + 'static, F: Future<Output = T>>(
        self,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> JoinHandle<T> {
        self.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(work())
        })
    }
}

/// Removes what tests left that were killed.
fn sweep() {
    let Ok(entries) = fs::read_dir("/run/netns") else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("qb").and_then(|rest| rest.split_once('-'));
        if let Some((pid, _)) = pid.filter(|(pid, _)| pid.parse::<u32>().is_ok())
            && !Path::new("/proc").join(pid).exists()
        {
            remove(&format!("qb{pid}-"));
        }
    }
}

/// Ends what runs in the namespaces that begin so, and removes them.
fn remove(prefix: &str) {
    let Ok(entries) = fs::read_dir("/run/netns") else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(prefix) {
            continue;
        }
        let inside = Command::new("ip").args(["netns", "pids", &name]).output();
        let inside = inside.map(|output| output.stdout).unwrap_or_default();
        for pid in String::from_utf8_lossy(&inside).lines().filter_map(|line| line.parse().ok()) {
            // This very process is in some of them, by its threads.
            if pid != std::process::id().cast_signed() {
                let pid = nix::unistd::Pid::from_raw(pid);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
        }
        let _ = ip(&["netns", "del", &name]);
    }
}

fn listed(hosts: &[Ipv4Addr]) -> String {
    hosts.iter().map(Ipv4Addr::to_string).collect::<Vec<_>>().join(", ")
}

fn both_ways(pairs: &[Pair]) -> String {
    let ways = pairs.iter().map(|(one, two)| format!("{one} . {two}, {two} . {one}"));
    ways.collect::<Vec<_>>().join(", ")
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn ip(args: &[&str]) -> Result<(), String> {
    feed(Command::new("ip").args(args), "")
}

/// Runs it with this input; the error is what it said.
fn feed(command: &mut Command, input: &str) -> Result<(), String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let mut stdin = child.stdin.take().unwrap();
    // What ends early says why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{command:?} failed: {said}\n{input}"))
}

fn must(done: Result<(), String>) {
    done.unwrap_or_else(|why| panic!("{why}"));
}
