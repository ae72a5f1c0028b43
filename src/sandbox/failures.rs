//! Whether an output ends with a summary of failures, as known test programs print it (`failures.toml`).
//!
//! Owns the table and the search in untrusted output: it warns where the exit code says otherwise, and decides nothing. Tests: below, over
//! the examples of the table.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

/// All patterns in one, because every line of long outputs is tried.
static TABLE: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(table().program.into_iter().map(|program| program.line)).unwrap_or_default());

/// Colours and other terminal control sequences.
static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*[A-Za-z]").ok());

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Table {
    program: Vec<Program>,
}

/// The examples are only for the test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct Program {
    name: String,
    line: String,
    fails: Vec<String>,
    passes: Vec<String>,
}

fn table() -> Table {
    toml::from_str(include_str!("failures.toml")).unwrap_or_default()
}

/// The last line that reports a failure, without colours.
pub fn failure(text: &str) -> Option<String> {
    let found = text.lines().rev().find(|line| TABLE.is_match(&plain(line)))?;
    Some(plain(found).into_owned())
}

/// A line without colours and white space at its end.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    match COLOURS.as_ref().filter(|_| line.contains('\u{1b}')) {
        Some(colours) => Cow::Owned(colours.replace_all(line, "").trim_end().to_owned()),
        None => Cow::Borrowed(line.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_known_by_its_own_examples() {
        let programs = table().program;
        assert!(programs.len() >= 6 && TABLE.len() == programs.len(), "a pattern that is none, or no table");
        for program in &programs {
            let line = Regex::new(&program.line).unwrap();
            assert!(!program.fails.is_empty() && !program.passes.is_empty(), "{}", program.name);
            for example in &program.fails {
                assert!(line.is_match(example), "{}: {example}", program.name);
                let coloured = format!("before\r\n\u{1b}[1m\u{1b}[31m{example}\u{1b}[0m\r\nafter\n");
                assert_eq!(failure(&coloured).as_deref(), Some(example.as_str()));
            }
            for example in &program.passes {
                assert_eq!(failure(example), None, "{}: {example}", program.name);
            }
        }
        assert_eq!(failure("FAILED (failures=1)\nmore\nFAILED (failures=2)\n").as_deref(), Some("FAILED (failures=2)"));
    }
}
