//! Keys, values and the slots they are in.

use crate::order::Order;
use crate::stats::Stats;
use std::collections::HashMap;
use std::hash::Hash;

/// At most `capacity` values.
#[derive(Debug, Clone)]
pub struct Cache<K, V> {
    capacity: usize,
    places: HashMap<K, usize>,
    slots: Vec<(K, V)>,
    order: Order,
    stats: Stats,
}

impl<K: Hash + Eq + Clone, V> Cache<K, V> {
    /// Panics if the capacity is 0.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a cache needs room for one value");
        Cache { capacity, places: HashMap::new(), slots: Vec::new(), order: Order::new(), stats: Stats::default() }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The value of a key, which counts as used by that.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        match self.places.get(key) {
            Some(&slot) => {
                self.stats.hits += 1;
                self.order.touch(slot);
                Some(&self.slots[slot].1)
            }
            None => {
                self.stats.misses += 1;
                None
            }
        }
    }

    /// The value of a key, without using it.
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.places.get(key).map(|&slot| &self.slots[slot].1)
    }

    /// Puts a value in; returns the one that the key had before.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        if let Some(&slot) = self.places.get(&key) {
            self.order.touch(slot);
            return Some(std::mem::replace(&mut self.slots[slot].1, value));
        }
        if self.slots.len() < self.capacity {
            let slot = self.order.grow();
            self.slots.push((key.clone(), value));
            self.places.insert(key, slot);
            return None;
        }
        let slot = self.order.oldest().expect("a full cache has an oldest value");
        self.stats.evicted += 1;
        self.places.remove(&self.slots[slot].0);
        self.slots[slot] = (key.clone(), value);
        self.places.insert(key, slot);
        self.order.touch(slot);
        None
    }

    /// Keys from the one used last to the one used longest ago.
    pub fn keys(&self) -> Vec<&K> {
        self.order.iter().map(|slot| &self.slots[slot].0).collect()
    }
}
