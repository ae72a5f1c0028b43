//! Files with whole outputs, which the agent can read by ranges where a result shows only beginning and end.
//!
//! Owns their folder outside the workspace (so that they are in no commit) and its limits per output and in total; the oldest are deleted
//! first. The sandbox's user can change the folder, so its content is untrusted, and a folder replaced by a link is not used. Must not fail
//! an action because its output could not be kept. Tests: below and `tests/output.rs`.

use std::collections::VecDeque;
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use protocol::runner::{LOG_CUT, MAX_FILE};

/// The most bytes of one output, so that its file can be read whole even with the line that says it was cut, and of all outputs.
const MOST: u64 = MAX_FILE - LOG_CUT.len() as u64;
const MOST_IN_ALL: u64 = 64 << 20;
/// The most entries of the folder that are looked at when the runner starts.
const MOST_ENTRIES: usize = 10_000;
/// Name of the folder in the home of the sandbox's user.
const NAME: &str = ".caisson";

/// The folder of outputs.
pub struct Logs {
    /// Its parent directory, which the sandbox cannot move.
    above: PathBuf,
    /// Number and bytes of each output, oldest first.
    sizes: Mutex<VecDeque<(u64, u64)>>,
}

impl Logs {
    /// `above` is the parent directory. Must be called before anything of the sandbox runs.
    pub fn new(above: PathBuf) -> Arc<Self> {
        let above = above.canonicalize().unwrap_or(above);
        let sizes = Mutex::new(earlier(&above.join(NAME)));
        Arc::new(Self { above, sizes })
    }

    pub fn directory(&self) -> PathBuf {
        self.above.join(NAME)
    }

    /// The file for the output of this request; it is created with the first write.
    pub fn of(self: &Arc<Self>, id: u64) -> Log {
        Log { logs: Arc::clone(self), id, file: None, written: 0, failed: false, broken: false }
    }

    fn open(&self) -> io::Result<OwnedFd> {
        opened(&self.directory()).or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            let above = open(&self.above, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
            mkdirat(&above, NAME, Mode::S_IRWXU)?;
            opened(&self.directory())
        })
    }

    fn create(&self, id: u64) -> io::Result<File> {
        let (directory, name) = (self.open()?, name(id));
        match unlinkat(&directory, name.as_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&directory, name.as_str(), flags, Mode::S_IRUSR)?;
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.retain(|(of, _)| *of != id);
        sizes.push_back((id, 0));
        Ok(file.into())
    }

    /// Deletes old outputs to make room for more bytes of this one; false if this one was deleted meanwhile.
    fn grow(&self, id: u64, bytes: u64) -> bool {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = sizes.iter_mut().find(|(of, _)| *of == id) else { return false };
        own.1 += bytes;
        while sizes.iter().map(|(_, size)| size).sum::<u64>() > MOST_IN_ALL
            && let Some((oldest, _)) = sizes.pop_front()
        {
            if let Ok(directory) = self.open() {
                // It is no error if the file is already gone.
                let _ = unlinkat(&directory, name(oldest).as_str(), UnlinkatFlags::NoRemoveDir);
            }
        }
        sizes.iter().any(|(of, _)| *of == id)
    }
}

/// Number and bytes of each output that an earlier boot of the sandbox left, oldest first. Anything may be there.
fn earlier(directory: &Path) -> VecDeque<(u64, u64)> {
    let output = |entry: DirEntry| {
        let file = entry.file_name();
        let id: u64 = file.to_str()?.strip_suffix(".log")?.parse().ok()?;
        let found = entry.metadata().ok().filter(|found| found.is_file() && file == name(id).as_str())?;
        Some((id, found.len().min(MOST_IN_ALL)))
    };
    let Ok(entries) = opened(directory).and_then(|_| std::fs::read_dir(directory)) else { return VecDeque::new() };
    let mut sizes: Vec<_> = entries.flatten().take(MOST_ENTRIES).filter_map(output).collect();
    sizes.sort_unstable();
    sizes.into()
}

/// Opens the folder; an error if it is a link.
pub fn opened(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(open(directory, flags, Mode::empty())?)
}

fn name(id: u64) -> String {
    format!("{id}.log")
}

/// One output; after a failure or at the limit nothing more is written.
pub struct Log {
    logs: Arc<Logs>,
    id: u64,
    file: Option<File>,
    written: u64,
    failed: bool,
    /// A write failed, so that the file lacks something and does not say so.
    broken: bool,
}

impl Log {
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        let fits = usize::try_from(MOST - self.written).unwrap_or(usize::MAX).min(bytes.len());
        let (kept, over) = bytes.split_at(fits);
        let written = self.append(kept);
        if written.is_err() && self.written == 0 {
            self.file = None;
        }
        self.broken |= written.is_err();
        self.failed = self.broken || !over.is_empty();
        if let (Some(file), false) = (&mut self.file, over.is_empty()) {
            // Best effort, like the whole log.
            let _ = file.write_all(LOG_CUT);
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.logs.create(self.id)?);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.logs.grow(self.id, bytes.len() as u64) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Path of the file; none if nothing was written, or if it lacks something and does not say so.
    pub fn path(&self) -> Option<String> {
        self.file.as_ref().filter(|_| !self.broken)?;
        Some(self.logs.directory().join(name(self.id)).display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn one_output_and_all_of_them_are_bounded_and_the_oldest_goes() {
        let dir = tempfile::tempdir().expect("a directory");
        let logs = Logs::new(dir.path().to_owned());
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(logs.directory()).expect("there").map(|it| it.expect("one").file_name()).collect();
            names.sort();
            names
        };
        for id in 1..=6 {
            let mut log = logs.of(id);
            assert_eq!(log.path(), None);
            (0..20).for_each(|_| log.write(&vec![b'x'; 1 << 20]));
            let made = std::fs::metadata(log.path().expect("kept")).expect("a file");
            assert_eq!((made.len(), made.mode() & 0o777), (MAX_FILE, 0o400));
        }
        assert_eq!(names(), ["3.log", "4.log", "5.log", "6.log"]);
        let mut again = logs.of(3);
        again.write(b"new");
        assert_eq!(std::fs::read(again.path().expect("kept")).expect("a file"), b"new", "what lay there is replaced");
    }

    #[test]
    fn what_an_earlier_boot_left_counts_and_goes_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |logs: &Arc<Logs>, id| {
            let mut log = logs.of(id);
            (0..20).for_each(|_| log.write(&vec![b'x'; 1 << 20]));
        };
        let logs = Logs::new(dir.path().to_owned());
        [10, 9].iter().for_each(|&id| write(&logs, id));
        let at = |name: &str| logs.directory().join(name);
        // None of them is an output.
        std::fs::write(at("08.log"), "x").expect("a file");
        symlink("9.log", at("1.log")).expect("a link");
        std::fs::create_dir(at("2.log")).expect("a directory");
        let again = Logs::new(dir.path().to_owned());
        assert_eq!(*again.sizes.lock().expect("sizes"), [(9, MAX_FILE), (10, MAX_FILE)]);
        [11, 12].iter().for_each(|&id| write(&again, id));
        assert!(at("9.log").exists());
        write(&again, 13);
        assert!(!at("9.log").exists() && at("10.log").exists() && at("13.log").exists());
    }

    /// As one does on a full disk, or where later outputs took its room.
    #[test]
    fn an_output_of_which_a_part_could_not_be_kept_is_not_named_as_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let logs = Logs::new(dir.path().to_owned());
        let mut log = logs.of(1);
        log.write(b"first");
        assert!(log.path().is_some());
        for id in 2..=6 {
            let mut later = logs.of(id);
            (0..20).for_each(|_| later.write(&vec![b'x'; 1 << 20]));
        }
        log.write(b"last");
        assert_eq!(log.path(), None);
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_used() {
        let (dir, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        symlink(other.path(), dir.path().join(NAME)).expect("a link");
        let mut log = Logs::new(dir.path().to_owned()).of(1);
        log.write(b"x");
        assert_eq!(log.path(), None);
        assert_eq!(std::fs::read_dir(other.path()).expect("there").count(), 0);
        let mut none = Logs::new(dir.path().join("nowhere")).of(1);
        none.write(b"x");
        assert_eq!(none.path(), None);
    }
}
