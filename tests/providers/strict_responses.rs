//! The checks of OpenAI's Responses API, as its reference describes them (platform.openai.com/docs/api-reference/responses/create).

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::KEY;
use crate::strict::{Checked, header, holds_a_picture, is_token, not_prefilled, only, openai_choice, want};

/// `POST /v1/responses`.
pub fn check(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let error = |status: u16, message: &str, code: &str| {
        (
            status,
            json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } }),
        )
    };
    if path != "/v1/responses" {
        return Err(error(404, "Unknown request URL", "unknown_url"));
    }
    match header(headers, "authorization") {
        Some(value) if value == format!("Bearer {KEY}") => {}
        value => return Err(error(401, &format!("Incorrect API key provided: {value:?}"), "invalid_api_key")),
    }
    whole(body).map_err(|what| error(400, &what, "invalid_value"))
}

fn whole(body: &Value) -> Checked {
    let known = [
        "model",
        "instructions",
        "input",
        "max_output_tokens",
        "store",
        "stream",
        "include",
        "temperature",
        "tools",
        "tool_choice",
        "prompt_cache_key",
    ];
    only(body, &known)?;
    openai_choice(body)?;
    want(body["model"].as_str().is_some_and(|model| !model.is_empty()), "model is missing")?;
    want(body["instructions"].as_str().is_some_and(|text| !text.is_empty()), "instructions")?;
    want(body["max_output_tokens"].as_u64().is_some_and(|n| n >= 16), "Expected a value >= 16")?;
    want(body["store"] == json!(false), "the tests' vendor keeps nothing")?;
    want(body["stream"].is_boolean(), "stream")?;
    want(body.get("include").is_none_or(|it| *it == json!(["reasoning.encrypted_content"])), "include")?;
    for tool in body["tools"].as_array().ok_or("tools must be a list")? {
        only(tool, &["type", "name", "description", "parameters", "strict"])?;
        want(tool["type"] == "function" && is_token(&tool["name"]) && tool["strict"] == json!(false), "a tool")?;
        want(tool["parameters"]["type"] == "object", "a tool's parameters")?;
    }
    let mut waiting: Vec<Value> = Vec::new();
    for (at, item) in body["input"].as_array().ok_or("input must be a list")?.iter().enumerate() {
        one(item, &mut waiting).map_err(|what| format!("input[{at}]: {what}"))?;
    }
    not_prefilled(&body["input"])?;
    want(waiting.is_empty(), "No tool output found for function call")
}

fn input(part: &Value) -> Checked {
    match part["type"].as_str().unwrap_or_default() {
        "input_text" => only(part, &["type", "text"]).and_then(|()| want(part["text"].is_string(), "text")),
        "input_image" => {
            only(part, &["type", "image_url", "detail"])?;
            want(["low", "high", "auto"].iter().any(|it| part["detail"] == *it), "detail")?;
            want(holds_a_picture(&part["image_url"]), "Invalid image data.")
        }
        other => Err(format!("Invalid value: '{other}'")),
    }
}

fn one(item: &Value, waiting: &mut Vec<Value>) -> Checked {
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            want(waiting.is_empty(), "No tool output found for function call")?;
            want(matches!(item["role"].as_str(), Some("user" | "assistant")), "role")?;
            // In the form of an output item, or in the short form.
            let sent = item["content"].as_array().is_some_and(|parts| {
                item["role"] == "assistant"
                    && parts.iter().all(|part| part["type"] == "output_text" && part["text"].is_string())
            });
            let shown = item["role"] == "user"
                && item["content"]
                    .as_array()
                    .is_some_and(|parts| !parts.is_empty() && parts.iter().all(|part| input(part).is_ok()));
            want(sent || shown || item["content"].as_str().is_some_and(|text| !text.is_empty()), "content is empty")
        }
        "function_call" => {
            only(item, &["type", "id", "call_id", "name", "arguments", "status"])?;
            want(is_token(&item["call_id"]) && is_token(&item["name"]), "a call's id or name")?;
            let arguments = item["arguments"].as_str().ok_or("arguments must be a string")?;
            want(serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object()), "arguments aren't JSON")?;
            waiting.push(item["call_id"].clone());
            Ok(())
        }
        "function_call_output" => {
            only(item, &["type", "call_id", "output"])?;
            let place = waiting.iter().position(|id| *id == item["call_id"]);
            waiting.remove(place.ok_or("No tool call found for function call output")?);
            want(item["output"].is_string(), "output")
        }
        "reasoning" => {
            want(waiting.is_empty(), "reasoning comes before what it led to")?;
            // Nothing is stored on the server, so an item must contain everything needed to read it back.
            want(item["encrypted_content"].is_string() && item["summary"].is_array(), "Item with id 'rs' not found.")
        }
        other => Err(format!("Invalid value: '{other}'")),
    }
}
