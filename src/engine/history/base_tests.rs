//! What the checks' run on the base makes of later results: known from the event that stored it on, and only for results behind that event.

use crate::engine::EngineConfig;
use crate::engine::fixtures::{acted, answer, call, commit, prepared, requested};
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

/// The newest result that was sent.
fn result(log: &[Event]) -> String {
    let request = rebuilt(log);
    let results = request.turns.iter().rev().find_map(|turn| match turn {
        Turn::Results(results) => results.first().map(|one| one.text.clone()),
        Turn::User { .. } | Turn::Assistant { .. } | Turn::Pictures(_) => None,
    });
    results.expect("a result")
}

/// Prepared on a base on which these tests of pytest fail.
fn on_base(tests: &[&str]) -> Event {
    let failed = |test: &&str| Reported { tool: "pytest".into(), test: Some((*test).into()), ..Reported::default() };
    let report = BaseReport { failing: tests.iter().map(failed).collect(), partial: false };
    let mut event = prepared();
    if let Event::Prepared { on_base, .. } = &mut event {
        *on_base = Some(Box::new(report));
    }
    event
}

/// A run of pytest in which these tests fail.
fn ran(turn: u32, tests: &[&str]) -> Vec<Event> {
    let lines: String = tests.iter().map(|test| format!("FAILED {test} - assert 1 == 2\n")).collect();
    let text = format!("=== short test summary info ===\n{lines}=== {} failed in 0.01s ===\n", tests.len());
    let run = answer(turn, "", vec![call("c", "bash", json!({ "command": "pytest -q" }))]);
    let ended = acted(turn, turn, 0, OutcomeStatus::Exited { code: 1 }, &text);
    [vec![run], ended.to_vec()].concat()
}

const OLD: &str = "tests/test_a.py::test_old";
const NEW: &str = "tests/test_a.py::test_new";

fn begun(prepared: Event) -> Vec<Event> {
    vec![requested(TaskKind::Fix, "It sorts as text."), Event::SlotGranted, prepared]
}

#[test]
fn a_failure_of_the_base_stands_behind_what_is_new_and_the_output_is_sent_all_the_same() {
    let log = [begun(on_base(&[OLD])), ran(1, &[OLD, NEW])].concat();
    let told = result(&log);
    let expected = [
        "failing, and not reported by the checks' run on the base (1):\n",
        &format!("{NEW} — assert 1 == 2\n1 of these fails on the base too:\n"),
        &format!("{OLD} — assert 1 == 2\n[[end "),
        &format!("FAILED {OLD} - assert 1 == 2\nFAILED {NEW}"),
    ];
    let mut from = 0;
    for words in expected {
        from += told[from..].find(words).unwrap_or_else(|| panic!("{words} is missing:\n{told}")) + words.len();
    }
}

#[test]
fn a_log_without_the_bases_run_is_told_as_before() {
    let told = result(&[begun(prepared()), ran(1, &[OLD, NEW])].concat());
    assert!(told.contains("\nfailing (2):\n") && !told.contains("on the base"), "{told}");
}

#[test]
fn what_was_shown_stays_and_a_newer_base_counts_from_its_event_on() {
    let first = [begun(on_base(&[OLD])), ran(1, &[OLD, NEW])].concat();
    let log = [first.clone(), vec![on_base(&[NEW])], ran(2, &[OLD, NEW])].concat();
    let (before, after) = (rebuilt(&first), rebuilt(&log));
    assert_eq!(before.turns[..], after.turns[..before.turns.len()], "only appended");
    let told = result(&log);
    assert!(told.contains(&format!("1 of these fails on the base too:\n- tests/test_a.py {NEW}")), "{told}");
    let none = result(&[first, vec![prepared()], ran(2, &[OLD, NEW])].concat());
    assert!(none.contains("still failing (2):") && !none.contains("on the base"), "{none}");
}

#[test]
fn the_hosts_own_checks_say_it_too() {
    let text = format!("=== short test summary info ===\nFAILED {OLD} - assert 1 == 2\n=== 1 failed in 0.01s ===\n");
    let verdict = Verdict { kind: VerdictKind::Failed, exit_code: Some(1), tail: text, ..Verdict::default() };
    let done = answer(1, "", vec![call("d", "done", json!({ "summary": "fixed" }))]);
    let said = Event::DoneSaid { turn: 1, index: 0, summary: "fixed".into() };
    let verified = Event::Verified { n: 1, commit: commit('b'), verdict };
    let log = [begun(on_base(&[OLD])), vec![done, said, verified]].concat();
    let request = rebuilt(&log);
    let Some(Turn::User { text }) = request.turns.last() else { panic!("{:?}", request.turns.last()) };
    assert!(text.contains("all of these fail on the base too (1):"), "{text}");
}

#[test]
fn actions_are_counted_by_what_the_base_allows_between_two_checkpoints() {
    let allows = |most: u8| {
        let mut event = prepared();
        if let Event::Prepared { every, .. } = &mut event {
            *every = most;
        }
        event
    };
    let lowered = [begun(allows(1)), ran(1, &[OLD])].concat();
    assert!(result(&lowered).contains("[action 1 of 1: a checkpoint comes next]"), "{}", result(&lowered));
    let asked = [begun(allows(5)), ran(1, &[OLD])].concat();
    assert!(result(&asked).contains("[action 1 of 2]"), "{}", result(&asked));
}
