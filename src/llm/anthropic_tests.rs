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
fn ids_of_calls_that_other_servers_repeat_stand_once_and_their_results_follow_them() {
    let turns = (0..3).flat_map(|_| conversation().turns[1..3].to_vec()).collect();
    let request = ModelRequest { turns, ..conversation() };
    let sent = body(&Asker::new("anthropic", "claude", &request), &request, Form::default());
    let sent = serde_json::to_value(&sent).unwrap();
    let of = |kind: &str, key: &str| -> Vec<String> {
        let blocks = sent["messages"].as_array().unwrap().iter().flat_map(|it| it["content"].as_array().unwrap());
        blocks.filter(|it| it["type"] == kind).map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("tool_use", "id"), ["a_1", "b", "2_a_1", "2_b", "3_a_1", "3_b"]);
    assert_eq!(of("tool_result", "tool_use_id"), of("tool_use", "id"));
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
