//! A question of the agent waits for an answer by somebody with write access.

use crate::common::*;
use caisson_domain::*;

fn says(number: i64, verb: Verb) -> Decision {
    Decision { source: Source::Comment(number), commit: None, verb, ..approval(number) }
}

fn words(number: i64) -> Decision {
    says(number, Verb::Say { items: vec![Item::on_the_whole("this one", "p7")] })
}

fn posted(turn: u32, index: u32, number: i64) -> Input {
    Input::QuestionPosted { about: QuestionSubject::Question { turn, index }, number }
}

/// One action, then a question and an action that did not wait for its answer; the question has the forge's number 100.
fn asking() -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), ask(), bash()]).acts(1);
    let wanted: Vec<&str> = walk.last.effects.iter().map(Effect::kind).collect();
    assert_eq!(wanted[..2], ["rest", "ask"], "{wanted:?}");
    walk.feed(posted(1, 1, 100));
    walk
}

fn results(walk: &Walk) -> Vec<&Event> {
    walk.log.iter().filter(|event| matches!(event, Event::QuestionAnswered { .. })).collect()
}

#[test]
fn a_question_rests_until_it_is_answered_and_counts_nothing() {
    let mut walk = asking();
    assert_eq!(
        walk.task.state,
        State::Asking { about: QuestionSubject::Question { turn: 1, index: 1 }, number: Some(100) }
    );
    assert!(!walk.task.state.busy() && walk.task.waiting.is_empty() && walk.task.question.is_some());
    let left = Event::CallAnswered {
        turn: 1,
        index: 2,
        answer: "not run: the question before it waited for an answer; ask for it again if it is still wanted".into(),
        malformed: false,
    };
    assert!(walk.log.contains(&left));
    walk.decide(words(101));
    assert!(walk.wants("open") && results(&walk).len() == 1, "{:?}", walk.last);
    assert_eq!((walk.task.used, walk.task.state.name(), &walk.task.question), (1, "running", &None));
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(); 4]).acts(4);
    assert!(walk.wants("seal"), "the fifth action, counted from before the question");
}

#[test]
fn only_later_words_of_somebody_who_may_write_answer_it() {
    let mut walk = asking();
    let reader = Decision { right: Access::Read, ..words(101) };
    let edited = Decision { edited: true, ..words(101) };
    for other in [words(99), reader, edited, says(101, Verb::approve()), says(102, Verb::Status)] {
        walk.decide(other);
        assert_eq!((walk.task.state.name(), results(&walk).len()), ("asking", 0), "{:?}", walk.last);
    }
    walk.decide(says(103, Verb::Changes { items: Vec::new() }));
    assert_eq!((walk.task.state.name(), results(&walk).len()), ("running", 1), "a request for changes says it too");
    walk.decide(words(104));
    assert_eq!(results(&walk).len(), 1, "the next one is a remark");
    assert_eq!(walk.task.remarks.len(), 2, "with the one from before the question");
}

#[test]
fn what_comes_while_it_is_posted_is_judged_once_its_number_is_known() {
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![ask()]);
    walk.decide(words(101)).decide(words(103));
    assert_eq!((walk.task.state.name(), walk.task.unjudged.len(), walk.task.remarks.len()), ("asking", 2, 0));
    walk.feed(posted(2, 0, 102));
    assert_eq!(
        walk.task.state,
        State::Asking { about: QuestionSubject::Question { turn: 1, index: 0 }, number: None },
        "of another turn"
    );
    walk.feed(posted(1, 0, 102));
    let again = walk.last.effects.iter().find_map(|effect| match effect {
        Effect::Recheck { sources, .. } => Some(sources.len()),
        _ => None,
    });
    assert_eq!(again, Some(2));
    walk.decide(words(101));
    assert_eq!((walk.task.state.name(), walk.task.remarks.len()), ("asking", 1), "said before it stood");
    walk.decide(words(103));
    assert_eq!((walk.task.state.name(), walk.task.unjudged.len()), ("running", 0));
}

#[test]
fn a_paused_question_keeps_its_answer_and_one_that_was_not_posted_is_posted_again() {
    let mut walk = asking();
    walk.feed(Input::PauseAsked { reason: PauseReason::Blocked { sentence: "s".into() } });
    walk.decide(words(101));
    assert_eq!((walk.task.state.name(), results(&walk).len()), ("paused", 1));
    walk.decide(says(102, Verb::Resume));
    assert!(walk.task.state == State::Running && walk.wants("open"));

    let mut lost = Walk::running(TaskKind::Fix);
    lost.answer(vec![ask()]);
    let first = lost.last.effects.iter().find(|effect| effect.kind() == "ask").expect("asked").key();
    let failure = Failure::Blocked { sentence: "s".into() };
    lost.feed(Input::EffectFailed { effect: first.clone(), failure }).decide(says(99, Verb::Resume));
    let again = lost.last.effects.iter().find(|effect| effect.kind() == "ask").expect("posted again");
    assert_eq!(again.key(), first, "a text that stands is found again by it");
}

#[test]
fn too_many_questions_in_a_row_are_not_put() {
    let mut walk = Walk::running(TaskKind::Fix);
    for n in 0..3 {
        let number = 100 + 10 * n;
        walk.answer(vec![ask()]);
        let turn = walk.task.turn;
        walk.feed(posted(turn, 0, number));
        walk.decide(words(number + 1)).feed(Input::Opened { fresh: None });
    }
    walk.answer(vec![ask()]);
    assert_eq!((walk.task.state.name(), results(&walk).len(), walk.task.malformed), ("running", 3, 1));
    walk.answer(vec![bash()]).acts(1).answer(vec![ask()]);
    assert_eq!(walk.task.state.name(), "asking", "an action makes room for more");
}

#[test]
fn a_question_is_kept_with_its_answer_in_the_log() {
    let mut walk = asking();
    walk.decide(words(101));
    for event in &walk.log {
        let stored = serde_json::to_string(event).expect("stored");
        assert_eq!(&serde_json::from_str::<Event>(&stored).expect("read"), event);
    }
    assert_eq!(Task::fold(TaskId(1), &walk.log).state, walk.task.state);
}

/// The first of two actions waits for permission; the question has the forge's number 100.
fn permission() -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash()]);
    walk.feed(Input::PermissionAsked { number: 1, reason: "it publishes (p)".into() });
    assert!(walk.wants("ask") && walk.wants("rest"));
    walk.feed(Input::QuestionPosted { about: QuestionSubject::Permission { number: 1 }, number: 100 });
    walk
}

#[test]
fn a_permitted_action_runs_once_and_the_count_stays() {
    let mut walk = permission();
    let review = Decision { source: Source::Review(101), ..says(101, Verb::approve()) };
    let named = Verb::Approve { checkpoint: Some(1), commit: None, next: 0 };
    let reader = Decision { right: Access::Read, ..says(101, Verb::approve()) };
    for other in [says(99, Verb::approve()), review, says(101, named), reader] {
        walk.decide(other);
        assert_eq!(walk.task.state.name(), "asking", "{:?}", walk.last);
    }
    walk.decide(says(102, Verb::approve()));
    assert!(walk.wants("open") && !walk.wants("act"));
    walk.feed(Input::Opened { fresh: None });
    let acts: Vec<String> = walk.last.effects.iter().map(Effect::key).collect();
    assert_eq!(acts, ["act:1:permitted"]);
    walk.feed(Input::PermissionAsked { number: 1, reason: "again".into() });
    assert!(walk.last.events.is_empty(), "nobody is asked twice");
    walk.acts(1);
    assert_eq!((walk.task.running, walk.task.used, walk.task.permitted), (Some(2), 2, false));
}

#[test]
fn other_words_refuse_the_action_and_reach_the_agent() {
    let mut walk = permission();
    walk.decide(words(101));
    let ended = walk.log.iter().find_map(|event| match event {
        Event::ActionFinished { number: 1, outcome } => Some(outcome.status.clone()),
        _ => None,
    });
    let reason = "p7 did not permit it, and says: this one".to_owned();
    assert_eq!(ended, Some(OutcomeStatus::Denied { reason }));
    walk.feed(Input::Opened { fresh: None });
    assert_eq!((walk.task.running, walk.task.used), (Some(2), 2), "the next one of the same answer");
}

#[test]
fn a_pause_or_a_lost_sandbox_leaves_no_action_under_way() {
    let mut paused = Walk::running(TaskKind::Fix);
    paused.answer(vec![bash()]).feed(Input::PauseAsked { reason: PauseReason::Blocked { sentence: "s".into() } });
    paused.feed(Input::PermissionAsked { number: 1, reason: "r".into() });
    assert_eq!((paused.task.running, paused.task.state.name()), (None, "paused"));
    paused.decide(says(101, Verb::Resume));
    assert!(paused.wants("open"));

    let mut lost = permission();
    lost.decide(says(101, Verb::approve())).feed(Input::Opened { fresh: Some(Loss::EngineRestarted) });
    assert_eq!((lost.task.running, lost.task.permitted), (Some(2), false), "it did not run, and the next one does");
    let reason = "the sandbox was made anew before it ran; ask for it again if it is still wanted".to_owned();
    let denied = Outcome::new(OutcomeStatus::Denied { reason }, "");
    assert!(lost.log.contains(&Event::ActionFinished { number: 1, outcome: denied }), "{:?}", lost.last);
}

#[test]
fn a_permission_that_may_be_meant_for_what_another_just_decided_is_asked_about_once() {
    let mut walk = permission();
    let approves = |number, id, at| Decision { poster: person(id), at, ..says(number, Verb::approve()) };
    walk.decide(approves(101, 7, 1_000)).feed(Input::Opened { fresh: None }).acts(1);
    walk.feed(Input::PermissionAsked { number: 2, reason: "r".into() });
    walk.feed(Input::QuestionPosted { about: QuestionSubject::Permission { number: 2 }, number: 110 });
    walk.decide(approves(111, 8, 2_000));
    assert_eq!(walk.notice(), Some(&Notice::DoubtfulPermission { login: "p8".into(), number: 2 }));
    assert_eq!(walk.task.state.name(), "asking");
    walk.decide(approves(112, 8, 70_000));
    assert!(walk.task.permitted, "{:?}", walk.last);
}
