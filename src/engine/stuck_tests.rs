//! Long work that gets somewhere, although it looks now and then as if it did not.

use super::tests::{FAILS, edit, log, run};
use super::*;
use crate::engine::fixtures::{prepared, requested};
use domain::{BaseReport, Reported, TaskId, TaskKind};

/// A task that was prepared on a base on which this test of pytest fails.
fn on_base(test: &str) -> Event {
    let failing = vec![Reported { tool: "pytest".into(), test: Some(test.into()), ..Reported::default() }];
    let mut event = prepared();
    if let Event::Prepared { on_base, .. } = &mut event {
        *on_base = Some(Box::new(BaseReport { failing, partial: false }));
    }
    event
}

/// Edits of which each is followed by this run of the tests, with the same failure.
fn edits_and_runs(command: &str) -> Vec<Event> {
    let steps: Vec<String> = (0..7).map(|step| format!("x{step}")).collect();
    let done = steps.windows(2).flat_map(|step| [(edit(&step[0], &step[1]), ""), (run(command), FAILS)]);
    log(&done.collect::<Vec<_>>())
}

#[test]
fn a_failure_that_the_base_has_too_is_evidence_once() {
    let runs = edits_and_runs("pytest -q");
    assert_eq!(evidence(&runs).len(), 4, "six runs, of which the third is the first piece");
    let old = [vec![on_base("tests/test_a.py::test_cents")], runs.clone()].concat();
    assert_eq!(evidence(&old), ["action 6: pytest -q fails as it did 2 changes ago"]);
    assert!(way_out(&Task::fold(TaskId(1), &old), &old).is_none());
    let new = [vec![on_base("tests/test_a.py::test_other")], runs].concat();
    assert_eq!(evidence(&new).len(), 4, "it is the work's own");
}

/// Who is to make a failing test pass, and changes nothing about it, goes in circles.
#[test]
fn a_failure_of_the_base_that_is_asked_for_is_evidence_each_time() {
    let base = || on_base("tests/test_a.py::test_cents");
    for (body, command, pieces) in [
        ("test_cents fails on main.", "pytest -q", 4),
        ("Prices are off.", "pytest -q tests/test_a.py", 4),
        ("Prices are off.", "pytest -q", 1),
    ] {
        let all = [vec![requested(TaskKind::Fix, body), base()], edits_and_runs(command)].concat();
        assert_eq!(evidence(&all).len(), pieces, "{body} {command}");
        assert_eq!(way_out(&Task::fold(TaskId(1), &all), &all).is_some(), pieces > 1, "{body} {command}");
    }
}

#[test]
fn what_happens_once_in_a_while_is_no_evidence() {
    let mut done: Vec<(Action, &str)> = Vec::new();
    let names: Vec<String> = (0..60).map(|step| format!("make step-{step}")).collect();
    for (step, name) in names.iter().enumerate() {
        done.push((run(name), "made"));
        if step % 14 == 13 {
            done.push((run(name), "made"));
        }
    }
    let all = log(&done);
    assert_eq!(evidence(&all).len(), 2, "of four in all: {:?}", evidence(&all));
    assert!(way_out(&Task::fold(TaskId(1), &all), &all).is_none());
}
