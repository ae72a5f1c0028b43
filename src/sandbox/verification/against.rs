//! Errors that a run on a commit reports and the run on its base does not.
//!
//! Owns when two runs can be compared, and how much of the difference a verdict keeps. Pure. Tests: below.

use domain::{Against, Reported, Severity};
use protocol::runner::{Outcome, Status};

use crate::sandbox::items::{self, Item};

/// The most new errors that are kept.
const KEPT: usize = 10;

/// The difference between two runs of one command; nothing where one of them is incomplete.
pub(super) fn against(base: &Outcome, now: &Outcome) -> Against {
    let (before, now) = match (whole(base), whole(now)) {
        (Some(before), Some(now)) => (before, now),
        (None, _) | (_, None) => return Against::default(),
    };
    let found = items::difference(&before, &now);
    let of = |items: &[&Item], severity: Severity| count(items.iter().filter(|item| item.severity == severity).count());
    let new = found.new.iter().filter(|item| item.severity == Severity::Error).take(KEPT);
    Against {
        new: new.map(|item| reported(item)).collect(),
        new_errors: of(&found.new, Severity::Error),
        still: of(&found.still, Severity::Error),
        gone: of(&found.gone, Severity::Error),
        warnings: of(&found.new, Severity::Warning) + of(&found.still, Severity::Warning),
        new_warnings: of(&found.new, Severity::Warning),
    }
}

/// All items that a run reports; none where it may have reported more, as after a signal.
fn whole(outcome: &Outcome) -> Option<Vec<Item>> {
    let ended = matches!(outcome.status, Status::Ok | Status::Exited { .. });
    let items = (ended && outcome.dropped_bytes == 0).then(|| items::read(&outcome.text))?;
    (items.len() < items::MOST).then_some(items)
}

fn reported(item: &Item) -> Reported {
    Reported {
        tool: item.tool.name().to_owned(),
        file: item.file.clone(),
        line: item.line,
        severity: item.severity,
        message: item.message.clone(),
        test: item.test.clone(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "a.c:1:2: error: old\na.c:3:4: warning: both [-Wx]\nb.c:9:1: error: mended\n";
    const NOW: &str =
        "a.c:8:4: warning: both [-Wx]\na.c:9:4: warning: fresh [-Wx]\na.c:5:2: error: old\nc.c:7:1: error: broken\n";

    fn ran(text: &str) -> Outcome {
        Outcome::new(Status::Exited { code: 1 }, text)
    }

    #[test]
    fn what_the_base_reports_too_is_not_new() {
        let found = against(&ran(BASE), &ran(NOW));
        let [new] = &found.new[..] else { panic!("{found:?}") };
        assert_eq!((new.file.as_deref(), new.line, new.message.as_str()), (Some("c.c"), Some(7), "broken"));
        assert_eq!((found.new_errors, found.still, found.gone), (1, 1, 1));
        assert_eq!((found.warnings, found.new_warnings), (2, 1));
        assert_eq!(against(&ran(NOW), &ran(NOW)).new_errors, 0);
        assert_eq!(against(&Outcome::new(Status::Ok, ""), &ran(NOW)).new_errors, 2);
    }

    #[test]
    fn a_run_that_is_not_whole_is_compared_with_nothing() {
        for cut in [Outcome { dropped_bytes: 1, ..ran(BASE) }, Outcome { status: Status::TimedOut, ..ran(BASE) }] {
            assert_eq!(against(&cut, &ran(NOW)), Against::default());
            assert_eq!(against(&ran(NOW), &cut), Against::default());
        }
        let many: String = (0..items::MOST + 9).map(|n| format!("a.c:{n}:1: error: number {n}\n")).collect();
        assert_eq!(against(&ran(BASE), &ran(&many)), Against::default());
    }

    #[test]
    fn few_of_many_are_kept_and_all_are_counted() {
        let many: String = (1..50).map(|n| format!("a.c:{n}:1: error: number {n}\n")).collect();
        let found = against(&ran(""), &ran(&many));
        assert_eq!((found.new.len(), found.new_errors), (KEPT, 49));
    }
}
