//! How the model is talked to: as configured, or as three tries showed. They are made once for a model and kept beside the store.

use super::{Performer, Trouble};
use crate::config::process::{Model, ModelStyle};
use crate::engine::probe::{self, Tries};
use crate::engine::style::{Style, files};
use crate::llm::ModelError;
use domain::{Event, Task};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Answers in a row without a usable call after which a model is shown the files instead; two more, and the task would pause.
const NOWHERE: u8 = 3;

/// The tries of one model, as they are kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    name: String,
    base_url: String,
    read: bool,
    edit: bool,
    check: bool,
}

impl Performer {
    pub(super) async fn style(&self, task: &Task, log: &[Event]) -> Result<Style, Trouble> {
        if !files::fits(task.kind) {
            return Ok(Style::Tools);
        }
        // A task that came to it once stays with it: another style begins a conversation anew.
        if log.iter().any(|event| matches!(event, Event::Looked { .. })) {
            return Ok(Style::Files);
        }
        // Whoever comes second waits for the first one's tries.
        let chosen = *self.style.get_or_try_init(|| self.chosen()).await?;
        let may_change = self.config.models.worker().style == ModelStyle::Auto;
        Ok(if may_change && task.malformed >= NOWHERE { Style::Files } else { chosen })
    }

    async fn chosen(&self) -> Result<Style, Trouble> {
        let configured = self.config.models.worker();
        match configured.style {
            ModelStyle::Tools => return Ok(Style::Tools),
            ModelStyle::Text => return Ok(Style::Text),
            ModelStyle::Files => return Ok(Style::Files),
            ModelStyle::Auto if !configured.is_own_server() => return Ok(Style::Tools),
            ModelStyle::Auto => {}
        }
        let file = self.config.state_dir.join("model.json");
        if let Some(tries) = read(&file, configured) {
            return Ok(tries.style());
        }
        let tries = probe::probe(self.worker.model.as_ref(), self.worker.engine.spoken).await;
        let tries = tries.map_err(|error| {
            let sentence = format!("the model could not be tried out: {error}");
            match error {
                ModelError::Unauthorized(_) | ModelError::BadRequest(_) | ModelError::Template(_) => {
                    Trouble::blocked(format!("{sentence}. Check the model's settings, then `/resume`"))
                }
                ModelError::RateLimited { .. }
                | ModelError::Unavailable(_)
                | ModelError::Lost(_)
                | ModelError::Malformed(_)
                | ModelError::TooLong { .. }
                | ModelError::ContextFull => Trouble::later(sentence),
            }
        })?;
        let style = tries.style();
        tracing::info!(model = self.worker.model.label(), ?tries, style = style.word(), "the model was tried out");
        if let Err(why) = keep(&file, configured, &tries) {
            tracing::warn!(%why, "the model's tries could not be kept; they are made again at the next start");
        }
        Ok(style)
    }
}

fn address(model: &Model) -> String {
    model.base_url.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn read(file: &Path, model: &Model) -> Option<Tries> {
    let kept: Kept = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let same = kept.name == model.name && kept.base_url == address(model);
    same.then_some(Tries { read: kept.read, edit: kept.edit, check: kept.check })
}

fn keep(file: &Path, model: &Model, tries: &Tries) -> std::io::Result<()> {
    let Tries { read, edit, check } = *tries;
    let kept = Kept { name: model.name.clone(), base_url: address(model), read, edit, check };
    std::fs::write(file, serde_json::to_vec(&kept)?)
}
