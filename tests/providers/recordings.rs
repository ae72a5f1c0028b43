//! Whole conversations in the style *tools* in each wire format: several calls at once, a refused call, a checkpoint, and a long context.
//! Requests have the documented shape (`strict`), and each begins with the bytes of the one before it, so that a cache can be used.

use caisson::config::process::ModelKind as Wire;
use caisson::engine::style::{Reader, Style};
use caisson::engine::{self, EngineConfig};
use caisson::llm::{ModelResponse, Silent, ToolCall};
use caisson::secret::Secret;
use domain::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::vendor::{Reply, Vendor};
use crate::{KEY, QUICK, WIRES, client, strict_check};

fn commit(digit: char) -> Commit {
    Commit::parse(&digit.to_string().repeat(40)).unwrap()
}

/// A log up to the first answer. `body` is the issue's text.
pub fn began(title: &str, body: &str) -> Vec<Event> {
    let alice = Account { id: 1, login: "alice".into() };
    let request = Request {
        kind: TaskKind::Fix,
        repository: "demo".into(),
        issue: 3,
        title: title.into(),
        body: body.into(),
        words: String::new(),
        asker: alice.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: alice,
        edited: false,
        source: Source::Comment(11),
        number: 11,
        branch: "agent/3".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: false,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    let (base, boot, image) = (commit('a'), "b".to_owned(), "i".to_owned());
    let prepared = Event::Prepared {
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
    };
    vec![Event::Requested { request: Box::new(request) }, Event::SlotGranted, prepared]
}

/// The answer to one request, as the engine stores it.
pub fn answer(turn: u32, text: &str, calls: &[(&str, Value)]) -> Event {
    let made = |(at, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call_{turn}_{at}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        malformed: None,
    };
    let calls = calls.iter().enumerate().map(made).collect();
    let response = ModelResponse { text: text.into(), calls, ..ModelResponse::default() };
    let calls = Reader::Tools { spoken: false }.calls(&response, turn);
    let usage = Usage { input: 900, output: 50, ..Usage::default() };
    Event::TurnCompleted {
        turn,
        text: text.into(),
        calls,
        usage,
        micro_usd: 0,
        duration_ms: 1,
        model: "m".into(),
        vendor: None,
    }
}

pub fn acted(number: u32, turn: u32, index: u32, code: i32, text: &str) -> [Event; 2] {
    let status = if code == 0 { OutcomeStatus::Ok } else { OutcomeStatus::Exited { code } };
    let outcome = Outcome { duration_ms: 400, ..Outcome::new(status, text) };
    [Event::ActionStarted { number, turn, index }, Event::ActionFinished { number, outcome }]
}

fn approved(n: u32) -> Event {
    let decision = Decision::new(
        Source::Review(5),
        20,
        (Account { id: 1, login: "alice".into() }, Access::Write),
        Verb::approve(),
    );
    Event::DecisionUsed { decision: Box::new(decision), n }
}

/// Four calls in one answer, one of them refused; a plain answer with its nudge; an approval; one more call.
pub fn several_at_once() -> Vec<Event> {
    let mut log = began("Sums are wrong", "`add(1, 2)` gives -1.");
    let calls = [
        ("update_plan", json!({ "plan": "- read\n- mend" })),
        ("read_file", json!({ "path": "calc.py" })),
        ("python", json!({ "code": "1" })),
        ("bash", json!({ "command": "make test" })),
    ];
    log.push(answer(1, "I read it and run the tests.", &calls));
    log.push(Event::PlanUpdated { plan: "- read\n- mend".into(), steps: Vec::new(), by: None });
    log.push(Event::CallAnswered { turn: 1, index: 0, answer: "noted".into(), malformed: false });
    log.extend(acted(1, 1, 1, 0, "1 def add(a, b):\n2     return a - b\n"));
    log.push(Event::CallAnswered { turn: 1, index: 2, answer: "there is no tool \"python\"".into(), malformed: true });
    log.extend(acted(2, 1, 3, 1, "FAILED (failures=1)"));
    log.extend([answer(2, "The sign is wrong.", &[]), Event::Nudged { turn: 2 }]);
    let edit = json!({ "path": "calc.py", "old": "a - b", "new": "a + b" });
    log.push(answer(3, "", &[("edit_file", edit), ("bash", json!({ "command": "make test" }))]));
    log.extend(acted(3, 3, 0, 0, ""));
    log.extend(acted(4, 3, 1, 0, "OK"));
    log.push(approved(1));
    log.push(answer(4, "I look once more.", &[("bash", json!({ "command": "git diff" }))]));
    log.extend(acted(5, 4, 0, 0, "+    return a + b"));
    log
}

/// Thirty answers with three calls each, whose results fill the context window.
pub fn long() -> Vec<Event> {
    let mut log = began("Sums are wrong", &"long ".repeat(2_000));
    for turn in 1..=30 {
        let read = |at: u32| ("read_file", json!({ "path": format!("src/part{turn}_{at}.py"), "from": at + 1 }));
        log.push(answer(turn, "Further.", &[read(0), read(1), read(2)]));
        for index in 0..3 {
            let text = format!("{turn} {index} \u{1b}[31mé\r\n").repeat(700);
            log.extend(acted(3 * turn + index - 2, turn, index, 0, &text));
        }
    }
    log
}

/// Sends each request of the log's conversation, including the next one.
pub async fn sent(wire: Wire, log: &[Event]) -> Vendor {
    let text = json!([{ "type": "text", "text": "ok" }]);
    let reply = match wire {
        Wire::Openai => json!({ "choices": [{ "message": { "content": "ok" } }] }),
        Wire::OpenaiResponses => json!({ "output": [{ "type": "message", "content": text }] }),
        Wire::Gemini => {
            json!({ "candidates": [{ "content": { "parts": [{ "text": "ok" }] }, "finishReason": "STOP" }] })
        }
        Wire::Anthropic | Wire::Scripted => json!({ "content": text, "stop_reason": "end_turn" }),
    };
    let vendor = Vendor::start(strict_check(wire), vec![]).await;
    let model = client(wire, &vendor.url, KEY);
    let config = EngineConfig { result_chars: 3_000, ..EngineConfig::new(Secret::new("k"), 1000) };
    let asks = (0..=log.len()).filter(|at| *at == log.len() || matches!(log[*at], Event::TurnCompleted { .. }));
    for at in asks {
        vendor.answer(Reply::ok(reply.clone()));
        let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), &log[..at]) };
        let ready = engine::prepare(&task, &log[..at], Style::Tools, &config, model.as_ref()).unwrap();
        engine::converse(model.as_ref(), &ready, &Silent, &QUICK, &CancellationToken::new()).await.unwrap();
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    vendor
}

/// The body up to the end of the messages, without the closing bracket. Anthropic's cache marker moves to the newest block and is not part
/// of the cached text, so it is removed; `marks` has what it finds.
fn messages(raw: &str) -> String {
    let raw = raw.replace("\"cache_control\":{\"type\":\"ephemeral\"},", "");
    let ends = ["],\"model\":", "],\"generationConfig\":", "],\"instructions\":", "],\"max_output_tokens\":"];
    let end = ends.iter().find_map(|end| raw.find(end)).expect("something stands behind the messages");
    raw[..end].to_owned()
}

#[tokio::test]
async fn each_request_begins_with_the_bytes_of_the_one_before() {
    for log in [several_at_once(), long()] {
        for wire in WIRES {
            let vendor = sent(wire, &log).await;
            let (raw, seen) = (vendor.raw(), vendor.seen());
            assert!(raw.len() >= 5);
            for (before, after) in raw.iter().zip(&raw[1..]) {
                assert!(messages(after).starts_with(&messages(before)), "{wire:?}:\n{before}\n{after}");
            }
            for body in &seen {
                for fixed in ["tools", "system", "systemInstruction", "instructions"] {
                    assert_eq!(body.get(fixed), seen[0].get(fixed), "{wire:?}");
                }
            }
            // After a restart the same bytes are sent.
            assert_eq!(sent(wire, &log).await.raw(), raw);
        }
    }
}

#[tokio::test]
async fn the_long_context_is_long() {
    let raw = sent(Wire::Openai, &long()).await.raw();
    assert!(raw.last().is_some_and(|last| last.len() > 200_000), "{:?}", raw.last().map(String::len));
}

/// The last request, without the parts that other snapshots cover.
async fn last(wire: Wire) -> Value {
    let mut body = sent(wire, &several_at_once()).await.seen().pop().expect("a request");
    let names = |tool: &Value| tool.pointer("/function/name").or_else(|| tool.get("name")).cloned();
    if let Some(list) = body.pointer("/tools/0/functionDeclarations").cloned() {
        body["tools"] = list;
    }
    body["tools"] = body["tools"].as_array().into_iter().flatten().filter_map(names).collect();
    match wire {
        Wire::Openai => body["messages"][0]["content"] = json!("(the system text)"),
        Wire::OpenaiResponses => body["instructions"] = json!("(the system text)"),
        Wire::Gemini => body["systemInstruction"]["parts"][0]["text"] = json!("(the system text)"),
        Wire::Anthropic | Wire::Scripted => body["system"][0]["text"] = json!("(the system text)"),
    }
    body
}

#[tokio::test]
async fn several_calls_at_once_as_openai_documents_them() {
    insta::assert_json_snapshot!(last(Wire::Openai).await);
}

#[tokio::test]
async fn several_calls_at_once_as_anthropic_documents_them() {
    insta::assert_json_snapshot!(last(Wire::Anthropic).await);
}

#[tokio::test]
async fn several_calls_at_once_as_google_documents_them() {
    insta::assert_json_snapshot!(last(Wire::Gemini).await);
}

#[tokio::test]
async fn several_calls_at_once_as_openai_documents_responses() {
    insta::assert_json_snapshot!(last(Wire::OpenaiResponses).await);
}
