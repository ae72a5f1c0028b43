//! `bash`: runs a command.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: "bash",
    action: Some(ActionKind::Bash),
    description: |_| {
        "Runs a command with bash in /workspace and returns what it printed and its exit code (of commands joined by a \
         pipe, that of the last one that failed). One action, whatever \
         the command does. There is no terminal and no input; it ends after a few minutes. Variables and the directory don't \
         carry over to the next call. Prefer quiet options: the middle of long output is left out."
    },
    brief: |_| Some("Run a command."),
    properties: |_| json!({ "command": text("the command line or script") }),
    required: &["command"],
    read: |arguments| Ok(Call::Action { action: Action::Bash { command: arguments.words("command")? } }),
};
