//! Runs one action in a prepared sandbox.
//!
//! Owns the distinction between a result, an action that *may* have run, and a sandbox that is gone. An action is sent at most once to one
//! boot of a runner; after a restart it is never repeated. Tests: `tests/trees.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::{Action, Loss, TextEdit};
use protocol::edit::Edit;
use protocol::picture::MOST_BYTES;
use protocol::runner::{Limits, Op, Outcome, Status};

use sha2::{Digest, Sha256};

use super::TaskSandboxes;
use crate::sandbox::core::Core;
use crate::sandbox::link::LinkError;
use crate::sandbox::session::{self, HOST_IDS, Session, Work};
use crate::sandbox::sessions::Sessions;
use crate::sandbox::{Acted, Result, SandboxError, writes};

/// How often a lost connection is re-established within one call.
const LINES: usize = 3;

/// Carries out actions in tasks' sandboxes.
pub struct Actions {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    of_tasks: Arc<TaskSandboxes>,
}

impl Actions {
    pub(in crate::sandbox) fn new(core: Arc<Core>, sessions: Arc<Sessions>, of_tasks: Arc<TaskSandboxes>) -> Self {
        Self { core, sessions, of_tasks }
    }

    /// Runs `action` under `request_id`, or waits for it if the runner already has it from an earlier try.
    ///
    /// Acknowledges the results of all other requests, because the caller has stored them when it asks for the next one.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] when there was no sandbox: *this* call has run nothing (an earlier try of the same request may have).
    /// [`SandboxError::Unavailable`] when engine or broker is unreachable: repeat the call.
    pub async fn act(&self, task: i64, request_id: u64, action: &Action, limits: Limits) -> Result<Acted> {
        let op = op(action)
            .ok_or_else(|| SandboxError::Refused("no action that the runner carries out by itself".to_owned()))?;
        if request_id & HOST_IDS != 0 {
            return Err(SandboxError::Refused(format!("request id {request_id} is reserved")));
        }
        self.core.must_be_current(task)?;
        let mut sent = false;
        for _ in 0..LINES {
            let session = match self.sessions.of(task).await {
                Ok(session) => session,
                // Another boot of the runner: an earlier try of this request may have run in the one before.
                Err(SandboxError::Gone(Loss::Restarted)) => return Ok(interrupted(Loss::Restarted)),
                Err(SandboxError::Gone(loss)) if sent => return Ok(interrupted(loss)),
                Err(e) => return Err(e),
            };
            if !sent {
                self.go_on(task).await?;
            }
            session.settle(|id| id != request_id).await;
            sent = true;
            match session.link.run(request_id, op.clone(), limits).await {
                Ok(outcome) => {
                    session.remember(request_id);
                    let picture = picture_of(&session, action, &outcome).await?;
                    return Ok(Acted { outcome, picture, lost: None });
                }
                Err(LinkError::Closed | LinkError::Timeout | LinkError::Silent) => {
                    self.sessions.drop_session(task, &session).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(e @ LinkError::Protocol(_)) => {
                    return match self.sessions.unless_trusted(task, session::from_link(&e)).await {
                        SandboxError::Gone(loss) => Ok(interrupted(loss)),
                        e => Err(e),
                    };
                }
                Err(LinkError::TooLarge { cap }) => {
                    let reason = format!("the action is too large to be sent ({cap} bytes fit)");
                    return Ok(Acted { outcome: failed(reason), picture: None, lost: None });
                }
                Err(e @ LinkError::Refused(_)) => return Err(session::from_link(&e)),
            }
        }
        Err(SandboxError::Unavailable("the line to the sandbox breaks again and again; trying later".to_owned()))
    }

    /// Whether the runner has this request from an earlier try: it runs, or its result is not acknowledged yet.
    ///
    /// # Errors
    /// As those of [`Actions::act`], also where the runner is another one by now, so that an earlier try may have run in the one before.
    pub async fn has_begun(&self, task: i64, request_id: u64) -> Result<bool> {
        self.core.must_be_current(task)?;
        Ok(self.sessions.of(task).await?.link.knows(request_id))
    }

    /// A router closes every subnet when a new process connects: reopens the subnet of a task at work, unless this process has closed it.
    async fn go_on(&self, task: i64) -> Result<()> {
        match self.core.subnet(task) {
            Some(subnet) if self.core.subnets.untouched(subnet).await => self.of_tasks.open(task).await.map(drop),
            _ => Ok(()),
        }
    }
}

/// The bytes of the picture that was read; none if the file has changed since. Repeated with each query of the result, because reading
/// changes nothing.
async fn picture_of(session: &Session, action: &Action, outcome: &Outcome) -> Result<Option<Vec<u8>>> {
    let (Action::ReadFile { path, .. }, Some(found)) = (action, &outcome.picture) else { return Ok(None) };
    if found.bytes > MOST_BYTES {
        return Ok(None);
    }
    let script = r#"[ -f "$1" ] && exec head -c "$2" -- "$1""#;
    let work = Work::new(["sh", "-c", script, "sh", path, &found.bytes.to_string()]);
    let mut bytes = Vec::new();
    let done = match session.spool(work, &mut bytes, found.bytes).await {
        Ok(done) => done,
        // The file grew, or there is no shell: the picture is left out.
        Err(SandboxError::Limit(_) | SandboxError::Refused(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let same = done.status == Status::Ok && hex::encode(Sha256::digest(&bytes)) == found.digest;
    Ok(same.then_some(bytes))
}

fn interrupted(loss: Loss) -> Acted {
    let reason = format!("{loss} while this action was under way: it may have run, wholly, in part, or not at all");
    Acted { outcome: failed(reason), picture: None, lost: Some(loss) }
}

fn failed(reason: String) -> Outcome {
    Outcome::new(Status::Failed { reason }, "")
}

/// The runner's operation; none for actions run elsewhere (`Candidates::try_out`) or read by the host piece by piece (`Looks::lines`).
fn op(action: &Action) -> Option<Op> {
    Some(match action.clone() {
        Action::Bash { command } => Op::Shell { command, background: false },
        Action::Background { command } => Op::Shell { command, background: true },
        Action::ReadFile { path, from, lines } => Op::ReadFile { path, from, lines },
        Action::WriteFile { path, content } => Op::WriteFile { path, content },
        Action::WriteFiles { files } => writes::op(&files),
        Action::ReadRanges { path, ranges } => {
            Op::ReadRanges { path, ranges: ranges.into_iter().map(|range| (range.from, range.lines)).collect() }
        }
        Action::EditFile { path, old, new, all } => Op::EditFile { path, edits: vec![Edit { old, new, all }] },
        Action::EditPlaces { path, edits } => {
            let edits = edits.into_iter().map(|TextEdit { old, new, all }| Edit { old, new, all }).collect();
            Op::EditFile { path, edits }
        }
        Action::MoveFile { from, to } => Op::MoveFile { from, to },
        Action::DeleteFile { path, recursive } => Op::DeleteFile { path, recursive },
        Action::ListFiles { path, glob, depth } => Op::ListFiles { path, glob, depth },
        Action::Search { pattern, path, glob } => Op::Search { pattern, path, glob },
        Action::WebFetch { url } => Op::WebFetch { url },
        Action::Try { .. } | Action::Summarize { .. } => return None,
    })
}
