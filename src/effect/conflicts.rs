//! Which files that could not be merged onto a newer base by themselves still have marks of a conflict in a commit. The names are the
//! sandbox's word, the contents are read from the commit. Tests: below and `tests/stories/rebase.rs`.

use super::repository::{Repositories, request};
use crate::git::GitError;
use crate::trouble::Trouble;
use domain::{Commit, Task};
use std::path::{Component, Path};

/// A longer file is not read and counts as one with marks.
const MOST_BYTES: u64 = 4 << 20;

impl Repositories {
    /// The files of the task's newest merge that still have marks in `commit`, or of which that cannot be seen.
    pub(super) async fn marked(&self, task: &Task, commit: &Commit) -> Result<Vec<String>, Trouble> {
        let mut marked = Vec::new();
        for path in &task.conflicts {
            if !readable(path) || self.has_marks(task, commit, path).await? {
                marked.push(path.clone());
            }
        }
        Ok(marked)
    }

    async fn has_marks(&self, task: &Task, commit: &Commit, path: &str) -> Result<bool, Trouble> {
        match self.repos.show(&request(task)?.repository, commit, path, MOST_BYTES).await {
            Ok(bytes) => Ok(bytes.is_some_and(|bytes| has_marks(&bytes))),
            Err(GitError::TooLarge { .. }) => Ok(true),
            Err(other) => Err(other.into()),
        }
    }
}

/// Whether this names one file of a commit: relative, and without a character that was no UTF-8.
fn readable(path: &str) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.contains('\u{fffd}') && !path.contains('\0') && Path::new(path).components().all(normal)
}

/// Whether a line begins as git writes the two ends of a conflict.
fn has_marks(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ends_of_a_conflict_are_marks_and_a_rule_of_a_heading_is_none() {
        assert!(has_marks(b"a\n<<<<<<< HEAD\nb\n"));
        assert!(has_marks(b"b\n>>>>>>> 1234567 (this task's work)"));
        assert!(!has_marks(b"Title\n=======\n\n  <<<<<<< quoted\n<<<<<<<\n"));
    }

    #[test]
    fn only_the_name_of_a_file_in_the_tree_is_looked_up() {
        assert!(readable("src/a b.rs"));
        for bad in ["/etc/passwd", "../a", "a/../b", "a\u{fffd}", "a\0b"] {
            assert!(!readable(bad), "{bad:?}");
        }
    }
}
