//! Errors that a run on a commit reports and the run on its base does not.
//!
//! Owns when two runs can be compared, how much of the difference a verdict keeps, and what is kept of the base's run for comparison with
//! the results of actions. Pure. Tests: below.

use domain::{Against, BaseReport, Reported, Severity};
use protocol::runner::{Outcome, Status};

use crate::sandbox::failures::failure;
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
        new: new.map(|item| items::reported(item)).collect(),
        new_errors: of(&found.new, Severity::Error),
        still: of(&found.still, Severity::Error),
        gone: of(&found.gone, Severity::Error),
        warnings: of(&found.new, Severity::Warning) + of(&found.still, Severity::Warning),
        new_warnings: of(&found.new, Severity::Warning),
    }
}

/// What the run of the checks on the base reports as failed; none where it reports nothing.
pub fn failing_on_base(base: &Outcome) -> Option<BaseReport> {
    // The exit code counts unless the output contradicts it, as with the results of actions.
    if matches!(base.status, Status::Ok) && failure(&base.text).is_none() {
        return None;
    }
    let all = items::read(&base.text);
    let complete = is_complete(base) && all.len() < items::MOST;
    let (failed, _) = items::failed_by(all);
    let failing: Vec<Reported> = failed.iter().filter_map(items::recognisable).collect();
    let partial = !complete || failing.len() < failed.len();
    (!failing.is_empty()).then_some(BaseReport { failing, partial })
}

/// All items that a run reports; none where it may have reported more, as after a signal.
fn whole(outcome: &Outcome) -> Option<Vec<Item>> {
    let items = is_complete(outcome).then(|| items::read(&outcome.text))?;
    (items.len() < items::MOST).then_some(items)
}

/// Whether the run ended by itself and its whole output is here.
fn is_complete(outcome: &Outcome) -> bool {
    matches!(outcome.status, Status::Ok | Status::Exited { .. }) && outcome.dropped_bytes == 0
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
    fn of_the_bases_run_only_failures_are_kept_and_whether_there_may_be_more() {
        let report = failing_on_base(&ran(BASE)).expect("it fails");
        let kept: Vec<_> = report.failing.iter().map(|one| (one.file.as_deref(), one.line, &*one.message)).collect();
        assert_eq!(kept, [(Some("a.c"), None, "old"), (Some("b.c"), None, "mended")]);
        assert!(!report.partial);
        for cut in [Outcome { dropped_bytes: 1, ..ran(BASE) }, Outcome { status: Status::TimedOut, ..ran(BASE) }] {
            assert!(failing_on_base(&cut).expect("it fails").partial);
        }
        let many: String = (0..items::MOST + 9).map(|n| format!("a.c:{n}:1: error: number {n}\n")).collect();
        let many = failing_on_base(&ran(&many)).expect("it fails");
        assert!(many.partial && many.failing.len() == items::MOST, "{}", many.failing.len());
        assert_eq!(failing_on_base(&Outcome::new(Status::Ok, BASE)), None);
        assert_eq!(failing_on_base(&ran("nothing that is read\n")), None);
    }

    #[test]
    fn few_of_many_are_kept_and_all_are_counted() {
        let many: String = (1..50).map(|n| format!("a.c:{n}:1: error: number {n}\n")).collect();
        let found = against(&ran(""), &ran(&many));
        assert_eq!((found.new.len(), found.new_errors), (KEPT, 49));
    }
}
