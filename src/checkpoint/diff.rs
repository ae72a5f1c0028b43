//! The diff inside a review: cut to the room there is, and whatever is not shown whole is named.
//!
//! Owns how a diff is told apart into files: by the lines between them, which no line of a file can look like, and never by what a line
//! inside says.

use super::view::{CheckpointView, DiffPart};
use crate::text::{MAX_LINE, bytes, code, count, cut, fence, visible};
use domain::{CapturedTree, FileChange};
use std::fmt::Write as _;

/// Bytes kept for the frame around the diff.
const FRAME: usize = 512;
/// Bytes of a diff for which every review has room.
const WHOLE: usize = 20 * 1024;
/// How git begins each file's part; lines of a file are led by a sign.
const BEGINS: &str = "diff --git ";

/// A tree's diff, file by file.
pub(super) fn parts(tree: &CapturedTree) -> Vec<DiffPart> {
    let sections = sections(&tree.diff);
    // The cut lies in the last one that is there. With another count than git's own, nobody can say what is missing where.
    let counted = sections.len() == tree.files.len() || (tree.diff_cut > 0 && sections.len() < tree.files.len());
    let last = if tree.diff_cut > 0 { sections.len().saturating_sub(1) } else { usize::MAX };
    let part = |(at, file): (usize, &FileChange)| DiffPart {
        path: file.path.clone(),
        about: about(file),
        binary: file.kind == "binary",
        text: sections.get(at).copied().unwrap_or_default().to_owned(),
        cut: !counted || at >= last,
    };
    tree.files.iter().enumerate().map(part).collect()
}

/// What it is and how large, in words of ours.
fn about(file: &FileChange) -> String {
    let size = file.bytes.map(bytes);
    match (file.kind.as_str(), size) {
        ("deleted", _) => format!("deleted, {}", count(file.removed, "line")),
        ("binary", Some(size)) => format!("binary, {size}"),
        ("binary", None) => "binary".to_owned(),
        (_, Some(size)) => size,
        (_, None) => count(file.added + file.removed, "changed line"),
    }
}

/// The files' parts, in git's order. A file that became a link, or the other way round, has two, which are taken for one.
fn sections(diff: &str) -> Vec<&str> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive('\n') {
        let begins = line.starts_with(BEGINS) && starts.last().is_none_or(|(_, head)| *head != line);
        if at == 0 || begins {
            starts.push((at, line));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([diff.len()]);
    starts.iter().zip(ends).map(|((start, _), end)| &diff[*start..end]).collect()
}

/// The folded section with the diff, in at most `room` bytes; empty when there is no diff.
pub(super) fn section(view: &CheckpointView, room: usize) -> String {
    if view.diff.is_empty() || !view.refused.is_empty() {
        return String::new();
    }
    let room = room.saturating_sub(FRAME);
    let whole = view.diff.iter().all(showable) && view.diff.iter().map(cost).sum::<usize>() <= room;
    let names = if whole { 0 } else { view.diff.iter().map(|part| entry(part).len() + 2).sum::<usize>().min(room / 2) };
    let mut left = room - names;
    let (mut shown, mut hidden) = (String::new(), Vec::new());
    for part in &view.diff {
        let end = if part.binary { 0 } else { head(&part.text, &mut left) };
        shown.push_str(&part.text[..end]);
        if end < part.text.len() || !showable(part) {
            hidden.push(part);
        }
        if end < part.text.len() && !part.binary {
            // What comes after a cut is not shown either.
            left = 0;
        }
    }
    let mut out = String::from("<details><summary>Diff</summary>\n\n");
    if !shown.is_empty() {
        out.push_str(&fence(&shown, "diff"));
        out.push('\n');
    }
    if !hidden.is_empty() {
        let _ = writeln!(out, "{}\n", what_is_missing(&hidden, names));
    }
    out.push_str("</details>\n\n");
    out
}

/// Whether any review shows every character of it: small enough whatever else the review says, nothing binary, no line that is cut.
pub(super) fn is_whole(diff: &[DiffPart]) -> bool {
    diff.iter().all(showable) && diff.iter().map(cost).sum::<usize>() <= WHOLE
}

/// Whether its text says all of it, and can be shown as it is.
fn showable(part: &DiffPart) -> bool {
    !part.binary && !part.cut && part.text.lines().all(|line| cut(&visible(line), MAX_LINE).1 == 0)
}

/// Bytes that its text takes in a review.
fn cost(part: &DiffPart) -> usize {
    part.text.split_inclusive('\n').map(line_cost).sum()
}

fn line_cost(line: &str) -> usize {
    cut(&visible(line), MAX_LINE).0.len() + 40
}

/// Bytes of whole lines from the start that fit into `left`, which they use up.
fn head(text: &str, left: &mut usize) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let Some(rest) = left.checked_sub(line_cost(line)) else { break };
        *left = rest;
        end += line.len();
    }
    end
}

fn entry(part: &DiffPart) -> String {
    format!("{} ({})", code(&part.path), part.about)
}

/// Every file that is not shown whole, as far as `room` holds their names; the others are counted.
fn what_is_missing(hidden: &[&DiffPart], mut room: usize) -> String {
    let mut named = Vec::new();
    for part in hidden {
        let entry = entry(part);
        let Some(rest) = room.checked_sub(entry.len() + 2) else { break };
        room = rest;
        named.push(entry);
    }
    let rest = match hidden.len() - named.len() {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64, "file")),
    };
    format!(
        "**Not shown here, or not whole**: {}{rest}. Read them under *Files changed* before you approve.",
        named.join(", ")
    )
}

/// One added line.
pub(super) struct Hunk<'a> {
    pub path: &'a str,
    /// 1-based, in the new file.
    pub line: u64,
    /// The added line itself, without its `+`.
    pub added: &'a str,
}

/// Every added line of a file with its place.
pub(super) fn added_lines(part: &DiffPart) -> Vec<Hunk<'_>> {
    let mut out = Vec::new();
    let mut line = 0_u64;
    // Lines of the present hunk still to come: text such as "@@ -1 +1 @@" inside a hunk is content.
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for text in part.text.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some((old, start, new)) = hunk_head(text) {
                (old_left, line, new_left) = (old, start, new);
            }
            continue;
        }
        match text.as_bytes().first() {
            Some(b'+') => {
                out.push(Hunk { path: &part.path, line, added: &text[1..] });
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
