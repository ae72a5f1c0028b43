//! What a model asks for with one call: something to do in the sandbox, or something that only the host hears.

use crate::Action;
use serde::{Deserialize, Serialize};

/// Which actions of a task's log are shown to the agent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    /// Number of one action, counted from 1; none looks through all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Words that a line must hold, without regard to case; empty where every line is wanted. With neither, nothing is found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// What an agent claims when it says that it is done, and what is to show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// One sentence. Foreign.
    pub text: String,
    /// Number of the action that shows it, counted from 1 over the whole task; 0 for the bot's own run of the checks; none where it names nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
}

/// The most answers that a question proposes.
pub const MOST_OPTIONS: usize = 6;

/// What an agent asks the person it works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question as Markdown. Foreign.
    pub text: String,
    /// Answers it proposes, at most [`MOST_OPTIONS`]; any other may be given. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// One tool call of a model, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// Something to do in the sandbox; it counts towards the next checkpoint.
    Action {
        /// The action with its arguments.
        action: Action,
    },
    /// The agent says that its work is done (or, for a read-only task, this is its answer).
    Done {
        /// The agent's Markdown for the reviewer, or a read-only task's whole answer. Foreign.
        summary: String,
        /// What it claims, one by one, where it says so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        claims: Vec<Claim>,
    },
    /// Notes the agent's plan; nothing is done in the sandbox, and it does not count as an action.
    UpdatePlan {
        /// The plan as Markdown, as the agent wrote it. Foreign.
        plan: String,
    },
    /// Asks for what an earlier action gave; nothing is done in the sandbox, and it does not count as an action.
    Recall {
        /// What to show.
        #[serde(rename = "wanted")]
        what: Recall,
    },
    /// A question to the person: the task waits for the answer, and it does not count as an action.
    Ask {
        /// What is asked.
        question: Question,
    },
    /// Not a call of a known tool with the right arguments; the reason is written for the model.
    Malformed {
        /// Why the call cannot be carried out.
        reason: String,
    },
}

impl Call {
    /// What it does in the sandbox; none for what only the host hears.
    pub fn action(&self) -> Option<&Action> {
        match self {
            Call::Action { action } => Some(action),
            Call::Done { .. }
            | Call::UpdatePlan { .. }
            | Call::Recall { .. }
            | Call::Ask { .. }
            | Call::Malformed { .. } => None,
        }
    }

    /// Whether carrying it out may leave the task's workspace another than it was.
    pub fn may_change_the_tree(&self) -> bool {
        self.action().is_some_and(|action| action.writes() && !action.is_apart())
    }

    /// As [`Action::is_apart`].
    pub fn is_apart(&self) -> bool {
        self.action().is_some_and(Action::is_apart)
    }
}

/// A call as the model made it: id and arguments are kept, for the next request must repeat them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The call's id from the model's server, unique within one answer; made by the bot where the server gave none.
    pub id: String,
    /// Name of the tool that was called; it may be no known tool.
    pub name: String,
    /// Arguments of the call as a JSON object; `{}` where the model's were none.
    pub arguments: serde_json::Value,
    /// What was read from name and arguments.
    pub call: Call,
}
