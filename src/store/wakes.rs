//! Notifications between hosts of one store: something arrived for a repository, a lease is free, or an entry was changed. Only hints: a
//! host that misses one looks a little later by itself.

use super::location::{KEEPALIVES, late};
use super::queue::{Arrival, Write};
use super::{Location, Store, StoreError};
use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use std::time::Duration;

const DELIVERED_AND_COMMIT: &str = "NOTIFY caisson, 'delivery'; COMMIT";
const RELEASED_AND_COMMIT: &str = "NOTIFY caisson, 'lease'; COMMIT";
const BOTH_AND_COMMIT: &str = "NOTIFY caisson, 'delivery'; NOTIFY caisson, 'lease'; COMMIT";
/// Rare, so every listener looks for everything.
const ANY_AND_COMMIT: &str =
    "NOTIFY caisson, 'delivery'; NOTIFY caisson, 'lease'; NOTIFY caisson, 'repository'; COMMIT";
const CHANNEL: &str = "caisson";
/// Time between two tries to connect.
const AGAIN: Duration = Duration::from_secs(2);

/// The end of a transaction with these writes; notifications within it are delivered when it is committed.
pub(super) fn commit(arrived: &[Arrival], writes: &[Write]) -> &'static str {
    let releases = writes.iter().any(|write| matches!(write, Write::Release { .. }));
    match arrived.is_empty() {
        _ if writes.iter().any(|write| matches!(write, Write::Entry { .. })) => ANY_AND_COMMIT,
        true if releases => RELEASED_AND_COMMIT,
        true => "COMMIT",
        false if releases => BOTH_AND_COMMIT,
        false => DELIVERED_AND_COMMIT,
    }
}

/// Kind of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A delivery was stored.
    Delivery,
    /// A lease was released.
    Lease,
    /// An entry of a repository was changed.
    Repository,
    /// Notifications may have been missed.
    Unknown,
}

/// Receives notifications of other hosts.
pub struct Wakes {
    location: Location,
    listener: Option<PgListener>,
}

impl Store {
    /// A receiver of notifications of this store's hosts.
    pub fn wakes(&self) -> Wakes {
        Wakes { location: self.location.clone(), listener: None }
    }
}

impl Wakes {
    /// Returns after a notification from any host, or when one may have been missed. Where none came for as long as an answer may take it is
    /// listened anew, because a server or a network that falls silent closes no connection, and who only listens would wait for ever.
    pub async fn next(&mut self) -> Word {
        let Some(limit) = self.location.answers_within() else { return std::future::pending().await };
        let Some(listener) = &mut self.listener else {
            let listener = tokio::time::timeout(limit, listen(&self.location)).await;
            match listener.unwrap_or_else(|_| Err(StoreError::Sql(late(limit)))) {
                Ok(listener) => self.listener = Some(listener),
                Err(error) => {
                    tracing::debug!(%error, "other hosts are not heard");
                    tokio::time::sleep(AGAIN).await;
                }
            }
            return Word::Unknown;
        };
        let heard = tokio::time::timeout(limit, listener.try_recv()).await.unwrap_or_else(|_| Err(late(limit)));
        match heard.map(|told| told.map(|told| told.payload().to_owned())) {
            Ok(Some(payload)) if payload == "delivery" => Word::Delivery,
            Ok(Some(payload)) if payload == "lease" => Word::Lease,
            Ok(Some(payload)) if payload == "repository" => Word::Repository,
            // Reconnected, or a notification of another version.
            Ok(_) => Word::Unknown,
            Err(error) => {
                tracing::debug!(%error, "other hosts are not heard any more");
                self.listener = None;
                Word::Unknown
            }
        }
    }
}

async fn listen(at: &Location) -> Result<PgListener, StoreError> {
    let Location::Postgres(url) = at else { return std::future::pending().await };
    let options: PgConnectOptions = url.as_str().parse()?;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(AGAIN)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(KEEPALIVES).await.map(drop) }));
    let pool = pool.connect_with(options).await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}
