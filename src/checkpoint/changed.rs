//! The part of a review about what changed: every file in the order in which to read it, why it stands there, and where its difference is.
//!
//! Owns the sentence with the sums, the list, and the warnings about tests. Paths are shown as code; links are ours. Tests:
//! `src/checkpoint/risky_tests.rs`.

use super::order::{is_weaker, risks};
use super::view::{CheckpointView, FileLine, FileState};
use crate::sandbox::kept::is_test;
use crate::sandbox::risks::rows;
use crate::text::{code, count, grouped};
use domain::TestCounts;
use std::fmt::Write as _;

/// The most files that are listed at once, and names in a sentence; further ones are folded, or counted.
const MAX_NAMED: usize = 8;
/// The most bytes of the folded list, and the least with which all of it can be counted.
const MAX_REST: usize = 24 * 1024;
const LEAST_REST: usize = 512;
/// Bytes of what stands behind the folded list.
const BEHIND: usize = 256;

/// Lines added and removed, as `+4 −1`.
pub(super) fn plus_minus(added: u64, removed: u64) -> String {
    match (added, removed) {
        (0, 0) => "±0".to_owned(),
        (added, 0) => format!("+{}", grouped(added)),
        (0, removed) => format!("−{}", grouped(removed)),
        (added, removed) => format!("+{} −{}", grouped(added), grouped(removed)),
    }
}

/// What changed in all, and the first files of the list.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    let since = match (view.since, view.begins_at) {
        _ if view.rebased => code(&view.base_branch),
        (Some(n), _) => format!("checkpoint {n}"),
        (None, Some((task, n))) => format!("checkpoint {n} of task {task}"),
        (None, None) => code(&view.base_branch),
    };
    if view.files.is_empty() && !view.refused.is_empty() {
        let _ = writeln!(out, "**Changed since {since}** — not shown: the tree was refused, nothing was pushed");
        return;
    }
    if view.files.is_empty() {
        let _ = writeln!(out, "**Changed since {since}** — nothing");
        left_out(out, view);
        return;
    }
    let (added, removed) = view.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    let files = count(view.files.len() as u64, "file");
    let link = view.compare_url.as_deref().map(|url| format!(" · [diff]({url})")).unwrap_or_default();
    let weaker = match view.files.iter().filter(|file| is_weaker(file)).count() {
        0 => String::new(),
        1 => " · ⚠️ 1 file may test less than before".to_owned(),
        many => format!(" · ⚠️ {} files may test less than before", grouped(many as u64)),
    };
    let steering = match view.steering.len() {
        0 => "no file that steers tests changed".to_owned(),
        1 => "⚠️ 1 file that steers tests changed".to_owned(),
        many => format!("⚠️ {} files that steer tests changed", grouped(many as u64)),
    };
    let pushed = match &view.pushed {
        Some(commit) => format!(" · ⚠️ pushed at `{commit}`; a newer tree was refused"),
        None => String::new(),
    };
    let sum = plus_minus(added, removed);
    let _ = writeln!(out, "**Changed since {since}** — {files}, {sum}{link}{weaker} · {steering}{pushed}\n");
    for (n, file) in (1..).zip(view.files.iter().take(MAX_NAMED)) {
        out.push_str(&row(n, file));
    }
    out.push('\n');
    left_out(out, view);
}

/// The least room in bytes that [`rest`] needs.
pub(super) fn least_rest(view: &CheckpointView) -> usize {
    if view.files.len() > MAX_NAMED { LEAST_REST } else { 0 }
}

/// The files that the list at the top does not name, folded, in at most `room` bytes but at least [`least_rest`]; those that do not fit are
/// counted.
pub(super) fn rest(view: &CheckpointView, room: usize) -> String {
    let more = view.files.len().saturating_sub(MAX_NAMED);
    if more == 0 {
        return String::new();
    }
    let files = count(more as u64, "more changed file");
    let mut out = format!("<details><summary>{files}, in the order in which to read them</summary>\n\n");
    let room = room.min(MAX_REST);
    let (mut left, mut listed) = (more, false);
    for (n, file) in (1..).zip(&view.files).skip(MAX_NAMED) {
        let row = row(n, file);
        if out.len() + row.len() + BEHIND > room {
            break;
        }
        out.push_str(&row);
        (left, listed) = (left - 1, true);
    }
    if left > 0 {
        let others = if listed { "further file" } else { "file" };
        let _ = writeln!(
            out,
            "\n… and {}, which are not listed here: read them under *Files changed* before you approve.",
            count(left as u64, others)
        );
    }
    out.push_str("\n</details>\n\n");
    out
}

/// One file of the list: its name leads to its part of the commit's difference, and *again* to those of later commits.
fn row(n: usize, file: &FileLine) -> String {
    let mut name = code(&file.path);
    for (at, url) in file.earlier.iter().chain(&file.url).enumerate() {
        name = if at == 0 { format!("[{name}]({url})") } else { format!("{name} · [again]({url})") };
    }
    let sign = if is_weaker(file) { "⚠️ " } else { "" };
    let mut words: Vec<String> = risks(file).into_iter().map(|(_, words)| words).collect();
    if words.is_empty() {
        match file.state {
            FileState::Added => words.push("new".to_owned()),
            FileState::Deleted => words.push("deleted".to_owned()),
            FileState::Changed => {}
        }
    }
    let why = if words.is_empty() { String::new() } else { format!(" · {}", words.join(", ")) };
    format!("{n}. {sign}{name} {}{why}\n", plus_minus(file.added, file.removed))
}

/// Files left out of the commit, and how to request them.
fn left_out(out: &mut String, view: &CheckpointView) {
    let Some(first) = view.left_out.first() else { return };
    let ask = code(&format!("!{first}"));
    let _ = writeln!(
        out,
        "**Left out** — {}: by-products of known tools, new here. A line such as {ask} in `.gitignore` takes them in.",
        named(&view.left_out)
    );
}

fn named(paths: &[String]) -> String {
    let names = paths.iter().take(MAX_NAMED).map(|path| code(path)).collect::<Vec<_>>().join(", ");
    let rest = paths.len().saturating_sub(MAX_NAMED);
    if rest > 0 { format!("{names} and {rest} more") } else { names }
}

/// The warning about what can make checks pass; empty without such a file. At a checkpoint tests that were only added to stand in the list
/// alone; a final review (`last`) names every file.
pub(super) fn warning(view: &CheckpointView, last: bool) -> String {
    let counted = |path: &str| view.files.iter().any(|file| file.path == path && is_counted_test(file));
    let paths: Vec<String> = view.steering.iter().filter(|path| last || !counted(path)).cloned().collect();
    if paths.is_empty() {
        return String::new();
    }
    format!(
        "> [!WARNING]\n> Changed, and able to make checks pass without the code being right: {}. Read these first.\n\n",
        named(&paths)
    )
}

/// Whether it is a test that lines were only added to, and that tests no less than before by its counts. A file in which nothing was counted
/// (a helper, data) and one of the table (a runner's configuration) are none, wherever they stand.
fn is_counted_test(file: &FileLine) -> bool {
    let counted = match file.tests {
        Some(TestCounts::Counted { after, .. }) => after.cases > 0 || after.assertions > 0,
        Some(TestCounts::Uncounted) | None => false,
    };
    let by_table = !rows(file.path.as_bytes()).is_empty();
    counted && !by_table && is_test(&file.path) && file.removed == 0 && !is_weaker(file) && risks(file).len() == 1
}
