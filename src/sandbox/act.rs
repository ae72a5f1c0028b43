//! One action in a prepared sandbox.
//!
//! Owns attaching again, and telling apart what the caller must tell apart: a result, an action that *may* have run, and a
//! sandbox that is gone. An action is sent at most once to one boot of a runner; after a restart it is never repeated.
//! Tests: `tests/trees.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::Action;
use protocol::broker::ChamberState;
use protocol::runner::{Limits, Op, Outcome, Status};

use super::link::LinkError;
use super::room::{self, HOST_IDS, Room};
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
        if request_id & HOST_IDS != 0 {
            return Err(SandboxError::Refused(format!("request id {request_id} is reserved")));
        }
        let mut sent = false;
        for _ in 0..LINES {
            let room = match self.room(task).await {
                Ok(room) => room,
                Err(Lost::Restarted) => return Ok(interrupted("the sandbox was restarted")),
                Err(Lost::Other(SandboxError::Gone(_))) if sent => return Ok(interrupted("the sandbox went away")),
                Err(Lost::Other(e)) => return Err(e),
            };
            if !sent {
                self.go_on(task).await?;
            }
            self.settle(&room, request_id).await;
            sent = true;
            match room.link.run(request_id, op(action), limits).await {
                Ok(outcome) => {
                    remember(&room, request_id);
                    return Ok(Acted { outcome, interrupted: false });
                }
                Err(LinkError::Closed | LinkError::Timeout) => {
                    self.drop_room(task, &room).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(LinkError::Protocol(why)) => return self.distrust(task, &why).await,
                Err(LinkError::TooLarge { cap }) => {
                    let reason = format!("the action is too large to be sent ({cap} bytes fit)");
                    return Ok(Acted { outcome: failed(reason), interrupted: false });
                }
                Err(e @ LinkError::Refused(_)) => return Err(room::from_link(&e)),
            }
        }
        Err(SandboxError::Unavailable("the line to the sandbox breaks again and again; trying later".to_owned()))
    }

    /// The attached chamber of a task, attaching (and waking) it if need be.
    pub(super) async fn room(&self, task: i64) -> std::result::Result<Arc<Room>, Lost> {
        if let Some(room) = self.rooms.lock().await.get(&task) {
            return Ok(Arc::clone(room));
        }
        let record = self.records.ready(task)?;
        let found = self.broker.inspect(&record.name).await.map_err(room::from_broker)?;
        match found.map(|chamber| chamber.state) {
            Some(ChamberState::Running) => {}
            Some(ChamberState::Paused) => self.broker.unpause(&record.name).await.map_err(room::from_broker)?,
            Some(ChamberState::Exited { oom: true, .. }) => {
                return Err(self.lost(task, "the sandbox ran out of memory"));
            }
            Some(ChamberState::Created | ChamberState::Exited { .. } | ChamberState::Gone) | None => {
                return Err(self.lost(task, "the sandbox is gone; somebody or the engine ended it"));
            }
        }
        let attached = Room::attach(self.broker.as_ref(), &record.name, self.epoch, Arc::clone(&self.ids)).await;
        let (room, welcome) = attached?;
        if record.boot.as_ref() != Some(&room.boot) {
            self.lost(task, "the sandbox was restarted");
            return Err(Lost::Restarted);
        }
        for known in welcome.known.iter().filter(|known| known.finished && known.id & HOST_IDS != 0) {
            // Left by an older life of the host; best effort as above.
            drop(room.link.ack(known.id).await);
        }
        let room = Arc::new(room);
        self.rooms.lock().await.insert(task, Arc::clone(&room));
        Ok(room)
    }

    /// Marks the sandbox as lost, so that everything but preparing it again says so.
    fn lost(&self, task: i64, why: &str) -> Lost {
        let marked = self.records.change(task, |record| record.boot = None);
        Lost::Other(marked.err().unwrap_or_else(|| SandboxError::Gone(why.to_owned())))
    }

    pub(super) async fn drop_room(&self, task: i64, room: &Arc<Room>) {
        let mut rooms = self.rooms.lock().await;
        if rooms.get(&task).is_some_and(|current| Arc::ptr_eq(current, room)) {
            rooms.remove(&task);
        }
    }

    /// A runner that breaks the protocol is no runner of ours any more: the chamber goes.
    async fn distrust(&self, task: i64, why: &str) -> Result<Acted> {
        tracing::warn!(task, why, "a sandbox broke the protocol and is removed");
        self.rooms.lock().await.remove(&task);
        let name = self.records.get(task).map(|record| record.name).unwrap_or_default();
        self.lost(task, why);
        self.broker.remove(&name).await.map_err(room::from_broker)?;
        Ok(interrupted("the sandbox broke the protocol and was removed"))
    }

    async fn settle(&self, room: &Room, next: u64) {
        let before = room.unacked.lock().ok().and_then(|mut last| last.take_if(|id| *id != next));
        if let Some(id) = before {
            drop(room.link.ack(id).await);
        }
    }
}

/// Why there is no line to a task's sandbox.
pub(super) enum Lost {
    /// Another boot of the runner answered: what was under way may have run.
    Restarted,
    Other(SandboxError),
}

impl From<SandboxError> for Lost {
    fn from(e: SandboxError) -> Self {
        Self::Other(e)
    }
}

impl From<Lost> for SandboxError {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Restarted => Self::Gone("the sandbox was restarted".to_owned()),
            Lost::Other(e) => e,
        }
    }
}

fn remember(room: &Room, id: u64) {
    if let Ok(mut last) = room.unacked.lock() {
        *last = Some(id);
    }
}

fn interrupted(why: &str) -> Acted {
    let reason = format!("{why} while this action was under way: it may have run, wholly, in part, or not at all");
    Acted { outcome: failed(reason), interrupted: true }
}

fn failed(reason: String) -> Outcome {
    Outcome { status: Status::Failed { reason }, text: String::new(), dropped_bytes: 0, duration_ms: 0, note: None }
}

fn op(action: &Action) -> Op {
    match action.clone() {
        Action::Bash { command } => Op::Bash { command },
        Action::ReadFile { path, from, lines } => Op::ReadFile { path, from, lines },
        Action::WriteFile { path, content } => Op::WriteFile { path, content },
        Action::EditFile { path, old, new, all } => Op::EditFile { path, old, new, all },
        Action::ListFiles { path, glob, depth } => Op::ListFiles { path, glob, depth },
        Action::Search { pattern, path, glob } => Op::Search { pattern, path, glob },
        Action::WebFetch { url } => Op::WebFetch { url },
    }
}
