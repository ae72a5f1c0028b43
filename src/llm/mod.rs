//! The models: one trait, four wires of three vendors and a recording.
//!
//! Owns: the shape of a request and a response, the vendors' wires (`openai`, `responses`, `anthropic`, `gemini`), the recording
//! (`scripted`), how each of them describes itself (`provider`), what is told of an answer
//! while it arrives (`deltas`), waiting after a refusal (`retry`), who answers on the other side (`presence`) and what a call costs
//! (`price`). It is the only place that talks to a model.
//! Must not: know tasks, events or prompts (that is `engine`), keep a conversation, or carry out a tool call.
//! Tests: beside each file, and `tests/providers.rs`, where local servers speak each wire strictly and sloppily.

mod anthropic;
mod anthropic_stream;
pub mod deltas;
#[cfg(test)]
mod fixtures;
mod gemini;
mod gemini_stream;
mod http;
mod open;
mod openai;
mod openai_calls;
mod openai_reasoning;
mod openai_stream;
pub mod picture;
mod presence;
mod price;
mod provider;
mod raw;
mod refusal;
mod responses;
mod responses_stream;
pub mod retry;
mod scripted;
mod settings;
mod sse;
mod vendor;
mod wire;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use deltas::{Delta, Deltas, Silent};
pub use open::{Models, configured, counting, open};
pub use picture::{Counting, ShownPicture};
pub use presence::Presence;
pub use scripted::Scripted;
pub use settings::Settings;
pub use vendor::VendorParts;

/// A model that answers one request with one complete response. Only complete responses exist: one that was cut off on
/// its way is an error, never half a turn.
#[async_trait]
pub trait Model: Send + Sync {
    /// What is known of it without asking.
    fn facts(&self) -> &Facts;
    /// As [`Facts::label`].
    fn label(&self) -> String {
        self.facts().label.clone()
    }
    /// As [`Facts::scripted`].
    fn scripted(&self) -> bool {
        self.facts().scripted
    }
    /// As [`Facts::price`].
    fn price(&self) -> Price {
        self.facts().price
    }
    /// As [`Facts::context_tokens`].
    fn context_tokens(&self) -> u64 {
        self.facts().context_tokens
    }
    /// Who really answers there, asked with one tiny call; a recording has nothing to tell.
    async fn presence(&self) -> Result<Presence, ModelError> {
        Ok(Presence::default())
    }
    /// One call. Doesn't retry; dropping the future cancels it. `deltas` is told of the answer while it arrives, where the server sends
    /// a stream; only what is returned counts.
    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError>;
}

/// What is known of a model without asking it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What people see in a review: vendor's wire and model name. A recording's label always says "scripted".
    pub label: String,
    /// True when no model is behind it; reviews say so.
    pub scripted: bool,
    /// What its tokens cost; all zero where it costs nothing, as a recording does, and where the price is unknown.
    pub price: Price,
    /// How many tokens one request and its answer may hold together.
    pub context_tokens: u64,
}

/// One request: the whole conversation, rebuilt from the task's log each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The instructions that come before the conversation.
    pub system: String,
    /// Starts with `User`; `Results` always follows an `Assistant` with calls and answers each of them once, in order.
    pub turns: Vec<Turn>,
    /// The tools that are offered; empty = none.
    pub tools: Vec<ToolSpec>,
    /// The longest answer that is asked for, in tokens.
    pub max_output_tokens: u64,
    /// How free the choice of each token is, from 0 on; none = the server's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Makes the choice repeatable where the server can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The same for each request of one conversation, and another for each: by it OpenAI finds the prompt that it has cached. Says nothing
    /// of the conversation; none = not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<String>,
    /// The answer has to be a call of one of the tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_call: bool,
}

impl ModelRequest {
    /// One question in words, to a model that gets no tools.
    pub fn question(system: String, text: String, max_output_tokens: u64) -> Self {
        Self {
            system,
            turns: vec![Turn::User { text }],
            tools: Vec::new(),
            max_output_tokens,
            temperature: Some(0.0),
            seed: None,
            cache_key: None,
            must_call: false,
        }
    }

    /// How many answers the conversation already holds; a recording chooses its entry by this number.
    pub fn assistant_turns(&self) -> usize {
        self.turns.iter().filter(|turn| matches!(turn, Turn::Assistant { .. })).count()
    }

    /// Whether a call is asked for and can be made.
    fn is_forced(&self) -> bool {
        self.must_call && !self.tools.is_empty()
    }

    /// Every picture, in order.
    pub fn pictures(&self) -> impl Iterator<Item = &ShownPicture> {
        self.turns.iter().flat_map(Turn::pictures)
    }

    /// As [`ModelRequest::pictures`], to put their bytes in.
    pub fn pictures_mut(&mut self) -> impl Iterator<Item = &mut ShownPicture> {
        self.turns.iter_mut().flat_map(|turn| match turn {
            Turn::Pictures(pictures) => pictures.as_mut_slice(),
            Turn::User { .. } | Turn::Assistant { .. } | Turn::Results(_) => &mut [],
        })
    }

    /// The most tokens that all pictures are counted as.
    pub fn picture_tokens(&self) -> u64 {
        self.picture_tokens_of_first(self.turns.len())
    }

    /// As [`Self::picture_tokens`], of so many of its turns, counted from the first.
    pub fn picture_tokens_of_first(&self, turns: usize) -> u64 {
        self.turns.iter().take(turns).flat_map(Turn::pictures).map(|picture| picture.tokens).sum()
    }

    /// Characters of everything that is sent, the tools' schemas included; without pictures.
    pub fn chars(&self) -> u64 {
        self.length(self.turns.len(), |text| text.chars().count())
    }

    /// The same in bytes: of a letter outside of English there are two or three, and models read it in about as many more pieces.
    pub fn bytes(&self) -> u64 {
        self.bytes_of_first(self.turns.len())
    }

    /// As [`Self::bytes`], with so many of its turns, counted from the first.
    pub fn bytes_of_first(&self, turns: usize) -> u64 {
        self.length(turns, str::len)
    }

    fn length(&self, turns: usize, of: fn(&str) -> usize) -> u64 {
        let turns: usize = self.turns.iter().take(turns).map(|turn| turn.length(of)).sum();
        let tools: usize = self.tools.iter().map(|tool| tool.length(of)).sum();
        (of(&self.system) + turns + tools) as u64
    }
}

/// One part of a conversation, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// What the model is told or asked.
    User {
        /// The words.
        text: String,
    },
    /// An earlier answer: its text, and the calls that it asked for.
    Assistant {
        /// What the model said beside its calls; empty where it said nothing.
        text: String,
        /// What it asked for, in its order.
        calls: Vec<ToolCall>,
        /// The answer as its vendor sent it, where that says more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vendor: Option<VendorParts>,
    },
    /// What came of the calls of the answer before, one for each.
    Results(Vec<ToolResult>),
    /// Pictures that belong to what stands before them: never first.
    Pictures(Vec<ShownPicture>),
}

impl Turn {
    fn pictures(&self) -> &[ShownPicture] {
        match self {
            Turn::Pictures(pictures) => pictures,
            Turn::User { .. } | Turn::Assistant { .. } | Turn::Results(_) => &[],
        }
    }

    fn length(&self, of: fn(&str) -> usize) -> usize {
        match self {
            Turn::User { text } => of(text),
            Turn::Assistant { text, calls, vendor } => {
                let plain = of(text) + calls.iter().map(ToolCall::length).sum::<usize>();
                vendor.as_ref().map_or(plain, |vendor| vendor.length(plain, of))
            }
            Turn::Results(results) => results.iter().map(|r| of(&r.text) + r.call_id.len()).sum(),
            // Their tokens are counted apart.
            Turn::Pictures(pictures) => pictures.iter().map(|picture| of(&picture.label)).sum(),
        }
    }
}

/// A tool as it is offered to the model. `parameters` is a JSON Schema of type `object`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does, for the model to read.
    pub description: String,
    /// A JSON Schema of type `object` for its arguments.
    pub parameters: Value,
}

impl ToolSpec {
    fn length(&self, of: fn(&str) -> usize) -> usize {
        self.name.len() + of(&self.description) + self.parameters.to_string().len()
    }
}

/// One call that the model asked for, exactly as it asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within its response; made by us where the server sent none.
    pub id: String,
    /// The tool's name as the model wrote it; there may be no such tool.
    pub name: String,
    /// An object, or `{}` when [`ToolCall::malformed`] says why there is none.
    pub arguments: Value,
    /// The raw text of arguments that weren't a JSON object. Such a call is kept, answered with an error, never carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

impl ToolCall {
    fn length(&self) -> usize {
        self.name.len() + self.id.len() + self.arguments.to_string().len()
    }
}

/// What came of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The [`ToolCall::id`] that it answers.
    pub call_id: String,
    /// The tool's name, as the call had it.
    pub name: String,
    /// What the model reads of it.
    pub text: String,
    /// The call failed or wasn't carried out (a command that exits with 1 did run: that is no error of the tool).
    pub error: bool,
}

/// One complete answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// What it says beside its calls; empty where it says nothing. Foreign.
    pub text: String,
    /// The calls that it asks for, in its order.
    pub calls: Vec<ToolCall>,
    /// The tokens that it took.
    pub usage: Usage,
    /// The answer ended because `max_output_tokens` was reached.
    pub truncated: bool,
    /// The answer as its vendor sent it, where it holds what text and calls do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<VendorParts>,
}

/// Tokens of one call, as the server counted them; all zero when it counted none.
/// The numbers don't overlap, but for `reasoning`: `input` is what was neither read from nor written to a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt that no cache took part in.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the prompt that were read from a cache.
    pub cache_read: u64,
    /// Tokens of the prompt that were written to a cache.
    pub cache_write: u64,
    /// Of `output`: tokens that the model thought and did not say; 0 where the server does not tell.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Tokens of the prompt, however they were charged.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Tokens of prompt and answer together.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

/// Micro-dollars for a million tokens of each sort (1_000_000 = one dollar for a million tokens).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For tokens of the prompt that no cache took part in.
    pub input: u64,
    /// For tokens of the answer.
    pub output: u64,
    /// For tokens of the prompt that are read from a cache.
    pub cache_read: u64,
    /// For tokens of the prompt that are written to a cache.
    pub cache_write: u64,
    /// No configuration says a price: the others are 0, and that is not what it costs.
    #[serde(default)]
    pub unknown: bool,
}

/// Why there is no answer. The texts are for people and never hold a key or the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// 429, or the vendor's own word for it. Try again, not before the time named.
    #[error("the model's server asks us to slow down")]
    RateLimited {
        /// Milliseconds that the server asked to wait; none where it named no time.
        retry_after_ms: Option<u64>,
    },
    /// Not reached, or refused with 5xx: nothing was charged. Try again.
    #[error("the model can't be reached: {0}")]
    Unavailable(String),
    /// Sent, and then cut off or timed out: it may have been charged. The task asks anew, and pays the worst case.
    #[error("the model's answer was lost: {0}")]
    Lost(String),
    /// The conversation no longer fits. Trying again changes nothing.
    #[error("the conversation no longer fits into the model's context")]
    ContextFull,
    /// The key is missing, wrong or not allowed to use this model. A person must act.
    #[error("the model's server refused the key: {0}")]
    Unauthorized(String),
    /// The server's chat template takes no conversation of this shape (a role it doesn't know, an order it doesn't bear). A person must act.
    #[error("the model's chat template refuses the conversation: {0}")]
    Template(String),
    /// The server has no model of the name that was asked for. A person must act.
    #[error("the model's server has no such model: {0}")]
    NoModel(String),
    /// The server takes no tools for this model, which may still answer without. A person must act.
    #[error("the model's server takes no tools for it: {0}")]
    NoTools(String),
    /// The server refuses the request itself: wrong address, wrong shape. A person must act.
    #[error("the model's server refused the request: {0}")]
    BadRequest(String),
    /// The answer isn't one: no JSON, or without a message. It may have been charged, as a lost one.
    #[error("the model's answer can't be read: {0}")]
    Malformed(String),
    /// The answer was longer than one of `max_output_tokens` can be, and was not read to its end. `limit` is in bytes. The model
    /// is told; it is charged as the longest answer.
    #[error("the model's answer is longer than {limit} bytes")]
    TooLong {
        /// The most bytes that are read of an answer.
        limit: u64,
    },
}

impl ModelError {
    /// Whether the same request may simply be sent again: it was turned away before it cost anything, and nobody has to act first.
    pub fn is_turned_away(&self) -> bool {
        matches!(self, ModelError::RateLimited { .. } | ModelError::Unavailable(_))
    }

    /// Whether the call may have been charged though no answer can be used.
    pub fn may_cost(&self) -> bool {
        matches!(self, ModelError::Lost(_) | ModelError::Malformed(_) | ModelError::TooLong { .. })
    }
}
