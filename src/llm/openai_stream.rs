//! A stream of the OpenAI-compatible wire, put together to the answer that the server would have sent whole.
//!
//! Owns: the order of chunks, and what servers do to it: no `index`, every call at index 0, ids that come late, twice or never, names that
//! are repeated, arguments as an object, a whole message in place of deltas, counts in any chunk, reasoning in pieces. Must not: read what an answer means
//! (`openai`). A `finish_reason` is what makes the answer whole: a stream that was cut may end with `[DONE]`, for proxies write that by themselves.
//! Shapes: platform.openai.com/docs/api-reference/chat/streaming. Tests: below, `tests/providers/streams.rs`.

use serde_json::{Map, Value, json};

use super::ModelError;
use super::deltas::BoundedDeltas;
use super::http::{Assembly, Step};
use super::openai_calls::EXTRA;
use super::openai_reasoning::Reasoning;

/// What came so far.
#[derive(Default)]
pub(super) struct Chunks {
    model: Value,
    text: String,
    refusal: String,
    reasoning: Reasoning,
    calls: Vec<Call>,
    /// A whole message, from servers that send one.
    message: Option<Value>,
    finish: Option<String>,
    usage: Value,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Arguments that came as an object.
    object: Option<Value>,
    /// What stands beside it.
    extra: Option<Value>,
    /// That it begins was told.
    announced: bool,
    /// Whether arguments of this length were a whole object.
    seen_whole: std::cell::Cell<Option<(usize, bool)>>,
}

impl Assembly for Chunks {
    fn take(&mut self, event: &Value, _raw: &str, told: &mut BoundedDeltas<'_>) -> Result<Step, ModelError> {
        if self.model.is_null() {
            self.model = event.get("model").filter(|name| name.is_string()).cloned().unwrap_or_default();
        }
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            self.usage = usage.clone();
        }
        let choices = event.get("choices").and_then(Value::as_array).into_iter().flatten();
        for choice in choices.filter(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0) {
            if let Some(usage) = choice.get("usage").filter(|usage| usage.is_object()) {
                self.usage = usage.clone();
            }
            match (choice.get("delta").and_then(Value::as_object), choice.get("message").filter(|it| it.is_object())) {
                (Some(delta), _) => self.delta(delta, told)?,
                (None, Some(message)) => {
                    told.text(message.get("content").and_then(Value::as_str).unwrap_or_default())?;
                    self.message = Some(message.clone());
                }
                (None, None) => {}
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|it| !it.is_empty()) {
                unbroken(reason)?;
                self.finish = Some(reason.to_owned());
            }
        }
        Ok(Step::More)
    }

    fn whole(self) -> Option<String> {
        let finish = self.finish?;
        let message = self.message.unwrap_or_else(|| {
            let content = if self.text.is_empty() { Value::Null } else { json!(self.text) };
            let mut message = json!({ "role": "assistant", "content": content });
            if !self.refusal.is_empty() {
                message["refusal"] = json!(self.refusal);
            }
            self.reasoning.put_in(&mut message);
            if !self.calls.is_empty() {
                message["tool_calls"] = self.calls.into_iter().map(Call::whole).collect();
            }
            message
        });
        let choice = json!({ "index": 0, "finish_reason": finish, "message": message });
        Some(json!({ "model": self.model, "choices": [choice], "usage": self.usage }).to_string())
    }
}

/// An end by which a server says that it broke off: OpenRouter's and Mistral's, DeepSeek's, GLM's. What came until then is no answer.
pub(super) fn unbroken(finish: &str) -> Result<(), ModelError> {
    match ["error", "insufficient_system_resource", "network_error"].contains(&finish) {
        true => Err(ModelError::Lost(format!("the server ended its answer with an error ({finish})"))),
        false => Ok(()),
    }
}

impl Chunks {
    fn delta(&mut self, delta: &Map<String, Value>, told: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        let parts = delta.get("content").and_then(Value::as_array).into_iter().flatten();
        let content: String = parts.filter_map(|part| part.get("text")?.as_str()).collect();
        let content = if content.is_empty() { text("content") } else { &content };
        told.text(content)?;
        self.text.push_str(content);
        told.text(text("refusal"))?;
        self.refusal.push_str(text("refusal"));
        told.reasoning(self.reasoning.take(delta))?;
        let calls = delta.get("tool_calls");
        let one = calls.filter(|it| it.is_object()).into_iter();
        for piece in calls.and_then(Value::as_array).into_iter().flatten().chain(one) {
            self.call(piece, told)?;
        }
        match delta.get("function_call").filter(|it| it.is_object()) {
            // The wire's form before tools: one call, without id and index.
            Some(function) => self.call(&json!({ "index": 0, "function": function }), told),
            None => Ok(()),
        }
    }

    fn call(&mut self, piece: &Value, told: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let function = piece.get("function").unwrap_or(piece);
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text(piece, "id"), text(function, "name"));
        let begins = match function.get("arguments") {
            Some(Value::String(text)) => text.trim_start().starts_with('{'),
            arguments => arguments.is_some_and(Value::is_object),
        };
        let place = self.place(piece.get("index").and_then(Value::as_u64), &id, &name, begins);
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = id;
        }
        // A name comes whole, or is repeated with each piece; only one that goes on is added.
        if call.name != name {
            call.name.push_str(&name);
        }
        if !std::mem::replace(&mut call.announced, true) {
            told.call(place, &call.name)?;
        }
        match function.get("arguments") {
            Some(Value::String(piece)) => {
                told.arguments(place, piece)?;
                call.arguments.push_str(piece);
            }
            Some(object @ Value::Object(_)) => {
                told.arguments(place, &object.to_string())?;
                call.object = Some(object.clone());
            }
            _ => {}
        }
        if let Some(extra) = piece.get(EXTRA).filter(|extra| extra.is_object()) {
            told.reasoning(extra.to_string().len())?;
            call.extra = Some(extra.clone());
        }
        Ok(())
    }

    /// Where a piece belongs, which may be a call of its own. `begins`: its arguments are the beginning of an object.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str, begins: bool) -> usize {
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None => self.calls.len().checked_sub(1),
        };
        // Servers that give every call the same index, or none, tell them apart by id alone: that comes with the name, at the beginning.
        let other = |call: &Call| !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
        // Without ids as well, a name after complete arguments begins the next call; behind an index, which Gemini's compatible server and its
        // gateways leave at 0, only with arguments of its own.
        let next = |call: &Call| id.is_empty() && !name.is_empty() && (index.is_none() || begins) && call.is_complete();
        match found.filter(|at| !other(&self.calls[*at]) && !next(&self.calls[*at])) {
            Some(at) => at,
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        }
    }
}

impl Call {
    fn is_complete(&self) -> bool {
        let length = self.arguments.len();
        // Read once for each piece: a server may send many more names than pieces.
        let known = self.seen_whole.get().filter(|(at, _)| *at == length).map(|(_, whole)| whole);
        let read = || serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok();
        let whole = known.unwrap_or_else(read);
        self.seen_whole.set(Some((length, whole)));
        self.object.is_some() || whole
    }

    fn whole(self) -> Value {
        let arguments = self.object.unwrap_or(Value::String(self.arguments));
        let function = json!({ "name": self.name, "arguments": arguments });
        let mut call = json!({ "id": self.id, "type": "function", "function": function });
        if let Some(extra) = self.extra {
            call[EXTRA] = extra;
        }
        call
    }
}

#[cfg(test)]
#[path = "openai_stream_tests.rs"]
mod tests;
