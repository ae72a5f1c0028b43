//! Tries a project for a person: its setup commands with their output, and its checks as verification runs them.
//!
//! Owns no sandbox: setup runs as in `cache/setup.rs`, checks as in `runs.rs`. The setup result is used only by tries of this process if it
//! has a state directory of its own. Tests: `tests/trees/trial.rs`.

use std::sync::Arc;

use domain::Commit;

use super::runs::Runs;
use crate::sandbox::cache::setup::{Setups, Tried};
use crate::sandbox::core::Core;
use crate::sandbox::{PrepareSpec, Result, SandboxError, VerifySpec};

/// Tries projects out.
pub struct Trials {
    pub(in crate::sandbox) core: Arc<Core>,
    pub(in crate::sandbox) setups: Arc<Setups>,
    pub(in crate::sandbox) runs: Arc<Runs>,
}

impl Trials {
    /// Runs the setup commands of `spec` up to the first that fails. If all succeed, later checks of the same task start from their result.
    ///
    /// # Errors
    /// As [`TaskSandboxes::prepare`](crate::sandbox::TaskSandboxes::prepare); a command that fails is none.
    pub async fn try_setup(&self, spec: &PrepareSpec) -> Result<Vec<Tried>> {
        let mut tried = Vec::new();
        match self.setups.set_up(spec, &mut tried).await {
            Ok(key) => {
                self.core.records.change(spec.task, |record| record.setup = key)?;
                Ok(tried)
            }
            // The command's output tells more than the error.
            Err(SandboxError::Refused(_) | SandboxError::Limit(_)) if tried.last().is_some_and(|it| !it.worked()) => {
                Ok(tried)
            }
            Err(other) => Err(other),
        }
    }

    /// Drops the result of an earlier [`Trials::try_setup`], so that checks start from the plain commit again.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn without_setup(&self, task: i64) -> Result<()> {
        match self.core.records.get(task) {
            Some(_) => self.core.records.change(task, |record| record.setup = None),
            None => Ok(()),
        }
    }

    /// Runs `command` on a commit in a new sandbox without a network.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify); a command that fails or hangs is no error.
    pub async fn try_checks(&self, spec: &VerifySpec, commit: &Commit, command: &str, side: &str) -> Result<Tried> {
        let outcome = self.runs.run_tests(spec, commit, command, side, &[]).await?;
        Ok(Tried { command: command.to_owned(), outcome })
    }
}
