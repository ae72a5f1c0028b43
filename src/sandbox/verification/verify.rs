//! The bot's own run of the project's tests, on exactly one commit.
//!
//! Owns what is run (the commit, the base, and the commit's sources with the base's tests where these differ; `runs.rs`), exit codes, tests
//! of the base that a report lacks, and the end of the output. All output is reported by code under review and untrusted.
//! Tests: below and `tests/trees.rs`.

use std::sync::Arc;

use domain::{BaseTests, Verdict, VerdictKind};
use protocol::runner::{Outcome, Status};

use super::against::against;
use super::base_runs::BaseRuns;
use super::compared::{Compared, compared};
use super::runs::Runs;
use crate::redact;
use crate::sandbox::{Result, SandboxError, VerifySpec};

/// The most bytes kept of the output's end.
pub const TAIL: usize = 6_000;

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
        let exit_code = exit_code(&head.status);
        let (base_exit_code, duration_ms) = (self::exit_code(&base.status), head.duration_ms);
        let base_tests = held_against
            .as_ref()
            .map_or(BaseTests::Same, |ran| BaseTests::Ran { exit_code: self::exit_code(&ran.status) });
        let tests_may_move = spec.tests_may_move;
        // Reading megabytes takes a tenth of a second.
        let read = tokio::task::spawn_blocking(move || {
            let other = held_against.as_ref().unwrap_or(&head);
            (compared(&base, other, tests_may_move), against(&base, &head), tail(&head))
        });
        let (Compared { looked_for, missing, not_compared }, against_base, tail) =
            read.await.map_err(|e| SandboxError::Unavailable(format!("the runs could not be compared: {e}")))?;
        Ok(Verdict {
            kind: match (exit_code, missing.is_empty()) {
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

pub(in crate::sandbox) fn exit_code(status: &Status) -> Option<i32> {
    match status {
        Status::Ok => Some(0),
        Status::Exited { code } => Some(*code),
        Status::Signaled { signal } => Some(128 + signal),
        Status::TimedOut
        | Status::OutOfMemory
        | Status::OutOfPids
        | Status::DiskFull
        | Status::DiskSpent { .. }
        | Status::Failed { .. }
        | Status::Cancelled => None,
    }
}

/// The end of the output, with a first line that names an exceeded limit, if any.
pub(in crate::sandbox) fn tail(outcome: &Outcome) -> String {
    // Of one that was cut the pattern would no longer be recognised.
    let text = redact::redacted(&outcome.text).0;
    let mut start = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = &text[start..];
    let why = match &outcome.status {
        Status::TimedOut => "the tests took longer than they may and were stopped",
        Status::OutOfMemory => "the tests ran out of memory",
        Status::OutOfPids => "the tests started more processes than they may",
        Status::DiskFull => "the tests ran out of space",
        Status::DiskSpent { what: reason } | Status::Failed { reason } => reason,
        Status::Cancelled => "the tests were cancelled",
        Status::Ok | Status::Exited { .. } | Status::Signaled { .. } => return end.to_owned(),
    };
    format!("[{why}]\n{end}")
}

/// The last `most` bytes of the output whose end `tail` is, behind the line that names an exceeded limit, if any; and whether some of the
/// output before is missing. `exit_code`: the run's, none if it was ended.
pub fn shown_tail(tail: &str, exit_code: Option<i32>, most: usize) -> (String, bool) {
    let (why, output) = match (exit_code, tail.split_once('\n')) {
        (None, Some((why, output))) if why.starts_with('[') && why.ends_with(']') => (why, output),
        _ => ("", tail),
    };
    let (was_cut, output) = (output.len() + char::MAX.len_utf8() > TAIL, output.trim_end());
    let start = output.ceil_char_boundary(output.len().saturating_sub(most));
    let parts = [why, &output[start..]].into_iter().filter(|part| !part.is_empty());
    (parts.collect::<Vec<_>>().join("\n"), was_cut || start > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_shown_and_why_its_run_was_ended() {
        let shown = |text: &str, status: Status, most: usize| {
            let outcome = Outcome::new(status, text);
            shown_tail(&tail(&outcome), exit_code(&outcome.status), most)
        };
        let why = "[the tests took longer than they may and were stopped]";
        let long = format!("é{}", "x".repeat(99));
        assert_eq!(shown(&long, Status::TimedOut, 100), (format!("{why}\n{}", "x".repeat(99)), true));
        assert_eq!(shown("", Status::TimedOut, 100), (why.to_owned(), false));
        assert_eq!(shown("[a]\nb\n", Status::Ok, 3), ("]\nb".to_owned(), true));
        assert_eq!(shown("[a]\nb\n", Status::Ok, 100), ("[a]\nb".to_owned(), false));
        assert!(shown(&"é".repeat(TAIL), Status::Ok, TAIL).1, "what is stored is cut already");
    }
}
