//! Which route class a request belongs to, with a memory of the paths seen, since most lines repeat one.

use rustc_hash::FxHashMap;

use super::{super::record::Record, names::Names};

/// So many route classes have a name of their own; whatever comes later is `other`.
pub const MOST_ROUTES: usize = 200;
const OTHER: &[u8] = b"other";
/// Paths that are remembered with their class, before the memory starts anew.
const MOST_PATHS: usize = 4_096;
/// What is longer is hardly ever seen twice.
const LONGEST_PATH: usize = 256;

/// Health checkers by the beginning of their user agent.
const PROBERS: [&[u8]; 8] = [
    b"kube-probe/",
    b"ELB-HealthChecker/",
    b"GoogleHC/",
    b"Envoy/HC",
    b"Amazon-Route53-Health-Check-Service",
    b"Edge Health Probe",
    b"Consul Health Check",
    b"Azure Traffic Manager Endpoint Monitor",
];
const PROBE_PATHS: [&[u8]; 6] =
    [b"/healthz", b"/livez", b"/readyz", b"/health", b"/ping", b"/status"];

/// Route classes in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    names: Names,
    most: usize,
    /// Method, a blank and the path as it was written → its class.
    paths: FxHashMap<Box<[u8]>, u32>,
    /// The line's method and path; kept for its space.
    key: Vec<u8>,
}

impl Routes {
    /// At most so many, and `other`.
    pub(super) fn new(most: usize) -> Self {
        Self { names: Names::default(), most, paths: FxHashMap::default(), key: Vec::new() }
    }

    /// The class of a request.
    pub(super) fn of(&mut self, record: &Record<'_>) -> u32 {
        let target = record.target.map_or(&b""[..], |target| path_on(target.raw));
        let end = memchr::memchr3(b'?', b'#', b';', target).unwrap_or(target.len());
        let path = &target[..end];
        if path.len() > LONGEST_PATH {
            return self.class(record.method, path);
        }
        self.key.clear();
        self.key.extend_from_slice(record.method.unwrap_or_default());
        self.key.push(b' ');
        self.key.extend_from_slice(path);
        if let Some(known) = self.paths.get(self.key.as_slice()) {
            return *known;
        }
        let class = self.class(record.method, path);
        if self.paths.len() >= MOST_PATHS {
            self.paths.clear();
        }
        self.paths.insert(self.key.as_slice().into(), class);
        class
    }

    /// Where each class of another table stands in this one.
    pub(super) fn adopt(&mut self, other: &Self) -> Vec<u32> {
        (0..other.names.len() as u32).map(|id| self.named(other.names.bytes(id))).collect()
    }

    pub(super) fn text(&self, id: u32) -> String {
        self.names.text(id)
    }

    fn class(&mut self, method: Option<&[u8]>, path: &[u8]) -> u32 {
        let mut class = method.unwrap_or(b"-").to_vec();
        class.push(b' ');
        for part in path.split_inclusive(|byte| *byte == b'/') {
            let word = part.strip_suffix(b"/").unwrap_or(part);
            if is_one_of_many(word) {
                class.push(b'*');
                class.extend_from_slice(&part[word.len()..]);
            } else {
                class.extend_from_slice(part);
            }
        }
        self.named(&class)
    }

    fn named(&mut self, class: &[u8]) -> u32 {
        match self.names.get(class) {
            Some(id) => id,
            None if self.names.len() >= self.most => self.names.id(OTHER),
            None => self.names.id(class),
        }
    }
}

/// A number, an id, a hash.
fn is_one_of_many(word: &[u8]) -> bool {
    !word.is_empty()
        && (word.iter().all(u8::is_ascii_digit)
            || word.len() >= 8 && word.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-'))
}

/// From the path on. Load balancers, and HAProxy of HTTP/2, write `https://host:443/path`.
fn path_on(target: &[u8]) -> &[u8] {
    const SCHEMES: [&[u8]; 4] = [b"http://", b"https://", b"ws://", b"wss://"];
    if target.first() == Some(&b'/') {
        return target;
    }
    let Some(rest) = SCHEMES.iter().find_map(|scheme| target.strip_prefix(*scheme)) else {
        return target;
    };
    rest.iter().position(|b| *b == b'/').map_or(b"/", |at| &rest[at..])
}

/// Whether a request is a health check.
pub fn is_probe(record: &Record<'_>, paths: &[Vec<u8>]) -> bool {
    let Some(agent) = record.user_agent else { return false };
    if !PROBERS.iter().any(|prober| agent.raw.starts_with(prober)) {
        return false;
    }
    let target = record.target.map_or(&b""[..], |target| path_on(target.raw));
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    PROBE_PATHS.contains(&path) || paths.iter().any(|own| own == path)
}
