//! Bytes that tasks' logs name by their digest: of pictures in conversations, and of files of finished work. Tests: `contract/pictures.rs`.

use super::{Store, StoreError, queue};
use domain::TaskId;
use sqlx::{AnyConnection, Row};

/// The most bytes of such files stored per task.
pub const MOST_OF_A_TASK: u64 = 64 << 20;

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
