//! A task of 300 actions through a window of 16,000 tokens, request by request.

use super::*;
use crate::engine::fixtures::{answer, call, decided};
use crate::engine::walk::{REMARK, Summarize, WINDOW, Walk, all, config, due_of};
use crate::llm::Turn;
use domain::*;
use serde_json::json;

fn three_hundred(summarize: Option<Summarize>) -> Walk {
    let mut walk = Walk::begin(60);
    walk.summarize = summarize;
    for n in 1..=60 {
        walk.acts(n * 5 - 4..n * 5 + 1);
        let verb = match n {
            10 => Verb::Changes { items: vec![Item::on_the_whole(REMARK, "alice")] },
            _ => Verb::approve(),
        };
        walk.log.push(decided(verb, n));
        if n == 12 {
            walk.log.push(Event::PlanUpdated { plan: "- [ ] measure the drag".into(), steps: Vec::new(), by: None });
        }
    }
    walk
}

#[test]
fn three_hundred_actions_go_through_a_small_window_and_what_was_asked_stays() {
    let mut walk = three_hundred(None);
    let request = walk.ask();
    let told = all(&request);
    assert!(told.contains(REMARK) && told.contains("measure the drag"), "{told}");
    assert!(told.contains("action 299: bash make step-299") || told.contains("299.0 some output"), "{told}");
    assert!(walk.compactions > 3 && walk.compactions < 40, "{} times shortened", walk.compactions);
    assert!(walk.biggest > WINDOW / 2, "the window is used: {}", walk.biggest);
}

#[test]
fn so_they_do_where_a_model_tells_the_older_turns() {
    let mut walk = three_hundred(Some(|of| format!("All is well so far. {of:?}")));
    let request = walk.ask();
    let told = all(&request);
    assert!(told.contains(REMARK) && told.contains("measure the drag"), "{told}");
    let said = walk.log.iter().filter(|event| matches!(event, Event::Summarised { .. })).count();
    assert!(said > 3 && said as u32 <= walk.compactions, "{said} summaries of {} compactions", walk.compactions);
    let newest = walk.log.iter().rev().find_map(|event| match event {
        Event::Summarised { summary } => Some(summary),
        _ => None,
    });
    let SummaryOf::Turns { from, to, .. } = newest.expect("a summary").of else { panic!("of turns") };
    assert_eq!(from, 1, "it stands for the summaries before it too");
    let source = format!("actions 1 to {to}, told in short by the model scripted: m");
    assert!(told.contains(&source) && told.contains("All is well so far."), "{source}: {told}");
    assert!(!told.contains("action 1: bash make step-1: ok"), "the host's lines are not sent beside it");
}

#[test]
fn what_was_left_out_is_recalled_by_number_and_an_old_result_says_so() {
    let mut walk = Walk::begin(200);
    (1..=12).for_each(|number| walk.act(number));
    walk.log.push(Event::Compacted { turn: 13, shrunk: 8, folded: 2, rate: 300 });
    walk.last = None;
    let request = walk.ask();
    let told = all(&request);
    assert!(told.contains("actions 1 to 2, from the host's log") && told.contains("action 1: bash make step-1: ok"));
    assert!(!told.contains("\n1.5 some output"), "a turn that is told in short is not sent");
    assert!(told.contains("`recall` with number 6 shows the whole again") && !told.contains("6.100 some output"));
    assert!(told.contains("9.100 some output"), "newer results are whole");
    let what = Recall { number: Some(6), words: String::new() };
    walk.log.push(answer(13, "", vec![call("c13", "recall", json!({ "number": 6 }))]));
    walk.log.push(Event::Recalled { turn: 13, index: 0, what });
    let told = all(&history::request(&walk.task(), &walk.log, Form::Tools, &config()));
    assert!(told.contains("action 6: bash make step-6\nok") && told.contains("6.100 some output"), "{told}");
}

#[test]
fn a_short_conversation_stays_as_it_is_and_one_answer_too_large_is_left_to_a_person() {
    let mut walk = Walk::begin(200);
    (1..=3).for_each(|number| walk.act(number));
    assert_eq!(due_of(&walk.log, Style::Tools, WINDOW), None);
    assert_eq!(due_of(&walk.log, Style::Files, 100), None, "each request stands alone");
    assert_eq!(due_of(&walk.log, Style::Tools, 500), None, "not even the beginning fits");
}

#[test]
fn after_a_decision_less_is_enough_to_shorten() {
    let mut walk = Walk::begin(200);
    (1..=13).for_each(|number| walk.act(number));
    let request = history::request(&walk.task(), &walk.log, Form::Tools, &config());
    // At most four fifths of the window.
    let held = context::estimate(&request, &walk.log) * 5 / 4 + config().max_output_tokens;
    let window = |log: &[Event]| due_of(log, Style::Tools, held).is_some();
    let before = window(&walk.log);
    walk.log.push(decided(Verb::approve(), 1));
    assert!(!before && window(&walk.log), "a person was waited for: nothing is cached any more");
}

#[test]
fn a_vendors_own_parts_are_sent_back_until_what_stood_before_them_was_shortened() {
    let mut walk = Walk::begin(60);
    (1..=4).for_each(|number| walk.act(number));
    let parts = r#"{"wire":"anthropic","model":"m","before":"b","parts":"[]"}"#;
    for event in &mut walk.log {
        if let Event::TurnCompleted { vendor, .. } = event {
            *vendor = Some(parts.into());
        }
    }
    let kept = |log: &[Event]| {
        let request = history::request(&Task::fold(TaskId(7), log), log, Form::Tools, &config());
        request.turns.iter().filter(|turn| matches!(turn, Turn::Assistant { vendor: Some(_), .. })).count()
    };
    let before = kept(&walk.log);
    walk.log.push(Event::Compacted { turn: 5, shrunk: 2, folded: 1, rate: 300 });
    assert_eq!((before, kept(&walk.log)), (4, 0));
}
