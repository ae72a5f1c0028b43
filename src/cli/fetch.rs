//! `caisson fetch <clone> <branch>`: brings an approved branch into your clone.
//!
//! Owns flags and wording; what is done and refused is `crate::fetch`. Tests: `tests/trees.rs`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::printer::{Complaint, Printer};
use crate::fetch::{ApprovedSource, Brought, FetchRequest, Propose, Refusal, fetch, place};
use crate::text::one_line;

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
    /// Make a branch of the same name; otherwise the changes come into the work tree, unstaged
    #[arg(long)]
    pub as_branch: bool,
    /// Open a pull request on the upstream (GitHub) instead, with a token of yours; your clone stays as it is
    #[arg(long, conflicts_with = "as_branch", requires = "token_file")]
    pub open_pr: bool,
    /// A file (mode 0600) with your token, which may write contents and pull requests there
    #[arg(long, value_name = "FILE", requires = "open_pr")]
    pub token_file: Option<PathBuf>,
    /// Your fork, where you may not push to the upstream itself
    #[arg(long, value_name = "OWNER/NAME", requires = "open_pr")]
    pub fork: Option<String>,
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
            as_branch: self.as_branch,
            accept: self.accept,
            unreviewed: self.unreviewed,
            unverified: self.unverified,
            propose: self.token_file.filter(|_| self.open_pr).map(|token_file| Propose { token_file, fork: self.fork }),
        };
        let brought = fetch(&wanted, source).await.map_err(complaint)?;
        report(&Printer::terminal(), &brought, &place);
        Ok(())
    }
}

fn complaint(refusal: Refusal) -> Complaint {
    let mut complaint = Complaint::new(refusal.what);
    for reason in refusal.reasons {
        complaint = complaint.because(reason);
    }
    complaint.attempt(refusal.attempt)
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
