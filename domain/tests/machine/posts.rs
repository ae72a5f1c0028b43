//! What people are shown around a step: labels, statuses, notices, the log that is attached, and how a task ends without its own work.

use crate::common::*;
use caisson_domain::*;

const TWO: &str = "2222222222222222222222222222222222222222";

fn labels(walk: &Walk) -> Vec<&str> {
    let effects = walk.last.effects.iter();
    let names = effects.filter_map(|effect| match effect {
        Effect::Label { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn statuses(walk: &Walk) -> Vec<&str> {
    let effects = walk.last.effects.iter();
    let states = effects.filter_map(|effect| match effect {
        Effect::CommitStatus { state, .. } => Some(state.as_str()),
        _ => None,
    });
    states.collect()
}

fn blocked() -> Input {
    Input::PauseAsked { reason: PauseReason::Blocked { sentence: "s".into() } }
}

#[test]
fn a_label_follows_the_state_and_nothing_else() {
    let mut walk = Walk::new(TaskKind::Fix);
    assert!(labels(&walk) == ["queued"] && walk.shows, "{:?}", walk.last);
    walk.ignores(Input::Requested { request: Box::new(request(TaskKind::Plan)) });
    walk.feed(Input::SlotFree);
    assert!(labels(&walk) == ["preparing"] && walk.shows, "{:?}", walk.last);
    walk.feed(prepared());
    assert_eq!(labels(&walk), ["running"]);
    walk.answer(vec![bash()]);
    assert!(labels(&walk).is_empty() && walk.shows, "{:?}", walk.last);
    walk.feed(blocked());
    assert_eq!(labels(&walk), ["paused"]);
}

#[test]
fn a_task_that_nobody_asked_for_gets_no_slot() {
    let (task, step) = transition(&Task::new(TaskId(1)), &Envelope { key: "k".into(), now: 1, input: Input::SlotFree });
    assert_eq!((task, step), (Task::new(TaskId(1)), Step::default()));
}

#[test]
fn a_status_comment_is_written_again_where_the_log_went_on() {
    let mut walk = Walk::at_checkpoint();
    for end in [false, true] {
        if end {
            walk.feed(Input::IssueClosed);
        }
        let seq = walk.task.seq;
        walk.ignores(Input::StatusShown { seq });
        walk.feed(Input::StatusShown { seq: seq - 1 });
        assert!(walk.shows && walk.last == Step::default(), "ended: {end}, {:?}", walk.last);
    }
    walk.feed(Input::LogAttached);
    assert!(walk.shows && walk.last == Step::default(), "it links the file");
    walk.ignores(blocked()).ignores(Input::Expired);
}

#[test]
fn the_log_of_what_was_done_is_attached_once() {
    let stop = || said(150, Verb::Stop);
    let mut nothing_done = Walk::running(TaskKind::Fix);
    nothing_done.decide(stop());
    let mut acted = Walk::running(TaskKind::Fix);
    acted.answer(vec![bash()]).decide(stop());
    let mut shown = Walk::at_checkpoint();
    shown.decide(stop());
    let mut expired = Walk::at_checkpoint();
    expired.feed(Input::Expired);
    let mut delivered = Walk::at_final();
    delivered.decide(approval(101));
    assert!(delivered.wants("ready_pull"), "that one attaches it");
    delivered.feed(Input::Fetched { commit: commit(ONE) });
    // Whether the log is attached, and the pull request closed.
    for (walk, attached, closed) in [
        (&nothing_done, false, false),
        (&acted, true, false),
        (&shown, true, true),
        (&expired, true, false),
        (&delivered, false, false),
    ] {
        assert!(walk.task.state.ended() && walk.wants("teardown"), "{:?}", walk.last);
        assert_eq!((walk.wants("attach_log"), walk.wants("close_pull")), (attached, closed), "{:?}", walk.last);
    }
}

#[test]
fn what_nobody_touches_expires_unless_it_works() {
    let mut paused = Walk::running(TaskKind::Fix);
    paused.feed(blocked());
    for mut walk in [Walk::new(TaskKind::Fix), Walk::at_checkpoint(), Walk::at_final(), paused] {
        walk.feed(Input::Expired);
        assert_eq!((walk.task.end(), walk.notice()), (Some(&End::Expired), Some(&Notice::Expired)));
    }
    let mut made = Walk::new(TaskKind::Fix);
    made.feed(Input::SlotFree).ignores(Input::Expired);
    Walk::running(TaskKind::Fix).ignores(Input::Expired);
}

#[test]
fn what_is_noticed_outside_is_posted_where_it_belongs() {
    let mut walk = Walk::at_checkpoint();
    let before = walk.task.clone();
    walk.feed(Input::Noticed { notice: Notice::Trouble { sentence: "the forge is away".into() } });
    assert!(walk.shows && walk.last == Step::default(), "nobody is notified: {:?}", walk.last);
    let mut keys = Vec::new();
    for to in ["a/c", "a/d", "a/c"] {
        let moved = Notice::Moved { from: "a/b".into(), to: to.into() };
        walk.feed(Input::Noticed { notice: moved.clone() });
        assert!(matches!(&walk.last.effects[..], [Effect::Comment { to: To::Seen { seq, .. }, notice }]
            if *seq == before.seq && *notice == moved));
        keys.extend(walk.last.effects.iter().map(Effect::key));
    }
    assert!(keys[0] == keys[2] && keys[0] != keys[1], "each move is posted, and once: {keys:?}");
    let beside = Notice::Beside { number: 17, thread: 4, text: "t".into() };
    walk.feed(Input::Noticed { notice: beside.clone() });
    assert_eq!(walk.last.effects, [Effect::Comment { to: To::Beside { number: 17, thread: 4 }, notice: beside }]);
    assert_eq!(walk.task, before);
}

#[test]
fn a_persons_question_is_charged_in_any_state_and_behind_the_end() {
    let starting = || Input::ReplyStarting { number: 150, call: 1, worst_micro_usd: 50 };
    let replied = || Input::Replied {
        number: 150,
        call: 1,
        text: "so".into(),
        usage: Usage { input: 9, output: 6, ..Usage::default() },
        micro_usd: 7,
        model: "m".into(),
    };
    let mut paused = Walk::running(TaskKind::Fix);
    paused.feed(blocked());
    for mut walk in [Walk::running(TaskKind::Fix), Walk::at_checkpoint(), paused] {
        let before = walk.task.clone();
        walk.feed(starting());
        assert_eq!(walk.last.events, [Event::ReplyStarted { number: 150, call: 1, worst_micro_usd: 50 }]);
        assert_eq!(walk.task.spent.micro_usd, before.spent.micro_usd + 50);
        walk.feed(replied());
        assert!(
            matches!(&walk.last.events[..], [Event::Replied(Reply { number: 150, call: 1, text, .. })] if text == "so")
        );
        let (micro_usd, tokens) = (before.spent.micro_usd + 7, before.spent.tokens + 15);
        let spent = Spent { micro_usd, tokens, ..before.spent };
        assert_eq!(walk.task, Task { spent, seq: before.seq + 2, ..before });
        walk.feed(starting()).feed(Input::IssueClosed).feed(replied());
        assert!(matches!(&walk.last.events[..], [Event::Replied(_)]) && walk.last.effects.is_empty());
        let (micro_usd, tokens) = (micro_usd + 7, tokens + 15);
        assert_eq!((walk.task.spent.micro_usd, walk.task.spent.tokens, walk.task.reply_worst), (micro_usd, tokens, 0));
        assert!(walk.task.state.ended());
        walk.feed(starting());
        assert_eq!((walk.task.spent.micro_usd, walk.last.effects.len()), (micro_usd + 50, 0));
    }
}

#[test]
fn a_task_that_is_over_takes_the_question_of_somebody_who_may_write_and_no_other() {
    let mut over = Walk::at_checkpoint();
    over.decide(said(101, Verb::Stop));
    let question = || said(201, Verb::Ask { question: "why?".into() });
    for bad in [
        Decision { right: Access::Read, ..question() },
        Decision { barred: Some("admins".into()), ..question() },
        Decision { edited: true, ..question() },
    ] {
        over.ignores(Input::Decided { decision: Box::new(bad) });
    }
    let before = over.task.clone();
    over.decide(Decision { thread: Some(2), ..question() });
    let to = To::Asked { number: 201, thread: Some(2), again: None };
    let notice = Notice::Reply { login: "p7".into(), number: 201, question: "why?".into() };
    assert_eq!(over.last, Step { events: Vec::new(), effects: vec![Effect::Comment { to, notice }] });
    assert!(over.task == before && !over.shows, "{:?}", over.task);
}

#[test]
fn a_pull_request_that_is_closed_is_no_delivery_even_of_approved_work() {
    for (merged, end) in [(true, End::Delivered), (false, End::Declined)] {
        let mut walk = Walk::at_final();
        walk.decide(approval(101)).feed(Input::PullClosed { merged, how: None });
        assert_eq!(walk.task.end(), Some(&end));
    }
    let mut walk = Walk::at_final();
    walk.decide(approval(101)).ignores(Input::Fetched { commit: commit(TWO) });
}

#[test]
fn the_commits_status_says_how_far_it_is() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(); 5]).acts(5).captured(1);
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!(statuses(&walk), ["pending"]);
    walk.decide(approval(101)).feed(Input::Opened { fresh: None });
    walk.answer(vec![bash(), done()]).acts(1);
    walk.feed(Input::TreeUnchanged { n: 2, commit: commit(ONE), left_out: Vec::new() });
    walk.verdict(2, VerdictKind::Passed);
    assert_eq!(statuses(&walk), ["pending"], "nobody approved it");
    walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
    assert_eq!(statuses(&walk), [] as [&str; 0], "it has one already");
    walk.decide(approval(103));
    assert_eq!(statuses(&walk), ["success"]);
    let mut red = Walk::running(TaskKind::Fix);
    red.answer(vec![bash(), bash(), bash(), bash(), bash(), done()]).acts(5).captured(1);
    red.verdict(1, VerdictKind::Failed);
    assert_eq!(statuses(&red), ["failure"]);
}

#[test]
fn work_on_which_no_test_ran_waits_for_a_person_who_may_approve_it() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash(), done()]).acts(1).captured(1).verdict(1, VerdictKind::None);
    assert_eq!(walk.task.verdict.as_ref().map(Verdict::case), Some(VerdictCase::NoTest), "its command ran");
    assert_eq!(statuses(&walk), ["pending"], "neither green nor given back to the agent");
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    assert_eq!((walk.task.state.name(), walk.task.unapprovable()), ("final-review", None));
    walk.decide(approval(101));
    assert_eq!(walk.task.state.name(), "approved");
}

#[test]
fn a_verified_review_that_is_posted_again_shows_its_commit_and_what_the_checks_gave() {
    let mut last = Walk::at_final();
    let mut red = Walk::running(TaskKind::Fix);
    red.answer(vec![bash(), bash(), bash(), bash(), bash(), done()]).acts(5).captured(1);
    red.verdict(1, VerdictKind::Failed).feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    for (walk, is_last, state) in [(&mut last, true, "final-review"), (&mut red, false, "awaiting-review")] {
        let verdict = walk.task.verdict.clone();
        assert_eq!((walk.task.state.name(), verdict.is_some()), (state, true));
        walk.feed(Input::CheckpointVoided { n: 1 });
        let again = Effect::Review { n: 2, commit: Some(commit(ONE)), last: is_last };
        assert!(walk.last.effects.contains(&again), "{:?}", walk.last);
        assert_eq!((walk.task.captured.clone(), walk.task.verdict.clone()), (Some(commit(ONE)), verdict));
        walk.feed(Input::ReviewPosted { n: 2, review: 51, number: 102, risk: None });
        assert_eq!(walk.task.state.name(), state);
    }
}

/// Done with `bash` actions, and the CI waited for.
fn awaits_ci(actions: u32) -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    let calls = (0..actions).map(|_| bash()).chain([done()]).collect();
    walk.answer(calls).acts(actions).captured(1);
    let verdict = Verdict { kind: VerdictKind::Passed, ..Verdict::default() };
    walk.feed(Input::Verified { n: 1, verdict, ci: Some(CiWait::default()) });
    assert_eq!(walk.task.state.name(), "awaiting-ci");
    walk
}

#[test]
fn a_failed_ci_goes_back_only_where_actions_are_left() {
    // Actions, how it ended, what is wanted, and the status.
    let all: [(u32, CiOutcome, &str, &[&str]); 4] = [
        (1, CiOutcome::Failed, "open", &[]),
        (5, CiOutcome::Failed, "review", &["failure"]),
        (1, CiOutcome::Passed, "review", &["pending"]),
        (5, CiOutcome::Late, "review", &["pending"]),
    ];
    for (actions, outcome, wanted, status) in all {
        let mut walk = awaits_ci(actions);
        walk.feed(Input::CiEnded { n: 1, outcome, checks: Vec::new(), more: 0 });
        let work: Vec<&str> =
            walk.last.effects.iter().map(Effect::kind).filter(|kind| matches!(*kind, "open" | "review")).collect();
        assert_eq!((work, statuses(&walk)), (vec![wanted], status.to_vec()), "{actions} {outcome:?}");
    }
}

/// An attempt that begins from checkpoint 1 of an earlier one.
fn begun_from_two() -> Walk {
    let from = ApprovedStart { n: 1, commit: commit(TWO), base: commit(BASE), by: person(7) };
    let earlier = Earlier { task: TaskId(9), tried: Vec::new(), from: Some(Box::new(from)), upstream_ci: None };
    let mut walk = Walk::asked(Request { earlier: Some(earlier), ..request(TaskKind::Fix) });
    walk.feed(Input::SlotFree).feed(prepared());
    walk
}

fn unchanged(n: u32) -> Input {
    Input::TreeUnchanged { n, commit: commit(TWO), left_out: Vec::new() }
}

#[test]
fn a_done_over_nothing_but_an_earlier_attempts_work_is_returned_and_then_shown() {
    let mut walk = begun_from_two();
    walk.answer(vec![bash(), done()]).acts(1).feed(unchanged(1));
    assert!(walk.wants("open") && walk.last.events.contains(&Event::DoneReturned { n: 1 }), "{:?}", walk.last);
    walk.feed(Input::Opened { fresh: None }).answer(vec![done()]).feed(unchanged(2));
    let push = Effect::Push { n: 2, commit: commit(TWO), expected: None };
    assert!(walk.last.effects.contains(&push), "it stands on no branch of this attempt: {:?}", walk.last);
}

#[test]
fn an_earlier_attempts_work_that_a_person_saw_here_is_verified() {
    let mut walk = begun_from_two();
    walk.answer(vec![bash(); 5]).acts(5).feed(unchanged(1));
    assert!(walk.wants("push"), "{:?}", walk.last);
    walk.feed(Input::Pushed { n: 1, commit: commit(TWO) }).feed(Input::PullOpened { number: 2, url: String::new() });
    walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
    walk.decide(Decision { commit: Some(commit(TWO)), head: Some(commit(TWO)), ..approval(101) });
    assert_eq!(walk.task.state, State::Running);
    walk.feed(Input::Opened { fresh: None }).answer(vec![done()]).feed(unchanged(2));
    assert!(walk.wants("verify") && !walk.wants("push") && !walk.wants("open"), "{:?}", walk.last);
}
