//! Envoy's response flags: what went wrong, and with whom.

use super::{super::upstream, Attribution};
use crate::domain::fleet::record::{Fault, Outcome};

/// The flags of one request, in their short or their long names, joined by commas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    fault: Option<Fault>,
    /// `URX`: the last of several tries failed; how, only the other flags or the status tell.
    retries_spent: bool,
    pool: bool,
    pool_empty: bool,
    client: bool,
    proxy: bool,
}

impl Flags {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut flags = Self::default();
        for flag in text.split(|b| *b == b',') {
            flags.add(flag.trim_ascii());
        }
        flags
    }

    fn add(&mut self, flag: &[u8]) {
        match flag {
            b"" | b"-" => {}
            b"UF" | b"UpstreamConnectionFailure" => self.fault = Some(Fault::Connect),
            b"UT" | b"UpstreamRequestTimeout" | b"UMSDR" | b"UpstreamMaxStreamDurationReached" => {
                self.fault = self.fault.or(Some(Fault::Timeout));
            }
            b"UC"
            | b"UpstreamConnectionTermination"
            | b"UR"
            | b"UpstreamRemoteReset"
            | b"UPE"
            | b"UpstreamProtocolError" => self.fault = self.fault.or(Some(Fault::Reset)),
            b"LH" | b"FailedLocalHealthCheck" => self.fault = self.fault.or(Some(Fault::Status)),
            b"URX" | b"UpstreamRetryLimitExceeded" => self.retries_spent = true,
            b"UH" | b"NoHealthyUpstream" => (self.pool, self.pool_empty) = (true, true),
            b"UO"
            | b"UpstreamOverflow"
            | b"NC"
            | b"NoClusterFound"
            | b"NR"
            | b"NoRouteFound"
            | b"DF"
            | b"DnsResolutionFailed"
            | b"DO"
            | b"DropOverload"
            | b"UDO"
            | b"UnconditionalDropOverload" => self.pool = true,
            b"DC"
            | b"DownstreamConnectionTermination"
            | b"DPE"
            | b"DownstreamProtocolError"
            | b"DR"
            | b"DownstreamRemoteReset"
            | b"IH"
            | b"InvalidEnvoyRequestHeaders" => self.client = true,
            // Limits, authorisation, injected faults, caches, and whatever else Envoy does by itself.
            _ => self.proxy = true,
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The upstream did not answer, or not to the end.
    pub(super) fn is_fault(self) -> bool {
        self.fault.is_some_and(|fault| fault != Fault::Status)
    }

    pub(super) fn is_pool_empty(self) -> bool {
        self.pool_empty
    }

    /// What this says of the upstream that is named, which answered with `status` if it did.
    pub(super) fn with_upstream(self, status: Option<u16>) -> (Outcome, Attribution) {
        if self.pool {
            return (Outcome::Unknown, Attribution::Pool);
        }
        if let Some(fault) = self.fault {
            return (Outcome::Error(fault), Attribution::Instance);
        }
        if self.client {
            return (Outcome::Unknown, Attribution::Client);
        }
        if self.proxy {
            return (Outcome::Unknown, Attribution::Proxy);
        }
        match (upstream::answer(status), self.retries_spent) {
            (Outcome::Unknown, true) => (Outcome::Error(Fault::Reset), Attribution::Instance),
            // A code of 0: nothing was sent, because nobody was there any more.
            (Outcome::Unknown, false) => (Outcome::Unknown, Attribution::Client),
            (outcome, _) => (outcome, Attribution::Instance),
        }
    }

    /// Nobody is named.
    pub(super) fn without_upstream(self, status: Option<u16>) -> Attribution {
        match self {
            Self { pool: true, .. } => Attribution::Pool,
            Self { client: true, .. } => Attribution::Client,
            // An upstream failed, and the log does not say which.
            Self { fault: Some(_), .. } | Self { retries_spent: true, .. } => Attribution::None,
            Self { proxy: true, .. } => Attribution::Proxy,
            _ if status.is_none() => Attribution::Client,
            _ => Attribution::Proxy,
        }
    }
}
