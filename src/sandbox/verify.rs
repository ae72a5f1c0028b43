//! The bot's own run of the project's tests, on exactly one commit.
//!
//! Owns: which command (the pinned `.caisson.toml`'s, otherwise detected from the *base*, which the agent could not touch),
//! a fresh chamber without a network for the commit and another for the base, exit codes and the end of the output. All
//! of it is "reported by code under review": data, never believed. Tests: `tests/trees.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Commit, Verdict, VerdictKind};
use protocol::broker::{ChamberSpec, Purpose};
use protocol::runner::{Limits, Op, Outcome, Status};

use super::detect::{Detected, WANTED, test_command};
use super::room::{self, Passing, Room};
use super::{Result, SandboxError, Sandboxes, VerifySpec};

/// Bytes of the output's end that are kept.
const TAIL: usize = 6_000;

impl Sandboxes {
    /// Runs the tests of `commit`, then those of `base`. May be repeated freely; each call starts from nothing.
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
                tail: String::new(),
                duration_ms: 0,
            });
        };
        let head = self.run_tests(spec, &spec.commit, &test.command, "head").await?;
        let base = if spec.base == spec.commit {
            head.clone()
        } else {
            self.run_tests(spec, &spec.base, &test.command, "base").await?
        };
        let exit_code = exit_code(&head.status);
        Ok(Verdict {
            kind: if exit_code == Some(0) { VerdictKind::Passed } else { VerdictKind::Failed },
            command: Some(test.command),
            origin: Some(test.by.to_owned()),
            exit_code,
            base_exit_code: self::exit_code(&base.status),
            tail: tail(&head),
            duration_ms: head.duration_ms,
        })
    }

    async fn test_of(&self, spec: &VerifySpec) -> Result<Option<Detected>> {
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

    async fn run_tests(&self, spec: &VerifySpec, commit: &Commit, command: &str, side: &str) -> Result<Outcome> {
        let chamber = ChamberSpec {
            name: format!("verify-{}-{}-{}-{side}", spec.task, commit.short(), spec.tries),
            task: Some(spec.task),
            purpose: Purpose::Verify,
            image: spec.image.clone(),
            berth: None,
            limits: spec.limits,
            env: Vec::new(),
            profile: "sealed".to_owned(),
        };
        let passing = Passing::new(Arc::clone(&self.broker), Arc::clone(&self.busy), &chamber.name);
        let done = async {
            let room = Room::make(self.broker.as_ref(), &chamber, self.epoch, Arc::clone(&self.ids)).await?;
            self.furnish(&room, &spec.repo_key, commit, 1, &spec.image).await?;
            let limits = Limits { wall_ms: spec.wall_ms, output_bytes: 64 << 10 };
            let ran = room.link.run(1, Op::Bash { command: command.to_owned() }, limits).await;
            ran.map_err(|e| room::from_link(&e))
        };
        let done = done.await;
        passing.remove().await;
        match done {
            // Tests that kill their own runner have failed, whatever else they are.
            Err(SandboxError::Gone(why)) => Ok(Outcome {
                status: Status::Failed { reason: why },
                text: String::new(),
                dropped_bytes: 0,
                duration_ms: 0,
                note: None,
            }),
            other => other,
        }
    }
}

fn exit_code(status: &Status) -> Option<i32> {
    match status {
        Status::Ok => Some(0),
        Status::Exited { code } => Some(*code),
        Status::Signaled { signal } => Some(128 + signal),
        Status::TimedOut
        | Status::OutOfMemory
        | Status::OutOfPids
        | Status::DiskFull
        | Status::Failed { .. }
        | Status::Cancelled => None,
    }
}

/// The end of the output, with a first line that says what ran out, if something did.
fn tail(outcome: &Outcome) -> String {
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
        Status::Failed { reason } => reason,
        Status::Cancelled => "the tests were cancelled",
        Status::Ok | Status::Exited { .. } | Status::Signaled { .. } => return end.to_owned(),
    };
    format!("[{why}]\n{end}")
}
