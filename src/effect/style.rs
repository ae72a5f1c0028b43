//! How the model is talked to: as configured, or as three trial calls showed, which are made once per model and stored in the state
//! directory.

use super::configured_model::{ConfiguredModel, ConfiguredModels};
use crate::config::process::{Model, ModelStyle};
use crate::engine::probe::{self, Tries};
use crate::engine::style::{Style, files};
use crate::engine::turn::advice;
use crate::llm::{ModelError, Silent};
use crate::trouble::Trouble;
use domain::{Task, TaskKind};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The stored result of the trial calls.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    name: String,
    base_url: String,
    read: bool,
    edit: bool,
    check: bool,
    /// Whether calls in an answer's text counted. Earlier versions counted them wherever they made trial calls.
    #[serde(default = "counted")]
    spoken: bool,
    /// Whether a model that thinks before it answers had room for that, which it had not in earlier versions.
    #[serde(default)]
    room: bool,
}

fn counted() -> bool {
    true
}

/// What is known of how a task's model is asked, to say what it is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Styles {
    /// Of the task as it is; none if its models could not be tried out.
    pub now: Option<Style>,
    /// Once it goes on as a `/fix`; none if that takes trial calls.
    pub of_a_fix: Option<Style>,
}

impl ConfiguredModels {
    /// What is known of the styles of a task that is being prepared; no model is asked for it, because the sandbox would wait for that.
    pub(super) fn styles(&self, task: &Task) -> Styles {
        let mut fix = task.clone();
        fix.kind = TaskKind::Fix;
        Styles { now: self.known(task), of_a_fix: self.known(&fix) }
    }

    fn known(&self, task: &Task) -> Option<Style> {
        if !files::fits(task.kind) {
            return Some(Style::Tools);
        }
        let first = self.first(task);
        if let Some(style) = first.style.get().copied().or_else(|| configured(&first.entry)) {
            return Some(style);
        }
        let stored = read(&self.file(&first.entry), &first.entry)?.style();
        // Another task may have set it meanwhile, from the same file.
        let _ = first.style.set(stored);
        Some(stored)
    }

    /// The file with the results of a model's trial calls. The worker's keeps the name of earlier versions.
    fn file(&self, entry: &Model) -> PathBuf {
        let name = match entry.id == self.worker {
            true => "model.json".to_owned(),
            false => format!("model-{}.json", entry.id),
        };
        self.state_dir.join(name)
    }

    /// The task's style: that of its first model where it is known, otherwise that of the first whose trial calls succeed, of the fallback that
    /// answers now, then of the model of the task now, and then of the first and its fallbacks.
    pub(super) async fn style(&self, task: &Task) -> Result<Style, Trouble> {
        if let Some(style) = self.known(task) {
            return Ok(style);
        }
        let mut first = None;
        let mut models = self.of(task).each();
        for other in self.first(task).each() {
            if models.iter().all(|known| known.entry.id != other.entry.id) {
                models.push(other);
            }
        }
        // A conversation stays as it began, and a model that is missing is not tried out at each turn.
        models.sort_by_key(|configured| task.answering.as_ref() != Some(&configured.entry.id));
        for configured in models {
            // Concurrent tasks wait for the same trial calls.
            match configured.style.get_or_try_init(|| self.chosen(configured)).await {
                Ok(style) => return Ok(*style),
                Err(trouble) => first = first.or(Some(self.explained(task, configured, trouble))),
            }
        }
        Err(first.unwrap_or_else(|| Trouble::blocked("no model is configured for this task")))
    }

    async fn chosen(&self, configured: &ConfiguredModel) -> Result<Style, Trouble> {
        let entry = &configured.entry;
        if let Some(style) = self::configured(entry) {
            return Ok(style);
        }
        let file = self.file(entry);
        if let Some(tries) = read(&file, entry) {
            return Ok(tries.style());
        }
        let tries = probe::probe(configured.model.as_ref(), configured.engine.spoken, &Silent).await;
        let tries = tries.map_err(|error| {
            let sentence = format!("the model could not be tried out: {error}");
            match advice(&error) {
                Some(advice) => Trouble::blocked(format!("{sentence}. {advice}")),
                None if error == ModelError::ContextFull => {
                    Trouble::blocked(format!("{sentence}. Start its server with a larger window"))
                }
                None => Trouble::later(sentence),
            }
        })?;
        let style = tries.style();
        tracing::info!(model = configured.model.label(), ?tries, style = style.word(), "the model was tried out");
        if let Err(why) = keep(&file, entry, &tries) {
            tracing::warn!(%why, "the model's tries could not be kept; they are made again at the next start");
        }
        Ok(style)
    }
}

/// The style that needs no trial calls.
fn configured(entry: &Model) -> Option<Style> {
    match entry.style {
        ModelStyle::Tools => Some(Style::Tools),
        ModelStyle::Text => Some(Style::Text),
        ModelStyle::Files => Some(Style::Files),
        ModelStyle::Auto => (!entry.needs_trials()).then_some(Style::Tools),
    }
}

fn address(model: &Model) -> String {
    model.base_url.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn read(file: &Path, model: &Model) -> Option<Tries> {
    let kept: Kept = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let same = kept.name == model.name && kept.base_url == address(model) && kept.spoken == model.is_own_server();
    let tries = Tries { read: kept.read, edit: kept.edit, check: kept.check };
    (same && (kept.room || tries.style() == Style::Tools)).then_some(tries)
}

fn keep(file: &Path, model: &Model, tries: &Tries) -> std::io::Result<()> {
    let Tries { read, edit, check } = *tries;
    let spoken = model.is_own_server();
    let kept = Kept { name: model.name.clone(), base_url: address(model), read, edit, check, spoken, room: true };
    std::fs::write(file, serde_json::to_vec(&kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Process;

    fn entry(address: &str) -> Model {
        let text = format!("[model]\nkind = \"openai\"\nname = \"m\"\nkey_file = \"k\"\nbase_url = \"{address}\"\n");
        Process::from_layers(Path::new("/x/c.toml"), &text, &|_| None).unwrap().models.worker().clone()
    }

    #[test]
    fn results_that_rest_on_calls_in_the_text_are_used_only_where_those_still_count() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("model.json");
        for (model, is_kept) in [(entry("http://gpu.lan/v1"), true), (entry("https://gateway.example/v1"), false)] {
            let address = address(&model);
            let earlier = format!(r#"{{"name":"m","base_url":"{address}","read":true,"edit":true,"check":true}}"#);
            std::fs::write(&file, &earlier).unwrap();
            assert_eq!(read(&file, &model).is_some(), is_kept, "{address}");
            std::fs::write(&file, earlier.replace("\"edit\":true", "\"edit\":false")).unwrap();
            assert_eq!(read(&file, &model), None, "it may have failed for lack of room to think: {address}");
            let tries = Tries { read: true, edit: false, check: false };
            keep(&file, &model, &tries).unwrap();
            assert_eq!(read(&file, &model).map(|tries| (tries.read, tries.edit)), Some((true, false)), "{address}");
        }
    }
}
