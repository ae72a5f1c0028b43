//! A tool: how it is offered to the model, and how a call is parsed.

use domain::{ActionKind, Call, TaskKind};
use serde_json::{Value, json};

use crate::engine::arguments::Arguments;

/// One tool.
pub(super) struct Tool {
    pub name: &'static str,
    /// The kind of its action; none if it does nothing in the sandbox. Read-only tasks are not offered tools that write.
    pub action: Option<ActionKind>,
    pub description: fn(TaskKind) -> &'static str,
    /// Its short description; none if a command can replace it.
    pub brief: fn(TaskKind) -> Option<&'static str>,
    /// Its arguments, as properties of a JSON schema.
    pub properties: fn(TaskKind) -> Value,
    pub required: &'static [&'static str],
    /// Parses a call. An error is the call's result, written for the model.
    pub read: fn(&Arguments<'_>) -> Result<Call, String>,
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// The required argument `path`.
pub(super) fn path(arguments: &Arguments<'_>) -> Result<String, String> {
    let path = arguments.words("path")?;
    let tool = arguments.tool();
    if path.contains('\0') { Err(format!("{tool}: `path` holds a NUL byte")) } else { Ok(path.trim().to_owned()) }
}

/// The optional argument `path`; without it the whole workspace.
pub(super) fn anywhere(arguments: &Arguments<'_>) -> Result<String, String> {
    Ok(arguments.optional("path")?.unwrap_or_else(|| ".".to_owned()))
}
