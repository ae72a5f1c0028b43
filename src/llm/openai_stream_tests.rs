//! What servers do to the order of chunks, without a server.

use super::*;
use crate::llm::deltas::Silent;

/// The calls that come of these deltas, as id, name and arguments.
fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
    let mut chunks = Chunks::default();
    let mut deltas_out = BoundedDeltas::new(&Silent, 10_000);
    for delta in deltas {
        let event = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [delta] } }] });
        assert_eq!(chunks.take(&event, "", &mut deltas_out), Ok(Step::More));
    }
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    chunks.take(&end, "", &mut deltas_out).unwrap();
    let whole: Value = serde_json::from_str(&chunks.whole().unwrap()).unwrap();
    let list = whole.pointer("/choices/0/message/tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |call: &Value, at: &str| call.pointer(at).map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
    let all = |call: &Value| ["/id", "/function/name", "/function/arguments"].map(|at| text(call, at).unwrap());
    list.iter().map(all).map(|[id, name, arguments]| (id, name, arguments)).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut piece = json!({ "function": { "arguments": arguments } });
    for (key, value) in [("index", index.map(|it| json!(it))), ("id", id.map(|it| json!(it)))] {
        if let Some(value) = value {
            piece[key] = value;
        }
    }
    if let Some(name) = name {
        piece["function"]["name"] = json!(name);
    }
    piece
}

#[test]
fn calls_come_in_pieces_by_index() {
    let pieces = [
        piece(Some(0), Some("a"), Some("bash"), ""),
        piece(Some(1), Some("b"), Some("done"), "{\"summary\":"),
        piece(Some(0), None, None, "{\"command\":"),
        piece(Some(0), None, None, "\"ls\"}"),
        piece(Some(1), None, None, "\"ok\"}"),
    ];
    assert_eq!(calls(&pieces), [call("a", "bash", "{\"command\":\"ls\"}"), call("b", "done", "{\"summary\":\"ok\"}")]);
}

#[test]
fn ids_may_come_late_twice_or_never_and_the_index_may_lie() {
    let late = [piece(Some(0), None, Some("bash"), "{"), piece(Some(0), Some("late"), None, "}")];
    assert_eq!(calls(&late), [call("late", "bash", "{}")]);
    let twice = [piece(Some(0), Some("a"), Some("bash"), "{"), piece(Some(0), Some("a"), Some("bash"), "}")];
    assert_eq!(calls(&twice), [call("a", "bash", "{}")], "id and name are repeated with each piece");
    let same = [piece(Some(0), Some("a"), Some("bash"), "{}"), piece(Some(0), Some("b"), Some("done"), "{}")];
    assert_eq!(calls(&same), [call("a", "bash", "{}"), call("b", "done", "{}")], "every call at index 0");
    let never = [
        piece(None, None, Some("bash"), "{\"a\":"),
        piece(None, None, None, "1}"),
        piece(None, None, Some("bash"), "{\"a\":2}"),
    ];
    assert_eq!(calls(&never), [call("", "bash", "{\"a\":1}"), call("", "bash", "{\"a\":2}")], "no index, no id");
    let gemini = ["{\"a\":1}", "{\"a\":2}"].map(|arguments| piece(Some(0), Some(""), Some("bash"), arguments));
    let both = [call("", "bash", "{\"a\":1}"), call("", "bash", "{\"a\":2}")];
    assert_eq!(calls(&gemini), both, "every call at index 0, and no id");
    let again = [piece(Some(0), None, Some("bash"), "{\"a\":1}"), piece(Some(0), None, Some("bash"), "")];
    assert_eq!(calls(&again), [call("", "bash", "{\"a\":1}")], "a name that is repeated behind all arguments");
    let object = [json!({ "index": 0, "id": "o", "function": { "name": "bash", "arguments": { "a": 1 } } })];
    assert_eq!(calls(&object), [call("o", "bash", "{\"a\":1}")]);
}

#[test]
fn what_has_no_finish_reason_is_no_answer() {
    let mut chunks = Chunks::default();
    let event = json!({ "model": "m", "choices": [{ "delta": { "content": "half" } }] });
    chunks.take(&event, "", &mut BoundedDeltas::new(&Silent, 100)).unwrap();
    assert_eq!(chunks.whole(), None);
}

#[test]
fn text_refusals_counts_and_the_older_call_are_kept() {
    let mut chunks = Chunks::default();
    let mut deltas_out = BoundedDeltas::new(&Silent, 1000);
    for event in [
        json!({ "model": "m", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": null } }] }),
        json!({ "choices": [{ "index": 1, "delta": { "content": "another choice" } }] }),
        json!({ "choices": [{ "delta": { "content": [{ "type": "text", "text": "a" }], "reasoning": "hm" } }] }),
        json!({ "choices": [{ "delta": { "content": "b", "function_call": { "name": "bash", "arguments": "{" } } }] }),
        json!({ "choices": [{ "delta": { "function_call": { "arguments": "}" } }, "finish_reason": "function_call" }], "usage": null }),
        json!({ "choices": [], "usage": { "prompt_tokens": 3 } }),
    ] {
        chunks.take(&event, "", &mut deltas_out).unwrap();
    }
    let whole: Value = serde_json::from_str(&chunks.whole().unwrap()).unwrap();
    assert_eq!(whole.pointer("/choices/0/message/content"), Some(&json!("ab")));
    assert_eq!(whole.pointer("/choices/0/message/tool_calls/0/function/arguments"), Some(&json!("{}")));
    assert_eq!((&whole["model"], &whole["usage"]["prompt_tokens"]), (&json!("m"), &json!(3)));
}
