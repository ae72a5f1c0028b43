//! `update_plan`: stores the agent's plan. Does not count as an action.

use domain::plan::{self, PlanStep, StepState};
use domain::{Call, TaskKind};
use serde_json::{Value, json};

use super::tool::Tool;
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: "update_plan",
    action: None,
    description: |kind| match kind {
        TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => {
            "Notes the plan: its steps and how far each is. Free; the reviewer sees the newest one."
        }
        TaskKind::Plan | TaskKind::Explain => {
            "Notes the steps that you propose. Free; they are carried out only if a person says so."
        }
        TaskKind::Review | TaskKind::Security | TaskKind::Deps | TaskKind::Search => {
            "Notes what you still want to look at. Free; nobody but you reads it."
        }
    },
    brief: |_| None,
    properties: |_| {
        json!({ "steps": { "type": "array", "description": "all steps, in order", "items": {
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "state": { "type": "string", "enum": ["open", "doing", "done", "dropped"] },
            },
            "required": ["text", "state"],
            "additionalProperties": false,
        } } })
    },
    required: &["steps"],
    read,
};

/// Steps, or what some models send instead: a Markdown list, or lines.
fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    match (arguments.value("steps"), arguments.value("plan")) {
        (Some(Value::Array(list)), _) => {
            let steps: Vec<PlanStep> = list.iter().filter_map(step).take(plan::MOST_STEPS).collect();
            if steps.is_empty() {
                return Err(format!("{}: `steps` holds no step; give each a `text` and a `state`", arguments.tool()));
            }
            Ok(Call::UpdatePlan { plan: plan::written(&steps) })
        }
        (None, Some(_)) => Ok(Call::UpdatePlan { plan: arguments.words("plan")? }),
        (_, _) => Ok(Call::UpdatePlan { plan: arguments.words("steps")? }),
    }
}

/// One element: an object, or only its text.
fn step(value: &Value) -> Option<PlanStep> {
    let text = value.get("text").or_else(|| value.get("step")).unwrap_or(value).as_str()?;
    let named = value.get("state").or_else(|| value.get("status")).and_then(Value::as_str).unwrap_or_default();
    let state = match named.to_ascii_lowercase().as_str() {
        "doing" | "in_progress" | "active" => StepState::Doing,
        "done" | "completed" | "complete" => StepState::Done,
        "dropped" | "cancelled" | "skipped" => StepState::Dropped,
        _ => StepState::Open,
    };
    PlanStep::new(text, state)
}
