//! Finds the example of use behind the definitions of a block.
//!
//! Owns: its form, which is assignments from calls of what the block or the file defines, and lines that print or assert what was assigned,
//! up to the block's end. Tests: `part_tests.rs`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// An assignment from a call: the name, and what is called.
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:(?:const|let|var)\s+(?:mut\s+)?)?([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:await\s+|new\s+)*([A-Za-z_$][\w$]*)(?:(?:\.|::)[\w$]+)*\(.*\)\s*;?\s*$",
    )
    .expect("a literal")
});
static SHOWS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:print\(|console\.(?:log|assert)\(|e?println!\(|assert(?:_eq|_ne)?!\(|assert\b)")
        .expect("a literal")
});

/// The line at which the example begins; the number of lines if there is none. `defined`: names of the block and the file.
pub(super) fn begin(given: &[&str], defined: &BTreeSet<&str>) -> usize {
    let (mut begin, mut behind): (usize, BTreeSet<&str>) = (given.len(), BTreeSet::new());
    for (at, line) in given.iter().enumerate().rev() {
        let is_comment = line.starts_with("//") || (line.starts_with('#') && !line.starts_with("#["));
        if line.trim().is_empty() || is_comment {
            continue;
        }
        if let Some(found) = CALLED.captures(line) {
            if !defined.contains(&found[2]) || !behind.contains(&found[1]) {
                break;
            }
            begin = at;
        } else if !SHOWS.is_match(line) {
            break;
        }
        behind.extend(words(line));
    }
    begin
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Whether this name is a word of the line.
pub(super) fn says(line: &str, name: &str) -> bool {
    words(line).any(|word| word == name)
}
