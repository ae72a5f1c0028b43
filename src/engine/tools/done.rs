//! `done`: says that the work is complete, or gives the answer of a read-only task.

use domain::{Call, Claim, TaskKind};
use serde_json::{Value, json};

use super::tool::{Tool, text};
use crate::engine::arguments::Arguments;

/// The most claims kept, and characters of each.
const MOST_CLAIMS: usize = 8;
const LONGEST_CLAIM: usize = 300;

pub(super) const TOOL: Tool = Tool {
    name: "done",
    action: None,
    description: |kind| match kind {
        TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => {
            "Says that the work is complete. Ends this round: the host verifies the work and a person reviews it."
        }
        TaskKind::Plan
        | TaskKind::Explain
        | TaskKind::Review
        | TaskKind::Security
        | TaskKind::Deps
        | TaskKind::Search => "Gives your answer and ends the task.",
    },
    brief: |kind| match kind {
        TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => {
            Some("Say that the work is complete; claims: each with the number of the action that shows it.")
        }
        TaskKind::Plan
        | TaskKind::Explain
        | TaskKind::Review
        | TaskKind::Security
        | TaskKind::Deps
        | TaskKind::Search => Some("Give the answer."),
    },
    properties: |kind| {
        let summary = match kind {
            TaskKind::Fix => "for the reviewer: what was wrong, what you changed, how you checked it, what is left",
            TaskKind::Test | TaskKind::Refactor => {
                "for the reviewer: what you changed, how you checked it, what is left"
            }
            TaskKind::Plan | TaskKind::Explain | TaskKind::Deps => "the whole answer, in Markdown",
            TaskKind::Search => {
                "the whole answer, in Markdown, behind each claim its source: a URL that you fetched, or `path:line`"
            }
            TaskKind::Security => {
                "the whole answer, in Markdown: each weakness as a list item `[blocker|warning|note] path:line — real, unlikely or needs a look: words`, then a paragraph that sums up"
            }
            TaskKind::Review => {
                "the whole review, in Markdown: each finding as a list item `[blocker|warning|note] path:line — words`, then a paragraph that sums up"
            }
        };
        let mut properties = json!({ "summary": text(summary) });
        if !kind.reads_only() {
            properties["claims"] = json!({
                "type": "array",
                "description": "what you claim, one by one, each with what shows it; the reviewer sees them side by side",
                "items": {
                    "type": "object",
                    "properties": {
                        "claim": text("one sentence"),
                        "action": { "type": "integer", "minimum": 0, "description": "number of the action that shows it; 0: the host's own run of the checks" },
                    },
                    "required": ["claim"],
                    "additionalProperties": false,
                },
            });
        }
        properties
    },
    required: &["summary"],
    read: |arguments| Ok(Call::Done { summary: arguments.words("summary")?, claims: claims(arguments) }),
};

/// Reads what can be read of the claims: the end of the work is not refused for a malformed one.
fn claims(arguments: &Arguments<'_>) -> Vec<Claim> {
    let written = arguments.value("claims").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |claim: &Value| {
        let text = claim.as_str().or_else(|| claim.get("claim")?.as_str())?;
        let named = claim.get("action");
        let number = named.and_then(|it| it.as_u64().or_else(|| it.as_str()?.trim().parse().ok()));
        let text = crate::text::cut(text.trim(), LONGEST_CLAIM).0.to_owned();
        Some(Claim { text, action: number.and_then(|it| u32::try_from(it).ok()) })
    };
    written.iter().filter_map(read).filter(|claim| !claim.text.is_empty()).take(MOST_CLAIMS).collect()
}
