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
    let mut ready = prepared();
    if let Input::Prepared { difference: of, .. } = &mut ready {
        *of = Some(Box::new(difference));
    }
    walk.feed(ready);
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
fn security_dependencies_and_searches_write_nothing_and_are_answers() {
    for kind in [TaskKind::Security, TaskKind::Deps, TaskKind::Search] {
        assert!(kind.reads_only() && kind.begins_on(false) && !kind.of_a_pull(), "{kind:?}");
        let mut walk = Walk::running(kind);
        let write = call(Call::Action { action: Action::WriteFile { path: "a.rs".into(), content: "x".into() } });
        walk.answer(vec![write, bash(), done()]);
        assert!(!walk.wants("act") && !walk.wants("seal") && walk.wants("review"), "{kind:?}");
        let denied =
            |event: &Event| matches!(event, Event::CallAnswered { answer, .. } if answer.contains("read-only"));
        assert_eq!(walk.log.iter().filter(|event| denied(event)).count(), 2, "{kind:?}");
        walk.feed(Input::AnswerPosted { n: 1, number: 100 });
        assert_eq!(walk.task.state.name(), "awaiting-review", "{kind:?}");
        assert!(walk.task.pushed.is_none() && walk.task.pull.is_none(), "{kind:?}");
    }
}

#[test]
fn security_of_a_pull_request_is_over_with_its_answer_and_elsewhere_it_is_none() {
    assert!(TaskKind::Security.begins_on(true) && !TaskKind::Deps.begins_on(true) && !TaskKind::Search.begins_on(true));
    let mut busy = Walk::running(TaskKind::Fix);
    let verb = Verb::begin(TaskKind::Security, String::new(), Terms::default());
    busy.decide(Decision { verb, source: Source::Comment(101), ..approval(101) });
    assert!(matches!(busy.notice(), Some(Notice::AlreadyLive)), "{:?}", busy.notice());
    let pull = Some(PullHead { head: commit(ONE), target: "main".into() });
    let mut walk = Walk::asked(Request { pull, ..request(TaskKind::Security) });
    walk.feed(Input::SlotFree).feed(prepared());
    assert!(walk.task.of_a_pull() && !Walk::running(TaskKind::Security).task.of_a_pull());
    walk.answer(vec![done()]);
    walk.decide(approval(99));
    assert!(matches!(walk.notice(), Some(Notice::NothingToApprove { .. })), "{:?}", walk.notice());
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    assert!(walk.task.state == State::Ended { end: End::Answered } && walk.wants("teardown"), "{:?}", walk.task.state);
}

#[test]
fn what_the_host_read_is_kept_and_older_logs_have_none() {
    let found = RuleFinding {
        rule: "python-eval".into(),
        severity: RuleSeverity::High,
        path: "a.py".into(),
        line: 3,
        sentence: "Text is run.".into(),
        instead: "Parse it.".into(),
        text: "eval(x)".into(),
    };
    let rules_found = RuleScan { findings: vec![found], files: 1, ..RuleScan::default() };
    let scan = Some(Box::new(Scan { rules: Some(rules_found), ..Scan::default() }));
    let mut walk = Walk::asked(request(TaskKind::Security));
    walk.feed(Input::SlotFree);
    let report = BaseReport { failing: vec![Reported { tool: "pytest".into(), ..Reported::default() }], partial: true };
    let reported = Some(Box::new(report));
    let mut ready = prepared();
    if let Input::Prepared { scan: of, on_base, .. } = &mut ready {
        (*of, *on_base) = (scan.clone(), reported.clone());
    }
    walk.feed(ready);
    let kept = walk.log.iter().find(|event| matches!(event, Event::Prepared { .. })).expect("prepared");
    assert!(
        matches!(kept, Event::Prepared { scan: of, on_base, .. } if *of == scan && *on_base == reported),
        "{kept:?}"
    );
    let written = serde_json::to_string(kept).expect("written");
    assert_eq!(serde_json::from_str::<Event>(&written).expect("read"), *kept);
    let mut older: serde_json::Value = serde_json::from_str(&written).expect("read");
    for newer in ["scan", "on_base"] {
        let gone = older.as_object_mut().expect("an object").remove(newer);
        assert!(gone.is_some(), "{newer}: {written}");
    }
    let read = serde_json::from_value::<Event>(older).expect("read");
    assert!(matches!(read, Event::Prepared { scan: None, on_base: None, .. }), "{read:?}");
    for (stored, kind) in
        [("\"security\"", TaskKind::Security), ("\"deps\"", TaskKind::Deps), ("\"search\"", TaskKind::Search)]
    {
        assert_eq!(serde_json::from_str::<TaskKind>(stored).expect("read"), kind);
    }
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
