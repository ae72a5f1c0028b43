//! `[slots]`, `[repositories.checkpoint]` and `[repositories.start]`: how many tasks work at the same time, how often one asks, and what begins
//! one without a command.

use domain::{TaskKind, Trigger};
use serde::Deserialize;

/// `[slots]`, within `max_tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// Tasks of one repository that work at the same time; 0 = as many as there are slots.
    pub per_repository: usize,
    /// As `per_repository`, of one person in all repositories of this host.
    pub per_person: usize,
}

/// What a repository has in place of [`Slots`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnSlots {
    /// In place of [`Slots::per_repository`].
    pub per_repository: Option<usize>,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Actions between two approvals, at most [`domain::ACTIONS_PER_CHECKPOINT`], which it is where nothing is said.
    pub every: Option<u8>,
    /// How many people approve each checkpoint, 1 to 5; one where nothing is said.
    pub approvals: Option<u8>,
}

/// What begins work without a command. Nothing does where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// `assigned`, `label:NAME`, `writer`, each once; [`Start::triggers`].
    pub by: Vec<String>,
    /// The command that each of them stands for, `fix` or `plan`; `fix` where nothing is said.
    pub begins: Option<String>,
}

impl Start {
    /// What begins work, in the order of the file.
    pub fn triggers(&self) -> Vec<Trigger> {
        self.by.iter().filter_map(|text| Trigger::parse(text)).collect()
    }

    /// The kind of a task that begins so.
    pub fn kind(&self) -> TaskKind {
        if self.begins.as_deref() == Some(TaskKind::Plan.name()) { TaskKind::Plan } else { TaskKind::Fix }
    }

    /// What is wrong with it: the key, and why.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        for (at, text) in self.by.iter().enumerate() {
            let why = match Trigger::parse(text) {
                None => "is none of \"assigned\", \"label:NAME\" (a label of the repository), \"writer\"",
                Some(_) if self.by[..at].contains(text) => "stands there twice; leave one",
                Some(_) => continue,
            };
            return Some(("by", format!("{text:?} {why}")));
        }
        let known = [TaskKind::Fix.name(), TaskKind::Plan.name()];
        let other = self.begins.as_deref().filter(|text| !known.contains(text));
        other.map(|text| ("begins", format!("{text:?} is neither \"fix\" nor \"plan\"")))
    }
}
