//! Google's wire as JSON, without a server.

use super::*;
use crate::llm::fixtures;

fn conversation() -> ModelRequest {
    let parameters = json!({ "type": "object", "additionalProperties": false, "required": ["command"], "properties": {
        "command": { "type": "string", "minLength": 1 }, "from": { "type": ["integer", "null"] },
        "list": { "type": "array", "items": { "type": "string", "additionalProperties": false } } } });
    ModelRequest {
        tools: vec![
            ToolSpec { name: "bash".into(), description: "runs".into(), parameters },
            ToolSpec {
                name: "end".into(),
                description: "ends".into(),
                parameters: json!({ "type": "object", "properties": {} }),
            },
        ],
        temperature: Some(0.5),
        ..fixtures::conversation()
    }
}

fn body(signed: bool) -> Value {
    let request = conversation();
    let body = super::body(&Asker::new("gemini", "gemini-x", &request), &request, Form { signed, ..Form::default() });
    serde_json::to_value(&body).unwrap()
}

/// An answer that came whole.
fn parse(answer: &Value, turn: usize) -> Result<ModelResponse, ModelError> {
    let request = conversation();
    let whole = Whole { text: answer.to_string(), value: answer.clone() };
    super::parse(&whole, turn, &Asker::new("gemini", "gemini-x", &request))
}

#[test]
fn a_whole_conversation_on_the_wire() {
    insta::assert_json_snapshot!(body(false));
}

#[test]
fn a_signature_that_is_wanted_stands_with_each_steps_first_call() {
    let text = body(true).to_string();
    assert_eq!(text.matches(NO_SIGNATURE).count(), 1);
    assert!(!body(false).to_string().contains("thoughtSignature"));
}

fn answer(parts: Value, finish: &str) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": finish, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 9, "thoughtsTokenCount": 30,
            "totalTokenCount": 139 }, "modelVersion": "gemini-x" })
}

#[test]
fn an_answer_is_read_without_its_thoughts() {
    let parts = json!([{ "text": "hm", "thought": true }, { "text": "I look." },
        { "functionCall": { "name": "bash", "args": { "command": "ls" } }, "thoughtSignature": "S" },
        { "functionCall": { "id": "x", "name": "bash" } }]);
    let response = parse(&answer(parts, "STOP"), 2).unwrap();
    let ids: Vec<_> = response.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((response.text.as_str(), ids), ("I look.", vec!["call_2_0", "x"]));
    assert_eq!(response.calls[0].arguments, json!({ "command": "ls" }));
    assert_eq!(response.usage, Usage { input: 40, output: 39, cache_read: 60, cache_write: 0, reasoning: 30 });
}

#[test]
fn ends_of_every_kind_are_understood() {
    assert!(parse(&answer(json!([{ "text": "half" }]), "MAX_TOKENS"), 0).unwrap().truncated);
    let mut odd = answer(Value::Null, "MALFORMED_FUNCTION_CALL");
    odd["candidates"][0]["finishMessage"] = json!("Malformed function call: print(bash(");
    let response = parse(&odd, 0).unwrap();
    assert!(
        response.text.contains("MALFORMED_FUNCTION_CALL] Malformed function call: print(bash("),
        "{}",
        response.text
    );
    let withheld = parse(&answer(json!([{ "text": "well" }]), "SAFETY"), 0).unwrap();
    assert_eq!(withheld.text, "well\n[the server ended this answer: SAFETY]");
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
    assert!(matches!(parse(&blocked, 0), Err(ModelError::BadRequest(text)) if text.contains("PROHIBITED_CONTENT")));
    assert!(matches!(parse(&json!({}), 0), Err(ModelError::Malformed(_))));
}
