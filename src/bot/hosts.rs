//! This host among others with the same store: it reports every few seconds, and works for the repositories of which it then has a lease.
//!
//! Owns when leases are requested, that work on a repository begins only after another host's leftovers were handled, and that it stops
//! once the lease is lost. The store decides who gets which. Tests: `hosts/free.rs`, `tests/stories/{several,leases,lost}.rs`.

mod free;
mod lost;

use super::Parts;
use crate::barrier::BarrierState;
use crate::config::Process;
use crate::effect::EffectRunner;
use crate::handler::Intake;
use crate::sandbox::{SandboxError, Sandboxes, TaskSandboxes};
use crate::store::{Claim, ClaimResult, EffectRow, StoreError, Word, unless_unreadable};
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

/// How long a lease lasts without a report of its host.
const LASTS: Duration = Duration::from_secs(10);
/// The holder relies on less, because a request may take a while and clocks of machines differ.
const COUNTED_ON: Duration = Duration::from_secs(8);
/// Time between two reports.
const EVERY: Duration = Duration::from_millis(2_500);
/// A report without an answer within this time failed; further ones are sent all the same.
const ANSWERED: Duration = Duration::from_millis(7_500);
/// The most reports under way.
const MOST_ASKING: usize = 3;
/// A lease that ends this soon counts as lost, because it would end while it is prolonged.
const LAST_MOMENT: Duration = Duration::from_millis(200);
/// Time after which a failed adoption of a repository is tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// Name of this work in `/readyz`.
const WORK: &str = "leases";
/// Name there of what ends all work of this host, which stays while [`WORK`] is begun anew in vain.
const HOST: &str = "this host";

/// States in which a task is at work.
const AT_WORK: [&str; 5] = ["queued", "preparing", "running", "publishing", "verifying"];

#[derive(Clone, Copy, PartialEq)]
enum Adoption {
    /// Another host's leftovers are being handled, by the try with this number.
    Underway(u64),
    /// That failed and is tried again after a while.
    Failed(Instant),
    Done,
}

struct HostState {
    /// Repositories that belong to this host according to the store.
    adoptions: HashMap<String, Adoption>,
    until: Awake,
    /// Time of the newest report whose answer is known.
    asked: Awake,
    tries: u64,
    /// Whether the engine did not answer the last request.
    engine_away: bool,
    /// Repositories with tasks in the store that no configuration of this host has.
    left_over: Vec<String>,
    /// Repositories of tasks with sandboxes here, asked while the store is available.
    of_tasks: HashMap<i64, String>,
    /// Repositories that this life has worked for.
    worked: HashSet<String>,
    /// Tasks whose sandboxes were put to rest after a lease was lost; false = that failed and is tried again.
    resting: HashMap<i64, bool>,
    /// Locked while a task's sandbox is put to rest, used again or removed.
    turns: HashMap<i64, Arc<tokio::sync::Mutex<()>>>,
}

/// This host of a shared store.
pub struct Hosts {
    machine: Arc<Machine>,
    config: Arc<Process>,
    effects: Arc<EffectRunner>,
    sandboxes: Arc<Sandboxes>,
    intake: Arc<Intake>,
    works: Works,
    barrier: watch::Receiver<BarrierState>,
    stopping: CancellationToken,
    /// Address of this host, for people.
    address: String,
    state: Mutex<HostState>,
    /// Notified when a lease may be free.
    look: Notify,
    /// Notified when an entry of a repository may have changed.
    entries: Arc<Notify>,
    /// Number of requests for leases under way.
    asking: AtomicUsize,
    /// When the newest report began that was sent; locked while one is sent.
    sent: tokio::sync::Mutex<Awake>,
}

impl Hosts {
    /// Works for no repository before [`Hosts::begin`].
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
            sent: tokio::sync::Mutex::new(Awake::now()),
        })
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self) -> &TaskSandboxes {
        &self.sandboxes.of_tasks
    }

    /// Starts to request leases and to receive notifications. Continues while the bot drains; the caller ends the tasks.
    pub fn begin(self: &Arc<Self>) -> [JoinHandle<()>; 4] {
        let [one, two, three, four] = [self.clone(), self.clone(), self.clone(), self.clone()];
        [
            self.works.stay(WORK, self.stopping.clone(), move || one.clone().run()),
            self.works.stay("other hosts' words", self.stopping.clone(), move || two.clone().listen()),
            self.works.stay("lost repositories", self.stopping.clone(), move || three.clone().let_go()),
            self.works.stay("what other hosts left", self.stopping.clone(), move || four.clone().sweep()),
        ]
    }

    /// Holds leases as long as it runs, and returns only when this process may no longer work at all. Reports at fixed intervals, so that a
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

    /// Handles the result of a report; true when this host may no longer work.
    fn is_over(&self, asked: Result<Result<(), StoreError>, String>) -> bool {
        let why = match asked {
            Ok(Ok(())) => {
                self.works.well(WORK);
                self.works.well(HOST);
                return false;
            }
            Ok(Err(error @ (StoreError::Replaced | StoreError::Shape { .. }))) => {
                tracing::error!(%error, "nothing is done here any more");
                self.works.set_wrong(HOST, format!("nothing is done here any more: {error}"));
                return true;
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        tracing::warn!(why, "the leases of this host could not be prolonged");
        self.works.set_wrong(WORK, why);
        false
    }

    /// Requests leases at once, because the repositories changed.
    pub fn ask(&self) {
        self.look.notify_one();
    }

    /// Receives notifications of other hosts.
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
        let answer = tokio::time::timeout(ANSWERED, self.report(asked)).await.map_err(|_| StoreError::Slow)??;
        let Some(ClaimResult { claimed, free_in_ms }) = answer else { return Ok(()) };
        self.look_when_free(free_in_ms);
        let mut begun = Vec::new();
        {
            let mut all = self.state();
            // The answer to a later report is known already.
            if asked < all.asked {
                return Ok(());
            }
            all.asked = asked;
            let kept: HashSet<&String> = claimed.iter().filter(|it| it.kept).map(|it| &it.repository).collect();
            let leases = self.machine.leases();
            // After an interruption another host may have worked for it, or this one stopped its work.
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

    /// Sends a report that began then, and returns its answer. None if a later one was sent meanwhile: the store would take this one, which
    /// is older, for the newest.
    async fn report(&self, asked: Awake) -> Result<Option<ClaimResult>, StoreError> {
        let claim = self.claim().await?;
        let answer = {
            let mut sent = self.sent.lock().await;
            if asked < *sent {
                return Ok(None);
            }
            *sent = asked;
            self.machine.store().begin_claim(claim).await?
        };
        answer.await.map(Some)
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        let movable = self.movable().await?;
        let drains = self.stopping.is_cancelled();
        let broken = matches!(*self.barrier.borrow(), BarrierState::Broken(_) | BarrierState::Refused(_));
        let all = self.state();
        let fails = all.adoptions.values().any(|adoption| matches!(adoption, Adoption::Failed(_)));
        let configured = self.config.keys();
        // While draining no further repositories are requested.
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

    /// Publishes the leases; `begun` is a repository that was just adopted. Others that were lost meanwhile stay lost.
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

    /// Leased repositories without anything on this machine, or that cannot be adopted here, so that another host loses nothing by taking
    /// them.
    async fn movable(&self) -> Result<Vec<String>, StoreError> {
        let mut busy: BTreeSet<String> = BTreeSet::new();
        // Without an engine no task that has not begun can proceed here.
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
        let found = match row {
            Some(row) => Some(row.repository),
            None => self.machine.store().repository_of_test_run(id).await?,
        };
        if let Some(repository) = &found {
            self.state().of_tasks.insert(id, repository.clone());
        }
        Ok(found)
    }

    fn turn(&self, id: i64) -> Arc<tokio::sync::Mutex<()>> {
        self.state().turns.entry(id).or_default().clone()
    }

    /// Handles another host's leftovers, then starts to work for the repository.
    async fn adopt(self: Arc<Self>, key: String, adoption: Adoption) {
        let failed = |panic| Err(Trouble::later(format!("the bot itself failed: {panic}")));
        let adopted = caught("adoption", Box::pin(self.put_in_order(&key))).await.unwrap_or_else(failed);
        let work = format!("beginning to work for {key}");
        let open = {
            let mut all = self.state();
            if all.adoptions.get(&key) != Some(&adoption) {
                return;
            }
            let open = match adopted {
                Ok(open) => open,
                Err(trouble) => {
                    tracing::warn!(?trouble, key, "a repository is not worked for yet; tried again");
                    self.works.set_wrong(&work, trouble.to_string());
                    all.adoptions.insert(key, Adoption::Failed(Instant::now()));
                    return;
                }
            };
            self.works.well(&work);
            all.worked.insert(key.clone());
            all.adoptions.insert(key.clone(), Adoption::Done);
            self.machine.forget_repository(&key, &open);
            self.publish(&all, Some(&key));
            open
        };
        tracing::info!(key, "this host works for the repository");
        open.into_iter().for_each(|task| self.machine.nudge(task));
        self.machine.line().notify_one();
        self.intake.read_all();
    }

    /// Returns the tasks that have open effects: nothing else would wake what ended ones still owe.
    async fn put_in_order(&self, key: &str) -> Result<HashSet<TaskId>, Trouble> {
        self.effects.adopt(key, self.machine.host()).await?;
        // Actions interrupted by putting a sandbox to rest continue.
        for row in self.machine.store().live_tasks().await?.into_iter().filter(|row| row.repository == key) {
            if !self.state().resting.contains_key(&row.id) {
                continue;
            }
            let turn = self.turn(row.id);
            let _one = turn.lock().await;
            let id = TaskId(row.id);
            let next = unless_unreadable(id, self.machine.store().next_effect(id, Queue::Work).await)?;
            let acts = |next: EffectRow| next.effect.needs().sandbox == SandboxNeed::Open;
            // Of a step that cannot be read nothing goes on.
            if next.is_some_and(|next| next.is_some_and(acts) || row.state == "running") {
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
        Ok(self.machine.store().tasks_with_effects_in(key).await?.into_iter().collect())
    }

    async fn give(&self, repositories: Vec<String>, goes: bool) {
        let (host, epoch) = (self.machine.host(), self.machine.epoch());
        if let Err(error) = self.machine.store().release(host, epoch, repositories, goes).await {
            tracing::warn!(%error, "leases could not be given back: they end by themselves");
        }
    }

    /// Releases leases that another host can take over at once. Repositories with a sandbox here keep theirs until it ends, so that a
    /// restart can continue.
    pub async fn leave(&self) {
        let movable = self.movable().await.unwrap_or_default();
        let claim = self.claim().await;
        // Reports that began before are not sent any more.
        *self.sent.lock().await = Awake::now();
        // Adoptions in progress are abandoned.
        self.state().adoptions.clear();
        self.machine.leases().set([], Awake::now());
        if let Ok(claim) = claim {
            let longest = self.machine.store().claim(Claim { movable: Vec::new(), ..claim }).await;
            let _ = longest.inspect_err(|error| tracing::warn!(%error, "leases end soon"));
        }
        self.give(movable, true).await;
    }
}

/// Address of this host, for people.
pub fn host_address(config: &Process) -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} ({}, operations on {})", name.trim(), config.installation, config.listen.ops)
}
