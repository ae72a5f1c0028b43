//! The router's client: sets the hosts that sandboxes may reach, and waits for confirmation.
//!
//! Owns the wanted state (policy, rules of each open subnet) and applies it to every router: a new one gets the whole policy and all open
//! subnets first. Nothing counts as open or closed before the router confirmed it; if the router can't be reached `open` fails and the
//! sandbox reaches nothing. Must not judge connections itself.
//! Tests: `tests.rs` (a router in memory), `router/tests/lab/` (the real one).

mod line;
mod link;
mod policy;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use protocol::router::{LogEntry, Policy, Rule};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify};

pub use line::{Line, began};
use link::Link;
pub use policy::{BadPolicy, overruled, policy};

/// The router's stdin and stdout as one stream.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Connects to the router, repeatedly.
#[async_trait]
pub trait Dial: Send + Sync {
    /// # Errors
    /// When there is no router, or it is not running.
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>>;
}

/// Called with every log entry in order and the router's life (each life numbers its entries anew).
pub type OnEntry = Arc<dyn Fn(&str, &LogEntry) + Send + Sync>;

/// Called before the first entry of another life of the router, with the subnets that may have been open when the one before ended; none =
/// not known, because this process was not connected to that one.
pub type OnLife = Arc<dyn Fn(&str, Option<&BTreeSet<u32>>) + Send + Sync>;

/// Why the router does not have the wanted state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// Unreachable: to be tried again later; sandboxes reach nothing meanwhile.
    #[error("the router can't be reached: {0}")]
    Gone(String),
    /// Refused: trying again is useless.
    #[error("the router refused: {0}")]
    Refused(String),
}

/// A result of the router's client.
pub type Result<T> = std::result::Result<T, EgressError>;

/// Time between attempts to reach a router; each that fails doubles it.
const AGAIN: Duration = Duration::from_millis(250);
/// The longest such time.
const SELDOM: Duration = Duration::from_secs(30);

/// What a client of the router is created from.
pub struct Settings {
    /// Policy for every subnet, until [`Egress::set_policy`] replaces it.
    pub policy: Policy,
    /// Connects to the router; none = only [`Egress::attach`] provides one.
    pub dial: Option<Arc<dyn Dial>>,
    /// Called with every entry of the router's log; none = entries are dropped.
    pub on_entry: Option<OnEntry>,
    /// Called with every other life of the router than the one of `resume`.
    pub on_life: Option<OnLife>,
    /// The last log entry that was stored: (boot, number).
    pub resume: Option<(String, u64)>,
}

/// The router's client, which keeps the wanted state even without a router.
pub struct Egress {
    dial: Option<Arc<dyn Dial>>,
    desired: Mutex<Desired>,
    journal: Arc<Journal>,
}

/// The open subnets with their rules.
type Subnets = BTreeMap<u32, Vec<Rule>>;

struct Desired {
    policy: Policy,
    subnets: Subnets,
    link: Option<Link>,
}

/// Events and log entries of the router.
struct Journal {
    /// The router's life that answered last, and the number of its newest entry seen.
    seen: StdMutex<Option<(String, u64)>>,
    on_entry: Option<OnEntry>,
    on_life: Option<OnLife>,
    /// Subnets that may be open in that life: an order to open them was sent, and none to close them was confirmed since.
    open: StdMutex<BTreeSet<u32>>,
    /// Notified when a connection to the router ended.
    lost: Notify,
    /// The router's life that last got the wanted state.
    boot: StdMutex<Option<String>>,
    /// Subnets that were open when a router was replaced, until [`Egress::replaced`] reports them.
    cut: StdMutex<BTreeSet<u32>>,
    replaced: Notify,
}

impl Journal {
    /// A router has the whole wanted state; if it is another life, connections through open subnets were cut.
    fn settled(&self, boot: &str, open: impl Iterator<Item = u32>) {
        let before = lock(&self.boot).replace(boot.to_owned());
        if before.is_some_and(|before| before != boot) {
            lock(&self.cut).extend(open);
            self.replaced.notify_one();
        }
    }

    /// A router answered. If it is another life, what the one before had not sent is lost.
    fn began(&self, boot: &str) {
        let mut seen = lock(&self.seen);
        if seen.as_ref().is_some_and(|(life, _)| life == boot) {
            return;
        }
        *seen = Some((boot.to_owned(), 0));
        drop(seen);
        let open = std::mem::take(&mut *lock(&self.open));
        let known = lock(&self.boot).is_some();
        if let Some(on_life) = &self.on_life {
            on_life(boot, known.then_some(&open));
        }
    }

    fn entry(&self, boot: &str, entry: &LogEntry) {
        *lock(&self.seen) = Some((boot.to_owned(), entry.seq));
        if let Some(on_entry) = &self.on_entry {
            on_entry(boot, entry);
        }
    }
}

fn lock<T>(mutex: &StdMutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Egress {
    /// A client without any open subnet. With `dial`, a background task keeps it connected, so that tasks continue after the router
    /// restarted. Must be called within a tokio runtime.
    #[must_use]
    pub fn new(settings: Settings) -> Arc<Egress> {
        let Settings { policy, dial, on_entry, on_life, resume } = settings;
        let (seen, lost) = (StdMutex::new(resume), Notify::new());
        let (open, boot, cut, replaced) = Default::default();
        let journal = Arc::new(Journal { seen, on_entry, on_life, open, lost, boot, cut, replaced });
        let desired = Mutex::new(Desired { policy, subnets: BTreeMap::new(), link: None });
        let egress = Arc::new(Egress { dial, desired, journal: journal.clone() });
        if egress.dial.is_some() {
            tokio::spawn(keep(Arc::downgrade(&egress), journal));
        }
        egress
    }

    /// Uses this stream from now on, after applying the whole policy and all open subnets.
    ///
    /// # Errors
    /// When the router has another version, refuses, or goes away; nothing is open then.
    pub async fn attach(&self, stream: Box<dyn Duplex>) -> Result<()> {
        let mut desired = self.desired.lock().await;
        desired.link = None;
        let Desired { policy, subnets, link } = &mut *desired;
        *link = Some(self.introduce(stream, policy, subnets).await?);
        Ok(())
    }

    async fn introduce(&self, stream: Box<dyn Duplex>, policy: &Policy, subnets: &Subnets) -> Result<Link> {
        let keep: Vec<u32> = subnets.keys().copied().collect();
        let mut link = Link::open(stream, keep, &self.journal).await?;
        link.policy(policy).await?;
        for (subnet, rules) in subnets {
            lock(&self.journal.open).insert(*subnet);
            link.grant(*subnet, rules).await?;
        }
        self.journal.settled(&link.boot, subnets.keys().copied());
        Ok(link)
    }

    async fn link<'a>(&self, desired: &'a mut Desired) -> Result<&'a mut Link> {
        if desired.link.as_ref().is_none_or(Link::is_over) {
            desired.link = None;
            let gone = |text: String| EgressError::Gone(text);
            let dial = self.dial.as_ref().ok_or_else(|| gone("it is not attached".to_owned()))?;
            let stream = dial.dial().await.map_err(|error| gone(error.to_string()))?;
            let Desired { policy, subnets, link } = desired;
            *link = Some(self.introduce(stream, policy, subnets).await?);
        }
        desired.link.as_mut().ok_or_else(|| EgressError::Gone("it is not attached".to_owned()))
    }

    /// Opens a subnet with these rules, or replaces the rules of an open one; returns once the router confirmed.
    ///
    /// # Errors
    /// [`EgressError`]; a closed subnet stays closed then, and an open one keeps its old rules.
    pub async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<()> {
        let mut desired = self.desired.lock().await;
        let granted = async {
            let link = self.link(&mut desired).await?;
            lock(&self.journal.open).insert(subnet);
            link.grant(subnet, rules).await
        };
        let granted = granted.await;
        if matches!(granted, Err(EgressError::Gone(_))) {
            // It may have applied the order before it failed; the next router is told which subnets stay open.
            desired.link = None;
        }
        granted?;
        desired.subnets.insert(subnet, rules.to_vec());
        Ok(())
    }

    /// Cuts the subnet's connections and forgets its names. After `Ok` it may be allocated again.
    ///
    /// # Errors
    /// When the router can't confirm it. The subnet is no longer wanted open, so a router that comes back closes it.
    pub async fn close(&self, subnet: u32) -> Result<()> {
        let mut desired = self.desired.lock().await;
        desired.subnets.remove(&subnet);
        let closed = async { self.link(&mut desired).await?.close(subnet).await }.await;
        if closed.is_ok() {
            lock(&self.journal.open).remove(&subnet);
        } else {
            desired.link = None;
        }
        closed
    }

    /// Replaces the policy for every subnet.
    ///
    /// # Errors
    /// [`EgressError`]; the old policy then stays in force.
    pub async fn set_policy(&self, policy: Policy) -> Result<()> {
        let mut desired = self.desired.lock().await;
        self.link(&mut desired).await?.policy(&policy).await?;
        desired.policy = policy;
        Ok(())
    }

    /// Disconnects from the router while `work` runs; calls of other operations wait.
    pub async fn with_router_away<T>(&self, work: impl Future<Output = T>) -> T {
        let mut desired = self.desired.lock().await;
        desired.link = None;
        work.await
    }

    /// Position in the router's log: its life and the number of the newest line, which is after everything that happened in a closed
    /// subnet.
    #[must_use]
    pub fn log_read(&self) -> Option<(String, u64)> {
        lock(&self.journal.seen).clone()
    }

    /// Waits until the router was replaced while subnets were open; gives its life and those subnets.
    pub async fn replaced(&self) -> (String, Vec<u32>) {
        loop {
            self.journal.replaced.notified().await;
            let cut: Vec<u32> = std::mem::take(&mut *lock(&self.journal.cut)).into_iter().collect();
            if !cut.is_empty() {
                return (lock(&self.journal.boot).clone().unwrap_or_default(), cut);
            }
        }
    }

    /// Whether any subnet is open.
    pub async fn has_open(&self) -> bool {
        !self.desired.lock().await.subnets.is_empty()
    }

    /// Whether a router with the whole policy is connected.
    pub async fn is_attached(&self) -> bool {
        self.desired.lock().await.link.as_ref().is_some_and(|link| !link.is_over())
    }
}

/// Attempts to reach a router that failed since it was last connected.
#[derive(Default)]
struct Failures {
    count: u32,
    /// Why the last one failed.
    reason: String,
}

impl Failures {
    /// Adds one; whether its reason is another than the last one's.
    fn add(&mut self, reason: String) -> bool {
        self.count = self.count.saturating_add(1);
        let new = self.reason != reason;
        self.reason = reason;
        new
    }

    /// Time until the next attempt.
    fn pause(&self) -> Duration {
        AGAIN.saturating_mul(1 << self.count.min(7)).min(SELDOM)
    }
}

/// Keeps the client connected to a router.
async fn keep(egress: Weak<Egress>, journal: Arc<Journal>) {
    let mut failures = Failures::default();
    loop {
        // Also wakes up regularly, because this task must end when the client is dropped.
        if failures.count == 0 {
            let _ = tokio::time::timeout(AGAIN, journal.lost.notified()).await;
        } else {
            tokio::time::sleep(failures.pause()).await;
        }
        let Some(egress) = egress.upgrade() else { return };
        let work = async {
            let mut desired = egress.desired.lock().await;
            egress.link(&mut desired).await.err().map(|error| error.to_string())
        };
        // A panic is logged and counted; the next round connects again.
        match crate::supervise::caught("the router's link", work).await {
            Ok(None) => failures = Failures::default(),
            Ok(Some(reason)) | Err(reason) => {
                if failures.add(reason) {
                    tracing::warn!(reason = failures.reason, "no sandbox reaches anything; the router is tried again");
                }
            }
        }
    }
}
