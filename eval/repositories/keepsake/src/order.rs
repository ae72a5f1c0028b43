//! Which slot was used when: a doubly linked list of numbers inside of a vector.

const NONE: usize = usize::MAX;

#[derive(Debug, Clone)]
struct Link {
    before: usize,
    after: usize,
}

/// Slots from the one used last to the one used longest ago.
#[derive(Debug, Clone)]
pub struct Order {
    links: Vec<Link>,
    first: usize,
    last: usize,
}

impl Order {
    pub fn new() -> Self {
        Order { links: Vec::new(), first: NONE, last: NONE }
    }

    /// A new slot at the front; slots are numbered 0, 1, 2 …
    pub fn grow(&mut self) -> usize {
        self.links.push(Link { before: NONE, after: NONE });
        let slot = self.links.len() - 1;
        self.push_front(slot);
        slot
    }

    /// The slot used longest ago.
    pub fn oldest(&self) -> Option<usize> {
        (self.last != NONE).then_some(self.last)
    }

    pub fn touch(&mut self, slot: usize) {
        if self.first != slot {
            self.unlink(slot);
            self.push_front(slot);
        }
    }

    /// From the one used last to the one used longest ago.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.first;
        std::iter::from_fn(move || {
            let slot = at;
            if slot == NONE {
                return None;
            }
            at = self.links[slot].after;
            Some(slot)
        })
    }

    fn push_front(&mut self, slot: usize) {
        self.links[slot] = Link { before: NONE, after: self.first };
        if self.first != NONE {
            self.links[self.first].before = slot;
        } else {
            self.last = slot;
        }
        self.first = slot;
    }

    fn unlink(&mut self, slot: usize) {
        let Link { before, after } = self.links[slot].clone();
        if before != NONE {
            self.links[before].after = after;
        } else {
            self.first = after;
        }
        if after != NONE {
            self.links[after].before = before;
        } else {
            self.last = before;
        }
    }
}
