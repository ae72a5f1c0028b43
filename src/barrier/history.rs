//! A repository of the test's own, brought into its sandbox through a mirror like a task's.
//!
//! Besides the default branch it has content that no task may read: another task's commit, another branch, a removed commit. Owns that
//! repository and the git commands run inside; `crate::sandbox` makes the mirror. Tests: `tests/barrier/`.

use std::collections::BTreeSet;

use domain::Commit;
use protocol::broker::PROBE_USERS;
use protocol::probe::{Finding, OPEN};

use super::inside::Inside;
use super::{BarrierSetup, Untested};
use crate::git::{GitError, Repos, checkpoint_ref};
use crate::sandbox::{SandboxError, Sandboxes, Settings};

const KEY: &str = "barrier";
/// The default branch, another branch, and the former default branch before it was rewritten.
const BRANCHES: [&str; 3] = ["main", "other", "leaked"];
const TEXT: &str = "the base";
pub(super) const THROUGH: &str = "a file, through the alternates";
pub(super) const ALL: &str = "all objects";
/// Without git nothing can be read; a task with such an image is refused before anything is brought in.
pub(super) const NO_GIT: &str = "the image has no git";
/// A number of no real task.
const OTHER_TASK: i64 = 1;

impl From<GitError> for Untested {
    fn from(error: GitError) -> Self {
        Self(error.to_string())
    }
}

impl From<SandboxError> for Untested {
    fn from(error: SandboxError) -> Self {
        Self(error.to_string())
    }
}

pub(super) struct History {
    sandboxes: Sandboxes,
    base: Commit,
    allowed: BTreeSet<String>,
    /// Commits that no task may read, each with a description.
    forbidden: [(&'static str, Commit); 3],
    /// Name of the mirror; none where it could not be made.
    pub mirror: Option<String>,
    _dir: tempfile::TempDir,
}

/// One commit for `git fast-import`, on its branch's last commit unless `from` names another.
fn commit(of: &str, from: Option<&str>, text: &str) -> String {
    let from = from.map(|from| format!("from {from}\n")).unwrap_or_default();
    let who = "committer Caisson <caisson@localhost> 1700000000 +0000";
    let (message, bytes) = (format!("data {}\n{text}\n", text.len()), text.len());
    format!("commit {of}\n{who}\n{message}{from}M 644 inline file\ndata {bytes}\n{text}\n")
}

impl History {
    /// Makes the repository, and its mirror through the tested broker.
    pub async fn make(setup: &BarrierSetup) -> Result<History, Untested> {
        let dir = tempfile::Builder::new().prefix("barrier-").tempdir_in(&setup.state_dir)?;
        let repos = Repos::new(dir.path().join("repos"));
        let [main, other, leaked] = BRANCHES.map(|name| format!("refs/remotes/origin/{name}"));
        let task = checkpoint_ref(OTHER_TASK, 1);
        let mut stream = commit(&main, None, "before the base") + &commit(&main, None, TEXT);
        let texts =
            [(task, "of another task"), (other, "of another branch"), (leaked, "a password that was taken out")];
        for (at, text) in texts {
            stream += &commit(&at, Some(&main), text);
        }
        repos.fast_import(KEY, stream).await?;
        let [main, other, leaked] = BRANCHES.map(crate::git::Branch::parse);
        let (base, branch) = (repos.resolve(KEY, &main?).await?, repos.resolve(KEY, &other?).await?);
        let leaked = repos.resolve(KEY, &leaked?).await?;
        let task = repos.checkpoint(KEY, OTHER_TASK, 1).await?;
        let task = task.ok_or_else(|| Untested("the test's own repository lacks a commit".to_owned()))?;
        let forbidden = [
            ("another task's commit", task),
            ("another branch's commit", branch),
            ("a secret that was taken out", leaked.clone()),
        ];
        let allowed = repos.reached(KEY, &base).await?;
        let mut settings = Settings::new(dir.path(), &setup.own_image);
        (settings.mirror_from_bytes, settings.user) = (0, Some(PROBE_USERS[0]));
        let sandboxes = Sandboxes::new(setup.broker.clone(), None, repos, settings, setup.epoch)?;
        // The branch was here and is then rewritten: objects of the first mirror must not be in the second.
        let mut mirror = sandboxes.mirrors.mirror_for_probe(KEY, &leaked).await;
        if mirror.is_ok() {
            mirror = sandboxes.mirrors.mirror_for_probe(KEY, &base).await;
        }
        if mirror.is_err() {
            sandboxes.mirrors.drop_mirror(KEY).await?;
        }
        Ok(History { sandboxes, base, allowed, forbidden, mirror: mirror?, _dir: dir })
    }

    /// Brings the base into a sandbox, and lists what git can read there.
    pub async fn look(&self, inside: Inside) -> Result<(Inside, Vec<Finding>), Untested> {
        let (inside, brought) = inside.furnished(&self.sandboxes.loader, KEY, &self.base).await;
        let mut found = Vec::new();
        match brought {
            Ok(true) => {}
            Ok(false) => {
                let asked = [(24, THROUGH), (30, ALL)].into_iter();
                let asked = asked.chain(self.forbidden.iter().map(|(what, _)| (30, *what)));
                found.extend(asked.map(|(check, what)| Finding::new(check, what, NO_GIT)));
                return Ok((inside, found));
            }
            // A busy engine says nothing about the barrier.
            Err(error @ SandboxError::Unavailable(_)) => return Err(error.into()),
            Err(error) => {
                found.push(Finding::new(30, ALL, format!("the repository could not be brought in: {error}")));
                return Ok((inside, found));
            }
        }
        // The workspace has no objects of its own, so anything found comes through the alternates.
        let text = inside.bash("ls .git/objects/pack; git cat-file blob HEAD:file").await?;
        let seen = if text.trim_end() == TEXT { "its text".to_owned() } else { text };
        found.push(Finding::new(24, THROUGH, seen));
        let listed = inside.bash("git cat-file --batch-all-objects --batch-check='%(objectname)'").await?;
        let all: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
        let (more, fewer) = (all.difference(&self.allowed).count(), self.allowed.difference(&all).count());
        let seen = match (more, fewer) {
            (0, 0) => "what the base reaches".to_owned(),
            _ => format!("{more} that the base does not reach; {fewer} of its own are missing"),
        };
        found.push(Finding::new(30, ALL, seen));
        for (what, commit) in &self.forbidden {
            let there = inside.bash(&format!("git cat-file -e {commit} 2>/dev/null && echo there")).await?;
            found.push(Finding::new(30, *what, if there.is_empty() { "absent" } else { OPEN }));
        }
        Ok((inside, found))
    }

    /// Must be called after the sandboxes are removed.
    pub async fn remove(self) -> Result<(), Untested> {
        Ok(self.sandboxes.mirrors.drop_mirror(KEY).await?)
    }
}
