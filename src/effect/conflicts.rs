//! Which files that could not be merged onto a newer base by themselves still have marks of a conflict in a commit. The names are the
//! sandbox's word, the contents are read from the commit. Tests: below and `tests/stories/rebase.rs`.

use super::repository::{Repositories, request};
use crate::git::GitError;
use crate::trouble::Trouble;
use domain::{Commit, Task};
use std::path::{Component, Path};

/// A longer file is not read and counts as one with marks.
const MOST_BYTES: u64 = 4 << 20;
/// The least signs of a mark: as many as the merge writes.
const MARK: usize = 7;

impl Repositories {
    /// The files of the task's newest merge, and those of an earlier one of which something came along, that still have marks in `commit`, or
    /// of which that cannot be seen. One that equals the base's counts too: git leaves a binary file so, without marks and without what the work changed in it.
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
        let key = &request(task)?.repository;
        let now = match self.repos.show(key, commit, path, MOST_BYTES).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(false),
            Err(GitError::TooLarge { .. }) => return Ok(true),
            Err(other) => return Err(other.into()),
        };
        let Some(base) = task.base.as_ref().filter(|_| !has_marks(&now)) else { return Ok(true) };
        match self.repos.show(key, base, path, MOST_BYTES).await {
            Ok(bytes) => Ok(bytes.is_some_and(|bytes| bytes == now)),
            Err(GitError::TooLarge { .. }) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }
}

/// Whether this names one file of a commit: relative, and without a character that was no UTF-8.
fn readable(path: &str) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.contains('\u{fffd}') && !path.contains('\0') && Path::new(path).components().all(normal)
}

/// Whether a line begins as git writes the two ends of a conflict, or longer. The line between them is none, for it also underlines headings.
fn has_marks(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| is_mark(line, b'<') || is_mark(line, b'>'))
}

fn is_mark(line: &[u8], sign: u8) -> bool {
    let signs = line.iter().take_while(|byte| **byte == sign).count();
    signs >= MARK && line.get(signs).is_none_or(|next| matches!(next, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ends_of_a_conflict_are_marks_and_a_rule_of_a_heading_is_none() {
        assert!(has_marks(b"a\n<<<<<<< HEAD\nb\n"));
        assert!(has_marks(b"b\n>>>>>>> 1234567 (this task's work)"));
        assert!(has_marks(b"a\r\n<<<<<<<\r\nb\r\n") && has_marks(b">>>>>>>"));
        assert!(has_marks(b"<<<<<<<<<<<<<<<<<<<< HEAD\n") && has_marks(b">>>>>>>>\tinner\n"), "longer ones");
        assert!(!has_marks(b"Title\n=======\n\n  <<<<<<< quoted\n<<<<<< six\n<<<<<<<<cin\n>>>>>>><\n"));
    }

    #[test]
    fn only_the_name_of_a_file_in_the_tree_is_looked_up() {
        assert!(readable("src/a b.rs"));
        for bad in ["/etc/passwd", "../a", "a/../b", "a\u{fffd}", "a\0b"] {
            assert!(!readable(bad), "{bad:?}");
        }
    }
}
