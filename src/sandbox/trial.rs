//! A project tried out for a person: its setup commands with what each said, and its checks as verification runs them.
//!
//! Owns nothing of a sandbox: setup runs as `setup.rs` runs it for a task, checks as `verify.rs` does. What setup leaves goes to the tries of
//! this process alone where its state directory is its own. Tests: `tests/trees/trial.rs`.

use domain::Commit;
use protocol::runner::{Outcome, Status};

use super::{PrepareSpec, Result, SandboxError, Sandboxes, VerifySpec};

/// One command, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The line that the shell ran. Foreign.
    pub command: String,
    /// How it ended, and what it printed.
    pub outcome: Outcome,
}

impl Tried {
    /// Whether it ended by itself with exit code 0.
    pub fn worked(&self) -> bool {
        matches!(self.outcome.status, Status::Ok | Status::Exited { code: 0 })
    }
}

impl Sandboxes {
    /// Runs the setup commands of `spec` up to the first that fails. If all worked, later checks of the same task start with what
    /// they left.
    ///
    /// # Errors
    /// As [`Sandboxes::prepare`]; a command that fails is none.
    pub async fn try_setup(&self, spec: &PrepareSpec) -> Result<Vec<Tried>> {
        let mut tried = Vec::new();
        match self.set_up(spec, &mut tried).await {
            Ok(key) => {
                self.records.change(spec.task, |record| record.setup = key)?;
                Ok(tried)
            }
            // What such a command said tells more than the sentence about it.
            Err(SandboxError::Refused(_) | SandboxError::Limit(_)) if tried.last().is_some_and(|it| !it.worked()) => {
                Ok(tried)
            }
            Err(other) => Err(other),
        }
    }

    /// Forgets what an earlier [`Sandboxes::try_setup`] left: checks start from the plain commit again.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn without_setup(&self, task: i64) -> Result<()> {
        match self.records.get(task) {
            Some(_) => self.records.change(task, |record| record.setup = None),
            None => Ok(()),
        }
    }

    /// Runs `command` on a commit, in a fresh sandbox without a network.
    ///
    /// # Errors
    /// As [`Sandboxes::verify`]; a command that fails or hangs is no error.
    pub async fn try_checks(&self, spec: &VerifySpec, commit: &Commit, command: &str, side: &str) -> Result<Tried> {
        let outcome = self.run_tests(spec, commit, command, side, &[]).await?;
        Ok(Tried { command: command.to_owned(), outcome })
    }
}
