//! `caisson task log|replay`: prints a task's events, or folds them up to any event. Read-only; an exported file can be used in place of the store
//! (`task_export.rs`).

use super::pager::Paged;
use super::printer::{Complaint, Mark, Printer};
use super::task_export::{Source, lines, load};
use crate::redact::in_words;
use crate::store::Store;
use crate::text::{cost, count, duration, grouped, plain_line};
use anyhow::Result;
use domain::{End, Event, State, Task, VerdictKind};

/// The most characters shown of an event.
const SHOWN: usize = 200;

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
        rows.push(vec![
            line.seq.to_string(),
            moment(line.at_ms),
            kind,
            plain_line(&in_words(&value.to_string()), SHOWN),
        ]);
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
        Event::CiEnded(ended) | Event::UpstreamCiEnded(ended) if ended.failed() => Mark::Bad,
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
pub async fn replay(store: Option<&Store>, source: &Source, (at, json): (Option<u32>, bool)) -> Result<()> {
    let (id, log) = load(store, source).await?;
    let last = log.len();
    let at = at.map_or(last, |at| at as usize);
    if at > last {
        let what = format!("the log of task {id} has {}", count(last as u64, "event"));
        return Err(Complaint::new(what).hint(format!("--at {last}, or less")).into());
    }
    let task = Task::fold(id, log[..at].iter().map(|(_, event)| event));
    let printer = Printer::terminal();
    let at_ms = at.checked_sub(1).and_then(|last| log.get(last)).map(|(at_ms, _)| *at_ms);
    if json {
        printer.json(&object(&task, (at, last, at_ms)));
        return Ok(());
    }
    let when = at_ms.map(moment).unwrap_or_default();
    printer.heading(&format!("task {id} after event {at} of {last}, {when}"));
    printer.fields(&fields(&task));
    Ok(())
}

/// The state of a task after `at` of `of` events, the last of them stored at `at_ms`, as an object.
fn object(task: &Task, (at, of, at_ms): (usize, usize, Option<i64>)) -> serde_json::Value {
    serde_json::json!({
        "id": task.id.0,
        "event": at,
        "events": of,
        "at_ms": at_ms,
        "state": task.state.name(),
        "paused": paused(task),
        "turn": task.turn,
        "actions": task.actions,
        "actions_since_decision": task.used,
        "spent": { "tokens": task.spent.tokens, "micro_usd": task.spent.micro_usd, "unpriced": task.spent.unpriced, "work_ms": task.spent.work_ms },
        "checkpoints": task.checkpoints.len(),
        "base": task.base,
        "head": task.head,
        "pull": task.pull,
        "plan": task.plan,
    })
}

/// Why it is paused, if it is.
fn paused(task: &Task) -> Option<String> {
    if let State::Paused { reason, .. } = &task.state { Some(crate::message::paused(reason)) } else { None }
}

fn fields(task: &Task) -> Vec<(&'static str, String)> {
    let commit = |commit: &Option<domain::Commit>| commit.as_ref().map_or("none".to_owned(), ToString::to_string);
    let state = match paused(task) {
        Some(why) => format!("paused: {}", plain_line(&why, SHOWN)),
        None => task.state.name().to_owned(),
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
                cost(task.spent.micro_usd, task.spent.unpriced),
                duration(task.spent.work_ms)
            ),
        ),
        ("checkpoints", task.checkpoints.len().to_string()),
        ("base", commit(&task.base)),
        ("last commit", commit(&task.head)),
    ];
    all.extend(task.pull.map(|pull| ("pull request", pull.to_string())));
    all.extend(task.plan.as_deref().map(|plan| ("plan", plain_line(&in_words(plan), SHOWN))));
    all
}

/// A time for people.
pub fn moment(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).map(|at| at.strftime("%F %T UTC").to_string()).unwrap_or_default()
}
