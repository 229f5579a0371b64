//! Sockets for echo requests (ICMP), which need no port and sometimes a permission.

use std::io;
use std::net::{IpAddr, SocketAddr};

use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use super::Guard;
use crate::domain::address::Blocked;

/// A socket that sends echo requests to one address and hears that address alone. What routers say about its
/// packets comes as an error of the next call.
#[derive(Debug)]
pub struct EchoSocket {
    /// For `send` and `recv`; there is no UDP on it.
    pub socket: UdpSocket,
    /// Every ICMP message of the address comes, with the IP header before it in IPv4. Else the kernel sets the
    /// identifier of requests and gives their replies only.
    pub raw: bool,
}

/// Why there is no such socket.
#[derive(Debug, thiserror::Error)]
pub enum EchoError {
    /// Nothing was sent.
    #[error("{0}")]
    Blocked(Blocked),
    /// This process may open neither kind of socket.
    #[error("{0}")]
    Permission(io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Guard {
    /// The only way by which a probe sends echo requests.
    pub fn echo(&self, ip: IpAddr) -> Result<EchoSocket, EchoError> {
        self.check_ip(ip).map_err(EchoError::Blocked)?;
        let (domain, protocol) = match ip {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let open = |kind| Socket::new(domain, kind, Some(protocol));
        let (socket, raw) = match open(Type::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => match open(Type::RAW) {
                Ok(socket) => (socket, true),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(EchoError::Permission(error));
                }
                Err(error) => return Err(error.into()),
            },
        };
        socket.set_nonblocking(true)?;
        match ip {
            IpAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4RecvErr, &true),
            IpAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvErr, &true),
        }
        .map_err(io::Error::from)?;
        socket.connect(&SocketAddr::new(ip, 0).into())?;
        Ok(EchoSocket { socket: UdpSocket::from_std(socket.into())?, raw })
    }
}
