//! A project's commands, each run in a sandbox of its own; without a network, unless the operator grants one to a test run (`asked.rs`).
//!
//! Owns how such a sandbox is made (a commit, and the base's setup result), which command tests a project (that of the pinned
//! `.caisson.toml`, otherwise detected from the *base*, which the agent could not change), and the commit's sources with the base's tests.
//! Tests: `tests/trees.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::{ContainerSpec, Purpose};
use protocol::runner::{LOG_CUT, Limits, MAX_TEXT, Op, Outcome, Status};

use crate::git::listing::Change;
use crate::sandbox::cache::loader::RepositoryLoader;
use crate::sandbox::cache::mirror::Mirrors;
use crate::sandbox::cache::setup::Setups;
use crate::sandbox::core::Core;
use crate::sandbox::detect::{Detected, run_by, runs_scripts, steers_tests, test_command, test_scripts};
use crate::sandbox::link::LinkError;
use crate::sandbox::project_files::ProjectFiles;
use crate::sandbox::record::MirrorGeneration;
use crate::sandbox::session::{self, Passing, Session, Work};
use crate::sandbox::{Result, SandboxError, VerifySpec};

/// The most bytes of one run's output that are read.
const MOST_OUTPUT: u64 = 4 << 20;
/// So many bytes at its end have to be those that the runner captured: more than a verdict shows, and fewer than are captured.
const SAME_END: usize = 32 << 10;
/// The try from which on a command that leaves its runner without an answer has failed.
const MOST_TRIES: u32 = 5;

/// A sandbox, without a network unless it was given a subnet, with a commit and the base's setup result; removed when this is dropped.
pub(in crate::sandbox) struct Apart {
    pub session: Session,
    pub generation: Option<MirrorGeneration>,
    passing: Passing,
    /// Number of the try.
    tries: u32,
}

impl Apart {
    /// Runs one operation in it; each needs another `id`.
    pub(in crate::sandbox) async fn run(&self, id: u64, op: Op, wall_ms: u64, output_bytes: u64) -> Result<Outcome> {
        let ran = self.in_time(id, op, wall_ms, output_bytes).await?;
        ran.ok_or_else(|| session::from_link(&LinkError::Timeout))
    }

    /// As [`Apart::run`]; none if the runner gave no result in time.
    async fn in_time(&self, id: u64, op: Op, wall_ms: u64, output_bytes: u64) -> Result<Option<Outcome>> {
        match self.session.link.run(id, op, Limits { wall_ms, output_bytes }).await {
            Ok(outcome) => Ok(Some(outcome)),
            Err(LinkError::Timeout) => Ok(None),
            Err(LinkError::Closed) => Err(self.passing.closed().await),
            Err(e) => Err(session::from_link(&e)),
        }
    }

    /// Runs a command and reads its output whole, up to 4 MiB. Of a longer one, and where the file is not what was captured, beginning and
    /// end: the code that is judged may write to the file, too.
    pub(super) async fn run_whole(&self, id: u64, command: &str, wall_ms: u64) -> Result<Outcome> {
        let op = Op::Bash { command: command.to_owned(), whole: true };
        let Some(ran) = self.in_time(id, op, wall_ms, MAX_TEXT).await? else { return hung(self.tries) };
        let Some(path) = ran.whole.as_deref().filter(|_| ran.dropped_bytes > 0) else { return Ok(ran) };
        match self.session.read(Work::new(["cat", "--", path]), MOST_OUTPUT, "reading the output").await {
            Ok(bytes) if !bytes.ends_with(LOG_CUT) => Ok(joined(ran, &String::from_utf8_lossy(&bytes))),
            Ok(_) => Ok(ran),
            Err(away @ SandboxError::Unavailable(_)) => match self.passing.closed().await {
                SandboxError::Gone(_) => Ok(ran),
                // It may be there the next time.
                SandboxError::Unavailable(_) | SandboxError::Refused(_) | SandboxError::Limit(_) => Err(away),
            },
            Err(error @ (SandboxError::Gone(_) | SandboxError::Refused(_) | SandboxError::Limit(_))) => {
                tracing::warn!(%error, "only beginning and end of the tests' output are read");
                Ok(ran)
            }
        }
    }
}

/// The outcome with its whole text, if that ends as the captured one does and is as long.
fn joined(ran: Outcome, whole: &str) -> Outcome {
    let end = &ran.text[ran.text.ceil_char_boundary(ran.text.len().saturating_sub(SAME_END))..];
    match whole.ends_with(end) && whole.len() as u64 > ran.dropped_bytes {
        true => Outcome { text: whole.to_owned(), dropped_bytes: 0, ..ran },
        false => ran,
    }
}

/// Runs commands of projects.
pub struct Runs {
    pub(in crate::sandbox) core: Arc<Core>,
    pub(in crate::sandbox) mirrors: Arc<Mirrors>,
    pub(in crate::sandbox) loader: Arc<RepositoryLoader>,
    pub(in crate::sandbox) setups: Arc<Setups>,
}

impl Runs {
    pub(in crate::sandbox) async fn test_of(&self, spec: &VerifySpec) -> Result<Option<Detected>> {
        if let Some(command) = &spec.command {
            return Ok(Some(Detected { command: command.clone(), by: crate::config::project::FILE }));
        }
        let files = ProjectFiles::read(&self.core.repos, &spec.repo_key, &spec.base).await?;
        Ok(test_command(&files.names, &|name| files.text(name), spec.toolchain.as_deref()))
    }

    /// Runs the commit's sources with the base's tests, if these differ.
    pub(in crate::sandbox) async fn with_base_tests(
        &self,
        spec: &VerifySpec,
        command: &str,
    ) -> Result<Option<Outcome>> {
        let steering = self.steering(spec, command).await?;
        if steering.is_empty() {
            return Ok(None);
        }
        self.run_tests(spec, &spec.commit, command, "base-tests", &steering).await.map(Some)
    }

    /// The changes of files that define or steer the tests that this command runs: those that it runs, itself or by the base's
    /// `package.json`, are among them.
    pub(in crate::sandbox) async fn steering(&self, spec: &VerifySpec, command: &str) -> Result<Vec<Change>> {
        let repos = &self.core.repos;
        let mut commands = vec![command.to_owned()];
        if runs_scripts(command) {
            // A file too large to be read is ignored.
            let package = repos.show(&spec.repo_key, &spec.base, "package.json", 256 << 10).await.ok().flatten();
            commands.extend(package.into_iter().flat_map(|text| test_scripts(&String::from_utf8_lossy(&text))));
        }
        let mut steering = repos.changes(&spec.repo_key, &spec.base, &spec.commit).await?;
        let is_run = run_by(&commands);
        steering.retain(|change| {
            let path = String::from_utf8_lossy(&change.path);
            steers_tests(&path) || is_run(&path)
        });
        Ok(steering)
    }

    /// Runs the tests of `commit`, with these files as in the base.
    pub(in crate::sandbox) async fn run_tests(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        command: &str,
        side: &str,
        from_base: &[Change],
    ) -> Result<Outcome> {
        // One that is lost before anything ran in it says nothing of the tests.
        let apart = self.apart(spec, commit, side).await?;
        let done = async {
            if !from_base.is_empty() {
                self.put_back(&apart.session, spec, from_base, apart.generation.as_ref()).await?;
            }
            apart.run_whole(1, command, spec.wall_ms).await
        };
        gone_is_failed(done.await)
    }

    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify).
    pub(in crate::sandbox) async fn apart(&self, spec: &VerifySpec, commit: &Commit, side: &str) -> Result<Apart> {
        let name = verify_name(spec, commit, side);
        self.apart_with(spec, commit, (&name, None), self.core.setup_of(spec.task).as_deref()).await
    }

    /// As [`Runs::apart`], in a container of this name and this subnet, with what setup left under this key.
    pub(in crate::sandbox) async fn apart_with(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        (name, subnet): (&str, Option<u32>),
        setup: Option<&str>,
    ) -> Result<Apart> {
        let container = ContainerSpec {
            name: name.to_owned(),
            task: Some(spec.task),
            purpose: Purpose::Verify,
            user: self.core.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            subnet,
            limits: spec.limits,
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: None,
            layered: false,
        };
        // Removed when this is dropped.
        let passing = self.core.passing(&container.name);
        let generation = self.mirrors.current(&spec.repo_key);
        let (session, generation) = self.loader.loaded(&container, &spec.repo_key, commit, 1, generation).await?;
        // The base's setup result, even for a later commit, because without a network it cannot make its own.
        self.setups.bring_setup(&session, setup).await?;
        Ok(Apart { session, generation, passing, tries: spec.tries })
    }

    /// Restores files to their state in the base: existing ones are checked out, others removed.
    pub(in crate::sandbox) async fn put_back(
        &self,
        session: &Session,
        spec: &VerifySpec,
        files: &[Change],
        generation: Option<&MirrorGeneration>,
    ) -> Result<()> {
        let base = std::slice::from_ref(&spec.base);
        let (held, most) = (generation.map(|generation| &generation.base), self.core.settings.base_pack_bytes);
        let mut pack = self.core.repos.pack(&spec.repo_key, base, 1, held, most).await?;
        if pack.bytes > 0 {
            let unpack = Work::git(".git", ["index-pack", "--stdin", "--fix-thin"]).wall(600_000);
            session.must(unpack.input(pack.reader().await?), "unpacking the base").await?;
        }
        let (added, others): (Vec<&Change>, Vec<&Change>) = files.iter().partition(|change| change.status == 'A');
        let listed = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let remove = ["--work-tree=.", "rm", "-f", "-q"];
        let take = ["--work-tree=.", "checkout", "-q", spec.base.as_str()];
        for (words, part) in [(&remove, added), (&take, others)].into_iter().filter(|(_, part)| !part.is_empty()) {
            let names: Vec<u8> = part.iter().flat_map(|change| [&change.path[..], b"\0"].concat()).collect();
            let work = Work::git(".git", words.iter().chain(&listed).copied());
            session.must(work.input(&mut &names[..]), "putting the base's tests in place").await?;
        }
        Ok(())
    }
}

/// Name of the container of a commit; `side` tells those of one try apart.
pub(in crate::sandbox) fn verify_name(spec: &VerifySpec, commit: &Commit, side: &str) -> String {
    format!("verify-{}-{}-{}-{side}", spec.task, commit.short(), spec.tries)
}

/// The result of a command whose runner gave none in time: it may be the machine, but not again and again. `tries`: those before this one.
fn hung(tries: u32) -> Result<Outcome> {
    if tries + 1 < MOST_TRIES {
        return Err(session::from_link(&LinkError::Timeout));
    }
    let reason = "the tests left their sandbox without an answer within their time".to_owned();
    Ok(Outcome::new(Status::Failed { reason }, ""))
}

/// Tests that kill their own runner count as failed.
pub(in crate::sandbox) fn gone_is_failed(done: Result<Outcome>) -> Result<Outcome> {
    match done {
        Err(SandboxError::Gone(why)) => Ok(Outcome::new(Status::Failed { reason: why.to_string() }, "")),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_its_sandbox_is_tried_again_and_then_has_failed() {
        assert!(matches!(hung(0), Err(SandboxError::Unavailable(_))));
        assert!(matches!(hung(MOST_TRIES - 2), Err(SandboxError::Unavailable(_))));
        assert!(matches!(hung(MOST_TRIES - 1).unwrap().status, Status::Failed { .. }));
    }

    #[test]
    fn a_file_that_does_not_end_as_the_captured_output_does_is_not_taken_for_it() {
        let whole = format!("first\n{}last\n", "x".repeat(100 << 10));
        let end = &whole[whole.len() - (40 << 10)..];
        let text = format!("first\n[... {} bytes left out ...]\n{end}", 60 << 10);
        let ran = Outcome { dropped_bytes: 60 << 10, ..Outcome::new(Status::Ok, text) };
        let taken = joined(ran.clone(), &whole);
        assert_eq!((taken.dropped_bytes, taken.text.len()), (0, whole.len()));
        let other = whole.replace("last", "fine");
        for file in [other.as_str(), &whole[..50 << 10], &whole[whole.len() - (50 << 10)..], ""] {
            assert_eq!(joined(ran.clone(), file), ran);
        }
    }
}
