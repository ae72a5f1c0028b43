//! The checks of servers that speak OpenAI's wire with something of their own: OpenRouter, DeepSeek, Gemini, Ollama.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::strict::{self, Checked, only, want};

fn refused(message: &str) -> (u16, Value) {
    (400, json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": 400 } }))
}

/// Each answer's message, without one field that this server knows beside OpenAI's; `check` is given the message and that field.
fn without(body: &Value, name: &str, check: impl Fn(&Value, Option<Value>) -> Checked) -> Result<Value, (u16, Value)> {
    let mut plain = body.clone();
    for message in plain["messages"].as_array_mut().into_iter().flatten().filter(|it| it["role"] == "assistant") {
        let field = message.as_object_mut().and_then(|fields| fields.remove(name));
        check(message, field).map_err(|what| refused(&what))?;
    }
    Ok(plain)
}

/// OpenRouter (openrouter.ai/docs/use-cases/reasoning-tokens): an answer may hold its `reasoning_details`.
pub fn openrouter(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let plain = without(body, "reasoning_details", |_, details| match details {
        None => Ok(()),
        Some(details) => {
            let details = details.as_array().filter(|list| !list.is_empty()).cloned().ok_or("reasoning_details")?;
            details.iter().try_for_each(|detail| {
                only(detail, &["type", "text", "summary", "data", "signature", "id", "format", "index"])?;
                let field = match detail["type"].as_str().unwrap_or_default() {
                    "reasoning.text" => "text",
                    "reasoning.summary" => "summary",
                    "reasoning.encrypted" => "data",
                    other => return Err(format!("unknown reasoning detail {other}")),
                };
                want(detail[field].is_string(), field)
            })
        }
    })?;
    strict::openai(path.strip_prefix("/api").unwrap_or(path), headers, &plain)
}

/// DeepSeek in its thinking mode (api-docs.deepseek.com/guides/thinking_mode): every answer with calls must hold its `reasoning_content`, and no
/// other needs one.
pub fn deepseek(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let plain = without(body, "reasoning_content", |message, thoughts| {
        let has_calls = message["tool_calls"].is_array();
        let given = thoughts.is_some_and(|thoughts| thoughts.is_string());
        want(given || !has_calls, "The `reasoning_content` in the thinking mode must be passed back to the API.")
    })?;
    strict::openai(path, headers, &plain)
}

/// Gemini 3 at Google's address for this wire (ai.google.dev/gemini-api/docs/thought-signatures): the first call of each answer has its signature.
pub fn gemini(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let mut plain = body.clone();
    for message in plain["messages"].as_array_mut().into_iter().flatten().filter(|it| it["role"] == "assistant") {
        let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) else { continue };
        if !calls[0]["extra_content"]["google"]["thought_signature"].is_string() {
            return Err(refused("Function call is missing a thought_signature in functionCall parts."));
        }
        for fields in calls.iter_mut().filter_map(Value::as_object_mut) {
            fields.remove("extra_content");
        }
    }
    strict::openai(path, headers, &plain)
}

/// Ollama's `/v1` (docs.ollama.com/api/openai-compatibility): no key, fields that it does not know are passed over, and arguments have to be JSON.
pub fn ollama(path: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    if path != "/v1/chat/completions" {
        return Err((404, json!("404 page not found")));
    }
    for message in body["messages"].as_array().ok_or_else(|| refused("[] is too short - 'messages'"))? {
        let (content, calls) = (&message["content"], message["tool_calls"].as_array());
        let known = content.is_string() || content.is_array() || calls.is_some();
        want(known, "invalid message content type: <nil>").map_err(|what| refused(&what))?;
        let read =
            |call: &Value| serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap_or_default());
        let good = calls.into_iter().flatten().all(|call| read(call).is_ok_and(|it| it.is_object()));
        want(good, "invalid tool call arguments").map_err(|what| refused(&what))?;
    }
    want(body.get("cache_control").is_none(), "cache_control").map_err(|what| refused(&what))
}
