//! Reading a store that a running bot may be writing, without creating or migrating anything.

use super::{Location, Store, StoreError, queue};
use std::sync::{Arc, RwLock};

/// PostgreSQL's code for a table that is not there.
const NO_TABLE: &str = "42P01";

impl Store {
    /// Opens the store for reading; every write is [`StoreError::Closed`]. None where there is no store.
    ///
    /// # Errors
    /// [`StoreError::Shape`] when another version wrote it last; [`StoreError::Open`] when it cannot be read.
    pub async fn look(at: impl Into<Location>) -> Result<Option<Self>, StoreError> {
        let location = at.into();
        if !location.exists() {
            return Ok(None);
        }
        let readers = location.lookers(2).await.map_err(|error| location.failed(error))?;
        let newest = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations WHERE success";
        let found: i64 = match sqlx::query_scalar(newest).fetch_one(&readers).await {
            Ok(found) => found,
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(NO_TABLE) => return Ok(None),
            Err(error) => return Err(location.failed(error)),
        };
        let known = location.migrations().iter().map(|migration| migration.version).max().unwrap_or(0);
        if found != known {
            return Err(StoreError::Shape { found, known });
        }
        Ok(Some(Self {
            writer: queue::Writer::nobody(),
            readers: Arc::new(RwLock::new(readers)),
            location,
            life: Arc::default(),
            unreadable: Arc::default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::location::FILE;
    use crate::store::tests::acting;
    use sqlx::Connection;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
    use std::path::Path;

    async fn by_hand(directory: &Path, sql: &'static str) -> i64 {
        let options = SqliteConnectOptions::new().filename(directory.join(FILE));
        let mut connection = SqliteConnection::connect_with(&options).await.expect("opened");
        sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("done")
    }

    #[tokio::test]
    async fn a_look_sees_what_a_living_writer_stored_and_writes_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        assert!(Store::look(dir.path()).await.expect("looked").is_none());
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0, "nothing is made");
        let live = Store::open(dir.path()).await.expect("open");
        let id = acting(&live).await;
        let look = Store::look(dir.path()).await.expect("looked").expect("there");
        assert_eq!(look.task_row(id).await.expect("read").expect("a task").state, "running");
        assert!(matches!(look.set_watermark("shop", 1).await, Err(StoreError::Closed)));
        drop(live);
        let look = Store::look(dir.path()).await.expect("nobody writes any more").expect("there");
        assert_eq!(look.tasks(10).await.expect("read").len(), 1);
    }

    #[tokio::test]
    async fn a_look_at_another_versions_store_leaves_it_as_it_is() {
        const COUNT: &str = "SELECT COUNT(*) FROM _sqlx_migrations";
        let dir = tempfile::tempdir().expect("dir");
        drop(Store::open(dir.path()).await.expect("open"));
        let known = by_hand(dir.path(), COUNT).await;
        let newest = by_hand(dir.path(), "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations) RETURNING version").await;
        let older = Store::look(dir.path()).await.map(|_| ()).expect_err("an older shape");
        assert!(matches!(older, StoreError::Shape { found, known } if found < known), "{older}");
        // By these words `make up` goes on to the start that migrates it.
        let words = "the shape of an older version of caisson";
        assert!(older.to_string().contains(words), "{older}");
        let up = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/compose/up.sh"));
        assert!(up.contains(words), "{up}");
        assert_eq!(by_hand(dir.path(), COUNT).await, known - 1, "it was not brought to ours");
        let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', TRUE, x'00', 0) RETURNING version";
        assert!(by_hand(dir.path(), later).await > newest);
        let newer = Store::look(dir.path()).await.map(|_| ()).expect_err("a newer shape");
        assert!(matches!(newer, StoreError::Shape { found: 9999, .. }), "{newer}");
        assert!(newer.to_string().contains("use that version") && !newer.to_string().contains("serve"), "{newer}");
    }
}
