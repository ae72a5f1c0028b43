//! Appending to a task: one savepoint covers the input's key, events, effects and projections.

use super::read::known;
use super::{StoreError, audit, body, inputs};
use domain::{Call, Decision, Effect, Event, OutcomeStatus, Request, Step, Task, TaskId, Verb};
use sqlx::AnyConnection;
use sqlx::Row;
use std::sync::Arc;

/// A step of an existing task.
#[derive(Debug)]
pub struct Append {
    /// The task after the step, from which its projections are written.
    pub task: Task,
    /// Number of events before the step.
    pub expected_seq: u32,
    /// Key of the input, which is accepted once, such as `comment:17`.
    pub input_key: String,
    /// Unix milliseconds at which the input was accepted.
    pub now: i64,
    /// The events and effects to store.
    pub step: Step,
    /// The effect whose result this input is.
    pub close: Option<Close>,
    /// Number of the process life, from [`Store::begin_epoch`](super::Store::begin_epoch).
    pub epoch: i64,
    /// The id of this process's state directory, where the task's sandbox is.
    pub host: Arc<str>,
}

/// The effect that a step closes.
#[derive(Debug, Clone, Copy)]
pub struct Close {
    /// The effect's number in the outbox, [`EffectRow::id`](super::EffectRow::id).
    pub effect: i64,
    /// Whether it is closed as failed, and not as done.
    pub failed: bool,
}

/// The first step of a task; `task.id` is ignored, because the number is given when it is stored.
#[derive(Debug)]
pub struct NewTask {
    /// The task after the step.
    pub task: Task,
    /// Key of the input, which is accepted once, such as `comment:17`.
    pub input_key: String,
    /// Unix milliseconds at which the input was accepted.
    pub now: i64,
    /// The events and effects to store.
    pub step: Step,
    /// Number of the process life, from [`Store::begin_epoch`](super::Store::begin_epoch).
    pub epoch: i64,
    /// The id of this process's state directory.
    pub host: Arc<str>,
}

/// Result of an append; only [`Appended::Done`] stored anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The step is stored.
    Done,
    /// The input's key was used before.
    Duplicate,
    /// The log has more events than expected: fold again and decide anew.
    Conflict,
}

pub(super) async fn append(c: &mut AnyConnection, a: &Append) -> Result<Appended, StoreError> {
    let seq = super::leases::fence_task(c, a.task.id, a.epoch).await?.ok_or(StoreError::NoTask(a.task.id))?;
    if seq != i64::from(a.expected_seq) {
        return Ok(Appended::Conflict);
    }
    if !inputs::input(c, &a.input_key, Some(a.task.id), a.now).await? {
        return Ok(Appended::Duplicate);
    }
    if let Some(close) = a.close {
        super::outbox::close(c, close, a.now).await?;
    }
    if a.task.state.ended() {
        super::outbox::drop_open(c, a.task.id, a.now).await?;
        super::changed::forget(c, a.task.id).await?;
    }
    write_step(c, a.task.id, a.expected_seq, &a.step, a.now).await?;
    // A step without events does not count as activity; what it leaves of a task that is over is trimmed later all the same.
    if a.step.events.is_empty() {
        if a.task.state.ended() {
            let sql = "UPDATE tasks SET trimmed = FALSE WHERE id = $1 AND trimmed";
            sqlx::query(sql).bind(a.task.id.0).execute(c).await?;
        }
        return Ok(Appended::Done);
    }
    project_task(c, a).await?;
    Ok(Appended::Done)
}

pub(super) async fn create(c: &mut AnyConnection, new: &NewTask) -> Result<Option<TaskId>, StoreError> {
    if let Some(request) = &new.task.request {
        super::leases::fence(c, &request.repository, new.epoch).await?;
        no_other(c, request, &new.input_key).await?;
    }
    // A deleted task's number still marks its posts on the forge, so it is not given again.
    let sql = "SELECT MAX(id) + 1 FROM (SELECT COALESCE(MAX(id), 0) AS id FROM tasks \
               UNION ALL SELECT id FROM floors WHERE kind = 'task') AS taken";
    let next: i64 = sqlx::query_scalar(sql).fetch_one(&mut *c).await?;
    let id = TaskId(next);
    if !inputs::input(c, &new.input_key, Some(id), new.now).await? {
        return Ok(None);
    }
    insert_task(c, id, new).await?;
    write_step(c, id, 0, &new.step, new.now).await?;
    audit::began(c, new, id).await?;
    Ok(Some(id))
}

/// Refuses a second task of an issue, by another text: the pages of an issue's attempts are read side by side, and each may begin one.
async fn no_other(c: &mut AnyConnection, request: &Request, key: &str) -> Result<(), StoreError> {
    let sql = "SELECT id FROM tasks WHERE repository = $1 AND issue = $2 AND live = TRUE LIMIT 1";
    let query = sqlx::query_scalar(sql).bind(&request.repository).bind(request.issue as i64);
    let found: Option<i64> = query.fetch_optional(&mut *c).await?;
    match found {
        // The same text again.
        Some(id) if !known(c, key).await? => Err(StoreError::AtWork { task: TaskId(id), issue: request.issue }),
        _ => Ok(()),
    }
}

async fn insert_task(c: &mut AnyConnection, id: TaskId, new: &NewTask) -> Result<(), StoreError> {
    let sql = "INSERT INTO tasks (id, repository, issue, branch, kind, title, asker, state, live, seq, attempt, owner, epoch, \
               micro_usd, tokens, actions, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, TRUE, $9, 1, $12, $10, 0, 0, 0, $11, $11)";
    let Some(request) = &new.task.request else { return Ok(()) };
    sqlx::query(sql)
        .bind(id.0)
        .bind(&request.repository)
        .bind(request.issue as i64)
        .bind(&request.branch)
        .bind(request.kind.name())
        .bind(body::storable(&request.title))
        .bind(&request.asker.login)
        .bind(new.task.state.name())
        .bind(i64::from(new.task.seq))
        .bind(new.epoch)
        .bind(new.now)
        .bind(&*new.host)
        .execute(c)
        .await?;
    Ok(())
}

/// An ended task that goes on with an event is trimmed again later.
async fn project_task(c: &mut AnyConnection, a: &Append) -> Result<(), StoreError> {
    let task = &a.task;
    let sql = "UPDATE tasks SET state = $1, live = $2, seq = $3, pull = $4, micro_usd = $5, tokens = $6, actions = $7, \
               updated_at = $8, epoch = $9, owner = $11, unpriced = $12, trimmed = FALSE WHERE id = $10";
    sqlx::query(sql)
        .bind(task.state.name())
        .bind(!task.state.ended())
        .bind(i64::from(task.seq))
        .bind(task.pull.map(|p| p as i64))
        .bind(task.spent.micro_usd as i64)
        .bind(task.spent.tokens as i64)
        .bind(task.spent.actions as i64)
        .bind(a.now)
        .bind(a.epoch)
        .bind(task.id.0)
        .bind(&*a.host)
        .bind(task.spent.unpriced as i64)
        .execute(c)
        .await?;
    Ok(())
}

async fn write_step(c: &mut AnyConnection, id: TaskId, from: u32, step: &Step, now: i64) -> Result<(), StoreError> {
    for (i, event) in step.events.iter().enumerate() {
        let seq = i64::from(from) + i as i64 + 1;
        write_event(c, id, seq, event, now).await?;
        project(c, id, event, now).await?;
        super::charges::project(c, id, seq, event, now).await?;
    }
    for effect in &step.effects {
        write_effect(c, id, effect, now).await?;
    }
    Ok(())
}

async fn write_event(c: &mut AnyConnection, id: TaskId, seq: i64, event: &Event, now: i64) -> Result<(), StoreError> {
    let stored = body::store_event(event)?;
    let mut name = None;
    if let Some((digest, bytes)) = stored.blob {
        let sql = "INSERT INTO blobs (sha256, body) VALUES ($1, $2) ON CONFLICT (sha256) DO NOTHING";
        sqlx::query(sql).bind(&digest).bind(bytes).execute(&mut *c).await?;
        name = Some(digest);
    }
    let sql = "INSERT INTO task_events (task, seq, at, kind, version, body, blob) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let query = sqlx::query(sql).bind(id.0).bind(seq).bind(now).bind(stored.kind).bind(body::VERSION);
    query.bind(stored.inline).bind(name).execute(c).await?;
    Ok(())
}

/// An effect that failed or was done before under the same key becomes pending again.
async fn write_effect(c: &mut AnyConnection, id: TaskId, effect: &Effect, now: i64) -> Result<(), StoreError> {
    let queue = super::outbox::queue(effect.queue());
    let sql = "INSERT INTO effects (task, key, kind, lane, body, state, created_at) VALUES ($1, $2, $3, $4, $5, 'pending', $6) \
               ON CONFLICT (task, key) DO UPDATE SET state = 'pending', not_before = 0, failures = 0, aside = 0, body = excluded.body \
               WHERE effects.state NOT IN ('pending', 'started')";
    let query = sqlx::query(sql).bind(id.0).bind(effect.key()).bind(effect.kind()).bind(queue);
    query.bind(serde_json::to_string(effect)?).bind(now).execute(c).await?;
    Ok(())
}

/// Updates the tables that people query.
async fn project(c: &mut AnyConnection, id: TaskId, event: &Event, now: i64) -> Result<(), StoreError> {
    match event {
        Event::ActionStarted { number, turn, index } => action_started(c, id, *number, *turn, *index, now).await,
        Event::ActionFinished { number, outcome } => {
            let code = match outcome.status {
                OutcomeStatus::Exited { code } => Some(i64::from(code)),
                OutcomeStatus::Ok => Some(0),
                _ => None,
            };
            let status = serde_json::to_value(&outcome.status)?;
            let status = status.get("status").and_then(|s| s.as_str()).unwrap_or_default().to_owned();
            let sql = "UPDATE actions SET output = $1, status = $2, exit_code = $3, duration_ms = $4, finished_at = $5 \
                       WHERE task = $6 AND number = $7";
            let query = sqlx::query(sql)
                .bind(body::storable(&outcome.text))
                .bind(status)
                .bind(code)
                .bind(outcome.duration_ms as i64);
            query.bind(now).bind(id.0).bind(i64::from(*number)).execute(c).await?;
            Ok(())
        }
        Event::CheckpointPosted { n, review, number, commit, last, .. } => {
            let sql = "INSERT INTO checkpoints (task, n, commit_id, review, number, last, posted_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7)";
            let query = sqlx::query(sql).bind(id.0).bind(i64::from(*n)).bind(commit.as_ref().map(|x| x.to_string()));
            query.bind(review).bind(number).bind(last).bind(now).execute(c).await?;
            Ok(())
        }
        Event::SlotGranted => super::line::granted(c, id, now).await,
        Event::TreeCaptured { tree, .. } => super::changed::captured(c, id, tree).await,
        Event::HostAllowed { host, repo: true, decision } => {
            let sql = "INSERT INTO grants (repository, host, by_id, by_login, source, at) \
                       SELECT repository, $1, $2, $3, $4, $5 FROM tasks WHERE id = $6 ON CONFLICT (repository, host) DO UPDATE \
                       SET by_id = excluded.by_id, by_login = excluded.by_login, source = excluded.source, at = excluded.at";
            let query = sqlx::query(sql).bind(host).bind(decision.poster.id).bind(&decision.poster.login);
            query.bind(decision.source.to_string()).bind(now).bind(id.0).execute(c).await?;
            Ok(())
        }
        Event::HostDenied { host, .. } => {
            let sql = "SELECT repository FROM tasks WHERE id = $1";
            let repository: String = sqlx::query_scalar(sql).bind(id.0).fetch_one(&mut *c).await?;
            super::grants::drop_named(c, &repository, host).await.map(drop)
        }
        // Another host that continues the task gets this commit from the forge.
        Event::Pushed { commit, .. } => {
            let sql = "DELETE FROM packs WHERE task = $1 AND commit_id = $2";
            sqlx::query(sql).bind(id.0).bind(commit.to_string()).execute(c).await?;
            Ok(())
        }
        Event::DecisionUsed { decision, n } => decision_used(c, id, *n, decision).await,
        _ => Ok(()),
    }
}

/// Tokens and cost of the turn are recorded with its first action.
async fn action_started(
    c: &mut AnyConnection,
    id: TaskId,
    number: u32,
    turn: u32,
    index: u32,
    now: i64,
) -> Result<(), StoreError> {
    let sql = "SELECT e.version, e.body, b.body AS blob FROM task_events e LEFT JOIN blobs b ON b.sha256 = e.blob \
               WHERE e.task = $1 AND e.kind = 'turn_completed' ORDER BY e.seq DESC LIMIT 1";
    let row = sqlx::query(sql).bind(id.0).fetch_optional(&mut *c).await?;
    let Some(row) = row else { return Ok(()) };
    let event = body::load_event(row.get(0), row.get(1), row.get(2))?;
    let Event::TurnCompleted { calls, usage, micro_usd, .. } = event else { return Ok(()) };
    let Some(Call::Action { action }) = calls.get(index as usize).map(|r| &r.call) else { return Ok(()) };
    let sql = "INSERT INTO actions (task, number, turn, kind, input, tokens, micro_usd, unpriced, started_at) \
               SELECT $1, $2, $3, $4, $5, CASE WHEN taken THEN 0 ELSE $6 END, CASE WHEN taken THEN 0 ELSE $7 END, \
               CASE WHEN taken THEN 0 ELSE $9 END, $8 \
               FROM (SELECT EXISTS (SELECT 1 FROM actions WHERE task = $1 AND turn = $3) AS taken) AS turns";
    let query = sqlx::query(sql).bind(id.0).bind(i64::from(number)).bind(i64::from(turn)).bind(action.kind());
    let query = query.bind(serde_json::to_string(action)?).bind(usage.total() as i64).bind(micro_usd as i64).bind(now);
    let query = query.bind(usage.unpriced as i64);
    query.execute(c).await?;
    Ok(())
}

async fn decision_used(c: &mut AnyConnection, id: TaskId, n: u32, decision: &Decision) -> Result<(), StoreError> {
    let verb = match decision.verb {
        Verb::Approve { .. } => "approve",
        Verb::Rebase { .. } => "rebase",
        _ => "changes",
    };
    let sql = "INSERT INTO decisions (task, n, source, number, poster, right_seen, verb, commit_id, base, text_hash, at, \
               in_advance) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (task, n) DO NOTHING";
    let right = serde_json::to_value(decision.right)?.as_str().unwrap_or_default().to_owned();
    let query = sqlx::query(sql).bind(id.0).bind(i64::from(n)).bind(decision.source.to_string()).bind(decision.number);
    let query = query.bind(&decision.poster.login).bind(right).bind(verb);
    let query = query.bind(decision.head.as_ref().map(|x| x.to_string())).bind(&decision.base);
    query.bind(&decision.text_hash).bind(decision.at).bind(decision.in_advance).execute(c).await?;
    Ok(())
}
