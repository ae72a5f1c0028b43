//! A command that a person has run on a commit, in a sandbox that no other entered, and that has no network unless the operator grants hosts.
//!
//! Owns nothing of the sandbox (`runs.rs` does): only what is run in it, in which order, and how the end is told. All of it is printed
//! by code under review. Tests: `tests/stories/test_runs.rs`, in real containers `tests/trees/asked.rs`.

use domain::TestExit;
use protocol::router::Rule;
use protocol::runner::Outcome;

use super::output::{exit_code, tail};
use super::runs::{Apart, Runs, gone_is_failed, verify_name};
use super::verify::ran_none;
use crate::git::blob_id;
use crate::git::listing::Change;
use crate::sandbox::record::Record;
use crate::sandbox::session::{Session, Work};
use crate::sandbox::{PrepareSpec, Result, SandboxError, VerifySpec};

/// What is run, beside what a [`VerifySpec`] says: its `command` on its `commit`.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions<'a> {
    /// What is run before it.
    pub setup: Option<&'a str>,
    /// What the project's own setup left, as [`Runs::set_up`] gives it.
    pub kept: Option<&'a str>,
    /// A part of the container's name.
    pub side: &'a str,
    /// What it may reach besides what every sandbox may; empty = it has no network. The subnet is the record's of its task, which the caller
    /// removes.
    pub egress: &'a [Rule],
}

/// A file that stands in the place of the commit's own one.
#[derive(Debug, Clone)]
pub struct LaidOver {
    /// Relative to the repository's root.
    pub path: String,
    /// As git writes it: `100644` or `100755`.
    pub mode: String,
    /// Its content.
    pub text: String,
}

/// How it ended, and what it printed: of a command up to 4 MiB, of a longer output beginning and end.
#[derive(Debug, Clone)]
pub struct AskedRun {
    /// How it ended.
    pub exit: TestExit,
    /// The whole of it.
    pub log: String,
}

impl Runs {
    /// Has the project's own setup commands run, unless what they leave is kept: the key under which it is. What was made meanwhile is the
    /// caller's to remove, as of a task's sandbox.
    ///
    /// # Errors
    /// As [`TaskSandboxes::prepare`](crate::sandbox::TaskSandboxes::prepare).
    pub async fn set_up(&self, spec: &PrepareSpec) -> Result<Option<String>> {
        self.setups.set_up(spec, &mut Vec::new()).await
    }

    /// Runs it on `spec.commit` as that stands.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify); a command that fails or hangs is no error.
    pub async fn run_asked(&self, spec: &VerifySpec, asked: RunOptions<'_>) -> Result<AskedRun> {
        self.asked(spec, asked, (&[], &[])).await
    }

    /// Runs it on `spec.commit` with the files that define or steer tests as `spec.base` has them, and these over others; how many both are.
    ///
    /// # Errors
    /// As [`Runs::run_asked`].
    pub async fn run_asked_under(
        &self,
        spec: &VerifySpec,
        asked: RunOptions<'_>,
        laid: &[LaidOver],
    ) -> Result<(AskedRun, usize)> {
        let steering = self.steering(spec, spec.command.as_deref().unwrap_or_default()).await?;
        Ok((self.asked(spec, asked, (&steering, laid)).await?, steering.len() + laid.len()))
    }

    async fn asked(
        &self,
        spec: &VerifySpec,
        asked: RunOptions<'_>,
        (from_base, laid): (&[Change], &[LaidOver]),
    ) -> Result<AskedRun> {
        let Some(command) = &spec.command else { return Err(SandboxError::Refused("no command is named".to_owned())) };
        let name = verify_name(spec, &spec.commit, asked.side);
        let subnet = self.lent(spec, &name, asked.egress).await?;
        let apart = self.apart_with(spec, &spec.commit, (&name, subnet), asked.kept).await?;
        if !from_base.is_empty() {
            self.put_back(&apart.session, spec, from_base, apart.generation.as_ref()).await?;
        }
        lay_over(&apart.session, laid).await?;
        if let Some(subnet) = subnet {
            self.core.subnets.open(subnet, || Ok(Some(asked.egress.to_vec()))).await?;
        }
        let ran = in_it(&apart, spec, (asked.setup, command)).await;
        self.core.subnets.close(subnet).await?;
        ran
    }

    /// A subnet for the container of this name, closed; none where nothing is to be reached.
    async fn lent(&self, spec: &VerifySpec, name: &str, egress: &[Rule]) -> Result<Option<u32>> {
        if egress.is_empty() {
            return Ok(None);
        }
        if !self.core.subnets.routed() {
            return Err(SandboxError::Refused(
                "a test run with hosts needs the router, and none is attached".to_owned(),
            ));
        }
        let record = Record::new((spec.task, name.to_owned()), &spec.commit, &spec.image, egress.to_vec());
        Ok(self.core.begin(record, true).await?.subnet)
    }
}

/// Puts these files in place, by git, which follows no link. Nothing of the repository has run there yet.
async fn lay_over(session: &Session, files: &[LaidOver]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let what = "laying tests over the base's sources";
    let (mut index, mut names) = (Vec::new(), Vec::new());
    for file in files {
        let add = Work::git(".git", ["hash-object", "-w", "--stdin"]);
        session.must(add.input(&mut file.text.as_bytes()), what).await?;
        let id = blob_id(file.text.as_bytes()).map_err(|error| SandboxError::Refused(error.to_string()))?;
        index.extend_from_slice(format!("{} {id}\t{}\0", file.mode, file.path).as_bytes());
        names.extend_from_slice(format!("{}\0", file.path).as_bytes());
    }
    let list = Work::git(".git", ["update-index", "-z", "--index-info"]);
    session.must(list.input(&mut &index[..]), what).await?;
    let take = Work::git(".git", ["--work-tree=.", "checkout-index", "-f", "-z", "--stdin"]);
    session.must(take.input(&mut &names[..]), what).await
}

async fn in_it(apart: &Apart, spec: &VerifySpec, (setup, command): (Option<&str>, &str)) -> Result<AskedRun> {
    let run = async |id, command: &str| gone_is_failed(apart.run_whole(id, command, spec.wall_ms).await);
    let (mut log, mut before_ms) = (String::new(), 0);
    if let Some(setup) = setup {
        let ran = run(1, setup).await?;
        log = format!("$ {setup}\n{}\n", ran.text);
        before_ms = ran.duration_ms;
        if exit_code(&ran.status) != Some(0) {
            return Ok(AskedRun { exit: ended(&ran, true, 0), log });
        }
    }
    let ran = run(2, command).await?;
    log.push_str(&format!("$ {command}\n{}\n", ran.text));
    // Reading megabytes takes a tenth of a second.
    let read = tokio::task::spawn_blocking(move || ended(&ran, false, before_ms)).await;
    let exit = read.map_err(|e| SandboxError::Unavailable(format!("what the run printed could not be read: {e}")))?;
    Ok(AskedRun { exit, log })
}

fn ended(ran: &Outcome, at_setup: bool, before_ms: u64) -> TestExit {
    let (exit_code, duration_ms) = (exit_code(&ran.status), before_ms + ran.duration_ms);
    let no_test = !at_setup && exit_code == Some(0) && ran_none(ran);
    TestExit { exit_code, at_setup, duration_ms, tail: tail(ran), no_test }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::runner::Status;

    #[test]
    fn a_run_that_ends_well_and_says_that_no_test_ran_is_known() {
        let none = "Ran 0 tests in 0.000s\n\nOK\n";
        let no_test = |status, text: &str, at_setup| ended(&Outcome::new(status, text), at_setup, 0).no_test;
        assert!(no_test(Status::Ok, none, false));
        assert!(!no_test(Status::Ok, none, true), "the setup tests nothing");
        assert!(!no_test(Status::Exited { code: 5 }, none, false), "it failed");
        for text in ["3 passed in 0.1s\n", "all is well\n", ""] {
            assert!(!no_test(Status::Ok, text, false), "{text}");
        }
    }
}
