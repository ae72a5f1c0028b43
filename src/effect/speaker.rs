//! A model as it is asked in a role, and those that are asked where it does not answer.

use crate::config::process::{Model as Entry, Role};
use crate::config::{Process, Secret};
use crate::engine::EngineConfig;
use crate::engine::style::Style;
use crate::llm::{Model, Models};
use crate::trouble::Trouble;
use domain::Task;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The models that work, by what they are asked for.
pub struct Speakers {
    /// The model that works on `/fix`.
    pub worker: Speaker,
    /// The model that answers `/plan`.
    pub planner: Speaker,
    /// Those that people may name.
    pub named: Vec<Speaker>,
}

impl Speakers {
    /// Who answers in this task as it is now: whom a person named, otherwise whose role it is. A plan that is carried out is the worker's.
    pub(super) fn of(&self, task: &Task) -> &Speaker {
        self.by_id(task.model.as_deref()).unwrap_or_else(|| self.of_role(task))
    }

    /// Who was to answer when the task began: how all are talked to follows from that one.
    pub(super) fn first(&self, task: &Task) -> &Speaker {
        let named = task.request.as_ref().and_then(|request| request.terms.model.as_deref());
        self.by_id(named).unwrap_or_else(|| self.of_role(task))
    }

    /// What a person named goes to no other model because the operator took that one away.
    ///
    /// # Errors
    /// When the model that the task is to ask is none of those that people may name.
    pub(super) fn there(&self, task: &Task) -> Result<(), Trouble> {
        match &task.model {
            Some(id) if self.by_id(Some(id)).is_none() => Err(Trouble::blocked(format!(
                "the model `{id}` was named for this task, and people may not name it any more; name another with `/model`"
            ))),
            _ => Ok(()),
        }
    }

    fn of_role(&self, task: &Task) -> &Speaker {
        if task.kind.reads_only() { &self.planner } else { &self.worker }
    }

    fn by_id(&self, id: Option<&str>) -> Option<&Speaker> {
        self.named.iter().find(|speaker| id == Some(speaker.entry.id.as_str()))
    }
}

/// A model, and what every conversation with it is made from.
pub struct Speaker {
    /// Its entry in the configuration.
    pub entry: Entry,
    /// The model that is asked.
    pub model: Arc<dyn Model>,
    /// What the operator set for its conversations, and the key of their fences.
    pub engine: EngineConfig,
    /// How it is talked to, once it is known.
    pub style: OnceCell<Style>,
    /// Who is asked, in this order, where it does not answer; they have none of their own.
    pub fallback: Vec<Speaker>,
}

impl Speaker {
    /// The configuration's model for a role. `secret` keys the marks of its conversations.
    pub fn of(config: &Process, models: &Models, role: Role, secret: &Secret) -> Self {
        Self::with_others(config.models.of(role), models.of(role), config, models, secret)
    }

    /// Each of the configuration's models that people may name.
    pub fn nameable(config: &Process, models: &Models, secret: &Secret) -> Vec<Self> {
        let opened = config.models.nameable().filter_map(|entry| Some((entry, models.by_id(&entry.id)?)));
        opened.map(|(entry, model)| Self::with_others(entry, model, config, models, secret)).collect()
    }

    fn with_others(entry: &Entry, model: Arc<dyn Model>, config: &Process, models: &Models, secret: &Secret) -> Self {
        let others = config.models.fallbacks(entry).into_iter();
        let fallback = others.filter_map(|other| Some(Self::new(other, models.by_id(&other.id)?, secret))).collect();
        Self { fallback, ..Self::new(entry, model, secret) }
    }

    fn new(entry: &Entry, model: Arc<dyn Model>, secret: &Secret) -> Self {
        let engine = EngineConfig::of(secret.clone(), entry);
        Self { entry: entry.clone(), model, engine, style: OnceCell::new(), fallback: Vec::new() }
    }

    /// Itself and those that stand in for it, in the order in which they are asked.
    pub fn each(&self) -> Vec<&Speaker> {
        std::iter::once(self).chain(&self.fallback).collect()
    }
}
