//! The base branch moved on since a task began: how far, and whether into the same files. Pure; told in a review so that nobody approves work
//! on something old unawares.

use super::view::CheckpointView;
use crate::text::{code, count};
use std::fmt::Write as _;

/// Files that are named; further ones are counted.
const MAX_FILES: usize = 5;

/// The line of a review; empty while the base is the branch's newest commit.
pub(super) fn moved_on(out: &mut String, view: &CheckpointView) {
    let Some(moved) = &view.base_moved else { return };
    let branch = code(&view.base_branch);
    if moved.rewritten {
        let _ = writeln!(
            out,
            "**{branch} has another history now** — ⚠️ it stands at {}, without this task's base {}. `/rebase` brings the work onto that, `/retry` begins anew from it.",
            code(&moved.at),
            code(&moved.base)
        );
        return;
    }
    let shared = match moved.files.len() {
        0 => "none in a file that is changed here".to_owned(),
        files => {
            let named: Vec<String> = moved.files.iter().take(MAX_FILES).map(|path| code(path)).collect();
            let rest = files.saturating_sub(MAX_FILES);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!("⚠️ also in {}{rest}, which are changed here: merging may conflict", named.join(", "))
        }
    };
    let _ = writeln!(
        out,
        "**{branch} moved on** — {} since this task's base {}, {shared}. `/rebase` brings the work onto it, `/retry` begins anew from there.",
        count(moved.commits, "commit"),
        code(&moved.base)
    );
}

#[cfg(test)]
mod tests {
    use super::super::view::BaseMoved;
    use super::*;

    #[test]
    fn how_far_and_into_which_files_is_told() {
        let told = |moved: Option<BaseMoved>| {
            let mut out = String::new();
            let view = CheckpointView { base_branch: "main".into(), base_moved: moved, ..CheckpointView::default() };
            moved_on(&mut out, &view);
            out
        };
        let moved = BaseMoved { base: "a".repeat(10), at: "b".repeat(10), commits: 1, ..BaseMoved::default() };
        let shared = BaseMoved { files: (0..7).map(|n| format!("f{n}.py`x")).collect(), commits: 3, ..moved.clone() };
        let rewritten = BaseMoved { rewritten: true, ..moved.clone() };
        let texts = [told(None), told(Some(moved)), told(Some(shared)), told(Some(rewritten))];
        insta::assert_snapshot!("base_moved", texts.join("---\n"));
    }
}
