//! Entries of repositories, shared by all hosts. `config/entry.rs` and `bot/entries.rs` own their content and sealing. Tests:
//! `contract/repositories.rs`.

use super::{Store, StoreError, leases, queue};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{Any, AnyConnection, Row};

/// One repository's entry, also as `caisson repo` sends it to a running bot.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEntry {
    /// The repository's key.
    pub key: String,
    /// A versioned JSON document; empty for a removed entry.
    pub document: String,
    /// The hook's secrets, encrypted; also authenticates the rest of the entry.
    pub sealed: Vec<u8>,
    /// 1 for the first entry of this key, counted up with each change.
    pub generation: i64,
    /// Unix milliseconds of the change, by the writer's clock.
    pub written_at: i64,
    /// Address of the host that wrote it.
    pub written_by: String,
}

impl std::fmt::Debug for StoredEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredEntry({}, generation {}, …)", self.key, self.generation)
    }
}

impl Store {
    /// Every entry, removed ones included, ordered by key.
    ///
    /// # Errors
    /// When the database cannot be read.
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

    /// Key and generation of every entry, to find changed ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn generations(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT key, generation FROM repositories ORDER BY key";
        let readers = self.readers();
        self.read(sqlx::query_as(sql).fetch_all(&readers)).await
    }

    /// Stores an entry, replacing the one before it, and notifies other hosts.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the stored entry is not of the generation before: another process changed it meanwhile.
    pub async fn put_entry(&self, entry: StoredEntry) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Entry { entry: Box::new(entry), answer }).await
    }

    /// Forgets how far a repository was read, and what its people granted and asked for, because its key names another one of the forge's now.
    /// Its tasks stay, and are none of that one's issues.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for it.
    pub async fn forget_repository(&self, key: &str) -> Result<(), StoreError> {
        let (repository, by) = (key.to_owned(), self.life());
        self.writer.ask(|answer| queue::Write::Forget { repository, by, answer }).await
    }
}

pub(super) async fn put(c: &mut AnyConnection, entry: &StoredEntry) -> Result<(), StoreError> {
    let sql = "SELECT generation, document FROM repositories WHERE key = $1";
    let before: Option<(i64, String)> = sqlx::query_as(sql).bind(&entry.key).fetch_optional(&mut *c).await?;
    let (generation, removed) = before.map_or((0, false), |(generation, document)| (generation, document.is_empty()));
    if generation + 1 != entry.generation {
        return Err(StoreError::Changed { repository: entry.key.clone() });
    }
    // Also when it is added again, because a reading that was under way at the removal may have stored one since.
    if removed || entry.document.is_empty() {
        forget_watermarks(c, &entry.key).await?;
    }
    // Another repository may get this key, whose people granted nothing and asked for nothing.
    if entry.document.is_empty() {
        let sql = "SELECT COUNT(*) FROM tasks WHERE repository = $1 AND live";
        let live: i64 = sqlx::query_scalar(sql).bind(&entry.key).fetch_one(&mut *c).await?;
        if live > 0 {
            return Err(StoreError::Live { repository: entry.key.clone() });
        }
        // Its address stays: by that is known whether another repository of the forge gets the key, or the same one again.
        forget_people(c, &entry.key).await?;
    }
    let sql = "INSERT INTO repositories (key, document, sealed, generation, written_at, written_by) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (key) DO UPDATE SET document = excluded.document, sealed = excluded.sealed, \
               generation = excluded.generation, written_at = excluded.written_at, written_by = excluded.written_by";
    let query = sqlx::query(sql).bind(&entry.key).bind(&entry.document).bind(&entry.sealed).bind(entry.generation);
    query.bind(entry.written_at).bind(&entry.written_by).execute(c).await?;
    Ok(())
}

/// As [`Store::forget_repository`], by this life.
pub(super) async fn forget(c: &mut AnyConnection, key: &str, by: i64) -> Result<(), StoreError> {
    leases::fence(c, key, by).await?;
    forget_watermarks(c, key).await?;
    forget_people(c, key).await?;
    let newest: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(id), 0) FROM tasks WHERE repository = $1")
        .bind(key)
        .fetch_one(&mut *c)
        .await?;
    set_watermark(c, &former_tasks(key), newest).await
}

/// As [`Store::set_watermark`].
pub(super) async fn set_watermark(c: &mut AnyConnection, name: &str, at: i64) -> Result<(), StoreError> {
    let insert = "INSERT INTO watermarks (repository, at) VALUES ($1, $2) \
                  ON CONFLICT (repository) DO UPDATE SET at = excluded.at";
    let query = match at {
        0 => sqlx::query::<Any>("DELETE FROM watermarks WHERE repository = $1").bind(name),
        _ => sqlx::query(insert).bind(name).bind(at),
    };
    query.execute(c).await?;
    Ok(())
}

/// Name of the watermark with the number of the newest task of another repository that had this key before.
pub(super) fn former_tasks(key: &str) -> String {
    format!("former-tasks:{key}")
}

/// Deletes what people of a repository granted and asked for.
async fn forget_people(c: &mut AnyConnection, key: &str) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM grants WHERE repository = $1",
        "DELETE FROM watched_pulls WHERE repository = $1",
        "DELETE FROM unread WHERE repository = $1",
        "DELETE FROM upstream_issues WHERE repository = $1",
        // Nobody can be answered any more; under the key of another repository its people would be.
        "UPDATE test_runs SET answered = TRUE WHERE repository = $1 AND NOT answered",
    ] {
        sqlx::query(sql).bind(key).execute(&mut *c).await?;
    }
    Ok(())
}

/// Deletes the times from which the repository was read, so that no old text begins a task where it is added again.
async fn forget_watermarks(c: &mut AnyConnection, key: &str) -> Result<(), StoreError> {
    let names: Vec<String> = sqlx::query_scalar("SELECT repository FROM watermarks").fetch_all(&mut *c).await?;
    let former = former_tasks(key);
    for name in names.iter().filter(|name| is_of(name, key) && **name != former) {
        set_watermark(c, name, 0).await?;
    }
    Ok(())
}

/// Whether a watermark is a repository's: named by its key, or after its kind, such as `first:shop`, `start:shop:writer` and `stop:shop#3`.
fn is_of(name: &str, key: &str) -> bool {
    let of = |rest: &str| rest.strip_prefix(key).is_some_and(|more| more.is_empty() || more.starts_with([':', '#']));
    name == key || name.split_once(':').is_some_and(|(_, rest)| of(rest))
}
