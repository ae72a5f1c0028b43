//! What a review says of the forge's CI: the end of the wait in a final review, what is known so far in a checkpoint's. Pure. Its texts are
//! untrusted, and only a page of the forge itself becomes a link.

use super::view::CheckpointView;
use crate::text::{code, count};
use domain::{CiCheck, CiEnded, CiOutcome, CiState, Event, Task};
use std::fmt::Write as _;

/// Checks that are named; further ones are counted.
const NAMED: usize = 10;

/// Takes over what is known; `from` is where this review's part of the log begins, `commits_url` is the address of the repository's commits.
pub(super) fn gather(
    view: &mut CheckpointView,
    task: &Task,
    (log, from): (&[Event], usize),
    so_far: Vec<CiCheck>,
    commits_url: Option<&str>,
) {
    view.ci_items = super::ci_items::gather(log, from);
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
        Some(CiOutcome::Unread) => " · ⚠️ the forge's CI could not be read",
    }
}

/// The lines of a final review.
pub(super) fn ended(out: &mut String, view: &CheckpointView) {
    let Some(ended) = &view.ci else { return };
    let commit = code(ended.commit.short());
    let all = ended.checks.len() as u64 + u64::from(ended.more);
    let words = match ended.outcome {
        CiOutcome::Passed => format!("✅ {} passed on {commit}:", count(all, "check")),
        CiOutcome::Failed => {
            let failures = ended.failures().count();
            // Failed ones are kept first, so that only a list that is full of them may lack one.
            let least = if ended.more > 0 && failures == ended.checks.len() { "at least " } else { "" };
            format!("❌ {least}{failures} of {} failed on {commit}:", count(all, "check"))
        }
        CiOutcome::Late if ended.checks.is_empty() => format!("⚠️ it did not end in time on {commit}"),
        CiOutcome::Late => format!("⚠️ it did not end in time on {commit}; what is known:"),
        CiOutcome::Nothing => {
            let end = if ended.checks.is_empty() { "" } else { ":" };
            format!("⚠️ no CI reported: the forge has no status of {commit} that counts{end}")
        }
        CiOutcome::Unread => {
            format!("⚠️ not known: the forge did not say what it came to on {commit} when the time to wait was over")
        }
    };
    let _ = writeln!(out, "**CI** — {words}{}", named(&ended.checks, ended.more, view));
}

/// The line of a checkpoint; empty where nothing is waited for, or nothing is known.
pub(super) fn so_far(out: &mut String, view: &CheckpointView) {
    if !view.ci_so_far.is_empty() {
        let _ = writeln!(out, "**CI so far** —{}", named(&view.ci_so_far, 0, view));
    }
}

/// The first checks by name; `more` were not kept.
fn named(checks: &[CiCheck], more: u32, view: &CheckpointView) -> String {
    let pages = view.pages.as_deref();
    let mut shown: Vec<String> = checks.iter().take(NAMED).map(|check| one(check, pages)).collect();
    let more = checks.len().saturating_sub(NAMED) as u64 + u64::from(more);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    if shown.is_empty() { String::new() } else { format!(" {}", shown.join(" · ")) }
}

fn one(check: &CiCheck, pages: Option<&str>) -> String {
    let sign = match check.state {
        CiState::Passed => "✅",
        CiState::Failed => "❌",
        CiState::Pending => "⏳",
        CiState::Missing => "⚠️",
    };
    let said = match check.state {
        CiState::Failed if !check.description.is_empty() => format!(" ({})", code(&check.description)),
        CiState::Missing => " never reported".to_owned(),
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
            ci: Some(CiEnded {
                n: 1,
                commit,
                outcome,
                checks: checks.clone(),
                more: 0,
                returned: false,
                upstream: false,
            }),
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
        let mut failed = check("a`](http://evil.test) @all", CiState::Failed, "https://forge.test/lab/shop/x)[y](z");
        failed.description = "@all ](http://evil.test) `x".to_owned();
        let texts = [
            told(CiOutcome::Passed, vec![check("build / unit (push)", CiState::Passed, page)]),
            told(CiOutcome::Failed, vec![failed, check("lint", CiState::Passed, "https://ci.test/1")]),
            told(CiOutcome::Late, vec![check("build", CiState::Pending, "")]),
            told(CiOutcome::Nothing, Vec::new()),
            told(CiOutcome::Late, Vec::new()),
            told(CiOutcome::Nothing, vec![check("build", CiState::Missing, "")]),
            told(CiOutcome::Unread, Vec::new()),
            told(CiOutcome::Passed, (0..12).map(|n| check(&n.to_string(), CiState::Passed, "")).collect()),
        ];
        insta::assert_snapshot!("ci", texts.join("---\n"));
    }

    #[test]
    fn checks_that_were_not_kept_are_counted() {
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        let checks = vec![check("build", CiState::Failed, ""); 50];
        let ended_so =
            CiEnded { n: 1, commit, outcome: CiOutcome::Failed, checks, more: 7, returned: false, upstream: false };
        let mut out = String::new();
        ended(&mut out, &CheckpointView { ci: Some(ended_so), ..CheckpointView::default() });
        assert!(out.contains("at least 50 of 57 checks failed") && out.contains("and 47 more"), "{out}");
    }
}
