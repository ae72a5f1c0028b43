//! One turn: the request and its worst case, the call with its retries, the answer as an input of the task.
//!
//! Owns: the steps between `domain` and `llm` for one model call. Must not: store or count anything: the caller records `ModelCallStarting`
//! with [`Ready::worst_micro_usd`] before [`converse`] and the answer after it (`docs/effects.md`). Tests: `turn_tests.rs`.

use std::time::Instant;

use domain::{Call, CallRequest, Event, Failure, FallbackReason, PauseReason, Task, Usage};
use tokio_util::sync::CancellationToken;

use super::answer::TurnAnswer;
use super::budget::{self, TooMuch};
use super::nudge::Form;
use super::style::{Reader, Style, files};
use super::{EngineConfig, cached, context, history};
use crate::llm::retry::{self, Patience, RetryError};
use crate::llm::{self, Deltas, Model, ModelError, ModelRequest, ModelResponse};

/// Advice if a chat template refuses a conversation; without a full stop.
pub const TEMPLATE_ADVICE: &str = "Start its server with a template that knows the roles system and tool (llama.cpp: `--jinja`, \
    `--chat-template-file`), or set `style = \"files\"` for it";

/// Advice if a server refuses the key; without a full stop.
const KEY_ADVICE: &str = "Put a valid key into the model's key file, and restart the bot";

/// Advice if a server has no model of the configured name; without a full stop.
const NAME_ADVICE: &str = "Put a model of this name on its server; or set `name` in its entry to one that the server has, as it spells it, \
    and restart the bot";

/// Advice if a server takes no tools; without a full stop.
const TOOLS_ADVICE: &str = "Set `name` in its entry to a model that knows tools, or `style = \"files\"` for tasks that change files, \
    and restart the bot";

/// Advice if a server refuses a request in words that are not known; without a full stop.
const REQUEST_ADVICE: &str = "Check `name`, `base_url` and the key in its entry, and restart the bot after a change";

/// Begins the note behind an answer that reached its limit.
const CUT_OFF: &str = "[cut off: the answer reached its limit of";

/// The most tokens that a server's count of one call is believed to be: more than any model can read and write at once.
const MOST_COUNTED: u64 = 100_000_000;

/// A call that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// Number of the turn within its task, from 1.
    pub turn: u32,
    /// What is sent to the model.
    pub request: ModelRequest,
    /// How its answer is read.
    pub reader: Reader,
    /// Tokens of the prompt, estimated.
    pub prompt_tokens: u64,
    /// The worst case of the call in micro-dollars, charged before it is made.
    pub worst_micro_usd: u64,
}

/// Why no call is made. The task pauses with [`Refusal::reason`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Prompt and answer, in tokens, do not fit into the model's context.
    #[error("the conversation has about {prompt_tokens} tokens, and the model holds {context_tokens} with its answer")]
    ContextFull {
        /// Tokens of the prompt, estimated.
        prompt_tokens: u64,
        /// The model's window in tokens, its answer included.
        context_tokens: u64,
    },
    /// The call's worst case is more than the budget has left.
    #[error("the next call may cost more {what} than is left")]
    Budget {
        /// The budget's field, named as [`domain::Budget::exhausted`] does.
        what: &'static str,
    },
}

impl Refusal {
    /// The reason of the pause.
    pub fn reason(&self) -> PauseReason {
        match self {
            Refusal::ContextFull { context_tokens, .. } => {
                PauseReason::ContextFull { context_tokens: Some(*context_tokens) }
            }
            Refusal::Budget { what } => PauseReason::Budget { what: (*what).to_owned() },
        }
    }
}

/// The next call of a task with the log `log` and the fold `task`. Pure.
pub fn prepare(
    task: &Task,
    log: &[Event],
    style: Style,
    config: &EngineConfig,
    model: &dyn Model,
) -> Result<Ready, Refusal> {
    let (mut request, reader, prompt_tokens) = match style {
        Style::Tools => {
            let request = history::request(task, log, Form::Tools, config);
            let tokens = context::estimate(&request, log);
            (request, Reader::Tools { spoken: config.spoken }, tokens)
        }
        Style::Text => {
            let request = history::request(task, log, Form::Text, config);
            let tokens = context::estimate(&request, log);
            (request, Reader::Text, tokens)
        }
        Style::Files => {
            let (request, reader) = files::request(task, log, config);
            // Each request of this style is a conversation of its own, so earlier counts do not apply.
            let tokens = context::estimate(&request, &[]);
            (request, reader, tokens)
        }
    };
    let context_tokens = model.context_tokens();
    let left = budget::left(&task.granted, &task.spent);
    let allowed = budget::allow(&left, &model.price(), prompt_tokens, request.max_output_tokens, context_tokens);
    let allowance = allowed.map_err(|why| match why {
        TooMuch::Context => Refusal::ContextFull { prompt_tokens, context_tokens },
        TooMuch::Budget(what) => Refusal::Budget { what },
    })?;
    request.max_output_tokens = allowance.max_output_tokens;
    request.must_call = config.must_call;
    request.cache_key = config.cache_key.then(|| cached::key(&config.secret, task.id));
    Ok(Ready { turn: task.turn + 1, request, reader, prompt_tokens, worst_micro_usd: allowance.worst_micro_usd })
}

/// Tokens of the prepared prompt, even if it does not fit; none if the budget prevented it.
pub fn prompt_tokens(ready: &Result<Ready, Refusal>) -> Option<u64> {
    match ready {
        Ok(Ready { prompt_tokens, .. }) | Err(Refusal::ContextFull { prompt_tokens, .. }) => Some(*prompt_tokens),
        Err(Refusal::Budget { .. }) => None,
    }
}

/// How a call ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The call was cancelled; it may have been charged.
    #[error("cancelled")]
    Cancelled,
    /// A temporary failure: try again, not before `after_ms` if the server gave a time.
    #[error("{sentence}")]
    Later {
        /// The failure, for people to read.
        sentence: String,
        /// Milliseconds that the server asked to wait, if it did.
        after_ms: Option<u64>,
        /// Whether the call may have been charged, so that its worst case stays charged.
        may_cost: bool,
        /// Why another model may be asked instead; none if this call may have been charged.
        fallback: Option<FallbackReason>,
    },
    /// The server refuses this model, its key or its tools: a person must act first, unless another model can be asked.
    #[error("{failure:?}")]
    Refused {
        /// What a person must do.
        failure: Failure,
        /// Why another model may be asked instead.
        fallback: FallbackReason,
    },
    /// A person must act first.
    #[error("{0:?}")]
    Failed(Failure),
    /// The server refused a request with pictures; it may accept it without them.
    #[error("{0}")]
    Pictures(String),
}

impl TurnError {
    /// Whether the call may have been charged, so that its worst case stays charged.
    pub fn may_cost(&self) -> bool {
        match self {
            TurnError::Cancelled => true,
            TurnError::Later { may_cost, .. } => *may_cost,
            TurnError::Failed(_) | TurnError::Refused { .. } | TurnError::Pictures(_) => false,
        }
    }

    /// Whether the server refused the request because it does not fit into the model's window.
    pub fn is_full(&self) -> bool {
        matches!(self, TurnError::Failed(Failure::ContextFull { .. }))
    }

    /// Why another model may be asked instead; none if that would not help, or the call may have been charged.
    pub fn fallback(&self) -> Option<FallbackReason> {
        match self {
            TurnError::Later { fallback, .. } => *fallback,
            TurnError::Refused { fallback, .. } => Some(*fallback),
            TurnError::Failed(_) | TurnError::Cancelled | TurnError::Pictures(_) => None,
        }
    }
}

/// Makes the call, with waits and retries by `patience`; `deltas` receives the answer while it arrives. Dropping the future or firing
/// `cancel` ends it at once.
pub async fn converse(
    model: &dyn Model,
    ready: &Ready,
    deltas: &dyn Deltas,
    patience: &Patience,
    cancel: &CancellationToken,
) -> Result<TurnAnswer, TurnError> {
    let started = Instant::now();
    let response = match retry::respond(model, &ready.request, deltas, patience, cancel).await {
        Err(RetryError::Failed { error: ModelError::TooLong { limit }, .. }) => {
            return Ok(unread(model, ready, limit, started));
        }
        other => {
            let pictured = ready.request.pictures().next().is_some();
            other.map_err(|error| failed(error, pictured, model.context_tokens()))?
        }
    };
    let usage = counted(ready, &response);
    let mut calls = ready.reader.calls(&response, ready.turn);
    if response.truncated && matches!(ready.reader, Reader::Tools { .. }) {
        cut_off(&mut calls, ready.request.max_output_tokens);
    }
    let vendor = kept(&response, &calls);
    let text = match response.truncated && calls.is_empty() {
        true => format!("{}\n{CUT_OFF} {} tokens]", response.text, ready.request.max_output_tokens),
        false => response.text,
    };
    Ok(TurnAnswer {
        turn: ready.turn,
        text,
        calls,
        usage: Usage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            unpriced: if model.price().unknown { usage.total() } else { 0 },
        },
        micro_usd: model.price().cost(&usage),
        duration_ms: elapsed_ms(started),
        model: model.label(),
        vendor,
    })
}

/// Whether an answer holds no words of the model: it may have reached its limit while it was thinking.
pub fn is_wordless(text: &str) -> bool {
    let words = text.trim();
    words.is_empty() || words.starts_with(CUT_OFF)
}

/// Says of the last call of an answer that reached its limit why it can't be read: the same call would be cut off again.
fn cut_off(calls: &mut [CallRequest], limit: u64) {
    if let Some(CallRequest { name, call: Call::Malformed { reason }, .. }) = calls.last_mut() {
        *reason = format!(
            "{name}: your answer reached its limit of {limit} tokens and was cut off within this call, so it was not carried \
             out, and the same call would be cut off again. Make it shorter: a long file is written in parts, its beginning \
             with write_file, the rest with edit_file or bash"
        );
    }
}

/// The stored form of the vendor's parts. None if the turn differs from them: a cut answer gets a note, and calls may come from the text.
fn kept(response: &ModelResponse, calls: &[CallRequest]) -> Option<Box<str>> {
    let same = calls.len() == response.calls.len() && calls.iter().zip(&response.calls).all(|(a, b)| a.id == b.id);
    let parts = response.vendor.as_ref().filter(|_| same && !response.truncated)?;
    serde_json::to_string(parts).ok().map(String::into_boxed_str)
}

/// The turn for an answer that was too long to be read: one call that cannot be carried out, whose result says so.
fn unread(model: &dyn Model, ready: &Ready, limit: u64, started: Instant) -> TurnAnswer {
    let reason = format!(
        "your last answer was longer than {} KiB and was not read, so nothing of it was carried out. An answer holds at most {} tokens: \
         write large files in parts, and repeat nothing",
        limit >> 10,
        ready.request.max_output_tokens
    );
    let call = CallRequest {
        id: format!("call_{}_0", ready.turn),
        name: "unread".to_owned(),
        arguments: serde_json::json!({}),
        call: Call::Malformed { reason },
    };
    let (input, output) = (ready.prompt_tokens, ready.request.max_output_tokens);
    let unpriced = if model.price().unknown { input + output } else { 0 };
    TurnAnswer {
        turn: ready.turn,
        text: String::new(),
        calls: vec![call],
        usage: Usage { input, output, unpriced, ..Usage::default() },
        micro_usd: ready.worst_micro_usd,
        duration_ms: elapsed_ms(started),
        model: model.label(),
        vendor: None,
    }
}

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The server's count of tokens; our estimate if it counted none, so that such a server is not free of charge, or more than a call can have,
/// so that one wrong number does not use up or overflow every sum of costs.
fn counted(ready: &Ready, response: &ModelResponse) -> llm::Usage {
    let usage = response.usage;
    if (1..=MOST_COUNTED).contains(&usage.total()) {
        return llm::Usage { reasoning: usage.reasoning.min(usage.output), ..usage };
    }
    let calls: usize = response.calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum();
    let spoken = (response.text.len() + calls).div_ceil(4) as u64;
    // What was cut off before its first word was thoughts until then.
    let output = if response.truncated && spoken == 0 { ready.request.max_output_tokens } else { spoken };
    llm::Usage { input: ready.prompt_tokens, output, ..llm::Usage::default() }
}

/// What a person can do about a refusal, without a full stop; none where it may pass by itself, or is about the window.
pub fn advice(error: &ModelError) -> Option<String> {
    match error {
        ModelError::Unauthorized(_) => Some(KEY_ADVICE.to_owned()),
        ModelError::Template(_) => Some(format!("{TEMPLATE_ADVICE}, and restart the bot")),
        ModelError::NoModel(_) => Some(NAME_ADVICE.to_owned()),
        ModelError::NoTools(_) => Some(TOOLS_ADVICE.to_owned()),
        ModelError::BadRequest(_) => Some(REQUEST_ADVICE.to_owned()),
        ModelError::RateLimited { .. }
        | ModelError::Unavailable(_)
        | ModelError::Lost(_)
        | ModelError::ContextFull
        | ModelError::Malformed(_)
        | ModelError::TooLong { .. } => None,
    }
}

/// A refusal that a person must act on.
fn blocked(error: &ModelError) -> Failure {
    let advice = advice(error).map(|advice| format!(". {advice}")).unwrap_or_default();
    Failure::Blocked { sentence: format!("{error}{advice}") }
}

/// `pictured`: whether the request has pictures; `context_tokens`: the window that is configured for the model.
fn failed(error: RetryError, pictured: bool, context_tokens: u64) -> TurnError {
    let (error, tries) = match error {
        RetryError::Cancelled => return TurnError::Cancelled,
        RetryError::Failed { error, tries } => (error, tries),
    };
    let (sentence, may_cost) = (format!("{error} (tried {tries} times)"), error.may_cost());
    let refused = |fallback| TurnError::Refused { failure: blocked(&error), fallback };
    match error {
        ModelError::RateLimited { retry_after_ms: after_ms } => {
            TurnError::Later { sentence, after_ms, may_cost, fallback: Some(FallbackReason::Limited) }
        }
        ModelError::Unavailable(_) => {
            TurnError::Later { sentence, after_ms: None, may_cost, fallback: Some(FallbackReason::Away) }
        }
        ModelError::Lost(_) | ModelError::Malformed(_) | ModelError::TooLong { .. } => {
            TurnError::Later { sentence, after_ms: None, may_cost, fallback: None }
        }
        ModelError::ContextFull => TurnError::Failed(Failure::ContextFull { context_tokens: Some(context_tokens) }),
        ModelError::Unauthorized(_) => refused(FallbackReason::Refused),
        ModelError::NoModel(_) => refused(FallbackReason::Missing),
        ModelError::NoTools(_) => refused(FallbackReason::NoTools),
        ModelError::BadRequest(_) if pictured => TurnError::Pictures(sentence),
        ModelError::Template(_) | ModelError::BadRequest(_) => TurnError::Failed(blocked(&error)),
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
