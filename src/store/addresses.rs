//! The last known forge name of each repository.

use super::{Store, StoreError, queue};
use sqlx::AnyConnection;

/// A repository as the forge called it: by its key in the configuration and its lasting id.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Address {
    /// The repository's key in the configuration.
    pub repository: String,
    /// The forge's number of the repository, which stays when it is renamed.
    pub forge_id: i64,
    /// Owner when it was seen last.
    pub owner: String,
    /// Name without the owner, when it was seen last.
    pub name: String,
}

impl Store {
    /// The stored name of this key.
    pub async fn address(&self, repository: &str) -> Result<Option<Address>, StoreError> {
        let sql = "SELECT repository, forge_id, owner, name FROM addresses WHERE repository = $1";
        self.read(sqlx::query_as(sql).bind(repository).fetch_optional(&self.readers())).await
    }

    /// Stores the name, replacing the earlier one of the same key.
    pub async fn keep_address(&self, seen: Address) -> Result<(), StoreError> {
        self.writer.ask(|answer| queue::Write::Address { seen, answer }).await
    }
}

pub(super) async fn keep(c: &mut AnyConnection, seen: &Address) -> Result<(), StoreError> {
    let sql = "INSERT INTO addresses (repository, forge_id, owner, name) VALUES ($1, $2, $3, $4) ON CONFLICT (repository) \
               DO UPDATE SET forge_id = excluded.forge_id, owner = excluded.owner, name = excluded.name";
    sqlx::query(sql).bind(&seen.repository).bind(seen.forge_id).bind(&seen.owner).bind(&seen.name).execute(c).await?;
    Ok(())
}
