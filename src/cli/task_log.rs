//! `caisson task log|replay|export`: prints a task's events, folds them up to any event, or exports them to a file. Read-only; an exported
//! file can be used in place of the store.

use super::pager::Paged;
use super::printer::{Complaint, Mark, Printer};
use crate::store::Store;
use crate::text::{count, dollars, duration, grouped, plain_line};
use anyhow::{Context, Result};
use clap::Args;
use domain::{End, Event, State, Task, TaskId, VerdictKind};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Version of the exported format.
const VERSION: u32 = 1;
/// The most characters shown of an event.
const SHOWN: usize = 200;

/// The log to read.
#[derive(Debug, Args)]
pub struct Source {
    /// The task's number.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    id: Option<i64>,
    /// A file that `caisson task export` wrote, in place of the store.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// The first line of an exported file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// Version of the format.
    caisson_task: u32,
    /// The task's number.
    id: i64,
    /// Number of following lines.
    events: usize,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// Number of the event in the log, counted from 1.
    seq: u32,
    /// Unix milliseconds at which it was stored.
    at_ms: i64,
    event: Event,
}

type Log = (TaskId, Vec<(i64, Event)>);

/// Prints one line per event; with `json`, each event whole.
pub async fn log(store: Option<&Store>, source: &Source, json: bool) -> Result<()> {
    let (_, log) = load(store, source).await?;
    if json {
        let printer = Printer::terminal();
        return lines(&log).try_for_each(|line| {
            printer.json(&serde_json::to_value(line)?);
            Ok(())
        });
    }
    let (mut rows, mut marks) = (Vec::with_capacity(log.len()), Vec::with_capacity(log.len()));
    for line in lines(&log) {
        marks.push(mark(&line.event));
        let mut value = serde_json::to_value(&line.event)?;
        let kind = value.as_object_mut().and_then(|fields| fields.remove("event"));
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default().to_owned();
        rows.push(vec![line.seq.to_string(), moment(line.at_ms), kind, plain_line(&value.to_string(), SHOWN)]);
    }
    Paged::terminal().marked_table(&["#", "when", "event", "with"], &rows, &marks);
    Ok(())
}

/// Marks failures, waits for a person, and decisions.
fn mark(event: &Event) -> Mark {
    match event {
        Event::ActionFinished { outcome, .. } if !outcome.status.succeeded() => Mark::Bad,
        Event::TreeRefused { .. }
        | Event::SandboxLost { .. }
        | Event::DecisionRefused { .. }
        | Event::Ended { end: End::Failed { .. } } => Mark::Bad,
        Event::Verified { verdict, .. } if verdict.kind == VerdictKind::Failed => Mark::Bad,
        Event::CiEnded(ended) if ended.failed() => Mark::Bad,
        Event::Paused { .. }
        | Event::Asked { .. }
        | Event::PermissionAsked { .. }
        | Event::AnotherWay { .. }
        | Event::CheckpointPosted { .. }
        | Event::Answered { .. } => Mark::Warn,
        Event::DecisionUsed { .. }
        | Event::QuestionAnswered { .. }
        | Event::PermissionGiven { .. }
        | Event::Ended { end: End::Delivered | End::Answered } => Mark::Good,
        _ => Mark::Plain,
    }
}

/// Prints the state of the task after the event with this number; by default after the last one.
pub async fn replay(store: Option<&Store>, source: &Source, at: Option<u32>) -> Result<()> {
    let (id, log) = load(store, source).await?;
    let last = log.len();
    let at = at.map_or(last, |at| at as usize);
    if at > last {
        let what = format!("the log of task {id} has {}", count(last as u64, "event"));
        return Err(Complaint::new(what).attempt(format!("--at {last}, or less")).into());
    }
    let task = Task::fold(id, log[..at].iter().map(|(_, event)| event));
    let printer = Printer::terminal();
    let when = at.checked_sub(1).and_then(|last| log.get(last)).map_or_else(String::new, |(at, _)| moment(*at));
    printer.heading(&format!("task {id} after event {at} of {last}, {when}"));
    printer.fields(&fields(&task));
    Ok(())
}

fn fields(task: &Task) -> Vec<(&'static str, String)> {
    let commit = |commit: &Option<domain::Commit>| commit.as_ref().map_or("none".to_owned(), ToString::to_string);
    let state = match &task.state {
        State::Paused { reason, .. } => format!("paused: {}", plain_line(&crate::message::paused(reason), SHOWN)),
        other => other.name().to_owned(),
    };
    let mut all = vec![
        ("state", state),
        ("turn", task.turn.to_string()),
        ("actions", format!("{}; {} since the last decision", task.actions, task.used)),
        (
            "spent",
            format!(
                "{} tokens, {}, {} of work",
                grouped(task.spent.tokens),
                dollars(task.spent.micro_usd),
                duration(task.spent.work_ms)
            ),
        ),
        ("checkpoints", task.checkpoints.len().to_string()),
        ("base", commit(&task.base)),
        ("last commit", commit(&task.head)),
    ];
    all.extend(task.pull.map(|pull| ("pull request", pull.to_string())));
    all.extend(task.plan.as_deref().map(|plan| ("plan", plain_line(plan, SHOWN))));
    all
}

/// Writes the whole log to a new file or to stdout, one JSON object per line. It contains texts of the agent and of people.
pub async fn export(store: Option<&Store>, id: TaskId, into: Option<&Path>) -> Result<()> {
    let (_, log) = load(store, &Source { id: Some(id.0), file: None }).await?;
    let head = Head { caisson_task: VERSION, id: id.0, events: log.len() };
    let printer = Printer::terminal();
    let Some(into) = into else {
        printer.json(&serde_json::to_value(&head)?);
        return lines(&log).try_for_each(|line| {
            printer.json(&serde_json::to_value(line)?);
            Ok(())
        });
    };
    let mut text = serde_json::to_string(&head)? + "\n";
    for line in lines(&log) {
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    let options =
        std::os::unix::fs::OpenOptionsExt::mode(std::fs::OpenOptions::new().write(true).create_new(true), 0o600)
            .open(into);
    let mut file = options.with_context(|| format!("cannot make {}", into.display()))?;
    let written = std::io::Write::write_all(&mut file, text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // An incomplete file is useless, and would block the next attempt.
        let _ = std::fs::remove_file(into);
    }
    written.with_context(|| format!("cannot write {}", into.display()))?;
    printer.good(&format!("{} of task {id} in {}", count(log.len() as u64, "event"), into.display()));
    Ok(())
}

fn lines(log: &[(i64, Event)]) -> impl Iterator<Item = Line> {
    log.iter().zip(1..).map(|((at_ms, event), seq)| Line { seq, at_ms: *at_ms, event: event.clone() })
}

async fn load(store: Option<&Store>, source: &Source) -> Result<Log> {
    if let Some(file) = &source.file {
        let opened = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        return read(BufReader::new(opened)).with_context(|| format!("{} is no export of a task", file.display()));
    }
    let id = TaskId(source.id.unwrap_or_default());
    let store = store.ok_or_else(|| super::order::unknown(id))?;
    store.task_row(id).await?.ok_or_else(|| super::order::unknown(id))?;
    Ok((id, store.log(id).await?))
}

/// Parses what [`export`] wrote.
fn read(from: impl BufRead) -> Result<Log> {
    let mut lines = from.lines();
    let head: Head = serde_json::from_str(&lines.next().context("it is empty")??).context("line 1")?;
    anyhow::ensure!(
        head.caisson_task == VERSION,
        "it has the shape {}; this version knows {VERSION}",
        head.caisson_task
    );
    let mut log = Vec::new();
    for (at, line) in lines.enumerate() {
        let line: Line = serde_json::from_str(&line?).with_context(|| format!("line {}", at + 2))?;
        anyhow::ensure!(
            line.seq as usize == at + 1,
            "line {}: event {} stands where {} should",
            at + 2,
            line.seq,
            at + 1
        );
        log.push((line.at_ms, line.event));
    }
    anyhow::ensure!(log.len() == head.events, "it has {} of {} events: was it cut off?", log.len(), head.events);
    Ok((TaskId(head.id), log))
}

/// A time for people.
pub fn moment(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).map(|at| at.strftime("%F %T UTC").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_export_is_refused_with_its_line() {
        let head = "{\"caisson_task\":1,\"id\":7,\"events\":2}\n";
        let event = |seq: u32| format!("{{\"seq\":{seq},\"at_ms\":5,\"event\":{{\"event\":\"place_granted\"}}}}\n");
        let (id, log) = read(format!("{head}{}{}", event(1), event(2)).as_bytes()).expect("read");
        assert_eq!((id, log.len()), (TaskId(7), 2));
        let wrong = |text: String| format!("{:#}", read(text.as_bytes()).expect_err("refused"));
        assert!(wrong(String::new()).contains("empty"));
        assert!(wrong("{}\n".into()).contains("line 1"));
        assert!(wrong("{\"caisson_task\":9,\"id\":7,\"events\":0}\n".into()).contains("shape 9"));
        assert!(wrong(format!("{head}{}", event(1))).contains("1 of 2 events"));
        assert!(wrong(format!("{head}{}", event(2))).contains("line 2: event 2 stands where 1 should"));
        assert!(wrong(format!("{head}{}nonsense\n", event(1))).contains("line 3"));
    }
}
