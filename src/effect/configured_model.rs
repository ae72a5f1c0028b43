//! The models for each role and repository, and their fallbacks.

use crate::config::process::{Model as Entry, Models as Entries, Role};
use crate::config::{Process, Secret};
use crate::engine::EngineConfig;
use crate::engine::style::Style;
use crate::llm::{Model, Models};
use crate::trouble::Trouble;
use domain::{Task, TaskKind};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The models of each repository.
pub struct ConfiguredModels {
    everywhere: ModelSet,
    /// Models of the repositories that list their own, by key.
    own: HashMap<String, ModelSet>,
    /// Where the results of trial calls are stored.
    pub(super) state_dir: PathBuf,
    /// Id of the entry that is the worker of repositories without models of their own.
    pub(super) worker: String,
}

/// The models of a repository, by role.
struct ModelSet {
    /// Answers in tasks that may change files, where their command names no other.
    worker: ConfiguredModel,
    /// Answers in tasks that only read, where their command names no other.
    planner: ConfiguredModel,
    /// Answer in tasks of one kind, in place of these two.
    commands: Vec<(TaskKind, ConfiguredModel)>,
    /// None if no entry has that role.
    summarizer: Option<ConfiguredModel>,
    /// None if no entry has that role.
    reviewer: Option<ConfiguredModel>,
    /// The models that people may name.
    named: Vec<ConfiguredModel>,
}

impl ModelSet {
    fn new(entries: &Entries, models: &Models, secret: &Secret) -> Self {
        let configured = |role| ConfiguredModel::of(entries, models, role, secret);
        let where_named = |role| entries.names(role).then(|| configured(role));
        let commands = entries.of_commands().filter_map(|(kind, entry)| {
            let model = models.by_id(&entry.id)?;
            Some((kind, ConfiguredModel::with_others(entry, model, entries, models, secret)))
        });
        Self {
            worker: configured(Role::Worker),
            planner: configured(Role::Planner),
            commands: commands.collect(),
            summarizer: where_named(Role::Summarizer),
            reviewer: where_named(Role::Reviewer),
            named: ConfiguredModel::nameable(entries, models, secret),
        }
    }
}

impl ConfiguredModels {
    /// The models of the configuration. `secret` is the key of their conversations' fences.
    pub fn new(config: &Process, models: &Models, secret: &Secret) -> Self {
        let own = config.own_models().map(|(key, entries)| (key.to_owned(), ModelSet::new(&entries, models, secret)));
        Self {
            everywhere: ModelSet::new(&config.models, models, secret),
            own: own.collect(),
            state_dir: config.state_dir.clone(),
            worker: config.models.worker().id.clone(),
        }
    }

    fn set_of(&self, task: &Task) -> &ModelSet {
        let own = task.request.as_ref().and_then(|request| self.own.get(&request.repository));
        own.unwrap_or(&self.everywhere)
    }

    /// The model that summarizes older turns, if one is configured.
    pub(super) fn summarizer(&self, task: &Task) -> Option<&ConfiguredModel> {
        self.set_of(task).summarizer.as_ref()
    }

    /// The model that takes a second look, if one is configured.
    pub(super) fn reviewer(&self, task: &Task) -> Option<&ConfiguredModel> {
        self.set_of(task).reviewer.as_ref()
    }

    /// The planner.
    pub(super) fn planner(&self, task: &Task) -> &ConfiguredModel {
        &self.set_of(task).planner
    }

    /// The model of this task now: the one that a person named, otherwise that of the role which the repository's own command names, of the
    /// command, or of the kind's role. A plan that is carried out belongs to the
    /// worker.
    pub(super) fn of(&self, task: &Task) -> &ConfiguredModel {
        self.by_id(task, task.model.as_deref()).unwrap_or_else(|| self.of_kind(task))
    }

    /// The model at the task's beginning, which decides the style of the whole conversation.
    pub(super) fn first(&self, task: &Task) -> &ConfiguredModel {
        let named = task.request.as_ref().and_then(|request| request.terms.model.as_deref());
        self.by_id(task, named).unwrap_or_else(|| self.of_kind(task))
    }

    /// Checks that the model that a person named may still be named. If not, the task must not be sent to another one instead.
    ///
    /// # Errors
    /// When the task's model is no longer among those that people may name.
    pub(super) fn there(&self, task: &Task) -> Result<(), Trouble> {
        match &task.model {
            Some(id) if self.by_id(task, Some(id)).is_none() => Err(Trouble::blocked(format!(
                "the model `{id}` was named for this task, and people may not name it any more; name another with `/model`"
            ))),
            _ => Ok(()),
        }
    }

    /// Ids of the models that people may name in place of this one.
    pub(super) fn named_beside(&self, task: &Task, id: &str) -> Vec<&str> {
        let named = self.set_of(task).named.iter().map(|configured| configured.entry.id.as_str());
        named.filter(|other| *other != id).collect()
    }

    fn of_kind(&self, task: &Task) -> &ConfiguredModel {
        let set = self.set_of(task);
        // What it was widened to is not what the file is about.
        let request = task.request.as_ref().filter(|request| request.kind == task.kind);
        let own = request.and_then(|request| request.own.as_ref()?.role.as_deref());
        if let Some(role) = Role::ALL.into_iter().find(|role| Some(role.word()) == own) {
            return match role {
                Role::Planner => &set.planner,
                // Without a model of its own each other role is the worker's.
                Role::Reviewer => set.reviewer.as_ref().unwrap_or(&set.worker),
                Role::Worker | Role::Summarizer => &set.worker,
            };
        }
        let role = if task.kind.reads_only() { &set.planner } else { &set.worker };
        set.commands.iter().find(|(kind, _)| *kind == task.kind).map_or(role, |(_, own)| own)
    }

    fn by_id(&self, task: &Task, id: Option<&str>) -> Option<&ConfiguredModel> {
        self.set_of(task).named.iter().find(|configured| id == Some(configured.entry.id.as_str()))
    }
}

/// A model with what its conversations need.
pub struct ConfiguredModel {
    /// Its entry in the configuration.
    pub entry: Entry,
    /// The connection to the model.
    pub model: Arc<dyn Model>,
    /// The operator's settings for its conversations, and the key of their fences.
    pub engine: EngineConfig,
    /// How it is talked to; set when first needed.
    pub style: OnceCell<Style>,
    /// Models that are asked, in this order, if it does not answer; these have no fallbacks of their own.
    pub fallback: Vec<ConfiguredModel>,
}

impl ConfiguredModel {
    fn of(entries: &Entries, models: &Models, role: Role, secret: &Secret) -> Self {
        let entry = entries.of(role);
        let own = models.by_id(&entry.id).filter(|_| entries.is_within());
        Self::with_others(entry, own.unwrap_or_else(|| models.of(role)), entries, models, secret)
    }

    fn nameable(entries: &Entries, models: &Models, secret: &Secret) -> Vec<Self> {
        let opened = entries.nameable().filter_map(|entry| Some((entry, models.by_id(&entry.id)?)));
        opened.map(|(entry, model)| Self::with_others(entry, model, entries, models, secret)).collect()
    }

    fn with_others(entry: &Entry, model: Arc<dyn Model>, entries: &Entries, models: &Models, secret: &Secret) -> Self {
        let others = entries.fallbacks(entry).into_iter();
        let fallback = others.filter_map(|other| Some(Self::new(other, models.by_id(&other.id)?, secret))).collect();
        Self { fallback, ..Self::new(entry, model, secret) }
    }

    fn new(entry: &Entry, model: Arc<dyn Model>, secret: &Secret) -> Self {
        let engine = EngineConfig::of(secret.clone(), entry);
        Self { entry: entry.clone(), model, engine, style: OnceCell::new(), fallback: Vec::new() }
    }

    /// The model itself and its fallbacks, in the order in which they are asked.
    pub fn each(&self) -> Vec<&ConfiguredModel> {
        std::iter::once(self).chain(&self.fallback).collect()
    }
}
