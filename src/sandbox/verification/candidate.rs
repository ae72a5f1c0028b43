//! A candidate for the work, tried in sandboxes of its own over one commit.
//!
//! Owns the runs of a try, each in a sandbox that no other entered: the project's command over the candidate's files, and the
//! issue's own check on the base and after them. A check that cannot be run is not held against the candidate; one that runs on the base and
//! not under the candidate is. Of the copies nothing is kept, of the check's last run on a base what it printed. Tests: `tests/trees/issue_check.rs`.

use std::sync::Arc;

use domain::{Commit, Example, IssueCheck, NewFile};
use protocol::mistakes;
use protocol::runner::{MAX_TEXT, Op, Outcome, Status};
use tokio::sync::Mutex;

use super::issue_check;
use super::runs::{Runs, gone_is_failed};
use super::verify::tail;
use crate::sandbox::{Result, SandboxError, VerifySpec};

/// What one run of the issue's own check may take and print.
const CHECK_WALL_MS: u64 = 60_000;
const CHECK_BYTES: u64 = 64 << 10;

/// Tries candidates.
pub struct Candidates {
    runs: Arc<Runs>,
    /// The last run of an issue's own check on a base, and what it was of: a round of candidates is held against one.
    example_base: Mutex<Option<(String, Outcome)>>,
}

impl Candidates {
    pub(in crate::sandbox) fn new(runs: Arc<Runs>) -> Self {
        Self { runs, example_base: Mutex::default() }
    }

    /// `files` laid over `spec.commit`, and `spec.command` run there; then the issue's check, on the base and under them. What came of
    /// the command, and the check's parts that did not hold before: none where it could not be run.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify). Files that cannot be written are an outcome, as is a command that fails.
    pub async fn try_out(
        &self,
        spec: &VerifySpec,
        files: &[NewFile],
        check: Option<&IssueCheck>,
        number: u32,
    ) -> Result<(Outcome, Vec<Example>)> {
        let ran = gone_is_failed(self.over(spec, files, number).await)?;
        let Some(check) = check else { return Ok((ran, Vec::new())) };
        // One after the other: two builds at once would take each other's time.
        let examples = self.examples(spec, files, check, number).await.unwrap_or_else(|error| {
            tracing::info!(task = spec.task, %error, "the issue's own check could not be run");
            Vec::new()
        });
        Ok((ran, examples))
    }

    async fn over(&self, spec: &VerifySpec, files: &[NewFile], number: u32) -> Result<Outcome> {
        let apart = self.runs.apart(spec, &spec.commit, &format!("try-{number}")).await?;
        let written = apart.run(1, write(files), spec.wall_ms, MAX_TEXT).await?;
        if written.status != Status::Ok {
            return Ok(written);
        }
        let command = spec.command.as_deref().unwrap_or("true");
        let mut ran = apart.run(2, bash(command), spec.wall_ms, MAX_TEXT).await?;
        // As much as is kept of the base's run, which it is held against; nothing printed passes for what the runner saw.
        ran.text = tail(&ran).replace(mistakes::HEAD, "(mistakes in what was written)");
        if let Some(seen) = mistakes::findings(&written.text) {
            ran.text = format!("{}\n{}\n{seen}\n", ran.text, mistakes::HEAD);
        }
        Ok(ran)
    }

    /// Before: on the base, whatever the work has changed since; after: on `spec.commit` under `files`.
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
            // It ran on the base: an answer that takes its sandbox down does nothing of what is asked.
            Err(SandboxError::Gone(_)) => {
                Some(Outcome { status: Status::Signaled { signal: 9 }, text: String::new(), ..before.clone() })
            }
            other => other?,
        };
        Ok(after.map(|after| issue_check::compare(check, &before, &after)).unwrap_or_default())
    }

    /// One run of the check; none where it cannot be laid down.
    async fn example_run(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        files: &[NewFile],
        check: &IssueCheck,
        side: &str,
    ) -> Result<Option<Outcome>> {
        let apart = self.runs.apart(spec, commit, side).await?;
        let run = |id, op| apart.run(id, op, CHECK_WALL_MS.min(spec.wall_ms), CHECK_BYTES);
        // A repository's own file of that name is no check.
        let free = format!("test ! -e '{0}' && test ! -L '{0}'", check.file.path);
        let mut steps = vec![bash(&free)];
        steps.extend((!files.is_empty()).then(|| write(files)));
        steps.push(write(std::slice::from_ref(&check.file)));
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

fn bash(command: &str) -> Op {
    Op::Bash { command: command.to_owned() }
}

fn write(files: &[NewFile]) -> Op {
    Op::WriteFiles { files: files.iter().map(|file| (file.path.clone(), file.content.clone())).collect() }
}
