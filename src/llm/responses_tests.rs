//! OpenAI's Responses wire as JSON, without a server.

use super::*;
use crate::llm::fixtures;

fn conversation() -> ModelRequest {
    ModelRequest { seed: Some(7), ..fixtures::conversation() }
}

/// An answer that came whole.
fn parse(answer: &Value, turn: usize) -> Result<ModelResponse, ModelError> {
    let request = conversation();
    let whole = Whole { text: answer.to_string(), value: answer.clone() };
    super::parse(&whole, turn, &Asker::new("openai-responses", "gpt", &request))
}

#[test]
fn a_whole_conversation_on_the_wire() {
    let request = conversation();
    let asker = Asker::new("openai-responses", "gpt", &request);
    insta::assert_json_snapshot!(body(&asker, &request, Form { streamed: true, ..Form::default() }));
}

#[test]
fn a_response_is_read_and_unknown_items_are_passed_over() {
    let answer = json!({ "status": "completed", "output": [
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look.", "annotations": [] }] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash", "arguments": "{\"command\":\"ls\"}" }],
        "usage": { "input_tokens": 100, "input_tokens_details": { "cached_tokens": 60 }, "output_tokens": 39,
            "output_tokens_details": { "reasoning_tokens": 30 } } });
    let response = parse(&answer, 0).unwrap();
    assert_eq!((response.text.as_str(), response.calls[0].id.as_str()), ("I look.", "call_1"));
    assert_eq!(response.calls[0].arguments, json!({ "command": "ls" }));
    assert_eq!(response.usage, Usage { input: 40, output: 39, cache_read: 60, cache_write: 0, reasoning: 30 });
}

#[test]
fn reasoning_that_led_to_nothing_is_not_sent_back() {
    let answer = json!({ "status": "completed", "output": [
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" }] });
    let vendor = parse(&answer, 0).unwrap().vendor;
    assert!(vendor.is_some(), "it is kept as it came");
    let mut request = conversation();
    request.turns.truncate(1);
    request.turns.push(Turn::Assistant { text: String::new(), calls: Vec::new(), vendor });
    request.turns.push(Turn::User { text: "use a tool".into() });
    let sent = serde_json::to_value(items(
        &Asker::new("openai-responses", "gpt", &conversation()),
        &request.turns,
        Form::default(),
    ));
    let sent = sent.unwrap();
    let kinds: Vec<&str> = sent.as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "message", "message"]);
}

#[test]
fn ends_of_every_kind_are_understood() {
    let ended = |reason: &str| {
        json!({ "status": "incomplete", "incomplete_details": { "reason": reason }, "output": [
        { "type": "function_call", "id": "fc_1", "name": "bash", "arguments": "{\"comm" }] })
    };
    let cut = parse(&ended("max_output_tokens"), 3).unwrap();
    assert!(cut.truncated && cut.calls[0].malformed.as_deref() == Some("{\"comm") && cut.calls[0].id == "fc_1");
    let filtered =
        json!({ "status": "incomplete", "incomplete_details": { "reason": "content_filter" }, "output": [] });
    let filtered = parse(&filtered, 0).unwrap();
    assert!(filtered.text.contains("content_filter") && !filtered.truncated);
    let refusal =
        json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "I can't" }] }] });
    assert_eq!(parse(&refusal, 0).unwrap().text, "I can't");
    assert!(matches!(parse(&json!({ "status": "in_progress", "output": [] }), 0), Err(ModelError::Lost(_))));
    assert!(matches!(parse(&json!({ "id": "resp_1" }), 0), Err(ModelError::Malformed(_))));
}
