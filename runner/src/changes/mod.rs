//! Which files of the workspace an action touched, whatever it was: the kernel is asked, not the command.
//!
//! Owns the looking: a tree that is kept in memory (`tree.rs`), and an ear that says what of it to look at again (`ear.rs`). What the host does
//! itself between two actions belongs to none of them; what processes in the background do belongs to the action that ends next. It runs as the
//! agent's own user and may be deceived: by a write through another name of a file that lies outside the workspace, through a mapping whose file
//! was closed before, and by whoever fills the kernel's tables. Its word is the sandbox's. Why so: `docs/decisions/0033`. Tests: `tests.rs`, and `tests/changes.rs`
//! drives the built binary.

mod ear;
mod ignored;
mod tree;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::touched::{MOST_BYTES, MOST_CHANGES, MOST_READ, Touched};

use self::ear::{Ear, Heard};
use self::ignored::Ignored;
use self::tree::{Difference, MOST, Tree};

pub struct Changes {
    root: PathBuf,
    ear: Option<Arc<Ear>>,
    tree: Arc<Mutex<Tree>>,
    /// What happened so far is no action's.
    of_the_host: AtomicBool,
}

impl Changes {
    /// Of a workspace; nothing is looked at yet. Called inside a runtime.
    pub fn of(root: &Path) -> Self {
        let ear = Ear::new().map(Arc::new);
        let tree = Tree::new(root, ear.clone(), MOST);
        let of_the_host = AtomicBool::new(true);
        Self { root: root.to_owned(), ear, tree: Arc::new(Mutex::new(tree)), of_the_host }
    }

    /// Listens for ever, so that the kernel's queue does not run over.
    pub async fn listen(&self) -> std::convert::Infallible {
        if let Some(ear) = &self.ear {
            ear.listen().await;
        }
        // Without it nothing ends: what is heard is then taken when it is asked for.
        std::future::pending().await
    }

    /// The host did something itself: what came of it is no action's.
    pub fn pass_over(&self) {
        self.of_the_host.store(true, Ordering::SeqCst);
    }

    /// Before an action: what was not its doing is looked at once, so that it is not taken for it.
    pub async fn begin(&self) {
        if !self.of_the_host.swap(false, Ordering::SeqCst) {
            return;
        }
        let (ear, tree) = (self.ear.clone(), Arc::clone(&self.tree));
        let look = move || {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            let heard = ear.map(|ear| ear.take()).unwrap_or_default();
            drop(tree.refresh(&heard));
        };
        // One that fails leaves the tree as it was, and the next look tells more than it should.
        let _ = tokio::task::spawn_blocking(look).await;
    }

    /// After an action: what it touched.
    pub async fn end(&self) -> Touched {
        let heard = self.ear.as_ref().map(|ear| ear.take());
        if let (Some(heard), Ok(mut tree)) = (&heard, self.tree.try_lock())
            && heard.is_little()
            && tree.hears_everything()
        {
            // Nothing has to be looked at: no thread is worth that.
            return report(&self.root, &mut tree, heard, true);
        }
        let (tree, root) = (Arc::clone(&self.tree), self.root.clone());
        let look = move || {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            let hears = heard.is_some();
            report(&root, &mut tree, &heard.unwrap_or_default(), hears)
        };
        let failed = |_| Touched { unseen: Some("the look at the workspace failed".to_owned()), ..Touched::default() };
        tokio::task::spawn_blocking(look).await.unwrap_or_else(failed)
    }
}

fn report(root: &Path, tree: &mut Tree, heard: &Heard, hears: bool) -> Touched {
    let difference = tree.refresh(heard);
    let mut report = Touched::default();
    if tree.is_spent() {
        report.unseen = Some(format!("the workspace has more than {MOST} entries: what changes is not looked at"));
        return report;
    }
    let (mut ignored, mut room) = (Ignored::new(root, tree), MOST_BYTES);
    changes(&mut report, &difference, &mut ignored, &mut room);
    let files = heard.read.iter().filter_map(|(watch, name)| tree.file(*watch, name));
    // The runner reads those of git itself.
    let mut read: Vec<PathBuf> =
        files.filter(|path| !difference.files.contains_key(path) && !path.ends_with(".gitignore")).collect();
    read.sort_unstable();
    report.read_unnamed = heard.further;
    for path in read {
        let name = path.to_string_lossy().into_owned();
        if report.read.len() == MOST_READ || name.len() > room || ignored.holds(&path) {
            report.read_unnamed += 1;
            continue;
        }
        room -= name.len();
        report.read.push(name);
    }
    report.unseen = unheard(tree, heard, hears).map(str::to_owned);
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

/// Where reads could not all be heard of; changes are seen all the same.
fn unheard(tree: &Tree, heard: &Heard, hears: bool) -> Option<&'static str> {
    if !hears {
        Some("the kernel grants no watcher: what was read is not known")
    } else if heard.lost {
        Some("too much happened at once: what was read is known in part")
    } else if tree.hears_everything() {
        None
    } else {
        Some("the kernel grants no more watches: what was read is known in part")
    }
}
