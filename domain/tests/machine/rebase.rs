//! `/rebase`: where it is followed, what it makes of the task, and what a lost sandbox holds afterwards.

use crate::common::*;
use caisson_domain::*;

const NEWER: &str = "cccccccccccccccccccccccccccccccccccccccc";
const NEWEST: &str = "dddddddddddddddddddddddddddddddddddddddd";
const TWO: &str = "2222222222222222222222222222222222222222";

fn asked(number: i64) -> Decision {
    let verb = Verb::Rebase { tip: Some(commit(NEWER)) };
    Decision { source: Source::Comment(number), commit: None, verb, ..approval(number) }
}

/// The sandbox on the newer base, with these files in conflict.
fn moved(files: &[&str]) -> Input {
    let mut moved = prepared();
    if let Input::Prepared { base, conflicts, .. } = &mut moved {
        *base = commit(NEWER);
        *conflicts = files.iter().map(|file| (*file).to_owned()).collect();
    }
    moved
}

fn moved_again() -> Input {
    let mut again = moved(&[]);
    if let Input::Prepared { base, .. } = &mut again {
        *base = commit(NEWEST);
    }
    again
}

fn at_final_review() -> Walk {
    let mut walk = Walk::at_checkpoint();
    walk.decide(approval(101)).feed(Input::Opened { fresh: None }).answer(vec![done()]);
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(ONE), left_out: Vec::new() });
    walk.verdict(2, VerdictKind::Passed).feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
    assert_eq!(walk.task.state.name(), "final-review");
    walk
}

fn bar(walk: &mut Walk, decision: Decision) -> Option<RebaseBar> {
    let before = walk.task.state.clone();
    walk.decide(decision);
    match walk.notice() {
        Some(Notice::NotRebased { why, .. }) => {
            assert_eq!(walk.task.state, before, "{why:?}: nothing was changed");
            assert!(matches!(walk.log.last(), Some(Event::DecisionRefused { .. })), "{why:?}");
            Some(why.clone())
        }
        _ => None,
    }
}

#[test]
fn clean_work_is_shown_at_once_and_replaces_the_branch() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101));
    assert!(walk.wants("prepare") && !walk.wants("open"), "{:?}", walk.last);
    assert!(walk.task.state == State::Preparing && walk.task.checkpoints[0].used && walk.task.used == 0);
    walk.feed(moved(&[]));
    assert_eq!(walk.task.state, State::Publishing { n: 2, why: Why::Rebased });
    let [from, head, onto] = [BASE, ONE, NEWER].map(commit);
    let told = Rebased { from: from.clone(), onto: onto.clone(), head: head.clone(), conflicts: Vec::new() };
    assert!(walk.log.contains(&Event::Rebased(Box::new(told))));
    assert_eq!((walk.task.base.as_ref(), walk.task.head.as_ref()), (Some(&onto), Some(&onto)), "the next parent");
    assert_eq!((walk.task.to_merge(), walk.task.on_the_forge()), (Some((&from, &head)), Some(&onto)));
    walk.feed(Input::TreeCaptured { n: 2, tree: captured_tree(commit(TWO)) });
    let push = Effect::Push { n: 2, commit: commit(TWO), expected: Some(head.clone()) };
    assert!(walk.last.effects.contains(&push), "{:?}", walk.last.effects);
    assert_eq!((walk.task.to_merge(), walk.task.replaces), (None, true), "a commit holds the work");
    walk.feed(Input::Pushed { n: 2, commit: commit(TWO) });
    assert_eq!((walk.task.replaces, walk.task.on_the_forge()), (false, Some(&commit(TWO))));
    assert!(walk.wants("review") && !walk.wants("verify"));
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    // What approved the work before does not approve it here.
    walk.decide(Decision { head: Some(commit(TWO)), ..approval(201) });
    assert_eq!(walk.task.state.name(), "awaiting-review");
    walk.decide(Decision { head: Some(commit(TWO)), commit: Some(commit(TWO)), ..approval(202) });
    assert_eq!(walk.task.state, State::Running);
    assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
}

#[test]
fn conflicts_are_the_agents_at_most_five_actions_long() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&["a.py"]));
    assert!(walk.task.state == State::Running && walk.wants("open"));
    walk.feed(Input::Opened { fresh: None });
    assert!(walk.wants("converse"));
    walk.answer(vec![bash(); 6]).acts(5);
    assert_eq!(walk.task.state, State::Publishing { n: 2, why: Why::Checkpoint });
    assert_eq!(walk.task.conflicts, ["a.py"]);
    let tree = CapturedTree { marked: vec!["a.py".into()], ..captured_tree(commit(TWO)) };
    walk.feed(Input::TreeCaptured { n: 2, tree }).feed(Input::Pushed { n: 2, commit: commit(TWO) });
    assert_eq!(walk.task.risk(false), Some(Risk::Conflicts));
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    assert!(!walk.task.checkpoint().expect("stands").coverable, "never approved in advance");
}

#[test]
fn finished_work_is_verified_anew() {
    let mut walk = at_final_review();
    walk.decide(asked(103)).feed(moved(&[]));
    assert_eq!(walk.task.state, State::Publishing { n: 3, why: Why::Done });
    walk.feed(Input::TreeCaptured { n: 3, tree: captured_tree(commit(TWO)) });
    walk.feed(Input::Pushed { n: 3, commit: commit(TWO) });
    assert!(walk.wants("verify"));
}

#[test]
fn it_is_for_a_checkpoint_that_waits_and_a_base_that_moved() {
    let same = Decision { verb: Verb::Rebase { tip: Some(commit(BASE)) }, ..asked(101) };
    let gone = Decision { verb: Verb::Rebase { tip: None }, ..asked(101) };
    assert_eq!(bar(&mut Walk::at_checkpoint(), same), Some(RebaseBar::NotMoved));
    assert_eq!(bar(&mut Walk::at_checkpoint(), gone), Some(RebaseBar::NoBranch));
    assert_eq!(bar(&mut Walk::at_checkpoint(), asked(100)), Some(RebaseBar::Early { n: 1 }));
    assert_eq!(bar(&mut Walk::new(TaskKind::Fix), asked(101)), Some(RebaseBar::Later));
    assert_eq!(bar(&mut Walk::running(TaskKind::Fix), asked(101)), Some(RebaseBar::Later));
    assert_eq!(bar(&mut Walk::running(TaskKind::Plan), asked(101)), Some(RebaseBar::NoWork));
    let mut twice = Walk::at_checkpoint();
    twice.decide(asked(101));
    assert_eq!(bar(&mut twice, asked(102)), Some(RebaseBar::Later), "it is under way");
    let mut paused = Walk::at_checkpoint();
    paused.decide(Decision { verb: Verb::Pause, ..asked(101) });
    assert_eq!(bar(&mut paused, asked(102)), Some(RebaseBar::Paused));
    let mut approved = at_final_review();
    approved.decide(approval(103));
    assert_eq!(bar(&mut approved, asked(104)), Some(RebaseBar::Approved));
    let mut refused = Walk::running(TaskKind::Fix);
    refused.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["r".into()] });
    refused.feed(Input::AnswerPosted { n: 1, number: 100 });
    assert_eq!(bar(&mut refused, asked(101)), Some(RebaseBar::Uncommitted));
    let mut reader = Walk::at_checkpoint();
    reader.decide(Decision { right: Access::Read, ..asked(101) });
    assert!(matches!(reader.notice(), Some(Notice::Refused { .. })) && reader.task.state.name() == "awaiting-review");
}

#[test]
fn it_ends_an_approval_in_advance_and_leaves_what_the_answer_still_held() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 7]).acts(5).captured(1);
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(in_advance(101, 3)).feed(Input::Opened { fresh: None }).acts(2).answer(vec![bash(); 5]).acts(3);
    walk.captured(2).feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    assert!(walk.task.advance.is_some() && walk.task.waiting.len() == 2);
    walk.decide(asked(201));
    assert!(walk.task.advance.is_none() && walk.task.waiting.is_empty(), "{:?}", walk.task.waiting);
    assert!(walk.log.iter().any(|event| matches!(event, Event::AdvanceEnded { .. })));
}

#[test]
fn a_lost_sandbox_is_made_again_with_the_merge_and_work_that_was_kept_stands_for_it() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&[]));
    assert!(walk.task.can_be_remade());
    let failure = Failure::SandboxGone { loss: Loss::Removed };
    walk.feed(Input::EffectFailed { effect: "seal:2".into(), failure });
    assert!(walk.task.to_merge().is_some());
    // Number 2 may stand for the lost tree's commit.
    assert_eq!(walk.last.effects, [Effect::Capture { n: 3, why: Why::Rebased }], "under a number that has no commit");
    let mut waits = Walk::at_checkpoint();
    waits.decide(asked(101)).feed(moved(&["a.py"])).feed(Input::Opened { fresh: None });
    waits.answer(vec![bash()]).acts(1);
    assert!(!waits.task.can_be_remade(), "an action did something that the log has not");
    waits.decide(Decision { verb: Verb::Pause, ..asked(102) });
    waits.feed(Input::Idled { suspension: Suspension::Evicted });
    assert!(waits.wants("keep"));
    waits.feed(Input::WorkKept { commit: commit(TWO) });
    assert_eq!((waits.task.to_merge(), waits.task.can_be_remade()), (None, true));
}

#[test]
fn where_the_newer_base_has_it_all_there_is_nothing_to_push_or_approve() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&[]));
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(NEWER), left_out: Vec::new() });
    assert!(walk.wants("review") && !walk.wants("push"), "{:?}", walk.last);
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    assert_eq!(walk.task.state, State::AwaitingReview { n: 2, commit: None });
    // What comes next still replaces the branch as it is there.
    walk.decide(Decision { verb: Verb::Changes { items: Vec::new() }, ..asked(201) });
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(); 5]).acts(5);
    walk.feed(Input::TreeCaptured { n: 3, tree: captured_tree(commit(TWO)) });
    let push = Effect::Push { n: 3, commit: commit(TWO), expected: Some(commit(ONE)) };
    assert!(walk.last.effects.contains(&push), "{:?}", walk.last.effects);
}

/// The lost tree had more than the merge, and its commit may be stored already: the next number is free, also after a pause.
#[test]
fn what_is_merged_again_while_it_is_captured_is_captured_under_a_new_number() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&["a.py"])).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(); 5]).acts(5);
    assert_eq!(walk.task.state, State::Publishing { n: 2, why: Why::Checkpoint });
    let gone = |n: u32| Input::EffectFailed {
        effect: format!("seal:{n}"),
        failure: Failure::SandboxGone { loss: Loss::Removed },
    };
    walk.feed(gone(2));
    assert_eq!(walk.last.effects, [Effect::Capture { n: 3, why: Why::Checkpoint }]);
    assert_eq!(walk.task.state, State::Publishing { n: 3, why: Why::Checkpoint });
    for n in 3..9 {
        if matches!(walk.task.state, State::Publishing { .. }) {
            walk.feed(gone(n));
        }
    }
    let State::Paused { .. } = walk.task.state else { panic!("lost too often: {:?}", walk.task.state) };
    walk.decide(Decision { verb: Verb::Resume, ..asked(110) });
    let State::Publishing { n, .. } = walk.task.state else { panic!("{:?}", walk.task.state) };
    let used = walk.log.iter().filter(|event| matches!(event, Event::PublishStarted { n: at, .. } if *at == n));
    assert!(used.count() == 1 && walk.last.effects.contains(&Effect::Capture { n, why: Why::Checkpoint }));
    walk.feed(Input::TreeCaptured { n, tree: captured_tree(commit(TWO)) });
    assert!(walk.wants("push"), "{:?}", walk.last);
    assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
}

#[test]
fn a_second_move_brings_the_work_that_no_commit_holds_since_the_first() {
    let read = || call(Call::Action { action: Action::ReadFile { path: "a".into(), from: 1, lines: 0 } });
    let refuse = |n: u32| Input::TreeRefused { n, reasons: vec!["r".into()] };
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&[])).feed(refuse(2));
    assert_eq!(walk.task.state, State::Running, "the agent is told why");
    walk.feed(Input::Opened { fresh: None }).answer((0..5).map(|_| read()).collect()).acts(5).feed(refuse(3));
    walk.feed(Input::ReviewPosted { n: 3, review: 51, number: 200, risk: None });
    assert_eq!(walk.task.state, State::AwaitingReview { n: 3, commit: None });
    let tip = Some(commit(NEWEST));
    walk.decide(Decision { verb: Verb::Rebase { tip }, ..asked(201) });
    let [from, head, onto] = [BASE, ONE, NEWEST].map(commit);
    let wanted = walk.task.rebase_wanted().expect("followed");
    assert_eq!((&wanted.from, &wanted.head), (&from, &head), "not the bare base of the first move");
    walk.feed(moved_again());
    let told = Rebased { from: from.clone(), onto, head: head.clone(), conflicts: Vec::new() };
    assert_eq!(walk.log.iter().rfind(|event| matches!(event, Event::Rebased(_))), Some(&Event::Rebased(told.into())));
    assert_eq!(walk.task.to_merge(), Some((&from, &head)));
    assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
}

/// What the agent did was refused, and its sandbox was lost while a person was awaited.
#[test]
fn a_second_move_after_a_loss_brings_what_the_commits_hold() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&["a.py"])).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 2, reasons: vec!["r".into()] });
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    let again = |number| Decision { verb: Verb::Rebase { tip: Some(commit(NEWEST)) }, ..asked(number) };
    assert_eq!(bar(&mut walk, again(201)), Some(RebaseBar::Uncommitted));
    let failure = Failure::SandboxGone { loss: Loss::Removed };
    walk.feed(Input::EffectFailed { effect: "keep:1".into(), failure });
    walk.decide(again(202)).feed(moved_again());
    let [from, head] = [BASE, ONE].map(commit);
    assert_eq!(walk.task.to_merge(), Some((&from, &head)));
}

#[test]
fn finished_work_that_the_newer_base_has_is_for_a_person_and_not_for_the_model() {
    let mut walk = at_final_review();
    walk.decide(asked(103)).feed(moved(&[]));
    walk.feed(Input::TreeUnchanged { n: 3, commit: commit(NEWER), left_out: Vec::new() });
    assert!(walk.wants("review") && !walk.wants("open"), "{:?}", walk.last);
    assert!(!walk.log.iter().any(|event| matches!(event, Event::DoneReturned { .. })));
}

#[test]
fn a_tree_that_is_the_bare_newer_base_resolves_no_conflict() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(asked(101)).feed(moved(&["a.bin"])).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(); 5]).acts(5);
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(NEWER), left_out: Vec::new() });
    assert!(!walk.task.marked.is_empty() && walk.wants("review"), "{:?}", walk.last);
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 200, risk: None });
    walk.decide(Decision { verb: Verb::Changes { items: Vec::new() }, ..asked(201) });
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(); 5]).acts(5);
    walk.feed(Input::TreeCaptured { n: 3, tree: captured_tree(commit(TWO)) });
    assert!(walk.task.marked.is_empty(), "a commit that was looked at");
}

#[test]
fn remarks_wait_on_for_a_decision_that_tells_the_agent_of_them() {
    let item = Item::on_the_whole("shorter", "p7");
    let mut walk = Walk::at_checkpoint();
    walk.decide(Decision { verb: Verb::Changes { items: vec![item] }, ..asked(90) });
    assert_eq!(walk.task.remarks.len(), 1, "{:?}", walk.last);
    walk.decide(asked(101)).feed(moved(&[]));
    assert_eq!(walk.task.remarks.len(), 1, "no model was asked");
}
