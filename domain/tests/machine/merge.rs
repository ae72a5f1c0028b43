//! Merging approved work: by `/merge`, after the final approval, and never before one.

use crate::common::*;
use caisson_domain::*;

const OTHER: &str = "2222222222222222222222222222222222222222";

/// A task of a repository that is no copy of another one, with its final review posted.
fn at_final(merges: bool) -> Walk {
    let mut walk = Walk::at_final();
    walk.task.request.as_mut().expect("a request").has_upstream = false;
    if let Some(Event::Requested { request }) = walk.log.first_mut() {
        request.has_upstream = false;
    }
    walk.decide(Decision { merges, ..approval(101) });
    walk
}

fn asked(number: i64, bar: Option<MergeBar>) -> Decision {
    Decision { source: Source::Comment(number), commit: None, verb: Verb::Merge { bar }, ..approval(number) }
}

fn why(walk: &Walk) -> Option<&MergeBar> {
    match walk.notice() {
        Some(Notice::NotMerged { why, .. }) => Some(why),
        _ => None,
    }
}

#[test]
fn approved_work_is_merged_when_somebody_asks_and_that_delivers_it() {
    let mut walk = at_final(false);
    assert_eq!(walk.task.state.name(), "approved");
    assert!(!walk.wants("merge"), "nobody asked");
    walk.decide(asked(201, None));
    assert!(walk.wants("merge") && walk.notice().is_none());
    let how = Merged { commit: commit(ONE), by: "caisson".into(), asked: Some("p7".into()) };
    walk.feed(Input::PullClosed { merged: true, how: Some(how.clone()) });
    assert_eq!(walk.task.end(), Some(&End::Delivered));
    assert_eq!(walk.notice(), Some(&Notice::Merged { how: how.clone() }));
    assert!(walk.log.contains(&Event::Merge(MergeStep::Done(how))) && !walk.wants("close_pull"));
    assert_eq!(Task::fold(TaskId(1), &walk.log).state, walk.task.state);
}

#[test]
fn the_final_approval_is_followed_by_the_merge_only_where_the_operator_lets_it() {
    let walk = at_final(true);
    assert!(walk.wants("merge") && walk.wants("ready_pull"));
    assert_eq!(walk.task.state.name(), "approved");
    let mut copied = Walk::at_final();
    copied.decide(Decision { merges: true, ..approval(101) });
    assert_eq!(copied.task.state.name(), "approved");
    assert!(!copied.wants("merge"), "it is a copy of another repository");
    let mut red = Walk::at_final();
    red.task.request.as_mut().expect("a request").has_upstream = false;
    if let State::FinalReview { verdict, .. } = &mut red.task.state {
        verdict.kind = VerdictKind::Failed;
    }
    red.decide(Decision { merges: true, ..approval(101) });
    assert_eq!(red.task.state.name(), "approved");
    assert!(!red.wants("merge"), "its checks do not hold: somebody has to say so");
    red.decide(asked(201, None));
    assert!(red.wants("merge"));
    let mut checkpoint = Walk::at_checkpoint();
    checkpoint.task.request.as_mut().expect("a request").has_upstream = false;
    checkpoint.decide(Decision { merges: true, ..approval(101) });
    assert!(!checkpoint.wants("merge"), "this approval is not the final one");
}

#[test]
fn nothing_but_approved_work_at_its_approved_commit_is_merged() {
    let mut early = Walk::at_final();
    early.task.request.as_mut().expect("a request").has_upstream = false;
    early.decide(asked(101, None));
    assert_eq!(why(&early), Some(&MergeBar::NotApproved));
    assert_eq!(early.task.state.name(), "final-review");
    let mut moved = at_final(false);
    moved.decide(Decision { head: Some(commit(OTHER)), ..asked(201, None) });
    assert_eq!(why(&moved), Some(&MergeBar::Moved { commit: commit(ONE) }));
    let off = MergeBar::Off { repository: "shop".into() };
    let mut barred = at_final(false);
    barred.decide(asked(201, Some(off.clone())));
    assert_eq!(why(&barred), Some(&off));
    let mut copied = Walk::at_final();
    copied.decide(approval(101)).decide(asked(201, None));
    assert_eq!(why(&copied), Some(&MergeBar::Copied));
    for walk in [&early, &moved, &barred, &copied] {
        assert!(!walk.wants("merge"));
        assert!(!walk.log.iter().any(|event| matches!(event, Event::Merge(MergeStep::Wanted { .. }))));
    }
}

#[test]
fn a_reader_merges_nothing() {
    let mut walk = at_final(false);
    walk.decide(Decision { right: Access::Read, ..asked(201, None) });
    assert!(!walk.wants("merge") && matches!(walk.notice(), Some(Notice::Refused { .. })));
    walk.decide(Decision { barred: Some("nobody".into()), ..asked(202, None) });
    assert!(!walk.wants("merge"));
    walk.decide(Decision { edited: true, ..asked(203, None) });
    assert!(!walk.wants("merge") && matches!(walk.notice(), Some(Notice::Edited { .. })));
}

#[test]
fn a_merge_that_is_refused_leaves_the_work_approved_and_can_be_asked_for_again() {
    let mut walk = at_final(false);
    walk.decide(asked(201, None));
    let to = To::Asked { number: 201, thread: None, again: None };
    let bar = MergeBar::Forge { refusal: "Does not have enough approvals".into() };
    walk.feed(Input::NotMerged { why: bar.clone(), login: "p7".into(), to });
    assert_eq!((walk.task.state.name(), why(&walk)), ("approved", Some(&bar)));
    walk.decide(asked(202, None));
    assert!(walk.wants("merge"));
    walk.feed(Input::PullClosed { merged: false, how: None });
    walk.feed(Input::NotMerged { why: bar, login: "p7".into(), to });
    assert!(walk.notice().is_none(), "the task is over: {:?}", walk.task.state);
}

/// Without an upstream a merge is what the work was for, whoever made it; with one, only approved work is delivered.
#[test]
fn a_merge_before_the_last_approval_delivers_only_where_there_is_no_upstream() {
    let how = Merged { commit: commit(ONE), by: "p7".into(), asked: None };
    for early in [Walk::at_checkpoint as fn() -> Walk, Walk::at_final] {
        for has_upstream in [false, true] {
            for how in [Some(how.clone()), None] {
                let mut walk = early();
                walk.task.request.as_mut().expect("a request").has_upstream = has_upstream;
                walk.feed(Input::PullClosed { merged: true, how: how.clone() });
                let (end, notice) = match (has_upstream, how) {
                    (false, Some(how)) => (End::Delivered, Notice::Merged { how }),
                    (false, None) => (End::Delivered, Notice::Delivered),
                    (true, _) => (End::Declined, Notice::Declined),
                };
                assert_eq!((walk.task.end(), walk.notice()), (Some(&end), Some(&notice)));
            }
        }
    }
}

#[test]
fn what_was_stored_before_merges_is_read_as_it_was() {
    let closed: Input = serde_json::from_str(r#"{"input":"pull_closed","merged":true}"#).expect("read");
    assert_eq!(closed, Input::PullClosed { merged: true, how: None });
    let stored = serde_json::to_string(&approval(101)).expect("written");
    assert!(!stored.contains("merges"), "{stored}");
    let decision: Decision = serde_json::from_str(&stored).expect("read");
    assert!(!decision.merges);
    let event = Event::Merge(MergeStep::Wanted { decision: Box::new(asked(201, None)) });
    let text = serde_json::to_string(&event).expect("written");
    assert_eq!(serde_json::from_str::<Event>(&text).expect("read"), event, "{text}");
}
