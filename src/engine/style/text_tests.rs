//! Answers in the style *text*, and a whole conversation as the model is sent it.

use super::*;
use crate::engine::style::files::tests::asking;
use crate::engine::style::{Reader, Style};
use crate::engine::{EngineConfig, turn};
use crate::llm::{ModelRequest, Scripted, Turn};
use crate::secret::Secret;
use domain::{Action, Budget, Call, CallRequest, Commit, Event, Outcome, OutcomeStatus, Recall, Task, TaskId, Usage};

fn said(text: &str) -> Vec<String> {
    let response = ModelResponse { text: text.into(), ..ModelResponse::default() };
    calls(&response, 3).iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
}

#[test]
fn a_shells_block_is_a_command_and_one_under_a_path_is_a_file() {
    assert_eq!(said("I look.\n\n```bash\ncat a.py\nls\n```\n"), [r#"bash {"command":"cat a.py\nls"}"#]);
    let file = [r#"write_file {"content":"x = 1\n","path":"src/a.py"}"#];
    for text in [
        "I write it.\n\nsrc/a.py\n```python\nx = 1\n```",
        "I write it.\n**`src/a.py`**:\n\n```python\nx = 1\n```",
        "```python src/a.py\nx = 1\n```",
        "/workspace/src/a.py\n```\nx = 1\n```",
    ] {
        assert_eq!(said(text), file, "{text}");
    }
    assert_eq!(said("a.py\n```bash\ncat a.py\n```"), [r#"bash {"command":"cat a.py"}"#], "it speaks about the file");
    assert!(said("run.sh\n```bash\necho 1\n```")[0].starts_with("write_file"));
    assert_eq!(said("```console\n$ ls\na.py\n$ cat a.py\n```"), [r#"bash {"command":"ls\ncat a.py"}"#]);
    assert_eq!(said("```\nls\n```"), [r#"bash {"command":"ls"}"#]);
}

#[test]
fn done_ends_the_work_and_stands_alone() {
    assert_eq!(said("DONE: mended.\nAll tests pass."), [r#"done {"summary":"mended.\nAll tests pass."}"#]);
    assert_eq!(said("They pass.\n\n**DONE:** mended"), [r#"done {"summary":"mended"}"#]);
    assert_eq!(said("I mended it.\nDONE"), [r#"done {"summary":"I mended it."}"#]);
    assert_eq!(said("```bash\nls\n```\nDONE: mended"), [r#"bash {"command":"ls"}"#]);
    assert_eq!(surplus("```bash\nls\n```\nDONE: mended"), Some(EARLY));
    assert_eq!(surplus("```bash\nls\n```\n```bash\ncat a\n```"), Some(SURPLUS));
    assert_eq!((surplus("```bash\nls\n```"), surplus("DONE: x"), surplus("")), (None, None, None));
}

#[test]
fn what_became_of_a_remark_is_said_on_a_line() {
    let first = r#"answer_remark {"addressed":true,"remark":1,"text":"it is renamed"}"#;
    let second = r#"answer_remark {"addressed":false,"remark":2,"text":"it has to stay: others use it"}"#;
    let text = "ADDRESSED r1: it is renamed\n**ANSWER r2:** it has to stay: others use it\n";
    assert_eq!(said(text), [first, second]);
    assert_eq!(said(&format!("{text}```bash\nls\n```")), [first, second, r#"bash {"command":"ls"}"#]);
    assert_eq!(said("ANSWER: 42\nADDRESSED r1:\nANSWER 7: no\n```\nADDRESSED r1: x\n```").len(), 1, "the block alone");
}

#[test]
fn an_earlier_action_is_recalled_on_a_line() {
    assert_eq!(said("RECALL 6"), [r#"recall {"number":6}"#]);
    assert_eq!(said("I look again.\n\n**RECALL:** action 12.\n"), [r#"recall {"number":12}"#]);
    assert_eq!(said("RECALL def parse(text)"), [r#"recall {"words":"def parse(text)"}"#]);
    assert_eq!(said("`RECALL \"0\"`"), [r#"recall {"words":"0"}"#], "actions are counted from 1");
    let both = said("ADDRESSED r1: it is renamed\nRECALL 6\n```bash\nls\n```");
    assert_eq!(both[1..], [r#"recall {"number":6}"#, r#"bash {"command":"ls"}"#]);
    assert_eq!(surplus("RECALL 6\n```bash\nls\n```"), None, "it is no block");
    assert_eq!(said("I RECALL 6\nRECALL\nRECALLED 6\nRecall 6\n```\nRECALL 6\n```").len(), 1, "the block alone");
}

#[test]
fn what_was_recalled_is_shown_and_what_was_left_out_says_how() {
    let mut log = whole();
    log.push(answered(9, "RECALL 1"));
    log.push(Event::Recalled { turn: 9, index: 0, what: Recall { number: Some(1), words: String::new() } });
    let Some(Turn::User { text }) = asked(&log).turns.pop() else { panic!("no result") };
    assert!(text.starts_with("action 1: bash cat calc.py\nexit code 0"), "{text}");
    assert!(text.contains("def add(a, b):\n    return a - b"), "{text}");
    // Turns 1 to 6 are told in short, and the first results after them are cut.
    let long = "a line of output\n".repeat(40);
    log.push(answered(10, "```bash\nmake\n```"));
    log.extend(acted(3, 10, OutcomeStatus::Exited { code: 0 }, &long));
    log.push(Event::Compacted { turn: 11, shrunk: 10, folded: 6, rate: 300 });
    let shown = transcript(&asked(&log));
    assert!(shown.contains("A line such as `RECALL 6` shows one of these actions again"), "{shown}");
    assert!(shown.contains("Note: a line `RECALL 3` shows the whole again."), "{shown}");
    assert!(!shown.contains("`recall`"), "{shown}");
}

#[test]
fn what_cannot_be_carried_out_is_no_call() {
    for text in [
        "",
        "I would look at the code. It is done: no.",
        "```python\nprint(1)\n```",
        "```bash\n\n```",
        "```bash\ncat hello/greeting.py\n```",
        "hello/greeting.py\n```python\nx\n```",
    ] {
        assert_eq!(said(text), [""; 0], "{text}");
    }
    let half =
        |truncated| ModelResponse { text: "```bash\nrm -rf build".into(), truncated, ..ModelResponse::default() };
    assert_eq!((calls(&half(true), 1).len(), calls(&half(false), 1).len()), (0, 1), "cut off, or only left open");
}

fn requested() -> Event {
    asking("`add(1, 2)` of calc.py gives -1.")
}

/// One answer as the engine stores it.
fn answered(turn: u32, text: &str) -> Event {
    let response = ModelResponse { text: text.into(), ..ModelResponse::default() };
    let calls: Vec<CallRequest> = Reader::Text.calls(&response, turn);
    let (usage, model) = (Usage::default(), "m".to_owned());
    Event::TurnCompleted { turn, text: text.into(), calls, usage, micro_usd: 0, duration_ms: 0, model, vendor: None }
}

fn acted(number: u32, turn: u32, status: OutcomeStatus, text: &str) -> [Event; 2] {
    let outcome = Outcome { duration_ms: 400, ..Outcome::new(status, text) };
    [Event::ActionStarted { number, turn, index: 0 }, Event::ActionFinished { number, outcome }]
}

fn asked(log: &[Event]) -> ModelRequest {
    let model = Scripted::from_toml("name = 't'\n[[turn]]\n", 100_000).unwrap();
    let config = EngineConfig::new(Secret::new("k"), 1000);
    let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), log) };
    let ready = turn::prepare(&task, log, Style::Text, &config, &model).unwrap();
    assert_eq!(ready.reader, Reader::Text);
    ready.request
}

fn transcript(request: &ModelRequest) -> String {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User { text } => format!("=== user\n{text}\n"),
        Turn::Assistant { text, calls, .. } => format!("=== assistant, {} calls\n{text}\n", calls.len()),
        Turn::Results(results) => format!("=== results {results:?}\n"),
        Turn::Pictures(pictures) => format!("=== pictures {pictures:?}\n"),
    });
    format!("=== system\n{}\n{}", request.system, turns.collect::<String>())
}

fn whole() -> Vec<Event> {
    let base = Commit::parse(&"a".repeat(40)).unwrap();
    let (boot, image) = ("b".to_owned(), "i".to_owned());
    let mut log = vec![
        requested(),
        Event::Prepared {
            base,
            boot,
            image,
            every: 5,
            note: None,
            budget: None,
            rules: domain::Rules::default(),
            pictures: Vec::new(),
            difference: None,
            scan: None,
            on_base: None,
        },
    ];
    for turn in 1..=4 {
        log.extend([answered(turn, "I would read the file."), Event::Nudged { turn }]);
    }
    log.push(answered(5, "I read it.\n\n```bash\ncat calc.py\n```"));
    log.extend(acted(1, 5, OutcomeStatus::Exited { code: 0 }, "def add(a, b):\n    return a - b\n"));
    log.push(answered(6, "DONE: mended"));
    log.push(Event::DoneSaid { turn: 6, index: 0, summary: "mended".into() });
    log.push(Event::DoneReturned { n: 1 });
    log.push(answered(7, "Plus.\n\ncalc.py\n```python\ndef add(a, b):\n    return a + b\n```\nDONE: mended"));
    log.extend(acted(2, 7, OutcomeStatus::Ok, ""));
    log.extend([answered(8, "It works."), Event::Nudged { turn: 8 }]);
    log
}

#[test]
fn a_whole_conversation() {
    let request = asked(&whole());
    assert!(request.tools.is_empty());
    insta::assert_snapshot!(transcript(&request));
}

#[test]
fn the_system_text_stays_below_250_words_and_a_longer_log_only_appends() {
    let log = whole();
    let last = asked(&log);
    assert!(last.system.split_whitespace().count() < 250);
    for (at, _) in log.iter().enumerate().filter(|(_, event)| matches!(event, Event::TurnCompleted { .. })) {
        let earlier = asked(&log[..at]);
        assert_eq!((&earlier.system, &earlier.turns[..]), (&last.system, &last.turns[..earlier.turns.len()]), "{at}");
    }
}

#[test]
fn a_retry_is_freer_and_the_next_answer_is_not() {
    let log = whole();
    let temperatures: Vec<Option<f64>> = (0..=log.len())
        .filter(|at| *at == log.len() || matches!(log[*at], Event::TurnCompleted { .. }))
        .map(|at| asked(&log[..at]).temperature)
        .collect();
    let free = [None, Some(0.4), Some(0.7), Some(1.0), Some(1.0), None, None, None, Some(0.4)];
    assert_eq!(temperatures, free);
}

#[test]
fn answers_become_the_same_typed_calls_as_with_tools() {
    let Event::TurnCompleted { calls, .. } = answered(1, "calc.py\n```python\nx\n```") else { unreachable!() };
    let write = Action::WriteFile { path: "calc.py".into(), content: "x\n".into() };
    assert_eq!(calls[0].call, Call::Action { action: write });
    let Event::TurnCompleted { calls, .. } = answered(1, "DONE: x") else { unreachable!() };
    assert_eq!(calls[0].call, Call::Done { summary: "x".into(), claims: Vec::new() });
}
