//! Allows one `serve` per state directory; a second one is refused with the holder's name.

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Held for the life of the process; the kernel releases it however the process ends.
pub struct StateLock {
    _file: Flock<File>,
}

/// How long a short-lived subcommand may hold it.
const HELD: Duration = Duration::from_secs(5);

/// As [`take`], but waits for a short-lived holder.
pub async fn wait(state_dir: &Path) -> Result<StateLock> {
    let end = Instant::now() + HELD;
    loop {
        match take(state_dir) {
            Err(_) if Instant::now() < end => tokio::time::sleep(Duration::from_millis(100)).await,
            taken => return taken,
        }
    }
}

/// Creates the state directory (mode 0700) and takes its lock.
pub fn take(state_dir: &Path) -> Result<StateLock> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state_dir)
        .with_context(|| format!("cannot make the state directory {}", state_dir.display()))?;
    let path = state_dir.join("lock");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = file.with_context(|| format!("cannot open {}", path.display()))?;
    let mut holder = String::new();
    // Only for the message, so an unreadable holder is ignored.
    let _ = file.read_to_string(&mut holder);
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(mut locked) => {
            locked.set_len(0)?;
            locked.rewind()?;
            write!(locked, "{}", std::process::id())?;
            Ok(StateLock { _file: locked })
        }
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => bail!(
            "another caisson (process {}) works with the state directory {}: stop it first, or give this one a state_dir of its own",
            holder.trim(),
            state_dir.display()
        ),
        Err((_, errno)) => bail!("cannot lock {}: {errno}", path.display()),
    }
}
