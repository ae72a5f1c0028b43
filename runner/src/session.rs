//! The runner's state: its requests with their results, its children, its workspace.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::background::Background;
use crate::changes::Changes;
use crate::children::Children;
use crate::disk::Disk;
use crate::files::Workspace;
use crate::host::FrameSender;
use crate::log::Logs;
use crate::shell_state::ShellState;
use crate::table::Table;

pub struct Session {
    pub children: Arc<Children>,
    pub workspace: Arc<Workspace>,
    /// Observes what actions change in the workspace.
    pub changes: Changes,
    pub disk: Disk,
    pub sender: Arc<FrameSender>,
    /// State with which the agent's next command begins.
    pub shell_state: Mutex<ShellState>,
    /// Files with whole outputs.
    pub logs: Arc<Logs>,
    pub background: Mutex<Background>,
    pub requests: Mutex<Table>,
    /// Whether everything is being stopped, so that nothing may start.
    pub quiescing: AtomicBool,
    pub boot: String,
    pub binary: String,
}

impl Session {
    pub fn background(&self) -> MutexGuard<'_, Background> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
