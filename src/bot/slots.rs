//! `max_tasks` slots: who is in line, to begin or to go on, gets the next free one, once the barrier is proven, or is told why it never will be. A task that waits for a person takes none.

use crate::barrier::Standing;
use crate::store::StoreError;
use crate::task::Machine;
use domain::{Input, TaskId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const BUSY: [&str; 4] = ["preparing", "running", "publishing", "verifying"];
/// How often the line is looked at though nobody rang.
const LOOK: Duration = Duration::from_secs(5);
/// Milliseconds after which a task nobody touches expires.
const EXPIRES_MS: i64 = 30 * 24 * 3600 * 1000;
/// Between two searches for tasks that nobody touches any more.
const EXPIRY: Duration = Duration::from_secs(60 * 60);

/// Gives free slots to tasks in line, and ends tasks that nobody has touched for 30 days.
pub struct Slots {
    machine: Arc<Machine>,
    barrier: watch::Receiver<Standing>,
    max: usize,
    stopping: CancellationToken,
}

impl Slots {
    /// `max` is how many tasks may work at the same time, at least 1. No slot is given while `barrier` is neither
    /// proven nor refused.
    pub fn new(
        machine: Arc<Machine>,
        barrier: watch::Receiver<Standing>,
        max: usize,
        stopping: CancellationToken,
    ) -> Self {
        Self { machine, barrier, max: max.max(1), stopping }
    }

    /// Runs until `stopping`: looks at the line whenever it may have moved, and every 5 s.
    pub async fn run(self) {
        let line = self.machine.line();
        let mut barrier = self.barrier.clone();
        let mut expired: Option<Instant> = None;
        while !self.stopping.is_cancelled() {
            if expired.is_none_or(|at| at.elapsed() > EXPIRY) {
                let looked = self.expire().await;
                if !matches!(looked, Ok(false)) {
                    expired = Some(Instant::now());
                }
                tell(looked.map(drop));
            }
            tell(self.fill().await);
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = line.notified() => {}
                // Whoever proves it ends with the verdict; then nothing changes any more.
                Ok(()) = barrier.changed() => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    async fn fill(&self) -> Result<(), StoreError> {
        // Who is refused is told so by what comes next: nobody waits in line for nothing.
        if !matches!(*self.barrier.borrow(), Standing::Proven | Standing::Refused(_)) {
            return Ok(());
        }
        let live = self.machine.own_tasks().await?;
        let busy = live.iter().filter(|row| BUSY.contains(&row.state.as_str())).count();
        let free = self.max.saturating_sub(busy);
        for row in live.iter().filter(|row| row.state == "queued").take(free) {
            let id = TaskId(row.id);
            self.machine.feed(id, &format!("place:{id}:{}", row.seq), Input::SlotFree, None).await?;
        }
        Ok(())
    }

    /// Ends what nobody touches any more; false where our clock may be wrong: nobody is late by it then.
    async fn expire(&self) -> Result<bool, StoreError> {
        let Some(now) = self.machine.clock().agreed() else { return Ok(false) };
        for row in self.machine.own_tasks().await? {
            if now - row.updated_at > EXPIRES_MS && !BUSY.contains(&row.state.as_str()) {
                let id = TaskId(row.id);
                self.machine.feed(id, &format!("expired:{id}:{}", row.seq), Input::Expired, None).await?;
            }
        }
        Ok(true)
    }
}

fn tell(result: Result<(), StoreError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the line of tasks could not be looked at");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;
    use crate::store::Store;
    use crate::store::tests::created;

    #[tokio::test]
    async fn a_clock_that_jumped_ahead_makes_nobody_late() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let id = created(&store, "opened:3").await.id;
        let machine = Machine::new(store.clone(), 1).0;
        let barrier = watch::channel(Standing::Proven).1;
        let slots = Slots::new(machine.clone(), barrier, 1, CancellationToken::new());
        let state = async || store.task_row(id).await.expect("read").expect("there").state;
        assert!(!slots.expire().await.expect("asked"), "the forge was not heard");
        machine.clock().hear(now() - 365 * 24 * 3600 * 1000);
        assert!(!slots.expire().await.expect("asked"));
        assert_eq!(state().await, "queued");
        machine.clock().hear(now() - 60_000);
        assert!(slots.expire().await.expect("asked"));
        assert_eq!(state().await, "expired");
    }
}
