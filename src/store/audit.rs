//! What was decided about a text where no task is at work, and which task began by which text. A row comes once for each text, decision and
//! detail, and goes with its age. Tests: `contract/audit.rs`.

use super::body::storable;
use super::{NewTask, Store, StoreError, leases, queue};
use domain::{Account, Source, TaskId};
use serde::Serialize;
use sqlx::{AnyConnection, FromRow};

/// A text that asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestText {
    /// The repository's key in the configuration.
    pub repository: String,
    /// The text's key, such as `comment:17#0`.
    pub key: String,
    /// Number of the issue or pull request.
    pub number: u64,
    /// Where the text stands on the forge.
    pub source: Source,
    /// Who wrote it.
    pub author: Account,
    /// The command that it gives, or stands for, without its slash.
    pub command: String,
}

/// What was decided about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOutcome {
    /// Its author may not give the command; the detail is why.
    Refused,
    /// A host was taken back from the repository; the detail is which.
    DeniedHost,
    /// Its author may give the command, which needs no task; the detail is what it runs. What came of it is answered on the forge.
    TakenUp,
    /// A task began; the detail is which.
    Began,
}

impl AuditOutcome {
    /// As it is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            AuditOutcome::Refused => "refused",
            AuditOutcome::DeniedHost => "denied-host",
            AuditOutcome::TakenUp => "taken-up",
            AuditOutcome::Began => "began",
        }
    }
}

/// A decision that is to be kept.
#[derive(Debug, Clone)]
pub struct NewAudit {
    /// The text that it is about.
    pub asked: RequestText,
    /// What was decided.
    pub outcome: AuditOutcome,
    /// As the outcome says; short.
    pub detail: String,
    /// When it was decided, in Unix milliseconds.
    pub now: i64,
}

/// A decision that was kept.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct AuditRow {
    /// When it was decided, in Unix milliseconds.
    #[serde(rename = "at_ms")]
    pub at: i64,
    /// Number of the issue or pull request.
    pub number: i64,
    /// Where the text stands on the forge, such as `comment:17`.
    pub source: String,
    /// The forge's id of the text's author.
    pub account: i64,
    /// The author's login then.
    pub login: String,
    /// The command, without its slash.
    pub command: String,
    /// What was decided, an [`AuditOutcome::word`].
    pub outcome: String,
    /// The reason, the host, what is run, or the task.
    pub detail: String,
}

/// The oldest rows before a time, so many at most.
pub(super) const OLD: &str = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)";

impl Store {
    /// The newest decisions of a repository, so many at most, the newest last.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn audit(&self, repository: &str, most: u32) -> Result<Vec<AuditRow>, StoreError> {
        let sql = "SELECT at, number, source, account, login, command, outcome, detail FROM audit \
                   WHERE repository = $1 ORDER BY id DESC LIMIT $2";
        let query = sqlx::query_as(sql).bind(repository.to_owned()).bind(i64::from(most));
        let mut rows: Vec<AuditRow> = self.read(query.fetch_all(&self.readers())).await?;
        rows.reverse();
        Ok(rows)
    }

    /// Keeps a decision, once for its text, outcome and detail.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn note_decided(&self, new: NewAudit) -> Result<(), StoreError> {
        let (new, by) = (Box::new(new), self.life());
        self.writer.ask(|answer| queue::Write::Audit { new, by, answer }).await
    }
}

pub(super) async fn keep(c: &mut AnyConnection, new: &NewAudit, by: i64) -> Result<(), StoreError> {
    leases::fence(c, &new.asked.repository, by).await?;
    note(c, new).await
}

/// As [`keep`], where the lease was looked at.
pub(super) async fn note(c: &mut AnyConnection, new: &NewAudit) -> Result<(), StoreError> {
    let sql = "INSERT INTO audit (repository, key, at, number, source, account, login, command, outcome, detail) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
               ON CONFLICT (repository, key, outcome, detail) DO NOTHING";
    let RequestText { repository, key, number, source, author, command } = &new.asked;
    let query = sqlx::query(sql).bind(repository).bind(key).bind(new.now).bind(*number as i64);
    let query = query.bind(source.to_string()).bind(author.id).bind(&author.login).bind(command);
    query.bind(new.outcome.word()).bind(storable(&new.detail)).execute(c).await?;
    Ok(())
}

/// Keeps that a task began; what else was decided then is the first event of its log.
pub(super) async fn began(c: &mut AnyConnection, new: &NewTask, id: TaskId) -> Result<(), StoreError> {
    let Some(request) = &new.task.request else { return Ok(()) };
    let command = match (&request.earlier, &request.own) {
        (Some(_), _) => "retry",
        (None, Some(own)) => own.name.as_str(),
        (None, None) => request.kind.name(),
    };
    let asked = RequestText {
        repository: request.repository.clone(),
        key: new.input_key.clone(),
        number: request.issue,
        source: request.source.clone(),
        author: request.asker.clone(),
        command: command.to_owned(),
    };
    note(c, &NewAudit { asked, outcome: AuditOutcome::Began, detail: named(id), now: new.now }).await
}

/// Deletes that a task began, which is deleted itself.
pub(super) async fn forget(c: &mut AnyConnection, repository: &str, id: TaskId) -> Result<(), StoreError> {
    let sql = "DELETE FROM audit WHERE repository = $1 AND outcome = $2 AND detail = $3";
    sqlx::query(sql).bind(repository).bind(AuditOutcome::Began.word()).bind(named(id)).execute(c).await?;
    Ok(())
}

fn named(id: TaskId) -> String {
    format!("task {id}")
}

/// Deletes some older rows, so many at most; how many.
pub(super) async fn prune(c: &mut AnyConnection, before: i64, most: i64) -> Result<u64, StoreError> {
    Ok(sqlx::query(OLD).bind(before).bind(most).execute(c).await?.rows_affected())
}
