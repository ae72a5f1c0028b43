//! `update_plan`: notes the plan. Free: nothing happens in the sandbox.

use domain::Call;
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: "update_plan",
    action: None,
    description: |_| "Notes the plan: what is done, what comes next. Free; the reviewer sees the newest one.",
    brief: |_| None,
    properties: |_| json!({ "plan": text("a short Markdown list") }),
    required: &["plan"],
    read: |arguments| Ok(Call::UpdatePlan { plan: arguments.words("plan")? }),
};
