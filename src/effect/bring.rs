//! Fetches the commits of a task that another host began or continued, before anything is done with them.
//!
//! Pushed commits come from the forge; the newest commit that may not be pushed comes from the store, with an authentication tag by the key
//! that all hosts share, so that write access to the database alone is not enough to make commits. Tests: `tests/stories/several.rs`.

use super::repository::{Repositories, request};
use crate::config::Secret;
use crate::git::{GitError, Meaning, PackLimits};
use crate::trouble::Trouble;
use domain::{Commit, Effect, Task, TaskId};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Larger commits are not stored and stay on their host until they are pushed, because writing a pack makes all other hosts wait.
const MOST_BYTES: u64 = 8 << 20;
/// Bytes of the tag in front of a pack (HMAC-SHA256).
const TAG: usize = 32;

impl Repositories {
    /// Stores a commit for other hosts until it is pushed, with all objects that the forge lacks, if that can be done. Does nothing without
    /// other hosts.
    pub(super) async fn lend(&self, task: &Task, commit: &Commit) -> Result<(), Trouble> {
        let Some(parent) = task.on_the_forge().filter(|it| *it != commit) else {
            return Ok(());
        };
        if !self.store.is_shared() {
            return Ok(());
        }
        let key = &request(task)?.repository;
        let Some(pack) = self.repos.increment(key, commit, parent, MOST_BYTES).await? else {
            tracing::warn!(task = task.id.0, "a commit is too large for the store: it stays here until it is pushed");
            return Ok(());
        };
        // Not tried again: over a slow line it would fail each time, and the commit is made anew each time. A lost lease is found by what
        // stores the commit's event.
        if let Err(error) = self.store.keep_pack(task.id, commit, tagged(&self.pack_key, task.id, commit, &pack)).await
        {
            tracing::warn!(task = task.id.0, %error, "a commit could not be stored: it stays here until it is pushed");
        }
        Ok(())
    }

    /// Imports a commit from the store; false if it is not there or incomplete.
    async fn unpack(&self, task: &Task, key: &str, commit: &Commit) -> Result<bool, Trouble> {
        let Some(parent) = task.on_the_forge() else { return Ok(false) };
        let Some(stored) = self.store.pack(task.id, commit).await? else { return Ok(false) };
        let Some(mut pack) = untagged(&self.pack_key, task.id, commit, &stored) else {
            tracing::error!(task = task.id.0, %commit, "a commit in the store was not put there by a host of this installation");
            return Ok(false);
        };
        let limits = PackLimits { pack_bytes: MOST_BYTES, ..PackLimits::default() };
        self.repos.import(key, &mut pack, limits).await?;
        // A commit with missing parents cannot be walked.
        if !self.repos.is_ancestor(key, parent, commit).await.unwrap_or(false) {
            return Ok(false);
        }
        self.repos.complete(key, parent, commit).await?;
        self.repos.keep_brought(key, task.id.0, commit).await?;
        Ok(true)
    }

    /// Makes sure that the local repository has the commits that an effect needs: it is a cache, so another host may have worked on the
    /// task, or it was deleted.
    pub(super) async fn bring(&self, task: &Task, effect: &Effect) -> Result<(), Trouble> {
        if task.base.is_none() || !effect.needs().commits {
            return Ok(());
        }
        self.bring_all(task, needed(task, effect)).await
    }

    /// Makes sure that the local repository has these commits of a task.
    pub(super) async fn bring_all(&self, task: &Task, needed: Vec<Commit>) -> Result<(), Trouble> {
        if self.known_commits.has(task.id, &needed) {
            return Ok(());
        }
        // Several tasks of a repository may come at once.
        let _one = self.known_commits.one_at_a_time().await;
        let repository = self.of(task)?;
        let key = &repository.key;
        self.repos.ensure(key).await?;
        let mut missing = self.missing(key, &needed).await?;
        if !missing.is_empty() {
            self.repos.fetch(key, &repository.url, Some(&self.auth)).await?;
            missing = self.missing(key, &missing).await?;
        }
        for commit in &missing {
            self.unpack(task, key, commit).await?;
        }
        for commit in self.missing(key, &missing).await? {
            // The forge may still have it, also without its branch.
            let fetched = self.repos.fetch_commit(key, &repository.url, Some(&self.auth), &commit).await;
            fetched.map_err(|error| unfetched(&commit, error))?;
        }
        self.known_commits.note(task.id, needed);
        Ok(())
    }

    async fn missing(&self, key: &str, of: &[Commit]) -> Result<Vec<Commit>, Trouble> {
        let mut missing = Vec::new();
        for commit in of {
            if !self.repos.has(key, commit).await? {
                missing.push(commit.clone());
            }
        }
        Ok(missing)
    }
}

/// Why a commit that is neither here nor in the store was not fetched: only where the forge answered that it has none it is nowhere.
fn unfetched(commit: &Commit, error: GitError) -> Trouble {
    match error {
        GitError::Failed { .. } if error.meaning() == Meaning::Lasting => Trouble::blocked(format!(
            "the commit {commit} is neither here nor on the forge nor in the store: start the host on which this task ran before, or `/stop` the task"
        )),
        other => other.into(),
    }
}

fn tag(key: &Secret, task: TaskId, commit: &Commit, pack: &[u8]) -> Option<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(key.bytes()).ok()?;
    Some(mac.chain_update(format!("pack\n{task}\n{commit}\n")).chain_update(pack))
}

/// A pack after its tag; empty if the key is unusable.
fn tagged(key: &Secret, task: TaskId, commit: &Commit, pack: &[u8]) -> Vec<u8> {
    let tag = tag(key, task, commit, pack).map(|mac| mac.finalize().into_bytes());
    tag.map_or_else(Vec::new, |tag| [tag.as_slice(), pack].concat())
}

/// The pack, if its tag was made with this key for this commit and task.
fn untagged<'a>(key: &Secret, task: TaskId, commit: &Commit, stored: &'a [u8]) -> Option<&'a [u8]> {
    let (given, pack) = stored.split_at_checked(TAG)?;
    tag(key, task, commit, pack)?.verify_slice(given).is_ok().then_some(pack)
}

fn needed(task: &Task, effect: &Effect) -> Vec<Commit> {
    let all = [task.base.as_ref(), task.head.as_ref(), task.kept.as_ref(), effect.commit()];
    let moved = task.rebase.iter().flat_map(|rebase| [&rebase.from, &rebase.head]);
    all.into_iter().flatten().chain(moved).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_nowhere_only_where_the_forge_says_so() {
        let commit = Commit::parse(&"1".repeat(40)).unwrap();
        let failed =
            |stderr: &str| unfetched(&commit, GitError::Failed { verb: "fetch", code: 128, stderr: stderr.to_owned() });
        let none = failed("fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111");
        assert!(matches!(none, Trouble::Failed(_)) && none.to_string().contains("nor on the forge"), "{none}");
        let away = failed("fatal: unable to access 'http://h/a/b.git/': The requested URL returned error: 503");
        assert!(matches!(away, Trouble::Later { .. }), "{away}");
        let slow = unfetched(&commit, GitError::TimedOut { verb: "fetch", seconds: 600 });
        assert!(matches!(slow, Trouble::Later { .. }), "{slow}");
    }

    #[test]
    fn a_commit_with_another_tag_is_none_of_ours() {
        let (key, other) = (Secret::new("k"), Secret::new("l"));
        let (one, two) = (Commit::parse(&"1".repeat(40)).unwrap(), Commit::parse(&"2".repeat(40)).unwrap());
        let stored = tagged(&key, TaskId(1), &one, b"pack");
        assert_eq!(untagged(&key, TaskId(1), &one, &stored), Some(&b"pack"[..]));
        let changed: Vec<u8> = stored.iter().copied().chain(*b"!").collect();
        assert_eq!(untagged(&other, TaskId(1), &one, &stored), None);
        assert_eq!(untagged(&key, TaskId(2), &one, &stored), None);
        assert_eq!(untagged(&key, TaskId(1), &two, &stored), None);
        assert_eq!(untagged(&key, TaskId(1), &one, &changed), None);
        assert_eq!(untagged(&key, TaskId(1), &one, b"pack"), None);
    }
}
