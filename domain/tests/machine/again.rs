//! Finished work is approved again, for the approvals before may be withdrawn: it stays where it is, and only its own commit counts.

use crate::common::*;
use caisson_domain::*;

const OTHER: &str = "2222222222222222222222222222222222222222";

fn approved() -> Walk {
    let mut walk = Walk::at_final();
    walk.decide(approval(101));
    assert_eq!((walk.task.state.name(), used(&walk)), ("approved", 1));
    walk
}

fn delivered() -> Walk {
    let mut walk = approved();
    walk.feed(Input::Fetched { commit: commit(ONE) });
    assert_eq!(walk.task.end(), Some(&End::Delivered));
    walk
}

fn used(walk: &Walk) -> usize {
    walk.log.iter().filter(|event| matches!(event, Event::DecisionUsed { .. })).count()
}

/// `/approve` with the commit, in a comment.
fn named(number: i64) -> Decision {
    said(number, Verb::Approve { checkpoint: None, commit: Some(ONE[..10].into()), next: 0 })
}

#[test]
fn finished_work_takes_an_approval_and_stays_where_it_is() {
    for finished in [approved as fn() -> Walk, delivered] {
        let mut walk = finished();
        let state = walk.task.state.clone();
        for (at, again) in [Decision { merges: true, ..approval(201) }, named(202)].into_iter().enumerate() {
            walk.decide(again);
            assert_eq!((used(&walk), &walk.task.state), (at + 2, &state));
            assert_eq!(walk.notice(), Some(&Notice::Approved { commit: commit(ONE) }));
            let kinds: Vec<&str> = walk.last.effects.iter().map(Effect::kind).collect();
            assert_eq!(kinds, ["comment"], "what follows the final approval was done at the first one");
        }
        assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
    }
}

#[test]
fn work_that_was_approved_again_is_still_delivered() {
    let mut walk = approved();
    walk.decide(approval(201)).feed(Input::Fetched { commit: commit(ONE) });
    assert_eq!(walk.task.end(), Some(&End::Delivered));
}

#[test]
fn only_an_approval_of_that_commit_by_somebody_who_may_counts_again() {
    let bad = [
        Decision { commit: Some(commit(OTHER)), ..approval(201) },
        Decision { head: Some(commit(OTHER)), ..approval(201) },
        Decision { head: None, ..approval(201) },
        Decision { base: Some("stable".into()), ..approval(201) },
        Decision { right: Access::Read, ..approval(201) },
        Decision { barred: Some("admins".into()), ..approval(201) },
        Decision { edited: true, ..approval(201) },
        approval(100),
        said(201, Verb::approve()),
        said(201, Verb::Approve { checkpoint: None, commit: Some(OTHER[..10].into()), next: 0 }),
        said(201, Verb::Approve { checkpoint: Some(7), commit: None, next: 0 }),
    ];
    for finished in [approved as fn() -> Walk, delivered] {
        for again in &bad {
            let mut walk = finished();
            let state = walk.task.state.clone();
            walk.decide(again.clone());
            assert_eq!((used(&walk), &walk.task.state), (1, &state), "{again:?}");
            assert!(walk.notice().is_some() && walk.notice() != Some(&Notice::Approved { commit: commit(ONE) }));
        }
    }
}

#[test]
fn where_two_approve_two_approve_again() {
    let others = |approvals| Some(Box::new(Others { needed: 1, approvals }));
    for finished in [approved as fn() -> Walk, delivered] {
        let mut walk = finished();
        walk.decide(Decision { others: others(Vec::new()), ..approval(201) });
        assert!(matches!(walk.notice(), Some(Notice::OthersAwaited { left: 1, .. })), "{:?}", walk.notice());
        assert_eq!((used(&walk), walk.task.unjudged.len()), (1, 1));
        walk.decide(Decision { others: others(vec![approval(201)]), ..approval(202) });
        assert_eq!(used(&walk), 1, "the same person twice");
        let second =
            Decision { poster: person(8), others: others(vec![approval(201), approval(202)]), ..approval(203) };
        walk.decide(second);
        assert_eq!((used(&walk), walk.task.unjudged.len()), (2, 0));
        assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
    }
}

#[test]
fn what_was_not_delivered_and_what_is_no_approval_changes_nothing_after_the_end() {
    let again = |decision: Decision| Input::Decided { decision: Box::new(decision) };
    let mut declined = approved();
    declined.feed(Input::PullClosed { merged: false, how: None });
    assert_eq!(declined.task.end(), Some(&End::Declined));
    declined.ignores(again(approval(201)));
    let mut early = Walk::at_final();
    early.task.request.as_mut().expect("a request").has_upstream = false;
    early.feed(Input::PullClosed { merged: true, how: None });
    assert_eq!(early.task.end(), Some(&End::Delivered));
    early.ignores(again(approval(201)));
    let mut sent_back = Walk::at_final();
    sent_back.task.request.as_mut().expect("a request").has_upstream = false;
    sent_back.decide(said(101, Verb::Changes { items: vec![remark("a set")] }));
    sent_back.feed(Input::PullClosed { merged: true, how: None });
    assert_eq!(sent_back.task.end(), Some(&End::Delivered));
    sent_back.ignores(again(approval(201)));
    let mut over = delivered();
    for verb in [Verb::Stop, Verb::Status, Verb::Changes { items: vec![remark("a set")] }, Verb::Merge { bar: None }] {
        over.ignores(again(said(201, verb)));
    }
}
