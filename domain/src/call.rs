//! A tool call of a model: an action in the sandbox, or something that only the host handles.

use crate::{Action, RemarkAnswer};
use serde::{Deserialize, Serialize};

/// Which actions of a task's log are shown to the agent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    /// Number of one action, counted from 1; none looks through all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Words that a line must hold, regardless of case; empty matches every line. Without a number and words nothing is found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// One claim that an agent makes when it says that it is done, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// One sentence. Untrusted.
    pub text: String,
    /// Number of the action that shows it, counted from 1 over the whole task; 0 for the bot's own run of the checks;
    /// none where no evidence is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
}

/// The most answers that a question proposes.
pub const MOST_OPTIONS: usize = 6;

/// What an agent asks the person it works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question as Markdown. Untrusted.
    pub text: String,
    /// Answers it proposes, at most [`MOST_OPTIONS`]; any other may be given. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// One tool call of a model, parsed.
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
        /// The agent's Markdown for the reviewer, or a read-only task's whole answer. Untrusted.
        summary: String,
        /// Its claims, where it makes any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        claims: Vec<Claim>,
    },
    /// Notes the agent's plan; nothing is done in the sandbox, and it does not count as an action.
    UpdatePlan {
        /// The plan as Markdown, as the agent wrote it. Untrusted.
        plan: String,
    },
    /// Asks for what an earlier action gave; nothing is done in the sandbox, and it does not count as an action.
    Recall {
        /// What to show.
        #[serde(rename = "wanted")]
        what: Recall,
    },
    /// Says what became of a person's remark; nothing is done in the sandbox, and it does not count as an action.
    AnswerRemark {
        /// What is said of which remark.
        answer: RemarkAnswer,
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
    /// The action in the sandbox; none for a call that only the host handles.
    pub fn action(&self) -> Option<&Action> {
        match self {
            Call::Action { action } => Some(action),
            Call::Done { .. }
            | Call::UpdatePlan { .. }
            | Call::Recall { .. }
            | Call::AnswerRemark { .. }
            | Call::Ask { .. }
            | Call::Malformed { .. } => None,
        }
    }

    /// Whether carrying it out may change the task's workspace.
    pub fn may_change_the_tree(&self) -> bool {
        self.action().is_some_and(|action| action.writes() && !action.is_apart())
    }

    /// As [`Action::is_apart`].
    pub fn is_apart(&self) -> bool {
        self.action().is_some_and(Action::is_apart)
    }
}

/// A call as the model made it; id and arguments are kept because the next request must repeat them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The call's id from the model's server, unique within one answer; made by the bot where the server gave none.
    pub id: String,
    /// Name of the tool that was called; it may be no known tool.
    pub name: String,
    /// Arguments of the call as a JSON object; `{}` where the model's were none.
    pub arguments: serde_json::Value,
    /// The call that name and arguments were parsed to.
    pub call: Call,
}
