//! `up`, `coordinator`, `migrate` and `admin`: what works on the database.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use url::Url;

use super::value::{DatabaseUrl, LocationSpec, address, seconds, secret};
use crate::domain::{address::AllowNet, secret::Secret};

/// Everything on this machine: a private Postgres, one coordinator and simulated locations.
#[derive(Debug, Clone, clap::Args)]
pub struct UpConfig {
    /// Where everything is kept [default: ~/.local/share/quorate; as root /var/lib/quorate]
    #[arg(long, env = "QUORATE_DATA_DIR", value_name = "D")]
    pub data_dir: Option<PathBuf>,
    /// The address of the web page and the API.
    #[arg(
        long,
        env = "QUORATE_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS:PORT",
        value_parser = address
    )]
    pub listen: SocketAddr,
    /// A location to simulate; may be repeated. REGION and DOMAIN (what fails together) default to NAME.
    /// Without any: eu-sim, us-sim and ap-sim at the first start, later those that are there.
    #[arg(long = "location", value_name = "NAME[:REGION[:DOMAIN]]")]
    pub locations: Vec<LocationSpec>,
    /// A private network that may be probed and may receive webhooks; may be repeated.
    #[arg(long, env = "QUORATE_ALLOW_NET", value_name = "CIDR", value_delimiter = ',')]
    pub allow_net: Vec<AllowNet>,
    /// A database that runs already, instead of a private one: postgres://user@host/name
    #[arg(long, env = "QUORATE_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<DatabaseUrl>,
    /// Where `postgres` and `initdb` are, if not in the usual places.
    #[arg(long, env = "QUORATE_PG_BIN_DIR", value_name = "DIR")]
    pub pg_bin_dir: Option<PathBuf>,
    /// The key that encrypts stored secrets, instead of the one kept in the data folder.
    #[arg(long, env = "QUORATE_SECRET_KEY", value_name = "KEY", hide_env_values = true, value_parser = secret)]
    pub secret_key: Option<Secret<String>>,
    #[command(flatten)]
    pub server: ServerConfig,
}

/// Decides, alerts, and serves the web page and the API. Run two or more behind a balancer.
#[derive(Debug, Clone, clap::Args)]
pub struct CoordinatorConfig {
    /// The database all coordinators share: postgres://user@host/name
    #[arg(long, env = "QUORATE_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: DatabaseUrl,
    /// The address to serve on.
    #[arg(
        long,
        env = "QUORATE_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS:PORT",
        value_parser = address
    )]
    pub listen: SocketAddr,
    /// A private network that may receive webhooks; may be repeated.
    #[arg(long, env = "QUORATE_ALLOW_NET", value_name = "CIDR", value_delimiter = ',')]
    pub allow_net: Vec<AllowNet>,
    /// The key that encrypts stored secrets: 32 bytes as base64 or hex, the same for all coordinators.
    /// `openssl rand -base64 32` makes one. Several, separated by commas: the first is used from now
    /// on, the others still open what they sealed.
    #[arg(
        env = "QUORATE_SECRET_KEY",
        long,
        value_name = "KEY",
        hide_env_values = true,
        value_parser = secret,
        conflicts_with = "secret_key_file"
    )]
    pub secret_key: Option<Secret<String>>,
    /// A file with that key, used without QUORATE_SECRET_KEY; made (mode 0600) if it is not there.
    #[arg(long, env = "QUORATE_SECRET_KEY_FILE", value_name = "FILE")]
    pub secret_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerConfig,
}

/// What `up` and `coordinator` have in common.
#[derive(Debug, Clone, clap::Args)]
pub struct ServerConfig {
    /// The address people and agents reach us at, used in links [default: http://LISTEN]
    #[arg(long, env = "QUORATE_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<Url>,
    /// The mail server: smtp://user:password@host:587 or smtps://…:465. Overrides the settings page.
    #[arg(long, env = "QUORATE_SMTP_URL", value_name = "URL", hide_env_values = true, value_parser = secret)]
    pub smtp_url: Option<Secret<String>>,
    /// A file of certificates (PEM) to trust beside the system's when mail and webhooks go out: a
    /// company's own authority.
    #[arg(long, env = "QUORATE_EXTRA_CA", value_name = "FILE")]
    pub extra_ca: Option<PathBuf>,
    /// Serves /metrics here too, without a token.
    #[arg(long, env = "QUORATE_METRICS_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub metrics_listen: Option<SocketAddr>,
    /// At most so many connections to the database.
    #[arg(long, env = "QUORATE_DATABASE_CONNECTIONS", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(4..=500))]
    pub database_connections: u32,
    /// How long to keep serving after SIGTERM while /readyz says 503, so that balancers notice.
    #[arg(long = "lame-duck", env = "QUORATE_LAME_DUCK", value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub lame_duck: Duration,
    /// How long requests and deliveries in hand may take after that.
    #[arg(long = "drain-deadline", env = "QUORATE_DRAIN_DEADLINE", value_name = "SECONDS", default_value = "25", value_parser = seconds)]
    pub drain_deadline: Duration,
}

/// Brings the schema of a database up to date. Safe while the previous version still runs.
#[derive(Debug, Clone, clap::Args)]
pub struct MigrateConfig {
    /// The database: postgres://user@host/name
    #[arg(long, env = "QUORATE_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: DatabaseUrl,
}

/// Things only the owner of the database may do.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum AdminCommand {
    /// Prints a one-time sign-in link: for the first admin, or to get back in.
    Link(AdminLinkConfig),
}

/// Prints a one-time sign-in link, good for 24 hours.
#[derive(Debug, Clone, clap::Args)]
pub struct AdminLinkConfig {
    /// Whom it is for. Without it: the first admin, while there is none.
    pub email: Option<String>,
    /// The data folder of `quorate up`, whose database is meant [default: as for up]
    #[arg(long, env = "QUORATE_DATA_DIR", value_name = "D", conflicts_with = "database_url")]
    pub data_dir: Option<PathBuf>,
    /// A shared database instead.
    #[arg(long, env = "QUORATE_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<DatabaseUrl>,
    /// The address the link should begin with [default: the one `up` serves, or http://127.0.0.1:8080]
    #[arg(long, env = "QUORATE_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<Url>,
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn every_struct_is_a_valid_command() {
        let all = [
            UpConfig::augment_args,
            CoordinatorConfig::augment_args,
            MigrateConfig::augment_args,
            AdminLinkConfig::augment_args,
        ];
        for augment in all {
            augment(clap::Command::new("x")).debug_assert();
        }
    }
}
