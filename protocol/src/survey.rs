//! Questions of the host to `caisson-runner survey ROOT` and their answers: which files of a tree are relevant to an issue.
//!
//! One JSON text on standard input ([`Question`]), one on standard output ([`SurveyAnswer`]). The program runs in the sandbox as the
//! agent's user, so the host verifies what it uses of an answer (`src/sandbox/survey.rs`). Computed by `locate/`. Lines count from 1;
//! tokens are bytes / 4.

use serde::{Deserialize, Serialize};

/// Longest answer, in bytes of JSON.
pub const MAX_ANSWER: u64 = 1 << 20;
/// Most files of one answer.
pub const MAX_FILES: usize = 200;
/// Most parts of one file.
pub const MAX_PARTS: usize = 400;
/// The most definitions listed for one file.
pub const MAX_NAMES: usize = 40;
/// Most reasons of one file.
pub const MAX_REASONS: usize = 8;
/// Longest path, in bytes.
pub const MAX_PATH: usize = 1024;
/// Longest name of a definition or a word in a reason, in bytes.
pub const MAX_NAME: usize = 160;
/// The most bytes of files' texts in one answer; as JSON they still fit beside the rest.
pub const MAX_TEXTS: u64 = 256 << 10;
/// A file with more lines than this is answered in parts.
pub const LONG: u32 = 150;

/// What is asked of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The title and text.
    pub words: String,
    /// What failing checks name: paths, names of tests, lines of their output.
    #[serde(default)]
    pub failing: Vec<String>,
    /// Paths that come first in the answer, in this order, whatever their score.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The most files in the answer, up to [`MAX_FILES`].
    pub most: usize,
    /// If all sources together have at most this many tokens, all are returned; 0 = never.
    #[serde(default)]
    pub whole: u64,
    /// Bytes of texts to return with the first files, each whole or not at all; at most [`MAX_TEXTS`].
    #[serde(default)]
    pub texts: u64,
}

/// The relevant files of a tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyAnswer {
    /// Whether the answer has all sources of the tree.
    pub whole: bool,
    /// The files, most relevant first.
    pub files: Vec<RankedFile>,
    /// Number of text files that were read.
    pub seen: u64,
    /// Tokens of all sources among the files that were looked at.
    pub tokens: u64,
    /// Files that were not read: too long, no text, unreadable, or beyond a limit.
    pub passed_over: u64,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankedFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Length of its text in bytes.
    pub bytes: u64,
    /// Length of its text in tokens, rounded up.
    pub tokens: u64,
    /// Number of its lines.
    pub lines: u32,
    /// Relevance, comparable only within one answer.
    pub score: f64,
    /// Reasons for the score, strongest first.
    pub because: Vec<Reason>,
    /// Names that it defines, as written in it.
    pub defines: Vec<String>,
    /// Its parts if it has more than [`LONG`] lines and its language is known.
    pub parts: Vec<Part>,
    /// Its text, if it was among those that were asked for.
    #[serde(default)]
    pub text: Option<String>,
}

/// Lines of a file with one definition and the comments and attributes above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name as written; of a method with its class: `Session.send`.
    pub name: String,
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, included.
    pub last: u32,
}

/// Why a file is in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The host asked for it.
    Asked,
    /// A failing check names the file, or a test that it defines.
    FailingCheck,
    /// A test file named by a failing check or the issue imports it.
    ImportedBy(String),
    /// The issue contains its path or its file name.
    Named,
    /// It defines this name, which the issue contains.
    Defines(String),
    /// Its path has these words of the issue.
    Path(Vec<String>),
    /// Its text has these words of the issue.
    Text(Vec<String>),
    /// All sources are returned.
    Whole,
}
