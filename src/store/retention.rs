//! Deletion: ended tasks on request or after a time, details that only their work needed earlier. Deleted bytes are overwritten
//! (`secure_delete`), and the write-ahead log is emptied.
//!
//! Three numbers of a deleted task stay, so that nothing happens twice: see `floors` and `retired` in the migrations, and the ids of texts
//! it accepted. Tests: `contract/retention.rs`.

use super::body::Flag;
use super::{Store, StoreError, audit, body, month_began, queue, sandbox_number};
use crate::clock::now;
use domain::TaskId;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Row};
use std::collections::BTreeMap;

/// Rows and tasks deleted per slice, so that other messages to the writer are handled in between.
const ROWS: i64 = 500;
const TASKS: i64 = 20;

/// Prefixes of input keys of texts on the forge, whose ids count up.
const TEXTS: [&str; 4] = ["opened", "comment", "review", "change"];

/// Times in Unix milliseconds, before which data is deleted; `None` = nothing is deleted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// Handled deliveries.
    pub deliveries: Option<i64>,
    /// Details of ended tasks (outbox, input keys, lines of the router's log), and times of people's turns.
    pub details: Option<i64>,
    /// Ended tasks, keys of texts that no task accepted, and what was decided where no task is at work.
    pub tasks: Option<i64>,
}

/// Result of deleting a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// Its rows are deleted. `Repos::forget_task` deletes its refs in the local repository of this key.
    Gone {
        /// The repository's key in the configuration.
        repository: String,
    },
    /// It has not ended: nothing was deleted.
    Live,
    /// There is no task of this number.
    Unknown,
}

/// Kind and number of the text in an input's key.
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

/// Deletes an ended task with all of its data.
pub(super) async fn delete_task(c: &mut AnyConnection, id: TaskId) -> Result<Deleted, StoreError> {
    let sql = "SELECT CAST(live AS INTEGER), repository, issue FROM tasks WHERE id = $1";
    let Some(row) = sqlx::query(sql).bind(id.0).fetch_optional(&mut *c).await? else { return Ok(Deleted::Unknown) };
    let (live, repository, issue): (Flag, String, i64) = (row.get(0), row.get(1), row.get(2));
    if live.into() {
        return Ok(Deleted::Live);
    }
    delete_details(c, &[id.0]).await?;
    let blobs = "DELETE FROM blobs WHERE sha256 IN (SELECT blob FROM task_events WHERE task = $1 AND blob IS NOT NULL) \
                 AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.blob = blobs.sha256 AND e.task <> $1)";
    // Ids of texts are kept for a while (`prune`), so that reading the issue again does not start the task anew.
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
    // Its cost of this month still counts towards the monthly limit.
    let sql = "DELETE FROM charges WHERE task = $1 AND at < $2";
    sqlx::query(sql).bind(id.0).bind(month_began(now())).execute(&mut *c).await?;
    let turns = "DELETE FROM turns WHERE repository = $1 AND NOT EXISTS (SELECT 1 FROM tasks \
                 WHERE tasks.repository = turns.repository AND tasks.asker = turns.person)";
    sqlx::query(turns).bind(&repository).execute(&mut *c).await?;
    audit::forget(c, &repository, id).await?;
    raise_floor(c, "task", id.0).await?;
    let sql = "INSERT INTO retired (repository, issue, tasks) VALUES ($1, $2, 1) \
               ON CONFLICT (repository, issue) DO UPDATE SET tasks = retired.tasks + 1";
    sqlx::query(sql).bind(&repository).bind(issue).execute(c).await?;
    Ok(Deleted::Gone { repository })
}

/// Deletes data that only the work of these tasks needed.
async fn delete_details(c: &mut AnyConnection, ids: &[i64]) -> Result<(), StoreError> {
    let texts = TEXTS.map(|kind| format!("key NOT LIKE '{kind}:%'")).join(" AND ");
    let inputs = format!("DELETE FROM inputs WHERE {texts} AND task IN");
    let [effects, egress, packs] = ["effects", "egress", "packs"].map(|it| format!("DELETE FROM {it} WHERE task IN"));
    for sql in [effects, egress, packs, inputs] {
        with_all(c, &sql, ids).await?;
    }
    Ok(())
}

/// Runs a statement that ends with `IN` for these numbers, if there are any.
async fn with_all(c: &mut AnyConnection, sql: &str, ids: &[i64]) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let sql = format!("{sql} {}", body::placeholders(1, ids.len()));
    let mut query = sqlx::query::<Any>(AssertSqlSafe(sql)).persistent(false);
    for id in ids {
        query = query.bind(*id);
    }
    query.execute(c).await?;
    Ok(())
}

pub(super) const HANDLED: &str = "DELETE FROM deliveries WHERE uuid IN (SELECT uuid FROM deliveries \
     WHERE handled_at IS NOT NULL AND handled_at < $1 ORDER BY handled_at LIMIT $2)";
/// Without those of which something younger is to be done, or was, such as an answer to a question that left no event.
pub(super) const UNTRIMMED: &str = "SELECT id FROM tasks WHERE NOT live AND NOT trimmed AND updated_at < $1 \
     AND NOT EXISTS (SELECT 1 FROM effects WHERE effects.task = tasks.id AND effects.created_at >= $1) \
     ORDER BY updated_at LIMIT $2";
pub(super) const OVERDUE: &str =
    "SELECT id, repository FROM tasks WHERE NOT live AND updated_at < $1 ORDER BY updated_at, id LIMIT $2 OFFSET $3";
/// Without keys of live tasks, which are as old as the task.
pub(super) const OLD_INPUTS: &str = "SELECT key FROM inputs WHERE at < $1 AND (task IS NULL OR NOT EXISTS \
     (SELECT 1 FROM tasks WHERE tasks.id = inputs.task AND live)) ORDER BY at LIMIT $2";

/// Charges of past months of tasks that were deleted during theirs.
const ORPHANED: &str =
    "DELETE FROM charges WHERE at < $1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = charges.task)";

/// Deletes one slice of old data; true when there may be more.
pub(super) async fn prune(c: &mut AnyConnection, before: &Before) -> Result<bool, StoreError> {
    let mut more = false;
    sqlx::query(ORPHANED).bind(month_began(now())).execute(&mut *c).await?;
    if let Some(at) = before.deliveries {
        let done = sqlx::query(HANDLED).bind(at).bind(ROWS).execute(&mut *c).await?;
        more |= done.rows_affected() == ROWS as u64;
    }
    if let Some(at) = before.details {
        let ids: Vec<i64> = sqlx::query_scalar(UNTRIMMED).bind(at).bind(TASKS).fetch_all(&mut *c).await?;
        delete_details(c, &ids).await?;
        with_all(c, "UPDATE tasks SET trimmed = TRUE WHERE id IN", &ids).await?;
        more |= ids.len() == TASKS as usize;
        sqlx::query("DELETE FROM turns WHERE at < $1").bind(at).execute(&mut *c).await?;
    }
    if let Some(at) = before.tasks {
        more |= prune_inputs(c, at).await?;
        more |= prune_test_runs(c, at, ROWS).await? == ROWS as usize;
        more |= audit::prune(c, at, ROWS).await? == ROWS as u64;
    }
    Ok(more)
}

async fn prune_inputs(c: &mut AnyConnection, at: i64) -> Result<bool, StoreError> {
    let sql = format!("DELETE FROM inputs WHERE key IN ({OLD_INPUTS}) RETURNING key");
    let keys: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql)).bind(at).bind(ROWS).fetch_all(&mut *c).await?;
    let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
    for (kind, id) in keys.iter().filter_map(|key| text_of(key)) {
        let floor = newest.entry(kind).or_insert(id);
        *floor = id.max(*floor);
    }
    for (kind, id) in newest {
        raise_floor(c, kind, id).await?;
    }
    Ok(keys.len() == ROWS as usize)
}

impl Store {
    /// Deletes an ended task: its log, actions, decisions, ids of posts, outbox, and bodies that no other task has. Afterwards none of it
    /// is in the store's file. A live task is not deleted.
    ///
    /// # Errors
    /// When it could not be written; nothing is deleted then.
    pub async fn delete_task(&self, task: TaskId) -> Result<Deleted, StoreError> {
        let deleted = self.writer.ask(|answer| queue::Write::DeleteTask { task, answer }).await?;
        self.writer.empty_log().await?;
        if matches!(deleted, Deleted::Gone { .. }) {
            self.unreadable.forget(task);
        }
        Ok(deleted)
    }

    /// Deletes one slice of old data; true when there may be more. For tasks see [`Store::overdue_tasks`].
    pub async fn prune(&self, before: Before) -> Result<bool, StoreError> {
        self.writer.ask(|answer| queue::Write::Prune { before, answer }).await
    }

    /// Ended tasks unchanged since this time, with their repository's key: some of them, oldest first, skipping the first `left`.
    pub async fn overdue_tasks(&self, before: i64, left: u32) -> Result<Vec<(TaskId, String)>, StoreError> {
        let rows = self
            .read(sqlx::query(OVERDUE).bind(before).bind(TASKS).bind(i64::from(left)).fetch_all(&self.readers()))
            .await?;
        Ok(rows.iter().map(|row| (TaskId(row.get(0)), row.get(1))).collect())
    }
}

/// Deletes some answered runs that are older, with what their sandboxes reached; how many.
async fn prune_test_runs(c: &mut AnyConnection, before: i64, most: i64) -> Result<usize, StoreError> {
    let sql = "SELECT id FROM test_runs WHERE answered AND at < $1 ORDER BY id LIMIT $2";
    let ids: Vec<i64> = sqlx::query_scalar(sql).bind(before).bind(most).fetch_all(&mut *c).await?;
    if let Some(newest) = ids.last() {
        raise_floor(c, "test_run", *newest).await?;
    }
    let sandboxes: Vec<i64> = ids.iter().map(|id| sandbox_number(*id).0).collect();
    with_all(c, "DELETE FROM egress WHERE task IN", &sandboxes).await?;
    with_all(c, "DELETE FROM posts WHERE task IN", &sandboxes).await?;
    with_all(c, "DELETE FROM test_runs WHERE id IN", &ids).await?;
    Ok(ids.len())
}
