//! Pull requests at whose pushes a command is run again. A row comes and changes together with a test run (`test_runs.rs`), and goes when
//! nobody is to run it any more. Tests: `contract/test_runs.rs`.

use super::body::storable;
use super::{NewTestRun, Store, StoreError, inputs, leases, queue};
use domain::{Account, TestRun};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// A pull request at whose pushes a command is run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedPull {
    /// Who asked for it.
    pub poster: Account,
    /// What was run last, at its newest commit then.
    pub run: TestRun,
    /// `run` as it is stored.
    stored: String,
}

/// What ends the watching of a pull request.
#[derive(Debug)]
pub(super) enum EndOfWatch {
    /// The text with this key, taken up at this time (Unix milliseconds): all that is run there.
    Text { repository: String, pull: u64, key: String, now: i64 },
    /// Nothing may be run there as it is watched.
    Seen { repository: String, pull: u64, seen: WatchedPull },
}

const AT: &str = "repository = $1 AND pull = $2";

fn row(row: &AnyRow) -> Result<WatchedPull, StoreError> {
    let stored: String = row.get(2);
    let poster = Account { id: row.get(0), login: row.get(1) };
    Ok(WatchedPull { poster, run: serde_json::from_str(&stored)?, stored })
}

impl Store {
    /// What is run at each push to this pull request: at most a `/test-pr` and a `/test-pr-bug`. One that this version cannot read is left out,
    /// and logged.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn watched_pull(&self, repository: &str, pull: u64) -> Result<Vec<WatchedPull>, StoreError> {
        let sql = format!("SELECT poster, login, asked FROM watched_pulls WHERE {AT} ORDER BY bug");
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(repository.to_owned()).bind(pull as i64);
        let rows = self.read(query.fetch_all(&self.readers())).await?;
        let read = |stored: &AnyRow| {
            row(stored)
                .inspect_err(|error| {
                    tracing::error!(%error, repository, pull, "a watched pull request cannot be read: it is left");
                })
                .ok()
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Nothing is run at its pushes any more; once for the text with this key, so that what is asked for later stays.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn unwatch_pull(&self, repository: &str, pull: u64, key: &str, now: i64) -> Result<(), StoreError> {
        let (repository, key) = (repository.to_owned(), key.to_owned());
        self.end_watch(EndOfWatch::Text { repository, pull, key, now }).await
    }

    /// What was read is not run at its pushes any more; what took its place meanwhile stays.
    ///
    /// # Errors
    /// As [`Store::unwatch_pull`].
    pub async fn unwatch_seen(&self, repository: &str, pull: u64, seen: &WatchedPull) -> Result<(), StoreError> {
        self.end_watch(EndOfWatch::Seen { repository: repository.to_owned(), pull, seen: seen.clone() }).await
    }

    async fn end_watch(&self, end: EndOfWatch) -> Result<(), StoreError> {
        let by = self.life();
        self.writer.ask(|answer| queue::Write::Unwatch { end, by, answer }).await
    }
}

/// Remembers what is run at each push, in place of the one before it.
pub(super) async fn watch(c: &mut AnyConnection, new: &NewTestRun) -> Result<(), StoreError> {
    let sql = "INSERT INTO watched_pulls (repository, pull, bug, poster, login, asked) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (repository, pull, bug) \
               DO UPDATE SET poster = excluded.poster, login = excluded.login, asked = excluded.asked";
    let query = sqlx::query(sql).bind(&new.repository).bind(new.thread as i64).bind(new.run.bug);
    let query = query.bind(new.poster.id).bind(&new.poster.login);
    query.bind(storable(&serde_json::to_string(&new.run)?)).execute(c).await?;
    Ok(())
}

/// Puts the run in the place of the one that was seen; false where that is not there any more.
pub(super) async fn moves_on(c: &mut AnyConnection, new: &NewTestRun, seen: &WatchedPull) -> Result<bool, StoreError> {
    let sql = format!("UPDATE watched_pulls SET asked = $3 WHERE {AT} AND asked = $4");
    let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(new.repository.clone()).bind(new.thread as i64);
    let query = query.bind(storable(&serde_json::to_string(&new.run)?)).bind(seen.stored.clone());
    Ok(query.execute(c).await?.rows_affected() > 0)
}

pub(super) async fn end(c: &mut AnyConnection, end: &EndOfWatch, by: i64) -> Result<(), StoreError> {
    let (EndOfWatch::Text { repository, pull, .. } | EndOfWatch::Seen { repository, pull, .. }) = end;
    leases::fence(c, repository, by).await?;
    let sql = match end {
        EndOfWatch::Text { key, now, .. } => {
            if !inputs::input(c, key, None, *now).await? {
                return Ok(());
            }
            format!("DELETE FROM watched_pulls WHERE {AT}")
        }
        EndOfWatch::Seen { .. } => format!("DELETE FROM watched_pulls WHERE {AT} AND asked = $3"),
    };
    let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(repository.clone()).bind(*pull as i64);
    match end {
        EndOfWatch::Text { .. } => query.execute(c).await?,
        EndOfWatch::Seen { seen, .. } => query.bind(seen.stored.clone()).execute(c).await?,
    };
    Ok(())
}
