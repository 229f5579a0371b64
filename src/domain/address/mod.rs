//! Which addresses may be connected to (spec: probes 5). Agents probe what strangers type in, so by
//! default nothing but the public internet is open.

mod blocks;
mod host;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

pub use host::Host;

/// A special-purpose block that an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Special {
    /// With its article: `a private address`.
    pub what: &'static str,
    /// Opens only by naming the one address.
    pub metadata: bool,
}

/// The special-purpose block of an address, or `None` for the public internet. Looks through every
/// disguise: 64:ff9b::10.0.0.1 is special twice.
pub fn special(ip: IpAddr) -> Option<Special> {
    let own = match ip {
        IpAddr::V4(v4) => blocks::v4(v4),
        IpAddr::V6(v6) => blocks::v6(v6),
    };
    own.or_else(|| match ip {
        IpAddr::V6(v6) => embedded(v6).and_then(blocks::v4),
        IpAddr::V4(_) => None,
    })
}

/// The IPv4 address that an IPv6 address carries: mapped, compatible, NAT64, 6to4 or Teredo.
pub fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [s0, s1, s2, s3, s4, s5, s6, s7] = ip.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (s0, s1) {
        (0, 0) if s2 == 0 && s3 == 0 && s4 == 0 && (s5 == 0xffff || s5 == 0) => {
            // :: and ::1 are addresses of their own, not carriers of 0.0.0.0 and 0.0.0.1.
            (s5 == 0xffff || s6 != 0 || s7 > 1).then(|| join(s6, s7))
        }
        // The translation form ::ffff:0:a.b.c.d.
        (0, 0) if s2 == 0 && s3 == 0 && s4 == 0xffff && s5 == 0 => Some(join(s6, s7)),
        (0x64, 0xff9b) if s2 == 0 && s3 == 0 && s4 == 0 && s5 == 0 => Some(join(s6, s7)),
        // Local NAT64 prefixes inside 64:ff9b:1::/48 are usually /96, with the address at the end.
        (0x64, 0xff9b) if s2 == 1 => Some(join(s6, s7)),
        (0x2002, _) => Some(join(s1, s2)),
        // Teredo keeps the client's address with every bit turned over.
        (0x2001, 0) => Some(join(!s6, !s7)),
        _ => None,
    }
}

/// What an agent's operator has opened and limited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    nets: Vec<IpNet>,
    /// Empty: every port.
    ports: Vec<u16>,
}

/// Why a connection was refused before it was made. `Display` is the sentence, which names the flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    Address { ip: IpAddr, what: &'static str, flag: String },
    Port { port: u16 },
}

impl AllowList {
    /// From `--allow-net` and `--allow-port`.
    pub fn new(nets: impl IntoIterator<Item = impl Into<AllowNet>>, ports: Vec<u16>) -> Self {
        Self { nets: nets.into_iter().map(|net| net.into().0).collect(), ports }
    }

    /// Whether a connection to this address may be made.
    pub fn check(&self, address: SocketAddr) -> Result<(), Blocked> {
        self.check_ip(address.ip())?;
        if !self.ports.is_empty() && !self.ports.contains(&address.port()) {
            return Err(Blocked::Port { port: address.port() });
        }
        Ok(())
    }

    /// The address alone, for kinds without ports.
    pub fn check_ip(&self, ip: IpAddr) -> Result<(), Blocked> {
        if let IpAddr::V6(v6) = ip {
            let inner = embedded(v6);
            // A mapped address is the IPv4 address: the kernel speaks IPv4 to it.
            if let Some(v4) = v6.to_ipv4_mapped() {
                return match self.opens(IpAddr::V4(v4))
                    || self.opens(ip) && blocks::v4(v4).is_none()
                {
                    true => Ok(()),
                    false => {
                        Err(blocked(ip, IpAddr::V4(v4), blocks::v4(v4).unwrap_or(blocks::MAPPED)))
                    }
                };
            }
            // A carrier must be open itself, and so must what it carries.
            if let Some(v4) = inner
                && let Some(what) = blocks::v4(v4)
                && !self.opens(IpAddr::V4(v4))
            {
                return Err(blocked(ip, IpAddr::V4(v4), what));
            }
            return match blocks::v6(v6) {
                Some(what) if !self.opens(ip) => Err(blocked(ip, ip, what)),
                _ => Ok(()),
            };
        }
        match special(ip) {
            Some(what) if !self.opens(ip) => Err(blocked(ip, ip, what)),
            _ => Ok(()),
        }
    }

    /// Whether the operator named this address; metadata addresses by themselves only.
    fn opens(&self, ip: IpAddr) -> bool {
        let alone = special(ip).is_some_and(|special| special.metadata);
        self.nets
            .iter()
            .any(|net| net.contains(&ip) && (!alone || net.prefix_len() == net.max_prefix_len()))
    }
}

/// A range for `--allow-net`: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowNet(IpNet);

impl FromStr for AllowNet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let net = match text.parse::<IpAddr>() {
            Ok(ip) => IpNet::from(ip),
            Err(_) => text.parse::<IpNet>().map_err(|_| {
                "write an address or a range of them, such as 10.9.0.0/16 or 2001:db8::/32"
                    .to_owned()
            })?,
        };
        Ok(Self(net.trunc()))
    }
}

impl From<IpNet> for AllowNet {
    fn from(net: IpNet) -> Self {
        Self(net.trunc())
    }
}

impl fmt::Display for AllowNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Blocked {
    /// The sentence of an agent, which would have probed there.
    pub fn by_agent(&self) -> String {
        self.sentence("this agent may not probe those", "this agent may probe", "")
    }

    /// The sentence of a coordinator, which would have sent something there.
    pub fn by_coordinator(&self) -> String {
        let start = "start the coordinator with ";
        self.sentence("the coordinator may not send there", "the coordinator may send to", start)
    }

    fn sentence(&self, may_not: &str, may: &str, start: &str) -> String {
        match self {
            Blocked::Address { ip, what, flag } => format!(
                "{ip} is {what}, and {may_not}. Nothing was sent. If it is yours: {start}{flag}"
            ),
            Blocked::Port { port } => format!(
                "Port {port} is not among those that {may}. Nothing was sent. If it should be: {start}--allow-port {port}"
            ),
        }
    }
}

/// Without saying who is not allowed to.
impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocked::Address { ip, what, .. } => write!(f, "{ip} is {what}, which is closed here"),
            Blocked::Port { port } => write!(f, "port {port} is closed here"),
        }
    }
}

impl std::error::Error for Blocked {}

fn blocked(shown: IpAddr, to_open: IpAddr, special: Special) -> Blocked {
    let net = if special.metadata { IpNet::from(to_open) } else { suggested(to_open) };
    Blocked::Address { ip: shown, what: special.what, flag: format!("--allow-net {net}") }
}

/// A range of the size that people usually mean: the whole loopback, one site of a private network.
fn suggested(ip: IpAddr) -> IpNet {
    let length = match ip {
        IpAddr::V4(v4) if v4.is_loopback() => 8,
        IpAddr::V4(v4) if v4.octets().first() == Some(&192) && v4.is_private() => 24,
        IpAddr::V4(v4) if v4.is_private() || blocks::is_shared(v4) => 16,
        IpAddr::V4(_) => 32,
        IpAddr::V6(v6) if v6.is_unique_local() => 64,
        IpAddr::V6(_) => 128,
    };
    match ip {
        IpAddr::V4(v4) => {
            Ipv4Net::new(v4, length).map_or_else(|_| IpNet::from(ip), |net| IpNet::V4(net.trunc()))
        }
        IpAddr::V6(v6) => {
            Ipv6Net::new(v6, length).map_or_else(|_| IpNet::from(ip), |net| IpNet::V6(net.trunc()))
        }
    }
}

#[cfg(test)]
mod tests;
