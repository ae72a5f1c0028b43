//! A queued delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One delivery that waits in the queue.
#[derive(Debug)]
pub(crate) struct Posting {
    pub url: String,
    pub secret: String,
    pub event: &'static str,
    pub event_type: &'static str,
    pub body: String,
    /// Counts it while it is under way.
    pub counted: Option<Counted>,
}

/// One of the deliveries that are under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
