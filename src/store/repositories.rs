//! Entries of repositories that every host works for. What an entry says, and how it is sealed, is not known here: `config/entry.rs`,
//! `bot/entries.rs`. Tests: `contract/repositories.rs`.

use super::{Store, StoreError, queue};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// One repository's entry. It goes from `caisson repo` to a running bot in this shape, too.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEntry {
    /// The repository's key.
    pub key: String,
    /// A versioned JSON document; empty for one that was taken out.
    pub document: String,
    /// The hook's secrets, sealed; authenticates the rest of the entry.
    pub sealed: Vec<u8>,
    /// 1 for the first entry of this key, and 1 more with each writing.
    pub generation: i64,
    /// When it was written, in Unix milliseconds of the writer's clock.
    pub written_at: i64,
    /// The host that wrote it, as it names itself.
    pub written_by: String,
}

impl std::fmt::Debug for StoredEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredEntry({}, generation {}, …)", self.key, self.generation)
    }
}

impl Store {
    /// Every entry, in order of the keys; those that were taken out among them.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn entries(&self) -> Result<Vec<StoredEntry>, StoreError> {
        let sql = "SELECT key, document, sealed, generation, written_at, written_by FROM repositories ORDER BY key";
        let readers = self.readers();
        let rows = self.read(sqlx::query(sql).fetch_all(&readers)).await?;
        let one = |row: &AnyRow| StoredEntry {
            key: row.get(0),
            document: row.get(1),
            sealed: row.get(2),
            generation: row.get(3),
            written_at: row.get(4),
            written_by: row.get(5),
        };
        Ok(rows.iter().map(one).collect())
    }

    /// Key and generation of every entry: what has changed since it was read last.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn generations(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT key, generation FROM repositories ORDER BY key";
        let readers = self.readers();
        self.read(sqlx::query_as(sql).fetch_all(&readers)).await
    }

    /// Stores an entry in place of the one before it. Other hosts are told.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the one before it is not of the generation before its own: somebody else wrote one meanwhile.
    pub async fn put_entry(&self, entry: StoredEntry) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Entry { entry: Box::new(entry), answer }).await
    }
}

pub(super) async fn put(c: &mut AnyConnection, entry: &StoredEntry) -> Result<(), StoreError> {
    let sql = "SELECT generation FROM repositories WHERE key = $1";
    let before: Option<i64> = sqlx::query_scalar(sql).bind(&entry.key).fetch_optional(&mut *c).await?;
    if before.unwrap_or(0) + 1 != entry.generation {
        return Err(StoreError::Changed { repository: entry.key.clone() });
    }
    // Another repository may get this key: nobody of it has allowed what people of this one did.
    if entry.document.is_empty() {
        let sql = "SELECT COUNT(*) FROM tasks WHERE repository = $1 AND live";
        let live: i64 = sqlx::query_scalar(sql).bind(&entry.key).fetch_one(&mut *c).await?;
        if live > 0 {
            return Err(StoreError::Live { repository: entry.key.clone() });
        }
        sqlx::query("DELETE FROM grants WHERE repository = $1").bind(&entry.key).execute(&mut *c).await?;
    }
    let sql = "INSERT INTO repositories (key, document, sealed, generation, written_at, written_by) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (key) DO UPDATE SET document = excluded.document, sealed = excluded.sealed, \
               generation = excluded.generation, written_at = excluded.written_at, written_by = excluded.written_by";
    let query = sqlx::query(sql).bind(&entry.key).bind(&entry.document).bind(&entry.sealed).bind(entry.generation);
    query.bind(entry.written_at).bind(&entry.written_by).execute(c).await?;
    Ok(())
}
