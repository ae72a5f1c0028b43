//! Google's own checks, as its reference describes them (ai.google.dev/api/generate-content) and its server enforces them.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::KEY;
use crate::strict::{Checked, header, is_base64, is_token, not_prefilled, only, want};

/// `generateContent` and `streamGenerateContent`.
pub fn check(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let error = |code: u16, status: &str, message: &str| {
        (code, json!({ "error": { "code": code, "message": message, "status": status } }))
    };
    let (address, query) = path.split_once('?').unwrap_or((path, ""));
    match (address, query) {
        ("/v1beta/models/test-model:generateContent", "") => {}
        ("/v1beta/models/test-model:streamGenerateContent", "alt=sse") => {}
        _ => return Err(error(404, "NOT_FOUND", &format!("{path} is not found for API version v1beta"))),
    }
    if header(headers, "x-goog-api-key") != Some(KEY) {
        let mut refused = error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
        refused.1["error"]["details"] = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com" }]);
        return Err(refused);
    }
    whole(body).map_err(|what| error(400, "INVALID_ARGUMENT", &what))
}

fn whole(body: &Value) -> Checked {
    only(body, &["contents", "generationConfig", "systemInstruction", "tools", "toolConfig"])?;
    let choice = body.get("toolConfig");
    want(choice.is_none_or(|it| *it == json!({ "functionCallingConfig": { "mode": "ANY" } })), "tool_config")?;
    only(&body["generationConfig"], &["maxOutputTokens", "temperature", "seed"])?;
    want(body["generationConfig"]["maxOutputTokens"].as_u64().is_some_and(|n| n > 0), "max_output_tokens")?;
    want(!body["systemInstruction"]["parts"][0]["text"].as_str().unwrap_or_default().is_empty(), "systemInstruction")?;
    let declarations = body["tools"][0]["functionDeclarations"].as_array().ok_or("tools")?;
    for declaration in declarations {
        only(declaration, &["name", "description", "parameters"])?;
        want(is_token(&declaration["name"]), "function_declarations.name")?;
        if let Some(parameters) = declaration.get("parameters") {
            schema(parameters)?;
        }
    }
    not_prefilled(&body["contents"])?;
    contents(body["contents"].as_array().ok_or("contents is not specified")?)
}

fn schema(of: &Value) -> Checked {
    let known = ["type", "description", "properties", "required", "items", "minimum", "maximum", "enum", "nullable"];
    only(of, &known).map_err(|what| format!("Invalid JSON payload received. {what}: Cannot find field."))?;
    want(of["type"].is_string(), "schema's type must be one name")?;
    if of["type"] == "object" {
        let properties = of["properties"].as_object().ok_or("should be non-empty for OBJECT type")?;
        want(!properties.is_empty(), "should be non-empty for OBJECT type")?;
        properties.values().try_for_each(schema)?;
    }
    of.get("items").map_or(Ok(()), schema)
}

fn contents(list: &[Value]) -> Checked {
    want(list.first().is_some_and(|first| first["role"] == "user"), "the first turn must be the user's")?;
    let mut waiting: Vec<Value> = Vec::new();
    for content in list {
        only(content, &["role", "parts"])?;
        let parts = content["parts"].as_array().filter(|parts| !parts.is_empty());
        let parts = parts.ok_or("contents.parts must not be empty.")?;
        let named = |kind: &str| parts.iter().filter_map(|part| part.get(kind)).cloned().collect::<Vec<_>>();
        let (calls, responses) = (named("functionCall"), named("functionResponse"));
        for part in parts {
            only(part, &["text", "inlineData", "functionCall", "functionResponse", "thought", "thoughtSignature"])?;
            if let Some(inline) = part.get("inlineData") {
                only(inline, &["mimeType", "data"])?;
                let known = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
                want(inline["mimeType"].as_str().is_some_and(|it| known.contains(&it)), "Unsupported MIME type")?;
                want(is_base64(inline["data"].as_str().unwrap_or_default()), "Base64 decoding failed")?;
                want(content["role"] == "user" && responses.is_empty(), "a picture beside function responses")?;
            }
            want(
                part["text"].as_str().is_none_or(|text| !text.is_empty() || part.get("thoughtSignature").is_some()),
                "an empty text",
            )?;
        }
        match content["role"].as_str() {
            Some("model") => want(responses.is_empty() && waiting.is_empty(), "a function call without a response")?,
            Some("user") => want(calls.is_empty(), "a user's function call")?,
            _ => return Err("Please use a valid role: user, model.".to_owned()),
        }
        let counts = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
        want(responses.len() == waiting.len(), counts)?;
        for (call, response) in waiting.iter().zip(&responses) {
            only(response, &["id", "name", "response"])?;
            want(
                call["name"] == response["name"] && call.get("id") == response.get("id"),
                "a response to another call",
            )?;
            want(response["response"].is_object(), "function_response.response must be an object")?;
        }
        for call in &calls {
            only(call, &["id", "name", "args"])?;
            want(is_token(&call["name"]) && call["args"].is_object(), "function_call")?;
        }
        waiting = calls;
    }
    want(waiting.is_empty(), "a function call without a response")
}

/// Gemini 3 models also check that each step of the current turn begins with a call that carries its signature.
pub fn signed(path: &str, headers: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    check(path, headers, body)?;
    for content in body["contents"].as_array().into_iter().flatten() {
        let parts = content["parts"].as_array().into_iter().flatten();
        let first = parts.clone().find(|part| part.get("functionCall").is_some());
        if first.is_some_and(|part| !part["thoughtSignature"].is_string()) {
            let message = "Function call is missing a thought_signature in functionCall parts.";
            return Err((400, json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } })));
        }
    }
    Ok(())
}
