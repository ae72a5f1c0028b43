//! Hardening of the runner's own process at its start.

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};

/// Whether this process is the init of its PID namespace.
pub fn is_init() -> bool {
    std::process::id() == 1
}

/// Makes the process not dumpable: agent code runs as the same user and could otherwise read its memory and descriptors through `/proc`. If
/// it is not PID 1, it also becomes the reaper of its orphaned descendants.
pub fn start() -> anyhow::Result<()> {
    prctl::set_dumpable(false)?;
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    if !is_init() {
        prctl::set_child_subreaper(true)?;
    }
    Ok(())
}
