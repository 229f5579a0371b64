//! Which route class a request belongs to, with a memory of the paths seen, since most lines repeat one.

use rustc_hash::FxHashMap;

use super::{
    super::{record::Record, route},
    names::Names,
};

/// So many route classes have a name of their own; whatever comes later is `other`.
pub const MOST_ROUTES: usize = 200;
const OTHER: &[u8] = b"other";
/// Paths that are remembered with their class, before the memory starts anew.
const MOST_PATHS: usize = 4_096;
/// What is longer is hardly ever seen twice.
const LONGEST_PATH: usize = 256;

/// Route classes in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    names: Names,
    most: usize,
    /// Method, a blank and the path as it was written → its class.
    paths: FxHashMap<Box<[u8]>, u32>,
    /// The line's method and path; kept for its space.
    key: Vec<u8>,
    /// The name of the class; kept for its space too.
    class: Vec<u8>,
}

impl Routes {
    /// At most so many, and `other`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            names: Names::default(),
            most,
            paths: FxHashMap::default(),
            key: Vec::new(),
            class: Vec::new(),
        }
    }

    /// The class of a request.
    pub(super) fn of(&mut self, record: &Record<'_>) -> u32 {
        let target = record.target.map_or(&b""[..], |target| target.raw);
        let path = route::path(target);
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
        let mut class = std::mem::take(&mut self.class);
        route::class(method, path, &mut class);
        let id = self.named(&class);
        self.class = class;
        id
    }

    fn named(&mut self, class: &[u8]) -> u32 {
        match self.names.get(class) {
            Some(id) => id,
            None if self.names.len() >= self.most => self.names.id(OTHER),
            None => self.names.id(class),
        }
    }
}
