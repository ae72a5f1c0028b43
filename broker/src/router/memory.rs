//! A router in memory: subnets without routing, and a firewall table that can be made to fail or wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use protocol::broker::{Problem, ProblemKind, RouterInfo, RouterSpec, Subnet};
use tokio::sync::OwnedMutexGuard;

use super::WayOut;
use crate::attach::Attached;
use crate::name::Names;
use crate::subnet::{ContainerNetwork, Layout};

/// Network of its subnets.
const POOL: &str = "10.90.0.0/24";

#[derive(Default)]
struct State {
    /// Number of subnets; none if it was not created or is removed.
    subnets: Option<u32>,
    /// Error with which loading the table fails.
    unfenced: Option<Problem>,
    /// Calls to it, in order.
    asked: Vec<&'static str>,
}

/// A [`WayOut`] for tests.
pub struct MemoryWayOut {
    names: Names,
    state: Mutex<State>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryWayOut {
    pub fn new(installation: &str) -> Result<Self, Problem> {
        Ok(Self { names: Names::new(installation)?, state: Mutex::default(), lock: Arc::default() })
    }

    /// Makes loading the table fail with this error, or succeed.
    pub fn set_unfenced(&self, why: Option<Problem>) {
        self.state().unfenced = why;
    }

    /// The calls since the last look, in order.
    pub fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().asked)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, what: &'static str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.asked.push(what);
        state
    }
}

fn absent(what: &str) -> Problem {
    Problem::new(ProblemKind::NotFound, format!("there is no {what} yet"))
}

#[async_trait]
impl WayOut for MemoryWayOut {
    async fn ensure(&self, spec: &RouterSpec) -> Result<RouterInfo, Problem> {
        let layout = Layout::parse(POOL)?;
        let most = {
            let mut state = self.ask("ensure");
            let most = state.subnets.unwrap_or_default().max(spec.subnets);
            state.subnets = Some(most);
            most
        };
        let subnet = |number| {
            let place = layout.subnet(&self.names, number)?;
            Ok(Subnet { number, cidr: place.cidr.to_string(), gateway: place.gateway.to_string() })
        };
        let subnets = (0..most).map(subnet).collect::<Result<_, Problem>>()?;
        Ok(RouterInfo { pool: POOL.to_owned(), subnets, boot: Some("1".to_owned()) })
    }

    async fn runs(&self) -> Result<bool, Problem> {
        Ok(self.ask("runs").subnets.is_some())
    }

    async fn attach(&self) -> Result<Attached, Problem> {
        Err(Problem::new(ProblemKind::Conflict, "nothing routes here"))
    }

    async fn restart(&self) -> Result<(), Problem> {
        self.ask("restart").subnets.map(drop).ok_or_else(|| absent("router"))
    }

    async fn stop(&self) -> Result<(), Problem> {
        self.ask("stop").subnets.map(drop).ok_or_else(|| absent("router"))
    }

    async fn probe(&self, _image: &str, _plan: &str) -> Result<String, Problem> {
        Err(Problem::new(ProblemKind::Conflict, "nothing routes here"))
    }

    async fn place(&self, subnet: u32) -> Result<ContainerNetwork, Problem> {
        let known = self.ask("place").subnets.is_some_and(|subnets| subnet < subnets);
        if !known {
            return Err(absent("subnet of that number"));
        }
        Layout::parse(POOL)?.subnet(&self.names, subnet)
    }

    async fn fenced(&self) -> Result<(), Problem> {
        let state = self.ask("fenced");
        state.subnets.ok_or_else(|| absent("way out"))?;
        state.unfenced.clone().map_or(Ok(()), Err)
    }

    async fn alone(&self) -> OwnedMutexGuard<()> {
        self.lock.clone().lock_owned().await
    }

    async fn table_image(&self) -> Result<Option<String>, Problem> {
        Ok(Some("sha256:router".to_owned()))
    }

    async fn remove(&self) -> Result<Vec<String>, Problem> {
        Ok(self.ask("remove").subnets.take().map(|_| "way out".to_owned()).into_iter().collect())
    }

    async fn remove_networks(&self, image: Option<&str>) -> Result<Vec<String>, Problem> {
        drop(self.ask("remove networks"));
        Ok(image.map(str::to_owned).into_iter().collect())
    }

    async fn sweep(&self, _image: Option<&str>) -> Result<Vec<String>, Problem> {
        drop(self.ask("sweep"));
        Ok(Vec::new())
    }
}
