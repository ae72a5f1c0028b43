//! People's remarks in a review: which are open, and what became of the others since the last one. Pure.
//!
//! Owns: the section, the first lines of a final review with open remarks, and notes where a remark stands. What people and the agent wrote
//! is shown as code or quoted prose. Tests: beside it, and `src/checkpoint/tests.rs`.

use super::view::{CheckpointView, RemarksView};
use crate::text::{code, count, cut, is_hidden, one_line, prose};
use domain::{Event, Remark, RemarkState, Remarks, Withdrawal};
use std::fmt::Write as _;

/// The most open remarks that are named, and of those whose state changed.
const MAX_OPEN: usize = 20;
const MAX_CHANGED: usize = 12;
/// The most that are only named.
const MAX_NAMES: usize = 100;
/// The most characters of a remark, and of the agent's words about it.
const MAX_REMARK: usize = 120;
const MAX_ANSWER: usize = 300;
/// The most notes where remarks stand.
const MAX_NOTES: usize = 10;

/// Where the remarks of a log stand; `from` is where this review's part of the log begins.
pub(super) fn gather(log: &[Event], from: usize) -> RemarksView {
    let (before, now) = (Remarks::of(&log[..from]), Remarks::of(log));
    let settled_before = |remark: &Remark| {
        let same = |old: &Remark| (&old.state, &old.answer) == (&remark.state, &remark.answer);
        before.all().iter().any(|old| old.number == remark.number && same(old))
    };
    let (open, closed): (Vec<&Remark>, Vec<&Remark>) = now.all().iter().partition(|remark| remark.is_open());
    let (settled, changed): (Vec<&Remark>, Vec<&Remark>) =
        closed.into_iter().partition(|remark| settled_before(remark));
    let mut changed = changed;
    // What only words settled comes first.
    changed.sort_by_key(|remark| remark.state != RemarkState::Answered);
    let in_words = now.all().iter().filter(|remark| remark.state == RemarkState::Answered).map(Remark::name).collect();
    RemarksView {
        in_words,
        open: open.into_iter().cloned().collect(),
        changed: changed.into_iter().cloned().collect(),
        settled: settled.len(),
    }
}

/// The section; empty while there was no remark.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    let RemarksView { open, changed, settled, .. } = &view.remarks;
    let mut counted = Vec::new();
    for (number, what) in
        [(open.len(), "open"), (changed.len(), "settled since the last review"), (*settled, "settled before")]
    {
        if number > 0 {
            counted.push(format!("{number} {what}"));
        }
    }
    if counted.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n**Remarks** — {}\n", counted.join(", "));
    for remark in open.iter().take(MAX_OPEN) {
        let _ = writeln!(out, "- {}: {}{}", head(remark), words(remark), since(remark));
    }
    more(out, open.len(), MAX_OPEN);
    if !open.is_empty() {
        let _ = writeln!(out, "- Whoever made one takes it back by resolving its conversation or deleting it.");
    }
    for remark in changed.iter().take(MAX_CHANGED) {
        let _ = writeln!(out, "- {}: {}{}", head(remark), state(remark), says(remark));
    }
    let rest: Vec<String> = changed.iter().skip(MAX_CHANGED).take(MAX_NAMES).map(short).collect();
    if !rest.is_empty() {
        let _ = writeln!(out, "- {}", rest.join("; "));
    }
    more(out, changed.len(), MAX_CHANGED + MAX_NAMES);
    out.push('\n');
}

/// Number and state.
fn short(remark: &Remark) -> String {
    format!("**{}** {}", remark.name(), state(remark))
}

/// First lines of a final review whose remarks are not all settled by a change; it may be approved all the same.
pub(super) fn warning(out: &mut String, view: &CheckpointView) {
    let RemarksView { open, in_words, .. } = &view.remarks;
    if !open.is_empty() {
        let names: Vec<String> = open.iter().map(Remark::name).collect();
        let (are, stand) = if open.len() == 1 { ("is", "It stands") } else { ("are", "They stand") };
        let number = count(open.len() as u64, "remark");
        let few = few(&names, MAX_OPEN);
        let _ =
            writeln!(out, "⚠️ **{number} {are} open**: {few}. {stand} below; the work can be approved all the same.\n");
    }
    if !in_words.is_empty() {
        let number = count(in_words.len() as u64, "remark");
        let _ = writeln!(out, "⚠️ **{number} answered without a change**: {}.\n", few(in_words, MAX_NAMES));
    }
}

/// The first of these names, and how many there are more.
fn few(names: &[String], most: usize) -> String {
    let rest = names.len().saturating_sub(most);
    let rest = if rest > 0 { format!(", {rest} more") } else { String::new() };
    format!("{}{rest}", names[..names.len().min(most)].join(", "))
}

/// Notes on the lines where remarks stand that the agent dealt with, as far as `shown` says that the review's difference has the line. They
/// follow from the log alone, so that each try to post a review has the same.
pub(super) fn notes(view: &CheckpointView, shown: impl Fn(&str, u64) -> bool) -> Vec<(String, u64, String)> {
    let note = |remark: &Remark| {
        let (path, at) = (remark.item.path.as_ref()?, remark.item.line?);
        // Behind the first line, which forges show apart.
        let says = answered(remark).map(|words| format!(".\n\nThe agent says: {words}")).unwrap_or_default();
        let text = format!("**{}** of {}: {}{says}", remark.name(), code(&remark.item.author), state(remark));
        (shown(path, at) && !path.chars().any(is_hidden)).then(|| (path.clone(), at, text))
    };
    let dealt_with = |remark: &&Remark| !matches!(remark.state, RemarkState::Withdrawn { .. });
    view.remarks.changed.iter().filter(dealt_with).filter_map(note).take(MAX_NOTES).collect()
}

/// Number, place and author.
fn head(remark: &Remark) -> String {
    let place = match (&remark.item.path, remark.item.line, &remark.item.old) {
        (Some(path), Some(line), _) => format!(" {}", code(&format!("{path}:{line}"))),
        (Some(path), None, Some(old)) => format!(" {}, line {} of the old file,", code(path), old.line),
        (Some(path), None, None) => format!(" {}", code(path)),
        (None, _, _) => String::new(),
    };
    format!("**{}**{place} of {}", remark.name(), code(&remark.item.author))
}

/// The beginning of what was remarked.
fn words(remark: &Remark) -> String {
    let line = one_line(remark.item.text.trim());
    let (start, missing) = cut(&line, MAX_REMARK);
    code(&if missing > 0 { format!("{start}…") } else { start.to_owned() })
}

/// How long an open remark has been so, and what stands against a claim that it is dealt with.
fn since(remark: &Remark) -> String {
    let since = match (remark.delivered, remark.since) {
        (false, _) => "it reaches the agent with the next decision".to_owned(),
        (true, 0) => "open from the beginning".to_owned(),
        (true, n) => format!("open since checkpoint {n}"),
    };
    let claim = match &remark.answer {
        Some(answer) if answer.addressed => {
            let what = if remark.item.path.is_some() { "the file did not change" } else { "nothing changed" };
            let words = match answer.text.trim() {
                "" => String::new(),
                text => format!(": {}", prose(text, MAX_ANSWER)),
            };
            format!(" — the agent says that it is addressed; {what}{words}")
        }
        Some(_) | None => String::new(),
    };
    format!(" · {since}{claim}")
}

fn state(remark: &Remark) -> String {
    match &remark.state {
        RemarkState::Open => "open".to_owned(),
        RemarkState::Addressed { commit, unasked: false } => format!("addressed at `{}`", commit.short()),
        RemarkState::Addressed { commit, unasked: true } => {
            format!("its file changed at `{}`; the agent was not asked what it did for it", commit.short())
        }
        RemarkState::Answered => "answered without a change".to_owned(),
        RemarkState::Withdrawn { why: Withdrawal::Deleted } => "withdrawn: it was deleted".to_owned(),
        RemarkState::Withdrawn { why: Withdrawal::Dismissed } => "withdrawn: its review was dismissed".to_owned(),
        RemarkState::Withdrawn { why: Withdrawal::Resolved } => "withdrawn: its conversation was resolved".to_owned(),
    }
}

/// The agent's words behind the state.
fn says(remark: &Remark) -> String {
    answered(remark).map(|words| format!(". The agent says: {words}")).unwrap_or_default()
}

/// The agent's words, where they belong to the state.
fn answered(remark: &Remark) -> Option<String> {
    let told = matches!(remark.state, RemarkState::Addressed { .. } | RemarkState::Answered);
    let answer = remark.answer.as_ref().filter(|answer| told && !answer.text.trim().is_empty())?;
    Some(prose(&answer.text, MAX_ANSWER))
}

fn more(out: &mut String, all: usize, most: usize) {
    if all > most {
        let _ = writeln!(out, "- and {} more", count((all - most) as u64, "remark"));
    }
}
