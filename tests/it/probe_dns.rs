//! Names, families and addresses: what is looked up, what is connected to, and what never is.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quorate::domain::address::AllowList;
use quorate::domain::observation::{Class, Outcome};
use quorate::net::{Guard, Resolver, SendError};
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};

use crate::support::targets::{
    HOME, Say, Surroundings, answering, dns, ok, probe, probe_in, silent,
};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn case_16_a_dead_family_does_not_cost_the_probe() {
    let target = answering(ok("", "x")).await;
    // A listener whose queue is full answers no further connection: a black hole on IPv6 loopback.
    let hole = TcpSocket::new_v6().unwrap();
    hole.bind(format!("[::1]:{}", target.addr.port()).parse().unwrap()).unwrap();
    let hole = hole.listen(1).unwrap();
    let mut fill = Vec::new();
    for _ in 0..4 {
        let socket = TcpSocket::new_v6().unwrap();
        fill.push(tokio::spawn(socket.connect(hole.local_addr().unwrap())));
    }
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let (server, _dns) = dns(|_, _, _| Say::Addresses(vec![HOME, ip("::1")])).await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let seen =
        probe_in(&ctx, json!({"url": format!("http://two.test:{}/", target.addr.port())}), 5_000)
            .await;
    assert_eq!(
        (seen.outcome, seen.address.as_deref()),
        (Outcome::Pass, Some("127.0.0.1")),
        "{}",
        seen.message
    );
    // Less than half of what it had: the hole was not waited for.
    assert!(seen.phases_us.total < 2_500_000, "{:?}", seen.phases_us);
    for task in fill {
        task.abort();
    }
}

#[tokio::test]
async fn a_silent_answer_for_one_family_does_not_cost_the_probe_either() {
    let target = answering(ok("", "x")).await;
    let (server, _dns) =
        dns(|_, v6, _| if v6 { Say::Nothing } else { Say::Addresses(vec![HOME]) }).await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let url = format!("http://half.test:{}/", target.addr.port());
    let seen = probe_in(&ctx, json!({"url": url}), 2_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(seen.phases_us.resolve.unwrap() < 500_000);
    // And one whose first addresses are dead waits for the late ones.
    let port = target.addr.port();
    let (server, _dns) = dns(|_, v6, _| {
        if v6 {
            Say::Addresses(vec![ip("::1")])
        } else {
            Say::After(Duration::from_millis(120), vec![HOME])
        }
    })
    .await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let seen = probe_in(&ctx, json!({"url": format!("http://late.test:{port}/")}), 2_000).await;
    assert_eq!(
        (seen.outcome, seen.address.as_deref()),
        (Outcome::Pass, Some("127.0.0.1")),
        "{}",
        seen.message
    );
}

#[tokio::test]
async fn a_family_can_be_locked() {
    let target = answering(ok("", "x")).await;
    let asked_v6 = Arc::new(AtomicUsize::new(0));
    let count = asked_v6.clone();
    let (server, _dns) = dns(move |_, v6, _| {
        count.fetch_add(usize::from(v6), Ordering::SeqCst);
        Say::Addresses(vec![HOME])
    })
    .await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let url = format!("http://locked.test:{}/", target.addr.port());
    assert_eq!(
        probe_in(&ctx, json!({"url": url, "ip_family": "4"}), 2_000).await.outcome,
        Outcome::Pass
    );
    assert_eq!(asked_v6.load(Ordering::SeqCst), 0);
    assert_eq!(
        probe_in(&ctx, json!({"url": url, "ip_family": "6"}), 2_000).await.class,
        Some(Class::DnsNoAddress)
    );
}

#[tokio::test]
async fn a_name_is_looked_up_anew_for_each_attempt() {
    let (first, second) = (answering(ok("", "one")).await, TcpListener::bind("127.0.0.2:0").await);
    drop(second);
    let (server, _dns) =
        dns(|_, _, count| Say::Addresses(vec![if count == 0 { HOME } else { ip("127.0.0.2") }]))
            .await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let url = format!("http://moving.test:{}/", first.addr.port());
    let value = json!({"url": url, "ip_family": "4"});
    assert_eq!(probe_in(&ctx, value.clone(), 2_000).await.outcome, Outcome::Pass);
    let seen = probe_in(&ctx, value, 2_000).await;
    assert_eq!(seen.class, Some(Class::ConnectRefused), "{}", seen.message);
    assert!(seen.message.contains("127.0.0.2"), "{}", seen.message);
}

#[tokio::test]
async fn case_18_a_late_answer_is_shown_as_the_phase_that_it_was() {
    let silent = silent().await;
    let (server, _dns) = dns(|_, _, _| Say::After(Duration::from_millis(490), vec![HOME])).await;
    let ctx = Surroundings { servers: vec![server], ..Surroundings::default() }.context();
    let seen =
        probe_in(&ctx, json!({"url": format!("http://slow.test:{}/", silent.addr.port())}), 600)
            .await;
    assert!(
        matches!(seen.class, Some(Class::DnsTimeout | Class::HttpTimeoutFirstByte)),
        "{}",
        seen.message
    );
    assert!(seen.phases_us.resolve.unwrap() >= 480_000, "{:?}", seen.phases_us);
}

#[tokio::test]
async fn case_19_a_dead_resolver_is_not_the_targets_fault() {
    for (say, alone) in [
        (Say::Nothing, Class::DnsTimeout),
        (Say::Servfail, Class::DnsServfail),
        (Say::Nxdomain, Class::DnsNxdomain),
    ] {
        let everywhere = say.clone();
        let (server, _dns) = dns(move |_, _, _| everywhere.clone()).await;
        let control_names = vec!["control.test".to_owned()];
        let ctx = Surroundings {
            servers: vec![server],
            control_names: control_names.clone(),
            ..Surroundings::default()
        }
        .context();
        let seen = probe_in(&ctx, json!({"url": "http://any.test/"}), 300).await;
        assert_eq!(
            (seen.outcome, seen.class),
            (Outcome::Error, Some(Class::AgentResolver)),
            "{}",
            seen.message
        );
        // When the control name resolves, it is the target's.
        let (server, _dns) =
            dns(
                move |name, _, _| {
                    if name == "control.test" { Say::Addresses(vec![HOME]) } else { say.clone() }
                },
            )
            .await;
        let ctx = Surroundings { servers: vec![server], control_names, ..Surroundings::default() }
            .context();
        let seen = probe_in(&ctx, json!({"url": "http://any.test/"}), 300).await;
        assert_eq!((seen.outcome, seen.class), (Outcome::Fail, Some(alone)), "{}", seen.message);
        assert!(seen.phases_us.total < 5_000_000);
    }
}

#[tokio::test]
async fn case_28_denied_addresses_are_refused_in_every_dress() {
    let ctx = Surroundings { allow: Vec::new(), ..Surroundings::default() }.context();
    for (url, flag) in [
        ("http://169.254.169.254/", "--allow-net 169.254.169.254/32"),
        ("http://[::ffff:127.0.0.1]/", "--allow-net 127.0.0.0/8"),
        ("http://2130706433/", "--allow-net 127.0.0.0/8"),
        ("http://0x7f.1/", "--allow-net 127.0.0.0/8"),
        ("http://localhost/", "--allow-net"),
        ("http://10.9.0.11:8080/", "--allow-net 10.9.0.0/16"),
        ("http://[64:ff9b::10.0.0.1]/", "--allow-net 10.0.0.0/16"),
    ] {
        let seen = probe_in(&ctx, json!({"url": url}), 1_000).await;
        assert_eq!(
            (seen.outcome, seen.class),
            (Outcome::Error, Some(Class::BlockedAddress)),
            "{url}: {}",
            seen.message
        );
        assert!(seen.message.contains(flag), "{url}: {}", seen.message);
    }
}

#[tokio::test]
async fn case_28_a_redirect_and_a_rebinding_name_gain_nothing() {
    let target =
        answering("HTTP/1.1 302 X\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n")
            .await;
    let seen = probe(json!({"url": target.url("/")})).await;
    assert_eq!((seen.class, seen.hops.len()), (Some(Class::BlockedAddress), 1), "{}", seen.message);

    // The first answer is open, every further one is not: only one may be asked for.
    let inner = answering(ok("", "x")).await;
    let (server, _dns) = dns(|_, _, count| {
        Say::Addresses(vec![if count == 0 { ip("127.0.0.1") } else { ip("127.0.0.9") }])
    })
    .await;
    let ctx = Surroundings {
        allow: vec!["127.0.0.1/32"],
        servers: vec![server],
        ..Surroundings::default()
    }
    .context();
    let value =
        json!({"url": format!("http://rebind.test:{}/", inner.addr.port()), "ip_family": "4"});
    assert_eq!(probe_in(&ctx, value.clone(), 1_000).await.outcome, Outcome::Pass);
    let seen = probe_in(&ctx, value, 1_000).await;
    assert_eq!(seen.class, Some(Class::BlockedAddress), "{}", seen.message);
    assert_eq!(inner.connections(), 1);
    // A name with one denied and one open address is reached at the open one.
    let (server, _dns) = dns(|_, _, _| Say::Addresses(vec![ip("10.0.0.1"), ip("127.0.0.1")])).await;
    let ctx = Surroundings {
        allow: vec!["127.0.0.1/32"],
        servers: vec![server],
        ..Surroundings::default()
    }
    .context();
    let seen =
        probe_in(&ctx, json!({"url": format!("http://both.test:{}/", inner.addr.port())}), 1_000)
            .await;
    assert_eq!(
        (seen.outcome, seen.address.as_deref()),
        (Outcome::Pass, Some("127.0.0.1")),
        "{}",
        seen.message
    );
}

#[tokio::test]
async fn case_28_a_proxy_is_no_way_around() {
    let proxy = answering(ok("", "x")).await;
    let seen =
        probe(json!({"url": "http://10.0.0.1/", "proxy": format!("http://{}", proxy.addr)})).await;
    assert_eq!(seen.class, Some(Class::BlockedAddress), "{}", seen.message);
    assert_eq!(proxy.connections(), 0);
    let ctx = Surroundings { allow: Vec::new(), ..Surroundings::default() }.context();
    let seen = probe_in(
        &ctx,
        json!({"url": "http://1.1.1.1/", "proxy": format!("http://{}", proxy.addr)}),
        1_000,
    )
    .await;
    assert_eq!((seen.class, proxy.connections()), (Some(Class::BlockedAddress), 0));
}

#[tokio::test]
async fn webhooks_pass_the_same_guard() {
    let target = answering_to_post().await;
    let (server, _dns) = dns(|_, _, _| Say::Addresses(vec![HOME])).await;
    let resolver = Resolver::with_servers(&[server]).unwrap();
    let tls = || {
        rustls::ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
    };
    let send = async |guard: Guard, url: String| {
        let client = guard.http_client(&resolver, tls(), Duration::from_secs(2)).unwrap();
        let request = client.request(reqwest::Method::POST, url.parse().unwrap()).build().unwrap();
        client.send(request).await
    };
    let port = target.addr.port();
    for host in ["127.0.0.1", "hook.test", "localhost"] {
        let refused = send(Guard::default(), format!("http://{host}:{port}/")).await;
        assert!(matches!(refused, Err(SendError::Blocked(_))), "{host}: {refused:?}");
    }
    assert_eq!(target.connections(), 0);
    let open =
        Guard::new(AllowList::new(["127.0.0.0/8".parse::<ipnet::IpNet>().unwrap()], Vec::new()));
    for host in ["127.0.0.1", "hook.test"] {
        assert_eq!(
            send(open.clone(), format!("http://{host}:{port}/")).await.unwrap().status(),
            200
        );
    }
}

async fn answering_to_post() -> crate::support::targets::Target {
    answering(ok("", "")).await
}
