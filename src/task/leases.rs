//! The repositories that this process works for. Where hosts share a store each repository belongs to one host at a time, which does
//! everything that has an order (readings of a thread, effects of a task).

use nix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a lease is checked while its end is awaited, because its clock continues while the machine sleeps, and timers do not.
const LOOK: Duration = Duration::from_secs(1);

/// An instant of a clock that continues while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Awake(Duration);

impl Awake {
    /// The present instant. A machine without such a clock counts as one that never sleeps.
    pub fn now() -> Self {
        static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        match clock_gettime(ClockId::CLOCK_BOOTTIME) {
            Ok(at) => Self(Duration::from(at)),
            Err(_) => Self(BEGAN.get_or_init(Instant::now).elapsed()),
        }
    }

    /// Time until this instant; 0 when it has passed.
    fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }
}

impl std::ops::Add<Duration> for Awake {
    type Output = Self;

    fn add(self, more: Duration) -> Self {
        Self(self.0 + more)
    }
}

struct Lease {
    until: Awake,
    /// Number that changes each time the repository is acquired anew.
    term: u64,
}

/// The leases by repository; none = all repositories, without end.
type Leased = Option<HashMap<String, Lease>>;

/// The leases of this process, by its own clock.
pub struct Leases {
    leased: watch::Sender<Leased>,
    terms: std::sync::atomic::AtomicU64,
}

impl Leases {
    /// For the only process of a store: it works for every repository.
    pub fn everything() -> Self {
        Self { leased: watch::channel(None).0, terms: 1.into() }
    }

    /// For one of several processes: it works for no repository yet.
    pub fn nothing() -> Self {
        Self { leased: watch::channel(Some(HashMap::new())).0, terms: 1.into() }
    }

    /// Whether several processes work for repositories.
    pub fn are_shared(&self) -> bool {
        self.leased.borrow().is_some()
    }

    /// Whether this process works for the repository.
    pub fn holds(&self, repository: &str) -> bool {
        self.term(repository).is_some()
    }

    /// Whether it works for the repository at least for this time.
    pub fn holds_for(&self, repository: &str, more: Duration) -> bool {
        match &*self.leased.borrow() {
            None => true,
            Some(leased) => leased.get(repository).is_some_and(|lease| lease.until.left() > more),
        }
    }

    /// The number of the uninterrupted period in which this process works for the repository; none when it does not.
    pub fn term(&self, repository: &str) -> Option<u64> {
        match &*self.leased.borrow() {
            None => Some(0),
            Some(leased) => leased.get(repository).filter(|lease| lease.until > Awake::now()).map(|lease| lease.term),
        }
    }

    /// The repositories it works for; none = all.
    pub fn all(&self) -> Option<HashSet<String>> {
        let leased = self.leased.borrow();
        let now = Awake::now();
        let live = |(key, lease): (&String, &Lease)| (lease.until > now).then(|| key.clone());
        leased.as_ref().map(|leased| leased.iter().filter_map(live).collect())
    }

    /// Sets the repositories that it works for until this instant.
    pub fn set(&self, repositories: impl IntoIterator<Item = String>, until: Awake) {
        self.leased.send_modify(|leased| {
            let (before, now) = (leased.take().unwrap_or_default(), Awake::now());
            let goes_on = |key: &String| before.get(key).filter(|lease| lease.until > now).map(|lease| lease.term);
            let next = || self.terms.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let lease = |key: String| (key.clone(), Lease { until, term: goes_on(&key).unwrap_or_else(next) });
            *leased = Some(repositories.into_iter().map(lease).collect());
        });
    }

    /// Another host works for this repository.
    pub fn lose(&self, repository: &str) {
        self.leased
            .send_if_modified(|leased| leased.as_mut().is_some_and(|leased| leased.remove(repository).is_some()));
    }

    /// Returns when this process no longer works for the repository, or did not without interruption since this term.
    pub async fn lost(&self, repository: &str, term: u64) {
        let mut changes = self.leased.subscribe();
        loop {
            if self.term(repository) != Some(term) {
                return;
            }
            let left =
                self.leased.borrow().as_ref().and_then(|leased| leased.get(repository)).map(|lease| lease.until.left());
            let over = async {
                match left {
                    Some(left) => tokio::time::sleep(left.min(LOOK)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => {}
                changed = changes.changed() => if changed.is_err() { return },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_only_process_loses_nothing() {
        let leases = Leases::everything();
        leases.lose("shop");
        assert!(leases.holds("shop") && !leases.are_shared() && leases.all().is_none());
        assert!(tokio::time::timeout(Duration::from_millis(50), leases.lost("shop", 0)).await.is_err());
    }

    #[tokio::test]
    async fn a_lease_ends_by_itself_and_when_it_is_taken() {
        let leases = Leases::nothing();
        assert!(!leases.holds("shop"));
        let soon = Awake::now() + Duration::from_millis(50);
        leases.set(["shop".to_owned(), "till".to_owned()], soon);
        assert_eq!(leases.all().map(|all| all.len()), Some(2));
        leases.lose("till");
        leases.lost("till", 2).await;
        assert!(leases.holds("shop") || Awake::now() >= soon);
        leases.lost("shop", 1).await;
        assert!(Awake::now() >= soon && !leases.holds("shop"));
        leases.set(["shop".to_owned()], Awake::now() + Duration::from_secs(60));
        assert_eq!(leases.term("shop"), Some(3), "another time than the first");
    }

    #[tokio::test]
    async fn one_that_is_prolonged_is_not_lost() {
        let leases = Leases::nothing();
        leases.set(["shop".to_owned()], Awake::now() + Duration::from_millis(50));
        let longer = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            leases.set(["shop".to_owned()], Awake::now() + Duration::from_secs(60));
        };
        let both = async { tokio::join!(leases.lost("shop", 1), longer) };
        assert!(tokio::time::timeout(Duration::from_millis(300), both).await.is_err());
    }
}
