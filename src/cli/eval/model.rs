//! Which model is measured: the one of the configuration, looked at before the first task and after the last.
//!
//! Owns the reasons for which nothing may count: no answer, another model, a smaller window. Tests: below.

use super::results::ModelSeen;
use crate::config::Process;
use crate::llm::{self, Model, Presence};
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::sync::Arc;

pub struct Asked {
    model: Arc<dyn Model>,
    asked: String,
    pub recording: bool,
}

impl Asked {
    /// # Errors
    /// When the configuration names no model that can be used.
    pub fn of(process: &Process) -> Result<Asked> {
        let model = llm::configured(&process.model).map_err(|why| {
            let complaint = crate::cli::printer::Complaint::new("the model cannot be used").because(why);
            complaint.attempt("fill in [model] of the configuration (docs/models.md)")
        })?;
        let recording = model.scripted();
        Ok(Asked { model, asked: process.model.name.clone(), recording })
    }

    /// Asks it one short question.
    pub async fn look(&self) -> ModelSeen {
        let mut seen = ModelSeen {
            label: self.model.label(),
            asked: self.asked.clone(),
            window_configured: self.model.context_tokens(),
            ..ModelSeen::default()
        };
        if self.recording {
            return seen;
        }
        match self.model.presence().await {
            Ok(presence) => {
                seen.fault = fault(&presence, &self.asked, seen.window_configured).unwrap_or_default();
                (seen.answered, seen.window_told) = (presence.answered, presence.window);
            }
            Err(why) => seen.fault = format!("it gives no answer: {why}"),
        }
        seen
    }
}

/// Why nothing that is measured would be about the model that was asked for.
fn fault(presence: &Presence, asked: &str, window: u64) -> Option<String> {
    if let Some(other) = presence.other_than(asked) {
        return Some(format!("another model answers: {asked} was asked for, {other} answered"));
    }
    let told = presence.window.filter(|told| *told < window)?;
    Some(format!(
        "its window is {told} tokens, and context_tokens says {window}: set it to {told} or start the server with more"
    ))
}

/// Over model, sandbox and budget as they hold after file and environment; without the key's place.
pub fn config_hash(process: &Process) -> String {
    let mut model = process.model.clone();
    model.key_file = None;
    let script = model.script.take().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(format!("{model:?}\n{:?}\n{:?}\n", process.sandbox, process.budget));
    hash.update(script);
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_and_a_smaller_window_are_named() {
        let presence =
            |answered: &str, window| Presence { answered: Some(answered.into()), listed: Vec::new(), window };
        assert_eq!(fault(&presence("coder", None), "coder", 32_768), None);
        assert_eq!(fault(&presence("coder", Some(32_768)), "coder", 32_768), None);
        assert!(fault(&presence("tiny", None), "coder", 1).expect("named").contains("tiny answered"));
        assert!(fault(&presence("coder", Some(4096)), "coder", 16_384).expect("named").contains("4096"));
    }
}
