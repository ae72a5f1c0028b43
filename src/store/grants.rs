//! Hosts that are allowed for every task of a repository: given within a task's step, taken back there or without any task.

use super::{Store, StoreError, inputs, queue};
use sqlx::AnyConnection;

/// Hosts that somebody takes back where no task is at work.
#[derive(Debug)]
pub struct TakeBack {
    /// The text's key: it is taken up once.
    pub input_key: String,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Hosts as they were named; one without a port stands for all its ports.
    pub hosts: Vec<String>,
    /// When the text was taken up, in Unix milliseconds.
    pub now: i64,
}

impl Store {
    /// Takes hosts back from a repository's later tasks: for each, the grants that stood. None when the text was taken up before.
    pub async fn take_back(&self, wish: TakeBack) -> Result<Option<Vec<Vec<String>>>, StoreError> {
        let epoch = self.life();
        self.writer.ask(|answer| queue::Write::TakeBack { wish, epoch, answer }).await
    }
}

pub(super) async fn take_back(
    c: &mut AnyConnection,
    wish: &TakeBack,
    epoch: i64,
) -> Result<Option<Vec<Vec<String>>>, StoreError> {
    super::leases::fence(c, &wish.repository, epoch).await?;
    if !inputs::input(c, &wish.input_key, None, wish.now).await? {
        return Ok(None);
    }
    let mut taken = Vec::with_capacity(wish.hosts.len());
    for host in &wish.hosts {
        taken.push(drop_named(c, &wish.repository, host).await?);
    }
    Ok(Some(taken))
}

/// Without a port, a name takes back every port. What stood is returned.
pub(super) async fn drop_named(c: &mut AnyConnection, repository: &str, host: &str) -> Result<Vec<String>, StoreError> {
    let sql = "DELETE FROM grants WHERE repository = $1 AND (host = $2 OR substr(host, 1, length($2) + 1) = $2 || ':') \
               RETURNING host";
    let mut gone: Vec<String> = sqlx::query_scalar(sql).bind(repository).bind(host).fetch_all(c).await?;
    gone.sort();
    Ok(gone)
}
