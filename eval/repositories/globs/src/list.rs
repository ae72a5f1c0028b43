//! Several patterns, the last that fits decides.

use crate::pattern::{Pattern, PatternError};

/// Lines of patterns; one that begins with `!` takes back what fitted before.
#[derive(Debug, Clone, Default)]
pub struct List {
    rules: Vec<(bool, Pattern)>,
}

impl List {
    /// Empty lines and those that begin with `#` are left out.
    pub fn parse(text: &str) -> Result<List, PatternError> {
        let mut list = List::default();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (wanted, pattern) = match line.strip_prefix('!') {
                Some(rest) => (false, rest),
                None => (true, line),
            };
            list.rules.push((wanted, Pattern::new(pattern)?));
        }
        Ok(list)
    }

    pub fn fits(&self, path: &str) -> bool {
        let decides = self.rules.iter().rev().find(|(_, pattern)| pattern.fits(path));
        decides.is_some_and(|(wanted, _)| *wanted)
    }
}
