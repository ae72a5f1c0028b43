//! A task of 300 actions through a window of 16,000 tokens, request by request.

use super::*;
use crate::engine::fixtures::{answer, call, decided, prepared, requested};
use crate::llm::{ModelRequest, Turn};
use crate::secret::Secret;
use domain::*;
use serde_json::json;

const WINDOW: u64 = 16_000;
/// Of the words that the task was asked for with.
const RULE: &str = "make 1.10 newer than 1.9";
const REMARK: &str = "name it speed_of_sound";

fn config() -> EngineConfig {
    EngineConfig { summary_chars: 6_000, ..EngineConfig::new(Secret::new("k"), 2_000) }
}

/// What a server counts: a little more than the usual quarter.
fn counted(request: &ModelRequest) -> u64 {
    request.chars() * 3 / 10
}

/// Every third says much, the others little.
fn ended(number: u32, loud: u32) -> Outcome {
    let lines = if number.is_multiple_of(3) { loud } else { 12 };
    let text: String = (0..lines).map(|line| format!("{number}.{line} some output of a build\n")).collect();
    Outcome { duration_ms: 3, ..Outcome::new(OutcomeStatus::Ok, text) }
}

/// As the effect asks.
fn due_of(log: &[Event], style: Style, window: u64) -> Option<Input> {
    let task = Task::fold(TaskId(7), log);
    let request = history::request(&task, log, Form::Tools, &config());
    due(&task, log, style, &config(), (context::estimate(&request, log), window))
}

/// One task, with the requests it was asked by.
struct Walk {
    /// Lines of an action that says much.
    loud: u32,
    log: Vec<Event>,
    compactions: u32,
    biggest: u64,
    last: Option<(ModelRequest, u32)>,
}

impl Walk {
    fn begin(loud: u32) -> Self {
        Walk {
            loud,
            log: vec![requested(TaskKind::Fix, "Long work."), Event::SlotGranted, prepared()],
            compactions: 0,
            biggest: 0,
            last: None,
        }
    }

    fn task(&self) -> Task {
        Task::fold(TaskId(7), &self.log)
    }

    /// As the effect does before a call: shortens where that is due, and gives the request.
    fn ask(&mut self) -> ModelRequest {
        let due = due_of(&self.log, Style::Tools, WINDOW);
        if let Some(Input::Compacted { turn, shrunk, folded, rate }) = due {
            self.log.push(Event::Compacted { turn, shrunk, folded, rate });
            self.compactions += 1;
        }
        let request = history::request(&self.task(), &self.log, Form::Tools, &config());
        self.check(&request);
        self.last = Some((request.clone(), self.compactions));
        request
    }

    fn check(&mut self, request: &ModelRequest) {
        let estimated = context::estimate(request, &self.log);
        assert!(estimated <= WINDOW - 2_000, "{estimated} tokens are over the budget");
        self.biggest = self.biggest.max(estimated);
        if let Some((before, compactions)) = &self.last
            && *compactions == self.compactions
        {
            assert_eq!(before.turns[..], request.turns[..before.turns.len()], "only appended");
        }
        if self.task().turn.is_multiple_of(50) {
            let again = history::request(&self.task(), &self.log, Form::Tools, &config());
            assert_eq!(&again, request, "the same log gives the same request");
        }
        for pair in request.turns.windows(2) {
            if let Turn::Assistant { calls, .. } = &pair[0] {
                let asked: Vec<_> = calls.iter().map(|call| &call.id).collect();
                let Turn::Results(results) = &pair[1] else { panic!("calls without results") };
                assert_eq!(asked, results.iter().map(|result| &result.call_id).collect::<Vec<_>>());
            }
        }
        let first = words(&request.turns[0]);
        assert!(first.contains(RULE), "what was asked for is gone: {first}");
    }

    fn act(&mut self, number: u32) {
        self.acts(number..number + 1);
    }

    /// One answer with these actions.
    fn acts(&mut self, numbers: std::ops::Range<u32>) {
        let request = self.ask();
        let turn = self.task().turn + 1;
        let run =
            |number: u32| call(&format!("c{number}"), "bash", json!({ "command": format!("make step-{number}") }));
        let calls = numbers.clone().map(run).collect();
        let mut said = answer(turn, &format!("I do step {} now.", numbers.start), calls);
        if let Event::TurnCompleted { usage, .. } = &mut said {
            usage.input = counted(&request);
        }
        self.log.push(said);
        for (index, number) in (0..).zip(numbers) {
            self.log.push(Event::ActionStarted { number, turn, index });
            self.log.push(Event::ActionFinished { number, outcome: ended(number, self.loud) });
        }
    }
}

fn words(turn: &Turn) -> String {
    match turn {
        Turn::User { text } => text.clone(),
        Turn::Assistant { text, .. } => text.clone(),
        Turn::Results(results) => results.iter().map(|result| result.text.as_str()).collect(),
        Turn::Pictures(pictures) => pictures.iter().map(|picture| picture.label.as_str()).collect(),
    }
}

fn all(request: &ModelRequest) -> String {
    request.turns.iter().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn three_hundred_actions_go_through_a_small_window_and_what_was_asked_stays() {
    let mut walk = Walk::begin(60);
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
    let request = walk.ask();
    let told = all(&request);
    assert!(told.contains(REMARK) && told.contains("measure the drag"), "{told}");
    assert!(told.contains("action 299: bash make step-299") || told.contains("299.0 some output"), "{told}");
    assert!(walk.compactions > 3 && walk.compactions < 40, "{} times shortened", walk.compactions);
    assert!(walk.biggest > WINDOW / 2, "the window is used: {}", walk.biggest);
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
    // Four fifths of what there is room for.
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
