//! The vendors' own checks, as their references describe them and their servers enforce them.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::KEY;

pub type Checked = Result<(), String>;

pub fn want(good: bool, what: &str) -> Checked {
    if good { Ok(()) } else { Err(what.to_owned()) }
}

pub fn only(value: &Value, keys: &[&str]) -> Checked {
    let object = value.as_object().ok_or("an object is expected")?;
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key {key}")),
        None => Ok(()),
    }
}

pub fn is_token(value: &Value) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    value.as_str().is_some_and(|text| (1..=64).contains(&text.len()) && text.chars().all(good))
}

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// OpenAI: chat completions.
pub fn openai(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let error = |status: u16, message: &str, code: &str| {
        (status, json!({ "error": { "message": message, "type": "invalid_request_error", "code": code } }))
    };
    if path != "/v1/chat/completions" {
        return Err(error(404, "Unknown request URL", "unknown_url"));
    }
    match header(headers, "authorization") {
        Some(value) if value == format!("Bearer {KEY}") => {}
        value => return Err(error(401, &format!("Incorrect API key provided: {value:?}"), "invalid_api_key")),
    }
    openai_body(body).map_err(|what| error(400, &what, "invalid_value"))
}

/// Absent, or between 0 and the vendor's maximum.
fn temperature(body: &Value, most: f64) -> Checked {
    let given = body.get("temperature");
    want(given.is_none_or(|it| it.as_f64().is_some_and(|it| (0.0..=most).contains(&it))), "temperature")
}

/// A request ends with words or results, never with the beginning of an answer: several models refuse that.
pub fn not_prefilled(turns: &Value) -> Checked {
    let last = turns.as_array().and_then(|turns| turns.last()).map(|turn| &turn["role"]);
    want(last.is_some_and(|role| role != "assistant" && role != "model"), "the conversation must end with the user")
}

/// Both of OpenAI's wire formats: a tool choice names an existing tool, and a cache key has at most 64 characters.
pub fn openai_choice(body: &Value) -> Checked {
    let (choice, key) = (body.get("tool_choice"), body.get("prompt_cache_key"));
    let tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    want(choice.is_none_or(|it| tools && ["auto", "none", "required"].iter().any(|known| it == known)), "tool_choice")?;
    want(key.is_none_or(|it| it.as_str().is_some_and(|it| it.len() <= 64)), "prompt_cache_key")
}

fn openai_body(body: &Value) -> Checked {
    only(
        body,
        &[
            "model",
            "messages",
            "tools",
            "max_tokens",
            "max_completion_tokens",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "prompt_cache_key",
        ],
    )?;
    temperature(body, 2.0)?;
    openai_choice(body)?;
    want(body["model"].as_str().is_some_and(|m| !m.is_empty()), "model is missing")?;
    let options = body.get("stream_options");
    match &body["stream"] {
        Value::Bool(true) => want(options == Some(&json!({ "include_usage": true })), "stream_options"),
        Value::Bool(false) => {
            want(options.is_none(), "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        }
        _ => Err("stream must be a boolean".to_owned()),
    }?;
    for tool in body["tools"].as_array().ok_or("tools must be a list")? {
        only(tool, &["type", "function"])?;
        want(tool["type"] == "function" && is_token(&tool["function"]["name"]), "a tool's name")?;
        want(tool["function"]["parameters"]["type"] == "object", "a tool's parameters")?;
    }
    let mut waiting: Vec<String> = Vec::new();
    for (at, message) in body["messages"].as_array().ok_or("messages must be a list")?.iter().enumerate() {
        openai_message(message, at, &mut waiting).map_err(|what| format!("messages[{at}]: {what}"))?;
    }
    not_prefilled(&body["messages"])?;
    want(waiting.is_empty(), "calls without a result")
}

fn openai_message(message: &Value, at: usize, waiting: &mut Vec<String>) -> Checked {
    let role = message["role"].as_str().ok_or("role is missing")?;
    let words = message["content"].as_str();
    want((role == "system") == (at == 0), "the system's words come first, once")?;
    want(
        role == "tool" || waiting.is_empty(),
        "an assistant message with tool_calls must be followed by tool messages",
    )?;
    match role {
        "user" if message["content"].is_array() => {
            only(message, &["role", "content"])?;
            let parts = message["content"].as_array().filter(|parts| !parts.is_empty()).ok_or("content is empty")?;
            parts.iter().try_for_each(openai_part)
        }
        "system" | "user" => {
            only(message, &["role", "content"])?;
            want(words.is_some_and(|w| !w.is_empty()), "content is empty")
        }
        "tool" => {
            only(message, &["role", "content", "tool_call_id"])?;
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let place = waiting.iter().position(|w| w == id).ok_or("a result without its call")?;
            waiting.remove(place);
            want(words.is_some(), "content must be a string")
        }
        "assistant" => {
            only(message, &["role", "content", "tool_calls"])?;
            let calls = message["tool_calls"].as_array();
            want(calls.is_some_and(|c| !c.is_empty()) || words.is_some_and(|w| !w.is_empty()), "an empty answer")?;
            for call in calls.unwrap_or(&Vec::new()) {
                only(call, &["id", "type", "function"])?;
                want(call["type"] == "function" && is_token(&call["id"]), "a call's id or type")?;
                want(is_token(&call["function"]["name"]), "a call's name")?;
                let arguments = call["function"]["arguments"].as_str().ok_or("arguments must be a string")?;
                want(serde_json::from_str::<Value>(arguments).is_ok_and(|v| v.is_object()), "arguments aren't JSON")?;
                waiting.push(call["id"].as_str().unwrap_or_default().to_owned());
            }
            Ok(())
        }
        other => Err(format!("unknown role {other}")),
    }
}

fn openai_part(part: &Value) -> Checked {
    match part["type"].as_str().unwrap_or_default() {
        "text" => {
            only(part, &["type", "text"])?;
            want(part["text"].as_str().is_some_and(|text| !text.is_empty()), "text is empty")
        }
        "image_url" => {
            only(part, &["type", "image_url"])?;
            only(&part["image_url"], &["url", "detail"])?;
            want(holds_a_picture(&part["image_url"]["url"]), "Invalid image data.")
        }
        other => Err(format!("Invalid value: '{other}'")),
    }
}

/// A data URL of a picture in a format that OpenAI accepts.
pub fn holds_a_picture(address: &Value) -> bool {
    let Some((media, data)) = address.as_str().and_then(|it| it.strip_prefix("data:")?.split_once(";base64,")) else {
        return false;
    };
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media) && is_base64(data)
}

pub fn is_base64(data: &str) -> bool {
    use base64::Engine;
    !data.is_empty() && base64::engine::general_purpose::STANDARD.decode(data).is_ok()
}

/// Anthropic: messages.
pub fn anthropic(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let error = |status: u16, kind: &str, message: &str| {
        (status, json!({ "type": "error", "error": { "type": kind, "message": message } }))
    };
    if path != "/v1/messages" {
        return Err(error(404, "not_found_error", "no such address"));
    }
    if header(headers, "x-api-key") != Some(KEY) {
        return Err(error(401, "authentication_error", "invalid x-api-key"));
    }
    let version =
        want(header(headers, "anthropic-version") == Some("2023-06-01"), "anthropic-version: header is required");
    version.and_then(|()| anthropic_body(body)).map_err(|what| error(400, "invalid_request_error", &what))
}

fn anthropic_body(body: &Value) -> Checked {
    only(body, &["model", "messages", "tools", "max_tokens", "system", "temperature", "stream", "tool_choice"])?;
    let choice = body.get("tool_choice");
    want(
        choice.is_none_or(|it| *it == json!({ "type": "any" })),
        "tool_choice: Input should be an object with a known type",
    )?;
    want(body.get("stream").is_none_or(Value::is_boolean), "stream: Input should be a valid boolean")?;
    temperature(body, 1.0)?;
    want(body["max_tokens"].as_u64().is_some_and(|n| n > 0), "max_tokens: field required")?;
    want(body["system"].as_array().is_some_and(|s| s.iter().all(|b| b["type"] == "text")), "system")?;
    want(body.to_string().matches("cache_control").count() <= 4, "at most 4 blocks with cache_control")?;
    for tool in body["tools"].as_array().ok_or("tools must be a list")? {
        only(tool, &["name", "description", "input_schema"])?;
        want(is_token(&tool["name"]) && tool["input_schema"]["type"] == "object", "a tool")?;
    }
    let messages = body["messages"].as_array().ok_or("messages must be a list")?;
    let mut waiting: Vec<Value> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        only(message, &["role", "content"])?;
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        want(message["role"] == role, "roles must alternate, beginning with user")?;
        let blocks = message["content"].as_array().filter(|b| !b.is_empty()).ok_or("content is empty")?;
        let place = format!("messages.{at}");
        waiting = anthropic_blocks(role, blocks, &waiting).map_err(|what| format!("{place}: {what}"))?;
    }
    not_prefilled(&body["messages"])?;
    want(waiting.is_empty(), "tool_use ids were found without tool_result blocks immediately after")
}

/// Returns the ids that the next message must answer.
fn anthropic_blocks(role: &str, blocks: &[Value], waiting: &[Value]) -> Result<Vec<Value>, String> {
    let mut asked = Vec::new();
    let results: Vec<&Value> =
        blocks.iter().take_while(|b| b["type"] == "tool_result").map(|b| &b["tool_use_id"]).collect();
    let answered = waiting.len() == results.len() && waiting.iter().all(|id| results.contains(&id));
    want(answered, "tool_result blocks must come first and answer each tool_use of the message before")?;
    for block in &blocks[results.len()..] {
        match (role, block["type"].as_str().unwrap_or_default()) {
            (_, "text") => {
                let text = block["text"].as_str().unwrap_or_default();
                want(!text.trim().is_empty(), "text content blocks must contain non-whitespace text")?;
                want(role == "user" || text.trim_end() == text, "assistant content ends with white space")?;
            }
            ("user", "image") => {
                only(block, &["type", "source", "cache_control"])?;
                only(&block["source"], &["type", "media_type", "data"])?;
                let known = ["image/jpeg", "image/png", "image/gif", "image/webp"];
                let media = block["source"]["media_type"].as_str().unwrap_or_default();
                want(block["source"]["type"] == "base64" && known.contains(&media), "image.source.media_type")?;
                want(is_base64(block["source"]["data"].as_str().unwrap_or_default()), "Could not process image")?;
            }
            ("assistant", "thinking") => {
                only(block, &["type", "thinking", "signature"])?;
                want(
                    block["signature"].as_str().is_some_and(|it| !it.is_empty()),
                    "Invalid `signature` in `thinking` block",
                )?;
            }
            ("assistant", "redacted_thinking") => only(block, &["type", "data"])?,
            ("assistant", "tool_use") => {
                only(block, &["type", "id", "name", "input"])?;
                want(is_token(&block["id"]) && is_token(&block["name"]) && block["input"].is_object(), "tool_use")?;
                asked.push(block["id"].clone());
            }
            (_, other) => return Err(format!("unexpected block {other}")),
        }
    }
    let last = blocks.last().and_then(|block| block["type"].as_str());
    want(
        !matches!(last, Some("thinking" | "redacted_thinking")),
        "The final block in an assistant message cannot be `thinking`.",
    )?;
    Ok(asked)
}
