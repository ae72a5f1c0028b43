//! Reads TAP: `not ok 4 - cents` with a block between `---` and `...` below it (Node's runner, tape) or with comments (Perl's Test::More,
//! bats).

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::lines::{indent, message, number, place, regex};
use super::stack::frame;
use super::{Item, MOST, Severity, Tool};

static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *not ok \d+(?: - | )(.+?)$"));
static LOCATION: LazyLock<Regex> = LazyLock::new(|| regex(r"^'(.+):(\d+):\d+'$"));

/// A failure as Perl's tests report it; with stderr in a separate pipe it precedes the report.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*#   Failed test '(.+)'$"));
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*# +(?:at (.+) line (\d+)\.|\(.*in test file (.+), line (\d+)\))$"));

/// The most lines of comments that belong to one failure.
const COMMENTS: usize = 60;
/// The most lines of a block.
const BLOCK: usize = 1_000;

/// Whether the output is TAP; its first line may be cut off.
fn spoken(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.starts_with("TAP version ") || line.starts_with("# Subtest: "))
        || (lines.iter().any(|line| line.starts_with("1..")) && lines.iter().any(|line| FAILED.is_match(line)))
}

/// Whether it is Node's, which alone reports durations and failure types in these words.
pub(super) fn of_node(lines: &[&str]) -> bool {
    let own = ["# Subtest: ", "duration_ms:", "failureType:"];
    spoken(lines) && lines.iter().any(|line| own.iter().any(|own| line.trim_start().starts_with(own)))
}

/// Failures of any program but Node.
pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    if !spoken(lines) || of_node(lines) {
        return Vec::new();
    }
    let told: HashMap<String, usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("Failed test"))
        .filter_map(|(at, line)| Some((COMMENT.captures(line)?[1].to_owned(), at)))
        .collect();
    let mut items = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("not ok")) {
        if items.len() >= MOST {
            break;
        }
        let Some(mut item) = item(lines, at, Tool::Tap) else { continue };
        let below =
            lines.get(at + 1).is_some_and(|next| next.trim_start().starts_with('#') && indent(next) == indent(line));
        let named = || item.test.as_ref().and_then(|test| told.get(test).copied());
        if let Some(from) = if below { Some(at + 1) } else { named() } {
            comments(&mut item, &lines[from..]);
        }
        items.push(item);
    }
    items
}

/// Adds place and message from the comments.
fn comments(item: &mut Item, lines: &[&str]) {
    let comment = |line: &&&str| line.trim_start().starts_with('#');
    let lines: Vec<&str> = lines.iter().take(COMMENTS).take_while(comment).copied().collect();
    if let Some(found) = lines.iter().find_map(|line| PLACE.captures(line)) {
        let (file, line) = (found.get(1).or(found.get(3)), found.get(2).or(found.get(4)));
        item.file = file.and_then(|file| place(file.as_str()));
        item.line = line.and_then(|line| number(line.as_str()));
    }
    let ours = |line: &&&str| !PLACE.is_match(line) && !COMMENT.is_match(line) && !line.contains("# Looks like you");
    let said: Vec<&str> = lines.iter().filter(ours).map(|line| line.trim_start().trim_start_matches('#')).collect();
    if item.message.is_empty() {
        item.message = message(said);
    }
}

/// The failures, reported for `tool`.
pub(super) fn items(lines: &[&str], tool: Tool) -> Vec<Item> {
    (0..lines.len())
        .filter(|&at| lines[at].contains("not ok "))
        .filter_map(|at| item(lines, at, tool))
        .take(MOST)
        .collect()
}

fn item(lines: &[&str], at: usize, tool: Tool) -> Option<Item> {
    let found = FAILED.captures(lines[at])?;
    let (name, directive) = found[1].split_once(" # ").unwrap_or((&found[1], ""));
    let directive = directive.to_ascii_uppercase();
    if directive.starts_with("TODO") || directive.starts_with("SKIP") {
        return None;
    }
    let depth = indent(lines[at]);
    let rest = &lines[at + 1..];
    let has_block = rest.first().is_some_and(|line| line.trim() == "---" && indent(line) > depth);
    let block: Vec<&str> = match has_block {
        true => rest[1..]
            .iter()
            .take(BLOCK)
            .take_while(|line| line.trim() != "..." && (line.is_empty() || indent(line) > depth))
            .copied()
            .collect(),
        false => Vec::new(),
    };
    // A group only repeats that one of its tests failed.
    if value(&block, "failureType").first().is_some_and(|kind| *kind == "'subtestsFailed'") {
        return None;
    }
    let stack = value(&block, "stack").into_iter().find_map(frame);
    let location = value(&block, "location").first().and_then(|text| LOCATION.captures(text));
    let location = location.and_then(|found| place(&found[1]).zip(number(&found[2])));
    let words = value(&block, "error");
    let (file, line) = stack.or(location).unzip();
    let whole = words.first() == Some(&"'test failed'");
    let own = place(name).filter(|_| whole);
    let test = own.is_none().then(|| name.to_owned());
    Some(Item { tool, file: own.or(file), line, severity: Severity::Error, message: words_of(&block, &words), test })
}

/// The message, with the compared values if it lacks them.
fn words_of(block: &[&str], words: &[&str]) -> String {
    let mut lines: Vec<String> = match words {
        [one] => vec![one.trim_matches('\'').to_owned()],
        many => many.iter().map(|line| (*line).to_owned()).collect(),
    };
    let kind = value(block, "name").first().map_or("", |name| name.trim_matches('\''));
    if let (Some(first), false) = (lines.first_mut(), kind.is_empty() || kind == "AssertionError") {
        *first = format!("{kind}: {}", first.trim_start());
    }
    if words.len() < 3 {
        for key in ["expected", "actual"] {
            if let [one] = value(block, key)[..] {
                lines.push(format!("{}{key}: {one}", " ".repeat(lines.first().map_or(0, |line| indent(line)))));
            }
        }
    }
    message(lines.iter().map(String::as_str))
}

/// A key's value in the block: the rest of its line, or the deeper lines below it.
fn value<'a>(block: &[&'a str], key: &str) -> Vec<&'a str> {
    let found = block.iter().enumerate().find_map(|(at, line)| {
        let rest = line.trim_start().strip_prefix(key)?.strip_prefix(':')?;
        Some((at, indent(line), rest.trim()))
    });
    let Some((at, depth, rest)) = found else { return Vec::new() };
    match rest {
        "" | "|-" | "|" => {
            block[at + 1..].iter().take_while(|line| line.is_empty() || indent(line) > depth).copied().collect()
        }
        one => vec![one],
    }
}
