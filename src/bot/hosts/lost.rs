//! Sandboxes on this host of repositories that it has lost, and of tasks that ended or moved.

use super::{Adoption, Hosts};
use crate::task::Awake;
use domain::TaskId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Time between searches for sandboxes of moved tasks, and for abandoned repositories.
const SWEEP: Duration = Duration::from_secs(30);
/// Time between searches for sandboxes of lost repositories.
const LOOK: Duration = Duration::from_secs(1);

impl Hosts {
    /// Puts sandboxes of lost repositories to rest until the lease returns, because another host may have restricted what they may reach.
    /// Works without the store for known ones, and a slow one delays no other.
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
        // One that is being handled is looked at again in a moment.
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
        // Recorded before the first step, so that its subnet is opened again with the lease in any case.
        self.state().resting.insert(id, false);
        match self.standing().rest(id).await {
            Ok(()) => {
                tracing::warn!(task = id, key, "its sandbox stands still: another host may work for its repository");
                self.state().resting.insert(id, true);
            }
            Err(error) => tracing::error!(%error, task = id, key, "its sandbox could not be stopped; tried again"),
        }
    }

    /// Regularly finds tasks that no host has in its configuration, and removes useless sandboxes.
    pub(super) async fn sweep(self: Arc<Self>) {
        loop {
            if let Err(error) = self.find_left_over().await {
                tracing::warn!(%error, "whether tasks are left over is not known");
            }
            self.look.notify_one();
            let away = self.sandboxes.hello().await.is_err();
            self.state().engine_away = away;
            self.remove_useless().await;
            // Reads deliveries that no host was notified of.
            self.intake.ring();
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// Removes sandboxes whose task ended or was continued by another host.
    async fn remove_useless(&self) {
        for id in self.standing().tasks() {
            let turn = self.turn(id);
            let _one = turn.lock().await;
            let row = match self.machine.store().task_row(TaskId(id)).await {
                Ok(row) => row,
                Err(error) => return tracing::warn!(%error, "whose sandboxes stand here is not known"),
            };
            // A repository of this host is handled by its effects, and by adoption.
            let own = |key: &str| self.state().adoptions.contains_key(key);
            let run = match &row {
                Some(_) => None,
                None => match self.machine.store().repository_of_test_run(id).await {
                    Ok(run) => run,
                    Err(error) => return tracing::warn!(%error, "whose sandboxes stand here is not known"),
                },
            };
            let of_use = run.is_some_and(|repository| own(&repository))
                || row.is_some_and(|row| {
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
