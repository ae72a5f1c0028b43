//! Remarks of people: their numbers and states, as the log alone gives them.

use crate::common::*;
use caisson_domain::*;
use proptest::prelude::*;

const TWO: &str = "2222222222222222222222222222222222222222";

fn inline(path: &str, text: &str) -> Item {
    Item { path: Some(path.into()), line: Some(3), comment: Some(9), ..Item::on_the_whole(text, "p7") }
}

fn whole(text: &str) -> Item {
    Item::on_the_whole(text, "p7")
}

fn said(number: i64, verb: Verb) -> Decision {
    Decision { verb, ..approval(number) }
}

fn answers(remark: u32, addressed: bool) -> CallRequest {
    call(Call::AnswerRemark { answer: RemarkAnswer { remark, text: "it is so".into(), addressed } })
}

fn tree(of: &str, paths: &[&str]) -> CapturedTree {
    let file = |path: &&str| FileChange {
        path: (*path).to_owned(),
        added: 1,
        removed: 0,
        kind: "modified".into(),
        bytes: None,
    };
    CapturedTree { files: paths.iter().map(file).collect(), ..captured_tree(commit(of)) }
}

/// Number and state of each, in a word.
fn states(remarks: &Remarks) -> Vec<String> {
    let word = |remark: &Remark| match &remark.state {
        RemarkState::Open => format!("{} open", remark.name()),
        RemarkState::Addressed { commit, unasked } => format!("{} {} {unasked}", remark.name(), commit.short()),
        RemarkState::Answered => format!("{} answered", remark.name()),
        RemarkState::Withdrawn { why } => format!("{} {why:?}", remark.name()),
    };
    remarks.all().iter().map(word).collect()
}

/// At checkpoint 1, with changes asked for on two files, and work going on.
fn asked_for() -> Walk {
    let mut walk = Walk::at_checkpoint();
    let items = vec![whole("Nearly."), inline("a.py", "rename"), inline("b.py", "why?")];
    walk.decide(said(101, Verb::Changes { items })).feed(Input::Opened { fresh: None });
    walk
}

/// Takes five actions and captures these files as checkpoint `n`.
fn on(walk: &mut Walk, n: u32, of: &str, paths: &[&str]) {
    let left = usize::from(5 - walk.task.used);
    walk.answer(vec![bash(); left]).acts(u32::try_from(left).expect("few"));
    walk.feed(Input::TreeCaptured { n, tree: tree(of, paths) }).feed(Input::Pushed { n, commit: commit(of) });
    walk.feed(Input::ReviewPosted { n, review: i64::from(50 + n), number: i64::from(100 * n), risk: None });
}

#[test]
fn a_remark_is_addressed_where_the_agent_says_so_and_its_file_changed() {
    let mut walk = asked_for();
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 open"], "the text above them only introduces them");
    assert!(walk.task.numbered.all().iter().all(|remark| remark.since == 1 && remark.delivered));
    walk.answer(vec![answers(1, true), answers(2, true)]);
    assert_eq!((walk.task.used, walk.task.malformed), (0, 0), "they are no actions");
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 open"], "nothing is captured yet");
    on(&mut walk, 2, TWO, &["a.py"]);
    assert_eq!(states(&walk.task.numbered), ["r1 2222222222 false", "r2 open"]);
    // Said after the commit that did it: the next look counts it.
    let mut walk = asked_for();
    on(&mut walk, 2, TWO, &["b.py"]);
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 open"]);
    walk.decide(said(201, Verb::Approve { checkpoint: Some(2), commit: None, next: 0 }));
    assert_eq!(walk.task.state.name(), "awaiting-review", "about another commit");
    let yes = Decision { commit: Some(commit(TWO)), head: Some(commit(TWO)), ..approval(202) };
    walk.decide(yes).feed(Input::Opened { fresh: None }).answer(vec![answers(2, true)]);
    let n = 3;
    walk.answer(vec![bash(); 5]).acts(5).feed(Input::TreeUnchanged { n, commit: commit(TWO), left_out: Vec::new() });
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 2222222222 false"]);
}

#[test]
fn words_answer_a_remark_and_a_later_change_addresses_it() {
    let mut walk = asked_for();
    walk.answer(vec![answers(2, false)]);
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 answered"]);
    walk.answer(vec![answers(2, true)]);
    on(&mut walk, 2, TWO, &["b.py"]);
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 2222222222 false"]);
}

#[test]
fn another_answer_to_the_same_remark_counts_as_a_turn_without_a_call_once_that_goes_on() {
    let mut walk = asked_for();
    walk.answer(vec![answers(1, true)]).answer(vec![answers(2, false)]);
    let counted = (walk.task.noted, walk.task.malformed);
    assert_eq!(counted, (false, 0), "each remark is answered once, whatever came before");
    for again in 0..=MALFORMED_LIMIT {
        assert_eq!((walk.task.malformed, walk.task.state.name()), (again.saturating_sub(1), "running"));
        walk.answer(vec![answers(1, true), answers(2, false)]);
    }
    assert_eq!(walk.task.state.name(), "paused");
}

#[test]
fn an_unknown_number_is_answered_with_the_open_ones_as_a_malformed_call_is() {
    let mut walk = asked_for();
    let told = |walk: &Walk| match walk.last.events.last() {
        Some(Event::CallAnswered { answer, malformed, .. }) => (answer.clone(), *malformed),
        other => panic!("{other:?}"),
    };
    walk.answer(vec![answers(7, true)]);
    assert_eq!(told(&walk), ("there is no remark r7: open are r1, r2".to_owned(), true));
    // One that waits for the next decision is not known to the agent.
    walk.decide(said(150, Verb::Say { items: vec![inline("c.py", "and this?")] }));
    walk.answer(vec![answers(3, true)]);
    assert_eq!(told(&walk), ("there is no remark r3: open are r1, r2".to_owned(), true));
    assert_eq!(states(&walk.task.numbered), ["r1 open", "r2 open", "r3 open"]);
    let withdrawn = |remark| RemarkWithdrawn { remark, why: Withdrawal::Resolved };
    walk.feed(Input::RemarksWithdrawn { remarks: vec![withdrawn(1), withdrawn(9)] });
    walk.feed(Input::RemarksWithdrawn { remarks: vec![withdrawn(1)] });
    assert!(walk.last.events.is_empty(), "once");
    walk.answer(vec![answers(1, true)]);
    assert!(!told(&walk).1 && told(&walk).0.contains("took this remark back"));
    assert_eq!(states(&walk.task.numbered), ["r1 Resolved", "r2 open", "r3 open"]);
}

#[test]
fn a_request_without_places_is_one_remark_and_what_is_only_said_is_none() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(said(90, Verb::Changes { items: vec![whole("before it stood")] }));
    walk.decide(said(101, Verb::Say { items: vec![whole("thanks")] }));
    walk.decide(said(102, Verb::Changes { items: vec![whole("shorter")] }));
    let told: Vec<_> = walk.task.numbered.all().iter().map(|it| (it.item.text.as_str(), it.delivered)).collect();
    assert_eq!(told, [("before it stood", true), ("shorter", true)]);
    walk.feed(Input::Opened { fresh: None }).answer(vec![answers(1, true), answers(2, false)]);
    on(&mut walk, 2, TWO, &["x.py"]);
    assert_eq!(states(&walk.task.numbered), ["r1 2222222222 false", "r2 answered"]);
}

#[test]
fn remarks_on_an_answer_are_about_its_next_version_and_have_no_numbers() {
    let mut walk = Walk::running(TaskKind::Plan);
    walk.answer(vec![done()]).feed(Input::AnswerPosted { n: 1, number: 100 });
    walk.decide(said(101, Verb::Changes { items: vec![whole("smaller steps")] }));
    assert!(walk.task.numbered.all().is_empty());
}

#[test]
fn where_the_model_is_asked_for_files_alone_a_changed_file_counts() {
    let mut walk = asked_for();
    let files = vec![NewFile::new("a.py", "x")];
    walk.answer(vec![call(Call::Action { action: Action::WriteFiles { files } })]).acts(1);
    walk.answer(vec![bash(); 4]).acts(4).feed(Input::TreeCaptured { n: 2, tree: tree(TWO, &["a.py"]) });
    assert_eq!(states(&walk.task.numbered), ["r1 2222222222 true", "r2 open"]);
}

#[test]
fn a_log_of_a_version_without_numbers_is_read_as_it_is() {
    let old = r#"{"event":"feedback_given","items":[{"path":"a.py","line":3,"text":"rename","author":"p7"}],"from":{"from":"review","id":4}}"#;
    let given: Event = serde_json::from_str(old).expect("read");
    assert_eq!(serde_json::to_string(&given).expect("written"), old, "and written as it was");
    let remarks = Remarks::of([&given]);
    assert_eq!(states(&remarks), ["r1 open"]);
    assert_eq!(remarks.all()[0].item.comment, None);
    let old = r#"{"event":"replied","number":1,"call":2,"text":"t","usage":{"input":1,"output":2,"cache_read":0,"cache_write":0},"micro_usd":3,"model":"m"}"#;
    let replied: Event = serde_json::from_str(old).expect("read");
    let Event::Replied(Reply { number: 1, call: 2, micro_usd: 3, .. }) = &replied else { panic!("{replied:?}") };
    let answer = RemarkAnswer { remark: 1, text: "t".into(), addressed: true };
    for event in [
        replied,
        Event::RemarkAnswered(answer),
        Event::RemarkWithdrawn(RemarkWithdrawn { remark: 1, why: Withdrawal::Deleted }),
    ] {
        let text = serde_json::to_string(&event).expect("written");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("read"), event, "{text}");
    }
}

/// What happens to remarks in a log, in any order.
fn happening() -> impl Strategy<Value = Event> {
    let item = (0..4_u8, 0..9_u8).prop_map(|(file, text)| match file {
        0 => whole(&text.to_string()),
        file => inline(&format!("{file}.py"), &text.to_string()),
    });
    let items = || prop::collection::vec(item.clone(), 0..4);
    let given = (items(), any::<bool>()).prop_map(|(items, asks)| Event::FeedbackGiven {
        items,
        from: Source::Comment(1),
        asks,
    });
    let used = items().prop_map(|items| {
        let decision = Box::new(said(1, Verb::Changes { items }));
        Event::DecisionUsed { decision, n: 1 }
    });
    let answered = (1..9_u32, any::<bool>())
        .prop_map(|(remark, addressed)| Event::RemarkAnswered(RemarkAnswer { remark, text: "t".into(), addressed }));
    let withdrawn =
        (1..9_u32).prop_map(|remark| Event::RemarkWithdrawn(RemarkWithdrawn { remark, why: Withdrawal::Deleted }));
    let captured = (1..4_u8).prop_map(|file| {
        let tree = tree(TWO, &[&format!("{file}.py")]);
        Event::TreeCaptured { n: 2, tree }
    });
    prop_oneof![given, used, answered, withdrawn, captured]
}

/// The remarks of an event that get numbers, read without the fold.
fn counted(event: &Event) -> Vec<Item> {
    let (items, asks) = match event {
        Event::FeedbackGiven { items, asks, .. } => (items.clone(), *asks),
        Event::DecisionUsed { decision, .. } => match &decision.verb {
            Verb::Changes { items } => (items.clone(), true),
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let inline: Vec<Item> = items.iter().filter(|item| item.path.is_some()).cloned().collect();
    if asks && inline.is_empty() { items } else { inline }
}

proptest! {
    #[test]
    fn no_remark_is_lost_or_counted_twice_and_numbers_stay(log in prop::collection::vec(happening(), 0..24)) {
        let wanted: Vec<Item> = log.iter().flat_map(counted).collect();
        let all = Remarks::of(&log);
        prop_assert_eq!(all.all().iter().map(|remark| remark.item.clone()).collect::<Vec<_>>(), wanted);
        prop_assert!(all.all().iter().zip(1..).all(|(remark, number)| remark.number == number));
        for at in 0..log.len() {
            let before = Remarks::of(&log[..at]);
            for (then, now) in before.all().iter().zip(all.all()) {
                prop_assert_eq!((then.number, &then.item, then.since), (now.number, &now.item, now.since));
                // What a person took back, and what a commit dealt with, stays so.
                let last = matches!(then.state, RemarkState::Addressed { .. } | RemarkState::Withdrawn { .. });
                prop_assert!(!last || then.state == now.state);
                prop_assert!(!then.delivered || now.delivered);
            }
            let mut one_more = before;
            one_more.apply(&log[at]);
            let items = match &log[at] {
                Event::FeedbackGiven { items, asks, .. } => one_more.numbers(items, *asks),
                _ => Vec::new(),
            };
            let given: Vec<u32> = items.into_iter().flatten().collect();
            let newest: Vec<u32> = one_more.all().iter().map(|it| it.number).rev().take(given.len()).collect();
            prop_assert_eq!(given, newest.into_iter().rev().collect::<Vec<_>>());
        }
    }
}

#[test]
fn work_that_is_brought_onto_a_newer_base_settles_no_remark() {
    let mut log = asked_for().log;
    log.push(Event::RemarkAnswered(RemarkAnswer { remark: 1, text: "renamed".into(), addressed: true }));
    let (onto, head) = (commit(&"3".repeat(40)), commit(&"1".repeat(40)));
    log.push(Event::Rebased(Box::new(Rebased { from: commit(&"0".repeat(40)), onto, head, conflicts: Vec::new() })));
    log.push(Event::TreeCaptured { n: 2, tree: tree(&"4".repeat(40), &["a.py", "b.py"]) });
    assert_eq!(states(&Remarks::of(&log)), ["r1 open", "r2 open"], "all of the work, as it was");
    log.push(Event::TreeCaptured { n: 3, tree: tree(&"5".repeat(40), &["a.py"]) });
    assert!(states(&Remarks::of(&log))[0].starts_with("r1 5555555555"), "a change after it counts");
}

#[test]
fn a_remark_that_was_taken_back_before_the_agent_was_told_does_not_reach_it() {
    let mut walk = asked_for();
    walk.decide(said(150, Verb::Say { items: vec![inline("c.py", "delete it"), whole("and hurry")] }));
    walk.feed(Input::RemarksWithdrawn { remarks: vec![RemarkWithdrawn { remark: 3, why: Withdrawal::Deleted }] });
    assert_eq!(walk.task.remarks, [whole("and hurry")]);
}

#[test]
fn wrong_numbers_keep_no_action_from_running() {
    let mut walk = asked_for();
    let wrong = (0..MALFORMED_LIMIT).map(|_| answers(9, true));
    walk.answer([bash()].into_iter().chain(wrong).collect());
    assert!(walk.task.running.is_some() && walk.task.state == State::Running, "{:?}", walk.task.state);
}
