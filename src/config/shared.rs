//! A list that many read while it is replaced as a whole. Owns the lock; what is in it is somebody else's.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Copies see what the newest [`Shared::set`] of any of them gave.
pub(super) struct Shared<T>(Arc<RwLock<Arc<[Arc<T>]>>>);

impl<T> Shared<T> {
    /// Whoever holds an older list goes on with it.
    pub fn set(&self, all: Vec<Arc<T>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all.into();
    }

    /// The list as it is now.
    pub fn get(&self) -> Arc<[Arc<T>]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Arc::new([]))))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
