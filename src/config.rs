//! What each subcommand can be told, by flag or by environment variable. The comments on the fields are
//! the manual: `--help` prints them.

mod mapping;
mod server;
mod ship;
mod value;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

use value::{address, secret};

use crate::domain::address::AllowNet;
pub use crate::domain::secret::Secret;

pub use mapping::fields_by_keys;
pub use server::{
    AdminCommand, AdminLinkConfig, CoordinatorConfig, MigrateConfig, ServerConfig, UpConfig,
};
pub use ship::{ShipConfig, ShipRole, ShipTiming};
pub use value::{DatabaseUrl, LocationSpec};

/// An environment variable that is set and empty counts as not set, as composed set-ups expect.
pub fn without_empty_variables(command: clap::Command) -> clap::Command {
    let empty =
        |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| if arg.get_env().is_some_and(empty) { arg.env(None) } else { arg })
        .mut_subcommands(without_empty_variables)
}

/// Probes from this machine for a coordinator. Outbound connections only.
#[derive(Debug, Clone, clap::Args)]
pub struct AgentConfig {
    /// Where the coordinator answers, such as `https://quorate.example`. Plain http is taken for
    /// loopback addresses only, or with --insecure-http.
    #[arg(long, env = "QUORATE_COORDINATOR_URL", value_name = "URL")]
    pub coordinator_url: Url,

    /// The token that the locations page showed when this agent was enrolled.
    #[arg(long, env = "QUORATE_AGENT_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = secret)]
    pub token: Secret<String>,

    /// Folder for results that the coordinator has not taken yet, and for the last assignments. Every
    /// agent needs its own. Default: /var/lib/quorate/agent as root, else
    /// ~/.local/share/quorate/agent.
    #[arg(long, env = "QUORATE_SPOOL_DIR", value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,

    /// Disk space for the results that wait; once it is full, the oldest are dropped and counted.
    #[arg(long, env = "QUORATE_SPOOL_MAX", value_name = "SIZE", default_value = "256MiB")]
    pub spool_max: ByteSize,

    /// Address range that may be probed although it is private or special, such as 10.0.0.0/8. Several
    /// times or separated by commas.
    #[arg(long, env = "QUORATE_ALLOW_NET", value_name = "CIDR", value_delimiter = ',')]
    pub allow_net: Vec<AllowNet>,

    /// Probe these ports only. Without it every port is allowed.
    #[arg(long, env = "QUORATE_ALLOW_PORT", value_name = "PORT", value_delimiter = ',')]
    pub allow_port: Vec<u16>,

    /// How many probes may run at the same time. What has to wait longer than five seconds is reported
    /// as agent_overload, never as a slow target.
    #[arg(long, env = "QUORATE_MAX_IN_FLIGHT", value_name = "N", default_value_t = 500,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_in_flight: u32,

    /// Take a coordinator over plain http on a network that you trust. The token and the secrets of
    /// the checks travel in clear.
    #[arg(long, env = "QUORATE_INSECURE_HTTP")]
    pub insecure_http: bool,

    /// A target that is always up, as https://… or host:port; at least three switch on the self-check
    /// that tells a broken line here from broken targets there.
    #[arg(
        long = "reference",
        env = "QUORATE_REFERENCE",
        value_name = "TARGET",
        value_delimiter = ','
    )]
    pub references: Vec<String>,

    /// A name that always resolves. When it does not, a DNS failure is this agent's, not the target's.
    /// The coordinator's host is always one of them.
    #[arg(
        long = "control-name",
        env = "QUORATE_CONTROL_NAME",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub control_names: Vec<String>,

    /// Ask these resolvers, as IP:PORT, instead of the machine's. Several times or separated by commas.
    #[arg(
        long = "name-server",
        env = "QUORATE_NAME_SERVERS",
        value_name = "IP:PORT",
        value_delimiter = ',',
        value_parser = address
    )]
    pub name_servers: Vec<SocketAddr>,

    /// Certificates (PEM) to trust beside the machine's own, such as those of a private authority.
    #[arg(long, env = "QUORATE_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Where this agent answers /livez, /readyz and /startupz about itself. Default: nowhere.
    #[arg(long, env = "QUORATE_HEALTH_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub health_listen: Option<SocketAddr>,

    /// Rhythm of the link; only tests change it.
    #[arg(skip)]
    pub timing: LinkTiming,
}

impl AgentConfig {
    /// Every field at its default. `up` and the tests start from here.
    pub fn new(coordinator_url: Url, token: Secret<String>, spool_dir: PathBuf) -> Self {
        Self {
            coordinator_url,
            token,
            spool_dir: Some(spool_dir),
            spool_max: ByteSize::DEFAULT_SPOOL,
            allow_net: Vec::new(),
            allow_port: Vec::new(),
            max_in_flight: 500,
            insecure_http: false,
            references: Vec::new(),
            control_names: Vec::new(),
            name_servers: Vec::new(),
            ca_file: None,
            health_listen: None,
            timing: LinkTiming::default(),
        }
    }
}

/// Rhythm of an agent's link to its coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTiming {
    pub heartbeat: std::time::Duration,
    /// A stream that was silent for so long (three pings) is dead.
    pub silence: std::time::Duration,
    /// Passes wait for so long to travel together. Failures do not wait.
    pub flush: std::time::Duration,
    /// First and longest pause after an error, before jitter.
    pub backoff: (std::time::Duration, std::time::Duration),
    /// Pause after the coordinator refused the token.
    pub refused: std::time::Duration,
    /// One request with its answer; the stream's silence has its own limit.
    pub request: std::time::Duration,
    /// What a stopping agent grants running probes, and then once more the last delivery.
    pub farewell: std::time::Duration,
}

impl Default for LinkTiming {
    fn default() -> Self {
        use std::time::Duration;
        Self {
            heartbeat: Duration::from_secs(crate::protocol::BEAT_SECS),
            silence: Duration::from_secs(3 * crate::protocol::BEAT_SECS),
            flush: Duration::from_secs(1),
            backoff: (Duration::from_secs(1), Duration::from_secs(30)),
            refused: Duration::from_secs(60),
            request: Duration::from_secs(20),
            farewell: Duration::from_secs(3),
        }
    }
}

/// A number of bytes, written `512KiB`, `256MiB`, `4GiB` or as plain bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    pub const DEFAULT_SPOOL: Self = Self(256 << 20);
}

impl FromStr for ByteSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kib" => 10,
            "m" | "mib" => 20,
            "g" | "gib" => 30,
            _ => return Err(format!("“{unit}” is no unit: write KiB, MiB or GiB")),
        };
        let number: u64 =
            number.parse().map_err(|_| "needs a whole number, such as 256MiB".to_owned())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(|| "is larger than any disk".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!("256MiB".parse(), Ok(ByteSize::DEFAULT_SPOOL));
        assert_eq!(" 4 KiB ".parse(), Ok(ByteSize(4096)));
        assert_eq!("17".parse(), Ok(ByteSize(17)));
        assert!("17 MB?".parse::<ByteSize>().is_err());
        assert!("MiB".parse::<ByteSize>().is_err());
        assert!("99999999999GiB".parse::<ByteSize>().is_err());
    }
}
