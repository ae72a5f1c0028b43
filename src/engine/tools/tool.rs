//! What a tool is: how it is offered to the model, and how a call of it is read.

use domain::{ActionKind, Call, TaskKind};
use serde_json::{Value, json};

use crate::engine::arguments::Arguments;

/// One tool.
pub(super) struct Tool {
    pub name: &'static str,
    /// What it asks for in the sandbox; none for what only the host hears. A read-only task is not offered what writes.
    pub action: Option<ActionKind>,
    pub description: fn(TaskKind) -> &'static str,
    /// The same in few words, for small windows; none where a command does it as well.
    pub brief: fn(TaskKind) -> Option<&'static str>,
    /// Its arguments as properties of a JSON schema.
    pub properties: fn(TaskKind) -> Value,
    pub required: &'static [&'static str],
    /// The error is written for the model: it is the call's result.
    pub read: fn(&Arguments<'_>) -> Result<Call, String>,
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// The argument `path` where it must be there.
pub(super) fn path(arguments: &Arguments<'_>) -> Result<String, String> {
    let path = arguments.words("path")?;
    let tool = arguments.tool();
    if path.contains('\0') { Err(format!("{tool}: `path` holds a NUL byte")) } else { Ok(path.trim().to_owned()) }
}

/// The argument `path` where all of the workspace is meant without it.
pub(super) fn anywhere(arguments: &Arguments<'_>) -> Result<String, String> {
    Ok(arguments.optional("path")?.unwrap_or_else(|| ".".to_owned()))
}
