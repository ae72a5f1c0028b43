//! `ask`: a question to the task's requester. Does not count as an action, but the task waits for the answer.

use domain::{Call, MOST_OPTIONS, Question};
use serde_json::json;

use super::tool::{Tool, text};

/// The longest question and the longest proposed answer, in characters.
const LONGEST: usize = 2_000;
const LONGEST_OPTION: usize = 200;

pub(super) const TOOL: Tool = Tool {
    name: "ask",
    action: None,
    description: |_| {
        "Asks the person you work for, and waits for the answer, which may take hours. Only for what you cannot find out and should not \
         decide: what is wanted, not how. Calls after it in the same turn are not run. Free."
    },
    brief: |_| Some("Ask the person and wait. Only for what you cannot find out."),
    properties: |_| {
        json!({
            "question": text("the question, with what the person needs to know to answer it"),
            "options": { "type": "array", "items": { "type": "string" }, "description": "answers that you propose, at most 6" },
        })
    },
    required: &["question"],
    read: |arguments| {
        let question = arguments.words("question")?;
        let options = arguments.texts("options")?;
        if question.chars().count() > LONGEST {
            return Err(format!("ask: the question is too long; {LONGEST} characters fit"));
        }
        if options.len() > MOST_OPTIONS || options.iter().any(|option| option.chars().count() > LONGEST_OPTION) {
            return Err(format!("ask: at most {MOST_OPTIONS} options fit, each of {LONGEST_OPTION} characters"));
        }
        Ok(Call::Ask { question: Question { text: question, options } })
    },
};
