//! Git commands run in a quarantine container, and the interpretation of their output.
//!
//! Owns git's strict check of an untrusted pack, the policy over what git lists, the one commit of the bot, and the transfer of the checked
//! pack into the host's repository. Every step has a time limit and an output limit; exceeding one is a refusal in words, never an error of
//! the bot. Only names and ids are listed before sizes were accepted, and nothing is compared before the lists were accepted. Tests:
//! `tests/trees.rs`.

use std::collections::{BTreeSet, HashMap};

use domain::{Commit, FileChange};
use tokio::io::AsyncSeekExt;

use crate::git::diff::SHOWN;
use crate::git::listing::{Change, Entry, LINK, SUBMODULE, parse_batch, parse_changes, parse_entries};
use crate::git::{CappedText, PackLimits, Tree};
use crate::sandbox::core::Core;
use crate::sandbox::policy::{Facts, Limits, Object, changed_links, judge, judge_objects, wants_whole_tree};
use crate::sandbox::session::{Session, Work, succeeded};
use crate::sandbox::{CaptureSpec, Captured, Result, SandboxError, Settings, detect};

/// The repository in the container, relative to its workspace.
pub(in crate::sandbox) const DIR: &str = "q.git";
/// Limit of every listing, in bytes.
const LISTING: u64 = 32 << 20;
/// Wall-clock limit of a step, as a multiple of its processor time.
const WALL: u64 = 6;
/// The most symbolic links that a checkpoint may add or change.
const LINKS: usize = 2_000;

/// The first command that reads what the agent made: strict, with limits on memory (`$1`, KiB of allocations, without a mirror's mapped
/// pack) and size (`$2`, bytes). Then lists what the tree `$3` changes in the parent `$4`, directories included.
const TAKE_FOREIGN: &str = r#"
(ulimit -d "$1" && exec git index-pack --strict=badFilemode=error --stdin --fix-thin --threads=1 --max-input-size="$2") >/dev/null || exit
exec git diff-tree -r -t --raw -z --no-abbrev --no-renames "$4" "$3"
"#;
/// Lists every object that the tree `$1` adds to those of the parent `$2` and the base `$3`, with its size.
const ADDED: &str = r#"
git rev-list --objects --no-object-names "$1" "^$2^{tree}" "^$3^{tree}" > new-ids && exec git cat-file --batch-check --buffer < new-ids
"#;
/// Writes the commit `$1`, and packs the objects that stdin names.
const COMMIT: &str = r#"
printf '%s' "$1" | git hash-object -t commit -w --stdin >/dev/null && exec git pack-objects --stdout -q
"#;

/// Reason why the quarantine ended early.
pub(in crate::sandbox) enum Stop {
    /// The tree is at fault: reported to the agent and the person.
    Refuse(Vec<String>),
    /// Git could not read what it was to compare: the tree's fault, unless a damaged mirror is.
    Unread(String),
    /// An error of this host, the engine or anything else.
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

pub(in crate::sandbox) type Step<T> = std::result::Result<T, Stop>;

/// A failure of a step that reads untrusted objects is the objects' fault, unless the engine went away.
fn blame<T>(result: Result<T>) -> Step<T> {
    result.map_err(|e| match e {
        SandboxError::Refused(why) => Stop::Unread(why),
        SandboxError::Limit(why) => Stop::Refuse(vec![why]),
        // A container that dies while unpacking was killed because of the objects.
        SandboxError::Gone(why) => Stop::Refuse(vec![format!("checking the tree brought the quarantine down: {why}")]),
        SandboxError::Unavailable(_) => Stop::Fail(e),
    })
}

/// Judges an untrusted pack in the quarantine of `session`, and fetches the commit that is made of it.
pub(in crate::sandbox) async fn judged(
    core: &Core,
    session: &Session,
    spec: &CaptureSpec,
    tree: &Tree,
    base_bytes: u64,
    pack: &mut tokio::fs::File,
) -> Step<Captured> {
    let inspection = Inspection { session, spec, tree, limits: core.settings.policy };
    pack.rewind().await.map_err(|e| disk(&e))?;
    let changes = inspection.take_foreign(pack, base_bytes).await?;
    let (new, sizes) = inspection.judge_new(&changes, core.settings.tree_pack_bytes / 2).await?;
    if changes.is_empty() {
        return Ok(Captured::Unchanged { left_out: Vec::new() });
    }
    let mut out = crate::git::temporary()?;
    // Packed while the lists are judged, and discarded if they are refused.
    let shown = inspection.shown(changes, &sizes, core.settings.diff_bytes);
    let ((files, (diff, diff_cut)), made) =
        tokio::try_join!(shown, async { Ok(inspection.commit(&new, &core.settings, &mut out).await) })?;
    let (commit, text) = made?;
    // Last, so that a refused tree leaves nothing on the host.
    bring_home(core, spec, &commit, &text, &mut out).await?;
    let steering = files.iter().filter(|f| detect::steers_tests(&f.path)).map(|f| f.path.clone()).collect();
    Ok(Captured::Commit { commit, files, diff, diff_cut, steering, left_out: Vec::new() })
}

/// Stores the checked objects in the host's repository, where the commit must equal the requested one byte for byte.
async fn bring_home(
    core: &Core,
    spec: &CaptureSpec,
    commit: &Commit,
    text: &str,
    pack: &mut tokio::fs::File,
) -> Step<()> {
    pack.rewind().await.map_err(|e| disk(&e))?;
    let limits = PackLimits { pack_bytes: core.settings.tree_pack_bytes, ..PackLimits::default() };
    let segment = &spec.segment;
    core.repos.import(&segment.repo_key, pack, limits).await?;
    let found = core.repos.commit_text(&segment.repo_key, commit).await?;
    if found != text {
        let said = "the quarantine container returned another commit than was asked for; nothing was taken";
        return Err(Stop::Fail(SandboxError::Refused(said.to_owned())));
    }
    core.repos.complete(&segment.repo_key, &segment.parent, commit).await?;
    core.repos.keep(&segment.repo_key, segment.task, segment.n, commit).await?;
    Ok(())
}

fn disk(e: &std::io::Error) -> SandboxError {
    SandboxError::Unavailable(format!("the temporary pack: {e}"))
}

fn refuse_if(reasons: Vec<String>) -> Step<()> {
    if reasons.is_empty() { Ok(()) } else { Err(Stop::Refuse(reasons)) }
}

/// Sizes of objects in bytes, by id.
type Sizes = HashMap<String, u64>;

/// One inspection in progress.
struct Inspection<'a> {
    session: &'a Session,
    spec: &'a CaptureSpec,
    tree: &'a Tree,
    limits: Limits,
}

impl Inspection<'_> {
    /// Runs git on the container's repository, within the step's processor time.
    fn git<'w>(&self, args: &[&str]) -> Work<'w> {
        self.script("exec git \"$@\"", args)
    }

    /// Runs a shell script with these arguments. Each process has a limit of processor time; the wall-clock limit is wider, so that a busy
    /// machine refuses no legitimate tree.
    fn script<'w>(&self, lines: &str, args: &[&str]) -> Work<'w> {
        let lines = format!("export GIT_DIR={DIR}; ulimit -t {} || exit\n{lines}", self.limits.step_ms.div_ceil(1000));
        let argv = ["sh", "-c", &lines, "step"].into_iter().chain(args.iter().copied()).map(str::to_owned);
        Work::new(argv.collect::<Vec<_>>()).wall(self.limits.step_ms.saturating_mul(WALL))
    }

    /// Unpacks the pack and lists what differs from the parent, directories included.
    async fn take_foreign(&self, pack: &mut tokio::fs::File, base_bytes: u64) -> Step<Vec<Change>> {
        let kilobytes = ((self.limits.memory_bytes + 4 * base_bytes) / 1024).to_string();
        let (most, parent) = (self.limits.sum_bytes.to_string(), self.spec.segment.parent.as_str());
        let work = self.script(TAKE_FOREIGN, &[&kilobytes, &most, self.tree.as_str(), parent]).input(pack);
        // 400 bytes per change and its directory are far more than a legitimate tree needs, so this stops tree bombs.
        let cap = (self.limits.changes as u64 * 400).max(1 << 20);
        let out = blame(
            self.session
                .read(work, cap, "git's check of the new objects, or the list of changes (too many paths?),")
                .await,
        )?;
        parse_changes(&out).map_err(|why| Stop::Refuse(vec![why]))
    }

    /// The new objects, if their count and sizes are accepted. What differs from the parent contains all of them, and moved ones besides.
    /// Only if that would be too much, or more than `most` bytes to pack, are the really new ones determined by a walk through the whole
    /// tree.
    ///
    /// Also returns the size of everything that changed, by id.
    async fn judge_new(&self, changes: &[Change], most: u64) -> Step<(Vec<Object>, Sizes)> {
        let tree = self.tree.as_str();
        let changed = changes.iter().filter(|change| !change.deleted() && change.new_mode != SUBMODULE);
        let ids: BTreeSet<&str> = changed.map(|change| change.id.as_str()).chain([tree]).collect();
        let ids: String = ids.into_iter().map(|id| format!("{id}\n")).collect();
        let check = self.git(&["cat-file", "--batch-check", "--buffer"]);
        let differ = self.objects(check.input(&mut ids.as_bytes())).await?;
        if !differ.iter().any(|object| object.id == tree && object.kind == "tree") {
            return Err(Stop::Unread("what was handed out as the tree is none".to_owned()));
        }
        let sizes = differ.iter().map(|object| (object.id.clone(), object.bytes)).collect();
        let bytes = differ.iter().fold(0_u64, |sum, object| sum.saturating_add(object.bytes));
        if bytes <= most && judge_objects(&differ, &self.limits).is_empty() {
            return Ok((differ, sizes));
        }
        let segment = &self.spec.segment;
        let added = self.objects(self.script(ADDED, &[tree, segment.parent.as_str(), segment.base.as_str()])).await?;
        refuse_if(judge_objects(&added, &self.limits))?;
        Ok((added, sizes))
    }

    async fn objects(&self, work: Work<'_>) -> Step<Vec<Object>> {
        let out = blame(self.session.read(work, LISTING, "sizing the new objects").await)?;
        let text = String::from_utf8_lossy(&out);
        let object = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [id, kind, size] = words[..] else {
                return Err(Stop::Unread("the tree refers to objects that were not handed out".to_owned()));
            };
            let bytes = size.parse().unwrap_or(u64::MAX);
            Ok(Object { id: id.to_owned(), kind: kind.to_owned(), bytes })
        };
        text.lines().map(object).collect()
    }

    /// The changed files and the diff of an accepted tree.
    async fn shown(
        &self,
        mut changes: Vec<Change>,
        sizes: &Sizes,
        most: usize,
    ) -> Step<(Vec<FileChange>, (String, u64))> {
        changes.retain(|change| !change.of_directory());
        let facts = self.judged_facts(changes).await?;
        tokio::try_join!(self.files(&facts, sizes), self.diff(most))
    }

    /// The facts about the tree, if the policy accepts it.
    async fn judged_facts(&self, changes: Vec<Change>) -> Step<Facts> {
        let facts = self.facts(changes).await?;
        let (protected, limits) = (self.spec.protected.clone(), self.limits);
        // A large tree takes long enough to keep other tasks' work from a thread of the runtime.
        let judging = tokio::task::spawn_blocking(move || {
            let reasons = judge(&facts, &protected, &limits);
            (facts, reasons)
        });
        let (facts, reasons) = judging.await.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        refuse_if(reasons)?;
        Ok(facts)
    }

    async fn facts(&self, changes: Vec<Change>) -> Step<Facts> {
        if !wants_whole_tree(&changes) {
            return Ok(Facts { changes, ..Facts::default() });
        }
        let tree = self.tree.as_str();
        let list = self.git(&["ls-tree", "-r", "-t", "-z", "--full-tree", tree]);
        let list = blame(self.session.read(list, LISTING, "listing the whole tree").await)?;
        let entries = parse_entries(&list).map_err(|why| Stop::Refuse(vec![why]))?;
        let links = self.links(&entries, &changes).await?;
        Ok(Facts { changes, entries, links })
    }

    /// Targets of the tree's links; none are read where no link is changed, because none is followed then.
    async fn links(&self, entries: &[Entry], changes: &[Change]) -> Step<HashMap<Vec<u8>, Vec<u8>>> {
        let new = changes.iter().filter(|change| change.new_mode == LINK).count();
        if new > LINKS {
            let said = format!("the checkpoint adds or changes {new} symbolic links; at most {LINKS} are checked");
            return Err(Stop::Refuse(vec![said]));
        }
        let all: Vec<&Entry> = entries.iter().filter(|e| e.mode == LINK).collect();
        if all.is_empty() || changed_links(changes).is_empty() {
            return Ok(HashMap::new());
        }
        let ids: String = all.iter().map(|e| format!("{}\n", e.id)).collect();
        let read = self.git(&["cat-file", "--batch", "--buffer"]);
        let out = self.session.read(read.input(&mut ids.as_bytes()), LISTING, "reading the symbolic links").await;
        let targets = parse_batch(&blame(out)?).map_err(Stop::Unread)?;
        if targets.len() != all.len() {
            return Err(Stop::Unread("the symbolic links could not all be read".to_owned()));
        }
        Ok(all.into_iter().map(|e| e.path.clone()).zip(targets).collect())
    }

    /// Changed files with lines added and removed, counted by git without attributes.
    async fn files(&self, facts: &Facts, sizes: &Sizes) -> Step<Vec<FileChange>> {
        let (parent, tree) = (self.spec.segment.parent.as_str(), self.tree.as_str());
        let flags =
            ["diff-tree", "-r", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", parent, tree];
        let out = blame(self.session.read(self.git(&flags), LISTING, "counting the changed lines").await)?;
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
            let (added, removed) = (added.unwrap_or(0), removed.unwrap_or(0));
            FileChange { path, added, removed, kind: kind.to_owned(), bytes: sizes.get(&change.id).copied() }
        };
        Ok(facts.changes.iter().map(file).collect())
    }

    /// The diff, and how many bytes of it were cut off.
    async fn diff(&self, cap: usize) -> Step<(String, u64)> {
        let (parent, tree) = (self.spec.segment.parent.as_str(), self.tree.as_str());
        let args: Vec<&str> =
            ["diff-tree", "-r", "-p"].into_iter().chain(SHOWN.iter().copied()).chain([parent, tree]).collect();
        let most = 4 * self.limits.sum_bytes;
        let mut text = CappedText::new(cap);
        let done = blame(self.session.spool(self.git(&args), &mut text, most).await)?;
        blame(succeeded(&done, "writing the diff"))?;
        Ok(text.text())
    }

    /// Makes the bot's commit of the checked tree and packs it with the new objects into `out`; returns its id and the text that the host
    /// will compare.
    async fn commit(&self, new: &[Object], settings: &Settings, out: &mut tokio::fs::File) -> Step<(Commit, String)> {
        let text = commit_text(self.spec, self.tree, &settings.author);
        let id = crate::git::commit_id(&text)?;
        let ids: String = std::iter::once(id.as_str())
            .chain(new.iter().map(|o| o.id.as_str()))
            .fold(String::new(), |all, id| all + id + "\n");
        let mut input = ids.as_bytes();
        let work = self.script(COMMIT, &[&text]).input(&mut input);
        let done = blame(self.session.spool(work, out, settings.tree_pack_bytes).await)?;
        succeeded(&done, "making the commit")?;
        Ok((id, text))
    }
}

fn commit_text(spec: &CaptureSpec, tree: &Tree, author: &(String, String)) -> String {
    let when = format!("{} +0000", spec.date_ms.div_euclid(1000));
    let plain = |s: &str| s.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect::<String>();
    let (name, mail) = (plain(&author.0), plain(&author.1));
    let message = format!("{}\n", spec.message.trim_end().replace('\0', ""));
    let who = format!("{name} <{mail}> {when}");
    let (tree, parent) = (tree.as_str(), &spec.segment.parent);
    format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}")
}
