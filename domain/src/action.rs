//! What an agent can do in its sandbox, and what came of it.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The most files that one action writes.
pub const MOST_FILES: usize = 8;

/// A file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFile {
    pub path: String,
    pub content: String,
}

/// What an issue asks for as a program: it fails without the work and holds with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueCheck {
    /// Laid into the copy for as long as it runs. Of words of the issue: foreign.
    pub file: NewFile,
    pub command: String,
    /// What it asks, one sentence for each of its parts, which it numbers from 1 on. Foreign.
    pub says: Vec<String>,
}

/// One thing done in the sandbox. Every kind counts towards the next checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    Bash {
        command: String,
    },
    /// `from` is a 1-based line, `lines` how many (0 = to the end or the runner's cap).
    ReadFile {
        path: String,
        from: u64,
        lines: u64,
    },
    WriteFile {
        path: String,
        content: String,
    },
    /// All of them or none, at most [`MOST_FILES`].
    WriteFiles {
        files: Vec<NewFile>,
    },
    EditFile {
        path: String,
        old: String,
        new: String,
        all: bool,
    },
    ListFiles {
        path: String,
        glob: Option<String>,
        depth: u32,
    },
    Search {
        pattern: String,
        path: String,
        glob: Option<String>,
    },
    WebFetch {
        url: String,
    },
    /// A candidate for the work: these files laid over the last commit in a throw-away copy without a network, and this command run
    /// there, and the issue's own check before and after. Nothing of it comes back but what it printed. Asked for by the host alone.
    Try {
        files: Vec<NewFile>,
        command: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<Box<IssueCheck>>,
    },
}

/// What kind of action it is, and what is true of each of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    Bash,
    ReadFile,
    WriteFile,
    WriteFiles,
    EditFile,
    ListFiles,
    Search,
    WebFetch,
    Try,
}

impl ActionKind {
    /// The tool's name, as the model and the review know it.
    pub const fn name(self) -> &'static str {
        match self {
            ActionKind::Bash => "bash",
            ActionKind::ReadFile => "read_file",
            ActionKind::WriteFile => "write_file",
            ActionKind::WriteFiles => "write_files",
            ActionKind::EditFile => "edit_file",
            ActionKind::ListFiles => "list_files",
            ActionKind::Search => "search",
            ActionKind::WebFetch => "web_fetch",
            ActionKind::Try => "try",
        }
    }

    /// Whether it can change the tree or runs the project's code; a read-only task takes none that does.
    pub const fn writes(self) -> bool {
        match self {
            ActionKind::Bash
            | ActionKind::WriteFile
            | ActionKind::WriteFiles
            | ActionKind::EditFile
            | ActionKind::Try => true,
            ActionKind::ReadFile | ActionKind::ListFiles | ActionKind::Search | ActionKind::WebFetch => false,
        }
    }

    /// Whether it gives files new texts, which may hold mistakes that their text alone shows.
    pub const fn writes_texts(self) -> bool {
        match self {
            ActionKind::WriteFile | ActionKind::WriteFiles | ActionKind::EditFile | ActionKind::Try => true,
            ActionKind::Bash
            | ActionKind::ReadFile
            | ActionKind::ListFiles
            | ActionKind::Search
            | ActionKind::WebFetch => false,
        }
    }

    /// Whether it happens outside the task's own sandbox, which stays as it is.
    pub const fn is_apart(self) -> bool {
        matches!(self, ActionKind::Try)
    }
}

impl Action {
    pub fn what(&self) -> ActionKind {
        match self {
            Action::Bash { .. } => ActionKind::Bash,
            Action::ReadFile { .. } => ActionKind::ReadFile,
            Action::WriteFile { .. } => ActionKind::WriteFile,
            Action::WriteFiles { .. } => ActionKind::WriteFiles,
            Action::EditFile { .. } => ActionKind::EditFile,
            Action::ListFiles { .. } => ActionKind::ListFiles,
            Action::Search { .. } => ActionKind::Search,
            Action::WebFetch { .. } => ActionKind::WebFetch,
            Action::Try { .. } => ActionKind::Try,
        }
    }

    /// As [`ActionKind::name`].
    pub fn kind(&self) -> &'static str {
        self.what().name()
    }

    /// As [`ActionKind::writes`].
    pub fn writes(&self) -> bool {
        self.what().writes()
    }

    /// As [`ActionKind::is_apart`].
    pub fn is_apart(&self) -> bool {
        self.what().is_apart()
    }

    /// What it was done to: a command, a path, a pattern or an address. Text of the agent: escape before showing.
    pub fn object(&self) -> Cow<'_, str> {
        let one = match self {
            Action::WriteFiles { files } | Action::Try { files, .. } => {
                let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                return Cow::Owned(paths.join(", "));
            }
            Action::Bash { command } => command,
            Action::ReadFile { path, .. }
            | Action::WriteFile { path, .. }
            | Action::EditFile { path, .. }
            | Action::ListFiles { path, .. } => path,
            Action::Search { pattern, .. } => pattern,
            Action::WebFetch { url } => url,
        };
        Cow::Borrowed(one)
    }
}

/// One tool call of a model, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    Action {
        action: Action,
    },
    /// The agent says that its work is done (or, for a read-only task, this is its answer).
    Done {
        summary: String,
    },
    UpdatePlan {
        plan: String,
    },
    /// Not a call of a known tool with the right arguments; the reason is written for the model.
    Malformed {
        reason: String,
    },
}

impl Call {
    /// Whether carrying it out may leave the task's workspace another than it was.
    pub fn may_change_the_tree(&self) -> bool {
        match self {
            Call::Action { action } => action.writes() && !action.is_apart(),
            Call::Done { .. } | Call::UpdatePlan { .. } | Call::Malformed { .. } => false,
        }
    }

    /// As [`Action::is_apart`].
    pub fn is_apart(&self) -> bool {
        match self {
            Call::Action { action } => action.is_apart(),
            Call::Done { .. } | Call::UpdatePlan { .. } | Call::Malformed { .. } => false,
        }
    }
}

/// A call as the model made it: id and arguments are kept, for the next request must repeat them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    pub id: String,
    pub name: String,
    pub arguments: serde_json::Value,
    pub call: Call,
}

/// Tokens of one model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OutcomeStatus {
    Ok,
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    TimedOut,
    OutOfMemory,
    OutOfPids,
    DiskFull,
    /// It took more of the engine's disk than it may, and was ended with everything else that ran: the task waits for a person.
    DiskSpent {
        what: String,
    },
    /// The tool refused or could not: the reason is written for the model.
    Failed {
        reason: String,
    },
    /// The sandbox went away while it ran: it may have happened, wholly or in part.
    Interrupted,
    /// Held back before it ran, by policy.
    Denied {
        reason: String,
    },
}

impl OutcomeStatus {
    pub fn succeeded(&self) -> bool {
        matches!(self, OutcomeStatus::Ok | OutcomeStatus::Exited { code: 0 })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub status: OutcomeStatus,
    /// Head and tail of what it printed. Text of the sandbox: data, never instruction.
    pub text: String,
    pub dropped_bytes: u64,
    pub duration_ms: u64,
    /// A sentence of the runner's about limits it hit.
    pub note: Option<String>,
    /// Of a try: the parts of the issue's own check that did not hold before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

impl Outcome {
    /// One of which nothing else is known.
    pub fn new(status: OutcomeStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), dropped_bytes: 0, duration_ms: 0, note: None, examples: Vec::new() }
    }
}

/// One part of an issue's own check, as it was after a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// As [`IssueCheck::says`]. Foreign.
    pub says: String,
    pub holds: bool,
    /// What came instead, at most [`MOST_SEEN`] characters on one line; empty where it could not be run. Printed by code under review.
    pub seen: String,
}

/// Characters of [`Example::seen`].
pub const MOST_SEEN: usize = 200;
