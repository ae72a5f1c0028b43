//! This host among others that work on the same store: it says every few seconds that it is there, and works for the repositories of which
//! it then has a lease.
//!
//! Owns when leases are asked for, that nothing of a repository is done before what another host left of it is put in order here, and that
//! nothing of it goes on here once the lease is lost. Who gets which is the store's. Tests: `tests/stories/{several,leases,lost}.rs`.

mod lost;

use super::Parts;
use crate::barrier::Standing;
use crate::config::Process;
use crate::effect::EffectRunner;
use crate::handler::Intake;
use crate::sandbox::{SandboxError, Sandboxes, TaskSandboxes};
use crate::store::{Claim, StoreError, Word};
use crate::supervise::{Works, caught};
use crate::task::{Awake, Machine};
use crate::trouble::Trouble;
use domain::{Queue, SandboxNeed, TaskId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a lease lasts without another word of its host.
const LASTS: Duration = Duration::from_secs(10);
/// Its holder counts on less: a question may be under way for a while, and clocks of machines do not run alike.
const COUNTED_ON: Duration = Duration::from_secs(8);
/// Between two words.
const EVERY: Duration = Duration::from_millis(2_500);
/// A word that is not answered within this was not said; words follow each other all the same.
const ANSWERED: Duration = Duration::from_millis(7_500);
/// Words that are under way at most.
const MOST_ASKING: usize = 3;
/// One that ends so soon counts as lost: it would end while it is prolonged.
const LAST_MOMENT: Duration = Duration::from_millis(200);
/// After so long it is tried again to begin with a repository.
const AGAIN: Duration = Duration::from_secs(10);
/// The work's name in what `/readyz` says.
const WORK: &str = "leases";

/// States of a task in which it is at work.
const AT_WORK: [&str; 5] = ["queued", "preparing", "running", "publishing", "verifying"];

#[derive(Clone, Copy, PartialEq)]
enum Adoption {
    /// What the other host left is being put in order, by the try of this number.
    Underway(u64),
    /// That could not be done; it is tried again after a while.
    Failed(Instant),
    Done,
}

struct HostState {
    /// Repositories of which the store says that they are this host's.
    adoptions: HashMap<String, Adoption>,
    until: Awake,
    /// When the newest word was said whose answer is known.
    asked: Awake,
    tries: u64,
    /// The engine did not answer when it was asked last.
    engine_away: bool,
    /// Those in no configuration of this host, of which the store has tasks.
    left_over: Vec<String>,
    /// Repositories of tasks whose sandboxes stand here: asked while the store answers.
    of_tasks: HashMap<i64, String>,
    /// Repositories that this life worked for.
    worked: HashSet<String>,
    /// Tasks whose sandboxes were let go of; false: what was begun of that has failed, and is tried again.
    resting: HashMap<i64, bool>,
    /// Held while a task's sandbox is let go of, taken up or removed.
    turns: HashMap<i64, Arc<tokio::sync::Mutex<()>>>,
}

/// This host, where others share its store.
pub struct Hosts {
    machine: Arc<Machine>,
    config: Arc<Process>,
    effects: Arc<EffectRunner>,
    sandboxes: Arc<Sandboxes>,
    intake: Arc<Intake>,
    works: Works,
    barrier: watch::Receiver<Standing>,
    stopping: CancellationToken,
    /// Where this host is, for people.
    address: String,
    state: Mutex<HostState>,
    /// Rung when a lease may be free.
    look: Notify,
    /// Rung when an entry of a repository may be another one.
    entries: Arc<Notify>,
    /// Questions for leases that are under way.
    asking: AtomicUsize,
}

impl Hosts {
    /// Works for nothing before [`Hosts::begin`].
    pub fn of(
        parts: &Parts,
        machine: &Arc<Machine>,
        effects: Arc<EffectRunner>,
        intake: Arc<Intake>,
        entries: Arc<Notify>,
        stopping: &CancellationToken,
    ) -> Arc<Self> {
        let state = HostState {
            adoptions: HashMap::new(),
            until: Awake::now(),
            asked: Awake::now(),
            tries: 0,
            engine_away: false,
            left_over: Vec::new(),
            of_tasks: HashMap::new(),
            worked: HashSet::new(),
            resting: HashMap::new(),
            turns: HashMap::new(),
        };
        Arc::new(Self {
            machine: machine.clone(),
            config: parts.config.clone(),
            effects,
            sandboxes: parts.sandboxes.clone(),
            intake,
            works: parts.works.clone(),
            barrier: parts.barrier.clone(),
            stopping: stopping.clone(),
            address: host_address(&parts.config),
            state: Mutex::new(state),
            look: Notify::new(),
            entries,
            asking: AtomicUsize::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self) -> &TaskSandboxes {
        &self.sandboxes.of_tasks
    }

    /// Begins to hold leases, and to hear the other hosts. Goes on while the bot drains: who begins it ends it.
    pub fn begin(self: &Arc<Self>) -> [JoinHandle<()>; 4] {
        let [one, two, three, four] = [self.clone(), self.clone(), self.clone(), self.clone()];
        [
            self.works.stay(WORK, self.stopping.clone(), move || one.clone().run()),
            self.works.stay("other hosts' words", self.stopping.clone(), move || two.clone().listen()),
            self.works.stay("lost repositories", self.stopping.clone(), move || three.clone().let_go()),
            self.works.stay("what other hosts left", self.stopping.clone(), move || four.clone().sweep()),
        ]
    }

    /// Holds leases for as long as it runs; returns only when this process may work for nothing any more. Says its word on a beat of its own: a
    /// slow answer delays no other.
    async fn run(self: Arc<Self>) {
        let (over, mut ended) = mpsc::channel(1);
        loop {
            if self.asking.fetch_add(1, Ordering::Relaxed) < MOST_ASKING {
                let (this, over) = (self.clone(), over.clone());
                tokio::spawn(async move {
                    let asked = caught("leases", this.round()).await;
                    this.asking.fetch_sub(1, Ordering::Relaxed);
                    if this.is_over(asked) {
                        let _ = over.send(()).await;
                    }
                });
            } else {
                self.asking.fetch_sub(1, Ordering::Relaxed);
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = self.look.notified() => {}
                _ = ended.recv() => {
                    self.state().adoptions.clear();
                    self.machine.leases().set([], Awake::now());
                    return;
                }
            }
        }
    }

    /// What a round's end says of this host; true when nothing may be done here any more.
    fn is_over(&self, asked: Result<Result<(), StoreError>, String>) -> bool {
        let why = match asked {
            Ok(Ok(())) => {
                self.works.well(WORK);
                return false;
            }
            Ok(Err(error @ (StoreError::Replaced | StoreError::Shape { .. }))) => {
                tracing::error!(%error, "nothing is done here any more");
                return true;
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        tracing::warn!(why, "the leases of this host could not be prolonged");
        self.works.set_wrong(WORK, why);
        false
    }

    /// Asks for leases at once: there are other repositories than before.
    pub fn ask(&self) {
        self.look.notify_one();
    }

    /// Hears the other hosts.
    async fn listen(self: Arc<Self>) {
        let mut wakes = self.machine.store().wakes();
        loop {
            match wakes.next().await {
                Word::Delivery => self.intake.ring(),
                Word::Lease => self.look.notify_one(),
                Word::Repository => self.entries.notify_one(),
                Word::Unknown => {
                    self.intake.ring();
                    self.look.notify_one();
                    self.entries.notify_one();
                }
            }
        }
    }

    async fn round(self: &Arc<Self>) -> Result<(), StoreError> {
        let asked = Awake::now();
        let claimed = async { self.machine.store().claim(self.claim().await?).await };
        let claimed = tokio::time::timeout(ANSWERED, claimed).await.map_err(|_| StoreError::Slow)??;
        let mut begun = Vec::new();
        {
            let mut all = self.state();
            // The answer to a later word is known already.
            if asked < all.asked {
                return Ok(());
            }
            all.asked = asked;
            let kept: HashSet<&String> = claimed.iter().filter(|it| it.kept).map(|it| &it.repository).collect();
            let leases = self.machine.leases();
            // With a gap, another host may have worked for it, or this one has broken off what it did.
            let goes_on = |key: &String, adoption: &Adoption| {
                kept.contains(key)
                    && match adoption {
                        Adoption::Underway(_) => true,
                        Adoption::Failed(at) => at.elapsed() < AGAIN,
                        Adoption::Done => leases.holds_for(key, LAST_MOMENT),
                    }
            };
            all.adoptions.retain(|key, adoption| goes_on(key, adoption));
            all.until = asked + COUNTED_ON;
            for key in claimed.into_iter().map(|it| it.repository) {
                if !all.adoptions.contains_key(&key) {
                    all.tries += 1;
                    let adoption = Adoption::Underway(all.tries);
                    all.adoptions.insert(key.clone(), adoption);
                    begun.push((key, adoption));
                }
            }
            self.publish(&all, None);
        }
        for (key, adoption) in begun {
            tokio::spawn(self.clone().adopt(key, adoption));
        }
        Ok(())
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        let movable = self.movable().await?;
        let drains = self.stopping.is_cancelled();
        let broken = matches!(*self.barrier.borrow(), Standing::Broken(_) | Standing::Refused(_));
        let all = self.state();
        let fails = all.adoptions.values().any(|adoption| matches!(adoption, Adoption::Failed(_)));
        let configured = self.config.keys();
        // Who is on its way out takes nothing more.
        let asked = configured.iter().filter(|key| !drains || all.adoptions.contains_key(*key));
        Ok(Claim {
            host: self.machine.host().to_owned(),
            address: self.address.clone(),
            epoch: self.machine.epoch(),
            repositories: asked.cloned().collect(),
            left_over: all.left_over.iter().filter(|key| !configured.contains(key)).cloned().collect(),
            configured,
            willing: !(drains || broken || fails || all.engine_away),
            movable,
            lasts_ms: LASTS.as_millis() as i64,
        })
    }

    /// `begun`: a repository that was only now put in order. Of others, what was lost meanwhile stays lost.
    fn publish(&self, all: &HostState, begun: Option<&str>) {
        let leases = self.machine.leases();
        let done = all.adoptions.iter().filter(|(_, adoption)| **adoption == Adoption::Done).map(|(key, _)| key);
        let state: Vec<String> = done.filter(|key| begun == Some(key.as_str()) || leases.holds(key)).cloned().collect();
        leases.set(state, all.until);
    }

    async fn find_left_over(&self) -> Result<(), StoreError> {
        let mut keys = self.machine.store().repositories_with_tasks().await?;
        keys.retain(|key| self.config.repository(key).is_none());
        self.state().left_over = keys;
        Ok(())
    }

    /// Held repositories of which nothing stands here, or with which this host cannot begin: another one loses nothing with them.
    async fn movable(&self) -> Result<Vec<String>, StoreError> {
        let mut busy: BTreeSet<String> = BTreeSet::new();
        // Without an engine nothing goes on here that has not begun.
        let away = self.state().engine_away;
        for id in self.standing().tasks().into_iter().filter(|id| !away || self.standing().is_whole(*id)) {
            busy.extend(self.repository_of(id).await?);
        }
        if !away {
            let own = self.machine.own_rows().await?;
            busy.extend(own.into_iter().filter(|row| AT_WORK.contains(&row.state.as_str())).map(|row| row.repository));
        }
        let all = self.machine.leases().all().unwrap_or_default();
        let mut movable: Vec<String> = all.into_iter().filter(|key| !busy.contains(key)).collect();
        let state = self.state();
        let failed = state.adoptions.iter().filter(|(_, adoption)| matches!(adoption, Adoption::Failed(_)));
        movable.extend(failed.map(|(key, _)| key.clone()));
        Ok(movable)
    }

    async fn repository_of(&self, id: i64) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.state().of_tasks.get(&id) {
            return Ok(Some(known.clone()));
        }
        let row = self.machine.store().task_row(TaskId(id)).await?;
        if let Some(row) = &row {
            self.state().of_tasks.insert(id, row.repository.clone());
        }
        Ok(row.map(|row| row.repository))
    }

    fn turn(&self, id: i64) -> Arc<tokio::sync::Mutex<()>> {
        self.state().turns.entry(id).or_default().clone()
    }

    /// Puts in order what another host left, then begins to work for the repository.
    async fn adopt(self: Arc<Self>, key: String, adoption: Adoption) {
        let failed = |panic| Err(Trouble::later(format!("the bot itself failed: {panic}")));
        let adopted = caught("adoption", Box::pin(self.put_in_order(&key))).await.unwrap_or_else(failed);
        let work = format!("beginning to work for {key}");
        let mut open = HashSet::new();
        if adopted.is_ok() {
            // Each is nudged again when its thread is read, should they not be known now.
            open.extend(self.machine.store().tasks_with_effects_in(&key).await.unwrap_or_default());
        }
        {
            let mut all = self.state();
            if all.adoptions.get(&key) != Some(&adoption) {
                return;
            }
            if let Err(trouble) = adopted {
                tracing::warn!(?trouble, key, "a repository is not worked for yet; tried again");
                self.works.set_wrong(&work, trouble.to_string());
                all.adoptions.insert(key, Adoption::Failed(Instant::now()));
                return;
            }
            self.works.well(&work);
            all.worked.insert(key.clone());
            all.adoptions.insert(key.clone(), Adoption::Done);
            self.machine.forget_repository(&key, &open);
            self.publish(&all, Some(&key));
        }
        tracing::info!(key, "this host works for the repository");
        open.into_iter().for_each(|task| self.machine.nudge(task));
        self.machine.line().notify_one();
        self.intake.read_all();
    }

    async fn put_in_order(&self, key: &str) -> Result<(), Trouble> {
        self.effects.adopt(key, self.machine.host()).await?;
        // What was let go of in the middle of an action goes on.
        for row in self.machine.store().live_tasks().await?.into_iter().filter(|row| row.repository == key) {
            if !self.state().resting.contains_key(&row.id) {
                continue;
            }
            let turn = self.turn(row.id);
            let _one = turn.lock().await;
            let next = self.machine.store().next_effect(TaskId(row.id), Queue::Work).await?;
            let acts = next.is_some_and(|row| row.effect.needs().sandbox == SandboxNeed::Open);
            if acts || row.state == "running" {
                if self.state().until <= Awake::now() {
                    return Err(Trouble::later("the lease ended before its sandboxes were in order"));
                }
                match self.standing().open(row.id).await {
                    Ok(_) | Err(SandboxError::Gone(_)) => {}
                    Err(other) => return Err(other.into()),
                }
            }
            self.state().resting.remove(&row.id);
        }
        Ok(())
    }

    async fn give(&self, repositories: Vec<String>, goes: bool) {
        let (host, epoch) = (self.machine.host(), self.machine.epoch());
        if let Err(error) = self.machine.store().release(host, epoch, repositories, goes).await {
            tracing::warn!(%error, "leases could not be given back: they end by themselves");
        }
    }

    /// Gives back what another host can take over at once. What has a sandbox here stays this host's for one more lease: a restart finds it
    /// again.
    pub async fn leave(&self) {
        let movable = self.movable().await.unwrap_or_default();
        let claim = self.claim().await;
        // Whatever is still being put in order is not begun with any more.
        self.state().adoptions.clear();
        self.machine.leases().set([], Awake::now());
        if let Ok(claim) = claim {
            let longest = self.machine.store().claim(Claim { movable: Vec::new(), ..claim }).await;
            let _ = longest.inspect_err(|error| tracing::warn!(%error, "leases end soon"));
        }
        self.give(movable, true).await;
    }
}

/// Where this host is, for people.
pub fn host_address(config: &Process) -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} ({}, operations on {})", name.trim(), config.installation, config.listen.ops)
}
