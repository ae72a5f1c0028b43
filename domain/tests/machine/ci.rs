//! The wait for the forge's CI.

use crate::common::*;
use caisson_domain::*;

fn wait() -> CiWait {
    CiWait { timeout_min: 60, contexts: vec!["*".into()] }
}

fn check(state: CiState) -> CiCheck {
    let (context, description, url) = ("build".to_owned(), "2 failed".to_owned(), String::new());
    CiCheck { context, state, description, url, log: String::new() }
}

/// Verified with this verdict, where the CI is waited for.
fn verified(walk: &mut Walk, n: u32, kind: VerdictKind) {
    let verdict = Verdict { kind, command: Some("test".into()), ..Verdict::default() };
    walk.feed(Input::Verified { n, verdict, ci: Some(wait()) });
}

fn waiting() -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).captured(1);
    verified(&mut walk, 1, VerdictKind::Passed);
    // What goes on after the wait stands in line first.
    walk.crowded = true;
    walk
}

fn ended(walk: &mut Walk, n: u32, outcome: CiOutcome, state: CiState) {
    walk.feed(Input::CiEnded { n, outcome, checks: vec![check(state)], more: 0 });
}

#[test]
fn nothing_is_posted_before_the_ci_ended_and_no_slot_is_taken() {
    let mut walk = waiting();
    assert_eq!(walk.task.state.name(), "awaiting-ci");
    assert!(!walk.task.state.busy() && walk.wants("rest") && !walk.wants("review"));
    assert_eq!(walk.task.ci_awaited.as_ref().map(|it| &it.wait), Some(&wait()));
    ended(&mut walk, 1, CiOutcome::Passed, CiState::Passed);
    assert_eq!(walk.task.state.name(), "queued");
    walk.feed(Input::SlotFree);
    assert!(walk.wants("review") && !walk.wants("verify"));
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!(walk.task.state.name(), "final-review");
    assert!(walk.task.ci.as_ref().is_some_and(|it| it.outcome == CiOutcome::Passed));
}

#[test]
fn a_failure_goes_back_to_the_agent_as_often_as_one_of_the_bots_own_checks() {
    let mut walk = waiting();
    for n in 1..=3 {
        ended(&mut walk, n, CiOutcome::Failed, CiState::Failed);
        assert_eq!(walk.task.failures, u8::try_from(n).expect("small"));
        walk.feed(Input::SlotFree);
        if n == 3 {
            break;
        }
        assert!(walk.wants("open") && walk.task.state == State::Running, "round {n}: {:?}", walk.task.state);
        walk.feed(Input::Opened { fresh: None }).answer(vec![bash(), done()]).acts(1);
        walk.feed(Input::TreeUnchanged { n: n + 1, commit: commit(ONE), left_out: Vec::new() });
        verified(&mut walk, n + 1, VerdictKind::Passed);
    }
    assert!(walk.wants("review"));
    walk.feed(Input::ReviewPosted { n: 3, review: 50, number: 100, risk: None });
    assert_eq!(walk.task.state.name(), "final-review");
    assert!(walk.task.ci.as_ref().is_some_and(|it| it.failed() && !it.returned));
    // The approval of work whose CI failed is followed by no merge.
    walk.task.request.as_mut().expect("a request").has_upstream = false;
    walk.decide(Decision { merges: true, ..approval(101) });
    assert_eq!(walk.task.state.name(), "approved");
    assert!(!walk.wants("merge"));
}

#[test]
fn work_that_fails_the_bots_own_checks_waits_for_no_ci() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).captured(1);
    verified(&mut walk, 1, VerdictKind::Failed);
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn a_pause_holds_the_wait_and_a_stop_ends_it() {
    let mut walk = waiting();
    walk.decide(Decision { verb: Verb::Pause, ..approval(90) });
    ended(&mut walk, 1, CiOutcome::Passed, CiState::Passed);
    assert_eq!(walk.task.state.name(), "paused");
    walk.decide(Decision { verb: Verb::Resume, ..approval(91) });
    assert_eq!(walk.task.state.name(), "awaiting-ci");
    ended(&mut walk, 7, CiOutcome::Passed, CiState::Passed);
    assert_eq!(walk.task.state.name(), "awaiting-ci", "of another checkpoint");
    walk.decide(Decision { verb: Verb::Stop, ..approval(92) });
    assert_eq!(walk.task.state.name(), "cancelled");
}

#[test]
fn a_log_of_before_folds_and_one_with_ci_is_read_again() {
    let before = r#"{"event":"verified","n":1,"commit":"1111111111111111111111111111111111111111","verdict":{"kind":"passed","command":null,"origin":null,"exit_code":0,"base_exit_code":null,"tail":"","duration_ms":1}}"#;
    assert!(serde_json::from_str::<Event>(before).is_ok());
    let mut walk = waiting();
    ended(&mut walk, 1, CiOutcome::Late, CiState::Pending);
    let stored = serde_json::to_string(&walk.log).expect("stored");
    let read: Vec<Event> = serde_json::from_str(&stored).expect("read");
    assert_eq!(Task::fold(walk.task.id, &read), walk.task);
}

#[test]
fn a_failure_is_an_item_that_is_open_until_its_check_passes() {
    let mut walk = waiting();
    ended(&mut walk, 1, CiOutcome::Failed, CiState::Failed);
    let items = ci_items(&walk.log);
    assert_eq!((items.len(), items[0].name().as_str(), items[0].is_open()), (1, "ci1", true));
    walk.feed(Input::SlotFree).feed(Input::Opened { fresh: None }).answer(vec![bash(), done()]).acts(1);
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(ONE), left_out: Vec::new() });
    verified(&mut walk, 2, VerdictKind::Passed);
    assert!(ci_items(&walk.log)[0].is_open(), "nothing says that it passes");
    ended(&mut walk, 2, CiOutcome::Passed, CiState::Passed);
    let gone = ci_items(&walk.log);
    assert_eq!((gone.len(), gone[0].is_open()), (1, false));
    assert_eq!(gone[0].state, CiItemState::Gone(walk.task.ci.as_ref().expect("ended").commit.clone()));
}

#[test]
fn what_the_upstream_says_of_delivered_work_is_told_and_becomes_items_of_the_next_attempt() {
    let mut walk = Walk::at_final();
    walk.decide(approval(160));
    assert_eq!(walk.task.state.name(), "approved");
    let commit = walk.task.pushed.clone().expect("pushed");
    let said = |commit: &Commit| {
        let (outcome, checks) = (CiOutcome::Failed, vec![check(CiState::Failed)]);
        Input::UpstreamCiEnded(Box::new(UpstreamChecks { commit: commit.clone(), outcome, checks, more: 0 }))
    };
    let before = walk.log.len();
    walk.feed(said(&commit));
    assert_eq!(walk.log.len(), before, "it was not brought anywhere yet");
    walk.feed(Input::Fetched { commit: commit.clone() });
    let delivered = walk.task.clone();
    walk.feed(said(&Commit::parse(&"e".repeat(40)).expect("a commit")));
    assert_eq!(walk.task, delivered, "another commit is none of its own");
    walk.feed(said(&commit));
    assert!(matches!(walk.notice(), Some(Notice::UpstreamCi { ended }) if ended.n == 1 && ended.upstream));
    assert_eq!((walk.task.state.name(), &walk.task.ci), ("delivered", &delivered.ci), "nothing else changes");
    let Some(Event::UpstreamCiEnded(failed)) = walk.log.last().cloned() else { panic!("{:?}", walk.log.last()) };

    // The next attempt begins with it, and the forge's check of the same name says nothing of it.
    let Event::Requested { mut request } = walk.log[0].clone() else { panic!("{:?}", walk.log[0]) };
    request.earlier =
        Some(Earlier { task: walk.task.id, tried: Vec::new(), from: None, upstream_ci: Some(failed.clone()) });
    let forges =
        CiEnded { outcome: CiOutcome::Passed, checks: vec![check(CiState::Passed)], upstream: false, ..*failed };
    let items = ci_items(&[Event::Requested { request }, Event::CiEnded(Box::new(forges))]);
    assert_eq!((items.len(), items[0].upstream, items[0].state.clone()), (1, true, CiItemState::Open));
}
