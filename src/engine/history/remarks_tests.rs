//! Numbered remarks in conversations: how the model is told of them, and that the open ones stay through shortening and restarts.

use crate::engine::EngineConfig;
use crate::engine::fixtures::{acted, answer, call, commit, decided, prepared, requested};
use crate::engine::history::request;
use crate::engine::nudge::Form;
use crate::llm::{ModelRequest, Turn};
use crate::secret::Secret;
use domain::*;
use serde_json::json;

const FIRST: &str = "compare numbers, not text: **all** of them";
const SECOND: &str = "why `newer`?\nAnd not `is_newer`?";

fn rebuilt(log: &[Event], form: Form) -> ModelRequest {
    let config = EngineConfig::new(Secret::new("k"), 4096);
    request(&Task::fold(TaskId(7), log), log, form, &config)
}

fn told(request: &ModelRequest) -> String {
    let text = |turn: &Turn| match turn {
        Turn::User { text } => text.clone(),
        Turn::Assistant { .. } | Turn::Results(_) | Turn::Pictures(_) => String::new(),
    };
    request.turns.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn remark(path: Option<&str>, text: &str) -> Item {
    let line = path.map(|_| 2);
    Item { path: path.map(str::to_owned), line, comment: Some(4), ..Item::on_the_whole(text, "alice") }
}

/// Two inline remarks, of which the agent answers the first.
fn log() -> Vec<Event> {
    let mut log = vec![requested(TaskKind::Fix, "b"), prepared()];
    log.push(answer(1, "I look.", vec![call("a", "bash", json!({"command": "ls"}))]));
    log.extend(acted(1, 1, 0, OutcomeStatus::Ok, "semver.py"));
    let items = vec![remark(None, "Nearly."), remark(Some("semver.py"), FIRST), remark(Some("semver.py"), SECOND)];
    log.push(decided(Verb::Changes { items }, 1));
    let said = json!({"remark": "r1", "text": "it does now", "addressed": true});
    let calls = vec![call("b", "bash", json!({"command": "make"})), call("c", "answer_remark", said)];
    log.push(answer(2, "I do.", calls));
    log.extend(acted(2, 2, 0, OutcomeStatus::Ok, "made"));
    log.push(Event::RemarkAnswered(RemarkAnswer { remark: 1, text: "it does now".into(), addressed: true }));
    log.push(Event::CallAnswered { turn: 2, index: 1, answer: "noted".into(), malformed: false });
    let file = FileChange { path: "semver.py".into(), added: 1, removed: 0, kind: "modified".into(), bytes: None };
    let (steering, left_out, outside, marked) = Default::default();
    let (files, diff, diff_cut) = (vec![file], String::new(), 0);
    let tree = CapturedTree {
        commit: commit('b'),
        files,
        diff,
        diff_cut,
        steering,
        left_out,
        outside,
        marked,
        facts: Vec::new(),
    };
    log.push(Event::TreeCaptured { n: 2, tree });
    log
}

#[test]
fn remarks_are_told_with_their_numbers_and_the_open_ones_named_again() {
    let mut log = log();
    let text = told(&rebuilt(&log, Form::Tools));
    for words in
        ["say so with `answer_remark`", "- in general\n", "r1: `semver.py`, line 2\n", "r2: `semver.py`, line 2\n"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(told(&rebuilt(&log, Form::Text)).contains("`ADDRESSED r1: what you changed`"));
    let before = rebuilt(&log, Form::Tools);
    log.push(decided(Verb::approve(), 2));
    let after = rebuilt(&log, Form::Tools);
    assert_eq!(after.turns[..before.turns.len()], before.turns, "nothing that was sent changes");
    assert!(told(&after).contains("Remarks still open: r2; say with `answer_remark`"), "{}", told(&after));
    assert!(told(&rebuilt(&log, Form::Text)).contains("Remarks still open: r2; say what became of each on a line"));
    // What waits for the next decision comes with it, under its number.
    log.push(Event::FeedbackGiven { items: vec![remark(Some("a.py"), "x")], from: Source::Comment(9), asks: false });
    log.push(decided(Verb::approve(), 3));
    let text = told(&rebuilt(&log, Form::Tools));
    assert!(text.contains("Remarks still open: r2, r3;") && text.contains("r3: `a.py`, line 2\n"), "{text}");
}

#[test]
fn open_remarks_stay_word_for_word_through_shortening_and_restarts() {
    let mut log = log();
    log.push(decided(Verb::approve(), 2));
    log.push(answer(3, "On.", vec![call("d", "bash", json!({"command": "make"}))]));
    log.extend(acted(3, 3, 0, OutcomeStatus::Ok, "made"));
    let restarted = [log.clone(), vec![Event::ConversationRestarted]].concat();
    log.push(Event::Compacted { turn: 4, shrunk: 3, folded: 2, rate: 300 });
    let tried = [
        restarted[..restarted.len() - 1].to_vec(),
        vec![Event::AnotherWay { tried: vec!["x".into()] }, Event::ConversationRestarted],
    ]
    .concat();
    for log in [log, restarted, tried] {
        for form in [Form::Tools, Form::Text] {
            let text = told(&rebuilt(&log, form));
            for words in [FIRST, SECOND, "r2: `semver.py`, line 2\n", "Remarks above that are still open: r2."] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    }
}

#[test]
fn a_remark_on_the_old_side_is_told_with_its_line_there_and_the_text_that_was_removed() {
    let mut log = log();
    let on_old = |line: u64, removed: Option<&str>| {
        let old = Some(OldLine { line, removed: removed.map(str::to_owned) });
        Item { line: None, old, ..remark(Some("semver.py"), "why is it gone?") }
    };
    let items = vec![on_old(7, Some("    check(a)\u{202e}")), on_old(9, None)];
    log.push(decided(Verb::Changes { items }, 2));
    let text = told(&rebuilt(&log, Form::Tools));
    for place in ["r3: `semver.py`, on removed line 7 (`check(a)", "r4: `semver.py`, on line 9 of the old file\n"] {
        assert!(text.contains(place), "{place}: {text}");
    }
    assert!(!text.contains('\u{202e}'), "one line without hidden characters: {text}");
}

#[test]
fn what_was_taken_back_before_it_was_told_is_not_told() {
    let mut log = log();
    log.push(Event::FeedbackGiven {
        items: vec![remark(Some("a.py"), "drop all")],
        from: Source::Comment(9),
        asks: false,
    });
    log.push(Event::RemarkWithdrawn(RemarkWithdrawn { remark: 3, why: Withdrawal::Deleted }));
    log.push(decided(Verb::approve(), 2));
    let text = told(&rebuilt(&log, Form::Tools));
    assert!(!text.contains("drop all") && !text.contains("r3"), "{text}");
}

/// Calls behind the last action before a checkpoint run first once it is approved, and count.
#[test]
fn an_approval_says_where_the_next_checkpoint_comes_and_not_how_many_actions_are_left() {
    let run = |id: &str| call(id, "bash", json!({"command": format!("make {id}")}));
    let mut log = vec![requested(TaskKind::Fix, "b"), prepared()];
    log.push(answer(1, "I do.", vec![run("a"), run("b"), run("c")]));
    log.extend(acted(1, 1, 0, OutcomeStatus::Ok, "made"));
    log.extend(acted(2, 1, 1, OutcomeStatus::Ok, "made"));
    log.push(decided(Verb::approve(), 1));
    log.extend(acted(3, 1, 2, OutcomeStatus::Ok, "made"));
    let request = rebuilt(&log, Form::Tools);
    let results = request.turns.iter().find_map(|turn| match turn {
        Turn::Results(results) => Some(results),
        Turn::User { .. } | Turn::Assistant { .. } | Turn::Pictures(_) => None,
    });
    let last = results.and_then(|results| results.last()).expect("a result");
    assert!(last.text.contains("[action 3, 1 of 2]"), "{}", last.text);
    let words = told(&request);
    assert!(words.contains("the next checkpoint comes 2 actions after this one."), "{words}");
    assert!(!words.contains("are left"), "{words}");
}
