//! `read_file`: shows a text file, or some of its lines.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, path, text};

pub(super) const TOOL: Tool = Tool {
    name: "read_file",
    action: Some(ActionKind::ReadFile),
    description: |_| "Reads a text file. Each line comes with its number, which is no part of the file.",
    brief: |_| Some("Read a file; its lines come with numbers."),
    properties: |_| {
        json!({
            "path": text("path of the file, relative to /workspace"),
            "from": { "type": "integer", "minimum": 1, "description": "first line, 1 if left out" },
            "lines": { "type": "integer", "minimum": 0, "description": "how many lines; left out: as many as fit" },
        })
    },
    required: &["path"],
    read: |arguments| {
        let (path, from, lines) = (path(arguments)?, arguments.number("from", 1)?, arguments.number("lines", 0)?);
        Ok(Call::Action { action: Action::ReadFile { path, from: from.max(1), lines } })
    },
};
