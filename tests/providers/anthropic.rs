//! Anthropic's wire format.

use caisson::config::process::ModelKind;
use caisson::engine::style::Style;
use caisson::engine::{self, EngineConfig};
use caisson::llm::retry::{self, RetryError};
use caisson::llm::{ModelError, ModelResponse, Silent, Usage};
use caisson::secret::Secret;
use domain::{Budget, Event, Task, TaskId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, QUICK, client, conversation, holds, strict};

fn said(blocks: Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model", "content": blocks, "stop_reason": stop,
        "usage": { "input_tokens": 20, "output_tokens": 8, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5 },
    })
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
}

async fn once(vendor: &Vendor, key: &str) -> Result<ModelResponse, ModelError> {
    client(ModelKind::Anthropic, &vendor.url, key).respond(&conversation(), &Silent).await
}

async fn error_of(reply: Reply) -> ModelError {
    let vendor = Vendor::start(anything, vec![reply]).await;
    once(&vendor, KEY).await.unwrap_err()
}

#[tokio::test]
async fn a_strict_server_takes_every_turn_and_its_answer_is_read() {
    let blocks = json!([
        { "type": "thinking", "thinking": "hm", "signature": "s" },
        { "type": "text", "text": "I look." },
        { "type": "tool_use", "id": "toolu_1", "name": "bash", "input": { "command": "ls" } },
    ]);
    let vendor = Vendor::start(strict::anthropic, vec![Reply::ok(said(blocks, "tool_use"))]).await;
    let response = once(&vendor, KEY).await.unwrap();
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    assert_eq!((response.text.as_str(), response.calls[0].id.as_str()), ("I look.", "toolu_1"));
    assert_eq!(response.usage, Usage { input: 20, output: 8, cache_read: 100, cache_write: 5, reasoning: 0 });
    let sent = &vendor.seen()[0];
    assert!(holds(sent, "checkpoint 1 was approved") && sent["max_tokens"] == 500);
    assert_eq!(sent.to_string().matches("ephemeral").count(), 3);
}

#[tokio::test]
async fn overload_and_limits_pass_by_themselves() {
    let limited = Reply::Json(429, vec![("retry-after", "0.05")], error("rate_limit_error", "slow down"));
    let overloaded = Reply::status(529, error("overloaded_error", "Overloaded"));
    let fine = Reply::ok(said(json!([{ "type": "text", "text": "ok" }]), "end_turn"));
    let vendor = Vendor::start(strict::anthropic, vec![limited, overloaded, fine]).await;
    let model = client(ModelKind::Anthropic, &vendor.url, KEY);
    let response =
        retry::respond(model.as_ref(), &conversation(), &Silent, &QUICK, &CancellationToken::new()).await.unwrap();
    assert_eq!((response.text.as_str(), vendor.seen().len()), ("ok", 3));
    let down = || Reply::status(500, error("api_error", "Internal server error"));
    let vendor = Vendor::start(strict::anthropic, vec![down(), down(), down()]).await;
    let model = client(ModelKind::Anthropic, &vendor.url, KEY);
    let failed =
        retry::respond(model.as_ref(), &conversation(), &Silent, &QUICK, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(failed, RetryError::Failed { error: ModelError::Unavailable(_), tries: 3 }));
}

#[tokio::test]
async fn refusals_keep_their_meaning() {
    let vendor = Vendor::start(strict::anthropic, vec![]).await;
    assert!(
        matches!(once(&vendor, "wrong").await, Err(ModelError::Unauthorized(t)) if t.contains("invalid x-api-key"))
    );
    let long = error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    assert_eq!(error_of(Reply::status(400, long)).await, ModelError::ContextFull);
    let words = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
    let credit = error("invalid_request_error", words);
    assert!(
        matches!(error_of(Reply::status(400, credit)).await, ModelError::Unauthorized(t) if t.contains("no credit"))
    );
    let inside = Reply::ok(error("overloaded_error", "Overloaded"));
    assert!(matches!(error_of(inside).await, ModelError::Unavailable(_)));
    assert!(matches!(error_of(Reply::Cut).await, ModelError::Lost(_)));
}

#[tokio::test]
async fn sloppy_answers_are_borne() {
    let blocks =
        json!([{ "type": "tool_use", "name": "bash", "input": "{\"command\": " }, { "type": "tool_use" }, "odd"]);
    let vendor = Vendor::start(anything, vec![Reply::ok(json!({ "content": blocks }))]).await;
    let response = once(&vendor, KEY).await.unwrap();
    assert_eq!((response.calls.len(), response.usage), (2, Usage::default()));
    assert!(response.calls[0].malformed.is_some() && response.calls[1].name.is_empty());
}

/// The engine's own conversation, over two turns and a malformed call, passes a strict server.
#[tokio::test]
async fn the_engine_and_a_strict_server_understand_each_other() {
    let asks = said(json!([{ "type": "tool_use", "id": "t1", "name": "bash", "input": { "cmd": 5 } }]), "tool_use");
    let done =
        said(json!([{ "type": "tool_use", "id": "t2", "name": "done", "input": { "summary": "s" } }]), "tool_use");
    let vendor = Vendor::start(strict::anthropic, vec![Reply::ok(asks), Reply::ok(done)]).await;
    let model = client(ModelKind::Anthropic, &vendor.url, KEY);
    let config = EngineConfig::new(Secret::new("k"), 1000);
    let mut log = vec![Event::Resumed];
    for turn in 1..=2 {
        let mut task = Task::fold(TaskId(1), &log);
        task.granted = Budget { micro_usd: 1_000_000, ..Budget::default() };
        let ready = engine::prepare(&task, &log, Style::Tools, &config, model.as_ref()).unwrap();
        assert!(ready.worst_micro_usd > 1000);
        let answer =
            engine::converse(model.as_ref(), &ready, &Silent, &QUICK, &CancellationToken::new()).await.unwrap();
        assert_eq!((answer.turn, answer.micro_usd), (turn, 20 * 3 + 8 * 15 + 100 * 3 + 19));
        let engine::TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } = answer;
        log.push(Event::TurnCompleted { turn, text, calls, usage, micro_usd, duration_ms, model, vendor });
        log.push(Event::CallAnswered { turn, index: 0, answer: "`command` must be a string".into(), malformed: true });
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    assert!(holds(&vendor.seen()[1], "`command` must be a string"));
}
