//! Protects tests that existed before the task: finds the lines of them that a write would remove.
//!
//! Owns three pure functions: whether a file is a test, whether people's words ask for changed tests, and which line of the base would be
//! removed. Adding lines is always allowed. It is no security boundary: a command can change any file, and the review marks that. Tests:
//! below.

use std::collections::HashMap;

use super::test_names::{holds_tests, is_hyphened, is_script, names_a_test, stem};

/// Words for tests.
const TESTS: [&str; 7] = ["test", "tests", "spec", "specs", "testcase", "testcases", "unittests"];
/// Verbs (without endings) that ask to change tests; not *fix*, which asks to change the code.
const VERBS: [&str; 16] = [
    "add", "writ", "updat", "chang", "adapt", "adjust", "extend", "rewrit", "remov", "delet", "drop", "migrat",
    "refactor", "improv", "correct", "replac",
];
const ENDINGS: [&str; 7] = ["", "e", "es", "ed", "ing", "s", "ten"];
/// Adjectives of a test that has to change.
const WRONG: [&str; 4] = ["wrong", "outdated", "flaky", "obsolete"];
/// The most words between verb and noun.
const NEAR: usize = 5;
/// Words that negate a sentence.
const NOT: [&str; 7] = ["not", "don't", "dont", "never", "without", "no", "unchanged"];

/// Whether a path is a test itself; files that build or configure tests are not.
pub fn is_test(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    folders.split('/').any(holds_tests)
        || names_a_test(name)
        || stem(name).ends_with("_spec")
        || name.ends_with(".snap")
        || (is_hyphened(name) && is_script(name))
}

/// Whether people's words ask for changed tests: they name this file, say so about tests in a sentence, or ask for a rename, which affects
/// every file.
pub fn asks_for_tests(words: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = |c: char| matches!(c, '\n' | '.' | '!' | '?' | ';');
    words.contains(name) || words.to_lowercase().replace('’', "'").split(ends).any(asks)
}

fn asks(sentence: &str) -> bool {
    let all: Vec<&str> =
        sentence.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    if all.iter().any(|word| NOT.contains(word)) {
        return false;
    }
    let near = |at: usize| {
        let (before, after) = (&all[at.saturating_sub(NEAR)..at], &all[at + 1..all.len().min(at + 1 + NEAR)]);
        before.iter().any(|word| is_verb(word)) || before.iter().chain(after).any(|word| WRONG.contains(word))
    };
    let tests = |(at, word): (usize, &&str)| TESTS.contains(word) && near(at);
    all.iter().enumerate().any(tests) || all.iter().any(|word| word.starts_with("renam"))
}

fn is_verb(word: &str) -> bool {
    VERBS.iter().any(|verb| word.strip_prefix(verb).is_some_and(|rest| ENDINGS.contains(&rest)))
}

/// The first line of `base` that is in `now` and missing in `new`, even if lines moved. Changes of indentation, a trailing comma or imports
/// do not count.
pub fn lost<'a>(base: &'a str, now: &str, new: &str) -> Option<&'a str> {
    let (now, new) = (counted(now), counted(new));
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    base.lines().find(|line| {
        let key = key(line);
        let count = wanted.entry(key).or_default();
        *count += 1;
        let in_both = |text: &HashMap<&str, usize>| text.get(key).is_some_and(|there| there >= count);
        matters(key) && in_both(&now) && !in_both(&new)
    })
}

fn counted(text: &str) -> HashMap<&str, usize> {
    let mut all = HashMap::new();
    text.lines().for_each(|line| *all.entry(key(line)).or_default() += 1);
    all
}

fn key(line: &str) -> &str {
    line.trim().trim_end_matches([',', ';']).trim_end()
}

/// Whether a line counts: lines of brackets and imports do not.
fn matters(line: &str) -> bool {
    let import = ["import ", "from ", "use ", "pub use ", "#include", "using ", "require "];
    let required = line.contains("require(") || (line.starts_with('}') && line.contains(" from "));
    line.chars().any(char::is_alphanumeric) && !required && !import.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_what_steers_them() {
        for path in [
            "tests/a.rs",
            "src/sum_test.go",
            "test_sum.py",
            "a/testing.py",
            "x.spec.ts",
            "spec/a_spec.rb",
            "a/__tests__/b.js",
            "test.js",
            "test-sum.mjs",
            "src/sum-test.ts",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in
            ["Cargo.toml", "package.json", "Makefile", "conftest.py", "src/main.rs", "latest/a.rs", "spec/openapi.yaml"]
        {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn words_ask_for_tests_or_they_do_not() {
        let path = "tests/test_sum.py";
        for words in [
            "The case in test_sum.py is wrong.",
            "Subtract wrongly adds.\nPlease update the tests too.",
            "add a test for zero",
            "The tests are outdated.",
            "Rename `sum` to `total`.",
            "please rewrite the unit tests with pytest",
        ] {
            assert!(asks_for_tests(words, path), "{words}");
        }
        for words in [
            "Fix the failing tests.",
            "Don't change the tests.",
            "Add a function and make sure that all of the tests pass",
            "Remove the cache without changing tests",
            "The latest address is wrong",
            "",
        ] {
            assert!(!asks_for_tests(words, path), "{words}");
        }
    }

    const BASE: &str = "import a\n\ndef test_one():\n    assert a.f(1) == 2\n    assert a.f(1) == 2\n";

    #[test]
    fn adding_is_free() {
        for new in [
            format!("{BASE}\ndef test_two():\n    assert a.f(2) == 3\n"),
            BASE.replace("import a\n", "from x import y\nimport a, b\n"),
            BASE.replace("import a\n", ""),
            BASE.replace("def test_one", "class T:\n  def test_one"),
            format!("def test_zero():\n    pass\n{BASE}"),
        ] {
            assert_eq!(lost(BASE, BASE, &new), None, "{new}");
        }
        assert_eq!(lost("[\n  1\n]\n", "[\n  1\n]\n", "[\n  1,\n  2\n]\n"), None);
    }

    #[test]
    fn a_line_of_the_base_may_not_go() {
        let changed = BASE.replacen("== 2", "== 3", 1);
        assert_eq!(lost(BASE, BASE, &changed), Some("    assert a.f(1) == 2"));
        assert_eq!(lost(BASE, BASE, ""), Some("def test_one():"));
        // Lines removed before with permission, or added by the agent itself, do not count.
        assert_eq!(lost(BASE, &changed, &changed.replace("== 3", "== 4")), None);
        let added = format!("{BASE}    assert a.f(9) == 9\n");
        assert_eq!(lost(BASE, &added, BASE), None);
    }
}
