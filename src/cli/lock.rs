//! Allows one `serve` per state directory; a second one is refused with the holder's name. Tests: below.

use anyhow::{Context, Result, anyhow, bail};
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
    locked(state_dir)?.map_err(|holder| {
        anyhow!(
            "another caisson (process {}) works with the state directory {}: stop it first, or give this one a state_dir of its own",
            holder.trim(),
            state_dir.display()
        )
    })
}

/// As [`take`]; none where another process has the lock: a running bot, or for a moment another subcommand.
pub fn unless_in_use(state_dir: &Path) -> Result<Option<StateLock>> {
    Ok(locked(state_dir)?.ok())
}

/// The lock, or the process that has it. Fails where neither can be told.
fn locked(state_dir: &Path) -> Result<Result<StateLock, String>> {
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
            Ok(Ok(StateLock { _file: locked }))
        }
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(Err(holder)),
        Err((_, errno)) => bail!("cannot lock {}: {errno}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_locked_is_not_taken_for_a_running_bot() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let lock = unless_in_use(&state).unwrap().expect("nobody has it");
        assert!(unless_in_use(&state).unwrap().is_none());
        assert!(take(&state).err().unwrap().to_string().contains("another caisson"));
        drop(lock);
        let broken = state.join("lock/state");
        assert!(unless_in_use(&broken).err().unwrap().to_string().contains("cannot make the state directory"));
    }
}
