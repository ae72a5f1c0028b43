//! What is said of a pull request that the bot, or somebody else, merged, or that is not merged.

use super::About;
use super::life::MAX_REASON;
use crate::text::{code, fence, prose};
use domain::{GuardLack, MergeBar, Merged};

/// The pull request was merged, which ended the task.
pub fn merged(how: &Merged) -> String {
    let for_whom = how.asked.as_ref().map(|login| format!(" for {}", code(login))).unwrap_or_default();
    format!(
        "Merged at `{}` by {}{for_whom}. The sandbox is gone, this task is done.",
        how.commit.short(),
        code(&how.by)
    )
}

/// The pull request is not merged.
pub fn not_merged(login: &str, why: &MergeBar, about: &About<'_>) -> String {
    let branch = about.task.request.as_ref().map(|it| it.branch.as_str()).unwrap_or_default();
    let fetch = fence(&format!("caisson fetch path/to/your/clone {branch}"), "sh");
    let why = match why {
        MergeBar::Off { repository } => format!(
            "the bot merges nothing in this repository. The operator can allow it: `merge = \"command\"` below `key = {repository:?}` in `[[repositories]]` of caisson.toml. Otherwise bring the work into your clone:\n\n{fetch}"
        ),
        MergeBar::Copied => format!(
            "this repository is a copy of another one, which a merge here would not reach. Bring the work into your clone of that one:\n\n{fetch}"
        ),
        MergeBar::NotApproved => format!(
            "only finally approved work is merged, and the task is {}. {}",
            about.state_words(),
            about.next_words()
        ),
        MergeBar::Moved { commit } => format!(
            "the pull request no longer ends at the approved commit `{}`, or aims at another branch than when the task began.",
            commit.short()
        ),
        MergeBar::NoRight { login } => format!("{} may not write to this repository any more.", code(login)),
        MergeBar::Unguarded { lack, branch } => {
            format!("{} `caisson repo check --fix` sets the rule, then `/merge` tries again.", lacks(*lack, branch))
        }
        MergeBar::NotReviewed => "no review of somebody who may write approves exactly this commit, or one asks for changes of it. Approve it by a review on the pull request's page (`/approve` in a comment is none), then `/merge` tries again.".to_owned(),
        MergeBar::Undecided => "the forge did not say within ten seconds that it can be merged: it still looks for conflicts, or there are some. The pull request's page shows them. Without any, `/merge` tries again; with some, `/retry` begins from the branch as it is now.".to_owned(),
        MergeBar::Forge { refusal } => format!(
            "the forge refuses it: {}. `/merge` tries again.",
            prose(refusal, MAX_REASON).trim_end_matches('.')
        ),
    };
    format!("{}: not merged: {why}", code(login))
}

fn lacks(lack: GuardLack, branch: &str) -> String {
    let branch = code(branch);
    match lack {
        GuardLack::Rule => format!("{branch} has no rule on the forge that requires an approval."),
        GuardLack::Approvals => format!("the forge's rule for {branch} requires nobody's approval."),
        GuardLack::PushBar => format!("the forge's rule for {branch} lets the bot's account push past the approvals."),
        GuardLack::MergeRight => format!("the forge's rule for {branch} does not let the bot's account merge."),
    }
}
