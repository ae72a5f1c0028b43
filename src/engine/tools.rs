//! The tools: how they are offered to the model, and how its calls are read.
//!
//! Owns: names, descriptions, JSON schemas, and the meaning of arguments. Must not: carry anything out, count, or guard paths
//! (the runner resolves them, and the container is the wall). Tests: `tools_tests.rs`.

use domain::{Action, Call, CallRequest, Kind};
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use crate::llm::{ToolCall, ToolSpec};

/// The largest action, as JSON: it must fit into one frame to the runner (`protocol::runner::MAX_PAYLOAD`), with its envelope.
const MAX_ACTION: usize = 900 << 10;
/// How much of arguments that are no JSON the model is shown again, in characters.
const SHOWN: usize = 200;
/// `list_files` without a depth.
const DEPTH: u64 = 3;

/// What is offered. A read-only task gets nothing that can change the tree.
pub fn specs(kind: Kind) -> Vec<ToolSpec> {
    let all = [
        bash(),
        read_file(),
        write_file(),
        edit_file(),
        list_files(),
        search(),
        web_fetch(),
        update_plan(),
        done(kind),
    ];
    let writes = |tool: &ToolSpec| matches!(tool.name.as_str(), "bash" | "write_file" | "edit_file");
    all.into_iter().filter(|tool| kind == Kind::Fix || !writes(tool)).collect()
}

/// The same in few words, for small windows. What a command does as well is left out; a call of it is understood all the same.
pub fn brief(kind: Kind) -> Vec<ToolSpec> {
    let words = |name: &str| match (name, kind) {
        ("bash", _) => Some("Run a command."),
        ("read_file", _) => Some("Read a file; its lines come with numbers."),
        ("write_file", _) => Some("Write a whole file."),
        ("edit_file", _) => Some("Replace text that stands in a file once."),
        ("list_files", Kind::Plan) => Some("List files."),
        ("search", _) => Some("Find lines by a regular expression."),
        ("done", Kind::Fix) => Some("Say that the work is complete."),
        ("done", Kind::Plan) => Some("Give the answer."),
        _ => None,
    };
    let trimmed = |tool: ToolSpec| {
        let description = words(&tool.name)?.to_owned();
        let wanted = tool.parameters["required"].as_array()?;
        let plain = |key: &Value| Some((key.as_str()?.to_owned(), json!({ "type": "string" })));
        let properties: Map<String, Value> = match wanted.is_empty() {
            true => Map::from_iter([("path".to_owned(), json!({ "type": "string" }))]),
            false => wanted.iter().filter_map(plain).collect(),
        };
        let parameters = json!({ "type": "object", "properties": properties, "required": wanted });
        Some(ToolSpec { description, parameters, ..tool })
    };
    specs(kind).into_iter().filter_map(trimmed).collect()
}

fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    let parameters =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn bash() -> ToolSpec {
    let description = "Runs a command with bash in /workspace and returns what it printed and its exit code (of commands joined by a \
        pipe, that of the last one that failed). One action, whatever \
        the command does. There is no terminal and no input; it ends after a few minutes. Variables and the directory don't \
        carry over to the next call. Prefer quiet options: the middle of long output is left out.";
    spec("bash", description, json!({ "command": text("the command line or script") }), &["command"])
}

fn read_file() -> ToolSpec {
    let description = "Reads a text file. Each line comes with its number, which is no part of the file.";
    let properties = json!({
        "path": text("path of the file, relative to /workspace"),
        "from": { "type": "integer", "minimum": 1, "description": "first line, 1 if left out" },
        "lines": { "type": "integer", "minimum": 0, "description": "how many lines; left out: as many as fit" },
    });
    spec("read_file", description, properties, &["path"])
}

fn write_file() -> ToolSpec {
    let description =
        "Makes a file, or replaces all of it; missing directories are made. For a change inside a file use edit_file.";
    let properties =
        json!({ "path": text("path of the file, relative to /workspace"), "content": text("all of the file") });
    spec("write_file", description, properties, &["path", "content"])
}

fn edit_file() -> ToolSpec {
    let description = "Replaces text in a file. `old` must stand in it exactly once, white space included, without line numbers; \
        give enough lines around the place. With `all` every occurrence is replaced.";
    let properties = json!({
        "path": text("path of the file, relative to /workspace"),
        "old": text("the text to replace, exactly as it stands in the file"),
        "new": text("what to put there; empty removes it"),
        "all": { "type": "boolean", "description": "replace every occurrence" },
    });
    spec("edit_file", description, properties, &["path", "old", "new"])
}

fn list_files() -> ToolSpec {
    let description = "Lists files below a directory, without what .gitignore names.";
    let properties = json!({
        "path": text("the directory, relative to /workspace; left out: all of it"),
        "glob": text("only names like this, such as *.rs or src/**/*.py"),
        "depth": { "type": "integer", "minimum": 0, "description": "how many directories deep; 3 if left out, 0 without end" },
    });
    spec("list_files", description, properties, &[])
}

fn search() -> ToolSpec {
    let description = "Finds lines that match a regular expression (Rust's syntax), without what .gitignore names.";
    let properties = json!({
        "pattern": text("the regular expression"),
        "path": text("file or directory to look in, relative to /workspace; left out: all of it"),
        "glob": text("only in files named like this"),
    });
    spec("search", description, properties, &["pattern"])
}

fn web_fetch() -> ToolSpec {
    let description = "Fetches a page and returns it as Markdown. Only hosts that the operator allowed answer.";
    spec("web_fetch", description, json!({ "url": text("address that begins with https:// or http://") }), &["url"])
}

fn update_plan() -> ToolSpec {
    let description = "Notes the plan: what is done, what comes next. Free; the reviewer sees the newest one.";
    spec("update_plan", description, json!({ "plan": text("a short Markdown list") }), &["plan"])
}

fn done(kind: Kind) -> ToolSpec {
    let (description, summary) = match kind {
        Kind::Fix => (
            "Says that the work is complete. Ends this round: the host verifies the work and a person reviews it.",
            "for the reviewer: what was wrong, what you changed, how you checked it, what is left",
        ),
        Kind::Plan => ("Gives your answer and ends the task.", "the whole answer, in Markdown"),
    };
    spec("done", description, json!({ "summary": text(summary) }), &["summary"])
}

/// Reads one call. The error is written for the model: it is the call's result.
pub fn parse(call: &ToolCall) -> Result<Call, String> {
    let name = known_name(&call.name)?;
    if let Some(raw) = &call.malformed {
        let (start, missing) = crate::text::cut(raw, SHOWN);
        let more = if missing > 0 { "…" } else { "" };
        return Err(format!(
            "{name}: the arguments are not one JSON object. Send it again, complete and with quotes and line breaks escaped. They began: {start}{more}"
        ));
    }
    let empty = Map::new();
    let arguments = Arguments::new(name, call.arguments.as_object().unwrap_or(&empty));
    match name {
        "done" => Ok(Call::Done { summary: arguments.words("summary")? }),
        "update_plan" => Ok(Call::UpdatePlan { plan: arguments.words("plan")? }),
        _ => {
            let action = action(name, &arguments)?;
            let size = serde_json::to_string(&action).map_or(usize::MAX, |json| json.len());
            if size > MAX_ACTION {
                return Err(format!(
                    "{name}: {} KiB are too much for one call; {} KiB fit. Do it in parts",
                    size >> 10,
                    MAX_ACTION >> 10
                ));
            }
            Ok(Call::Action { action })
        }
    }
}

/// The call as it is stored: what can't be read is kept as malformed.
pub fn request(call: &ToolCall) -> CallRequest {
    let read = parse(call).unwrap_or_else(|reason| Call::Malformed { reason });
    CallRequest { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone(), call: read }
}

/// Whether a tool of ours is meant.
pub fn is_known(name: &str) -> bool {
    known_name(name).is_ok()
}

/// The tool that is meant; some models put a namespace in front.
fn known_name(name: &str) -> Result<&'static str, String> {
    const NAMES: [&str; 9] =
        ["bash", "read_file", "write_file", "edit_file", "list_files", "search", "web_fetch", "update_plan", "done"];
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let found = NAMES.iter().find(|known| **known == name).or_else(|| NAMES.iter().find(|known| **known == last));
    found.copied().ok_or_else(|| {
        let (start, _) = crate::text::cut(name, 60);
        format!("there is no tool {start:?}; the tools are {}", NAMES.join(", "))
    })
}

fn action(name: &str, arguments: &Arguments<'_>) -> Result<Action, String> {
    match name {
        "bash" => Ok(Action::Bash { command: arguments.words("command")? }),
        "read_file" => Ok(Action::ReadFile {
            path: path(name, arguments)?,
            from: arguments.number("from", 1)?.max(1),
            lines: arguments.number("lines", 0)?,
        }),
        "write_file" => Ok(Action::WriteFile { path: path(name, arguments)?, content: arguments.text("content")? }),
        "edit_file" => edit(name, arguments),
        "list_files" => Ok(Action::ListFiles {
            path: arguments.optional("path")?.unwrap_or_else(|| ".".to_owned()),
            glob: arguments.optional("glob")?,
            depth: u32::try_from(arguments.number("depth", DEPTH)?).unwrap_or(0),
        }),
        "search" => Ok(Action::Search {
            pattern: arguments.words("pattern")?,
            path: arguments.optional("path")?.unwrap_or_else(|| ".".to_owned()),
            glob: arguments.optional("glob")?,
        }),
        _ => fetch(name, arguments),
    }
}

fn path(tool: &str, arguments: &Arguments<'_>) -> Result<String, String> {
    let path = arguments.words("path")?;
    if path.contains('\0') { Err(format!("{tool}: `path` holds a NUL byte")) } else { Ok(path.trim().to_owned()) }
}

fn edit(tool: &str, arguments: &Arguments<'_>) -> Result<Action, String> {
    let (path, old, new) = (path(tool, arguments)?, arguments.text("old")?, arguments.text("new")?);
    if old.is_empty() {
        return Err("edit_file: `old` is empty; name the text to replace, or use write_file for a new file".to_owned());
    }
    if old == new {
        return Err("edit_file: `old` and `new` are the same".to_owned());
    }
    Ok(Action::EditFile { path, old, new, all: arguments.flag("all")? })
}

fn fetch(tool: &str, arguments: &Arguments<'_>) -> Result<Action, String> {
    let given = arguments.words("url")?;
    let parsed = url::Url::parse(given.trim()).map_err(|e| format!("{tool}: `url` is no address: {e}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("{tool}: `url` must begin with https:// or http://"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(format!("{tool}: `url` must not hold a name or password"));
    }
    Ok(Action::WebFetch { url: parsed.to_string() })
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
