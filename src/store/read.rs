//! Reading: logs to fold, and tables for people's queries.

use super::body::Flag;
use super::deliveries::DeliveriesAbout;
use super::repositories::former_tasks;
use super::{Delivery, Store, StoreError, body, deliveries, queue};
use domain::{Account, Event, Grant, Task, TaskId};
use sqlx::any::{AnyExecutor, AnyRow};
use sqlx::{FromRow, Row};
use std::collections::HashSet;

/// A store that takes longer to write one row is not ready.
const WRITTEN_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// One line of `caisson task list`.
#[derive(Debug, Clone, FromRow, serde::Serialize)]
pub struct TaskRow {
    /// Number of the task, counted from 1.
    pub id: i64,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Number of the issue in its repository.
    pub issue: i64,
    /// Number of the pull request in its repository; none before it is open.
    pub pull: Option<i64>,
    /// The agent's branch on the forge, `agent/<issue>-<slug>[-k]`.
    pub branch: String,
    /// Kind of the task: `fix` or `plan`.
    pub kind: String,
    /// The issue's title when the task began. Untrusted.
    pub title: String,
    /// Login of the account that gave the command.
    pub asker: String,
    /// Name of the state, such as `running` or `awaiting-review`.
    pub state: String,
    /// Whether it has not ended.
    #[sqlx(try_from = "Flag")]
    pub live: bool,
    /// Number of events in its log.
    pub seq: i64,
    /// Millionths of a US dollar that it has used.
    pub micro_usd: i64,
    /// Of its tokens: those whose price is unknown, so that `micro_usd` has nothing of them.
    pub unpriced: i64,
    /// Tokens of all its model calls.
    pub tokens: i64,
    /// Actions it has used.
    pub actions: i64,
    /// When it was created, in Unix milliseconds.
    pub created_at: i64,
    /// When its log last grew, in Unix milliseconds.
    pub updated_at: i64,
    /// Id of the host that changed it last, where its sandbox is; empty in a store with one process.
    pub owner: String,
}

/// One action of a task, as `caisson task show` lists it.
#[derive(Debug, Clone, FromRow, serde::Serialize)]
pub struct ActionRow {
    /// Number of the action within its task, counted from 1.
    pub number: i64,
    /// Number of the model's turn that asked for it.
    pub turn: i64,
    /// Name of the action's kind, such as `bash` or `read_file`.
    pub kind: String,
    /// The whole action as JSON.
    pub input: String,
    /// Its result text; none while it runs.
    pub output: Option<String>,
    /// How it ended, such as `ok`, `exited` or `timed_out`; none while it runs.
    pub status: Option<String>,
    /// Exit code, 0 for every action that ended as `ok`; none while it runs, and for every other end than `exited`.
    pub exit_code: Option<i64>,
    /// How long it ran, in milliseconds; none while it runs.
    pub duration_ms: Option<i64>,
    /// Tokens of its whole turn if it is the turn's first action, otherwise 0.
    pub tokens: i64,
    /// Millionths of a US dollar for its whole turn if it is the turn's first action, otherwise 0.
    pub micro_usd: i64,
    /// Of `tokens`: those whose price is unknown.
    pub unpriced: i64,
}

macro_rules! of_tasks {
    ($rest:literal) => {
        concat!(
            "SELECT id, repository, issue, pull, branch, kind, title, asker, state, CAST(live AS INTEGER) AS live, seq, micro_usd, unpriced, tokens, \
             actions, created_at, updated_at, owner FROM tasks ",
            $rest
        )
    };
}

pub(super) const LIVE: &str = of_tasks!("WHERE live ORDER BY id");
pub(super) const LIVE_OF: &str =
    of_tasks!("WHERE repository = $1 AND live AND (issue = $2 OR pull = $2) ORDER BY id DESC LIMIT 1");
/// A text up to its kind's floor was accepted, even if its key was deleted with its task.
pub(super) const KNOWN: &str = "SELECT CAST(EXISTS (SELECT 1 FROM inputs WHERE key = $1) \
     OR EXISTS (SELECT 1 FROM floors WHERE kind = $2 AND id >= $3) AS INTEGER)";
pub(super) const WATERMARK: &str = "SELECT at FROM watermarks WHERE repository = $1";

pub(super) async fn known<'c>(c: impl AnyExecutor<'c>, key: &str) -> Result<bool, StoreError> {
    let (kind, id) = super::retention::text_of(key).unzip();
    let known: Flag = sqlx::query_scalar(KNOWN).bind(key).bind(kind).bind(id).fetch_one(c).await?;
    Ok(known.into())
}

impl Store {
    /// The whole log of a task, with the time of each event.
    pub async fn log(&self, task: TaskId) -> Result<Vec<(i64, Event)>, StoreError> {
        let sql = "SELECT e.at, e.version, e.body, b.body AS blob FROM task_events e \
                   LEFT JOIN blobs b ON b.sha256 = e.blob WHERE e.task = $1 ORDER BY e.seq";
        let rows = self.read(sqlx::query(sql).bind(task.0).fetch_all(&self.readers())).await?;
        rows.iter().map(|r| Ok((r.get(0), body::load_event(r.get(1), r.get(2), r.get(3))?))).collect()
    }

    /// The first `most` events of a task after the one with this number, each with number and time.
    pub async fn log_after(&self, task: TaskId, after: i64, most: u32) -> Result<Vec<(i64, i64, Event)>, StoreError> {
        let sql = "SELECT e.seq, e.at, e.version, e.body, b.body AS blob FROM task_events e \
                   LEFT JOIN blobs b ON b.sha256 = e.blob WHERE e.task = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3";
        let query = sqlx::query(sql).bind(task.0).bind(after).bind(i64::from(most));
        let rows = self.read(query.fetch_all(&self.readers())).await?;
        rows.iter().map(|r| Ok((r.get(0), r.get(1), body::load_event(r.get(2), r.get(3), r.get(4))?))).collect()
    }

    /// A task, folded from its log.
    pub async fn task(&self, task: TaskId) -> Result<Task, StoreError> {
        let log = self.unreadable.note(task, self.log(task).await)?;
        Ok(Task::fold(task, log.iter().map(|(_, e)| e)))
    }

    /// Tasks of all repositories that have not ended, in order of their numbers.
    pub async fn live_tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.read(sqlx::query_as(LIVE).fetch_all(&self.readers())).await
    }

    /// Whether the store never had a task, nor a test run.
    pub async fn is_new(&self) -> Result<bool, StoreError> {
        let sql = "SELECT CAST(EXISTS (SELECT 1 FROM tasks) OR EXISTS (SELECT 1 FROM test_runs) \
                   OR EXISTS (SELECT 1 FROM floors WHERE kind IN ('task', 'test_run')) AS INTEGER)";
        let had: Flag = self.read(sqlx::query_scalar(sql).fetch_one(&self.readers())).await?;
        Ok(!bool::from(had))
    }

    /// Newest first, at most `limit`.
    pub async fn tasks(&self, limit: u32) -> Result<Vec<TaskRow>, StoreError> {
        let sql = of_tasks!("ORDER BY id DESC LIMIT $1");
        self.read(sqlx::query_as(sql).bind(i64::from(limit)).fetch_all(&self.readers())).await
    }

    /// The row of one task; none when there is no task of this number.
    pub async fn task_row(&self, task: TaskId) -> Result<Option<TaskRow>, StoreError> {
        let sql = of_tasks!("WHERE id = $1");
        self.read(sqlx::query_as(sql).bind(task.0).fetch_optional(&self.readers())).await
    }

    /// The live task with this issue or pull request.
    pub async fn live_task_of(&self, repository: &str, number: u64) -> Result<Option<TaskRow>, StoreError> {
        self.read(sqlx::query_as(LIVE_OF).bind(repository).bind(number as i64).fetch_optional(&self.readers())).await
    }

    /// The newest task of an issue or pull request, live or ended; none of another repository that had this key before.
    pub async fn newest_task_of(&self, repository: &str, number: u64) -> Result<Option<TaskRow>, StoreError> {
        let sql = of_tasks!(
            "WHERE repository = $1 AND (issue = $2 OR pull = $2) \
             AND id > COALESCE((SELECT at FROM watermarks WHERE repository = $3), 0) ORDER BY id DESC LIMIT 1"
        );
        let query = sqlx::query_as(sql).bind(repository).bind(number as i64).bind(former_tasks(repository));
        self.read(query.fetch_optional(&self.readers())).await
    }

    /// The newest task on a branch.
    pub async fn task_of_branch(&self, repository: &str, branch: &str) -> Result<Option<TaskRow>, StoreError> {
        let sql = of_tasks!("WHERE repository = $1 AND branch = $2 ORDER BY id DESC LIMIT 1");
        self.read(sqlx::query_as(sql).bind(repository).bind(branch).fetch_optional(&self.readers())).await
    }

    /// How many tasks an issue has had, including deleted ones, for the name of the next branch.
    pub async fn tasks_of_issue(&self, repository: &str, issue: u64) -> Result<u32, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM tasks WHERE repository = $1 AND issue = $2) \
                   + COALESCE((SELECT tasks FROM retired WHERE repository = $1 AND issue = $2), 0)";
        let n: i64 =
            self.read(sqlx::query_scalar(sql).bind(repository).bind(issue as i64).fetch_one(&self.readers())).await?;
        Ok(n as u32)
    }

    /// All actions of a task, in order of their numbers.
    pub async fn actions(&self, task: TaskId) -> Result<Vec<ActionRow>, StoreError> {
        let sql = "SELECT number, turn, kind, input, output, status, exit_code, duration_ms, tokens, micro_usd, unpriced \
                   FROM actions WHERE task = $1 ORDER BY number";
        self.read(sqlx::query_as(sql).bind(task.0).fetch_all(&self.readers())).await
    }

    /// Whether an input was accepted before.
    pub async fn knows_input(&self, key: &str) -> Result<bool, StoreError> {
        self.read(known(&self.readers(), key)).await
    }

    /// Unhandled deliveries, oldest first, except those with these UUIDs.
    pub async fn open_deliveries(&self, limit: u32, without: &[String]) -> Result<Vec<Delivery>, StoreError> {
        self.read(deliveries::open(&self.readers(), limit, without, None)).await
    }

    /// As [`Store::open_deliveries`], for these repositories of a shared store.
    pub async fn open_deliveries_of(
        &self,
        repositories: &HashSet<String>,
        limit: u32,
        without: &[String],
    ) -> Result<Vec<Delivery>, StoreError> {
        self.read(deliveries::open(&self.readers(), limit, without, Some(repositories))).await
    }

    /// The deliveries about one text (`comment:17`) that are still stored, oldest first.
    pub async fn deliveries_about(&self, repository: &str, about: &str) -> Result<DeliveriesAbout<'_>, StoreError> {
        DeliveriesAbout::of(self, repository, about).await
    }

    /// The forge's id stored by [`Store::remember_post`]; none when there is none.
    pub async fn post(&self, task: TaskId, key: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT forge_id FROM posts WHERE task = $1 AND key = $2";
        self.read(sqlx::query_scalar(sql).bind(task.0).bind(key).fetch_optional(&self.readers())).await
    }

    /// The time stored by [`Store::set_watermark`]; none before the first.
    pub async fn watermark(&self, repository: &str) -> Result<Option<i64>, StoreError> {
        self.read(sqlx::query_scalar(WATERMARK).bind(repository).fetch_optional(&self.readers())).await
    }

    /// The watermarks whose names begin with `prefix`, with their times.
    pub async fn watermarks(&self, prefix: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT repository, at FROM watermarks WHERE substr(repository, 1, CAST($1 AS INTEGER)) = $2 ORDER BY repository";
        let length = prefix.chars().count() as i64;
        self.read(sqlx::query_as(sql).bind(length).bind(prefix).fetch_all(&self.readers())).await
    }

    /// Hosts that are allowed for every task of a repository.
    pub async fn grants(&self, repository: &str) -> Result<Vec<Grant>, StoreError> {
        let sql = "SELECT host, by_id, by_login FROM grants WHERE repository = $1 ORDER BY host";
        let rows = self.read(sqlx::query(sql).bind(repository).fetch_all(&self.readers())).await?;
        let by = |r: &AnyRow| Account { id: r.get(1), login: r.get(2) };
        Ok(rows.iter().map(|r| Grant { host: r.get(0), repo: true, by: by(r) }).collect())
    }

    /// The action of a task that was under way at this time (Unix milliseconds).
    pub async fn action_at(&self, task: TaskId, at: i64) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT number FROM actions WHERE task = $1 AND started_at <= $2 AND (finished_at IS NULL OR finished_at >= $2) \
                   ORDER BY number DESC LIMIT 1";
        let number: Option<i64> =
            self.read(sqlx::query_scalar(sql).bind(task.0).bind(at).fetch_optional(&self.readers())).await?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    }

    /// Lines of the router's log of a task, in order.
    pub async fn egress(&self, task: TaskId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT body FROM egress WHERE task = $1 ORDER BY seq";
        self.read(sqlx::query_scalar(sql).bind(task.0).fetch_all(&self.readers())).await
    }

    /// Those of a time after `since` (Unix milliseconds).
    pub async fn egress_since(&self, task: TaskId, since: i64) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT body FROM egress WHERE task = $1 AND at > $2 ORDER BY seq";
        self.read(sqlx::query_scalar(sql).bind(task.0).bind(since).fetch_all(&self.readers())).await
    }

    /// When a task's newest checkpoint was posted, in Unix milliseconds.
    pub async fn newest_checkpoint_at(&self, task: TaskId) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT posted_at FROM checkpoints WHERE task = $1 ORDER BY n DESC LIMIT 1";
        self.read(sqlx::query_scalar(sql).bind(task.0).fetch_optional(&self.readers())).await
    }

    /// Returns once all earlier messages to the writer are done and a row was written after them.
    pub async fn written(&self) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Try { answer }).await
    }

    /// Checks that the store can be read and written, by writing a row.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.read(sqlx::query_scalar::<_, i64>("SELECT 1").fetch_one(&self.readers())).await?;
        let written = self.writer.ask(|answer| queue::Write::Try { answer });
        tokio::time::timeout(WRITTEN_WITHIN, written).await.map_err(|_| StoreError::Slow)?
    }
}
