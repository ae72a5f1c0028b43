//! `caisson task cost`: each call to a model that a task's log has, with tokens, time and money. Read-only.

use super::pager::Paged;
use super::printer::Printer;
use super::task_log::{Source, load, moment};
use crate::message::sums;
use crate::store::Store;
use crate::text::{cut, dollars, duration, grouped, one_line};
use anyhow::Result;
use domain::{CallFor, Event, ModelCall, Task, Usage};
use serde::Serialize;

/// The most characters shown of a model's label.
const LABEL: usize = 60;

/// One call, as `--json` prints it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row<'a> {
    /// Unix milliseconds at which its answer was stored.
    at_ms: i64,
    /// What it was for: `turn`, `second look`, `summary` or `question`.
    of: &'static str,
    /// Number of the turn, checkpoint or question; none for a summary.
    number: Option<u32>,
    model: &'a str,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
    micro_usd: u64,
    duration_ms: Option<u64>,
}

/// Answers of the host, which cost nothing, are left out.
fn rows(log: &[(i64, Event)]) -> impl Iterator<Item = Row<'_>> {
    let called = log.iter().filter_map(|(at_ms, event)| Some((*at_ms, event.model_call()?)));
    called.filter(|(_, call)| call.usage.total() > 0 || call.micro_usd > 0).map(|(at_ms, call)| {
        let ModelCall { of, model, usage, micro_usd, duration_ms } = call;
        let (of, number) = match of {
            CallFor::Turn(turn) => ("turn", Some(turn)),
            CallFor::SecondLook(n) => ("second look", Some(n)),
            CallFor::Summary => ("summary", None),
            CallFor::Reply(call) => ("question", Some(call)),
        };
        let Usage { input, output, cache_read, cache_write, reasoning } = *usage;
        Row { at_ms, of, number, model, input, output, cache_read, cache_write, reasoning, micro_usd, duration_ms }
    })
}

fn label(model: &str) -> String {
    cut(&one_line(model), LABEL).0.to_owned()
}

fn cells(row: &Row<'_>) -> Vec<String> {
    let of = row.number.map_or_else(|| row.of.to_owned(), |number| format!("{} {number}", row.of));
    let tokens = [row.input, row.cache_read, row.cache_write, row.output, row.reasoning].map(grouped);
    let time = row.duration_ms.map(duration).unwrap_or_default();
    [vec![moment(row.at_ms), of, label(row.model)], tokens.to_vec(), vec![dollars(row.micro_usd), time]].concat()
}

/// Prints the calls of a task, and sums by model; with `json`, one object a call.
pub async fn cost(store: Option<&Store>, source: &Source, json: bool) -> Result<()> {
    let (id, log) = load(store, source).await?;
    if json {
        let printer = Printer::terminal();
        return rows(&log).try_for_each(|row| {
            printer.json(&serde_json::to_value(row)?);
            Ok(())
        });
    }
    let printer = Paged::terminal();
    printer.heading(&format!("calls to models of task {id}"));
    let called: Vec<Vec<String>> = rows(&log).map(|row| cells(&row)).collect();
    if called.is_empty() {
        printer.say("None has been answered yet.");
        return Ok(());
    }
    printer.table(
        &["when", "for", "model", "read", "from cache", "to cache", "written", "of it thought", "cost", "took"],
        &called,
    );
    let events: Vec<Event> = log.into_iter().map(|(_, event)| event).collect();
    let of = sums(&events);
    let row = |it: &crate::message::OfModel| {
        vec![label(&it.model), it.calls.to_string(), grouped(it.usage.total()), dollars(it.micro_usd)]
    };
    printer.table(&["model", "calls", "tokens", "cost"], &of.iter().map(row).collect::<Vec<_>>());
    let told: u64 = of.iter().map(|it| it.micro_usd).sum();
    let spent = Task::fold(id, &events).spent.micro_usd;
    if spent > told {
        let lost = dollars(spent - told);
        printer.say(&format!("{lost} more: the most that calls may have cost whose answer is awaited, or was lost."));
    }
    printer.say(&format!("together {}", dollars(spent)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{ModelSummary, SummaryOf, Trust};

    #[test]
    fn each_call_is_a_row_and_the_hosts_own_answer_none() {
        let usage = Usage { input: 10, output: 5, cache_read: 1_000, cache_write: 0, reasoning: 2 };
        let turn = |model: &str, usage: Usage| Event::TurnCompleted {
            turn: 3,
            text: String::new(),
            calls: Vec::new(),
            usage,
            micro_usd: usage.input,
            duration_ms: 1_500,
            model: model.into(),
            vendor: None,
        };
        let of = SummaryOf::Turns { upto: 1, from: 1, to: 2 };
        let summary = ModelSummary {
            of,
            text: "x".into(),
            trust: Trust::None,
            usage,
            micro_usd: 7,
            duration_ms: 20,
            model: "small\u{1b}".into(),
        };
        let log = [
            (5, turn("big", usage)),
            (6, turn("the host", Usage::default())),
            (7, Event::Summarised { summary: Box::new(summary) }),
        ];
        let found: Vec<Row<'_>> = rows(&log).collect();
        let told: Vec<_> = found.iter().map(|row| (row.of, row.number, row.micro_usd)).collect();
        assert_eq!(told, [("turn", Some(3), 10), ("summary", None, 7)]);
        assert_eq!(
            cells(&found[0])[1..9],
            ["turn 3", "big", "10", "1 000", "0", "5", "2", "$0.001"].map(str::to_owned)
        );
        assert!(!cells(&found[1]).concat().contains('\u{1b}'));
    }
}
