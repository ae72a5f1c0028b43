//! The new text of a file, from one block of an answer.
//!
//! Owns: whether a block is the whole file or a part of it, and what a whole file may not lose: names that the issue does not ask to
//! remove, and tests. A part is placed by `part.rs`. Tests: `content_tests.rs`.

use std::collections::BTreeSet;
use std::ops::Range;

use domain::{Look, ShownFile};

use super::definitions::{self, Definition, top_level};
use super::part;

/// Percentage of the file's lines that a block must have to be the whole file.
const WHOLE: usize = 60;
/// Words with which an issue asks that something ends, or gets another name or place.
const REMOVALS: &str = "remove removes removed removing delete deletes deleted deleting drop dropped rename renamed renaming replace \
    replaced replacing move moved moving extract extracted inline inlined merge merged unused obsolete";
/// Words of an import that are no names.
const KEYWORDS: [&str; 8] = ["import", "use", "const", "as", "type", "self", "static", "crate"];

/// The file's new text; none if the block changes nothing, or has no certain place. `so_far`: the text after an earlier block of the same
/// answer. `is_own`: whether the block itself says the path. `goes`: whether a name may go from this file.
pub(super) fn content(
    (text, is_own): (&str, bool),
    path: &str,
    look: &Look,
    so_far: Option<&str>,
    goes: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let Some(shown) = look.files.iter().find(|file| file.path == path) else {
        // A new file: `answer` gives no other one that was not shown.
        return (!part::omits(text, "")).then(|| text.to_owned());
    };
    let base = so_far.unwrap_or(&shown.text);
    let out = merged((text, is_own), shown, so_far, goes)?;
    let is_crlf = base.contains("\r\n") && !base.replace("\r\n", "").contains('\n');
    let out = if is_crlf { out.replace("\r\n", "\n").replace('\n', "\r\n") } else { out };
    (out.trim_end() != base.trim_end()).then_some(out)
}

/// The same for a file that was shown.
fn merged(
    (text, is_own): (&str, bool),
    shown: &ShownFile,
    so_far: Option<&str>,
    goes: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let base = so_far.unwrap_or(&shown.text);
    let placed = || part::placed(base, text, &part::DefinitionHeads::of(&shown.text, &shown.lines));
    let (old, new) = (base.lines().count(), text.lines().count());
    let is_long = shown.lines.is_empty() && new * 100 >= old * WHOLE;
    if !is_long || part::omits(text, base) {
        return placed();
    }
    let is_whole = new >= old || same_beginning(base, text);
    let loses = lost(base, text).iter().any(|name| !goes(name));
    let whole = with_tests(base, text);
    match (is_whole, loses) {
        (true, false) => Some(whole),
        (true, true) => {
            // A block that has no name of the file, and does not say that it is it, is an example of it.
            let is_file = so_far.is_none() && (is_own || !top_level(base).is_disjoint(&top_level(text)));
            placed().or_else(|| (is_file && !repeats(base, text)).then_some(whole))
        }
        // Definitions without a certain place are not a whole file either.
        (false, _) => placed().or_else(|| (!loses && !part::defines(text)).then_some(whole)),
    }
}

/// Whether an issue asks, in a line that names it or above a list that does, that this name goes.
pub(super) fn removes(asked: &str, name: &str) -> bool {
    let asks = |line: &str| {
        let mut words = words(line).filter(|word| *word != name);
        words.any(|word| {
            let small = word.to_lowercase();
            REMOVALS.split(' ').any(|one| one == small)
        })
    };
    let mut is_asked_above = false;
    asked.lines().any(|line| {
        let (is_asked, is_item) = (asks(line), line.trim_start().starts_with(['-', '*']));
        is_asked_above |= is_asked;
        (is_asked || (is_item && is_asked_above)) && words(line).any(|word| word == name)
    })
}

/// Names that the block lacks: what the file defines at its top level, without tests, and imports that the block still uses.
fn lost(base: &str, text: &str) -> Vec<String> {
    let tests: Vec<String> = test_modules(base).into_iter().map(|(name, _)| name).collect();
    let has = top_level(text);
    let mut lost: Vec<String> =
        top_level(base).into_iter().filter(|name| !has.contains(name) && !tests.contains(name)).collect();
    let (given, rest) = imported(&text.lines().map(str::trim).collect::<Vec<_>>());
    let used: BTreeSet<&str> = rest.iter().flat_map(|line| words(line)).collect();
    let is_lost = |name: &String| !given.contains(name) && !has.contains(name) && used.contains(name.as_str());
    lost.extend(imported(&base.lines().collect::<Vec<_>>()).0.into_iter().filter(is_lost));
    // Methods and tests within what the block has, too.
    let within = inner(text);
    let is_lost = |one: &(String, String)| has.contains(&one.0) && !within.contains(one);
    lost.extend(inner(base).into_iter().filter(is_lost).map(|(_, name)| name));
    // Exports and macros have no name here.
    for begin in ["export ", "macro_rules! "] {
        let begins = |text: &str| text.lines().any(|line| line.starts_with(begin));
        if begins(base) && !begins(text) {
            lost.push(begin.to_owned());
        }
    }
    // What a program does first has no name.
    let begins = |text: &str| text.lines().any(|line| line.starts_with("if __name__"));
    if begins(base) && !begins(text) {
        lost.push("__main__".to_owned());
    }
    lost
}

/// What the definitions of the top level hold: the name of each with that of what is within it.
fn inner(text: &str) -> BTreeSet<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut holder) = (BTreeSet::new(), None);
    let mut deep = 0;
    for one in definitions::all(&lines) {
        if one.indent == 0 {
            holder = one.holds.then_some((one.name, one.end));
            deep = usize::MAX;
        } else if let Some((name, _)) = holder.as_ref().filter(|(_, end)| one.end <= *end && one.indent <= deep) {
            deep = one.indent;
            out.insert((name.clone(), one.name));
        }
    }
    out
}

/// The names that these lines import, and the other lines.
fn imported<'a>(lines: &[&'a str]) -> (BTreeSet<String>, Vec<&'a str>) {
    let all = part::statements(lines).into_iter().filter(|range| part::imports(lines[range.start]));
    let ranges: Vec<Range<usize>> = all.collect();
    let names = ranges.iter().flat_map(|range| bound(&part::joined(&lines[range.clone()]))).collect();
    let is_rest = |at: usize| !ranges.iter().any(|range| range.contains(&at));
    (names, lines.iter().enumerate().filter(|(at, _)| is_rest(*at)).map(|(_, line)| *line).collect())
}

/// The names that an import makes known.
fn bound(statement: &str) -> Vec<String> {
    let from = statement.split_once(" import ").map(|(_, names)| names);
    let script = || statement.split_once(" from ").map(|(names, _)| names);
    let names = from.or_else(script).unwrap_or(statement);
    let names = names.split(['"', '\'', '=', '#']).next().unwrap_or_default();
    // Of a path in Rust only the last part is a name.
    let parts = names.split(|c: char| !is_name(c) && c != ':').filter_map(|path| path.rsplit("::").next());
    parts.filter(|name| !name.is_empty() && !KEYWORDS.contains(name)).map(str::to_owned).collect()
}

/// The modules of tests in a Rust file, each with its name and lines.
fn test_modules(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |one: &Definition| {
        let mut above = lines[one.lead..one.first].iter();
        one.indent == 0 && lines[one.first].contains("mod ") && above.any(|line| line.starts_with("#[cfg(test)]"))
    };
    let all = definitions::all(&lines).into_iter().filter(is_tests);
    all.map(|one| (one.name, lines[one.lead..one.end].join("\n"))).collect()
}

/// The block as the whole file, with those modules of tests that it lacks.
fn with_tests(base: &str, text: &str) -> String {
    let has = top_level(text);
    let kept = test_modules(base).into_iter().filter(|(name, _)| !has.contains(name));
    kept.fold(text.to_owned(), |out, (_, lines)| format!("{}\n\n{lines}\n", out.trim_end()))
}

/// Whether both begin with the same non-blank line.
fn same_beginning(a: &str, b: &str) -> bool {
    let first = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    first(a) == first(b)
}

/// Whether the block is nothing but lines of the file, in their order.
fn repeats(base: &str, text: &str) -> bool {
    let mut left = base.lines();
    let mut given = text.lines().filter(|line| !line.trim().is_empty());
    given.all(|line| left.any(|known| known.trim_end() == line.trim_end()))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !is_name(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
