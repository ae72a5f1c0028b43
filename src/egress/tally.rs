//! What each berth was denied, and how much it carried, in bounded memory. Names come from sandboxes: untrusted text.
//!
//! Tests: `tests.rs`.

use std::collections::HashMap;

use protocol::router::{LogEntry, Verdict};

/// Different (host, port) kept for each berth; what comes beyond is counted under an empty host.
const KINDS: usize = 200;

/// A host that was denied. An empty host stands for many, or for addresses without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    pub host: String,
    /// `None`: already the look-up was refused.
    pub port: Option<u16>,
    pub count: u64,
    /// Why, as the router said it the last time.
    pub reason: String,
}

#[derive(Default)]
pub struct Tally(HashMap<u32, Berth>);

#[derive(Default)]
struct Berth {
    denied: HashMap<(String, u16), (u64, String)>,
    up: u64,
    down: u64,
}

impl Tally {
    pub fn count(&mut self, entry: &LogEntry) {
        let berth = self.0.entry(entry.berth).or_default();
        berth.up = berth.up.saturating_add(entry.up);
        berth.down = berth.down.saturating_add(entry.down);
        if entry.verdict != Verdict::Denied {
            return;
        }
        let mut key = (entry.host.clone(), entry.port);
        if !berth.denied.contains_key(&key) && berth.denied.len() >= KINDS {
            key = (String::new(), 0);
        }
        let (count, reason) = berth.denied.entry(key).or_default();
        *count = count.saturating_add(entry.count);
        reason.clone_from(&entry.reason);
    }

    pub fn forget(&mut self, berth: u32) {
        self.0.remove(&berth);
    }

    pub fn blocked(&self, berth: u32) -> Vec<Blocked> {
        let denied = self.0.get(&berth).into_iter().flat_map(|berth| &berth.denied);
        let mut all: Vec<Blocked> = denied
            .map(|((host, port), (count, reason))| {
                let port = (*port != 0).then_some(*port);
                Blocked { host: host.clone(), port, count: *count, reason: reason.clone() }
            })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| (&a.host, a.port).cmp(&(&b.host, b.port))));
        all
    }

    pub fn volume(&self, berth: u32) -> (u64, u64) {
        self.0.get(&berth).map_or((0, 0), |berth| (berth.up, berth.down))
    }
}
