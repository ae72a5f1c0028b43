//! Results of the issue's own check for a candidate.
//!
//! Owns parsing the check's output and comparing its runs before and after the candidate. A part counts only if it fails without the
//! candidate; others say nothing about it. The output is untrusted: shown as such, and used only to choose between candidates. Tests:
//! below; with real interpreters: `tests/trees/issue_check.rs`.

use std::collections::BTreeMap;

use domain::{Example, IssueCheck, MOST_SEEN};
use protocol::runner::{Outcome, Status};

use crate::text;

/// Prefix of the check's line for each part.
const PART: &str = "caisson-example ";

/// The parts of a check that failed `before` and were run at least once. None where a run was ended, which is no candidate's fault.
pub(in crate::sandbox) fn compare(check: &IssueCheck, before: &Outcome, after: &Outcome) -> Vec<Example> {
    let by_itself = |ran: &Outcome| matches!(ran.status, Status::Ok | Status::Exited { .. } | Status::Signaled { .. });
    if !by_itself(before) || !by_itself(after) {
        return Vec::new();
    }
    let (before, after) = (parts(before), parts(after));
    let example = |(number, says): (usize, &String)| {
        let (holds, seen) = match (before.get(&number), after.get(&number)) {
            (Some(None), _) | (None, None) => return None,
            (_, Some(None)) => (true, String::new()),
            (_, Some(Some(seen))) => (false, seen.clone()),
            (Some(Some(_)), None) => (false, String::new()),
        };
        Some(Example { says: says.clone(), holds, seen })
    };
    (1_usize..).zip(&check.says).filter_map(example).collect()
}

/// Each part by its number, with the output seen if it fails; the first line about a part counts.
fn parts(ran: &Outcome) -> BTreeMap<usize, Option<String>> {
    let mut out = BTreeMap::new();
    for line in ran.text.lines() {
        let Some((number, said)) = line.strip_prefix(PART).and_then(|rest| rest.split_once(' ')) else { continue };
        let seen = match said.strip_prefix("gives ") {
            Some(seen) => Some(text::cut(&text::one_line(seen), MOST_SEEN).0.to_owned()),
            None if said == "holds" => None,
            None => continue,
        };
        if let Ok(number) = number.parse() {
            out.entry(number).or_insert(seen);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::NewFile;

    fn made(says: &[&str]) -> IssueCheck {
        let file = NewFile::new("x.py", "");
        IssueCheck { file, command: "x".into(), says: says.iter().map(|one| (*one).to_owned()).collect() }
    }

    fn ran(text: &str) -> Outcome {
        Outcome { duration_ms: 1, ..Outcome::new(Status::Ok, text) }
    }

    fn told(says: &[&str], before: &str, after: &str) -> Vec<String> {
        let shown = |it: Example| format!("{} {} {}", it.says, it.holds, it.seen).trim_end().to_owned();
        compare(&made(says), &ran(before), &ran(after)).into_iter().map(shown).collect()
    }

    #[test]
    fn a_part_counts_if_it_does_not_hold_before() {
        let before = "caisson-example 1 holds\n\ncaisson-example 2 gives 3\n";
        let after = "caisson-example 1 gives 9\nnoise\ncaisson-example 2 holds\n";
        assert_eq!(told(&["a", "b", "c"], before, after), ["b true"], "c was never run");
        assert_eq!(
            told(&["a"], "caisson-example 1 gives 2", "killed"),
            ["a false"],
            "an answer under which it cannot run"
        );
        assert_eq!(told(&["a", "b"], after, before), ["a true"]);
        assert_eq!(told(&["a"], before, after), [""; 0], "what holds anyway says nothing");
        assert_eq!(told(&["a"], "", "caisson-example 1 gives 9"), ["a false 9"]);
        assert_eq!(told(&["a"], "SyntaxError", "SyntaxError"), [""; 0], "one that cannot be run says nothing");
    }

    #[test]
    fn a_run_that_was_ended_says_nothing() {
        let (good, mut ended) = (ran("caisson-example 1 holds"), ran("caisson-example 1 gives 2"));
        assert_eq!(compare(&made(&["a"]), &ended, &good).len(), 1);
        ended.status = Status::TimedOut;
        assert_eq!(compare(&made(&["a"]), &ended, &good), []);
        assert_eq!(compare(&made(&["a"]), &ran("caisson-example 1 gives 2"), &ended), []);
    }

    #[test]
    fn what_was_printed_is_one_short_line_and_the_first_one_counts() {
        let long = format!("caisson-example 1 gives {}\u{1b}[31m\ncaisson-example 1 holds\n", "x".repeat(300));
        assert_eq!(told(&["a"], "", &long), [format!("a false {}", "x".repeat(MOST_SEEN))]);
        assert_eq!(told(&["a"], "caisson-example 1 gives 1", "caisson-example 1 holds indeed"), ["a false"]);
    }
}
