//! A conversation with everything in it, for the tests of the wires that call results by their ids.

use serde_json::{Value, json};

use super::{ModelRequest, ToolCall, ToolResult, ToolSpec, Turn};

pub(super) fn conversation() -> ModelRequest {
    let call = |id: &str, arguments: Value| ToolCall { id: id.into(), name: "bash".into(), arguments, malformed: None };
    let result =
        |id: &str, text: &str, error| ToolResult { call_id: id.into(), name: "bash".into(), text: text.into(), error };
    ModelRequest {
        system: "be brief".into(),
        turns: vec![
            Turn::User { text: "fix it".into() },
            Turn::Assistant {
                text: "I look. ".into(),
                calls: vec![call("a:1", json!({"command": "ls"})), call("b", json!({}))],
                vendor: None,
            },
            Turn::Results(vec![result("a:1", "", false), result("b", "command is missing", true)]),
            Turn::User { text: "approved".into() },
            Turn::Assistant { text: String::new(), calls: vec![], vendor: None },
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
