//! What messages may say about a task.

use crate::line::LinePosition;
use domain::{Task, TaskKind};

/// What messages may say about a task.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The present fold of the task's log.
    pub task: &'a Task,
    /// Address of the pull request for people, once there is one; ours.
    pub pull_url: Option<&'a str>,
    /// Whether the model is a recording.
    pub scripted: bool,
    /// Its place in the line for a slot; none if it is not waiting for one.
    pub line: Option<&'a LinePosition>,
}

impl About<'_> {
    /// The command that begins another task of this kind where this one was, with its slash and in backticks.
    pub(super) fn again(&self) -> &'static str {
        match self.task.kind {
            TaskKind::Review => "`/review`",
            TaskKind::Security => "`/security`",
            TaskKind::Deps => "`/deps`",
            TaskKind::Search => "`/search`",
            TaskKind::Explain if self.task.of_a_pull() => "`/explain`",
            TaskKind::Fix | TaskKind::Plan | TaskKind::Explain | TaskKind::Test | TaskKind::Refactor => "`/fix`",
        }
    }
}
