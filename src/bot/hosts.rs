//! This host among others that work on the same store: it says every few seconds that it is there, and works for the repositories of which
//! it then has a lease.
//!
//! Owns when leases are asked for, and that nothing of a repository is done before what another host left of it is put in order here.
//! Who gets which is the store's. Tests: `tests/stories/several.rs`.

use crate::effect::EffectRunner;
use crate::handler::Intake;
use crate::sandbox::Sandboxes;
use crate::store::{Claim, StoreError, Word};
use crate::supervise::Works;
use crate::task::Machine;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a lease lasts without another word of its host.
const LASTS: Duration = Duration::from_secs(10);
/// Its holder counts on less: a question may be under way for a while, and clocks of machines do not run alike.
const COUNTED_ON: Duration = Duration::from_secs(8);
/// Between two words.
const EVERY: Duration = Duration::from_millis(2_500);
/// Between two looks for sandboxes of tasks that other hosts moved on.
const SWEEP: Duration = Duration::from_secs(30);
/// The work's name in what `/readyz` says.
const WORK: &str = "leases";

/// States of a task in which it is at work.
const AT_WORK: [&str; 5] = ["queued", "preparing", "running", "publishing", "verifying"];

#[derive(Clone, Copy, PartialEq)]
enum Adoption {
    /// What the other host left is being put in order, by the try of this number.
    Underway(u64),
    Done,
}

struct Held {
    /// Repositories of which the store says that they are this host's.
    adoptions: HashMap<String, Adoption>,
    until: Instant,
    tries: u64,
}

/// This host, where others share its store.
pub struct Hosts {
    machine: Arc<Machine>,
    effects: Arc<EffectRunner>,
    intake: Arc<Intake>,
    works: Works,
    /// Where this host is, for people.
    address: String,
    held: Mutex<Held>,
    /// Rung when a lease may be free.
    look: Notify,
}

impl Hosts {
    /// Works for nothing before [`Hosts::begin`].
    pub fn new(
        machine: Arc<Machine>,
        effects: Arc<EffectRunner>,
        intake: Arc<Intake>,
        works: Works,
        address: String,
    ) -> Arc<Self> {
        let held = Held { adoptions: HashMap::new(), until: Instant::now(), tries: 0 };
        Arc::new(Self { machine, effects, intake, works, address, held: Mutex::new(held), look: Notify::new() })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sandboxes(&self) -> &Sandboxes {
        &self.effects.sandboxes
    }

    /// Begins to hold leases, and to hear the other hosts. Goes on while the bot drains: who begins it ends it.
    pub fn begin(self: &Arc<Self>, stopping: &CancellationToken) -> [JoinHandle<()>; 2] {
        let (one, other) = (self.clone(), self.clone());
        [
            self.works.stay(WORK, stopping.clone(), move || one.clone().run()),
            self.works.stay("other hosts' words", stopping.clone(), move || other.clone().listen()),
        ]
    }

    /// Holds leases for as long as it runs; returns only when a copy of this host is at work.
    async fn run(self: Arc<Self>) {
        let mut swept: Option<Instant> = None;
        loop {
            match self.round().await {
                Ok(()) => self.works.well(WORK),
                Err(error @ StoreError::Replaced) => {
                    tracing::error!(%error, "nothing is done here any more");
                    self.machine.leases().set([], Instant::now());
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the leases of this host could not be prolonged");
                    self.works.set_wrong(WORK, error.to_string());
                }
            }
            if swept.is_none_or(|at| at.elapsed() > SWEEP) {
                swept = Some(Instant::now());
                if let Err(trouble) = self.effects.drop_moved(self.machine.host()).await {
                    tracing::warn!(?trouble, "sandboxes of tasks that moved away are left for later");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = self.look.notified() => {}
            }
        }
    }

    /// Hears the other hosts.
    async fn listen(self: Arc<Self>) {
        let mut wakes = self.machine.store().wakes();
        loop {
            match wakes.next().await {
                Word::Delivery => self.intake.ring(),
                Word::Lease => self.look.notify_one(),
                Word::Unknown => {
                    self.intake.ring();
                    self.look.notify_one();
                }
            }
        }
    }

    async fn round(self: &Arc<Self>) -> Result<(), StoreError> {
        let asked = Instant::now();
        let claim = Claim {
            host: self.machine.host().to_owned(),
            address: self.address.clone(),
            epoch: self.machine.epoch(),
            repositories: self.effects.config.repositories.iter().map(|it| it.key.clone()).collect(),
            movable: self.movable().await?,
            lasts_ms: LASTS.as_millis() as i64,
        };
        let held: BTreeSet<String> = self.machine.store().claim(claim).await?.into_iter().collect();
        let mut begun = Vec::new();
        {
            let mut all = self.held();
            all.until = asked + COUNTED_ON;
            all.adoptions.retain(|key, _| held.contains(key));
            for key in held {
                if !all.adoptions.contains_key(&key) {
                    all.tries += 1;
                    let adoption = Adoption::Underway(all.tries);
                    all.adoptions.insert(key.clone(), adoption);
                    begun.push((key, adoption));
                }
            }
            self.publish(&all);
        }
        for (key, adoption) in begun {
            tokio::spawn(self.clone().adopt(key, adoption));
        }
        Ok(())
    }

    fn publish(&self, all: &Held) {
        let done = all.adoptions.iter().filter(|(_, adoption)| **adoption == Adoption::Done);
        self.machine.leases().set(done.map(|(key, _)| key.clone()), all.until);
    }

    /// Held repositories of which nothing stands here: another host loses nothing with them.
    async fn movable(&self) -> Result<Vec<String>, StoreError> {
        let (standing, own) = (self.sandboxes().tasks(), self.machine.own_tasks().await?);
        let stands = |key: &String| {
            let here = |id: &i64, state: &str| standing.contains(id) || AT_WORK.contains(&state);
            own.iter().any(|row| row.repository == *key && here(&row.id, &row.state))
        };
        let all = self.machine.leases().all().unwrap_or_default();
        Ok(all.into_iter().filter(|key| !stands(key)).collect())
    }

    /// Puts in order what another host left, then begins to work for the repository.
    async fn adopt(self: Arc<Self>, key: String, adoption: Adoption) {
        let adopted = self.effects.adopt(&key, self.machine.host()).await;
        {
            let mut all = self.held();
            if all.adoptions.get(&key) != Some(&adoption) {
                return;
            }
            if let Err(trouble) = adopted {
                tracing::warn!(?trouble, key, "a repository is not worked for yet; tried again");
                all.adoptions.remove(&key);
                return;
            }
            all.adoptions.insert(key.clone(), Adoption::Done);
            self.machine.forget_repository(&key);
            self.publish(&all);
        }
        tracing::info!(key, "this host works for the repository");
        match self.machine.store().tasks_with_effects_in(&key).await {
            Ok(tasks) => tasks.into_iter().for_each(|task| self.machine.nudge(task)),
            // Each is nudged again when its thread is read.
            Err(error) => tracing::warn!(%error, key, "its open effects could not be listed"),
        }
        self.machine.line().notify_one();
        self.intake.read_all();
    }

    /// Gives back what another host can take over at once. What has a sandbox here stays this host's until the lease ends: a restart finds
    /// it again.
    pub async fn leave(&self) {
        let movable = self.movable().await.unwrap_or_default();
        self.machine.leases().set([], Instant::now());
        let (host, epoch) = (self.machine.host(), self.machine.epoch());
        if let Err(error) = self.machine.store().release(host, epoch, movable, true).await {
            tracing::warn!(%error, "leases could not be given back: they end by themselves");
        }
    }
}
