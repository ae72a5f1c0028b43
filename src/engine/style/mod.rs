//! How a model is talked to.
//!
//! Owns: the styles, and what each does with an answer. *tools*: the whole conversation and the tools' schemas (`engine::history`); the
//! model works by itself. *text*: the same conversation in plain text, one command or one file in each answer (`text.rs`). *files*: an
//! issue and the relevant files in one short question, changed files as the answer; the host runs the checks and decides when the work is
//! done (`files.rs`). In each style an answer becomes the same typed calls.
//! Must not: carry anything out, or keep state between two calls. Tests: beside each file.

mod answer;
mod aside;
mod asked;
mod blocks;
pub mod check;
mod choice;
mod content;
mod definitions;
mod earlier;
pub mod files;
mod part;
mod paths;
pub mod record;
pub mod round;
mod settled;
mod spoken;
pub mod text;
pub mod unseen;
pub mod view;

use domain::{CallRequest, Look};

use super::tools;
use crate::llm::ModelResponse;

pub use earlier::EarlierTries;
pub(in crate::engine) use paths::EXAMPLE;
pub use settled::settled;

/// How a model is talked to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// The whole conversation with the tools' schemas; the model works by itself.
    #[default]
    Tools,
    /// The whole conversation in plain text; one command or one file in each answer.
    Text,
    /// One short question with files, changed files as the answer; the host runs the checks.
    Files,
}

impl Style {
    /// The style's name: `tools`, `text` or `files`.
    pub fn word(self) -> &'static str {
        match self {
            Style::Tools => "tools",
            Style::Text => "text",
            Style::Files => "files",
        }
    }
}

/// What is done first with the files of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum First {
    /// They are written into the workspace.
    Written,
    /// They are tried in a copy, with the issue's own check if its words contain one.
    Tried {
        /// The words, from which its check is made.
        words: String,
    },
}

/// How the answer to one request is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Reader {
    /// Calls of the protocol.
    Tools {
        /// Whether calls in the text count if the answer has no others.
        spoken: bool,
    },
    /// The first block of the text is a command or a file.
    Text,
    /// Blocks of the text are files, changed in part or as a whole.
    Files {
        /// What the model was shown of the workspace, and the paths of other files.
        look: Box<Look>,
        /// The command that checks the project.
        command: Option<String>,
        /// Texts in which people may have named tests, which may then be changed.
        asked: String,
        /// What is done first with the files.
        first: First,
        /// Paths that earlier answers wrote, which count as shown.
        written: Vec<String>,
        /// The round's candidates, if the files are tried.
        earlier: EarlierTries,
    },
}

impl Reader {
    /// The calls of an answer, as they are stored.
    pub fn calls(&self, response: &ModelResponse, turn: u32) -> Vec<CallRequest> {
        match self {
            Reader::Tools { spoken: true } if response.calls.is_empty() => {
                spoken::calls(&response.text, turn, response.truncated).iter().map(tools::request).collect()
            }
            Reader::Tools { .. } => response.calls.iter().map(tools::request).collect(),
            Reader::Text => text::calls(response, turn).iter().map(tools::request).collect(),
            // The files of an answer that was cut off may lack their other half, so they are only tried.
            Reader::Files { first: First::Written, .. } | Reader::Files { command: None, .. } if response.truncated => {
                Vec::new()
            }
            Reader::Files { look, command, asked, first, written, earlier } => {
                let all = earlier.completed(answer::files(&response.text, response.truncated, look, asked));
                let files = unseen::marked(all, look, written);
                match earlier.repeated(&files, turn) {
                    Some(repeated) => vec![repeated],
                    None => answer::calls(files, command.as_deref(), first, look, turn),
                }
            }
        }
    }
}

/// A look at these files, with all lines shown.
#[cfg(test)]
fn shown(files: &[(&str, &str)]) -> Look {
    let files = files.iter().map(|(path, text)| domain::ShownFile::whole(*path, *text, "")).collect();
    Look { files, others: vec!["lib/other.py".into(), "src/other.js".into()], base: None }
}
