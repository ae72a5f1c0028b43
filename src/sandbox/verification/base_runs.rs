//! Stored results of checks on base commits, for every verification, repair and later task of the same base.
//!
//! Owns one small file per base commit, image, setup and command in the state directory. Such a run involves no agent's code: its sandbox
//! is new, without a network, with the base and its setup result. Only a run that ended by itself is stored, for a week, so that a
//! temporary failure of this machine does not last. An unreadable file counts as none. Must not judge. Tests: below and
//! `tests/trees/base_runs.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use domain::Commit;
use protocol::runner::{Outcome, Status};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::report;
use super::runs::Runs;
use crate::sandbox::core::Core;
use crate::sandbox::detect::Detected;
use crate::sandbox::{Result, VerifySpec};

/// How long a result is used.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// The most results of all repositories, and their bytes.
const MOST: usize = 200;
const MOST_BYTES: u64 = 64 << 20;

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    repository: String,
    commit: String,
    command: String,
    outcome: Outcome,
}

struct KeptRuns {
    dir: PathBuf,
}

impl KeptRuns {
    fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn get(&self, key: &str, now: SystemTime) -> Option<Outcome> {
        let path = self.path(key);
        let written = std::fs::metadata(&path).and_then(|it| it.modified()).ok()?;
        if now.duration_since(written).is_ok_and(|age| age > KEPT) {
            return None;
        }
        let kept: Kept = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some(kept.outcome)
    }

    /// Stores a result atomically; a failure only costs another run and is logged.
    fn put(&self, key: &str, kept: &Kept, now: SystemTime) {
        if let Err(error) = self.write(key, kept) {
            tracing::warn!(%error, path = %self.dir.display(), "the base's run was not kept");
        }
        self.sweep(now);
    }

    fn write(&self, key: &str, kept: &Kept) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        serde_json::to_writer(&mut file, kept).map_err(std::io::Error::other)?;
        file.as_file().sync_all()?;
        file.persist(self.path(key)).map_err(|e| e.error)?;
        Ok(())
    }

    /// Removes results that are too old, then the oldest until few enough are left; incomplete files age the same way.
    fn sweep(&self, now: SystemTime) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut all: Vec<(SystemTime, u64, PathBuf)> = entries.flatten().map(|entry| stated(entry.path())).collect();
        all.sort_by_key(|(written, ..)| std::cmp::Reverse(*written));
        let mut total = 0;
        for (at, (written, bytes, path)) in all.into_iter().enumerate() {
            total += bytes;
            if at >= MOST || total > MOST_BYTES || now.duration_since(written).is_ok_and(|age| age > KEPT) {
                drop(std::fs::remove_file(path));
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.json"))
    }
}

/// When a file was written, and its bytes.
fn stated(path: PathBuf) -> (SystemTime, u64, PathBuf) {
    let found = std::fs::metadata(&path).ok();
    let written = found.as_ref().and_then(|it| it.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
    (written, found.map_or(0, |it| it.len()), path)
}

/// Runs checks on bases, or finds their stored results.
pub struct BaseRuns {
    core: Arc<Core>,
    runs: Arc<Runs>,
    kept: KeptRuns,
}

impl BaseRuns {
    pub(in crate::sandbox) fn new(core: Arc<Core>, runs: Arc<Runs>) -> Self {
        let kept = KeptRuns::new(core.settings.state_dir.join("base-runs"));
        Self { core, runs, kept }
    }

    /// The run of `command` on the base of `spec`: the stored one, or a new one, which is stored if it ended by itself.
    pub(in crate::sandbox) async fn base_run(&self, spec: &VerifySpec, command: &str, side: &str) -> Result<Outcome> {
        let image = self.core.image(&spec.image).await?.map(|it| it.id);
        let setup = self.core.setup_of(spec.task).unwrap_or_default();
        let Some(image) = image else { return self.runs.run_tests(spec, &spec.base, command, side, &[]).await };
        let limits = format!("{:?} {}", spec.limits, spec.wall_ms);
        // The last word: earlier versions stored less of a long output.
        let key = key(&spec.repo_key, &spec.base, &[&image, &setup, command, &limits, "whole"]);
        if let Some(kept) = self.kept.get(&key, SystemTime::now()) {
            return Ok(kept);
        }
        let outcome = self.runs.run_tests(spec, &spec.base, command, side, &[]).await?;
        // A failed run that names no test may have failed for a temporary reason.
        let tells = report::ran(&outcome).is_some_and(|tests| !tests.is_empty());
        if matches!(outcome.status, Status::Ok) || tells && matches!(outcome.status, Status::Exited { .. }) {
            let (repository, commit) = (spec.repo_key.clone(), spec.base.to_string());
            let kept = Kept { repository, commit, command: command.to_owned(), outcome };
            self.kept.put(&key, &kept, SystemTime::now());
            return Ok(kept.outcome);
        }
        Ok(outcome)
    }

    /// The checks of a base and their result; none where no command is known.
    ///
    /// # Errors
    /// As [`Verification::verify`](super::verify::Verification::verify).
    pub async fn checks_of_base(&self, spec: &VerifySpec) -> Result<Option<(Detected, Outcome)>> {
        let Some(test) = self.runs.test_of(spec).await? else { return Ok(None) };
        // A unique name, because a container just dropped may still be being removed.
        let side = format!("start{}", self.core.next_id() % 100_000);
        let outcome = self.base_run(spec, &test.command, &side).await?;
        Ok(Some((test, outcome)))
    }
}

/// Hash with the length of each part, so that different lists never give the same key.
fn key(repository: &str, commit: &Commit, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in [repository, commit.as_str()].into_iter().chain(parts.iter().copied()) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Kept {
        let outcome = Outcome { duration_ms: 3, ..Outcome::new(Status::Exited { code: 1 }, text) };
        Kept { repository: "shop".into(), commit: "c".into(), command: "make test".into(), outcome }
    }

    #[test]
    fn a_run_is_found_again_until_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let (runs, now) = (KeptRuns::new(dir.path().join("base-runs")), SystemTime::now());
        assert_eq!(runs.get("a", now), None);
        runs.put("a", &kept("one"), now);
        runs.put("a", &kept("two"), now);
        assert_eq!(runs.get("a", now).map(|it| it.text), Some("two".to_owned()));
        let later = now + KEPT + Duration::from_secs(60);
        assert_eq!(runs.get("a", later), None);
        runs.put("b", &kept("three"), later);
        assert!(!runs.path("a").exists(), "swept");
        std::fs::write(runs.path("b"), "{\"half").unwrap();
        assert_eq!(runs.get("b", now), None, "what cannot be read is no run");
    }

    #[test]
    fn few_enough_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (runs, now) = (KeptRuns::new(dir.path()), SystemTime::now());
        for at in 0..MOST + 3 {
            runs.write(&format!("{at}"), &kept("x")).unwrap();
            let file = std::fs::File::open(runs.path(&format!("{at}"))).unwrap();
            file.set_modified(now - Duration::from_secs(at as u64)).unwrap();
        }
        runs.sweep(now);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), MOST);
        assert!(runs.path("0").exists() && !runs.path(&format!("{}", MOST + 2)).exists(), "the oldest went");
        std::fs::File::create(runs.path("1")).unwrap().set_len(MOST_BYTES).unwrap();
        std::fs::File::open(runs.path("1")).unwrap().set_modified(now - Duration::from_secs(1)).unwrap();
        runs.sweep(now);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "so large that only a newer one fits beside it");
    }

    #[test]
    fn every_part_of_a_key_counts() {
        let commit = |c: &str| Commit::parse(&c.repeat(40)).unwrap();
        let one = key("shop", &commit("a"), &["image", "setup", "command"]);
        for other in [
            key("shop2", &commit("a"), &["image", "setup", "command"]),
            key("shop", &commit("b"), &["image", "setup", "command"]),
            key("shop", &commit("a"), &["imagesetup", "", "command"]),
            key("shop", &commit("a"), &["image", "setup", "command2"]),
        ] {
            assert_ne!(one, other);
        }
    }
}
