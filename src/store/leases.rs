//! Which of several hosts works for a repository: one lease per repository, with its holder's epoch as the fencing token.
//!
//! A host is a process with a state directory, which holds its id. Times are the database's, so that clocks of hosts do not matter. Every
//! write of every host takes one lock of the database ([`Location::begin`]), so comparisons still hold when the transaction ends. Tests:
//! `contract/leases.rs`.

use super::body::Flag;
use super::queue::{self, Database};
use super::{Store, StoreError};
use domain::TaskId;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use std::collections::{BTreeMap, BTreeSet};

/// How long a host with more repositories than another leaves a free lease to that one.
const LEFT_TO_OTHERS_MS: i64 = 3_000;
/// How long a repository in no known host's file is left to its last host.
const ABANDONED_MS: i64 = 10 * 60 * 1000;
/// How long silent hosts are remembered.
const FORGOTTEN_MS: i64 = 24 * 3600 * 1000;

/// A host's description and request for leases.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The id of its state directory.
    pub host: String,
    /// Its address, for people.
    pub address: String,
    /// Number of its life, from [`Store::begin_epoch`].
    pub epoch: i64,
    /// Keys of the repositories in its configuration file, remembered for a day.
    pub configured: Vec<String>,
    /// Those of them that it asks for.
    pub repositories: Vec<String>,
    /// Keys of other repositories with tasks in the store, which some host has to end.
    pub left_over: Vec<String>,
    /// Whether it can work; otherwise it takes only what no other host can.
    pub willing: bool,
    /// Those that another host could take over without a loss, because nothing of them is on this machine.
    pub movable: Vec<String>,
    /// How long a lease lasts from now on, in milliseconds.
    pub lasts_ms: i64,
}

/// A repository that a host works for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The repository's key.
    pub repository: String,
    /// Whether no other host can have worked for it since this life claimed it last.
    pub kept: bool,
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimResult {
    /// The repositories that the host works for.
    pub claimed: Vec<Claimed>,
    /// Milliseconds until the first lease of another host on a repository that was asked for ends, unless it is prolonged; none without one.
    pub free_in_ms: Option<i64>,
}

/// A host, as [`Store::hosts`] lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The id of its state directory.
    pub id: String,
    /// Its address, for people.
    pub address: String,
    /// Milliseconds until its last report expires; negative if it has expired.
    pub left_ms: i64,
    /// The repositories it works for.
    pub repositories: Vec<String>,
}

struct Lease {
    host: String,
    epoch: i64,
    until: i64,
}

impl Store {
    /// Whether several processes may use this store.
    pub fn is_shared(&self) -> bool {
        self.location.is_shared()
    }

    /// Registers a host, prolongs its leases, takes free ones, and gives up those that another host should have. Returns the repositories
    /// it works for.
    ///
    /// # Errors
    /// [`StoreError::Replaced`] when a later life with this host's id exists, [`StoreError::Shape`] when a newer version has migrated the
    /// store: then this one has lost everything.
    pub async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>, StoreError> {
        Ok(self.begin_claim(claim).await?.await?.claimed)
    }

    /// As [`Store::claim`], in two steps: this one queues the report, so that a host can keep the order of its reports, and what it returns
    /// waits for the answer.
    ///
    /// # Errors
    /// As [`Store::claim`].
    pub async fn begin_claim(
        &self,
        claim: Claim,
    ) -> Result<impl Future<Output = Result<ClaimResult, StoreError>>, StoreError> {
        let known = self.location.migrations().iter().map(|migration| migration.version).max().unwrap_or(0);
        let database = Database { clock: self.location.clock(), known };
        self.writer.begin(|answer| queue::Write::Claim { claim, database, answer }).await
    }

    /// Keys of all repositories with tasks in the store.
    pub async fn repositories_with_tasks(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT repository FROM tasks ORDER BY repository";
        let readers = self.readers();
        self.read(sqlx::query_scalar(sql).fetch_all(&readers)).await
    }

    /// Releases leases of this life, so that others need not wait for their end; with `goes` the host is removed too.
    pub async fn release(
        &self,
        host: &str,
        epoch: i64,
        repositories: Vec<String>,
        goes: bool,
    ) -> Result<(), StoreError> {
        let (host, clock) = (host.to_owned(), self.location.clock());
        self.writer.ask(|answer| queue::Write::Release { host, epoch, repositories, goes, clock, answer }).await
    }

    /// The known hosts, ordered by id.
    pub async fn hosts(&self) -> Result<Vec<Host>, StoreError> {
        let now: i64 = self.read(sqlx::query_scalar(self.location.clock()).fetch_one(&self.readers())).await?;
        let sql = "SELECT id, address, until FROM hosts ORDER BY id";
        let hosts = self.read(sqlx::query(sql).fetch_all(&self.readers())).await?;
        let sql = "SELECT repository, host, until FROM leases ORDER BY repository";
        let leases = self.read(sqlx::query(sql).fetch_all(&self.readers())).await?;
        let of = |id: &str| {
            let leased = leases.iter().filter(|row| row.get::<&str, _>(1) == id && row.get::<i64, _>(2) > now);
            leased.map(|row| row.get(0)).collect()
        };
        let host = |row: &AnyRow| {
            let id: String = row.get(0);
            Host { repositories: of(&id), id, address: row.get(1), left_ms: row.get::<i64, _>(2) - now }
        };
        Ok(hosts.iter().map(host).collect())
    }
}

pub(super) async fn claim(
    c: &mut AnyConnection,
    claim: &Claim,
    database: &Database,
) -> Result<ClaimResult, StoreError> {
    let sql = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations";
    let found: i64 = sqlx::query_scalar(sql).fetch_one(&mut *c).await?;
    if found > database.known {
        return Err(StoreError::Shape { found, known: database.known });
    }
    let now: i64 = sqlx::query_scalar(database.clock).fetch_one(&mut *c).await?;
    let until = now + claim.lasts_ms;
    announce(c, claim, now, until).await?;
    let leases = leases(c).await?;
    let others = others(c, claim, now, &leases).await?;
    let Shared { leased, given } = share(claim, &leases, &others, now);
    for Claimed { repository, .. } in &leased {
        write(c, repository, claim, until).await?;
    }
    if let Some(key) = given {
        write(c, &key, claim, now - 1).await?;
    }
    let of_others = claim.repositories.iter().filter_map(|key| leases.get(key)).filter(|it| it.host != claim.host);
    let free_in_ms = of_others.map(|lease| lease.until - now).filter(|left| *left >= 0).min();
    Ok(ClaimResult { claimed: leased, free_in_ms })
}

/// The leases of a host, and those it gives up for another.
struct Shared {
    leased: Vec<Claimed>,
    given: Option<String>,
}

/// Divides repositories: a free one goes to the first host that asks, unless another has fewer; a host with more gives up one at a time.
fn share(claim: &Claim, leases: &BTreeMap<String, Lease>, others: &[Other], now: i64) -> Shared {
    let mut leased = Vec::new();
    let mut free = Vec::new();
    for key in &claim.repositories {
        match leases.get(key) {
            Some(lease) if lease.host == claim.host && lease.epoch == claim.epoch && lease.until >= now => {
                leased.push(Claimed { repository: key.clone(), kept: true });
            }
            // An earlier life of this host is over, because this one holds the state directory's lock.
            Some(lease) if lease.host == claim.host && lease.epoch < claim.epoch => {
                leased.push(Claimed { repository: key.clone(), kept: false });
            }
            Some(lease) if lease.until >= now => {}
            lease => free.push((key, lease)),
        }
    }
    let kept = leased.len();
    for (key, lease) in free {
        let recent = lease.is_some_and(|lease| now - lease.until < LEFT_TO_OTHERS_MS);
        let better = |other: &Other| other.could(key) && (!claim.willing || (recent && other.leased < leased.len()));
        if !others.iter().any(better) {
            leased.push(Claimed { repository: key.clone(), kept: false });
        }
    }
    let much = leased.len();
    let given = leased[..kept].iter().position(|Claimed { repository: key, .. }| {
        let wanted = |other: &Other| other.could(key) && (!claim.willing || other.leased + 1 < much);
        claim.movable.contains(key) && others.iter().any(wanted)
    });
    let given = given.map(|at| leased.remove(at).repository);
    leased.extend(abandoned(claim, leases, others, now));
    Shared { leased, given }
}

/// Repositories in no known host's file that their last host has not used for long; another host has to end their tasks.
fn abandoned(claim: &Claim, leases: &BTreeMap<String, Lease>, others: &[Other], now: i64) -> Vec<Claimed> {
    let nobodys = |key: &&String| !others.iter().any(|other| other.repositories.contains(*key));
    let one = |key: &String| {
        let (own, kept) = match leases.get(key) {
            None => (true, false),
            Some(lease) if lease.host == claim.host => (true, lease.epoch == claim.epoch && lease.until >= now),
            Some(lease) => (now - lease.until > ABANDONED_MS, false),
        };
        own.then(|| Claimed { repository: key.clone(), kept })
    };
    claim.left_over.iter().filter(nobodys).filter_map(one).collect()
}

async fn announce(c: &mut AnyConnection, claim: &Claim, now: i64, until: i64) -> Result<(), StoreError> {
    let sql = "SELECT epoch FROM hosts WHERE id = $1";
    let known: Option<i64> = sqlx::query_scalar(sql).bind(&claim.host).fetch_optional(&mut *c).await?;
    if known.is_some_and(|epoch| epoch > claim.epoch) {
        return Err(StoreError::Replaced);
    }
    let sql = "INSERT INTO hosts (id, epoch, address, repositories, willing, until) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, address = excluded.address, \
               repositories = excluded.repositories, willing = excluded.willing, until = excluded.until";
    let query = sqlx::query(sql).bind(&claim.host).bind(claim.epoch).bind(&claim.address);
    query.bind(claim.configured.join("\n")).bind(claim.willing).bind(until).execute(&mut *c).await?;
    sqlx::query("DELETE FROM hosts WHERE until < $1").bind(now - FORGOTTEN_MS).execute(c).await?;
    Ok(())
}

async fn leases(c: &mut AnyConnection) -> Result<BTreeMap<String, Lease>, StoreError> {
    let rows = sqlx::query("SELECT repository, host, epoch, until FROM leases").fetch_all(c).await?;
    let one = |row: &AnyRow| (row.get(0), Lease { host: row.get(1), epoch: row.get(2), until: row.get(3) });
    Ok(rows.iter().map(one).collect())
}

/// Another host that is present, or was within the last day.
struct Other {
    repositories: BTreeSet<String>,
    /// Whether its last report has not expired.
    is_there: bool,
    willing: bool,
    leased: usize,
}

impl Other {
    fn could(&self, key: &str) -> bool {
        self.is_there && self.willing && self.repositories.contains(key)
    }
}

async fn others(
    c: &mut AnyConnection,
    claim: &Claim,
    now: i64,
    leases: &BTreeMap<String, Lease>,
) -> Result<Vec<Other>, StoreError> {
    let sql = "SELECT id, repositories, CAST(willing AS INTEGER), until FROM hosts WHERE id <> $1";
    let rows = sqlx::query(sql).bind(&claim.host).fetch_all(c).await?;
    let one = |row: &AnyRow| {
        let (id, repositories, willing): (String, String, Flag) = (row.get(0), row.get(1), row.get(2));
        let leased = leases.values().filter(|lease| lease.host == id && lease.until >= now).count();
        let repositories = repositories.lines().map(str::to_owned).collect();
        Other { repositories, is_there: row.get::<i64, _>(3) >= now, willing: willing.into(), leased }
    };
    Ok(rows.iter().map(one).collect())
}

async fn write(c: &mut AnyConnection, key: &str, claim: &Claim, until: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO leases (repository, host, epoch, until) VALUES ($1, $2, $3, $4) ON CONFLICT (repository) DO UPDATE \
               SET host = excluded.host, epoch = excluded.epoch, until = excluded.until";
    sqlx::query(sql).bind(key).bind(&claim.host).bind(claim.epoch).bind(until).execute(c).await?;
    Ok(())
}

pub(super) async fn release(
    c: &mut AnyConnection,
    (host, epoch): (&str, i64),
    repositories: &[String],
    (goes, clock): (bool, &'static str),
) -> Result<(), StoreError> {
    let now: i64 = sqlx::query_scalar(clock).fetch_one(&mut *c).await?;
    for key in repositories {
        let sql = "UPDATE leases SET until = $4 WHERE repository = $1 AND host = $2 AND epoch = $3";
        sqlx::query(sql).bind(key).bind(host).bind(epoch).bind(now - 1).execute(&mut *c).await?;
    }
    if goes {
        // Its configured repositories are remembered for a day.
        let sql = "UPDATE hosts SET until = $3 WHERE id = $1 AND epoch = $2";
        sqlx::query(sql).bind(host).bind(epoch).bind(now - 1).execute(c).await?;
    }
    Ok(())
}

/// Checks that this life may write for a repository: nobody ever had its lease, or this life has it.
///
/// # Errors
/// [`StoreError::Elsewhere`] when another host has it.
pub(super) async fn fence(c: &mut AnyConnection, repository: &str, epoch: i64) -> Result<(), StoreError> {
    let sql = "SELECT l.repository, l.epoch, COALESCE(h.address, l.host), l.until FROM leases l \
               LEFT JOIN hosts h ON h.id = l.host WHERE l.repository = $1";
    judge(sqlx::query(sql).bind(repository).fetch_optional(c).await?, epoch)
}

macro_rules! lease_of_task {
    ($which:literal) => {
        concat!(
            "SELECT t.repository, l.epoch, COALESCE(h.address, l.host), l.until, t.seq FROM tasks t \
             LEFT JOIN leases l ON l.repository = t.repository LEFT JOIN hosts h ON h.id = l.host WHERE t.id = ",
            $which
        )
    };
}

/// As [`fence`], for a task's repository; gives the number of events in its log, none when there is no such task.
pub(super) async fn fence_task(c: &mut AnyConnection, task: TaskId, epoch: i64) -> Result<Option<i64>, StoreError> {
    let row = sqlx::query(lease_of_task!("$1")).bind(task.0).fetch_optional(c).await?;
    let seq = row.as_ref().map(|row| row.get(4));
    judge(row, epoch).map(|()| seq)
}

/// As [`fence`], for the repository of an effect's task.
pub(super) async fn fence_effect(c: &mut AnyConnection, effect: i64, epoch: i64) -> Result<(), StoreError> {
    let sql = lease_of_task!("(SELECT task FROM effects WHERE id = $1)");
    judge(sqlx::query(sql).bind(effect).fetch_optional(c).await?, epoch)
}

fn judge(row: Option<AnyRow>, epoch: i64) -> Result<(), StoreError> {
    let Some(row) = row else { return Ok(()) };
    match row.get::<Option<i64>, _>(1) {
        Some(holder) if holder != epoch => {
            // For people alone, so that this machine's clock is good enough.
            let silent = row.get::<i64, _>(3) < crate::clock::now();
            Err(StoreError::Elsewhere { repository: row.get(0), address: row.get(2), silent })
        }
        _ => Ok(()),
    }
}
