use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn list(nets: &[&str]) -> AllowList {
    AllowList::new(nets.iter().map(|net| net.parse::<AllowNet>().unwrap()), Vec::new())
}

/// First and last address of every block, and a neighbour outside when there is a public one.
const BLOCKS: &[(&str, &str, &[&str])] = &[
    ("0.0.0.0", "0.255.255.255", &["1.0.0.0"]),
    ("10.0.0.0", "10.255.255.255", &["9.255.255.255", "11.0.0.0"]),
    ("100.64.0.0", "100.127.255.255", &["100.63.255.255", "100.128.0.0"]),
    ("127.0.0.0", "127.255.255.255", &["126.255.255.255", "128.0.0.0"]),
    ("169.254.0.0", "169.254.255.255", &["169.253.255.255", "169.255.0.0"]),
    ("172.16.0.0", "172.31.255.255", &["172.15.255.255", "172.32.0.0"]),
    ("192.0.0.0", "192.0.0.255", &["191.255.255.255", "192.0.1.0"]),
    ("192.0.2.0", "192.0.2.255", &["192.0.1.255", "192.0.3.0"]),
    ("192.31.196.0", "192.31.196.255", &["192.31.195.255", "192.31.197.0"]),
    ("192.52.193.0", "192.52.193.255", &["192.52.192.255", "192.52.194.0"]),
    ("192.88.99.0", "192.88.99.255", &["192.88.98.255", "192.88.100.0"]),
    ("192.168.0.0", "192.168.255.255", &["192.167.255.255", "192.169.0.0"]),
    ("192.175.48.0", "192.175.48.255", &["192.175.47.255", "192.175.49.0"]),
    ("198.18.0.0", "198.19.255.255", &["198.17.255.255", "198.20.0.0"]),
    ("198.51.100.0", "198.51.100.255", &["198.51.99.255", "198.51.101.0"]),
    ("203.0.113.0", "203.0.113.255", &["203.0.112.255", "203.0.114.0"]),
    ("224.0.0.0", "239.255.255.255", &["223.255.255.255"]),
    ("240.0.0.0", "255.255.255.255", &[]),
    ("::", "::ffff:ffff", &[]),
    ("::ffff:0:0", "::ffff:ffff:ffff", &[]),
    ("64:ff9b::", "64:ff9b::ffff:ffff", &[]),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", &[]),
    ("100::", "100::ffff:ffff:ffff:ffff", &[]),
    ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", &[]),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", &["2000:ffff::", "2001:200::"]),
    ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", &[]),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", &["2001:db7:ffff::", "2001:db9::"]),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &["2001:ffff::", "2003::"]),
    (
        "2620:4f:8000::",
        "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
        &["2620:4f:7fff::", "2620:4f:8001::"],
    ),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", &["3ffe:ffff::", "3fff:1000::"]),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
];

#[test]
fn every_special_purpose_block_is_refused_from_end_to_end() {
    let none = AllowList::default();
    for (first, last, outside) in BLOCKS {
        for inside in [first, last] {
            assert!(none.check_ip(ip(inside)).is_err(), "{inside} must be refused");
        }
        for public in *outside {
            assert_eq!(none.check_ip(ip(public)), Ok(()), "{public} must be open");
        }
    }
    for public in
        ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
    {
        assert_eq!(none.check_ip(ip(public)), Ok(()));
    }
}

#[test]
fn a_disguise_shows_what_is_under_it() {
    let none = AllowList::default();
    let loopback_in_teredo = "2001:0:4136:e378:8000:63bf:80ff:fffe";
    for disguised in [
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::127.0.0.1",
        "2002:7f00:1::",
        loopback_in_teredo,
        "::ffff:0:127.0.0.1",
    ] {
        let Err(Blocked::Address { what, flag, .. }) = none.check_ip(ip(disguised)) else {
            panic!("{disguised} must be refused")
        };
        assert_eq!(
            (what, flag.as_str()),
            ("a loopback address", "--allow-net 127.0.0.0/8"),
            "{disguised}"
        );
    }
    // Opening the carrier does not open what it carries.
    let nat64 = list(&["64:ff9b::/96"]);
    assert_eq!(nat64.check_ip(ip("64:ff9b::8.8.8.8")), Ok(()));
    assert!(nat64.check_ip(ip("64:ff9b::10.0.0.1")).is_err());
    assert!(list(&["::/0"]).check_ip(ip("::ffff:10.0.0.1")).is_err());
    // A mapped address is the IPv4 address.
    assert_eq!(list(&["10.0.0.0/8"]).check_ip(ip("::ffff:10.0.0.1")), Ok(()));
}

#[test]
fn other_spellings_of_an_address_are_that_address() {
    for text in
        ["127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1."]
    {
        assert_eq!(Host::parse(text), Ok(Host::Ip(ip("127.0.0.1"))), "{text}");
    }
    assert_eq!(Host::parse("[::1]"), Ok(Host::Ip(ip("::1"))));
    assert_eq!(Host::parse("１２７.0.0.1"), Ok(Host::Ip(ip("127.0.0.1"))));
}

#[test]
fn names_are_converted_and_nonsense_is_refused() {
    assert_eq!(Host::parse("Bücher.Example."), Ok(Host::Name("xn--bcher-kva.example".into())));
    assert_eq!(
        Host::parse("mailo._domainkey.mg.example.com"),
        Ok(Host::Name("mailo._domainkey.mg.example.com".into()))
    );
    for text in [
        "",
        ".",
        "a..b",
        "%65xample.com",
        "a b",
        "exa<mple",
        &"x".repeat(64),
        &"abcdefg.".repeat(40),
    ] {
        assert!(Host::parse(text).is_err(), "{text:?} must be refused");
    }
}

#[test]
fn metadata_addresses_open_alone_only() {
    for address in ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"] {
        assert!(list(&["0.0.0.0/0", "::/0"]).check_ip(ip(address)).is_err(), "{address}");
        assert_eq!(list(&[address]).check_ip(ip(address)), Ok(()), "{address}");
    }
    assert!(
        list(&["169.254.169.252/31", "169.254.169.254/31"])
            .check_ip(ip("169.254.169.254"))
            .is_err()
    );
    assert_eq!(list(&["169.254.169.254/32"]).check_ip(ip("169.254.169.254")), Ok(()));
    let refusal = AllowList::default().check_ip(ip("169.254.169.254")).unwrap_err().by_agent();
    assert!(refusal.ends_with("--allow-net 169.254.169.254/32"), "{refusal}");
}

#[test]
fn the_sentence_names_the_flag_to_add_and_the_flag_works() {
    assert_eq!(
        AllowList::default().check_ip(ip("10.9.0.11")).unwrap_err().by_agent(),
        "10.9.0.11 is a private address, and this agent may not probe those. Nothing was sent. If it is yours: --allow-net 10.9.0.0/16"
    );
    for (first, last, _) in BLOCKS {
        for address in [ip(first), ip(last)] {
            let mut open = Vec::new();
            // A disguise may need two flags, the inner one first.
            while let Err(Blocked::Address { flag, .. }) = list(&open).check_ip(address) {
                assert!(open.len() < 2, "{address}: {flag} was not enough");
                open.push(Box::leak(
                    flag.trim_start_matches("--allow-net ").to_owned().into_boxed_str(),
                ));
            }
        }
    }
}

#[test]
fn a_coordinator_does_not_speak_of_agents() {
    let blocked = AllowList::default().check_ip(ip("10.9.0.11")).unwrap_err();
    assert_eq!(
        blocked.by_coordinator(),
        "10.9.0.11 is a private address, and the coordinator may not send there. Nothing was sent. If it is yours: start the coordinator with --allow-net 10.9.0.0/16"
    );
    assert!(!blocked.to_string().contains("agent"), "{blocked}");
}

#[test]
fn a_range_that_is_none_is_told_how_one_is_written() {
    assert_eq!("1.2.3.4".parse::<AllowNet>().unwrap().to_string(), "1.2.3.4/32");
    for bad in ["1.2.3", "10.0.0.0/33", "internal", ""] {
        let said = bad.parse::<AllowNet>().unwrap_err();
        assert!(said.contains("such as 10.9.0.0/16"), "{said}");
    }
}

#[test]
fn ports_can_be_limited() {
    let list = AllowList::new(Vec::<AllowNet>::new(), vec![80, 443]);
    assert_eq!(list.check("1.1.1.1:443".parse().unwrap()), Ok(()));
    assert!(
        list.check("1.1.1.1:22".parse().unwrap())
            .unwrap_err()
            .by_agent()
            .contains("--allow-port 22")
    );
    assert!(list.check("10.0.0.1:443".parse().unwrap()).is_err());
}

#[test]
fn a_range_is_read_with_or_without_its_length() {
    assert_eq!("10.9.8.7/16".parse::<AllowNet>().unwrap().to_string(), "10.9.0.0/16");
    assert_eq!("::1".parse::<AllowNet>().unwrap().to_string(), "::1/128");
    assert!("ten".parse::<AllowNet>().unwrap_err().contains("10.9.0.0/16"));
}
