//! The images with which the barrier was proven; once proofs are made, sandboxes are made from no other image.
//!
//! Owns their ids and the notification that another one has to be proven. `crate::barrier` makes the proofs. Tests:
//! `tests/trees/images.rs`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::core::Core;
use super::{Result, SandboxError};

/// Proven images, and those that have to be proven.
pub struct ProvenImages {
    core: Arc<Core>,
    /// `None` = no proofs are made.
    ids: Mutex<Option<HashSet<String>>>,
    /// References that were needed before they were proven.
    unproven: Mutex<BTreeSet<String>>,
    asked: Notify,
}

impl ProvenImages {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, ids: Mutex::default(), unproven: Mutex::default(), asked: Notify::new() }
    }

    /// Accepts from now on only images named to [`ProvenImages::proven`].
    pub fn prove_first(&self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Accepts no image any more, because the engine is not the one with which they were proven.
    pub fn forget_proofs(&self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().clear();
    }

    /// Accepts images with these ids.
    pub fn proven(&self, ids: impl IntoIterator<Item = String>) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().extend(ids);
    }

    /// Waits until a sandbox needs an unproven image, and gives all such references.
    pub async fn asked_to_prove(&self) -> Vec<String> {
        self.asked.notified().await;
        // A caller that still needs one asks again.
        std::mem::take(&mut *self.unproven.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    pub(super) async fn must_be_proven(&self, reference: &str) -> Result<()> {
        if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Ok(());
        }
        // A missing image is refused by the broker when the container is made.
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
