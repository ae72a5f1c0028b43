//! The OpenAI-compatible wire as JSON, without a server.

use super::*;
use crate::llm::{ToolResult, ToolSpec, Turn};

fn conversation() -> ModelRequest {
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        malformed: None,
    };
    let result =
        |id: &str, text: &str| ToolResult { call_id: id.into(), name: "bash".into(), text: text.into(), error: false };
    ModelRequest {
        system: "be brief".into(),
        turns: vec![
            Turn::User { text: "fix it".into() },
            Turn::Assistant {
                text: String::new(),
                calls: vec![call("a:1", "bash", json!({"command": "ls"})), call("b", "odd.tool", json!({}))],
                vendor: None,
            },
            Turn::Results(vec![result("a:1", "src"), result("b", "no such tool")]),
            Turn::User { text: "approved".into() },
            Turn::User { text: "go on".into() },
            Turn::Assistant { text: " ".into(), calls: vec![], vendor: None },
            Turn::User { text: "use a tool".into() },
        ],
        tools: vec![ToolSpec {
            name: "bash".into(),
            description: "runs".into(),
            parameters: json!({"type": "object"}),
        }],
        max_output_tokens: 500,
        temperature: None,
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

fn sent(model: &str, form: Form) -> Value {
    let request = conversation();
    serde_json::to_value(body(&Asker::new(CHAT, model, &request), &request, form)).unwrap()
}

#[test]
fn a_whole_conversation_on_the_wire() {
    insta::assert_json_snapshot!(sent("org/model::tag", Form::default()));
}

#[test]
fn the_newer_limit_replaces_the_older() {
    let body = sent("m", Form { newer_limit: true, ..Form::default() });
    assert_eq!((body.get("max_tokens"), body["max_completion_tokens"].as_u64()), (None, Some(500)));
}

fn read(answer: Value) -> ModelResponse {
    parse(&answer, 2).unwrap()
}

#[test]
fn a_strict_answer_is_read() {
    let response = read(json!({
        "choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 4}}
    }));
    assert_eq!(response.calls[0].arguments, json!({"command": "ls"}));
    assert_eq!(response.usage, Usage { input: 40, output: 9, cache_read: 60, cache_write: 0, reasoning: 4 });
    assert!(!response.truncated && response.text.is_empty());
    // xAI's form.
    let grok =
        read(json!({"choices": [{"message": {"content": "4"}}], "usage": {"prompt_tokens": 12, "completion_tokens": 1,
        "total_tokens": 399, "completion_tokens_details": {"reasoning_tokens": 386}}}));
    assert_eq!((grok.usage.input, grok.usage.output), (12, 387));
}

#[test]
fn what_sloppy_servers_leave_out_is_made_good() {
    let response = read(json!({"choices": [{"finish_reason": "length", "message": {
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "tool_calls": [{"function": {"name": "bash", "arguments": {"command": "ls"}}},
                       {"id": null, "function": {"name": "bash", "arguments": "{\"command\": \"l"}}]}}]}));
    assert_eq!((response.text.as_str(), response.truncated), ("ab", true));
    assert_eq!(response.calls[0].id, "call_2_0");
    assert_eq!(response.calls[1].malformed.as_deref(), Some("{\"command\": \"l"));
    assert_eq!(response.usage, Usage::default());
    let older = read(json!({"choices": [{"message": {"function_call": {"name": "done", "arguments": ""}}}]}));
    assert_eq!((older.calls[0].name.as_str(), &older.calls[0].arguments), ("done", &json!({})));
    let refusal = read(json!({"choices": [{"message": {"content": null, "refusal": "I can't"}}]}));
    assert_eq!(refusal.text, "I can't");
}

#[test]
fn no_answer_is_an_error() {
    for answer in [json!({}), json!({"choices": []}), json!({"choices": [{"text": "legacy"}]}), json!([1])] {
        assert!(matches!(parse(&answer, 0), Err(ModelError::Malformed(_))), "{answer}");
    }
}
