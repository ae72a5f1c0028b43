//! What goes wrong with a local broker, as a test switches it on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use caisson::sandbox::broker::Result;
use protocol::broker::{Problem, ProblemKind};

/// Faults that a test switches on.
#[derive(Default)]
pub struct Faults {
    pub no_pause: AtomicBool,
    /// Milliseconds that a removal takes.
    pub slow_removal: AtomicUsize,
    /// Pauses that were asked for.
    pub pauses: AtomicUsize,
    /// Whether the images that the broker has used were removed from the engine.
    pub images_gone: AtomicBool,
    /// Beginning of the name of the next container that somebody removes between its creation and its start.
    pub swept: Mutex<Option<String>>,
    /// Whether the next removal of a container fails.
    pub stuck: AtomicBool,
}

impl Faults {
    /// Whether the engine fails to remove a container now; once.
    pub fn keeps(&self) -> bool {
        self.stuck.swap(false, Ordering::SeqCst)
    }

    /// Whether somebody removes this container before its start; once.
    pub fn sweeps(&self, name: &str) -> bool {
        self.swept.lock().unwrap().take_if(|beginning| name.starts_with(beginning.as_str())).is_some()
    }

    /// An error in the broker's words while the images are gone.
    pub fn has_image(&self, reference: &str) -> Result<()> {
        if !self.images_gone.load(Ordering::SeqCst) {
            return Ok(());
        }
        let why = format!("image {reference} was 0123456789ab and is gone; start the broker anew to take another");
        Err(Problem::new(ProblemKind::NotFound, why))
    }
}
