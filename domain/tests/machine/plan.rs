//! The plan: who made it, what it consists of, when people are shown it.

use crate::common::*;
use caisson_domain::*;

fn texts(walk: &Walk) -> Vec<(&str, StepState)> {
    walk.task.steps.iter().map(|step| (step.text.as_str(), step.state)).collect()
}

fn update(markdown: &str) -> CallRequest {
    call(Call::UpdatePlan { plan: markdown.into() })
}

fn by(walk: &Walk) -> Option<&Account> {
    let newest = walk.log.iter().rev().find_map(|event| match event {
        Event::PlanUpdated { by, .. } => Some(by.as_ref()),
        _ => None,
    });
    newest.flatten()
}

#[test]
fn what_the_agent_notes_becomes_steps_and_a_text_of_an_older_log_too() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![update("- [x] find\n- [>] mend\n- [ ] test")]);
    assert_eq!(texts(&walk), [("find", StepState::Done), ("mend", StepState::Doing), ("test", StepState::Open)]);
    assert!(walk.task.plan_changed && by(&walk).is_none());
    let old: Event = serde_json::from_str(r#"{"event":"plan_updated","plan":"- [ ] a\n- [x] b"}"#).unwrap();
    let task = Task::fold(TaskId(1), [&old]);
    assert_eq!(task.steps.len(), 2);
}

#[test]
fn a_changed_plan_is_shown_once_with_the_next_checkpoint() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![update("- [ ] a\n- [ ] b"), bash(), bash(), bash(), bash(), bash()]).acts(5);
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert!(walk.wants("show_plan") && !walk.task.plan_changed);
    walk.decide(approval(101)).on_to_checkpoint(2);
    assert_eq!(walk.task.state.name(), "awaiting-review");
    assert!(!walk.wants("show_plan"), "it is the same plan");
}

#[test]
fn a_plan_behind_the_last_action_is_taken_up_before_its_checkpoint() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer([vec![bash(); 5], vec![update("- [x] a\n- [ ] b"), bash()]].concat()).acts(5);
    assert_eq!(texts(&walk), [("a", StepState::Done), ("b", StepState::Open)]);
    assert_eq!((&walk.task.state, walk.task.waiting.len()), (&State::Publishing { n: 1, why: Why::Checkpoint }, 1));
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert!(walk.wants("show_plan"), "{:?}", walk.last);
    let mut ends = Walk::running(TaskKind::Fix);
    ends.answer([vec![bash(); 5], vec![update("- [x] a\n- [x] b"), done()]].concat()).acts(5);
    assert_eq!(ends.task.state, State::Publishing { n: 1, why: Why::Done }, "no checkpoint before the end");
}

#[test]
fn the_numbered_list_of_an_answer_is_its_plan_unless_the_agent_noted_one() {
    let answer = || call(Call::Done { summary: "Found it.\n\n1. change a\n2. test a".into(), claims: Vec::new() });
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![answer()]);
    assert_eq!(texts(&walk), [("change a", StepState::Open), ("test a", StepState::Open)]);
    let mut noted = Walk::running(TaskKind::Plan);
    noted.answer(vec![update("- [ ] its own\n- [ ] and more"), answer()]);
    assert_eq!(texts(&noted)[0].0, "its own");
    // Another answer after requested changes is a new plan, and questions in a person's text are not steps.
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    let verb = Verb::Changes { items: vec![Item::on_the_whole("otherwise", "p7")] };
    walk.decide(Decision { source: Source::Comment(101), commit: None, verb, ..approval(101) });
    walk.feed(Input::Opened { fresh: None })
        .answer(vec![call(Call::Done { summary: "1. change c\n2. test c".into(), claims: Vec::new() })]);
    assert_eq!(texts(&walk)[0].0, "change c");
    let asked = Request { words: "\n- what is slow?\n- what would help?".into(), ..request(TaskKind::Plan) };
    let mut questions = Walk::asked(asked);
    questions.feed(Input::SlotFree).feed(prepared()).answer(vec![answer()]);
    assert_eq!(texts(&questions)[0].0, "change a");
}

#[test]
fn a_person_s_own_list_replaces_the_agents() {
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![call(Call::Done { summary: "1. change a\n2. test a".into(), claims: Vec::new() })]);
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    let fix = |number, words: &str| Decision {
        source: Source::Comment(number),
        commit: None,
        verb: Verb::Fix { words: words.into(), terms: Terms::default() },
        ..approval(number)
    };
    walk.decide(fix(101, "\n1. change b only\n2. test b"));
    assert_eq!((walk.task.kind, texts(&walk)[0].0), (TaskKind::Fix, "change b only"));
    assert_eq!(by(&walk), Some(&person(7)));
    let asked = Request { words: "please\n- first this\n- then that".into(), ..request(TaskKind::Fix) };
    let begun = Walk::asked(asked);
    assert_eq!((texts(&begun).len(), by(&begun)), (2, Some(&person(7))), "with the command that begins it too");
}

#[test]
fn a_plan_that_is_noted_again_before_anything_is_done_counts_as_a_turn_without_a_call() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![update("- [ ] a")]);
    assert_eq!((walk.task.malformed, walk.last.events.len()), (0, 3), "one by itself is taken");
    walk.answer(vec![bash()]).acts(1).answer(vec![update("- [x] a")]);
    assert_eq!(walk.task.malformed, 0, "an action came between them");
    for before in 0..MALFORMED_LIMIT {
        assert_eq!((walk.task.malformed, walk.task.state.name()), (before, "running"));
        let turn = walk.task.turn + 1;
        walk.answer(vec![update("- [ ] b")]);
        assert_eq!(walk.last.events[1], Event::Nudged { turn });
    }
    let stuck = matches!(&walk.task.state, State::Paused { reason: PauseReason::Stuck { .. }, .. });
    assert!(stuck, "{:?}", walk.task.state);
    walk.decide(said(101, Verb::Resume)).answer(vec![update("- [ ] c")]);
    assert_eq!((walk.task.malformed, walk.task.state.name()), (0, "running"), "somebody looked");
}

#[test]
fn a_recall_is_free_and_too_many_in_a_row_are_not_answered() {
    let recall = || call(Call::Recall { what: Recall { number: Some(1), words: String::new() } });
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1);
    walk.answer(vec![recall(), recall(), recall(), recall()]);
    let recalled = walk.log.iter().filter(|event| matches!(event, Event::Recalled { .. })).count();
    assert_eq!((walk.task.used, recalled, walk.task.malformed), (1, 3, 1));
    walk.answer(vec![bash()]).acts(1);
    assert_eq!((walk.task.recalls, walk.task.malformed), (0, 0), "an action makes room for more");
}

#[test]
fn a_conversation_is_shortened_for_the_coming_turn_alone() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1);
    let cut = |turn, shrunk, folded| Input::Compacted { turn, shrunk, folded, rate: 250 };
    for wrong in [cut(1, 1, 0), cut(3, 1, 0), cut(2, 2, 0), cut(2, 0, 1)] {
        walk.feed(wrong);
        assert!(walk.last.events.is_empty());
    }
    walk.feed(cut(2, 1, 1));
    assert_eq!(walk.last.events, [Event::Compacted { turn: 2, shrunk: 1, folded: 1, rate: 250 }]);
}
