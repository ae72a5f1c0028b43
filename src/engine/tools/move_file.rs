//! `move_file`: moves a file or a directory.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::MoveFile.name(),
    action: Some(ActionKind::MoveFile),
    description: |_| "Moves or renames a file or directory; missing directories are made, nothing is overwritten.",
    brief: |_| None,
    properties: |_| json!({ "from": text("the path now"), "to": text("the whole new path") }),
    required: &["from", "to"],
    read: |arguments| {
        let (from, to) = (arguments.words("from")?, arguments.words("to")?);
        Ok(Call::Action { action: Action::MoveFile { from: from.trim().to_owned(), to: to.trim().to_owned() } })
    },
};
