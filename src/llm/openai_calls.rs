//! Calls as they are sent back to servers of the OpenAI-compatible wire.
//!
//! Owns: the order of their arguments; their ids, of which OpenAI's server takes 40 characters, though a conversation that another server
//! began may have longer ones (vLLM's `chatcmpl-tool-…` has 46), and Mistral's takes nine letters and digits; and what a server sends beside
//! each call and wants back, as Gemini's compatible one does with its signatures (ai.google.dev/gemini-api/docs/thought-signatures).
//! Must not: change an id that is taken, for results name it. Tests: below, and `tests/providers/gateways.rs`.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::raw::{self, Json};
use super::vendor::NO_SIGNATURE;
use super::{ToolCall, ToolSpec, wire};

/// What a server sends beside a call.
pub(super) const EXTRA: &str = "extra_content";

/// The longest id that OpenAI's server takes.
const LONGEST: usize = 40;
/// The length of each id that Mistral's server takes.
const NINE: usize = 9;

/// Whether a refusal, in lower case, asks for ids of nine letters and digits.
pub(super) fn asks_for_nine(refusal: &str) -> bool {
    refusal.contains("tool call id") && refusal.contains("length of 9")
}

/// An id as it is sent with its call and with its result; `nine`: the server takes nine letters and digits.
pub(super) fn id(of: &str, nine: bool) -> String {
    let whole = wire::token(of);
    let hash = || hex::encode(Sha256::digest(of));
    match nine {
        true if whole.len() == NINE && whole.bytes().all(|byte| byte.is_ascii_alphanumeric()) => whole,
        true => hash()[..NINE].to_owned(),
        false if whole.len() <= LONGEST => whole,
        false => format!("{}_{}", &whole[..LONGEST - 13], &hash()[..12]),
    }
}

/// How a server takes calls.
#[derive(Clone, Copy, Default)]
pub(super) struct CallForm {
    /// With ids of nine letters and digits.
    pub(super) nine: bool,
    /// With a signature at the first of each answer.
    pub(super) signed: bool,
}

/// The calls of an answer as they are sent back; `own` is what was kept of it.
pub(super) fn sent(calls: &[ToolCall], tools: &[ToolSpec], own: Option<&Json>, form: CallForm) -> Vec<Value> {
    let extras = own.and_then(Json::written).and_then(|part| raw::field(part, EXTRA));
    let extras: Vec<Value> = extras.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
    let one = |(place, call): (usize, &ToolCall)| {
        let function = json!({ "name": wire::token(&call.name), "arguments": arguments(call, tools) });
        let mut sent = json!({ "id": id(&call.id, form.nine), "type": "function", "function": function });
        match extras.get(place).filter(|extra| extra.is_object()) {
            Some(extra) => sent[EXTRA] = extra.clone(),
            None if form.signed && place == 0 => {
                sent[EXTRA] = json!({ "google": { "thought_signature": NO_SIGNATURE } });
            }
            None => {}
        }
        sent
    };
    calls.iter().enumerate().map(one).collect()
}

/// What the server sent beside each call of an answer's message, as a list; none where it sent nothing.
pub(super) fn extras(message: &str) -> Option<String> {
    let calls = raw::elements(message, &["tool_calls"])?;
    let each: Vec<Option<Box<RawValue>>> = calls.iter().map(|call| raw::field(call.get(), EXTRA)).collect();
    let any = each.iter().flatten().any(|extra| extra.get().starts_with('{'));
    let written: Vec<&str> = each.iter().map(|extra| extra.as_ref().map_or("null", |extra| extra.get())).collect();
    any.then(|| format!("[{}]", written.join(",")))
}

/// A call's arguments as one text: first those that the tool wants, in its order, in which models write them. A local server goes on from what
/// it wrote itself, as far as it gets the same text back.
fn arguments(call: &ToolCall, tools: &[ToolSpec]) -> String {
    let Some(all) = call.arguments.as_object() else { return call.arguments.to_string() };
    let tool = tools.iter().find(|tool| tool.name == call.name);
    let wanted: Vec<&str> = tool
        .and_then(|tool| tool.parameters["required"].as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let place = |key: &str| wanted.iter().position(|it| *it == key).unwrap_or(wanted.len());
    let mut pairs: Vec<_> = all.iter().collect();
    pairs.sort_by_key(|(key, _)| place(key));
    let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_back_in_the_order_of_the_tool() {
        let parameters = json!({ "required": ["path", "old", "new"] });
        let tools = [ToolSpec { name: "edit_file".into(), description: String::new(), parameters }];
        let arguments_of = |name: &str, value: Value| {
            let call = ToolCall { id: "a".into(), name: name.into(), arguments: value, malformed: None };
            arguments(&call, &tools)
        };
        let edit = json!({ "all": true, "new": "b\n", "old": "\"a", "path": "x" });
        let text = arguments_of("edit_file", edit.clone());
        assert_eq!(text, r#"{"path":"x","old":"\"a","new":"b\n","all":true}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), edit);
        assert_eq!(
            (arguments_of("edit_file", json!({})), arguments_of("odd", json!({ "b": 1, "a": [] }))),
            ("{}".into(), r#"{"a":[],"b":1}"#.into())
        );
    }

    #[test]
    fn what_stands_beside_calls_is_kept_by_their_places() {
        let message = r#"{"tool_calls":[{"id":"a","extra_content":{"b":1.0, "a":"E=="}},{"id":"b"}]}"#;
        assert_eq!(extras(message).as_deref(), Some(r#"[{"b":1.0, "a":"E=="},null]"#));
        assert_eq!((extras(r#"{"tool_calls":[{"id":"a"}]}"#), extras(r#"{"content":"x"}"#)), (None, None));
    }

    #[test]
    fn what_a_server_takes_stays_and_anything_else_becomes_an_id_of_its_own() {
        let long = |end: &str| format!("chatcmpl-tool-0123456789abcdef0123456789abcde{end}");
        let (one, two) = (id(&long("1"), false), id(&long("2"), false));
        assert_eq!((one.len(), one.starts_with("chatcmpl-tool-"), one == two), (LONGEST, true, false), "{one}");
        assert_eq!((id("call_1_0", false), id("aB3xK9mP2", true)), ("call_1_0".into(), "aB3xK9mP2".into()));
        let nine = id("call_1_0", true);
        assert!(nine.len() == NINE && nine.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nine}");
        assert_ne!(nine, id("call_1_1", true));
    }
}
