//! What holds whatever comes in, in whatever order.

use crate::common::*;
use caisson_domain::*;
use proptest::prelude::*;

fn calls() -> impl Strategy<Value = Vec<CallRequest>> {
    let one = prop_oneof![
        5 => Just(bash()),
        1 => Just(done()),
        1 => Just(call(Call::UpdatePlan { plan: "p".into() })),
        1 => Just(call(Call::Malformed { reason: "r".into() })),
    ];
    prop::collection::vec(one, 0..8)
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        6 => Just(Verb::Approve { checkpoint: None, commit: None }),
        2 => Just(Verb::Changes { items: Vec::new() }),
        1 => Just(Verb::Resume),
        1 => Just(Verb::Status),
        1 => Just(Verb::Say { items: Vec::new() }),
        1 => Just(Verb::Fix { words: String::new() }),
    ]
}

/// Inputs that often fit the state a task is in, and often don't.
#[derive(Debug, Clone)]
enum Move {
    Answer(Vec<CallRequest>),
    ActionEnds(bool),
    Tree(u8),
    Pushed,
    Pull,
    Verdict(bool),
    Review,
    Opened,
    Decide(Verb, i64),
    Gone,
    Blocked,
    Voided,
    Place,
    Prepared,
    Closed,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => calls().prop_map(Move::Answer),
        12 => any::<bool>().prop_map(Move::ActionEnds),
        6 => (0u8..3).prop_map(Move::Tree),
        6 => Just(Move::Pushed),
        3 => Just(Move::Pull),
        3 => any::<bool>().prop_map(Move::Verdict),
        6 => Just(Move::Review),
        5 => Just(Move::Opened),
        6 => (verb(), 0i64..3).prop_map(|(v, d)| Move::Decide(v, d)),
        1 => Just(Move::Gone),
        1 => Just(Move::Blocked),
        1 => Just(Move::Voided),
        2 => Just(Move::Place),
        2 => Just(Move::Prepared),
        1 => Just(Move::Closed),
    ];
    prop::collection::vec(one, 0..120)
}

fn play(walk: &mut Walk, step: Move, number: &mut i64) {
    let n = walk.task.next_n();
    let running = walk.task.running.unwrap_or(1);
    match step {
        Move::Answer(calls) => {
            walk.answer(calls);
        }
        Move::ActionEnds(interrupted) => {
            let mut outcome = ok();
            if interrupted {
                outcome.status = OutcomeStatus::Interrupted;
            }
            walk.feed(Input::ActionEnded { number: running, outcome });
        }
        Move::Tree(0) => {
            let tree = SealedTree { commit: commit(ONE), files: Vec::new(), diff: String::new(), steering: Vec::new() };
            walk.feed(Input::TreeSealed { n, tree });
        }
        Move::Tree(1) => {
            let head = walk.task.head.clone().unwrap_or_else(|| commit(BASE));
            walk.feed(Input::TreeUnchanged { n, commit: head });
        }
        Move::Tree(_) => {
            walk.feed(Input::TreeRefused { n, reasons: vec!["r".into()] });
        }
        Move::Pushed => {
            walk.feed(Input::Pushed { n, commit: commit(ONE) });
        }
        Move::Pull => {
            walk.feed(Input::PullOpened { number: 2, url: String::new() });
        }
        Move::Verdict(passed) => {
            walk.verdict(n, if passed { VerdictKind::Passed } else { VerdictKind::Failed });
        }
        Move::Review => {
            *number += 1;
            walk.feed(Input::ReviewPosted { n, review: *number, number: *number });
            walk.feed(Input::AnswerPosted { n, number: *number });
        }
        Move::Opened => {
            walk.feed(Input::Opened { fresh: None });
        }
        Move::Decide(verb, back) => {
            *number += 1;
            let mut decision = approval(*number - back);
            decision.verb = verb;
            walk.decide(decision);
        }
        Move::Gone => {
            let failure = Failure::SandboxGone { sentence: "s".into() };
            walk.feed(Input::EffectFailed { effect: "act:1".into(), failure });
        }
        Move::Blocked => {
            let failure = Failure::Blocked { sentence: "s".into() };
            walk.feed(Input::EffectFailed { effect: "push:1".into(), failure });
        }
        Move::Voided => {
            walk.feed(Input::CheckpointVoided { n: n.saturating_sub(1) });
        }
        Move::Place => {
            walk.feed(Input::PlaceFree);
        }
        Move::Prepared => {
            walk.feed(Input::Prepared { base: commit(BASE), boot: "b".into(), image: "i".into(), every: 5 });
        }
        Move::Closed => {
            walk.feed(Input::IssueClosed);
        }
    }
}

/// Actions begun since the last decision that was used.
fn most_actions_between_decisions(log: &[Event]) -> u32 {
    let (mut most, mut now) = (0, 0);
    for event in log {
        match event {
            Event::ActionStarted { .. } => now += 1,
            Event::DecisionUsed { .. } => now = 0,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn no_action_goes_past_an_unapproved_checkpoint_and_there_is_one_end(steps in moves()) {
        let mut walk = Walk::running(Kind::Fix);
        let mut number = 100;
        let mut effects = 0;
        for step in steps {
            let ended = walk.task.state.ended();
            play(&mut walk, step, &mut number);
            effects += walk.last.effects.len();
            prop_assert!(!ended || walk.last == Step::default(), "nothing happens after the end");
        }
        prop_assert!(most_actions_between_decisions(&walk.log) <= 5);
        let ends = walk.log.iter().filter(|e| matches!(e, Event::Ended { .. })).count();
        prop_assert!(ends <= 1);
        let last = matches!(walk.log.last(), Some(Event::Ended { .. }));
        prop_assert!(ends == 0 || last);
        prop_assert!(effects > 0 || walk.log.is_empty() || !walk.task.state.ended());
    }

    #[test]
    fn any_prefix_of_a_log_folds_and_the_whole_gives_the_same_task(steps in moves()) {
        let mut walk = Walk::running(Kind::Fix);
        let mut number = 100;
        for step in steps {
            play(&mut walk, step, &mut number);
        }
        for end in 0..=walk.log.len() {
            let part = Task::fold(TaskId(1), &walk.log[..end]);
            prop_assert_eq!(part.seq as usize, end);
        }
        prop_assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
    }

    #[test]
    fn events_survive_being_stored(steps in moves()) {
        let mut walk = Walk::running(Kind::Fix);
        let mut number = 100;
        for step in steps {
            play(&mut walk, step, &mut number);
        }
        for event in &walk.log {
            let text = serde_json::to_string(event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }

    /// A running task always has something under way: an effect wanted in the same step, or an action that runs.
    #[test]
    fn a_task_never_stands_still_by_itself(steps in moves()) {
        let mut walk = Walk::running(Kind::Fix);
        let mut number = 100;
        for step in steps {
            let before = walk.task.state.clone();
            play(&mut walk, step, &mut number);
            let entered = before != walk.task.state && walk.task.state.busy();
            let wants = walk.last.effects.iter().any(|e| e.lane() == Lane::Work);
            prop_assert!(!entered || walk.last.events.is_empty() || wants || walk.task.running.is_some(), "{:?}", walk.task.state);
        }
    }
}
