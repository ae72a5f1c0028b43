//! Files that are taken beside finished work.

use crate::common::*;
use caisson_domain::*;

fn step(walk: &mut Walk, step: ArtifactStep) {
    walk.feed(Input::Artifacts { step: Box::new(step) });
}

fn verified(walk: &mut Walk, n: u32, kind: VerdictKind) {
    let verdict = Verdict { kind, command: Some("test".into()), ..Verdict::default() };
    walk.feed(Input::Verified { n, verdict, ci: None });
}

/// Done, with a file beside the commit, and not verified yet.
fn taken() -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1);
    step(&mut walk, ArtifactStep::Taken(artifacts(1, commit(ONE))));
    walk.captured(1);
    walk
}

fn wanted(walk: &Walk) -> Vec<&'static str> {
    let kinds = walk.last.effects.iter().map(Effect::kind);
    kinds.filter(|kind| matches!(*kind, "attach" | "review")).collect()
}

#[test]
fn they_are_attached_once_before_the_final_review() {
    let mut walk = taken();
    verified(&mut walk, 1, VerdictKind::Passed);
    assert_eq!(wanted(&walk), ["attach", "review"]);
    walk.feed(attached(commit(BASE)));
    assert!(walk.last.events.is_empty(), "of another commit");
    walk.feed(attached(commit(ONE)));
    let hang = |walk: &Walk| walk.task.artifacts.as_ref().and_then(|held| held.hang.clone());
    assert_eq!(hang(&walk), Some(ArtifactsHang::Under { name: "a.zip".into() }));
    walk.feed(attached(commit(ONE)));
    assert!(walk.last.events.is_empty(), "told twice");
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.feed(Input::CheckpointVoided { n: 1 });
    assert_eq!(wanted(&walk), ["review"], "posted again, and they hang there already");
    assert!(hang(&walk).is_some());
}

#[test]
fn work_that_goes_back_to_the_agent_attaches_nothing_and_forgets_them() {
    let mut walk = taken();
    verified(&mut walk, 1, VerdictKind::Failed);
    assert_eq!(wanted(&walk), [] as [&str; 0]);
    walk.feed(Input::Opened { fresh: None }).answer(vec![done()]);
    assert_eq!(walk.task.artifacts, None);
    // Another checkpoint than the one that is published.
    step(&mut walk, ArtifactStep::Taken(artifacts(1, commit(ONE))));
    assert_eq!(walk.task.artifacts, None);
}

#[test]
fn an_effect_that_ends_without_a_result_holds_nothing_up() {
    let mut walk = taken();
    verified(&mut walk, 1, VerdictKind::Passed);
    walk.feed(Input::Settled);
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(approval(101));
    assert_eq!(walk.task.state.name(), "approved");
}

#[test]
fn nothing_is_attached_without_a_file() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1);
    let none = Artifacts { files: Vec::new(), unmatched: vec!["dist/*".into()], ..artifacts(1, commit(ONE)) };
    step(&mut walk, ArtifactStep::Taken(none));
    walk.captured(1);
    verified(&mut walk, 1, VerdictKind::Passed);
    assert_eq!(wanted(&walk), ["review"]);
}

#[test]
fn a_log_with_them_is_read_again() {
    let mut walk = taken();
    verified(&mut walk, 1, VerdictKind::Passed);
    walk.feed(attached(commit(ONE)));
    let stored = serde_json::to_string(&walk.log).expect("stored");
    let read: Vec<Event> = serde_json::from_str(&stored).expect("read");
    assert_eq!(Task::fold(walk.task.id, &read), walk.task);
    assert!(walk.task.artifacts.is_some());
}
