//! `caisson repo audit`: what was decided about texts of a repository where no task is at work, and which tasks began by which text. Read-only, and
//! works while a bot is running. Tests: below and `tests/stories/audit.rs`.

use crate::cli::entries;
use crate::cli::printer::{Complaint, Mark, Printer};
use crate::cli::store::location;
use crate::cli::task_log::moment;
use crate::config::Process;
use crate::store::{AuditOutcome, AuditRow, Store};
use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Where no task is at work, no task's log has what is decided: this has it. Each line is one decision about one text, the newest last:\n\n  \
    refused       its author may not give the command; with the reason\n  \
    denied-host   a host that was allowed for the repository was taken back; with the host\n  \
    taken-up      /sync, /test-pr or /test-pr-bug of somebody who may; with the command that is run. What came of it is answered on the forge\n  \
    began         a task began; with its number. What is decided in it: caisson task log N\n\n\
    Kept as long as ended tasks (keep.tasks_days), also of a repository that was taken out. --json also has the account's id, and the text (comment:17)."
)]
pub struct Audit {
    /// Which one (`caisson repo list`).
    key: String,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// How many, the newest.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
}

impl Audit {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        entries::look(config).await?;
        let rows = match Store::look(location(config)?).await? {
            Some(store) => store.audit(&self.key, self.limit).await?,
            None => Vec::new(),
        };
        // What was decided can be read after the repository was taken out, too.
        if rows.is_empty() && config.repository(&self.key).is_none() {
            let complaint = Complaint::new(format!("no repository has the key {}", self.key));
            return Err(complaint.hint("caisson repo list").into());
        }
        show(&rows, (&self.key, self.json), printer)
    }
}

fn show(rows: &[AuditRow], (key, json): (&str, bool), printer: &Printer) -> Result<()> {
    if json {
        for row in rows {
            printer.json(&serde_json::to_value(row)?);
        }
        return Ok(());
    }
    if rows.is_empty() {
        printer.hint(&format!("nothing yet: nobody was refused anything in {key}, and no task began"));
        return Ok(());
    }
    let marks: Vec<Mark> = rows.iter().map(mark).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    printer.marked_table(&["when", "who", "command", "outcome", "on", "with"], &cells, &marks);
    Ok(())
}

fn mark(row: &AuditRow) -> Mark {
    if row.outcome == AuditOutcome::Refused.word() { Mark::Warn } else { Mark::Plain }
}

fn cells(row: &AuditRow) -> Vec<String> {
    let (command, on) = (format!("/{}", row.command), format!("#{}", row.number));
    vec![moment(row.at), row.login.clone(), command, row.outcome.clone(), on, row.detail.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::printer::tests;

    fn printed(rows: &[AuditRow], json: bool) -> String {
        tests::printed(false, |printer| show(rows, ("shop", json), printer).unwrap())
    }

    fn row(at: i64, command: &str, outcome: AuditOutcome, detail: &str) -> AuditRow {
        AuditRow {
            at,
            number: 7,
            source: "comment:17".into(),
            account: 4,
            login: "bob".into(),
            command: command.into(),
            outcome: outcome.word().into(),
            detail: detail.into(),
        }
    }

    #[test]
    fn each_decision_is_a_line_from_which_nothing_gets_out() {
        let rows = [
            row(0, "fix", AuditOutcome::Refused, "`/fix` is for alice"),
            row(86_400_000, "test-pr", AuditOutcome::TakenUp, "make\u{1b}[2J\ntest\u{202e}"),
        ];
        let lines = [
            "when                     who  command   outcome   on  with",
            "1970-01-01 00:00:00 UTC  bob  /fix      refused   #7  `/fix` is for alice",
            "1970-01-02 00:00:00 UTC  bob  /test-pr  taken-up  #7  make\\u{1b}[2J\\ntest\\u{202e}",
        ];
        assert_eq!(printed(&rows, false).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn as_json_each_is_an_object_of_its_own() {
        let text = printed(&[row(5, "deny", AuditOutcome::DeniedHost, "a.test\u{1b}")], true);
        let expected = serde_json::json!({
            "at_ms": 5, "number": 7, "source": "comment:17", "account": 4, "login": "bob", "command": "deny",
            "outcome": "denied-host", "detail": "a.test\u{1b}"
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn nothing_yet_is_said() {
        assert_eq!(printed(&[], false), "→ nothing yet: nobody was refused anything in shop, and no task began\n");
        assert_eq!(printed(&[], true), "");
    }
}
