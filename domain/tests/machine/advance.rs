//! Approvals in advance: what they cover, what they never cover, and what ends them.

use crate::common::*;
use caisson_domain::*;

/// Checkpoint 1 is approved, and this many following ones in advance.
fn approved(next: u8) -> Walk {
    let mut walk = Walk::at_checkpoint();
    walk.decide(in_advance(101, next));
    walk
}

fn read(walk: &mut Walk, n: u32, decision: Option<Decision>) {
    walk.feed(Input::AdvanceRead { n, decision: decision.map(Box::new) });
}

fn ended(walk: &Walk) -> Option<&Ending> {
    walk.log.iter().find_map(|e| match e {
        Event::AdvanceEnded { why, .. } => Some(why),
        _ => None,
    })
}

#[test]
fn it_is_used_one_checkpoint_at_a_time_each_after_a_fresh_look() {
    let mut walk = approved(2);
    assert_eq!(walk.notice(), Some(&Notice::InAdvance { login: "p7".into(), next: 2 }));
    for n in 2..=3 {
        walk.on_to_checkpoint(n);
        assert_eq!(walk.task.state.name(), "awaiting-review", "nothing goes on before the look");
        assert!(walk.last.effects.contains(&Effect::Advance { n, source: Source::Comment(101) }));
        read(&mut walk, n, Some(in_advance(101, 2)));
        assert!(walk.task.state == State::Running && walk.task.used == 0 && walk.wants("open"));
        let used = walk.last.events.iter().find(|event| matches!(event, Event::DecisionUsed { .. }));
        let Some(Event::DecisionUsed { decision, n: of }) = used else { panic!("{:?}", walk.last) };
        assert!(*of == n && decision.in_advance && decision.head == Some(commit(ONE)), "the evidence: {decision:?}");
    }
    walk.on_to_checkpoint(4);
    assert!(walk.task.advance.is_none() && !walk.wants("advance"), "used up");
}

#[test]
fn what_is_risky_or_final_waits_for_a_person() {
    let risks =
        [Risk::Final, Risk::NoCommit, Risk::Steering, Risk::Conflicts, Risk::Blocked, Risk::Upload, Risk::Unseen];
    for risk in risks {
        let mut walk = approved(3);
        walk.feed(Input::Opened { fresh: None });
        let posted = |risk| Input::ReviewPosted { n: 2, review: 60, number: 200, risk };
        match risk {
            Risk::Final => {
                walk.answer(vec![bash(), done()]).acts(1).captured(2).verdict(2, VerdictKind::Passed).feed(posted(None))
            }
            Risk::NoCommit => {
                let refused = Input::TreeRefused { n: 2, reasons: vec!["a symlink".into()] };
                walk.answer(vec![bash(); 5]).acts(5).feed(refused).feed(posted(None))
            }
            Risk::Steering => {
                let steering = vec!["tests/conftest.py".to_owned()];
                let tree = CapturedTree { steering, ..captured_tree(commit(ONE)) };
                walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeCaptured { n: 2, tree });
                walk.feed(Input::Pushed { n: 2, commit: commit(ONE) }).feed(posted(None))
            }
            Risk::Conflicts => {
                let tree = CapturedTree { marked: vec!["a.py".into()], ..captured_tree(commit(ONE)) };
                walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeCaptured { n: 2, tree });
                walk.feed(Input::Pushed { n: 2, commit: commit(ONE) }).feed(posted(None))
            }
            Risk::Blocked | Risk::Egress | Risk::Upload | Risk::Unseen => {
                walk.answer(vec![bash(); 5]).acts(5).captured(2).feed(posted(Some(risk)))
            }
        };
        assert!(matches!(walk.task.state.name(), "awaiting-review" | "final-review"), "{risk:?}");
        assert!(!walk.wants("advance"), "{risk:?}");
        read(&mut walk, 3, Some(in_advance(101, 3)));
        assert!(walk.last.events.is_empty(), "{risk:?}: of another checkpoint");
        if matches!(risk, Risk::Final | Risk::NoCommit | Risk::Steering | Risk::Conflicts) {
            read(&mut walk, 2, Some(in_advance(101, 3)));
            assert!(walk.last.events.is_empty(), "{risk:?}: a look that nobody asked for");
        }
    }
}

#[test]
fn any_other_word_of_a_writer_ends_it() {
    let fix = || Verb::Fix { words: String::new(), terms: Terms::default() };
    let said: [fn() -> Verb; 8] = [
        || Verb::Say { items: Vec::new() },
        || Verb::Changes { items: Vec::new() },
        Verb::approve,
        || Verb::Approve { checkpoint: None, commit: None, next: 5 },
        || Verb::Resume,
        || Verb::Allow { host: "a.test".into(), repo: false, bar: None },
        || Verb::Fix { words: String::new(), terms: Terms::default() },
        || Verb::Unknown { word: "aprove".into(), why: None },
    ];
    for verb in said {
        let mut walk = approved(3);
        walk.decide(Decision { verb: verb(), poster: person(8), ..approval(102) });
        assert_eq!(ended(&walk), Some(&Ending::Overtaken { login: "p8".into() }), "{:?}", verb());
        let told = |e: &Effect| matches!(e, Effect::Comment { notice: Notice::AdvanceEnded { left: 3, .. }, .. });
        assert!(walk.last.effects.iter().any(told), "{:?}: it is said", verb());
        walk.on_to_checkpoint(2);
        assert!(!walk.wants("advance"), "{:?}", verb());
    }
    for (verb, right) in [(Verb::Status, Access::Write), (Verb::Help, Access::Write), (fix(), Access::Read)] {
        let mut walk = approved(3);
        walk.decide(Decision { verb: verb.clone(), right, ..approval(102) });
        assert!(walk.task.advance.is_some(), "{verb:?} of somebody who may {right:?}");
    }
}

#[test]
fn a_pause_or_a_voided_checkpoint_ends_it() {
    let mut paused = approved(3);
    paused.feed(Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } });
    assert_eq!(ended(&paused), Some(&Ending::Paused));
    let mut voided = approved(3);
    voided.on_to_checkpoint(2).feed(Input::CheckpointVoided { n: 2 });
    assert_eq!(ended(&voided), Some(&Ending::Voided));
    read(&mut voided, 2, Some(in_advance(101, 3)));
    assert!(voided.last.events.is_empty(), "a look that was under way changes nothing any more");
}

#[test]
fn a_fresh_look_that_shows_something_else_ends_it() {
    type Spoil = fn(&mut Decision);
    let spoils: [(Ending, Spoil); 8] = [
        (Ending::NoRight, |d| d.right = Access::Read),
        (Ending::Moved { commit: commit(ONE) }, |d| d.head = Some(commit(BASE))),
        (Ending::Moved { commit: commit(ONE) }, |d| d.head = None),
        (Ending::Retargeted, |d| d.base = Some("evil".into())),
        (Ending::Withdrawn, |d| d.edited = true),
        (Ending::Withdrawn, |d| d.text_hash = "another".into()),
        (Ending::Withdrawn, |d| d.verb = Verb::approve()),
        (Ending::Withdrawn, |d| d.poster = person(8)),
    ];
    for (why, spoil) in spoils {
        let mut walk = approved(3);
        walk.on_to_checkpoint(2);
        let mut decision = in_advance(101, 3);
        spoil(&mut decision);
        read(&mut walk, 2, Some(decision));
        assert_eq!(ended(&walk), Some(&why));
        assert_eq!(walk.task.state.name(), "awaiting-review", "{why:?}");
        walk.decide(Decision { poster: person(8), ..approval(201) });
        assert_eq!(walk.task.state.name(), "running", "{why:?}: a person's answer counts as ever");
    }
    let mut gone = approved(3);
    gone.on_to_checkpoint(2);
    read(&mut gone, 2, None);
    assert_eq!(ended(&gone), Some(&Ending::Withdrawn));
}
