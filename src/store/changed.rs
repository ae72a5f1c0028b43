//! Files that live tasks have changed, to report tasks that change the same files. Tests: `contract/line.rs`.

use super::{Store, StoreError, body};
use domain::{CapturedTree, TaskId};
use sha2::{Digest, Sha256};
use sqlx::{Any, AnyConnection, AssertSqlSafe, FromRow};

/// The most paths of one checkpoint that are stored and compared.
const MOST_PATHS: usize = 2_000;
/// The most rows of shared files that are read.
pub const MOST_SHARED: u32 = 1_000;

/// A file that another live task of the same repository changes too.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Shared {
    /// Number of the other task.
    pub task: i64,
    /// Number of its issue.
    pub issue: i64,
    /// Number of its pull request; none before it is open.
    pub pull: Option<i64>,
    /// The file, relative to the repository's root. Untrusted.
    pub path: String,
}

pub(super) const SHARED: &str = "SELECT theirs.task, tasks.issue, tasks.pull, theirs.path FROM changed_files ours \
     JOIN changed_files theirs ON theirs.digest = ours.digest AND theirs.task <> ours.task \
     JOIN tasks ON tasks.id = theirs.task \
     WHERE ours.task = $1 AND tasks.live AND tasks.repository = (SELECT repository FROM tasks WHERE id = $1) \
     ORDER BY theirs.task, theirs.path LIMIT $2";

impl Store {
    /// Files changed by checkpoints of this task and of another live task of its repository: by task and path, at most [`MOST_SHARED`].
    pub async fn shared_files(&self, task: TaskId) -> Result<Vec<Shared>, StoreError> {
        let query = sqlx::query_as(SHARED).bind(task.0).bind(i64::from(MOST_SHARED));
        self.read(query.fetch_all(&self.readers())).await
    }
}

/// Records the files that a checkpoint changed.
pub(super) async fn captured(c: &mut AnyConnection, id: TaskId, tree: &CapturedTree) -> Result<(), StoreError> {
    let files = &tree.files[..tree.files.len().min(MOST_PATHS)];
    for some in files.chunks(body::ROWS) {
        let values = body::placeholders(some.len(), 3);
        let sql = format!("INSERT INTO changed_files (task, digest, path) VALUES {values} ON CONFLICT DO NOTHING");
        let mut query = sqlx::query::<Any>(AssertSqlSafe(sql)).persistent(false);
        for file in some {
            let digest = hex::encode(Sha256::digest(file.path.as_bytes()));
            query = query.bind(id.0).bind(digest).bind(body::storable(&file.path));
        }
        query.execute(&mut *c).await?;
    }
    Ok(())
}

/// Deletes the files of an ended task.
pub(super) async fn forget(c: &mut AnyConnection, id: TaskId) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM changed_files WHERE task = $1").bind(id.0).execute(c).await?;
    Ok(())
}
