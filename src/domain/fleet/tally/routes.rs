//! Which route class a request belongs to: its method and its path, without what is one of many.

use super::{super::record::Record, names::Names};

/// So many route classes have a name of their own; whatever comes later is `other`.
pub const MOST_ROUTES: usize = 200;
const OTHER: &[u8] = b"other";
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
    /// The line's class; kept for its space.
    class: Vec<u8>,
}

impl Routes {
    /// At most so many, and `other`.
    pub(super) fn new(most: usize) -> Self {
        Self { names: Names::default(), most, class: Vec::new() }
    }

    /// The class of a request.
    pub(super) fn of(&mut self, record: &Record<'_>) -> u32 {
        let mut class = std::mem::take(&mut self.class);
        class.clear();
        class.extend_from_slice(record.method.unwrap_or(b"-"));
        class.push(b' ');
        put_path(&mut class, path(record));
        let id = self.named(&class);
        self.class = class;
        id
    }

    /// Where each class of another table stands in this one.
    pub(super) fn adopt(&mut self, other: &Self) -> Vec<u32> {
        (0..other.names.len() as u32).map(|id| self.named(other.names.bytes(id))).collect()
    }

    pub(super) fn text(&self, id: u32) -> String {
        self.names.text(id)
    }

    fn named(&mut self, class: &[u8]) -> u32 {
        match self.names.get(class) {
            Some(id) => id,
            None if self.names.len() >= self.most => self.names.id(OTHER),
            None => self.names.id(class),
        }
    }
}

/// The target without what follows the path.
fn path<'a>(record: &Record<'a>) -> &'a [u8] {
    let target = record.target.map_or(&b""[..], |target| path_on(target.raw));
    let end = memchr::memchr3(b'?', b'#', b';', target).unwrap_or(target.len());
    &target[..end]
}

/// Appends a path with `*` in the place of numbers, ids and hashes.
fn put_path(class: &mut Vec<u8>, path: &[u8]) {
    let mut from = 0;
    for end in memchr::memchr_iter(b'/', path).chain([path.len()]) {
        let word = &path[from..end];
        if is_one_of_many(word) {
            class.push(b'*');
        } else {
            class.extend_from_slice(word);
        }
        if end < path.len() {
            class.push(b'/');
        }
        from = end + 1;
    }
}

/// A number, an id, a hash.
fn is_one_of_many(word: &[u8]) -> bool {
    // Most words are neither, and show it at once.
    let Some(first) = word.first().filter(|first| first.is_ascii_hexdigit()) else { return false };
    if first.is_ascii_digit() && word.iter().all(u8::is_ascii_digit) {
        return true;
    }
    word.len() >= 8 && word.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
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
    // Nearly every line is a browser's; one look at its first byte is enough.
    let known = |prober: &&[u8]| prober.first() == agent.raw.first();
    if !PROBERS.iter().filter(|prober| known(prober)).any(|prober| agent.raw.starts_with(prober)) {
        return false;
    }
    let path = path(record);
    PROBE_PATHS.contains(&path) || paths.iter().any(|own| own == path)
}

#[cfg(test)]
mod tests {
    use super::super::super::record::Text;
    use super::*;

    #[test]
    fn what_is_one_of_many_is_a_star() {
        let class = |target: &'static str| {
            let record = Record {
                method: Some(b"GET"),
                target: Some(Text::plain(target.as_bytes())),
                ..Record::default()
            };
            let mut routes = Routes::new(10);
            let id = routes.of(&record);
            routes.text(id)
        };
        assert_eq!(class("/"), "GET /");
        assert_eq!(class("/item/17?x=/1/"), "GET /item/*");
        assert_eq!(class("/item/17/"), "GET /item/*/");
        assert_eq!(class("/o/3f2504e0-4f89-11d3-9a0c-0305e82c3301/x"), "GET /o/*/x");
        assert_eq!(class("/deadbeef/cafe/decade12"), "GET /*/cafe/*");
        assert_eq!(class("/v2/a;b=1"), "GET /v2/a");
        assert_eq!(class("https://shop.example:443/item/17?x"), "GET /item/*");
        assert_eq!(class("*"), "GET *");
        assert_eq!(class(""), "GET ");
    }
}
