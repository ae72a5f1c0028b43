//! `search`: finds lines by a regular expression.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, anywhere, text};

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::Search.name(),
    action: Some(ActionKind::Search),
    description: |_| "Finds lines that match a regular expression (Rust's syntax), without what .gitignore names.",
    brief: |_| Some("Find lines by a regular expression."),
    properties: |_| {
        json!({
            "pattern": text("the regular expression"),
            "path": text("file or directory to look in, relative to /workspace; left out: all of it"),
            "glob": text("only in files named like this"),
        })
    },
    required: &["pattern"],
    read: |arguments| {
        let (pattern, path) = (arguments.words("pattern")?, anywhere(arguments)?);
        Ok(Call::Action { action: Action::Search { pattern, path, glob: arguments.optional("glob")? } })
    },
};
