//! Which issue of an upstream on GitHub stands on the forge as which issue. Tests: `contract/upstream_issues.rs`.

use super::body::Flag;
use super::{Store, StoreError, leases, queue};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// An issue of an upstream that stands, or is being opened, on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamIssueRow {
    /// The forge's id of the repository that it stands in.
    pub forge_id: i64,
    /// GitHub's number of the upstream.
    pub upstream: u64,
    /// The issue's number there.
    pub number: u64,
    /// The issue's number on the forge; 0 while it is being opened.
    pub issue: u64,
    /// Whether people were told that it is closed there.
    pub closed: bool,
}

fn row(row: &AnyRow) -> UpstreamIssueRow {
    let number = |at: usize| row.get::<i64, _>(at) as u64;
    let (forge_id, closed) = (row.get(0), row.get::<Flag, _>(4).into());
    UpstreamIssueRow { forge_id, upstream: number(1), number: number(2), issue: number(3), closed }
}

impl Store {
    /// The issues of this upstream that stand in the repository (its key, and the forge's id of it) or are being opened there, by their numbers
    /// upstream.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn upstream_issues(
        &self,
        (repository, forge_id): (&str, i64),
        upstream: u64,
    ) -> Result<Vec<UpstreamIssueRow>, StoreError> {
        let sql = "SELECT forge_id, upstream, number, issue, CAST(closed AS INTEGER) FROM upstream_issues WHERE repository = $1 AND forge_id = $2 AND upstream = $3 ORDER BY number";
        let readers = self.readers();
        let query = sqlx::query(sql).bind(repository.to_owned()).bind(forge_id).bind(upstream as i64);
        Ok(self.read(query.fetch_all(&readers)).await?.iter().map(row).collect())
    }

    /// The issue of an upstream as which this issue of the forge was opened; none for every other one.
    ///
    /// # Errors
    /// As [`Store::upstream_issues`].
    pub async fn upstream_of_issue(
        &self,
        (repository, forge_id): (&str, i64),
        issue: u64,
    ) -> Result<Option<UpstreamIssueRow>, StoreError> {
        let sql = "SELECT forge_id, upstream, number, issue, CAST(closed AS INTEGER) FROM upstream_issues WHERE repository = $1 AND forge_id = $2 AND issue = $3 ORDER BY upstream, number";
        let readers = self.readers();
        let query = sqlx::query(sql).bind(repository.to_owned()).bind(forge_id).bind(issue as i64);
        Ok(self.read(query.fetch_optional(&readers)).await?.as_ref().map(row))
    }

    /// Keeps a row, in the place of the one before it.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn keep_upstream_issue(&self, repository: &str, row: UpstreamIssueRow) -> Result<(), StoreError> {
        let (repository, by) = (repository.to_owned(), self.life());
        self.writer.ask(|answer| queue::Write::UpstreamIssue { repository, row, by, answer }).await
    }
}

pub(super) async fn keep(
    c: &mut AnyConnection,
    repository: &str,
    row: UpstreamIssueRow,
    by: i64,
) -> Result<(), StoreError> {
    leases::fence(c, repository, by).await?;
    let sql = "INSERT INTO upstream_issues (repository, forge_id, upstream, number, issue, closed) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (repository, forge_id, upstream, number) DO UPDATE SET issue = excluded.issue, closed = excluded.closed";
    let query = sqlx::query(sql).bind(repository).bind(row.forge_id).bind(row.upstream as i64).bind(row.number as i64);
    query.bind(row.issue as i64).bind(row.closed).execute(c).await?;
    Ok(())
}
