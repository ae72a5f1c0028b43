//! Reasoning that comes in pieces beside the answer of a chat, which is not of the vendor's own wire.
//!
//! Owns: the names that servers with thinking models use, how pieces are joined, and the refusal that stands for an answer of thoughts alone. All of `reasoning_details` is what its chunks hold one behind
//! the other (openrouter.ai/docs/use-cases/reasoning-tokens); pieces of one text are joined, for there is one for each token. Must not: decide
//! what is sent back (`openai` does). Tests: below, and `tests/providers/gateways.rs`.

use serde_json::{Map, Value, json};

use super::http::Whole;

/// OpenRouter's signed or encrypted reasoning, which goes back with the answer that it belongs to.
pub(super) const DETAILS: &str = "reasoning_details";
/// DeepSeek's reasoning in words, which most servers that send it do not want back.
pub(super) const THOUGHTS: &str = "reasoning_content";

/// Whether a refusal says that the model thought until its limit was reached: OpenAI's server then answers 400, and not with an empty answer.
pub(super) fn is_thought_away(refusal: &str) -> bool {
    refusal.to_lowercase().contains("model output limit was reached")
}

/// The answer that such a refusal stands for; nobody counted its tokens.
pub(super) fn thought_away() -> Whole {
    let message = json!({ "role": "assistant", "content": null });
    let value = json!({ "choices": [{ "index": 0, "finish_reason": "length", "message": message }] });
    Whole { text: value.to_string(), value }
}

/// The fields of a detail that grow.
const GROWING: [&str; 2] = ["text", "summary"];

/// What came so far.
#[derive(Default)]
pub(super) struct Reasoning {
    details: Vec<Map<String, Value>>,
    /// DeepSeek's words.
    thoughts: String,
}

impl Reasoning {
    /// Takes what a delta holds; returns its bytes. Some servers send the same under several names.
    pub(super) fn take(&mut self, delta: &Map<String, Value>) -> usize {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        self.thoughts.push_str(text(THOUGHTS));
        let pieces = delta.get(DETAILS).and_then(Value::as_array).into_iter().flatten();
        let mut bytes = 0;
        for piece in pieces.filter_map(Value::as_object) {
            bytes += piece.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
            self.detail(piece);
        }
        bytes.max(text(THOUGHTS).len()).max(text("reasoning").len())
    }

    fn detail(&mut self, piece: &Map<String, Value>) {
        let same = |last: &&mut Map<String, Value>| {
            let equal = |name: &str| last.get(name) == piece.get(name);
            let grows = piece.get("type").is_some_and(|kind| kind == "reasoning.text" || kind == "reasoning.summary");
            grows && equal("type") && equal("index") && equal("id")
        };
        let Some(last) = self.details.last_mut().filter(same) else { return self.details.push(piece.clone()) };
        for (name, value) in piece {
            match (last.get_mut(name), value) {
                (Some(Value::String(all)), Value::String(more)) if GROWING.contains(&name.as_str()) => {
                    all.push_str(more)
                }
                // A signature comes with the last piece.
                (_, value) if !value.is_null() => drop(last.insert(name.clone(), value.clone())),
                (_, _) => {}
            }
        }
    }

    /// Puts it into the message that the server would have sent whole.
    pub(super) fn put_in(self, message: &mut Value) {
        if !self.details.is_empty() {
            message[DETAILS] = self.details.into_iter().map(Value::Object).collect();
        }
        if !self.thoughts.is_empty() {
            message[THOUGHTS] = json!(self.thoughts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(deltas: &[Value]) -> (Value, Vec<usize>) {
        let mut reasoning = Reasoning::default();
        let bytes = deltas.iter().map(|delta| reasoning.take(delta.as_object().unwrap())).collect();
        let mut message = json!({});
        reasoning.put_in(&mut message);
        (message, bytes)
    }

    #[test]
    fn pieces_of_one_text_are_joined_and_every_other_detail_stays_as_it_came() {
        let text = |text: &str, signature: Value| {
            json!({ "reasoning": text, "reasoning_details": [
                { "type": "reasoning.text", "text": text, "signature": signature, "format": "anthropic-claude-v1", "index": 0 }] })
        };
        let hidden = |data: &str| json!({ "type": "reasoning.encrypted", "data": data, "index": 1 });
        let (message, bytes) = joined(&[
            text("I lo", Value::Null),
            text("ok.", Value::Null),
            json!({ "reasoning_details": [{ "type": "reasoning.text", "signature": "EqQB==", "index": 0 }] }),
            json!({ "reasoning_details": [hidden("one"), hidden("two")] }),
            text("Then", Value::Null),
        ]);
        let wanted = json!([
            { "type": "reasoning.text", "text": "I look.", "signature": "EqQB==", "format": "anthropic-claude-v1", "index": 0 },
            hidden("one"),
            hidden("two"),
            { "type": "reasoning.text", "text": "Then", "signature": null, "format": "anthropic-claude-v1", "index": 0 },
        ]);
        assert_eq!(message, json!({ "reasoning_details": wanted }));
        assert!(bytes.iter().all(|bytes| *bytes > 0), "an endless one is noticed: {bytes:?}");
    }

    #[test]
    fn words_are_kept_under_the_name_that_may_be_wanted_back() {
        let (message, bytes) =
            joined(&[json!({ "reasoning_content": "h" }), json!({ "reasoning_content": "m", "reasoning": "m" })]);
        assert_eq!((message, bytes), (json!({ "reasoning_content": "hm" }), vec![1, 1]));
        assert_eq!(joined(&[json!({ "reasoning": "hm", "content": "a" })]).0, json!({}));
    }
}
