//! Bytes that tasks' logs name by their digest: of pictures in conversations, and of files of finished work. Tests: `contract/pictures.rs`.

use super::{Store, StoreError, queue};
use domain::TaskId;
use sqlx::{AnyConnection, Row};

/// The most bytes of such files stored per task.
pub const MOST_OF_A_TASK: u64 = 64 << 20;
/// Begins the name under which a file of finished work is stored: it is forgotten where a picture with the same bytes stays.
const ARTIFACT: &str = "artifact:";

impl Store {
    /// Stores a file of a task; false if that would exceed the limit. The same file is stored once.
    pub async fn keep_file(&self, task: TaskId, digest: &str, body: Vec<u8>) -> Result<bool, StoreError> {
        let (digest, epoch) = (digest.to_owned(), self.life());
        self.writer.ask(|answer| queue::Write::Picture { task, digest, epoch, body, answer }).await
    }

    /// The bytes of a task's file; none where it is not stored.
    pub async fn kept_file(&self, task: TaskId, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM pictures WHERE task = $1 AND sha256 = $2";
        let readers = self.readers();
        let row = sqlx::query(sql).bind(task.0).bind(digest).fetch_optional(&readers);
        Ok(self.read(row).await?.map(|row| row.get(0)))
    }

    /// Stores a file of finished work, as [`Store::keep_file`] does.
    pub async fn keep_artifact(&self, task: TaskId, digest: &str, body: Vec<u8>) -> Result<bool, StoreError> {
        self.keep_file(task, &format!("{ARTIFACT}{digest}"), body).await
    }

    /// The bytes of a file of finished work; none where it is not stored.
    pub async fn kept_artifact(&self, task: TaskId, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.kept_file(task, &format!("{ARTIFACT}{digest}")).await
    }

    /// Deletes a task's files of finished work, before newer ones are stored.
    pub async fn forget_artifacts(&self, task: TaskId) -> Result<(), StoreError> {
        let epoch = self.life();
        self.writer.ask(|answer| queue::Write::ForgetArtifacts { task, epoch, answer }).await
    }
}

pub(super) async fn forget(c: &mut AnyConnection, (task, epoch): (TaskId, i64)) -> Result<(), StoreError> {
    super::leases::fence_task(c, task, epoch).await?;
    let sql = "DELETE FROM pictures WHERE task = $1 AND sha256 LIKE $2";
    sqlx::query(sql).bind(task.0).bind(format!("{ARTIFACT}%")).execute(c).await?;
    Ok(())
}

pub(super) async fn keep(
    c: &mut AnyConnection,
    (task, epoch): (TaskId, i64),
    digest: &str,
    body: Vec<u8>,
) -> Result<bool, StoreError> {
    super::leases::fence_task(c, task, epoch).await?;
    let sql = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM pictures WHERE task = $1 AND sha256 <> $2";
    let others: i64 = sqlx::query_scalar(sql).bind(task.0).bind(digest).fetch_one(&mut *c).await?;
    let length = body.len() as i64;
    if others + length > MOST_OF_A_TASK as i64 {
        return Ok(false);
    }
    let sql = "INSERT INTO pictures (task, sha256, bytes, body) VALUES ($1, $2, $3, $4) ON CONFLICT (task, sha256) DO NOTHING";
    sqlx::query(sql).bind(task.0).bind(digest).bind(length).bind(body).execute(c).await?;
    Ok(true)
}
