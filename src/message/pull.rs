//! The pull request, the commits on its branch, and the lines of the commit status.

use crate::checkpoint::label::status_text;
use crate::checkpoint::view::VerdictKind;
use crate::text::plain_line;
use crate::text::prose;
use domain::{Commit, PlanStep, StepState};

/// Characters of a title.
const MAX_TITLE: usize = 80;

/// What a title begins with as long as its pull request is a draft: the forge doesn't let one be merged.
pub const DRAFT: &str = "WIP: ";

/// A draft's title. The issue's title is foreign: only plain words of it remain.
pub fn pull_title(issue_title: &str) -> String {
    match plain_line(issue_title, MAX_TITLE).as_str() {
        "" => format!("{DRAFT}work on an issue"),
        title => format!("{DRAFT}{title}"),
    }
}

/// What stands around the check list in a pull request's text.
const PLAN_BEGINS: &str = "<!-- caisson:plan -->";
const PLAN_ENDS: &str = "<!-- caisson:plan-end -->";
/// Characters of a step that are shown.
const MAX_STEP: usize = 200;

/// The task's plan as a check list between its marks. The steps are foreign.
fn plan_list(steps: &[PlanStep]) -> String {
    let line = |step: &PlanStep| {
        // No step is one of the marks, also where pieces of it come together.
        let text = prose(&step.text, MAX_STEP).replace("<!--", "<! --");
        match step.state {
            StepState::Open => format!("- [ ] {text}\n"),
            StepState::Doing => format!("- [ ] {text} (under way)\n"),
            StepState::Done => format!("- [x] {text}\n"),
            StepState::Dropped => format!("- [x] {text} (dropped)\n"),
        }
    };
    let list: String = steps.iter().map(line).collect();
    let head = if list.is_empty() { "" } else { "**The plan**, as of the newest checkpoint:\n\n" };
    format!("{PLAN_BEGINS}\n{head}{list}{PLAN_ENDS}")
}

/// A pull request's text with this plan in the place of the one before; none where nothing changes, or where somebody took the place out.
pub fn with_plan(body: &str, steps: &[PlanStep]) -> Option<String> {
    let (before, rest) = body.split_once(PLAN_BEGINS)?;
    let (_, after) = rest.split_once(PLAN_ENDS)?;
    let new = format!("{before}{}{after}", plan_list(steps));
    (new != body).then_some(new)
}

/// The pull request's body: how it works, for somebody who meets it for the first time.
pub fn pull_body(issue: u64, task: i64, steps: &[PlanStep]) -> String {
    let plan = plan_list(steps);
    format!(
        "Fixes #{issue}\n\nTask {task}. An agent works on this in a sealed container. After at most five actions it stops, and a review here shows what it did; \
         nothing goes on until somebody who may write to the repository approves that review. The last review says what the bot's own run of the checks gave.\n\n\
         Answer on the review, or with a command (`/help` lists them). Don't push to this branch: the bot would stop rather than overwrite you.\n\n{plan}\n"
    )
}

/// A checkpoint's commit message. Of our words and numbers only: a forge acts on messages.
pub fn commit(issue: u64, n: u32, done: bool) -> String {
    let what = if done { "finished work" } else { "work in progress" };
    format!(
        "Checkpoint {n}: {what} on issue {issue}\n\nMade by Caisson from the tree of a sandbox; what the agent says stands in the review.\n"
    )
}

/// The message of a commit that no branch has: what a sandbox held when it was put away.
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
        "the branch `{branch}` {found_at} but I left it at {}; put it back (or delete it, if I had not pushed yet)",
        at(expected)
    )
}

/// The commit status with checkpoint and verdict.
pub fn status_line(state: &str, n: u32, verdict: Option<&domain::Verdict>) -> String {
    let kind = verdict.map(|v| match v.kind {
        domain::VerdictKind::Passed => VerdictKind::Passed,
        domain::VerdictKind::Failed => VerdictKind::Failed,
        domain::VerdictKind::None => VerdictKind::None,
    });
    status_text(state, n, kind, verdict.and_then(|v| v.exit_code))
}
