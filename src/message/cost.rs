//! The answer to `/cost`: what a task used, by model, and what is left.

use super::about::About;
use crate::text::{self, count, dollars, duration, grouped, plain_cell};
use domain::{Event, Usage};
use std::fmt::Write as _;

/// Usage and cost of one model.
#[derive(Debug, PartialEq, Eq)]
pub struct OfModel {
    /// Its label, as reviews show it. Foreign.
    pub model: String,
    /// Number of answers.
    pub calls: u64,
    /// Tokens of these calls.
    pub usage: Usage,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

/// Sums over a task's log, in the order in which models were first called; answers of the host do not count.
pub fn sums<'a>(log: impl IntoIterator<Item = &'a Event>) -> Vec<OfModel> {
    let mut all: Vec<OfModel> = Vec::new();
    for answer in log.into_iter().filter_map(Event::call_answer).filter(|answer| answer.is_of_a_model()) {
        let at = all.iter().position(|it| it.model == answer.model).unwrap_or_else(|| {
            all.push(OfModel { model: answer.model.to_owned(), calls: 0, usage: Usage::default(), micro_usd: 0 });
            all.len() - 1
        });
        all[at].calls += 1;
        all[at].usage += answer.usage;
        all[at].micro_usd += answer.micro_usd;
    }
    all
}

/// What the task used and may still use; `of` are the sums by model, if they were read.
pub fn cost(about: &About<'_>, of: &[OfModel]) -> String {
    let (spent, granted) = (&about.task.spent, &about.task.granted);
    let mut out =
        format!("What task {} has used so far:\n\n| | used | granted | left |\n|---|---|---|---|\n", about.task.id);
    let mut row = |name: &str, used: u64, granted: u64, shown: fn(u64) -> String| {
        let unpriced = if name == "money" { spent.unpriced } else { 0 };
        let (most, left) = match granted {
            0 => ("no limit".to_owned(), String::new()),
            most => (shown(most), shown(most.saturating_sub(used))),
        };
        let used = if unpriced > 0 { text::cost(used, unpriced) } else { shown(used) };
        let _ = writeln!(out, "| {name} | {used} | {most} | {left} |");
    };
    row("money", spent.micro_usd, granted.micro_usd, dollars);
    row("tokens", spent.tokens, granted.tokens, grouped);
    row("actions", spent.actions, granted.actions, grouped);
    row("working time", spent.work_ms, granted.work_ms, duration);
    if !of.is_empty() {
        out.push_str("\n| model | answers | tokens | from cache | thought | money |\n|---|---|---|---|---|---|\n");
        for OfModel { model, calls, usage, micro_usd } in of {
            let tokens = [usage.total(), usage.cache_read, usage.reasoning].map(grouped).join(" | ");
            let _ = writeln!(
                out,
                "| {} | {calls} | {tokens} | {} |",
                plain_cell(model),
                text::cost(*micro_usd, usage.unpriced)
            );
        }
        let told: u64 = of.iter().map(|it| it.micro_usd).sum();
        let beside = spent.micro_usd.saturating_sub(told);
        if beside > 0 {
            let _ = writeln!(
                out,
                "\n{} of the money is the most that a call may have cost whose answer is awaited, or was lost.",
                dollars(beside)
            );
        }
    }
    if spent.unpriced > 0 {
        let _ = writeln!(
            out,
            "\n{} of the tokens are of a model whose price is unknown here: what they cost is not in the money, and no limit in dollars holds for them. The operator can say it (`price_input`, `price_output`).",
            grouped(spent.unpriced)
        );
    }
    let since = count(u64::from(about.task.used), "action");
    match about.task.state.ended() {
        true => out.push_str("\nIt is over; only an answer to a question about it (`/ask`) still costs anything."),
        false => {
            let _ = write!(out, "\n{since} since the last decision. `/budget …` grants more.");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(model: &str, input: u64, micro_usd: u64) -> Event {
        Event::TurnCompleted {
            turn: 1,
            text: String::new(),
            calls: Vec::new(),
            usage: Usage { input, ..Usage::default() },
            micro_usd,
            duration_ms: 1,
            model: model.into(),
            vendor: None,
        }
    }

    #[test]
    fn each_model_is_summed_up_with_its_summaries_and_the_host_is_none() {
        let summary = domain::ModelSummary {
            of: domain::SummaryOf::Turns { upto: 1, from: 0, to: 0 },
            text: String::new(),
            trust: domain::Trust::None,
            usage: Usage { input: 3, output: 4, cache_read: 5, cache_write: 0, reasoning: 2, unpriced: 0 },
            micro_usd: 6,
            duration_ms: 1,
            model: "b".into(),
        };
        let summarised = Event::Summarised { summary: Box::new(summary) };
        let log = [turn("a", 10, 5), turn("the host", 0, 0), turn("b", 1, 0), turn("a", 2, 3), summarised];
        let of =
            |it: OfModel| (it.model, it.calls, it.usage.total(), it.usage.cache_read, it.usage.reasoning, it.micro_usd);
        let found: Vec<_> = sums(&log).into_iter().map(of).collect();
        assert_eq!(found, [("a".to_owned(), 2, 12, 0, 0, 8), ("b".to_owned(), 2, 13, 5, 2, 6)]);
    }

    #[test]
    fn what_a_task_used() {
        let usage =
            Usage { input: 1_200, output: 340, cache_read: 56_000, cache_write: 800, reasoning: 90, unpriced: 0 };
        let of = |model: &str, calls, micro_usd| OfModel { model: model.into(), calls, usage, micro_usd };
        let mut task = domain::Task::new(domain::TaskId(3));
        task.spent = domain::Spent { micro_usd: 420_000, tokens: 116_680, actions: 7, work_ms: 61_000, unpriced: 0 };
        task.granted = domain::Budget { micro_usd: 5_000_000, tokens: 2_000_000, actions: 100, work_ms: 0 };
        task.used = 2;
        let about = About { task: &task, pull_url: None, scripted: false, line: None };
        let models = [of("m (OpenAI)", 12, 300_000), of("small | one", 1, 20_000)];
        insta::assert_snapshot!("cost", cost(&about, &models));
    }

    #[test]
    fn an_unknown_price_is_not_free() {
        let usage = Usage { input: 900, output: 100, unpriced: 1_000, ..Usage::default() };
        let mut task = domain::Task::new(domain::TaskId(3));
        task.spent = domain::Spent { tokens: 1_000, unpriced: 1_000, ..domain::Spent::default() };
        task.granted = domain::Budget { micro_usd: 5_000_000, ..domain::Budget::default() };
        let about = About { task: &task, pull_url: None, scripted: false, line: None };
        let text = cost(&about, &[OfModel { model: "own".into(), calls: 1, usage, micro_usd: 0 }]);
        for words in [
            "| money | price unknown | $5.00 |",
            "| 1 | 1 000 | 0 | 0 | price unknown |",
            "1 000 of the tokens are of a model whose price is unknown here",
        ] {
            assert!(text.contains(words), "{words} is missing:\n{text}");
        }
        assert!(!text.contains("$0.00"), "{text}");
    }
}
