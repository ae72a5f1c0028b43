//! inotify events of watched directories: which directories changed, and which files were only read.
//!
//! inotify needs no privilege. It reports a directory's entries, not a tree, so each directory has its own watch (`tree.rs`). The kernel's
//! queue is bounded, and so is what is kept here; on overflow the loss is reported, and everything is read again.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::net::unix::pipe::Receiver;

/// `IN_EXCL_UNLINK` of inotify(7): no more events of a file whose name was removed.
const EXCL_UNLINK: u32 = 0x0400_0000;
/// The most files remembered as read.
const READ: usize = 4096;
const LITTLE: usize = 16;
/// The most buffers of events, 4 KiB each, that are read at once; a process can make events faster than they are read.
const BUFFERS: usize = 128;
/// Pause after as many, which leaves the runner's only thread to its other work.
const PAUSE: Duration = Duration::from_millis(5);

/// Events since the last [`Watcher::take`].
#[derive(Default)]
pub struct Observed {
    /// Directories whose entries, or the files they name, changed.
    pub changed: HashSet<WatchDescriptor>,
    /// Files that were opened for reading and closed.
    pub read: HashSet<(WatchDescriptor, OsString)>,
    /// Number of further ones, which may include repetitions.
    pub further: u64,
    /// Whether events are missing: the kernel dropped some, or there were more than are read at once.
    pub lost: bool,
}

impl Observed {
    /// Whether no directory has to be read again, and few names have to be resolved.
    pub fn is_little(&self) -> bool {
        self.changed.is_empty() && self.read.len() <= LITTLE && !self.lost
    }

    fn take(&mut self, event: InotifyEvent) {
        let has = |flag| event.mask.contains(flag);
        if has(AddWatchFlags::IN_Q_OVERFLOW) {
            self.lost = true;
        } else if has(AddWatchFlags::IN_CLOSE_NOWRITE) {
            // Listing a directory is no read of a file.
            let Some(name) = event.name.filter(|_| !has(AddWatchFlags::IN_ISDIR)) else { return };
            if self.read.len() < READ {
                self.read.insert((event.wd, name));
            } else if !self.read.contains(&(event.wd, name)) {
                self.further += 1;
            }
        } else if !has(AddWatchFlags::IN_IGNORED) {
            self.changed.insert(event.wd);
        }
    }
}

pub struct Watcher {
    inotify: Inotify,
    /// The same descriptor, used only for waiting.
    waits: Receiver,
    observed: Mutex<Observed>,
    /// Whether the last [`Watcher::take`] left events of its time in the kernel's queue.
    cut: AtomicBool,
}

impl Watcher {
    /// None where the kernel grants no inotify instance. Must be called inside a runtime.
    pub fn new() -> Option<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
        let waits = Receiver::from_owned_fd_unchecked(inotify.as_fd().try_clone_to_owned().ok()?).ok()?;
        Some(Self { inotify, waits, observed: Mutex::default(), cut: AtomicBool::new(false) })
    }

    /// Watches a directory; watched again it has the same number. None where it is gone, no directory, or the limit is reached.
    pub fn watch(&self, directory: &Path) -> Option<WatchDescriptor> {
        let what = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_CLOSE_NOWRITE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_DONT_FOLLOW
            | AddWatchFlags::from_bits_retain(EXCL_UNLINK);
        self.inotify.add_watch(directory, what).ok()
    }

    pub fn leave(&self, watch: WatchDescriptor) {
        // The kernel removes the watch of a deleted directory itself.
        let _ = self.inotify.rm_watch(watch);
    }

    /// Reads events for ever, so that the kernel's queue does not overflow.
    pub async fn listen(&self) {
        while self.waits.readable().await.is_ok() {
            if !self.drain(&mut self.observed()) {
                // What is left stays in the kernel's queue, which reports itself when it overflows.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            // The queue is empty, so this fails and clears the readiness; events that came meanwhile do not fit into the buffer and are an
            // error.
            let _ = self.waits.try_read(&mut [0]);
            // With such events it is ready again at once.
            tokio::task::yield_now().await;
        }
    }

    /// The events so far, or as many as are read at once so many times; then, and if the call before left some, events are reported as lost.
    pub fn take(&self, times: usize) -> Observed {
        let mut observed = self.observed();
        let is_cut = !(0..times).any(|_| self.drain(&mut observed));
        observed.lost |= self.cut.swap(is_cut, Ordering::SeqCst) || is_cut;
        std::mem::take(&mut observed)
    }

    /// Whether events of the time before the last [`Watcher::take`] may come yet.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads events; whether none are left.
    fn drain(&self, observed: &mut Observed) -> bool {
        for _ in 0..BUFFERS {
            match self.inotify.read_events() {
                Ok(events) if !events.is_empty() => events.into_iter().for_each(|event| observed.take(event)),
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }
}
