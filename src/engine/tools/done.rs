//! `done`: says that the work is complete, or gives the answer of a read-only task.

use domain::{Call, TaskKind};
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: "done",
    action: None,
    description: |kind| match kind {
        TaskKind::Fix => {
            "Says that the work is complete. Ends this round: the host verifies the work and a person reviews it."
        }
        TaskKind::Plan => "Gives your answer and ends the task.",
    },
    brief: |kind| match kind {
        TaskKind::Fix => Some("Say that the work is complete."),
        TaskKind::Plan => Some("Give the answer."),
    },
    properties: |kind| {
        let summary = match kind {
            TaskKind::Fix => "for the reviewer: what was wrong, what you changed, how you checked it, what is left",
            TaskKind::Plan => "the whole answer, in Markdown",
        };
        json!({ "summary": text(summary) })
    },
    required: &["summary"],
    read: |arguments| Ok(Call::Done { summary: arguments.words("summary")? }),
};
