//! Commands that change how a task continues: a pause, another model, options on a task at work.

use crate::common::*;
use caisson_domain::*;

#[test]
fn a_pause_stands_still_wherever_it_comes_and_a_resume_goes_on_there() {
    let mut queued = Walk::new(TaskKind::Fix);
    let mut running = Walk::running(TaskKind::Fix);
    running.answer(vec![bash(), bash()]);
    let mut asking = Walk::running(TaskKind::Fix);
    asking.answer(vec![ask()]);
    let mut waiting = Walk::at_checkpoint();
    for walk in [&mut queued, &mut running, &mut asking, &mut waiting] {
        let before = walk.task.state.clone();
        walk.decide(said(201, Verb::Pause));
        let asked = PauseReason::Asked { login: "p7".into() };
        assert_eq!(walk.task.state, State::Paused { reason: asked, from: Box::new(before.clone()) });
        assert!(walk.wants("rest"));
        walk.decide(said(202, Verb::Pause));
        assert!(matches!(walk.notice(), Some(Notice::NothingToPause { .. })));
        walk.decide(said(203, Verb::Resume));
        assert_eq!(walk.task.state, before);
    }
    assert_eq!(running.task.used, 1, "a pause resets no count");
    running.decide(Decision { right: Access::Read, ..said(204, Verb::Pause) });
    assert_eq!(running.task.state, State::Running, "somebody who may not write lets nothing stand still");
}

#[test]
fn a_model_is_named_only_where_the_operator_lets_people_name_it() {
    let mut walk = Walk::at_checkpoint();
    let model = |among: &[&str]| Verb::Model { id: "local".into(), among: among.iter().map(|&id| id.into()).collect() };
    walk.decide(said(201, model(&["big"])));
    assert!(matches!(walk.notice(), Some(Notice::NoSuchModel { .. })) && walk.task.model.is_none());
    walk.decide(said(202, model(&["big", "local"])));
    assert_eq!(walk.task.model.as_deref(), Some("local"));
    assert!(walk.task.answering.is_none() && walk.task.state.name() == "awaiting-review", "it decides nothing else");
    assert_eq!(Task::fold(TaskId(1), &walk.log).model, walk.task.model);
}

#[test]
fn options_where_a_task_is_at_work_are_answered_and_change_nothing() {
    let mut plan = Walk::running(TaskKind::Plan);
    plan.answer(vec![done()]).feed(Input::AnswerPosted { n: 1, number: 100 });
    let terms = Terms { model: Some("local".into()), ..Terms::default() };
    let before = plan.task.state.clone();
    plan.decide(said(201, Verb::Fix { words: "go".into(), terms }));
    assert!(matches!(plan.notice(), Some(Notice::TermsTooLate { .. })));
    assert_eq!((&plan.task.state, plan.task.kind), (&before, TaskKind::Plan));
}

#[test]
fn a_stored_command_without_options_is_read_and_written_as_it_was() {
    let stored = r#"{"verb":"fix","words":"it"}"#;
    let verb: Verb = serde_json::from_str(stored).expect("read");
    assert_eq!(verb, Verb::Fix { words: "it".into(), terms: Terms::default() });
    assert_eq!(serde_json::to_string(&verb).expect("written"), stored);
    let request = serde_json::to_string(&request(TaskKind::Fix)).expect("written");
    assert!(!request.contains("terms") && !request.contains("earlier"), "{request}");
}

/// A new attempt, asked for by the text 10.
fn again() -> Walk {
    let earlier = Earlier { task: TaskId(9), tried: Vec::new(), from: None, upstream_ci: None };
    Walk::asked(Request { earlier: Some(earlier), number: 10, ..request(TaskKind::Fix) })
}

#[test]
fn an_attempt_is_just_begun_until_it_is_shown_and_has_acted() {
    let mut walk = again();
    for input in [None, Some(Input::SlotFree), Some(prepared())] {
        if let Some(input) = input {
            walk.feed(input);
        }
        for (number, shown) in [(11, None), (11, Some(20)), (21, Some(20))] {
            assert!(walk.task.is_just_begun(number, shown), "{:?}: {number}, {shown:?}", walk.task.state);
        }
    }
    walk.answer(vec![bash(), bash()]);
    for task in [walk.task.clone(), Task::fold(TaskId(1), &walk.log)] {
        assert!(task.is_just_begun(11, Some(20)), "it was written before anybody could see the attempt");
        assert!(task.is_just_begun(11, None), "nobody can see it yet");
        assert!(!task.is_just_begun(21, Some(20)));
    }
    let mut first = Walk::new(TaskKind::Fix);
    assert!(!first.task.is_just_begun(11, None));
    first.feed(Input::SlotFree).feed(prepared());
    assert!(!first.task.is_just_begun(11, Some(20)), "a first attempt is followed at any time");
}

#[test]
fn an_attempt_that_rests_or_is_over_keeps_nobody_from_another() {
    let mut paused = again();
    paused.decide(said(25, Verb::Pause));
    assert!(paused.task.is_just_begun(11, Some(20)) && !paused.task.is_just_begun(26, Some(20)));
    let mut stopped = again();
    stopped.decide(said(30, Verb::Stop));
    assert!(stopped.task.state.ended());
    assert!(stopped.task.is_just_begun(29, Some(40)), "it was written before the end, of what nobody could see");
    for (number, shown) in [(29, None), (29, Some(20)), (30, Some(40)), (31, Some(40)), (31, None)] {
        assert!(!stopped.task.is_just_begun(number, shown), "{number}, {shown:?}");
    }
    let mut failed = again();
    failed.feed(Input::SlotFree);
    let why = "no such image".to_owned();
    failed.feed(Input::EffectFailed { effect: "prepare:2".into(), failure: Failure::Fatal { why } });
    assert!(failed.task.state.ended(), "{:?}", failed.task.state);
    assert!(failed.task.is_just_begun(11, Some(20)) && !failed.task.is_just_begun(21, Some(20)));
}
