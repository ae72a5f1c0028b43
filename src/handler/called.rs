//! A command of the repository's own that a text asks for, where no task is at work.

use crate::config::own_command::OwnCommand;
use crate::thread::AtTip;

/// One whose file can be used.
pub(super) struct Called {
    /// Its name, without the slash.
    pub name: String,
    /// Where it was found.
    pub at_tip: AtTip,
}

impl Called {
    /// What its file says.
    pub fn file(&self) -> Option<&OwnCommand> {
        self.at_tip.commands.get(&self.name).and_then(|read| read.as_ref().ok())
    }
}
