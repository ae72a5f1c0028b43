//! Approvals given in advance (`/approve next 3`): their content, what they never cover, and how they end early.
//!
//! Each use is a decision of its own in the log, after the approval was read again: `transition/advance.rs`.

use crate::{Account, Commit, Decision, Source, Task, Verb};
use serde::{Deserialize, Serialize};

/// One approval in advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The comment or review that gave it.
    pub source: Source,
    /// Account that gave it.
    pub poster: Account,
    /// SHA-256 of its text when it was given, in hexadecimal; a later look must find the same.
    pub text_hash: String,
    /// Checkpoints that it may still be used for, at most [`crate::ADVANCE_LIMIT`].
    pub left: u8,
}

impl Advance {
    /// The approval in advance that remains after a decision was used: one used in advance counts down, any other replaces it.
    pub(crate) fn after(before: Option<Advance>, used: &Decision) -> Option<Advance> {
        let left = match (&used.verb, used.in_advance) {
            (_, true) => before.map_or(0, |advance| advance.left.saturating_sub(1)),
            (Verb::Approve { next, .. }, false) => (*next).min(crate::ADVANCE_LIMIT),
            (_, false) => 0,
        };
        let (source, poster, text_hash) = (used.source.clone(), used.poster.clone(), used.text_hash.clone());
        (left > 0).then_some(Advance { source, poster, text_hash, left })
    }
}

/// Why a checkpoint waits for a person although one approved in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It is the final review, which is never covered.
    Final,
    /// There is no commit on the forge to compare with: the tree was refused, or there is no pull request.
    NoCommit,
    /// A file that defines or steers tests was changed.
    Steering,
    /// Marks of a conflict are left in files that could not be merged onto a newer base by themselves.
    Conflicts,
    /// Hosts were refused.
    Blocked,
    /// The hosts that the task may reach were changed.
    Egress,
    /// Much was sent to a host, or may have been.
    Upload,
    /// The review cannot show all of the change.
    Unseen,
}

/// How an approval in advance ended before it was used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Ending {
    /// Somebody with write access said something else.
    #[serde(rename = "said")]
    Overtaken {
        /// Login of that person.
        login: String,
    },
    /// The task was paused.
    Paused,
    /// The review of the checkpoint that stood was edited or deleted on the forge.
    Voided,
    /// Its text was deleted, dismissed or changed.
    Withdrawn,
    /// The account that gave it may no longer write to the repository's code, is none of those whom the operator lets approve this checkpoint,
    /// or cannot approve it alone any more.
    NoRight,
    /// The pull request's branch no longer ends at the checkpoint's commit.
    Moved {
        /// Commit of the checkpoint, where the branch was to end.
        commit: Commit,
    },
    /// The pull request now aims at another branch than the task's base branch.
    Retargeted,
}

impl Task {
    /// Why the checkpoint that is being published is not covered by an approval in advance, judged by the log alone.
    pub fn risk(&self, last: bool) -> Option<Risk> {
        if last {
            Some(Risk::Final)
        } else if self.captured.is_none() || self.pull.is_none() {
            Some(Risk::NoCommit)
        } else if self.steering {
            Some(Risk::Steering)
        } else if !self.marked.is_empty() {
            Some(Risk::Conflicts)
        } else if self.reach_changed {
            Some(Risk::Egress)
        } else {
            None
        }
    }
}
