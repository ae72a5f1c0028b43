//! `list_files`: lists files below a directory.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, anywhere, text};

/// Depth in directories of a listing without a pattern; files that match one are looked for at any depth.
const DEPTH: u64 = 3;

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::ListFiles.name(),
    action: Some(ActionKind::ListFiles),
    description: |_| "Lists files below a directory, without what .gitignore names.",
    brief: |kind| kind.reads_only().then_some("List files."),
    properties: |_| {
        json!({
            "path": text("the directory, relative to /workspace; left out: all of it"),
            "glob": text("only names like this, such as *.rs or src/**/*.py"),
            "depth": { "type": "integer", "minimum": 0, "description": "how many directories deep, 0 without end; left out: 3, or with a glob without end" },
        })
    },
    required: &[],
    read: |arguments| {
        let (path, glob) = (anywhere(arguments)?, arguments.optional("glob")?);
        let default = if glob.is_some() { 0 } else { DEPTH };
        let depth = u32::try_from(arguments.number("depth", default)?).unwrap_or(0);
        Ok(Call::Action { action: Action::ListFiles { path, glob, depth } })
    },
};
