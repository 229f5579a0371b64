//! Storms (spec: decision 5.9): monitors that go down together and share something are one alert.
//!
//! Each keeps its incident. What a channel hears of a group goes through one of its incidents, the first that
//! concerned the channel: that one is told at once, the others are updates of it, and it ends when all that
//! concern the channel are over. [`join`] says who belongs together, [`arrange()`] what becomes of a channel's
//! notices.

mod arrange;

pub use self::arrange::{Fate, Member, Plan, Row, arrange};

use std::{collections::BTreeMap, net::IpAddr};

use uuid::Uuid;

use super::Millis;

/// So many monitors within [`WITHIN`] are a storm.
pub const MONITORS: u32 = 3;
/// Monitors that go down within this time belong together.
pub const WITHIN: Millis = 60_000;
/// From one update of a group to the next.
pub const UPDATE_EVERY: Millis = 300_000;
/// Monitors that an update lists.
pub const LISTED: usize = 20;

/// A monitor that is down. Thousands are looked through for each that joins them, so that nothing is owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down<'a> {
    pub incident: Uuid,
    /// When it went down.
    pub at: Millis,
    /// What it may share with others, from [`keys`].
    pub keys: &'a [String],
    /// The group that it is in: id, and what the group shares.
    pub group: Option<(Uuid, &'a str)>,
}

/// What follows from a monitor that goes down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// It has nothing in common with another.
    Alone,
    /// There are too few yet; until then it is not known whether it is a storm.
    Related { until: Millis, with: Vec<Uuid> },
    /// They are one group; `joined` are new in it, the first to go down first.
    Group { group: Uuid, shared: String, joined: Vec<Uuid> },
}

/// Where `new` belongs, among those that are down and went down of late, the first first; `monitors` make a group. Of several
/// groups the one with most members is taken, and one that is there before one that would be made.
pub fn join(new: &Down<'_>, recent: &[Down<'_>], monitors: usize) -> Joined {
    let near = |one: &&Down<'_>| (one.at - new.at).abs() <= WITHIN && one.incident != new.incident;
    let near: Vec<&Down<'_>> = recent.iter().filter(near).collect();
    let mut known: BTreeMap<(Uuid, &str), usize> = BTreeMap::new();
    for one in &near {
        if let Some((group, shared)) = one.group
            && new.keys.iter().any(|key| key == shared)
        {
            *known.entry((group, shared)).or_default() += 1;
        }
    }
    if let Some(((group, shared), _)) = known.iter().rev().max_by_key(|(_, count)| **count) {
        let shared = (*shared).to_owned();
        return Joined::Group { group: *group, shared, joined: vec![new.incident] };
    }
    let free: Vec<&&Down<'_>> = near.iter().filter(|one| one.group.is_none()).collect();
    let sharing = |key: &String| {
        let mut list: Vec<&Down<'_>> =
            free.iter().filter(|one| one.keys.contains(key)).map(|one| **one).collect();
        list.sort_by_key(|one| one.at);
        list
    };
    let sharings: Vec<(&String, Vec<&Down<'_>>)> =
        new.keys.iter().map(|key| (key, sharing(key))).collect();
    // The first of the largest: keys come in the order of how much they say.
    let Some((key, list)) = sharings.iter().rev().max_by_key(|(_, list)| list.len()) else {
        return Joined::Alone;
    };
    if list.is_empty() {
        return Joined::Alone;
    }
    if monitors > 1 && list.len() + 1 >= monitors {
        let joined: Vec<Uuid> = list.iter().map(|one| one.incident).chain([new.incident]).collect();
        return Joined::Group { group: joined[0], shared: (*key).clone(), joined };
    }
    let mut with: Vec<&Down<'_>> = Vec::new();
    for one in sharings.iter().flat_map(|(_, list)| list) {
        if !with.iter().any(|known| known.incident == one.incident) {
            with.push(one);
        }
    }
    with.sort_by_key(|one| one.at);
    let until = with.first().map_or(new.at, |one| one.at) + WITHIN;
    Joined::Related { until, with: with.into_iter().map(|one| one.incident).collect() }
}

/// What a monitor may share with others, what says most first: the registrable domain of its host, the networks
/// of the addresses that it is at, its parents, its labels, its group.
pub fn keys(
    host: &str,
    addresses: &[String],
    parents: &[String],
    labels: &BTreeMap<String, String>,
    group: &str,
) -> Vec<String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let own: Option<IpAddr> = bare.parse().ok();
    let mut keys = Vec::new();
    if own.is_none() {
        let name = bare.trim_end_matches('.').to_ascii_lowercase();
        keys.extend(psl::domain_str(&name).map(|domain| format!("domain:{domain}")));
    }
    let mut nets: Vec<String> = addresses
        .iter()
        .filter_map(|text| text.parse().ok())
        .chain(own)
        .map(|ip| format!("net:{}", network(ip)))
        .collect();
    nets.sort();
    nets.dedup();
    keys.extend(nets);
    keys.extend(parents.iter().map(|name| format!("parent:{name}")));
    keys.extend(labels.iter().map(|(key, value)| format!("label:{key}={value}")));
    if !group.is_empty() {
        keys.push(format!("group:{group}"));
    }
    keys
}

/// What a group shares, in words that go on after "share": `the domain shop.example`.
pub fn phrase(key: &str) -> String {
    match key.split_once(':') {
        Some(("domain", domain)) => format!("the domain {domain}"),
        Some(("net", network)) => format!("the network {network}"),
        Some(("parent", name)) => format!("the parent {name}"),
        Some(("label", label)) => format!("the label {label}"),
        Some(("group", group)) => format!("the group {group}"),
        _ => key.to_owned(),
    }
}

/// The /24 of an IPv4 address, the /48 of an IPv6 one.
fn network(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            format!("{}/48", std::net::Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests;
