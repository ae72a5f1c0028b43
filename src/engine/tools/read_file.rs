//! `read_file`: shows a text file or some of its lines, or has a model summarize it.

use domain::{Action, ActionKind, Call, LineRange, MOST_RANGES};
use serde_json::json;

use super::tool::{Tool, path, text};
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::ReadFile.name(),
    action: Some(ActionKind::ReadFile),
    description: |_| "Reads a text file. Each line comes with its number, which is no part of the file.",
    brief: |_| Some("Read a file; its lines come with numbers."),
    properties: |_| {
        json!({
            "path": text("path of the file, relative to /workspace"),
            "from": { "type": "integer", "minimum": 1, "description": "first line, 1 if left out" },
            "lines": { "type": "integer", "minimum": 0, "description": "how many lines; left out: as many as fit" },
            "summary": {
                "type": "boolean",
                "description": "true: a model tells it in short, part by part, from line `from` on; for files too long to show",
            },
            "ranges": {
                "type": "array",
                "description": "several parts at once, instead of from and lines",
                "items": {
                    "type": "object",
                    "properties": { "from": { "type": "integer" }, "lines": { "type": "integer" } },
                    "required": ["from", "lines"],
                    "additionalProperties": false,
                },
            },
        })
    },
    required: &["path"],
    read,
};

fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    let path = path(arguments)?;
    if arguments.flag("summary")? {
        let from = range(arguments)?.from;
        return Ok(Call::Action { action: Action::Summarize { path, from } });
    }
    let listed = arguments.list("ranges")?;
    if listed.len() > MOST_RANGES {
        return Err(format!("read_file: {} ranges are too many for one call; {MOST_RANGES} fit", listed.len()));
    }
    let listed = listed.iter().map(|one| range(&Arguments::new(arguments.tool(), one)));
    let mut ranges: Vec<LineRange> = listed.collect::<Result<_, _>>()?;
    if ranges.is_empty() {
        ranges.push(range(arguments)?);
    }
    let action = match ranges.as_slice() {
        [LineRange { from, lines }] => Action::ReadFile { path, from: *from, lines: *lines },
        _ => Action::ReadRanges { path, ranges },
    };
    Ok(Call::Action { action })
}

fn range(arguments: &Arguments<'_>) -> Result<LineRange, String> {
    Ok(LineRange { from: arguments.number("from", 1)?.max(1), lines: arguments.number("lines", 0)? })
}
