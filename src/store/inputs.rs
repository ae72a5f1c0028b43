//! Keys of accepted inputs, each accepted once.

use super::StoreError;
use domain::TaskId;
use sqlx::AnyConnection;

/// Accepts an input; true if its key is new.
pub(super) async fn input(
    c: &mut AnyConnection,
    key: &str,
    task: Option<TaskId>,
    now: i64,
) -> Result<bool, StoreError> {
    if super::read::known(&mut *c, key).await? {
        return Ok(false);
    }
    let sql = "INSERT INTO inputs (key, task, at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING";
    let done = sqlx::query(sql).bind(key).bind(task.map(|t| t.0)).bind(now).execute(c).await?;
    Ok(done.rows_affected() > 0)
}

/// As [`input`], without a task; only if this life holds the lease of the text's repository.
pub(super) async fn noted(
    c: &mut AnyConnection,
    key: &str,
    by: Option<(String, i64)>,
    now: i64,
) -> Result<bool, StoreError> {
    if let Some((repository, epoch)) = by {
        super::leases::fence(c, &repository, epoch).await?;
    }
    input(c, key, None, now).await
}
