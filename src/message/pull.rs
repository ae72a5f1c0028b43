//! The pull request, the commits on its branch, and the lines of the commit status.

use crate::checkpoint::label::status_text;
use crate::text::{code, prose, title_line, unreferring};
use domain::{ApprovedStart, Commit, Earlier, PlanStep, StepState, TaskId};

/// The most characters of a title.
const MAX_TITLE: usize = 80;

/// Prefix of a draft's title; the forge does not let such a pull request be merged.
pub const DRAFT: &str = "WIP: ";

/// A draft's title. The issue's title is foreign, so only its plain words are used.
pub fn pull_title(issue_title: &str) -> String {
    match title_line(issue_title, MAX_TITLE).as_str() {
        "" => format!("{DRAFT}work on an issue"),
        title => format!("{DRAFT}{title}"),
    }
}

/// The marks around the check list in a pull request's text.
const PLAN_BEGINS: &str = "<!-- caisson:plan -->";
const PLAN_ENDS: &str = "<!-- caisson:plan-end -->";
/// The most characters shown of a step.
const MAX_STEP: usize = 200;

/// A step as a line of a check list, with its line feed. Its text is foreign.
pub(super) fn plan_line(step: &PlanStep) -> String {
    // A step must not contain a mark, even when parts of one are joined.
    let text = prose(&step.text, MAX_STEP).replace("<!--", "<! --");
    match step.state {
        StepState::Open => format!("- [ ] {text}\n"),
        StepState::Doing => format!("- [ ] {text} (under way)\n"),
        StepState::Done => format!("- [x] {text}\n"),
        StepState::Dropped => format!("- [x] {text} (dropped)\n"),
    }
}

/// The task's plan as a check list between its marks. The steps are foreign, and the forge proposes a pull request's text as the message of the
/// one commit that all of its work is merged as: issues that such a message names are closed, also in code.
fn plan_list(steps: &[PlanStep]) -> String {
    let list: String = steps.iter().map(|step| unreferring(&plan_line(step)).into_owned()).collect();
    let head = if list.is_empty() { "" } else { "**The plan**, as of the newest checkpoint:\n\n" };
    format!("{PLAN_BEGINS}\n{head}{list}{PLAN_ENDS}")
}

/// A pull request's text with this plan in place of the previous one; none if nothing changes, or if somebody removed the marks.
pub fn with_plan(body: &str, steps: &[PlanStep]) -> Option<String> {
    let (before, rest) = body.split_once(PLAN_BEGINS)?;
    let (_, after) = rest.split_once(PLAN_ENDS)?;
    let new = format!("{before}{}{after}", plan_list(steps));
    (new != body).then_some(new)
}

/// The pull request's text, which explains how it works to somebody new to it.
pub fn pull_body(issue: u64, task: i64, steps: &[PlanStep], earlier: Option<&Earlier>) -> String {
    let plan = plan_list(steps);
    let start = earlier.and_then(|earlier| Some((earlier.task, earlier.from.as_deref()?)));
    let start = start
        .map(|(before, start)| format!("Of task {before} it has what was approved there. {}\n\n", goes_on_from(start)));
    let start = start.unwrap_or_default();
    format!(
        "Fixes #{issue}\n\n{start}Task {task}. An agent works on this in a sealed container. After at most five actions it stops, and a review here shows what it did; \
         nothing goes on until somebody who may write to the repository approves that review. The last review says what the bot's own run of the checks gave.\n\n\
         Answer on the review, or with a command (`/help` lists them). Only the bot pushes to this branch: the forge refuses anybody else, and where it moved all the same, the bot stops rather than overwrite it.\n\n{plan}\n"
    )
}

/// That a new attempt goes on from a checkpoint of the one before: what of it was approved, and by whom.
pub fn goes_on_from(start: &ApprovedStart) -> String {
    format!(
        "The work begins from checkpoint {} of the attempt before, which {} approved: commit `{}` on the base `{}`. What that changed is in this branch too, beside what the reviews list, and the checks are about all of it.",
        start.n,
        code(&start.by.login),
        start.commit.short(),
        start.base.short()
    )
}

/// Why no attempt begins from a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoStart {
    /// There is none of this number with a commit that somebody approved.
    NotApproved,
    /// The base branch has not, or no longer, the base on which it stands.
    OtherBase,
    /// Its commit is neither here nor on the forge.
    Gone,
}

/// The answer to a `/retry` from such a checkpoint.
pub fn no_start(login: &str, task: TaskId, n: u32, why: NoStart) -> String {
    let why = match why {
        NoStart::NotApproved => "no commit of that number was approved there, and what nobody approved is no beginning",
        NoStart::OtherBase => "the base on which it stands is not on the base branch any more",
        NoStart::Gone => "its commit is neither here nor on the forge any more",
    };
    format!(
        "{}: no attempt begins from checkpoint {n} of task {task}: {why}. Nothing was ended or begun; `/retry` begins from the base.",
        code(login)
    )
}

/// A checkpoint's commit message: only our words and numbers, because a forge acts on messages.
pub fn commit(issue: u64, n: u32, done: bool) -> String {
    let what = if done { "finished work" } else { "work in progress" };
    format!(
        "Checkpoint {n}: {what} on issue {issue}\n\nMade by Caisson from the tree of a sandbox; what the agent says stands in the review.\n"
    )
}

/// The message of a commit that is on no branch: the contents of a suspended sandbox.
pub fn kept(issue: u64) -> String {
    format!(
        "Kept: work in progress on issue {issue}\n\nMade by Caisson from the tree of a sandbox that was put away.\n"
    )
}

/// Somebody else pushed to the agent's branch.
pub fn branch_moved(branch: &str, found: Option<&Commit>, expected: Option<&Commit>) -> String {
    let at = |commit: Option<&Commit>| {
        commit.map_or("nothing".to_owned(), |c| c.as_str().get(..10).unwrap_or_default().to_owned())
    };
    let found_at = match found {
        Some(_) => format!("is at {}", at(found)),
        None => "is gone".to_owned(),
    };
    format!(
        "the branch `{branch}` {found_at} but I left it at {}, and only the bot pushes to it: it stops rather than overwrite what is there. Put the branch back (or delete it, if I had not pushed yet)",
        at(expected)
    )
}

/// The forge does not take work that was brought onto a newer base in the place of what its branch has; `error` is what git said.
pub fn not_replaced(error: &str, key: &str) -> String {
    format!(
        "work on a newer base replaces what the branch had, which was refused: `caisson repo check {key} --fix` has the forge's rule let the bot do that. A forge that lets nobody (Gitea before 1.23, Forgejo) takes no `/rebase`, and `/retry` begins anew there. git said: {error}"
    )
}

/// The description of the commit status: checkpoint and verdict.
pub fn status_line(state: &str, n: u32, verdict: Option<&domain::Verdict>) -> String {
    status_text(state, n, verdict.map(domain::Verdict::case), verdict.and_then(|v| v.exit_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_plan_closes_nothing_where_the_text_becomes_a_commits_message() {
        let words = "`x closes #5, lab/shop!6 @8h, fixes GH-7 and http://forge.example/lab/shop/issues/8 y`";
        let steps: Vec<PlanStep> = PlanStep::new(words, StepState::Open).into_iter().collect();
        let body = pull_body(1, 7, &steps, None);
        let apart =
            "- [ ] `x closes # 5, lab/shop! 6 @ 8h, fixes GH- 7 and http:// forge.example/lab/shop/issues/8 y`\n";
        assert!(body.starts_with("Fixes #1\n") && body.contains(apart), "{body}");
        assert_eq!(with_plan(&body, &steps), None, "nothing changes");
    }
}
