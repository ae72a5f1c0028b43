//! What the host asks of `caisson-runner survey ROOT`, and what that answers: which files of a tree matter to an issue's words.
//!
//! One JSON text on its standard input ([`Question`]), one on its standard output ([`SurveyAnswer`]). The program runs in the sandbox as whoever
//! works there: the host believes nothing of an answer that it has not looked at (`src/sandbox/survey.rs`). Whoever computes it:
//! `locate/`. Counts of lines begin with 1; tokens are bytes / 4.

use serde::{Deserialize, Serialize};

/// Longest answer, in bytes of JSON.
pub const MAX_ANSWER: u64 = 1 << 20;
/// Most files of one answer.
pub const MAX_FILES: usize = 200;
/// Most parts of one file.
pub const MAX_PARTS: usize = 400;
/// Most names that one file is said to define.
pub const MAX_NAMES: usize = 40;
/// Most reasons of one file.
pub const MAX_REASONS: usize = 8;
/// Longest path, in bytes.
pub const MAX_PATH: usize = 1024;
/// Longest name of a definition or a word in a reason, in bytes.
pub const MAX_NAME: usize = 160;
/// Most bytes of files' texts in one answer: as JSON they still fit beside the rest.
pub const MAX_TEXTS: u64 = 256 << 10;
/// A file of more lines than this is told in parts.
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
    /// Paths that are answered first, in this order, whatever they score.
    #[serde(default)]
    pub paths: Vec<String>,
    /// How many files at most; at most [`MAX_FILES`].
    pub most: usize,
    /// If all sources together have no more tokens than this, all of them are answered. 0: never.
    #[serde(default)]
    pub whole: u64,
    /// Bytes of texts that are answered with the first files, each whole or not at all; at most [`MAX_TEXTS`].
    #[serde(default)]
    pub texts: u64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyAnswer {
    /// The files are all sources that there are.
    pub whole: bool,
    /// The best first.
    pub files: Vec<Found>,
    /// Text files that were looked at, and the tokens of all sources among them.
    pub seen: u64,
    /// Tokens of all sources among the files that were looked at.
    pub tokens: u64,
    /// Files that were not looked at: too long, no text, unreadable, or past a bound.
    pub passed_over: u64,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Length of its text in bytes.
    pub bytes: u64,
    /// Length of its text in tokens, rounded up.
    pub tokens: u64,
    /// Number of its lines.
    pub lines: u32,
    /// To compare within one answer; it has no unit.
    pub score: f64,
    /// The strongest first.
    pub because: Vec<Reason>,
    /// Names that it defines, as they stand in it.
    pub defines: Vec<String>,
    /// Its parts if it has more than [`LONG`] lines and its language is known.
    pub parts: Vec<Part>,
    /// Its text, if it was among those that were asked for.
    #[serde(default)]
    pub text: Option<String>,
}

/// Lines `first` to `last` of a file, both among them: one definition with the comments and attributes above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// As it stands there; of a method with its class: `Session.send`.
    pub name: String,
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, included.
    pub last: u32,
}

/// Why a file was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The host asked for it.
    Asked,
    /// A failing check names it, or a test that it defines.
    FailingCheck,
    /// A test file that a failing check or the issue names imports it.
    ImportedBy(String),
    /// The issue names its path or its name.
    Named,
    /// It defines something that the issue names.
    Defines(String),
    /// Its path shares these words with the issue.
    Path(Vec<String>),
    /// Its text shares these words with the issue.
    Text(Vec<String>),
    /// All sources are shown.
    Whole,
}
