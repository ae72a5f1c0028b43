//! How a task continues: after a pause, with a lost sandbox, with a full conversation, with calls that are not carried out.

use crate::common::*;
use caisson_domain::*;

fn stuck() -> Input {
    Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } }
}

fn full() -> Input {
    Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } }
}

fn gone(effect: &str, loss: Loss) -> Input {
    Input::EffectFailed { effect: effect.into(), failure: Failure::SandboxGone { loss } }
}

fn nothing(n: u32) -> Input {
    Input::TreeUnchanged { n, commit: commit(BASE), left_out: Vec::new() }
}

/// The work that is wanted once the task was paused and resumed.
fn goes_on(walk: &mut Walk) -> Vec<&'static str> {
    walk.feed(stuck());
    assert_eq!(walk.task.state.name(), "paused");
    walk.decide(said(900, Verb::Resume));
    let work = walk.last.effects.iter().filter(|effect| effect.queue() == Queue::Work);
    work.map(Effect::kind).collect()
}

/// Answers to calls in the last step.
fn told(walk: &Walk) -> Vec<&str> {
    let events = walk.last.events.iter();
    let answers = events.filter_map(|event| match event {
        Event::CallAnswered { answer, .. } => Some(answer.as_str()),
        _ => None,
    });
    answers.collect()
}

#[test]
fn a_pause_at_any_stage_of_a_checkpoint_goes_on_with_what_is_missing() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    assert_eq!(goes_on(&mut walk), ["seal"]);
    walk.feed(Input::TreeCaptured { n: 1, tree: captured_tree(commit(ONE)) });
    assert_eq!(goes_on(&mut walk), ["push"]);
    assert!(walk.last.effects.contains(&Effect::Push { n: 1, commit: commit(ONE), expected: None }));
    walk.feed(Input::Pushed { n: 1, commit: commit(ONE) });
    assert_eq!(goes_on(&mut walk), ["open_pull"]);
    walk.feed(Input::PullOpened { number: 2, url: String::new() });
    assert_eq!(goes_on(&mut walk), ["review"]);
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!(goes_on(&mut walk), [] as [&str; 0], "a person is awaited");
    walk.decide(approval(901)).feed(Input::Opened { fresh: None });
    assert_eq!(goes_on(&mut walk), ["open"]);
}

#[test]
fn a_pause_while_the_tests_run_runs_them_again_and_afterwards_not() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).captured(1);
    assert_eq!(goes_on(&mut walk), ["verify"]);
    walk.verdict(1, VerdictKind::Passed);
    assert_eq!(goes_on(&mut walk), ["review"]);
}

#[test]
fn what_has_no_commit_to_show_is_only_posted_again() {
    let mut plan = Walk::running(TaskKind::Plan);
    plan.answer(vec![done()]);
    let mut refused = Walk::running(TaskKind::Fix);
    refused.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["r".into()] });
    let mut twice = Walk::running(TaskKind::Fix);
    twice.answer(vec![bash(), done()]).acts(1).feed(nothing(1)).feed(Input::Opened { fresh: None });
    twice.answer(vec![done()]).feed(nothing(2));
    for walk in [&mut plan, &mut refused, &mut twice] {
        assert!(walk.wants("review"), "{:?}", walk.last);
        assert_eq!(goes_on(walk), ["review"], "{:?}", walk.task.state);
    }
}

#[test]
fn an_action_that_runs_on_during_a_pause_needs_nothing_when_it_ends() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash()]);
    assert_eq!(goes_on(&mut walk), [] as [&str; 0], "action 1 is still under way");
    assert_eq!((walk.task.state.name(), walk.task.running), ("running", Some(1)));
    walk.acts(1);
    assert!(walk.wants("act") && walk.task.running == Some(2), "{:?}", walk.last);
}

#[test]
fn a_loss_that_the_step_does_not_need_is_for_a_person() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).feed(gone("push:1", Loss::Stopped));
    let blocked = PauseReason::Blocked { sentence: Loss::Stopped.to_string() };
    assert!(matches!(&walk.task.state, State::Paused { reason, .. } if *reason == blocked), "{:?}", walk.task.state);
    assert!(!walk.log.iter().any(|event| matches!(event, Event::SandboxLost { .. })), "its tree was not needed");
}

#[test]
fn a_loss_says_what_it_cut_and_how_often_it_was() {
    let mut cut = Walk::running(TaskKind::Fix);
    cut.answer(vec![bash()]).feed(gone("act:1", Loss::Ended));
    let note = format!("{}; this action may have run, wholly or in part", Loss::Ended);
    let noted = |event: &Event| matches!(event, Event::ActionFinished { number: 1, outcome } if outcome.note.as_deref() == Some(note.as_str()));
    assert!(cut.last.events.iter().any(noted), "{:?}", cut.last);
    let mut made = Walk::new(TaskKind::Fix);
    made.feed(Input::SlotFree);
    for _ in 0..4 {
        made.feed(gone("prepare:1", Loss::Removed));
    }
    let often = "its sandbox was lost 4 times since the last decision";
    assert!(
        matches!(&made.task.state, State::Paused { reason: PauseReason::Stuck { sentence }, .. } if sentence.starts_with(often)),
        "{:?}",
        made.task.state
    );
}

#[test]
fn a_full_conversation_without_new_work_waits_for_a_person() {
    let mut first = Walk::running(TaskKind::Fix);
    first.feed(full());
    assert!(
        matches!(first.task.state, State::Paused { reason: PauseReason::Blocked { .. }, .. }),
        "not even the first request fits: {:?}",
        first.task.state
    );
    let mut clean = Walk::running(TaskKind::Fix);
    clean.answer(vec![call(Call::UpdatePlan { plan: "p".into() })]).feed(full());
    assert!(matches!(clean.task.state, State::Paused { reason: PauseReason::ContextFull { .. }, .. }));
    assert!(!clean.wants("seal"), "there is nothing to show");
}

#[test]
fn work_that_goes_on_while_it_is_kept_is_not_put_away() {
    let keeping = || {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash()]).acts(1).feed(stuck()).feed(Input::Idled { suspension: Suspension::Evicted });
        assert!(walk.wants("keep"));
        walk.decide(said(101, Verb::Resume));
        assert_eq!(walk.task.state, State::Running);
        walk
    };
    let mut failed = keeping();
    failed.feed(Input::WorkNotKept { reasons: Vec::new() });
    assert_eq!(failed.last.events, [Event::WorkNotKept { reasons: Vec::new() }]);
    let mut kept = keeping();
    kept.feed(Input::WorkKept { commit: commit(ONE) });
    assert_eq!(kept.last.events, [Event::WorkKept { commit: commit(ONE) }]);
    for walk in [&failed, &kept] {
        assert!(!walk.wants("rest") && !walk.wants("shelve"), "{:?}", walk.last);
    }
}

#[test]
fn work_that_a_person_must_help_to_keep_pauses_nothing() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["a link".into()] });
    walk.feed(Input::AnswerPosted { n: 1, number: 90 }).feed(Input::Idled { suspension: Suspension::Evicted });
    assert!(walk.wants("keep"), "{:?}", walk.last);
    let failure = Failure::Blocked { sentence: "the disk is full".into() };
    walk.feed(Input::EffectFailed { effect: "keep:9".into(), failure });
    assert_eq!(walk.last.events, [Event::WorkNotKept { reasons: vec!["the disk is full".into()] }]);
    assert!(walk.task.state.name() == "awaiting-review" && walk.wants("rest"), "{:?}", walk.last);
}

#[test]
fn a_failure_for_good_ends_the_task_and_the_action_that_ran() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]);
    let failure = Failure::Fatal { why: "no such repository".into() };
    walk.feed(Input::EffectFailed { effect: "act:1".into(), failure });
    assert_eq!(walk.task.end(), Some(&End::Failed { why: "no such repository".into() }));
    let interrupted = |event: &Event| matches!(event, Event::ActionFinished { number: 1, outcome } if outcome.status == OutcomeStatus::Interrupted);
    assert!(walk.log.iter().any(interrupted) && walk.wants("teardown"));
}

#[test]
fn calls_behind_a_refused_tree_are_answered_and_not_run() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 7]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["a link".into()] });
    let why = "not run: the tree was not taken as it is; ask for it again if it is still wanted";
    assert_eq!(told(&walk), [why, why]);
    assert!(walk.task.waiting.is_empty() && walk.wants("review"));
}

#[test]
fn a_tree_that_is_refused_again_without_an_action_in_between_goes_to_a_person() {
    let refuse = |n: u32| Input::TreeRefused { n, reasons: vec!["a link".into()] };
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).feed(refuse(1)).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(), done()]).acts(1).feed(refuse(2));
    assert!(walk.wants("open") && !walk.wants("review"), "something was done in between: {:?}", walk.last);
    walk.feed(Input::Opened { fresh: None }).answer(vec![done()]).feed(refuse(3));
    assert!(walk.wants("review") && !walk.wants("open"), "{:?}", walk.last);
    assert_eq!(walk.task.state, State::Publishing { n: 3, why: Why::Done });
    assert_eq!(walk.task.refusal, ["a link"], "the review says why");
    assert_eq!(goes_on(&mut walk), ["review"]);
    walk.feed(Input::AnswerPosted { n: 3, number: 1_000 });
    assert_eq!(walk.task.state, State::AwaitingReview { n: 3, commit: None });
    walk.decide(said(1_001, Verb::Changes { items: Vec::new() })).feed(Input::Opened { fresh: None });
    walk.answer(vec![done()]).feed(refuse(4));
    assert!(walk.wants("open") && !walk.wants("review"), "a person decided in between: {:?}", walk.last);
}

#[test]
fn words_about_a_remark_are_taken_up_before_an_action_that_stands_ahead_of_them() {
    let place = Item { path: Some("a.py".into()), line: Some(3), ..Item::on_the_whole("rename", "p7") };
    let mut walk = Walk::at_checkpoint();
    walk.decide(said(101, Verb::Changes { items: vec![place] })).feed(Input::Opened { fresh: None });
    let answer = RemarkAnswer { remark: 1, text: "renamed".into(), addressed: true };
    walk.answer(vec![bash(), call(Call::AnswerRemark { answer: answer.clone() })]);
    assert!(walk.task.running.is_some() && walk.last.events.contains(&Event::RemarkAnswered(answer)));
}

#[test]
fn a_read_only_task_is_told_what_it_may_use_and_when_it_must_answer() {
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![bash()]);
    let may =
        "not run: this task is read-only; use read_file, list_files, search, web_fetch, then call done with the answer";
    assert_eq!(told(&walk), [may]);
    let read = call(Call::Action { action: Action::ReadFile { path: "a".into(), from: 1, lines: 0 } });
    walk.answer(vec![read; 21]).acts(20);
    assert_eq!(told(&walk), ["not run: no actions are left; call done with the answer"]);
    assert!(walk.task.running.is_none() && walk.wants("converse"), "{:?}", walk.last);
}

#[test]
fn several_calls_of_one_answer_that_cannot_be_carried_out_are_one_turn() {
    let read = call(Call::Action { action: Action::ReadFile { path: "a".into(), from: 1, lines: 0 } });
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![read; 28]).acts(20);
    assert_eq!(told(&walk), ["not run: no actions are left; call done with the answer"; 8]);
    assert_eq!((walk.task.malformed, &walk.task.state), (1, &State::Running), "{:?}", walk.last);
    assert!(walk.wants("converse"));
    let wrong = || call(Call::Malformed { reason: "r".into() });
    for turn in 2..MALFORMED_LIMIT {
        walk.answer(vec![wrong(), wrong(), wrong()]);
        assert_eq!((walk.task.malformed, &walk.task.state), (turn, &State::Running));
    }
    walk.answer(vec![wrong()]);
    let stuck = matches!(walk.task.state, State::Paused { reason: PauseReason::Stuck { .. }, .. });
    assert!(stuck, "{:?}", walk.task.state);
}

#[test]
fn an_end_that_was_said_behind_an_action_that_was_not_done_is_no_end() {
    let reason = || "r".to_owned();
    for status in [OutcomeStatus::Failed { reason: reason() }, OutcomeStatus::Denied { reason: reason() }] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), done()]);
        walk.feed(Input::ActionEnded { number: 1, outcome: Outcome { status, ..ok() } });
        assert!(walk.task.state == State::Running && walk.wants("converse"), "{:?}", walk.last);
        let why = "not taken: what came before it in the same answer did not happen";
        assert_eq!(told(&walk), [why]);
        let mut noted = Walk::running(TaskKind::Fix);
        noted.answer(vec![bash(), call(Call::UpdatePlan { plan: "- [x] all".into() }), done()]);
        let status = OutcomeStatus::Failed { reason: reason() };
        noted.feed(Input::ActionEnded { number: 1, outcome: Outcome { status, ..ok() } });
        assert_eq!((&noted.task.state, told(&noted)), (&State::Running, vec![why, why]));
    }
}
