//! What of a long file is shown: the definitions that the issue is about.
//!
//! Owns: the choice. A file of up to [`LONG`] lines is shown whole. Pure. Tests: below.

use std::collections::BTreeSet;

use super::definitions::{Definition, all};

/// Lines up to which a file is shown, and given back, as a whole.
pub const LONG: usize = 150;
/// The most lines that are shown of a longer one, but for one definition that is longer by itself.
const MOST: usize = 100;

/// The lines to show, first and last, counted from 1; none = all of them. `words` are the issue's and what failing checks say.
pub fn lines(text: &str, words: &str) -> Vec<(u32, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= LONG {
        return Vec::new();
    }
    let wanted = names(words);
    let known = all(&lines);
    let mut scored: Vec<(usize, &Definition)> = leaves(&known).map(|one| (score(one, &lines, &wanted), one)).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.first.cmp(&b.1.first)));
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let mut room = MOST;
    for (score, one) in scored {
        let size = one.end - one.lead;
        if score == 0 || (size > room && !chosen.is_empty()) {
            continue;
        }
        room = room.saturating_sub(size);
        chosen.push((one.lead, one.end));
    }
    if chosen.is_empty() {
        chosen.push((0, MOST.min(lines.len())));
    }
    chosen.sort_unstable();
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    chosen.into_iter().map(|(first, end)| (number(first + 1), number(end))).collect()
}

/// Functions, and whatever else holds no other definition.
fn leaves(known: &[Definition]) -> impl Iterator<Item = &Definition> {
    known.iter().enumerate().filter_map(|(at, one)| {
        let within = |other: &Definition| other.first < one.first && one.end <= other.end && !other.holds;
        let outer = known[..at].iter().any(within);
        let holds = one.holds && known.iter().any(|other| other.first > one.first && other.end <= one.end);
        (!outer && !holds).then_some(one)
    })
}

/// Its own name counts more than what stands in it.
fn score(one: &Definition, lines: &[&str], wanted: &BTreeSet<String>) -> usize {
    let body = names(&lines[one.lead..one.end].join("\n"));
    let own = names(&one.name);
    5 * own.intersection(wanted).count() + body.intersection(wanted).count()
}

/// Words of a text and the parts of compound ones, in lower case, without those that every text has.
fn names(text: &str) -> BTreeSet<String> {
    const COMMON: [&str; 24] = [
        "the", "and", "for", "that", "this", "with", "not", "self", "return", "def", "let", "pub", "function", "const",
        "should", "when", "test", "tests", "from", "must", "has", "are", "but", "import",
    ];
    let mut out = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let mut part = String::new();
        for c in word.chars() {
            if (c == '_' || c.is_uppercase()) && part.len() > 2 {
                out.insert(part.to_lowercase());
                part.clear();
            }
            if c != '_' {
                part.push(c);
            }
        }
        out.insert(part.to_lowercase());
        out.insert(word.to_lowercase());
    }
    out.retain(|word| word.len() > 2 && !COMMON.contains(&word.as_str()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_file_is_shown_whole_and_of_a_long_one_what_the_issue_names() {
        assert_eq!(lines("def a():\n    pass\n", "a"), []);
        let filler = |name: &str| format!("def {name}():\n{}\n", "    x = 1\n".repeat(40));
        let text = ["one", "two", "parse_header", "three"].map(filler).concat();
        assert_eq!(lines(&text, "`parse_header` drops the last line"), [(85, 125)]);
        assert_eq!(lines(&text, "nothing of it"), [(1, 100)], "its beginning, where nothing is named");
    }
}
