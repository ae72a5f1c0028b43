//! What becomes of people's words: who is answered, what counts, and at which moment and number it begins to count.

use crate::common::*;
use caisson_domain::*;

const NEWER: &str = "cccccccccccccccccccccccccccccccccccccccc";

fn words(number: i64) -> Decision {
    said(number, Verb::Say { items: vec![Item::on_the_whole("this one", "p7")] })
}

fn fed(decision: Decision) -> Input {
    Input::Decided { decision: Box::new(decision) }
}

/// Waits for the answer to a question, which has the forge's number 100.
fn asking() -> Walk {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![ask()]);
    walk.feed(Input::QuestionPosted { about: QuestionSubject::Question { turn: 1, index: 0 }, number: 100 });
    walk
}

/// Checkpoint 1 is approved with three more, and checkpoint 2 is posted with the forge's number 200.
fn in_advance_at_two() -> Walk {
    let mut walk = Walk::at_checkpoint();
    walk.decide(in_advance(101, 3)).on_to_checkpoint(2);
    assert!(walk.wants("advance") && walk.task.advance.is_some());
    walk
}

#[test]
fn a_question_about_the_task_is_answered_to_whoever_may_read_it() {
    let asked = [(Verb::Status, Notice::Status), (Verb::Cost, Notice::Cost), (Verb::Help, Notice::Help)];
    for (verb, notice) in asked {
        let mut walk = Walk::at_checkpoint();
        walk.ignores(fed(Decision { right: Access::None, ..said(101, verb.clone()) }));
        for right in [Access::Read, Access::Write, Access::Owner] {
            walk.decide(Decision { right, ..said(102, verb.clone()) });
            assert_eq!(walk.notice(), Some(&notice), "{right:?}");
            assert!(walk.last.events.is_empty(), "{right:?}: {:?}", walk.last);
        }
    }
}

#[test]
fn what_is_no_command_is_answered_to_a_reader_once_and_to_a_writer_each_time() {
    let no_command = |number, id, right| {
        let verb = Verb::Unknown { word: "aprove".into(), why: None };
        Decision { right, poster: person(id), ..said(number, verb) }
    };
    let told = Notice::UnknownCommand { word: "aprove".into(), why: None };
    let mut walk = Walk::at_checkpoint();
    walk.ignores(fed(no_command(101, 7, Access::None)));
    for (number, id, right, answered) in [
        (102, 7, Access::Read, true),
        (103, 7, Access::Read, false),
        (104, 8, Access::Read, true),
        (105, 9, Access::Write, true),
        (106, 9, Access::Write, true),
    ] {
        walk.decide(no_command(number, id, right));
        assert_eq!(walk.notice(), Some(&told).filter(|_| answered), "{number}");
        let kept = matches!(&walk.last.events[..], [Event::DecisionRefused { reason, .. }] if reason == NO_COMMAND);
        assert_eq!(kept, right == Access::Read, "{number}: {:?}", walk.last.events);
    }
    // Whoever then spells it right is told that it is not theirs to say.
    walk.decide(Decision { right: Access::Read, ..said(107, Verb::approve()) });
    assert!(matches!(walk.notice(), Some(Notice::Refused { .. })), "{:?}", walk.notice());
}

#[test]
fn who_may_not_write_is_told_that_instead_of_an_edit_and_once() {
    let changed = |number, verb| Decision { right: Access::Read, edited: true, ..said(number, verb) };
    let mut walk = Walk::at_checkpoint();
    walk.decide(changed(101, Verb::approve()));
    assert!(matches!(walk.notice(), Some(Notice::Refused { .. })), "{:?}", walk.notice());
    walk.decide(changed(102, Verb::Stop));
    assert_eq!((walk.notice(), reason(&walk)), (None, Some(NO_RIGHT)));
}

#[test]
fn a_remark_that_does_not_count_is_neither_kept_nor_answered() {
    for mut walk in [Walk::at_checkpoint(), Walk::running(TaskKind::Fix), asking()] {
        walk.ignores(fed(Decision { right: Access::Read, ..words(101) }));
        walk.ignores(fed(Decision { right: Access::Read, edited: true, ..words(102) }));
        walk.ignores(fed(said(103, Verb::Say { items: Vec::new() })));
    }
    Walk::at_checkpoint().ignores(fed(Decision { edited: true, ..words(101) }));
    asking().ignores(fed(Decision { edited: true, ..words(99) }));
    let mut walk = Walk::at_checkpoint();
    walk.decide(words(101));
    assert!(matches!(&walk.last.events[..], [Event::FeedbackGiven { asks: false, .. }]), "{:?}", walk.last);
}

fn edited(pushed: bool) -> Notice {
    Notice::Edited { login: "p7".into(), pushed }
}

#[test]
fn an_edited_remark_on_a_line_is_asked_for_again_and_a_push_before_it_is_named() {
    let item = Item { path: Some("a.py".into()), line: Some(3), ..remark("rename it") };
    let review = |number, verb| Decision { edited: true, verb, ..approval(number) };
    let mut walk = Walk::at_checkpoint();
    walk.decide(review(101, Verb::Say { items: vec![item.clone()] }));
    assert_eq!((walk.notice(), reason(&walk)), (Some(&edited(false)), Some("edited")));
    let pushed = |decision: Decision| Decision { head: Some(commit(NEWER)), ..decision };
    walk.decide(pushed(review(102, Verb::Say { items: vec![item.clone()] })));
    assert_eq!(walk.notice(), Some(&edited(true)));
    walk.decide(pushed(review(103, Verb::Changes { items: vec![item] })));
    assert_eq!((walk.notice(), walk.task.numbered.all().len()), (Some(&edited(true)), 0));
    // A comment shows no commit.
    walk.decide(pushed(Decision { edited: true, ..said(104, Verb::approve()) }));
    assert_eq!(walk.notice(), Some(&edited(false)));
}

#[test]
fn an_edited_answer_to_a_question_is_asked_for_again() {
    let mut walk = asking();
    walk.decide(Decision { edited: true, ..words(101) });
    assert_eq!((walk.notice(), reason(&walk)), (Some(&edited(false)), Some("edited")));
    assert_eq!(walk.task.state.name(), "asking");
    let elsewhere = Source::Reply { review: 50, comment: 102 };
    walk.decide(Decision { source: elsewhere, ..words(102) });
    assert!(matches!(walk.last.events[..], [Event::FeedbackGiven { .. }]), "it belongs to its line: {:?}", walk.last);
    walk.decide(words(103));
    assert_eq!(walk.task.state.name(), "running");
}

#[test]
fn only_what_may_be_an_answer_is_held_until_the_question_stands() {
    let counted = |walk: &Walk| walk.log.iter().filter(|event| matches!(event, Event::DecisionHeld { .. })).count();
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![ask()]).decide(said(99, Verb::Pause));
    assert_eq!((walk.task.state.name(), counted(&walk)), ("paused", 0));
    walk.decide(words(101));
    assert_eq!(counted(&walk), 1);
    let mut waits = Walk::at_checkpoint();
    waits.decide(words(101)).decide(approval(102));
    assert_eq!((waits.task.state.name(), counted(&waits)), ("running", 0), "no question waits");
}

#[test]
fn whom_the_operator_does_not_list_is_told_so_once() {
    let barred = |number, right| Decision { right, barred: Some("admins".into()), ..said(number, Verb::Stop) };
    let mut walk = Walk::at_checkpoint();
    walk.decide(barred(101, Access::Write));
    let told = Notice::NotAmong { login: "p7".into(), verb: "stop".into(), whom: "admins".into() };
    assert_eq!((walk.notice(), reason(&walk)), (Some(&told), Some(NOT_AMONG)));
    walk.decide(barred(102, Access::Admin));
    assert_eq!(walk.notice(), None, "once");
    assert!(matches!(&walk.last.events[..], [Event::DecisionRefused { reason, .. }] if reason == NOT_AMONG));
    assert_eq!(walk.task.state.name(), "awaiting-review");
    // Who may not write at all is told that instead, and a remark is no command.
    let mut reader = Walk::at_checkpoint();
    reader.decide(barred(101, Access::Read));
    assert!(matches!(reader.notice(), Some(Notice::Refused { verb, .. }) if verb == "stop"), "{:?}", reader.notice());
    assert_eq!(reason(&reader), Some(NO_RIGHT));
    walk.decide(Decision { barred: Some("admins".into()), ..words(103) });
    assert!(matches!(walk.last.events[..], [Event::FeedbackGiven { .. }]), "{:?}", walk.last);
}

#[test]
fn a_fix_approves_nothing_but_a_posted_answer() {
    let fix = |number| said(number, Verb::Fix { words: String::new(), terms: Terms::default() });
    let mut plan = Walk::running(TaskKind::Plan);
    plan.answer(vec![done()]);
    assert_eq!(plan.task.state.name(), "publishing");
    for mut walk in [Walk::at_checkpoint(), Walk::at_final(), Walk::running(TaskKind::Plan), plan] {
        let before = walk.task.clone();
        walk.decide(fix(101));
        assert_eq!((&walk.task, walk.notice()), (&before, Some(&Notice::AlreadyLive)));
    }
}

#[test]
fn the_minute_of_doubt_ends_after_a_minute_and_is_about_bare_comments_of_others() {
    let at_two = || {
        let mut walk = Walk::at_checkpoint();
        walk.decide(approval(101)).on_to_checkpoint(2);
        let posted = walk.task.checkpoint().expect("posted").at;
        assert!(posted > 1);
        (walk, posted)
    };
    let named = || Verb::Approve { checkpoint: None, commit: Some(ONE[..7].into()), next: 0 };
    // Whose approval it is, what it is, milliseconds after the checkpoint, and whether it is asked about.
    let all = [
        (8, said(201, Verb::approve()), 0, true),
        (8, said(201, Verb::approve()), 59_999, true),
        (8, said(201, Verb::approve()), 60_000, false),
        (7, said(201, Verb::approve()), 0, false),
        (8, approval(201), 0, false),
        (8, said(201, named()), 0, false),
    ];
    for (id, decision, after, doubtful) in all {
        let (mut walk, posted) = at_two();
        walk.decide(Decision { poster: person(id), at: posted + after, ..decision.clone() });
        assert_eq!(matches!(walk.notice(), Some(Notice::Doubtful { n: 2, .. })), doubtful, "{after}: {decision:?}");
        assert_eq!(walk.task.state.name() == "running", !doubtful, "{after}: {decision:?}");
    }
}

#[test]
fn the_minute_of_doubt_about_a_permission_ends_after_a_minute() {
    for (after, doubtful) in [(59_999, true), (60_000, false)] {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), bash()]).feed(Input::PermissionAsked { number: 1, reason: "r".into() });
        walk.feed(Input::QuestionPosted { about: QuestionSubject::Permission { number: 1 }, number: 100 });
        walk.decide(said(101, Verb::approve())).feed(Input::Opened { fresh: None }).acts(1);
        walk.feed(Input::PermissionAsked { number: 2, reason: "r".into() });
        walk.feed(Input::QuestionPosted { about: QuestionSubject::Permission { number: 2 }, number: 110 });
        let at = walk.task.asked_at + after;
        assert!(walk.task.asked_at > 1);
        walk.decide(Decision { poster: person(8), at, ..said(111, Verb::approve()) });
        assert_eq!(matches!(walk.notice(), Some(Notice::DoubtfulPermission { number: 2, .. })), doubtful, "{after}");
        assert_eq!(walk.task.permitted, !doubtful, "{after}");
    }
}

#[test]
fn a_commit_is_named_by_seven_digits_or_more_of_its_own() {
    for (named, good) in [(&ONE[..6], false), (&ONE[..7], true), (ONE, true), ("1111112", false), (BASE, false)] {
        let mut walk = Walk::at_final();
        walk.decide(said(101, Verb::Approve { checkpoint: None, commit: Some(named.into()), next: 0 }));
        assert_eq!(walk.task.state.name() == "approved", good, "{named}");
        assert_eq!(matches!(walk.notice(), Some(Notice::Stale { .. })), !good, "{named}");
    }
}

#[test]
fn what_has_the_number_of_the_checkpoint_itself_was_not_said_after_it() {
    let changes = || Verb::Changes { items: vec![Item::on_the_whole("shorter", "p7")] };
    let mut walk = Walk::at_checkpoint();
    walk.decide(approval(100));
    assert!(matches!(walk.notice(), Some(Notice::Stale { .. })), "{:?}", walk.notice());
    walk.decide(said(100, changes()));
    assert!(matches!(walk.notice(), Some(Notice::RemarksKept { n: 1, .. })), "{:?}", walk.notice());
    assert_eq!(walk.task.state.name(), "awaiting-review");
    let mut asked = asking();
    asked.decide(words(100));
    assert_eq!(asked.task.state.name(), "asking");
}

#[test]
fn an_approval_in_advance_needs_the_same_right_when_it_is_used() {
    type Spoil = fn(&mut Decision);
    let spoils: [Spoil; 2] = [
        |it| it.barred = Some("admins".into()),
        |it| it.others = Some(Box::new(Others { needed: 1, approvals: Vec::new() })),
    ];
    for spoil in spoils {
        let mut walk = in_advance_at_two();
        let mut read = in_advance(101, 3);
        spoil(&mut read);
        walk.feed(Input::AdvanceRead { n: 2, decision: Some(Box::new(read)) });
        assert!(matches!(walk.last.events[..], [Event::AdvanceEnded { left: 3, why: Ending::NoRight, .. }]));
        assert_eq!(walk.task.state.name(), "awaiting-review");
    }
}

#[test]
fn the_end_of_an_approval_in_advance_is_told_unless_the_word_that_ended_it_is_answered_anyway() {
    let tells = |walk: &Walk| {
        let told = |effect: &Effect| matches!(effect, Effect::Comment { notice: Notice::AdvanceEnded { .. }, .. });
        walk.last.effects.iter().any(told)
    };
    let at_final = || {
        let mut walk = Walk::at_checkpoint();
        walk.decide(in_advance(101, 3)).feed(Input::Opened { fresh: None }).answer(vec![bash(), done()]).acts(1);
        walk.captured(2).verdict(2, VerdictKind::Passed);
        walk.feed(Input::ReviewPosted { n: 2, review: 52, number: 200, risk: None });
        assert_eq!(walk.task.state.name(), "final-review");
        walk
    };
    let changes = || Verb::Changes { items: Vec::new() };
    let all = [
        (in_advance_at_two(), said(201, Verb::Stop), false),
        (in_advance_at_two(), said(201, Verb::Retry { from: None }), false),
        (in_advance_at_two(), approval(201), false),
        (in_advance_at_two(), said(201, changes()), false),
        (in_advance_at_two(), words(201), true),
        (at_final(), words(201), false),
    ];
    for (mut walk, decision, told) in all {
        walk.decide(decision.clone());
        assert!(matches!(walk.last.events.first(), Some(Event::AdvanceEnded { .. })), "{decision:?}: {:?}", walk.last);
        assert_eq!(tells(&walk), told, "{decision:?}: {:?}", walk.last);
    }
    for verb in [Verb::Status, Verb::Cost, Verb::Help, Verb::Ask { question: "why?".into() }] {
        let mut walk = in_advance_at_two();
        walk.decide(said(201, verb));
        assert!(walk.task.advance.is_some() && walk.notice().is_some(), "{:?}", walk.last);
    }
}

#[test]
fn a_grant_says_who_may_give_it_and_what_is_still_lacking() {
    let budget = Budget { actions: 1, tokens: 15, ..Budget::default() };
    let mut walk = Walk::asked(Request { budget, ..request(TaskKind::Fix) });
    walk.feed(Input::SlotFree).feed(prepared()).answer(vec![bash()]);
    assert!(matches!(&walk.task.state, State::Paused { reason: PauseReason::Budget { what }, .. } if what == "tokens"));
    let grant = |more, who| Verb::Budget { more, ceiling: Budget::default(), who };
    let tokens = Budget { tokens: 100, ..Budget::default() };
    for (who, admins) in [(Granters::Nobody, false), (Granters::Admins, true)] {
        walk.decide(said(101, grant(tokens, who)));
        let refused = Notice::BudgetRefused { login: "p7".into(), why: BudgetBar::Who { admins } };
        assert_eq!(walk.notice(), Some(&refused));
    }
    walk.decide(said(102, more_actions()));
    assert!(matches!(walk.notice(), Some(Notice::BudgetGranted { lacks: Some(what), .. }) if what == "tokens"));
    assert_eq!(walk.task.state.name(), "paused", "it would stop again at once");
    walk.decide(said(103, grant(tokens, Granters::Writers)));
    assert!(walk.task.state == State::Running && walk.wants("open"), "{:?}", walk.last);
    walk.decide(said(104, grant(tokens, Granters::Writers)));
    assert!(matches!(walk.last.events[..], [Event::BudgetGranted { .. }]), "it works on: {:?}", walk.last);
    assert!(matches!(walk.notice(), Some(Notice::BudgetGranted { lacks: None, .. })));
}

#[test]
fn a_move_that_is_not_made_has_its_reason_in_the_log() {
    let asked = |number, tip| said(number, Verb::Rebase { tip: Some(commit(tip)) });
    let mut paused = Walk::at_checkpoint();
    paused.decide(said(101, Verb::Pause));
    let mut approved = Walk::at_final();
    approved.decide(approval(101));
    let mut refused = Walk::running(TaskKind::Fix);
    refused.answer(vec![bash(); 5]).acts(5).feed(Input::TreeRefused { n: 1, reasons: vec!["r".into()] });
    refused.feed(Input::AnswerPosted { n: 1, number: 100 });
    let all = [
        (Walk::running(TaskKind::Plan), asked(102, NEWER), "nothing to bring onto another base"),
        (Walk::running(TaskKind::Fix), asked(102, NEWER), "no checkpoint waits"),
        (paused, asked(102, NEWER), "the task is paused"),
        (approved, asked(102, NEWER), "the work is approved"),
        (Walk::at_checkpoint(), asked(100, NEWER), "it was given before the checkpoint stood"),
        (refused, asked(102, NEWER), "the newest tree was refused"),
        (Walk::at_checkpoint(), asked(102, BASE), "the base branch has not moved"),
        (Walk::at_checkpoint(), said(102, Verb::Rebase { tip: None }), "there is no base branch"),
    ];
    for (mut walk, decision, why) in all {
        walk.decide(decision);
        assert_eq!(reason(&walk), Some(why));
        assert!(matches!(walk.notice(), Some(Notice::NotRebased { .. })), "{why}: {:?}", walk.notice());
    }
}
