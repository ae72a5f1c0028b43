//! The changed files of a review, from the trees that were captured since the last checkpoint, in the order in which to read them. Pure.

use super::order;
use super::view::{CheckpointView, FileLine, FileState};
use crate::forge::gitea::pages::file_of_commit;
use domain::{CapturedTree, Event, FileChange, FileFacts, TestCounts};

/// Adds what the trees of the log from `from` on change. `commits` is the address of the repository's commits.
pub(super) fn gather(view: &mut CheckpointView, (log, from): (&[Event], usize), commits: Option<&str>) {
    let rebased = log.iter().rposition(|event| matches!(event, Event::Rebased(_)));
    let tree = |event: &Event| matches!(event, Event::TreeCaptured { .. } | Event::TreeUnchanged { .. });
    view.rebased = rebased.is_some_and(|at| at >= from || !log[at..from].iter().any(tree));
    // The first tree on a newer base holds all of the work, also what was captured before.
    let window = &log[from.max(rebased.map_or(0, |at| at + 1))..];
    for event in window {
        match event {
            Event::TreeCaptured { tree, .. } => add(view, tree, commits),
            Event::TreeUnchanged { left_out, .. } => extend(&mut view.left_out, left_out),
            _ => {}
        }
    }
    if !view.refused.is_empty() {
        view.pushed = newest(window).map(|tree| tree.commit.short().to_owned());
    }
    view.unseen |= !super::diff::is_whole(&view.diff);
    order::sort(view);
}

/// The newest tree with a change. Each was pushed before anything else was captured.
fn newest(window: &[Event]) -> Option<&CapturedTree> {
    window.iter().rev().find_map(|event| match event {
        Event::TreeCaptured { tree, .. } => Some(tree),
        _ => None,
    })
}

fn add(view: &mut CheckpointView, tree: &CapturedTree, commits: Option<&str>) {
    extend(&mut view.left_out, &tree.left_out);
    extend(&mut view.steering, &tree.steering);
    for change in &tree.files {
        let url = commits.map(|commits| file_of_commit(commits, tree.commit.as_str(), &change.path));
        let facts = tree.facts.iter().find(|facts| facts.path == change.path);
        let file = FileLine { url, ..file(change, facts) };
        match view.files.iter_mut().find(|known| known.path == change.path) {
            Some(known) => *known = joined(known, file),
            None => view.files.push(file),
        }
    }
    view.diff.extend(super::diff::parts(tree));
}

fn file(change: &FileChange, facts: Option<&FileFacts>) -> FileLine {
    FileLine {
        path: change.path.clone(),
        added: change.added,
        removed: change.removed,
        state: match change.kind.as_str() {
            "added" => FileState::Added,
            "deleted" => FileState::Deleted,
            _ => FileState::Changed,
        },
        binary: change.kind == "binary",
        bytes: change.bytes,
        modes: facts.and_then(|facts| facts.modes.clone()),
        tests: facts.and_then(|facts| facts.tests),
        generated: facts.is_some_and(|facts| facts.generated),
        through: facts.and_then(|facts| facts.through.clone()),
        url: None,
        earlier: Vec::new(),
    }
}

/// Two changes of one file, as one: what it was before the first, and what it is after the second.
fn joined(first: &FileLine, second: FileLine) -> FileLine {
    let state = match (first.state, second.state) {
        (FileState::Added, FileState::Changed | FileState::Added) => FileState::Added,
        (FileState::Added | FileState::Changed | FileState::Deleted, FileState::Deleted) => FileState::Deleted,
        (FileState::Changed | FileState::Deleted, FileState::Changed | FileState::Added) => FileState::Changed,
    };
    let modes = match (&first.modes, second.modes) {
        (Some((before, _)), Some((_, after))) => Some((before.clone(), after)),
        // What it could do before it was deleted it can't any more.
        (_, None) if second.state == FileState::Deleted => None,
        (one, other) => other.or_else(|| one.clone()),
    };
    FileLine {
        added: first.added + second.added,
        removed: first.removed + second.removed,
        state,
        modes,
        tests: tests(first.tests, second.tests),
        earlier: first.earlier.iter().chain(&first.url).cloned().collect(),
        ..second
    }
}

fn tests(first: Option<TestCounts>, second: Option<TestCounts>) -> Option<TestCounts> {
    let (first, second) = match (first, second) {
        (None, one) | (one, None) => return one,
        (Some(first), Some(second)) => (first, second),
    };
    Some(match (first, second) {
        (TestCounts::Counted { before, .. }, TestCounts::Counted { after, .. }) => {
            TestCounts::Counted { before, after }
        }
        (TestCounts::Uncounted, TestCounts::Counted { .. } | TestCounts::Uncounted)
        | (TestCounts::Counted { .. }, TestCounts::Uncounted) => TestCounts::Uncounted,
    })
}

/// Adds what is not there yet.
fn extend(known: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !known.contains(one) {
            known.push(one.clone());
        }
    }
}
