//! Records of living sandboxes, which survive restarts of the host.
//!
//! Owns one small JSON file per task in the state directory, and the allocation of subnets. An incomplete or unreadable file counts as no
//! sandbox, which is then prepared anew. Tests: below.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{Commit, Loss};
use protocol::router::Rule;
use protocol::runner::VERSION;
use serde::{Deserialize, Serialize};

use super::{Result, SandboxError};
use crate::git::PackBase;

/// A generation of a mirror, and its minimum content at that time; later it only has more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MirrorGeneration {
    pub name: String,
    #[serde(flatten)]
    pub base: PackBase,
    /// The commit whose files are checked out in it, as the lower layer of workspaces.
    #[serde(default)]
    pub tree: Option<Commit>,
}

impl MirrorGeneration {
    /// Whether a workspace layered over its tree begins exactly as this commit.
    pub(super) fn begins_as(&self, commit: &str) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.as_str() == commit)
    }
}

/// One task's container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub task: i64,
    pub attempt: u32,
    /// The container's name.
    pub name: String,
    pub base: String,
    pub image: String,
    #[serde(rename = "berth")]
    pub subnet: Option<u32>,
    pub egress: Vec<Rule>,
    /// Whether its repository may no longer use the network: the subnet stays closed, whatever its rules are.
    #[serde(default)]
    pub cut_off: bool,
    /// Key of the setup result it was made with.
    #[serde(default)]
    pub setup: Option<String>,
    /// The mirror it reads from, with its tree only if the workspace is layered over that.
    #[serde(default)]
    pub mirror: Option<MirrorGeneration>,
    /// The runner's boot id once the repository is in; `None` = incomplete, or known to be lost.
    pub boot: Option<String>,
    /// How it was lost, if that is known.
    #[serde(default)]
    pub lost: Option<Loss>,
    /// The lost sandbox that it replaces.
    #[serde(default)]
    pub anew: Option<Replacement>,
    /// Whether its processes were ended while the task waits, so that another boot is expected.
    #[serde(default)]
    pub stopped: bool,
    /// What was merged into it; none where nothing was, or what was brought over has it.
    #[serde(default)]
    pub merged: Option<Merged>,
    /// Unix milliseconds.
    #[serde(default)]
    pub made_at: i64,
    /// Version of the protocol that its runner speaks.
    #[serde(default = "first_version")]
    pub runner: u32,
    /// Whether its workspace is in memory, whatever is configured now: the work is gone with its processes.
    #[serde(default)]
    pub in_memory: bool,
}

/// A sandbox that replaces a lost one. The process may be interrupted before this is stored elsewhere; a repetition then finds the sandbox
/// and has to report the same loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// Name of the try, which its repetition has too.
    pub by: String,
    /// How the sandbox before was lost.
    pub loss: Loss,
}

/// Work that is merged: what `head` changes in `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The base before.
    pub from: Commit,
    /// The newest commit of the work on it.
    pub head: Commit,
}

/// A merge that was made in a sandbox, so that a try that is repeated tells the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Merged {
    pub from: Commit,
    pub head: Commit,
    pub conflicts: Vec<String>,
}

impl Merged {
    /// Whether this is what is to be merged.
    pub(super) fn is(&self, merge: &Merge) -> bool {
        (&self.from, &self.head) == (&merge.from, &merge.head)
    }
}

/// The version in records of earlier releases, which lack it.
fn first_version() -> u32 {
    1
}

impl Record {
    /// The record of a container that is to be made: its task and name, the commit that it begins from, its image, and the rules of its subnet.
    pub(super) fn new((task, name): (i64, String), base: &Commit, image: &str, egress: Vec<Rule>) -> Self {
        Self {
            task,
            attempt: 1,
            name,
            base: base.to_string(),
            image: image.to_owned(),
            subnet: None,
            egress,
            cut_off: false,
            setup: None,
            mirror: None,
            boot: None,
            lost: None,
            anew: None,
            stopped: false,
            merged: None,
            made_at: now_ms(),
            runner: VERSION,
            in_memory: false,
        }
    }

    /// The commit of the mirror's tree, if the workspace is a layer over it.
    pub(super) fn tree(&self) -> Option<&Commit> {
        self.mirror.as_ref()?.tree.as_ref()
    }
}

fn free(all: &HashMap<i64, Record>, subnets: u32, task: i64) -> Option<u32> {
    let taken: Vec<u32> = all.values().filter(|r| r.task != task).filter_map(|r| r.subnet).collect();
    (0..subnets).find(|subnet| !taken.contains(subnet))
}

pub(super) struct Records {
    dir: PathBuf,
    subnets: u32,
    all: Mutex<HashMap<i64, Record>>,
    /// Tasks that came from another host and have no sandbox here yet.
    came: Mutex<HashSet<i64>>,
}

impl Records {
    pub(super) fn load(dir: &Path, subnets: u32) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(dir).map_err(|e| io(dir, &e))?;
        let mut all = HashMap::new();
        for entry in std::fs::read_dir(dir).map_err(|e| io(dir, &e))? {
            let path = entry.map_err(|e| io(dir, &e))?.path();
            let Ok(text) = std::fs::read(&path) else { continue };
            match serde_json::from_slice::<Record>(&text) {
                Ok(record) => drop(all.insert(record.task, record)),
                Err(e) => tracing::warn!(path = %path.display(), error = %e, "not a sandbox's record; ignored"),
            }
        }
        Ok(Self { dir: dir.to_owned(), subnets, all: Mutex::new(all), came: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Record>> {
        // A panic while the lock was held leaves the map consistent.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, task: i64) -> Option<Record> {
        self.lock().get(&task).cloned()
    }

    pub(super) fn all(&self) -> Vec<Record> {
        self.lock().values().cloned().collect()
    }

    /// The record of a complete sandbox.
    pub(super) fn ready(&self, task: i64) -> Result<Record> {
        match self.get(task) {
            Some(record) if record.boot.is_some() => Ok(record),
            Some(record) => Err(SandboxError::Gone(record.lost.unwrap_or_default())),
            None => Err(SandboxError::Gone(self.absent(task))),
        }
    }

    /// Records that the sandbox of a task without a record is on another host.
    pub(super) fn came(&self, task: i64) {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Why there is no record: it is on another host, or the bot itself removed it.
    fn absent(&self, task: i64) -> Loss {
        let came = self.came.lock().unwrap_or_else(PoisonError::into_inner).contains(&task);
        if came { Loss::Moved } else { Loss::PutAway }
    }

    /// Writes the record of an incomplete sandbox, with a subnet if `network` is set.
    pub(super) fn begin(&self, mut record: Record, network: bool) -> Result<Record> {
        let mut all = self.lock();
        // Making it anew may fail, and the next try still needs the reason.
        record.lost = match all.get(&record.task) {
            Some(old) if old.boot.is_none() => old.lost,
            _ => Some(self.absent(record.task)),
        };
        if network {
            record.subnet = Some(free(&all, self.subnets, record.task).ok_or_else(|| {
                let said = format!("all {} subnets are taken; the task starts when one is free", self.subnets);
                SandboxError::Unavailable(said)
            })?);
        }
        self.write(&record)?;
        self.came.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.task);
        all.insert(record.task, record.clone());
        Ok(record)
    }

    /// A subnet that is free for this task.
    pub(super) fn free_subnet(&self, task: i64) -> Option<u32> {
        free(&self.lock(), self.subnets, task)
    }

    pub(super) fn change(&self, task: i64, change: impl FnOnce(&mut Record)) -> Result<()> {
        let mut all = self.lock();
        let Some(record) = all.get_mut(&task) else {
            return Err(SandboxError::Gone(Loss::PutAway));
        };
        change(record);
        let record = record.clone();
        self.write(&record)
    }

    pub(super) fn forget(&self, task: i64) -> Result<()> {
        let path = self.path(task);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(&path, &e)),
            _ => {}
        }
        self.lock().remove(&task);
        Ok(())
    }

    fn path(&self, task: i64) -> PathBuf {
        self.dir.join(format!("{task}.json"))
    }

    fn write(&self, record: &Record) -> Result<()> {
        let text = serde_json::to_vec(record).map_err(|e| SandboxError::Refused(e.to_string()))?;
        write_whole(&self.path(record.task), &text)
    }
}

/// Writes a file atomically: a new file, then renamed.
pub(crate) fn write_whole(path: &Path, text: &[u8]) -> Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).map_err(|e| io(&beside, &e))?;
    std::fs::rename(&beside, path).map_err(|e| io(path, &e))
}

fn io(path: &Path, e: &std::io::Error) -> SandboxError {
    SandboxError::Unavailable(format!("{}: {e}", path.display()))
}

/// Unix milliseconds.
pub(super) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(task: i64) -> Record {
        let base = Commit::parse(&"a".repeat(40)).unwrap();
        Record { runner: 1, made_at: 0, ..Record::new((task, format!("task-{task}-1")), &base, "", Vec::new()) }
    }

    #[test]
    fn a_sandbox_with_a_network_is_known_whatever_is_configured_now() {
        let dir = tempfile::tempdir().unwrap();
        let networked = || crate::sandbox::any_networked(dir.path()).unwrap();
        assert!(!networked());
        let records = Records::load(&dir.path().join("sandboxes"), 2).unwrap();
        records.begin(record(1), false).unwrap();
        assert!(!networked());
        records.begin(record(2), true).unwrap();
        assert!(networked());
    }

    #[test]
    fn subnets_are_lent_once_and_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::load(dir.path(), 2).unwrap();
        assert_eq!(records.begin(record(1), true).unwrap().subnet, Some(0));
        assert_eq!(records.begin(record(2), true).unwrap().subnet, Some(1));
        assert_eq!(records.begin(record(2), true).unwrap().subnet, Some(1), "its own subnet again");
        assert_eq!(records.begin(record(3), false).unwrap().subnet, None);
        std::fs::write(dir.path().join("9.json"), "{").unwrap();
        let again = Records::load(dir.path(), 2).unwrap();
        assert!(matches!(again.begin(record(4), true), Err(SandboxError::Unavailable(_))));
        again.forget(1).unwrap();
        assert_eq!(again.begin(record(4), true).unwrap().subnet, Some(0));
        assert!(matches!(again.ready(4), Err(SandboxError::Gone(_))), "half prepared");
        again.change(4, |r| r.boot = Some("b".to_owned())).unwrap();
        assert_eq!(again.ready(4).unwrap().subnet, Some(0));
    }
}
