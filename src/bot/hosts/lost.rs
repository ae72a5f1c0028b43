//! What stands in this host's engine of repositories that it has lost, and of tasks that are over or elsewhere.

use super::{Adoption, Hosts};
use crate::task::Awake;
use domain::TaskId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks for sandboxes of tasks that other hosts moved on, and for repositories that nobody has.
const SWEEP: Duration = Duration::from_secs(30);
/// Between two looks for sandboxes whose repository was lost.
const LOOK: Duration = Duration::from_secs(1);

impl Hosts {
    /// Sandboxes of repositories that this host has lost reach nothing and do nothing, until it works for them again: another host may have
    /// taken back what they may reach. Needs no store for those it knows, and one that is slow to stop delays no other.
    pub(super) async fn let_go(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            for id in self.standing().tasks() {
                let this = self.clone();
                tokio::spawn(async move { this.let_go_of(id).await });
            }
        }
    }

    async fn let_go_of(&self, id: i64) {
        let known = tokio::time::timeout(LOOK, self.repository_of(id)).await;
        let Ok(Ok(Some(key))) = known else { return };
        if !self.is_lost(&key, id) {
            return;
        }
        let turn = self.turn(id);
        // One that is under way already, or is being taken up or removed, is looked at again in a moment.
        if let Ok(_one) = turn.try_lock()
            && self.is_lost(&key, id)
        {
            self.rest(id, &key).await;
        }
    }

    fn is_lost(&self, key: &str, id: i64) -> bool {
        let all = self.state();
        let underway = matches!(all.adoptions.get(key), Some(Adoption::Underway(_))) && all.until > Awake::now();
        let mine = underway || self.machine.leases().holds(key);
        !mine && all.worked.contains(key) && all.resting.get(&id) != Some(&true)
    }

    async fn rest(&self, id: i64, key: &str) {
        // Before the first step: whatever comes of it, its way out is opened again with the lease.
        self.state().resting.insert(id, false);
        match self.standing().rest(id).await {
            Ok(()) => {
                tracing::warn!(task = id, key, "its sandbox stands still: another host may work for its repository");
                self.state().resting.insert(id, true);
            }
            Err(error) => tracing::error!(%error, task = id, key, "its sandbox could not be stopped; tried again"),
        }
    }

    /// From time to time: finds tasks that nobody has in its configuration, and removes sandboxes that are of no use any more.
    pub(super) async fn sweep(self: Arc<Self>) {
        loop {
            if let Err(error) = self.find_left_over().await {
                tracing::warn!(%error, "whether tasks are left over is not known");
            }
            self.look.notify_one();
            let away = self.sandboxes.hello().await.is_err();
            self.state().engine_away = away;
            self.remove_useless().await;
            // What was told to nobody.
            self.intake.ring();
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// Removes sandboxes whose task has ended, or which another host has moved on.
    async fn remove_useless(&self) {
        for id in self.standing().tasks() {
            let turn = self.turn(id);
            let _one = turn.lock().await;
            let row = match self.machine.store().task_row(TaskId(id)).await {
                Ok(row) => row,
                Err(error) => return tracing::warn!(%error, "whose sandboxes stand here is not known"),
            };
            // What is this host's is its effects' to remove, and what it begins with is put in order then.
            let own = |key: &str| self.state().adoptions.contains_key(key);
            let of_use = row.is_some_and(|row| {
                own(&row.repository) || (row.live && (row.owner.is_empty() || row.owner == self.machine.host()))
            });
            if of_use {
                continue;
            }
            tracing::info!(task = id, "its sandbox is removed: it ended, or another host has moved it on");
            if let Err(error) = self.standing().remove(id).await {
                tracing::warn!(%error, task = id, "its sandbox could not be removed; tried again");
            }
        }
        let standing: HashSet<i64> = self.standing().tasks().into_iter().collect();
        let mut all = self.state();
        all.of_tasks.retain(|id, _| standing.contains(id));
        all.resting.retain(|id, _| standing.contains(id));
        all.turns.retain(|id, _| standing.contains(id));
    }
}
