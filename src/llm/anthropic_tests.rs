//! Anthropic's wire as JSON, without a server.

use super::*;
use crate::llm::fixtures::conversation;

/// An answer that came whole.
fn parse(answer: &Value, turn: usize) -> Result<ModelResponse, ModelError> {
    let request = conversation();
    let whole = Whole { text: answer.to_string(), value: answer.clone() };
    super::parse(&whole, turn, &Asker::new("anthropic", "claude", &request))
}

#[test]
fn a_whole_conversation_on_the_wire() {
    let request = conversation();
    insta::assert_json_snapshot!(body(&Asker::new("anthropic", "claude", &request), &request, Form::default()));
}

#[test]
fn an_answer_is_read_and_unknown_blocks_are_passed_over() {
    let answer = json!({"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11, "cache_creation_input_tokens": 13}});
    let response = parse(&answer, 0).unwrap();
    assert_eq!((response.text.as_str(), response.calls.len()), ("I look.", 1));
    assert_eq!(response.usage, Usage { input: 5, output: 7, cache_read: 11, cache_write: 13, reasoning: 0 });
}

#[test]
fn sloppy_answers_are_borne() {
    let text = parse(&json!({"content": "hello", "stop_reason": "max_tokens"}), 0).unwrap();
    assert!(text.text == "hello" && text.truncated && text.usage == Usage::default());
    let call = parse(&json!({"content": [{"type": "tool_use", "input": "{\"a\": "}]}), 4).unwrap().calls.remove(0);
    assert_eq!((call.id.as_str(), call.name.as_str(), call.malformed.as_deref()), ("call_4_0", "", Some("{\"a\": ")));
    assert!(matches!(parse(&json!({"type": "message"}), 0), Err(ModelError::Malformed(_))));
    let full = json!({"content": [], "stop_reason": "model_context_window_exceeded"});
    assert!(parse(&full, 0).unwrap().truncated);
}
