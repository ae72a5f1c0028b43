//! Hosts that are allowed for every task of a repository: granted within a task's step, taken back there or without a task.

use super::{AuditOutcome, NewAudit, RequestText, Store, StoreError, audit, inputs, queue};
use sqlx::AnyConnection;
use sqlx::any::AnyExecutor;

/// A `/deny` where no task is active.
#[derive(Debug)]
pub struct TakeBack {
    /// The text, with its repository.
    pub asked: RequestText,
    /// Its input key, which is accepted once.
    pub input_key: String,
    /// Hosts as named; one without a port stands for all ports.
    pub hosts: Vec<String>,
    /// Unix milliseconds at which the text was accepted.
    pub now: i64,
}

impl TakeBack {
    /// That this grant was taken back by it.
    fn decided(&self, grant: &str) -> NewAudit {
        let (asked, outcome) = (self.asked.clone(), AuditOutcome::DeniedHost);
        NewAudit { asked, outcome, detail: grant.to_owned(), now: self.now }
    }
}

impl Store {
    /// Takes back a repository's grants, once for each text, and gives those that the text took back, also when it is asked again.
    pub async fn take_back(&self, wish: TakeBack) -> Result<Vec<String>, StoreError> {
        let epoch = self.life();
        self.writer.ask(|answer| queue::Write::TakeBack { wish, epoch, answer }).await
    }

    /// The grants that the text with this input key took back; none if it took none back.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn taken_back(&self, input_key: &str) -> Result<Vec<String>, StoreError> {
        match self.knows_input(input_key).await? {
            true => self.read(taken(&self.readers(), &format!("{input_key}:"))).await,
            false => Ok(Vec::new()),
        }
    }
}

pub(super) async fn take_back(c: &mut AnyConnection, wish: &TakeBack, epoch: i64) -> Result<Vec<String>, StoreError> {
    let repository = wish.asked.repository.as_str();
    super::leases::fence(c, repository, epoch).await?;
    let took = format!("{}:", wish.input_key);
    if inputs::input(c, &wish.input_key, None, wish.now).await? {
        let mut taken = Vec::new();
        for host in &wish.hosts {
            taken.extend(drop_named(c, repository, host).await?);
        }
        // Kept, because the text is answered with them later, perhaps by another process.
        for grant in &taken {
            inputs::input(c, &format!("{took}{grant}"), None, wish.now).await?;
            audit::note(c, &wish.decided(grant)).await?;
        }
        taken.sort();
        return Ok(taken);
    }
    taken(c, &took).await
}

/// What the keys with this prefix say that was taken back. Rare, so that it may look at every key.
async fn taken<'c>(c: impl AnyExecutor<'c>, took: &str) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT key FROM inputs WHERE substr(key, 1, length($1)) = $1";
    let keys: Vec<String> = sqlx::query_scalar(sql).bind(took.to_owned()).fetch_all(c).await?;
    let mut taken: Vec<String> = keys.iter().filter_map(|key| key.strip_prefix(took)).map(str::to_owned).collect();
    taken.sort();
    Ok(taken)
}

/// Deletes the grants of a host and gives them; without a port, those of every port.
pub(super) async fn drop_named(c: &mut AnyConnection, repository: &str, host: &str) -> Result<Vec<String>, StoreError> {
    let sql = "DELETE FROM grants WHERE repository = $1 AND (host = $2 OR substr(host, 1, length($2) + 1) = $2 || ':') \
               RETURNING host";
    let mut gone: Vec<String> = sqlx::query_scalar(sql).bind(repository).bind(host).fetch_all(c).await?;
    gone.sort();
    Ok(gone)
}
