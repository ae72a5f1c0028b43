//! Other live tasks that change the same files, because the second merge will conflict with the first. From rows to a review's text; pure.

use super::view::{CheckpointView, Overlap};
use crate::store::{MOST_SHARED, Shared};
use crate::text::{code, count};
use std::fmt::Write as _;

/// The most tasks, and files of each, that are named; further ones are counted.
const MAX_TASKS: usize = 5;
const MAX_FILES: usize = 5;

/// Each other task with the files in common, ordered by number like `rows`.
pub fn gather(rows: &[Shared]) -> Vec<Overlap> {
    let cut = rows.len() >= MOST_SHARED as usize;
    rows.chunk_by(|one, next| one.task == next.task)
        .map(|of_one| {
            let (task, issue, pull) = (of_one[0].task, of_one[0].issue, of_one[0].pull);
            let files = of_one.iter().map(|row| row.path.clone()).collect();
            Overlap { task, issue, pull, files, cut }
        })
        .collect()
}

/// The line of a review; empty if no other task changes a file of this one.
pub(super) fn changed_elsewhere(out: &mut String, view: &CheckpointView) {
    if view.overlaps.is_empty() {
        return;
    }
    let at_least = if view.overlaps.iter().any(|other| other.cut) { "at least " } else { "" };
    let one = |other: &Overlap| {
        let place = match other.pull {
            Some(pull) => format!("pull request #{pull}"),
            None => format!("issue #{}", other.issue),
        };
        let named: Vec<String> = other.files.iter().take(MAX_FILES).map(|path| code(path)).collect();
        let rest = other.files.len().saturating_sub(MAX_FILES);
        let rest = if rest > 0 { format!(" and {at_least}{rest} more") } else { String::new() };
        format!("task {} ({place}): {}{rest}", other.task, named.join(", "))
    };
    let mut list: Vec<String> = view.overlaps.iter().take(MAX_TASKS).map(one).collect();
    let rest = view.overlaps.len().saturating_sub(MAX_TASKS);
    if rest > 0 {
        list.push(format!("{at_least}{}", count(rest as u64, "further task")));
    }
    let _ = writeln!(
        out,
        "**Changed by other tasks too** — ⚠️ {}. Whichever is merged second may meet the other's changes.",
        list.join("; ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(task: i64, pull: Option<i64>, path: &str) -> Shared {
        Shared { task, issue: task + 10, pull, path: path.to_owned() }
    }

    fn told(rows: &[Shared]) -> String {
        let mut out = String::new();
        changed_elsewhere(&mut out, &CheckpointView { overlaps: gather(rows), ..CheckpointView::default() });
        out
    }

    #[test]
    fn other_tasks_are_named_with_their_files_and_further_ones_counted() {
        assert_eq!(told(&[]), "");
        let few = [shared(2, Some(7), "a.py"), shared(2, Some(7), "x`y\n@all <b>"), shared(3, None, "a.py")];
        let mut many: Vec<Shared> = (0..9).map(|n| shared(2, Some(7), &format!("f{n}.py"))).collect();
        many.extend((3..11).map(|task| shared(task, None, "a.py")));
        let full: Vec<Shared> = (0..MOST_SHARED).map(|n| shared(2, Some(7), &format!("f{n}.py"))).collect();
        let texts = [told(&few), told(&many), told(&full)];
        insta::assert_snapshot!("changed_elsewhere", texts.join("---\n"));
    }
}
