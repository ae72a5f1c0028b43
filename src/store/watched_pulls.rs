//! Pull requests at whose pushes a command is run again. A row comes and changes together with a test run (`test_runs.rs`), and goes when
//! nobody is to run it any more. Tests: `contract/test_runs.rs`.

use super::body::storable;
use super::{NewTestRun, Store, StoreError, leases, queue};
use domain::{Account, TestRun};
use sqlx::{AnyConnection, Row};

/// A pull request at whose pushes a command is run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedPull {
    /// Who asked for it.
    pub poster: Account,
    /// What was run last, at its newest commit then.
    pub run: TestRun,
}

impl Store {
    /// What is run at each push to this pull request; none where nothing is. One that this version cannot read is none, and logged.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn watched_pull(&self, repository: &str, pull: u64) -> Result<Option<WatchedPull>, StoreError> {
        let sql = "SELECT poster, login, asked FROM watched_pulls WHERE repository = $1 AND pull = $2";
        let query = sqlx::query(sql).bind(repository).bind(pull as i64);
        let Some(row) = self.read(query.fetch_optional(&self.readers())).await? else { return Ok(None) };
        match serde_json::from_str(&row.get::<String, _>(2)) {
            Ok(run) => Ok(Some(WatchedPull { poster: Account { id: row.get(0), login: row.get(1) }, run })),
            Err(error) => {
                tracing::error!(%error, repository, pull, "a watched pull request cannot be read: it is left");
                Ok(None)
            }
        }
    }

    /// Nothing is run at its pushes any more; whether something was.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn unwatch_pull(&self, repository: &str, pull: u64) -> Result<bool, StoreError> {
        let (repository, by) = (repository.to_owned(), self.life());
        self.writer.ask(|answer| queue::Write::Unwatch { repository, pull, by, answer }).await
    }
}

/// Remembers what is run at each push, together with a run of it.
pub(super) async fn watch(c: &mut AnyConnection, new: &NewTestRun) -> Result<(), StoreError> {
    let sql = "INSERT INTO watched_pulls (repository, pull, poster, login, asked) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (repository, pull) DO UPDATE SET poster = excluded.poster, login = excluded.login, asked = excluded.asked";
    let query = sqlx::query(sql).bind(&new.repository).bind(new.thread as i64).bind(new.poster.id);
    query.bind(&new.poster.login).bind(storable(&serde_json::to_string(&new.run)?)).execute(c).await?;
    Ok(())
}

pub(super) async fn unwatch(c: &mut AnyConnection, repository: &str, pull: u64, by: i64) -> Result<bool, StoreError> {
    leases::fence(c, repository, by).await?;
    let sql = "DELETE FROM watched_pulls WHERE repository = $1 AND pull = $2";
    let done = sqlx::query(sql).bind(repository).bind(pull as i64).execute(c).await?;
    Ok(done.rows_affected() > 0)
}
