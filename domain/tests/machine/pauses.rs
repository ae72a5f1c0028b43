//! Pauses, waiting for a slot, and inputs meanwhile: nothing hangs, nothing is dropped, nothing is approved unseen.

use crate::common::*;
use caisson_domain::*;

fn said(number: i64, verb: Verb) -> Decision {
    Decision { verb, ..approval(number) }
}

#[test]
fn a_call_that_is_refused_after_a_pause_and_a_resume_is_taken_back_once() {
    let fallback = Some(Fallback { from: "big".into(), to: "spare".into(), why: FallbackReason::Away });
    let mut walk = Walk::running(TaskKind::Fix);
    walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 });
    walk.decide(said(101, Verb::Pause)).decide(said(102, Verb::Resume));
    assert_eq!((walk.task.state.name(), walk.task.model_starts, walk.task.spent.micro_usd), ("running", 0, 10));
    walk.feed(Input::ModelCallRefused { turn: 1, fallback: fallback.clone() });
    assert_eq!((walk.task.answering.as_deref(), walk.task.spent.micro_usd), (Some("spare"), 0));
    walk.ignores(Input::ModelCallRefused { turn: 1, fallback });
    walk.answer(vec![bash()]);
    assert_eq!((walk.task.charged, walk.task.spent.micro_usd), (false, 3));
}

#[test]
fn a_call_that_is_refused_behind_the_end_is_taken_back_once() {
    let fallback = Some(Fallback { from: "big".into(), to: "spare".into(), why: FallbackReason::Away });
    for refused in [Input::ModelCallRefused { turn: 1, fallback }, Input::PicturesRefused { turn: 1 }] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.feed(Input::ModelCallStarting { turn: 1, worst_micro_usd: 10 }).decide(said(101, Verb::Stop));
        assert_eq!((walk.task.state.ended(), walk.task.spent.micro_usd), (true, 10));
        walk.ignores(Input::ModelCallRefused { turn: 2, fallback: None }).feed(refused.clone());
        assert_eq!(walk.last.events, [Event::ModelCallUncharged { turn: 1, fallback: None }]);
        assert_eq!((walk.task.state.ended(), walk.task.spent.micro_usd, walk.task.model_worst), (true, 0, 0));
        walk.ignores(refused);
    }
}

#[test]
fn what_a_summary_may_have_cost_is_not_taken_back_behind_the_end() {
    let fallback = Some(Fallback { from: "big".into(), to: "spare".into(), why: FallbackReason::Away });
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1);
    let before = walk.task.spent.micro_usd;
    // The answer of the first is lost, and the second is refused.
    for _ in 0..2 {
        walk.feed(Input::ModelCallStarting { turn: 2, worst_micro_usd: 10 });
    }
    walk.feed(Input::ModelCallRefused { turn: 2, fallback });
    let of = SummaryOf::Turns { upto: 1, from: 1, to: 1 };
    walk.feed(Input::SummaryStarting { of, worst_micro_usd: 500 }).decide(said(101, Verb::Stop));
    assert_eq!((walk.task.state.ended(), walk.task.spent.micro_usd), (true, before + 510));
    walk.ignores(Input::ModelCallRefused { turn: 2, fallback: None });
}

#[test]
fn a_conversation_that_begins_anew_has_five_turns_of_its_own() {
    let mut walk = Walk::running(TaskKind::Fix);
    for _ in 0..4 {
        walk.answer(Vec::new());
    }
    walk.feed(Input::AnotherWay { turn: 5, tried: vec!["turn 4 held words and no action".into()] });
    assert_eq!((walk.task.malformed, walk.task.other_ways, walk.task.state.name()), (0, 1, "running"));
    for _ in 0..4 {
        walk.answer(Vec::new());
    }
    assert_eq!((walk.task.malformed, walk.task.state.name()), (4, "running"));
    assert_eq!(walk.answer(Vec::new()).task.state.name(), "paused");
}

#[test]
fn a_full_window_says_how_large_it_is_and_one_of_an_older_log_is_read() {
    let older: PauseReason = serde_json::from_str(r#"{"why":"context_full"}"#).unwrap();
    assert_eq!(older, PauseReason::ContextFull { context_tokens: None });
    assert_eq!(serde_json::to_string(&older).unwrap(), r#"{"why":"context_full"}"#, "and written as before");
    let mut walk = Walk::running(TaskKind::Plan);
    let failure = Failure::ContextFull { context_tokens: Some(32_768) };
    walk.answer(vec![bash()]).feed(Input::EffectFailed { effect: "converse:2".into(), failure });
    let State::Paused { reason, .. } = &walk.task.state else { panic!("{:?}", walk.task.state) };
    assert_eq!(*reason, PauseReason::ContextFull { context_tokens: Some(32_768) });
}

#[test]
fn an_action_that_is_blocked_has_an_end_and_a_resume_goes_on_with_the_next() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), bash()]).feed(blocked("act:1"));
    assert_eq!((walk.task.state.name(), walk.task.running), ("paused", None));
    let marked = |e: &Event| matches!(e, Event::ActionFinished { number: 1, outcome } if outcome.status == OutcomeStatus::Interrupted);
    assert!(walk.log.iter().any(marked), "it may have run, and is said to");
    walk.decide(said(101, Verb::Resume)).feed(Input::Opened { fresh: None });
    assert_eq!((walk.task.running, walk.task.used), (Some(2), 2));
}

#[test]
fn an_action_that_ends_while_the_task_is_paused_or_in_line_is_taken_in() {
    for crowded in [false, true] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), bash()]).feed(blocked("egress:1"));
        assert_eq!(walk.task.state.name(), "paused", "the way out failed beside it");
        walk.crowded = crowded;
        if crowded {
            walk.decide(said(101, Verb::Resume));
            assert_eq!(walk.task.state, State::Queued);
        }
        walk.feed(Input::ActionEnded { number: 1, outcome: ok() });
        assert_eq!(walk.task.running, None);
        walk.crowded = false;
        if crowded {
            walk.feed(Input::SlotFree);
        } else {
            walk.decide(said(101, Verb::Resume));
        }
        assert!(walk.wants("open"), "{:?}", walk.last);
    }
}

#[test]
fn after_a_failed_verification_a_pause_while_publishing_takes_the_tree_anew() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).captured(1).verdict(1, VerdictKind::Failed);
    walk.feed(Input::Opened { fresh: None }).answer(vec![bash(), bash(), done()]).acts(2);
    walk.feed(blocked("seal:2")).decide(said(101, Verb::Resume));
    assert!(walk.wants("seal") && !walk.wants("review"), "the old commit is not shown for new work: {:?}", walk.last);
    assert!(walk.task.uncommitted && !walk.task.all_committed());
}

#[test]
fn a_verdict_that_goes_back_to_the_agent_is_not_final_after_a_pause_either() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5].into_iter().chain([done()]).collect()).acts(5).captured(1);
    walk.verdict(1, VerdictKind::Failed);
    assert!(walk.last.effects.iter().any(|e| matches!(e, Effect::Review { last: false, .. })), "{:?}", walk.last);
    walk.feed(blocked("review:1")).decide(said(101, Verb::Resume));
    assert!(walk.last.effects.iter().any(|e| matches!(e, Effect::Review { last: false, .. })), "{:?}", walk.last);
}

#[test]
fn a_review_that_is_edited_during_a_pause_is_void_and_posted_again_afterwards() {
    let mut walk = Walk::at_checkpoint();
    walk.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    walk.feed(Input::CheckpointVoided { n: 1 });
    assert!(walk.log.contains(&Event::CheckpointVoided { n: 1 }) && !walk.wants("review"));
    walk.decide(said(101, Verb::Resume));
    assert!(walk.wants("review"), "{:?}", walk.last);
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
    assert_eq!(walk.task.state, State::AwaitingReview { n: 2, commit: Some(commit(ONE)) });
    walk.decide(approval(103));
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn what_was_held_is_judged_when_a_pause_ends() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).decide(approval(105));
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.feed(blocked("recheck:1")).decide(said(106, Verb::Resume));
    let recheck = Effect::Recheck { n: 1, sources: vec![Source::Review(105)] };
    assert!(walk.last.effects.contains(&recheck), "{:?}", walk.last);
}

#[test]
fn changes_asked_for_while_publishing_keep_their_words_and_decide_nothing_unseen() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    let early = said(99, Verb::Changes { items: vec![remark("use a set")] });
    walk.decide(early.clone());
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(early);
    assert_eq!(walk.task.state.name(), "awaiting-review", "five actions nobody has looked at");
    assert_eq!(walk.notice(), Some(&Notice::RemarksKept { login: "p7".into(), n: 1 }));
    assert_eq!((walk.task.remarks.len(), walk.task.unjudged.len()), (1, 0));
    // Requested after the checkpoint was posted, although it was read before we knew its number, so it counts.
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5);
    let late = said(101, Verb::Changes { items: vec![remark("use a set")] });
    walk.decide(late.clone());
    walk.captured(1).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(late);
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn every_way_into_work_takes_a_slot() {
    let mut approved = Walk::at_checkpoint();
    approved.crowded = true;
    approved.decide(approval(101));
    let mut changed = Walk::at_checkpoint();
    changed.crowded = true;
    changed.decide(said(101, Verb::Changes { items: Vec::new() }));
    let mut resumed = Walk::running(TaskKind::Fix);
    resumed.answer(vec![bash()]).feed(blocked("act:1"));
    resumed.crowded = true;
    resumed.decide(said(101, Verb::Resume));
    let mut plan = Walk::running(TaskKind::Plan);
    plan.answer(vec![done()]).feed(Input::AnswerPosted { n: 1, number: 100 });
    plan.crowded = true;
    plan.decide(said(101, Verb::Fix { words: String::new(), terms: Terms::default() }));
    for walk in [&mut approved, &mut changed, &mut resumed, &mut plan] {
        assert_eq!(walk.task.state, State::Queued);
        let works = walk.last.effects.iter().any(|effect| effect.queue() == Queue::Work);
        assert!(!works, "{:?}", walk.last);
        walk.feed(Input::Expired);
        assert_eq!(walk.task.state, State::Queued, "who is in line does not expire");
        walk.feed(Input::SlotFree);
        assert!(walk.task.state == State::Running && walk.wants("open"));
    }
}

#[test]
fn what_is_in_no_commit_is_kept_before_its_sandbox_goes() {
    let mut paused = Walk::running(TaskKind::Fix);
    paused.answer(vec![bash(), bash()]).acts(1).feed(Input::ActionEnded {
        number: 2,
        outcome: Outcome { status: OutcomeStatus::DiskSpent { what: "w".into() }, ..ok() },
    });
    let mut refused = Walk::running(TaskKind::Fix);
    refused.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["a link".into()] });
    refused.feed(Input::AnswerPosted { n: 1, number: 90 });
    let idle = |walk: &mut Walk| {
        walk.feed(Input::Idled { suspension: Suspension::Evicted });
    };
    for walk in [&mut paused, &mut refused] {
        idle(walk);
        assert!(walk.wants("keep") && !walk.wants("shelve"), "{:?}", walk.last);
        idle(walk);
        assert!(walk.last.events.is_empty(), "it is being kept already");
        walk.feed(Input::WorkKept { commit: commit(ONE) });
        assert!(walk.wants("shelve") && walk.task.kept == Some(commit(ONE)));
        assert_ne!(walk.task.head, walk.task.kept, "the next checkpoint still shows all of it");
    }
    // Work that cannot be kept stays in the sandbox, until something else was done there.
    let mut stuck = Walk::running(TaskKind::Fix);
    stuck.answer(vec![bash()]).acts(1).feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    idle(&mut stuck);
    stuck.feed(Input::WorkNotKept { reasons: vec!["a link".into()] });
    idle(&mut stuck);
    assert!(stuck.last.events.is_empty() && stuck.task.suspension.is_none());
    stuck.decide(said(101, Verb::Resume)).feed(Input::Opened { fresh: None }).answer(vec![bash()]).acts(1);
    stuck.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    idle(&mut stuck);
    assert!(stuck.wants("keep"));
}

#[test]
fn kept_work_outlives_a_sandbox_that_is_gone_when_its_tree_is_taken() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).feed(blocked("seal:1")).feed(Input::Idled { suspension: Suspension::Evicted });
    walk.feed(Input::WorkKept { commit: commit(ONE) }).decide(said(101, Verb::Resume));
    assert!(walk.wants("seal"));
    let failure = Failure::SandboxGone { loss: Loss::EngineRestarted };
    walk.feed(Input::EffectFailed { effect: "seal:1".into(), failure });
    assert!(walk.wants("seal") && !walk.wants("review"), "made anew from what was kept: {:?}", walk.last);
}

fn full() -> Input {
    Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } }
}

#[test]
fn a_full_window_shows_what_was_done_and_the_conversation_begins_anew() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1).feed(full());
    assert!(walk.wants("seal") && walk.log.contains(&Event::ConversationRestarted));
    assert_eq!(walk.task.state, State::Publishing { n: 1, why: Why::Checkpoint });
    let mut waits = Walk::running(TaskKind::Plan);
    waits.answer(vec![call(Call::UpdatePlan { plan: "p".into() })]).feed(full());
    assert!(matches!(waits.task.state, State::Paused { reason: PauseReason::ContextFull { .. }, .. }));
    waits.decide(said(101, Verb::Resume)).feed(Input::Opened { fresh: None });
    assert!(waits.wants("converse") && waits.task.restarted);
    waits.feed(full());
    assert!(
        matches!(waits.task.state, State::Paused { reason: PauseReason::Blocked { .. }, .. }),
        "not even a new conversation fits: a person has to do something"
    );
}

#[test]
fn only_a_grant_ends_a_pause_for_the_budget_and_it_names_its_giver() {
    let asked = Request { budget: Budget { actions: 1, ..Budget::default() }, ..request(TaskKind::Fix) };
    let mut walk = Walk::asked(asked);
    walk.feed(Input::SlotFree).feed(prepared()).answer(vec![bash(), bash()]).acts(1);
    assert!(matches!(walk.task.state, State::Paused { reason: PauseReason::Budget { .. }, .. }));
    walk.decide(said(101, Verb::Resume));
    assert!(walk.task.state.name() == "paused" && matches!(walk.notice(), Some(Notice::BudgetNeeded { .. })));
    let more = |who, ceiling| Verb::Budget {
        more: Budget { actions: 2, ..Budget::default() },
        ceiling: Budget { actions: ceiling, ..Budget::default() },
        who,
    };
    let refusals = [(Granters::Nobody, 9), (Granters::Admins, 9), (Granters::Writers, 2)];
    for (at, (who, ceiling)) in refusals.into_iter().enumerate() {
        walk.decide(said(102 + at as i64, more(who, ceiling)));
        assert!(matches!(walk.notice(), Some(Notice::BudgetRefused { .. })), "{who:?}, {ceiling}");
        assert_eq!((walk.task.granted.actions, walk.task.state.name()), (1, "paused"));
    }
    let given = said(110, more(Granters::Writers, 3));
    walk.decide(given.clone());
    assert!(walk.wants("open") && walk.task.granted.actions == 3);
    let by = walk
        .log
        .iter()
        .find_map(|e| if let Event::BudgetGranted { decision, .. } = e { decision.clone() } else { None });
    assert_eq!(by.as_deref(), Some(&given));
    walk.decide(said(111, more(Granters::Writers, 3)));
    assert_eq!(walk.task.granted.actions, 3, "the ceiling is for all grants together");
}

#[test]
fn a_repository_narrows_the_budget_once_and_never_widens_it() {
    let asked = Request { budget: Budget { actions: 50, tokens: 100, ..Budget::default() }, ..request(TaskKind::Fix) };
    let mut walk = Walk::asked(asked);
    let narrower = Budget { actions: 4, tokens: 900, micro_usd: 5, ..Budget::default() };
    let prepared = Input::Prepared {
        base: commit(BASE),
        boot: "b".into(),
        image: "i".into(),
        every: 5,
        note: None,
        budget: Some(narrower),
        rules: Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
        conflicts: Vec::new(),
    };
    walk.feed(Input::SlotFree).feed(prepared);
    assert_eq!(walk.task.granted, Budget { actions: 4, tokens: 100, micro_usd: 5, work_ms: 0 });
}

#[test]
fn a_log_of_an_earlier_release_still_folds() {
    let old = [
        r#"{"event":"budget_granted","more":{"micro_usd":0,"tokens":0,"actions":7,"work_ms":0}}"#,
        r#"{"event":"prepared","base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","boot":"b","image":"i","every":5}"#,
    ];
    for text in old {
        serde_json::from_str::<Event>(text).expect("an event");
    }
}

#[test]
fn who_waits_in_line_gives_way_to_who_has_the_slot_and_loses_nothing() {
    let mut committed = Walk::at_checkpoint();
    committed.crowded = true;
    committed.decide(approval(101)).feed(Input::Idled { suspension: Suspension::Evicted });
    assert!(committed.wants("shelve"), "{:?}", committed.last);
    committed.feed(Input::SlotFree);
    assert!(committed.wants("open") && committed.task.suspension.is_none());
    let mut cut = Walk::running(TaskKind::Fix);
    cut.answer(vec![bash(); 5]).acts(5).feed(blocked("seal:1"));
    cut.crowded = true;
    cut.decide(said(101, Verb::Resume)).feed(Input::Idled { suspension: Suspension::Evicted });
    assert!(cut.wants("keep"), "{:?}", cut.last);
    cut.feed(Input::WorkKept { commit: commit(ONE) }).feed(Input::SlotFree);
    assert!(cut.wants("seal") && cut.task.kept.is_some());
}

#[test]
fn what_an_outdated_runner_handed_out_is_still_in_no_commit() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).acts(1).feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    walk.decide(said(101, Verb::Resume)).feed(Input::Opened { fresh: Some(Loss::Outdated) });
    walk.feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
    walk.feed(Input::Idled { suspension: Suspension::Evicted });
    assert!(walk.wants("keep"), "{:?}", walk.last);
}

#[test]
fn a_sandbox_that_was_woken_in_vain_rests_again() {
    for suspension in [None, Some(Suspension::Stopped)] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash()])
            .acts(1)
            .feed(Input::PauseAsked { reason: PauseReason::Stuck { sentence: "s".into() } });
        if let Some(suspension) = suspension {
            walk.feed(Input::Idled { suspension });
        }
        walk.feed(Input::Idled { suspension: Suspension::Evicted })
            .feed(Input::WorkNotKept { reasons: vec!["a link".into()] });
        assert!(walk.wants(if suspension.is_some() { "shelve" } else { "rest" }), "{:?}", walk.last);
        assert_eq!(walk.task.suspension, suspension);
    }
}

#[test]
fn what_was_granted_before_the_beginning_stays_granted() {
    let asked = Request { budget: Budget { actions: 50, ..Budget::default() }, ..request(TaskKind::Fix) };
    let mut walk = Walk::asked(asked);
    walk.decide(said(1, more_actions()));
    assert_eq!(walk.task.granted.actions, 60);
    let budget = Some(Budget { actions: 4, ..Budget::default() });
    let Input::Prepared { base, boot, image, every, note, .. } = prepared() else { unreachable!() };
    walk.feed(Input::SlotFree).feed(Input::Prepared {
        base,
        boot,
        image,
        every,
        note,
        budget,
        rules: Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
        conflicts: Vec::new(),
    });
    assert_eq!(walk.task.granted.actions, 14);
}

/// What exists on the forge is known, whatever happens meanwhile, so a task that ends then closes its pull request.
#[test]
fn a_pull_request_that_opens_during_a_pause_is_not_forgotten() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeCaptured { n: 1, tree: captured_tree(commit(ONE)) });
    walk.decide(said(101, Verb::Pause)).feed(Input::Pushed { n: 1, commit: commit(ONE) });
    assert_eq!((walk.task.state.name(), walk.task.pushed.clone()), ("paused", Some(commit(ONE))));
    walk.decide(said(102, Verb::Resume));
    assert!(walk.wants("open_pull") && !walk.wants("push"), "{:?}", walk.last);
    walk.decide(said(103, Verb::Pause)).feed(Input::PullOpened { number: 4, url: "http://f/4".into() });
    assert_eq!((walk.task.state.name(), walk.task.pull), ("paused", Some(4)));
    walk.decide(said(104, Verb::Stop));
    assert!(walk.wants("close_pull"), "{:?}", walk.last);
}

#[test]
fn nor_is_one_that_opens_in_line_or_while_the_task_ends() {
    let opening = || {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeCaptured { n: 1, tree: captured_tree(commit(ONE)) });
        walk.feed(Input::Pushed { n: 1, commit: commit(ONE) });
        assert!(walk.wants("open_pull"), "{:?}", walk.last);
        walk
    };
    let mut in_line = opening();
    in_line.crowded = true;
    in_line.decide(said(101, Verb::Pause)).decide(said(102, Verb::Resume));
    in_line.feed(Input::PullOpened { number: 4, url: "http://f/4".into() });
    assert_eq!((in_line.task.state.clone(), in_line.task.pull), (State::Queued, Some(4)));
    in_line.feed(Input::SlotFree);
    assert!(in_line.wants("review") && !in_line.wants("open_pull"), "{:?}", in_line.last);
    let mut ends = opening();
    ends.decide(said(101, Verb::Stop));
    assert!(ends.wants("close_pull"), "it may be there although nothing says so: {:?}", ends.last);
}
