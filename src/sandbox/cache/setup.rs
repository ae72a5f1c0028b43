//! Results of a project's `setup` commands, made once and copied into every later sandbox with the same key.
//!
//! Owns a sandbox that no agent has used (the pinned base, the task's subnet and rules), the key (repository, the base's tree, commands,
//! image id), and two archives per key in the state directory: files of the workspace that the project ignores, and the home directory.
//! This process does not parse them: only sandboxes pack or unpack them, each gets a copy, and nothing is written back
//! (`docs/decisions/0006-setup-results-are-files.md`). Tests: below and `tests/trees/setup.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use domain::Commit;
use protocol::broker::{ContainerSpec, Purpose};
use protocol::runner::{Op, Outcome, Status};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::loader::RepositoryLoader;
use super::mirror::Mirrors;
use crate::disk::free_bytes;
use crate::sandbox::container_end::closed;
use crate::sandbox::core::Core;
use crate::sandbox::record::Record;
use crate::sandbox::session::{self, NO_PIPES, Session, Work};
use crate::sandbox::{PrepareSpec, Result, SandboxError};

/// Commands that prepare a sandbox before the agent enters, and the commit they run on.
#[derive(Debug, Clone)]
pub struct SetupSpec {
    /// Not empty.
    pub commands: Vec<String>,
    /// The pinned base, even if the work continues from a later commit.
    pub commit: Commit,
    /// Longest run of one command, in milliseconds.
    pub wall_ms: u64,
}

/// One command and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The command line. Untrusted.
    pub command: String,
    /// How it ended, and what it printed.
    pub outcome: Outcome,
}

impl Tried {
    /// Whether it ended by itself with exit code 0.
    pub fn worked(&self) -> bool {
        matches!(self.outcome.status, Status::Ok | Status::Exited { code: 0 })
    }
}

/// A result that nobody used for this long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
const QUIESCE_MS: u64 = 10_000;
const COPY_MS: u64 = 600_000;

/// Packs files that the project ignores, because others would appear in the agent's tree. Only `.gitignore` files count, not what a command
/// wrote into `.git`. Git lists a repository inside an ignored folder as one folder, which is packed with all that is in it.
const PACK_WORK: &str = r#"
list=$(mktemp)
git --git-dir=.git --work-tree=. ls-files -z --others --ignored --exclude-per-directory=.gitignore > "$list"
exec tar -c --null -T "$list" -f -
"#;
const PACK_HOME: &str = r#"cd "$HOME"; exec tar -c -f - ."#;
const UNPACK_WORK: &str = "exec tar -x --no-same-owner -f -";
const UNPACK_HOME: &str = r#"set -eu; cd "$HOME"; exec tar -x --no-same-owner -f -"#;

/// The archives of a key, with the scripts that pack and unpack each.
const PARTS: [(&str, &str, &str, &str); 2] =
    [("work.tar", NO_PIPES, PACK_WORK, UNPACK_WORK), ("home.tar", "\n", PACK_HOME, UNPACK_HOME)];

/// Runs setup commands and keeps their results.
pub(in crate::sandbox) struct Setups {
    core: Arc<Core>,
    mirrors: Arc<Mirrors>,
    loader: Arc<RepositoryLoader>,
    /// Held while setup commands run.
    setting_up: Mutex<()>,
    /// Held while results are removed, and while one is looked up and marked as used.
    removing: Mutex<()>,
}

impl Setups {
    pub fn new(core: Arc<Core>, mirrors: Arc<Mirrors>, loader: Arc<RepositoryLoader>) -> Self {
        Self { core, mirrors, loader, setting_up: Mutex::default(), removing: Mutex::default() }
    }

    /// Removes results that no living sandbox was made with, unless one is being made right now.
    pub async fn sweep(&self) -> Result<()> {
        if let Ok(_none) = self.setting_up.try_lock() {
            self.forget_setups("").await?;
        }
        Ok(())
    }

    /// The key of the result, which is made if necessary; `None` without commands. One process makes one at a time, so that tasks started
    /// together wait for the first; one that is there already is waited for by none. `tried` gets each command that ran, with its outcome.
    pub async fn set_up(&self, spec: &PrepareSpec, tried: &mut Vec<Tried>) -> Result<Option<String>> {
        let Some(setup) = spec.setup.as_ref().filter(|it| !it.commands.is_empty()) else { return Ok(None) };
        let image = self.core.image(&spec.image).await?.map(|it| it.id).unwrap_or_default();
        let text = self.core.repos.commit_text(&spec.repo_key, &setup.commit).await?;
        let tree = text.lines().next().unwrap_or_default().to_owned();
        let key = key(&spec.repo_key, &tree, &setup.commands, &image);
        let kept = self.dir().join(&key);
        if self.is_kept(&kept).await {
            return Ok(Some(key));
        }
        let _one = self.setting_up.lock().await;
        // Another task may have made it meanwhile.
        if !self.is_kept(&kept).await {
            self.forget_setups(&key).await?;
            self.run_setup(spec, setup, &kept, tried).await?;
            touch(&kept);
        }
        Ok(Some(key))
    }

    /// Whether a result is there, which then counts as used now.
    async fn is_kept(&self, kept: &Path) -> bool {
        let _none = self.removing.lock().await;
        let found = kept.is_dir();
        if found {
            touch(kept);
        }
        found
    }

    /// Unpacks a result into a sandbox that has the repository already.
    pub async fn bring_setup(&self, session: &Session, key: Option<&str>) -> Result<()> {
        let Some(kept) = key.map(|key| self.dir().join(key)) else { return Ok(()) };
        for (name, _, _, unpack) in PARTS {
            let path = kept.join(name);
            let mut file = tokio::fs::File::open(&path).await.map_err(|e| io(&path, &e))?;
            let work = Work::new(["sh", "-c", unpack]).wall(COPY_MS).input(&mut file);
            session.must(work, "bringing in what setup left").await?;
        }
        Ok(())
    }

    async fn run_setup(
        &self,
        spec: &PrepareSpec,
        setup: &SetupSpec,
        kept: &Path,
        tried: &mut Vec<Tried>,
    ) -> Result<()> {
        let name = format!("setup-{}-{}", spec.task, spec.attempt);
        // The task's own record, so that it uses its subnet and a restart finds and removes it.
        let record = Record { name: name.clone(), base: setup.commit.to_string(), ..spec.record() };
        let record = self.core.begin(record, spec.network).await?;
        let container = ContainerSpec {
            name: name.clone(),
            task: Some(spec.task),
            purpose: Purpose::Setup,
            user: self.core.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            subnet: record.subnet,
            limits: spec.limits,
            env: Vec::new(),
            profile: self.core.settings.profile.clone(),
            mirror: None,
            layered: false,
        };
        let done = match self.commands(spec, setup, &container, tried).await {
            Ok(session) => self.keep_setup(&session, kept).await,
            Err(why) => Err(why),
        };
        let closed = self.core.subnets.close(record.subnet).await;
        // Waited for, because the task's own sandbox needs the subnet next. After an interruption before this, the record names what to
        // remove.
        let removed = self.core.broker.remove(&name).await.map_err(session::from_broker);
        done.and(closed).and(removed)
    }

    /// Runs all commands and returns their sandbox, stopped and without a network.
    async fn commands(
        &self,
        spec: &PrepareSpec,
        setup: &SetupSpec,
        container: &ContainerSpec,
        tried: &mut Vec<Tried>,
    ) -> Result<Session> {
        let generation = self.mirrors.current(&spec.repo_key);
        let (session, _) = self.loader.loaded(container, &spec.repo_key, &setup.commit, 1, generation).await?;
        if let Some(subnet) = container.subnet {
            self.core.subnets.open(subnet, || Ok(Some(spec.egress.clone()))).await?;
        }
        for command in &setup.commands {
            let named = format!("the setup command {}", crate::text::one_line(crate::text::cut(command, 120).0));
            let ran = match session.run(Op::Bash { command: command.clone(), whole: false }, setup.wall_ms).await {
                Err(away @ SandboxError::Unavailable(_)) => return Err(self.unfinished(container, &named, away).await),
                ran => ran?,
            };
            let ended = session::succeeded(&ran, &named);
            tried.push(Tried { command: command.clone(), outcome: ran });
            ended?;
        }
        // As at a checkpoint, nothing runs and nothing is reachable while it is read.
        let stopped = session.run(Op::Quiesce, QUIESCE_MS).await?;
        session::succeeded(&stopped, "stopping what setup started")?;
        self.core.subnets.close(container.subnet).await?;
        Ok(session)
    }

    /// The error for a command that gave no result: it may have ended its sandbox, which it would do again.
    async fn unfinished(&self, container: &ContainerSpec, named: &str, away: SandboxError) -> SandboxError {
        match closed(self.core.broker.as_ref(), &container.name).await {
            SandboxError::Gone(loss) => SandboxError::Limit(format!("{named} had no end: {loss}")),
            SandboxError::Unavailable(_) | SandboxError::Refused(_) | SandboxError::Limit(_) => away,
        }
    }

    /// Stores a result atomically: written to a new directory, then renamed.
    async fn keep_setup(&self, session: &Session, kept: &Path) -> Result<()> {
        let beside = kept.with_extension("new");
        drop(std::fs::remove_dir_all(&beside));
        std::fs::create_dir_all(&beside).map_err(|e| io(&beside, &e))?;
        let most = self.core.settings.setup_bytes;
        for (name, check, pack, _) in PARTS {
            let free = free_bytes(&beside).map_err(|e| io(&beside, &e))?;
            let left = free.saturating_sub(self.core.settings.disk_floor_bytes);
            let path = beside.join(name);
            let mut file = tokio::fs::File::create(&path).await.map_err(|e| io(&path, &e))?;
            let script = format!("set -eu{check}{pack}");
            let work = Work::new(["sh", "-c", &script]).wall(COPY_MS);
            let done = session.spool(work, &mut file, most.min(left)).await;
            let done = done.map_err(|e| match e {
                SandboxError::Limit(_) if left < most => SandboxError::Unavailable(format!(
                    "what the setup commands left does not fit beside the {} MiB that are to stay free at {} (`sandbox.disk_floor_mib`); \
                     make room there",
                    self.core.settings.disk_floor_bytes >> 20,
                    beside.display()
                )),
                SandboxError::Limit(_) => SandboxError::Limit(format!(
                    "what the setup commands left is more than {} MiB; let them leave less, or raise sandbox.setup_mib",
                    most >> 20
                )),
                other => other,
            })?;
            session::succeeded(&done, "packing what setup left")?;
            file.sync_all().await.map_err(|e| io(&path, &e))?;
        }
        std::fs::rename(&beside, kept).map_err(|e| io(kept, &e))
    }

    fn dir(&self) -> PathBuf {
        self.core.settings.state_dir.join("setup")
    }

    /// Removes results that no living sandbox was made with: those unused for a month, then the longest unused until the rest fits.
    /// `coming` stays.
    async fn forget_setups(&self, coming: &str) -> Result<Vec<String>> {
        let _none = self.removing.lock().await;
        let mut living: Vec<String> = self.core.records.all().into_iter().filter_map(|record| record.setup).collect();
        living.push(coming.to_owned());
        let (dir, most) = (self.dir(), self.core.settings.setup_total_bytes);
        let swept = tokio::task::spawn_blocking(move || sweep(&dir, &living, most, SystemTime::now())).await;
        swept.map_err(|e| SandboxError::Unavailable(e.to_string()))?
    }
}

/// Hash with the length of each part, so that different lists never give the same key.
fn key(repository: &str, tree: &str, commands: &[String], image: &str) -> String {
    let mut hash = Sha256::new();
    for part in [repository, tree, image].into_iter().chain(commands.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize())
}

fn sweep(dir: &Path, living: &[String], most: u64, now: SystemTime) -> Result<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let used = entry.metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let size = |part: &str| std::fs::metadata(path.join(part)).map_or(0, |it| it.len());
        let bytes: u64 = PARTS.iter().map(|(part, ..)| size(part)).sum();
        found.push((used, bytes, name, path));
    }
    // Newest first, so that what no longer fits was unused longest.
    found.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let (mut held, mut gone) = (0u64, Vec::new());
    for (used, bytes, name, path) in found {
        let old = now.duration_since(used).is_ok_and(|age| age > UNUSED);
        let fits = held.saturating_add(bytes) <= most;
        if living.contains(&name) || fits && !old && !name.ends_with(".new") {
            held = held.saturating_add(bytes);
            continue;
        }
        std::fs::remove_dir_all(&path).map_err(|e| io(&path, &e))?;
        gone.push(name);
    }
    Ok(gone)
}

/// The directory's modification time records its last use; a failure only makes it expire sooner.
fn touch(kept: &Path) {
    if let Err(error) = std::fs::File::open(kept).and_then(|it| it.set_modified(SystemTime::now())) {
        tracing::warn!(%error, path = %kept.display(), "the time of its use was not written down");
    }
}

fn io(path: &Path, e: &std::io::Error) -> SandboxError {
    SandboxError::Unavailable(format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_key_counts() {
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let one = key("shop", "tree a", &words(&["x", "y"]), "sha256:1");
        assert_eq!(one, key("shop", "tree a", &words(&["x", "y"]), "sha256:1"));
        for other in [
            key("shop2", "tree a", &words(&["x", "y"]), "sha256:1"),
            key("shop", "tree b", &words(&["x", "y"]), "sha256:1"),
            key("shop", "tree a", &words(&["xy"]), "sha256:1"),
            key("shop", "tree a", &words(&["y", "x"]), "sha256:1"),
            key("shop", "tree a", &words(&["x", "y"]), "sha256:2"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn the_longest_unused_goes_first_and_nothing_a_sandbox_was_made_with() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let days = |days: u64| now - Duration::from_secs(days * 24 * 3600);
        for (name, unused) in [("new", 0), ("mid", 3), ("live", 40), ("old", 5), ("stale", 31), ("cut.new", 0)] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("work.tar"), [0; 100]).unwrap();
            std::fs::File::open(&path).unwrap().set_modified(days(unused)).unwrap();
        }
        let mut gone = sweep(dir.path(), &["live".to_owned()], 1000, now).unwrap();
        gone.sort();
        assert_eq!(gone, ["cut.new", "stale"]);
        assert_eq!(sweep(dir.path(), &["live".to_owned()], 250, now).unwrap(), ["old"]);
        assert!(sweep(&dir.path().join("none"), &[], 0, now).unwrap().is_empty());
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 3, "new, mid, live");
    }
}
