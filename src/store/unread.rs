//! Issues and pull requests whose last reading failed, so that the next life reads them too.

use super::{Store, StoreError, queue};
use sqlx::AnyConnection;

impl Store {
    /// Records that a reading failed; may be repeated.
    pub async fn could_not_read(&self, repository: &str, number: u64, now: i64) -> Result<(), StoreError> {
        let repository = repository.to_owned();
        self.writer.ask(|answer| queue::Write::Unread { repository, number, now: Some(now), answer }).await
    }

    /// Removes the record, because it was read or need not be read any more.
    pub async fn read_at_last(&self, repository: &str, number: u64) -> Result<(), StoreError> {
        let repository = repository.to_owned();
        self.writer.ask(|answer| queue::Write::Unread { repository, number, now: None, answer }).await
    }

    /// Repository and number of each.
    pub async fn unread(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT repository, number FROM unread ORDER BY at, repository, number";
        let rows: Vec<(String, i64)> = self.read(sqlx::query_as(sql).fetch_all(&self.readers())).await?;
        Ok(rows.into_iter().map(|(repository, number)| (repository, number as u64)).collect())
    }
}

/// Records it with a time, removes it without.
pub(super) async fn note(
    c: &mut AnyConnection,
    repository: &str,
    number: u64,
    now: Option<i64>,
) -> Result<(), StoreError> {
    let query = match now {
        Some(now) => {
            let sql = "INSERT INTO unread (repository, number, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            sqlx::query(sql).bind(repository).bind(number as i64).bind(now)
        }
        None => {
            let sql = "DELETE FROM unread WHERE repository = $1 AND number = $2";
            sqlx::query(sql).bind(repository).bind(number as i64)
        }
    };
    query.execute(c).await?;
    Ok(())
}
