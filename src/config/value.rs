//! Values that need checking, so that nobody has to check them again.

use std::{fmt, net::SocketAddr, str::FromStr, time::Duration};

use sqlx::postgres::PgConnectOptions;

use crate::domain::secret::Secret;

/// A location as `up` simulates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationSpec {
    pub name: String,
    pub region: String,
    /// What fails together with others of the same name: a provider, a line.
    pub domain: String,
}

impl FromStr for LocationSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let region = parts.next().unwrap_or(name);
        let domain = parts.next().unwrap_or(name);
        if parts.next().is_some() {
            return Err("more than NAME:REGION:DOMAIN".to_owned());
        }
        for part in [name, region, domain] {
            let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if part.is_empty() || part.len() > 40 || !part.chars().all(ok) {
                return Err(format!("“{part}” is no name: write 1 to 40 letters, digits, - or _"));
            }
        }
        Ok(Self { name: name.to_owned(), region: region.to_owned(), domain: domain.to_owned() })
    }
}

/// How to reach a database; may hold a password, so it is not printed.
#[derive(Clone)]
pub struct DatabaseUrl(PgConnectOptions);

impl DatabaseUrl {
    pub fn options(&self) -> PgConnectOptions {
        self.0.clone()
    }
}

impl From<PgConnectOptions> for DatabaseUrl {
    fn from(options: PgConnectOptions) -> Self {
        Self(options)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.0.get_database().unwrap_or("?");
        write!(f, "{}/{database}", self.0.get_host())
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint = "write postgres://user:password@host:5432/name";
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(format!("it is not the URL of a Postgres database; {hint}"));
        }
        text.parse().map(Self).map_err(|error| format!("{error}; {hint}"))
    }
}

/// A token, key or password; blanks at its ends were not meant.
pub(super) fn secret(text: &str) -> Result<Secret<String>, String> {
    match text.trim() {
        "" => Err("must not be empty".to_owned()),
        text => Ok(Secret::from(text)),
    }
}

/// An address with its port.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| match text.parse::<u16>() {
        Ok(port) => format!("write the address, too: 127.0.0.1:{port}, or 0.0.0.0:{port} for all"),
        Err(_) => "write an address and a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned(),
    })
}

/// A span in seconds, up to an hour.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, such as 5")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(span) if span <= Duration::from_secs(3_600) => Ok(span),
        _ => Err("write 0 to 3600 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_needs_only_a_name() {
        let spec: LocationSpec = "eu-sim".parse().unwrap();
        assert_eq!((&*spec.region, &*spec.domain), ("eu-sim", "eu-sim"));
        let spec: LocationSpec = "fra:eu:hetzner".parse().unwrap();
        assert_eq!((&*spec.name, &*spec.region, &*spec.domain), ("fra", "eu", "hetzner"));
        let spec: LocationSpec = "fra:eu".parse().unwrap();
        assert_eq!((&*spec.region, &*spec.domain), ("eu", "fra"));
        for bad in ["", "a:", ":eu", "a:b:c:d", "a b", "ä"] {
            assert!(bad.parse::<LocationSpec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_needs_its_port_and_a_port_its_address() {
        assert_eq!(address("[::1]:80").unwrap().port(), 80);
        assert!(address("8123").unwrap_err().contains("127.0.0.1:8123"));
        for bad in ["localhost:8080", "127.0.0.1", "70000", ""] {
            assert!(address(bad).unwrap_err().contains("such as 127.0.0.1:8080"), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_trimmed_and_never_printed() {
        let read = secret(" qra_abc\n").unwrap();
        assert_eq!(
            (format!("{read:?}"), read.expose().as_str()),
            ("[secret]".to_owned(), "qra_abc")
        );
        assert!(secret(" ").is_err());
    }

    #[test]
    fn a_database_url_does_not_show_its_password() {
        let url: DatabaseUrl = "postgres://me:hush@db.example/quorate".parse().unwrap();
        assert_eq!(format!("{url:?}"), "db.example/quorate");
        assert!("mysql://x".parse::<DatabaseUrl>().is_err());
    }
}
