//! `max_tasks` slots: queued tasks get free slots in the order and within the limits of `line`, once the barrier is proven, or are told why
//! they never will. A task that waits for a person takes none.

use crate::barrier::BarrierState;
use crate::config::Process;
use crate::line::Line;
use crate::store::{StoreError, unless_unreadable};
use crate::task::Machine;
use domain::{Input, TaskId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Interval at which the queue is evaluated without a notification.
const LOOK: Duration = Duration::from_secs(5);
/// Milliseconds without an event after which a task expires.
const EXPIRES_MS: i64 = 30 * 24 * 3600 * 1000;
/// Time between two searches for expired tasks.
const EXPIRY: Duration = Duration::from_secs(60 * 60);

/// Gives free slots to queued tasks, and ends tasks to which nothing happened for 30 days, as far as the forge was read.
pub struct Slots {
    machine: Arc<Machine>,
    barrier: watch::Receiver<BarrierState>,
    config: Arc<Process>,
    stopping: CancellationToken,
}

impl Slots {
    /// `config` limits the tasks at work. No slot is given while `barrier` is neither proven nor refused.
    pub fn new(
        machine: Arc<Machine>,
        barrier: watch::Receiver<BarrierState>,
        config: Arc<Process>,
        stopping: CancellationToken,
    ) -> Self {
        Self { machine, barrier, config, stopping }
    }

    /// Runs until `stopping`: evaluates the queue when it may have changed, and every 5 s.
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
                // The prover ends with the verdict, after which nothing changes.
                Ok(()) = barrier.changed() => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Gives free slots. A task that cannot be read gets none, and those behind it do.
    async fn fill(&self) -> Result<(), StoreError> {
        // A refused task is told so by its next step instead of waiting in vain.
        if !matches!(*self.barrier.borrow(), BarrierState::Proven | BarrierState::Refused(_)) {
            return Ok(());
        }
        let leases = self.machine.leases();
        let mut unreadable = HashSet::new();
        loop {
            let line = Line::read(self.machine.store(), &self.config, |key| leases.holds(key)).await?;
            let (line, before) = (line.without(&unreadable), unreadable.len());
            for member in line.next() {
                let key = format!("place:{}:{}", member.id, member.seq);
                let given = self.machine.feed(member.id, &key, Input::SlotFree, None).await;
                if unless_unreadable(member.id, given)?.is_none() {
                    unreadable.insert(member.id);
                }
            }
            if unreadable.len() == before {
                return Ok(());
            }
        }
    }

    /// Ends expired tasks; false where our clock may be wrong, so that nothing expires by it.
    async fn expire(&self) -> Result<bool, StoreError> {
        let Some(now) = self.machine.clock().agreed() else { return Ok(false) };
        for row in self.machine.own_rows().await? {
            let is_old = |at: i64| at.saturating_sub(row.updated_at) > EXPIRES_MS;
            if is_old(now) && !row.busy() && is_old(self.heard_until(&row.repository, now).await?) {
                let id = TaskId(row.id);
                let ended = self.machine.feed(id, &format!("expired:{id}:{}", row.seq), Input::Expired, None).await;
                unless_unreadable(id, ended)?;
            }
        }
        Ok(true)
    }

    /// Until when a repository was read: after the bot or the forge was away, what people said since then is still to be read. One that is not
    /// configured is read by nobody.
    async fn heard_until(&self, repository: &str, now: i64) -> Result<i64, StoreError> {
        match self.config.repository(repository) {
            Some(_) => Ok(self.machine.store().watermark(repository).await?.unwrap_or(0).min(now)),
            None => Ok(now),
        }
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
    use crate::store::tests::{created, make_unreadable};
    use std::path::Path;

    fn slots(machine: &Arc<Machine>, settings: &str) -> Slots {
        let config = Process::from_layers(Path::new("caisson.toml"), settings, &|_| None).expect("a configuration");
        let barrier = watch::channel(BarrierState::Proven).1;
        Slots::new(machine.clone(), barrier, Arc::new(config), CancellationToken::new())
    }

    #[tokio::test]
    async fn a_clock_that_jumped_ahead_makes_nobody_late() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let id = created(&store, "opened:3").await.id;
        let machine = Machine::new(store.clone(), 1).0;
        let slots = slots(&machine, "");
        let state = async || store.task_row(id).await.expect("read").expect("there").state;
        assert!(!slots.expire().await.expect("asked"), "the forge was not heard");
        machine.clock().hear(now() - 365 * 24 * 3600 * 1000);
        assert!(!slots.expire().await.expect("asked"));
        assert_eq!(state().await, "queued");
        machine.clock().hear(now() - 60_000);
        assert!(slots.expire().await.expect("asked"));
        assert_eq!(state().await, "expired");
    }

    /// As after a start: the forge's clock is heard before the first round has read what people said meanwhile.
    #[tokio::test]
    async fn nobody_is_late_before_what_they_said_was_read() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let id = created(&store, "opened:3").await.id;
        let machine = Machine::new(store.clone(), 1).0;
        let place = "owner = \"lab\"\nname = \"shop\"\nid = 1\nsecret_files = [\"s\"]\n";
        let slots = slots(&machine, &format!("[[repositories]]\nkey = \"shop\"\n{place}"));
        let state = async || store.task_row(id).await.expect("read").expect("there").state;
        let since = store.task_row(id).await.expect("read").expect("there").updated_at;
        machine.clock().hear(now() - 60_000);
        for read in [None, Some(since + EXPIRES_MS)] {
            if let Some(at) = read {
                store.set_watermark("shop", at).await.expect("stored");
            }
            assert!(slots.expire().await.expect("asked"));
            assert_eq!(state().await, "queued", "read until {read:?}");
        }
        store.set_watermark("shop", since + EXPIRES_MS + 1).await.expect("stored");
        assert!(slots.expire().await.expect("asked"));
        assert_eq!(state().await, "expired");
    }

    #[tokio::test]
    async fn a_task_that_cannot_be_read_keeps_no_other_from_a_slot_or_from_its_end() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let mut ids = Vec::new();
        for key in ["opened:3", "opened:4", "opened:5"] {
            ids.push(created(&store, key).await.id);
        }
        make_unreadable(dir.path(), ids[0]).await;
        let machine = Machine::new(store.clone(), 1).0;
        let slots = slots(&machine, "max_tasks = 1\n");
        let states = async || {
            let mut states = Vec::new();
            for id in &ids {
                states.push(store.task_row(*id).await.expect("read").expect("there").state);
            }
            states
        };
        slots.fill().await.expect("filled");
        assert_eq!(states().await, ["queued", "preparing", "queued"], "the one slot is the next one's");
        machine.clock().hear(now() - 60_000);
        assert!(slots.expire().await.expect("asked"));
        assert_eq!(states().await, ["queued", "preparing", "expired"]);
    }

    #[tokio::test]
    async fn a_task_at_work_that_cannot_be_read_gives_its_slot_to_the_next() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let ids = [created(&store, "opened:3").await.id, created(&store, "opened:4").await.id];
        let slots = slots(&Machine::new(store.clone(), 1).0, "max_tasks = 1\n");
        let state = async |id| store.task_row(id).await.expect("read").expect("there").state;
        slots.fill().await.expect("filled");
        assert_eq!((state(ids[0]).await, state(ids[1]).await), ("preparing".into(), "queued".into()));
        make_unreadable(dir.path(), ids[0]).await;
        assert!(store.unreadable().is_empty(), "nobody has tried to read it");
        store.task(ids[0]).await.expect_err("it cannot be read");
        assert_eq!(Vec::from_iter(store.unreadable()), [ids[0]]);
        slots.fill().await.expect("filled");
        assert_eq!(state(ids[1]).await, "preparing");
    }
}
