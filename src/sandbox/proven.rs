//! Which images the barrier was proven with: a sandbox is made from no other, once somebody proves.
//!
//! Owns the ids, and the bell that asks for another one to be tried. What is tried is `crate::barrier`'s. Tests: `tests/trees/images.rs`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::{Result, SandboxError, Sandboxes};

#[derive(Default)]
pub(super) struct Proven {
    /// `None` = nobody proves anything here.
    ids: Mutex<Option<HashSet<String>>>,
    /// References that were wanted before they were proven.
    wanted: Mutex<BTreeSet<String>>,
    asked: Notify,
}

impl Sandboxes {
    /// From now on only images that [`Sandboxes::proven`] names are taken.
    pub fn prove_first(&self) {
        self.proven.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// These ids may be taken.
    pub fn proven(&self, ids: impl IntoIterator<Item = String>) {
        self.proven.ids.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().extend(ids);
    }

    /// Until somebody wants a sandbox from an image that was not tried: those that are wanted.
    pub async fn asked_to_prove(&self) -> Vec<String> {
        self.proven.asked.notified().await;
        // Whoever still wants one asks again.
        std::mem::take(&mut *self.proven.wanted.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    pub(super) async fn must_be_proven(&self, reference: &str) -> Result<()> {
        if self.proven.ids.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Ok(());
        }
        // What is not there is refused where the container is made, in the broker's words.
        let Some(image) = self.image(reference).await? else { return Ok(()) };
        let held = self.proven.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|ids| ids.contains(&image.id)) {
            return Ok(());
        }
        drop(held);
        self.proven.wanted.lock().unwrap_or_else(PoisonError::into_inner).insert(reference.to_owned());
        self.proven.asked.notify_one();
        Err(SandboxError::Unavailable(format!("the barrier is being proven with the image {reference} first")))
    }
}
