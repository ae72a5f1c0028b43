//! What Gradle's plain console says of tests.
//!
//! Owns its lines of tasks and `3 tests completed, 1 failed, 1 skipped`, which only a failed task prints. A task that passes prints no number,
//! so only 0 can be known: where no task ran but those of a build, and one of tests had nothing to run. Pure. Tests: below and in
//! `recorded_tests.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Part, number};

static COMPLETED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\d+) tests? completed, \d+ failed(?:, (\d+) skipped)?$").expect("a literal"));

/// Beginnings of the lines with which a build ends.
const ENDS: [&str; 2] = ["BUILD SUCCESSFUL", "BUILD FAILED"];
/// Outcomes of tasks whose actions did not run.
const IDLE: [&str; 2] = ["NO-SOURCE", "SKIPPED"];
/// Tasks that run no tests by themselves.
const BUILDS: [&str; 17] = [
    "compileJava",
    "compileTestJava",
    "compileKotlin",
    "compileTestKotlin",
    "compileGroovy",
    "compileTestGroovy",
    "compileScala",
    "compileTestScala",
    "processResources",
    "processTestResources",
    "classes",
    "testClasses",
    "jar",
    "assemble",
    "check",
    "build",
    "clean",
];

pub(super) fn read(lines: &[Cow<'_, str>]) -> Part {
    if !lines.iter().any(|line| ENDS.iter().any(|end| line.starts_with(end))) {
        return Part::default();
    }
    let (mut part, mut is_empty) = (Part::default(), false);
    for line in lines {
        part = part.and(Part { ran: completed(line), is_partial: false });
        if let Some((name, outcome)) = task(line) {
            let is_idle = IDLE.contains(&outcome);
            is_empty |= is_idle && (name == "test" || name.ends_with("Test"));
            part.is_partial |= !is_idle && !BUILDS.contains(&name);
        }
    }
    let none = (is_empty && !part.is_partial).then_some(0);
    Part { ran: part.ran.or(none), ..part }
}

fn completed(line: &str) -> Option<u64> {
    let found = COMPLETED.captures(line)?;
    let skipped = found.get(2).and_then(|skipped| number(skipped.as_str()));
    Some(number(&found[1])?.saturating_sub(skipped.unwrap_or(0)))
}

/// Name and outcome of a task: of `> Task :cart:test NO-SOURCE`, in older versions `:cart:test NO-SOURCE`. There what a task prints may stand
/// right behind its name, which then is one that no task has.
fn task(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("> Task ").unwrap_or(line);
    let (path, outcome) = line.split_once(' ').unwrap_or((line, ""));
    let name = path.strip_prefix(':')?.rsplit(':').next()?;
    Some((name, outcome))
}

#[cfg(test)]
mod tests {
    use super::super::plain_lines;
    use super::*;

    #[test]
    fn no_test_ran_where_no_task_did_that_may_run_some() {
        let none = Part { ran: Some(0), is_partial: false };
        let unknown = Part { ran: None, is_partial: true };
        let built = "> Task :compileJava\n> Task :compileTestJava NO-SOURCE\n> Task :testClasses UP-TO-DATE\n";
        for (tasks, expected) in [
            ("> Task :test NO-SOURCE", none),
            ("> Task :test NO-SOURCE\n> Task :app:integrationTest SKIPPED\n> Task :check UP-TO-DATE", none),
            ("> Task :test NO-SOURCE\n> Task :app:test", unknown),
            ("> Task :test NO-SOURCE\n> Task :app:test UP-TO-DATE", unknown),
            ("> Task :test NO-SOURCE\n> Task :npmTest", unknown),
            ("> Task :test", unknown),
            ("> Task :app:test FROM-CACHE", unknown),
            (":test NO-SOURCE\n:app:test", unknown),
            (":test NO-SOURCE\n:app:testWARNING: a line of the tests", unknown),
            ("", Part::default()),
        ] {
            assert_eq!(read(&plain_lines(&format!("{built}{tasks}\n\nBUILD SUCCESSFUL in 2s\n"))), expected, "{tasks}");
            assert_eq!(read(&plain_lines(&format!("{built}{tasks}\n"))), Part::default(), "{tasks}");
        }
    }

    #[test]
    fn only_failed_tasks_count_their_tests() {
        let first = "> Task :a:test FAILED\n\n1 test completed, 1 failed\n";
        let second = "> Task :b:test FAILED\n\n3 tests completed, 1 failed, 1 skipped\n";
        let counted = read(&plain_lines(&format!("{first}\n{second}\nBUILD FAILED in 3s\n")));
        assert_eq!(counted, Part { ran: Some(3), is_partial: true });
    }
}
