//! What a task keeps of a command of the repository's own that began it.

use crate::{Budget, Commit};
use serde::{Deserialize, Serialize};

/// A command of `.caisson/commands`, as its file was when the task began: a later change of the file changes nothing of the task. What it
/// asks the agent is in [`crate::Request::words`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCommand {
    /// Its name, without the slash.
    pub name: String,
    /// The commit of the default branch whose file was read.
    pub commit: Commit,
    /// Git's id of the file's content, in hexadecimal.
    pub blob: String,
    /// Whom the file lets give it, of those whom the forge and the operator let; empty where it leaves it to them. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub who: Vec<String>,
    /// Actions between two checkpoints, 1 to [`crate::ACTIONS_PER_CHECKPOINT`]; none = as many as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u8>,
    /// The most that the task may use at its beginning; 0 in a kind leaves the usual amount.
    #[serde(default)]
    pub budget: Budget,
    /// Hosts that it wishes to reach, as rules of the router are written; a wish, and no grant. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// Those of them that nobody had allowed when the task began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Those of them that nobody can allow: the operator denies them, or sandboxes have no network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<String>,
    /// The model that the file names, where the command's text named none: nobody asked for it by an option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The role whose model works on it, as the file names it; none where its kind decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl OwnCommand {
    /// This budget, narrowed by what the file asks for.
    pub fn narrowed(&self, usual: &Budget) -> Budget {
        usual.narrowed(&self.budget)
    }

    /// So many actions between two checkpoints, or fewer where the file asks for fewer; at least 1.
    pub fn at_most(&self, usual: u8) -> u8 {
        self.every.map_or(usual, |every| every.min(usual)).max(1)
    }
}
