//! Which images the barrier was proven with: a sandbox is made from no other, once somebody proves.
//!
//! Owns the ids, and the bell that asks for another one to be tried. What is tried is `crate::barrier`'s. Tests: `tests/trees/images.rs`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::core::Core;
use super::{Result, SandboxError};

/// Images, and what is known of each.
pub struct ProvenImages {
    core: Arc<Core>,
    /// `None` = nobody proves anything here.
    ids: Mutex<Option<HashSet<String>>>,
    /// References that were wanted before they were proven.
    unproven: Mutex<BTreeSet<String>>,
    asked: Notify,
}

impl ProvenImages {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, ids: Mutex::default(), unproven: Mutex::default(), asked: Notify::new() }
    }

    /// From now on only images that [`ProvenImages::proven`] names are taken.
    pub fn prove_first(&self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// These ids may be taken.
    pub fn proven(&self, ids: impl IntoIterator<Item = String>) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().extend(ids);
    }

    /// Until somebody wants a sandbox from an image that was not tried: those that are wanted.
    pub async fn asked_to_prove(&self) -> Vec<String> {
        self.asked.notified().await;
        // Whoever still wants one asks again.
        std::mem::take(&mut *self.unproven.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    pub(super) async fn must_be_proven(&self, reference: &str) -> Result<()> {
        if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Ok(());
        }
        // What is not there is refused where the container is made, in the broker's words.
        let Some(image) = self.core.image(reference).await? else { return Ok(()) };
        let held = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|ids| ids.contains(&image.id)) {
            return Ok(());
        }
        drop(held);
        self.unproven.lock().unwrap_or_else(PoisonError::into_inner).insert(reference.to_owned());
        self.asked.notify_one();
        Err(SandboxError::Unavailable(format!("the barrier is being proven with the image {reference} first")))
    }
}
