//! Location of a store, and all differences between SQLite and PostgreSQL: preparing a connection, beginning a transaction, cleaning up
//! after a deletion. All other SQL is the same for both, through sqlx's `Any` driver.

use super::StoreError;
use crate::secret::Secret;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Executor, Row};
use std::fmt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Name of the file in its directory.
pub(super) const FILE: &str = "caisson.db";

/// Settings of the writer. Page size and journal mode apply to a new store: a delivery takes a few pages of the default size, and each page
/// is written twice. The log is checkpointed after 8192 pages (64 MiB), because with fewer a burst of deliveries waits for the file
/// repeatedly. Deleted data is overwritten.
const WRITING: &str = "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                       PRAGMA wal_autocheckpoint = 8192; PRAGMA secure_delete = ON;";

/// Lock held as long as a writer's connection: exclusive while copying a whole store, otherwise shared. The number is "caisson" in ASCII.
const LOCK: &str = "SELECT pg_try_advisory_lock(27973128230760302)";
const LOCK_WITH_OTHERS: &str = "SELECT pg_try_advisory_lock_shared(27973128230760302)";

/// Serializes the writers of all hosts, so that within a transaction nothing changes that they write, and each sees the last one's data
/// whatever the server's default isolation is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(27973128230760303)";

/// The server ends the session of a host that stops within a transaction, because it blocks all others.
const NO_STANDSTILL: &str = "SET idle_in_transaction_session_timeout = 5000";

/// To the server a session is idle until the whole of its next message has arrived, so a large value needs longer over a slow network.
const PATIENT: &str = "SET LOCAL idle_in_transaction_session_timeout = 60000";

/// Whether a server is a standby: it takes no writes and may be behind. After a failover a name may lead to the former primary for a while,
/// and connections that are made to it then would stay there.
const STANDBY: &str = "SELECT pg_is_in_recovery()";

/// The encoding of a database, which it keeps for good.
const ENCODING: &str = "SELECT current_setting('server_encoding')";

/// A commit is on the disk when it is answered, as SQLite's is, also where the server's default is faster; any stricter default stays.
const ON_DISK: &str =
    "SELECT set_config('synchronous_commit', 'on', FALSE) WHERE current_setting('synchronous_commit') = 'off'";

/// How long the lock is waited for. The end of a local socket is noticed at once, that of a network connection only by the keepalives
/// below.
const LOCK_WITHIN: Duration = Duration::from_secs(3);
const LOCK_WITHIN_NETWORK: Duration = Duration::from_secs(45);
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The server drops a client that does not answer for 30 s, and with it its lock; its own default is two hours.
pub(super) const KEEPALIVES: &str = "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
     SET tcp_user_timeout = 30000";

/// The longest time for a query, or for a transaction of the writer with a new connection before it, on a server.
#[cfg(not(test))]
const ANSWERS_WITHIN: Duration = Duration::from_secs(90);
#[cfg(test)]
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// Name of the password in an address's query, as the driver expects it.
const PASSWORD: &str = "password";

/// How long connecting to a server may take.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Number,
    Flag,
    Bytes,
}

pub(super) struct Column {
    pub name: String,
    pub kind: ColumnKind,
}

/// A column numbered by the database.
pub(super) struct Counter {
    pub table: &'static str,
    pub column: &'static str,
}

/// Location of a store; its `Display` has no password.
#[derive(Clone)]
pub enum Location {
    /// A directory of this machine: SQLite, one file.
    Directory(PathBuf),
    /// A PostgreSQL database, by an address with everything needed to connect.
    Postgres(Url),
}

impl Location {
    /// A database's address and the password for its server.
    pub fn postgres(mut address: Url, password: Option<&Secret>) -> Self {
        // In the query, because the address of a socket has no place for it before the host. Without a password it is set to empty, or the
        // driver would read PGPASSWORD and ~/.pgpass and log lines that it cannot parse.
        address.query_pairs_mut().append_pair(PASSWORD, password.map_or("", Secret::expose));
        Self::Postgres(address)
    }
}

impl<P: AsRef<Path>> From<P> for Location {
    fn from(directory: P) -> Self {
        Self::Directory(directory.as_ref().to_owned())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "{}", directory.join(FILE).display()),
            Self::Postgres(url) => {
                let mut shown = url.clone();
                let _ = shown.set_password(None);
                // As written, without what was appended here.
                let secret = |part: &&str| part.split('=').next() != Some(PASSWORD);
                let rest: Vec<&str> = url.query().unwrap_or_default().split('&').filter(secret).collect();
                shown.set_query(Some(rest.join("&")).filter(|rest| !rest.is_empty()).as_deref());
                f.write_str(shown.as_str())
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Location {
    pub(super) fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::Open { path: self.to_string(), source }
    }

    /// Creates the directory and an empty file, readable only for the owner, because the store contains private data; the journal inherits
    /// the file's mode.
    pub(super) fn make(&self) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let failed = |error| self.failed(sqlx::Error::Io(error));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(FILE));
        match file {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Whether there is a store to read: always for a server, not for a file that was just created.
    pub(super) fn exists(&self) -> bool {
        match self {
            Self::Directory(directory) => std::fs::metadata(directory.join(FILE)).is_ok_and(|found| found.len() > 0),
            Self::Postgres(_) => true,
        }
    }

    /// How long the writer waits for a transaction and readers for an answer; none = without limit.
    pub(super) fn answers_within(&self) -> Option<Duration> {
        match self {
            Self::Directory(_) => None,
            Self::Postgres(_) => Some(ANSWERS_WITHIN),
        }
    }

    pub(super) fn migrations(&self) -> &'static Migrator {
        match self {
            Self::Directory(_) => &SQLITE,
            Self::Postgres(_) => &POSTGRES,
        }
    }

    /// Whether several processes may write, each for its repositories.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// SQL for the database's time, in Unix milliseconds.
    pub(super) fn clock(&self) -> &'static str {
        match self {
            Self::Directory(_) => "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
            Self::Postgres(_) => "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// A connection for writing, shared with other hosts.
    pub(super) async fn writer(&self) -> Result<AnyConnection, sqlx::Error> {
        let mut connection = self.writing(LOCK_WITH_OTHERS, "another caisson copies this database").await?;
        if self.is_shared() {
            no_standby(&mut connection).await?;
            of_all_characters(&mut connection).await?;
            connection.execute(NO_STANDSTILL).await?;
        }
        Ok(connection)
    }

    /// A connection for writing, with the exclusive lock.
    pub(super) async fn only_writer(&self) -> Result<AnyConnection, sqlx::Error> {
        self.writing(LOCK, "another caisson writes into this database").await
    }

    async fn writing(&self, lock: &'static str, taken: &'static str) -> Result<AnyConnection, sqlx::Error> {
        let mut connection = within(self.options(false)?.connect()).await?;
        match self {
            Self::Directory(_) => connection.execute(WRITING).await.map(drop)?,
            Self::Postgres(url) => {
                let socket = crate::config::is_socket(url);
                if !socket {
                    connection.execute(KEEPALIVES).await?;
                }
                connection.execute(ON_DISK).await?;
                let patience = if socket { LOCK_WITHIN } else { LOCK_WITHIN_NETWORK };
                if !locked(&mut connection, lock, patience).await? {
                    let _ = connection.close().await;
                    return Err(sqlx::Error::Configuration(taken.into()));
                }
            }
        }
        Ok(connection)
    }

    /// Connections for reading only, of whatever server answers.
    pub(super) async fn lookers(&self, most: u32) -> Result<AnyPool, sqlx::Error> {
        self.reading(most, false).connect_with(self.options(true)?).await
    }

    /// Connections for reading what a writer stored, also what it stored last.
    pub(super) async fn readers(&self, most: u32) -> Result<AnyPool, sqlx::Error> {
        self.reading(most, true).connect_with(self.options(true)?).await
    }

    /// As [`Location::readers`], but each connects at its first query.
    pub(super) fn other_readers(&self, most: u32) -> Result<AnyPool, sqlx::Error> {
        Ok(self.reading(most, true).connect_lazy_with(self.options(true)?))
    }

    fn reading(&self, most: u32, beside_a_writer: bool) -> AnyPoolOptions {
        let postgres = matches!(self, Self::Postgres(_));
        let pool = AnyPoolOptions::new().max_connections(most).acquire_timeout(CONNECTED_WITHIN);
        pool.after_connect(move |connection, _| {
            Box::pin(async move {
                if postgres {
                    connection.execute("SET default_transaction_read_only = on").await?;
                }
                if postgres && beside_a_writer {
                    no_standby(connection).await?;
                }
                Ok(())
            })
        })
    }

    /// SQL that begins a writing transaction.
    pub(super) fn begin(&self) -> &'static str {
        match self {
            Self::Directory(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => BEGIN,
        }
    }

    /// SQL for a transaction in which a large value is sent; none where no server waits for it.
    pub(super) fn patient(&self) -> Option<&'static str> {
        match self {
            Self::Directory(_) => None,
            Self::Postgres(_) => Some(PATIENT),
        }
    }

    /// SQL that makes deleted bytes unreadable. On a server that is the operator's task; autovacuum frees its pages.
    pub(super) fn after_deletion(&self) -> Option<&'static str> {
        match self {
            Self::Directory(_) => Some("PRAGMA wal_checkpoint(TRUNCATE)"),
            Self::Postgres(_) => None,
        }
    }

    /// The columns of a table, in order.
    pub(super) async fn columns(&self, c: &mut AnyConnection, table: &str) -> Result<Vec<Column>, sqlx::Error> {
        let sql = match self {
            Self::Directory(_) => "SELECT name, type FROM pragma_table_info($1) ORDER BY cid",
            Self::Postgres(_) => {
                "SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT) FROM information_schema.columns \
                 WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"
            }
        };
        let rows = sqlx::query(sql).bind(table).fetch_all(c).await?;
        let kind = |name: &str| match name.to_ascii_uppercase().as_str() {
            "TEXT" => ColumnKind::Text,
            "BOOLEAN" => ColumnKind::Flag,
            "BLOB" | "BYTEA" => ColumnKind::Bytes,
            _ => ColumnKind::Number,
        };
        let columns = rows.iter().map(|row| Column { name: row.get(0), kind: kind(row.get(1)) });
        let columns: Vec<Column> = columns.collect();
        // The names become SQL in the other database too.
        let plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        match columns.iter().find(|column| !plain(&column.name)) {
            Some(odd) => {
                Err(sqlx::Error::Protocol(format!("{table} has a column of another name than ours: {:?}", odd.name)))
            }
            None => Ok(columns),
        }
    }

    /// The last number that a table gave out, even if deleted; none before the first.
    pub(super) async fn counter(&self, c: &mut AnyConnection, of: &Counter) -> Result<Option<i64>, sqlx::Error> {
        match self {
            Self::Directory(_) => {
                let sql = "SELECT seq FROM sqlite_sequence WHERE name = $1";
                sqlx::query_scalar(sql).bind(of.table).fetch_optional(c).await
            }
            Self::Postgres(_) => {
                let sql = format!("SELECT last_value FROM {}_{}_seq WHERE is_called", of.table, of.column);
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_optional(c).await
            }
        }
    }

    pub(super) async fn set_counter(&self, c: &mut AnyConnection, of: &Counter, last: i64) -> Result<(), sqlx::Error> {
        match self {
            Self::Directory(_) => {
                sqlx::query("DELETE FROM sqlite_sequence WHERE name = $1").bind(of.table).execute(&mut *c).await?;
                let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
                sqlx::query(sql).bind(of.table).bind(last).execute(c).await.map(drop)
            }
            Self::Postgres(_) => {
                let sql = "SELECT setval(CAST(pg_get_serial_sequence($1, $2) AS regclass), $3)";
                sqlx::query(sql).bind(of.table).bind(of.column).bind(last).execute(c).await.map(drop)
            }
        }
    }

    /// A connection for changes that no version of this program makes.
    #[cfg(test)]
    pub async fn by_hand(&self) -> Result<AnyPool, sqlx::Error> {
        AnyPoolOptions::new().max_connections(2).connect_with(self.options(false)?).await
    }

    fn options(&self, reading: bool) -> Result<AnyConnectOptions, sqlx::Error> {
        sqlx::any::install_default_drivers();
        let url = match self {
            Self::Directory(directory) => {
                // Absolute and without `..`, because the driver's addresses know neither relative paths nor symbolic links; `%` begins an
                // escape there.
                let path = std::fs::canonicalize(directory)?.join(FILE);
                let no_text = || sqlx::Error::Configuration("the path of the state directory is no UTF-8".into());
                let path = path.to_str().ok_or_else(no_text)?.replace('%', "%25");
                let options = SqliteConnectOptions::new().filename(path).create_if_missing(!reading);
                options.read_only(reading).to_url_lossy()
            }
            Self::Postgres(url) => url.clone(),
        };
        AnyConnectOptions::from_url(&url)
    }
}

/// Takes the lock of a database. A server releases a killed process's lock when it notices the end of its connection.
async fn locked(connection: &mut AnyConnection, lock: &'static str, patience: Duration) -> Result<bool, sqlx::Error> {
    let end = tokio::time::Instant::now() + patience;
    while !sqlx::query_scalar::<_, bool>(lock).fetch_one(&mut *connection).await? {
        if tokio::time::Instant::now() > end {
            return Ok(false);
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    Ok(true)
}

/// Refuses a server that is a standby. What asked connects anew the next time, and comes to the primary once the name leads there.
async fn no_standby(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    if sqlx::query_scalar::<_, bool>(STANDBY).fetch_one(connection).await? {
        let why = "this server is a standby, which takes no writes: name the primary";
        return Err(sqlx::Error::Configuration(why.into()));
    }
    Ok(())
}

/// Refuses a database that cannot hold every character, because a step with such a text could never be stored. SQL_ASCII takes bytes as they
/// come.
async fn of_all_characters(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let encoding: String = sqlx::query_scalar(ENCODING).fetch_one(connection).await?;
    if !matches!(encoding.as_str(), "UTF8" | "SQL_ASCII") {
        let remedy = "make one with ENCODING 'UTF8' TEMPLATE template0";
        let why = format!("the database has the encoding {encoding}, which lacks characters of texts: {remedy}");
        return Err(sqlx::Error::Configuration(why.into()));
    }
    Ok(())
}

/// The error for a server that does not answer: the connection is useless, and it is unknown whether a write was stored.
pub(super) fn late(limit: Duration) -> sqlx::Error {
    sqlx::Error::Protocol(format!("the database did not answer within {} s", limit.as_secs()))
}

async fn within<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    let late = |_| sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "no connection within 10 s"));
    tokio::time::timeout(CONNECTED_WITHIN, work).await.map_err(late)?
}
