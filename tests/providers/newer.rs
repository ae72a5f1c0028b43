//! What is specific to the servers of Gemini and of OpenAI's Responses API: authentication, quirks, and finish reasons.

use axum::http::HeaderMap;
use caisson::config::process::ModelKind;
use caisson::llm::{ModelError, ModelResponse, Silent, Usage};
use serde_json::{Value, json};

use crate::vendor::{Check, Reply, Vendor, anything};
use crate::{KEY, client, conversation, strict_gemini, strict_responses};

async fn asked(
    kind: ModelKind,
    check: Check,
    key: &str,
    replies: Vec<Reply>,
) -> (Vendor, Result<ModelResponse, ModelError>) {
    let vendor = Vendor::start(check, replies).await;
    let response = client(kind, &vendor.url, key).respond(&conversation(), &Silent).await;
    (vendor, response)
}

#[tokio::test]
async fn a_wrong_key_needs_a_person_and_is_never_shown() {
    for (kind, check) in [
        (ModelKind::Gemini, strict_gemini::check as Check),
        (ModelKind::OpenaiResponses, strict_responses::check as Check),
    ] {
        let wrong = "sk-wrong-9876543210";
        let (_vendor, refused) = asked(kind, check, wrong, vec![]).await;
        assert!(
            matches!(&refused, Err(ModelError::Unauthorized(why)) if !why.contains(wrong)),
            "{kind:?}: {refused:?}"
        );
    }
}

/// The key is never in the URL, which a proxy would log.
#[tokio::test]
async fn geminis_key_goes_in_a_header_alone() {
    fn no_key(path: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        assert!(!path.contains(KEY) && !body.to_string().contains(KEY), "{path}");
        Ok(())
    }
    let ok = json!({ "candidates": [{ "content": { "parts": [{ "text": "ok" }] }, "finishReason": "STOP" }] });
    let (vendor, response) = asked(ModelKind::Gemini, no_key, KEY, vec![Reply::ok(ok)]).await;
    assert_eq!((response.unwrap().text.as_str(), vendor.seen().len()), ("ok", 1));
}

#[tokio::test]
async fn a_server_that_wants_signatures_is_given_its_word_for_none_from_then_on() {
    let ok =
        || Reply::ok(json!({ "candidates": [{ "content": { "parts": [{ "text": "ok" }] }, "finishReason": "STOP" }] }));
    let vendor = Vendor::start(strict_gemini::signed, vec![ok(), ok()]).await;
    let model = client(ModelKind::Gemini, &vendor.url, KEY);
    for _ in 0..2 {
        assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().text, "ok");
    }
    assert_eq!((vendor.seen().len(), vendor.refused().len()), (2, 1), "refused once only");
}

#[tokio::test]
async fn geminis_waits_and_blocks_are_understood() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s" }]);
    let limited =
        json!({ "error": { "code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details } });
    let (_vendor, response) = asked(ModelKind::Gemini, anything, KEY, vec![Reply::status(429, limited.clone())]).await;
    assert_eq!(response, Err(ModelError::RateLimited { retry_after_ms: Some(200) }));
    let (_vendor, response) =
        asked(ModelKind::Gemini, anything, KEY, vec![Reply::events(&format!("data: {limited}\n\n"))]).await;
    assert_eq!(response, Err(ModelError::RateLimited { retry_after_ms: Some(200) }), "in a stream too");
    let blocked = Reply::events("data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n");
    let (_vendor, response) = asked(ModelKind::Gemini, anything, KEY, vec![blocked]).await;
    assert!(matches!(&response, Err(ModelError::BadRequest(why)) if why.contains("SAFETY")), "{response:?}");
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_for_its_reasoning_again() {
    fn plain(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        strict_responses::check(path, headers, body)?;
        let message = "Encrypted content is not supported with this model.";
        let refused = json!({ "error": { "message": message, "type": "invalid_request_error", "param": "include" } });
        if body.get("include").is_some() { Err((400, refused)) } else { Ok(()) }
    }
    let text = json!([{ "type": "output_text", "text": "ok", "annotations": [] }]);
    let ok = || {
        Reply::ok(
            json!({ "status": "completed", "output": [{ "type": "message", "role": "assistant", "content": text }] }),
        )
    };
    let vendor = Vendor::start(plain, vec![ok(), ok()]).await;
    let model = client(ModelKind::OpenaiResponses, &vendor.url, KEY);
    for _ in 0..2 {
        assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().text, "ok");
    }
    assert_eq!((vendor.seen().len(), vendor.refused().len()), (2, 1), "refused once only");
}

#[tokio::test]
async fn a_response_that_failed_or_is_incomplete_says_so() {
    let event = |kind: &str, response: Value| {
        let event = json!({ "type": kind, "response": response });
        Reply::events(&format!("event: {kind}\ndata: {event}\n\n"))
    };
    let failed = event(
        "response.failed",
        json!({ "status": "failed", "error": { "code": "server_error", "message": "no" }, "output": [] }),
    );
    let (_vendor, response) = asked(ModelKind::OpenaiResponses, anything, KEY, vec![failed]).await;
    assert!(matches!(response, Err(ModelError::Unavailable(_))), "nothing was produced: {response:?}");
    let limited = event(
        "response.failed",
        json!({ "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "slow" } }),
    );
    let (_vendor, response) = asked(ModelKind::OpenaiResponses, anything, KEY, vec![limited]).await;
    assert_eq!(response, Err(ModelError::RateLimited { retry_after_ms: None }));
    let output =
        json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "half" }] }]);
    let reason = json!({ "reason": "max_output_tokens" });
    let cut = event(
        "response.incomplete",
        json!({ "status": "incomplete", "error": null, "incomplete_details": reason, "output": output }),
    );
    let (_vendor, response) = asked(ModelKind::OpenaiResponses, anything, KEY, vec![cut]).await;
    let response = response.unwrap();
    assert_eq!((response.text.as_str(), response.truncated), ("half", true));
}

#[tokio::test]
async fn sloppy_answers_are_borne() {
    let parts = json!([
        { "functionCall": { "name": "bash", "args": "{\"command\": " } },
        { "functionCall": {} },
        { "functionCall": { "name": "bash", "args": { "command": "ls" } } },
        "odd",
        { "newKind": 1 },
        { "text": null },
        { "text": "well" },
    ]);
    let gemini = json!({ "candidates": [{ "content": { "parts": parts } }] });
    let output = json!([
        { "type": "function_call", "name": "bash", "arguments": "{\"command\": " },
        { "type": "function_call" },
        { "type": "function_call", "call_id": "", "name": "bash", "arguments": { "command": "ls" } },
        "odd",
        { "type": "new_kind" },
        { "type": "message", "content": null },
        { "type": "message", "content": [{ "type": "output_text", "text": "well" }, "odd"] },
    ]);
    for (kind, answer) in [(ModelKind::Gemini, gemini), (ModelKind::OpenaiResponses, json!({ "output": output }))] {
        let (_vendor, response) = asked(kind, anything, KEY, vec![Reply::ok(answer)]).await;
        let response = response.unwrap();
        assert_eq!((response.text.as_str(), response.usage), ("well", Usage::default()), "{kind:?}");
        let ids: Vec<&str> = response.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_2_0", "call_2_1", "call_2_2"], "{kind:?}");
        let broken: Vec<Option<&str>> = response.calls.iter().map(|call| call.malformed.as_deref()).collect();
        assert_eq!(broken, [Some("{\"command\": "), None, None], "{kind:?}");
        assert_eq!((response.calls[1].name.as_str(), &response.calls[2].arguments), ("", &json!({ "command": "ls" })));
        assert_eq!(response.vendor, None);
    }
}
