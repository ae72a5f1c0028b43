//! Decisions that come while a checkpoint waits under a pause, or after the last approval.

use crate::common::{ONE, Walk, approval, bash, blocked, commit, reason, remark, said};
use caisson_domain::*;

#[test]
fn changes_asked_for_during_a_pause_are_judged_when_it_ends() {
    for mut walk in [Walk::at_checkpoint(), Walk::at_final()] {
        walk.decide(said(101, Verb::Pause)).decide(said(102, Verb::Changes { items: vec![remark("use a set")] }));
        assert_eq!((walk.task.state.name(), walk.task.remarks.len()), ("paused", 0));
        assert_eq!(walk.task.unjudged.len(), 1, "it is about what waits, and not for some later decision");
        walk.decide(said(103, Verb::Resume));
        assert!(walk.wants("recheck"), "{:?}", walk.last);
        walk.decide(said(102, Verb::Changes { items: vec![remark("use a set")] }));
        assert_eq!(walk.task.state.name(), "running", "the work goes back");
    }
}

#[test]
fn what_is_decided_while_a_review_may_be_posted_under_a_pause_is_judged_once_it_stands() {
    for verb in [approval(101).verb, Verb::Changes { items: vec![remark("use a set")] }] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(); 5]).acts(5).captured(1).feed(blocked("review:1"));
        assert_eq!(walk.task.state.name(), "paused");
        let decision = Decision { verb, ..approval(101) };
        walk.decide(decision.clone());
        assert_eq!((walk.task.unjudged.len(), walk.notice()), (1, None), "{decision:?}");
        walk.decide(said(102, Verb::Resume));
        walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
        assert!(walk.task.state == State::AwaitingReview { n: 1, commit: Some(commit(ONE)) } && walk.wants("recheck"));
        walk.decide(decision);
        assert_eq!(walk.task.state.name(), "running");
    }
}

#[test]
fn changes_asked_for_after_the_last_approval_are_answered() {
    let mut walk = Walk::at_final();
    walk.decide(approval(101)).decide(said(102, Verb::Changes { items: vec![remark("use a set")] }));
    assert_eq!((walk.task.state.name(), reason(&walk)), ("approved", Some("the work is approved")));
    assert_eq!(walk.notice(), Some(&Notice::NoChangesAnyMore { login: "p7".into() }));
    assert!(walk.task.remarks.is_empty(), "nothing waits for the agent");
}

#[test]
fn a_pause_for_the_budget_ends_where_nothing_is_used_up() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.feed(Input::PauseAsked { reason: PauseReason::Budget { what: "money".into() } });
    assert_eq!(walk.task.granted.exhausted(&walk.task.spent), None, "the next call of a dear model did not fit");
    walk.decide(said(101, Verb::Resume));
    assert!(walk.task.state == State::Running && walk.wants("open"), "{:?}", walk.last);
}
