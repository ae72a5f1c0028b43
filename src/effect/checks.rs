//! The bot's own run of the project's checks, on the exact commit, in a fresh sandbox. May be repeated; the stored verdict is used.

use super::images::{Images, toolchain};
use super::policy::Policy;
use super::repository::{Repositories, base};
use crate::redact;
use crate::sandbox::{SandboxError, Sandboxes, VerifySpec};
use crate::trouble::Trouble;
use domain::{BaseRun, Commit, Input, Scope, Task, Verdict};
use std::sync::Arc;

/// Runs the project's checks in sandboxes of their own.
pub(super) struct Checks {
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
    pub images: Arc<Images>,
}

impl Checks {
    pub(super) async fn verify(&self, task: &Task, n: u32, commit: &Commit, tries: i64) -> Result<Input, Trouble> {
        let policy = self.repositories.policy(task, &base(task)?).await?;
        let ci = policy.effective.ci.clone();
        let spec = self.spec_of(task, policy, (commit, tries)).await?;
        match self.sandboxes.verification.verify(&spec).await {
            Ok(verdict) => {
                let verdict = self.repositories.judged(task, commit, redacted(verdict)).await?;
                Ok(Input::Verified { n, verdict, ci })
            }
            // It is the run's sandbox that is gone, not the task's, so the run is repeated.
            Err(SandboxError::Gone(loss)) => Err(Trouble::later(format!("the checks were cut off: {loss}"))),
            Err(other) => Err(other.into()),
        }
    }

    /// Runs the checks on the base, in a fresh sandbox.
    pub(super) async fn base_run(&self, task: &Task, tries: i64) -> Result<Option<BaseRun>, Trouble> {
        let base = base(task)?;
        let spec = self.spec(task, &base, tries).await?;
        let verdict = self.sandboxes.verification.verify(&spec).await.map_err(apart)?;
        let run = |command| BaseRun { command, exit_code: verdict.exit_code, tail: redact::without(verdict.tail) };
        Ok(verdict.command.map(run))
    }

    /// The parameters of verifying `commit`.
    pub(super) async fn spec(&self, task: &Task, commit: &Commit, tries: i64) -> Result<VerifySpec, Trouble> {
        let policy = self.repositories.policy(task, &base(task)?).await?;
        self.spec_of(task, policy, (commit, tries)).await
    }

    async fn spec_of(
        &self,
        task: &Task,
        policy: Policy<'_>,
        (commit, tries): (&Commit, i64),
    ) -> Result<VerifySpec, Trouble> {
        let image = self.images.of_task(task, &policy).await?;
        let toolchain = toolchain(task, &policy);
        Ok(VerifySpec {
            task: task.id.0,
            commit: commit.clone(),
            base: policy.base,
            tries: u32::try_from(tries).unwrap_or(u32::MAX),
            repo_key: policy.repository.key,
            image,
            command: policy.effective.test,
            toolchain,
            limits: policy.operators.sandbox.limits(),
            wall_ms: policy.operators.sandbox.verify_wall_s * 1000,
            tests_may_move: task.kind.traits().scope == Scope::AllButBaseTests,
        })
    }
}

/// Removes secrets from the parts that code under review has written.
fn redacted(verdict: Verdict) -> Verdict {
    let Verdict { missing, mut against_base, tail, .. } = verdict;
    for item in &mut against_base.new {
        item.message = redact::without(std::mem::take(&mut item.message));
        item.test = item.test.take().map(redact::without);
    }
    let missing = missing.into_iter().map(redact::without).collect();
    Verdict { missing, against_base, tail: redact::without(tail), ..verdict }
}

/// The loss of a run's own sandbox is temporary and says nothing about the task's sandbox.
pub(super) fn apart(error: SandboxError) -> Trouble {
    match error {
        SandboxError::Gone(loss) => Trouble::later(format!("a run in a sandbox of its own was cut off: {loss}")),
        other @ (SandboxError::Unavailable(_) | SandboxError::Refused(_) | SandboxError::Limit(_)) => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Against, Reported};

    #[test]
    fn no_credential_that_the_checks_print_stays_in_any_word_of_the_verdict() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let item: Reported = serde_json::from_value(serde_json::json!({
            "tool": "pytest", "message": format!("assert '{token}'"), "test": format!("t[{token}]"),
        }))
        .unwrap();
        let verdict = Verdict {
            tail: token.clone(),
            missing: vec![format!("t[{token}]")],
            against_base: Against { new: vec![item], ..Against::default() },
            looked_for: 3,
            ..Verdict::default()
        };
        let told = redacted(verdict);
        assert!(!serde_json::to_string(&told).unwrap().contains(&token), "{told:?}");
        assert_eq!((told.looked_for, told.against_base.new.len(), told.missing.len()), (3, 1, 1));
    }
}
