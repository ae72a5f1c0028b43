//! Rows of the outbox.

use super::body::Flag;
use super::{Close, Store, StoreError, body};
use domain::{Effect, Queue, TaskId};
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

/// State of an open effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectState {
    /// Not begun, or to be tried again.
    Pending,
    /// Begun by the process life in [`EffectRow::epoch`]; its result is not stored.
    Started,
}

/// An open effect.
#[derive(Debug, Clone)]
pub struct EffectRow {
    /// Its number in the outbox.
    pub id: i64,
    /// The task that wants it.
    pub task: TaskId,
    /// Its key, unique within the task, such as `act:3`.
    pub key: String,
    /// The effect to carry out.
    pub effect: Effect,
    /// Its state.
    pub state: EffectState,
    /// The life that began it; none before.
    pub epoch: Option<i64>,
    /// How often it was begun, also by killed lives, so that an earlier try may have carried it out.
    pub tries: i64,
    /// How often something it needs was unavailable.
    pub failures: i64,
    /// Earliest time of the next try, in Unix milliseconds; 0 = at once.
    pub not_before: i64,
    /// Reason of the last postponement; none = it never was postponed.
    pub trouble: Option<String>,
    /// How often it was set aside because the forge forbids it, so that everything else of its queue goes first.
    pub aside: i64,
    /// When it was closed last, in Unix milliseconds, if it was wanted again since.
    pub closed_at: Option<i64>,
    /// Whether the charge of its last try was not spent and is kept for the next try.
    pub charge_kept: bool,
}

/// An open effect that this version cannot parse.
#[derive(Debug)]
pub struct UnreadEffect {
    /// Its number in the outbox.
    pub id: i64,
    /// Its key, unique within its task.
    pub key: String,
    /// Whether it was set aside, so that nothing else of its queue is due.
    pub aside: bool,
    /// Earliest time of the next try, in Unix milliseconds; 0 = at once.
    pub not_before: i64,
    /// Why its body could not be read.
    pub source: serde_json::Error,
}

/// A queue's name in the database.
pub(super) fn queue(queue: Queue) -> &'static str {
    match queue {
        Queue::Work => "work",
        Queue::Egress => "gate",
        Queue::Talk => "talk",
    }
}

pub(super) async fn started(c: &mut AnyConnection, id: i64, epoch: i64) -> Result<bool, StoreError> {
    super::leases::fence_effect(c, id, epoch).await?;
    let sql = "UPDATE effects SET state = 'started', epoch = $1, tries = tries + 1, held = FALSE \
               WHERE id = $2 AND state IN ('pending', 'started')";
    Ok(sqlx::query(sql).bind(epoch).bind(id).execute(c).await?.rows_affected() > 0)
}

/// Only by the life that began it.
pub(super) async fn later(
    c: &mut AnyConnection,
    (id, epoch): (i64, i64),
    not_before: i64,
    trouble: &str,
    aside: bool,
) -> Result<(), StoreError> {
    let sql = "UPDATE effects SET state = 'pending', not_before = $1, trouble = $2, failures = failures + 1, aside = aside + $3 \
               WHERE id = $4 AND state = 'started' AND epoch = $5";
    let query = sqlx::query(sql).bind(not_before).bind(body::storable(trouble)).bind(i64::from(aside)).bind(id);
    query.bind(epoch).execute(c).await?;
    Ok(())
}

pub(super) async fn hold_charge(c: &mut AnyConnection, id: i64, epoch: i64) -> Result<(), StoreError> {
    let sql = "UPDATE effects SET held = TRUE WHERE id = $1 AND state = 'started' AND epoch = $2";
    sqlx::query(sql).bind(id).bind(epoch).execute(c).await?;
    Ok(())
}

pub(super) async fn close(c: &mut AnyConnection, close: Close, now: i64) -> Result<(), StoreError> {
    let state = if close.failed { "failed" } else { "done" };
    let sql = "UPDATE effects SET state = $1, closed_at = $2 WHERE id = $3 AND state IN ('pending', 'started')";
    sqlx::query(sql).bind(state).bind(now).bind(close.effect).execute(c).await?;
    Ok(())
}

/// Drops the work of an ended task; posts for people stay.
pub(super) async fn drop_open(c: &mut AnyConnection, task: TaskId, now: i64) -> Result<(), StoreError> {
    let sql = "UPDATE effects SET state = 'dropped', closed_at = $1 \
               WHERE task = $2 AND lane = 'work' AND state IN ('pending', 'started') AND kind <> 'teardown'";
    sqlx::query(sql).bind(now).bind(task.0).execute(c).await?;
    Ok(())
}

// A status comment that stands is brought up to date after everything else, because it may wait for its time; a text that was set aside goes
// before it where that was due earlier.
pub(super) const NEXT: &str = "SELECT id, task, key, body, state, epoch, tries, failures, not_before, trouble, CAST(held AS INTEGER) AS held, aside, closed_at FROM effects \
                               WHERE task = $1 AND lane = $2 AND state IN ('pending', 'started') \
                               ORDER BY aside > 0 OR (kind = 'status_comment' AND closed_at IS NOT NULL), \
                               CASE WHEN aside > 0 THEN not_before WHEN kind <> 'status_comment' OR closed_at IS NULL THEN 0 \
                               WHEN not_before > closed_at THEN not_before ELSE closed_at END, id LIMIT 1";
pub(super) const WITH_EFFECTS: &str =
    "SELECT DISTINCT task FROM effects WHERE state IN ('pending', 'started') ORDER BY task";

impl Store {
    /// Keeps an effect's charge for its next try, so that an outage adds nothing to the log.
    pub async fn hold_charge(&self, effect: i64) -> Result<(), StoreError> {
        let epoch = self.life();
        self.writer.ask(|answer| super::queue::Write::HoldCharge { effect, epoch, answer }).await
    }

    /// Whether the work that a task's end dropped kept the charge of a call that was not spent.
    pub async fn charge_was_kept(&self, task: TaskId) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM effects WHERE task = $1 AND state = 'dropped' AND held LIMIT 1";
        let row: Option<i64> = self.read(sqlx::query_scalar(sql).bind(task.0).fetch_optional(&self.readers())).await?;
        Ok(row.is_some())
    }

    /// The next effect in a queue of a task: the oldest; one set aside only if no other is left, the soonest due first.
    ///
    /// # Errors
    /// [`StoreError::Effect`] when this version cannot parse it.
    pub async fn next_effect(&self, task: TaskId, queue: Queue) -> Result<Option<EffectRow>, StoreError> {
        let queue = self::queue(queue);
        let row = self.read(sqlx::query(NEXT).bind(task.0).bind(queue).fetch_optional(&self.readers())).await?;
        row.map(|r| read(&r)).transpose()
    }

    /// Tasks of a repository that have open effects.
    pub async fn tasks_with_effects_in(&self, repository: &str) -> Result<Vec<TaskId>, StoreError> {
        let sql = "SELECT DISTINCT e.task FROM effects e JOIN tasks t ON t.id = e.task \
                   WHERE e.state IN ('pending', 'started') AND t.repository = $1 ORDER BY e.task";
        let ids: Vec<i64> = self.read(sqlx::query_scalar(sql).bind(repository).fetch_all(&self.readers())).await?;
        Ok(ids.into_iter().map(TaskId).collect())
    }

    /// Tasks that have open effects.
    pub async fn tasks_with_effects(&self) -> Result<Vec<TaskId>, StoreError> {
        let ids: Vec<i64> = self.read(sqlx::query_scalar(WITH_EFFECTS).fetch_all(&self.readers())).await?;
        Ok(ids.into_iter().map(TaskId).collect())
    }

    /// Whether a task has an effect that is under way, or an open one that was not set aside.
    pub async fn has_work_due(&self, task: TaskId) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM effects WHERE task = $1 AND state IN ('pending', 'started') \
                   AND (state = 'started' OR aside = 0) LIMIT 1";
        let row: Option<i64> = self.read(sqlx::query_scalar(sql).bind(task.0).fetch_optional(&self.readers())).await?;
        Ok(row.is_some())
    }
}

fn read(row: &AnyRow) -> Result<EffectRow, StoreError> {
    let (id, key, state): (i64, String, String) = (row.get("id"), row.get("key"), row.get("state"));
    let (not_before, aside): (i64, i64) = (row.get("not_before"), row.get("aside"));
    let effect = match serde_json::from_str(row.get::<&str, _>("body")) {
        Ok(effect) => effect,
        Err(source) => return Err(StoreError::Effect(UnreadEffect { id, key, aside: aside > 0, not_before, source })),
    };
    Ok(EffectRow {
        effect,
        id,
        task: TaskId(row.get("task")),
        key,
        state: if state == "started" { EffectState::Started } else { EffectState::Pending },
        epoch: row.get("epoch"),
        tries: row.get("tries"),
        failures: row.get("failures"),
        not_before,
        trouble: row.get("trouble"),
        aside,
        closed_at: row.get("closed_at"),
        charge_kept: row.get::<Flag, _>("held").into(),
    })
}
