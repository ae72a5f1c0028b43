//! The quarantine chamber: where objects that an agent made are looked at for the first time.
//!
//! Owns: a fresh chamber without a network, the base's objects and the foreign pack in it, git's own strict check, the
//! policy over what git lists, the one commit of ours, and the checked pack back into the host's repository. Every step
//! has a time limit and a cap; what breaks one is a refusal in words, never an error of the bot. The chamber is removed on
//! every path. Must not: let git on the host read anything before the chamber has. Tests: `tests/trees.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Commit, FileChange};
use protocol::broker::{ChamberLimits, ChamberSpec, Purpose};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::policy::{Facts, Object, judge, judge_objects};
use super::room::{Passing, Room, Work, succeeded};
use super::{Result, SandboxError, Sandboxes, SealSpec, Sealed, detect};
use crate::git::diff::SHOWN;
use crate::git::listing::{Change, Entry, parse_batch, parse_changes, parse_entries};
use crate::git::{PackLimits, Tree, capped_text};

/// The repository in the chamber, relative to its workspace.
const DIR: &str = "q.git";
/// Makes the repository `$1`: stdin is `$2` bytes of the file `shallow`, then the pack.
const TAKE_BASE: &str = r#"
set -eu
git init --bare --quiet --template= "$1"
[ "$2" = 0 ] || dd bs=1 count="$2" of="$1/shallow" 2>/dev/null
exec git --git-dir="$1" index-pack --stdin >/dev/null
"#;
/// Cap of every listing, in bytes.
const LISTING: u64 = 32 << 20;
/// Wall clock of a step, as a multiple of its processor time.
const WALL: u64 = 6;
/// Symbolic links whose targets are read.
const LINKS: usize = 2_000;

/// Why the quarantine ended early.
enum Stop {
    /// The tree's fault: say so to the agent and the person.
    Refuse(Vec<String>),
    /// Ours, the engine's or nobody's.
    Fail(SandboxError),
}

impl From<SandboxError> for Stop {
    fn from(e: SandboxError) -> Self {
        Self::Fail(e)
    }
}

impl From<crate::git::GitError> for Stop {
    fn from(e: crate::git::GitError) -> Self {
        Self::Fail(e.into())
    }
}

type Step<T> = std::result::Result<T, Stop>;

/// A failure of a step that reads foreign objects is the objects' fault, unless the engine went away.
fn blame<T>(result: Result<T>) -> Step<T> {
    result.map_err(|e| match e {
        SandboxError::Refused(why) | SandboxError::Limit(why) => Stop::Refuse(vec![why]),
        // A chamber that dies while unpacking was killed by what it unpacked.
        SandboxError::Gone(why) => Stop::Refuse(vec![format!("checking the tree brought the quarantine down: {why}")]),
        SandboxError::Unavailable(_) => Stop::Fail(e),
    })
}

/// A quarantine chamber that holds what the new tree is compared with, and nothing foreign yet.
pub struct Quarantine {
    room: Room,
    passing: Passing,
    base_bytes: u64,
}

impl Quarantine {
    /// Not needed after all.
    pub(super) async fn dismiss(self) {
        self.passing.remove().await;
    }
}

impl Sandboxes {
    /// Makes a quarantine chamber with the parent's and the base's objects: it may be made while the tree is still being read.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when engine or disk are away, [`SandboxError::Refused`] for an image without git or sh.
    pub async fn quarantine(&self, spec: &SealSpec) -> Result<Quarantine> {
        let mut known = vec![spec.parent.clone()];
        if spec.base != spec.parent {
            known.push(spec.base.clone());
        }
        let mut base = self.repos.pack(&spec.repo_key, &known, 1, self.settings.base_pack_bytes).await?;
        let room_for = 4 * (base.bytes + self.settings.tree_pack_bytes) + (64 << 20);
        let chamber = ChamberSpec {
            name: format!("quarantine-{}-{}", spec.task, spec.n),
            task: Some(spec.task),
            purpose: Purpose::Quarantine,
            image: self.settings.quarantine_image.clone(),
            berth: None,
            limits: ChamberLimits {
                memory_bytes: self.settings.policy.memory_bytes + room_for,
                workspace_bytes: room_for,
                ..ChamberLimits::default()
            },
            env: Vec::new(),
            profile: "sealed".to_owned(),
        };
        let passing = Passing::new(Arc::clone(&self.broker), Arc::clone(&self.busy), &chamber.name);
        let ready = async {
            let room = Room::make(self.broker.as_ref(), &chamber, self.epoch, Arc::clone(&self.ids)).await?;
            super::prepare::require_git(&room, &chamber.image).await?;
            take_base(&room, &mut base).await?;
            Ok(room)
        };
        match ready.await {
            Ok(room) => Ok(Quarantine { room, passing, base_bytes: base.bytes }),
            Err(e) => {
                passing.remove().await;
                Err(e)
            }
        }
    }

    /// Judges a foreign pack that is said to hold `tree`, and makes the checkpoint's commit of it.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when engine or disk are away. What is wrong with the tree is [`Sealed::Refused`].
    pub async fn examine(
        &self,
        quarantine: Quarantine,
        spec: &SealSpec,
        tree: &Tree,
        pack: &mut tokio::fs::File,
    ) -> Result<Sealed> {
        let Quarantine { room, passing, base_bytes } = quarantine;
        let done = self.judged(&room, spec, tree, base_bytes, pack).await;
        passing.remove().await;
        match done {
            Ok(sealed) => Ok(sealed),
            Err(Stop::Refuse(reasons)) => Ok(Sealed::Refused { reasons }),
            Err(Stop::Fail(e)) => Err(e),
        }
    }

    async fn judged(
        &self,
        room: &Room,
        spec: &SealSpec,
        tree: &Tree,
        base_bytes: u64,
        pack: &mut tokio::fs::File,
    ) -> Step<Sealed> {
        let cell = Cell { room, spec, tree, limits: self.settings.policy };
        pack.rewind().await.map_err(|e| disk(&e))?;
        cell.take_foreign(pack, base_bytes).await?;
        if cell.is_parents_tree().await? {
            return Ok(Sealed::Unchanged);
        }
        refuse_if(judge_objects(&cell.objects().await?, &cell.limits))?;
        let facts = cell.facts().await?;
        refuse_if(judge(&facts, &spec.protected, &cell.limits))?;
        let files = cell.files(&facts).await?;
        let diff = cell.diff(self.settings.diff_bytes).await?;
        let (commit, text) = cell.commit(&self.settings.author).await?;
        self.bring_home(room, spec, &commit, &text).await?;
        let steering = files.iter().filter(|f| detect::steers_tests(&f.path)).map(|f| f.path.clone()).collect();
        Ok(Sealed::Commit { commit, files, diff, steering })
    }

    /// The checked objects go into the host's repository, and the commit there must be, byte for byte, the one asked for.
    async fn bring_home(&self, room: &Room, spec: &SealSpec, commit: &Commit, text: &str) -> Step<()> {
        let mut out = crate::git::temporary()?;
        let revs = format!("{commit}\n^{}\n", spec.parent);
        let work = Work::git(DIR, ["pack-objects", "--revs", "--stdout", "-q"]);
        let mut revs = revs.as_bytes();
        let done = room.spool(work.input(&mut revs), &mut out, self.settings.tree_pack_bytes).await;
        succeeded(&blame(done)?, "packing the checked commit")?;
        out.rewind().await.map_err(|e| disk(&e))?;
        let limits = PackLimits { pack_bytes: self.settings.tree_pack_bytes, ..PackLimits::default() };
        self.repos.import(&spec.repo_key, &mut out, limits).await?;
        let found = self.repos.commit_text(&spec.repo_key, commit).await?;
        if found != text {
            let said = "the quarantine chamber returned another commit than was asked for; nothing was taken";
            return Err(Stop::Fail(SandboxError::Refused(said.to_owned())));
        }
        self.repos.keep(&spec.repo_key, spec.task, spec.n, commit).await?;
        Ok(())
    }
}

fn disk(e: &std::io::Error) -> SandboxError {
    SandboxError::Unavailable(format!("the temporary pack: {e}"))
}

fn refuse_if(reasons: Vec<String>) -> Step<()> {
    if reasons.is_empty() { Ok(()) } else { Err(Stop::Refuse(reasons)) }
}

async fn take_base(room: &Room, base: &mut crate::git::PackFile) -> Result<()> {
    let shallow = base.shallow_lines();
    let mut input = shallow.as_bytes().chain(base.reader().await?);
    let work = Work::new(["sh", "-c", TAKE_BASE, "base", DIR, &shallow.len().to_string()]).wall(600_000);
    room.must(work.input(&mut input), "unpacking the base").await
}

/// One quarantine under way.
struct Cell<'a> {
    room: &'a Room,
    spec: &'a SealSpec,
    tree: &'a Tree,
    limits: super::policy::Limits,
}

impl Cell<'_> {
    /// git on the chamber's repository, within the step's processor time.
    fn git<'w>(&self, args: &[&str]) -> Work<'w> {
        let head = format!("exec git --git-dir={DIR} \"$@\"");
        self.script(&head, args)
    }

    /// A line of shell with these arguments. What a step may cost is processor time; the wall clock is wider, so that a
    /// busy machine refuses nobody's honest work.
    fn script<'w>(&self, line: &str, args: &[&str]) -> Work<'w> {
        let line = format!("ulimit -t {} && {line}", self.limits.step_ms.div_ceil(1000));
        let argv = ["sh", "-c", &line, "step"].into_iter().chain(args.iter().copied()).map(str::to_owned);
        Work::new(argv.collect::<Vec<_>>()).wall(self.limits.step_ms.saturating_mul(WALL))
    }

    /// The first time anything reads what the agent made: strict, within time, memory and size.
    async fn take_foreign(&self, pack: &mut tokio::fs::File, base_bytes: u64) -> Step<()> {
        let kilobytes = (self.limits.memory_bytes + 4 * base_bytes) / 1024;
        let line = format!(
            "ulimit -v {kilobytes} && \
             exec git --git-dir={DIR} index-pack --strict=badFilemode=error --stdin --fix-thin --threads=1 --max-input-size={}",
            self.limits.sum_bytes
        );
        let work = self.script(&line, &[]).input(pack);
        blame(self.room.must(work, "git's check of the new objects").await)
    }

    async fn is_parents_tree(&self) -> Step<bool> {
        let kind = self.git(&["cat-file", "-t", self.tree.as_str()]);
        let kind = blame(self.room.read(kind, 64, "looking the new tree up").await)?;
        if kind.trim_ascii() != b"tree" {
            return Err(Stop::Refuse(vec!["what was handed out as the tree is none".to_owned()]));
        }
        let name = format!("{}^{{tree}}", self.spec.parent);
        let parent = self.room.read(self.git(&["rev-parse", "--verify", &name]), 64, "reading the parent").await?;
        Ok(parent.trim_ascii() == self.tree.as_str().as_bytes())
    }

    /// Every object that the tree adds to what the parent and the base hold, with its size. Cheap even for a tree bomb.
    async fn objects(&self) -> Step<Vec<Object>> {
        let (tree, spec) = (self.tree.as_str(), self.spec);
        let line = format!(
            "git --git-dir={DIR} rev-list --objects --no-object-names {tree} '^{}^{{tree}}' '^{}^{{tree}}' > new-ids && \
             exec git --git-dir={DIR} cat-file --batch-check --buffer < new-ids",
            spec.parent, spec.base
        );
        let work = self.script(&line, &[]);
        let out = blame(self.room.read(work, LISTING, "counting the new objects").await)?;
        let mut objects = Vec::new();
        for line in String::from_utf8_lossy(&out).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [id, kind, size] = words[..] else {
                return Err(Stop::Refuse(vec!["the tree refers to objects that were not handed out".to_owned()]));
            };
            let bytes = size.parse().unwrap_or(u64::MAX);
            objects.push(Object { id: id.to_owned(), kind: kind.to_owned(), bytes });
        }
        Ok(objects)
    }

    async fn facts(&self) -> Step<Facts> {
        let (parent, tree) = (self.spec.parent.as_str(), self.tree.as_str());
        let raw = self.git(&["diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", parent, tree]);
        // 200 bytes a change are far more than an honest one needs: a tree bomb ends here.
        let cap = (self.limits.changes as u64 * 200).max(1 << 20);
        let raw = blame(self.room.read(raw, cap, "listing the changed files (too many paths?)").await)?;
        let changes = parse_changes(&raw).map_err(|why| Stop::Refuse(vec![why]))?;
        let list = self.git(&["ls-tree", "-r", "-t", "-z", "--full-tree", tree]);
        let list = blame(self.room.read(list, LISTING, "listing the whole tree").await)?;
        let entries = parse_entries(&list).map_err(|why| Stop::Refuse(vec![why]))?;
        let links = self.links(&entries).await?;
        Ok(Facts { objects: Vec::new(), changes, entries, links })
    }

    async fn links(&self, entries: &[Entry]) -> Step<HashMap<Vec<u8>, Vec<u8>>> {
        let all: Vec<&Entry> = entries.iter().filter(|e| e.mode == "120000").collect();
        if all.len() > LINKS {
            return Err(Stop::Refuse(vec![format!(
                "the tree holds {} symbolic links; at most {LINKS} are checked",
                all.len()
            )]));
        }
        if all.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: String = all.iter().map(|e| format!("{}\n", e.id)).collect();
        let read = self.git(&["cat-file", "--batch", "--buffer"]);
        let out = self.room.read(read.input(&mut ids.as_bytes()), 4 << 20, "reading the symbolic links").await;
        let targets = parse_batch(&blame(out)?).map_err(|why| Stop::Refuse(vec![why]))?;
        if targets.len() != all.len() {
            return Err(Stop::Refuse(vec!["the symbolic links could not all be read".to_owned()]));
        }
        Ok(all.into_iter().map(|e| e.path.clone()).zip(targets).collect())
    }

    /// Changed files with lines added and removed, as git counts them without any attribute.
    async fn files(&self, facts: &Facts) -> Step<Vec<FileChange>> {
        let (parent, tree) = (self.spec.parent.as_str(), self.tree.as_str());
        let flags =
            ["diff-tree", "-r", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", parent, tree];
        let out = blame(self.room.read(self.git(&flags), LISTING, "counting the changed lines").await)?;
        let mut counts = HashMap::new();
        for record in out.split(|b| *b == 0).filter(|r| !r.is_empty()) {
            let text = String::from_utf8_lossy(record).into_owned();
            let mut parts = text.splitn(3, '\t');
            if let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) {
                counts.insert(path.to_owned(), (added.parse().ok(), removed.parse().ok()));
            }
        }
        let file = |change: &Change| {
            let path = String::from_utf8_lossy(&change.path).into_owned();
            let (added, removed): (Option<u64>, Option<u64>) = counts.get(&path).copied().unwrap_or_default();
            let kind = match (change.status, added.is_none()) {
                ('A', false) => "added",
                ('D', _) => "deleted",
                (_, true) => "binary",
                _ if change.old_mode != change.new_mode => "mode",
                _ => "modified",
            };
            FileChange { path, added: added.unwrap_or(0), removed: removed.unwrap_or(0), kind: kind.to_owned() }
        };
        Ok(facts.changes.iter().map(file).collect())
    }

    async fn diff(&self, cap: usize) -> Step<String> {
        let (parent, tree) = (self.spec.parent.as_str(), self.tree.as_str());
        let args: Vec<&str> =
            ["diff-tree", "-r", "-p"].into_iter().chain(SHOWN.iter().copied()).chain([parent, tree]).collect();
        let most = 4 * self.limits.sum_bytes;
        let out = blame(self.room.read(self.git(&args), most, "writing the diff").await)?;
        Ok(capped_text(&out, cap))
    }

    /// One commit of ours on the checked tree: its id, and its text as the host will demand to see it again.
    async fn commit(&self, author: &(String, String)) -> Step<(Commit, String)> {
        let when = format!("{} +0000", self.spec.date_ms.div_euclid(1000));
        let plain = |s: &str| s.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect::<String>();
        let (name, mail) = (plain(&author.0), plain(&author.1));
        let message = format!("{}\n", self.spec.message.trim_end().replace('\0', ""));
        let who = format!("{name} <{mail}> {when}");
        let text = format!(
            "tree {}\nparent {}\nauthor {who}\ncommitter {who}\n\n{message}",
            self.tree.as_str(),
            self.spec.parent
        );
        let make = self.git(&["hash-object", "-t", "commit", "-w", "--stdin"]);
        let out = self.room.read(make.input(&mut text.as_bytes()), 64, "making the commit").await?;
        let id = String::from_utf8_lossy(&out).trim().to_owned();
        let id =
            Commit::parse(&id).map_err(|_| SandboxError::Refused(format!("the quarantine made no commit: {id:?}")))?;
        Ok((id, text))
    }
}
