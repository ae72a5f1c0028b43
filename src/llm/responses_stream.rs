//! A stream of OpenAI's Responses wire, put together to the response that the server would have sent whole.
//!
//! Owns: which of its events count. The last one holds the whole response; where its output is empty, the items that were said to be done
//! stand for it. Must not: read what a response means (`responses`). Only `response.completed` and `response.incomplete` make it whole.
//! Shapes: platform.openai.com/docs/api-reference/responses-streaming. Tests: below, `tests/providers/streams.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ModelError;
use super::deltas::BoundedDeltas;
use super::http::{Assembly, Step};
use super::raw;

/// What came so far.
#[derive(Default)]
pub(super) struct Items {
    /// The items that are done, as they came, by their place in the output.
    done: BTreeMap<u64, String>,
    /// Which of the answer's calls the item at a place is.
    calls: BTreeMap<u64, usize>,
    /// The last event's response, as it came.
    response: Option<String>,
}

impl Assembly for Items {
    fn take(&mut self, event: &Value, raw: &str, deltas_out: &mut BoundedDeltas<'_>) -> Result<Step, ModelError> {
        let place = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.output_item.added" => self.begins(place, event, deltas_out)?,
            "response.output_text.delta" | "response.refusal.delta" => deltas_out.text(delta)?,
            "response.function_call_arguments.delta" => {
                let call = self.calls.get(&place).copied().unwrap_or(0);
                deltas_out.arguments(call, delta)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                deltas_out.reasoning(delta.len())?
            }
            "response.output_item.done" => {
                if let Some(item) = raw::field(raw, "item") {
                    // It repeats what was told, but for reasoning that is encrypted.
                    let hidden = event.pointer("/item/encrypted_content").and_then(Value::as_str).unwrap_or_default();
                    deltas_out.reasoning(hidden.len())?;
                    self.done.insert(place, item.get().to_owned());
                }
            }
            "response.completed" | "response.incomplete" => {
                self.response = raw::field(raw, "response").map(|response| response.get().to_owned());
                return Ok(Step::End);
            }
            "response.failed" => {
                let error = event.pointer("/response/error").filter(|error| !error.is_null()).cloned();
                return Ok(Step::Refused(error.unwrap_or_else(|| event.clone())));
            }
            // What is yet to come, and the events that only repeat.
            _ => {}
        }
        Ok(Step::More)
    }

    fn whole(self) -> Option<String> {
        let response = self.response?;
        let output = raw::elements(&response, &["output"]).unwrap_or_default();
        if !output.is_empty() || self.done.is_empty() {
            return Some(response);
        }
        let fields: BTreeMap<String, Value> = serde_json::from_str(&response).ok()?;
        let kept = fields.iter().filter(|(name, _)| *name != "output");
        let mut fields: Vec<String> =
            kept.map(|(name, value)| format!("{}:{value}", Value::String(name.clone()))).collect();
        let items: Vec<String> = self.done.into_values().collect();
        fields.push(format!("\"output\":[{}]", items.join(",")));
        Some(format!("{{{}}}", fields.join(",")))
    }
}

impl Items {
    fn begins(&mut self, place: u64, event: &Value, deltas_out: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let text = |name: &str| event.pointer(&format!("/item/{name}")).and_then(Value::as_str).unwrap_or_default();
        if text("type") != "function_call" {
            return Ok(());
        }
        let call = self.calls.len();
        self.calls.insert(place, call);
        deltas_out.call(call, text("name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::deltas::Silent;
    use serde_json::json;

    fn take(items: &mut Items, event: &str) -> Step {
        let value = serde_json::from_str(event).unwrap();
        items.take(&value, event, &mut BoundedDeltas::new(&Silent, 10_000)).unwrap()
    }

    const DONE: &str = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call", "call_id":"c","name":"bash","arguments":"{}"}}"#;
    const REASONING: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}}"#;
    const END: &str =
        r#"{"type":"response.incomplete","response":{"status":"incomplete","output":[],"usage":{"input_tokens":3}}}"#;

    #[test]
    fn an_empty_output_is_made_of_the_items_that_were_done_as_they_came() {
        let mut items = Items::default();
        assert_eq!((take(&mut items, DONE), take(&mut items, REASONING)), (Step::More, Step::More));
        assert_eq!(take(&mut items, END), Step::End);
        let whole = items.whole().unwrap();
        assert!(whole.contains(r#"{"type":"function_call", "call_id":"c""#), "{whole}");
        let value: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!((&value["output"][0]["type"], &value["usage"]["input_tokens"]), (&json!("reasoning"), &json!(3)));
    }

    #[test]
    fn only_the_last_event_makes_it_whole_and_a_failure_is_a_refusal() {
        let mut items = Items::default();
        take(&mut items, DONE);
        assert_eq!(items.whole(), None);
        let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"}}}"#;
        let refused = take(&mut Items::default(), failed);
        assert_eq!(refused, Step::Refused(json!({ "code": "server_error", "message": "no" })));
    }
}
