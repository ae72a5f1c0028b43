//! A recording instead of a model: for tests, for the demo, and to repeat a failure.
//!
//! Owns: the file's format and the choice of an entry. There is no cursor: the entry is the one with the number of answers
//! that the request already holds, so a killed and repeated call gets the same answer. Must not: be mistaken for a model;
//! its label says "scripted". Tests: beside this file.
//!
//! ```toml
//! name = "fix the parser"            # shown in the label
//!
//! [[turn]]                           # the first answer, then the second, …
//! expects = ["the parser fails"]     # each must stand in what is sent, else the call is refused with the missing words
//! forbids = ["ghp_"]                 # none may
//! text = "I read the parser first."
//! call = [{ name = "read_file", arguments = { path = "src/parser.rs" } }]
//! usage = { input = 900, output = 40 }   # left out: a quarter of the characters
//!
//! [[conversation]]                   # answers for requests that hold these words; the first that matches is taken,
//! when = "/plan"                     # before the answers at the top
//! [[conversation.turn]]
//! text = "…"
//! ```
//! A call may have `raw = "{not json"` in place of `arguments`. `error = "unavailable"` (or `rate_limited`, `context_full`,
//! `unauthorized`) in place of text and calls fails each time. The same shape may be written as JSON.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::picture::OWN;
use super::provider::Provider;
use super::{Delta, Deltas, Facts, Model, ModelError, ModelRequest, ModelResponse, Price, ToolCall, Turn, Usage, wire};

/// Recordings, for `open`.
pub(super) const PROVIDER: Provider = Provider {
    vendor: None,
    open: |settings, script| {
        let script = script.ok_or("the model is a recording, but none is named; set model.script")?;
        Ok(Arc::new(Scripted::load(script, settings.context_tokens)?))
    },
    counting: OWN,
    counting_elsewhere: OWN,
};

/// A recording, read and checked.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Script,
    facts: Facts,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    name: String,
    #[serde(default, rename = "turn")]
    turns: Vec<Entry>,
    #[serde(default, rename = "conversation")]
    conversations: Vec<Conversation>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    when: String,
    #[serde(rename = "turn")]
    turns: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    expects: Vec<String>,
    #[serde(default)]
    forbids: Vec<String>,
    #[serde(default)]
    text: String,
    #[serde(default, rename = "call")]
    calls: Vec<Call>,
    usage: Option<Tokens>,
    #[serde(default)]
    truncated: bool,
    error: Option<Failure>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
    raw: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    input: u64,
    output: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Failure {
    RateLimited,
    Unavailable,
    ContextFull,
    Unauthorized,
}

impl Scripted {
    /// Reads a `.json` file as JSON and any other as TOML. The error is a sentence for the operator.
    pub fn load(path: &Path, context_tokens: u64) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| format!("the recording {} can't be read: {e}", path.display()))?;
        let json = path.extension().is_some_and(|e| e == "json");
        Self::parse(&text, json, context_tokens).map_err(|e| format!("the recording {} is wrong: {e}", path.display()))
    }

    /// Reads a recording from TOML.
    pub fn from_toml(text: &str, context_tokens: u64) -> Result<Self, String> {
        Self::parse(text, false, context_tokens)
    }

    fn parse(text: &str, json: bool, context: u64) -> Result<Self, String> {
        let script: Script = match json {
            true => serde_json::from_str(text).map_err(|e| e.to_string())?,
            false => toml::from_str(text).map_err(|e| e.to_string())?,
        };
        if script.turns.is_empty() && script.conversations.is_empty() {
            return Err("it holds no [[turn]]".to_owned());
        }
        let label = format!("scripted: {}", script.name);
        let facts = Facts { label, scripted: true, price: Price::default(), context_tokens: context };
        Ok(Self { script, facts })
    }

    fn entry(&self, sent: &str, turn: usize) -> Result<&Entry, ModelError> {
        let script = &self.script;
        let chosen = script.conversations.iter().find(|c| sent.contains(&c.when));
        let turns = chosen.map_or(&script.turns, |c| &c.turns);
        turns.get(turn).ok_or_else(|| {
            let which = chosen.map(|c| format!(" for {:?}", c.when)).unwrap_or_default();
            ModelError::BadRequest(format!(
                "the recording {:?} has {} answers{which}, and number {} was asked for",
                script.name,
                turns.len(),
                turn + 1
            ))
        })
    }
}

#[async_trait]
impl Model for Scripted {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let turn = request.assistant_turns();
        let sent = transcript(request);
        let entry = self.entry(&sent, turn)?;
        self.check(entry, turn, &sent)?;
        if let Some(error) = entry.error {
            return Err(error.into());
        }
        let mut calls: Vec<ToolCall> = entry.calls.iter().map(Call::made).collect();
        wire::unique_ids(&mut calls, turn);
        deltas.take(Delta::Text(&entry.text));
        let output = (entry.text.len() + entry.calls.len() * 40) as u64;
        let tokens = entry.usage.unwrap_or(Tokens { input: request.chars().div_ceil(4), output: output.div_ceil(4) });
        let usage = Usage { input: tokens.input, output: tokens.output, ..Usage::default() };
        Ok(ModelResponse { text: entry.text.clone(), calls, usage, truncated: entry.truncated, vendor: None })
    }
}

impl Scripted {
    fn check(&self, entry: &Entry, turn: usize, sent: &str) -> Result<(), ModelError> {
        let wrong = |what: &str, words: &str| {
            let (name, number) = (&self.script.name, turn + 1);
            ModelError::BadRequest(format!("the recording {name:?}, answer {number}: what was sent {what} {words:?}"))
        };
        if let Some(words) = entry.expects.iter().find(|words| !sent.contains(words.as_str())) {
            return Err(wrong("lacks", words));
        }
        match entry.forbids.iter().find(|words| sent.contains(words.as_str())) {
            Some(words) => Err(wrong("holds", words)),
            None => Ok(()),
        }
    }
}

impl Call {
    fn made(&self) -> ToolCall {
        let (arguments, malformed) = match &self.raw {
            Some(raw) => wire::arguments(Some(&json!(raw))),
            None => (Value::Object(self.arguments.clone()), None),
        };
        ToolCall { id: String::new(), name: self.name.clone(), arguments, malformed }
    }
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::RateLimited => ModelError::RateLimited { retry_after_ms: None },
            Failure::Unavailable => ModelError::Unavailable("the recording says so".to_owned()),
            Failure::ContextFull => ModelError::ContextFull,
            Failure::Unauthorized => ModelError::Unauthorized("the recording says so".to_owned()),
        }
    }
}

/// Everything that was sent, as one text to look words up in: system text, tools' names, turns.
fn transcript(request: &ModelRequest) -> String {
    let mut text = request.system.clone();
    for tool in &request.tools {
        text.push_str(&format!("\n[tool {}]", tool.name));
    }
    for turn in &request.turns {
        text.push('\n');
        match turn {
            Turn::User { text: words } => text.push_str(words),
            Turn::Assistant { text: words, calls, .. } => {
                text.push_str(words);
                calls.iter().for_each(|c| text.push_str(&format!("\n[call {} {}]", c.name, c.arguments)));
            }
            Turn::Results(results) => results.iter().for_each(|r| {
                text.push_str(&r.text);
                text.push('\n');
            }),
            Turn::Pictures(pictures) => pictures.iter().for_each(|it| {
                let kept = if it.data.is_some() { "shown" } else { "gone" };
                text.push_str(&format!("{}\n[{kept} {} {}]\n", it.label, it.media, it.digest));
            }),
        }
    }
    text
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
