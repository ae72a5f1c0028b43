//! Compares two runs of the same checks.
//!
//! Owns when two items are the same failure: the same test, or without a test the same first line of the message in the same file. Line
//! numbers change with every edit and are ignored.

use std::collections::HashMap;

use super::{Item, Tool};

/// Items of the later run only, of both, and of the earlier run only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference<'a> {
    /// Items that only the later run has.
    pub new: Vec<&'a Item>,
    /// Items of both runs, as the later one reports them.
    pub still: Vec<&'a Item>,
    /// Items that only the earlier run has.
    pub gone: Vec<&'a Item>,
}

type Identity<'a> = (Tool, Option<&'a str>, &'a str);

/// Tool, file and words by which an item is recognised; of a test the words are its name, and the file does not matter.
pub(super) fn identity(item: &Item) -> Identity<'_> {
    match &item.test {
        Some(test) => (item.tool, None, test),
        None => (item.tool, item.file.as_deref(), item.message.lines().next().unwrap_or_default()),
    }
}

/// Compares two runs; several equal items count individually.
pub fn difference<'a>(before: &'a [Item], now: &'a [Item]) -> Difference<'a> {
    let mut left: HashMap<Identity<'_>, usize> = HashMap::new();
    for item in before {
        *left.entry(identity(item)).or_default() += 1;
    }
    let mut out = Difference::default();
    for item in now {
        match left.get_mut(&identity(item)).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                out.still.push(item);
            }
            None => out.new.push(item),
        }
    }
    for item in before.iter().rev() {
        if let Some(count) = left.get_mut(&identity(item)).filter(|count| **count > 0) {
            *count -= 1;
            out.gone.insert(0, item);
        }
    }
    out
}
