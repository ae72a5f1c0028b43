//! Puts what an answer gives outside of definitions into the file: imports, and lists of exports.
//!
//! Owns: which of them the file lacks and where they stand. Two that name the same would not compile, so a list of names is completed. Tests:
//! `part_tests.rs`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::definitions::{Definition, indent, named, texts, top_level};
use super::lists::{Form, List, local};

/// The most imports of one answer, and the most lines of one import.
const MOST: usize = 64;

static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:import\s|from\s+\S+\s+import\b|(?:pub(?:\([^)]*\))?\s+)?use\s+[\w:{*]|#include|(?:const|let|var)\s*\{|(?:const|let|var)\s[^=]*=\s*require\(|export\s*(?:type\s*)?[{*])",
    )
    .expect("a literal")
});

/// What is code, and belongs to the file.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:export\b|extern\b|macro_rules!|thread_local!|lazy_static!)").expect("a literal"));

/// Whether the block has imports, and nothing else.
pub(super) fn is_all(given: &[&str]) -> bool {
    let ranges = statements(given);
    let is_other = |(at, line): (usize, &&str)| !line.trim().is_empty() && !ranges.iter().any(|one| one.contains(&at));
    !ranges.is_empty() && ranges.len() <= MOST && !given.iter().enumerate().any(is_other)
}

/// Places what stands outside of the definitions `outer`; none if some of it is code without a place.
pub(super) fn place(text: &mut Vec<String>, given: &[&str], outer: &[&Definition]) -> Option<()> {
    let is_outside = |at: usize| !outer.iter().any(|one| (one.lead..one.end).contains(&at));
    let loose: Vec<&str> = given.iter().enumerate().map(|(at, line)| if is_outside(at) { *line } else { "" }).collect();
    let ranges = statements(&loose);
    let (inside, file) = (texts(&loose), borrowed(text));
    let has = |line: &str| file.iter().any(|known| known.trim_end() == line.trim_end());
    let is_lost = |(at, line): (usize, &&str)| {
        let is_code = BEGIN.is_match(line) || CODE.is_match(line) || is_method(line);
        is_code && !inside[at] && !ranges.iter().any(|one| one.contains(&at)) && !has(line)
    };
    if ranges.len() > MOST || loose.iter().enumerate().any(is_lost) {
        return None;
    }
    if ranges.is_empty() {
        return Some(());
    }
    let own = top_level(&text.join("\n"));
    for range in ranges {
        add(text, &loose[range], &own);
    }
    Some(())
}

/// Whether a method begins in this line, though it is not indented. A test that is given as an example is a call with a text or a function.
fn is_method(line: &str) -> bool {
    let arguments = line.split_once('(').map_or("", |(_, rest)| rest);
    let is_call = arguments.starts_with(['\'', '"', '`']) || arguments.contains("function");
    !is_call && indent(line) == Some(0) && named(line).is_none() && named(&format!(" {line}")).is_some()
}

fn borrowed(text: &[String]) -> Vec<&str> {
    text.iter().map(String::as_str).collect()
}

/// The lines of each import and each list of exports.
pub(in crate::engine::style) fn statements(lines: &[&str]) -> Vec<Range<usize>> {
    let texts = texts(lines);
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let end = if texts[at] { None } else { end(lines, at) };
        out.extend(end.map(|end| at..end));
        at = end.unwrap_or(at + 1);
    }
    out
}

/// The line after the statement that begins here.
fn end(lines: &[&str], at: usize) -> Option<usize> {
    if lines[at].trim_end() == "try:" {
        let goes_on = |line: &&&str| {
            indent(line).is_none_or(|deep| deep > 0)
                || ["except", "else:", "finally:"].iter().any(|word| line.starts_with(word))
        };
        let behind = &lines[at + 1..];
        let rest = &behind[..behind.iter().take_while(goes_on).count()];
        let imports =
            rest.iter().any(|line| ["import ", "from "].iter().any(|word| line.trim_start().starts_with(word)));
        let last = rest.iter().rposition(|line| !line.trim().is_empty()).filter(|_| imports)?;
        return Some(at + last + 2);
    }
    if !BEGIN.is_match(lines[at]) {
        return None;
    }
    let (mut opened, mut closed) = (0, 0);
    let last = lines[at..].iter().take(MOST).position(|line| {
        opened += line.matches(['(', '[', '{']).count();
        closed += line.matches([')', ']', '}']).count();
        opened <= closed && !line.ends_with('\\')
    })?;
    Some(at + last + 1)
}

/// The statement in one line, without comments.
pub(in crate::engine::style) fn joined(lines: &[&str]) -> String {
    let plain =
        lines.iter().map(|line| line.split(" #").next().unwrap_or_default().split(" //").next().unwrap_or_default());
    let words: Vec<&str> = plain.flat_map(str::split_whitespace).filter(|word| *word != "\\").collect();
    words.join(" ")
}

/// Adds a statement, or those of its names that the file lacks. `own`: names that the file defines and cannot import.
fn add(text: &mut Vec<String>, given: &[&str], own: &BTreeSet<String>) {
    let known = borrowed(text);
    let there = statements(&known);
    let whole = joined(given);
    let there: Vec<(Range<usize>, String)> =
        there.into_iter().map(|range| (range.clone(), joined(&known[range]))).collect();
    if there.iter().any(|(_, one)| *one == whole) {
        return;
    }
    let there: Vec<(Range<usize>, Option<List>)> =
        there.into_iter().map(|(range, one)| (range, List::read(&one))).collect();
    let list = List::read(&whole);
    let is_end =
        |list: &Option<List>| list.as_ref().is_some_and(|list| list.form == Form::Export && list.module.is_empty());
    let last = there.iter().rev().find(|(_, one)| !is_end(one)).map(|(range, _)| range.end);
    let is_last = is_end(&list);
    let at = if whole.starts_with("from __future__ ") {
        beginning(&known)
    } else if is_last {
        known.len()
    } else {
        last.unwrap_or_else(|| beginning(&known))
    };
    let lines: Vec<String> = given.iter().map(|line| (*line).to_owned()).collect();
    let (range, mut lines) = match list {
        None => (at..at, lines),
        Some(list) => {
            let same = there.iter().filter_map(|(range, one)| Some((range, one.as_ref()?)));
            let same: Vec<(&Range<usize>, &List)> = same.filter(|(_, one)| one.is_alike(&list)).collect();
            let is_own = |name: &String| list.form != Form::Export && own.contains(local(name));
            let is_there = |name: &String| same.iter().any(|(_, one)| one.names.contains(name));
            let missing: Vec<String> =
                list.names.iter().filter(|name| !is_own(name) && !is_there(name)).cloned().collect();
            let is_more = |one: &List| one.names.iter().all(|name| list.names.contains(name));
            match same.as_slice() {
                _ if missing.is_empty() => return,
                [(range, one)] if list.form != Form::Use && is_more(one) && !list.names.iter().any(is_own) => {
                    ((*range).clone(), lines)
                }
                _ if missing.len() == list.names.len() => (at..at, lines),
                _ => (at..at, list.lines(&missing)),
            }
        }
    };
    if is_last && range.is_empty() && text.last().is_some_and(|line| !line.is_empty()) {
        lines.insert(0, String::new());
    }
    text.splice(range, lines);
}

/// The first line at which an import may be placed: after what must come first, and comments about the whole file.
fn beginning(text: &[&str]) -> usize {
    let first = ["#!", "# ", "//!", "// ", "/*", " *", "'use strict'", "\"use strict\"", "package "];
    let must = ["#![", "package ", "'use strict'", "\"use strict\"", "\"\"\"", "'''"];
    let starts =
        |at: usize, words: &[&str]| text.get(at).is_some_and(|line| words.iter().any(|word| line.starts_with(word)));
    let mut at = 0;
    loop {
        while starts(at, &first) {
            at += 1;
        }
        let blank = text[at..].iter().take_while(|line| line.trim().is_empty()).count();
        if blank == 0 || !starts(at + blank, &must) {
            break;
        }
        at += blank;
    }
    let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| text.get(at).is_some_and(|line| line.starts_with(mark)))
    else {
        return at;
    };
    let is_one = text[at].matches(mark).count() > 1;
    let end = text[at + 1..].iter().position(|line| line.contains(mark));
    if is_one { at + 1 } else { end.map_or(at, |end| at + end + 2) }
}
