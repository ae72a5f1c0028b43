//! The transition table of a task, state by state.

use crate::common::*;
use caisson_domain::*;

#[test]
fn the_whole_way_to_delivered() {
    let mut walk = Walk::at_checkpoint();
    assert_eq!(walk.task.state, State::AwaitingReview { n: 1, commit: Some(commit(ONE)) });
    walk.decide(approval(101));
    assert_eq!((walk.task.state.name(), walk.task.used), ("running", 0));
    assert!(walk.wants("open"));
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(), done()]).acts(1);
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(ONE), left_out: Vec::new() });
    assert!(walk.wants("verify"));
    walk.verdict(2, VerdictKind::Passed).feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
    assert_eq!(walk.task.state.name(), "final-review");
    walk.decide(approval(103));
    assert_eq!(walk.task.state.name(), "approved");
    walk.feed(Input::Fetched { commit: commit(ONE) });
    assert_eq!(walk.task.end(), Some(&End::Delivered));
}

#[test]
fn the_fifth_action_stops_everything_and_what_the_answer_still_holds_comes_first_after_the_approval() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 7]).acts(5);
    assert_eq!(walk.task.state, State::Publishing { n: 1, why: Why::Checkpoint });
    assert!(walk.wants("seal") && !walk.wants("act"));
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!(walk.task.waiting.len(), 2);
    walk.decide(approval(101)).feed(Input::Opened { fresh: None });
    assert!(walk.wants("act") && !walk.wants("converse"));
    walk.acts(2);
    assert!(walk.wants("converse"));
    assert_eq!((walk.task.used, walk.task.actions), (2, 7));
}

#[test]
fn what_the_answer_still_held_is_not_run_where_changes_are_asked_for() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 7]).acts(5);
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(Decision { verb: Verb::Changes { items: Vec::new() }, ..approval(101) });
    walk.feed(Input::Opened { fresh: None });
    let told =
        walk.log.iter().filter(|e| matches!(e, Event::CallAnswered { answer, .. } if answer.starts_with("not run")));
    assert_eq!(told.count(), 2);
    assert!(walk.wants("converse") && !walk.wants("act"));
}

#[test]
fn a_done_over_nothing_is_returned_once_and_then_a_person_is_asked() {
    let nothing = |n| Input::TreeUnchanged { n, commit: commit(BASE), left_out: Vec::new() };
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).feed(nothing(1));
    assert_eq!((walk.task.state.name(), walk.task.summary.as_ref()), ("running", None));
    assert!(walk.wants("open") && !walk.wants("review"));
    walk.feed(Input::Opened { fresh: None });
    assert!(walk.wants("converse"));
    assert_eq!((walk.task.used, walk.task.malformed, walk.task.failures), (1, 0, 0), "it counts as nothing");
    walk.answer(vec![done()]).feed(nothing(2));
    assert!(walk.wants("review") && !walk.wants("open"), "{:?}", walk.last);
    assert_eq!(walk.log.iter().filter(|event| matches!(event, Event::DoneReturned { .. })).count(), 1);
}

#[test]
fn a_done_over_nothing_at_the_fifth_action_is_for_a_person() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash(), bash(), bash(), bash(), done()]).acts(5);
    walk.feed(Input::TreeUnchanged { n: 1, commit: commit(BASE), left_out: Vec::new() });
    assert!(walk.wants("review") && !walk.wants("open"), "{:?}", walk.last);
}

#[test]
fn done_right_after_the_fifth_action_goes_to_verification() {
    let mut walk = Walk::running(TaskKind::Fix);
    let mut calls = vec![bash(); 5];
    calls.push(done());
    walk.answer(calls).acts(5);
    assert_eq!(walk.task.state, State::Publishing { n: 1, why: Why::Done });
    walk.captured(1);
    assert!(walk.wants("verify"), "one review, not two");
}

#[test]
fn an_approval_counts_once_and_only_for_what_stands() {
    type Spoil = fn(&mut Decision);
    let stale: [(&str, Spoil); 7] = [
        ("older than the checkpoint", |d| d.number = 99),
        ("of another commit", |d| d.commit = Some(commit(BASE))),
        ("the branch moved", |d| d.head = Some(commit(BASE))),
        ("the base was changed", |d| d.base = Some("evil".into())),
        ("no write access", |d| d.right = Access::Read),
        ("edited", |d| d.edited = true),
        ("names another checkpoint", |d| d.verb = Verb::Approve { checkpoint: Some(2), commit: None, next: 0 }),
    ];
    for (why, spoil) in stale {
        let mut walk = Walk::at_checkpoint();
        let mut decision = approval(101);
        spoil(&mut decision);
        walk.decide(decision);
        assert_eq!(walk.task.state.name(), "awaiting-review", "{why}");
        assert!(walk.notice().is_some(), "{why}: the person is answered");
        assert!(matches!(walk.log.last(), Some(Event::DecisionRefused { .. })), "{why}");
    }
}

#[test]
fn who_may_not_is_told_so_once_in_a_task() {
    let mut walk = Walk::at_checkpoint();
    let tries: [(i64, Verb, bool); 4] =
        [(2, Verb::approve(), true), (2, Verb::approve(), false), (2, Verb::Stop, false), (3, Verb::Stop, true)];
    for (at, (id, verb, told)) in tries.into_iter().enumerate() {
        let mut decision = Decision { right: Access::Read, verb, ..approval(101 + at as i64) };
        decision.poster = Account { id, login: format!("reader{id}") };
        walk.decide(decision);
        assert_eq!(walk.notice().is_some(), told, "try {at}");
        assert!(matches!(walk.log.last(), Some(Event::DecisionRefused { .. })), "try {at} is in the log");
    }
    assert_eq!(walk.task.state.name(), "awaiting-review");
}

#[test]
fn an_approval_that_comes_while_publishing_is_held_and_looked_at_again() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    walk.decide(approval(101));
    assert_eq!(walk.task.state.name(), "publishing");
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    let recheck = walk.last.effects.iter().find(|e| e.kind() == "recheck");
    assert_eq!(recheck, Some(&Effect::Recheck { n: 1, sources: vec![Source::Review(101)] }));
    walk.decide(approval(101));
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn a_bare_approve_just_after_somebody_elses_decision_is_asked_about() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(approval(101)).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(); 5]).acts(5).captured(2);
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
    let posted = walk.task.checkpoint().expect("posted").at;
    let mut other = approval(103);
    other.source = Source::Comment(103);
    other.commit = None;
    other.poster = person(8);
    other.at = posted + 1000;
    walk.decide(other.clone());
    assert!(matches!(walk.notice(), Some(Notice::Doubtful { n: 2, .. })), "{:?}", walk.notice());
    other.number = 104;
    other.source = Source::Comment(104);
    other.verb = Verb::Approve { checkpoint: Some(2), commit: None, next: 0 };
    walk.decide(other);
    assert_eq!(walk.task.state.name(), "running");
}

/// A second approval, by person 8, where two are needed; with the held ones.
fn second(number: i64, approvals: Vec<Decision>) -> Decision {
    let others = Some(Box::new(Others { needed: 1, approvals }));
    Decision { poster: person(8), others, ..approval(number) }
}

#[test]
fn where_two_approve_the_first_is_held_and_the_second_lets_it_go_on() {
    let first = || Decision { poster: person(7), ..second(101, Vec::new()) };
    let mut walk = Walk::at_checkpoint();
    walk.decide(first());
    assert_eq!(walk.notice(), Some(&Notice::OthersAwaited { login: "p7".into(), n: 1, left: 1 }));
    assert_eq!((walk.task.state.name(), walk.task.unjudged.len()), ("awaiting-review", 1));
    let again = Decision { source: Source::Review(102), number: 102, ..second(102, vec![approval(101)]) };
    walk.decide(Decision { poster: person(7), ..again });
    assert_eq!((walk.task.state.name(), walk.task.unjudged.len()), ("awaiting-review", 2), "twice the same person");
    walk.decide(second(103, vec![approval(101), approval(102)]));
    assert_eq!((walk.task.state.name(), walk.task.unjudged.len()), ("running", 0));
}

/// The effect's key is posted once, so that the second answer needs another one.
#[test]
fn a_held_approval_that_is_refused_later_is_answered_again() {
    let first = || Decision { poster: person(7), ..second(101, Vec::new()) };
    let mut walk = Walk::at_checkpoint();
    let answer = |walk: &Walk| walk.last.effects.iter().map(Effect::key).find(|key| key.starts_with("comment:"));
    walk.decide(first());
    assert_eq!(answer(&walk).as_deref(), Some("comment:asked:101"));
    let base = Some("another".to_owned());
    walk.decide(Decision { base, ..first() });
    assert!(matches!(walk.notice(), Some(Notice::Stale { .. })), "{:?}", walk.notice());
    let again = answer(&walk).expect("an answer");
    assert!(again.starts_with("comment:asked:101:"), "{again}");
    assert!(walk.task.unjudged.is_empty());
}

#[test]
fn an_approval_that_does_not_stand_any_more_is_no_second_one() {
    let reads: [fn(&mut Decision); 7] = [
        |it| it.edited = true,
        |it| it.right = Access::Read,
        |it| it.barred = Some("admins".into()),
        |it| it.number = 100,
        |it| it.head = Some(commit(&"2".repeat(40))),
        |it| it.verb = Verb::Changes { items: Vec::new() },
        |it| it.verb = Verb::Approve { checkpoint: Some(4), commit: None, next: 0 },
    ];
    for read in reads {
        let mut walk = Walk::at_checkpoint();
        walk.decide(Decision { poster: person(7), ..second(101, Vec::new()) });
        let mut earlier = approval(101);
        read(&mut earlier);
        walk.decide(second(103, vec![earlier]));
        assert_eq!((walk.task.state.name(), walk.task.unjudged.len()), ("awaiting-review", 2));
    }
    let mut walk = Walk::at_checkpoint();
    let early = Verb::Approve { checkpoint: None, commit: None, next: 2 };
    walk.decide(Decision { verb: early, ..second(101, Vec::new()) });
    assert!(matches!(walk.notice(), Some(Notice::Stale { reason, .. }) if reason.contains("one checkpoint at a time")));
    assert!(walk.task.unjudged.is_empty());
}

#[test]
fn the_final_approval_names_its_commit() {
    let mut walk = Walk::at_final();
    let mut bare = approval(101);
    bare.source = Source::Comment(101);
    bare.commit = None;
    walk.decide(bare.clone());
    assert!(matches!(walk.notice(), Some(Notice::NameTheCommit { .. })));
    bare.number = 102;
    bare.source = Source::Comment(102);
    bare.verb = Verb::Approve { checkpoint: None, commit: Some(ONE[..10].into()), next: 0 };
    walk.decide(bare);
    assert_eq!(walk.task.state.name(), "approved");
}

#[test]
fn a_final_approval_in_a_review_that_only_comments_is_refused() {
    let in_a_comment = |number| Decision { only_comments: true, ..approval(number) };
    let whole = Verb::Approve { checkpoint: None, commit: Some(ONE.into()), next: 0 };
    let mut walk = Walk::at_final();
    for decision in [in_a_comment(101), Decision { verb: whole, ..in_a_comment(102) }] {
        walk.decide(decision);
        assert!(matches!(walk.notice(), Some(Notice::NameTheCommit { .. })), "{:?}", walk.last);
    }
    // Nor does one count beside that of another person.
    let of_another = Decision { poster: person(8), ..in_a_comment(103) };
    let others = Others { needed: 1, approvals: vec![of_another] };
    walk.decide(Decision { others: Some(Box::new(others)), ..approval(104) });
    assert!(matches!(walk.notice(), Some(Notice::OthersAwaited { left: 1, .. })), "{:?}", walk.last);
    walk.decide(approval(105));
    assert_eq!(walk.task.state.name(), "approved");
    let mut earlier = Walk::at_checkpoint();
    earlier.decide(in_a_comment(101));
    assert_eq!(earlier.task.state.name(), "running", "an earlier checkpoint is nobody's to fetch");
}

#[test]
fn a_failed_verification_goes_back_twice_then_to_a_person() {
    let mut walk = Walk::running(TaskKind::Fix);
    for n in 1..=3 {
        walk.answer(vec![bash(), done()]).acts(1);
        if n == 1 {
            walk.captured(n)
        } else {
            walk.feed(Input::TreeUnchanged { n, commit: commit(ONE), left_out: Vec::new() })
        };
        walk.verdict(n, VerdictKind::Failed);
        if n < 3 {
            assert_eq!(walk.task.state.name(), "running", "round {n}");
            walk.feed(Input::Opened { fresh: None });
        }
    }
    walk.feed(Input::ReviewPosted { n: 3, review: 50, number: 100, risk: None });
    assert!(matches!(&walk.task.state, State::FinalReview { verdict, .. } if verdict.kind == VerdictKind::Failed));
    assert_eq!(walk.task.used, 3, "verification never resets the count");
}

#[test]
fn a_model_that_is_away_costs_nothing_and_pauses_nothing() {
    let mut walk = Walk::running(TaskKind::Fix);
    for _ in 0..10 {
        walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 });
        walk.feed(Input::ModelCallRefused { turn: 1, fallback: None });
    }
    assert_eq!((walk.task.spent.micro_usd, walk.task.state.name()), (0, "running"));
}

#[test]
fn another_model_answers_until_the_next_checkpoint_and_its_refused_call_cost_nothing() {
    let fallback = Some(Fallback { from: "big".into(), to: "spare".into(), why: FallbackReason::Away });
    let mut walk = Walk::running(TaskKind::Fix);
    walk.feed(Input::ModelCallRefused { turn: 1, fallback: fallback.clone() });
    assert_eq!(walk.task.answering, None, "nothing was asked");
    walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 });
    walk.feed(Input::ModelCallRefused { turn: 1, fallback });
    let task = &walk.task;
    assert_eq!((task.answering.as_deref(), task.spent.micro_usd, task.model_starts), (Some("spare"), 0, 0));
    walk.answer(vec![bash(); 5]).acts(5).captured(1);
    assert_eq!(walk.task.answering.as_deref(), Some("spare"), "until it is posted");
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!((walk.task.state.name(), walk.task.answering.as_deref()), ("awaiting-review", None));
    let old = r#"{"event":"model_call_uncharged","turn":1}"#;
    let event: Event = serde_json::from_str(old).expect("a log of an older version");
    assert_eq!(serde_json::to_string(&event).expect("written"), old, "and written as before");
}

#[test]
fn a_refused_tree_goes_to_the_agent_or_without_actions_left_to_a_person() {
    let mut early = Walk::running(TaskKind::Fix);
    early.answer(vec![bash(), done()]).acts(1);
    early.feed(Input::TreeRefused { n: 1, reasons: vec!["a symlink".into()] });
    assert_eq!(early.task.state.name(), "running");
    let mut late = Walk::running(TaskKind::Fix);
    late.answer(vec![bash(); 5]).acts(5);
    late.feed(Input::TreeRefused { n: 1, reasons: vec!["a symlink".into()] });
    assert!(matches!(late.last.effects[..], [Effect::Review { commit: None, .. }, ..]));
}

#[test]
fn a_read_only_task_writes_nothing_answers_and_may_become_a_fix() {
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![bash(), done()]);
    assert!(!walk.wants("act") && walk.task.used == 0, "bash is held back");
    assert!(walk.wants("review"));
    walk.feed(Input::AnswerPosted { n: 1, number: 100 });
    let mut decision = approval(101);
    decision.verb = Verb::Fix { words: "as planned".into(), terms: Terms::default() };
    decision.source = Source::Comment(101);
    walk.decide(decision);
    assert_eq!((walk.task.kind, walk.task.state.name()), (TaskKind::Fix, "running"));
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash()]);
    assert!(walk.wants("act"));
}

#[test]
fn five_unusable_turns_pause_and_a_resume_goes_on() {
    let mut walk = Walk::running(TaskKind::Fix);
    for _ in 0..4 {
        walk.answer(Vec::new());
        assert_eq!(walk.task.state.name(), "running");
    }
    walk.answer(vec![call(Call::Malformed { reason: "no such tool".into() })]);
    assert!(matches!(walk.task.state, State::Paused { reason: PauseReason::Stuck { .. }, .. }));
    let mut resume = approval(101);
    resume.verb = Verb::Resume;
    walk.decide(resume);
    assert!(walk.task.state.name() == "running" && walk.wants("open"));
    walk.feed(Input::Opened { fresh: None });
    assert!(walk.wants("converse"));
}

#[test]
fn an_empty_budget_pauses_with_the_work_kept() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.task.granted = Budget { micro_usd: 3, ..Budget::default() };
    walk.answer(vec![bash()]);
    assert!(matches!(&walk.task.state, State::Paused { reason: PauseReason::Budget { what }, .. } if what == "money"));
    assert_eq!(walk.task.waiting.len(), 1, "the call waits");
    assert!(walk.wants("rest"), "nothing runs and no way out is open while it is paused");
}

#[test]
fn a_call_whose_answer_was_lost_stays_charged_and_three_pause() {
    let mut walk = Walk::running(TaskKind::Fix);
    for _ in 0..3 {
        walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 });
    }
    assert_eq!(walk.task.spent.micro_usd, 30);
    walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 });
    assert!(matches!(walk.task.state, State::Paused { .. }));
}

#[test]
fn what_took_too_much_of_the_disk_waits_for_a_person_and_is_not_done_again() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash()]);
    let status = OutcomeStatus::DiskSpent { what: "it grew by 9 MiB".into() };
    walk.feed(Input::ActionEnded { number: 1, outcome: Outcome { status, ..ok() } });
    let disk = |state: &State| {
        matches!(state, State::Paused { reason: PauseReason::Exhausted { what: Resource::Disk, .. }, .. })
    };
    assert!(disk(&walk.task.state) && walk.wants("rest") && !walk.wants("act"), "{:?}", walk.task.state);
    let mut resume = approval(101);
    resume.verb = Verb::Resume;
    walk.decide(resume).feed(Input::Opened { fresh: None });
    assert!(walk.wants("act") && walk.task.used == 2, "the next call is taken up, the first one is not repeated");
}

#[test]
fn a_person_may_stop_close_or_merge_at_any_time() {
    let mut stop = approval(101);
    stop.verb = Verb::Stop;
    let mut walk = Walk::running(TaskKind::Fix);
    walk.decide(stop);
    assert!(matches!(walk.task.end(), Some(End::Cancelled { .. })) && walk.wants("teardown"));
    let mut closed = Walk::at_checkpoint();
    closed.feed(Input::IssueClosed);
    assert_eq!(closed.task.end(), Some(&End::Declined));
    assert!(closed.wants("close_pull"));
    let mut merged = Walk::at_final();
    merged.decide(approval(101)).feed(Input::PullClosed { merged: true, how: None });
    assert_eq!(merged.task.end(), Some(&End::Delivered));
}

#[test]
fn a_deleted_review_is_posted_again_under_a_new_number() {
    let mut walk = Walk::at_checkpoint();
    walk.feed(Input::CheckpointVoided { n: 1 });
    assert!(walk.wants("review"));
    walk.feed(Input::ReviewPosted { n: 2, review: 60, number: 110, risk: None });
    assert_eq!(walk.task.state, State::AwaitingReview { n: 2, commit: Some(commit(ONE)) });
    walk.decide(approval(105));
    assert_eq!(walk.task.state.name(), "awaiting-review", "what was given before the new one counts no more");
    walk.decide(approval(111));
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn what_is_blocked_pauses_and_a_resume_wants_the_same_step_again() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    let failure = Failure::Blocked { sentence: "the branch moved".into() };
    walk.feed(Input::EffectFailed { effect: "seal:1".into(), failure });
    assert_eq!(walk.task.state.name(), "paused");
    let mut resume = approval(101);
    resume.verb = Verb::Resume;
    walk.decide(resume);
    assert!(walk.wants("seal"));
}

#[test]
fn what_cannot_be_done_after_the_approval_is_said_and_changes_nothing() {
    let mut walk = Walk::at_final();
    walk.decide(approval(101));
    assert_eq!(walk.task.state.name(), "approved");
    let failure = Failure::Blocked { sentence: "no".into() };
    let (task, step) = transition(
        &walk.task,
        &Envelope { key: "k".into(), now: 99, input: Input::EffectFailed { effect: "rest:1".into(), failure } },
    );
    let said = |effect: &Effect| matches!(effect, Effect::Comment { notice: Notice::LeftUndone { .. }, .. });
    assert!(step.effects.iter().any(said) && task.state.name() == "approved", "{step:?}");
    let approving: Vec<String> = walk.last.effects.iter().map(Effect::key).collect();
    assert!(!step.effects.iter().any(|effect| approving.contains(&effect.key())), "a text of its own: {step:?}");
}

#[test]
fn a_waiting_sandbox_is_put_away_rung_by_rung() {
    let idled = |suspension| Input::Idled { suspension };
    let suspended = |walk: &Walk| walk.log.iter().filter(|e| matches!(e, Event::SandboxSuspended { .. })).count();
    let mut walk = Walk::at_checkpoint();
    walk.feed(idled(Suspension::Stopped));
    assert!(walk.wants("shelve"));
    walk.feed(idled(Suspension::Stopped));
    assert_eq!(suspended(&walk), 1, "it is stopped already");
    walk.feed(idled(Suspension::Evicted)).feed(idled(Suspension::Stopped));
    assert_eq!((walk.task.suspension, suspended(&walk)), (Some(Suspension::Evicted), 2), "never back up by itself");
    walk.decide(approval(101));
    assert!(walk.wants("open") && walk.task.suspension.is_none());
    walk.feed(idled(Suspension::Evicted));
    assert_eq!(suspended(&walk), 2, "a task at work keeps its sandbox");
}
