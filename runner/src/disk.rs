//! The watchdog over a workspace and a home on the engine's disk, where no other limit applies.
//!
//! Measures the disk space of both (of a layered workspace only its layer, because the tree below is shared), including deleted files that
//! a process still holds open, and the free space of the file system, which also shows use that no file shows. A file counts at least as
//! its inode's share of the disk, because using up the inodes fills the disk as well. Over the budget, or below the floor while something
//! grows, every process but the runner is killed; work that only deletes goes on. Below the floor, space that anything else takes from the
//! disk during a command (64 MiB) counts against the command: a process can hide its use from others, so a sandbox that grew nothing may be
//! killed in its neighbour's place. Runs on its own thread from the start, so that a fork bomb can't prevent it. Walks take at most a
//! fiftieth of the time, and a fifth while much space is being taken, or all of it where that may exceed the budget; the floor is judged
//! before and during a walk, by the free space alone, because many files and busy processors make a walk slow. Must not decide what becomes
//! of the task. Tests: below and `tests/disk.rs`.

mod unlinked;
mod walk;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::statvfs::statvfs;
use tokio::sync::watch;

use crate::kill::kill_all;
use crate::layer;

/// Variable set by the broker for a workspace on disk: `<budget>:<floor>`, in bytes; 0 = none.
pub const VARIABLE: &str = "CAISSON_DISK";
/// Variable with the home's path, set by the broker if the home is on that disk too.
pub const HOME: &str = "CAISSON_DISK_HOME";

/// Interval of looks while a command runs, and while none does, because background processes may still write.
const TICK: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(1);
/// Least interval between two walks, also as a multiple of the last walk's duration, with a smaller multiple when space is being taken
/// fast.
const WALK: Duration = Duration::from_millis(500);
const SHARE: u32 = 50;
const HURRY: u32 = 4;
/// How long a command waits for the first walk.
const FIRST: Duration = Duration::from_secs(5);
/// Growth in bytes that counts: of the workspace, and of the use of a disk that others use too.
const GROWS: u64 = 1 << 20;
const SHRINKS: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Limits {
    budget: u64,
    floor: u64,
    /// Bytes that an inode counts as; 0 where the file system makes as many as it needs.
    inode: u64,
}

impl Limits {
    /// A note on how inodes were counted, for a sentence about bytes.
    fn inode(self) -> String {
        if self.inode == 0 { String::new() } else { format!(" (an inode counts as {} KiB)", self.inode.div_ceil(1024)) }
    }
}

/// One measurement: what workspace and home use, and the free space.
#[derive(Debug, Clone, Copy, Default)]
struct DiskMeasurement {
    used: u64,
    free: u64,
}

#[derive(Default)]
struct State {
    /// Number of running commands.
    active: usize,
    /// Whether a command began whose start is still to be measured.
    fresh: bool,
    /// Whether a command ended and waits for a verdict on its use.
    ending: bool,
    /// Free space at the first walk.
    first: Option<u64>,
    start: DiskMeasurement,
    last: DiskMeasurement,
    breach: Option<String>,
    /// Number of walks so far.
    walks: u64,
    /// How long the last walk took, and when it ended.
    cost: Duration,
    ended: Option<Instant>,
}

struct Shared {
    /// What is measured: the workspace, or its layer.
    root: PathBuf,
    /// The home, if it is measured too.
    home: Option<PathBuf>,
    open: unlinked::Places,
    limits: Limits,
    state: Mutex<State>,
    bell: Condvar,
    walked: watch::Sender<u64>,
    /// False while everything is being killed, so that nothing may begin.
    calm: watch::Sender<bool>,
}

#[derive(Clone)]
pub struct Disk(Option<Arc<Shared>>);

/// A running command that is watched.
pub struct Watched<'a>(&'a Disk);

impl Disk {
    /// Reads the broker's variable; without it nothing is watched.
    ///
    /// # Errors
    /// When the variable can't be read, or no thread can be started.
    pub fn from_environment(workspace: &Path) -> anyhow::Result<Self> {
        let Some(text) = std::env::var_os(VARIABLE) else { return Ok(Self(None)) };
        let text = text.to_string_lossy();
        let limits = parse(&text).ok_or_else(|| anyhow::anyhow!("{VARIABLE}={text:?} is not <budget>:<floor>"))?;
        if limits == Limits::default() {
            return Ok(Self(None));
        }
        let root = std::env::var_os(layer::VARIABLE).map_or_else(|| workspace.to_owned(), PathBuf::from);
        // A large disk needs a larger floor.
        let (size, inodes) =
            statvfs(&root).map_or((0, 0), |stat| (stat.blocks().saturating_mul(stat.fragment_size()), stat.files()));
        let floor = if limits.floor == 0 { 0 } else { limits.floor.max(size / 50) };
        let inode = size.checked_div(inodes).unwrap_or(0);
        // Existing files are measured early, so that the first command need not wait.
        let furnished = std::fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_some());
        let state = Mutex::new(State { fresh: furnished, ..State::default() });
        let (bell, walked) = (Condvar::new(), watch::Sender::new(0));
        let (limits, calm) = (Limits { floor, inode, ..limits }, watch::Sender::new(true));
        let home = std::env::var_os(HOME).map(PathBuf::from);
        let places: Vec<&Path> = [workspace, &root].into_iter().chain(home.as_deref()).collect();
        let open = unlinked::Places::of(&places);
        let shared = Arc::new(Shared { root, home, open, limits, state, bell, walked, calm });
        let guard = Arc::clone(&shared);
        std::thread::Builder::new().name("disk".to_owned()).spawn(move || guard.guard())?;
        Ok(Self(Some(shared)))
    }

    /// A sentence if too little space is free for work to begin.
    pub fn lacks(&self) -> Option<String> {
        let shared = self.0.as_ref()?;
        let (free, limits) = (shared.free(), shared.limits);
        (free < limits.floor).then(|| {
            let (free, floor, inode) = (mib(free), mib(limits.floor), limits.inode());
            format!("the engine's disk has {free} free{inode}, and {floor} are to stay free (`sandbox.disk_floor_mib`); make room there")
        })
    }

    /// A command begins; an error sentence if an earlier one's leftovers were killed meanwhile.
    pub async fn begin(&self) -> Result<Watched<'_>, String> {
        if let Some(shared) = &self.0 {
            shared.calm().await;
            let mut walked = shared.walked.subscribe();
            let first = {
                let mut state = shared.state();
                if let Some(breach) = state.breach.take() {
                    return Err(format!("{breach}; processes that an earlier action left behind were ended"));
                }
                state.active += 1;
                state.fresh = true;
                state.first.is_none()
            };
            shared.bell.notify_all();
            if first {
                let _ = tokio::time::timeout(FIRST, walked.wait_for(|walks| *walks > 0)).await;
            }
        }
        Ok(Watched(self))
    }
}

impl Watched<'_> {
    /// The command ended; a sentence if it took too much space.
    pub async fn end(self) -> Option<String> {
        let shared = self.0.0.as_ref()?;
        let mut walked = shared.walked.subscribe();
        let asked = {
            let mut state = shared.state();
            state.ending = state.breach.is_none() && shared.suspicious(&state);
            state.ending.then_some(state.walks)
        };
        if let Some(walks) = asked {
            shared.bell.notify_all();
            let _ = tokio::time::timeout(FIRST, walked.wait_for(|now| *now > walks)).await;
        }
        shared.calm().await;
        shared.state().breach.take()
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if let Some(shared) = &self.0.0 {
            shared.state().active -= 1;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free space in bytes, or the worth of the free inodes if that is less.
    fn free(&self) -> u64 {
        let inode = self.limits.inode;
        statvfs(&self.root).map_or(u64::MAX, |stat| {
            let bytes = stat.blocks_available().saturating_mul(stat.fragment_size());
            if inode == 0 { bytes } else { bytes.min(stat.files_available().saturating_mul(inode)) }
        })
    }

    async fn calm(&self) {
        // The sender lives as long as `self`.
        let _ = self.calm.subscribe().wait_for(|calm| *calm).await;
    }

    /// Whether so much was taken from the disk since the last walk that this workspace may be over its budget.
    fn suspicious(&self, state: &State) -> bool {
        let taken = state.last.free.saturating_sub(self.free());
        (self.limits.budget > 0 && taken > self.left(state)) || taken > SHRINKS
    }

    /// Whether it may be over its budget, by so much space that the next walk has to be at once.
    fn urgent(&self, state: &State) -> bool {
        let taken = state.last.free.saturating_sub(self.free());
        self.limits.budget > 0 && taken > self.left(state).max(SHRINKS)
    }

    /// What the budget had left at the last walk.
    fn left(&self, state: &State) -> u64 {
        self.limits.budget.saturating_sub(state.last.used)
    }

    /// A breach of the floor that the free space alone shows.
    fn sunk(&self) -> Option<String> {
        let start = self.state().start;
        breach(self.limits, start, DiskMeasurement { free: self.free(), ..start })
    }

    fn guard(&self) {
        loop {
            let (wanted, due) = {
                let state = self.state();
                let pause = if state.active > 0 { TICK } else { IDLE };
                let nothing = |state: &mut State| !state.fresh && !state.ending;
                let (state, _) =
                    self.bell.wait_timeout_while(state, pause, nothing).unwrap_or_else(PoisonError::into_inner);
                // Before the first command there is nothing to watch.
                if state.first.is_none() && !state.fresh {
                    continue;
                }
                let asked = state.fresh || state.ending;
                let since = state.ended.map_or(Duration::MAX, |ended| ended.elapsed());
                let usual = state.active > 0 && since >= WALK.max(state.cost * SHARE);
                let soon = since >= state.cost * HURRY && (asked || self.suspicious(&state));
                (asked, state.first.is_none() || usual || soon || self.urgent(&state))
            };
            if let Some(breach) = self.sunk() {
                self.end_all(breach);
            } else if due {
                match self.look_unless_sunk() {
                    Ok(seen) => self.judge(seen),
                    Err(breach) => self.end_all(breach),
                }
            } else if wanted {
                self.answer_from_the_last();
            }
        }
    }

    /// Answers from the last walk where another walk would cost too much.
    fn answer_from_the_last(&self) {
        let mut state = self.state();
        if state.fresh {
            state.start = next_start(state.start, DiskMeasurement { free: self.free(), ..state.last });
        }
        (state.fresh, state.ending) = (false, false);
        state.walks += 1;
        self.walked.send_replace(state.walks);
    }

    /// Measures; fails with a breach of the floor that is seen meanwhile.
    fn look_unless_sunk(&self) -> Result<DiskMeasurement, String> {
        let (asked, sunk) = (Cell::new(None::<Instant>), RefCell::new(None));
        let stop = || {
            if asked.get().is_none_or(|at| at.elapsed() >= TICK) {
                asked.set(Some(Instant::now()));
                *sunk.borrow_mut() = self.sunk();
            }
            sunk.borrow().is_some()
        };
        let seen = self.look(&stop);
        sunk.into_inner().map_or(Ok(seen), Err)
    }

    /// Walks. One that was cut short is followed by a whole one, whose time counts.
    fn look(&self, stop: &dyn Fn() -> bool) -> DiskMeasurement {
        let begun = Instant::now();
        let before = self.state().first;
        let free = self.free();
        let (mut used, mut whole) = self.open.used(stop);
        for root in std::iter::once(&self.root).chain(&self.home) {
            let (here, all) = walk::used(root, self.limits.inode, stop);
            (used, whole) = (used.saturating_add(here), whole && all);
        }
        let mut state = self.state();
        (state.cost, state.ended) = (begun.elapsed(), Some(Instant::now()));
        drop(state);
        match before {
            // If a tree can't be fully walked, the loss of free space counts as its use.
            Some(first) if !whole => DiskMeasurement { used: used.max(first.saturating_sub(free)), free },
            _ => DiskMeasurement { used, free },
        }
    }

    fn judge(&self, seen: DiskMeasurement) {
        let mut state = self.state();
        state.last = seen;
        let new = state.first.is_none();
        state.first.get_or_insert(seen.free);
        // Compared with the start of the command before, so that growth between two commands counts as well.
        let breach = if new { None } else { breach(self.limits, state.start, seen) };
        if state.fresh {
            state.start = if new { seen } else { next_start(state.start, seen) };
        }
        if let Some(breach) = breach {
            drop(state);
            return self.end_all(breach);
        }
        self.report_walk(state);
    }

    /// Kills every process but the runner.
    fn end_all(&self, breach: String) {
        // Set before anything is killed, so that the reason is known when it dies.
        self.state().breach.get_or_insert(breach);
        self.calm.send_replace(false);
        let mut killed = HashSet::new();
        for _ in 0..40 {
            if kill_all(&mut killed) == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.settle();
    }

    /// What the killed processes wrote counts as existing, so that deleting is possible.
    fn settle(&self) {
        let seen = self.look(&|| false);
        let mut state = self.state();
        (state.start, state.last) = (seen, seen);
        self.calm.send_replace(true);
        self.report_walk(state);
    }

    fn report_walk(&self, mut state: MutexGuard<'_, State>) {
        (state.fresh, state.ending) = (false, false);
        state.walks += 1;
        self.walked.send_replace(state.walks);
    }
}

/// The base of the next command's comparison; it keeps growth that is too small to count, because many small files add up.
fn next_start(before: DiskMeasurement, seen: DiskMeasurement) -> DiskMeasurement {
    let small = seen.used > before.used && seen.used <= before.used + GROWS;
    DiskMeasurement { used: if small { before.used } else { seen.used }, ..seen }
}

fn breach(limits: Limits, start: DiskMeasurement, now: DiskMeasurement) -> Option<String> {
    let grows = now.used > start.used + GROWS;
    if limits.budget > 0 && now.used > limits.budget && grows {
        let (used, budget) = (mib(now.used), mib(limits.budget));
        let inode = limits.inode();
        return Some(format!(
            "workspace and home take {used} on disk{inode}, and {budget} are what they may (`sandbox.disk_mib`)"
        ));
    }
    let shrinks = start.free > now.free.saturating_add(SHRINKS);
    (now.free < limits.floor && (grows || shrinks)).then(|| {
        let (free, floor, inode) = (mib(now.free), mib(limits.floor), limits.inode());
        format!(
            "the engine's disk has only {free} left{inode}, and {floor} are to stay free (`sandbox.disk_floor_mib`)"
        )
    })
}

fn parse(text: &str) -> Option<Limits> {
    let (budget, floor) = text.split_once(':')?;
    Some(Limits { budget: budget.parse().ok()?, floor: floor.parse().ok()?, inode: 0 })
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn seen(used: u64, free: u64) -> DiskMeasurement {
        DiskMeasurement { used: used * MIB, free: free * MIB }
    }

    #[test]
    fn growth_is_held_to_the_budget_and_deleting_goes_on() {
        let limits = Limits { budget: 100 * MIB, ..Limits::default() };
        let empty = seen(0, 9000);
        assert!(breach(limits, empty, seen(100, 9000)).is_none(), "as much as it may");
        let said = breach(limits, seen(90, 9000), seen(102, 9000)).expect("too much");
        assert!(said.contains("102 MiB") && said.contains("100 MiB"), "{said}");
        let over = seen(200, 9000);
        assert!(breach(limits, over, seen(150, 9000)).is_none(), "less than when it began");
        assert!(breach(limits, over, seen(203, 9000)).is_some(), "more than when it began");
        assert!(breach(Limits::default(), empty, seen(90_000, 1)).is_none(), "no limits");
    }

    #[test]
    fn the_floor_counts_for_what_takes_and_also_where_no_file_shows_it() {
        let limits = Limits { floor: 1000 * MIB, ..Limits::default() };
        let first = seen(10, 1500);
        assert!(breach(limits, first, seen(10, 900)).is_some(), "a deleted file that is open");
        assert!(breach(limits, seen(10, 990), seen(10, 989)).is_none(), "others filled it");
        assert!(breach(limits, seen(10, 990), seen(12, 988)).is_some());
        assert!(breach(limits, first, seen(400, 1100)).is_none(), "enough is left");
    }

    fn shared(root: &Path, limits: Limits, state: State) -> Shared {
        let (open, state) = (unlinked::Places::of(&[root]), Mutex::new(state));
        let (bell, walked, calm) = (Condvar::new(), watch::Sender::new(0), watch::Sender::new(true));
        Shared { root: root.to_owned(), home: None, open, limits, state, bell, walked, calm }
    }

    #[test]
    fn the_floor_is_judged_without_a_walk_and_ends_one() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("file"), "x").expect("written");
        // No disk has so much.
        let limits = Limits { floor: u64::MAX / 2, ..Limits::default() };
        let since = |free| {
            let start = DiskMeasurement { used: 0, free };
            shared(dir.path(), limits, State { start, first: Some(free), ..State::default() })
        };
        let nothing = since(0);
        assert!(nothing.sunk().is_none() && nothing.look_unless_sunk().is_ok(), "nothing was taken");
        let much = since(u64::MAX / 2);
        assert!(much.sunk().is_some_and(|said| said.contains("sandbox.disk_floor_mib")));
        assert!(much.look_unless_sunk().is_err());
    }

    #[test]
    fn the_next_walk_waits_by_the_whole_one_that_follows_a_walk_cut_short() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("file"), "x").expect("written");
        let limits = Limits { floor: u64::MAX / 2, ..Limits::default() };
        let start = DiskMeasurement { used: 0, free: u64::MAX / 2 };
        let shared = shared(dir.path(), limits, State { start, first: Some(start.free), ..State::default() });
        assert!(shared.look_unless_sunk().is_err());
        let cut = shared.state().ended;
        shared.settle();
        let state = shared.state();
        assert!(cut.is_some() && state.ended > cut, "{cut:?} {:?}", state.ended);
        assert_eq!(state.walks, 1);
    }

    #[test]
    fn space_that_may_exceed_the_budget_is_looked_for_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let limits = Limits { budget: u64::MAX / 4, ..Limits::default() };
        let urgent = |used, free| {
            let shared = shared(dir.path(), limits, State { last: DiskMeasurement { used, free }, ..State::default() });
            let state = shared.state();
            shared.urgent(&state)
        };
        assert!(urgent(u64::MAX / 4, u64::MAX / 2));
        assert!(!urgent(u64::MAX / 4, 0), "nothing was taken");
        assert!(!urgent(0, u64::MAX / 4), "the budget has room for all that was taken");
    }

    #[test]
    fn small_growth_adds_up_from_command_to_command() {
        let start = DiskMeasurement { used: 10 * MIB, free: 50 };
        let more = DiskMeasurement { used: 11 * MIB, free: 40 };
        assert_eq!(next_start(start, more).used, 10 * MIB);
        assert_eq!(next_start(start, more).free, 40, "others use the disk too");
        assert_eq!(next_start(start, seen(12, 1)).used, 12 * MIB);
        assert_eq!(next_start(start, seen(9, 1)).used, 9 * MIB, "what was deleted may not grow back for nothing");
    }

    #[test]
    fn the_brokers_word_is_read_strictly() {
        assert_eq!(parse("5:7"), Some(Limits { budget: 5, floor: 7, inode: 0 }));
        assert!(parse("5").is_none() && parse("5:").is_none() && parse("-1:2").is_none());
    }
}
