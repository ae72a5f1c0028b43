//! A limited number of connections at once, shared by all subnets so that none of them can take it up.
//!
//! Owns the counts by subnet; resolver and proxy each have one. Must not know what a connection is for. Tests: at the end of this file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why there is no room for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The subnet has its share, or more than is left for the others.
    #[error("too many connections at once")]
    Subnet,
    /// All subnets together have what there is.
    #[error("the router is full")]
    Router,
}

/// Connections that are open now, by subnet.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// Only subnets with an open connection.
    by_subnet: HashMap<u32, usize>,
}

/// Room for a number of connections over all subnets.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    counts: Mutex<Counts>,
}

/// Room for one connection of a subnet, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    shares: Arc<Shares>,
    subnet: u32,
}

impl Shares {
    /// `most`: connections at once over all subnets.
    #[must_use]
    pub fn new(most: usize) -> Shares {
        Shares { most, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for one connection of a subnet, which may have `share` at once, and never more than are free for all others. So several
    /// subnets together leave some, too.
    ///
    /// # Errors
    /// [`NoRoom`]: nothing was taken.
    pub fn take(self: &Arc<Self>, subnet: u32, share: usize) -> Result<Slot, NoRoom> {
        let mut counts = self.counts();
        let free = self.most.saturating_sub(counts.all);
        let open = counts.by_subnet.get(&subnet).copied().unwrap_or(0);
        if free == 0 {
            return Err(NoRoom::Router);
        }
        if open >= share.min(free) {
            return Err(NoRoom::Subnet);
        }
        counts.all += 1;
        counts.by_subnet.insert(subnet, open + 1);
        drop(counts);
        Ok(Slot { shares: self.clone(), subnet })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.shares.counts();
        counts.all = counts.all.saturating_sub(1);
        let open = counts.by_subnet.get(&self.subnet).copied().unwrap_or(0);
        if open > 1 {
            counts.by_subnet.insert(self.subnet, open - 1);
        } else {
            counts.by_subnet.remove(&self.subnet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(shares: &Arc<Shares>, subnet: u32, share: usize) -> Vec<Slot> {
        std::iter::from_fn(|| shares.take(subnet, share).ok()).collect()
    }

    #[test]
    fn a_subnet_has_its_share_and_gives_it_back() {
        let shares = Arc::new(Shares::new(64));
        let mut first = fill(&shares, 1, 8);
        assert_eq!((first.len(), shares.take(1, 8).unwrap_err()), (8, NoRoom::Subnet));
        let second = fill(&shares, 2, 8);
        assert_eq!(second.len(), 8, "each has a share of its own");
        drop(first.pop());
        let again = shares.take(1, 8).unwrap();
        assert!(shares.take(1, 8).is_err());
        drop((first, second, again));
        let counts = shares.counts();
        assert_eq!((counts.all, counts.by_subnet.len()), (0, 0));
    }

    #[test]
    fn subnets_together_leave_room_for_one_more() {
        let shares = Arc::new(Shares::new(64));
        let slots: Vec<Vec<Slot>> = (0..5).map(|subnet| fill(&shares, subnet, 1000)).collect();
        assert_eq!(slots.iter().map(Vec::len).collect::<Vec<_>>(), [32, 16, 8, 4, 2]);
        let late = fill(&shares, 5, 1000);
        let last = fill(&shares, 6, 1000);
        assert_eq!((late.len(), last.len()), (1, 1));
        assert_eq!(shares.take(7, 1000).unwrap_err(), NoRoom::Router);
        drop(last);
        assert_eq!(shares.take(0, 1000).unwrap_err(), NoRoom::Subnet, "what became free is not for who has more");
        assert!(shares.take(7, 1000).is_ok());
    }

    #[tokio::test]
    async fn a_connection_that_is_broken_off_gives_its_room_back() {
        let shares = Arc::new(Shares::new(1));
        let slot = shares.take(0, 1).unwrap();
        let connection = tokio::spawn(async move {
            let _slot = slot;
            std::future::pending::<()>().await;
        });
        assert!(shares.take(0, 1).is_err());
        connection.abort();
        assert!(connection.await.is_err());
        assert!(shares.take(0, 1).is_ok());
    }
}
