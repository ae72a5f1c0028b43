//! Which repositories this process works for. Where several hosts share a store each repository is one host's at a time, and everything
//! that has an order (readings of a thread, effects of a task) happens there.

use std::collections::{HashMap, HashSet};
use std::time::Instant;
use tokio::sync::watch;

/// Keys of repositories, each until when; none = all of them, for good.
type Held = Option<HashMap<String, Instant>>;

/// What this process holds leases of, by its own clock.
pub struct Leases {
    held: watch::Sender<Held>,
}

impl Leases {
    /// Of the only process there is: it works for every repository.
    pub fn everything() -> Self {
        Self { held: watch::channel(None).0 }
    }

    /// Of one among several, which works for nothing yet.
    pub fn nothing() -> Self {
        Self { held: watch::channel(Some(HashMap::new())).0 }
    }

    /// Whether other processes work for repositories, too.
    pub fn are_shared(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Whether this process works for the repository.
    pub fn holds(&self, repository: &str) -> bool {
        self.until(repository).is_some()
    }

    /// Until when, or for good.
    fn until(&self, repository: &str) -> Option<Option<Instant>> {
        match &*self.held.borrow() {
            None => Some(None),
            Some(held) => held.get(repository).filter(|&&until| until > Instant::now()).map(|&until| Some(until)),
        }
    }

    /// Those it works for; none = all of them.
    pub fn all(&self) -> Option<HashSet<String>> {
        let held = self.held.borrow();
        let now = Instant::now();
        held.as_ref().map(|held| held.iter().filter(|(_, until)| **until > now).map(|(key, _)| key.clone()).collect())
    }

    /// It works for these until then, and for nothing else.
    pub fn set(&self, repositories: impl IntoIterator<Item = String>, until: Instant) {
        self.held.send_replace(Some(repositories.into_iter().map(|key| (key, until)).collect()));
    }

    /// Another host was found to work for it.
    pub fn lose(&self, repository: &str) {
        self.held.send_if_modified(|held| held.as_mut().is_some_and(|held| held.remove(repository).is_some()));
    }

    /// Returns when this process does not work for the repository any more.
    pub async fn lost(&self, repository: &str) {
        let mut changes = self.held.subscribe();
        loop {
            let Some(until) = self.until(repository) else { return };
            let over = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
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
    use std::time::Duration;

    #[tokio::test]
    async fn the_only_process_loses_nothing() {
        let leases = Leases::everything();
        leases.lose("shop");
        assert!(leases.holds("shop") && !leases.are_shared() && leases.all().is_none());
        assert!(tokio::time::timeout(Duration::from_millis(50), leases.lost("shop")).await.is_err());
    }

    #[tokio::test]
    async fn a_lease_ends_by_itself_and_when_it_is_taken() {
        let leases = Leases::nothing();
        assert!(!leases.holds("shop"));
        leases.lost("shop").await;
        let soon = Instant::now() + Duration::from_millis(50);
        leases.set(["shop".to_owned(), "till".to_owned()], soon);
        assert_eq!(leases.all().map(|all| all.len()), Some(2));
        leases.lose("till");
        leases.lost("till").await;
        assert!(leases.holds("shop") || Instant::now() >= soon);
        leases.lost("shop").await;
        assert!(Instant::now() >= soon && !leases.holds("shop"));
    }

    #[tokio::test]
    async fn one_that_is_prolonged_is_not_lost() {
        let leases = Leases::nothing();
        leases.set(["shop".to_owned()], Instant::now() + Duration::from_millis(50));
        let longer = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            leases.set(["shop".to_owned()], Instant::now() + Duration::from_secs(60));
        };
        let both = async { tokio::join!(leases.lost("shop"), longer) };
        assert!(tokio::time::timeout(Duration::from_millis(300), both).await.is_err());
    }
}
