//! What an SLO watches.

use crate::domain::ids::{FleetKey, MonitorKey};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Monitor(MonitorKey),
    /// Requests that a fleet's balancer saw; `monitor` speaks for minutes with few of them.
    Fleet {
        fleet: FleetKey,
        monitor: Option<MonitorKey>,
    },
    /// Monitors that are judged together, in their order.
    Composite(Vec<MonitorKey>),
}

impl Subject {
    /// As it is stored and answered.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Monitor(_) => "monitor",
            Self::Fleet { .. } => "fleet",
            Self::Composite(_) => "composite",
        }
    }

    /// Every monitor that has a say in it.
    pub fn monitors(&self) -> Vec<MonitorKey> {
        match self {
            Self::Monitor(monitor) => vec![*monitor],
            Self::Fleet { monitor, .. } => monitor.iter().copied().collect(),
            Self::Composite(members) => members.clone(),
        }
    }

    pub fn fleet(&self) -> Option<FleetKey> {
        match self {
            Self::Fleet { fleet, .. } => Some(*fleet),
            _ => None,
        }
    }
}
