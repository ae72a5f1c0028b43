//! Summaries that list the numbers of one run in a line: PHPUnit, minitest, Test::Unit, ExUnit and the pretty form of Bats.
//!
//! Owns these lines. A list with words that it does not know counts nothing. Pure. Tests: below and in `recorded_tests.rs`.

use super::number;

/// How PHPUnit and ExUnit say that there was no test.
const NONE: [&str; 2] = ["No tests executed!", "There are no tests to run"];
/// What ExUnit and Bats call tests.
const TESTS: [&str; 8] = ["test", "tests", "doctest", "doctests", "property", "properties", "feature", "features"];

/// How many tests ran according to a line, without skipped ones.
pub(super) fn summary(line: &str) -> Option<u64> {
    if NONE.contains(&line) {
        return Some(0);
    }
    phpunit(line).or_else(|| result(line)).or_else(|| listed(line))
}

/// `OK (2 tests, 2 assertions)`, `Tests: 5, Assertions: 2, Errors: 1, Skipped: 1.`
fn phpunit(line: &str) -> Option<u64> {
    if let Some((tests, rest)) = line.strip_prefix("OK (").and_then(|rest| rest.split_once(" test")) {
        return number(tests).filter(|_| rest.contains(" assertion"));
    }
    let (tests, rest) = line.strip_prefix("Tests: ")?.strip_suffix('.')?.split_once(", Assertions: ")?;
    let skipped = rest.split(", ").find_map(|part| number(part.strip_prefix("Skipped: ")?));
    Some(number(tests)?.saturating_sub(skipped.unwrap_or(0)))
}

/// ExUnit's `Result: 3/4 passed (1/1 doctest, 2/3 tests), 1 skipped`, since Elixir 1.20.
fn result(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Result: ")?;
    if rest == "0 tests" || rest.starts_with("0 tests, ") {
        return Some(0);
    }
    let (count, _) = rest.split_once(" passed")?;
    number(count.rsplit('/').next()?).filter(|count| *count > 0)
}

/// `4 runs, 2 assertions, 1 failures, 1 errors, 1 skips`, `1 doctest, 4 tests, 1 failure, 1 excluded, 1 skipped`
fn listed(line: &str) -> Option<u64> {
    let pairs: Vec<(u64, &str)> = line.split(", ").map(pair).collect::<Option<_>>()?;
    let words: Vec<&str> = pairs.iter().map(|(_, word)| *word).collect();
    let of = |named: &[&str]| {
        let those = pairs.iter().filter(|(_, word)| named.contains(word));
        those.map(|(count, _)| *count).fold(0, u64::saturating_add)
    };
    if matches!(words.as_slice(), ["runs" | "tests", "assertions", "failures", "errors", ..]) {
        return Some(pairs[0].0.saturating_sub(of(&["skips", "omissions"])));
    }
    let failures = words.iter().position(|word| ["failure", "failures"].contains(word))?;
    let known = failures > 0 && words[..failures].iter().all(|word| TESTS.contains(word));
    known.then(|| of(&TESTS).saturating_sub(of(&["excluded", "skipped"])))
}

fn pair(part: &str) -> Option<(u64, &str)> {
    let (count, word) = part.split_once(' ')?;
    Some((number(count)?, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_numbers_is_a_summary_where_all_its_words_are_known() {
        for (line, expected) in [
            ("OK (1 test, 1 assertion)", Some(1)),
            ("Tests: 4, Assertions: 3, PHPUnit Deprecations: 1, Skipped: 4.", Some(0)),
            ("Tests: 1, Assertions: 0, Warnings: 1.", Some(1)),
            ("OK (skipped=1)", None),
            ("OK (3 tests)", None),
            ("Tests: 3, all of them good.", None),
            ("3 tests, 3 assertions, 0 failures, 0 errors, 1 skips", Some(2)),
            ("2 properties, 1 failure, 1 invalid", Some(2)),
            ("1 test, 0 failures, 1 skipped", Some(0)),
            ("0 failures", None),
            ("3 specs, 0 failures", None),
            ("3 tests, 2 passed", None),
            ("3 tests, and 0 failures", None),
            ("Result: 455 passed (70 tests, 14 properties)", Some(455)),
            ("Result: 3/4 passed (1/1 doctest, 2/3 tests), 1 skipped", Some(4)),
            ("Result: 0 tests, 2 excluded", Some(0)),
            ("Result: 0 passed", None),
            ("Result: PASS", None),
        ] {
            assert_eq!(summary(line), expected, "{line}");
        }
    }
}
