//! What the tools of a run reported, as far as a log keeps it. Read out of foreign output: hints where to look, never a verdict.

use serde::{Deserialize, Serialize};

/// How much a tool makes of what it reports. Orders errors before warnings, and warnings before notes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A test that failed, or what a tool calls an error.
    #[default]
    Error,
    /// What a tool calls a warning.
    Warning,
    /// What a tool calls a note.
    Note,
}

/// One report of a tool. Every text but `tool` is foreign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// The tool's name.
    pub tool: String,
    /// Relative to the repository's root.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in that file, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// How bad the tool says it is.
    #[serde(default)]
    pub severity: Severity,
    /// What it says, over several lines; at most 600 characters.
    #[serde(default)]
    pub message: String,
    /// The test that failed, if it was one.
    #[serde(default)]
    pub test: Option<String>,
}

/// What a run on a commit reports, held against the run of the same command on the base. All counts are 0 where the two cannot be
/// compared, because one of them was ended, or more was printed than is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// Errors that the base's run does not report; the first 10.
    #[serde(default)]
    pub new: Vec<Reported>,
    /// How many errors the base's run does not report.
    #[serde(default)]
    pub new_errors: u32,
    /// How many errors both runs report.
    #[serde(default)]
    pub still: u32,
    /// How many errors only the base's run reports: mended, or not looked for any more.
    #[serde(default)]
    pub gone: u32,
    /// How many warnings the commit's run reports.
    #[serde(default)]
    pub warnings: u32,
    /// How many of these the base's run does not report.
    #[serde(default)]
    pub new_warnings: u32,
}
