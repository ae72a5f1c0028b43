//! One `serve` for each state directory: a second one is refused by name.

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Held for the life of the process; the system lets go of it however the process ends.
pub struct StateLock {
    _file: Flock<File>,
}

/// How long an order of a moment may hold it.
const HELD: Duration = Duration::from_secs(5);

/// As [`take`], for who is going to stay: an order that is being given is waited for.
pub async fn wait(state_dir: &Path) -> Result<StateLock> {
    let end = Instant::now() + HELD;
    loop {
        match take(state_dir) {
            Err(_) if Instant::now() < end => tokio::time::sleep(Duration::from_millis(100)).await,
            taken => return taken,
        }
    }
}

/// Makes the state directory (mode 0700) and takes its lock.
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
    // Only for the message; an unreadable holder is no reason to fail.
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
