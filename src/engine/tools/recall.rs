//! `recall`: shows an earlier action of this task again. Does not count as an action.

use domain::{Call, Recall};
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: "recall",
    action: None,
    description: |_| "Shows again what an earlier action of yours wrote and gave, where it was left out. Free.",
    brief: |_| Some("Show an earlier action again."),
    properties: |_| {
        json!({
            "number": { "type": "integer", "minimum": 1, "description": "the action's number" },
            "words": text("only lines that hold these words; without a number, of every action"),
        })
    },
    required: &[],
    read: |arguments| {
        let number = match arguments.number("number", 0)? {
            0 => None,
            number => Some(u32::try_from(number).unwrap_or(u32::MAX)),
        };
        Ok(Call::Recall { what: Recall { number, words: arguments.optional("words")?.unwrap_or_default() } })
    },
};
