//! Reports of tools, as the log keeps them. Parsed from untrusted output: hints where to look, never a verdict.

use serde::{Deserialize, Serialize};

/// Severity of a report; errors sort before warnings, and warnings before notes.
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

/// One report of a tool. Every text but `tool` is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// The tool's name.
    pub tool: String,
    /// Path relative to the repository's root.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in that file, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Its severity according to the tool.
    #[serde(default)]
    pub severity: Severity,
    /// What it says, over several lines; at most 600 characters.
    #[serde(default)]
    pub message: String,
    /// The test that failed; none for any other report.
    #[serde(default)]
    pub test: Option<String>,
}

/// Reports of a run on a commit compared with the same command's run on the base. All counts are 0 where they cannot be compared because
/// one run was ended or printed more than is kept.
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
    /// How many errors only the base's run reports: fixed, or no longer checked for.
    #[serde(default)]
    pub gone: u32,
    /// How many warnings the commit's run reports.
    #[serde(default)]
    pub warnings: u32,
    /// How many of these the base's run does not report.
    #[serde(default)]
    pub new_warnings: u32,
}

/// What the run of the checks on a task's base reports as failed. Later results are compared with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseReport {
    /// At most 200 failures. Each has only what identifies it: a test its name, anything else its file and the first line of its message.
    pub failing: Vec<Reported>,
    /// Whether the run may have reported more: it was ended, its output was cut, or more failed than is listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}
