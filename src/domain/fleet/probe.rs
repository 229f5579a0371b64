//! Which requests are health checks (spec: fleet 1.10). They say something of the instance's life and
//! nothing of what users get, so that they are left out of rates. A user agent alone proves nothing,
//! because anybody can send it: on a path that is no health check it is traffic.

use serde::{Deserialize, Serialize};

use super::{record::Record, route};

/// Health checkers by the beginning of their user agent.
pub const PROBERS: [&[u8]; 18] = [
    b"kube-probe/",
    b"ELB-HealthChecker/",
    b"GoogleHC/",
    b"Envoy/HC",
    b"Amazon-Route53-Health-Check-Service",
    b"Edge Health Probe",
    b"Azure Traffic Manager Endpoint Monitor",
    b"Load Balancer Agent",
    b"HealthCheck/",
    b"ReadyForRequest/",
    b"AlwaysOn",
    b"Consul Health Check",
    b"Prometheus/",
    b"Blackbox Exporter/",
    b"UptimeRobot/",
    b"Mozilla/5.0+(compatible; UptimeRobot/",
    b"Uptime-Kuma/",
    b"quorate/",
];

/// Paths that are health checks everywhere; a fleet's settings add its own.
pub const PATHS: [&[u8]; 6] =
    [b"/healthz", b"/livez", b"/readyz", b"/health", b"/ping", b"/status"];

/// So many clients at most check one path of one instance: the nodes of a balancer, the probers of a cloud.
const MOST_CLIENTS: usize = 16;
/// So many gaps must be alike.
const GAPS: usize = 10;
/// Standard deviation over mean of gaps that are alike.
const ALIKE: f64 = 0.2;
/// A gap of so many times the pace is a pause.
const PAUSE: f64 = 3.0;
/// A client that has not asked for an hour is gone, and so is a crowd.
const QUIET_US: i64 = 3_600_000_000;

/// Whether the user agent is that of a health checker.
pub fn is_prober(agent: &[u8]) -> bool {
    // Nearly every line is a browser's: a look at the first byte is enough for most.
    let first = agent.first();
    PROBERS.iter().filter(|prober| prober.first() == first).any(|prober| agent.starts_with(prober))
}

/// Whether the path is a health check's.
pub fn is_check(record: &Record<'_>, own_paths: &[Vec<u8>]) -> bool {
    let target = record.target.map_or(&b""[..], |target| target.raw);
    // Nearly every line asks for something else, and shows it at once.
    if own_paths.is_empty() && !PATHS.iter().any(|path| target.get(1) == path.get(1)) {
        return target.first() != Some(&b'/') && PATHS.contains(&route::path(target));
    }
    let path = route::path(target);
    PATHS.contains(&path) || own_paths.iter().any(|own| own == path)
}

/// Whether the request is a health check by its path and its user agent.
pub fn is_probe(record: &Record<'_>, own_paths: &[Vec<u8>]) -> bool {
    record.user_agent.is_some_and(|agent| is_prober(agent.raw)) && is_check(record, own_paths)
}

/// Tells checkers without a known user agent, such as HAProxy, by their rhythm: requests for the path of a
/// health check at a constant pace from few clients. One for each instance and path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rhythm {
    clients: Vec<Client>,
    /// When there were more clients than ever check, most lately: a page that people look at.
    crowded_us: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Client {
    client: u32,
    last_us: i64,
    /// The newest gaps in µs, as a ring.
    gaps: [i64; GAPS],
    seen: usize,
}

impl Rhythm {
    /// Takes one request for the path by `client`, in the order of time. Whether it is a check: from the
    /// eleventh on at a constant pace.
    pub fn is_probe(&mut self, client: u32, at_us: i64) -> bool {
        if let Some(crowded_us) = self.crowded_us {
            if at_us.saturating_sub(crowded_us) < QUIET_US {
                self.crowded_us = Some(crowded_us.max(at_us));
                return false;
            }
            self.crowded_us = None;
        }
        if let Some(known) = self.clients.iter_mut().find(|known| known.client == client) {
            return known.is_constant(at_us);
        }
        self.clients.retain(|known| at_us.saturating_sub(known.last_us) < QUIET_US);
        if self.clients.len() >= MOST_CLIENTS {
            *self = Self { clients: Vec::new(), crowded_us: Some(at_us) };
            return false;
        }
        self.clients.push(Client { client, last_us: at_us, gaps: [0; GAPS], seen: 0 });
        false
    }

    /// The newest request, in µs.
    pub fn last_us(&self) -> Option<i64> {
        self.clients.iter().map(|client| client.last_us).max().max(self.crowded_us)
    }
}

impl Client {
    fn is_constant(&mut self, at_us: i64) -> bool {
        let gap = at_us.saturating_sub(self.last_us).max(0);
        self.last_us = self.last_us.max(at_us);
        // A checker that could not reach anybody for a while, or was away, has not lost its pace.
        if self.pace().is_some_and(|pace| gap as f64 >= PAUSE * pace) {
            return true;
        }
        self.gaps[self.seen % GAPS] = gap;
        self.seen += 1;
        self.pace().is_some()
    }

    /// The mean of gaps that are alike, in µs.
    fn pace(&self) -> Option<f64> {
        if self.seen < GAPS {
            return None;
        }
        let count = GAPS as f64;
        let mean = self.gaps.iter().map(|gap| *gap as f64).sum::<f64>() / count;
        let variance =
            self.gaps.iter().map(|gap| (*gap as f64 - mean).powi(2)).sum::<f64>() / count;
        (mean > 0.0 && variance.sqrt() < ALIKE * mean).then_some(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fleet::record::Text;

    fn request(agent: Option<&'static str>, target: &'static str) -> Record<'static> {
        Record {
            user_agent: agent.map(|agent| Text::plain(agent.as_bytes())),
            target: Some(Text::plain(target.as_bytes())),
            ..Record::default()
        }
    }

    #[test]
    fn a_probers_agent_counts_on_a_probes_path_alone() {
        let own = [b"/up".to_vec()];
        let probe = |agent, target| is_probe(&request(agent, target), &own);
        assert!(probe(Some("kube-probe/1.29+"), "/healthz"));
        assert!(probe(Some("ELB-HealthChecker/2.0"), "/up?x=1"));
        assert!(probe(Some("ELB-HealthChecker/2.0"), "https://10.0.0.1:443/up"));
        assert!(!probe(Some("kube-probe/1.29+"), "/cart"));
        assert!(!probe(Some("Mozilla/5.0"), "/healthz"));
        assert!(!probe(Some("a kube-probe/1.29"), "/healthz"));
        assert!(!probe(None, "/healthz"));
        assert!(!is_probe(&Record::default(), &own));
    }

    #[test]
    fn a_constant_pace_is_a_check_from_the_eleventh_on() {
        let mut rhythm = Rhythm::default();
        let steady: Vec<bool> = (0..14).map(|i| rhythm.is_probe(1, i * 5_000_000)).collect();
        assert_eq!(steady.iter().position(|probe| *probe), Some(10));
        // Whole seconds of a period of 2.5 s: 2, 3, 2, 3.
        let mut coarse = Rhythm::default();
        let told =
            (0..20).map(|i| coarse.is_probe(1, (i * 5 / 2) * 1_000_000)).filter(|p| *p).count();
        assert_eq!(told, 0, "that is a fifth of the mean, which is not below it");
        let mut coarse = Rhythm::default();
        let told =
            (0..20).map(|i| coarse.is_probe(1, (i * 19 / 2) * 1_000_000)).filter(|p| *p).count();
        assert_eq!(told, 10);
    }

    #[test]
    fn a_pause_is_no_change_of_pace_and_another_pace_needs_ten_more() {
        let mut rhythm = Rhythm::default();
        for i in 0..12 {
            rhythm.is_probe(1, i * 1_000_000);
        }
        let after: Vec<bool> =
            (0..12).map(|i| rhythm.is_probe(1, 60_000_000 + i * 1_000_000)).collect();
        assert!(after.iter().all(|probe| *probe), "{after:?}");
        let faster: Vec<bool> =
            (1..=20).map(|i| rhythm.is_probe(1, 71_000_000 + i * 100_000)).collect();
        // Ten gaps that are not alike, until all are of the new pace.
        assert!(faster[1..9].iter().all(|probe| !probe), "{faster:?}");
        assert!(faster[10..].iter().all(|probe| *probe), "{faster:?}");
    }

    #[test]
    fn people_have_no_pace_and_crowds_are_no_checkers() {
        let mut rhythm = Rhythm::default();
        let gaps = [1, 7, 2, 30, 1, 1, 90, 4, 12, 3, 8, 1, 40];
        let mut at = 0;
        for gap in gaps {
            at += gap * 1_000_000;
            assert!(!rhythm.is_probe(9, at));
        }
        let mut crowd = Rhythm::default();
        for round in 0..20 {
            for client in 0..17 {
                assert!(!crowd.is_probe(client, round * 1_000_000));
            }
        }
        assert!(!crowd.is_probe(0, 20_000_000));
        // An hour later nobody of them is there any more.
        let later = |i: i64| 20_000_000 + QUIET_US + i * 1_000_000;
        assert_eq!((0..11).map(|i| crowd.is_probe(0, later(i))).filter(|p| *p).count(), 1);
        let mut nobody = Rhythm::default();
        assert!((0..20).all(|_| !nobody.is_probe(1, 5)), "all at once is no pace");
    }
}
