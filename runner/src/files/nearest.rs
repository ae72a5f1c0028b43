//! Finds the lines of a file that are most similar to a text which does not occur in it.
//!
//! Owns the search and its limits: each word of the file is looked at twice at most, and a few places are compared character by character.
//! It finds what models most often get wrong: white space, a name, a line that changed meanwhile.

use std::collections::HashMap;
use std::fmt::Write as _;

use similar::TextDiff;

/// The most bytes of the file that are searched.
const SCANNED: usize = 4 << 20;
/// The most lines and characters of the text that are compared.
const LINES: usize = 60;
const COMPARED: usize = 2_000;
/// The most places that are compared character by character.
const PLACES: usize = 6;
/// The most places in the searched text that one word votes for.
const SPEAKS: usize = 4;
/// The least similarity ratio of a match.
const ALIKE: f32 = 0.5;
/// The most lines shown, how many of them before the first difference, and bytes of each line.
const SHOWN: usize = 20;
const BEFORE: usize = 3;
const LONGEST: usize = 300;

/// The most similar part of the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Nearest {
    /// First line, counted from 1, and last line, included.
    pub first: usize,
    pub last: usize,
    /// Whether only white space differs.
    pub blanks_only: bool,
    /// At most 20 numbered lines, from shortly before the first difference.
    pub shown: String,
}

/// The part of `text` that `old` was probably meant to match; none where nothing is similar.
pub fn nearest(text: &str, old: &str) -> Option<Nearest> {
    let searched = searched(old);
    let lines: Vec<&str> = text[..text.floor_char_boundary(SCANNED)].lines().collect();
    let joined = compared(&searched);
    let alike = |start: &usize| {
        let part = compared(part(&lines, *start, searched.len()));
        TextDiff::from_chars(&joined, &part).ratio()
    };
    let places = places(&lines, &searched);
    // Of equally similar places the first wins, for which more words voted.
    let best = places
        .iter()
        .map(|start| (alike(start), *start))
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    let (_, start) = best.filter(|(ratio, _)| *ratio >= ALIKE)?;
    let found = part(&lines, start, searched.len());
    let differs = found.iter().zip(&searched).position(|(line, searched)| line != searched).unwrap_or(0);
    let from = differs.saturating_sub(BEFORE);
    Some(Nearest {
        first: start + 1,
        last: start + found.len(),
        blanks_only: found.len() == searched.len()
            && found.iter().zip(&searched).all(|(line, searched)| squeezed(line) == squeezed(searched)),
        shown: shown(&found[from.min(found.len())..], start + from),
    })
}

/// The searched lines without empty ones at beginning and end.
fn searched(old: &str) -> Vec<&str> {
    let lines: Vec<&str> = old.lines().collect();
    let full = |line: &&str| !line.trim().is_empty();
    let (first, last) = (lines.iter().position(full), lines.iter().rposition(full));
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    lines[first..=last].iter().take(LINES).copied().collect()
}

fn part<'a>(lines: &'a [&'a str], start: usize, count: usize) -> &'a [&'a str] {
    &lines[start.min(lines.len())..(start + count).min(lines.len())]
}

fn compared(lines: &[&str]) -> String {
    let joined = lines.join("\n");
    joined.char_indices().nth(COMPARED).map_or_else(|| joined.clone(), |(end, _)| joined[..end].to_owned())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn squeezed(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Candidate places: each word of the file that also occurs in the text votes for the line where the text would begin; rare words count
/// more.
fn places(lines: &[&str], searched: &[&str]) -> Vec<usize> {
    let mut known: HashMap<&str, (Vec<usize>, u32)> = HashMap::new();
    for (at, line) in searched.iter().enumerate() {
        for word in words(line) {
            let (spots, _) = known.entry(word).or_default();
            if spots.len() < SPEAKS && spots.last() != Some(&at) {
                spots.push(at);
            }
        }
    }
    for word in lines.iter().flat_map(|line| words(line)) {
        if let Some((_, count)) = known.get_mut(word) {
            *count += 1;
        }
    }
    let mut votes = vec![0f32; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        for (spots, count) in words(line).filter_map(|word| known.get(word)) {
            for start in spots.iter().filter_map(|spot| at.checked_sub(*spot)) {
                votes[start] += 1.0 / *count as f32;
            }
        }
    }
    let mut order: Vec<usize> = (0..votes.len()).filter(|&at| votes[at] > 0.0).collect();
    order.sort_by(|a, b| votes[*b].total_cmp(&votes[*a]).then(a.cmp(b)));
    order.truncate(PLACES);
    order
}

fn shown(lines: &[&str], before: usize) -> String {
    let mut out = String::new();
    for (at, line) in lines.iter().take(SHOWN).enumerate() {
        let end = line.floor_char_boundary(LONGEST);
        let more = if end < line.len() { " [...]" } else { "" };
        // Writing to a string can't fail.
        let _ = writeln!(out, "{:>6}\t{}{more}", before + at + 1, &line[..end]);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const FILE: &str = "import re\n\n\ndef parse(text):\n    return int(text)\n\n\ndef parse_version(text):\n    parts = text.split('.')\n    return [int(part) for part in parts]\n\n\ndef newer(a, b):\n    return a > b\n";

    fn found(old: &str) -> Nearest {
        nearest(FILE, old).unwrap_or_else(|| panic!("nothing is like {old}"))
    }

    #[test]
    fn white_space_alone_is_named_so() {
        let near = found("def newer(a, b):\n  return a > b\n");
        assert_eq!((near.first, near.last, near.blanks_only), (13, 14, true));
        assert_eq!(near.shown, "    13\tdef newer(a, b):\n    14\t    return a > b\n");
        assert!(found("\n\ndef  newer(a, b):\n").blanks_only);
    }

    #[test]
    fn a_changed_name_or_line_is_found_at_its_place() {
        let near = found(
            "def parse_version(value):\n    pieces = value.split('.')\n    return [int(part) for part in pieces]\n",
        );
        assert_eq!((near.first, near.last, near.blanks_only), (8, 10, false));
        let near = found("    return [int(p) for p in parts]");
        assert_eq!((near.first, near.last), (10, 10));
        // The text has more lines than the file has from there.
        let near = found("def newer(a, b):\n    return a > b\n\nprint(newer(1, 2))\n");
        assert_eq!((near.first, near.last, near.blanks_only), (13, 14, false));
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        for old in ["class Zebra:\n    stripes = 12\n", "???", "   \n\t\n", "int"] {
            assert_eq!(nearest(FILE, old), None, "{old}");
        }
        assert_eq!(nearest("", "def newer(a, b):"), None);
    }

    #[test]
    fn a_long_part_is_shown_from_where_it_differs() {
        let text: String = (0..100).map(|n| format!("value_{n} = compute({n})\n")).collect();
        let old: String = (10..60)
            .map(|n| if n == 40 { "value_40 = other(40)\n".into() } else { format!("value_{n} = compute({n})\n") })
            .collect();
        let near = nearest(&text, &old).expect("a place");
        assert_eq!((near.first, near.last, near.shown.lines().count()), (11, 60, 20));
        assert!(
            near.shown.starts_with("    38\tvalue_37 ") && near.shown.contains("    41\tvalue_40 = compute(40)\n"),
            "{}",
            near.shown
        );
    }

    #[test]
    fn a_large_file_and_odd_letters_cost_little() {
        let line = "fn name(é: u8) { let x = [é; 4]; return x }\n";
        let text = line.repeat((16 << 20) / line.len());
        let began = Instant::now();
        let near = nearest(&text, &line.replace("u8", "u16").repeat(3_000)).expect("a place");
        assert_eq!((near.first, near.last), (1, LINES));
        let near = nearest(&"é x ".repeat(2 << 20), &"é x ".repeat(9_000)).expect("the one line");
        assert!(near.shown.len() < 400 && near.shown.ends_with(" [...]\n"), "{}", near.shown);
        // A generous limit, for an unoptimised build on a busy machine.
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
}
