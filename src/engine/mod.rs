//! The engine: from a task's log to one request to the model, and from its answer to typed calls.
//!
//! Owns: the prompts (`prompts/`), the tools' schemas and their arguments, the rebuilt conversation, the fences around foreign text, the
//! estimate of its size, and the limits of a call. Everything but [`turn::converse`] is pure: the same log gives the same request, so an
//! interrupted call is repeated exactly. Must not: count actions or decide about checkpoints (`domain::transition` does), carry out a call
//! (`sandbox`), keep state between two calls.
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
mod issue;
pub mod nudge;
mod numbered;
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
pub mod summarize;
mod summary;
pub mod tools;
mod tries;
pub mod turn;
#[cfg(test)]
mod walk;

use crate::config::process::Model as Entry;
use crate::llm;
use crate::secret::Secret;

pub use answer::TurnAnswer;
pub use compact::due as compaction_due;
pub use fence::Fence;
pub use issue::left_out;
pub use repeats::repeated;
pub use reply::{Question, reply};
pub use second_look::{Change, second_look};
pub use stuck::way_out;
pub use tries::{CallStep, Tries};
pub use turn::{Ready, Refusal, TurnError, converse, is_wordless, prepare, prompt_tokens};

/// The most characters of a summary of older turns, and of a repository's rules.
const SUMMARY: usize = 16_000;
/// The most of a pull request's difference, in characters.
const DIFFERENCE: usize = 120_000;
/// The most characters sent of one action's output, whatever the window.
const RESULT: usize = 24_000;

/// What the operator sets for every conversation.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Key of each task's fence mark. It must not change during the installation's life, or prompts would no longer be repeated exactly.
    pub secret: Secret,
    /// The longest answer asked for, in tokens.
    pub max_output_tokens: u64,
    /// The most characters sent of one action's output; the middle of longer output is left out and its length stated.
    pub result_chars: usize,
    /// The most characters of the summary of older turns.
    pub summary_chars: usize,
    /// The most characters sent of a repository's own rules.
    pub rules_chars: usize,
    /// The most of what a pull request under review changes that is sent, in characters.
    pub difference_chars: usize,
    /// Whether calls written into an answer's text count; only for servers of the operator's own, by their address.
    pub spoken: bool,
    /// Whether rules that the host enforces anyway are left out of the prompt.
    pub brief: bool,
    /// Whether each answer must be a call if tools are offered.
    pub must_call: bool,
    /// How the model takes pictures; none if it is shown none.
    pub vision: Option<history::Vision>,
    /// Whether requests carry a cache key; a server at another address than the vendor's may not know that field.
    pub cache_key: bool,
}

impl EngineConfig {
    /// The defaults, with the usual cap on one action's output.
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

    /// The settings of a model's entry.
    pub fn of(secret: Secret, entry: &Entry) -> Self {
        let new = Self::new(secret, entry.max_output_tokens);
        // A tenth of the window, at four characters per token.
        let summary_chars = usize::try_from(entry.context_tokens * 4 / 10).map_or(SUMMARY, |tenth| tenth.min(SUMMARY));
        // An eighth of the window.
        let rules_chars = usize::try_from(entry.context_tokens / 2).map_or(SUMMARY, |eighth| eighth.min(SUMMARY));
        // A quarter.
        let difference_chars = usize::try_from(entry.context_tokens).map_or(DIFFERENCE, |it| it.min(DIFFERENCE));
        // A twentieth of the window.
        let result_chars = usize::try_from(entry.context_tokens / 5).map_or(RESULT, |twentieth| twentieth.min(RESULT));
        let (spoken, brief, must_call) = (entry.is_own_server(), entry.is_told_briefly(), entry.force_tools);
        let counting = llm::counting(entry.kind, entry.base_url.is_some());
        // A quarter of the window.
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
            cache_key: !entry.needs_trials(),
            ..new
        }
    }
}
