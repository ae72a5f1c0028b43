//! What the host read of a task's workspace for the model: no action of the agent's, and stored so that a request can be made again.

use serde::{Deserialize, Serialize};

/// One file as it stood when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFile {
    /// Relative to the workspace. Foreign, as is the text.
    pub path: String,
    /// The file's whole text, whichever lines are shown.
    pub text: String,
    /// Why it was read, in words of ours.
    pub because: String,
    /// The lines that the model is shown, first and last, counted from 1; none = all of them.
    #[serde(default)]
    pub lines: Vec<(u32, u32)>,
}

impl ShownFile {
    /// One of which all lines are shown.
    pub fn whole(path: impl Into<String>, text: impl Into<String>, because: &str) -> Self {
        Self { path: path.into(), text: text.into(), because: because.to_owned(), lines: Vec::new() }
    }
}

/// How the project's checks end on the commit that a task began from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRun {
    /// The command that checks the project.
    pub command: String,
    /// None when it was ended before it could say.
    pub exit_code: Option<i32>,
    /// The end of its output. Foreign.
    pub tail: String,
}

/// One look at the workspace, before one model call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Files whose text was read for the request.
    pub files: Vec<ShownFile>,
    /// Further source files there are, by path, so far as there was room.
    #[serde(default)]
    pub others: Vec<String>,
    /// Comes with a task's first look only; none where no command is known that checks the project.
    #[serde(default)]
    pub base: Option<BaseRun>,
}
