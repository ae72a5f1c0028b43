//! What is told beside a result of a check that fails as it did before changes.

use crate::engine::EngineConfig;
use crate::engine::fixtures::{acted, answer, call, prepared, requested};
use crate::engine::history::request;
use crate::engine::nudge::Form;
use crate::llm::{ModelRequest, Turn};
use crate::secret::Secret;
use domain::*;
use serde_json::json;

fn rebuilt(log: &[Event]) -> ModelRequest {
    let config = EngineConfig::new(Secret::new("k"), 4096);
    request(&Task::fold(TaskId(7), log), log, Form::Tools, &config)
}

/// The results that were sent, in order.
fn results(log: &[Event]) -> Vec<String> {
    let turns = rebuilt(log).turns.into_iter();
    let sent = turns.filter_map(|turn| match turn {
        Turn::Results(results) => Some(results),
        Turn::User { .. } | Turn::Assistant { .. } | Turn::Pictures(_) => None,
    });
    sent.flatten().map(|result| result.text).collect()
}

fn fails(turn: u32, test: &str) -> Vec<Event> {
    let text =
        format!("=== short test summary info ===\nFAILED a.py::{test} - assert 1 == 2\n=== 1 failed in 0.01s ===\n");
    let run = answer(turn, "", vec![call("c", "bash", json!({ "command": "pytest -q" }))]);
    [vec![run], acted(turn, turn, 0, OutcomeStatus::Exited { code: 1 }, &text).to_vec()].concat()
}

fn edits(turn: u32) -> Vec<Event> {
    let arguments = json!({ "path": "a.py", "old": format!("x{turn}"), "new": format!("y{turn}") });
    let edit = answer(turn, "", vec![call("c", "edit_file", arguments)]);
    [vec![edit], acted(turn, turn, 0, OutcomeStatus::Ok, "").to_vec()].concat()
}

fn begun() -> Vec<Event> {
    vec![requested(TaskKind::Fix, "It sorts as text."), Event::SlotGranted, prepared()]
}

const NOTE: &str = "\nNote: it fails as it did";

#[test]
fn a_check_that_fails_as_before_after_changes_is_told_beside_its_result() {
    let two = [begun(), fails(1, "test_a"), edits(2), fails(3, "test_a"), edits(4)].concat();
    let log = [two.clone(), fails(5, "test_a"), edits(6), fails(7, "test_a")].concat();
    let told = results(&log);
    let noted: Vec<usize> = (0..told.len()).filter(|at| told[*at].contains(NOTE)).collect();
    assert_eq!(noted, [4, 6], "{told:?}");
    assert!(told[4].contains("Note: it fails as it did 2 changes ago. Think again about the cause"), "{}", told[4]);
    assert!(told[6].contains("Note: it fails as it did 3 changes ago."), "{}", told[6]);
    let (before, after) = (rebuilt(&two), rebuilt(&log));
    assert_eq!(before.turns[..], after.turns[..before.turns.len()], "only appended");
    assert_eq!(rebuilt(&log), after, "the same log gives the same request");
    let resumed = [two, vec![Event::Resumed], fails(5, "test_a")].concat();
    assert!(!results(&resumed).concat().contains(NOTE), "somebody looked");
}

#[test]
fn another_failure_or_the_same_without_a_change_is_not() {
    let other = [begun(), fails(1, "test_a"), edits(2), fails(3, "test_b"), edits(4), fails(5, "test_a")].concat();
    assert!(!results(&other).concat().contains(NOTE));
    let same = [begun(), fails(1, "test_a"), fails(2, "test_a"), fails(3, "test_a")].concat();
    let told = results(&same).concat();
    assert!(!told.contains(NOTE) && told.contains("Note: action 2 was the same and gave the same."), "{told}");
}
