//! The newest commit of each task that may not be on its branch yet, from which another host continues; and properties of the store itself.

use super::{Store, StoreError, queue};
use domain::{Commit, TaskId};
use sqlx::{AnyConnection, Row};

/// Key of the marks' fingerprint.
const MARKS: &str = "marks";

impl Store {
    /// Stores a commit of a task as a git pack of what its parent lacks, replacing an earlier one.
    pub async fn keep_pack(&self, task: TaskId, commit: &Commit, body: Vec<u8>) -> Result<(), StoreError> {
        let (commit, epoch) = (commit.to_string(), self.life());
        self.writer.ask(|answer| queue::Write::Pack { task, commit, epoch, body, answer }).await
    }

    /// The pack of a task's commit; none when it is not stored.
    pub async fn pack(&self, task: TaskId, commit: &Commit) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM packs WHERE task = $1 AND commit_id = $2";
        let readers = self.readers();
        let row = sqlx::query(sql).bind(task.0).bind(commit.to_string()).fetch_optional(&readers);
        Ok(self.read(row).await?.map(|row| row.get(0)))
    }

    /// The fingerprint of the key that marks this store's posts; sets this one if none is stored.
    pub async fn marked_with(&self, fingerprint: &str) -> Result<String, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.writer.ask(|answer| queue::Write::Marks { fingerprint, anew: false, answer }).await
    }

    /// Replaces the fingerprint of the key that marks this store's posts.
    pub async fn mark_anew_with(&self, fingerprint: &str) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.writer.ask(|answer| queue::Write::Marks { fingerprint, anew: true, answer }).await.map(drop)
    }
}

pub(super) async fn keep(
    c: &mut AnyConnection,
    (task, epoch): (TaskId, i64),
    commit: &str,
    body: Vec<u8>,
) -> Result<(), StoreError> {
    super::leases::fence_task(c, task, epoch).await?;
    let sql = "INSERT INTO packs (task, commit_id, body) VALUES ($1, $2, $3) \
               ON CONFLICT (task) DO UPDATE SET commit_id = excluded.commit_id, body = excluded.body";
    sqlx::query(sql).bind(task.0).bind(commit).bind(body).execute(c).await?;
    Ok(())
}

pub(super) async fn marks(c: &mut AnyConnection, fingerprint: &str, anew: bool) -> Result<String, StoreError> {
    let insert = "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO ";
    let sql = format!("{insert}{}", if anew { "UPDATE SET value = excluded.value" } else { "NOTHING" });
    sqlx::query(sqlx::AssertSqlSafe(sql)).bind(MARKS).bind(fingerprint).execute(&mut *c).await?;
    let sql = "SELECT value FROM facts WHERE name = $1";
    Ok(sqlx::query_scalar(sql).bind(MARKS).fetch_one(c).await?)
}
