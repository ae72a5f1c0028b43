//! Terms that an issue and failing checks mention: words with weights, names as written, and paths.
//!
//! The texts are untrusted and only compared. Must not know files. Tests: below.

use std::collections::{BTreeMap, BTreeSet};

use crate::words;

/// The most bytes of the texts that are read.
const LONGEST: usize = 64 << 10;
/// The most words, names and paths that are compared.
const MOST: usize = 300;
/// The most parts of a dotted name.
const CHAIN: usize = 6;

/// A word with its normalized form.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Normalized form, for comparison.
    pub form: String,
    /// As first written.
    pub written: String,
    pub weight: f64,
}

/// Names in one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Identifiers as written.
    pub things: BTreeSet<String>,
    /// Words that look like a path or a file name.
    pub paths: BTreeSet<String>,
    /// Names with dots or `::`, divided into their parts.
    pub chains: BTreeSet<Vec<String>>,
}

/// The words of the issue and of failing checks; those in the first line are weighted by `first`, those of checks by `failed`.
pub fn terms(issue: &str, failing: &[String], first: f64, failed: f64) -> Vec<Term> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut out: Vec<Term> = Vec::new();
    let (head, rest) = issue.split_once('\n').unwrap_or((issue, ""));
    let failing = failing.join("\n");
    for (text, weight) in [(head, first), (rest, 1.0), (&failing, failed)] {
        for run in words::runs(cut(text)) {
            words::each_word(run, |form| {
                if words::is_empty(&form.to_lowercase()) || words::is_empty(&run.to_lowercase()) || form.len() < 2 {
                    return;
                }
                match found.get(form) {
                    // A repetition adds less than the first occurrence.
                    Some(&at) => out[at].weight += weight * 0.3,
                    None if out.len() < MOST => {
                        found.insert(form.to_owned(), out.len());
                        out.push(Term { form: form.to_owned(), written: run.to_owned(), weight });
                    }
                    None => {}
                }
            });
        }
    }
    out
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

impl Names {
    pub fn of(text: &str) -> Self {
        let mut names = Self::default();
        let text = cut(text);
        // Every word in back-quotes is a name.
        for quoted in text.split('`').skip(1).step_by(2).filter(|quoted| quoted.len() <= 200) {
            names.things(words::runs(quoted));
        }
        let breaks = |c: char| c.is_whitespace() || "\"'`<>()[]{},;=|*".contains(c);
        for word in text.split(breaks).filter(|word| !word.is_empty() && word.len() <= 400) {
            names.word(word);
        }
        // A word before `()` is a name, however it is spelled.
        for (at, _) in text.match_indices("()") {
            let name = text[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            names.things([name].into_iter());
        }
        names
    }

    fn word(&mut self, word: &str) {
        let word = word.trim_matches(|c: char| ".:!?-".contains(c)).trim_start_matches("./");
        let word = word.split(['#', '?']).next().unwrap_or_default();
        // `a.py:12:3`, `tests/test_a.py::TestA::test_b`
        let before = word.split("::").next().unwrap_or_default();
        let path = before.split(':').next().unwrap_or_default();
        if before.contains("//") {
            // Of a URL only the end may be a path.
            self.path(before);
        } else if path.contains('/') || has_ending(path) {
            self.path(path);
        }
        let chain: Vec<&str> = word.split(['.', ':', '#']).filter(|part| is_thing(part)).take(CHAIN).collect();
        if chain.len() > 1 && !word.contains('/') {
            self.things(chain.iter().skip(1).copied());
            if self.chains.len() < MOST {
                self.chains.insert(chain.into_iter().map(str::to_owned).collect());
            }
        }
        self.things(word.split("::").skip(1).flat_map(|part| part.split('.')));
        self.things(words::runs(word).filter(|run| is_spelled_as_one(run)));
    }

    fn things<'a>(&mut self, found: impl Iterator<Item = &'a str>) {
        for thing in found.filter(|thing| is_thing(thing)) {
            if self.things.len() < MOST {
                self.things.insert(thing.to_owned());
            }
        }
    }

    fn path(&mut self, path: &str) {
        if self.paths.len() < MOST {
            self.paths.insert(path.to_owned());
        }
    }
}

/// Whether it can be a name: no number, and not too short.
fn is_thing(run: &str) -> bool {
    run.len() > 2
        && run.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && run.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether it is `snake_case`, `camelCase` or `CamelCase`, unlike a plain word.
fn is_spelled_as_one(run: &str) -> bool {
    let inner = run.trim_matches('_');
    let mixed = run.chars().any(char::is_lowercase) && run.chars().skip(1).any(char::is_uppercase);
    inner.contains('_') || (run.starts_with('_') && !inner.is_empty()) || mixed
}

fn has_ending(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    !stem.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn names_and_paths_are_told_from_words() {
        let names = Names::of(
            "Fix `retry` in src/http/client.py:12 (see HTTPAdapter.send and parse_url()), e.g. 1.5. Call close()!",
        );
        assert!(names.paths.contains("src/http/client.py") && !names.paths.contains("1.5"), "{names:?}");
        assert_eq!(names.things, set(&["HTTPAdapter", "close", "parse_url", "retry", "send"]));
        assert_eq!(names.chains.len(), 1);
    }

    #[test]
    fn however_much_is_named_it_stays_bounded() {
        let many: String =
            (0..9000).map(|at| format!("a{at}/b.py::some_name{at} x{at}.y{at}.zzz{at} `q{at}rs` ")).collect();
        let names = Names::of(&many);
        assert_eq!((names.things.len(), names.paths.len(), names.chains.len()), (MOST, MOST, MOST));
        assert_eq!(terms(&many, &[], 1.0, 1.0).len(), MOST);
    }

    #[test]
    fn what_a_failing_check_prints_is_read() {
        let names = Names::of(
            "FAILED tests/test_core.py::TestArgs::test_nargs - AssertionError\n  File \"/w/src/click/core.py\", line 3\n",
        );
        assert!(names.paths.contains("tests/test_core.py") && names.paths.contains("/w/src/click/core.py"));
        assert!(names.things.contains("TestArgs") && names.things.contains("test_nargs"));
        let rust = Names::of("test printer::tests::wraps_long ... FAILED at crates/printer/src/lib.rs:88:9");
        assert!(rust.paths.contains("crates/printer/src/lib.rs") && rust.things.contains("wraps_long"), "{rust:?}");
    }

    #[test]
    fn words_count_more_in_the_first_line_and_less_again() {
        let found = terms("Header parsing\nThe header of a response", &["header".to_owned()], 2.0, 1.0);
        let of = |form: &str| found.iter().find(|term| term.form == form).map(|term| term.weight);
        assert!(of("header").is_some_and(|weight| weight > 2.5 && weight < 2.7), "{found:?}");
        assert_eq!(of("pars"), Some(2.0));
        assert_eq!(of("the"), None);
        assert_eq!(found[1].written, "parsing");
    }
}
