//! Webhook deliveries: stored once per uuid, with packed bodies. Tests: `contract/deliveries.rs`.

use super::{Delivery, Store, StoreError};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AnyPool, Row};
use std::collections::HashSet;

/// Packing of a body in its row, `deliveries.packing`.
const PLAIN: i64 = 0;
/// One LZ4 block after its unpacked length (32 bits, little-endian).
const LZ4: i64 = 1;

/// A delivery with its body packed, because the forge's JSON shrinks to a fourth and is kept for weeks.
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

pub(super) const OPEN: &str = of_deliveries!("WHERE handled_at IS NULL ORDER BY received_at LIMIT $1");
/// Only used on a shared store, which is PostgreSQL.
const OPEN_OF: &str = of_deliveries!(
    "WHERE handled_at IS NULL AND repository IN (SELECT json_array_elements_text(CAST($1 AS JSON))) ORDER BY received_at LIMIT $2"
);
pub(super) const ABOUT: &str = "SELECT uuid FROM deliveries WHERE repository = $1 AND about = $2 ORDER BY received_at";
const ONE: &str = of_deliveries!("WHERE uuid = $1");

/// Unhandled deliveries, oldest first, except these; of these repositories if any are named.
pub async fn open(
    readers: &AnyPool,
    limit: u32,
    without: &[String],
    of: Option<&HashSet<String>>,
) -> Result<Vec<Delivery>, StoreError> {
    let most = i64::from(limit) + without.len() as i64;
    let rows = match of {
        None => sqlx::query(OPEN).bind(most).fetch_all(readers).await?,
        Some(of) => {
            let keys = serde_json::to_string(&of)?;
            sqlx::query(OPEN_OF).bind(keys).bind(most).fetch_all(readers).await?
        }
    };
    let wanted = rows.iter().filter(|row| !without.iter().any(|uuid| uuid == row.get::<&str, _>(0)));
    Ok(wanted.take(limit as usize).map(one).collect())
}

/// Deliveries about one text, handled or not, oldest first. Each is read when it is asked for, because whoever may edit a text causes as many as
/// they like, each as long as a hook may be: together they would fill the memory, and while they are unpacked and looked at no connection may be
/// kept from others, nor the limit of an answer run.
pub struct DeliveriesAbout<'a> {
    store: &'a Store,
    uuids: std::vec::IntoIter<String>,
}

impl<'a> DeliveriesAbout<'a> {
    /// Those that are stored now.
    pub(super) async fn of(store: &'a Store, repository: &str, about: &str) -> Result<Self, StoreError> {
        let readers = store.readers();
        let query = sqlx::query_scalar(ABOUT).bind(repository).bind(about);
        let uuids: Vec<String> = store.read(query.fetch_all(&readers)).await?;
        Ok(Self { store, uuids: uuids.into_iter() })
    }

    /// The next one that is still stored.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<Delivery>, StoreError> {
        for uuid in self.uuids.by_ref() {
            let readers = self.store.readers();
            let row = self.store.read(sqlx::query(ONE).bind(uuid).fetch_optional(&readers)).await?;
            if let Some(row) = row {
                return Ok(Some(one(&row)));
            }
        }
        Ok(None)
    }
}

fn one(row: &AnyRow) -> Delivery {
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

/// Stores a delivery; true if it is new.
pub async fn store(c: &mut AnyConnection, Packed { delivery, body }: &Packed) -> Result<bool, StoreError> {
    let sql = "INSERT INTO deliveries (uuid, repository, event_type, received_at, packing, body, about) \
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (uuid) DO NOTHING";
    let query = sqlx::query(sql).bind(&delivery.uuid).bind(&delivery.repository).bind(&delivery.event_type);
    let query = query.bind(delivery.received_at).bind(LZ4).bind(body).bind(&delivery.about);
    Ok(query.execute(c).await?.rows_affected() > 0)
}

pub async fn handled(connection: &mut AnyConnection, uuids: &[String], now: i64) -> Result<(), StoreError> {
    for uuid in uuids {
        let query = sqlx::query("UPDATE deliveries SET handled_at = $1 WHERE uuid = $2").bind(now).bind(uuid);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
