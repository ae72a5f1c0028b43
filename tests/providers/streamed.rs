//! The stream that each vendor would send for a whole answer, with the deltas, counts and end markers that its reference documents.

use caisson::config::process::ModelKind;
use serde_json::{Value, json};

/// A text split by characters into deltas.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(5).map(|piece| piece.iter().collect()).collect()
}

/// The events of a stream, each with its final blank line.
pub fn events(kind: ModelKind, answer: &Value) -> Vec<String> {
    match kind {
        ModelKind::Openai => openai(answer),
        ModelKind::Anthropic => anthropic(answer),
        ModelKind::Gemini => gemini(answer),
        ModelKind::OpenaiResponses => responses(answer),
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event with the name that its data has as `type`, as Anthropic and the Responses API send it.
fn named(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// <https://platform.openai.com/docs/api-reference/chat/streaming>
fn openai(answer: &Value) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        unnamed(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": answer["model"], "choices": [choice], "usage": null,
        }))
    };
    let (choice, message) = (&answer["choices"][0], &answer["choices"][0]["message"]);
    let mut list = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces(message["content"].as_str().unwrap_or_default()) {
        list.push(chunk(json!({ "content": piece }), Value::Null));
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let function = json!({ "name": call["function"]["name"], "arguments": "" });
        let began = json!({ "index": index, "id": call["id"], "type": "function", "function": function });
        list.push(chunk(json!({ "tool_calls": [began] }), Value::Null));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap_or_default()) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            list.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    let finish = choice.get("finish_reason").filter(|it| !it.is_null()).cloned().unwrap_or(json!("stop"));
    list.push(chunk(json!({}), finish));
    if let Some(usage) = answer.get("usage").filter(|it| it.is_object()) {
        let counts = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": answer["model"], "choices": [], "usage": usage });
        list.push(unnamed(&counts));
    }
    list.push("data: [DONE]\n\n".to_owned());
    list
}

/// <https://docs.anthropic.com/en/docs/build-with-claude/streaming>
fn anthropic(answer: &Value) -> Vec<String> {
    let mut usage = answer.get("usage").cloned().unwrap_or(json!({}));
    let written = std::mem::take(&mut usage["output_tokens"]);
    usage["output_tokens"] = json!(1);
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": answer["model"], "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage });
    let mut list = vec![named(&json!({ "type": "message_start", "message": message }))];
    list.push(named(&json!({ "type": "ping" })));
    for (index, block) in answer["content"].as_array().into_iter().flatten().enumerate() {
        let (mut began, mut deltas) = (block.clone(), Vec::new());
        let mut pour = |field: &str, kind: &str, name: &str, text: &str| {
            began[field] = if kind == "input_json_delta" { json!({}) } else { json!("") };
            deltas.extend(pieces(text).into_iter().map(|piece| json!({ "type": kind, name: piece })));
        };
        match block["type"].as_str().unwrap_or_default() {
            "text" => pour("text", "text_delta", "text", block["text"].as_str().unwrap_or_default()),
            "thinking" => {
                pour("thinking", "thinking_delta", "thinking", block["thinking"].as_str().unwrap_or_default())
            }
            "tool_use" => {
                let raw = block["input"].as_str().map_or(block["input"].to_string(), str::to_owned);
                pour("input", "input_json_delta", "partial_json", &raw);
            }
            _ => {}
        }
        if let Some(signature) = block.get("signature") {
            began["signature"] = json!("");
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
        }
        list.push(named(&json!({ "type": "content_block_start", "index": index, "content_block": began })));
        let delta = |delta| named(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        list.extend(deltas.into_iter().map(delta));
        list.push(named(&json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": answer["stop_reason"].as_str().unwrap_or("end_turn"), "stop_sequence": null });
    let usage = json!({ "output_tokens": written });
    list.push(named(&json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    list.push(named(&json!({ "type": "message_stop" })));
    list
}

/// <https://ai.google.dev/api/generate-content>: each chunk is a whole `GenerateContentResponse`, and a call is never split.
fn gemini(answer: &Value) -> Vec<String> {
    let candidate = &answer["candidates"][0];
    let chunk = |parts: Value, more: Value| {
        let mut one = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        for (key, value) in more.as_object().into_iter().flatten() {
            one[key] = value.clone();
        }
        let mut usage = answer["usageMetadata"].clone();
        if more.get("finishReason").is_none() && usage.is_object() {
            usage["candidatesTokenCount"] = json!(1);
        }
        unnamed(&json!({ "candidates": [one], "usageMetadata": usage, "modelVersion": answer["modelVersion"] }))
    };
    let mut list = Vec::new();
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        match part["text"].as_str().filter(|_| part.as_object().is_some_and(|fields| fields.len() == 1)) {
            Some(text) => {
                list.extend(pieces(text).into_iter().map(|piece| chunk(json!([{ "text": piece }]), json!({}))))
            }
            None => list.push(chunk(json!([part]), json!({}))),
        }
    }
    let mut end = json!({ "finishReason": candidate["finishReason"].as_str().unwrap_or("STOP") });
    if let Some(message) = candidate.get("finishMessage") {
        end["finishMessage"] = message.clone();
    }
    list.push(chunk(json!([{ "text": "" }]), end));
    list
}

/// <https://platform.openai.com/docs/api-reference/responses-streaming>
fn responses(answer: &Value) -> Vec<String> {
    let begun = json!({ "id": "resp_1", "object": "response", "status": "in_progress", "error": null, "model": answer["model"], "output": [] });
    let mut list = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, item) in answer["output"].as_array().into_iter().flatten().enumerate() {
        let event = |kind: &str, more: Value| {
            let mut event = json!({ "type": kind, "output_index": index, "item_id": item["id"] });
            for (key, value) in more.as_object().into_iter().flatten() {
                event[key] = value.clone();
            }
            event
        };
        let mut began = item.clone();
        began["status"] = json!("in_progress");
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                began["content"] = json!([]);
                list.push(event("response.output_item.added", json!({ "item": began })));
                let text = item["content"][0]["text"].as_str().unwrap_or_default();
                let part = |text: &str| json!({ "content_index": 0, "part": { "type": "output_text", "text": text, "annotations": [] } });
                list.push(event("response.content_part.added", part("")));
                let delta = |piece| event("response.output_text.delta", json!({ "content_index": 0, "delta": piece }));
                list.extend(pieces(text).into_iter().map(delta));
                list.push(event("response.output_text.done", json!({ "content_index": 0, "text": text })));
                list.push(event("response.content_part.done", part(text)));
            }
            "function_call" => {
                began["arguments"] = json!("");
                list.push(event("response.output_item.added", json!({ "item": began })));
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let delta = |piece| event("response.function_call_arguments.delta", json!({ "delta": piece }));
                list.extend(pieces(arguments).into_iter().map(delta));
                list.push(event("response.function_call_arguments.done", json!({ "arguments": arguments })));
            }
            _ => list.push(event("response.output_item.added", json!({ "item": began }))),
        }
        list.push(event("response.output_item.done", json!({ "item": item })));
    }
    let kind = format!("response.{}", answer["status"].as_str().unwrap_or("completed"));
    list.push(json!({ "type": kind, "response": answer }));
    for (number, event) in list.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    list.iter().map(named).collect()
}
