//! Answers to `/rebase`.

use super::About;
use crate::text::code;
use domain::RebaseBar;

/// `/rebase` was followed.
pub fn rebasing(login: &str, about: &About<'_>) -> String {
    format!(
        "{}: the work is brought onto the newest commit of {}, in a new sandbox. What that commit says (`.caisson.toml`, image, rules, the checks to compare with) holds from then on; budget, plan and allowed hosts stay. A new checkpoint shows all of the work on it; where files conflict, the agent resolves them first.",
        code(login),
        base_branch(about)
    )
}

/// `/rebase` was not followed.
pub fn not_rebased(login: &str, why: &RebaseBar, about: &About<'_>) -> String {
    let branch = base_branch(about);
    let why = match why {
        RebaseBar::NoWork => "a task that changes nothing has no work to bring onto another commit".to_owned(),
        RebaseBar::Later => format!(
            "no checkpoint waits right now (the task is {}). Say it again at the next checkpoint",
            about.state_words()
        ),
        RebaseBar::Paused => "the task is paused. `/resume` it, and say it again at the next checkpoint".to_owned(),
        RebaseBar::Approved => {
            "the work is approved, and `caisson fetch` merges it into a clone that has moved on. `/stop` and `/fix` begin anew from there".to_owned()
        }
        RebaseBar::Early { n } => {
            format!("you said it before checkpoint {n} stood. Look at checkpoint {n}, then say it again")
        }
        RebaseBar::Uncommitted => {
            "the newest tree was not taken, so no commit holds what would be brought along. Have it corrected with `/revise …` first".to_owned()
        }
        RebaseBar::NotMoved => format!("{branch} still ends at the commit that the work stands on"),
        RebaseBar::NoBranch => format!("{branch} is not there any more"),
    };
    format!("{}: nothing was changed: {why}.", code(login))
}

fn base_branch(about: &About<'_>) -> String {
    code(about.task.request.as_ref().map_or("the base branch", |request| &request.base_branch))
}
