//! `caisson task cost`: every model call of one task with its tokens and cost, and the sums by model. Read-only; an exported file can be used in
//! place of the store.

use super::pager::Paged;
use super::printer::Printer;
use super::task_export::{Source, load};
use super::task_log::moment;
use crate::message::{OfModel, sums};
use crate::store::Store;
use crate::text::{self, cut, duration, grouped, one_line};
use anyhow::Result;
use domain::{CallPurpose, Event, ModelCall, Usage, model_calls};

/// The most characters of a model's label.
const LABEL: usize = 80;
/// Stands in place of a model where no answer came.
const NO_ANSWER: &str = "(no answer)";

/// Prints one line per call, and one per model; with `json`, each call as an object.
///
/// # Errors
/// When the log cannot be read.
pub async fn cost(store: Option<&Store>, source: &Source, json: bool) -> Result<()> {
    let (id, log) = load(store, source).await?;
    let calls = model_calls(log.iter().map(|(_, event)| event));
    let at = |call: &ModelCall<'_>| log.get(call.event - 1).map_or(0, |(at_ms, _)| *at_ms);
    if json {
        let printer = Printer::terminal();
        calls.iter().for_each(|call| printer.json(&object(call, at(call))));
        return Ok(());
    }
    if calls.is_empty() {
        Printer::terminal().hint(&format!("task {id} called no model yet"));
        return Ok(());
    }
    let printer = Paged::terminal();
    let rows: Vec<_> = calls.iter().map(|call| row(call, at(call))).collect();
    let unpriced: u64 = calls.iter().filter_map(|call| call.answer).map(|answer| answer.usage.unpriced).sum();
    let tokens = ["read", "from cache", "to cache", "written", "of it thought", "cost"];
    let names: Vec<&str> = ["event", "when", "for", "model"].into_iter().chain(tokens).chain(["time"]).collect();
    printer.table(&names, &rows);
    printer.heading("by model");
    let names: Vec<&str> = ["model", "calls"].into_iter().chain(tokens).collect();
    printer.table(&names, &by_model(log.iter().map(|(_, event)| event), &calls));
    let together: u64 = calls.iter().map(|call| call.micro_usd).sum();
    printer.say(&format!("together {}", text::cost(together, unpriced)));
    Ok(())
}

/// What a call was for.
fn purpose(purpose: CallPurpose) -> String {
    match purpose {
        CallPurpose::Turn(turn) => format!("turn {turn}"),
        CallPurpose::SecondLook(n) => format!("second look at checkpoint {n}"),
        CallPurpose::Summary => "summary".to_owned(),
        CallPurpose::Reply(call) => format!("question {call}"),
    }
}

fn label(model: &str) -> String {
    one_line(cut(model, LABEL).0)
}

/// The cells of tokens and cost, under the same names in both tables.
fn spent(usage: &Usage, micro_usd: u64) -> Vec<String> {
    let Usage { input, output, cache_read, cache_write, reasoning, unpriced } = *usage;
    let tokens = [input, cache_read, cache_write, output, reasoning].map(grouped);
    tokens.into_iter().chain([text::cost(micro_usd, unpriced)]).collect()
}

fn row(call: &ModelCall<'_>, at_ms: i64) -> Vec<String> {
    let answer = call.answer;
    let model = answer.map_or(NO_ANSWER.to_owned(), |answer| label(answer.model));
    let time = answer.and_then(|answer| answer.duration_ms).map(duration).unwrap_or_default();
    let first = vec![call.event.to_string(), moment(at_ms), purpose(call.purpose), model];
    [first, spent(&answer.map(|answer| answer.usage).unwrap_or_default(), call.micro_usd), vec![time]].concat()
}

/// A call as an object: `answered` is false where `micro_usd` is a worst case and nothing else is known.
fn object(call: &ModelCall<'_>, at_ms: i64) -> serde_json::Value {
    let answer = call.answer;
    serde_json::json!({
        "event": call.event,
        "at_ms": at_ms,
        "for": purpose(call.purpose),
        "answered": answer.is_some(),
        "model": answer.map(|answer| answer.model),
        "usage": answer.map(|answer| answer.usage),
        "micro_usd": call.micro_usd,
        "duration_ms": answer.and_then(|answer| answer.duration_ms),
    })
}

/// A row for each model, and one for the calls without an answer.
fn by_model<'a>(log: impl Iterator<Item = &'a Event>, calls: &[ModelCall<'_>]) -> Vec<Vec<String>> {
    let lost: Vec<u64> = calls.iter().filter(|call| call.answer.is_none()).map(|call| call.micro_usd).collect();
    let (model, usage) = (NO_ANSWER.to_owned(), Usage::default());
    let lost = OfModel { model, calls: lost.len() as u64, usage, micro_usd: lost.iter().sum() };
    let all = sums(log).into_iter().chain((lost.calls > 0).then_some(lost));
    all.map(|of| [vec![label(&of.model), grouped(of.calls)], spent(&of.usage, of.micro_usd)].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_call_has_its_worst_case_in_both_tables() {
        let usage = Usage { input: 1_000, output: 40, cache_read: 600, cache_write: 10, reasoning: 30, unpriced: 0 };
        let turn = Event::TurnCompleted {
            turn: 1,
            text: String::new(),
            calls: Vec::new(),
            usage,
            micro_usd: 20_000,
            duration_ms: 61_000,
            model: "m\u{1b}x".into(),
            vendor: None,
        };
        let started = |worst_micro_usd| Event::ModelCallStarted { turn: 1, worst_micro_usd };
        let log = [started(50_000), started(50_000), turn];
        let calls = model_calls(&log);
        let rows: Vec<_> = calls.iter().map(|call| row(call, 0)).collect();
        assert_eq!(rows[0][2..], ["turn 1", "(no answer)", "0", "0", "0", "0", "0", "$0.05", ""]);
        assert_eq!(rows[1][0], "3");
        assert_eq!(rows[1][4..10], ["1 000", "600", "10", "40", "30", "$0.02"]);
        assert!(!rows[1][3].contains('\u{1b}') && !rows[1][10].is_empty(), "{rows:?}");
        let of = by_model(log.iter(), &calls);
        assert_eq!(
            (of.len(), &of[0][1..3], &of[1][..2]),
            (2, &["1".to_owned(), "1 000".into()][..], &[NO_ANSWER.to_owned(), "1".into()][..])
        );
        assert_eq!(object(&calls[0], 5)["answered"], false);
    }

    #[test]
    fn an_answer_of_unknown_price_is_not_free() {
        let usage = Usage { input: 90, output: 10, unpriced: 100, ..Usage::default() };
        assert_eq!(spent(&usage, 0).last().map(String::as_str), Some("price unknown"));
        assert_eq!(spent(&Usage { unpriced: 0, ..usage }, 0).last().map(String::as_str), Some("$0.00"));
    }
}
