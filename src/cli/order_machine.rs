//! The task machine for one order of the operator, if no bot runs with this state directory. If hosts share the store, the order is only
//! accepted while no other host works for the task's repository.

use super::printer::Complaint;
use super::store::{host_id, location};
use crate::bot::{host_address, known};
use crate::clock::now;
use crate::config::Process;
use crate::store::{Claim, Store};
use crate::task::{Leases, Machine};
use anyhow::Result;
use domain::TaskId;
use std::sync::Arc;

/// Milliseconds, enough for one order.
const LASTS_MS: i64 = 10_000;

/// A machine that accepts inputs until [`OrderMachine::over`]. The caller must hold the state directory's lock.
pub struct OrderMachine {
    /// Effects of its inputs stay in the outbox for the next `serve`.
    pub machine: Arc<Machine>,
    shared: bool,
}

impl OrderMachine {
    /// Prepares for an order to this task.
    ///
    /// # Errors
    /// When the store cannot be opened, or another host works for the task's repository.
    pub async fn of(config: &Process, id: TaskId) -> Result<Self> {
        let store = Store::open(location(config)?).await?;
        let epoch = store.begin_epoch(now()).await?;
        known(config, &store).await?;
        let row = store.task_row(id).await?.filter(|_| store.is_shared());
        let Some(row) = row else {
            return Ok(Self { machine: Machine::new(store, epoch).0, shared: false });
        };
        let (host, listed) = (host_id(&config.state_dir)?, config.repository(&row.repository).is_some());
        let claim = Claim {
            host: host.clone(),
            address: host_address(config),
            epoch,
            configured: config.keys(),
            repositories: Vec::from_iter(listed.then(|| row.repository.clone())),
            left_over: Vec::from_iter((!listed).then(|| row.repository.clone())),
            willing: true,
            movable: Vec::new(),
            lasts_ms: LASTS_MS,
        };
        let held = store.claim(claim).await?;
        if held.is_empty() {
            store.release(&host, epoch, Vec::new(), true).await?;
            let holder = store.hosts().await?.into_iter().find(|other| other.repositories.contains(&row.repository));
            let holder = holder.map_or_else(|| "another host".to_owned(), |other| other.address);
            return Err(Complaint::new(format!("task {id} is not this host's"))
                .because(format!("{holder} works for the repository {}", row.repository))
                .hint("say it there (`caisson store hosts` lists the hosts)")
                .into());
        }
        // The task keeps its owner, because the sandbox stays where it is.
        let (machine, _moved) = Machine::of(store, epoch, &row.owner, Leases::everything());
        Ok(Self { machine, shared: true })
    }

    /// Lets the next `serve` of this host take the lease at once; other hosts have to wait until it expires, because the task's sandbox may
    /// be here.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn over(self, config: &Process) -> Result<()> {
        if self.shared {
            let host = host_id(&config.state_dir)?;
            self.machine.store().release(&host, self.machine.epoch(), Vec::new(), true).await?;
        }
        Ok(())
    }
}
