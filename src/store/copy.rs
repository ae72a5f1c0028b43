//! Copies a store: every row of every table in one transaction, read back and compared before it is committed. The source stays unchanged
//! and is locked meanwhile. Tests: `contract/moves.rs`.

use super::location::{Column, ColumnKind, Counter};
use super::{Location, Store, StoreError, body};
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Connection, Executor, Row};

/// Every table but `hosts` and `leases`, which are about running processes; a test compares them with the migrations.
pub const TABLES: [&str; 29] = [
    "actions",
    "addresses",
    "audit",
    "blobs",
    "changed_files",
    "charges",
    "checkpoints",
    "decisions",
    "deliveries",
    "effects",
    "egress",
    "epochs",
    "facts",
    "floors",
    "grants",
    "inputs",
    "packs",
    "pictures",
    "posts",
    "repositories",
    "retired",
    "task_events",
    "tasks",
    "test_runs",
    "turns",
    "unread",
    "upstream_issues",
    "watched_pulls",
    "watermarks",
];

const COUNTERS: [Counter; 3] = [
    Counter { table: "audit", column: "id" },
    Counter { table: "effects", column: "id" },
    Counter { table: "epochs", column: "epoch" },
];

/// Number of rows of a table that were copied and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The table's name, one of [`TABLES`].
    pub table: &'static str,
    /// Number of rows.
    pub rows: u64,
}

/// One value of a row, from either database.
enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(Option<bool>),
    Bytes(Option<Vec<u8>>),
}

impl Store {
    /// Copies the store at `from` into an empty store at `to`, which is created with the newest schema; `told` is called for each finished
    /// table. For the holder of the state directory's lock.
    ///
    /// # Errors
    /// [`StoreError::NotEmpty`] when there are rows at `to`; [`StoreError::Differs`] when what was read back is not what was written.
    /// Nothing is stored at `to` then.
    pub async fn copy(from: &Location, to: &Location, mut told: impl FnMut(Copied)) -> Result<(), StoreError> {
        // Both are checked before either is migrated: the source has this version's schema, the target is empty.
        let nothing = || StoreError::NoStore { path: from.to_string() };
        drop(Self::look(from.clone()).await?.ok_or_else(nothing)?);
        if let Some(there) = Self::look(to.clone()).await? {
            there.must_be_empty(to).await?;
        }
        drop(Self::open(to.clone()).await?);
        let mut source = from.only_writer().await.map_err(|error| from.failed(error))?;
        let mut target = to.only_writer().await.map_err(|error| to.failed(error))?;
        target.execute(to.begin()).await?;
        for table in TABLES {
            let columns = to.columns(&mut target, table).await?;
            let sent = rows(&mut source, Some(&mut target), table, &columns).await?;
            let arrived = rows(&mut target, None, table, &columns).await?;
            if sent != arrived {
                return Err(StoreError::Differs { table });
            }
            told(Copied { table, rows: sent.0 });
        }
        for counter in &COUNTERS {
            if let Some(last) = from.counter(&mut source, counter).await? {
                to.set_counter(&mut target, counter, last).await?;
            }
        }
        target.execute("COMMIT").await?;
        for connection in [source, target] {
            connection.close().await?;
        }
        Ok(())
    }

    async fn must_be_empty(&self, at: &Location) -> Result<(), StoreError> {
        for table in TABLES {
            let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
            let rows: i64 = self.read(sqlx::query_scalar(sql).fetch_one(&self.readers())).await?;
            if rows > 0 {
                return Err(StoreError::NotEmpty { path: at.to_string(), table });
            }
        }
        Ok(())
    }
}

/// Number of rows and the sum of their digests, which does not depend on their order; each row is written into `into`.
async fn rows(
    from: &mut AnyConnection,
    mut into: Option<&mut AnyConnection>,
    table: &str,
    columns: &[Column],
) -> Result<(u64, u128), StoreError> {
    let (mut count, mut sum) = (0, 0_u128);
    let mut all = sqlx::query(sqlx::AssertSqlSafe(select(table, columns))).fetch(from);
    while let Some(row) = all.try_next().await? {
        let values = read(&row, columns)?;
        count += 1;
        sum = sum.wrapping_add(digest(&values));
        if let Some(target) = &mut into {
            write(target, table, columns, values).await?;
        }
    }
    Ok((count, sum))
}

fn select(table: &str, columns: &[Column]) -> String {
    let each = columns.iter().map(|column| match column.kind {
        ColumnKind::Flag => format!("CAST({} AS INTEGER)", column.name),
        _ => column.name.clone(),
    });
    format!("SELECT {} FROM {table}", each.collect::<Vec<_>>().join(", "))
}

fn read(row: &AnyRow, columns: &[Column]) -> Result<Vec<Value>, sqlx::Error> {
    let one = |(at, column): (usize, &Column)| {
        Ok(match column.kind {
            ColumnKind::Text => Value::Text(row.try_get::<Option<String>, _>(at)?.map(|text| body::storable(&text))),
            ColumnKind::Number => Value::Number(row.try_get(at)?),
            ColumnKind::Flag => Value::Flag(row.try_get::<Option<i64>, _>(at)?.map(|flag| flag != 0)),
            ColumnKind::Bytes => Value::Bytes(row.try_get(at)?),
        })
    };
    columns.iter().enumerate().map(one).collect()
}

async fn write(c: &mut AnyConnection, table: &str, columns: &[Column], values: Vec<Value>) -> Result<(), sqlx::Error> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let marks: Vec<String> = (1..=columns.len()).map(|at| format!("${at}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
    for value in values {
        query = match value {
            Value::Text(value) => query.bind(value),
            Value::Number(value) => query.bind(value),
            Value::Flag(value) => query.bind(value),
            Value::Bytes(value) => query.bind(value),
        };
    }
    query.execute(c).await.map(drop)
}

fn digest(values: &[Value]) -> u128 {
    let mut hash = Sha256::new();
    for value in values {
        let bytes = match value {
            Value::Text(value) => value.as_ref().map(|text| text.as_bytes().to_vec()),
            Value::Number(value) => value.map(|number| number.to_le_bytes().to_vec()),
            Value::Flag(value) => value.map(|flag| vec![u8::from(flag)]),
            Value::Bytes(value) => value.clone(),
        };
        // Preceded by its length, so that rows of different values never give the same bytes.
        let length = bytes.as_ref().map_or(u64::MAX, |bytes| bytes.len() as u64);
        hash.update(length.to_le_bytes());
        hash.update(bytes.unwrap_or_default());
    }
    let digest: [u8; 32] = hash.finalize().into();
    digest.iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}
