//! `caisson task list`, `caisson task show <id>`: what the store says, whether the bot runs or not.

use super::printer::{Complaint, Printer};
use crate::config::Process;
use crate::store::{ActionRow, Store, TaskRow};
use anyhow::Result;
use clap::Subcommand;
use domain::TaskId;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// The newest tasks.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// One task: its state, every action with input, output and cost.
    Show {
        /// Its number, as `caisson task list` and the reviews have it.
        id: i64,
        /// With the output of each action.
        #[arg(long)]
        output: bool,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl TaskCommand {
    pub async fn run(self, config: &Path) -> Result<()> {
        let config = Process::load(config)?;
        let store = Store::open(&config.state_dir).await?;
        match self {
            TaskCommand::List { limit, json } => list(&store, limit, json).await,
            TaskCommand::Show { id, output, json } => show(&store, TaskId(id), output, json).await,
        }
    }
}

async fn list(store: &Store, limit: u32, json: bool) -> Result<()> {
    let rows = store.tasks(limit).await?;
    let printer = Printer::terminal();
    if json {
        for row in rows {
            printer.json(&serde_json::to_value(&row)?);
        }
        return Ok(());
    }
    if rows.is_empty() {
        printer.hint("no tasks yet: open an issue that says `/fix`");
        return Ok(());
    }
    let cells = |row: &TaskRow| {
        let issue = format!("{}#{}", row.repository, row.issue);
        let cost = crate::text::dollars(row.micro_usd as u64);
        let (state, branch, title) = (row.state.clone(), row.branch.clone(), row.title.clone());
        vec![row.id.to_string(), state, issue, row.actions.to_string(), cost, branch, title]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    printer.table(&["task", "state", "issue", "actions", "cost", "branch", "title"], &rows);
    Ok(())
}

async fn show(store: &Store, id: TaskId, output: bool, json: bool) -> Result<()> {
    let Some(row) = store.task_row(id).await? else {
        let complaint = Complaint::new(format!("there is no task {id}")).attempt("caisson task list");
        return Err(complaint.into());
    };
    let actions = store.actions(id).await?;
    let printer = Printer::terminal();
    if json {
        printer.json(&serde_json::json!({ "task": row, "actions": actions }));
        return Ok(());
    }
    printer.heading(&format!("task {}: {}", row.id, row.title));
    let pull = row.pull.map_or("none yet".to_owned(), |pull| pull.to_string());
    printer.fields(&[
        ("state", row.state.clone()),
        ("issue", format!("{}#{}, asked by {}", row.repository, row.issue, row.asker)),
        ("pull request", pull),
        ("branch", row.branch.clone()),
        ("spent", format!("{} tokens, {}", row.tokens, crate::text::dollars(row.micro_usd as u64))),
    ]);
    let line = |action: &ActionRow| {
        let code = action.exit_code.map(|code| code.to_string()).unwrap_or_default();
        let ms = action.duration_ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
        let status = action.status.clone().unwrap_or_else(|| "running".to_owned());
        vec![action.number.to_string(), action.kind.clone(), status, code, ms, action.input.clone()]
    };
    let rows: Vec<Vec<String>> = actions.iter().map(line).collect();
    printer.table(&["#", "action", "status", "exit", "time", "input"], &rows);
    for action in actions.iter().filter(|_| output) {
        printer.heading(&format!("output of action {}", action.number));
        printer.say(action.output.as_deref().unwrap_or_default());
    }
    Ok(())
}
