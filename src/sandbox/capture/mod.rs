//! Makes one commit of the bot from a checkpoint's tree: taken out of the sandbox (`take.rs`) and judged in a quarantine (`quarantine.rs`,
//! `inspection.rs`). Files that a project wants beside it come out of the same stopped sandbox (`artifacts.rs`).
//!
//! Must not let git on the host read objects that were not checked in quarantine. Tests: `tests/trees.rs`.

mod artifacts;
mod by_products;
mod inspection;
pub mod quarantine;
pub(super) mod take;

use std::sync::Arc;

pub use artifacts::FoundArtifacts;

use super::core::Core;
use super::life::carry::Carried;
use super::sessions::Sessions;
use super::{CaptureSpec, Captured, Result, SandboxError};
use quarantine::Quarantines;
use take::{Taken, Trees};

/// Makes commits of sandboxes' trees.
pub struct Captures {
    pub(super) core: Arc<Core>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) trees: Arc<Trees>,
    pub(super) quarantines: Arc<Quarantines>,
    pub(super) carried: Arc<Carried>,
}

impl Captures {
    /// Stops the sandbox, takes its tree, has it checked, and stores the commit as `refs/caisson/<task>/<n>`.
    ///
    /// Repeatable: a checkpoint that was stored before the caller knew is made again from the same tree and gives the same commit, because
    /// author, date and message come from the caller. A sandbox that was stopped while its task waited is started for it, and stays recorded as
    /// stopped; its subnet stays closed.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] when the sandbox went away before its tree was taken, [`SandboxError::Unavailable`] for engine, router or
    /// disk. A tree that breaks a rule is [`Captured::Refused`].
    pub async fn capture(&self, spec: &CaptureSpec) -> Result<Captured> {
        let task = spec.segment.task;
        let record = self.core.records.ready(task)?;
        if record.stopped {
            self.sessions.wake(&record).await?;
        }
        let session = self.sessions.of(task).await?;
        // The quarantine container starts while the tree is read, if it was not made in advance.
        let (quarantine, taken) = tokio::join!(
            self.quarantines.quarantine_of(&spec.segment),
            self.trees.stop_and_take(&session, record, spec)
        );
        let Taken { tree, mut pack, left_out } = match taken {
            Ok(taken) => taken,
            Err(SandboxError::Refused(why) | SandboxError::Limit(why)) => {
                return Ok(Captured::Refused { reasons: vec![why] });
            }
            Err(e) => return Err(self.sessions.dropped_after(task, &session, e).await),
        };
        let quarantine = quarantine.map_err(of_quarantine)?;
        let captured = self.quarantines.examine(quarantine, spec, &tree, &mut pack).await.map_err(of_quarantine)?;
        self.carried.forget(task);
        Ok(captured.leaving_out(left_out))
    }
}

/// A quarantine that is lost says nothing of the task's own sandbox, whose tree is taken again for the next one.
fn of_quarantine(e: SandboxError) -> SandboxError {
    match e {
        SandboxError::Gone(loss) => SandboxError::Unavailable(format!("the checkpoint's quarantine was lost: {loss}")),
        other => other,
    }
}
