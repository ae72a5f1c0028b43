//! `caisson task`: prints what the store says about tasks, whether or not a bot is running, and passes orders on.

use super::order;
use super::pager::Paged;
use super::printer::{Mark, Printer};
use super::store::location;
use super::task_cost;
use super::task_export::{self, Source};
use super::task_log::{self, moment};
use crate::config::Process;
use crate::egress::Line as Reached;
use crate::line::Line;
use crate::store::{ActionRow, Store, TaskRow};
use anyhow::Result;
use clap::Subcommand;
use domain::{Event, Order, Remark, Remarks, TaskId, Touched};
use protocol::router::Verdict;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most characters shown of an action's files.
const FILES: usize = 200;

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
    /// Every event of a task, a line each.
    Log {
        #[command(flatten)]
        source: Source,
        /// One JSON object a line, whole.
        #[arg(long)]
        json: bool,
    },
    /// Every model call of a task with its tokens and cost, and the sums by model. A call whose answer was lost, or is awaited, counts with its
    /// worst case.
    Cost {
        #[command(flatten)]
        source: Source,
        /// One JSON object a line, without the sums.
        #[arg(long)]
        json: bool,
    },
    /// Where a task stood after any of its events.
    Replay {
        #[command(flatten)]
        source: Source,
        /// One JSON object.
        #[arg(long)]
        json: bool,
        /// Number of the event, as `caisson task log` has it; the last one, where none is named.
        #[arg(long, value_name = "EVENT")]
        at: Option<u32>,
    },
    /// Write a task's whole log, with its pictures, into one file of JSON lines, which `log --file`, `cost --file` and `replay --file` read on any
    /// machine. What people and the agent wrote, and what commands printed, stands in it.
    Export {
        /// Its number.
        id: i64,
        /// A new file, made with mode 0600; without it the lines are printed.
        #[arg(long, value_name = "FILE")]
        into: Option<PathBuf>,
    },
    /// What a run of `/test-pr` printed, as its answer on the forge names it.
    TestLog {
        /// The run's number.
        id: i64,
    },
    /// End a task: as `/stop`, also where its threads on the forge cannot be read.
    Stop {
        /// Its number.
        id: i64,
    },
    /// Let a paused task go on: as `/resume`.
    Resume {
        /// Its number.
        id: i64,
    },
    /// Delete an ended task for good: log, outputs, words, checkpoints. What stands on the forge stays.
    Delete {
        /// Its number. One that has not ended is refused: `caisson task stop` first.
        id: i64,
    },
}

impl TaskCommand {
    pub async fn run(self, config: &Path) -> Result<()> {
        // An exported file needs no store.
        match &self {
            TaskCommand::Log { source, json } if source.file.is_some() => {
                return task_log::log(None, source, *json).await;
            }
            TaskCommand::Cost { source, json } if source.file.is_some() => {
                return task_cost::cost(None, source, *json).await;
            }
            TaskCommand::Replay { source, at, json } if source.file.is_some() => {
                return task_log::replay(None, source, (*at, *json)).await;
            }
            _ => {}
        }
        let config = Process::load(config)?;
        let store = Store::look(location(&config)?).await?;
        match self {
            TaskCommand::List { limit, json } => list(store.as_ref(), limit, json).await,
            TaskCommand::Show { id, output, json } => show(&config, store.as_ref(), TaskId(id), (output, json)).await,
            TaskCommand::Log { source, json } => task_log::log(store.as_ref(), &source, json).await,
            TaskCommand::Cost { source, json } => task_cost::cost(store.as_ref(), &source, json).await,
            TaskCommand::Replay { source, at, json } => task_log::replay(store.as_ref(), &source, (at, json)).await,
            TaskCommand::Export { id, into } => task_export::export(store.as_ref(), TaskId(id), into.as_deref()).await,
            TaskCommand::TestLog { id } => test_log(store.as_ref(), id).await,
            TaskCommand::Stop { id } => order::give(&config, TaskId(id), Order::Stop).await,
            TaskCommand::Delete { id } => order::delete(&config, TaskId(id)).await,
            TaskCommand::Resume { id } => order::give(&config, TaskId(id), Order::Resume).await,
        }
    }
}

async fn test_log(store: Option<&Store>, id: i64) -> Result<()> {
    let found = match store {
        Some(store) => store.test_run(id).await?,
        None => None,
    };
    let (row, log) =
        found.ok_or_else(|| anyhow::anyhow!("there is no test run {id}; its answer on the forge has its number"))?;
    let printer = Paged::terminal();
    printer.heading(&format!("test run {id}: {}", row.run.command));
    let thread = format!("{}#{}, asked by {}", row.repository, row.thread, row.login);
    printer.fields(&[("asked", thread), ("branch", format!("{} at {}", row.run.branch, row.run.commit))]);
    printer.say(log.as_deref().unwrap_or("It has not ended yet."));
    Ok(())
}

async fn list(store: Option<&Store>, limit: u32, json: bool) -> Result<()> {
    let rows = match store {
        Some(store) => store.tasks(limit).await?,
        None => Vec::new(),
    };
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
        let cost = crate::text::cost(row.micro_usd as u64, row.unpriced as u64);
        let (state, branch, title) = (row.state.clone(), row.branch.clone(), row.title.clone());
        vec![row.id.to_string(), state, issue, row.actions.to_string(), cost, branch, title]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    printer.table(&["task", "state", "issue", "actions", "cost", "branch", "title"], &rows);
    Ok(())
}

async fn show(config: &Process, store: Option<&Store>, id: TaskId, (output, json): (bool, bool)) -> Result<()> {
    let unknown = || order::unknown(id);
    let store = store.ok_or_else(unknown)?;
    let row = store.task_row(id).await?.ok_or_else(unknown)?;
    let actions = store.actions(id).await?;
    let lines =
        store.egress(id).await?.iter().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Reached>>();
    let log = store.log(id).await?;
    let (happened, touched) = (happened(&log), touched(&log));
    let remarks = Remarks::of(log.iter().map(|(_, event)| event));
    let line = Line::standing_of(store, config, &row.repository, id).await?.map(|line| crate::message::waits(&line));
    if json {
        let printer = Printer::terminal();
        let happened: Vec<_> =
            happened.iter().map(|(at, what)| serde_json::json!({ "at_ms": at, "what": what })).collect();
        let touched: BTreeMap<_, _> = touched.into_iter().collect();
        let open: Vec<u32> = remarks.open().map(|remark| remark.number).collect();
        let shown = serde_json::json!({ "task": row, "open_remarks": open, "line": line, "actions": actions, "egress": lines, "happened": happened, "touched": touched });
        printer.json(&shown);
        return Ok(());
    }
    let printer = Paged::terminal();
    printer.heading(&format!("task {}: {}", row.id, row.title));
    let pull = row.pull.map_or("none yet".to_owned(), |pull| pull.to_string());
    printer.fields(&[
        ("state", line.map_or_else(|| row.state.clone(), |line| format!("{}, {line}", row.state))),
        ("issue", format!("{}#{}, asked by {}", row.repository, row.issue, row.asker)),
        ("pull request", pull),
        ("branch", row.branch.clone()),
        ("spent", format!("{} tokens, {}", row.tokens, crate::text::cost(row.micro_usd as u64, row.unpriced as u64))),
        ("open remarks", open_remarks(&remarks)),
    ]);
    let rows: Vec<Vec<String>> = actions.iter().map(action_row).collect();
    let mark = |action: &ActionRow| match (action.exit_code, action.status.as_deref()) {
        (Some(0), _) | (None, Some("ok") | None) => Mark::Plain,
        _ => Mark::Bad,
    };
    let marks: Vec<Mark> = actions.iter().map(mark).collect();
    printer.marked_table(&["#", "action", "status", "exit", "time", "tokens", "cost", "input"], &rows, &marks);
    around(&printer, touched, happened, &lines);
    for action in actions.iter().filter(|_| output) {
        printer.heading(&format!("output of action {}", action.number));
        printer.say(action.output.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// The row of an action; tokens and cost are those of the turn that asked for it, beside the turn's first action.
fn action_row(action: &ActionRow) -> Vec<String> {
    let code = action.exit_code.map(|code| code.to_string()).unwrap_or_default();
    let ms = action.duration_ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    let status = action.status.clone().unwrap_or_else(|| "running".to_owned());
    let told = |count: i64, shown: fn(u64) -> String| u64::try_from(count).ok().filter(|it| *it > 0).map(shown);
    let tokens = told(action.tokens, crate::text::grouped).unwrap_or_default();
    let count = |count: i64| u64::try_from(count).unwrap_or_default();
    let (micro_usd, unpriced) = (count(action.micro_usd), count(action.unpriced));
    let cost = if micro_usd + unpriced > 0 { crate::text::cost(micro_usd, unpriced) } else { String::new() };
    vec![
        action.number.to_string(),
        action.kind.clone(),
        status,
        code,
        ms,
        tokens,
        cost,
        crate::redact::in_words(&action.input),
    ]
}

/// How many remarks of people nothing settled yet, and which.
fn open_remarks(remarks: &Remarks) -> String {
    let open: Vec<String> = remarks.open().map(Remark::name).collect();
    if open.is_empty() { "none".to_owned() } else { format!("{}: {}", open.len(), open.join(", ")) }
}

/// Prints what belongs to a task besides its actions.
fn around(printer: &Paged, touched: Vec<(u32, &Touched)>, happened: Vec<(i64, String)>, lines: &[Reached]) {
    let rows: Vec<_> = touched.into_iter().filter_map(files).collect();
    if !rows.is_empty() {
        printer.heading("files that its actions touched, as its sandbox told it");
        printer.table(&["#", "files"], &rows);
    }
    if !happened.is_empty() {
        printer.heading("what happened to it");
        let rows: Vec<_> = happened.into_iter().map(|(at, what)| vec![moment(at), what]).collect();
        printer.table(&["when", "what"], &rows);
    }
    if !lines.is_empty() {
        printer.heading("what it reached");
        printer.table(&["#", "verdict", "host", "times", "up", "down", "why"], &reached(lines));
    }
}

/// Files that each action touched, by its number.
fn touched(log: &[(i64, Event)]) -> Vec<(u32, &Touched)> {
    let told = log.iter().filter_map(|(_, event)| match event {
        Event::ActionFinished { number, outcome } => Some((*number, outcome.touched.as_deref()?)),
        _ => None,
    });
    told.collect()
}

/// The row of an action that changed or read files, or of which not all was observed.
fn files((number, touched): (u32, &Touched)) -> Option<Vec<String>> {
    let told = |how: &str, paths: &[String]| paths.iter().map(|path| format!("{how} {path}")).collect::<Vec<_>>();
    let parts = [("new", &touched.created), ("changed", &touched.changed), ("gone", &touched.deleted)];
    let read = told("read", &touched.read);
    let mut words: Vec<String> = parts.into_iter().flat_map(|(how, paths)| told(how, paths)).collect();
    let counted = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", crate::text::grouped(count)));
    words.extend(counted(touched.unnamed, "more").into_iter().chain(counted(touched.ignored, "that git ignores")));
    words.extend(read.into_iter().chain(counted(touched.read_unnamed, "more read")));
    words.extend(touched.unseen.as_deref().map(|said| format!("not seen: {said}")));
    // The table shows what a path hides.
    let all = words.join(", ");
    let (head, missing) = crate::text::cut(&all, FILES);
    let more = if missing > 0 { "…" } else { "" };
    (!words.is_empty()).then(|| vec![number.to_string(), format!("{head}{more}")])
}

/// Events of the sandbox and its way out, and pauses, each with its time.
fn happened(log: &[(i64, Event)]) -> Vec<(i64, String)> {
    let told = |event: &Event| match event {
        Event::Paused { reason } => Some(crate::message::paused(reason)),
        event => crate::checkpoint::happened::sentence(event),
    };
    log.iter().filter_map(|(at, event)| Some((*at, told(event)?))).collect()
}

/// The router's log, summed by action, verdict and host; without an action, connections of processes that an action left running.
fn reached(lines: &[Reached]) -> Vec<Vec<String>> {
    let mut sums: BTreeMap<_, (u64, u64, u64)> = BTreeMap::new();
    for Reached { action, entry, .. } in lines {
        let verdict = match entry.verdict {
            Verdict::Allowed => "allowed",
            Verdict::Denied => "denied",
            Verdict::Failed => "failed",
        };
        let port = if entry.port == 0 { String::new() } else { format!(":{}", entry.port) };
        let host = if entry.host.is_empty() {
            entry.ip.map(|ip| ip.to_string()).unwrap_or_default()
        } else {
            entry.host.clone()
        };
        let because = entry.because.as_ref().map(|because| format!(" ({because})")).unwrap_or_default();
        let rule = entry.rule.as_ref().map(|rule| format!("rule {rule}{because}"));
        let why = [rule.unwrap_or_default(), entry.reason.clone()].into_iter().filter(|text| !text.is_empty());
        let key = (action, format!("{host}{port}"), verdict, why.collect::<Vec<_>>().join(": "));
        let (times, up, down) = sums.entry(key).or_default();
        *times += entry.count.max(1);
        *up += entry.up;
        *down += entry.down;
    }
    let row = |(key, (times, up, down))| {
        let (action, host, verdict, why): (&Option<u32>, String, &str, String) = key;
        let action = action.map(|number| number.to_string()).unwrap_or_default();
        let (up, down) = (crate::text::bytes(up), crate::text::bytes(down));
        let times = u64::to_string(&times);
        vec![action, verdict.to_owned(), host, times, up, down, why]
    };
    sums.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_remarks_are_counted_and_named() {
        let item = |path: &str| domain::Item { path: Some(path.into()), ..domain::Item::on_the_whole("x", "bob") };
        let (items, from) = (vec![item("a.py"), item("b.py"), item("c.py")], domain::Source::Review(1));
        let gone = domain::RemarkWithdrawn { remark: 2, why: domain::Withdrawal::Deleted };
        let log = [Event::FeedbackGiven { items, from, asks: false }, Event::RemarkWithdrawn(gone)];
        assert_eq!(open_remarks(&Remarks::of(&log)), "2: r1, r3");
        assert_eq!(open_remarks(&Remarks::default()), "none");
    }

    #[test]
    fn an_action_has_the_tokens_of_its_turn_beside_it() {
        let row = |tokens, micro_usd, unpriced| {
            action_row(&ActionRow {
                number: 2,
                turn: 1,
                kind: "bash".into(),
                input: "{}".into(),
                output: None,
                status: None,
                exit_code: None,
                duration_ms: None,
                tokens,
                micro_usd,
                unpriced,
            })
        };
        assert_eq!(row(12_345, 20_000, 0)[5..], ["12 345", "$0.02", "{}"]);
        assert_eq!(row(12_345, 0, 12_345)[5..], ["12 345", "price unknown", "{}"]);
        assert_eq!(row(0, 0, 0), ["2", "bash", "running", "", "", "", "", "{}"]);
    }

    #[test]
    fn an_action_that_changed_or_read_files_has_a_row() {
        let touched =
            Touched { created: vec!["src/a.py".into()], deleted: vec!["c".into()], ignored: 3, ..Touched::default() };
        let row = files((7, &touched)).expect("a row");
        assert_eq!(row, ["7", "new src/a.py, gone c, 3 that git ignores"]);
        assert!(files((8, &Touched::default())).is_none());
        let unseen = Some("what was read is known in part".to_owned());
        let read = Touched { read: vec!["a.py".into()], read_unnamed: 1_200, unseen, ..Touched::default() };
        let row = files((9, &read)).expect("a row");
        assert_eq!(row[1], "read a.py, 1 200 more read, not seen: what was read is known in part");
        let long = Touched { created: vec!["x".repeat(900)], ..Touched::default() };
        assert_eq!(files((1, &long)).expect("a row")[1].chars().count(), FILES + 1);
    }

    #[test]
    fn what_was_reached_is_added_up_for_each_action() {
        let line = |action: Option<u32>, verdict: &str, host: &str, port: u16| -> Reached {
            let value = serde_json::json!({
                "task": 1, "action": action, "seq": 1, "ts": 9, "berth": 0, "verdict": verdict, "rule": "a.test", "host": host,
                "port": port, "up": 10, "down": 2000, "ms": 1, "reason": "", "count": 1
            });
            serde_json::from_value(value).unwrap()
        };
        let lines = [
            line(Some(3), "allowed", "a.test", 443),
            line(Some(2), "denied", "b.test", 0),
            line(Some(3), "allowed", "a.test", 443),
            line(None, "allowed", "a.test", 443),
        ];
        let rows = reached(&lines);
        let told: Vec<String> = rows.iter().map(|row| row[..4].join(" ")).collect();
        assert_eq!(told, [" allowed a.test:443 1", "2 denied b.test 1", "3 allowed a.test:443 2"]);
        assert_eq!(rows[2][4..], ["20 B", "4.0 kB", "rule a.test"]);
    }
}
