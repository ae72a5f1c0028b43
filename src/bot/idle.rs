//! Puts away sandboxes of waiting tasks in stages, by age and where another task needs the subnet.
//!
//! Owns when; `domain::transition` decides whether, `effect` and `sandbox` how. Stateless: the waiting time is the time since a task's last
//! event. Tests: below, and `tests/stories/idle.rs`.

use crate::clock::now;
use crate::config::process::Sandbox;
use crate::sandbox::Sandboxes;
use crate::store::{StoreError, unless_unreadable};
use crate::task::{FeedResult, Machine};
use domain::{Input, Suspension, Task, TaskId};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval of rounds in seconds, unless a limit is shorter.
const ROUND_S: u64 = 30;
/// A sandbox that has been going away for longer than this is not waited for.
const LEAVING_MS: i64 = 120_000;

pub struct IdleSandboxes {
    pub machine: Arc<Machine>,
    pub sandboxes: Arc<Sandboxes>,
    pub limits: Sandbox,
    pub stopping: CancellationToken,
}

impl IdleSandboxes {
    pub async fn run(self) {
        let shortest = [self.limits.stop_after_s, self.limits.evict_after_s, self.limits.max_age_s];
        let shortest = shortest.into_iter().filter(|&s| s > 0).min().unwrap_or(ROUND_S);
        let every = Duration::from_secs(shortest.clamp(1, ROUND_S));
        let mut rounds = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let looked = tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = rounds.tick() => self.round().await,
                () = self.sandboxes.egress.crowded() => self.make_room().await,
            };
            if let Err(error) = looked {
                tracing::warn!(%error, "waiting sandboxes could not be looked at");
            }
        }
    }

    /// Puts away the sandbox that has waited longest, because a task needs a subnet and all are taken.
    async fn make_room(&self) -> Result<(), StoreError> {
        let mut held = self.machine.own_rows().await?;
        held.retain(|row| self.sandboxes.egress.subnet(row.id).is_some());
        held.sort_by_key(|row| row.updated_at);
        let leaves = |task: &Task| task.keeping || task.suspension == Some(Suspension::Evicted);
        for row in held.iter().filter(|row| now() - row.updated_at < LEAVING_MS) {
            let id = TaskId(row.id);
            if unless_unreadable(id, self.machine.look(id).await)?.is_some_and(|task| leaves(&task)) {
                return Ok(());
            }
        }
        for row in &held {
            let (id, input) = (TaskId(row.id), Input::Idled { suspension: Suspension::Evicted });
            let put_away = self.machine.feed(id, &format!("needed:{id}:{}", row.seq), input, None).await;
            if let Some(FeedResult::Taken(task)) = unless_unreadable(id, put_away)?
                && leaves(&task)
            {
                tracing::info!(task = row.id, "its sandbox is put away: another task needs the subnet");
                return Ok(());
            }
        }
        Ok(())
    }

    async fn round(&self) -> Result<(), StoreError> {
        for row in self.machine.own_rows().await? {
            let Some(made_at) = self.sandboxes.of_tasks.made_at(row.id) else { continue };
            // A record of an earlier release lacks the time.
            let age = if made_at > 0 { now() - made_at } else { 0 };
            let idle = now() - row.updated_at;
            if let Some(suspension) = due(&self.limits, idle, age) {
                let (id, seq) = (TaskId(row.id), row.seq);
                let key = format!("idled:{id}:{suspension:?}:{seq}");
                unless_unreadable(id, self.machine.feed(id, &key, Input::Idled { suspension }, None).await)?;
            }
        }
        Ok(())
    }
}

/// How far to put away a sandbox of this age whose task has been idle for so many milliseconds.
fn due(limits: &Sandbox, idle_ms: i64, age_ms: i64) -> Option<Suspension> {
    let past = |ms: i64, limit_s: u64| limit_s > 0 && ms >= i64::try_from(limit_s * 1000).unwrap_or(i64::MAX);
    if past(idle_ms, limits.evict_after_s) || past(age_ms, limits.max_age_s) {
        return Some(Suspension::Evicted);
    }
    (limits.workspace_mib == 0 && past(idle_ms, limits.stop_after_s)).then_some(Suspension::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Process;
    use std::path::Path;

    fn limits(workspace_mib: u64) -> Sandbox {
        let file = Path::new("caisson.toml");
        let text = "[sandbox]\nstop_after_s = 10\nevict_after_s = 100\nmax_age_s = 1000\n";
        let loaded = Process::from_layers(file, text, &|_| None).expect("a configuration");
        Sandbox { workspace_mib, ..loaded.sandbox }
    }

    #[test]
    fn what_waits_goes_down_rung_by_rung() {
        let disk = limits(0);
        assert_eq!(due(&disk, 9_999, 9_999), None);
        assert_eq!(due(&disk, 10_000, 10_000), Some(Suspension::Stopped));
        assert_eq!(due(&disk, 100_000, 100_000), Some(Suspension::Evicted));
        assert_eq!(due(&disk, 0, 1_000_000), Some(Suspension::Evicted), "too old");
        assert_eq!(due(&limits(64), 10_000, 10_000), None, "a workspace in memory would not outlive its stop");
        let never = Sandbox { stop_after_s: 0, evict_after_s: 0, max_age_s: 0, ..disk };
        assert_eq!(due(&never, i64::MAX, i64::MAX), None);
    }
}
