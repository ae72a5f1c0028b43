//! What the kernel tells of watched directories: which of them something happened in, and which files were only read.
//!
//! inotify asks for no privilege. It tells of a directory's entries, not of a tree, so each directory has a watch of its own (`tree.rs`). Its
//! queue is bounded by the kernel, what is kept of it here: what no longer fits is told as lost, and then everything is looked at.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::net::unix::pipe::Receiver;

/// `IN_EXCL_UNLINK` of inotify(7): nothing more of a file whose name is gone.
const EXCL_UNLINK: u32 = 0x0400_0000;
/// Files that are kept as read.
const READ: usize = 4096;
const LITTLE: usize = 16;

/// What was heard since the last time somebody asked.
#[derive(Default)]
pub struct Heard {
    /// Directories whose entries, or the files behind them, are no longer as they were.
    pub changed: HashSet<WatchDescriptor>,
    /// Files that were opened to be read, and closed.
    pub read: HashSet<(WatchDescriptor, OsString)>,
    /// Further ones, some of them perhaps more than once.
    pub further: u64,
    /// The kernel dropped some of it.
    pub lost: bool,
}

impl Heard {
    /// Whether no directory has to be looked at, and few names are to be told.
    pub fn is_little(&self) -> bool {
        self.changed.is_empty() && self.read.len() <= LITTLE && !self.lost
    }

    fn take(&mut self, event: InotifyEvent) {
        let has = |flag| event.mask.contains(flag);
        if has(AddWatchFlags::IN_Q_OVERFLOW) {
            self.lost = true;
        } else if has(AddWatchFlags::IN_CLOSE_NOWRITE) {
            // A directory that was listed says nothing.
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

pub struct Ear {
    inotify: Inotify,
    /// The same descriptor, to wait for.
    waits: Receiver,
    heard: Mutex<Heard>,
}

impl Ear {
    /// None where the kernel grants no instance. Called inside a runtime.
    pub fn new() -> Option<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
        let waits = Receiver::from_owned_fd_unchecked(inotify.as_fd().try_clone_to_owned().ok()?).ok()?;
        Some(Self { inotify, waits, heard: Mutex::default() })
    }

    /// A directory that is told of from now on; watched again it has the same number. None where it is gone, no directory, or one too many.
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
        // One whose directory is gone went with it.
        let _ = self.inotify.rm_watch(watch);
    }

    /// Listens for ever, so that the kernel's queue does not run over.
    pub async fn listen(&self) {
        while self.waits.readable().await.is_ok() {
            self.drain();
            // Nothing is left, so this says so, and the next wait is one; what came meanwhile does not fit into a byte and is an error.
            let _ = self.waits.try_read(&mut [0]);
        }
    }

    /// Everything so far.
    pub fn take(&self) -> Heard {
        self.drain();
        std::mem::take(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn drain(&self) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match self.inotify.read_events() {
                Ok(events) if !events.is_empty() => events.into_iter().for_each(|event| heard.take(event)),
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}
