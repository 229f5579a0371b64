//! Names as numbers, so that what happens for every line compares and copies nothing long.

use rustc_hash::FxHashMap;

/// Names in the order in which they came. Bytes that are no text are replaced when a name is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    ids: FxHashMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
    /// The last one asked for: lines of one kind often come together.
    last: u32,
}

impl Names {
    pub(super) fn id(&mut self, name: &[u8]) -> u32 {
        // Nothing is not compared: it has no address, and some processors take long to find that out.
        let same = |last: &[u8]| match name {
            [] => last.is_empty(),
            _ => last == name,
        };
        if self.names.get(self.last as usize).is_some_and(|last| same(last)) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.ids.insert(name.into(), id);
                self.names.push(name.into());
                id
            }
        };
        self.last
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<u32> {
        self.ids.get(name).copied()
    }

    pub(super) fn bytes(&self, id: u32) -> &[u8] {
        self.names.get(id as usize).map_or(b"", |name| name)
    }

    pub(super) fn text(&self, id: u32) -> String {
        String::from_utf8_lossy(self.bytes(id)).into_owned()
    }

    /// Where each name of another table stands in this one.
    pub(super) fn adopt(&mut self, other: &Self) -> Vec<u32> {
        other.names.iter().map(|name| self.id(name)).collect()
    }
}
