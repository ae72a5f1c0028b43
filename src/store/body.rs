//! How values are stored: small bodies in their row, large ones in `blobs` under their digest; texts; booleans.

use super::StoreError;
use domain::Event;
use sha2::{Digest, Sha256};

/// Bodies with more bytes than this are stored as blobs.
pub(super) const INLINE: usize = 4096;
/// Version of the event bodies that this program writes, and the newest that it reads.
pub(super) const VERSION: i64 = 1;

/// The most rows that one statement writes.
pub(super) const ROWS: usize = 400;

pub(super) struct Stored {
    pub kind: String,
    pub inline: Option<String>,
    pub blob: Option<(String, Vec<u8>)>,
}

pub(super) fn store_event(event: &Event) -> Result<Stored, StoreError> {
    let value = serde_json::to_value(event)?;
    let kind = value.get("event").and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let text = value.to_string();
    if text.len() <= INLINE {
        return Ok(Stored { kind, inline: Some(text), blob: None });
    }
    let digest = hex::encode(Sha256::digest(text.as_bytes()));
    Ok(Stored { kind, inline: None, blob: Some((digest, text.into_bytes())) })
}

/// A boolean, selected as `CAST(… AS INTEGER)`, because sqlx's `Any` driver lacks SQLite's own.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
pub(super) struct Flag(i64);

impl From<Flag> for bool {
    fn from(flag: Flag) -> Self {
        flag.0 != 0
    }
}

/// Placeholders of several rows of values, such as `($1, $2), ($3, $4)`; one row is also the list of an `IN`. Many rows are
/// written by one statement, because each statement takes a round trip to the server during which all other hosts wait.
pub(super) fn placeholders(rows: usize, columns: usize) -> String {
    let one = |row: usize| {
        let values: Vec<String> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", values.join(", "))
    };
    (0..rows).map(one).collect::<Vec<_>>().join(", ")
}

/// A text that both databases accept, because PostgreSQL stores no NUL.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Parses a body of this or any earlier version.
pub(super) fn load_event(version: i64, inline: Option<String>, blob: Option<Vec<u8>>) -> Result<Event, StoreError> {
    // It may parse all the same, without what this version does not know.
    if version > VERSION {
        return Err(StoreError::Newer { version, known: VERSION });
    }
    let text = match (inline, blob) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(blob)) => blob,
        (None, None) => Vec::new(),
    };
    upcast(version, &text)
}

/// Converts bodies of earlier versions, one arm per version that differs.
fn upcast(_version: i64, text: &[u8]) -> Result<Event, StoreError> {
    Ok(serde_json::from_slice(text)?)
}
