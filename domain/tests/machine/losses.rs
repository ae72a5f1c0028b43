//! The reaction to each way of losing a sandbox.

use crate::common::*;
use caisson_domain::*;

const COUNTED: [Loss; 6] = [Loss::Unknown, Loss::Ended, Loss::Stopped, Loss::Removed, Loss::Restarted, Loss::Untrusted];

fn gone(walk: &mut Walk, loss: Loss) {
    let effect = format!("act:{}", walk.task.running.unwrap_or(1));
    walk.feed(Input::EffectFailed { effect, failure: Failure::SandboxGone { loss } });
}

fn lost(walk: &Walk) -> Vec<Loss> {
    let of = |event: &Event| if let Event::SandboxLost { loss, .. } = event { Some(*loss) } else { None };
    walk.log.iter().filter_map(of).collect()
}

fn interrupted(walk: &Walk) -> usize {
    let marked =
        |e: &&Event| matches!(e, Event::ActionFinished { outcome, .. } if outcome.status == OutcomeStatus::Interrupted);
    walk.log.iter().filter(marked).count()
}

fn resume(walk: &mut Walk) {
    let mut resume = approval(500);
    resume.verb = Verb::Resume;
    walk.decide(resume);
}

#[test]
fn whatever_ended_it_the_action_is_marked_and_it_is_made_anew_from_the_last_commit() {
    for loss in COUNTED.into_iter().chain([Loss::Memory, Loss::EngineRestarted]) {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), bash()]);
        gone(&mut walk, loss);
        assert!(walk.wants("open") && walk.task.used == 1, "{loss:?}");
        assert_eq!((interrupted(&walk), lost(&walk)), (1, vec![loss]));
        walk.feed(Input::Opened { fresh: Some(loss) });
        assert!(walk.wants("act"), "{loss:?}: the second call is taken up");
        assert_eq!(lost(&walk), [loss], "told once");
    }
}

#[test]
fn an_end_that_was_said_right_behind_an_action_that_did_not_happen_is_no_end() {
    let done = || call(Call::Done { summary: "all of it".into(), claims: Vec::new() });
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]);
    gone(&mut walk, Loss::Removed);
    walk.feed(Input::Opened { fresh: Some(Loss::Removed) });
    assert!(walk.wants("converse") && walk.task.state == State::Running, "{:?}", walk.task.state);
}

#[test]
fn nor_is_one_behind_an_action_that_was_cut_during_a_pause_or_blocked() {
    let mut paused = Walk::running(TaskKind::Fix);
    paused.answer(vec![bash(), done()]).feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    gone(&mut paused, Loss::EngineRestarted);
    let mut cut = Walk::running(TaskKind::Fix);
    cut.answer(vec![bash(), done()]).feed(blocked("act:1"));
    for (mut walk, fresh) in [(paused, Some(Loss::EngineRestarted)), (cut, None)] {
        resume(&mut walk);
        walk.feed(Input::Opened { fresh });
        assert!(walk.wants("converse") && walk.task.state == State::Running, "{:?}", walk.last);
    }
}

#[test]
fn an_action_that_has_not_begun_runs_in_the_sandbox_that_is_made_anew() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1).feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    resume(&mut walk);
    // The model's call went on meanwhile, and what it asks for comes after the opening.
    walk.answer(vec![bash(), done()]).feed(Input::Opened { fresh: Some(Loss::EngineRestarted) });
    assert_eq!((walk.task.running, interrupted(&walk), lost(&walk)), (Some(2), 0, vec![Loss::EngineRestarted]));
    assert!(walk.task.uncommitted && walk.last.effects.is_empty(), "its effect is there already: {:?}", walk.last);
    walk.acts(1);
    assert!(walk.wants("converse"), "the end was said before the loss was known: {:?}", walk.last);
    walk.feed(Input::Opened { fresh: Some(Loss::Removed) });
    assert_eq!(lost(&walk), [Loss::EngineRestarted, Loss::Removed], "a second one");
}

#[test]
fn lack_of_memory_is_tried_again_once_and_then_a_person_is_asked() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash(), bash()]);
    gone(&mut walk, Loss::Memory);
    walk.feed(Input::Opened { fresh: Some(Loss::Memory) });
    gone(&mut walk, Loss::Memory);
    let memory = |state: &State| {
        matches!(state, State::Paused { reason: PauseReason::Exhausted { what: Resource::Memory, .. }, .. })
    };
    assert!(memory(&walk.task.state), "{:?}", walk.task.state);
    assert!(!walk.wants("open") && walk.wants("rest") && walk.notice().is_some());
    resume(&mut walk);
    assert!(walk.wants("open"));
    walk.feed(Input::Opened { fresh: Some(Loss::Memory) });
    assert_eq!(lost(&walk).len(), 2, "the loss before the pause is no new one");
    gone(&mut walk, Loss::Memory);
    assert_eq!(walk.task.state.name(), "running", "who resumes allows one more");
}

#[test]
fn other_losses_are_mended_three_times_and_an_engines_restart_as_often_as_it_takes() {
    for loss in COUNTED {
        let mut walk = Walk::running(TaskKind::Plan);
        for times in 1..=4 {
            walk.answer(vec![call(Call::Action { action: Action::WebFetch { url: "u".into() } })]);
            gone(&mut walk, loss);
            let state = if times == 4 { "paused" } else { "running" };
            assert_eq!(walk.task.state.name(), state, "{loss:?}, {times}");
            walk.feed(Input::Opened { fresh: Some(loss) });
        }
    }
    let mut walk = Walk::running(TaskKind::Plan);
    for _ in 0..10 {
        walk.answer(vec![call(Call::Action { action: Action::WebFetch { url: "u".into() } })]);
        gone(&mut walk, Loss::EngineRestarted);
        walk.feed(Input::Opened { fresh: Some(Loss::EngineRestarted) });
        assert_eq!(walk.task.state.name(), "running");
    }
}

#[test]
fn a_loss_that_is_found_when_work_goes_on_is_told_then() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(approval(101));
    walk.feed(Input::Opened { fresh: Some(Loss::Removed) });
    assert_eq!(lost(&walk), [Loss::Removed]);
    assert!(walk.wants("converse"));
}

#[test]
fn one_that_is_lost_while_its_task_is_paused_leaves_nothing_hanging() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]);
    walk.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    gone(&mut walk, Loss::Stopped);
    assert!(walk.task.running.is_none() && walk.task.state.name() == "paused" && interrupted(&walk) == 1);
    resume(&mut walk);
    assert!(walk.wants("open"));
}

#[test]
fn one_that_is_lost_before_its_tree_is_taken_shows_the_last_commit() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    let failure = Failure::SandboxGone { loss: Loss::EngineRestarted };
    walk.feed(Input::EffectFailed { effect: "seal:1".into(), failure });
    assert!(walk.wants("review"));
    assert_eq!((lost(&walk), walk.task.head.clone()), (vec![Loss::EngineRestarted], Some(commit(BASE))));
}

#[test]
fn one_that_is_lost_while_it_is_made_is_made_again_and_not_for_ever() {
    let mut walk = Walk::new(TaskKind::Fix);
    walk.feed(Input::SlotFree);
    let mut keys = Vec::new();
    for _ in 0..3 {
        gone(&mut walk, Loss::Removed);
        keys.extend(walk.last.effects.iter().filter(|e| e.kind() == "prepare").map(Effect::key));
    }
    keys.dedup();
    assert_eq!(keys.len(), 3, "each try has a key of its own: {keys:?}");
    gone(&mut walk, Loss::Removed);
    assert_eq!(walk.task.state.name(), "paused");
}

#[test]
fn a_router_that_was_replaced_is_noted_and_changes_nothing() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]);
    let before = (walk.task.state.clone(), walk.task.running);
    walk.feed(Input::RouterReplaced);
    assert_eq!(walk.last.events, [Event::RouterReplaced]);
    assert_eq!((walk.task.state.clone(), walk.task.running), before);
    let mut waits = Walk::at_checkpoint();
    waits.feed(Input::RouterReplaced);
    assert!(waits.last.events.is_empty(), "its way out was closed: it has lost nothing");
}

#[test]
fn a_log_of_an_earlier_release_still_folds() {
    let old = r#"{"event":"sandbox_lost","sentence":"the sandbox had to be made anew"}"#;
    let event: Event = serde_json::from_str(old).expect("an event");
    assert!(matches!(event, Event::SandboxLost { loss: Loss::Unknown, .. }));
    assert_eq!(Task::fold(TaskId(1), [&event]).losses, 1);
}
