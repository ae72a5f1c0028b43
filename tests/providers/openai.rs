//! The OpenAI-compatible wire format.

use std::time::{Duration, Instant};

use caisson::config::process::ModelKind;
use caisson::llm::retry::{self, RetryError};
use caisson::llm::{ModelError, Silent, Usage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, QUICK, client, conversation, holds, strict};

fn said(text: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "test-model",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128 },
    })
}

async fn once(vendor: &Vendor, key: &str) -> Result<caisson::llm::ModelResponse, ModelError> {
    client(ModelKind::Openai, &vendor.url, key).respond(&conversation(), &Silent).await
}

async fn patiently(vendor: &Vendor) -> Result<caisson::llm::ModelResponse, RetryError> {
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    retry::respond(model.as_ref(), &conversation(), &Silent, &QUICK, &CancellationToken::new()).await
}

/// The error that results from a server's only answer.
async fn error_of(reply: Reply) -> ModelError {
    let vendor = Vendor::start(anything, vec![reply]).await;
    once(&vendor, KEY).await.unwrap_err()
}

#[tokio::test]
async fn a_strict_server_takes_every_turn_and_its_answer_is_read() {
    let mut answer = said("");
    answer["choices"][0]["message"] = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "call_a", "type": "function", "function": { "name": "bash", "arguments": "{\"command\":\"ls\"}" } },
        { "id": "call_b", "type": "function", "function": { "name": "done", "arguments": "{\"summary\":\"ok\"}" } },
    ] });
    let vendor = Vendor::start(strict::openai, vec![Reply::ok(answer)]).await;
    let response = once(&vendor, KEY).await.unwrap();
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    let names: Vec<_> = response.calls.iter().map(|c| (c.id.as_str(), c.name.as_str())).collect();
    assert_eq!(names, [("call_a", "bash"), ("call_b", "done")]);
    assert_eq!(response.usage, Usage { input: 120, output: 8, ..Usage::default() });
    let sent = &vendor.seen()[0];
    assert!(holds(sent, "checkpoint 1 was approved") && holds(sent, "mind the README") && sent["max_tokens"] == 500);
}

#[tokio::test]
async fn a_server_that_wants_the_newer_limit_gets_it_from_then_on() {
    fn newer(path: &str, headers: &axum::http::HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        strict::openai(path, headers, body)?;
        let text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        let refused = (400, json!({ "error": { "message": text, "code": "unsupported_parameter" } }));
        if body.get("max_tokens").is_some() { Err(refused) } else { Ok(()) }
    }
    let vendor = Vendor::start(newer, vec![Reply::ok(said("a")), Reply::ok(said("b"))]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().text, "a");
    assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().text, "b");
    assert_eq!((vendor.seen().len(), vendor.refused().len()), (2, 1), "refused once only");
}

#[tokio::test]
async fn sloppy_answers_are_borne() {
    let message = json!({ "content": [{ "type": "text", "text": "well" }], "tool_calls": [
        { "function": { "name": "bash", "arguments": "{\"command\": \"ls" } },
        { "id": "", "type": "function", "function": { "name": "bash", "arguments": { "command": "ls" } } },
        { "id": "x", "function": { "name": null, "arguments": null } },
    ] });
    let vendor = Vendor::start(anything, vec![Reply::ok(json!({ "choices": [{ "message": message }] }))]).await;
    let response = once(&vendor, KEY).await.unwrap();
    assert_eq!((response.text.as_str(), response.usage), ("well", Usage::default()));
    let ids: Vec<_> = response.calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["call_2_0", "call_2_1", "x"]);
    assert!(response.calls[0].malformed.is_some() && response.calls[1].malformed.is_none());
}

#[tokio::test]
async fn slow_down_is_obeyed_for_as_long_as_the_server_says() {
    let refusal = json!({ "error": { "message": "Rate limit reached", "code": "rate_limit_exceeded" } });
    let limited = Reply::Json(429, vec![("retry-after", "0.3")], refusal);
    let vendor = Vendor::start(strict::openai, vec![limited, Reply::ok(said("later"))]).await;
    let started = Instant::now();
    assert_eq!(patiently(&vendor).await.unwrap().text, "later");
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    assert_eq!(vendor.seen().len(), 2);
    assert_eq!(vendor.seen()[0], vendor.seen()[1], "word for word");
}

#[tokio::test]
async fn a_server_that_is_down_is_asked_again_and_given_up_in_the_end() {
    let down = || Reply::Text(502, "text/html", "<html><h1>Bad Gateway</h1></html>".into());
    let vendor = Vendor::start(strict::openai, vec![down(), down(), Reply::ok(said("up"))]).await;
    assert_eq!(patiently(&vendor).await.unwrap().text, "up");
    let vendor = Vendor::start(strict::openai, vec![down(), Reply::Cut, Reply::ok(said("up"))]).await;
    let lost = patiently(&vendor).await.unwrap_err();
    assert!(
        matches!(lost, RetryError::Failed { error: ModelError::Lost(_), tries: 2 }),
        "may have been charged: {lost}"
    );
    let vendor = Vendor::start(strict::openai, vec![down(), down(), down(), down()]).await;
    let error = ModelError::Unavailable("HTTP 502, Bad Gateway".into());
    assert_eq!(patiently(&vendor).await.unwrap_err(), RetryError::Failed { error, tries: 3 });
}

#[tokio::test]
async fn a_connection_that_breaks_hangs_or_never_stands_is_unavailable() {
    assert!(matches!(error_of(Reply::Cut).await, ModelError::Lost(t) if t.contains("the connection broke")));
    assert!(matches!(error_of(Reply::Hang).await, ModelError::Lost(t) if t.contains("no answer within")));
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody =
        client(ModelKind::Openai, &format!("http://{free}"), KEY).respond(&conversation(), &Silent).await.unwrap_err();
    assert!(matches!(nobody, ModelError::Unavailable(t) if t.contains("no connection to 127.0.0.1")));
}

#[tokio::test]
async fn a_wrong_key_is_said_once_and_never_shown() {
    let vendor = Vendor::start(strict::openai, vec![]).await;
    let wrong = "sk-wrong-9876543210";
    let error = once(&vendor, wrong).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::Unauthorized(t) if t.contains("Incorrect API key") && !t.contains(wrong)),
        "{error}"
    );
    assert_eq!(vendor.refused().len(), 1);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_known_whoever_says_it() {
    let openai = json!({ "error": { "message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded" } });
    let python = json!({ "error": { "message": "Requested tokens (9000) exceed context window of 2048", "type": "internal_server_error" } });
    let vllm =
        json!({ "object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400 });
    // As sent by a llama.cpp server.
    let llama = json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 18024, "n_ctx": 8192,
        "message": "request (18024 tokens) exceeds the available context size (8192 tokens), try increasing it" } });
    for (status, body) in [(400, llama), (400, openai), (500, python), (400, vllm)] {
        assert_eq!(error_of(Reply::status(status, body)).await, ModelError::ContextFull);
    }
}

/// OpenAI's server refuses where a model thought until its limit was reached; others end an empty answer.
#[tokio::test]
async fn a_refusal_because_the_limit_went_into_thoughts_is_an_answer_that_was_cut_off() {
    let text = "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.";
    let error = json!({ "message": text, "type": "invalid_request_error", "param": null, "code": null });
    let vendor = Vendor::start(anything, vec![Reply::status(400, json!({ "error": error }))]).await;
    let response = once(&vendor, KEY).await.unwrap();
    assert_eq!((response.text.as_str(), response.calls.len(), response.truncated), ("", 0, true));
}

#[tokio::test]
async fn answers_that_are_none_are_named() {
    let page = Reply::Text(200, "text/html", "<html>sign in</html>".into());
    assert!(matches!(error_of(page).await, ModelError::Malformed(t) if t.contains("no JSON")));
    assert!(matches!(error_of(Reply::ok(json!({ "choices": [] }))).await, ModelError::Malformed(_)));
    let inside = Reply::ok(json!({ "error": { "code": 429, "message": "upstream is busy" } }));
    assert!(matches!(error_of(inside).await, ModelError::RateLimited { .. }));
    let model = Reply::status(404, json!({ "error": "model 'x' not found" }));
    assert_eq!(error_of(model).await, ModelError::NoModel("HTTP 404, model 'x' not found".into()));
    let nothing = Reply::status(404, json!({ "detail": "Not Found" }));
    assert!(
        matches!(error_of(nothing).await, ModelError::BadRequest(t) if t.contains("check base_url and the model's name"))
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Vendor::start(anything, vec![Reply::ok(said("stolen"))]).await;
    let target: &'static str = Box::leak(format!("{}/v1/chat/completions", other.url).into_boxed_str());
    let vendor = Vendor::start(anything, vec![Reply::Json(307, vec![("location", target)], json!({}))]).await;
    assert!(matches!(once(&vendor, KEY).await.unwrap_err(), ModelError::BadRequest(t) if t.contains("redirect")));
    assert!(other.seen().is_empty(), "neither key nor conversation went there");
}

#[tokio::test]
async fn cancelling_ends_a_call_that_hangs() {
    let vendor = Vendor::start(anything, vec![Reply::Hang]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let (request, cancel) = (conversation(), CancellationToken::new());
    let call = retry::respond(model.as_ref(), &request, &Silent, &QUICK, &cancel);
    let stop = async {
        while vendor.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    assert_eq!(tokio::join!(call, stop).0.unwrap_err(), RetryError::Cancelled);
}
