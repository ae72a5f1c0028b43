//! Fields of a class, an `impl` or an object that was returned in part.
//!
//! Owns: which of them are new or changed, and where they stand: before the first method. Anything else beside the methods has no certain
//! place. Pure. Tests: `part_tests.rs`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::definitions::{indent, prefix, shifted, texts};

static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:(?:pub(?:\([^)]*\))?|static|const|readonly|private|public|protected|declare|type)\s+)*(#?[A-Za-z_$][\w$]*)\s*(?:[?!]?:(?:[^:]|$)|=(?:[^=>]|$)|;\s*$)",
    )
    .expect("a literal")
});

/// A container as an answer gives it.
pub(super) struct Part<'a> {
    /// Its lines before the first definition.
    pub head: &'a [&'a str],
    /// The other lines that belong to none of its definitions.
    pub rest: Vec<&'a str>,
    /// The first line of its first definition.
    pub inner: &'a str,
}

/// The beginning of the file's container.
pub(super) struct Head<'a> {
    /// Its lines before the first definition.
    pub lines: Vec<&'a str>,
    /// The first line of its first definition.
    pub inner: &'a str,
}

impl Part<'_> {
    /// The lines of `head` with the new and changed fields; none if one of them, or other code, has no certain place. `old`: the container's
    /// lines in the file.
    pub(super) fn merged(&self, old: &[&str], head: Option<Head<'_>>) -> Option<Vec<String>> {
        let known: BTreeSet<&str> = old.iter().map(|line| line.trim()).collect();
        let is_new = |line: &&str| !is_silent(line) && !known.contains(line.trim());
        if self.rest.iter().any(is_new) {
            return None;
        }
        let deep = prefix(self.inner).len();
        let given = groups(&self.head[header(self.head)..], deep);
        let mut new = given.into_iter().filter(|group| !is_silent(group[0]) && group.iter().any(is_new)).peekable();
        if new.peek().is_none() {
            return Some(head.map(|head| owned(&head.lines)).unwrap_or_default());
        }
        let head = head?;
        let own = groups(&head.lines[header(&head.lines)..], prefix(head.inner).len());
        let mut out = owned(&head.lines);
        for group in new {
            let name = field(group[0])?;
            let mut lines = shifted(&group, prefix(self.inner), prefix(head.inner));
            match own.iter().find(|one| field(one[0]) == Some(name)) {
                Some(same) if same.len() == 1 && lines.len() == 1 => {
                    let at = out.iter().position(|line| line == same[0])?;
                    out[at] = lines.remove(0);
                }
                // Entries of it may have been left out.
                Some(_) => return None,
                None => {
                    let at = out.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
                    out.splice(at..at, lines);
                }
            }
        }
        if out.len() > head.lines.len() && out.last().is_some_and(|line| !line.trim().is_empty()) {
            out.push(String::new());
        }
        Some(out)
    }
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn field(line: &str) -> Option<&str> {
    FIELD.captures(line).and_then(|found| found.get(1)).map(|name| name.as_str())
}

/// Whether a line is a comment, brackets or a filler.
fn is_silent(line: &str) -> bool {
    let text = line.trim();
    let marks = ["//", "/*", "*", "# ", "#!", "\"\"\"", "'''", "r\"\"\"", "..."];
    marks.iter().any(|mark| text.starts_with(mark))
        || ["#", "pass"].contains(&text)
        || text.chars().all(|c| "{}()[];,".contains(c))
}

/// How many lines the container's own head has.
fn header(lines: &[&str]) -> usize {
    let mut depth = 0_usize;
    let last = lines.iter().position(|line| {
        depth = (depth + line.matches(['(', '[']).count()).saturating_sub(line.matches([')', ']']).count());
        depth == 0 && line.contains(['{', ':'])
    });
    last.map_or(1, |last| last + 1).min(lines.len())
}

/// Lines with those that continue them.
fn groups<'a>(lines: &[&'a str], deep: usize) -> Vec<Vec<&'a str>> {
    let texts = texts(lines);
    let mut out: Vec<Vec<&str>> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let goes_on = texts[at] || indent(line) > Some(deep) || line.trim_start().starts_with(['}', ')', ']']);
        match out.last_mut().filter(|_| goes_on) {
            Some(last) => last.push(*line),
            None => out.push(vec![*line]),
        }
    }
    out
}
