//! The main job, end to end and in real time: a coordinator, agents in three regions and networks, a TLS
//! target that breaks and heals, a mail server and a webhook receiver.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::support::{
    hook_sink::HookSink,
    mail_sink::MailSink,
    scratch::Scratch,
    targets::{Authority, HOME, Say, dns, note_head, ok, write_and_close},
    whole::{Whole, until},
};

const WELL: u8 = 0;
const STATUS: u8 = 1;
const SLOW: u8 = 2;
const REFUSING: u8 = 3;

/// A TLS server whose mood can be changed.
struct Moody {
    address: SocketAddr,
    mood: Arc<AtomicU8>,
    acceptor: tokio_rustls::TlsAcceptor,
    serving: JoinHandle<()>,
}

impl Moody {
    async fn start(authority: &Authority, name: &str) -> Self {
        // By the machine's clock, whenever the test runs.
        let year = 365 * 24 * 3600;
        let acceptor = authority.leaf(&[name], -year, 50 * year).acceptor(&[b"http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mood = Arc::new(AtomicU8::new(WELL));
        let serving = tokio::spawn(serve(listener, acceptor.clone(), mood.clone()));
        Self { address, mood, acceptor, serving }
    }

    async fn be(&mut self, mood: u8) {
        let before = self.mood.swap(mood, Ordering::SeqCst);
        if mood == REFUSING {
            self.serving.abort();
            let _ = (&mut self.serving).await;
        } else if before == REFUSING {
            let listener = TcpListener::bind(self.address).await.unwrap();
            self.serving = tokio::spawn(serve(listener, self.acceptor.clone(), self.mood.clone()));
        }
    }
}

async fn serve(listener: TcpListener, acceptor: tokio_rustls::TlsAcceptor, mood: Arc<AtomicU8>) {
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        open.spawn(answer(stream, acceptor.clone(), mood.load(Ordering::SeqCst)));
    }
}

async fn answer(
    stream: TcpStream,
    acceptor: tokio_rustls::TlsAcceptor,
    mood: u8,
) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    note_head(&mut stream, &Arc::default()).await?;
    match mood {
        STATUS => {
            write_and_close(
                &mut stream,
                b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy",
            )
            .await
        }
        SLOW => {
            // It took the request and stays silent until the probe gives up.
            let mut nothing = [0; 1];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut nothing).await;
            stream.shutdown().await
        }
        _ => write_and_close(&mut stream, &ok("", "well")).await,
    }
}

/// A monitor that decides as quickly as an interval of ten seconds allows.
fn monitor(name: &str, host: &str, port: u16) -> Value {
    json!({
        "name": name,
        "check": {"kind": "http", "url": format!("https://{host}:{port}/health")},
        "interval_s": 10, "timeout_s": 1.0, "locations": "all",
        "policy": {"retry_gap_s": 0.4, "min_separation_s": 0.2, "pass_gap_s": 0.4, "recover_for_s": 2.0},
    })
}

async fn state(whole: &Whole, id: &str) -> String {
    whole.client.get(&format!("monitors/{id}")).await["state"].as_str().unwrap().to_owned()
}

async fn until_state(whole: &Whole, id: &str, wanted: &str) {
    until(&format!("{id} is {wanted}"), async || (state(whole, id).await == wanted).then_some(()))
        .await;
}

/// Agents `eu`, `us`, `ap` whose name server knows `shop.test`; for `ap`, `alone.test` leads nowhere.
async fn three_agents(
    whole: &Whole,
    authority: &Authority,
) -> Vec<crate::support::whole::RunningAgent> {
    let ca = whole.folder.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let mut agents = Vec::new();
    for location in ["eu", "us", "ap"] {
        let astray = location == "ap";
        let (server, _) = dns(move |name, _, _| match name {
            "alone.test" if astray => {
                Say::Addresses(vec![IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99))])
            }
            "shop.test" | "alone.test" | "control.test" => Say::Addresses(vec![HOME]),
            _ => Say::Nxdomain,
        })
        .await;
        let agent = whole
            .agent(location, |config| {
                config.name_servers = vec![server];
                config.control_names = vec!["control.test".to_owned()];
                config.ca_file = Some(ca.clone());
            })
            .await;
        agents.push(agent);
    }
    agents
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_of_breaking_is_told_once_and_its_end_once() {
    let mut mails = MailSink::start("e2e", json!({})).await;
    let mail_server = mails.server(json!({}));
    let folder = Scratch::new("e2e-mail-ca");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, mail_server.ca_pem.as_ref().unwrap()).unwrap();
    let whole = Whole::start_with("e2e-breaks", &["--extra-ca", ca.to_str().unwrap()]).await;
    // All three are at one host, and each is to be told by itself.
    whole.db.storms_from(0).await;
    let authority = Authority::root("Test Root");
    let _agents = three_agents(&whole, &authority).await;
    let mut hook = HookSink::start().await;
    let settings = json!({
        "host": "localhost", "port": mail_server.port, "security": "starttls", "username": "svc",
        "password": "secret", "from": "Quorate <quorate@example.com>",
    });
    whole.client.call(reqwest::Method::PUT, "settings/mail", Some(settings)).await;
    whole
        .client
        .post("channels", json!({"name": "hook", "kind": "webhook", "config": {"url": hook.url}}))
        .await;
    whole
        .client
        .post(
            "channels",
            json!({"name": "mail", "kind": "email", "config": {"to": ["ops@example.com"]}}),
        )
        .await;

    let mut targets = Vec::new();
    for (name, mood) in [("status", STATUS), ("slow", SLOW), ("refused", REFUSING)] {
        let target = Moody::start(&authority, "shop.test").await;
        let made =
            whole.client.post("monitors", monitor(name, "shop.test", target.address.port())).await;
        targets.push((name, mood, target, made["id"].as_str().unwrap().to_owned()));
    }
    for (_, _, _, id) in &targets {
        until_state(&whole, id, "up").await;
    }
    let broken_at = jiff::Timestamp::from_microsecond(now_us(&whole).await).unwrap();
    for (_, mood, target, _) in &mut targets {
        target.be(*mood).await;
    }
    for (_, _, _, id) in &targets {
        until_state(&whole, id, "down").await;
    }
    let healed_at = jiff::Timestamp::from_microsecond(now_us(&whole).await).unwrap();
    for (_, _, target, _) in &mut targets {
        target.be(WELL).await;
    }
    for (_, _, _, id) in &targets {
        until_state(&whole, id, "up").await;
    }
    until("every notice is settled", async || {
        let waiting: i64 =
            sqlx::query_scalar("select count(*) from notice where settled_at is null")
                .fetch_one(whole.db.pool())
                .await
                .unwrap();
        (waiting == 0).then_some(())
    })
    .await;

    let mut heard: Vec<(String, String)> = hook
        .drain()
        .iter()
        .map(|received| {
            let json = received.json();
            let monitor = json["data"]["monitor"]["name"].as_str().unwrap().to_owned();
            (monitor, json["type"].as_str().unwrap().to_owned())
        })
        .collect();
    heard.sort();
    let expected: Vec<(String, String)> = ["refused", "slow", "status"]
        .iter()
        .flat_map(|name| {
            ["incident.opened", "incident.resolved"]
                .map(|kind| ((*name).to_owned(), kind.to_owned()))
        })
        .collect();
    assert_eq!(
        heard, expected,
        "exactly one alert and one recovery by webhook, for each way of breaking"
    );
    let mut mailed: Vec<String> = Vec::new();
    for _ in 0..6 {
        let mail = mails.next().await;
        assert!(mail.tls && mail.user.as_deref() == Some("svc"));
        mailed.push(mail.header("subject"));
        if mail.header("in-reply-to").is_empty() {
            for location in ["eu", "us", "ap"] {
                assert!(mail.raw.contains(location), "the mail names who agrees:\n{}", mail.raw);
            }
        }
    }
    assert!(mails.rest().await.is_empty(), "no seventh mail: {mailed:?}");

    for (name, _, _, id) in &targets {
        let list = whole.client.get(&format!("incidents?monitor={id}")).await;
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{name}: {items:?}");
        let at =
            |field: &str| -> jiff::Timestamp { items[0][field].as_str().unwrap().parse().unwrap() };
        let (first_fails, last_fail) = fails(&whole, id).await;
        // Two locations are enough to open it. What the third saw a little earlier may arrive later.
        assert!(
            first_fails[..2].contains(&at("started_at")),
            "{name} began with the first fail: {} of {first_fails:?}",
            at("started_at")
        );
        assert!(at("started_at") >= broken_at && at("opened_at") > at("started_at"), "{name}");
        assert!(
            at("ended_at") >= last_fail.max(healed_at) && at("ended_at") < at("resolved_at"),
            "{name}"
        );
        let pass_at_end: i64 = sqlx::query_scalar(
            "select count(*) from report r join monitor m using (monitor_id)
             where m.uid = $1 and r.outcome = 0 and date_trunc('milliseconds', r.effective_at) = $2",
        )
        .bind(id.parse::<uuid::Uuid>().unwrap())
        .bind(jiff_sqlx::Timestamp::from(at("ended_at")))
        .fetch_one(whole.db.pool())
        .await
        .unwrap();
        assert!(pass_at_end >= 1, "{name} ended with a pass");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_location_alone_or_a_silent_agent_alerts_nobody() {
    let whole = Whole::start("e2e-quiet").await;
    let authority = Authority::root("Test Root");
    let mut agents = three_agents(&whole, &authority).await;
    let mut hook = HookSink::start().await;
    whole
        .client
        .post("channels", json!({"name": "hook", "kind": "webhook", "config": {"url": hook.url}}))
        .await;
    let shop = Moody::start(&authority, "shop.test").await;
    let alone = Moody::start(&authority, "alone.test").await;
    let well =
        whole.client.post("monitors", monitor("well", "shop.test", shop.address.port())).await;
    let local =
        whole.client.post("monitors", monitor("local", "alone.test", alone.address.port())).await;
    let (well, local) = (well["id"].as_str().unwrap(), local["id"].as_str().unwrap());
    until_state(&whole, well, "up").await;
    until_state(&whole, local, "up").await;

    until("one location has failed alone for ten intervals", async || {
        let fails: i64 = sqlx::query_scalar(
            "select count(*) from report r join monitor m using (monitor_id)
             where m.uid = $1 and r.outcome = 1 and r.kind = 0",
        )
        .bind(local.parse::<uuid::Uuid>().unwrap())
        .fetch_one(whole.db.pool())
        .await
        .unwrap();
        (fails >= 10).then_some(())
    })
    .await;
    assert_eq!(state(&whole, local).await, "up");
    let seen = whole.client.get(&format!("monitors/{local}/state")).await;
    assert!(seen["explanation"].as_str().unwrap().contains("ap"), "{seen}");

    // One agent stops; its vote goes stale, and two of three go on deciding.
    agents.remove(0).stop().await;
    until("a vote has gone stale", async || {
        let seen = whole.client.get(&format!("monitors/{well}/state")).await;
        (seen["e"] == 2).then_some(())
    })
    .await;
    assert_eq!(state(&whole, well).await, "up");
    assert_eq!(hook.drain().len(), 0, "nobody was told anything");
    let incidents = whole.client.get("incidents").await;
    assert_eq!(incidents["items"], json!([]));
}

async fn now_us(whole: &Whole) -> i64 {
    sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000000)::int8")
        .fetch_one(whole.db.pool())
        .await
        .unwrap()
}

/// The first failed result of each location, earliest first, and the last of all; to the millisecond.
async fn fails(whole: &Whole, id: &str) -> (Vec<jiff::Timestamp>, jiff::Timestamp) {
    let rows: Vec<(jiff_sqlx::Timestamp, jiff_sqlx::Timestamp)> = sqlx::query_as(
        "select date_trunc('milliseconds', min(effective_at)), date_trunc('milliseconds', max(effective_at))
         from report r join monitor m using (monitor_id)
         where m.uid = $1 and r.outcome = 1 group by r.location_id order by 1",
    )
    .bind(id.parse::<uuid::Uuid>().unwrap())
    .fetch_all(whole.db.pool())
    .await
    .unwrap();
    let last = rows.iter().map(|row| row.1.to_jiff()).max().unwrap();
    (rows.iter().map(|row| row.0.to_jiff()).collect(), last)
}
