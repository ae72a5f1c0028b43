//! The engine: from a task's log to one request to the model, and from its answer to typed calls.
//!
//! Owns: the prompts (`prompts/`), the tools' schemas and their arguments, the rebuilt conversation, the fences around text
//! that isn't ours, the estimate of its size, and what a call may cost. Everything but [`turn::converse`] is pure: the same log
//! gives the same request, so a killed call is repeated word for word. Must not: count actions or decide about checkpoints
//! (`domain::transition` does), carry out a call (`sandbox`), keep anything between two calls.
//! Tests: beside each file; whole conversations as snapshots in `history_tests.rs`.

mod answer;
mod arguments;
pub mod budget;
mod cached;
mod compact;
pub mod context;
mod failing;
mod feedback;
mod fence;
#[cfg(test)]
mod fixtures;
pub mod history;
pub mod nudge;
mod outcome;
pub mod probe;
mod prompt;
pub mod reading;
mod recall;
mod repeats;
mod reply;
mod second_look;
mod stuck;
pub mod style;
mod summary;
pub mod telling;
pub mod tools;
pub mod turn;
#[cfg(test)]
mod walk;

use crate::config::process::{Model as Entry, ModelKind};
use crate::llm::Counting;
use crate::secret::Secret;

pub use answer::TurnAnswer;
pub use compact::due as compaction_due;
pub use fence::Fence;
pub use reply::{Question, reply};
pub use second_look::{Change, second_look};
pub use stuck::way_out;
pub use turn::{Ready, Refusal, TurnError, converse, prepare, prompt_tokens};

/// The longest summary of older turns, and the most of a repository's rules, in characters.
const SUMMARY: usize = 16_000;
/// The most of a pull request's difference, in characters.
const DIFFERENCE: usize = 120_000;
/// The most of one action's output that is sent, in characters, however large the window.
const RESULT: usize = 24_000;

/// What the operator sets for every conversation.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Makes each task's fence mark: kept for the life of the installation, or prompts no longer replay identically.
    pub secret: Secret,
    /// The longest answer asked for, in tokens.
    pub max_output_tokens: u64,
    /// The most of one action's output that is sent, in characters; the middle of longer output is left out and counted.
    pub result_chars: usize,
    /// The most of the summary that stands for older turns, in characters.
    pub summary_chars: usize,
    /// The most of a repository's own rules that is sent, in characters.
    pub rules_chars: usize,
    /// The most of what a pull request under review changes that is sent, in characters.
    pub difference_chars: usize,
    /// Whether calls that a model wrote into its text count: only what a server of the operator's own answers is read so.
    pub spoken: bool,
    /// Whether the rules that the host enforces anyway are left out.
    pub brief: bool,
    /// Whether each answer has to be a call where tools are offered.
    pub must_call: bool,
    /// What the model takes of pictures; none where it is shown none.
    pub vision: Option<history::Vision>,
    /// Whether requests carry a key by which a vendor finds what it has cached: a server of the operator's own may not know the word.
    pub cache_key: bool,
}

impl EngineConfig {
    /// With the usual cap on one action's output.
    pub fn new(secret: Secret, max_output_tokens: u64) -> Self {
        Self {
            secret,
            max_output_tokens,
            result_chars: RESULT,
            summary_chars: SUMMARY,
            rules_chars: SUMMARY,
            difference_chars: DIFFERENCE,
            spoken: false,
            brief: false,
            must_call: false,
            vision: None,
            cache_key: false,
        }
    }

    /// As the model's entry says.
    pub fn of(secret: Secret, entry: &Entry) -> Self {
        let new = Self::new(secret, entry.max_output_tokens);
        // A tenth of the window, at four characters for a token.
        let summary_chars = usize::try_from(entry.context_tokens * 4 / 10).map_or(SUMMARY, |tenth| tenth.min(SUMMARY));
        // An eighth.
        let rules_chars = usize::try_from(entry.context_tokens / 2).map_or(SUMMARY, |eighth| eighth.min(SUMMARY));
        // A quarter.
        let difference_chars = usize::try_from(entry.context_tokens).map_or(DIFFERENCE, |it| it.min(DIFFERENCE));
        // A twentieth.
        let result_chars = usize::try_from(entry.context_tokens / 5).map_or(RESULT, |twentieth| twentieth.min(RESULT));
        let (spoken, brief, must_call) = (entry.is_own_server(), entry.is_told_briefly(), entry.force_tools);
        let counting = match (entry.kind, entry.base_url.is_some()) {
            (ModelKind::Gemini, _) => Counting::Gemini,
            (ModelKind::Anthropic, false) => Counting::Anthropic,
            (ModelKind::Openai | ModelKind::OpenaiResponses, false) => Counting::OpenAi,
            (ModelKind::Anthropic | ModelKind::Openai | ModelKind::OpenaiResponses, true)
            | (ModelKind::Scripted, _) => Counting::Own,
        };
        // A quarter.
        let vision = entry.sees().then_some(history::Vision { counting, most_tokens: entry.context_tokens / 4 });
        Self {
            result_chars,
            summary_chars,
            rules_chars,
            difference_chars,
            spoken,
            brief,
            must_call,
            vision,
            cache_key: !spoken,
            ..new
        }
    }
}
