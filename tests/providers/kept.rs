//! A vendor's opaque parts (signatures, encrypted reasoning) through a whole task: out of a stream, into the log, and back to the same
//! model byte for byte, as long as what precedes them is unchanged.

use caisson::config::process::ModelKind;
use caisson::engine::style::Style;
use caisson::engine::{self, EngineConfig, TurnAnswer};
use caisson::llm::{Model, Silent};
use caisson::secret::Secret;
use domain::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::recordings::began;
use crate::vendor::{Check, Reply, Vendor, anything};
use crate::{KEY, QUICK, client, named, streamed, strict_check, strict_gemini};

/// The wire formats whose answers contain more than text and calls.
const KEEPING: [ModelKind; 3] = [ModelKind::Anthropic, ModelKind::Gemini, ModelKind::OpenaiResponses];

/// The opaque part, as it must be sent back.
fn part(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Anthropic => r#"{"signature":"EqQB/+==","thinking":"süß \"hm\"","type":"thinking"}"#,
        ModelKind::Gemini => r#""thoughtSignature":"EqQB/+==""#,
        _ => r#"{"encrypted_content":"gAAA/+==","id":"rs_1","summary":[],"type":"reasoning"}"#,
    }
}

fn answer(kind: ModelKind) -> Value {
    let arguments = json!({ "command": "ls" });
    match kind {
        ModelKind::Anthropic => json!({ "model": "test-model", "stop_reason": "tool_use", "content": [
            serde_json::from_str::<Value>(part(kind)).unwrap(),
            { "type": "redacted_thinking", "data": "EmwK" },
            { "type": "tool_use", "id": "toolu_1", "name": "bash", "input": arguments }], "usage": { "input_tokens": 9, "output_tokens": 2 } }),
        ModelKind::Gemini => json!({ "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": [
            { "text": "I look." },
            { "functionCall": { "id": "x1", "name": "bash", "args": arguments }, "thoughtSignature": "EqQB/+==" }] } }],
            "usageMetadata": { "promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 7 } }),
        _ => json!({ "status": "completed", "model": "test-model", "output": [
            serde_json::from_str::<Value>(part(kind)).unwrap(),
            { "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "bash", "arguments": arguments.to_string() }],
            "usage": { "input_tokens": 9, "output_tokens": 9, "output_tokens_details": { "reasoning_tokens": 7 } } }),
    }
}

fn check(kind: ModelKind) -> Check {
    if kind == ModelKind::Gemini { strict_gemini::signed } else { strict_check(kind) }
}

/// The answer to a task with this log.
pub async fn converse(model: &dyn Model, log: &[Event]) -> TurnAnswer {
    let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), log) };
    let config = EngineConfig::new(Secret::new("k"), 1000);
    let ready = engine::prepare(&task, log, Style::Tools, &config, model).unwrap();
    engine::converse(model, &ready, &Silent, &QUICK, &CancellationToken::new()).await.unwrap()
}

/// The same, added with the result of its call to the log, as that is read back from the store.
pub async fn turn(model: &dyn Model, log: &mut Vec<Event>) -> TurnAnswer {
    let answer = converse(model, log).await;
    let TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } = answer.clone();
    log.push(Event::TurnCompleted { turn, text, calls, usage, micro_usd, duration_ms, model, vendor });
    log.push(Event::ActionStarted { number: turn, turn, index: 0 });
    let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, "calc.py") };
    log.push(Event::ActionFinished { number: turn, outcome });
    let stored = serde_json::to_string(log).unwrap();
    *log = serde_json::from_str(&stored).unwrap();
    answer
}

/// The log after one answer with the vendor's parts.
async fn answered(model: &dyn Model) -> Vec<Event> {
    let mut log = began("Sums are wrong", "`add(1, 2)` gives -1.");
    assert!(turn(model, &mut log).await.vendor.is_some());
    log
}

#[tokio::test]
async fn a_vendors_parts_come_back_byte_for_byte() {
    for kind in KEEPING {
        let vendor = Vendor::start(check(kind), vec![]).await;
        let model = client(kind, &vendor.url, KEY);
        vendor.answer(Reply::events(&streamed::events(kind, &answer(kind)).concat()));
        let log = answered(model.as_ref()).await;
        // Twice, because the same log must give the same bytes.
        for _ in 0..2 {
            vendor.answer(Reply::ok(answer(kind)));
            converse(model.as_ref(), &log).await;
        }
        assert_eq!(vendor.refused(), Vec::<Value>::new(), "{kind:?}");
        let raw = vendor.raw();
        assert!(
            !raw[0].contains(part(kind)) && raw[1].contains(part(kind)) && raw[1] == raw[2],
            "{kind:?}: {}",
            raw[1]
        );
        let usage =
            log.iter().find_map(|it| if let Event::TurnCompleted { usage, .. } = it { Some(usage) } else { None });
        assert_eq!(usage.unwrap().reasoning, if kind == ModelKind::Anthropic { 0 } else { 7 }, "{kind:?}");
    }
}

/// Signed parts are left out where what the signature covers has changed.
#[tokio::test]
async fn parts_are_left_out_for_another_model_other_rules_or_a_new_conversation() {
    for kind in KEEPING {
        let vendor = Vendor::start(strict_check(kind), vec![]).await;
        let model = client(kind, &vendor.url, KEY);
        vendor.answer(Reply::events(&streamed::events(kind, &answer(kind)).concat()));
        let log = answered(model.as_ref()).await;
        let mut anew = log.clone();
        anew.push(Event::ConversationRestarted);
        // Answers from the planning phase were made under another system prompt than the work on the plan.
        let mut widened = log.clone();
        if let Some(Event::Requested { request }) = widened.first_mut() {
            request.kind = TaskKind::Plan;
        }
        // The fallback's entry may name the same model on another server.
        let fallback = Some(Fallback { from: "a".into(), to: "b".into(), why: FallbackReason::Away });
        let mut fallen = log.clone();
        fallen.push(Event::ModelCallUncharged { turn: 2, fallback });
        for log in [anew, widened, fallen] {
            vendor.answer(Reply::ok(answer(kind)));
            converse(model.as_ref(), &log).await;
            let sent = vendor.raw().pop().unwrap();
            assert!(!sent.contains(part(kind)) && sent.contains("`add(1, 2)` gives -1."), "{kind:?}: {sent}");
        }
        assert_eq!(vendor.refused(), Vec::<Value>::new(), "{kind:?}");
        let second = Vendor::start(anything, vec![Reply::ok(answer(kind))]).await;
        converse(named(kind, &second.url, "test-model-2").as_ref(), &log).await;
        let sent = second.raw().pop().unwrap();
        assert!(!sent.contains(part(kind)) && sent.contains("calc.py"), "{kind:?}: {sent}");
    }
}

/// Anthropic refuses an assistant's message that ends in thinking, also one that is already in a log.
#[tokio::test]
async fn an_answer_of_thinking_alone_is_given_back_as_one_without_words() {
    let kind = ModelKind::Anthropic;
    let thinking: Value = serde_json::from_str(part(kind)).unwrap();
    let redacted = json!({ "type": "redacted_thinking", "data": "EmwK" });
    for content in [json!([thinking]), json!([redacted]), json!([thinking, { "type": "text", "text": "" }])] {
        let vendor = Vendor::start(check(kind), vec![]).await;
        let asked = client(kind, &vendor.url, KEY);
        let usage = json!({ "input_tokens": 9, "output_tokens": 2 });
        let alone = json!({ "model": "test-model", "stop_reason": "end_turn", "content": content, "usage": usage });
        vendor.answer(Reply::ok(alone));
        let mut log = began("Sums are wrong", "`add(1, 2)` gives -1.");
        let TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor: parts } =
            converse(asked.as_ref(), &log).await;
        assert!(text.is_empty() && calls.is_empty() && parts.is_some(), "{content}");
        log.push(Event::TurnCompleted { turn, text, calls, usage, micro_usd, duration_ms, model, vendor: parts });
        log.push(Event::Nudged { turn });
        vendor.answer(Reply::ok(answer(kind)));
        converse(asked.as_ref(), &log).await;
        assert_eq!(vendor.refused(), Vec::<Value>::new(), "{content}");
        let sent = vendor.raw().pop().unwrap();
        assert!(sent.contains("(no answer)") && !sent.contains(part(kind)), "{sent}");
    }
}

/// Calls whose ids were replaced are answered by their new ids, which the opaque parts do not contain.
#[tokio::test]
async fn an_answer_that_had_to_be_mended_or_was_cut_keeps_nothing() {
    for kind in KEEPING {
        let (from, to) = match kind {
            ModelKind::Anthropic => ("toolu_1", "odd id/1"),
            ModelKind::Gemini => ("\"bash\"", "\"functions.bash\""),
            _ => ("call_1", "odd id/1"),
        };
        let mended: Value = serde_json::from_str(&answer(kind).to_string().replace(from, to)).unwrap();
        assert_ne!(mended, answer(kind));
        let mut cut = answer(kind);
        match kind {
            ModelKind::Anthropic => cut["stop_reason"] = json!("max_tokens"),
            ModelKind::Gemini => cut["candidates"][0]["finishReason"] = json!("MAX_TOKENS"),
            _ => cut["status"] = json!("incomplete"),
        }
        // Words behind the arguments, which are left out of the call.
        let (mut chatty, words) = (answer(kind), json!("{\"command\":\"ls\"} Done."));
        match kind {
            ModelKind::Anthropic => chatty["content"][2]["input"] = words,
            ModelKind::Gemini => chatty["candidates"][0]["content"]["parts"][1]["functionCall"]["args"] = words,
            _ => chatty["output"][1]["arguments"] = words,
        }
        for reply in [mended, cut, chatty] {
            let vendor = Vendor::start(strict_check(kind), vec![Reply::ok(reply.clone())]).await;
            let answer = converse(client(kind, &vendor.url, KEY).as_ref(), &began("t", "b")).await;
            assert_eq!((answer.vendor, answer.calls.len()), (None, 1), "{kind:?}: {reply}");
        }
    }
}

/// An older log, and one from a newer version with another format, are read as text and calls.
#[test]
fn logs_without_parts_are_read_as_before() {
    let old = r#"{"event":"turn_completed","turn":1,"text":"t","calls":[],"usage":{"input":1,"output":2,"cache_read":0,"cache_write":0},"micro_usd":0,"duration_ms":1,"model":"m"}"#;
    let event: Event = serde_json::from_str(old).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), old, "and written as before");
}
