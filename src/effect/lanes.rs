//! One at a time for each issue or pull request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Lane = Arc<tokio::sync::Mutex<()>>;

/// Lanes by repository and number; one that nobody waits for is forgotten.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<(String, u64), Lane>>);

impl Lanes {
    /// Waits for the lane, and holds it until the guard is dropped.
    pub async fn enter(&self, repository: &str, number: u64) -> OwnedMutexGuard<()> {
        let lane = {
            let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
            lanes.entry((repository.to_owned(), number)).or_default().clone()
        };
        lane.lock_owned().await
    }
}
