//! The test bed: every part of the product a process on a host of its own, with a real network between them
//! that can be cut. [`net`] has the hosts, [`rows`] what is done to them.

mod door;
mod ears;
mod facts;
mod net;
mod process;
mod rows;
mod target;
mod trial;

use std::{net::SocketAddr, path::PathBuf, process::Command, time::Duration};

use quorate::{store::MIGRATOR, up::postgres};
use serde_json::json;
use sqlx::{PgPool, postgres::PgPoolOptions};
use tokio::{
    net::{TcpListener, UdpSocket},
    sync::Mutex,
};

use self::{
    ears::Ears,
    facts::Row,
    net::{AGENTS, COORDINATORS, DATABASE, DOOR, NAMES, Net, Pair, WORLD, place},
    process::{Process, log_folder},
    target::{Served, Target},
};
use crate::support::{
    db::storms_from,
    delivery::KEY,
    scratch::Scratch,
    targets::{Authority, NOW, Say, dns_on},
    whole::{Client, admit_client_to, plain_client, until},
};

/// Region and domain of each agent's location, in the order of [`AGENTS`].
const PLACES: [(&str, &str); 5] =
    [("eu", "P1"), ("eu", "P2"), ("us", "P3"), ("us", "P1"), ("ap", "P4")];
/// What every agent may take for always up.
const REFERENCES: [u16; 3] = [7001, 7002, 7003];
/// The name of the one target that is looked up.
const NAMED: &str = "shop.test";
const NAMED_ROW: u8 = 60;
/// Whose wall clock is an hour ahead.
const CLOCK_AHEAD: &str = "b";
/// So many monitors of a target that stays well: what fails in the rows must stay a small part.
const QUIET: usize = 45;

/// Everything, running. What is declared first goes first.
struct Bed {
    agents: Vec<Process>,
    coordinators: [Mutex<Process>; 2],
    pool: PgPool,
    database: Mutex<Option<postgres::Postgres>>,
    client: Client,
    ears: Ears,
    authority: Authority,
    logs: PathBuf,
    folder: Scratch,
    net: Net,
}

/// Runs one drill on the test's own host and judges its rows, or says why it cannot.
#[expect(clippy::print_stderr, reason = "a drill that does not take place says so")]
fn drill<F: Future<Output = Vec<Row>>>(
    name: &'static str,
    play: impl FnOnce(Bed) -> F + Send + 'static,
) {
    let net = match Net::build() {
        Ok(net) => net,
        Err(why) => return eprintln!("SKIPPED the {name} drill: {why}"),
    };
    let desk = net.enter("desk");
    let played = desk.run(async move || play(Bed::start(net, name).await).await);
    match played.join() {
        Ok(rows) => facts::judge(name, &rows),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Bed {
    async fn start(net: Net, name: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = Scratch::new("bed");
        let logs = log_folder(name);
        let authority = Authority::root("Bed Root");
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        std::fs::write(
            folder.path().join("hba.conf"),
            "local all all trust\nhost all all 10.77.0.0/16 trust\n",
        )
        .unwrap();
        let database = start_database(&net, &folder);
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .acquire_timeout(Duration::from_secs(30))
            .connect_lazy_with(database.options(postgres::DATABASE));
        MIGRATOR.run(&pool).await.unwrap();
        admit_client_to(&pool).await;
        storms_from(&pool, 0).await;
        let ears = Ears::default();
        serve_world(&net, ears.clone());
        net.enter("door").run(async || {
            door::serve(TcpListener::bind((DOOR, door::PORT)).await.unwrap()).await;
        });
        let coordinators = [0, 1].map(|which| Mutex::new(start_coordinator(&net, &logs, which)));
        let client = Client::new(format!("http://{DOOR}:{}/", door::PORT).parse().unwrap());
        let database = Mutex::new(Some(database));
        let agents = Vec::new();
        let mut bed = Self {
            agents,
            coordinators,
            pool,
            database,
            client,
            ears,
            authority,
            logs,
            folder,
            net,
        };
        for which in [0, 1] {
            bed.until_ready(which).await;
        }
        let hook = json!({"url": format!("http://{WORLD}:{}/hook", ears::PORT)});
        bed.client
            .post("channels", json!({"name": "ears", "kind": "webhook", "config": hook}))
            .await;
        for (at, (name, _)) in AGENTS.into_iter().enumerate() {
            bed.add_agent(at, name).await;
        }
        bed
    }

    /// Waits until that coordinator takes work.
    async fn until_ready(&self, which: usize) {
        let url = format!("http://{}:{}/readyz", COORDINATORS[which], door::PORT);
        let client = plain_client();
        until("a coordinator is ready", async || {
            let answer = client.get(&url).send().await;
            answer.is_ok_and(|answer| answer.status().is_success()).then_some(())
        })
        .await;
    }

    /// SIGKILL, and a new one in its place; returns when that one takes work.
    async fn replace_coordinator(&self, which: usize) {
        let mut process = self.coordinators[which].lock().await;
        process.kill().await;
        *process = start_coordinator(&self.net, &self.logs, which);
        self.until_ready(which).await;
    }

    async fn add_agent(&mut self, at: usize, name: &str) {
        let (region, domain) = PLACES[at];
        let body = json!({"name": name, "region": region, "domain": domain});
        let location = self.client.post("locations", body).await;
        let made = self.client.post("agents", json!({"location": location["id"]})).await;
        let mut args: Vec<String> = [
            "agent",
            "--insecure-http",
            "--allow-net",
            "10.0.0.0/8",
            "--control-name",
            "control.test",
        ]
        .map(str::to_owned)
        .to_vec();
        args.extend(["--coordinator-url".into(), format!("http://{DOOR}:{}/", door::PORT)]);
        args.extend(["--name-server".into(), format!("{NAMES}:53")]);
        args.extend(["--ca-file".into(), self.folder.path().join("ca.pem").display().to_string()]);
        args.extend(["--spool-dir".into(), self.folder.path().join(name).display().to_string()]);
        for port in REFERENCES {
            args.extend(["--reference".into(), format!("{WORLD}:{port}")]);
        }
        let token = made["secret"].as_str().unwrap().to_owned();
        let mut variables = vec![("QUORATE_AGENT_TOKEN", token)];
        if name == CLOCK_AHEAD {
            variables.push(("LD_PRELOAD", self.clock_ahead().display().to_string()));
            variables.push(("BED_AHEAD", "3600".to_owned()));
        }
        let log = self.logs.join(format!("agent-{name}.log"));
        self.agents.push(Process::start(&self.net, name, &args, &variables, &log));
    }

    /// What sets a process's clock ahead, compiled.
    fn clock_ahead(&self) -> PathBuf {
        let library = self.folder.path().join("clock_ahead.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/bed/clock_ahead.c");
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .args([source, "-ldl"])
            .status();
        assert!(done.unwrap().success(), "{source} does not compile");
        library
    }

    /// Servers on the target's host, one for each row; all of them are well when this returns.
    async fn targets<const N: usize>(&self, rows: [u8; N]) -> [Target; N] {
        let targets = self.target_list(rows).await;
        targets.try_into().unwrap_or_else(|_| unreachable!("as many as there were"))
    }

    async fn target_list(&self, rows: impl IntoIterator<Item = u8>) -> Vec<Target> {
        let made = rows.into_iter();
        let made = made.map(|row| target::target(SocketAddr::from((place(row), 80)), None));
        self.serve(made.collect()).await
    }

    /// A server that speaks TLS at that row's address. Its certificate is valid for half an hour from now.
    async fn tls_target(&self, row: u8) -> Target {
        let known: jiff::Timestamp = NOW.parse().unwrap();
        let now = trial::now().duration_since(known).as_secs();
        let address = place(row).to_string();
        let chain = self.authority.leaf(&[&address], now - 1_800, now + 1_800);
        let tls = chain.acceptor(&[b"http/1.1"]);
        let made = target::target(SocketAddr::from((place(row), 443)), Some(tls));
        self.serve(vec![made]).await.pop().unwrap()
    }

    async fn serve(&self, made: Vec<(Target, Served)>) -> Vec<Target> {
        let (mut targets, mut servers) = (Vec::new(), Vec::new());
        for (target, served) in made {
            targets.push(target);
            servers.push(served.serve());
        }
        self.net.enter("target").run(async move || {
            futures_util::future::join_all(servers).await;
        });
        for target in &targets {
            target.ready().await;
        }
        targets
    }

    async fn stop_database(&self) {
        let database = self.database.lock().await.take().unwrap();
        database.stop().await;
    }

    async fn start_database(&self) {
        *self.database.lock().await = Some(start_database(&self.net, &self.folder));
    }

    /// Nothing of ours runs any more.
    async fn close(self) {
        for mut agent in self.agents {
            assert!(agent.is_running(), "an agent ended; see {}", self.logs.display());
            agent.kill().await;
        }
        for coordinator in self.coordinators {
            coordinator.into_inner().kill().await;
        }
        self.pool.close().await;
        if let Some(database) = self.database.into_inner() {
            database.stop().await;
        }
    }
}

/// The ways from these agents (places in [`AGENTS`]) to these addresses.
fn pairs(agents: &[usize], addresses: &[std::net::Ipv4Addr]) -> Vec<Pair> {
    let ways = agents.iter().flat_map(|agent| addresses.iter().map(|to| (AGENTS[*agent].1, *to)));
    ways.collect()
}

/// A cluster that listens on its host. The first start makes it.
fn start_database(net: &Net, folder: &Scratch) -> postgres::Postgres {
    let hba = folder.path().join("hba.conf");
    let settings = postgres::Settings {
        dir: folder.path().join("db"),
        bin_dir: None,
        server: vec![
            format!("listen_addresses={DATABASE}"),
            format!("hba_file={}", hba.display()),
            "fsync=off".to_owned(),
        ],
    };
    let started = net.enter("db").run(async || postgres::Postgres::start(settings).await);
    started.join().unwrap().unwrap_or_else(|error| panic!("{error}"))
}

fn start_coordinator(net: &Net, logs: &std::path::Path, which: usize) -> Process {
    let host = ["c1", "c2"][which];
    let listen = format!("{}:{}", COORDINATORS[which], door::PORT);
    let public = format!("http://{DOOR}:{}", door::PORT);
    let args = [
        "coordinator",
        "--listen",
        &listen,
        "--public-url",
        &public,
        "--allow-net",
        "10.0.0.0/8",
        "--database-connections",
        "12",
    ];
    let database = format!("postgres://quorate@{DATABASE}/{}?sslmode=disable", postgres::DATABASE);
    let variables = [("QUORATE_DATABASE_URL", database), ("QUORATE_SECRET_KEY", KEY.to_owned())];
    let log = logs.join(format!("coordinator-{host}.log"));
    Process::start(net, host, &args.map(str::to_owned), &variables, &log)
}

/// The receiver of webhooks, the name server, and what is always up.
fn serve_world(net: &Net, ears: Ears) {
    net.enter("world").run(async move || {
        let socket = UdpSocket::bind((NAMES, 53)).await.unwrap();
        let (_, _names) = dns_on(socket, |name, _, _| match name {
            "control.test" => Say::Addresses(vec![WORLD.into()]),
            NAMED => Say::Addresses(vec![place(NAMED_ROW).into()]),
            _ => Say::Nxdomain,
        });
        for port in REFERENCES {
            let listener = TcpListener::bind((WORLD, port)).await.unwrap();
            tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        }
        ears.listen(TcpListener::bind((WORLD, ears::PORT)).await.unwrap()).await;
    });
}
