//! What an agent can do in its sandbox.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The most files that one action writes.
pub const MOST_FILES: usize = 8;

/// The largest action as JSON, in bytes: it fits into one frame to the runner (`protocol::runner::MAX_PAYLOAD`), with its envelope.
pub const MOST_ACTION: usize = 900 << 10;

/// A file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFile {
    /// Relative to the workspace, or absolute inside it.
    pub path: String,
    /// The whole text that the file then has.
    pub content: String,
    /// Whether it may only be made: if anything has its path, even a directory or a link, none of the action's files is written. Set where
    /// a model writes a file that it was not shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create: bool,
}

impl NewFile {
    /// A file that is made, or replaced where there is one.
    pub fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into(), create: false }
    }
}

/// The most replacements that one action makes, and the most parts of a file that one shows.
pub const MOST_EDITS: usize = 20;
/// See [`MOST_EDITS`].
pub const MOST_RANGES: usize = 10;

/// One replacement in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    /// As [`Action::EditFile::old`].
    pub old: String,
    /// As [`Action::EditFile::new`].
    pub new: String,
    /// As [`Action::EditFile::all`].
    #[serde(default)]
    pub all: bool,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// First line, counted from 1.
    pub from: u64,
    /// How many; 0 = as many as fit.
    pub lines: u64,
}

/// A check of the issue's demands that a model wrote as a program: it fails on the base and passes once the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueCheck {
    /// Added to the copy only while the check runs. Written from the issue's words: untrusted.
    pub file: NewFile,
    /// Shell command that runs the check in the workspace; it prints one line for each part.
    pub command: String,
    /// What each part of the check demands, one sentence per part; the parts are numbered from 1. Untrusted.
    pub says: Vec<String>,
}

/// One thing done in the sandbox. Every kind counts towards the next checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    /// Runs a shell command in the workspace.
    Bash {
        /// Command line or script, given to `bash -c`, or to `sh -c` where the image has no bash.
        command: String,
    },
    /// Starts a shell command that goes on in the background, until it ends, is ended, or everything stops at the next checkpoint.
    Background {
        /// As [`Action::Bash::command`].
        command: String,
    },
    /// Reads a part of a file.
    ReadFile {
        /// File to read, relative to the workspace or absolute inside it.
        path: String,
        /// First line to read, counted from 1.
        from: u64,
        /// Number of lines to read; 0 reads as many as fit.
        lines: u64,
    },
    /// As [`Action::ReadFile`] of several parts, at most [`MOST_RANGES`].
    ReadRanges {
        /// File to read.
        path: String,
        /// What of it, in this order.
        ranges: Vec<LineRange>,
    },
    /// Has a model summarize a file piece by piece, from a line on, for files that are longer than can be shown.
    Summarize {
        /// File to read, relative to the workspace or absolute inside it.
        path: String,
        /// First line to read, counted from 1.
        from: u64,
    },
    /// Makes a file or replaces it as a whole, with its parent directories.
    WriteFile {
        /// File to write, relative to the workspace or absolute inside it.
        path: String,
        /// The whole text that the file then has.
        content: String,
    },
    /// All of them or none, at most [`MOST_FILES`].
    WriteFiles {
        /// Files to make or replace as a whole.
        files: Vec<NewFile>,
    },
    /// Replaces text inside an existing file.
    EditFile {
        /// File to change, relative to the workspace or absolute inside it.
        path: String,
        /// Text to replace, exactly as it stands in the file; never empty.
        old: String,
        /// Text to put in its place; empty removes it.
        new: String,
        /// Whether every occurrence is replaced; otherwise `old` must stand in the file exactly once.
        all: bool,
    },
    /// As [`Action::EditFile`] in several places, at most [`MOST_EDITS`]: each applies to the result of the one before it, all or none.
    EditPlaces {
        /// File to change.
        path: String,
        /// The replacements, in this order.
        edits: Vec<TextEdit>,
    },
    /// Gives a file or a directory another path; nothing is overwritten.
    MoveFile {
        /// Its path, relative to the workspace or absolute inside it.
        from: String,
        /// The whole new path; missing directories are made.
        to: String,
    },
    /// Deletes a file, or a directory with all that is in it.
    DeleteFile {
        /// What is deleted, relative to the workspace or absolute inside it.
        path: String,
        /// Whether a directory may be.
        recursive: bool,
    },
    /// Lists the files below a directory, without those that `.gitignore` names.
    ListFiles {
        /// Directory to list, relative to the workspace; `.` is all of it.
        path: String,
        /// Pattern that a file's name must match; none lists every file.
        glob: Option<String>,
        /// How many directories deep to go; 0 has no limit.
        depth: u32,
    },
    /// Finds lines by a regular expression, without files that `.gitignore` names.
    Search {
        /// Regular expression in the syntax of Rust's `regex` crate.
        pattern: String,
        /// File or directory to search, relative to the workspace; `.` is all of it.
        path: String,
        /// Pattern that a file's name must match; none searches every file.
        glob: Option<String>,
    },
    /// Fetches a page from inside the sandbox, as Markdown.
    WebFetch {
        /// Address with the scheme `http` or `https`, without user name and password.
        url: String,
    },
    /// Tries a candidate: lays these files over the last commit in a throw-away copy without a network, and runs this
    /// command and the issue's own check there, the check also before. Only the output comes back. Only the host asks for it.
    Try {
        /// The candidate: files to lay over the last commit, each as a whole.
        files: Vec<NewFile>,
        /// Shell command that checks the project.
        command: String,
        /// The issue's own check; none where none could be made from its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<Box<IssueCheck>>,
    },
}

/// Kind of an action, without its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    /// Of [`Action::Bash`] and [`Action::Background`].
    Bash,
    /// Of [`Action::ReadFile`], [`Action::ReadRanges`] and [`Action::Summarize`]: the same rules hold for all three.
    ReadFile,
    /// Of [`Action::WriteFile`].
    WriteFile,
    /// Of [`Action::WriteFiles`].
    WriteFiles,
    /// Of [`Action::EditFile`] and [`Action::EditPlaces`].
    EditFile,
    /// Of [`Action::MoveFile`].
    MoveFile,
    /// Of [`Action::DeleteFile`].
    DeleteFile,
    /// Of [`Action::ListFiles`].
    ListFiles,
    /// Of [`Action::Search`].
    Search,
    /// Of [`Action::WebFetch`].
    WebFetch,
    /// Of [`Action::Try`].
    Try,
}

/// What the text of a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultText {
    /// What a command printed.
    Output,
    /// A file of the workspace.
    File,
    /// A page of the web.
    Page,
    /// Text that is described by the action's name.
    Named,
}

/// Properties that all actions of a kind share.
struct Facts {
    name: &'static str,
    result: ResultText,
    writes: bool,
    writes_texts: bool,
    is_apart: bool,
}

/// Facts of a kind that changes nothing.
const fn reads(name: &'static str) -> Facts {
    Facts { name, result: ResultText::Named, writes: false, writes_texts: false, is_apart: false }
}

/// Facts of a kind that changes the tree or runs the project's code.
const fn changes(name: &'static str) -> Facts {
    Facts { writes: true, ..reads(name) }
}

/// Facts of a kind that writes file contents.
const fn writes(name: &'static str) -> Facts {
    Facts { writes_texts: true, ..changes(name) }
}

impl ActionKind {
    /// Every kind.
    pub const ALL: [ActionKind; 11] = [
        ActionKind::Bash,
        ActionKind::ReadFile,
        ActionKind::WriteFile,
        ActionKind::WriteFiles,
        ActionKind::EditFile,
        ActionKind::MoveFile,
        ActionKind::DeleteFile,
        ActionKind::ListFiles,
        ActionKind::Search,
        ActionKind::WebFetch,
        ActionKind::Try,
    ];

    /// One exhaustive match, so that a new kind does not compile before its facts are given.
    const fn facts(self) -> Facts {
        match self {
            ActionKind::Bash => Facts { result: ResultText::Output, ..changes("bash") },
            ActionKind::ReadFile => Facts { result: ResultText::File, ..reads("read_file") },
            ActionKind::WriteFile => writes("write_file"),
            ActionKind::WriteFiles => writes("write_files"),
            ActionKind::EditFile => writes("edit_file"),
            ActionKind::MoveFile => changes("move_file"),
            ActionKind::DeleteFile => changes("delete_file"),
            ActionKind::ListFiles => reads("list_files"),
            ActionKind::Search => reads("search"),
            ActionKind::WebFetch => Facts { result: ResultText::Page, ..reads("web_fetch") },
            ActionKind::Try => Facts { is_apart: true, ..writes("try") },
        }
    }

    /// The tool's name as the model and the review see it.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// What the text of its result is.
    pub const fn result(self) -> ResultText {
        self.facts().result
    }

    /// Whether it can change the tree or runs the project's code; a read-only task takes none that does.
    pub const fn writes(self) -> bool {
        self.facts().writes
    }

    /// Whether it writes file contents, so that a check of the new text for syntax mistakes makes sense.
    pub const fn writes_texts(self) -> bool {
        self.facts().writes_texts
    }

    /// Whether it happens outside the task's own sandbox, which stays as it is.
    pub const fn is_apart(self) -> bool {
        self.facts().is_apart
    }
}

impl Action {
    /// The kind of this action, without its arguments.
    pub fn what(&self) -> ActionKind {
        match self {
            Action::Bash { .. } | Action::Background { .. } => ActionKind::Bash,
            Action::ReadFile { .. } | Action::ReadRanges { .. } | Action::Summarize { .. } => ActionKind::ReadFile,
            Action::WriteFile { .. } => ActionKind::WriteFile,
            Action::WriteFiles { .. } => ActionKind::WriteFiles,
            Action::EditFile { .. } | Action::EditPlaces { .. } => ActionKind::EditFile,
            Action::MoveFile { .. } => ActionKind::MoveFile,
            Action::DeleteFile { .. } => ActionKind::DeleteFile,
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
            Action::MoveFile { from, to } => return Cow::Owned(format!("{from} → {to}")),
            Action::Bash { command } | Action::Background { command } => command,
            Action::ReadFile { path, .. }
            | Action::ReadRanges { path, .. }
            | Action::Summarize { path, .. }
            | Action::WriteFile { path, .. }
            | Action::EditFile { path, .. }
            | Action::EditPlaces { path, .. }
            | Action::DeleteFile { path, .. }
            | Action::ListFiles { path, .. } => path,
            Action::Search { pattern, .. } => pattern,
            Action::WebFetch { url } => url,
        };
        Cow::Borrowed(one)
    }

    /// How a review shows its success.
    pub fn shown(&self) -> Shown<'_> {
        match self {
            Action::Bash { .. } | Action::Try { .. } => Shown::Ended,
            Action::Background { .. } => Shown::Started,
            Action::MoveFile { .. } | Action::DeleteFile { .. } => Shown::Done,
            Action::ReadFile { .. }
            | Action::ReadRanges { .. }
            | Action::Summarize { .. }
            | Action::ListFiles { .. }
            | Action::Search { .. }
            | Action::WebFetch { .. } => Shown::Printed,
            Action::WriteFile { content, .. } => Shown::Wrote(vec![content]),
            Action::WriteFiles { files } => Shown::Wrote(files.iter().map(|file| file.content.as_str()).collect()),
            Action::EditFile { old, new, .. } => Shown::Replaced(vec![(old, new)]),
            Action::EditPlaces { edits, .. } => {
                Shown::Replaced(edits.iter().map(|edit| (edit.old.as_str(), edit.new.as_str())).collect())
            }
        }
    }

    /// The command line that it runs; none for actions that run no command of the agent.
    pub fn command(&self) -> Option<&str> {
        match self {
            Action::Bash { command } | Action::Background { command } => Some(command),
            Action::ReadFile { .. }
            | Action::ReadRanges { .. }
            | Action::Summarize { .. }
            | Action::WriteFile { .. }
            | Action::WriteFiles { .. }
            | Action::EditFile { .. }
            | Action::EditPlaces { .. }
            | Action::MoveFile { .. }
            | Action::DeleteFile { .. }
            | Action::ListFiles { .. }
            | Action::Search { .. }
            | Action::WebFetch { .. }
            | Action::Try { .. } => None,
        }
    }

    /// The file or directory that it reads by name, changing nothing. Untrusted.
    pub fn looked_at(&self) -> Option<&str> {
        match self {
            Action::ReadFile { path, .. }
            | Action::ReadRanges { path, .. }
            | Action::Summarize { path, .. }
            | Action::ListFiles { path, .. }
            | Action::Search { path, .. } => Some(path),
            Action::Bash { .. }
            | Action::Background { .. }
            | Action::WriteFile { .. }
            | Action::WriteFiles { .. }
            | Action::EditFile { .. }
            | Action::EditPlaces { .. }
            | Action::MoveFile { .. }
            | Action::DeleteFile { .. }
            | Action::WebFetch { .. }
            | Action::Try { .. } => None,
        }
    }

    /// Every path that the action names and changes: files it writes, moves and deletes.
    pub fn changed(&self) -> Vec<&str> {
        if let Action::MoveFile { from, to } = self {
            vec![from, to]
        } else if let Action::DeleteFile { path, .. } = self {
            vec![path]
        } else {
            self.written()
        }
    }

    /// Paths of files in the task's own tree whose content it writes. Untrusted.
    pub fn written(&self) -> Vec<&str> {
        match self {
            Action::WriteFile { path, .. } | Action::EditFile { path, .. } | Action::EditPlaces { path, .. } => {
                vec![path]
            }
            Action::WriteFiles { files } => files.iter().map(|file| file.path.as_str()).collect(),
            Action::Bash { .. }
            | Action::Background { .. }
            | Action::ReadFile { .. }
            | Action::ReadRanges { .. }
            | Action::Summarize { .. }
            | Action::MoveFile { .. }
            | Action::DeleteFile { .. }
            | Action::ListFiles { .. }
            | Action::Search { .. }
            | Action::WebFetch { .. }
            | Action::Try { .. } => Vec::new(),
        }
    }
}

/// How a review shows the result of an action that succeeded. The texts are the agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown<'a> {
    /// By the exit status of its command.
    Ended,
    /// As running in the background.
    Started,
    /// As done.
    Done,
    /// By the number of lines it printed.
    Printed,
    /// By the number of lines of these texts.
    Wrote(Vec<&'a str>),
    /// By the number of lines added and removed; the text before and after each replacement.
    Replaced(Vec<(&'a str, &'a str)>),
}
