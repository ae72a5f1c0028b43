//! The measured model: the configuration's worker, checked before the first task and after the last.
//!
//! Owns the reasons to reject a run: no answer, another model, a smaller window.

use super::results::ModelSeen;
use crate::config::Process;
use crate::llm::{self, Model};
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// How the fault of a model that does not answer begins.
pub const NO_ANSWER: &str = "it gives no answer";

pub struct EvalModel {
    model: Arc<dyn Model>,
    asked: String,
    pub recording: bool,
}

impl EvalModel {
    /// # Errors
    /// When the configuration names no usable model.
    pub fn of(process: &Process) -> Result<EvalModel> {
        let model = llm::configured(process.models.worker()).map_err(|why| {
            let complaint = crate::cli::printer::Complaint::new("the model cannot be used").because(why);
            complaint.hint("fill in [model] of the configuration (docs/models.md)")
        })?;
        let recording = model.scripted();
        Ok(EvalModel { model, asked: process.models.worker().name.clone(), recording })
    }

    /// Asks the model one short question.
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
                seen.fault = presence.fault(&self.asked, seen.window_configured).unwrap_or_default();
                (seen.answered, seen.window_told) = (presence.answered, presence.window);
            }
            Err(why) => seen.fault = format!("{NO_ANSWER}: {why}"),
        }
        seen
    }
}

/// Hash of the used models, sandbox and budget after file and environment, without the location of keys.
pub fn config_hash(process: &Process) -> String {
    let mut hash = Sha256::new();
    for entry in process.models.used() {
        let mut model = entry.clone();
        model.key_file = None;
        let script = model.script.take().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        hash.update(format!("{model:?}\n"));
        hash.update(script);
    }
    hash.update(format!("{:?}\n{:?}\n", process.sandbox, process.budget));
    hex::encode(hash.finalize())
}
