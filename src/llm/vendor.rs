//! An answer as its vendor sent it, to be given back unchanged.
//!
//! Owns: what is kept beside text and calls where those say less (thinking with its signature, encrypted reasoning, signatures of calls), and
//! when it may be sent again: to the same model over the same wire, behind the same instructions and tools, for that is what a signature
//! vouches for. Must not: read what the parts say. Tests: below, and `tests/providers/kept.rs`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::raw::Json;
use super::{ModelRequest, ToolCall, wire};

/// The wire whose parts stand beside an answer's text and calls; on every other they hold these too.
pub(super) const CHAT: &str = "openai";

/// Stands for a signature that the model never gave, where a server of Google's wants one: its own word for that.
pub(super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The ordered parts of one answer. Foreign, and opaque to all but the wire that kept them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VendorParts {
    /// The wire's name.
    pub wire: String,
    /// The model's name as it was asked for.
    pub model: String,
    /// A hash of the instructions and tools that stood before the conversation.
    pub before: String,
    /// A list of the parts as text of JSON, byte for byte.
    pub parts: String,
}

impl VendorParts {
    /// The length, by this measure, of an answer that is sent with these parts; `plain` is that of its text and calls.
    pub(super) fn length(&self, plain: usize, of: fn(&str) -> usize) -> usize {
        let own = of(&self.parts);
        if self.wire == CHAT { plain + own } else { plain.max(own) }
    }
}

/// Who asks: what has to be the same for parts to be given back.
pub(super) struct Asker<'a> {
    wire: &'static str,
    model: &'a str,
    before: String,
}

impl<'a> Asker<'a> {
    pub(super) fn new(wire: &'static str, model: &'a str, request: &ModelRequest) -> Self {
        let mut hash = Sha256::new();
        hash.update(request.system.as_bytes());
        hash.update([0]);
        hash.update(serde_json::to_string(&request.tools).unwrap_or_default());
        Self { wire, model, before: hex::encode(&hash.finalize()[..16]) }
    }

    /// The same at one address: what one gateway signed is nothing to another one that has a model of this name.
    pub(super) fn at(self, address: &str) -> Self {
        let hash = Sha256::digest(format!("{}\n{address}", self.before));
        Self { before: hex::encode(&hash[..16]), ..self }
    }

    pub(super) fn model(&self) -> &str {
        self.model
    }

    /// The parts, if they are this model's own and stand behind what they stood behind.
    pub(super) fn own(&self, kept: Option<&VendorParts>) -> Option<Vec<Json>> {
        let kept = kept.filter(|it| it.wire == self.wire && it.model == self.model && it.before == self.before)?;
        let parts: Vec<Box<RawValue>> = serde_json::from_str(&kept.parts).ok()?;
        (!parts.is_empty()).then(|| parts.into_iter().map(Json::Raw).collect())
    }

    /// Keeps these parts. None where the answer's calls were mended (`given` are their ids as the vendor sent them, empty = it sends
    /// none): results would then answer calls that the parts do not hold.
    pub(super) fn keep(&self, parts: &[Box<RawValue>], calls: &[ToolCall], given: &[String]) -> Option<VendorParts> {
        let whole = |(call, id): (&ToolCall, &String)| {
            call.malformed.is_none() && (id.is_empty() || call.id == *id) && call.name == wire::token(&call.name)
        };
        let parts: Vec<&str> = parts.iter().map(|part| part.get()).collect();
        (calls.len() == given.len() && calls.iter().zip(given).all(whole)).then(|| VendorParts {
            wire: self.wire.to_owned(),
            model: self.model.to_owned(),
            before: self.before.clone(),
            parts: format!("[{}]", parts.join(",")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::raw;
    use serde_json::json;

    fn request(system: &str) -> ModelRequest {
        ModelRequest {
            system: system.into(),
            turns: Vec::new(),
            tools: Vec::new(),
            max_output_tokens: 1,
            temperature: None,
            seed: None,
            cache_key: None,
            must_call: false,
        }
    }

    fn call(id: &str, malformed: Option<&str>) -> ToolCall {
        let malformed = malformed.map(str::to_owned);
        ToolCall { id: id.into(), name: "bash".into(), arguments: json!({}), malformed }
    }

    #[test]
    fn parts_are_given_back_to_who_said_them_and_to_nobody_else() {
        let (one, two) = (request("a"), request("b"));
        let asker = Asker::new("w", "m", &one);
        let parts = raw::elements(r#"[{"b":1.0, "a":"\u00fc"}]"#, &[]).unwrap();
        let kept = asker.keep(&parts, &[], &[]).unwrap();
        assert_eq!(kept.parts, r#"[{"b":1.0, "a":"\u00fc"}]"#);
        let sent = |asker: &Asker<'_>| asker.own(Some(&kept)).map(|parts| serde_json::to_string(&parts[0]).unwrap());
        assert_eq!(sent(&asker).as_deref(), Some(r#"{"b":1.0, "a":"\u00fc"}"#));
        let elsewhere = Asker::new("w", "m", &one).at("https://a.example/");
        for other in [Asker::new("x", "m", &one), Asker::new("w", "n", &one), Asker::new("w", "m", &two), elsewhere] {
            assert_eq!(sent(&other), None);
        }
        assert!(asker.own(None).is_none());
    }

    #[test]
    fn what_had_to_be_mended_is_not_kept() {
        let asker_of = request("a");
        let asker = Asker::new("w", "m", &asker_of);
        let given = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let kept = |calls: &[ToolCall], ids: &[&str]| asker.keep(&[], calls, &given(ids)).is_some();
        assert!(kept(&[call("a", None)], &["a"]) && kept(&[call("made", None)], &[""]));
        assert!(!kept(&[call("made", None)], &["a b"]) && !kept(&[call("a", Some("{"))], &["a"]));
        assert!(!kept(&[], &["a"]), "a call that is missing");
    }
}
