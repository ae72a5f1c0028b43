//! What a view is gathered from.

use super::super::gather::{ViewContext, gather};
use super::*;
use domain::{Account, Action, Budget, Call, CallRequest, Commit, Event, Outcome, OutcomeStatus, Request, TaskKind};
use domain::{CapturedTree, FileChange, Source, Task, TaskId, Usage, Why};

fn request() -> Event {
    let alice = Account { id: 2, login: "alice".into() };
    let request = Request {
        kind: TaskKind::Fix,
        repository: "semver".into(),
        issue: 1,
        title: "t".into(),
        body: String::new(),
        words: String::new(),
        asker: alice.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: alice,
        edited: false,
        source: Source::Issue(1),
        number: 1,
        branch: "agent/1-t".into(),
        base_branch: "main".into(),
        budget: Budget { micro_usd: 2_000_000, ..Budget::default() },
        every: 5,
        has_upstream: false,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    Event::Requested { request: Box::new(request) }
}

fn turn(turn: u32, actions: Vec<Action>) -> Event {
    let call = |action| CallRequest {
        id: "c".into(),
        name: "x".into(),
        arguments: serde_json::Value::Null,
        call: Call::Action { action },
    };
    Event::TurnCompleted {
        turn,
        text: format!("turn {turn}"),
        calls: actions.into_iter().map(call).collect(),
        usage: Usage { input: 10, ..Usage::default() },
        micro_usd: 500,
        duration_ms: 100,
        model: "m".into(),
        vendor: None,
    }
}

fn acted(number: u32, turn: u32, index: u32, status: OutcomeStatus, text: &str) -> [Event; 2] {
    let outcome = Outcome { duration_ms: 50, ..Outcome::new(status, text) };
    [Event::ActionStarted { number, turn, index }, Event::ActionFinished { number, outcome }]
}

#[test]
fn a_credential_that_the_agent_wrote_is_left_out_before_anything_is_cut() {
    let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
    let command = format!("{}; echo {token}", "true; ".repeat(40));
    let mut log = vec![request(), turn(1, vec![Action::Bash { command }])];
    log.extend(acted(1, 1, 0, OutcomeStatus::Exited { code: 1 }, "no"));
    log.push(Event::DoneSaid { turn: 1, index: 0, summary: format!("It is {token}.") });
    let view = gather(&Task::fold(TaskId(7), &log), &log, 1, ViewContext::default());
    assert_eq!(view.summary, "It is [left out by caisson: a GitHub token].");
    assert!(view.actions[0].what.ends_with("echo [left out by caisson: a GitHub token]"), "{:?}", view.actions);
    assert!(view.evidence.iter().all(|line| !line.command.contains("gh")), "{:?}", view.evidence);
}

#[test]
fn a_command_that_was_ended_is_evidence_beside_one_that_ended() {
    let bash = |command: &str| Action::Bash { command: command.into() };
    let mut log = vec![request(), turn(1, vec![bash("pytest"), bash("echo ok"), bash("npm publish")])];
    log.extend(acted(1, 1, 0, OutcomeStatus::TimedOut, "10 passed"));
    let seen = |log: &[Event]| render_checkpoint(&gather(&Task::fold(TaskId(7), log), log, 1, ViewContext::default()));
    let alone = seen(&log);
    assert!(alone.contains("**Evidence** — from the log: `pytest` ⏱ stopped after 0.0 s (reported"), "{alone}");
    log.extend(acted(2, 1, 1, OutcomeStatus::Exited { code: 0 }, "1 passed"));
    log.extend(acted(3, 1, 2, OutcomeStatus::Denied { reason: "no".into() }, ""));
    let both = seen(&log);
    assert!(
        both.contains("from the log: `pytest` ⏱ stopped after 0.0 s · `echo ok` exit 0, `1 passed` (reported"),
        "{both}"
    );
}

#[test]
fn a_view_holds_what_happened_since_the_last_checkpoint() {
    let commit = Commit::parse(&"a".repeat(40)).unwrap();
    let bash = |command: &str| Action::Bash { command: command.into() };
    let edit = Action::EditFile { path: "a.py".into(), old: "x\ny\nz".into(), new: "x\nw\nv\nz".into(), all: false };
    let mut log = vec![request(), turn(1, vec![bash("ls")])];
    log.extend(acted(1, 1, 0, OutcomeStatus::Ok, "a.py"));
    let posted =
        Event::CheckpointPosted { n: 1, review: 5, number: 9, at: 0, commit: None, last: false, verdict: None };
    log.push(posted);
    let fetch = Action::WebFetch { url: "https://semver.org/spec".into() };
    log.push(turn(2, vec![edit, bash("pytest -q"), fetch]));
    log.extend(acted(2, 2, 0, OutcomeStatus::Ok, "done"));
    log.extend(acted(3, 2, 1, OutcomeStatus::Exited { code: 1 }, "F.\n=== 1 failed, 1 passed in 0.01s ===\n"));
    log.extend(acted(4, 2, 2, OutcomeStatus::Failed { reason: "no such name".into() }, ""));
    log.push(Event::PlanUpdated { plan: "- [x] find it\n- [ ] mend `parse`\n".into(), steps: Vec::new(), by: None });
    log.push(Event::PublishStarted { n: 2, why: Why::Checkpoint });
    let file = FileChange { path: "a.py".into(), added: 2, removed: 1, kind: "modified".into(), bytes: Some(9) };
    let tree = CapturedTree {
        outside: Vec::new(),
        marked: Vec::new(),
        facts: Vec::new(),
        commit,
        files: vec![file],
        diff: "d\n".into(),
        steering: Vec::new(),
        diff_cut: 0,
        left_out: Vec::new(),
    };
    log.push(Event::TreeCaptured { n: 2, tree });
    let task = Task::fold(TaskId(7), &log);
    let blocked = vec![BlockedLine { host: "semver.org".into(), port: 443, count: 1, ..Default::default() }];
    let view = gather(&task, &log, 2, ViewContext { blocked, ..ViewContext::default() });
    let results: Vec<_> = view.actions.iter().map(|a| (a.n, a.result.clone())).collect();
    let note = Some("1 failed, 1 passed in 0.01s".to_owned());
    assert_eq!(
        results,
        [
            (2, ActionResult::Changed { added: 2, removed: 1 }),
            (3, ActionResult::Exited { code: 1, note: note.clone(), failed: true, ms: 50 }),
            (4, ActionResult::Blocked),
        ]
    );
    let result = ActionResult::Exited { code: 1, note, failed: true, ms: 50 };
    assert_eq!(view.evidence, [EvidenceLine { command: "pytest -q".into(), result }]);
    assert_eq!((view.summary.as_str(), view.next.as_str()), ("turn 2", "mend `parse`"));
    assert_eq!(view.spent.tokens, 20);
    assert_eq!(view.commit.as_deref(), Some("a".repeat(40).as_str()));
    assert_eq!(view.asked.as_deref(), Some("alice"));
}

#[test]
fn finished_work_on_a_newer_base_shows_what_its_done_said_and_new_work_does_not() {
    let commit = |digit: &str| Commit::parse(&digit.repeat(40)).unwrap();
    let claims = vec![domain::Claim { text: "newer works".into(), action: Some(1) }];
    let call = CallRequest {
        id: "d".into(),
        name: "done".into(),
        arguments: serde_json::Value::Null,
        call: Call::Done { summary: "mended".into(), claims },
    };
    let mut said = turn(2, Vec::new());
    if let Event::TurnCompleted { calls, .. } = &mut said {
        calls.push(call);
    }
    let mut log = vec![request(), turn(1, vec![Action::Bash { command: "pytest".into() }])];
    log.extend(acted(1, 1, 0, OutcomeStatus::Exited { code: 0 }, "3 passed"));
    log.extend([said, Event::DoneSaid { turn: 2, index: 0, summary: "mended".into() }]);
    log.push(Event::CheckpointPosted { n: 1, review: 5, number: 9, at: 0, commit: None, last: true, verdict: None });
    let rebased = domain::Rebased { from: commit("a"), head: commit("b"), onto: commit("c"), conflicts: Vec::new() };
    log.push(Event::Rebased(Box::new(rebased)));
    let shown = |log: &[Event]| gather(&Task::fold(TaskId(7), log), log, 2, ViewContext::default());
    let unfinished = [&log[..], &[Event::PublishStarted { n: 2, why: Why::Rebased }]].concat();
    let view = shown(&unfinished);
    assert!(view.summary.is_empty() && view.claims.is_empty(), "only finished work was summed up");
    log.push(Event::PublishStarted { n: 2, why: Why::Done });
    let view = shown(&log);
    assert_eq!((view.summary.as_str(), view.claims.len(), view.actions.len()), ("mended", 1, 0));
    assert!(
        matches!(&view.claims[0].shown, super::super::view::Shown::Action(line) if line.n == 1),
        "{:?}",
        view.claims
    );
    // What the agent says after the move stands for itself.
    log.insert(log.len() - 1, turn(3, Vec::new()));
    let view = shown(&log);
    assert_eq!((view.summary.as_str(), view.claims.len()), ("turn 3", 0));
}

#[test]
fn what_changed_is_said_since_the_review_that_people_saw() {
    let tree = |n, digit: &str| {
        let file = FileChange { path: "a.py".into(), added: 2, removed: 1, kind: "modified".into(), bytes: Some(9) };
        let (outside, marked, facts, steering, left_out) = Default::default();
        let (commit, diff) = (Commit::parse(&digit.repeat(40)).unwrap(), "d\n".into());
        let files = vec![file];
        let tree = CapturedTree { outside, marked, facts, commit, files, diff, steering, diff_cut: 0, left_out };
        Event::TreeCaptured { n, tree }
    };
    let posted =
        |n| Event::CheckpointPosted { n, review: 5, number: 9, at: 0, commit: None, last: false, verdict: None };
    let since = |log: &[Event], n| {
        let view = gather(&Task::fold(TaskId(7), log), log, n, ViewContext::default());
        let text = render_checkpoint(&view);
        let line = text.lines().find_map(|line| line.strip_prefix("**Changed since ")).unwrap_or_default();
        let added: u64 = view.files.iter().map(|file| file.added).sum();
        (line.split("** — ").next().unwrap_or_default().to_owned(), added)
    };
    let lines = |since: &str, added: u64| (since.to_owned(), added);
    // The first number was used up by work that failed checks returned to the agent.
    let mut log = vec![request(), Event::PublishStarted { n: 1, why: Why::Done }, tree(1, "a"), tree(2, "b")];
    assert_eq!(since(&log, 2), lines("`main`", 4));
    log.extend([posted(2), tree(4, "c")]);
    assert_eq!(since(&log, 4), lines("checkpoint 2", 2));
    let voided = [&log[..], &[Event::CheckpointVoided { n: 2 }]].concat();
    assert_eq!(since(&voided, 4), lines("`main`", 6), "nobody saw the review that was voided");
    // The tree on a newer base is all of the work.
    let commit = |digit: &str| Commit::parse(&digit.repeat(40)).unwrap();
    let rebased = domain::Rebased { from: commit("a"), head: commit("c"), onto: commit("e"), conflicts: Vec::new() };
    log.extend([posted(4), Event::Rebased(Box::new(rebased)), tree(5, "f")]);
    assert_eq!(since(&log, 5), lines("`main`", 2));
    let again = [&voided[..], &log[log.len() - 2..]].concat();
    assert_eq!(since(&again, 5), lines("`main`", 2), "what was captured on the base before is not shown twice");
    let refused = Event::TreeRefused { n: 5, reasons: vec!["x".into()] };
    let later = [&log[..log.len() - 1], &[refused, posted(5), tree(6, "f")]].concat();
    assert_eq!(since(&later, 6), lines("`main`", 2), "the refused one showed no tree there");
    log.extend([posted(5), tree(6, "b")]);
    assert_eq!(since(&log, 6), lines("checkpoint 5", 2));
}

#[test]
fn a_second_look_that_did_not_come_is_missed_with_its_reason() {
    let looked = |text: &str, tokens: u64| Event::SecondLooked {
        n: 1,
        text: text.into(),
        usage: Usage { output: tokens, ..Usage::default() },
        micro_usd: 0,
        duration_ms: 0,
        model: "m".into(),
    };
    let asked = Event::SecondLookStarted { n: 1, worst_micro_usd: 0 };
    let view = |log: &[Event]| {
        let view = gather(&Task::fold(TaskId(7), log), log, 1, ViewContext::default());
        (view.second_look.map(|(text, _)| text), view.no_second_look.map(|(why, _)| why))
    };
    let why = |words: &str| (None, Some(words.to_owned()));
    assert_eq!(view(&[]), (None, None), "nobody was to look");
    assert_eq!(view(&[asked.clone(), looked("1. It panics.", 9)]), (Some("1. It panics.".to_owned()), None));
    assert_eq!(view(&[looked("the budget leaves too little", 0)]), why("the budget leaves too little"));
    assert_eq!(view(&[asked.clone(), looked("", 0)]), why("it could not be asked"));
    assert_eq!(view(&[asked.clone(), looked(" ", 3)]), why("its answer was empty"));
    assert_eq!(view(&[asked]), why("its answer was lost, or took too long"));
}
