//! Kind `dns` against real sockets: what name servers answer, and what comes instead.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::probe::{self, Context};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

use crate::support::targets::{Say, Surroundings, Target, check, dns, probe_in, reset, tcp_on};

/// What a server sends for one query, packet by packet.
type Packets = Vec<Vec<u8>>;

/// A name server over UDP; it ends with its owner.
struct Server {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers each query with packets; `say` gets the query and its number, from 0.
async fn udp(say: impl Fn(&[u8], usize) -> Packets + Send + Sync + 'static) -> Server {
    udp_on(UdpSocket::bind("127.0.0.1:0").await.unwrap(), say)
}

fn udp_on(
    socket: UdpSocket,
    say: impl Fn(&[u8], usize) -> Packets + Send + Sync + 'static,
) -> Server {
    let addr = socket.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut buffer = [0; 1_500];
        let mut count = 0;
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            for packet in say(&buffer[..length], count) {
                _ = socket.send_to(&packet, from).await;
            }
            count += 1;
        }
    });
    Server { addr, task }
}

/// Labels on the wire.
fn wire(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// The question of a query, without its extension.
fn question(query: &[u8]) -> &[u8] {
    let end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    &query[12..end]
}

/// An answer to a query: its code, and records as (type, data) of the name that was asked for.
fn answer(query: &[u8], code: u8, records: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = query[..2].to_vec();
    let count = u16::try_from(records.len()).unwrap().to_be_bytes();
    bytes.extend_from_slice(&[0x81, 0x80 | code, 0, 1, count[0], count[1], 0, 0, 0, 0]);
    bytes.extend_from_slice(question(query));
    for (kind, data) in records {
        bytes.extend_from_slice(&[0xc0, 12]);
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&[0, 1, 0, 0, 0, 60]);
        bytes.extend_from_slice(&u16::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(data);
    }
    bytes
}

fn cut(query: &[u8]) -> Vec<u8> {
    let mut bytes = answer(query, 0, &[]);
    bytes[2] |= 2;
    bytes
}

fn a(last: u8) -> (u16, Vec<u8>) {
    (1, vec![192, 0, 2, last])
}

fn caa(issuer: &str) -> (u16, Vec<u8>) {
    (257, [&[0u8, 5][..], b"issue", issuer.as_bytes()].concat())
}

/// Reads one query over TCP.
async fn query_over(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut query = vec![0; usize::from(length)];
    stream.read_exact(&mut query).await?;
    Ok(query)
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&u16::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

/// A name server over TCP on the same port as one over UDP that cuts every answer, or alone.
async fn over_tcp(say: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> (Target, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let udp = UdpSocket::bind(listener.local_addr().unwrap()).await.unwrap();
    let say = Arc::new(say);
    let target = tcp_on(listener, move |mut stream, _, _| {
        let say = say.clone();
        async move {
            let query = query_over(&mut stream).await?;
            stream.write_all(&say(&query)).await?;
            // The reader decides when it has enough.
            std::future::pending().await
        }
    });
    (target, udp_on(udp, |query, _| vec![cut(query)]))
}

fn to(addr: SocketAddr, extra: Value) -> Value {
    let mut value = json!({"kind": "dns", "name": "shop.example", "server": addr.to_string()});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    value
}

fn record(op: &str, value: &str) -> Value {
    json!([{"on": "record", "op": op, "value": value}])
}

async fn ask(addr: SocketAddr, extra: Value) -> Observation {
    within(addr, extra, 5_000).await
}

async fn within(addr: SocketAddr, extra: Value, timeout_ms: u64) -> Observation {
    let seen = probe_in(&Surroundings::default().context(), to(addr, extra), timeout_ms).await;
    // These servers hold a probe for ever if they can; a busy machine only for a while.
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

/// With what a pass would leave out.
async fn in_detail(ctx: &Context, value: Value) -> Observation {
    let never = std::future::pending();
    probe::run_in_detail(&check(value), ctx, Duration::from_secs(5), never).await
}

fn facts<'a>(seen: &'a Observation, label: &str) -> Vec<&'a str> {
    let facts = &seen.evidence.as_ref().unwrap().facts;
    facts.iter().filter(|fact| fact.label == label).map(|fact| fact.value.as_str()).collect()
}

#[tokio::test]
async fn case_17_and_20_records_are_found_in_any_order_and_under_any_name() {
    let server = udp(|query, count| {
        let mut records = vec![caa("a.test"), caa("b.test"), caa("c.test")];
        records.rotate_left(count % 3);
        vec![answer(query, 0, &records)]
    })
    .await;
    for _ in 0..3 {
        let extra = json!({"type": "CAA", "assertions": record("eq", "0 issue \"b.test\"")});
        let seen = ask(server.addr, extra).await;
        assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    }
    let name = "mailo._domainkey.mg.example.com";
    let server = udp(move |query, _| {
        assert_eq!(question(query), [wire(name), vec![0, 16, 0, 1]].concat());
        vec![answer(query, 0, &[(16, b"\x03k=r\x05sa; p".to_vec())])]
    })
    .await;
    let extra = json!({"name": name, "type": "TXT", "assertions": record("eq", "k=rsa; p")});
    let seen = ask(server.addr, extra).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn case_26_none_means_that_nothing_in_the_set_is_it() {
    let server = udp(|query, _| vec![answer(query, 0, &[a(6), a(1)])]).await;
    let none = |ip: &str| json!({"assertions": [{"on": "record", "quantifier": "none", "op": "eq", "value": ip}]});
    let seen = ask(server.addr, none("192.0.2.6")).await;
    assert_eq!(seen.class, Some(Class::Assertion));
    assert!(seen.message.contains("192.0.2.6, 192.0.2.1"), "{}", seen.message);
    assert_eq!(ask(server.addr, none("192.0.2.9")).await.outcome, Outcome::Pass);
}

#[tokio::test]
async fn what_was_found_is_shown_with_its_aliases() {
    let server = udp(|query, _| {
        let mut bytes = answer(query, 0, &[(5, wire("cdn.test"))]);
        bytes[7] = 2;
        bytes.extend(wire("CDN.test"));
        bytes.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
        vec![bytes]
    })
    .await;
    let extra = json!({"name": "Shöp.example", "assertions": record("eq", "192.0.2.7")});
    let seen = in_detail(&Surroundings::default().context(), to(server.addr, extra)).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(facts(&seen, "question"), ["A xn--shp-tna.example"]);
    assert_eq!(facts(&seen, "alias of"), ["cdn.test"]);
    assert_eq!(facts(&seen, "record"), ["192.0.2.7"]);
    assert_eq!(facts(&seen, "response code"), ["NOERROR"]);
    assert_eq!(facts(&seen, "answered by"), [server.addr.to_string()]);
    assert_eq!(seen.address.as_deref(), Some("127.0.0.1"));
    assert!(seen.phases_us.first_byte.is_some() && seen.phases_us.resolve.is_none());
    let server = udp(|query, _| {
        assert_eq!(question(query), [wire("1.2.0.192.in-addr.arpa"), vec![0, 12, 0, 1]].concat());
        vec![answer(query, 0, &[(12, wire("host.test"))])]
    })
    .await;
    let extra =
        json!({"name": "192.0.2.1", "type": "PTR", "assertions": record("eq", "HOST.test.")});
    assert_eq!(ask(server.addr, extra).await.outcome, Outcome::Pass);
}

#[tokio::test]
async fn response_codes_have_their_class_unless_the_monitor_judges_them() {
    for (code, name, class) in [
        (3, "NXDOMAIN", Class::DnsNxdomain),
        (2, "SERVFAIL", Class::DnsServfail),
        (5, "REFUSED", Class::DnsServfail),
        (1, "FORMERR", Class::DnsServfail),
        (4, "NOTIMP", Class::DnsServfail),
    ] {
        let server = udp(move |query, _| vec![answer(query, code, &[])]).await;
        let seen = ask(server.addr, json!({})).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
        assert!(seen.message.contains(name), "{}", seen.message);
        assert_eq!(facts(&seen, "response code"), [name]);
        let own = |op: &str, value: &str| json!({"assertions": [{"on": "rcode", "op": op, "value": value}]});
        let seen = ask(server.addr, own("eq", &name.to_lowercase())).await;
        assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
        let seen = ask(server.addr, own("ne", name)).await;
        assert_eq!(seen.class, Some(Class::Assertion), "{}", seen.message);
    }
    // Nothing of the type is a fact: absent holds, everything else is missing something.
    let server = udp(|query, _| vec![answer(query, 0, &[(5, wire("x.test"))])]).await;
    assert_eq!(ask(server.addr, json!({})).await.outcome, Outcome::Pass);
    let absent = json!({"assertions": [{"on": "record", "op": "absent"}]});
    assert_eq!(ask(server.addr, absent).await.outcome, Outcome::Pass);
    let seen = ask(server.addr, json!({"assertions": record("ne", "192.0.2.1")})).await;
    assert_eq!(seen.class, Some(Class::Assertion));
    assert!(seen.message.contains("missing: there is no such record"), "{}", seen.message);
}

#[tokio::test]
async fn strangers_packets_are_passed_over_and_counted() {
    let server = udp(|query, _| {
        let good = answer(query, 0, &[a(1)]);
        let mut wrong_id = answer(query, 0, &[a(66)]);
        wrong_id[0] ^= 0xff;
        let mut wrong_name = answer(query, 0, &[a(66)]);
        wrong_name[13] ^= 0x01;
        vec![b"x".to_vec(), wrong_id, wrong_name, query.to_vec(), good]
    })
    .await;
    let value = to(server.addr, json!({"assertions": record("eq", "192.0.2.1")}));
    let seen = in_detail(&Surroundings::default().context(), value).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(facts(&seen, "ignored"), ["4 packets that do not answer the question"]);
    // Spoofed ones alone do not end the wait.
    let server = udp(|query, _| {
        let mut wrong = answer(query, 3, &[]);
        wrong[1] ^= 1;
        vec![wrong]
    })
    .await;
    let seen = within(server.addr, json!({}), 300).await;
    assert_eq!(seen.class, Some(Class::DnsTimeout));
    assert!(seen.message.contains("what came did not answer the question"), "{}", seen.message);
}

#[tokio::test]
async fn a_lost_packet_is_sent_again_and_old_servers_are_asked_without_extensions() {
    let server =
        udp(|query, count| if count == 0 { vec![] } else { vec![answer(query, 0, &[a(1)])] }).await;
    let seen = ask(server.addr, json!({})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let server = udp(|query, _| {
        let extended = query[11] == 1;
        vec![if extended { answer(query, 1, &[]) } else { answer(query, 0, &[a(1)]) }]
    })
    .await;
    let seen = ask(server.addr, json!({"assertions": record("eq", "192.0.2.1")})).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn a_cut_answer_is_fetched_over_tcp_up_to_64_kib() {
    let (target, _udp) = over_tcp(|query| {
        // 250 texts of 253 bytes, and the one that is looked for at the end: 66 000 bytes would not fit.
        let filler = (16, [vec![252], vec![b'x'; 252]].concat());
        let mut records = vec![filler; 240];
        records.push((16, b"\x04last".to_vec()));
        framed(&answer(query, 0, &records))
    })
    .await;
    let extra = json!({"type": "TXT", "assertions": record("eq", "last")});
    let seen = in_detail(&Surroundings::default().context(), to(target.addr, extra.clone())).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(facts(&seen, "transport"), ["UDP, and TCP because the answer was cut"]);
    assert_eq!(facts(&seen, "record").len(), 20);
    assert_eq!(facts(&seen, "records"), ["241, of which 20 are shown"]);
    let mut extra = extra;
    extra["transport"] = json!("tcp");
    let seen = ask(target.addr, extra).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.connect.is_some());
}

#[tokio::test]
async fn broken_answers_say_so_at_once() {
    let pointing_at_itself = |query: &[u8]| {
        let at = u8::try_from(12 + question(query).len() + 12).unwrap();
        answer(query, 0, &[(5, vec![0xc0, at])])
    };
    let short = |query: &[u8]| {
        let mut bytes = answer(query, 0, &[a(1)]);
        bytes.truncate(bytes.len() - 2);
        bytes
    };
    let many = |query: &[u8]| {
        let mut bytes = answer(query, 0, &[a(1)]);
        bytes[6] = 0xff;
        bytes
    };
    for broken in [pointing_at_itself as fn(&[u8]) -> Vec<u8>, short, many] {
        let server = udp(move |query, _| vec![broken(query)]).await;
        let seen = ask(server.addr, json!({"type": "CNAME"})).await;
        assert_eq!(seen.class, Some(Class::DnsServfail), "{}", seen.message);
        assert!(seen.message.contains("cannot be read"), "{}", seen.message);
    }
    for (bytes, class, part) in [
        (framed(&[0; 30]), Class::DnsTimeout, "what came did not answer"),
        (vec![0, 100, 1, 2, 3], Class::DnsTimeout, "did not answer within"),
        (vec![], Class::DnsTimeout, "did not answer within"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Class::DnsTimeout, "did not answer within"),
    ] {
        let (target, _udp) = over_tcp(move |_| bytes.clone()).await;
        for transport in ["tcp", "udp"] {
            let seen = within(target.addr, json!({"transport": transport}), 300).await;
            assert_eq!(seen.class, Some(class), "{}", seen.message);
            assert!(seen.message.contains(part), "{}", seen.message);
        }
    }
}

/// Does one thing on each connection, after the query was read.
async fn ending(how: &'static str) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    tcp_on(listener, move |mut stream, _, _| async move {
        let query = query_over(&mut stream).await?;
        match how {
            "close" => stream.shutdown().await,
            "half" => {
                let whole = framed(&answer(&query, 0, &[a(1)]));
                stream.write_all(&whole[..20]).await?;
                stream.shutdown().await
            }
            "drip" => {
                for byte in framed(&answer(&query, 0, &vec![a(1); 500])) {
                    stream.write_all(&[byte]).await?;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(())
            }
            "flood" => loop {
                stream.write_all(&framed(&[7; 60_000])).await?;
            },
            _ => {
                reset(stream);
                Ok(())
            }
        }
    })
}

#[tokio::test]
async fn connections_that_end_or_drip_or_flood_have_their_class() {
    for (how, class, part) in [
        ("close", Class::DnsServfail, "without an answer"),
        ("half", Class::BodyTruncated, "18 of 46 bytes"),
        ("reset", Class::ConnectReset, "before an answer came"),
        ("drip", Class::DnsTimeout, "did not answer within"),
        ("flood", Class::DnsTimeout, "what came did not answer"),
    ] {
        let target = ending(how).await;
        let seen = within(target.addr, json!({"transport": "tcp"}), 400).await;
        assert_eq!(seen.class, Some(class), "{how}: {}", seen.message);
        assert!(seen.message.contains(part), "{how}: {}", seen.message);
    }
    // Nobody listens, over TCP and over UDP.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = gone.local_addr().unwrap();
    drop(gone);
    for transport in ["tcp", "udp"] {
        let seen = ask(addr, json!({"transport": transport})).await;
        assert_eq!(seen.class, Some(Class::ConnectRefused), "{transport}: {}", seen.message);
    }
}

#[tokio::test]
async fn silence_and_floods_over_udp_end_at_the_deadline() {
    let silent = udp(|_, _| vec![]).await;
    let seen = within(silent.addr, json!({}), 300).await;
    assert_eq!(seen.class, Some(Class::DnsTimeout), "{}", seen.message);
    assert!(
        seen.phases_us.total >= 300_000 && seen.message.contains("within 0.3"),
        "{}",
        seen.message
    );
    let flood = udp(|query, _| vec![vec![query[0]; 1_400]; 2_000]).await;
    let seen = within(flood.addr, json!({}), 300).await;
    assert_eq!(seen.class, Some(Class::DnsTimeout), "{}", seen.message);
}

#[tokio::test]
async fn a_named_server_is_looked_up_guarded_and_to_blame() {
    let server = udp(|query, _| vec![answer(query, 0, &[a(1)])]).await;
    let port = server.addr.port();
    let (resolver, _dns) = dns(|name, _, _| match name {
        "ns1.test" => Say::Addresses(vec![IpAddr::from([127, 0, 0, 1])]),
        "inside.test" => Say::Addresses(vec![IpAddr::from([10, 0, 0, 53])]),
        _ => Say::Nxdomain,
    })
    .await;
    let ctx = || Surroundings { servers: vec![resolver], ..Surroundings::default() }.context();
    let value = |server: String| json!({"kind": "dns", "name": "shop.example", "server": server});
    let seen = probe_in(&ctx(), value(format!("ns1.test:{port}")), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.resolve.is_some());
    for closed in ["10.0.0.53", "inside.test", "169.254.169.254", "[::ffff:10.0.0.1]"] {
        for transport in ["udp", "tcp"] {
            let mut value = value(closed.to_owned());
            value["transport"] = json!(transport);
            let seen = probe_in(&ctx(), value, 5_000).await;
            assert_eq!(seen.class, Some(Class::BlockedAddress), "{closed}: {}", seen.message);
            assert!(seen.message.contains("--allow-net"), "{}", seen.message);
        }
    }
    let seen = probe_in(&ctx(), value("gone.test".into()), 5_000).await;
    assert_eq!(seen.class, Some(Class::DnsNxdomain), "{}", seen.message);
    // The first of two addresses is silent.
    let silent = UdpSocket::bind("127.0.0.2:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let good = UdpSocket::bind(("127.0.0.3", port)).await.unwrap();
    let _good = udp_on(good, |query, _| vec![answer(query, 0, &[a(1)])]);
    let (resolver, _dns) = dns(|_, v6, _| match v6 {
        true => Say::Nxdomain,
        false => Say::Addresses(vec![IpAddr::from([127, 0, 0, 2]), IpAddr::from([127, 0, 0, 3])]),
    })
    .await;
    let ctx = Surroundings { servers: vec![resolver], ..Surroundings::default() }.context();
    let seen = probe_in(&ctx, value(format!("two.test:{port}")), 5_000).await;
    assert_eq!((seen.outcome, seen.address.as_deref()), (Outcome::Pass, Some("127.0.0.3")));
}

#[tokio::test]
async fn the_agents_own_resolver_is_asked_without_a_server_and_its_trouble_is_ours() {
    let own = |say: Say, control: Say| async move {
        let (server, task) =
            dns(
                move |name, _, _| {
                    if name == "control.test" { control.clone() } else { say.clone() }
                },
            )
            .await;
        let control_names = vec!["control.test".to_owned()];
        // Private as resolvers are, and not opened: the operator chose it.
        let allow = vec!["192.0.2.0/24"];
        let around =
            Surroundings { servers: vec![server], control_names, allow, ..Surroundings::default() };
        (around.context(), task)
    };
    let here = Say::Addresses(vec![IpAddr::from([192, 0, 2, 9])]);
    let value =
        json!({"kind": "dns", "name": "shop.example", "assertions": record("eq", "192.0.2.9")});
    let (ctx, _task) = own(here.clone(), here.clone()).await;
    let seen = probe_in(&ctx, value.clone(), 2_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    for (say, class) in [
        (Say::Nothing, Class::DnsTimeout),
        (Say::Servfail, Class::DnsServfail),
        (Say::Nxdomain, Class::DnsNxdomain),
    ] {
        let (ctx, _task) = own(say.clone(), here.clone()).await;
        let seen = probe_in(&ctx, value.clone(), 600).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
        let (ctx, _task) = own(say.clone(), say.clone()).await;
        let seen = probe_in(&ctx, value.clone(), 600).await;
        assert_eq!(seen.class, Some(Class::AgentResolver), "{}", seen.message);
        // A resolver that knows nothing is no proof that a name is gone.
        let gone = json!({"kind": "dns", "name": "gone.example", "assertions": [{"on": "rcode", "op": "in", "value": ["NXDOMAIN", "SERVFAIL"]}]});
        let seen = probe_in(&ctx, gone, 600).await;
        assert_eq!(seen.class, Some(Class::AgentResolver), "{}", seen.message);
    }
    // A dead resolver before a good one costs a second, not the probe.
    let silent = udp(|_, _| vec![]).await;
    let good = udp(|query, _| vec![answer(query, 0, &[a(9)])]).await;
    let around = Surroundings { servers: vec![silent.addr, good.addr], ..Surroundings::default() };
    let seen = probe_in(&around.context(), value, 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn the_address_alone_is_enough() {
    let server =
        udp(|query, _| vec![answer(query, 0, &[(15, [vec![0, 10], wire("mail.test")].concat())])])
            .await;
    let url = format!("dns://{}/shop.example?type=MX", server.addr);
    let value = json!({"kind": "dns", "url": url, "assertions": record("eq", "10 mail.test")});
    let seen = probe_in(&Surroundings::default().context(), value, 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}
