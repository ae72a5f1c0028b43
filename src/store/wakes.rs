//! What hosts of one store tell each other: that something came for a repository, that a lease is free, or that an entry of a repository was
//! written. Only a hint: whoever misses one looks a little later by himself.

use super::location::KEEPALIVES;
use super::queue::{Arrival, Write};
use super::{Location, Store, StoreError};
use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use std::time::Duration;

const DELIVERED_AND_COMMIT: &str = "NOTIFY caisson, 'delivery'; COMMIT";
const RELEASED_AND_COMMIT: &str = "NOTIFY caisson, 'lease'; COMMIT";
const BOTH_AND_COMMIT: &str = "NOTIFY caisson, 'delivery'; NOTIFY caisson, 'lease'; COMMIT";
/// Rare: whoever hears it looks for everything.
const ANY_AND_COMMIT: &str =
    "NOTIFY caisson, 'delivery'; NOTIFY caisson, 'lease'; NOTIFY caisson, 'repository'; COMMIT";
const CHANNEL: &str = "caisson";
/// Between two tries to hear again.
const AGAIN: Duration = Duration::from_secs(2);

/// How a transaction with these ends: what others are told is told within it, and heard once it is stored.
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

/// What was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A delivery was stored.
    Delivery,
    /// A lease was given back.
    Lease,
    /// An entry of a repository was written.
    Repository,
    /// Something may have been missed.
    Unknown,
}

/// Hears what other hosts tell.
pub struct Wakes {
    location: Location,
    listener: Option<PgListener>,
}

impl Store {
    /// Where the other hosts of this store are heard.
    pub fn wakes(&self) -> Wakes {
        Wakes { location: self.location.clone(), listener: None }
    }
}

impl Wakes {
    /// Returns when another host, or this one, told something; or when it may have been missed.
    pub async fn next(&mut self) -> Word {
        let Some(listener) = &mut self.listener else {
            match listen(&self.location).await {
                Ok(listener) => self.listener = Some(listener),
                Err(error) => {
                    tracing::debug!(%error, "other hosts are not heard");
                    tokio::time::sleep(AGAIN).await;
                }
            }
            return Word::Unknown;
        };
        match listener.try_recv().await.map(|told| told.map(|told| told.payload().to_owned())) {
            Ok(Some(payload)) if payload == "delivery" => Word::Delivery,
            Ok(Some(payload)) if payload == "lease" => Word::Lease,
            Ok(Some(payload)) if payload == "repository" => Word::Repository,
            // Connected anew, or another version's word.
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
