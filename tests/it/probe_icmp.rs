//! Kind `icmp`: real echo requests on loopback, and in network namespaces where nothing answers. Without the right
//! to send them, or to make namespaces, these tests say SKIPPED.

#![expect(clippy::print_stdout, reason = "what cannot be tried on a machine is said")]

use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::net::{EchoError, Guard};
use quorate::probe;
use serde_json::{Value, json};

use crate::support::targets::{Say, Surroundings, check, dns, probe_in};

/// Whether this machine lets us send echo requests at all.
async fn allowed() -> bool {
    let guard = Guard::new(quorate::domain::address::AllowList::new(
        ["127.0.0.0/8".parse::<quorate::domain::address::AllowNet>().unwrap()],
        Vec::new(),
    ));
    match guard.echo([127, 0, 0, 1].into()) {
        Ok(_) => true,
        Err(EchoError::Permission(error)) => {
            println!("SKIPPED: this machine allows no echo requests: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

async fn in_detail(value: Value, timeout_ms: u64) -> Observation {
    let ctx =
        Surroundings { allow: vec!["0.0.0.0/0", "::/0"], ..Surroundings::default() }.context();
    let never = std::future::pending();
    let timeout = Duration::from_millis(timeout_ms);
    let seen = probe::run_in_detail(&check(value), &ctx, timeout, never).await;
    let limit = u32::try_from(timeout_ms).unwrap() * 1_000 + 5_000_000;
    assert!(seen.phases_us.total <= limit, "{} us", seen.phases_us.total);
    seen
}

fn fact<'a>(seen: &'a Observation, label: &str) -> Option<&'a str> {
    let facts = &seen.evidence.as_ref().unwrap().facts;
    facts.iter().find(|fact| fact.label == label).map(|fact| fact.value.as_str())
}

#[tokio::test]
async fn a_host_that_answers_is_up_with_its_round_trip() {
    if !allowed().await {
        return;
    }
    for (url, size) in [("icmp://127.0.0.1", 56), ("icmp://[::1]", 1_400), ("icmp://127.9.9.9", 0)]
    {
        let conditions = json!([{"on": "loss_pct", "op": "eq", "value": 0}, {"on": "rtt_ms", "op": "lt", "value": 2000}]);
        let value = json!({"kind": "icmp", "url": url, "size": size, "assertions": conditions});
        let seen = in_detail(value, 5_000).await;
        assert_eq!(seen.outcome, Outcome::Pass, "{url}: {}", seen.message);
        assert_eq!(fact(&seen, "replies"), Some("3 of 3"));
        assert_eq!(fact(&seen, "loss"), Some("0.000 %"));
        assert!(fact(&seen, "round trip").is_some() && fact(&seen, "twice").is_none());
        // The total is a round trip, without the time between requests.
        assert_eq!(Some(seen.phases_us.total), seen.phases_us.first_byte);
        assert!(seen.phases_us.resolve.is_none());
    }
}

#[tokio::test]
async fn names_are_looked_up_and_addresses_guarded() {
    if !allowed().await {
        return;
    }
    let (server, _dns) = dns(|name, v6, _| match (name, v6) {
        ("here.test", false) => Say::Addresses(vec![[127, 0, 0, 1].into()]),
        ("inside.test", false) => Say::Addresses(vec![[10, 0, 0, 1].into()]),
        _ => Say::Nxdomain,
    })
    .await;
    let ctx = || Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let value = |host: &str| json!({"kind": "icmp", "url": format!("icmp://{host}"), "count": 1});
    let seen = probe_in(&ctx(), value("here.test"), 5_000).await;
    assert_eq!(
        (seen.outcome, seen.address.as_deref()),
        (Outcome::Pass, Some("127.0.0.1")),
        "{}",
        seen.message
    );
    assert!(seen.phases_us.resolve.is_some());
    for closed in ["inside.test", "10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]"] {
        let seen = probe_in(&ctx(), value(closed), 5_000).await;
        assert_eq!(seen.class, Some(Class::BlockedAddress), "{closed}: {}", seen.message);
    }
    let seen = probe_in(&ctx(), value("gone.test"), 5_000).await;
    assert_eq!(seen.class, Some(Class::DnsNxdomain), "{}", seen.message);
}

/// Runs `work` on a thread with a network of its own: only loopback, and what these shell lines make. `None` where
/// this machine forbids that.
fn apart<T: Send + 'static, F: Future<Output = T>>(
    lines: &'static str,
    work: impl FnOnce() -> F + Send + 'static,
) -> Option<T> {
    let thread = std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            println!("SKIPPED: this machine allows no network namespaces: {error}");
            return None;
        }
        // Whatever a thread starts is in its network.
        let lines = format!("set -e; ip link set lo up; {lines}");
        let made = Command::new("sh").args(["-c", &lines]).output().unwrap();
        if !made.status.success() {
            println!("SKIPPED: no network to test in: {}", String::from_utf8_lossy(&made.stderr));
            return None;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Some(runtime.block_on(work()))
    });
    thread.join().unwrap()
}

#[test]
fn silence_ends_at_the_deadline_as_no_reply() {
    let value = json!({"kind": "icmp", "url": "icmp://127.0.0.1", "assertions": [{"on": "loss_pct", "op": "lt", "value": 50}]});
    let seen = apart("echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all", || in_detail(value, 400));
    let Some(seen) = seen else { return };
    assert_eq!(seen.class, Some(Class::IcmpNoReply), "{}", seen.message);
    assert!(seen.message.contains("127.0.0.1 to 3 echo requests within 0.4"), "{}", seen.message);
    assert_eq!((fact(&seen, "replies"), fact(&seen, "loss")), (Some("0 of 3"), Some("100.000 %")));
    assert_eq!(seen.assertions.first().unwrap().holds, Some(false));
}

#[test]
fn sockets_without_privilege_are_used_where_they_are_allowed() {
    let value = json!({"kind": "icmp", "url": "icmp://127.0.0.1", "count": 2});
    let seen = apart("echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range", || async move {
        let guard = Guard::new(quorate::domain::address::AllowList::new(
            ["127.0.0.1".parse::<quorate::domain::address::AllowNet>().unwrap()],
            Vec::new(),
        ));
        let raw = guard.echo([127, 0, 0, 1].into()).unwrap().raw;
        (raw, in_detail(value, 5_000).await)
    });
    let Some((raw, seen)) = seen else { return };
    assert!(!raw);
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(fact(&seen, "replies"), Some("2 of 2"));
}

#[test]
fn what_the_network_says_of_a_host_is_told() {
    // No way there at all, and a neighbour that does not answer for its address: the kernel then says of each packet
    // that the host cannot be reached, as a router would.
    let lines = "ip route add unreachable 198.18.0.0/24; ip link add near type veth peer name far; \
        ip addr add 198.18.1.1/24 dev near; ip link set near up; ip link set far up; \
        echo 50 > /proc/sys/net/ipv4/neigh/near/retrans_time_ms; echo 1 > /proc/sys/net/ipv4/neigh/near/mcast_solicit; \
        echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range";
    let seen = apart(lines, || async {
        let ask = |ip: &str| json!({"kind": "icmp", "url": format!("icmp://{ip}")});
        (in_detail(ask("198.18.0.9"), 5_000).await, in_detail(ask("198.18.1.9"), 5_000).await)
    });
    let Some((no_way, no_neighbour)) = seen else { return };
    for seen in [no_way, no_neighbour] {
        assert_eq!(seen.class, Some(Class::ConnectUnreachable), "{}", seen.message);
        assert!(seen.message.contains("as unreachable"), "{}", seen.message);
    }
}

#[test]
fn without_the_right_to_send_it_says_how_to_get_it() {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ping_group_range").unwrap_or_default();
    let program = env!("CARGO_BIN_EXE_quorate");
    let asked = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", program, "probe", "icmp://127.0.0.1"])
        .args(["--allow-net", "127.0.0.0/8", "--json"])
        .output();
    let Ok(asked) = asked else {
        println!("SKIPPED: there is no setpriv on this machine");
        return;
    };
    if range.split_whitespace().next() == Some("0") {
        println!("SKIPPED: everybody may send echo requests on this machine");
        return;
    }
    let text = String::from_utf8_lossy(&asked.stdout);
    let Ok(seen) = serde_json::from_str::<Value>(&text) else {
        println!(
            "SKIPPED: setpriv may not drop rights here: {}",
            String::from_utf8_lossy(&asked.stderr)
        );
        return;
    };
    assert_eq!(seen["class"], "permission", "{text}");
    let message = seen["message"].as_str().unwrap();
    assert!(
        message.contains("net.ipv4.ping_group_range") && message.contains("CAP_NET_RAW"),
        "{message}"
    );
    assert_eq!(asked.status.code(), Some(3));
}
