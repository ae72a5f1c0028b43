//! The properties of each kind of action, effect and id, on which other crates rely.

use crate::common::*;
use caisson_domain::*;

#[test]
fn a_file_in_a_log_of_an_earlier_version_replaces_what_is_there() {
    let old = r#"{"kind":"write_files","files":[{"path":"a.py","content":"x"}]}"#;
    let action: Action = serde_json::from_str(old).expect("read");
    assert_eq!(action, Action::WriteFiles { files: vec![NewFile::new("a.py", "x")] });
    assert_eq!(serde_json::to_string(&action).expect("written"), old, "and is written as it was");
    let old = r#"{"path":"a.py","text":"x","because":"","lines":[]}"#;
    let shown: ShownFile = serde_json::from_str(old).expect("read");
    assert_eq!((shown.made, serde_json::to_string(&shown).expect("written").as_str()), (false, old));
}

#[test]
fn every_kind_of_action_says_what_is_true_of_it() {
    let file = || NewFile::new("a.py", "x");
    let edit = Action::EditFile { path: "a.py".into(), old: "x".into(), new: "y".into(), all: false };
    // Name, object, whether it writes, whether it gives files new texts, whether it runs in a copy.
    let all = [
        (Action::Bash { command: "make".into() }, "bash", "make", true, false, false),
        (Action::Background { command: "make".into() }, "bash", "make", true, false, false),
        (Action::ReadFile { path: "a".into(), from: 1, lines: 0 }, "read_file", "a", false, false, false),
        (Action::ReadRanges { path: "a".into(), ranges: Vec::new() }, "read_file", "a", false, false, false),
        (Action::Summarize { path: "a".into(), from: 1 }, "read_file", "a", false, false, false),
        (Action::WriteFile { path: "a".into(), content: "x".into() }, "write_file", "a", true, true, false),
        (Action::WriteFiles { files: vec![file(), file()] }, "write_files", "a.py, a.py", true, true, false),
        (edit, "edit_file", "a.py", true, true, false),
        (Action::EditPlaces { path: "a".into(), edits: Vec::new() }, "edit_file", "a", true, true, false),
        (Action::MoveFile { from: "a".into(), to: "b".into() }, "move_file", "a → b", true, false, false),
        (Action::DeleteFile { path: "a".into(), recursive: true }, "delete_file", "a", true, false, false),
        (Action::ListFiles { path: ".".into(), glob: None, depth: 1 }, "list_files", ".", false, false, false),
        (Action::Search { pattern: "x".into(), path: ".".into(), glob: None }, "search", "x", false, false, false),
        (Action::WebFetch { url: "https://a.test".into() }, "web_fetch", "https://a.test", false, false, false),
        (Action::Try { files: vec![file()], command: "make".into(), check: None }, "try", "a.py", true, true, true),
    ];
    for (action, name, object, writes, texts, apart) in all {
        let kind = action.what();
        assert_eq!((action.kind(), kind.name(), &*action.object()), (name, name, object));
        assert_eq!((action.writes(), kind.writes(), kind.writes_texts()), (writes, writes, texts), "{name}");
        assert_eq!((action.is_apart(), kind.is_apart()), (apart, apart), "{name}");
        let call = Call::Action { action };
        assert_eq!((call.may_change_the_tree(), call.is_apart()), (writes && !apart, apart), "{name}");
    }
    let shown = |action: Action| format!("{:?} {:?}", action.shown(), action.written());
    assert_eq!(shown(Action::WriteFiles { files: vec![file(), file()] }), r#"Wrote(["x", "x"]) ["a.py", "a.py"]"#);
    let edits = vec![TextEdit { old: "x".into(), new: "y".into(), all: false }];
    assert_eq!(shown(Action::EditPlaces { path: "a".into(), edits }), r#"Replaced([("x", "y")]) ["a"]"#);
    assert_eq!(shown(Action::Background { command: "make".into() }), "Started []");
    let apart = Action::Try { files: vec![file()], command: "make".into(), check: None };
    assert_eq!(shown(apart), "Ended []", "the task's own tree stays as it is");
    assert_eq!(shown(Action::MoveFile { from: "a".into(), to: "b".into() }), "Done []");
    assert_eq!(shown(Action::WebFetch { url: "https://a.test".into() }), "Printed []");
    let recall = Call::Recall { what: Recall { number: Some(1), words: String::new() } };
    let ask = Call::Ask { question: Question { text: String::new(), options: Vec::new() } };
    for call in [
        Call::Done { summary: String::new(), claims: Vec::new() },
        Call::UpdatePlan { plan: String::new() },
        recall,
        ask,
    ] {
        assert!(!call.may_change_the_tree() && !call.is_apart());
    }
    assert_eq!(
        Usage { input: 1000, output: 200, cache_read: 30, cache_write: 4, reasoning: 0, unpriced: 0 }.total(),
        1234
    );
    let good = [OutcomeStatus::Ok, OutcomeStatus::Exited { code: 0 }].iter().all(OutcomeStatus::succeeded);
    assert!(good && !OutcomeStatus::Exited { code: 1 }.succeeded() && !OutcomeStatus::TimedOut.succeeded());
}

#[test]
fn every_effect_says_what_it_needs() {
    use Again::{Charged, Converges, Never, ReadBack};
    use Queue::{Egress, Work};
    use SandboxNeed::{IfThere, Made, Nothing, Open, Standing};
    let (n, serial, at) = (1, 1, || commit(BASE));
    let run = Action::Bash { command: "make".into() };
    let source = Source::Comment(1);
    // Queue, whether it needs the barrier, whether it concerns the sandbox, whether it reads commits, whether it is cancelled with its
    // task, what a later try does.
    let all = [
        (Effect::Prepare { serial }, "prepare", Work, true, Made, true, true, Converges),
        (Effect::Converse { turn: 1 }, "converse", Work, true, Standing, true, true, Charged),
        (Effect::Act { number: 1, action: run, permitted: false }, "act", Work, true, Open, true, true, Never),
        (Effect::Capture { n, why: Why::Checkpoint }, "seal", Work, true, Standing, true, true, Converges),
        (Effect::Push { n, commit: at(), expected: None }, "push", Work, false, Nothing, true, true, Converges),
        (Effect::OpenPull, "open_pull", Work, false, Nothing, false, true, ReadBack),
        (Effect::Attach { n }, "attach", Work, false, Nothing, false, true, ReadBack),
        (Effect::Review { n, commit: None, last: false }, "review", Work, false, Nothing, true, true, ReadBack),
        (
            Effect::Ask { about: QuestionSubject::Permission { number: 1 }, serial },
            "ask",
            Work,
            false,
            Nothing,
            false,
            true,
            ReadBack,
        ),
        (Effect::Verify { n, commit: at() }, "verify", Work, true, Nothing, true, true, Converges),
        (Effect::Open { serial }, "open", Work, true, Made, true, true, Converges),
        (Effect::Rest { serial }, "rest", Work, false, IfThere, false, true, Converges),
        (Effect::Keep { serial }, "keep", Work, true, Standing, true, true, Converges),
        (
            Effect::Suspend { serial, suspension: Suspension::Stopped },
            "shelve",
            Work,
            false,
            IfThere,
            false,
            true,
            Converges,
        ),
        (Effect::Teardown, "teardown", Work, false, IfThere, false, false, Converges),
        (Effect::Recheck { n, sources: vec![source.clone()] }, "recheck", Work, false, Nothing, false, true, Converges),
        (Effect::Advance { n, source }, "advance", Work, false, Nothing, false, true, Converges),
        (
            Effect::Egress { serial, repo: false, notice: Notice::Help },
            "egress",
            Egress,
            false,
            IfThere,
            true,
            false,
            Converges,
        ),
    ];
    let mut keys = std::collections::BTreeSet::new();
    for (effect, kind, queue, barrier, sandbox, commits, ends_with_task, again) in all.into_iter().chain(of_texts()) {
        let set_aside = matches!(kind, "comment" | "status_comment");
        let needs = Needs { queue, barrier, sandbox, commits, ends_with_task, again, set_aside };
        assert_eq!(effect.needs(), needs, "{kind}");
        let named = matches!(kind, "push" | "verify" | "merge" | "commit_status").then(at);
        assert_eq!(effect.commit(), named.as_ref(), "{kind}");
        assert_eq!((effect.kind(), effect.queue()), (kind, queue));
        assert_eq!(FailedEffect::of(&effect.key()), failed(kind), "{kind}");
        assert!(keys.insert(effect.key()), "{kind} has another's key");
    }
    assert_eq!(keys.len(), 27);
}

type Row = (Effect, &'static str, Queue, bool, SandboxNeed, bool, bool, Again);

/// As in [`every_effect_says_what_it_needs`], of the queue of what people read.
fn of_texts() -> [Row; 9] {
    use Again::{Converges, ReadBack};
    use Queue::Talk;
    use SandboxNeed::Nothing;
    let (n, serial, at) = (1, 1, || commit(BASE));
    let state = || "success".to_owned();
    [
        (
            Effect::Comment { to: To::Seen { seq: 1, digest: None }, notice: Notice::Help },
            "comment",
            Talk,
            false,
            Nothing,
            false,
            false,
            ReadBack,
        ),
        (Effect::StatusComment, "status_comment", Talk, false, Nothing, false, false, Converges),
        (Effect::Label { serial, name: state() }, "label", Talk, false, Nothing, false, false, Converges),
        (
            Effect::CommitStatus { n, commit: at(), state: state() },
            "commit_status",
            Talk,
            false,
            Nothing,
            false,
            false,
            Converges,
        ),
        (Effect::ClosePull, "close_pull", Talk, false, Nothing, false, false, Converges),
        (Effect::ReadyPull, "ready_pull", Talk, false, Nothing, false, false, ReadBack),
        (Effect::AttachLog, "attach_log", Talk, false, Nothing, false, false, ReadBack),
        (
            Effect::Merge { serial, commit: at(), asker: person(7), to: To::Seen { seq: 1, digest: None } },
            "merge",
            Talk,
            false,
            Nothing,
            false,
            false,
            ReadBack,
        ),
        (Effect::ShowPlan { n }, "show_plan", Talk, false, Nothing, false, false, Converges),
    ]
}

/// What a failure of this kind of effect is about.
fn failed(kind: &str) -> FailedEffect {
    match kind {
        "act" => FailedEffect::Act { number: 1 },
        "seal" => FailedEffect::Capture,
        "keep" => FailedEffect::Keep,
        "ask" => FailedEffect::Ask,
        _ => FailedEffect::Another,
    }
}

#[test]
fn a_permitted_action_that_failed_is_that_action() {
    assert_eq!(FailedEffect::of("act:7:permitted"), FailedEffect::Act { number: 7 });
}

#[test]
fn ids_are_read_and_shown_as_they_are() {
    let full = "0123456789abcdef0123456789abcdef01234567";
    let commit = Commit::parse(full).unwrap();
    assert_eq!((commit.as_str(), commit.to_string().as_str(), commit.short()), (full, full, "0123456789"));
    for wrong in ["", &full[..39], &full.to_uppercase(), &full.replace('0', "g"), &format!("{full}0")] {
        assert_eq!(Commit::parse(wrong).map_err(|error| error.to_string().contains(wrong)), Err(true), "{wrong}");
    }
    assert_eq!(TaskId(7).to_string(), "7");
    let sources = [Source::Issue(1), Source::Comment(2), Source::Review(3)].map(|source| source.to_string());
    assert_eq!(sources, ["issue:1", "comment:2", "review:3"]);
    assert!(Loss::Memory.to_string().contains("memory") && Loss::Removed.to_string().contains("removed"));
}

#[test]
fn a_kind_without_a_limit_is_granted_nothing_more() {
    let granted = Budget { micro_usd: 0, tokens: 100, actions: 10, work_ms: 0 };
    let ceiling = Budget { micro_usd: 500, tokens: 150, actions: 0, work_ms: 0 };
    let money = Budget { micro_usd: 5, ..Budget::default() };
    assert_eq!(granted.bar(&money, &ceiling), Some(BudgetBar::Unlimited { what: "money".into() }));
    let tokens = Budget { tokens: 51, ..Budget::default() };
    let left = BudgetBar::Ceiling { what: "tokens".into(), left: 50, most: 150 };
    assert_eq!(granted.bar(&tokens, &ceiling), Some(left));
    assert_eq!(granted.bar(&Budget { tokens: 50, actions: 99, ..Budget::default() }, &ceiling), None);
}

#[test]
fn what_a_task_is_in_the_middle_of_shows_behind_a_pause_and_a_slot_in_line() {
    let mut walk = Walk::running(TaskKind::Fix);
    assert_eq!(walk.task.underneath(), &State::Running);
    walk.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "x".into() } });
    assert_eq!((walk.task.state.name(), walk.task.underneath()), ("paused", &State::Running));
    let mut waits = Walk::at_checkpoint();
    waits.crowded = true;
    waits.decide(approval(101));
    assert_eq!((waits.task.state.name(), waits.task.underneath().name()), ("queued", "running"));
    waits.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "x".into() } });
    assert_eq!((waits.task.state.name(), waits.task.underneath().name()), ("paused", "running"));
}
