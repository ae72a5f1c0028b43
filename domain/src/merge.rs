//! Merging a task's pull request: what the operator lets happen, what was asked and became of it, and why it is not done.

use crate::{Commit, Decision};
use serde::{Deserialize, Serialize};

/// Whether the bot merges a repository's pull requests, as the operator set it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merging {
    /// It never does.
    #[default]
    Never,
    /// When somebody says `/merge` after the final approval.
    Command,
    /// Right after the final approval; `/merge` asks for it again.
    FinalApproval,
}

/// A pull request that was merged on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The head of the pull request that was merged.
    pub commit: Commit,
    /// Login of the account that merged it, as the forge names it.
    pub by: String,
    /// Login of the person for whom the bot did; none where the bot was not asked, or another account did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// What the log holds about a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "merge", rename_all = "snake_case")]
pub enum MergeStep {
    /// It is going to be asked of the forge.
    Wanted {
        /// The `/merge`, or the final approval, that wants it.
        decision: Box<Decision>,
    },
    /// It was not done: the task stays approved.
    Refused {
        /// Why not.
        why: MergeBar,
    },
    /// The pull request was merged.
    Done(Merged),
}

/// Why a pull request is not merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "bar", rename_all = "snake_case")]
pub enum MergeBar {
    /// The operator's setting does not let the bot do it.
    Off {
        /// The repository's key in the configuration.
        repository: String,
    },
    /// The repository is a copy of another one, which gets the work by `caisson fetch`.
    Copied,
    /// The final review is not approved.
    NotApproved,
    /// The pull request ends at another commit than the approved one, or aims at another branch.
    Moved {
        /// The approved commit.
        commit: Commit,
    },
    /// Whoever wants it, or approved the work, may not write to the repository any more.
    NoRight {
        /// Login of that account.
        login: String,
    },
    /// The rule of the base branch does not make sure that a person approved.
    Unguarded {
        /// What it lacks.
        lack: GuardLack,
        /// Name of the base branch.
        branch: String,
    },
    /// No review by somebody who may write approves exactly this head, or one asks for changes of it.
    NotReviewed,
    /// The forge did not say in time that it can be merged.
    Undecided,
    /// The forge refused it.
    Forge {
        /// What the forge said. Untrusted.
        refusal: String,
    },
}

/// What the rule of a base branch lacks, so that the bot merges nothing into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardLack {
    /// The branch has no rule.
    Rule,
    /// It requires nobody's approval.
    Approvals,
    /// It lets the bot's account push past the approvals.
    PushBar,
    /// It does not let the bot's account merge.
    MergeRight,
}

/// What the forge says of a branch's rule, as it is for the bot's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchGuard {
    /// Whether the branch has a rule.
    pub protected: bool,
    /// How many official approvals a merge takes.
    pub required_approvals: u64,
    /// Whether the account may push to it.
    pub may_push: bool,
    /// Whether the account may merge into it.
    pub may_merge: bool,
}

impl BranchGuard {
    /// What it lacks for a merge by the bot; none where a person's approval is required and nothing leads past it.
    pub fn lack(self) -> Option<GuardLack> {
        match self {
            Self { protected: false, .. } => Some(GuardLack::Rule),
            Self { required_approvals: 0, .. } => Some(GuardLack::Approvals),
            Self { may_push: true, .. } => Some(GuardLack::PushBar),
            Self { may_merge: false, .. } => Some(GuardLack::MergeRight),
            Self { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_lets_a_merge_through_only_with_all_of_its_guard() {
        let good = BranchGuard { protected: true, required_approvals: 1, may_push: false, may_merge: true };
        assert_eq!(good.lack(), None);
        assert_eq!(BranchGuard { protected: false, ..good }.lack(), Some(GuardLack::Rule));
        assert_eq!(BranchGuard { required_approvals: 0, ..good }.lack(), Some(GuardLack::Approvals));
        assert_eq!(BranchGuard { may_push: true, ..good }.lack(), Some(GuardLack::PushBar));
        assert_eq!(BranchGuard { may_merge: false, ..good }.lack(), Some(GuardLack::MergeRight));
    }
}
