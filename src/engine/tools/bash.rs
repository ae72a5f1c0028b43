//! `bash`: runs a command.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, text};

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::Bash.name(),
    action: Some(ActionKind::Bash),
    description: |_| {
        "Runs a command with bash and returns what it printed and its exit code (of commands joined by a \
         pipe, that of the last one that failed). One action, whatever \
         the command does. There is no terminal and no input; it ends after a few minutes. The first call begins in \
         /workspace, each later one in the directory in which the last one ended, with what that one exported. The middle of long output \
         is left out; the result then names the file with all of it, for read_file and search."
    },
    brief: |_| Some("Run a command."),
    properties: |_| {
        let background = "start it and go on, as for a server; it ends at the checkpoint";
        json!({ "command": text("the command line or script"), "background": { "type": "boolean", "description": background } })
    },
    required: &["command"],
    read: |arguments| {
        let command = arguments.words("command")?;
        let action = match arguments.flag("background")? {
            true => Action::Background { command },
            false => Action::Bash { command },
        };
        Ok(Call::Action { action })
    },
};
