//! A stream of Anthropic's wire, put together to the message that the server would have sent whole.
//!
//! Owns: content blocks by their index, which gateways may give several of them, and counts that each event repeats from the beginning.
//! Must not: read what a message means (`anthropic`). Only `message_stop` makes it whole. Shapes: docs.anthropic.com/en/docs/build-with-claude/streaming.
//! Tests: below, `tests/providers/streams.rs`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ModelError;
use super::deltas::BoundedDeltas;
use super::http::{Assembly, Step};

/// What came so far.
#[derive(Default)]
pub(super) struct Blocks {
    model: Value,
    /// In the order in which they began.
    blocks: Vec<Block>,
    /// Where the newest block of each index is.
    newest: BTreeMap<u64, usize>,
    calls: usize,
    stop: Option<String>,
    usage: Map<String, Value>,
    ended: bool,
}

/// One block: as it began, with its deltas added; a call's arguments apart, as the text they come as.
struct Block {
    value: Value,
    /// Which of the answer's calls it is.
    place: usize,
    arguments: String,
}

impl Assembly for Blocks {
    fn take(&mut self, event: &Value, _raw: &str, deltas_out: &mut BoundedDeltas<'_>) -> Result<Step, ModelError> {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                self.model = event.pointer("/message/model").cloned().unwrap_or_default();
                self.count(event.pointer("/message/usage"));
            }
            "content_block_start" => {
                let block = event.get("content_block").cloned().unwrap_or_default();
                self.begin(index, block, deltas_out)?;
            }
            "content_block_delta" => {
                let delta = event.get("delta").cloned().unwrap_or_default();
                self.delta(index, &delta, deltas_out)?;
            }
            "message_delta" => {
                self.count(event.get("usage"));
                if let Some(stop) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop = Some(stop.to_owned());
                }
            }
            "message_stop" => {
                self.ended = true;
                return Ok(Step::End);
            }
            // `ping`, `content_block_stop`, and what is yet to come: new events may be added, says the vendor.
            _ => {}
        }
        Ok(Step::More)
    }

    fn whole(self) -> Option<String> {
        let stop = self.stop.filter(|_| self.ended)?;
        let content: Vec<String> = self.blocks.into_iter().map(Block::whole).collect();
        Some(format!(
            "{{\"model\":{},\"stop_reason\":{},\"usage\":{},\"content\":[{}]}}",
            self.model,
            json!(stop),
            Value::Object(self.usage),
            content.join(",")
        ))
    }
}

impl Blocks {
    fn begin(&mut self, index: u64, value: Value, deltas_out: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        if self.newest.get(&index).is_some_and(|at| self.blocks[*at].began_as(&value)) {
            return Ok(());
        }
        let place = self.calls;
        match text("type") {
            "tool_use" => {
                deltas_out.call(place, text("name"))?;
                self.calls += 1;
            }
            "thinking" => deltas_out.reasoning(text("thinking").len())?,
            "redacted_thinking" => deltas_out.reasoning(text("data").len())?,
            _ => deltas_out.text(text("text"))?,
        }
        self.newest.insert(index, self.blocks.len());
        self.blocks.push(Block { value, place, arguments: String::new() });
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value, deltas_out: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let piece = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = piece("type");
        if !self.newest.contains_key(&index) {
            // A gateway that leaves out how a block begins; a call without a name cannot be made good.
            let began = match kind {
                "text_delta" => json!({ "type": "text", "text": "" }),
                "thinking_delta" => json!({ "type": "thinking", "thinking": "" }),
                _ => return Ok(()),
            };
            self.begin(index, began, deltas_out)?;
        }
        let Some(at) = self.newest.get(&index).copied() else { return Ok(()) };
        let block = &mut self.blocks[at];
        match kind {
            "text_delta" => {
                deltas_out.text(piece("text"))?;
                append(&mut block.value, "text", piece("text"));
            }
            "input_json_delta" => {
                deltas_out.arguments(block.place, piece("partial_json"))?;
                block.arguments.push_str(piece("partial_json"));
            }
            "thinking_delta" => {
                deltas_out.reasoning(piece("thinking").len())?;
                append(&mut block.value, "thinking", piece("thinking"));
            }
            // It comes whole, at the block's end.
            "signature_delta" => {
                deltas_out.reasoning(piece("signature").len())?;
                append(&mut block.value, "signature", piece("signature"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Each event's counts are from the beginning on, and none takes away from an earlier one.
    fn count(&mut self, usage: Option<&Value>) {
        for (name, value) in usage.and_then(Value::as_object).into_iter().flatten() {
            let before = self.usage.get(name).and_then(Value::as_u64).unwrap_or(0);
            if value.as_u64().is_some_and(|now| now >= before) || (value.is_object() && before == 0) {
                self.usage.insert(name.clone(), value.clone());
            }
        }
    }
}

fn append(block: &mut Value, field: &str, piece: &str) {
    let Some(fields) = block.as_object_mut() else { return };
    match fields.get_mut(field) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(fields.insert(field.to_owned(), json!(piece))),
    }
}

impl Block {
    /// Whether it began with the same event, which was sent twice.
    fn began_as(&self, value: &Value) -> bool {
        let has_id = value["id"].as_str().is_some_and(|id| !id.is_empty());
        let same_call = value["type"] == "tool_use" && has_id && self.value["id"] == value["id"];
        same_call || self.arguments.is_empty() && self.value == *value
    }

    /// Its JSON. Arguments stay the text that came, where that is JSON.
    fn whole(mut self) -> String {
        if self.arguments.is_empty() || !self.value.is_object() {
            return self.value.to_string();
        }
        let input = match serde_json::from_str::<Map<String, Value>>(&self.arguments) {
            Ok(_) => self.arguments.trim().to_owned(),
            Err(_) => json!(self.arguments).to_string(),
        };
        self.value["input"] = Value::Null;
        let fields = self.value.as_object().into_iter().flatten().map(|(name, value)| match name.as_str() {
            "input" => format!("\"input\":{input}"),
            _ => format!("{}:{value}", json!(name)),
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::deltas::Silent;

    fn whole(events: &[Value]) -> Option<String> {
        let mut blocks = Blocks::default();
        let mut deltas_out = BoundedDeltas::new(&Silent, 10_000);
        for event in events {
            blocks.take(event, "", &mut deltas_out).unwrap();
        }
        blocks.whole()
    }

    fn block(index: u64, block: Value) -> Value {
        json!({ "type": "content_block_start", "index": index, "content_block": block })
    }

    fn delta(index: u64, delta: Value) -> Value {
        json!({ "type": "content_block_delta", "index": index, "delta": delta })
    }

    fn ends() -> Vec<Value> {
        let usage = json!({ "output_tokens": 15 });
        vec![
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": usage }),
            json!({ "type": "message_stop" }),
        ]
    }

    #[test]
    fn a_message_is_put_together_and_arguments_stay_as_they_were_written() {
        let usage = json!({ "input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 7 });
        let mut events = vec![
            json!({ "type": "message_start", "message": { "model": "claude", "content": [], "usage": usage } }),
            json!({ "type": "ping" }),
            block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "h" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "m" })),
            delta(0, json!({ "type": "signature_delta", "signature": "Eq==" })),
            json!({ "type": "content_block_stop", "index": 0 }),
            block(1, json!({ "type": "tool_use", "id": "t1", "name": "bash", "input": {} })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": "" })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": "{\"z\": 1.0," })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": " \"a\": 2}" })),
            block(2, json!({ "type": "tool_use", "id": "t2", "name": "done", "input": { "whole": 1 } })),
            delta(3, json!({ "type": "text_delta", "text": "late" })),
        ];
        events.extend(ends());
        let text = whole(&events).unwrap();
        assert!(text.contains(r#"{"id":"t1","input":{"z": 1.0, "a": 2},"name":"bash","type":"tool_use"}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["content"][0], json!({ "type": "thinking", "thinking": "hm", "signature": "Eq==" }));
        assert_eq!(
            (&value["content"][2]["input"], &value["content"][3]["text"]),
            (&json!({"whole": 1}), &json!("late"))
        );
        let counts = json!({ "input_tokens": 25, "output_tokens": 15, "cache_read_input_tokens": 7 });
        assert_eq!((&value["usage"], &value["stop_reason"]), (&counts, &json!("tool_use")));
    }

    #[test]
    fn blocks_that_share_an_index_are_several_and_one_that_is_told_twice_is_one() {
        let call = |id: &str| block(0, json!({ "type": "tool_use", "id": id, "name": "bash", "input": {} }));
        let piece = |text: &str| delta(0, json!({ "type": "input_json_delta", "partial_json": text }));
        let mut events = vec![
            block(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "I look." })),
            call("t1"),
            call("t1"),
            piece("{\"a\":1}"),
            call("t2"),
            piece("{\"a\":2}"),
        ];
        events.extend(ends());
        let value: Value = serde_json::from_str(&whole(&events).unwrap()).unwrap();
        let call = |id: &str, a: u8| json!({ "type": "tool_use", "id": id, "name": "bash", "input": { "a": a } });
        assert_eq!(value["content"], json!([{ "type": "text", "text": "I look." }, call("t1", 1), call("t2", 2)]));
    }

    #[test]
    fn broken_arguments_are_kept_as_text() {
        let mut events = vec![
            block(0, json!({ "type": "tool_use", "id": "t1", "name": "bash", "input": {} })),
            delta(0, json!({ "type": "input_json_delta", "partial_json": "{\"a\": " })),
        ];
        events.extend(ends());
        let value: Value = serde_json::from_str(&whole(&events).unwrap()).unwrap();
        assert_eq!(value["content"][0]["input"], "{\"a\": ");
    }

    #[test]
    fn only_the_end_makes_it_whole() {
        let mut events = vec![block(0, json!({ "type": "text", "text": "half" }))];
        events.extend(ends());
        assert!(whole(&events).is_some());
        for cut in 0..events.len() {
            assert_eq!(whole(&events[..cut]), None, "cut before event {cut}");
        }
    }
}
