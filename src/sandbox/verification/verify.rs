//! The bot's own run of the project's tests, on exactly one commit.
//!
//! Owns what is run (the commit, the base, and the commit's sources with the base's tests where these differ; `runs.rs`), and what the
//! verdict is. All output is reported by code under review and untrusted. Tests: below and `tests/trees/verify.rs`.

use std::sync::Arc;

use domain::{BaseTests, Verdict, VerdictKind};
use protocol::runner::Outcome;

use super::against::against;
use super::base_runs::BaseRuns;
use super::compared::{Compared, compared};
use super::output::{self, tail};
use super::runs::Runs;
use crate::sandbox::checks::{ChecksResult, standing};
use crate::sandbox::{Result, SandboxError, VerifySpec};

/// Judges commits by their project's tests.
pub struct Verification {
    pub(in crate::sandbox) runs: Arc<Runs>,
    pub(in crate::sandbox) base_runs: Arc<BaseRuns>,
}

impl Verification {
    /// Runs the tests of `commit`, and those of `base` unless that run is stored (`base_runs.rs`). May be repeated.
    ///
    /// # Errors
    /// [`Unavailable`](crate::sandbox::SandboxError::Unavailable) when engine or disk are unreachable,
    /// [`Refused`](crate::sandbox::SandboxError::Refused) when commit or image cannot be used. Tests that fail, hang or exhaust memory are
    /// a verdict, not an error.
    pub async fn verify(&self, spec: &VerifySpec) -> Result<Verdict> {
        let Some(test) = self.runs.test_of(spec).await? else {
            return Ok(Verdict::default());
        };
        let (head, base, held_against) = if spec.base == spec.commit {
            let head = self.base_runs.base_run(spec, &test.command, "head").await?;
            (head.clone(), head, None)
        } else {
            let head = self.runs.run_tests(spec, &spec.commit, &test.command, "head", &[]);
            // Two at a time: the commit's own run beside those it is compared with.
            let others = async {
                let base = self.base_runs.base_run(spec, &test.command, "base").await?;
                Ok((base, self.runs.with_base_tests(spec, &test.command).await?))
            };
            let (head, (base, held_against)) = tokio::try_join!(head, others)?;
            (head, base, held_against)
        };
        let exit_code = output::exit_code(&head.status);
        let (base_exit_code, duration_ms) = (output::exit_code(&base.status), head.duration_ms);
        let base_tests = held_against
            .as_ref()
            .map_or(BaseTests::Same, |ran| BaseTests::Ran { exit_code: output::exit_code(&ran.status) });
        let tests_may_move = spec.tests_may_move;
        // Reading megabytes takes a tenth of a second.
        let read = tokio::task::spawn_blocking(move || {
            let other = held_against.as_ref().unwrap_or(&head);
            (compared(&base, other, tests_may_move), against(&base, &head), tail(&head), ran_none(&head))
        });
        let (Compared { looked_for, missing, not_compared }, against_base, tail, ran_none) =
            read.await.map_err(|e| SandboxError::Unavailable(format!("the runs could not be compared: {e}")))?;
        Ok(Verdict {
            kind: match (exit_code, missing.is_empty()) {
                (Some(0), true) if ran_none => VerdictKind::None,
                (Some(0), true) => VerdictKind::Passed,
                _ => VerdictKind::Failed,
            },
            command: Some(test.command),
            origin: Some(test.by.to_owned()),
            exit_code,
            base_exit_code,
            base_tests,
            missing,
            outside: Vec::new(),
            looked_for,
            not_compared,
            against_base,
            tail,
            duration_ms,
        })
    }
}

/// Whether a run whose whole output is here says that no test ran. Of a cut one the part where tests ran may be missing.
pub(super) fn ran_none(run: &Outcome) -> bool {
    run.dropped_bytes == 0 && standing(run) == ChecksResult::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::runner::Status;

    #[test]
    fn only_a_whole_output_says_that_no_test_ran() {
        let empty = Outcome::new(Status::Ok, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n");
        assert!(ran_none(&empty));
        assert!(!ran_none(&Outcome { dropped_bytes: 1, ..empty }));
        assert!(!ran_none(&Outcome::new(Status::Ok, "all is well\n")), "a command that counts nothing");
    }
}
