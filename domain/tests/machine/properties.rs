//! Invariants that hold for all inputs in any order.

use crate::common::*;
use caisson_domain::*;
use proptest::prelude::*;

fn calls() -> impl Strategy<Value = Vec<CallRequest>> {
    let one = prop_oneof![
        5 => Just(bash()),
        1 => Just(done()),
        1 => Just(call(Call::UpdatePlan { plan: "- a\n- b".into() })),
        1 => Just(call(Call::Recall { what: Recall { number: Some(1), words: String::new() } })),
        1 => (1..4_u32, any::<bool>()).prop_map(|(remark, addressed)| {
            call(Call::AnswerRemark { answer: RemarkAnswer { remark, text: "t".into(), addressed } })
        }),
        1 => Just(ask()),
        1 => Just(call(Call::Malformed { reason: "r".into() })),
    ];
    prop::collection::vec(one, 0..8)
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        6 => (0u8..4).prop_map(|next| Verb::Approve { checkpoint: None, commit: None, next }),
        1 => Just(Verb::Changes { items: Vec::new() }),
        1 => Just(Verb::Changes { items: vec![Item::on_the_whole("shorter", "p7")] }),
        1 => Just(more_actions()),
        2 => Just(Verb::Resume),
        1 => Just(Verb::Pause),
        1 => any::<bool>().prop_map(|listed| Verb::Model {
            id: "m".into(),
            among: if listed { vec!["m".into()] } else { Vec::new() },
        }),
        1 => Just(Verb::Status),
        1 => any::<bool>().prop_map(|moved| Verb::Rebase { tip: Some(commit(if moved { ONE } else { BASE })) }),
        1 => any::<bool>().prop_map(|open| Verb::Merge {
            bar: (!open).then(|| MergeBar::Off { repository: "shop".into() }),
        }),
        1 => Just(Verb::Sync),
        1 => Just(Verb::Test { command: "c".into(), setup: None, branch: None, bug: true, each_push: false }),
        1 => Just(Verb::TestOff),
        1 => Just(Verb::Say { items: Vec::new() }),
        1 => Just(Verb::Fix { words: String::new(), terms: Terms::default() }),
        1 => any::<bool>().prop_map(|repo| Verb::Allow { host: "a.test".into(), repo, bar: None }),
        1 => Just(Verb::Deny { host: "a.test".into(), kept: false }),
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop::sample::select(vec![
        Loss::Unknown,
        Loss::Memory,
        Loss::Ended,
        Loss::Stopped,
        Loss::Removed,
        Loss::Restarted,
        Loss::EngineRestarted,
        Loss::Untrusted,
        Loss::PutAway,
        Loss::Moved,
        Loss::Outdated,
    ])
}

/// Inputs that may or may not fit the task's state.
#[derive(Debug, Clone)]
enum Move {
    Answer(Vec<CallRequest>),
    ActionEnds(bool),
    Tree(u8),
    Pushed,
    Pull,
    Verdict(bool),
    Review(Option<Risk>),
    Advance(Access),
    Opened(Option<Loss>),
    Idled(Suspension),
    Kept(bool),
    Full,
    Question,
    Permission,
    Decide(Verb, i64),
    Gone(Loss),
    Router,
    Blocked,
    Voided,
    Slot,
    Prepared,
    Closed,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => calls().prop_map(Move::Answer),
        12 => any::<bool>().prop_map(Move::ActionEnds),
        6 => (0u8..4).prop_map(Move::Tree),
        6 => Just(Move::Pushed),
        3 => Just(Move::Pull),
        3 => any::<bool>().prop_map(Move::Verdict),
        6 => prop_oneof![3 => Just(None), 1 => Just(Some(Risk::Blocked))].prop_map(Move::Review),
        6 => prop_oneof![4 => Just(Access::Write), 1 => Just(Access::Read)].prop_map(Move::Advance),
        5 => prop::option::weighted(0.2, loss()).prop_map(Move::Opened),
        2 => prop_oneof![Just(Suspension::Stopped), Just(Suspension::Evicted)].prop_map(Move::Idled),
        2 => any::<bool>().prop_map(Move::Kept),
        1 => Just(Move::Full),
        3 => Just(Move::Question),
        1 => Just(Move::Permission),
        6 => (verb(), 0i64..3).prop_map(|(v, d)| Move::Decide(v, d)),
        2 => loss().prop_map(Move::Gone),
        1 => Just(Move::Router),
        1 => Just(Move::Blocked),
        1 => Just(Move::Voided),
        2 => Just(Move::Slot),
        2 => Just(Move::Prepared),
        1 => Just(Move::Closed),
    ];
    prop::collection::vec(one, 0..120)
}

fn what_is_asked(task: &Task, running: u32) -> QuestionSubject {
    if let State::Asking { about, .. } = task.underneath() {
        *about
    } else {
        QuestionSubject::Permission { number: running }
    }
}

fn play(walk: &mut Walk, step: Move, number: &mut i64) {
    let n = walk.task.next_n();
    let running = walk.task.running.unwrap_or(1);
    match step {
        Move::Answer(calls) => {
            walk.answer(calls);
        }
        Move::ActionEnds(interrupted) => {
            let status = if interrupted { OutcomeStatus::Interrupted } else { ok().status };
            walk.feed(Input::ActionEnded { number: running, outcome: Outcome { status, ..ok() } });
        }
        Move::Tree(kind @ (0 | 3)) => {
            let steering = if kind == 3 { vec!["conftest.py".to_owned()] } else { Vec::new() };
            let tree = CapturedTree { steering, ..captured_tree(commit(ONE)) };
            walk.feed(Input::TreeCaptured { n, tree });
        }
        Move::Tree(1) => {
            let head = walk.task.head.clone().unwrap_or_else(|| commit(BASE));
            walk.feed(Input::TreeUnchanged { n, commit: head, left_out: Vec::new() });
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
        Move::Advance(right) => {
            let n = walk.task.checkpoint().map_or(1, |at| at.n);
            let source = walk.task.advance.as_ref().map(|given| given.source.clone());
            let verb = Verb::Approve { checkpoint: None, commit: None, next: 1 };
            let fresh = source.map(|source| Decision { source, right, verb, ..approval(1) });
            walk.feed(Input::AdvanceRead { n, decision: fresh.map(Box::new) });
        }
        Move::Review(risk) => {
            *number += 1;
            walk.feed(Input::ReviewPosted { n, review: *number, number: *number, risk });
            walk.feed(Input::AnswerPosted { n, number: *number });
        }
        Move::Idled(suspension) => {
            walk.feed(Input::Idled { suspension });
        }
        Move::Kept(true) => {
            walk.feed(Input::WorkKept { commit: commit(ONE) });
        }
        Move::Kept(false) => {
            walk.feed(Input::WorkNotKept { reasons: vec!["r".into()] });
        }
        Move::Full => {
            walk.feed(Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } });
        }
        Move::Permission => {
            walk.feed(Input::PermissionAsked { number: running, reason: "r".into() });
        }
        Move::Question => {
            *number += 1;
            let about = what_is_asked(&walk.task, running);
            walk.feed(Input::QuestionPosted { about, number: *number });
        }
        Move::Opened(fresh) => {
            walk.feed(Input::Opened { fresh });
        }
        Move::Decide(verb, back) => {
            *number += 1;
            let mut decision = approval(*number - back);
            decision.verb = verb;
            walk.decide(decision);
        }
        Move::Gone(loss) => {
            let failure = Failure::SandboxGone { loss };
            walk.feed(Input::EffectFailed { effect: "act:1".into(), failure });
        }
        Move::Router => {
            walk.feed(Input::RouterReplaced);
        }
        Move::Blocked => {
            let failure = Failure::Blocked { sentence: "s".into() };
            walk.feed(Input::EffectFailed { effect: "push:1".into(), failure });
        }
        Move::Voided => {
            walk.feed(Input::CheckpointVoided { n: n.saturating_sub(1) });
        }
        Move::Slot => {
            walk.feed(Input::SlotFree);
        }
        Move::Prepared => {
            walk.feed(prepared());
        }
        Move::Closed => {
            walk.feed(Input::IssueClosed);
        }
    }
}

/// The most actions that began between two used decisions.
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

/// A lost sandbox is made anew automatically only a limited number of times.
fn made_anew_in_bounds(walk: &Walk) -> bool {
    let lost =
        walk.last.events.iter().find_map(|e| if let Event::SandboxLost { loss, .. } = e { Some(*loss) } else { None });
    let again = walk.wants("open") || walk.wants("prepare");
    lost.is_none_or(|loss| !again || !walk.task.loses_too_often(loss))
}

/// An approval in advance is only used while some are left, for a pushed commit, not for a final checkpoint, nor for changes to what steers
/// tests.
fn used_as_given(log: &[Event]) -> bool {
    let (mut left, mut risky, mut coverable, mut good) = (0, false, false, true);
    for event in log {
        match event {
            Event::TreeCaptured { tree, .. } => risky |= !tree.steering.is_empty(),
            Event::HostAllowed { .. } | Event::HostDenied { .. } => risky = true,
            Event::CheckpointPosted { commit, last, .. } => {
                coverable = commit.is_some() && !last && !risky;
                risky = false;
            }
            Event::Answered { .. } => (coverable, risky) = (false, false),
            Event::DecisionUsed { decision, .. } if decision.in_advance => {
                good &= coverable && left > 0 && decision.right >= Access::Write;
                left -= 1;
            }
            Event::DecisionUsed { decision, .. } => {
                left = if let Verb::Approve { next, .. } = decision.verb { i32::from(next) } else { 0 };
            }
            Event::Paused { .. }
            | Event::CheckpointVoided { .. }
            | Event::FeedbackGiven { .. }
            | Event::DecisionHeld { .. }
            | Event::AdvanceEnded { .. } => left = 0,
            _ => {}
        }
    }
    good
}

/// The task's counters equal those computed from the log without the fold.
fn counted_alike(task: &Task, log: &[Event]) -> Result<(), TestCaseError> {
    let is_decision = |e: &Event| matches!(e, Event::DecisionUsed { .. });
    let since = log.iter().rposition(is_decision).map_or(0, |at| at + 1);
    let started = |events: &[Event]| events.iter().filter(|e| matches!(e, Event::ActionStarted { .. })).count();
    // The final approval does not reset the counter.
    if !matches!(task.state, State::Approved { .. } | State::Ended { .. }) {
        prop_assert_eq!(usize::from(task.used), started(&log[since..]));
    }
    prop_assert_eq!(task.spent.actions as usize, started(log));
    let turns = log.iter().filter(|e| matches!(e, Event::TurnCompleted { .. })).count();
    prop_assert_eq!(task.turn as usize, turns);
    let posted = log.iter().filter(|e| matches!(e, Event::CheckpointPosted { .. } | Event::Answered { .. })).count();
    prop_assert_eq!(task.checkpoints.len(), posted);
    let last = |of: fn(&Event) -> Option<&Commit>| log.iter().rev().find_map(of).cloned();
    prop_assert_eq!(&task.pushed, &last(|e| if let Event::Pushed { commit, .. } = e { Some(commit) } else { None }));
    let begun = log.iter().rev().find_map(|e| match e {
        Event::ActionStarted { number, .. } => Some(Some(*number)),
        Event::ActionFinished { .. } => Some(None),
        _ => None,
    });
    prop_assert_eq!(task.running, begun.flatten());
    prop_assert_eq!(&task.numbered, &Remarks::of(log));
    let ended = log.iter().any(|e| matches!(e, Event::Ended { .. }));
    prop_assert_eq!(task.state.ended(), ended);
    let under_way = |at: usize| {
        let last = log[..at].iter().rfind(|e| matches!(e, Event::ActionStarted { .. } | Event::ActionFinished { .. }));
        matches!(last, Some(Event::ActionStarted { .. }))
    };
    let taken = (0..log.len()).rev().find(|at| match &log[*at] {
        // An action that has not begun runs in the new sandbox.
        Event::SandboxLost { loss, .. } => *loss != Loss::Outdated && !under_way(*at),
        Event::TreeCaptured { .. } | Event::TreeUnchanged { .. } | Event::WorkKept { .. } => true,
        _ => false,
    });
    prop_assert_eq!(task.uncommitted, started(&log[taken.map_or(0, |at| at + 1)..]) > 0);
    Ok(())
}

/// One segment of work up to a checkpoint: what a person says and when, the result, and what the repeated check shows.
#[derive(Debug, Clone)]
struct Segment {
    word: Option<(u8, Verb)>,
    steers: bool,
    risk: Option<Risk>,
    right: Access,
    next: u8,
}

fn segment() -> impl Strategy<Value = Segment> {
    let word = prop::option::weighted(0.3, (0u8..3, verb()));
    let risk = prop::option::weighted(0.2, Just(Risk::Blocked));
    let right = prop_oneof![5 => Just(Access::Write), 1 => Just(Access::Read)];
    (word, prop::bool::weighted(0.2), risk, right, 0u8..4).prop_map(|(word, steers, risk, right, next)| Segment {
        word,
        steers,
        risk,
        right,
        next,
    })
}

fn say(walk: &mut Walk, segment: &Segment, moment: u8, number: i64) {
    let mut prepared = prepared();
    if let Some((_, verb)) = segment.word.as_ref().filter(|(at, _)| *at == moment) {
        walk.decide(Decision { verb: verb.clone(), ..approval(number) });
        if walk.task.state.name() == "paused" {
            walk.decide(Decision { verb: Verb::Resume, ..approval(number + 1) });
        }
        if let (Input::Prepared { conflicts, .. }, "preparing") = (&mut prepared, walk.task.state.name()) {
            conflicts.push("a.py".to_owned());
            walk.feed(prepared);
        }
    }
}

/// Works up to the next checkpoint; if it still waits after the repeated check, somebody approves it.
fn work(walk: &mut Walk, segment: &Segment) {
    let n = walk.task.next_n();
    let number = i64::from(n) * 100;
    say(walk, segment, 0, number - 20);
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(); 5]).acts(5);
    say(walk, segment, 1, number - 10);
    let steering = if segment.steers { vec!["conftest.py".to_owned()] } else { Vec::new() };
    let tree = CapturedTree { steering, ..captured_tree(commit(ONE)) };
    walk.feed(Input::TreeCaptured { n, tree }).feed(Input::Pushed { n, commit: commit(ONE) });
    walk.feed(Input::ReviewPosted { n, review: number, number, risk: segment.risk });
    let asked = walk.last.effects.iter().find_map(|e| match e {
        Effect::Advance { source, .. } => Some(source.clone()),
        _ => None,
    });
    say(walk, segment, 2, number + 10);
    if let Some(source) = asked {
        let fresh = Decision { source, right: segment.right, ..in_advance(number, 1) };
        walk.feed(Input::AdvanceRead { n, decision: Some(Box::new(fresh)) });
    }
    if walk.task.state.name() == "awaiting-review" {
        walk.decide(in_advance(number + 20, segment.next));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_action_goes_past_an_unapproved_checkpoint_and_there_is_one_end(steps in moves()) {
        let mut walk = Walk::running(TaskKind::Fix);
        let mut number = 100;
        let mut effects = 0;
        for step in steps {
            let ended = walk.task.state.ended();
            play(&mut walk, step, &mut number);
            effects += walk.last.effects.len();
            prop_assert!(made_anew_in_bounds(&walk), "{:?}", walk.last);
            prop_assert!(!ended || walk.last == Step::default(), "nothing happens after the end");
        }
        prop_assert!(most_actions_between_decisions(&walk.log) <= 5);
        prop_assert!(used_as_given(&walk.log));
        let ends = walk.log.iter().filter(|e| matches!(e, Event::Ended { .. })).count();
        prop_assert!(ends <= 1);
        let last = matches!(walk.log.last(), Some(Event::Ended { .. }));
        prop_assert!(ends == 0 || last);
        prop_assert!(effects > 0 || walk.log.is_empty() || !walk.task.state.ended());
    }

    #[test]
    fn an_approval_in_advance_is_used_as_it_was_given(first in 1u8..4, segments in prop::collection::vec(segment(), 1..9)) {
        let mut walk = Walk::at_checkpoint();
        walk.decide(in_advance(101, first));
        for segment in &segments {
            work(&mut walk, segment);
        }
        prop_assert!(most_actions_between_decisions(&walk.log) <= 5);
        prop_assert!(used_as_given(&walk.log), "{:#?}", walk.log);
    }

    #[test]
    fn any_prefix_of_a_log_folds_to_what_it_counts(steps in moves()) {
        let mut walk = Walk::running(TaskKind::Fix);
        let mut number = 100;
        for step in steps {
            play(&mut walk, step, &mut number);
        }
        for end in 0..=walk.log.len() {
            counted_alike(&Task::fold(TaskId(1), &walk.log[..end]), &walk.log[..end])?;
        }
        prop_assert_eq!(Task::fold(TaskId(1), &walk.log), walk.task);
    }

    #[test]
    fn a_question_behind_the_end_changes_nothing_but_what_was_spent(steps in moves()) {
        let mut walk = Walk::running(TaskKind::Fix);
        let mut number = 100;
        for step in steps {
            play(&mut walk, step, &mut number);
        }
        walk.feed(Input::IssueClosed);
        let over = walk.task.clone();
        walk.decide(said(number + 1, Verb::Ask { question: "q".into() }));
        prop_assert!(walk.last.events.is_empty() && walk.task == over);
        prop_assert_eq!(walk.last.effects.iter().map(Effect::kind).collect::<Vec<_>>(), ["comment"]);
        let (text, model, usage) = ("t".to_owned(), "m".to_owned(), Usage { input: 9, output: 6, ..Usage::default() });
        walk.feed(Input::ReplyStarting { number, call: 1, worst_micro_usd: 50 });
        prop_assert!(walk.last.effects.is_empty());
        walk.feed(Input::Replied { number, call: 1, text, usage, micro_usd: 7, model });
        prop_assert!(walk.last.effects.is_empty());
        let (micro_usd, tokens) = (over.spent.micro_usd + 7, over.spent.tokens + 15);
        let spent = Spent { micro_usd, tokens, ..over.spent };
        prop_assert_eq!(&walk.task, &Task { spent, seq: over.seq + 2, ..over });
        prop_assert_eq!(&Task::fold(TaskId(1), &walk.log), &walk.task);
    }

    #[test]
    fn events_survive_being_stored(steps in moves()) {
        let mut walk = Walk::running(TaskKind::Fix);
        let mut number = 100;
        for step in steps {
            play(&mut walk, step, &mut number);
        }
        for event in &walk.log {
            let text = serde_json::to_string(event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }
}
