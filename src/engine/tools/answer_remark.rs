//! `answer_remark`: says what became of a person's remark. Does not count as an action.

use domain::{Call, LONGEST_REMARK_ANSWER, RemarkAnswer};
use serde_json::json;

use super::tool::{Tool, text};
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: "answer_remark",
    action: None,
    description: |_| {
        "Says what became of a reviewer's numbered remark: what you changed for it, or why nothing is changed. Free; the reviewer reads it \
         with the next checkpoint."
    },
    brief: |_| Some("Say what became of a reviewer's remark (`r1`); addressed: true or false."),
    properties: |_| {
        json!({
            "remark": text("its number, such as r2"),
            "text": text("one or two sentences for the reviewer"),
            "addressed": { "type": "boolean", "description": "true: your changes deal with it; false: you only answer it" },
        })
    },
    required: &["remark", "text", "addressed"],
    read,
};

fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    let remark = number(arguments)?;
    let words = arguments.words("text")?;
    let text = crate::text::cut(words.trim(), LONGEST_REMARK_ANSWER).0.to_owned();
    Ok(Call::AnswerRemark { answer: RemarkAnswer { remark, text, addressed: arguments.flag("addressed")? } })
}

/// A number from 1, with or without its letter.
fn number(arguments: &Arguments<'_>) -> Result<u32, String> {
    let value = arguments.value("remark");
    let written = value.and_then(|value| value.as_str()).map(|text| text.trim().trim_start_matches(['r', 'R', '#']));
    let number = match written {
        Some(text) => text.parse().ok(),
        None => value.and_then(|value| value.as_u64()).and_then(|number| u32::try_from(number).ok()),
    };
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{}: `remark` must be the number of a remark, such as \"r2\"", arguments.tool()))
}
