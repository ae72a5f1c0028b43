//! How actions ended, in words, and the commands among them that are evidence of the work. Pure.
//!
//! What a command printed is reported by code under review. Tests: below, `src/checkpoint/gathered_tests.rs`, `src/checkpoint/tests.rs`.

use super::changed::plus_minus;
use super::view::{ActionLine, ActionResult, CheckpointView, EvidenceLine};
use crate::text::{code, count, duration, plain_cell};
use std::fmt::Write as _;

/// The most commands that are shown, the last ones.
const SHOWN: usize = 3;

/// Whether a command with this result ran, or may have run, in the foreground of the task's sandbox.
pub(super) fn has_run(result: &ActionResult) -> bool {
    match result {
        ActionResult::Exited { .. }
        | ActionResult::Signaled { .. }
        | ActionResult::TimedOut { .. }
        | ActionResult::Exhausted(_)
        | ActionResult::Interrupted => true,
        ActionResult::Done
        | ActionResult::Started
        | ActionResult::Lines(_)
        | ActionResult::Changed { .. }
        | ActionResult::Blocked
        | ActionResult::Denied(_)
        | ActionResult::Failed(_) => false,
    }
}

/// Keeps of the commands with an exit code only those with a test summary, if one has that: it says more than others.
pub(super) fn keep_telling(lines: &mut Vec<EvidenceLine>) {
    if lines.iter().any(|line| note(line).is_some()) {
        lines.retain(|line| note(line).is_some() || !matches!(line.result, ActionResult::Exited { .. }));
    }
}

fn note(line: &EvidenceLine) -> Option<&str> {
    match &line.result {
        ActionResult::Exited { note, .. } => note.as_deref(),
        _ => None,
    }
}

/// A warning sign for a successful command whose output summarizes a failure.
fn doubt(line: &EvidenceLine) -> &'static str {
    if matches!(line.result, ActionResult::Exited { code: 0, failed: true, .. }) { "⚠️ " } else { "" }
}

fn ending(line: &EvidenceLine) -> String {
    match &line.result {
        ActionResult::Exited { code, .. } => format!("exit {code}"),
        other => ended(other, plain_cell),
    }
}

fn last(view: &CheckpointView) -> &[EvidenceLine] {
    &view.evidence[view.evidence.len().saturating_sub(SHOWN)..]
}

/// The evidence of an ordinary checkpoint.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    if view.evidence.is_empty() {
        out.push_str("**Evidence** — none: no command ended in the agent's sandbox\n");
        return;
    }
    let lines = last(view).iter().map(|line| {
        let note = note(line).map(|note| format!(", {}", code(note))).unwrap_or_default();
        format!("{}{} {}{note}", doubt(line), code(&line.command), ending(line))
    });
    let lines = lines.collect::<Vec<_>>().join(" · ");
    let _ = writeln!(out, "**Evidence** — from the log: {lines} (reported by code under review)");
}

/// As [`section`], each command for a cell of a table.
pub(super) fn cells(view: &CheckpointView) -> impl Iterator<Item = String> {
    last(view).iter().map(|line| {
        let but = if doubt(line).is_empty() { String::new() } else { note(line).map(self::but).unwrap_or_default() };
        format!("{}{} {}{but}", doubt(line), plain_cell(&line.command), ending(line))
    })
}

/// What stands behind an exit code of 0 whose output summarizes a failure.
pub(super) fn but(failure: &str) -> String {
    format!(", but its output says {}", plain_cell(failure))
}

/// How an action ended, in a few words for a cell of a table.
pub fn result(action: &ActionLine) -> String {
    ended(&action.result, plain_cell)
}

/// As [`result`], outside of a table.
pub fn result_in_text(action: &ActionLine) -> String {
    ended(&action.result, code)
}

/// `shown` is how foreign words are shown there.
fn ended(result: &ActionResult, shown: fn(&str) -> String) -> String {
    match result {
        ActionResult::Done => "done".to_owned(),
        ActionResult::Started => "started in the background".to_owned(),
        ActionResult::Lines(lines) => count(*lines, "line"),
        ActionResult::Changed { added, removed } => plus_minus(*added, *removed),
        ActionResult::Exited { code, note, failed, ms } => {
            let sign = match (code, failed) {
                (0, false) => "✅",
                (0, true) => "⚠️",
                _ => "❌",
            };
            let note = note.as_deref().map(|note| format!(" · {}", shown(note))).unwrap_or_default();
            format!("{sign} exit {code}{note} · {}", duration(*ms))
        }
        ActionResult::Signaled { signal, ms } => format!("❌ ended by signal {signal} · {}", duration(*ms)),
        ActionResult::TimedOut { ms } => format!("⏱ stopped after {}", duration(*ms)),
        ActionResult::Exhausted(what) => format!("❌ {what} ran out"),
        ActionResult::Blocked => "⛔ blocked by the router".to_owned(),
        ActionResult::Denied(reason) => format!("⛔ refused: {}", shown(reason)),
        ActionResult::Interrupted => "⚠️ interrupted; it may have run".to_owned(),
        ActionResult::Failed(reason) => format!("❌ {}", shown(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_shown_whole_or_what_is_missing_is_counted() {
        let shown = |reason: String| ended(&ActionResult::Denied(reason), plain_cell);
        assert_eq!(shown("x".repeat(120)), format!("⛔ refused: `{}`", "x".repeat(120)));
        assert!(shown("x".repeat(200)).ends_with("`… (40 more characters)"), "{}", shown("x".repeat(200)));
    }

    #[test]
    fn a_bar_has_a_backslash_in_a_table_alone() {
        let line = ActionLine { result: ActionResult::Denied("a | b".to_owned()), ..ActionLine::default() };
        assert_eq!(result(&line), "⛔ refused: `a \\| b`");
        assert_eq!(result_in_text(&line), "⛔ refused: `a | b`");
    }
}
