//! The diff inside a review: cut to the room there is, and what is left out is named.

use super::view::CheckpointView;
use crate::text::{MAX_LINE, code, count, cut, fence, visible};
use std::fmt::Write as _;

/// Names of files whose diff is not shown, at most this many.
const MAX_NAMED: usize = 8;
/// Bytes kept for the frame around the diff and for the names of what is missing.
const FRAME: usize = 3072;
/// Bytes of a diff for which every review has room.
const WHOLE: usize = 20 * 1024;

/// The folded section with the diff, in at most `room` bytes; empty when there is no diff.
pub(super) fn section(view: &CheckpointView, room: usize) -> String {
    if view.diff.trim().is_empty() || !view.refused.is_empty() {
        return String::new();
    }
    let (shown, missing) = head(&view.diff, room.saturating_sub(FRAME));
    let mut out = String::from("<details><summary>Diff</summary>\n\n");
    if !shown.is_empty() {
        out.push_str(&fence(shown, "diff"));
        out.push('\n');
    }
    if !missing.is_empty() || view.diff_cut_bytes > 0 {
        let _ = writeln!(out, "{}\n", what_is_missing(shown, missing, view));
    }
    out.push_str("</details>\n\n");
    out
}

/// Whether any review shows every character of it: small enough whatever else the review says, no line that is cut.
pub(super) fn is_whole(diff: &str) -> bool {
    let mut used = 0;
    diff.lines().all(|line| {
        let seen = visible(line);
        let (head, missing) = cut(&seen, MAX_LINE);
        used += head.len() + 40;
        missing == 0 && used <= WHOLE
    })
}

/// Whole lines from the start that fit, as they will be shown, and the rest.
fn head(diff: &str, room: usize) -> (&str, &str) {
    let mut used = 0;
    let mut end = 0;
    for line in diff.split_inclusive('\n') {
        let seen = visible(line);
        used += cut(&seen, MAX_LINE).0.len() + 40;
        if used > room {
            break;
        }
        end += line.len();
    }
    diff.split_at(end)
}

fn what_is_missing(shown: &str, missing: &str, view: &CheckpointView) -> String {
    let lines = missing.lines().count() as u64;
    let mut out = format!("**Not shown here**: {} of the diff", count(lines, "line"));
    if view.diff_cut_bytes > 0 {
        let _ = write!(out, " and {} after them", count(view.diff_cut_bytes, "byte"));
    }
    let named = |text: &str| text.lines().filter(|line| line.starts_with("+++ ")).count();
    // The file in which the cut lies is not wholly shown either.
    let first = named(shown).saturating_sub(usize::from(!missing.starts_with("diff ")));
    let hidden: Vec<_> = view.files.iter().skip(first).map(|file| code(&file.path)).collect();
    if !hidden.is_empty() {
        let rest = hidden.len().saturating_sub(MAX_NAMED);
        let names = hidden.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let _ = write!(out, ", in {names}{rest}");
    }
    out.push_str(". Read them under *Files changed* before you approve.");
    out
}

/// One hunk's first changed line in the new file.
pub(super) struct Hunk<'a> {
    pub path: &'a str,
    /// 1-based, in the new file.
    pub line: u64,
    /// The added line itself, without its `+`.
    pub added: &'a str,
}

/// Every added line with its place, hunk by hunk; lines of files that were deleted or whose names git quotes are left out.
pub(super) fn added_lines(diff: &str) -> Vec<Hunk<'_>> {
    let mut out = Vec::new();
    let mut path: Option<&str> = None;
    let mut line = 0_u64;
    // Lines of the present hunk still to come: text such as "+++ b/x" inside a hunk is content.
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for text in diff.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some(name) = text.strip_prefix("+++ ") {
                path = name.strip_prefix("b/");
            } else if let Some((old, start, new)) = hunk_head(text) {
                (old_left, line, new_left) = (old, start, new);
            }
            continue;
        }
        match text.as_bytes().first() {
            Some(b'+') => {
                if let Some(path) = path {
                    out.push(Hunk { path, line, added: &text[1..] });
                }
                line += 1;
                new_left = new_left.saturating_sub(1);
            }
            Some(b'-') => old_left = old_left.saturating_sub(1),
            Some(b'\\') => {}
            _ => {
                line += 1;
                old_left = old_left.saturating_sub(1);
                new_left = new_left.saturating_sub(1);
            }
        }
    }
    out
}

/// `@@ -4,3 +4,5 @@` as (old lines, new start, new lines).
fn hunk_head(text: &str) -> Option<(u64, u64, u64)> {
    let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let lines = |range: &str| range.split_once(',').map_or(Some(1), |(_, lines)| lines.parse().ok());
    let start = new.split(',').next()?.parse().ok()?;
    Some((lines(old)?, start, lines(new)?))
}
