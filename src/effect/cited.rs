//! Checks the places (`path:line`) that the answer to a question (`/explain`, `/security`, …) names against the tree that it read.
//!
//! Owns which of an answer's places do not exist. It cannot judge whether what is said about a place is true.
//! Tests: below and `tests/stories/task_kinds.rs`.

use super::repository::{Repositories, head, request};
use crate::checkpoint::places;
use crate::git::GitError;
use crate::policy::plain;
use crate::text::is_hidden;
use crate::trouble::Trouble;
use domain::{Task, TaskKind};

/// The longest file whose lines are counted, in bytes.
const LONGEST: u64 = 8 << 20;

impl Repositories {
    /// Places named in the answer that the tree that was read does not have, as written.
    pub(super) async fn not_there(&self, task: &Task) -> Result<Vec<String>, Trouble> {
        let asked_for = match task.kind {
            TaskKind::Explain | TaskKind::Review | TaskKind::Security | TaskKind::Deps | TaskKind::Search => true,
            TaskKind::Plan | TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => false,
        };
        let mut missing = Vec::new();
        for place in places(task.summary.as_deref().unwrap_or_default()).into_iter().filter(|_| asked_for) {
            if self.is_missing(task, (place.path, place.first, place.last)).await? {
                missing.push(place.written.to_owned());
            }
        }
        Ok(missing)
    }

    /// Whether the tree that was read lacks these lines of a file. A path that cannot be shown as it is names none.
    pub(super) async fn is_missing(&self, task: &Task, (path, first, last): (&str, u64, u64)) -> Result<bool, Trouble> {
        let Some(path) = plain(path).filter(|path| !path.chars().any(is_hidden)) else { return Ok(true) };
        let lines = match self.repos.show(&request(task)?.repository, &head(task)?, &path, LONGEST).await {
            Ok(bytes) => bytes.map(|bytes| count_lines(&bytes)),
            // The file exists; its lines are not counted.
            Err(GitError::TooLarge { .. }) => return Ok(false),
            Err(other) => return Err(other.into()),
        };
        Ok(lines.is_none_or(|lines| first == 0 || last < first || last > lines))
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_with_and_without_a_last_end() {
        assert_eq!((count_lines(b""), count_lines(b"a"), count_lines(b"a\n"), count_lines(b"a\nb")), (0, 1, 1, 2));
    }
}
