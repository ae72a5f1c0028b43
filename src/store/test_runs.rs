//! Commands that people have run on a branch: taken up once, run until there is a result, answered once. Tests: `contract/test_runs.rs`.

use super::body::storable;
use super::{Store, StoreError, WatchedPull, inputs, leases, queue, watched_pulls};
use domain::{Account, TaskId, TestResult, TestRun};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// Milliseconds in which a repository's runs are counted.
pub const HOUR_MS: i64 = 3_600_000;

/// A run that somebody asks for.
#[derive(Debug, Clone)]
pub struct NewTestRun {
    /// Why it is run.
    pub cause: Cause,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Number of the issue or pull request where it is asked for.
    pub thread: u64,
    /// Whoever asks.
    pub poster: Account,
    /// What is run; where `each_push` is set, the thread is a pull request that is watched from now on.
    pub run: TestRun,
    /// When it is taken up, in Unix milliseconds.
    pub now: i64,
    /// The most of this repository within an hour.
    pub most: u32,
}

/// Why something is run.
#[derive(Debug, Clone)]
pub enum Cause {
    /// A text with this key, which is taken up once.
    Text(String),
    /// A push to a pull request that was watched so when it was read; once, because the row moves on with it.
    Push(WatchedPull),
}

/// What became of a wish to have something run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenUp {
    /// It stands in line under this number.
    Begun(i64),
    /// The text was taken up before, or the pull request is not watched so any more.
    Known,
    /// The hour is full until then, in Unix milliseconds; the text is not taken up.
    Full(i64),
}

/// A stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRunRow {
    /// Its number, unique in one installation.
    pub id: i64,
    /// The repository's key in the configuration.
    pub repository: String,
    /// Number of the issue or pull request where it was asked for.
    pub thread: u64,
    /// Login of whoever asked.
    pub login: String,
    /// How often it was begun.
    pub tries: i64,
    /// What is run.
    pub run: TestRun,
    /// What came of it; none before it has ended.
    pub result: Option<TestResult>,
}

/// How far a run has come.
#[derive(Debug)]
pub(super) enum TestRunStep {
    /// It begins, or begins again.
    Begins,
    /// It has a result: JSON, and what it printed.
    Ended { result: String, log: String },
    /// Its answer stands.
    Answered,
}

/// The number by which sandboxes, posts and the router's log know a run: far above every task's.
pub fn sandbox_number(id: i64) -> TaskId {
    TaskId(FIRST + id)
}

/// What is above this is no task's number.
const FIRST: i64 = 1 << 40;

const COLUMNS: &str = "SELECT id, repository, thread, login, tries, asked, result FROM test_runs";

fn row(row: &AnyRow) -> Result<TestRunRow, StoreError> {
    let (asked, result): (String, Option<String>) = (row.get(5), row.get(6));
    Ok(TestRunRow {
        id: row.get(0),
        repository: row.get(1),
        thread: row.get::<i64, _>(2).unsigned_abs(),
        login: row.get(3),
        tries: row.get(4),
        run: serde_json::from_str(&asked)?,
        result: result.map(|text| serde_json::from_str(&text)).transpose()?,
    })
}

impl Store {
    /// Puts a run in line, together with its text's key.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn take_up_test_run(&self, new: NewTestRun) -> Result<TakenUp, StoreError> {
        let (new, by) = (Box::new(new), self.life());
        self.writer.ask(|answer| queue::Write::NewTestRun { new, by, answer }).await
    }

    /// A run begins, for the first time or again.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another host works for the repository.
    pub async fn test_run_begins(&self, id: i64) -> Result<(), StoreError> {
        self.test_run_goes_on(id, TestRunStep::Begins).await
    }

    /// A run has ended, and printed this.
    ///
    /// # Errors
    /// As [`Store::test_run_begins`].
    pub async fn test_run_ended(&self, id: i64, result: &TestResult, log: &str) -> Result<(), StoreError> {
        let (result, log) = (serde_json::to_string(result)?, log.to_owned());
        self.test_run_goes_on(id, TestRunStep::Ended { result, log }).await
    }

    /// Whoever asked has their answer.
    ///
    /// # Errors
    /// As [`Store::test_run_begins`].
    pub async fn test_run_answered(&self, id: i64) -> Result<(), StoreError> {
        self.test_run_goes_on(id, TestRunStep::Answered).await
    }

    async fn test_run_goes_on(&self, id: i64, step: TestRunStep) -> Result<(), StoreError> {
        let by = self.life();
        self.writer.ask(|answer| queue::Write::TestRun { id, step, by, answer }).await
    }

    /// The repository of the run whose sandboxes have this number, until it is answered; none for every other number.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn repository_of_test_run(&self, number: i64) -> Result<Option<String>, StoreError> {
        let sql = "SELECT repository FROM test_runs WHERE id = $1 AND NOT answered";
        self.read(sqlx::query_scalar(sql).bind(number - FIRST).fetch_optional(&self.readers())).await
    }

    /// Runs that are not answered, the oldest first. One that this version cannot read is left out, and logged.
    pub async fn open_test_runs(&self) -> Result<Vec<TestRunRow>, StoreError> {
        let sql = format!("{COLUMNS} WHERE NOT answered ORDER BY id");
        let rows = self.read(sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&self.readers())).await?;
        let read = |stored: &AnyRow| match row(stored) {
            Ok(row) => Some(row),
            Err(error) => {
                tracing::error!(%error, id = stored.get::<i64, _>(0), "a stored test run cannot be read: it is left");
                None
            }
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Whether a run of the same kind on the same commit that was asked for later has begun: the commit's status is its.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn is_overtaken(&self, row: &TestRunRow) -> Result<bool, StoreError> {
        let sql = "SELECT asked FROM test_runs WHERE repository = $1 AND id > $2 AND tries > 0";
        let query = sqlx::query_scalar(sql).bind(row.repository.clone()).bind(row.id);
        let later: Vec<String> = self.read(query.fetch_all(&self.readers())).await?;
        let mut runs = later.iter().filter_map(|asked| serde_json::from_str::<TestRun>(asked).ok());
        Ok(runs.any(|run| run.commit == row.run.commit && run.bug == row.run.bug))
    }

    /// One run, and what it printed.
    pub async fn test_run(&self, id: i64) -> Result<Option<(TestRunRow, Option<String>)>, StoreError> {
        let sql = format!("{COLUMNS} WHERE id = $1");
        let found = self.read(sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(&self.readers())).await?;
        let Some(found) = found else { return Ok(None) };
        let log = sqlx::query_scalar("SELECT log FROM test_runs WHERE id = $1").bind(id);
        Ok(Some((row(&found)?, self.read(log.fetch_one(&self.readers())).await?)))
    }
}

pub(super) async fn take_up(c: &mut AnyConnection, new: &NewTestRun, epoch: i64) -> Result<TakenUp, StoreError> {
    leases::fence(c, &new.repository, epoch).await?;
    if let Cause::Text(key) = &new.cause
        && super::read::known(&mut *c, key).await?
    {
        return Ok(TakenUp::Known);
    }
    let since = new.now - HOUR_MS;
    let sql = "SELECT at FROM test_runs WHERE repository = $1 AND at > $2 AND at <= $3 ORDER BY at DESC LIMIT $4";
    let query = sqlx::query_scalar(sql).bind(&new.repository).bind(since).bind(new.now).bind(i64::from(new.most));
    let newest: Vec<i64> = query.fetch_all(&mut *c).await?;
    if newest.len() >= new.most as usize {
        return Ok(TakenUp::Full(newest.last().map_or(new.now, |at| at + HOUR_MS)));
    }
    match &new.cause {
        Cause::Text(key) => {
            inputs::input(c, key, None, new.now).await?;
            if new.run.each_push {
                watched_pulls::watch(c, new).await?;
            }
        }
        Cause::Push(seen) => {
            if !watched_pulls::moves_on(c, new, seen).await? {
                return Ok(TakenUp::Known);
            }
        }
    }
    // A number is never given again: it marks what was posted. `floors` keeps it where the newest rows went.
    let sql = "SELECT MAX(id) + 1 FROM (SELECT COALESCE(MAX(id), 0) AS id FROM test_runs \
               UNION ALL SELECT id FROM floors WHERE kind = 'test_run') AS taken";
    let id: i64 = sqlx::query_scalar(sql).fetch_one(&mut *c).await?;
    let sql = "INSERT INTO test_runs (id, repository, thread, login, at, asked, tries, answered) \
               VALUES ($1, $2, $3, $4, $5, $6, 0, FALSE)";
    let query = sqlx::query(sql).bind(id).bind(&new.repository).bind(new.thread as i64).bind(&new.poster.login);
    query.bind(new.now).bind(storable(&serde_json::to_string(&new.run)?)).execute(c).await?;
    Ok(TakenUp::Begun(id))
}

pub(super) async fn go_on(c: &mut AnyConnection, id: i64, step: &TestRunStep, epoch: i64) -> Result<(), StoreError> {
    let sql = "SELECT repository FROM test_runs WHERE id = $1";
    let repository: Option<String> = sqlx::query_scalar(sql).bind(id).fetch_optional(&mut *c).await?;
    let Some(repository) = repository else { return Ok(()) };
    leases::fence(c, &repository, epoch).await?;
    let query = match step {
        TestRunStep::Begins => sqlx::query("UPDATE test_runs SET tries = tries + 1 WHERE id = $1").bind(id),
        TestRunStep::Ended { result, log } => {
            let sql = "UPDATE test_runs SET result = $2, log = $3 WHERE id = $1";
            sqlx::query(sql).bind(id).bind(storable(result)).bind(storable(log))
        }
        TestRunStep::Answered => sqlx::query("UPDATE test_runs SET answered = TRUE WHERE id = $1").bind(id),
    };
    query.execute(c).await?;
    Ok(())
}
