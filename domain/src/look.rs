//! Files of a task's workspace that the host read for the model, stored so that a request can be rebuilt from the log.

use serde::{Deserialize, Serialize};

/// One file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFile {
    /// Path relative to the workspace. Untrusted, as is the text.
    pub path: String,
    /// The file's whole text, even where only some lines are shown.
    pub text: String,
    /// Why it was read, in the bot's words.
    pub because: String,
    /// The lines that the model is shown, first and last, counted from 1; none = all of them.
    #[serde(default)]
    pub lines: Vec<(u32, u32)>,
    /// Whether it is no file of the workspace: an answer made it in a copy, and the text is that answer's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made: bool,
}

impl ShownFile {
    /// A file of which all lines are shown.
    pub fn whole(path: impl Into<String>, text: impl Into<String>, because: &str) -> Self {
        Self { path: path.into(), text: text.into(), because: because.to_owned(), lines: Vec::new(), made: false }
    }
}

/// Result of the project's checks on the commit that a task began from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRun {
    /// The command that checks the project.
    pub command: String,
    /// Exit code; none when the command was ended.
    pub exit_code: Option<i32>,
    /// The end of its output. Untrusted.
    pub tail: String,
}

/// What the host read of the workspace before one model call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Files whose text was read for the request.
    pub files: Vec<ShownFile>,
    /// Paths of further source files, as many as fit.
    #[serde(default)]
    pub others: Vec<String>,
    /// Only in a task's first look; none where no check command is known.
    #[serde(default)]
    pub base: Option<BaseRun>,
}
