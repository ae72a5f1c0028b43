//! The bot's own run of the project's tests, on exactly one commit.
//!
//! Owns: which command (the pinned `.caisson.toml`'s, otherwise detected from the *base*, which the agent could not touch),
//! a fresh chamber without a network for each run (the commit, the base, and the commit's sources with the base's tests where
//! these differ), exit codes, the tests of the base that a report does not have, and the end of the output. All of it is "reported by code under review": data, never believed.
//! Tests: `tests/trees.rs`.

use std::collections::HashMap;

use domain::{BaseTests, Commit, IssueCheck, NewFile, Verdict, VerdictKind};
use protocol::broker::{ChamberSpec, Purpose};
use protocol::mistakes;
use protocol::runner::{Limits, MAX_TEXT, Op, Outcome, Status};

use super::detect::{Detected, WANTED, steers_tests, test_command};
use super::issue_check;
use super::link::LinkError;
use super::mirror::Lent;
use super::report;
use super::room::{self, Room, Work};
use super::{Result, SandboxError, Sandboxes, VerifySpec};
use crate::git::listing::Change;

/// Bytes of the output's end that are kept.
pub const TAIL: usize = 6_000;
/// Names of missing tests that are kept.
const MISSING: usize = 50;

/// What is laid over a commit before a command runs on it.
#[derive(Default)]
pub(super) struct Laid<'a> {
    /// Files as they stand in the base.
    pub from_base: &'a [Change],
    /// Files as a whole.
    pub over: &'a [NewFile],
    /// Run before the files are laid over, and after the command.
    pub check: Option<&'a IssueCheck>,
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
                tail: String::new(),
                duration_ms: 0,
            });
        };
        let (head, base, held_against) = if spec.base == spec.commit {
            let head = self.base_run(spec, &test.command, "head").await?;
            (head.clone(), head, None)
        } else {
            let head = self.run_tests(spec, &spec.commit, &test.command, "head", Laid::default());
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
        self.run_tests(spec, &spec.commit, command, "base-tests", Laid { from_base: &steering, ..Laid::default() })
            .await
            .map(Some)
    }

    /// A candidate: `files` laid over `spec.commit` in a sandbox of its own, and `spec.command` run there; the issue's check before and
    /// after that. Nothing of it is kept.
    ///
    /// # Errors
    /// As [`Sandboxes::verify`]. Files that cannot be written are an outcome, as is a command that fails.
    pub async fn try_out(
        &self,
        spec: &VerifySpec,
        files: &[NewFile],
        check: Option<&IssueCheck>,
        number: u32,
    ) -> Result<Outcome> {
        let command = spec.command.as_deref().unwrap_or("true");
        let laid = Laid { from_base: &[], over: files, check };
        self.run_tests(spec, &spec.commit, command, &format!("try-{number}"), laid).await
    }

    /// Runs the tests of `commit`, with other files laid over it.
    pub(super) async fn run_tests(
        &self,
        spec: &VerifySpec,
        commit: &Commit,
        command: &str,
        side: &str,
        laid: Laid<'_>,
    ) -> Result<Outcome> {
        let chamber = ChamberSpec {
            name: format!("verify-{}-{}-{}-{side}", spec.task, commit.short(), spec.tries),
            task: Some(spec.task),
            purpose: Purpose::Verify,
            user: self.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            berth: None,
            limits: spec.limits,
            env: Vec::new(),
            profile: "sealed".to_owned(),
            mirror: None,
            layered: false,
        };
        // Removed when this ends, however it ends.
        let _passing = self.passing(&chamber.name);
        let done = async {
            let lent = self.mirrors.current(&spec.repo_key);
            let (room, lent) = self.stocked(&chamber, &spec.repo_key, commit, 1, lent).await?;
            // What the base's setup left, whatever the branch says: it has no network to make its own.
            let setup = self.records.get(spec.task).and_then(|record| record.setup);
            self.bring_setup(&room, setup.as_deref()).await?;
            if !laid.from_base.is_empty() {
                self.put_back(&room, spec, laid.from_base, lent.as_ref()).await?;
            }
            self.run_in(&room, command, laid, Limits { wall_ms: spec.wall_ms, output_bytes: MAX_TEXT }).await
        };
        match done.await {
            // Tests that kill their own runner have failed, whatever else they are.
            Err(SandboxError::Gone(why)) => Ok(Outcome {
                status: Status::Failed { reason: why.to_string() },
                text: String::new(),
                dropped_bytes: 0,
                duration_ms: 0,
                note: None,
            }),
            other => other,
        }
    }

    /// The command, in a sandbox that holds the commit.
    async fn run_in(&self, room: &Room, command: &str, laid: Laid<'_>, limits: Limits) -> Result<Outcome> {
        let mut ids = 1..;
        let mut run = |op: Op| room.link.run(ids.next().unwrap_or_default(), op, limits);
        let bash = |command: &str| Op::Bash { command: command.to_owned() };
        let write = |files: &[NewFile]| Op::WriteFiles {
            files: files.iter().map(|file| (file.path.clone(), file.content.clone())).collect(),
        };
        let gone = |e: LinkError| room::from_link(&e);
        if laid.over.is_empty() {
            return run(bash(command)).await.map_err(gone);
        }
        let mut before = None;
        if let Some(check) = laid.check {
            run(write(std::slice::from_ref(&check.file))).await.map_err(gone)?;
            before = Some(run(bash(&check.command)).await.map_err(gone)?);
            // The project's own checks do not meet it.
            run(bash(&format!("rm -f -- '{}'", check.file.path))).await.map_err(gone)?;
        }
        let written = run(write(laid.over)).await.map_err(gone)?;
        if written.status != Status::Ok {
            return Ok(written);
        }
        let mut ran = run(bash(command)).await.map_err(gone)?;
        // As much as is kept of the base's run, which it is held against; nothing printed passes for what the host adds.
        ran.text = tail(&ran).replace(mistakes::HEAD, "(mistakes in what was written)").replace(issue_check::HEAD, "…");
        if let (Some(check), Some(before)) = (laid.check, before) {
            run(write(std::slice::from_ref(&check.file))).await.map_err(gone)?;
            let after = run(bash(&check.command)).await.map_err(gone)?;
            if let Some(lines) = issue_check::report(check, &before, &after) {
                ran.text = format!("{}\n{}\n{lines}", ran.text.trim_end(), issue_check::HEAD);
            }
        }
        if let Some(seen) = mistakes::findings(&written.text) {
            ran.text = format!("{}\n{}\n{seen}\n", ran.text, mistakes::HEAD);
        }
        Ok(ran)
    }

    /// Brings files to what they are in the base: those it has are checked out, the others removed.
    async fn put_back(&self, room: &Room, spec: &VerifySpec, files: &[Change], lent: Option<&Lent>) -> Result<()> {
        let base = std::slice::from_ref(&spec.base);
        let (held, most) = (lent.map(|lent| &lent.held), self.settings.base_pack_bytes);
        let mut pack = self.repos.pack(&spec.repo_key, base, 1, held, most).await?;
        if pack.bytes > 0 {
            let unpack = Work::git(".git", ["index-pack", "--stdin", "--fix-thin"]).wall(600_000);
            room.must(unpack.input(pack.reader().await?), "unpacking the base").await?;
        }
        let (added, others): (Vec<&Change>, Vec<&Change>) = files.iter().partition(|change| change.status == 'A');
        let listed = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let remove = ["--work-tree=.", "rm", "-f", "-q"];
        let take = ["--work-tree=.", "checkout", "-q", spec.base.as_str()];
        for (words, part) in [(&remove, added), (&take, others)].into_iter().filter(|(_, part)| !part.is_empty()) {
            let names: Vec<u8> = part.iter().flat_map(|change| [&change.path[..], b"\0"].concat()).collect();
            let work = Work::git(".git", words.iter().chain(&listed).copied());
            room.must(work.input(&mut &names[..]), "putting the base's tests in place").await?;
        }
        Ok(())
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
