//! What Maven says of tests: Surefire's and Failsafe's.
//!
//! Owns the total of each run, one a module, which follows the lines of its classes. Totals count all tests only where each of these runs has
//! one, which is not so where Maven prints little, and 0 is known only where no plugin ran that may run other tests. Pure. Tests: below and in
//! `recorded_tests.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Part, number};

/// `[INFO] --- maven-surefire-plugin:3.5.2:test (default-test) @ shop ---`, since Maven 3.9 `surefire:3.5.2:test`.
static GOAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[INFO\] --- ([\w.-]+):[\w.-]+:([\w-]+) \(").expect("a literal"));
/// A total; behind the numbers of one class there is a duration.
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\[[A-Z]+\] )?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)(?:, Flakes: \d+)?$")
        .expect("a literal")
});

/// What stands in place of a total.
const NONE: [&str; 2] = ["[INFO] No tests to run.", "[INFO] Tests are skipped."];
/// Plugins that run no tests by themselves, beside Surefire; Failsafe checks the results.
const BUILDS: [&str; 14] = [
    "checkstyle",
    "clean",
    "compiler",
    "dependency",
    "enforcer",
    "failsafe",
    "install",
    "jacoco",
    "jar",
    "javadoc",
    "resources",
    "source",
    "spotless",
    "war",
];

pub(super) fn read(lines: &[Cow<'_, str>]) -> Part {
    let mut part = Part::default();
    let (mut runs, mut totals) = (0_usize, 0_usize);
    for line in lines {
        if let Some(found) = GOAL.captures(line) {
            let plugin = short(&found[1]);
            let is_run = matches!((plugin, &found[2]), ("surefire", "test") | ("failsafe", "integration-test"));
            runs += usize::from(is_run);
            part.is_partial |= !is_run && !BUILDS.contains(&plugin);
        } else if let Some(ran) = total(line) {
            totals += 1;
            part = part.and(Part { ran: Some(ran), is_partial: false });
        }
    }
    part.and(Part { ran: None, is_partial: runs != totals })
}

/// `surefire` of `maven-surefire-plugin`, `jacoco` of `jacoco-maven-plugin`.
fn short(plugin: &str) -> &str {
    let name = plugin.strip_suffix("-plugin").unwrap_or(plugin);
    let name = name.strip_suffix("-maven").unwrap_or(name);
    name.strip_prefix("maven-").unwrap_or(name)
}

fn total(line: &str) -> Option<u64> {
    if NONE.contains(&line) {
        return Some(0);
    }
    let found = TOTAL.captures(line)?;
    Some(number(&found[1])?.saturating_sub(number(&found[2])?))
}

#[cfg(test)]
mod tests {
    use super::super::plain_lines;
    use super::*;

    const RUN: &str = "[INFO] --- surefire:3.5.2:test (default-test) @ shop ---\n";

    #[test]
    fn the_totals_of_all_modules_are_added_where_each_run_has_one() {
        let class = "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in shop.Test\n";
        let total = "[WARNING] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1, Flakes: 1\n";
        let none = "[INFO] No tests to run.\n";
        let failsafe = "[INFO] --- maven-failsafe-plugin:3.5.2:integration-test (default) @ shop ---\n";
        let check = "[INFO] --- maven-failsafe-plugin:3.5.2:verify (default) @ shop ---\n";
        let other = "[INFO] --- scalatest-maven-plugin:2.2.0:test (test) @ shop ---\n";
        for (text, ran, is_partial) in [
            (format!("{RUN}{class}{class}{total}{RUN}{none}"), Some(3), false),
            (format!("{RUN}{total}{failsafe}{total}{check}"), Some(6), false),
            (format!("{RUN}{none}{RUN}[INFO] Tests are skipped.\n"), Some(0), false),
            (format!("{RUN}{none}{RUN}{class}"), Some(0), true),
            (format!("{RUN}{none}{other}"), Some(0), true),
            (total.to_owned(), Some(3), true),
            (RUN.to_owned(), None, true),
            (class.to_owned(), None, false),
            ("[INFO] --- jacoco-maven-plugin:0.8.12:report (report) @ shop ---\n".to_owned(), None, false),
        ] {
            assert_eq!(read(&plain_lines(&text)), Part { ran, is_partial }, "{text}");
        }
    }
}
