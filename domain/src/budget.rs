//! What a task may use and has used: money, tokens, actions, time.

use serde::{Deserialize, Serialize};

/// Granted amounts. Zero means: no limit of this kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a US dollar.
    pub micro_usd: u64,
    pub tokens: u64,
    pub actions: u64,
    /// Milliseconds of work (model calls and actions), not of waiting for a person.
    pub work_ms: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub micro_usd: u64,
    pub tokens: u64,
    pub actions: u64,
    pub work_ms: u64,
}

impl Budget {
    /// The first field that is used up, by name.
    pub fn exhausted(&self, spent: &Spent) -> Option<&'static str> {
        let out = |granted: u64, used: u64| granted > 0 && used >= granted;
        if out(self.micro_usd, spent.micro_usd) {
            Some("money")
        } else if out(self.tokens, spent.tokens) {
            Some("tokens")
        } else if out(self.actions, spent.actions) {
            Some("actions")
        } else if out(self.work_ms, spent.work_ms) {
            Some("time")
        } else {
            None
        }
    }

    pub fn add(&mut self, more: &Budget) {
        let sum = |a: u64, b: u64| if a == 0 { 0 } else { a.saturating_add(b) };
        self.micro_usd = sum(self.micro_usd, more.micro_usd);
        self.tokens = sum(self.tokens, more.tokens);
        self.actions = sum(self.actions, more.actions);
        self.work_ms = sum(self.work_ms, more.work_ms);
    }
}
