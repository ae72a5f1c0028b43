//! TAP: `not ok 4 - cents` with a block between `---` and `...` below it, as Node's runner writes it into pipes.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{indent, message, number, place, regex};
use super::stack::frame;
use super::{Item, Tool};

static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *not ok \d+(?: - | )(.+?)$"));
static LOCATION: LazyLock<Regex> = LazyLock::new(|| regex(r"^'(.+):(\d+):\d+'$"));

/// Whether TAP is spoken here; its first line may be cut off.
pub(super) fn spoken(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.starts_with("TAP version ") || line.starts_with("# Subtest: "))
        || (lines.iter().any(|line| FAILED.is_match(line)) && lines.iter().any(|line| line.starts_with("1..")))
}

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    (0..lines.len()).filter_map(|at| item(lines, at)).collect()
}

fn item(lines: &[&str], at: usize) -> Option<Item> {
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
            .take_while(|line| line.trim() != "..." && (line.is_empty() || indent(line) > depth))
            .copied()
            .collect(),
        false => Vec::new(),
    };
    // A group repeats that something in it failed.
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
    Some(Item { tool: Tool::Node, file: own.or(file), line, message: said(&block, &words), test })
}

/// The words, and what was compared where they don't say it.
fn said(block: &[&str], words: &[&str]) -> String {
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
