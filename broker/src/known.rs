//! What was found out in this life of the broker: looked for once, and gone with it.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use protocol::broker::ImageInfo;

/// What was found out about images in this life of the broker.
#[derive(Default)]
pub struct Images {
    /// By reference.
    pub pinned: Mutex<HashMap<String, ImageInfo>>,
    /// Ids of images that hold what a container needs.
    pub fit: tokio::sync::Mutex<HashSet<String>>,
}

/// What is known of the table in this life of the broker.
#[derive(Default)]
pub struct Fence {
    /// When the last load that succeeded began.
    pub loaded: tokio::sync::Mutex<Option<Instant>>,
    /// Containers made so far: two requests at once must not take each other's.
    pub made: AtomicU64,
}
