//! `delete_file`: deletes a file, or a directory on request.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, path, text};

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::DeleteFile.name(),
    action: Some(ActionKind::DeleteFile),
    description: |_| "Deletes a file; with `recursive` a directory and all that is in it.",
    brief: |_| None,
    properties: |_| {
        json!({
            "path": text("the path, relative to /workspace"),
            "recursive": { "type": "boolean", "description": "delete a directory with its contents" },
        })
    },
    required: &["path"],
    read: |arguments| {
        let (path, recursive) = (path(arguments)?, arguments.flag("recursive")?);
        Ok(Call::Action { action: Action::DeleteFile { path, recursive } })
    },
};
