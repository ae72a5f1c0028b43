//! What `caisson model check` measures (speed, cache, parallel calls, on request the context window), and what `caisson doctor` reports.

use axum::http::HeaderMap;
use caisson::config::process::ModelKind;
use serde_json::{Value, json};

use crate::refusals::{caisson, configured, said, told};
use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, client};

/// An answer with token counts; `cached` is how many of the prompt's came from a cache.
fn counted(text: &str, prompt: u64, cached: u64) -> Reply {
    let mut body = said("coder", text);
    body["usage"] = json!({
        "prompt_tokens": prompt, "completion_tokens": 90, "prompt_tokens_details": { "cached_tokens": cached }
    });
    Reply::ok(body)
}

fn calls(number: usize) -> Reply {
    let call = |at: usize| {
        let function = json!({ "name": "read_file", "arguments": "{\"path\": \"calc.py\"}" });
        json!({ "id": format!("c{at}"), "type": "function", "function": function })
    };
    let calls: Vec<Value> = (0..number).map(call).collect();
    Reply::ok(json!({ "model": "coder", "choices": [{ "message": { "tool_calls": calls } }] }))
}

/// Queues the answers of a check in which one tool trial fails.
fn tried(vendor: &Vendor) {
    told("coder", 32_768).into_iter().for_each(|reply| vendor.answer(reply));
    vendor.answer(Reply::ok(said("coder", "I would read calc.py.")));
}

#[tokio::test]
async fn a_check_says_in_words_what_works_by_the_servers_own_counts() {
    let vendor = Vendor::start(anything, vec![]).await;
    let dir = configured(&vendor.url, "");
    tried(&vendor);
    [counted("1 2 3", 5000, 0), counted("1 2 3", 5000, 4864), calls(2)].into_iter().for_each(|it| vendor.answer(it));
    let (check, fine) = caisson(dir.path(), &["model", "check"]).await;
    assert!(fine, "{check}");
    assert!(check.contains("yes: 4864 of the same 5000 tokens sent again came from it"), "{check}");
    assert!(check.contains("yes: 2 calls in one answer"), "{check}");
    assert!(check.contains("window: 32768 tokens (as the server says); configured 32768"), "{check}");
    assert!(check.contains("reads 5000 tokens, not told apart from writing: the answer came whole"), "{check}");
    assert!(check.contains("90 in all") && !check.contains("a prompt of"), "the window is not tried unasked: {check}");
    let seen = vendor.seen();
    let prompts: Vec<&Value> = seen.iter().filter(|body| body.to_string().contains("Count from 1 to 40")).collect();
    assert!(prompts.len() == 2 && prompts[0] == prompts[1], "the same twice");
}

#[tokio::test]
async fn a_window_is_tried_on_request_and_a_smaller_one_is_a_fault() {
    let full = json!({ "error": { "message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded" } });
    for (last, words, is_fine) in [
        (counted("I do not know", 29_000, 0), "a prompt of 29000 tokens of 32768 was taken, but what stands", true),
        (counted("1", 8_000, 0), "it read 8000 tokens of a prompt of about", false),
        (Reply::status(400, full), "its window is smaller than configured: a prompt of about", false),
    ] {
        let vendor = Vendor::start(anything, vec![]).await;
        let dir = configured(&vendor.url, "");
        tried(&vendor);
        let measured = [counted("1", 5000, 0), counted("1", 5000, 0), calls(1), last];
        measured.into_iter().for_each(|it| vendor.answer(it));
        let (check, fine) = caisson(dir.path(), &["model", "check", "--window"]).await;
        assert!(fine == is_fine && check.contains(words), "{check}");
        assert!(check.contains("nothing: of the same 5000 tokens") && check.contains("one at a time"), "{check}");
        let longest = vendor.seen().iter().map(|body| body.to_string().len()).max();
        assert!(longest > Some(80_000), "{longest:?}");
    }
}

/// Ollama's answer for a model that it does not have.
fn unknown(_: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let refused = (404, json!({ "error": { "message": "model \"coder\" not found, try pulling it first" } }));
    if body["messages"].is_array() { Err(refused) } else { Ok(()) }
}

/// Ollama's answer for a model without tool support.
fn toolless(_: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let refused = (400, json!({ "error": { "message": "coder does not support tools" } }));
    if body.get("tools").is_some() { Err(refused) } else { Ok(()) }
}

fn wrong_key(_: &str, _: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    Err((401, json!({ "error": { "message": "Incorrect API key provided", "code": "invalid_api_key" } })))
}

#[tokio::test]
async fn the_doctor_names_a_missing_model_a_refused_key_and_one_without_tools() {
    let none: fn() -> Vec<Reply> = Vec::new;
    let look: fn() -> Vec<Reply> = || told("coder", 32_768).into_iter().take(3).collect();
    let windowless: fn() -> Vec<Reply> = || {
        let list = json!({ "data": [{ "id": "coder" }] });
        // Neither llama.cpp's address nor Ollama's two tell anything.
        [said("coder", "ok"), list, json!({}), json!({}), json!({}), said("coder", "ok")].map(Reply::ok).into()
    };
    for (check, style, replies, words) in [
        (unknown as crate::vendor::Check, "", none, "the model's server has no such model: HTTP 404"),
        (wrong_key, "", none, "refused the key: HTTP 401"),
        (
            anything,
            "",
            windowless,
            "32768 tokens of context_tokens was not checked. `caisson model check --window` does",
        ),
        (toolless, "style = \"tools\"\n", look, "it cannot call tools: the model's server takes no tools for it"),
        (
            toolless,
            "",
            look,
            "it takes no tools (the model's server takes no tools for it: HTTP 400, coder does not support tools)",
        ),
    ] {
        let vendor = Vendor::start(check, replies()).await;
        let dir = configured(&vendor.url, style);
        let (doctor, _) = caisson(dir.path(), &["doctor", "--model"]).await;
        assert!(doctor.contains(words), "{words}\n{doctor}");
        assert!(replies().is_empty() || doctor.contains("price unknown"), "{doctor}");
    }
}

const CHAT: &str = "/v1/chat/completions";

/// Ollama, with the model loaded with less than it can hold.
fn loaded(path: &str, _: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    match path {
        CHAT => Ok(()),
        "/api/ps" => Err((200, json!({ "models": [{ "name": "coder:latest", "context_length": 4096 }] }))),
        _ => Err((404, json!({}))),
    }
}

/// Ollama, in a version that does not tell with how much it loaded a model.
fn described(path: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    match path {
        CHAT => Ok(()),
        "/api/ps" => Err((200, json!({ "models": [{ "name": "coder:latest" }] }))),
        "/api/show" if body["model"] == "coder" => {
            Err((200, json!({ "model_info": { "qwen2.context_length": 16_384 } })))
        }
        _ => Err((404, json!({}))),
    }
}

/// OpenRouter, whose list is longer than an ordinary answer may be.
fn gateway(path: &str, _: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    let list = json!({ "data": [{ "id": "x", "description": "x".repeat(1 << 20) }, { "id": "coder", "context_length": 131_072 }] });
    match path {
        CHAT => Ok(()),
        "/v1/models" => Err((200, list)),
        _ => Err((404, json!({}))),
    }
}

#[tokio::test]
async fn a_window_is_read_where_each_server_tells_it_and_a_smaller_one_is_a_fault() {
    for (server, words) in [
        (loaded as crate::vendor::Check, "its window is 4096 tokens, and context_tokens says 32768"),
        (loaded, "window: 4096 tokens (as the server says); configured 32768"),
        (described, "the model holds at most 16384 tokens, and context_tokens says 32768"),
        (described, "its server does not tell its window (the model itself holds at most 16384)"),
        (gateway, "window: 131072 tokens (as the server says); configured 32768"),
    ] {
        let vendor = Vendor::start(server, [said("coder", "ok"), said("coder", "ok")].map(Reply::ok).into()).await;
        let (doctor, _) = caisson(configured(&vendor.url, "").path(), &["doctor", "--model"]).await;
        assert!(doctor.contains(words), "{words}\n{doctor}");
    }
}

/// Google's description of one model.
fn google(path: &str, headers: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    let is_about = path == "/v1beta/models/test-model" && headers.contains_key("x-goog-api-key");
    if is_about { Err((200, json!({ "inputTokenLimit": 1_048_576 }))) } else { Ok(()) }
}

#[tokio::test]
async fn google_tells_the_window_in_its_description_of_the_model() {
    let parts = json!({ "content": { "parts": [{ "text": "ok" }] }, "finishReason": "STOP" });
    let answer = json!({ "candidates": [parts], "modelVersion": "test-model" });
    let vendor = Vendor::start(google, vec![Reply::ok(answer)]).await;
    let presence = client(ModelKind::Gemini, &vendor.url, KEY).presence().await.unwrap();
    assert_eq!((presence.window, presence.answered.as_deref()), (Some(1_048_576), Some("test-model")));
}

/// Anthropic's description of one model; a gateway's list beside the Responses API.
fn described_elsewhere(path: &str, headers: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    match path {
        "/v1/models/test-model" if headers.contains_key("x-api-key") => {
            Err((200, json!({ "id": "test-model", "type": "model", "max_input_tokens": 200_000 })))
        }
        "/v1/models" => Err((200, json!({ "data": [{ "id": "test-model", "max_model_len": 8192 }] }))),
        "/v1/messages" | "/v1/responses" => Ok(()),
        _ => Err((404, json!({}))),
    }
}

#[tokio::test]
async fn anthropics_description_and_a_list_beside_the_responses_tell_the_window() {
    let message =
        json!({ "model": "test-model", "content": [{ "type": "text", "text": "ok" }], "stop_reason": "end_turn" });
    let text = json!({ "type": "output_text", "text": "ok" });
    let item = json!({ "type": "message", "role": "assistant", "content": [text] });
    let response = json!({ "model": "test-model", "status": "completed", "output": [item] });
    for (kind, answer, window) in
        [(ModelKind::Anthropic, message, 200_000), (ModelKind::OpenaiResponses, response, 8192)]
    {
        let vendor = Vendor::start(described_elsewhere, vec![Reply::ok(answer)]).await;
        let presence = client(kind, &vendor.url, KEY).presence().await.unwrap();
        assert_eq!((presence.window, presence.answered.as_deref()), (Some(window), Some("test-model")), "{kind:?}");
    }
}
