//! Deletion in the bot's repositories: refs of a task, and then unreferenced objects; or a whole repository.

use std::collections::BTreeSet;
use std::time::Duration;

use super::fetching::PackWriter;
use super::repos::{MAKING, TRANSFER};
use super::run::{Git, Input};
use super::{GitError, Repos, locks};

/// Age below which unreferenced objects are kept, because an import may have just brought them.
pub const UNBORN: Duration = Duration::from_secs(3600);

impl Repos {
    /// Deletes all refs of a task, including its base's, and gives their number. The objects are removed by the next [`Repos::tidy`].
    ///
    /// # Errors
    /// When git cannot write.
    pub async fn forget_task(&self, key: &str, task: i64) -> Result<usize, GitError> {
        let dir = self.path(key)?;
        if !dir.join("HEAD").is_file() {
            return Ok(0);
        }
        let list = Git::new("for-each-ref").at(&dir).arg("--format=delete %(refname)");
        let deletes = list.arg(format!("refs/caisson/{task}")).ok().await?;
        let count = deletes.iter().filter(|byte| **byte == b'\n').count();
        if count > 0 {
            locks::remove_left(&dir);
            Git::new("update-ref").at(&dir).arg("--stdin").input(Input::Bytes(deletes)).ok().await?;
        }
        Ok(count)
    }

    /// Numbers of the tasks that have refs here.
    ///
    /// # Errors
    /// When git cannot read.
    pub async fn tasks_with_refs(&self, key: &str) -> Result<BTreeSet<i64>, GitError> {
        let dir = self.path(key)?;
        if !dir.join("HEAD").is_file() {
            return Ok(BTreeSet::new());
        }
        let list = Git::new("for-each-ref").at(&dir).args(["--format=%(refname)", "refs/caisson/"]).ok().await?;
        let number = |line: &str| line.strip_prefix("refs/caisson/")?.split('/').next()?.parse().ok();
        Ok(String::from_utf8_lossy(&list).lines().filter_map(number).collect())
    }

    /// Keys of the repositories that are here, in their order.
    ///
    /// # Errors
    /// When their directory cannot be read.
    pub fn keys(&self) -> Result<Vec<String>, GitError> {
        let failed = |e: std::io::Error| GitError::io(&self.dir.display().to_string(), &e);
        let entries = match std::fs::read_dir(&self.dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut keys = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            keys.extend(name.to_str().and_then(|name| name.strip_suffix(".git")).map(str::to_owned));
        }
        keys.sort();
        Ok(keys)
    }

    /// Removes a repository with everything in it. Only where nobody works with it any more.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub async fn remove(&self, key: &str) -> Result<(), GitError> {
        let path = self.path(key)?;
        let failed = |e: std::io::Error| GitError::io(&path.display().to_string(), &e);
        let _one = self.making.lock().await;
        // Renamed first, so that a crash leaves no incomplete repository.
        let aside = tempfile::Builder::new().prefix(MAKING).tempdir_in(&self.dir).map_err(failed)?;
        std::fs::rename(&path, aside.path().join("removed")).map_err(failed)?;
        let removed = tokio::task::spawn_blocking(move || aside.close()).await;
        removed.map_err(|e| GitError::Io(e.to_string()))?.map_err(failed)
    }

    /// Repacks, and removes unreferenced objects older than `unborn` (normally [`UNBORN`]). Other processes may read and write meanwhile.
    ///
    /// # Errors
    /// When git cannot write; nothing that is referenced is lost.
    pub async fn tidy(&self, key: &str, unborn: Duration) -> Result<(), GitError> {
        let dir = self.path(key)?;
        if !dir.join("HEAD").is_file() {
            return Ok(());
        }
        let expire = match unborn.as_secs() {
            0 => "now".to_owned(),
            seconds => format!("{seconds}.seconds.ago"),
        };
        let _writer = PackWriter::begin(&dir);
        locks::remove_left(&dir);
        let git = |verb| Git::new(verb).at(&dir).timeout(TRANSFER);
        git("pack-refs").args(["--all", "--prune"]).ok().await?;
        let repack = git("repack").args(["-A", "-d", "-q"]).config("pack.threads", "1");
        repack.arg(format!("--unpack-unreachable={expire}")).ok().await?;
        git("prune").arg(format!("--expire={expire}")).ok().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Commit;

    /// One commit for each of two tasks, on a common base.
    async fn two_tasks(repos: &Repos) -> [Commit; 2] {
        let commit = |name: &str, from: &str| {
            format!(
                "commit refs/heads/{name}\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{from}M 100644 inline {name}.txt\ndata {}\n{name}\n",
                name.len() + 1
            )
        };
        let from = "from refs/heads/main\n";
        let stream = [commit("main", ""), commit("one", from), commit("two", from)].concat();
        repos.fast_import("shop", stream).await.expect("imported");
        let mut commits = Vec::new();
        for (task, name) in [(1, "one"), (12, "two")] {
            let found = repos.read_ref("shop", &format!("refs/heads/{name}")).await.expect("read").expect("there");
            repos.keep("shop", task, 1, &found).await.expect("kept");
            let main = repos.read_ref("shop", "refs/heads/main").await.expect("read").expect("there");
            repos.keep_base("shop", task, &found).await.expect("kept");
            repos.keep_base("shop", task, &main).await.expect("it may move");
            commits.push(found);
        }
        let dir = repos.path("shop").expect("a path");
        for name in ["one", "two"] {
            Git::new("update-ref").at(&dir).args(["-d", &format!("refs/heads/{name}")]).ok().await.expect("deleted");
        }
        commits.try_into().expect("two")
    }

    /// A repository that was taken out is fetched no more, so nothing else would remove them.
    #[tokio::test]
    async fn a_lock_that_a_killed_git_left_keeps_no_task() {
        let dir = tempfile::tempdir().expect("dir");
        let repos = Repos::new(dir.path());
        two_tasks(&repos).await;
        let lock = repos.path("shop").expect("a path").join("packed-refs.lock");
        let killed = || {
            std::fs::write(&lock, "").expect("written");
            drop(locks::Running::begin(lock.parent()));
        };
        killed();
        assert_eq!(repos.forget_task("shop", 1).await, Ok(2));
        killed();
        repos.tidy("shop", UNBORN).await.expect("tidied");
        assert!(!lock.exists());
    }

    #[tokio::test]
    async fn a_forgotten_tasks_objects_are_gone_and_everybody_elses_stay() {
        let dir = tempfile::tempdir().expect("dir");
        let repos = Repos::new(dir.path());
        assert_eq!(repos.forget_task("shop", 1).await, Ok(0), "no repository yet");
        let [one, two] = two_tasks(&repos).await;
        // Refs of task 12 do not belong to task 1.
        assert_eq!(repos.forget_task("shop", 1).await, Ok(2), "a checkpoint and its base");
        assert_eq!(repos.forget_task("shop", 1).await, Ok(0));
        assert_eq!(repos.checkpoint("shop", 1, 1).await, Ok(None));
        assert_eq!(repos.checkpoint("shop", 1, 0).await, Ok(None));
        repos.tidy("shop", UNBORN).await.expect("tidied");
        repos.require("shop", &one).await.expect("what came an hour ago at most stays");
        repos.tidy("shop", Duration::ZERO).await.expect("tidied");
        assert!(repos.require("shop", &one).await.is_err(), "its objects are gone");
        repos.require("shop", &two).await.expect("task 12's stay");
        assert_eq!(repos.checkpoint("shop", 12, 1).await, Ok(Some(two)));
        let packs = std::fs::read_dir(repos.path("shop").expect("a path").join("objects/pack")).expect("read");
        let packs =
            packs.filter(|it| it.as_ref().is_ok_and(|it| it.path().extension().is_some_and(|end| end == "pack")));
        assert_eq!(packs.count(), 1);
    }
}
