//! The IANA special-purpose registries for IPv4 and IPv6, with multicast and the addresses at which
//! cloud machines find their credentials.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Special;

const fn block(what: &'static str) -> Special {
    Special { what, metadata: false }
}

const METADATA: Special = Special { what: "a cloud metadata address", metadata: true };
pub(super) const MAPPED: Special = block("an IPv4-mapped address");

/// Where clouds answer their own machines. Some lie outside every special-purpose block.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 169, 253),
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

/// First address, prefix length, name.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 32, "the unspecified address"),
    ([0, 0, 0, 0], 8, "an address of this host or network"),
    ([10, 0, 0, 0], 8, "a private address"),
    ([100, 64, 0, 0], 10, "a shared (carrier-grade NAT) address"),
    ([127, 0, 0, 0], 8, "a loopback address"),
    ([169, 254, 0, 0], 16, "a link-local address"),
    ([172, 16, 0, 0], 12, "a private address"),
    ([192, 0, 0, 0], 24, "an address for protocol assignments"),
    ([192, 0, 2, 0], 24, "a documentation address"),
    ([192, 31, 196, 0], 24, "an AS112 address"),
    ([192, 52, 193, 0], 24, "an AMT address"),
    ([192, 88, 99, 0], 24, "a 6to4 relay address"),
    ([192, 168, 0, 0], 16, "a private address"),
    ([192, 175, 48, 0], 24, "an AS112 address"),
    ([198, 18, 0, 0], 15, "a benchmarking address"),
    ([198, 51, 100, 0], 24, "a documentation address"),
    ([203, 0, 113, 0], 24, "a documentation address"),
    ([224, 0, 0, 0], 4, "a multicast address"),
    ([255, 255, 255, 255], 32, "the broadcast address"),
    ([240, 0, 0, 0], 4, "a reserved address"),
];

/// First segments, prefix length, name. More special ones stand first.
const V6: &[([u16; 8], u32, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, "the unspecified address"),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, "a loopback address"),
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, "an IPv4-mapped address"),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "an IPv4-translated address"),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, "an IPv4-compatible address"),
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "a NAT64 address"),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "a local NAT64 address"),
    ([0, 0, 0, 0, 0, 0, 0, 0], 8, "a reserved address"),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "a discard-only address"),
    ([0x100, 0, 0, 1, 0, 0, 0, 0], 64, "a dummy address"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "a Teredo address"),
    ([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, "a benchmarking address"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "a documentation address"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "an address for protocol assignments"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "a 6to4 address"),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "an AS112 address"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "a documentation address"),
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "a segment-routing address"),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "a private (unique local) address"),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "a link-local address"),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "a site-local address"),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "a multicast address"),
];

pub(super) fn v4(ip: Ipv4Addr) -> Option<Special> {
    if METADATA_V4.contains(&ip) {
        return Some(METADATA);
    }
    let bits = u32::from(ip);
    V4.iter()
        .find(|(first, length, _)| {
            (bits ^ u32::from(Ipv4Addr::from(*first))).leading_zeros() >= *length
        })
        .map(|(_, _, what)| block(what))
}

pub(super) fn v6(ip: Ipv6Addr) -> Option<Special> {
    if METADATA_V6.contains(&ip) {
        return Some(METADATA);
    }
    let bits = u128::from(ip);
    let listed = V6
        .iter()
        .find(|(first, length, _)| {
            (bits ^ u128::from(Ipv6Addr::from(*first))).leading_zeros() >= *length
        })
        .map(|(_, _, what)| block(what));
    // Only 2000::/3 has been given out; everything else is reserved.
    listed.or_else(|| (bits >> 125 != 1).then(|| block("a reserved address")))
}

/// 100.64.0.0/10
pub(super) fn is_shared(ip: Ipv4Addr) -> bool {
    matches!(ip.octets(), [100, second, _, _] if second & 0xc0 == 64)
}
