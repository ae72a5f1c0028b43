//! What a text may say about its task.

use crate::line::Standing;
use domain::{Task, TaskKind};

/// What a text may say about its task.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The task as its log stands now.
    pub task: &'a Task,
    /// The pull request's address for people, once there is one; ours.
    pub pull_url: Option<&'a str>,
    /// The model was a recording.
    pub scripted: bool,
    /// Where it stands in line for a slot; none where it does not.
    pub line: Option<&'a Standing>,
}

impl About<'_> {
    /// The command that begins another task of this kind where this one was, with its slash and in backticks.
    pub(super) fn again(&self) -> &'static str {
        match self.task.kind {
            TaskKind::Review => "`/review`",
            TaskKind::Fix | TaskKind::Plan | TaskKind::Explain | TaskKind::Test | TaskKind::Refactor => "`/fix`",
        }
    }
}
