//! What arrived at the door: stored once for each uuid, however often it comes, packed. Tests: `tests.rs`.

use super::{Delivery, StoreError};
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row, Sqlite};
use std::collections::HashSet;

/// Rows of one statement at most. Each number of rows is a text of its own, which the connection keeps prepared.
const ROWS: usize = 64;

/// How a body lies in its row: `deliveries.packing`.
const PLAIN: i64 = 0;
/// One LZ4 block after its unpacked length (32 bits, little-endian).
const LZ4: i64 = 1;

/// An arrival with its body packed: the forge's JSON shrinks to a fourth, and what a burst costs is mostly bytes written.
pub struct Packed {
    delivery: Delivery,
    body: Vec<u8>,
}

impl Packed {
    pub fn new(mut delivery: Delivery) -> Self {
        let body = lz4_flex::compress_prepend_size(&std::mem::take(&mut delivery.body));
        Self { delivery, body }
    }
}

macro_rules! of_deliveries {
    ($rest:literal) => {
        concat!("SELECT uuid, repository, event_type, received_at, packing, body, about FROM deliveries ", $rest)
    };
}

pub(super) const OPEN: &str = of_deliveries!(
    "WHERE handled_at IS NULL AND uuid NOT IN (SELECT value FROM json_each($2)) ORDER BY received_at LIMIT $1"
);
pub(super) const ABOUT: &str = of_deliveries!("WHERE repository = $1 AND about = $2 ORDER BY received_at");

/// Arrivals that nobody has taken care of, oldest first, without these.
pub async fn open(readers: &SqlitePool, limit: u32, without: &[String]) -> Result<Vec<Delivery>, StoreError> {
    let without = serde_json::Value::from(without).to_string();
    let rows = sqlx::query(OPEN).bind(i64::from(limit)).bind(without).fetch_all(readers).await?;
    Ok(rows.iter().map(one).collect())
}

/// What was delivered about one text and is still kept, whether it was taken care of or not, oldest first.
pub async fn about(readers: &SqlitePool, repository: &str, about: &str) -> Result<Vec<Delivery>, StoreError> {
    let rows = sqlx::query(ABOUT).bind(repository).bind(about).fetch_all(readers).await?;
    Ok(rows.iter().map(one).collect())
}

fn one(row: &SqliteRow) -> Delivery {
    let (uuid, received_at): (String, i64) = (row.get(0), row.get(3));
    let body = unpacked(row.get(4), row.get(5)).unwrap_or_else(|trouble| {
        tracing::error!(
            uuid,
            trouble,
            "a stored delivery cannot be unpacked; the next round of reading finds what it was about"
        );
        Vec::new()
    });
    Delivery { uuid, repository: row.get(1), event_type: row.get(2), about: row.get(6), body, received_at }
}

fn unpacked(packing: i64, body: Vec<u8>) -> Result<Vec<u8>, String> {
    match packing {
        PLAIN => Ok(body),
        LZ4 => lz4_flex::decompress_size_prepended(&body).map_err(|error| error.to_string()),
        other => Err(format!("packing {other} is unknown: was it written by a newer version?")),
    }
}

/// Stores them, a burst in one statement (a round to the database's thread costs more than a row does). For each, in order:
/// whether it is new. A statement that fails has stored none of its rows, and takes no other's work with it.
pub async fn store(connection: &mut SqliteConnection, arrived: &[Packed]) -> Vec<Result<bool, StoreError>> {
    let mut all = Vec::with_capacity(arrived.len());
    for burst in arrived.chunks(ROWS) {
        match insert(connection, burst).await {
            // The first of two with one uuid is the one that was stored.
            Ok(mut fresh) => all.extend(burst.iter().map(|one| Ok(fresh.remove(&one.delivery.uuid)))),
            Err(error) => {
                let error = StoreError::from(error);
                all.extend(burst.iter().map(|_| Err(same(&error))));
            }
        }
    }
    all
}

/// The error once more, for each who waits.
fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::DiskFull => StoreError::DiskFull,
        other => StoreError::Sql(sqlx::Error::Protocol(other.to_string())),
    }
}

/// The uuids that were not known before. Most often all are, and then the statement gives back no rows: each is a message from
/// the database's thread, and they cost more than the insertion.
async fn insert(connection: &mut SqliteConnection, burst: &[Packed]) -> Result<HashSet<String>, sqlx::Error> {
    match rows(burst).build().execute(&mut *connection).await {
        Ok(_) => return Ok(burst.iter().map(|one| one.delivery.uuid.clone()).collect()),
        // Nothing of it was stored.
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {}
        Err(error) => return Err(error),
    }
    let mut query = rows(burst);
    query.push(" ON CONFLICT (uuid) DO NOTHING RETURNING uuid");
    let new: Vec<String> = query.build_query_scalar().fetch_all(connection).await?;
    Ok(new.into_iter().collect())
}

fn rows(burst: &[Packed]) -> QueryBuilder<Sqlite> {
    let sql = "INSERT INTO deliveries (uuid, repository, event_type, received_at, packing, body, about) ";
    let mut query = QueryBuilder::<Sqlite>::new(sql);
    query.push_values(burst, |mut row, Packed { delivery, body }| {
        row.push_bind(&delivery.uuid).push_bind(&delivery.repository).push_bind(&delivery.event_type);
        row.push_bind(delivery.received_at).push_bind(LZ4).push_bind(body);
        row.push_bind(&delivery.about);
    });
    query
}

pub async fn handled(connection: &mut SqliteConnection, uuids: &[String], now: i64) -> Result<(), StoreError> {
    for uuid in uuids {
        let query = sqlx::query("UPDATE deliveries SET handled_at = $1 WHERE uuid = $2").bind(now).bind(uuid);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
