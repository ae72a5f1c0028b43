//! The tools: how they are offered to the model, and how its calls are read.
//!
//! Owns: one file for each tool (name, descriptions, JSON schema, how its arguments are read) and the list of them. Must not: carry
//! anything out, count, or check paths (the runner resolves them, and the container is the boundary). Tests: `tests.rs`.

mod answer_remark;
mod ask;
mod bash;
mod delete_file;
mod done;
mod edit_file;
mod list_files;
mod move_file;
mod read_file;
mod recall;
mod search;
mod tool;
mod update_plan;
mod web_fetch;
mod write_file;

use domain::{ActionKind, Call, CallRequest, MOST_ACTION, TaskKind};
use serde_json::{Map, Value, json};

use self::tool::Tool;
use super::arguments::Arguments;
use crate::llm::{ToolCall, ToolSpec};

/// All tools, in the order in which they are offered.
const TOOLS: [&Tool; 14] = [
    &bash::TOOL,
    &read_file::TOOL,
    &write_file::TOOL,
    &edit_file::TOOL,
    &move_file::TOOL,
    &delete_file::TOOL,
    &list_files::TOOL,
    &search::TOOL,
    &web_fetch::TOOL,
    &update_plan::TOOL,
    &recall::TOOL,
    &answer_remark::TOOL,
    &ask::TOOL,
    &done::TOOL,
];
/// Characters of invalid JSON that are shown to the model again.
const SHOWN: usize = 200;

/// The tools that a task of this kind is offered; read-only kinds are offered none that write, and have no numbered remarks.
fn offered(kind: TaskKind) -> impl Iterator<Item = &'static Tool> {
    let writes = |tool: &Tool| tool.action.is_some_and(ActionKind::writes) || tool.name == answer_remark::TOOL.name;
    TOOLS.into_iter().filter(move |tool| !kind.reads_only() || !writes(tool))
}

/// The tools as offered to a model.
pub fn specs(kind: TaskKind) -> Vec<ToolSpec> {
    let spec = |tool: &Tool| ToolSpec {
        name: tool.name.to_owned(),
        description: (tool.description)(kind).to_owned(),
        parameters: json!({
            "type": "object",
            "properties": (tool.properties)(kind),
            "required": tool.required,
            "additionalProperties": false,
        }),
    };
    offered(kind).map(spec).collect()
}

/// The same, for a model that is shown pictures.
pub fn seeing(mut specs: Vec<ToolSpec>) -> Vec<ToolSpec> {
    let reads = specs.iter_mut().filter(|spec| spec.name == ActionKind::ReadFile.name());
    reads.for_each(|spec| spec.description.push_str(" A picture (PNG, JPEG, GIF, WebP) is shown."));
    specs
}

/// The same with short descriptions, for small windows. What is left out (docs/models.md says why) is still understood.
pub fn brief(kind: TaskKind) -> Vec<ToolSpec> {
    let trimmed = |tool: &Tool| {
        let description = (tool.brief)(kind)?.to_owned();
        let mut own = (tool.properties)(kind);
        without_words(&mut own);
        let optional: &[&str] = if tool.required.is_empty() { &["path", "number", "words"] } else { &["claims"] };
        let named = tool.required.iter().chain(optional);
        let properties: Map<String, Value> =
            named.filter_map(|key| Some(((*key).to_owned(), own.get_mut(*key)?.take()))).collect();
        let parameters = json!({ "type": "object", "properties": properties, "required": tool.required });
        Some(ToolSpec { name: tool.name.to_owned(), description, parameters })
    };
    offered(kind).filter_map(trimmed).collect()
}

/// Leaves of a schema only names and types.
fn without_words(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, value| match key.as_str() {
                "description" => !value.is_string(),
                "minimum" | "additionalProperties" => false,
                _ => true,
            });
            fields.values_mut().for_each(without_words);
        }
        Value::Array(items) => items.iter_mut().for_each(without_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Parses one call. An error is the call's result, written for the model.
pub fn parse(call: &ToolCall) -> Result<Call, String> {
    let tool = known(&call.name)?;
    let name = tool.name;
    if let Some(raw) = &call.malformed {
        let (start, missing) = crate::text::cut(raw, SHOWN);
        let more = if missing > 0 { "…" } else { "" };
        return Err(format!(
            "{name}: the arguments are not one JSON object. Send it again, complete and with quotes and line breaks escaped. They began: {start}{more}"
        ));
    }
    let empty = Map::new();
    let read = (tool.read)(&Arguments::new(name, call.arguments.as_object().unwrap_or(&empty)))?;
    if let Call::Action { action } = &read {
        let size = serde_json::to_string(action).map_or(usize::MAX, |json| json.len());
        if size > MOST_ACTION {
            return Err(format!(
                "{name}: {} KiB are too much for one call; {} KiB fit. Do it in parts",
                size >> 10,
                MOST_ACTION >> 10
            ));
        }
    }
    Ok(read)
}

/// The call as stored; one that cannot be parsed is stored as malformed.
pub fn request(call: &ToolCall) -> CallRequest {
    let read = parse(call).unwrap_or_else(|reason| Call::Malformed { reason });
    CallRequest { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone(), call: read }
}

/// Whether this is the name of a tool.
pub fn is_known(name: &str) -> bool {
    known(name).is_ok()
}

/// The tool with this name; some models put a namespace in front.
fn known(name: &str) -> Result<&'static Tool, String> {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let named = |wanted: &str| TOOLS.into_iter().find(|tool| tool.name == wanted);
    named(name).or_else(|| named(last)).ok_or_else(|| {
        let (start, _) = crate::text::cut(name, 60);
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        format!("there is no tool {start:?}; the tools are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests;
