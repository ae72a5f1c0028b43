//! What the host told once and still holds stays through shortening and restarts, as long as nothing newer stands against it.

use std::ops::RangeInclusive;

use crate::engine::EngineConfig;
use crate::engine::fixtures::{acted, answer, call, commit, decided, prepared, requested};
use crate::engine::history::request;
use crate::engine::nudge::Form;
use crate::engine::walk::all;
use crate::llm::ModelRequest;
use crate::secret::Secret;
use domain::*;
use serde_json::json;

/// Words of each of the host's texts.
const ALL: [&str; 5] =
    ["the tail of the checks", "the end of the job", "is protected", "semver.org", "Resolve them first"];

fn rebuilt(log: &[Event], form: Form) -> ModelRequest {
    let config = EngineConfig::new(Secret::new("k"), 4096);
    request(&Task::fold(TaskId(7), log), log, form, &config)
}

fn verified(kind: VerdictKind) -> Event {
    let (command, tail) = (Some("make test".to_owned()), ALL[0].to_owned());
    let tail = if kind == VerdictKind::Failed { tail } else { String::new() };
    Event::Verified { n: 1, commit: commit('b'), verdict: Verdict { kind, command, tail, ..Verdict::default() } }
}

fn ci(outcome: CiOutcome) -> Event {
    let failed = outcome == CiOutcome::Failed;
    let check = CiCheck {
        context: "build".into(),
        state: if failed { CiState::Failed } else { CiState::Passed },
        description: "after 3 s".into(),
        url: String::new(),
        log: if failed { ALL[1].into() } else { String::new() },
    };
    let (commit, checks) = (commit('b'), vec![check]);
    let ended = CiEnded { n: 1, commit, outcome, checks, more: 0, returned: failed, upstream: false };
    Event::CiEnded(Box::new(ended))
}

fn decision() -> Box<Decision> {
    let Event::DecisionUsed { decision, .. } = decided(Verb::Resume, 1) else { unreachable!() };
    decision
}

fn denied() -> Event {
    Event::HostDenied { host: "semver.org".into(), decision: decision() }
}

fn texts() -> Vec<Event> {
    let (from, onto, head, conflicts) = (commit('a'), commit('c'), commit('b'), vec!["a.py".to_owned()]);
    vec![
        verified(VerdictKind::Failed),
        ci(CiOutcome::Failed),
        Event::TreeRefused { n: 1, reasons: vec!["`.github/x` is protected".into()] },
        Event::HostAllowed { host: "semver.org".into(), repo: false, decision: decision() },
        Event::Rebased(Box::new(Rebased { from, onto, head, conflicts })),
    ]
}

/// What stands against each of them.
fn newer() -> Vec<Event> {
    let unchanged = Event::TreeUnchanged { n: 2, commit: commit('d'), left_out: Vec::new() };
    vec![verified(VerdictKind::Passed), ci(CiOutcome::Passed), unchanged, denied()]
}

fn act(log: &mut Vec<Event>, turns: RangeInclusive<u32>) {
    for turn in turns {
        let run = call(&format!("c{turn}"), "bash", json!({ "command": format!("make step-{turn}") }));
        log.push(answer(turn, "I go on.", vec![run]));
        log.extend(acted(turn, turn, 0, OutcomeStatus::Ok, "x"));
    }
}

/// Six turns with these events after the first and after the second, in a conversation that `end` then leaves out in part.
fn log(first: Vec<Event>, second: Vec<Event>, end: Event) -> Vec<Event> {
    let mut log = vec![requested(TaskKind::Fix, "b"), prepared()];
    act(&mut log, 1..=1);
    log.extend(first);
    act(&mut log, 2..=2);
    log.extend(second);
    act(&mut log, 3..=6);
    log.push(end);
    log
}

/// Turns up to `folded` are told in short.
fn compacted(folded: u32) -> Event {
    Event::Compacted { turn: 7, shrunk: 5, folded, rate: 250 }
}

fn told_once(log: &[Event], form: Form) {
    let told = all(&rebuilt(log, form));
    for words in ALL {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
}

#[test]
fn what_the_host_told_and_still_holds_is_told_again_once() {
    for form in [Form::Tools, Form::Text] {
        told_once(&log(texts(), Vec::new(), compacted(4)), form);
        told_once(&log(texts(), Vec::new(), Event::ConversationRestarted), form);
        // It came after the last turn that is left out.
        told_once(&log(texts(), Vec::new(), compacted(1)), form);
    }
}

#[test]
fn what_something_newer_stands_against_is_not() {
    for end in [compacted(4), Event::ConversationRestarted] {
        let told = all(&rebuilt(&log(texts(), newer(), end), Form::Tools));
        for words in ALL {
            assert!(!told.contains(words), "{words}: {told}");
        }
    }
}

#[test]
fn what_comes_later_changes_no_request_that_was_sent() {
    for end in [compacted(4), Event::ConversationRestarted] {
        let mut log = log(texts(), Vec::new(), end);
        let asked = rebuilt(&log, Form::Tools).turns;
        log.push(Event::ModelCallStarted { turn: 7, worst_micro_usd: 1 });
        log.push(denied());
        assert_eq!(rebuilt(&log, Form::Tools).turns, asked, "a call is under way");
        act(&mut log, 7..=7);
        log.extend(newer());
        act(&mut log, 8..=8);
        assert_eq!(rebuilt(&log, Form::Tools).turns[..asked.len()], asked[..]);
    }
}
