//! A model as it is asked in a role, and those that are asked where it does not answer.

use crate::config::process::{Model as Entry, Role};
use crate::config::{Process, Secret};
use crate::engine::EngineConfig;
use crate::engine::style::Style;
use crate::llm::{Model, Models};
use domain::{Task, TaskKind};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The models that work, by what they are asked for.
pub struct Speakers {
    /// The model that works on `/fix`.
    pub worker: Speaker,
    /// The model that answers `/plan`.
    pub planner: Speaker,
}

impl Speakers {
    /// Who answers in this task as it is now: a plan that is carried out is the worker's.
    pub(super) fn of(&self, task: &Task) -> &Speaker {
        match task.kind {
            TaskKind::Fix => &self.worker,
            TaskKind::Plan => &self.planner,
        }
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
        let entry = config.models.of(role);
        let others = config.models.fallbacks(entry).into_iter();
        let fallback = others.filter_map(|other| Some(Self::new(other, models.by_id(&other.id)?, secret))).collect();
        Self { fallback, ..Self::new(entry, models.of(role), secret) }
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
