//! One action in a prepared sandbox.
//!
//! Owns attaching again, and telling apart what the caller must tell apart: a result, an action that *may* have run, and a
//! sandbox that is gone. An action is sent at most once to one boot of a runner; after a restart it is never repeated.
//! Tests: `tests/trees.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::{Action, Loss, TextEdit};
use protocol::broker::{ContainerState, End};
use protocol::edit::Edit;
use protocol::runner::{Limits, Op, Outcome, Status};

use super::link::LinkError;
use super::session::{self, HOST_IDS, Session};
use super::{Acted, Result, SandboxError, Sandboxes};

/// How often a lost line is taken up again within one call.
const LINES: usize = 3;

impl Sandboxes {
    /// Runs `action` under `request_id`, or waits for it if the runner already has it from an earlier try.
    ///
    /// The result of the action before is acknowledged first: asking for the next one says that it is stored.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] when there was no sandbox to begin with: *this* call has run nothing (an earlier try of the
    /// same request may have). [`SandboxError::Unavailable`] when engine or broker is away: repeat the call.
    pub async fn act(&self, task: i64, request_id: u64, action: &Action, limits: Limits) -> Result<Acted> {
        let op = op(action).ok_or_else(|| SandboxError::Refused("a try has a sandbox of its own".to_owned()))?;
        if request_id & HOST_IDS != 0 {
            return Err(SandboxError::Refused(format!("request id {request_id} is reserved")));
        }
        self.must_be_current(task)?;
        let mut sent = false;
        for _ in 0..LINES {
            let session = match self.session(task).await {
                Ok(session) => session,
                // Another boot answers: an earlier try of this request may have run in the one before.
                Err(SandboxError::Gone(Loss::Restarted)) => return Ok(interrupted(Loss::Restarted)),
                Err(SandboxError::Gone(loss)) if sent => return Ok(interrupted(loss)),
                Err(e) => return Err(e),
            };
            if !sent {
                self.go_on(task).await?;
            }
            self.settle(&session, request_id).await;
            sent = true;
            match session.link.run(request_id, op.clone(), limits).await {
                Ok(outcome) => {
                    remember(&session, request_id);
                    return Ok(Acted { outcome, lost: None });
                }
                Err(LinkError::Closed | LinkError::Timeout) => {
                    self.drop_session(task, &session).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(e @ LinkError::Protocol(_)) => {
                    return match self.unless_trusted(task, session::from_link(&e)).await {
                        SandboxError::Gone(loss) => Ok(interrupted(loss)),
                        e => Err(e),
                    };
                }
                Err(LinkError::TooLarge { cap }) => {
                    let reason = format!("the action is too large to be sent ({cap} bytes fit)");
                    return Ok(Acted { outcome: failed(reason), lost: None });
                }
                Err(e @ LinkError::Refused(_)) => return Err(session::from_link(&e)),
            }
        }
        Err(SandboxError::Unavailable("the line to the sandbox breaks again and again; trying later".to_owned()))
    }

    /// The attached container of a task, attaching (and waking) it if need be.
    pub(super) async fn session(&self, task: i64) -> Result<Arc<Session>> {
        if let Some(session) = self.sessions.lock().await.get(&task) {
            return Ok(Arc::clone(session));
        }
        let record = self.records.ready(task)?;
        let found = self.broker.inspect(&record.name).await.map_err(session::from_broker)?;
        match found.map(|container| container.state) {
            Some(ContainerState::Running) => {}
            Some(ContainerState::Paused) => self.broker.unpause(&record.name).await.map_err(session::from_broker)?,
            Some(ContainerState::Exited { end, .. }) => return Err(self.lost(task, ended(end))),
            // One that was never started is another one than was prepared, which is gone.
            Some(ContainerState::Created | ContainerState::Gone) | None => return Err(self.lost(task, Loss::Removed)),
        }
        let attached = Session::attach(self.broker.as_ref(), &record, self.epoch, Arc::clone(&self.ids)).await;
        let (session, welcome) = match attached {
            Ok(attached) => attached,
            Err(e) => return Err(self.unless_trusted(task, e).await),
        };
        if record.boot.as_ref() != Some(&session.boot) {
            return Err(self.lost(task, Loss::Restarted));
        }
        for known in welcome.known.iter().filter(|known| known.finished && known.id & HOST_IDS != 0) {
            // Left by an older life of the host; best effort as above.
            drop(session.link.ack(known.id).await);
        }
        let session = Arc::new(session);
        self.sessions.lock().await.insert(task, Arc::clone(&session));
        Ok(session)
    }

    /// Marks the sandbox as lost, so that everything but preparing it again says so.
    fn lost(&self, task: i64, loss: Loss) -> SandboxError {
        let marked = self.records.change(task, |record| (record.boot, record.lost) = (None, Some(loss)));
        marked.err().unwrap_or(SandboxError::Gone(loss))
    }

    pub(super) async fn drop_session(&self, task: i64, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().await;
        if sessions.get(&task).is_some_and(|current| Arc::ptr_eq(current, session)) {
            sessions.remove(&task);
        }
    }

    /// `e`; a runner that broke the protocol is no runner of ours any more: its container goes before that is said.
    pub(super) async fn unless_trusted(&self, task: i64, e: SandboxError) -> SandboxError {
        if e != SandboxError::Gone(Loss::Untrusted) {
            return e;
        }
        self.sessions.lock().await.remove(&task);
        let name = self.records.get(task).map(|record| record.name).unwrap_or_default();
        self.lost(task, Loss::Untrusted);
        self.broker.remove(&name).await.err().map_or(e, session::from_broker)
    }

    async fn settle(&self, session: &Session, next: u64) {
        let before = session.unacked.lock().ok().and_then(|mut last| last.take_if(|id| *id != next));
        if let Some(id) = before {
            drop(session.link.ack(id).await);
        }
    }
}

/// What the broker's word on an ended container means for its task.
fn ended(end: End) -> Loss {
    match end {
        End::Memory => Loss::Memory,
        End::Stopped => Loss::Stopped,
        End::EngineRestarted => Loss::EngineRestarted,
        End::Itself => Loss::Ended,
    }
}

fn remember(session: &Session, id: u64) {
    if let Ok(mut last) = session.unacked.lock() {
        *last = Some(id);
    }
}

fn interrupted(loss: Loss) -> Acted {
    let reason = format!("{loss} while this action was under way: it may have run, wholly, in part, or not at all");
    Acted { outcome: failed(reason), lost: Some(loss) }
}

fn failed(reason: String) -> Outcome {
    Outcome::new(Status::Failed { reason }, "")
}

/// None for what happens elsewhere ([`Sandboxes::try_out`]).
fn op(action: &Action) -> Option<Op> {
    Some(match action.clone() {
        Action::Bash { command } => Op::Shell { command, background: false },
        Action::Background { command } => Op::Shell { command, background: true },
        Action::ReadFile { path, from, lines } => Op::ReadFile { path, from, lines },
        Action::WriteFile { path, content } => Op::WriteFile { path, content },
        Action::WriteFiles { files } => {
            Op::WriteFiles { files: files.into_iter().map(|file| (file.path, file.content)).collect() }
        }
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
        Action::Try { .. } => return None,
    })
}
