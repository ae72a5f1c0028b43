//! What the runner does to itself before anything else.

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};

/// Whether this process is the init of its PID namespace.
pub fn is_init() -> bool {
    std::process::id() == 1
}

/// Not dumpable: agent code runs as the same user and could otherwise read our memory and reach our descriptors through `/proc`.
/// As a plain process also the reaper of what its descendants leave behind, as PID 1 is by itself.
pub fn start() -> anyhow::Result<()> {
    prctl::set_dumpable(false)?;
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    if !is_init() {
        prctl::set_child_subreaper(true)?;
    }
    Ok(())
}
