//! `caisson fetch <clone> <branch>`: brings an approved branch into your clone.
//!
//! Owns flags and wording; what is done and refused is `crate::fetch`. Tests: `tests/trees.rs`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::printer::{Complaint, Printer};
use crate::fetch::{ApprovedSource, Brought, FetchRequest, Pace, Propose, Refusal, UpstreamCi, fetch, place};
use crate::text::{count, one_line, plain_line};
use domain::CiState;

/// The most characters of a line about one check.
const LONGEST: usize = 400;

/// Bring an approved branch home into your clone.
///
/// Takes exactly the commit that was finally approved, while the approval stands, and judges every file before the first
/// one is written. What it refuses leaves your clone as it was. Your clone's hooks, filters and configuration don't run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  caisson fetch ~/src/project agent/7-fix-the-sum\n  \
    caisson fetch ~/src/project agent/7-fix-the-sum --as-branch\n  \
    caisson fetch . agent/9-ci --accept .github/workflows/test.yml\n  \
    caisson fetch ~/src/project agent/7-fix-the-sum --open-pr --token-file ~/.config/github-token")]
pub struct FetchArgs {
    /// Your clone (any directory in it)
    #[arg(value_name = "CLONE")]
    pub clone: PathBuf,
    /// The branch, as the pull request names it
    #[arg(value_name = "BRANCH")]
    pub branch: String,
    /// The key of the branch's repository, where several have one of this name, or your clone shares no history with it
    #[arg(long, value_name = "KEY")]
    pub repository: Option<String>,
    /// Make a branch of the same name; otherwise the changes come into the work tree, unstaged
    #[arg(long)]
    pub as_branch: bool,
    /// Open a pull request on the upstream (GitHub) instead, with a token of yours; your clone stays as it is
    #[arg(long, conflicts_with = "as_branch", requires = "token_file")]
    pub open_pr: bool,
    /// A file (mode 0600) with your token, which may write contents and pull requests there; with --wait-ci it may read commit statuses and
    /// checks, too
    #[arg(long, value_name = "FILE", requires = "open_pr")]
    pub token_file: Option<PathBuf>,
    /// Your fork, where you may not push to the upstream itself
    #[arg(long, value_name = "OWNER/NAME", requires = "open_pr")]
    pub fork: Option<String>,
    /// Wait for the upstream's CI on the pull request, at most so many minutes (60 where none are named), and name what failed
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, default_missing_value = "60", requires = "open_pr")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub wait_ci: Option<u64>,
    /// Take this file although it acts by itself (editor tasks, hooks, agent instructions, links …); once for each
    #[arg(long, value_name = "PATH")]
    pub accept: Vec<String>,
    /// Take the newest commit although nobody gave the final approval
    #[arg(long)]
    pub unreviewed: bool,
    /// Take it although its tests failed, or there are none
    #[arg(long)]
    pub unverified: bool,
}

impl FetchArgs {
    /// Fetches the branch and prints what was done.
    ///
    /// # Errors
    /// A [`Complaint`] with the reasons; the clone is then unchanged.
    pub async fn run(self, source: &dyn ApprovedSource) -> Result<()> {
        let place = place(&self.clone);
        let wanted = FetchRequest {
            clone: self.clone,
            branch: self.branch,
            repository: self.repository,
            as_branch: self.as_branch,
            accept: self.accept,
            unreviewed: self.unreviewed,
            unverified: self.unverified,
            propose: self.token_file.filter(|_| self.open_pr).map(|token_file| Propose {
                token_file,
                fork: self.fork,
                wait_ci: self.wait_ci.map(Pace::minutes),
            }),
        };
        let brought = fetch(&wanted, source).await.map_err(complaint)?;
        let printer = Printer::terminal();
        report(&printer, &brought, &place);
        brought.ci.as_ref().map_or(Ok(()), |ci| report_ci(&printer, ci))
    }
}

fn complaint(refusal: Refusal) -> Complaint {
    let mut complaint = Complaint::new(refusal.what);
    for reason in refusal.reasons {
        complaint = complaint.because(reason);
    }
    complaint.hint(refusal.hint)
}

/// What the upstream's CI said; a failure is the command's.
fn report_ci(printer: &Printer, ci: &UpstreamCi) -> Result<()> {
    let hint = "look at the pull request: it is open, and nothing was taken back";
    let failed = |what: String| Err(Complaint::new(what).hint(hint).into());
    match ci {
        UpstreamCi::Nothing => printer.warn("no CI reported: the upstream has no check of this commit"),
        UpstreamCi::Unknown(why) => return failed(format!("what the upstream's CI says is not known: {why}")),
        UpstreamCi::Ended(checks) | UpstreamCi::Late(checks) => {
            let mut failures = 0;
            for check in checks.iter().filter(|check| check.state == CiState::Failed) {
                failures += 1;
                let line = format!("{}: {} {}", check.context, check.description, check.url);
                printer.bad(&plain_line(&line, LONGEST));
            }
            let late = matches!(ci, UpstreamCi::Late(_));
            let all = count(checks.len() as u64, "check");
            match (failures, late) {
                (0, false) => printer.good(&format!("the upstream's CI passed: {all}")),
                (0, true) => {
                    return failed(format!("the upstream's CI did not end in time: {all} so far, none failed"));
                }
                (failures, _) => return failed(format!("the upstream's CI failed: {failures} of {all}")),
            }
        }
    }
    Ok(())
}

fn report(printer: &Printer, brought: &Brought, place: &str) {
    for warning in &brought.warnings {
        printer.bad(warning);
    }
    for (status, path) in &brought.files {
        printer.say(&format!("  {status} {}", one_line(path)));
    }
    for note in &brought.notes {
        printer.warn(note);
    }
    let count = brought.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let commit = brought.commit.short();
    if let Some(pull) = &brought.pull {
        let how = if pull.known { "is open already" } else { "is open" };
        printer.good(&format!("pull request {} with {commit} {how}: {files} changed", pull.number));
        return printer.hint(&pull.url);
    }
    match &brought.branch {
        Some(branch) => {
            printer.good(&format!("{place} has the branch {branch} at {commit}: {files} changed"));
            printer.hint(&format!("git switch {branch}"));
        }
        None if count == 0 => printer.good(&format!("{place} holds everything of {commit} already")),
        None => {
            let how = if brought.merged { ", merged with what you have" } else { "" };
            printer.good(&format!("{files} of {commit} changed in {place}, unstaged{how}"));
            printer.hint("git diff");
        }
    }
}
