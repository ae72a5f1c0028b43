//! `edit_file`: replaces text in a file, in one place or several.

use domain::{Action, ActionKind, Call, MOST_EDITS, TextEdit};
use serde_json::json;

use super::tool::{Tool, path, text};
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::EditFile.name(),
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
            "edits": {
                "type": "array",
                "description": "more changes of this file, in order after the first; all are made or none",
                "items": {
                    "type": "object",
                    "properties": { "old": { "type": "string" }, "new": { "type": "string" }, "all": { "type": "boolean" } },
                    "required": ["old", "new"],
                    "additionalProperties": false,
                },
            },
        })
    },
    required: &["path", "old", "new"],
    read,
};

/// The first change may be in the arguments themselves, or in the list with the others.
fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    let path = path(arguments)?;
    let listed = arguments.list("edits")?;
    let first = (listed.is_empty() || arguments.has("old")).then(|| edit(arguments)).transpose()?;
    let listed = listed.iter().map(|one| edit(&Arguments::new(arguments.tool(), one)));
    let mut edits: Vec<TextEdit> = first.into_iter().map(Ok).chain(listed).collect::<Result<_, _>>()?;
    if edits.len() > MOST_EDITS {
        return Err(format!("edit_file: {} changes are too many for one call; {MOST_EDITS} fit", edits.len()));
    }
    let action = match edits.len() {
        1 => {
            let TextEdit { old, new, all } = edits.remove(0);
            Action::EditFile { path, old, new, all }
        }
        _ => Action::EditPlaces { path, edits },
    };
    Ok(Call::Action { action })
}

fn edit(arguments: &Arguments<'_>) -> Result<TextEdit, String> {
    let (old, new) = (arguments.text("old")?, arguments.text("new")?);
    if old.is_empty() {
        return Err("edit_file: `old` is empty; name the text to replace, or use write_file for a new file".to_owned());
    }
    if old == new {
        return Err("edit_file: `old` and `new` are the same".to_owned());
    }
    Ok(TextEdit { old, new, all: arguments.flag("all")? })
}
