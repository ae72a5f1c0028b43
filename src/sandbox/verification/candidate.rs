//! Tries a candidate in sandboxes of its own, on one commit.
//!
//! Owns the runs of a try, each in a new sandbox: the project's command with the candidate's files, and the issue's own check on the base
//! and with these files. A check that cannot run does not count against the candidate; one that runs on the base and not with the candidate
//! does. Keeps nothing but the output of the check's last run on a base. Tests: `tests/trees/issue_check.rs`.

use std::sync::Arc;

use domain::{Commit, Example, IssueCheck, NewFile};
use protocol::mistakes;
use protocol::runner::{MAX_TEXT, Op, Outcome, Status};
use tokio::sync::Mutex;

use super::issue_check;
use super::output::tail;
use super::runs::{Apart, Runs, gone_is_failed};
use crate::sandbox::{Result, SandboxError, VerifySpec, writes};

/// Limits of one run of the issue's own check: milliseconds and bytes of output.
const CHECK_WALL_MS: u64 = 60_000;
const CHECK_BYTES: u64 = 64 << 10;

/// Tries candidates.
pub struct Candidates {
    runs: Arc<Runs>,
    /// The last run of an issue's own check on a base, with its key, shared by a round of candidates.
    example_base: Mutex<Option<(String, Outcome)>>,
}

impl Candidates {
    pub(in crate::sandbox) fn new(runs: Arc<Runs>) -> Self {
        Self { runs, example_base: Mutex::default() }
    }

    /// Runs `spec.command` on `spec.commit` with `files`; then the issue's check, on the base and with them. Returns the command's outcome,
    /// and the parts of the check that failed before; none where it could not be run.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify). A failure to write files is an outcome, as is a command that
    /// fails.
    pub async fn try_out(
        &self,
        spec: &VerifySpec,
        files: &[NewFile],
        check: Option<&IssueCheck>,
        number: u32,
    ) -> Result<(Outcome, Vec<Example>)> {
        let apart = self.runs.apart(spec, &spec.commit, &format!("try-{number}")).await?;
        let ran = gone_is_failed(over(apart, spec, files).await)?;
        let Some(check) = check else { return Ok((ran, Vec::new())) };
        // One after the other, because simultaneous builds would slow each other.
        let examples = self.examples(spec, files, check, number).await.unwrap_or_else(|error| {
            tracing::info!(task = spec.task, %error, "the issue's own check could not be run");
            Vec::new()
        });
        Ok((ran, examples))
    }

    /// Before: on the base, whatever the work has changed since; after: on `spec.commit` with `files`.
    async fn examples(
        &self,
        spec: &VerifySpec,
        files: &[NewFile],
        check: &IssueCheck,
        number: u32,
    ) -> Result<Vec<Example>> {
        let key = format!(
            "{} {} {} {}\n{}",
            spec.repo_key,
            spec.base.as_str(),
            spec.image,
            check.command,
            check.file.content
        );
        let kept = self.example_base.lock().await.clone().filter(|(of, _)| *of == key);
        let before = match kept {
            Some((_, before)) => before,
            None => {
                let side = format!("before-{number}");
                let Some(before) = self.example_run(spec, &spec.base, &[], check, &side).await? else {
                    return Ok(Vec::new());
                };
                *self.example_base.lock().await = Some((key, before.clone()));
                before
            }
        };
        let after = match self.example_run(spec, &spec.commit, files, check, &format!("after-{number}")).await {
            // It ran on the base, so a candidate that takes down its sandbox fails every part.
            Err(SandboxError::Gone(_)) => {
                Some(Outcome { status: Status::Signaled { signal: 9 }, text: String::new(), ..before.clone() })
            }
            other => other?,
        };
        Ok(after.map(|after| issue_check::compare(check, &before, &after)).unwrap_or_default())
    }

    /// One run of the check; none where it cannot be set up.
    async fn example_run(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        files: &[NewFile],
        check: &IssueCheck,
        side: &str,
    ) -> Result<Option<Outcome>> {
        let apart = match self.runs.apart(spec, commit, side).await {
            // Lost before anything ran in it.
            Err(SandboxError::Gone(_)) => return Ok(None),
            made => made?,
        };
        let run = |id, op| apart.run(id, op, CHECK_WALL_MS.min(spec.wall_ms), CHECK_BYTES);
        // An existing file of the repository with that name must not be overwritten.
        let free = format!("test ! -e '{0}' && test ! -L '{0}'", check.file.path);
        let mut steps = vec![bash(&free)];
        steps.extend((!files.is_empty()).then(|| writes::op(files)));
        steps.push(writes::op(std::slice::from_ref(&check.file)));
        let mut id = 0;
        for step in steps {
            id += 1;
            if run(id, step).await?.status != Status::Ok {
                return Ok(None);
            }
        }
        run(id + 1, bash(&check.command)).await.map(Some)
    }
}

/// Runs the command with these files, in a sandbox that is removed afterwards.
async fn over(apart: Apart, spec: &VerifySpec, files: &[NewFile]) -> Result<Outcome> {
    let written = apart.run(1, writes::op(files), spec.wall_ms, MAX_TEXT).await?;
    if written.status != Status::Ok {
        return Ok(written);
    }
    let command = spec.command.as_deref().unwrap_or("true");
    let mut ran = apart.run(2, bash(command), spec.wall_ms, MAX_TEXT).await?;
    // Cut like the base's run, with which it is compared; output must not imitate the runner's findings.
    ran.text = tail(&ran).replace(mistakes::HEAD, "(mistakes in what was written)");
    if let Some(seen) = mistakes::findings(&written.text) {
        ran.text = format!("{}\n{}\n{seen}\n", ran.text, mistakes::HEAD);
    }
    Ok(ran)
}

fn bash(command: &str) -> Op {
    Op::Bash { command: command.to_owned(), whole: false }
}
