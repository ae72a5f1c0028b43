//! What is deleted, and what stays of it: an ended task goes whole when a person says so or its time is over, what only its work
//! needed goes earlier. Deleted bytes are overwritten (`secure_delete`), the write-ahead log is emptied after it.
//!
//! Of a deleted task three numbers stay, so that nothing happens twice: see `floors` and `retired` in the migrations, and the ids of
//! the texts it took up. Tests: `contract/retention.rs`.

use super::body::Flag;
use super::{Store, StoreError, month_began, queue};
use crate::clock::now;
use domain::TaskId;
use sqlx::AnyConnection;
use sqlx::Row;

/// Rows, or tasks, of one slice: between two slices whatever else waits for the writer has its turn.
const ROWS: i64 = 500;
const TASKS: i64 = 20;

/// Texts on the forge, by the beginning of their input keys: their ids count up.
const TEXTS: [&str; 3] = ["opened", "comment", "review"];

/// Unix milliseconds; what is older goes. `None` = nothing of it does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// Deliveries that were handled.
    pub deliveries: Option<i64>,
    /// Of ended tasks: outbox, keys of inputs, lines of the router's log. Of people: whose turn came when.
    pub details: Option<i64>,
    /// Ended tasks, and keys of texts that no task took up.
    pub tasks: Option<i64>,
}

/// What became of a wish to delete a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// Its rows are gone. Its refs in the local repository of this key are not the store's: `Repos::forget_task`.
    Gone {
        /// The repository's key in the configuration.
        repository: String,
    },
    /// It has not ended: nothing was deleted.
    Live,
    /// There is no task of this number.
    Unknown,
}

/// The kind and the number of a text that an input's key stands for.
pub(super) fn text_of(key: &str) -> Option<(&'static str, i64)> {
    let (kind, rest) = key.split_once(':')?;
    let kind = TEXTS.into_iter().find(|text| *text == kind)?;
    let digits = rest.split('#').next()?;
    Some((kind, digits.parse().ok()?))
}

pub(super) async fn raise_floor(c: &mut AnyConnection, kind: &str, id: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO floors (kind, id) VALUES ($1, $2) \
               ON CONFLICT (kind) DO UPDATE SET id = excluded.id WHERE floors.id < excluded.id";
    sqlx::query(sql).bind(kind).bind(id).execute(c).await?;
    Ok(())
}

/// Deletes an ended task with everything of it.
pub(super) async fn delete_task(c: &mut AnyConnection, id: TaskId) -> Result<Deleted, StoreError> {
    let sql = "SELECT CAST(live AS INTEGER), repository, issue FROM tasks WHERE id = $1";
    let Some(row) = sqlx::query(sql).bind(id.0).fetch_optional(&mut *c).await? else { return Ok(Deleted::Unknown) };
    let (live, repository, issue): (Flag, String, i64) = (row.get(0), row.get(1), row.get(2));
    if live.into() {
        return Ok(Deleted::Live);
    }
    delete_details(c, id).await?;
    let blobs = "DELETE FROM blobs WHERE sha256 IN (SELECT blob FROM task_events WHERE task = $1 AND blob IS NOT NULL) \
                 AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.blob = blobs.sha256 AND e.task <> $1)";
    // Ids of texts stay for a while (`prune`): what was deleted does not begin anew when its issue is read again.
    let rest = [
        blobs,
        "UPDATE inputs SET task = NULL WHERE task = $1",
        "DELETE FROM task_events WHERE task = $1",
        "DELETE FROM actions WHERE task = $1",
        "DELETE FROM pictures WHERE task = $1",
        "DELETE FROM checkpoints WHERE task = $1",
        "DELETE FROM decisions WHERE task = $1",
        "DELETE FROM posts WHERE task = $1",
        "DELETE FROM changed_files WHERE task = $1",
        "DELETE FROM tasks WHERE id = $1",
    ];
    for sql in rest {
        sqlx::query(sql).bind(id.0).execute(&mut *c).await?;
    }
    // What it cost this month still counts towards the month's money.
    let sql = "DELETE FROM charges WHERE task = $1 AND at < $2";
    sqlx::query(sql).bind(id.0).bind(month_began(now())).execute(&mut *c).await?;
    let turns = "DELETE FROM turns WHERE repository = $1 AND NOT EXISTS (SELECT 1 FROM tasks \
                 WHERE tasks.repository = turns.repository AND tasks.asker = turns.person)";
    sqlx::query(turns).bind(&repository).execute(&mut *c).await?;
    raise_floor(c, "task", id.0).await?;
    let sql = "INSERT INTO retired (repository, issue, tasks) VALUES ($1, $2, 1) \
               ON CONFLICT (repository, issue) DO UPDATE SET tasks = retired.tasks + 1";
    sqlx::query(sql).bind(&repository).bind(issue).execute(c).await?;
    Ok(Deleted::Gone { repository })
}

/// What only the work of a task needed.
async fn delete_details(c: &mut AnyConnection, id: TaskId) -> Result<(), StoreError> {
    let texts = TEXTS.map(|kind| format!("key NOT LIKE '{kind}:%'")).join(" AND ");
    let inputs = format!("DELETE FROM inputs WHERE task = $1 AND {texts}");
    let [effects, egress, packs] = ["effects", "egress", "packs"].map(|it| format!("DELETE FROM {it} WHERE task = $1"));
    for sql in [effects, egress, packs, inputs] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.0).execute(&mut *c).await?;
    }
    Ok(())
}

pub(super) const HANDLED: &str = "DELETE FROM deliveries WHERE uuid IN (SELECT uuid FROM deliveries \
     WHERE handled_at IS NOT NULL AND handled_at < $1 ORDER BY handled_at LIMIT $2)";
pub(super) const UNTRIMMED: &str =
    "SELECT id FROM tasks WHERE NOT live AND NOT trimmed AND updated_at < $1 ORDER BY updated_at LIMIT $2";
pub(super) const OVERDUE: &str =
    "SELECT id, repository FROM tasks WHERE NOT live AND updated_at < $1 ORDER BY updated_at, id LIMIT $2 OFFSET $3";
/// Keys of live tasks are left out: such a task is as old as its first word.
pub(super) const OLD_INPUTS: &str = "SELECT key FROM inputs WHERE at < $1 AND (task IS NULL OR NOT EXISTS \
     (SELECT 1 FROM tasks WHERE tasks.id = inputs.task AND live)) ORDER BY at LIMIT $2";

/// Charges of months that are over, of tasks that were deleted while theirs was not.
const ORPHANED: &str =
    "DELETE FROM charges WHERE at < $1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = charges.task)";

/// One slice of what is old enough; true when there may be more.
pub(super) async fn prune(c: &mut AnyConnection, before: &Before) -> Result<bool, StoreError> {
    let mut more = false;
    sqlx::query(ORPHANED).bind(month_began(now())).execute(&mut *c).await?;
    if let Some(at) = before.deliveries {
        let done = sqlx::query(HANDLED).bind(at).bind(ROWS).execute(&mut *c).await?;
        more |= done.rows_affected() == ROWS as u64;
    }
    if let Some(at) = before.details {
        let ids: Vec<i64> = sqlx::query_scalar(UNTRIMMED).bind(at).bind(TASKS).fetch_all(&mut *c).await?;
        for id in &ids {
            delete_details(c, TaskId(*id)).await?;
            sqlx::query("UPDATE tasks SET trimmed = TRUE WHERE id = $1").bind(id).execute(&mut *c).await?;
        }
        more |= ids.len() == TASKS as usize;
        sqlx::query("DELETE FROM turns WHERE at < $1").bind(at).execute(&mut *c).await?;
    }
    if let Some(at) = before.tasks {
        more |= prune_inputs(c, at).await?;
        more |= super::test_runs::prune(c, at, ROWS).await? == ROWS as usize;
    }
    Ok(more)
}

async fn prune_inputs(c: &mut AnyConnection, at: i64) -> Result<bool, StoreError> {
    let keys: Vec<String> = sqlx::query_scalar(OLD_INPUTS).bind(at).bind(ROWS).fetch_all(&mut *c).await?;
    for key in &keys {
        if let Some((kind, id)) = text_of(key) {
            raise_floor(c, kind, id).await?;
        }
        sqlx::query("DELETE FROM inputs WHERE key = $1").bind(key).execute(&mut *c).await?;
    }
    Ok(keys.len() == ROWS as usize)
}

impl Store {
    /// Deletes an ended task: its log, actions, decisions, posts' ids, outbox, and bodies that no other task has. Nothing of it can be
    /// read from the store's file afterwards. A task that is live stays: end it first.
    ///
    /// # Errors
    /// When it could not be written; nothing is deleted then.
    pub async fn delete_task(&self, task: TaskId) -> Result<Deleted, StoreError> {
        let deleted = self.writer.ask(|answer| queue::Write::DeleteTask { task, answer }).await?;
        self.writer.empty_log().await?;
        Ok(deleted)
    }

    /// Deletes one slice of what is older than this; true when there may be more. Tasks are [`Store::overdue_tasks`]'s.
    pub async fn prune(&self, before: Before) -> Result<bool, StoreError> {
        self.writer.ask(|answer| queue::Write::Prune { before, answer }).await
    }

    /// Ended tasks that nobody touched since, with the key of their repository: some of them, the oldest first,
    /// behind as many as are `left` where they are.
    pub async fn overdue_tasks(&self, before: i64, left: u32) -> Result<Vec<(TaskId, String)>, StoreError> {
        let rows = self
            .read(sqlx::query(OVERDUE).bind(before).bind(TASKS).bind(i64::from(left)).fetch_all(&self.readers()))
            .await?;
        Ok(rows.iter().map(|row| (TaskId(row.get(0)), row.get(1))).collect())
    }
}
