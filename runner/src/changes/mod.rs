//! Which files of the workspace an action touched, observed through the kernel and independent of the command.
//!
//! Owns the observation: a tree kept in memory (`tree.rs`), and inotify events that tell which parts to read again (`watcher.rs`). Changes by
//! the host between two actions belong to no action; those of background processes to the action that ends next. It runs as the agent's
//! user and can be deceived: by a write through another link outside the workspace, through a mapping whose file was closed before, and by
//! exhausting the kernel's tables. The result is as untrusted as the sandbox. Why so: `docs/decisions/0033`. Tests: `tests.rs`, and
//! `tests/changes.rs` drives the built binary.

mod ignored;
mod tree;
mod watcher;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::touched::{MOST_BYTES, MOST_CHANGES, MOST_READ, Touched};

use self::ignored::Ignored;
use self::tree::{Difference, MOST, Tree};
use self::watcher::{Observed, Watcher};

/// So many times as much is read before an action as after one.
const REST: usize = 4;

pub struct Changes {
    root: PathBuf,
    watcher: Option<Arc<Watcher>>,
    tree: Arc<Mutex<Tree>>,
    /// Whether the changes so far were made by the host.
    of_the_host: AtomicBool,
}

impl Changes {
    /// Observes a workspace; nothing is read yet. Must be called inside a runtime.
    pub fn of(root: &Path) -> Self {
        let watcher = Watcher::new().map(Arc::new);
        let tree = Tree::new(root, watcher.clone(), MOST);
        let of_the_host = AtomicBool::new(true);
        Self { root: root.to_owned(), watcher, tree: Arc::new(Mutex::new(tree)), of_the_host }
    }

    /// Reads events for ever, so that the kernel's queue does not overflow.
    pub async fn listen(&self) -> std::convert::Infallible {
        if let Some(watcher) = &self.watcher {
            watcher.listen().await;
        }
        // Without inotify there is nothing to read.
        std::future::pending().await
    }

    /// Records that the host changes something, which belongs to no action.
    pub fn pass_over(&self) {
        self.of_the_host.store(true, Ordering::SeqCst);
    }

    /// Before an action: takes in changes of the host, and what the action before it left to be read, so that neither is attributed to it.
    pub async fn begin(&self) {
        let is_cut = self.watcher.as_ref().is_some_and(|watcher| watcher.is_cut());
        if !self.of_the_host.swap(false, Ordering::SeqCst) && !is_cut {
            return;
        }
        let (watcher, tree) = (self.watcher.clone(), Arc::clone(&self.tree));
        let look = move || {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            let observed = watcher.map(|watcher| watcher.take(REST)).unwrap_or_default();
            drop(tree.refresh(&observed));
        };
        // A failed reading leaves the tree as it was, and the next result names too many files.
        let _ = tokio::task::spawn_blocking(look).await;
    }

    /// The files that the action touched.
    pub async fn end(&self) -> Touched {
        let observed = self.watcher.as_ref().map(|watcher| watcher.take(1));
        if let (Some(observed), Ok(mut tree)) = (&observed, self.tree.try_lock())
            && observed.is_little()
            && tree.observes_everything()
        {
            // There is nothing to read, so no thread is needed.
            return report(&self.root, &mut tree, observed, true);
        }
        let (tree, root) = (Arc::clone(&self.tree), self.root.clone());
        let look = move || {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            let observes = observed.is_some();
            report(&root, &mut tree, &observed.unwrap_or_default(), observes)
        };
        let failed = |_| Touched { unseen: Some("the look at the workspace failed".to_owned()), ..Touched::default() };
        tokio::task::spawn_blocking(look).await.unwrap_or_else(failed)
    }
}

fn report(root: &Path, tree: &mut Tree, observed: &Observed, observes: bool) -> Touched {
    let difference = tree.refresh(observed);
    let mut report = Touched::default();
    if tree.is_spent() {
        report.unseen = Some(format!("the workspace has more than {MOST} entries: what changes is not looked at"));
        return report;
    }
    let (mut ignored, mut room) = (Ignored::new(root, tree), MOST_BYTES);
    changes(&mut report, &difference, &mut ignored, &mut room);
    let files = observed.read.iter().filter_map(|(watch, name)| tree.file(*watch, name));
    // The runner itself reads `.gitignore` files.
    let mut read: Vec<PathBuf> =
        files.filter(|path| !difference.files.contains_key(path) && !path.ends_with(".gitignore")).collect();
    read.sort_unstable();
    report.read_unnamed = observed.further;
    for path in read {
        let name = path.to_string_lossy().into_owned();
        if report.read.len() == MOST_READ || name.len() > room || ignored.holds(&path) {
            report.read_unnamed += 1;
            continue;
        }
        room -= name.len();
        report.read.push(name);
    }
    let late = ignored.is_late().then_some("what .gitignore names could not be told from other files in time");
    report.unseen = unobserved(tree, observed, observes).or(late).map(str::to_owned);
    report
}

fn changes(report: &mut Touched, difference: &Difference, ignored: &mut Ignored<'_>, room: &mut usize) {
    let mut left = MOST_CHANGES;
    for (path, (was, is)) in &difference.files {
        if ignored.holds(path) {
            report.ignored += 1;
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        if left == 0 || name.len() > *room {
            report.unnamed += 1;
            continue;
        }
        (left, *room) = (left - 1, *room - name.len());
        match (was, is) {
            (None, _) => report.created.push(name),
            (Some(_), None) => report.deleted.push(name),
            (Some(_), Some(_)) => report.changed.push(name),
        }
    }
}

/// Why some reads may be missing; changes are found all the same.
fn unobserved(tree: &Tree, observed: &Observed, observes: bool) -> Option<&'static str> {
    if !observes {
        Some("the kernel grants no watcher: what was read is not known")
    } else if observed.lost {
        Some("too much happened at once: what was read is known in part")
    } else if tree.observes_everything() {
        None
    } else {
        Some("the kernel grants no more watches: what was read is known in part")
    }
}
