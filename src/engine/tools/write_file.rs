//! `write_file`: creates or replaces a file.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, path, text};

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::WriteFile.name(),
    action: Some(ActionKind::WriteFile),
    description: |_| "Makes a file, or replaces all of it; missing directories are made. For a change inside a file use edit_file.",
    brief: |_| Some("Write a whole file."),
    properties: |_| json!({ "path": text("path of the file, relative to /workspace"), "content": text("all of the file") }),
    required: &["path", "content"],
    read: |arguments| {
        let (path, content) = (path(arguments)?, arguments.text("content")?);
        Ok(Call::Action { action: Action::WriteFile { path, content } })
    },
};
