//! Files in conflict after `/rebase`, each as an item with a number and a state: a pure fold over the task's log.
//!
//! Owns: which file gets a number, and what changes its state. Must not: read a file, or show anything. Tests: below.

use crate::{CapturedTree, Commit, Event, Rebased};

/// Where a file in conflict stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictState {
    /// The newest commit has marks of the conflict, or only the newer base's version; or there is no commit yet.
    Open,
    /// Nothing of it is to be seen any more since this commit.
    Resolved(Commit),
    /// Git merged it alone onto this newer base, to which the same work was brought instead.
    Merged(Commit),
}

/// A file that git could not merge alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictItem {
    /// Its number in the task, from 1, in the order of the log.
    pub number: u32,
    /// As the sandbox named it. Untrusted.
    pub path: String,
    /// The base onto which it could not be merged.
    pub onto: Commit,
    /// Where it stands.
    pub state: ConflictState,
    /// Whether the newest commit holds what is left of it, which then comes along onto another base.
    marked: bool,
}

impl ConflictItem {
    /// Its name for people.
    pub fn name(&self) -> String {
        format!("x{}", self.number)
    }

    /// Whether the conflict is still to be resolved, as far as it can be seen.
    pub fn is_open(&self) -> bool {
        self.state == ConflictState::Open
    }

    fn captured(&mut self, tree: &CapturedTree) {
        self.marked = tree.marked.contains(&self.path);
        match (self.marked, &self.state) {
            (true, ConflictState::Open | ConflictState::Resolved(_)) => self.state = ConflictState::Open,
            (false, ConflictState::Open) => self.state = ConflictState::Resolved(tree.commit.clone()),
            (false, ConflictState::Resolved(_)) | (_, ConflictState::Merged(_)) => {}
        }
    }
}

/// The work was brought onto another base: an open item is the same one where its file conflicts there, too.
fn brought(items: &mut Vec<ConflictItem>, moved: &Rebased) {
    for item in items.iter_mut().filter(|item| item.is_open()) {
        match item.marked || moved.conflicts.contains(&item.path) {
            true => item.onto = moved.onto.clone(),
            false => item.state = ConflictState::Merged(moved.onto.clone()),
        }
    }
    for path in &moved.conflicts {
        if !items.iter().any(|item| item.is_open() && item.path == *path) {
            let number = u32::try_from(items.len()).unwrap_or(u32::MAX).saturating_add(1);
            let (path, onto) = (path.clone(), moved.onto.clone());
            items.push(ConflictItem { number, path, onto, state: ConflictState::Open, marked: false });
        }
    }
}

/// The files in conflict of a log, in the order of their numbers. One that is open when the work is brought onto another base keeps its number.
pub fn conflict_items<'a>(log: impl IntoIterator<Item = &'a Event>) -> Vec<ConflictItem> {
    let mut items: Vec<ConflictItem> = Vec::new();
    let mut base: Option<&Commit> = None;
    for event in log {
        if let Event::Rebased(moved) = event {
            base = Some(&moved.onto);
            brought(&mut items, moved);
        } else if let Event::TreeCaptured { tree, .. } = event {
            for item in items.iter_mut().filter(|item| base == Some(&item.onto)) {
                item.captured(tree);
            }
        } else if let Event::TreeUnchanged { commit, .. } = event
            && base == Some(commit)
        {
            // The tree is the new base's: nothing of the work's version is in it.
            for item in items.iter_mut().filter(|item| item.onto == *commit) {
                (item.state, item.marked) = (ConflictState::Open, true);
            }
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: &str) -> Commit {
        Commit::parse(&digit.repeat(40)).expect("a commit")
    }

    fn moved(onto: &str, conflicts: &[&str]) -> Event {
        let conflicts = conflicts.iter().map(|path| (*path).to_owned()).collect();
        Event::Rebased(Box::new(Rebased { from: commit("0"), onto: commit(onto), head: commit("1"), conflicts }))
    }

    fn captured(of: &str, marked: &[&str]) -> Event {
        let (files, steering, left_out, outside, facts) = Default::default();
        let tree = CapturedTree {
            commit: commit(of),
            files,
            diff: String::new(),
            diff_cut: 0,
            steering,
            left_out,
            outside,
            marked: marked.iter().map(|path| (*path).to_owned()).collect(),
            facts,
        };
        Event::TreeCaptured { n: 1, tree }
    }

    fn states(log: &[Event]) -> Vec<(String, String, ConflictState)> {
        conflict_items(log).into_iter().map(|it| (it.name(), it.path, it.state)).collect()
    }

    #[test]
    fn a_conflict_is_open_until_a_commit_shows_nothing_of_it_and_again_when_it_comes_back() {
        let item = |name: &str, path: &str, state| (name.to_owned(), path.to_owned(), state);
        let mut log = vec![captured("9", &[]), moved("a", &["x.py", "y.py"])];
        assert_eq!(
            states(&log),
            [item("x1", "x.py", ConflictState::Open), item("x2", "y.py", ConflictState::Open)],
            "no commit holds the work yet"
        );
        log.push(captured("b", &["y.py"]));
        log.push(captured("c", &["y.py"]));
        let resolved = ConflictState::Resolved(commit("b"));
        assert_eq!(states(&log)[0], item("x1", "x.py", resolved), "since the first such commit");
        log.push(captured("d", &["x.py"]));
        assert_eq!(states(&log)[0].2, ConflictState::Open);
        assert_eq!(states(&log)[1].2, ConflictState::Resolved(commit("d")));
        // The next base: what is open keeps its number where it conflicts again, what was resolved gets another one.
        log.push(moved("e", &["y.py"]));
        assert_eq!(states(&log)[0].2, ConflictState::Open, "its marks come along with the commit");
        assert_eq!(states(&log)[1].2, ConflictState::Resolved(commit("d")));
        assert_eq!(states(&log)[2], item("x3", "y.py", ConflictState::Open));
        log.push(moved("f", &["y.py"]));
        assert_eq!(states(&log).len(), 3, "the same work, brought onto a still newer base");
        log.push(Event::TreeUnchanged { n: 2, commit: commit("f"), left_out: Vec::new() });
        assert_eq!(states(&log)[2].2, ConflictState::Open);
        log.push(captured("7", &[]));
        for at in [0, 2] {
            assert_eq!(states(&log)[at].2, ConflictState::Resolved(commit("7")));
        }
        log.extend([moved("2", &["z.py"]), moved("3", &[]), captured("8", &["z.py"])]);
        assert_eq!(states(&log)[3].2, ConflictState::Merged(commit("3")), "before a commit held its marks");
    }
}
