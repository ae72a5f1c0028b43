//! `[slots]` and `[repositories.checkpoint]`: how many tasks work at the same time, and how often one asks.

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
