//! What a person asks for in an issue, a comment or a review.
//!
//! Owns the grammar: which commands exist, how they are written, who may give them. Must not ask the forge anything or
//! decide whether this person may (`handler` does). A command stands at the beginning of a line of an ordinary
//! paragraph; never in a quote, a list, code, a table or an HTML comment. Tests: `src/command/tests.rs`.

use domain::Budget;
use protocol::router::Rule;

mod parse;
mod table;
#[cfg(test)]
mod tests;

pub use parse::parse;
pub use table::{COMMANDS, Spec, Who, answer_line, spec};

/// How far a grant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Ends with the task.
    Task,
    /// Stays for every later task of the repository.
    Repository,
}

/// One thing asked for. Arguments are as the person wrote them, trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Start a task that changes code, with these words (may be empty: the issue says it all).
    Fix(String),
    /// Start a read-only task.
    Plan(String),
    /// Go on past a checkpoint; bound to its number or to a commit where the person named one. `next` further ones are
    /// approved in advance.
    Approve { checkpoint: Option<u32>, commit: Option<String>, next: u8 },
    /// Change something first.
    Revise(String),
    /// End the task.
    Stop,
    /// Go on after a pause.
    Resume,
    /// Say where the task stands.
    Status,
    /// List the commands.
    Help,
    /// Let the task reach a host, as a rule of the router.
    Allow { host: Rule, scope: Scope },
    /// Take that back.
    Deny { host: Rule },
    /// Grant the task more than it may use.
    Budget(Budget),
    /// A command that exists, written in a way that cannot be followed.
    Malformed { name: &'static str, why: String },
    /// A slash and a word that is no command.
    Unknown(String),
}

impl Command {
    /// The word after the slash.
    pub fn name(&self) -> &str {
        match self {
            Command::Fix(_) => "fix",
            Command::Plan(_) => "plan",
            Command::Approve { .. } => "approve",
            Command::Revise(_) => "revise",
            Command::Stop => "stop",
            Command::Resume => "resume",
            Command::Status => "status",
            Command::Help => "help",
            Command::Allow { .. } => "allow",
            Command::Deny { .. } => "deny",
            Command::Budget(_) => "budget",
            Command::Malformed { name, .. } => name,
            Command::Unknown(word) => word,
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Command::Stop => 4,
            Command::Revise(_) => 3,
            Command::Approve { .. } => 2,
            Command::Fix(_)
            | Command::Plan(_)
            | Command::Resume
            | Command::Allow { .. }
            | Command::Deny { .. }
            | Command::Budget(_) => 1,
            Command::Status | Command::Help | Command::Malformed { .. } | Command::Unknown(_) => 0,
        }
    }
}

/// One text, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text; the index is the ordinal of an input's key.
    pub commands: Vec<Command>,
    /// No command stands in it: it is feedback, or talk.
    pub plain: bool,
}

impl Parsed {
    /// What this text comes to: stop before changes before approval (durability 4) before other work, questions last; of equals the
    /// one that stands first.
    pub fn strongest(&self) -> Option<&Command> {
        // `max_by_key` would return the last of equals; the first one counts.
        self.commands.iter().rev().max_by_key(|c| c.strength())
    }
}
