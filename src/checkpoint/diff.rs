//! The diff in a review, cut to the available room, with everything cut named.
//!
//! Owns how a diff is divided by files: by the separator lines, which no line of a file can imitate, and never by the content
//! inside says.

use super::hunks::changes_line_ends;
use super::view::{CheckpointView, DiffPart};
use crate::text::{CREDENTIAL_PLACE, MAX_LINE, bytes, code, columns, count, cut, fence, visible};
use domain::{CapturedTree, FileChange};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes reserved for the frame around the diff.
const FRAME: usize = 512;
/// Bytes of a diff that every review has room for. A checkpoint's review does not begin to show a larger one.
const WHOLE: usize = 20 * 1024;
/// Files from which it does not either.
const MAX_PARTS: usize = 100;
/// The most columns of white space within a changed line; what stands behind more is easily overlooked.
const MAX_GAP: usize = 40;
/// The most columns before a changed line's first sign.
const MAX_INDENT: usize = 120;
/// Beginning of each file's part; lines of a file begin with a sign.
const BEGINS: &str = "diff --git ";

/// A tree's diff by file.
pub(super) fn parts(tree: &CapturedTree) -> Vec<DiffPart> {
    let sections = sections(&tree.diff);
    // A cut is in the last part. If the count differs from git's own, the missing parts cannot be attributed.
    let counted = sections.len() == tree.files.len() || (tree.diff_cut > 0 && sections.len() < tree.files.len());
    let last = if tree.diff_cut > 0 { sections.len().saturating_sub(1) } else { usize::MAX };
    let part = |(at, file): (usize, &FileChange)| {
        let text = sections.get(at).copied().unwrap_or_default().to_owned();
        DiffPart {
            path: file.path.clone(),
            about: about(file),
            binary: file.kind == "binary",
            // What stands in place of a credential may stand in place of code; a file that imitates it is named for nothing.
            cut: !counted || at >= last || text.contains(CREDENTIAL_PLACE),
            text,
        }
    };
    tree.files.iter().enumerate().map(part).collect()
}

/// Kind and size of a change, in the bot's words.
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

/// The parts of files in git's order. A file that became a link, or the reverse, has two, which are joined.
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

/// The folded section with the diff, of at most `room` bytes; empty without a diff.
pub(super) fn section(view: &CheckpointView, room: usize) -> String {
    if view.diff.is_empty() {
        return String::new();
    }
    let room = room.saturating_sub(FRAME);
    let whole = view.diff.iter().all(showable) && view.diff.iter().map(cost).sum::<usize>() <= room;
    let names = if whole { 0 } else { view.diff.iter().map(|part| entry(part).len() + 2).sum::<usize>().min(room / 2) };
    let mut left = room - names;
    let (mut shown, mut hidden) = (String::new(), Vec::new());
    for part in &view.diff {
        let text = text(part);
        let end = if part.binary { 0 } else { head(&text, &mut left) };
        shown.push_str(&text[..end]);
        if end < text.len() || !showable(part) {
            hidden.push(part);
        }
        if end < text.len() && !part.binary {
            // Nothing after a cut is shown.
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

/// What stands in place of a diff that is too large to be read in a review; none for any other.
pub(super) fn too_large(view: &CheckpointView) -> Option<String> {
    let size: usize = view.diff.iter().filter(|part| !part.binary).map(cost).sum();
    if size <= WHOLE && view.diff.len() <= MAX_PARTS {
        return None;
    }
    let where_to = if view.files.iter().any(|file| !file.earlier.is_empty()) {
        "Each name above leads to that file's difference at exactly the commit that made it, *again* to one that a later commit made"
    } else if view.files.iter().any(|file| file.url.is_some()) {
        "Each name above leads to that file's difference at exactly the commit that made it"
    } else {
        "Read it under *Files changed*"
    };
    let all: usize = view.diff.iter().map(|part| part.text.len()).sum();
    let (files, all) = (count(view.diff.len() as u64, "file"), bytes(all as u64));
    let more = if view.diff.iter().any(|part| part.cut) { "more than " } else { "" };
    Some(format!(
        "**Diff** — {files}, {more}{all}: too large to be shown here. {where_to}. Read them all before you approve.\n\n"
    ))
}

/// Whether any review shows it completely: small enough, not too many files, nothing binary, no line that is cut or goes on far
/// to the right.
pub(super) fn is_whole(diff: &[DiffPart]) -> bool {
    diff.len() <= MAX_PARTS && diff.iter().all(showable) && diff.iter().map(cost).sum::<usize>() <= WHOLE
}

/// Its text with a sign for each carriage return at a line's end, unless all lines have one on both sides.
fn text(part: &DiffPart) -> Cow<'_, str> {
    if changes_line_ends(part) { part.text.replace("\r\n", "\\r\n").into() } else { part.text.as_str().into() }
}

/// Whether its text is complete and can be shown unchanged.
fn showable(part: &DiffPart) -> bool {
    !part.binary && !part.cut && text(part).lines().all(is_readable)
}

/// Whether a line of a diff is shown to its end, and nothing that it changes is pushed aside.
fn is_readable(line: &str) -> bool {
    columns(&visible(line)) <= MAX_LINE && line.strip_prefix(['+', '-']).is_none_or(|changed| !is_pushed_aside(changed))
}

/// Whether a line, without its sign, goes on behind so much white space that it seems to end, or to be empty, before.
pub(super) fn is_pushed_aside(line: &str) -> bool {
    let text = line.trim_start();
    if !text.is_empty() && columns(&line[..line.len() - text.len()]) > MAX_INDENT {
        return true;
    }
    let mut gap = 0_usize;
    text.trim_end().chars().any(|c| {
        gap = match c {
            '\t' => gap + 8,
            _ if c.is_whitespace() => gap + 1,
            _ => 0,
        };
        gap > MAX_GAP
    })
}

/// Bytes of its text in a review.
fn cost(part: &DiffPart) -> usize {
    text(part).split_inclusive('\n').map(line_cost).sum()
}

fn line_cost(line: &str) -> usize {
    cut(&visible(line), MAX_LINE).0.len() + 40
}

/// Bytes of whole lines from the start that fit into `left`, which is reduced by them.
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

/// Names the files not shown completely, as far as there is `room`; others are counted.
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
