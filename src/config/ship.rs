//! `ship`: what follows log files.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use url::Url;

use super::{
    Secret,
    value::{address, secret},
};

/// Follows log files and forwards them to a coordinator, each byte once. Goes on after a rotation, a
/// restart, and however long the coordinator is away: the files are the buffer.
#[derive(Debug, Clone, clap::Args)]
pub struct ShipConfig {
    /// Where the coordinator answers, such as `https://quorate.example`. Plain http is taken for
    /// loopback addresses only, or with --insecure-http.
    #[arg(long, env = "QUORATE_COORDINATOR_URL", value_name = "URL")]
    pub coordinator_url: Url,

    /// A shipper's token; the fleet's page makes one.
    #[arg(long, env = "QUORATE_SHIPPER_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = secret)]
    pub token: Secret<String>,

    /// The fleet whose logs these are: its name or id.
    #[arg(long, env = "QUORATE_FLEET", value_name = "F")]
    pub fleet: String,

    /// What writes the logs, such as `lb-1`; in an instance's own log it names the instance.
    #[arg(long, env = "QUORATE_SOURCE", value_name = "NAME")]
    pub source: String,

    /// What the lines tell of: a balancer sees requests to all instances, an instance its own.
    #[arg(long, env = "QUORATE_SOURCE_ROLE", value_name = "ROLE", default_value = "balancer")]
    pub role: ShipRole,

    /// How to read the lines, a name of `quorate logs --format`. Default: the coordinator finds out.
    #[arg(long, env = "QUORATE_LOG_FORMAT", value_name = "NAME")]
    pub format: Option<String>,

    /// nginx's log_format as it stands in its configuration, for lines of a format of your own.
    #[arg(long, value_name = "'$remote_addr …'", conflicts_with_all = ["format", "map"])]
    pub log_format: Option<String>,

    /// What the keys of JSON lines mean, as `field=key`, or a file with such lines; may be repeated.
    #[arg(long, value_name = "FILE|k=v")]
    pub map: Vec<String>,

    /// Zone of times that carry none, such as Europe/Berlin. Default: UTC.
    #[arg(long, env = "QUORATE_LOG_TZ", value_name = "ZONE")]
    pub tz: Option<String>,

    /// Log files; `-` is standard input. Of a file that is new to this shipper everything in it is sent.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Send what there is and end, instead of following.
    #[arg(long)]
    pub once: bool,

    /// Of a file that is new to this shipper, send its rotated predecessors too (gzip and zstd as well).
    #[arg(long)]
    pub backfill: bool,

    /// Folder for the positions. Default: /var/lib/quorate/ship as root, else
    /// ~/.local/share/quorate/ship.
    #[arg(long, env = "QUORATE_SHIP_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<PathBuf>,

    /// Take a coordinator over plain http on a network that you trust. The token and the lines travel
    /// in clear.
    #[arg(long, env = "QUORATE_INSECURE_HTTP")]
    pub insecure_http: bool,

    /// Certificates (PEM) to trust beside the machine's own, such as those of a private authority.
    #[arg(long, env = "QUORATE_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Where this shipper answers /livez, /readyz and /startupz about itself. Default: nowhere.
    #[arg(long, env = "QUORATE_HEALTH_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub health_listen: Option<SocketAddr>,

    /// Rhythm; only tests change it.
    #[arg(skip)]
    pub timing: ShipTiming,
}

/// What a source tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ShipRole {
    Balancer,
    Instance,
}

/// How the shipper goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShipTiming {
    /// Files are looked at this often.
    pub poll: Duration,
    /// A file that another has replaced is over when it has not grown for so long: whoever writes may
    /// still hold it open.
    pub linger: Duration,
    /// First and longest pause after an error, before jitter.
    pub backoff: (Duration, Duration),
    /// Pause after the coordinator refused the token.
    pub refused: Duration,
    /// One batch with its answer.
    pub request: Duration,
}

impl ShipRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balancer => "balancer",
            Self::Instance => "instance",
        }
    }
}

impl Default for ShipTiming {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            linger: Duration::from_secs(10),
            backoff: (Duration::from_secs(1), Duration::from_secs(30)),
            refused: Duration::from_secs(60),
            request: Duration::from_secs(60),
        }
    }
}
