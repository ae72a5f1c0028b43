//! `edit_file`: replaces text in a file.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, path, text};
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: "edit_file",
    action: Some(ActionKind::EditFile),
    description: |_| {
        "Replaces text in a file. `old` must stand in it exactly once, white space included, without line numbers; \
         give enough lines around the place. With `all` every occurrence is replaced."
    },
    brief: |_| Some("Replace text that stands in a file once."),
    properties: |_| {
        json!({
            "path": text("path of the file, relative to /workspace"),
            "old": text("the text to replace, exactly as it stands in the file"),
            "new": text("what to put there; empty removes it"),
            "all": { "type": "boolean", "description": "replace every occurrence" },
        })
    },
    required: &["path", "old", "new"],
    read,
};

fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    let (path, old, new) = (path(arguments)?, arguments.text("old")?, arguments.text("new")?);
    if old.is_empty() {
        return Err("edit_file: `old` is empty; name the text to replace, or use write_file for a new file".to_owned());
    }
    if old == new {
        return Err("edit_file: `old` and `new` are the same".to_owned());
    }
    Ok(Call::Action { action: Action::EditFile { path, old, new, all: arguments.flag("all")? } })
}
