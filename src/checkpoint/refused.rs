//! The part of a review about a tree that was refused: why it was not taken, and what was pushed before it.

use super::view::CheckpointView;
use crate::text::{code, count};
use std::fmt::Write as _;

/// The most reasons that are named; further ones are counted.
const MAX_NAMED: usize = 8;

/// The warning; empty without a refusal.
pub(super) fn warning(out: &mut String, view: &CheckpointView) {
    if view.refused.is_empty() {
        return;
    }
    let lead = match &view.pushed {
        Some(commit) => format!(
            "What this review shows was pushed before, at `{commit}`. What was done since was not taken out of the sandbox, so it is not shown and not on the branch:"
        ),
        None => "The work was not taken out of the sandbox, so there is no diff and nothing to merge:".to_owned(),
    };
    let _ = writeln!(out, "> [!WARNING]\n> {lead}");
    for reason in view.refused.iter().take(MAX_NAMED) {
        let _ = writeln!(out, "> - {}", code(reason));
    }
    if view.refused.len() > MAX_NAMED {
        let _ = writeln!(out, "> - and {} more", count((view.refused.len() - MAX_NAMED) as u64, "reason"));
    }
    out.push_str("> \n> An approval lets the agent go on and mend it.\n\n");
}
