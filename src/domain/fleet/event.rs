//! What a log or a platform says of an instance besides requests: states, checks, ejections, restarts.
//! Rare beside requests, so these own their texts and are what is stored.

use serde::{Deserialize, Serialize};

/// One statement about one instance, or about its pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened, in µs since the Unix epoch.
    pub at_us: i64,
    /// Who says it.
    pub source: Source,
    /// As that source names it; none when it speaks of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Other names of the same instance: a pod's name, uid and address, a server's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Which of several reporters: a balancer's process or node. Each has its own view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reporter: Option<String>,
    pub what: What,
    /// The source's own words for the cause, such as `Layer7 wrong status, code: 500`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many instances are active by the source's own count, after this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u32>,
    /// The availability zone that the instance is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The machine that the instance runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Name of the source that sent it. It stands beside a stored event, and is no part of it.
    #[serde(skip)]
    pub feed: Option<String>,
}

/// Whose word it is, in the order of precedence within a kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Haproxy,
    Kubernetes,
    AlbHealth,
    Envoy,
    NginxError,
    Caddy,
    /// Health checks seen in an instance's own log.
    Probes,
    /// Inferred from requests.
    Traffic,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The source's verdict on the instance from now on. A repeat is no transition.
    State(State),
    /// One health check.
    Check { passed: bool },
    /// Taken out by the balancer because of real requests. `enforced: false` was only logged.
    Ejected { enforced: bool },
    /// Taken back after an ejection.
    Returned,
    /// A request to it failed in this way, as the balancer's error log says.
    Failed,
    /// A counter of restarts since the instance's life began: increases count, decreases are a reset.
    RestartCount(u64),
    /// A process began: one certain restart, or the first start.
    Started,
    /// The platform waits longer and longer before it starts it again.
    BackOff,
    /// What it runs.
    Version(String),
    /// How often the platform has seen something happen so far, such as failed readiness probes: an
    /// increase counts.
    Count { name: String, total: u64 },
    /// Nobody in the pool can serve.
    PoolEmpty,
    /// How many instances there should be, by the platform.
    Expected(u32),
    /// The instance is not in the inventory any more.
    Gone,
}

/// Where an instance is in its life (spec: fleet 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Unknown,
    Starting,
    Ready,
    /// It gets requests, and nobody says whether it is ready: less than that.
    InRotation,
    Unready,
    /// On its way out on purpose; still answers what it has.
    Draining,
    /// Out on purpose.
    Maintenance,
    Gone,
}

impl Source {
    /// In the order of precedence.
    pub const ALL: [Self; 8] = [
        Self::Haproxy,
        Self::Kubernetes,
        Self::AlbHealth,
        Self::Envoy,
        Self::NginxError,
        Self::Caddy,
        Self::Probes,
        Self::Traffic,
    ];

    /// For people, after “by”.
    pub fn words(self) -> &'static str {
        match self {
            Self::Haproxy => "HAProxy",
            Self::Kubernetes => "Kubernetes",
            Self::AlbHealth => "the ALB's checks",
            Self::Envoy => "Envoy",
            Self::NginxError => "nginx's error log",
            Self::Caddy => "Caddy",
            Self::Probes => "checks in their own logs",
            Self::Traffic => "traffic",
        }
    }

    /// It writes down changes only: whom it never spoke of has been as it wants them.
    pub fn tells_changes(self) -> bool {
        matches!(self, Self::Haproxy | Self::Envoy | Self::NginxError | Self::Caddy)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Haproxy => "haproxy",
            Self::Kubernetes => "kubernetes",
            Self::AlbHealth => "alb_health",
            Self::Envoy => "envoy",
            Self::NginxError => "nginx_error",
            Self::Caddy => "caddy",
            Self::Probes => "probes",
            Self::Traffic => "traffic",
        }
    }
}

impl State {
    /// It serves, as somebody says or as its traffic shows.
    pub fn serves(self) -> bool {
        matches!(self, Self::Ready | Self::InRotation)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::InRotation => "in_rotation",
            Self::Unready => "unready",
            Self::Draining => "draining",
            Self::Maintenance => "maintenance",
            Self::Gone => "gone",
        }
    }
}

impl Event {
    /// An event without particulars.
    pub fn new(at_us: i64, source: Source, what: What) -> Self {
        Self {
            at_us,
            source,
            instance: None,
            aliases: Vec::new(),
            pool: None,
            reporter: None,
            what,
            reason: None,
            active: None,
            zone: None,
            node: None,
            feed: None,
        }
    }

    pub fn of(mut self, instance: impl Into<String>) -> Self {
        self.instance = Some(instance.into());
        self
    }
}
