//! The router's client: which hosts a sandbox may reach, told to the router and confirmed by it.
//!
//! Owns the wanted state (policy, rules of each open subnet) and brings every router to it: a fresh one gets the whole
//! policy and every open subnet before anything else happens. Nothing counts as open or closed before the router said so;
//! if it can't be reached, `open` fails and the sandbox reaches nothing. Must not judge connections itself.
//! Tests: `tests.rs` (a router in memory), `router/tests/lab/` (the real one).

mod line;
mod link;
mod policy;
mod presets;

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

/// The router's stdin and stdout in one.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// How to get at a router, again and again.
#[async_trait]
pub trait Dial: Send + Sync {
    /// # Errors
    /// When there is none, or it isn't running.
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>>;
}

/// Gets every log entry, in order, with the router's boot (numbers start anew with each).
pub type OnEntry = Arc<dyn Fn(&str, &LogEntry) + Send + Sync>;

/// Why the router was not brought to what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// Try again later: sandboxes reach nothing meanwhile.
    #[error("the router can't be reached: {0}")]
    Gone(String),
    /// Trying again changes nothing.
    #[error("the router refused: {0}")]
    Refused(String),
}

/// A result of the router's client.
pub type Result<T> = std::result::Result<T, EgressError>;

/// How long between attempts to reach a router that is gone.
const AGAIN: Duration = Duration::from_millis(250);

/// What a client of the router is made from.
pub struct Settings {
    /// What holds for every subnet, until [`Egress::set_policy`] puts another in its place.
    pub policy: Policy,
    /// Without it only [`Egress::attach`] brings a router.
    pub dial: Option<Arc<dyn Dial>>,
    /// Called with every entry of the router's log; none = nobody is told.
    pub on_entry: Option<OnEntry>,
    /// The last log entry that was stored: (boot, number).
    pub resume: Option<(String, u64)>,
}

/// The router's client. It keeps what is wanted, whether or not a router is at hand.
pub struct Egress {
    dial: Option<Arc<dyn Dial>>,
    desired: Mutex<Desired>,
    journal: Arc<Journal>,
}

/// The open ones, with their rules.
type Subnets = BTreeMap<u32, Vec<Rule>>;

struct Desired {
    policy: Policy,
    subnets: Subnets,
    link: Option<Link>,
}

/// What the router tells by itself.
struct Journal {
    /// The newest entry seen: (boot, number).
    seen: StdMutex<Option<(String, u64)>>,
    on_entry: Option<OnEntry>,
    /// Rung when a connection to the router ended.
    lost: Notify,
    /// The router's life that was last brought to the wanted state.
    boot: StdMutex<Option<String>>,
    /// Subnets that stood open when a router went away, until somebody asks.
    cut: StdMutex<BTreeSet<u32>>,
    replaced: Notify,
}

impl Journal {
    /// A router has the whole wanted state. Another one than before cut what went through the open subnets.
    fn settled(&self, boot: &str, open: impl Iterator<Item = u32>) {
        let before = lock(&self.boot).replace(boot.to_owned());
        if before.is_some_and(|before| before != boot) {
            lock(&self.cut).extend(open);
            self.replaced.notify_one();
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
    /// Reaches nothing yet. With `dial`, a background task keeps a router at hand as long as this lives, so that running
    /// tasks go on after the router was restarted. Must be called within a tokio runtime.
    #[must_use]
    pub fn new(settings: Settings) -> Arc<Egress> {
        let Settings { policy, dial, on_entry, resume } = settings;
        let (seen, lost) = (StdMutex::new(resume), Notify::new());
        let (boot, cut, replaced) = Default::default();
        let journal = Arc::new(Journal { seen, on_entry, lost, boot, cut, replaced });
        let desired = Mutex::new(Desired { policy, subnets: BTreeMap::new(), link: None });
        let egress = Arc::new(Egress { dial, desired, journal: journal.clone() });
        if egress.dial.is_some() {
            tokio::spawn(keep(Arc::downgrade(&egress), journal));
        }
        egress
    }

    /// Speaks through this stream from now on, after the router behind it has the whole policy and every open subnet.
    ///
    /// # Errors
    /// When the router speaks another version, refuses, or goes away; nothing is open then.
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

    /// Opens a subnet with these rules, or replaces the rules of one that is open. Returns once the router obeys them.
    ///
    /// # Errors
    /// [`EgressError`]; a subnet that was closed stays closed then, one that was open keeps its old rules.
    pub async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<()> {
        let mut desired = self.desired.lock().await;
        let granted = async { self.link(&mut desired).await?.grant(subnet, rules).await }.await;
        if matches!(granted, Err(EgressError::Gone(_))) {
            // It may have obeyed and died before saying so: the next router is told which subnets stay open.
            desired.link = None;
        }
        granted?;
        desired.subnets.insert(subnet, rules.to_vec());
        Ok(())
    }

    /// Cuts the subnet's connections and forgets its names. Only `Ok` says that it is so: a subnet may be lent again then.
    ///
    /// # Errors
    /// When the router can't confirm it. The subnet is closed here all the same, so a router that comes back closes it.
    pub async fn close(&self, subnet: u32) -> Result<()> {
        let mut desired = self.desired.lock().await;
        desired.subnets.remove(&subnet);
        let closed = async { self.link(&mut desired).await?.close(subnet).await }.await;
        if closed.is_err() {
            desired.link = None;
        }
        closed
    }

    /// Puts another policy in force for every subnet.
    ///
    /// # Errors
    /// [`EgressError`]; the old policy then stays in force.
    pub async fn set_policy(&self, policy: Policy) -> Result<()> {
        let mut desired = self.desired.lock().await;
        self.link(&mut desired).await?.policy(&policy).await?;
        desired.policy = policy;
        Ok(())
    }

    /// Lets go of the router and looks for no other while `work` is done: what is opened or closed meanwhile waits.
    pub async fn with_router_away<T>(&self, work: impl Future<Output = T>) -> T {
        let mut desired = self.desired.lock().await;
        desired.link = None;
        work.await
    }

    /// Up to where the router's log has come: its life, and the number of the newest line. Once a subnet was closed, all that
    /// happened in it lies before.
    #[must_use]
    pub fn log_read(&self) -> Option<(String, u64)> {
        let boot = lock(&self.journal.boot).clone()?;
        let seen = lock(&self.journal.seen).clone().filter(|(life, _)| *life == boot);
        Some((boot, seen.map_or(0, |(_, seq)| seq)))
    }

    /// Waits until a router took the place of another while subnets stood open: its life, and those subnets.
    pub async fn replaced(&self) -> (String, Vec<u32>) {
        loop {
            self.journal.replaced.notified().await;
            let cut: Vec<u32> = std::mem::take(&mut *lock(&self.journal.cut)).into_iter().collect();
            if !cut.is_empty() {
                return (lock(&self.journal.boot).clone().unwrap_or_default(), cut);
            }
        }
    }

    /// Whether a router that has the whole policy is at hand right now.
    pub async fn is_attached(&self) -> bool {
        self.desired.lock().await.link.as_ref().is_some_and(|link| !link.is_over())
    }
}

/// Reaches a router, and another when it went away.
async fn keep(egress: Weak<Egress>, journal: Arc<Journal>) {
    loop {
        // Looks in from time to time as well: this task must end when nobody needs it any more.
        let _ = tokio::time::timeout(AGAIN, journal.lost.notified()).await;
        let Some(egress) = egress.upgrade() else { return };
        let work = async {
            let mut desired = egress.desired.lock().await;
            if let Err(error) = egress.link(&mut desired).await {
                tracing::debug!(%error, "router");
            }
        };
        // A panic is logged and counted; the next look dials anew.
        let _ = crate::supervise::caught("the router's link", work).await;
    }
}
