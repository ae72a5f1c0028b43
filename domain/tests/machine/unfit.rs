//! Inputs that do not fit the state, the turn or the checkpoint change nothing; those that fit are taken.

use crate::common::*;
use caisson_domain::*;

fn looked(turn: u32) -> Input {
    Input::Looked { turn, look: Box::default() }
}

fn another(turn: u32) -> Input {
    Input::AnotherWay { turn, tried: vec!["t".into()] }
}

fn starting(turn: u32) -> Input {
    Input::ModelCallStarting { turn, worst_micro_usd: 10 }
}

fn answered(turn: u32) -> Input {
    Input::ModelAnswered {
        turn,
        text: "late".into(),
        calls: vec![bash()],
        usage: Usage::default(),
        micro_usd: 1,
        duration_ms: 1,
        model: "m".into(),
        vendor: None,
    }
}

/// All that is about one turn.
fn of_turn(turn: u32) -> [Input; 7] {
    [
        looked(turn),
        Input::Compacted { turn, shrunk: 1, folded: 1, rate: 250 },
        another(turn),
        starting(turn),
        Input::ModelCallRefused { turn, fallback: None },
        Input::PicturesRefused { turn },
        answered(turn),
    ]
}

fn looks_again(n: u32) -> Input {
    Input::SecondLookStarting { n, worst_micro_usd: 20 }
}

fn looked_again(n: u32) -> Input {
    let usage = Usage { input: 4, output: 2, ..Usage::default() };
    Input::SecondLooked { n, text: "fine".into(), usage, micro_usd: 4, duration_ms: 6, model: "m".into() }
}

/// All that is about one checkpoint that is being published.
fn of_checkpoint(n: u32) -> [Input; 9] {
    let verdict = Verdict { kind: VerdictKind::Passed, ..Verdict::default() };
    [
        Input::TreeCaptured { n, tree: captured_tree(commit(ONE)) },
        Input::TreeUnchanged { n, commit: commit(BASE), left_out: Vec::new() },
        Input::TreeRefused { n, reasons: vec!["r".into()] },
        Input::Pushed { n, commit: commit(ONE) },
        Input::Verified { n, verdict, ci: None },
        Input::ReviewPosted { n, review: 50, number: 100, risk: None },
        Input::AnswerPosted { n, number: 100 },
        looks_again(n),
        Input::CiEnded { n, outcome: CiOutcome::Passed, checks: Vec::new(), more: 0 },
    ]
}

fn gone(effect: &str) -> Input {
    Input::EffectFailed { effect: effect.into(), failure: Failure::SandboxGone { loss: Loss::Removed } }
}

fn full() -> Input {
    let failure = Failure::ContextFull { context_tokens: Some(9) };
    Input::EffectFailed { effect: "converse:2".into(), failure }
}

fn stuck() -> Input {
    Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } }
}

fn pull() -> Input {
    Input::PullOpened { number: 9, url: String::new() }
}

#[test]
fn what_is_about_another_turn_than_the_next_is_not_taken() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1).feed(starting(2));
    for input in [0, 1, 3].into_iter().flat_map(of_turn) {
        walk.ignores(input);
    }
    walk.feed(looked(2));
    assert_eq!(walk.last.events, [Event::Looked { turn: 2, look: Box::default() }]);
    walk.feed(Input::PicturesRefused { turn: 2 });
    let uncharged = Event::ModelCallUncharged { turn: 2, fallback: None };
    assert_eq!(walk.last.events, [uncharged, Event::PicturesRefused { turn: 2 }]);
    assert_eq!((walk.task.spent.micro_usd, walk.task.model_starts), (3, 0), "the refused call cost nothing");
    walk.feed(Input::PicturesRefused { turn: 2 });
    assert_eq!(walk.last.events, [Event::PicturesRefused { turn: 2 }], "no call is under way");
    walk.feed(another(2));
    assert_eq!(walk.last.events, [Event::AnotherWay { tried: vec!["t".into()] }, Event::ConversationRestarted]);
    walk.feed(answered(2));
    assert_eq!((walk.task.turn, walk.task.running), (2, Some(2)));
}

#[test]
fn a_task_that_waits_for_a_person_takes_no_result_of_work() {
    let mut walk = Walk::at_checkpoint();
    for input in of_turn(2).into_iter().chain(of_checkpoint(1)) {
        walk.ignores(input);
    }
    let turns = SummaryOf::Turns { upto: 1, from: 1, to: 1 };
    let attached = ArtifactStep::Attached { commit: commit(ONE), hang: ArtifactsHang::Refused };
    for input in [
        prepared(),
        Input::SlotFree,
        Input::Opened { fresh: None },
        Input::ActionEnded { number: 5, outcome: ok() },
        Input::PermissionAsked { number: 5, reason: "r".into() },
        Input::QuestionPosted { about: QuestionSubject::Permission { number: 5 }, number: 150 },
        Input::SummaryStarting { of: turns, worst_micro_usd: 1 },
        Input::Artifacts { step: Box::new(attached) },
        Input::WorkKept { commit: commit(ONE) },
        Input::WorkNotKept { reasons: vec!["r".into()] },
        Input::Fetched { commit: commit(ONE) },
        Input::CheckpointVoided { n: 7 },
        Input::RouterReplaced,
        Input::LogAttached,
        Input::Settled,
        looked_again(1),
        gone("rest:1"),
        full(),
        pull(),
    ] {
        walk.ignores(input);
    }
    assert_eq!(walk.task.state, State::AwaitingReview { n: 1, commit: Some(commit(ONE)) });
}

#[test]
fn while_an_action_runs_nothing_of_another_one_is_taken() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash()]);
    for input in [
        prepared(),
        Input::SlotFree,
        Input::ActionEnded { number: 2, outcome: ok() },
        Input::PermissionAsked { number: 2, reason: "r".into() },
        Input::WorkNotKept { reasons: vec!["r".into()] },
        Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } },
        Input::Expired,
        full(),
        pull(),
    ] {
        walk.ignores(input);
    }
    walk.acts(2);
    assert!(walk.wants("converse"), "{:?}", walk.last);
    let mut went_on = Walk::at_checkpoint();
    went_on.decide(approval(101)).ignores(Input::CheckpointVoided { n: 1 });
}

#[test]
fn a_paused_task_begins_nothing_and_takes_what_was_under_way() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1).feed(starting(2)).feed(stuck());
    let turns = SummaryOf::Turns { upto: 1, from: 1, to: 1 };
    for input in [
        looked(2),
        Input::Compacted { turn: 2, shrunk: 1, folded: 1, rate: 250 },
        another(2),
        starting(2),
        Input::SummaryStarting { of: turns, worst_micro_usd: 1 },
        Input::ActionEnded { number: 1, outcome: ok() },
        prepared(),
        Input::SlotFree,
        gone("rest:1"),
        stuck(),
        pull(),
    ] {
        walk.ignores(input);
    }
    walk.feed(answered(2));
    assert_eq!((walk.task.turn, walk.task.waiting.len(), walk.task.running), (2, 1, None), "its answer is kept");
    walk.crowded = true;
    walk.decide(said(101, Verb::Resume));
    assert_eq!(walk.task.state, State::Queued);
    walk.ignores(gone("rest:1")).ignores(Input::Expired);
}

#[test]
fn what_is_about_another_checkpoint_than_the_published_one_is_not_taken() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    for input in [0, 2].into_iter().flat_map(of_checkpoint).chain([looked_again(0), looked_again(2)]) {
        walk.ignores(input);
    }
    walk.captured(1);
    assert!(walk.wants("review"), "{:?}", walk.last);
    let mut done_with = Walk::running(TaskKind::Fix);
    done_with.answer(vec![bash(), done()]).acts(1).captured(1);
    assert_eq!(done_with.task.state, State::Verifying { n: 1, commit: commit(ONE) });
    for input in [0, 2].into_iter().flat_map(of_checkpoint).chain([looked_again(0), looked_again(2)]) {
        done_with.ignores(input);
    }
}

#[test]
fn a_second_look_is_charged_while_its_checkpoint_is_published() {
    let mut published = Walk::running(TaskKind::Fix);
    published.answer(vec![bash(); 5]).acts(5).captured(1);
    let mut verified = Walk::running(TaskKind::Fix);
    verified.answer(vec![bash(), done()]).acts(1).captured(1);
    for walk in [&mut published, &mut verified] {
        let before = walk.task.spent;
        walk.feed(looks_again(1));
        assert_eq!(walk.last.events, [Event::SecondLookStarted { n: 1, worst_micro_usd: 20 }]);
        assert_eq!(walk.task.spent.micro_usd, before.micro_usd + 20);
        // A pause does not lose an answer that is paid for, and begins no other look.
        walk.feed(stuck()).ignores(looks_again(1));
        walk.feed(looked_again(1));
        assert!(matches!(walk.last.events[..], [Event::SecondLooked { n: 1, micro_usd: 4, .. }]), "{:?}", walk.last);
        let spent = walk.task.spent;
        assert_eq!((spent.micro_usd, spent.tokens), (before.micro_usd + 4, before.tokens + 6));
        assert_eq!(spent.work_ms, before.work_ms + 6);
    }
}

#[test]
fn a_second_look_behind_the_end_costs_what_it_cost_and_one_that_was_refused_nothing() {
    let refused = Input::SecondLooked {
        n: 1,
        text: "it is overloaded".into(),
        usage: Usage::default(),
        micro_usd: 0,
        duration_ms: 0,
        model: "m".into(),
    };
    for (input, micro_usd) in [(refused, 0), (looked_again(1), 4)] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(); 5]).acts(5).captured(1);
        let before = walk.task.spent.micro_usd;
        walk.feed(looks_again(1)).decide(Decision { verb: Verb::Stop, ..approval(101) });
        assert_eq!((walk.task.state.ended(), walk.task.spent.micro_usd), (true, before + 20));
        walk.ignores(looked_again(2)).feed(input.clone());
        assert_eq!((walk.task.state.ended(), walk.task.spent.micro_usd), (true, before + micro_usd));
        walk.ignores(input);
    }
    // What a summary may have cost is not taken back by a second look that was never asked for.
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1);
    let of = SummaryOf::Turns { upto: 1, from: 1, to: 1 };
    walk.feed(Input::SummaryStarting { of, worst_micro_usd: 500 });
    walk.decide(Decision { verb: Verb::Stop, ..approval(101) }).ignores(looked_again(1));
}

#[test]
fn a_pause_while_publishing_takes_only_the_push_of_that_checkpoint() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeCaptured { n: 1, tree: captured_tree(commit(ONE)) });
    walk.feed(stuck());
    for n in [0, 2] {
        walk.ignores(Input::Pushed { n, commit: commit(ONE) });
    }
    walk.ignores(Input::TreeRefused { n: 1, reasons: vec!["r".into()] });
    walk.ignores(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.feed(Input::Pushed { n: 1, commit: commit(ONE) });
    assert_eq!(walk.last.events, [Event::Pushed { n: 1, commit: commit(ONE) }]);
    walk.feed(pull());
    assert_eq!(walk.task.pull, Some(9));
}

#[test]
fn a_permitted_action_does_not_run_during_a_pause() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).feed(Input::PermissionAsked { number: 1, reason: "r".into() });
    walk.feed(Input::QuestionPosted { about: QuestionSubject::Permission { number: 1 }, number: 100 });
    walk.decide(said(101, Verb::approve()));
    assert!(walk.task.permitted && walk.wants("open"));
    walk.feed(stuck()).ignores(Input::Opened { fresh: None });
    walk.decide(said(102, Verb::Resume));
    assert!(walk.wants("open"), "{:?}", walk.last);
    walk.feed(Input::Opened { fresh: None });
    let acts: Vec<String> = walk.last.effects.iter().map(Effect::key).collect();
    assert_eq!(acts, ["act:1:permitted"]);
}

#[test]
fn a_question_whose_sandbox_is_gone_waits_on_unless_it_could_not_be_posted() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![ask()]).ignores(gone("rest:1"));
    walk.feed(gone("ask:9"));
    let blocked = PauseReason::Blocked { sentence: Loss::Removed.to_string() };
    assert!(matches!(&walk.task.state, State::Paused { reason, .. } if *reason == blocked), "{:?}", walk.task.state);
}

#[test]
fn a_voided_review_is_voided_once() {
    let mut walk = Walk::at_checkpoint();
    walk.feed(stuck()).feed(Input::CheckpointVoided { n: 1 });
    assert_eq!(walk.last.events, [Event::CheckpointVoided { n: 1 }]);
    walk.ignores(Input::CheckpointVoided { n: 1 });
}
