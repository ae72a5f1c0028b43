//! Which parts of a long file are shown: the definitions that the issue is about.
//!
//! Owns: the choice. A short file is shown whole, as is one of up to `LONG` lines if the issue names nothing in it. Pure. Tests: below.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::asked::STRING;
use super::definitions::{Definition, all};
use super::part::imports;

/// Files of up to this many lines are shown, and returned, as a whole.
const SHORT: usize = 40;
/// … if the issue names nothing in them, or answers about what it names were not good enough.
const LONG: usize = 150;
/// The most lines shown of a longer file, unless the first chosen definition alone is longer.
const MOST: usize = 100;

/// Imports are searched in the first `TOP` lines, and shown if they span at most `HEAD` lines.
const TOP: usize = 40;
const HEAD: usize = 12;

/// Upper limit of a definition's length in lines.
const LONGEST: usize = 1 << 20;

/// Code in text: between backticks, or a name that is called.
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`+([^`]+)`+|([A-Za-z_$][\w$]*)\(").expect("a literal"));
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_$][\w$]*").expect("a literal"));
/// A name identifies definitions if at most this many contain it.
const FEW: usize = 3;

/// The lines to show, as first and last, counted from 1; empty = all of them. `words` are those of the issue and of failing checks.
/// Definitions that they name as code are shown alone, because a small model returns whatever it is shown. With `wide`, set if answers
/// about these were not good enough, definitions that share other words are shown too.
pub fn lines(text: &str, words: &str, wide: bool) -> Vec<(u32, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= if wide { LONG } else { SHORT } {
        return Vec::new();
    }
    let mut hinted = names(words);
    hinted.extend(hinted.iter().filter_map(|word| word.strip_suffix('s').map(str::to_owned)).collect::<Vec<_>>());
    let known = all(&lines);
    let leaves: Vec<&Definition> = leaves(&known).collect();
    let code = code(words);
    let classes: Vec<&Definition> = known.iter().filter(|one| one.holds && code.all.contains(&one.name)).collect();
    let mut meant = if wide { Vec::new() } else { meant(&leaves, &lines, &code, &classes, &hinted) };
    let narrow = !meant.is_empty();
    if !narrow && lines.len() <= LONG {
        return Vec::new();
    }
    if !narrow {
        meant = leaves.into_iter().map(|one| (one, false)).collect();
    }
    // Of those that only contain a name the shortest come first, because a short one more likely defines it.
    let rank = |one: &Definition, by_name: bool| match narrow && !by_name {
        true => LONGEST.saturating_sub(one.end - one.lead),
        false => score(one, &lines, &hinted),
    };
    let scored = meant.into_iter().map(|(one, by_name)| (by_name, rank(one, by_name), one));
    let mut scored: Vec<(bool, usize, &Definition)> = scored.collect();
    scored.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then(a.2.first.cmp(&b.2.first)));
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let mut room = MOST;
    for (_, score, one) in scored {
        let size = one.end - one.lead;
        if (score == 0 && !narrow) || (size > room && !chosen.is_empty()) {
            continue;
        }
        room = room.saturating_sub(size);
        chosen.push((one.lead, one.end));
    }
    if chosen.is_empty() {
        chosen.push((0, MOST.min(lines.len())));
    }
    let is_shown = |(first, end): &(usize, usize)| chosen.iter().any(|one| one.0 <= *first && *end <= one.1);
    let head = head(&lines).filter(|head| !is_shown(head));
    chosen.extend(head);
    chosen.sort_unstable();
    chosen.into_iter().map(counted).collect()
}

/// The imports of the file, without which a model does not see that a name is missing.
fn head(lines: &[&str]) -> Option<(usize, usize)> {
    let top = &lines[..TOP.min(lines.len())];
    let (first, last) = (top.iter().position(|line| imports(line))?, top.iter().rposition(|line| imports(line))?);
    (last - first < HEAD).then_some((first, last + 1))
}

/// The definitions of a text that another one does not have in the same form.
pub fn changed(before: &str, text: &str) -> Vec<(u32, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    let known = all(&lines);
    let is_new = |one: &&Definition| !before.contains(&lines[one.first..one.end].join("\n"));
    leaves(&known).filter(is_new).map(|one| counted((one.lead, one.end))).collect()
}

fn counted((first, end): (usize, usize)) -> (u32, u32) {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    (number(first + 1), number(end))
}

/// Names of code in text, without string literals.
struct Code {
    all: BTreeSet<String>,
    /// Names that are the only one in their piece of code.
    alone: BTreeSet<String>,
}

fn code(words: &str) -> Code {
    let found = CODE.captures_iter(words).filter_map(|code| code.get(1).or(code.get(2)));
    let plain = found.map(|code| STRING.replace_all(code.as_str(), "").into_owned());
    let mut code = Code { all: BTreeSet::new(), alone: BTreeSet::new() };
    for text in plain {
        let names: Vec<&str> = NAME.find_iter(&text).map(|name| name.as_str()).collect();
        if let [only] = names.as_slice() {
            code.alone.insert((*only).to_owned());
        }
        code.all.extend(names.into_iter().map(str::to_owned));
    }
    code
}

/// The definitions that the code names, and whether by their own name. Otherwise a definition contains a named compound word
/// (`showDefaults`, `_max_size`) that few contain, or its class is named and the words share something with its name.
fn meant<'a>(
    leaves: &[&'a Definition],
    lines: &[&str],
    code: &Code,
    classes: &[&Definition],
    hinted: &BTreeSet<String>,
) -> Vec<(&'a Definition, bool)> {
    let is_compound = |name: &str| name.len() > 5 && name[1..].contains(|c: char| c == '_' || c.is_uppercase());
    let is_error = |name: &str| name.ends_with("Error") || name.ends_with("Exception") || name.starts_with("__");
    let body = |one: &&Definition| -> BTreeSet<&str> {
        lines[one.lead..one.end].iter().flat_map(|line| NAME.find_iter(line)).map(|name| name.as_str()).collect()
    };
    let bodies: Vec<BTreeSet<&str>> = leaves.iter().map(body).collect();
    let is_rare = |name: &str| bodies.iter().filter(|body| body.contains(name)).count() <= FEW;
    let own = |one: &Definition| one.names().any(|name| code.all.contains(name.trim_start_matches('#')));
    let any = leaves.iter().any(|one| own(one));
    // If something is named itself, arguments of calls are ignored.
    let known = if any { &code.alone } else { &code.all };
    let telling: Vec<&String> =
        known.iter().filter(|name| is_compound(name) && !is_error(name) && is_rare(name)).collect();
    let found = leaves.iter().zip(&bodies).filter_map(|(one, body)| {
        let of_a_class = || classes.iter().any(|class| class.first < one.first && one.end <= class.end);
        let is_told = || !any && of_a_class() && names(&one.name).iter().any(|name| hinted.contains(name));
        (own(one) || telling.iter().any(|name| body.contains(name.as_str())) || is_told()).then_some((*one, own(one)))
    });
    found.collect()
}

/// Definitions that contain no other.
fn leaves(known: &[Definition]) -> impl Iterator<Item = &Definition> {
    known.iter().enumerate().filter_map(|(at, one)| {
        let within = |other: &Definition| other.first < one.first && one.end <= other.end && !other.holds;
        let outer = known[..at].iter().any(within);
        let holds = one.holds && known.iter().any(|other| other.first > one.first && other.end <= one.end);
        (!outer && !holds).then_some(one)
    })
}

/// The own name counts more than names in the body.
fn score(one: &Definition, lines: &[&str], hinted: &BTreeSet<String>) -> usize {
    let body = names(&lines[one.lead..one.end].join("\n"));
    let own = names(&one.name);
    5 * own.intersection(hinted).count() + body.intersection(hinted).count()
}

/// Words of a text and parts of compound words, in lower case, without very common ones.
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
        assert_eq!(lines("def a():\n    pass\n", "a", false), []);
        let filler = |name: &str| format!("def {name}():\n{}\n", "    x = 1\n".repeat(40));
        let text = ["one", "two", "parse_header", "three"].map(filler).concat();
        assert_eq!(lines(&text, "`parse_header` drops the last line", false), [(85, 125)]);
        assert_eq!(lines(&text, "nothing of it", false), [(1, 100)], "its beginning, where nothing is named");
    }

    #[test]
    fn a_changed_definition_is_found() {
        let (before, after) = ("def a():\n    return 1\n", "def a():\n    return b()\n\n\ndef b():\n    return 1\n");
        assert_eq!((changed(before, before), changed(before, after)), (vec![], vec![(1, 2), (5, 6)]));
    }

    #[test]
    fn what_code_names_is_all_there_is_to_see_until_that_did_not_do() {
        let filler = |name: &str| format!("  {name}(text) {{\n{}  }}\n", "    text = trimmed(text);\n".repeat(40));
        let text = ["wrap", "indent", "fold"].map(filler).concat()
            + "  head() {\n    return this.showAll;\n  }\n"
            + &filler("tail");
        assert_eq!(lines(&text, "`wrap` of `Help` should fold its text", false), [(1, 42)]);
        assert_eq!(lines(&text, "wrap('a') should fold its text", false), [(1, 42)], "it is called");
        assert_eq!(lines(&text, "`wrap` of `Help` should fold its text", true), [(1, 42), (85, 126)]);
        assert_eq!(lines(&text, "set `showAll` to false", false), [(127, 129)], "it stands in there");
        assert_eq!(
            lines(&text, "`text` is lost when it is folded: see fold", false),
            [(1, 42), (85, 126)],
            "an everyday word"
        );
    }

    #[test]
    fn of_a_class_that_is_named_the_methods_are_shown_that_the_words_speak_of() {
        let method = |name: &str, lines: usize| format!("    def {name}(self):\n{}\n", "        x = 1\n".repeat(lines));
        let text = "class Renderer:\n".to_owned()
            + &[("link", 5), ("image", 5), ("table", 150)].map(|(name, lines)| method(name, lines)).concat();
        assert_eq!(lines(&text, "Links of `Renderer` get a title", false), [(2, 7)]);
        assert_eq!(lines(&text, "All of `Renderer` is wrong", false), [(1, 100)], "nothing says which");
    }

    #[test]
    fn where_a_name_is_set_comes_before_what_is_done_with_it() {
        let text = format!(
            "class Help {{\n  constructor() {{\n    this.showAll = false;\n  }}\n  format() {{\n{}    this.showAll;\n  }}\n  one() {{\n{}  }}\n}}\n",
            "    x();\n".repeat(80),
            "    y();\n".repeat(90)
        );
        assert_eq!(lines(&text, "set `showAll` in `one()`", false), [(2, 4), (88, 179)]);
    }

    #[test]
    fn of_a_file_that_is_shown_in_part_the_imports_are_shown_too() {
        let filler = |name: &str| format!("def {name}():\n{}\n", "    x = 1\n".repeat(40));
        let text =
            "\"\"\"Doc.\"\"\"\n\nimport os\nfrom .util import a\n\n".to_owned() + &["one", "two"].map(filler).concat();
        assert_eq!(lines(&text, "`two` is wrong", false), [(3, 4), (48, 88)]);
    }
}
