//! The guarded way out: nothing connects to an address that the operator has not opened
//! (spec: probes 5). Used by probes, by webhooks and by the dead-man ping.
//!
//! The check is made on the address that is connected to, after the lookup, so neither a name that
//! changes its mind between two lookups nor a redirect gets around it.

mod echo;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::{Resolver as Hickory, TokioResolver};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use crate::domain::address::{AllowList, Blocked, Host};

pub use echo::{EchoError, EchoSocket};

/// Which addresses may be connected to. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allow: Arc<AllowList>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing was sent.
    #[error("{0}")]
    Blocked(Blocked),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Guard {
    pub fn new(allow: AllowList) -> Self {
        Self { allow: Arc::new(allow) }
    }

    pub fn check(&self, address: SocketAddr) -> Result<(), Blocked> {
        self.allow.check(address)
    }

    /// For kinds without ports.
    pub fn check_ip(&self, ip: IpAddr) -> Result<(), Blocked> {
        self.allow.check_ip(ip)
    }

    /// Looks at the host of a URL if that is an address; names are looked at when they are resolved.
    pub fn check_url(&self, url: &url::Url) -> Result<(), Blocked> {
        let ip = match url.host() {
            Some(url::Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(url::Host::Ipv6(ip)) => IpAddr::V6(ip),
            _ => return Ok(()),
        };
        self.check(SocketAddr::new(ip, url.port_or_known_default().unwrap_or(0)))
    }

    /// The only way by which a probe gets a TCP connection.
    pub async fn connect(&self, address: SocketAddr) -> Result<TcpStream, ConnectError> {
        self.check(address).map_err(ConnectError::Blocked)?;
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A probe writes one small request; waiting to fill a packet would be measured as latency.
        socket.set_nodelay(true)?;
        Ok(socket.connect(address).await?)
    }

    /// The only way by which a probe sends datagrams: a socket that speaks with this address alone.
    pub async fn datagrams(&self, address: SocketAddr) -> Result<UdpSocket, ConnectError> {
        self.check(address).map_err(ConnectError::Blocked)?;
        Ok(Self::any_datagrams(address).await?)
    }

    /// The same without a look at the address, for those that the operator of this machine chose.
    pub async fn any_datagrams(address: SocketAddr) -> io::Result<UdpSocket> {
        let own: IpAddr = match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((own, 0)).await?;
        socket.connect(address).await?;
        Ok(socket)
    }

    /// A client for webhooks and pings. Names go through the guard when they are resolved; addresses in
    /// a URL do not pass the resolver, so send through [`GuardedClient`], which looks at those. Redirects
    /// are not followed and proxies of the environment are not used.
    pub fn http_client(
        &self,
        resolver: &Resolver,
        tls: rustls::ClientConfig,
        timeout: Duration,
    ) -> reqwest::Result<GuardedClient> {
        let client = reqwest::Client::builder()
            .dns_resolver(Arc::new(GuardedLookup {
                guard: self.clone(),
                resolver: resolver.clone(),
            }))
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(timeout)
            .build()?;
        Ok(GuardedClient { client, guard: self.clone() })
    }
}

/// Sends requests to allowed addresses only.
#[derive(Debug, Clone)]
pub struct GuardedClient {
    client: reqwest::Client,
    guard: Guard,
}

/// Why a guarded request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("{0}")]
    Blocked(Blocked),
    #[error(transparent)]
    Http(reqwest::Error),
}

impl GuardedClient {
    /// For building requests; only [`GuardedClient::send`] may send them.
    pub fn request(&self, method: reqwest::Method, url: url::Url) -> reqwest::RequestBuilder {
        self.client.request(method, url)
    }

    pub async fn send(&self, request: reqwest::Request) -> Result<reqwest::Response, SendError> {
        self.guard.check_url(request.url()).map_err(SendError::Blocked)?;
        self.client.execute(request).await.map_err(|error| match blocked_in(&error) {
            Some(blocked) => SendError::Blocked(blocked),
            None => SendError::Http(error),
        })
    }
}

/// Finds our own refusal under the wrappings of the HTTP client.
fn blocked_in(error: &(dyn std::error::Error + 'static)) -> Option<Blocked> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(blocked) = error.downcast_ref::<Blocked>() {
            return Some(blocked.clone());
        }
        next = error.source();
    }
    None
}

struct GuardedLookup {
    guard: Guard,
    resolver: Resolver,
}

impl reqwest::dns::Resolve for GuardedLookup {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (guard, resolver) = (self.guard.clone(), self.resolver.clone());
        Box::pin(async move {
            let name = name.as_str();
            let (v4, v6) =
                tokio::join!(resolver.lookup(name, Family::V4), resolver.lookup(name, Family::V6));
            let found: Vec<IpAddr> = match (v4, v6) {
                (Err(error), Err(_)) => return Err(error.into()),
                (v4, v6) => {
                    v6.unwrap_or_default().into_iter().chain(v4.unwrap_or_default()).collect()
                }
            };
            let mut refusal = None;
            let mut open = Vec::new();
            for ip in found {
                match guard.check_ip(ip) {
                    Ok(()) => open.push(SocketAddr::new(ip, 0)),
                    Err(blocked) => refusal = Some(blocked),
                }
            }
            match refusal {
                Some(blocked) if open.is_empty() => Err(blocked.into()),
                _ => Ok(Box::new(open.into_iter()) as reqwest::dns::Addrs),
            }
        })
    }
}

/// One of the two kinds of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// Looks names up, anew each time: no cache, so that a moved address is seen at once. Cheap to clone.
#[derive(Clone)]
pub struct Resolver {
    v4: Arc<TokioResolver>,
    v6: Arc<TokioResolver>,
    servers: Arc<[SocketAddr]>,
}

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("the name does not exist")]
    Nxdomain,
    #[error("the name has no address of this family")]
    NoAddress,
    #[error("the name servers answered {0}")]
    Servfail(String),
    #[error("no name server answered in time")]
    Timeout,
    /// The name server could not be reached at all, or its answer could not be read.
    #[error("the name server cannot be used: {0}")]
    Unusable(String),
}

impl Resolver {
    /// The machine's own resolvers and hosts file.
    pub fn system() -> io::Result<Self> {
        let (config, options) =
            hickory_resolver::system_conf::read_system_conf().map_err(io::Error::other)?;
        Self::build(config, options)
    }

    /// These name servers instead (UDP, and TCP for long answers).
    pub fn with_servers(servers: &[SocketAddr]) -> io::Result<Self> {
        let servers = servers
            .iter()
            .map(|server| {
                let mut udp = ConnectionConfig::udp();
                udp.port = server.port();
                let mut tcp = ConnectionConfig::tcp();
                tcp.port = server.port();
                NameServerConfig::new(server.ip(), true, vec![udp, tcp])
            })
            .collect();
        Self::build(ResolverConfig::from_name_servers(servers), ResolverOpts::default())
    }

    fn build(config: ResolverConfig, mut options: ResolverOpts) -> io::Result<Self> {
        options.cache_size = 0;
        // The deadline is the probe's own; the query is sent again under way, and an answer to any of
        // its copies counts, however late.
        options.timeout = Duration::from_secs(65);
        options.attempts = 0;
        let build = |strategy| {
            let mut options = options.clone();
            options.ip_strategy = strategy;
            let builder =
                Hickory::builder_with_config(config.clone(), TokioRuntimeProvider::default())
                    .with_options(options);
            builder.build().map(Arc::new).map_err(io::Error::other)
        };
        let servers = config.name_servers().iter().map(|server| {
            let port = server.connections.first().map_or(53, |connection| connection.port);
            SocketAddr::new(server.ip, port)
        });
        Ok(Self {
            v4: build(LookupIpStrategy::Ipv4Only)?,
            v6: build(LookupIpStrategy::Ipv6Only)?,
            servers: servers.collect(),
        })
    }

    /// The name servers that are asked, in this order.
    pub fn servers(&self) -> &[SocketAddr] {
        &self.servers
    }

    /// The addresses of one family. Never uses a search list.
    pub async fn lookup(&self, name: &str, family: Family) -> Result<Vec<IpAddr>, LookupError> {
        let resolver = match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        };
        // RFC 6761: localhost never leaves the machine.
        let bare = name.trim_end_matches('.');
        if bare.eq_ignore_ascii_case("localhost")
            || bare.to_ascii_lowercase().ends_with(".localhost")
        {
            return Ok(vec![match family {
                Family::V4 => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
                Family::V6 => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
            }]);
        }
        let found =
            resolver.lookup_ip(format!("{bare}.")).await.map_err(|error| classify(&error))?;
        let found: Vec<IpAddr> = found.iter().collect();
        if found.is_empty() { Err(LookupError::NoAddress) } else { Ok(found) }
    }

    /// Whether a name has any address: for control names.
    pub async fn knows(&self, name: &str) -> bool {
        match Host::parse(name) {
            Ok(Host::Ip(_)) => false,
            Ok(Host::Name(name)) => {
                let (v4, v6) = (self.lookup(&name, Family::V4), self.lookup(&name, Family::V6));
                futures_util::pin_mut!(v4, v6);
                match futures_util::future::select(v4, v6).await {
                    futures_util::future::Either::Left((Ok(_), _))
                    | futures_util::future::Either::Right((Ok(_), _)) => true,
                    futures_util::future::Either::Left((Err(_), other)) => other.await.is_ok(),
                    futures_util::future::Either::Right((Err(_), other)) => other.await.is_ok(),
                }
            }
            Err(_) => false,
        }
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

fn classify(error: &NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => LookupError::Nxdomain,
            ResponseCode::NoError => LookupError::NoAddress,
            other => LookupError::Servfail(other.to_string()),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => LookupError::Servfail(code.to_string()),
        NetError::Timeout => LookupError::Timeout,
        other => LookupError::Unusable(other.to_string()),
    }
}
