//! The bot's own run of the project's tests, on exactly one commit.
//!
//! Owns: which command (the pinned `.caisson.toml`'s, otherwise detected from the *base*, which the agent could not touch),
//! a fresh container without a network for each run (the commit, the base, and the commit's sources with the base's tests where
//! these differ), exit codes, the tests of the base that a report does not have, and the end of the output. All of it is "reported by code under review": data, never believed.
//! Tests: `tests/trees.rs`.

use std::collections::HashMap;

use domain::{Against, BaseTests, Commit, Verdict, VerdictKind};
use protocol::broker::{ContainerSpec, Purpose};
use protocol::runner::{Limits, MAX_TEXT, Op, Outcome, Status};

use super::against::against;
use super::detect::{Detected, WANTED, steers_tests, test_command};
use super::record::Lent;
use super::report;
use super::session::{self, Passing, Session, Work};
use super::{Result, SandboxError, Sandboxes, VerifySpec};
use crate::git::listing::Change;

/// Bytes of the output's end that are kept.
pub const TAIL: usize = 6_000;
/// Names of missing tests that are kept.
const MISSING: usize = 50;

/// A sandbox of its own without a network, which holds a commit and what the base's setup left. Removed when this is dropped.
pub(super) struct Apart {
    pub session: Session,
    lent: Option<Lent>,
    _passing: Passing,
}

impl Apart {
    /// One piece of work in it; each has another `id`.
    pub(super) async fn run(&self, id: u64, op: Op, wall_ms: u64, output_bytes: u64) -> Result<Outcome> {
        self.session.link.run(id, op, Limits { wall_ms, output_bytes }).await.map_err(|e| session::from_link(&e))
    }
}

impl Sandboxes {
    /// Runs the tests of `commit`, and those of `base` unless that run is kept (`base_runs.rs`). May be repeated freely.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when engine or disk are away, [`SandboxError::Refused`] when the commit or the image
    /// cannot be used. Tests that fail, hang or eat their memory are a verdict, not an error.
    pub async fn verify(&self, spec: &VerifySpec) -> Result<Verdict> {
        let Some(test) = self.test_of(spec).await? else {
            return Ok(Verdict {
                kind: VerdictKind::None,
                command: None,
                origin: None,
                exit_code: None,
                base_exit_code: None,
                base_tests: BaseTests::Same,
                missing: Vec::new(),
                looked_for: 0,
                against_base: Against::default(),
                tail: String::new(),
                duration_ms: 0,
            });
        };
        let (head, base, held_against) = if spec.base == spec.commit {
            let head = self.base_run(spec, &test.command, "head").await?;
            (head.clone(), head, None)
        } else {
            let head = self.run_tests(spec, &spec.commit, &test.command, "head", &[]);
            // Two at a time: the commit's own run, and beside it what it is compared with.
            let others = async {
                let base = self.base_run(spec, &test.command, "base").await?;
                Ok((base, self.with_base_tests(spec, &test.command).await?))
            };
            let (head, (base, held_against)) = tokio::try_join!(head, others)?;
            (head, base, held_against)
        };
        let exit_code = exit_code(&head.status);
        let (looked_for, missing) = compared(&base, held_against.as_ref().unwrap_or(&head));
        Ok(Verdict {
            kind: match (exit_code, missing.is_empty()) {
                (Some(0), true) => VerdictKind::Passed,
                _ => VerdictKind::Failed,
            },
            command: Some(test.command),
            origin: Some(test.by.to_owned()),
            exit_code,
            base_exit_code: self::exit_code(&base.status),
            base_tests: held_against
                .map_or(BaseTests::Same, |ran| BaseTests::Ran { exit_code: self::exit_code(&ran.status) }),
            missing,
            looked_for,
            against_base: against(&base, &head),
            tail: tail(&head),
            duration_ms: head.duration_ms,
        })
    }

    pub(super) async fn test_of(&self, spec: &VerifySpec) -> Result<Option<Detected>> {
        if let Some(command) = &spec.command {
            return Ok(Some(Detected { command: command.clone(), by: crate::config::project::FILE }));
        }
        let files = self.repos.files(&spec.repo_key, &spec.base, 32 << 20).await?;
        let mut texts = HashMap::new();
        for name in WANTED.iter().filter(|name| files.iter().any(|file| file == *name)) {
            // A file too large to be read steers nothing.
            let text = self.repos.show(&spec.repo_key, &spec.base, name, 256 << 10).await.ok().flatten();
            texts.extend(text.map(|text| (*name, String::from_utf8_lossy(&text).into_owned())));
        }
        Ok(test_command(&files, |name| texts.get(name).map(String::as_str)))
    }

    /// The commit's sources under the base's tests, where these differ.
    pub(super) async fn with_base_tests(&self, spec: &VerifySpec, command: &str) -> Result<Option<Outcome>> {
        let mut steering = self.repos.changes(&spec.repo_key, &spec.base, &spec.commit).await?;
        steering.retain(|change| steers_tests(&String::from_utf8_lossy(&change.path)));
        if steering.is_empty() {
            return Ok(None);
        }
        self.run_tests(spec, &spec.commit, command, "base-tests", &steering).await.map(Some)
    }

    /// Runs the tests of `commit`, with these files as the base has them.
    pub(super) async fn run_tests(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        command: &str,
        side: &str,
        from_base: &[Change],
    ) -> Result<Outcome> {
        let done = async {
            let apart = self.apart(spec, commit, side).await?;
            if !from_base.is_empty() {
                self.put_back(&apart.session, spec, from_base, apart.lent.as_ref()).await?;
            }
            apart.run(1, Op::Bash { command: command.to_owned() }, spec.wall_ms, MAX_TEXT).await
        };
        gone_is_failed(done.await)
    }

    /// # Errors
    /// As [`Sandboxes::verify`].
    pub(super) async fn apart(&self, spec: &VerifySpec, commit: &Commit, side: &str) -> Result<Apart> {
        let container = ContainerSpec {
            name: format!("verify-{}-{}-{}-{side}", spec.task, commit.short(), spec.tries),
            task: Some(spec.task),
            purpose: Purpose::Verify,
            user: self.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            subnet: None,
            limits: spec.limits,
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: None,
            layered: false,
        };
        // Removed when this ends, however it ends.
        let passing = self.passing(&container.name);
        let lent = self.mirrors.current(&spec.repo_key);
        let (session, lent) = self.stocked(&container, &spec.repo_key, commit, 1, lent).await?;
        // What the base's setup left, whatever the branch says: it has no network to make its own.
        let setup = self.records.get(spec.task).and_then(|record| record.setup);
        self.bring_setup(&session, setup.as_deref()).await?;
        Ok(Apart { session, lent, _passing: passing })
    }

    /// Brings files to what they are in the base: those it has are checked out, the others removed.
    async fn put_back(
        &self,
        session: &Session,
        spec: &VerifySpec,
        files: &[Change],
        lent: Option<&Lent>,
    ) -> Result<()> {
        let base = std::slice::from_ref(&spec.base);
        let (held, most) = (lent.map(|lent| &lent.held), self.settings.base_pack_bytes);
        let mut pack = self.repos.pack(&spec.repo_key, base, 1, held, most).await?;
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

/// Tests that kill their own runner have failed, whatever else they are.
pub(super) fn gone_is_failed(done: Result<Outcome>) -> Result<Outcome> {
    match done {
        Err(SandboxError::Gone(why)) => Ok(Outcome::new(Status::Failed { reason: why.to_string() }, "")),
        other => other,
    }
}

/// How many tests of the base's run were looked for in the other report, and which are not there: their names, at most 50.
fn compared(base: &Outcome, other: &Outcome) -> (u32, Vec<String>) {
    let (Some(of_base), Some(there)) = (report::ran(base), report::ran(other)) else { return (0, Vec::new()) };
    let missing = of_base.difference(&there).take(MISSING).cloned().collect();
    (u32::try_from(of_base.len()).unwrap_or(u32::MAX), missing)
}

pub(super) fn exit_code(status: &Status) -> Option<i32> {
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

/// The end of the output, with a first line that says what ran out, if something did.
pub(super) fn tail(outcome: &Outcome) -> String {
    let text = &outcome.text;
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
