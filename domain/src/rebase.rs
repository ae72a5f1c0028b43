//! A task's move onto a newer commit of its base branch (`/rebase`): what is wanted, what was done, and why it is not done.

use crate::{Commit, Task};
use serde::{Deserialize, Serialize};

/// What an [`crate::Event::Rebased`] says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebased {
    /// The base before.
    pub from: Commit,
    /// The base from now on.
    pub onto: Commit,
    /// The newest commit of the work on the base before.
    pub head: Commit,
    /// Files that could not be merged by themselves, as the sandbox named them. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// A move that somebody asked for, from the decision until a commit on the new base holds the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebase {
    /// The base before.
    pub from: Commit,
    /// The newest commit of the work on the base before.
    pub head: Commit,
    /// The new base; none before the sandbox is prepared on it.
    pub onto: Option<Commit>,
    /// Whether the work was at its final review.
    pub done: bool,
}

/// Why a `/rebase` is not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "bar", rename_all = "snake_case")]
pub enum RebaseBar {
    /// A task of this kind has no work to bring along.
    NoWork,
    /// No checkpoint waits for a decision: to be said at the next one.
    Later,
    /// The task is paused: first to be resumed.
    Paused,
    /// The work is approved already.
    Approved,
    /// It was said before this checkpoint stood.
    Early {
        /// Number of the checkpoint.
        n: u32,
    },
    /// The newest tree was refused, so what the sandbox holds is in no checkpoint's commit.
    Uncommitted,
    /// The base branch still ends at the task's base.
    NotMoved,
    /// The forge has no branch of this name any more.
    NoBranch,
}

impl Task {
    /// The move that was asked for and whose sandbox is not prepared yet.
    pub fn rebase_wanted(&self) -> Option<&Rebase> {
        self.rebase.as_ref().filter(|rebase| rebase.onto.is_none())
    }

    /// What a new sandbox has to merge onto the base, because no commit on the base holds it: the work between these two commits.
    pub fn to_merge(&self) -> Option<(&Commit, &Commit)> {
        let moved = self.rebase.as_ref().filter(|rebase| rebase.onto.is_some() && self.kept.is_none())?;
        Some((&moved.from, &moved.head))
    }

    /// Whether a new sandbox would hold all work of the lost one that git does not ignore, although no checkpoint has it.
    pub fn can_be_remade(&self) -> bool {
        !self.uncommitted && (self.kept.is_some() || self.to_merge().is_some())
    }

    /// The newest commit of its work, on its present base, that the forge has; the base before the first.
    pub fn on_the_forge(&self) -> Option<&Commit> {
        self.pushed.as_ref().filter(|_| !self.replaces).or(self.base.as_ref())
    }

    /// The move as it was asked for just now. While no commit holds the work on the base of an earlier move, `head` is that bare base, and
    /// the work is still the one between the commits of the earlier move.
    pub(crate) fn want_rebase(&mut self) {
        let done = matches!(self.state, crate::State::FinalReview { .. });
        let work = match self.rebase.take() {
            Some(pending) => Some((pending.from, pending.head)),
            None => self.base.clone().zip(self.head.clone()),
        };
        self.rebase = work.map(|(from, head)| Rebase { from, head, onto: None, done });
    }

    /// The sandbox holds the work on the new base. It can be made again from the log, so nothing of it is uncommitted work.
    pub(crate) fn rebased(&mut self, it: &Rebased) {
        let done = self.rebase.as_ref().is_some_and(|rebase| rebase.done);
        let (from, head, onto) = (it.from.clone(), it.head.clone(), it.onto.clone());
        (self.base, self.head) = (Some(onto.clone()), Some(onto.clone()));
        self.rebase = Some(Rebase { from, head, onto: Some(onto), done });
        self.replaces = self.pushed.is_some();
        // What the work's own commit holds of an earlier conflict comes along, and conflicts with nothing any more.
        let left = self.marked.iter().filter(|path| !it.conflicts.contains(path));
        self.conflicts = it.conflicts.iter().chain(left).cloned().collect();
        (self.kept, self.uncommitted, self.not_kept) = (None, false, false);
    }
}
