//! Which route class a request belongs to, as a number.

use super::{
    super::{record::Record, route},
    names::Names,
};

/// So many route classes have a name of their own; whatever comes later is `other`.
pub const MOST_ROUTES: usize = 200;
const OTHER: &[u8] = b"other";

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
        let target = record.target.map_or(&b""[..], |target| target.raw);
        let mut class = std::mem::take(&mut self.class);
        route::class(record.method, target, &mut class);
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
