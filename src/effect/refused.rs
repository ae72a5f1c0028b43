//! Says which configured model a failure is about, and what people can type.
//!
//! Owns the words around a server's refusal, which itself is `engine::turn`'s. Must not decide what the failure means for the task. Tests:
//! below and `tests/stories/missing_models.rs`.

use super::configured_model::{ConfiguredModel, ConfiguredModels};
use crate::trouble::Trouble;
use domain::{Failure, Task};

impl ConfiguredModels {
    /// The same trouble; where a person must act, with the entry that it is about and the models that people may name in its place.
    pub(super) fn explained(&self, task: &Task, configured: &ConfiguredModel, trouble: Trouble) -> Trouble {
        let sentence = match trouble {
            Trouble::Failed(Failure::Blocked { sentence }) => sentence,
            // A conversation that has begun can be shortened, or begin anew.
            Trouble::Failed(Failure::ContextFull { context_tokens: Some(tokens) }) if task.turn == 0 => small(tokens),
            other => return other,
        };
        let entry = &configured.entry;
        Trouble::blocked(about(&entry.shown(), &entry.id, &sentence, &self.named_beside(task, &entry.id)))
    }
}

/// The server refused a first request that `tokens`, the configured window, would hold.
fn small(tokens: u64) -> String {
    format!(
        "its server refuses the first request of this task as too long, and `context_tokens` in its entry says {tokens}. Start the server \
         with a window of so many tokens, or set `context_tokens` to what it holds (`caisson model check --window` measures it), and restart \
         the bot"
    )
}

/// `sentence` without a full stop; `others` are ids that people may name.
fn about(shown: &str, id: &str, sentence: &str, others: &[&str]) -> String {
    let others: Vec<String> = others.iter().map(|other| format!("`/model {other}`")).collect();
    let instead = match others.is_empty() {
        true => String::new(),
        false => format!("; or let another model answer: {}", others.join(" or ")),
    };
    format!(
        "the model `{shown}`, entry `{id}` of the configuration, does not work (`caisson model check {id}` tests it): {sentence}{instead}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_entry_and_what_can_be_typed() {
        let alone = about("openai gone", "main", "it is gone", &[]);
        assert_eq!(
            alone,
            "the model `openai gone`, entry `main` of the configuration, does not work (`caisson model check main` tests it): it is gone"
        );
        let among = about("openai gone", "main", "it is gone", &["spare", "big"]);
        assert_eq!(among, format!("{alone}; or let another model answer: `/model spare` or `/model big`"));
        assert!(small(32_768).contains("says 32768. Start the server"), "{}", small(32_768));
    }
}
