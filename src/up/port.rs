//! The address to listen on, and who has it if it is taken.

use std::{
    fmt::Write,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::TcpListener;

/// Listens on `address`. The error says who else does and which address is free.
pub(super) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let mut message = format!("{address} is taken by another program");
            if let Some((name, pid)) = holder(address.port()) {
                let _ = write!(message, " ({name}, process {pid})");
            }
            let free = free_port_after(address).await;
            let _ = write!(message, ".\nChoose another address:  quorate up --listen {free}");
            Err(anyhow::Error::msg(message))
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(anyhow::anyhow!(
            "{address} is for root alone.\nChoose a port from 1024 on:  quorate up --listen {}",
            SocketAddr::new(address.ip(), 8080)
        )),
        Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => Err(anyhow::anyhow!(
            "{} is not an address of this machine.\nChoose another:  quorate up --listen 127.0.0.1:{}",
            address.ip(),
            address.port()
        )),
        Err(error) => Err(anyhow::anyhow!("cannot listen on {address}: {error}")),
    }
}

/// How a program on this machine reaches a listener on `address`.
pub(super) fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The next port that nobody listens on, to be suggested.
async fn free_port_after(address: SocketAddr) -> SocketAddr {
    for port in (address.port()..=u16::MAX).skip(1).take(50) {
        let next = SocketAddr::new(address.ip(), port);
        if TcpListener::bind(next).await.is_ok() {
            return next;
        }
    }
    SocketAddr::new(address.ip(), 0)
}

/// Name and number of the process that listens on a port, as far as we may see.
fn holder(port: u16) -> Option<(String, u32)> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        listening_inode(&table, port).map(str::to_owned)
    })?;
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pid: u32 = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(
        |pid: &u32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files
                .filter_map(|file| fs::read_link(file.path()).ok())
                .any(|link| link.as_os_str() == wanted.as_str())
        },
    )?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some((name.trim().to_owned(), pid))
}

/// The inode of the socket that listens on `port`, from a table of the kernel.
fn listening_inode(table: &str, port: u16) -> Option<&str> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (*state == LISTEN && local.ends_with(&suffix)).then_some(*inode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listener_of_a_port_is_found_among_other_sockets() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
               0: 0100007F:1F90 0100007F:A0B1 01 00000000:00000000 00:00000000 00000000     0        0 111 1\n\
               1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1\n";
        assert_eq!(listening_inode(table, 8080), Some("222"));
        assert_eq!(listening_inode(table, 8081), None);
    }

    #[tokio::test]
    async fn a_taken_address_names_who_has_it_and_one_that_is_free() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let error = listen(address).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{address} is taken by another program")), "{error}");
        if cfg!(target_os = "linux") {
            assert!(error.contains(&format!(", process {})", std::process::id())), "{error}");
        }
        assert!(error.contains("quorate up --listen 127.0.0.1:"), "{error}");
    }

    #[test]
    fn every_address_is_reached_over_loopback_from_here() {
        let here = |text: &str| from_here(text.parse().unwrap()).to_string();
        assert_eq!(here("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(here("[::]:80"), "[::1]:80");
        assert_eq!(here("192.0.2.1:80"), "192.0.2.1:80");
    }
}
