//! What the issue's own check said of a candidate, as it stands in the result of a try.
//!
//! Owns: comparing its runs before and after the answer, and the lines of the result that tell of it. A part counts only if it does not hold
//! without the answer: what the issue says of the fault itself, or what holds anyway, says nothing. Words of the sandbox: shown, used to
//! choose between candidates, and believed by nobody. Tests: below; with real interpreters: `tests/trees/issue_check.rs`.

use std::collections::BTreeMap;

use domain::IssueCheck;
use protocol::mistakes;
use protocol::runner::Outcome;

/// Stands before the lines about it, as a line of its own.
pub const HEAD: &str = "the issue's own check:";
/// How its program begins its line for each part.
const PART: &str = "caisson-example ";
const HOLDS: &str = "- holds: ";
const FAILS: &str = "- fails: ";

/// The lines about a check that ran `before` and `after`; none where no part of it counts.
pub(super) fn report(check: &IssueCheck, before: &Outcome, after: &Outcome) -> Option<String> {
    let (before, after) = (parts(before), parts(after));
    let lines = (1_usize..).zip(&check.says).filter_map(|(number, says)| {
        let held = before.get(&number).is_some_and(Option::is_none);
        match after.get(&number) {
            _ if held => None,
            Some(None) => Some(format!("{HOLDS}{says}\n")),
            Some(Some(seen)) => Some(format!("{FAILS}{says}; it gives {seen}\n")),
            None => Some(format!("{FAILS}{says}; it could not be run\n")),
        }
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then_some(lines)
}

/// Each part by its number, with what was seen where it does not hold.
fn parts(ran: &Outcome) -> BTreeMap<usize, Option<String>> {
    let told = ran.text.lines().filter_map(|line| {
        let (number, said) = line.strip_prefix(PART)?.split_once(' ')?;
        let seen = said.strip_prefix("gives ").map(|seen| seen.replace(mistakes::HEAD, "…").replace(HEAD, "…"));
        Some((number.parse().ok()?, seen))
    });
    told.collect()
}

/// What a try's result says of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The parts that hold, as the issue says them.
    pub holds: Vec<&'a str>,
    /// Those that do not, with what was seen.
    pub fails: Vec<&'a str>,
}

/// The lines about the check in a result, as they stand there.
pub fn lines(text: &str) -> Option<&str> {
    section(text).map(|(_, lines)| lines.trim_end())
}

/// Reads the lines about the check out of a result.
pub fn read(text: &str) -> Reading<'_> {
    let mut reading = Reading::default();
    for line in lines(text).unwrap_or_default().lines() {
        reading.holds.extend(line.strip_prefix(HOLDS));
        reading.fails.extend(line.strip_prefix(FAILS));
    }
    reading
}

/// The result without what is told of the check.
pub fn without(text: &str) -> &str {
    section(text).map_or(text, |(ran, _)| ran)
}

/// What a failing line says that the issue asks, without what was seen instead.
pub fn asked(failing: &str) -> &str {
    failing.rsplit_once("; it ").map_or(failing, |(asked, _)| asked)
}

/// What was printed, and the lines about the check up to those about mistakes.
fn section(text: &str) -> Option<(&str, &str)> {
    let (ran, rest) = text.split_once(&format!("\n{HEAD}\n"))?;
    Some((ran, rest.split(mistakes::HEAD).next().unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::NewFile;
    use protocol::runner::Status;

    fn made(says: &[&str]) -> IssueCheck {
        let file = NewFile { path: "x.py".into(), content: String::new() };
        IssueCheck { file, command: "x".into(), says: says.iter().map(|one| (*one).to_owned()).collect() }
    }

    fn ran(text: &str) -> Outcome {
        Outcome { status: Status::Ok, text: text.into(), dropped_bytes: 0, duration_ms: 1, note: None }
    }

    #[test]
    fn a_part_counts_if_it_does_not_hold_before() {
        let check = made(&["a", "b", "c"]);
        let before = ran("caisson-example 1 holds\n\ncaisson-example 2 gives 3\n");
        let after = ran("caisson-example 1 gives 9\nnoise\ncaisson-example 2 holds\n");
        let lines = report(&check, &before, &after).expect("two count");
        assert_eq!(lines, "- holds: b\n- fails: c; it could not be run\n");
        let text = format!("Ran 4 tests\nOK\n{HEAD}\n{lines}");
        let reading = read(&text);
        assert_eq!((reading.holds, reading.fails.clone()), (vec!["b"], vec!["c; it could not be run"]));
        assert_eq!((asked(reading.fails[0]), without(&text)), ("c", "Ran 4 tests\nOK"));
        assert_eq!(
            report(&check, &after, &after).as_deref(),
            Some("- fails: a; it gives 9\n- fails: c; it could not be run\n")
        );
        assert_eq!(report(&made(&["a"]), &before, &after), None, "what holds anyway says nothing");
        assert_eq!(read("plain"), Reading::default());
    }
}
