//! A stream of Google's wire, put together to the answer that the server would have sent whole.
//!
//! Owns: the order of parts, each kept as it came: a signature belongs to its own part. Only plain pieces of text are joined. Must not: read
//! what an answer means (`gemini`). A `finishReason` is what makes it whole. Shapes: ai.google.dev/api/generate-content
//! (`GenerateContentResponse`). Tests: below, `tests/providers/streams.rs`.

use serde_json::{Value, json};

use super::ModelError;
use super::deltas::BoundedDeltas;
use super::http::{Assembly, Step};
use super::raw;

/// What came so far.
#[derive(Default)]
pub(super) struct Chunks {
    parts: Vec<String>,
    /// The text of the last part, where that is nothing but text.
    plain: Option<String>,
    calls: usize,
    finish: Option<Value>,
    message: Value,
    usage: Value,
    model: Value,
    /// Why the prompt was refused.
    feedback: Option<Value>,
}

impl Assembly for Chunks {
    fn take(&mut self, event: &Value, raw: &str, deltas_out: &mut BoundedDeltas<'_>) -> Result<Step, ModelError> {
        for (name, field) in [("usageMetadata", &mut self.usage), ("modelVersion", &mut self.model)] {
            if let Some(value) = event.get(name).filter(|value| !value.is_null()) {
                *field = value.clone();
            }
        }
        if let Some(feedback) = event.get("promptFeedback").filter(|it| it.get("blockReason").is_some()) {
            self.feedback = Some(feedback.clone());
        }
        let parts = event.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        let written = raw::elements(raw, &["candidates", "0", "content", "parts"]).unwrap_or_default();
        for (part, written) in parts.into_iter().flatten().zip(written) {
            self.part(part, written.get(), deltas_out)?;
        }
        if let Some(message) = event.pointer("/candidates/0/finishMessage").filter(|it| it.is_string()) {
            self.message = message.clone();
        }
        if let Some(reason) = event.pointer("/candidates/0/finishReason").filter(|it| it.is_string()) {
            self.finish = Some(reason.clone());
        }
        let counted = event.get("usageMetadata").is_some_and(Value::is_object);
        Ok(if self.finish.is_some() && counted { Step::End } else { Step::More })
    }

    fn whole(mut self) -> Option<String> {
        self.close();
        let (usage, model) = (&self.usage, &self.model);
        match (&self.finish, &self.feedback) {
            (Some(finish), _) => Some(format!(
                "{{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{}]}},\"finishReason\":{finish},\"finishMessage\":{}}}],\
                 \"usageMetadata\":{usage},\"modelVersion\":{model}}}",
                self.parts.join(","),
                self.message,
            )),
            (None, Some(feedback)) if self.parts.is_empty() => {
                Some(format!("{{\"promptFeedback\":{feedback},\"usageMetadata\":{usage},\"modelVersion\":{model}}}"))
            }
            (None, _) => None,
        }
    }
}

impl Chunks {
    fn part(&mut self, part: &Value, written: &str, deltas_out: &mut BoundedDeltas<'_>) -> Result<(), ModelError> {
        let text = part.get("text").and_then(Value::as_str);
        let signature = part.get("thoughtSignature").and_then(Value::as_str).unwrap_or_default();
        deltas_out.reasoning(signature.len())?;
        match (text, part.get("functionCall")) {
            (_, Some(call)) => {
                let (place, name) = (self.calls, call.get("name").and_then(Value::as_str).unwrap_or_default());
                self.calls += 1;
                deltas_out.call(place, name)?;
                deltas_out.arguments(place, &call.get("args").map(Value::to_string).unwrap_or_default())?;
            }
            (Some(text), None) if part.get("thought") == Some(&json!(true)) => deltas_out.reasoning(text.len())?,
            (Some(text), None) => deltas_out.text(text)?,
            // Of a kind that was not asked for; it is kept, and so it counts.
            (None, None) => deltas_out.reasoning(written.len())?,
        }
        match text.filter(|_| part.as_object().is_some_and(|fields| fields.len() == 1)) {
            Some(text) => self.plain.get_or_insert_default().push_str(text),
            None => {
                self.close();
                self.parts.push(written.to_owned());
            }
        }
        Ok(())
    }

    /// Ends the joined text, if one is open.
    fn close(&mut self) {
        if let Some(text) = self.plain.take().filter(|text| !text.is_empty()) {
            self.parts.push(json!({ "text": text }).to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::deltas::Silent;

    fn whole(events: &[&str]) -> Option<Value> {
        let mut chunks = Chunks::default();
        let mut deltas_out = BoundedDeltas::new(&Silent, 10_000);
        for event in events {
            chunks.take(&serde_json::from_str(event).unwrap(), event, &mut deltas_out).unwrap();
        }
        chunks.whole().map(|text| serde_json::from_str(&text).unwrap())
    }

    const TEXT: &str =
        r#"{"candidates":[{"content":{"parts":[{"text":"I "}],"role":"model"},"index":0}],"modelVersion":"g"}"#;
    const MORE: &str = r#"{"candidates":[{"content":{"parts":[{"text":"look."}],"role":"model"}}],"usageMetadata":{"promptTokenCount":3}}"#;
    const CALL: &str = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"bash","args":{"z":1.0,"a":2}},"thoughtSignature":"S=="}]}}]}"#;
    const END: &str = r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"T"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9}}"#;

    #[test]
    fn parts_keep_their_signatures_and_text_is_joined() {
        let answer = whole(&[TEXT, MORE, CALL, END]).unwrap();
        let parts = answer.pointer("/candidates/0/content/parts").unwrap();
        let call =
            json!({ "functionCall": { "name": "bash", "args": { "z": 1.0, "a": 2 } }, "thoughtSignature": "S==" });
        assert_eq!(parts, &json!([{ "text": "I look." }, call, { "text": "", "thoughtSignature": "T" }]));
        assert_eq!((&answer["usageMetadata"]["promptTokenCount"], &answer["modelVersion"]), (&json!(9), &json!("g")));
    }

    #[test]
    fn without_a_finish_reason_it_is_no_answer() {
        assert_eq!(whole(&[TEXT, MORE, CALL]), None);
        let blocked = whole(&[r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#]).unwrap();
        assert_eq!(blocked["promptFeedback"]["blockReason"], "SAFETY");
    }
}
