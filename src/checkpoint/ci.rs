//! What a review says of the forge's CI: the end of the wait in a final review, what is known so far in a checkpoint's. Pure. Its texts are
//! untrusted, and only a page of the forge itself becomes a link.

use super::view::CheckpointView;
use crate::text::{code, count};
use domain::{CiCheck, CiEnded, CiOutcome, CiState, Task};
use std::fmt::Write as _;

/// Checks that are named; further ones are counted.
const NAMED: usize = 10;

/// Takes over what is known; `commits_url` is the address of the repository's commits.
pub(super) fn gather(view: &mut CheckpointView, task: &Task, so_far: Vec<CiCheck>, commits_url: Option<&str>) {
    view.ci.clone_from(&task.ci);
    view.ci_so_far = so_far;
    view.pages = commits_url.and_then(|url| url.strip_suffix("/commit/")).map(str::to_owned);
}

/// What stands in the heading of a final review beside the bot's own verdict; empty where there is nothing to add.
pub(super) fn heading(ended: Option<&CiEnded>) -> &'static str {
    match ended.map(|ended| ended.outcome) {
        None | Some(CiOutcome::Passed) => "",
        Some(CiOutcome::Failed) => " · ❌ the forge's CI fails",
        Some(CiOutcome::Late) => " · ⚠️ the forge's CI did not end in time",
        Some(CiOutcome::Nothing) => " · ⚠️ no CI reported",
    }
}

/// The lines of a final review.
pub(super) fn ended(out: &mut String, view: &CheckpointView) {
    let Some(ended) = &view.ci else { return };
    let commit = code(ended.commit.short());
    let all = ended.checks.len();
    let words = match ended.outcome {
        CiOutcome::Passed => format!("✅ {} passed on {commit}:", count(all as u64, "check")),
        CiOutcome::Failed => {
            format!("❌ {} of {} failed on {commit}:", ended.failures().count(), count(all as u64, "check"))
        }
        CiOutcome::Late => format!("⚠️ it did not end in time on {commit}; what is known:"),
        CiOutcome::Nothing => {
            format!("⚠️ no CI reported: within two minutes the forge had no status of {commit} that counts")
        }
    };
    let _ = writeln!(out, "**CI** — {words}{}", named(&ended.checks, view));
}

/// The line of a checkpoint; empty where nothing is waited for, or nothing is known.
pub(super) fn so_far(out: &mut String, view: &CheckpointView) {
    if !view.ci_so_far.is_empty() {
        let _ = writeln!(out, "**CI so far** —{}", named(&view.ci_so_far, view));
    }
}

fn named(checks: &[CiCheck], view: &CheckpointView) -> String {
    let pages = view.pages.as_deref();
    let mut shown: Vec<String> = checks.iter().take(NAMED).map(|check| one(check, pages)).collect();
    if checks.len() > NAMED {
        shown.push(format!("and {} more", checks.len() - NAMED));
    }
    if shown.is_empty() { String::new() } else { format!(" {}", shown.join(" · ")) }
}

fn one(check: &CiCheck, pages: Option<&str>) -> String {
    let sign = match check.state {
        CiState::Passed => "✅",
        CiState::Failed => "❌",
        CiState::Pending => "⏳",
    };
    let said = match check.state {
        CiState::Failed if !check.description.is_empty() => format!(" ({})", code(&check.description)),
        CiState::Passed | CiState::Failed | CiState::Pending => String::new(),
    };
    match (is_ours(&check.url, pages), check.url.is_empty()) {
        (true, _) => format!("{sign} {} [page]({}){said}", code(&check.context), check.url),
        (false, true) => format!("{sign} {}{said}", code(&check.context)),
        (false, false) => format!("{sign} {} at {}{said}", code(&check.context), code(&check.url)),
    }
}

/// Whether it is a page of this repository on the forge, without anything that Markdown could read otherwise.
fn is_ours(url: &str, pages: Option<&str>) -> bool {
    let rest = pages.and_then(|pages| url.strip_prefix(pages)).and_then(|rest| rest.strip_prefix('/'));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Commit;

    fn check(context: &str, state: CiState, url: &str) -> CiCheck {
        let (context, description) = (context.to_owned(), "Failing after 3s".to_owned());
        CiCheck { context, state, description, url: url.to_owned(), log: String::new() }
    }

    fn told(outcome: CiOutcome, checks: Vec<CiCheck>) -> String {
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        let view = CheckpointView {
            ci: Some(CiEnded { n: 1, commit, outcome, checks: checks.clone(), returned: false }),
            ci_so_far: checks,
            pages: Some("https://forge.test/lab/shop".into()),
            ..CheckpointView::default()
        };
        let mut out = format!("{}\n", heading(view.ci.as_ref()));
        ended(&mut out, &view);
        so_far(&mut out, &view);
        out
    }

    #[test]
    fn each_end_of_the_wait_is_told_and_only_the_forges_own_page_is_a_link() {
        let page = "https://forge.test/lab/shop/actions/runs/3/jobs/0";
        let failed = check("a`](http://evil.test) @all", CiState::Failed, "https://forge.test/lab/shop/x)[y](z");
        let texts = [
            told(CiOutcome::Passed, vec![check("build / unit (push)", CiState::Passed, page)]),
            told(CiOutcome::Failed, vec![failed, check("lint", CiState::Passed, "https://ci.test/1")]),
            told(CiOutcome::Late, vec![check("build", CiState::Pending, "")]),
            told(CiOutcome::Nothing, Vec::new()),
            told(CiOutcome::Passed, (0..12).map(|n| check(&n.to_string(), CiState::Passed, "")).collect()),
        ];
        insta::assert_snapshot!("ci", texts.join("---\n"));
    }
}
