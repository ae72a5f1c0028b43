//! What each kind of task may do, as far as the machine decides it.

use crate::common::{BASE, ONE, Walk, approval, bash, call, captured_tree, commit, done, prepared, request};
use caisson_domain::*;

#[test]
fn an_explanation_is_an_answer_without_a_plan_and_may_become_a_fix() {
    let mut walk = Walk::running(TaskKind::Explain);
    let answer = call(Call::Done { summary: "1. it is here\n2. and there".into(), claims: Vec::new() });
    walk.answer(vec![bash(), answer]);
    assert!(!walk.wants("act") && walk.wants("review") && walk.task.steps.is_empty(), "{:?}", walk.task.steps);
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    let verb = Verb::Fix { words: "so".into(), terms: Terms::default() };
    walk.decide(Decision { verb, source: Source::Comment(101), ..approval(101) });
    assert_eq!((walk.task.kind, walk.task.state.name()), (TaskKind::Fix, "running"));
}

/// At the final review of a task of this kind, with this verdict.
fn at_final(kind: TaskKind, verdict: Verdict) -> Walk {
    let mut walk = Walk::running(kind);
    walk.answer(vec![bash(), done()]).acts(1).captured(1);
    for n in 1.. {
        walk.feed(Input::Verified { n, verdict: verdict.clone(), ci: None });
        if walk.task.state.name() == "verifying" {
            walk.feed(Input::ReviewPosted { n, review: 50, number: 100, risk: None });
            return walk;
        }
        walk.feed(Input::Opened { fresh: None }).answer(vec![done()]);
        walk.feed(Input::TreeUnchanged { n: n + 1, commit: commit(ONE), left_out: Vec::new() });
    }
    walk
}

#[test]
fn a_breach_and_a_refactoring_that_fails_cannot_be_approved() {
    let failed = |outside: &[&str]| Verdict {
        kind: VerdictKind::Failed,
        outside: outside.iter().map(|path| (*path).to_owned()).collect(),
        ..Verdict::default()
    };
    for (kind, verdict, approved) in [
        (TaskKind::Fix, failed(&[]), true),
        (TaskKind::Test, failed(&[]), true),
        (TaskKind::Test, failed(&["a.rs"]), false),
        (TaskKind::Refactor, failed(&[]), false),
        (TaskKind::Refactor, failed(&["tests/a.rs"]), false),
        (TaskKind::Refactor, Verdict { kind: VerdictKind::Passed, ..Verdict::default() }, true),
    ] {
        let mut walk = at_final(kind, verdict.clone());
        assert_eq!(walk.task.state.name(), "final-review", "{kind:?} {verdict:?}");
        walk.decide(approval(101));
        assert_eq!(walk.task.state.name() == "approved", approved, "{kind:?} {verdict:?}");
        assert_eq!(matches!(walk.notice(), Some(Notice::Unapprovable { .. })), !approved, "{kind:?}");
    }
}

#[test]
fn a_tree_with_a_breach_is_covered_by_no_approval_in_advance() {
    let mut walk = Walk::running(TaskKind::Test);
    walk.answer(vec![bash(); 5]).acts(5);
    let tree = CapturedTree { outside: vec!["a.rs".into()], ..captured_tree(commit(ONE)) };
    walk.feed(Input::TreeCaptured { n: 1, tree });
    walk.feed(Input::Pushed { n: 1, commit: commit(ONE) }).feed(Input::PullOpened { number: 2, url: String::new() });
    assert_eq!(walk.task.risk(false), Some(Risk::Steering));
}

#[test]
fn logs_of_older_versions_and_new_kinds_are_read() {
    for (stored, kind) in
        [("\"fix\"", TaskKind::Fix), ("\"plan\"", TaskKind::Plan), ("\"refactor\"", TaskKind::Refactor)]
    {
        assert_eq!(serde_json::from_str::<TaskKind>(stored).expect("read"), kind);
        let asked = serde_json::to_string(&request(kind)).expect("written");
        assert!(asked.contains(&format!("\"kind\":{stored}")), "{asked}");
    }
    let begins = Verb::begin(TaskKind::Explain, "why".into(), Terms::default());
    let written = serde_json::to_string(&begins).expect("written");
    assert_eq!(serde_json::from_str::<Verb>(&written).expect("read"), begins);
}

#[test]
fn a_review_is_over_with_its_answer_and_there_is_nothing_to_approve() {
    let head = commit(ONE);
    let pull = Some(PullHead { head: head.clone(), target: "main".into() });
    let mut walk = Walk::asked(Request { pull, ..request(TaskKind::Review) });
    walk.feed(Input::SlotFree);
    let difference = Difference {
        from: commit(BASE),
        files: Vec::new(),
        more_files: 0,
        text: String::new(),
        cut: 0,
        partial: false,
    };
    let Input::Prepared { base, boot, image, every, note, budget, rules, pictures, .. } = prepared() else {
        unreachable!()
    };
    let difference = Some(Box::new(difference));
    let conflicts = Vec::new();
    walk.feed(Input::Prepared { base, boot, image, every, note, budget, rules, pictures, difference, conflicts });
    assert_eq!((&walk.task.head, &walk.task.compared_with), (&Some(head), &Some(commit(BASE))));
    walk.answer(vec![bash(), done()]);
    assert!(!walk.wants("act") && walk.wants("review") && !walk.wants("seal"));
    walk.decide(approval(99));
    assert!(matches!(walk.notice(), Some(Notice::NothingToApprove { .. })) && walk.task.unjudged.is_empty());
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    assert!(walk.task.state == State::Ended { end: End::Answered } && walk.wants("teardown"), "{:?}", walk.task.state);
    assert!(!walk.wants("comment") && !walk.wants("close_pull") && !walk.wants("rest"));
}

#[test]
fn a_review_is_asked_for_elsewhere_than_on_a_tasks_own_threads() {
    for (thread, own) in [(1, false), (2, true)] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), done()]).acts(1).captured(1);
        let verb = Verb::begin(TaskKind::Review, String::new(), Terms::default());
        walk.decide(Decision { verb, thread: Some(thread), source: Source::Comment(101), ..approval(101) });
        assert!(
            matches!(walk.notice(), Some(Notice::NotReviewed { own: said, .. }) if *said == own),
            "{thread}: {:?}, {:?}",
            walk.notice(),
            walk.task.pull
        );
    }
}
