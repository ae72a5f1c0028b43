//! One at a time for each issue or pull request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// Locks by repository and number; one without a holder or waiter is dropped.
#[derive(Default)]
pub struct IssueLocks(Mutex<HashMap<(String, u64), Lock>>);

impl IssueLocks {
    /// Waits for the lock, and holds it until the guard is dropped.
    pub async fn enter(&self, repository: &str, number: u64) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry((repository.to_owned(), number)).or_default().clone()
        };
        lock.lock_owned().await
    }
}
