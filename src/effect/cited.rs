//! Checks the places (`path:line`) that the answer of an `/explain` names against the tree that it read.
//!
//! Owns how places are found in an answer, and which do not exist. It cannot judge whether what is said about a place is true.
//! Tests: below and `tests/stories/task_kinds.rs`.

use super::repository::{Repositories, base, request};
use crate::git::GitError;
use crate::policy::plain;
use crate::trouble::Trouble;
use domain::{Task, TaskKind};

/// The most places of one answer that are checked.
const MOST: usize = 100;
/// The longest file whose lines are counted, in bytes.
const LONGEST: u64 = 8 << 20;

impl Repositories {
    /// Places named in the answer that the task's base does not have, as written.
    pub(super) async fn not_there(&self, task: &Task) -> Result<Vec<String>, Trouble> {
        let asked_for = match task.kind {
            TaskKind::Explain => true,
            TaskKind::Plan | TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => false,
        };
        let mut missing = Vec::new();
        for place in places(task.summary.as_deref().unwrap_or_default()).into_iter().filter(|_| asked_for) {
            let lines = match plain(place.path) {
                Some(path) => match self.repos.show(&request(task)?.repository, &base(task)?, &path, LONGEST).await {
                    Ok(bytes) => bytes.map(|bytes| count_lines(&bytes)),
                    // The file exists; its lines are not counted.
                    Err(GitError::TooLarge { .. }) => continue,
                    Err(other) => return Err(other.into()),
                },
                None => None,
            };
            if lines.is_none_or(|lines| place.first == 0 || place.last < place.first || place.last > lines) {
                missing.push(place.written.to_owned());
            }
        }
        Ok(missing)
    }
}

/// One place in an answer.
#[derive(Debug, PartialEq, Eq)]
struct Cited<'a> {
    written: &'a str,
    path: &'a str,
    first: u64,
    last: u64,
}

/// All places of a text, each once. A word without a dot or slash before its colon is not a path, nor is a network address.
fn places(text: &str) -> Vec<Cited<'_>> {
    let mut found: Vec<Cited<'_>> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`()[]{}<>,;\"'*|".contains(c)) {
        let word = word.trim_matches(|c: char| ".:!?".contains(c));
        if let Some(place) = place(word).filter(|place| !found.iter().any(|known| known.written == place.written)) {
            found.push(place);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// `path:12`, `path:12:5` (a column), `path:12-15` or `path:L12`.
fn place(word: &str) -> Option<Cited<'_>> {
    if word.contains("://") {
        return None;
    }
    let (path, rest) = word.split_once(':')?;
    let lines = rest.split(':').next().unwrap_or_default();
    let (first, last) = lines.split_once(['-', '–']).unwrap_or((lines, lines));
    let number = |text: &str| text.trim_start_matches(['L', 'l']).parse::<u64>().ok();
    let names_file = path.contains(['.', '/']) && !path.chars().all(|c| c.is_ascii_digit() || c == '.');
    let (first, last) = (number(first)?, number(last)?);
    names_file.then_some(Cited { written: word, path, first, last })
}

fn count_lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_from_other_words() {
        let text = "See `src/a.rs:12`, (b.py:3-5), c/d:7:1 and [e.rs:L9](e.rs#L9). Not http://h.example:80/x, 127.0.0.1:80, 10:30 or note:5; `src/a.rs:12` again.";
        let found: Vec<_> = places(text).into_iter().map(|it| (it.path, it.first, it.last)).collect();
        assert_eq!(found, [("src/a.rs", 12, 12), ("b.py", 3, 5), ("c/d", 7, 7), ("e.rs", 9, 9)]);
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_end() {
        assert_eq!((count_lines(b""), count_lines(b"a"), count_lines(b"a\n"), count_lines(b"a\nb")), (0, 1, 1, 2));
    }
}
