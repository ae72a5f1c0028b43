//! Reads one issue and its pull request, and feeds what is new to its task, in the forge's own order.

use super::hidden::Unread;
use crate::clock::now;
use crate::config::Process;
use crate::config::process::Repository;
use crate::effect::Egress;
use crate::forge::{Forge, IssueLocks, Refusals, RepoRef, RepositoryAddresses};
use crate::store::Store;
use crate::task::Machine;
use crate::thread::Threads;
use crate::trouble::Trouble;
use domain::TaskId;
use std::sync::Arc;

/// Reads issues and pull requests, and feeds what is new in them to their tasks.
pub struct Reader {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) machine: Arc<Machine>,
    pub(super) egress: Arc<Egress>,
    /// Id of the bot's own account.
    pub(super) me: i64,
    pub(super) threads: Arc<Threads>,
    locks: IssueLocks,
    pub(super) unread: Unread,
    /// Threads that the forge refuses to show.
    pub(super) refusals: Refusals<(String, u64)>,
    /// Threads that are missing while others of their kind exist.
    pub(super) gone: Refusals<(String, u64)>,
}

impl Reader {
    /// `addresses`, `threads` and `egress` are those of the effects; `me` is the bot's own account.
    pub fn new(
        config: Arc<Process>,
        machine: Arc<Machine>,
        addresses: Arc<RepositoryAddresses>,
        threads: Arc<Threads>,
        egress: Arc<Egress>,
        me: i64,
    ) -> Self {
        let (store, forge) = (machine.store().clone(), addresses.forge().clone());
        let poll_s = config.forge.poll_s;
        Self {
            config,
            store,
            forge,
            addresses,
            machine,
            egress,
            me,
            threads,
            locks: IssueLocks::default(),
            unread: Unread::default(),
            refusals: Refusals::of_rounds(poll_s),
            gone: Refusals::of_rounds(poll_s),
        }
    }

    /// Asks the forge where the repository is now, and tells its live tasks of a new name.
    pub(super) async fn find(&self, entry: &Repository) -> Result<RepoRef, Trouble> {
        self.threads.moves.find(entry, self.machine.as_ref()).await
    }

    /// Reads an issue or pull request, one reading of a number at a time. `begins` is called when it begins: what was said before is seen.
    pub async fn read(&self, key: &str, number: u64, begins: impl FnOnce()) -> Result<(), Trouble> {
        let _held = self.locks.enter(key, number).await;
        begins();
        let Some(entry) = self.config.repository(key).filter(|_| self.machine.leases().holds(key)) else {
            return Ok(());
        };
        let mut done = self.read_once(&entry, number).await;
        if matches!(done, Err(Trouble::Moved { .. })) {
            self.find(&entry).await?;
            done = self.read_once(&entry, number).await;
        }
        let mut waits = false;
        if done.is_ok() {
            (waits, done) = match self.test_push(&entry, number).await {
                Ok(waits) => (waits, Ok(())),
                Err(trouble) => (false, Err(trouble)),
            };
        }
        if waits {
            // Rounds read it again until there is room.
            self.store.could_not_read(key, number, now()).await?;
        } else {
            self.note(key, number, &done).await?;
        }
        done
    }

    async fn read_once(&self, entry: &Repository, number: u64) -> Result<(), Trouble> {
        if let Some(row) = self.store.live_task_of(&entry.key, number).await? {
            let id = TaskId(row.id);
            // An earlier attempt whose result was lost may have created the task or moved it on.
            self.machine.nudge(id);
            match self.threads.follower.follow(entry, id, self.machine.as_ref()).await {
                Ok(thread) if thread.hidden.is_empty() => {}
                Ok(thread) => return Err(self.hidden(entry, number, id, &thread.hidden).await),
                Err(trouble) => return self.refused(entry, number, Some(id), trouble).await,
            }
            self.note_changes(entry, row.issue.unsigned_abs()).await?;
            // What was said after the text that ended it is read as in a thread without a task.
            if !self.machine.look(id).await?.state.ended() {
                return Ok(());
            }
        }
        match self.look_without_task(entry, number).await {
            Err(trouble) => self.refused(entry, number, None, trouble).await,
            Ok(()) => Ok(()),
        }
    }

    /// Has a push tested where somebody asked for that, after what is said there.
    async fn test_push(&self, entry: &Repository, number: u64) -> Result<bool, Trouble> {
        match self.threads.apart.tests.test_push(entry, number, self.machine.as_ref()).await {
            Err(trouble) => self.refused(entry, number, None, trouble).await.map(|()| false),
            Ok(waits) => Ok(waits),
        }
    }
}
