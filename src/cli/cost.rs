//! `caisson cost`: costs of model calls, by day, repository, model or task. Read-only, and works while a bot is running.

use super::printer::Printer;
use super::store::location;
use crate::clock::now;
use crate::config::Process;
use crate::store::{Cost, CostBy, DAY_MS, Store, day_began, month_began};
use crate::text::{cost, dollars, grouped};
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::path::Path;

/// By what to sum up.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Day,
    Repository,
    Model,
    Task,
}

/// A call whose answer was lost, or is awaited, counts with its worst case. Deleted tasks are counted until their month ends.
#[derive(Debug, Args)]
pub struct CostCommand {
    /// What each line is of.
    #[arg(long, value_enum, default_value = "day")]
    by: By,
    /// How many days back, today (UTC) included.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

impl CostCommand {
    /// Prints the sums.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn run(self, config: &Path) -> Result<()> {
        let config = Process::load(config)?;
        let printer = Printer::terminal();
        let since = day_began(now()) - i64::from(self.days - 1) * DAY_MS;
        let (by, name) = match self.by {
            By::Day => (CostBy::Day, "day"),
            By::Repository => (CostBy::Repository, "repository"),
            By::Model => (CostBy::Model, "model"),
            By::Task => (CostBy::Task, "task"),
        };
        let store = Store::look(location(&config)?).await?;
        let rows = match &store {
            Some(store) => store.costs(by, since).await?,
            None => Vec::new(),
        };
        let rows: Vec<Cost> = rows.into_iter().map(|row| Cost { of: shown(by, &row.of), ..row }).collect();
        if self.json {
            for row in &rows {
                printer.json(&serde_json::to_value(row)?);
            }
            return Ok(());
        }
        if rows.is_empty() {
            printer.hint(&format!("no model was called in the last {} day(s)", self.days));
            return Ok(());
        }
        let number = |value: i64| grouped(u64::try_from(value).unwrap_or(0));
        let count = |value: i64| u64::try_from(value).unwrap_or(0);
        let money = |micro_usd: i64, unpriced: i64| cost(count(micro_usd), count(unpriced));
        let cells = |row: &Cost| {
            let tokens = [row.calls, row.input, row.cache_read, row.cache_write, row.output, row.reasoning].map(number);
            [vec![row.of.clone()], tokens.to_vec(), vec![money(row.micro_usd, row.unpriced)]].concat()
        };
        let table: Vec<Vec<String>> = rows.iter().map(cells).collect();
        printer.table(&[name, "calls", "read", "from cache", "to cache", "written", "of it thought", "cost"], &table);
        printer.hint(&format!("together {}", together(&rows)));
        match &store {
            Some(store) => limits(store, &config, &printer).await,
            None => Ok(()),
        }
    }
}

/// What all of it cost.
fn together(rows: &[Cost]) -> String {
    let sum = |of: fn(&Cost) -> i64| u64::try_from(rows.iter().map(of).sum::<i64>()).unwrap_or(0);
    cost(sum(|row| row.micro_usd), sum(|row| row.unpriced))
}

/// Prints what may still be spent in the day and month, if that is limited.
async fn limits(store: &Store, config: &Process, printer: &Printer) -> Result<()> {
    let own = config.own_budgets().map(|(key, budget)| (Some(key), budget));
    for (key, budget) in std::iter::once((None, &config.budget)).chain(own) {
        let limits = [("today", day_began(now()), budget.day()), ("this month", month_began(now()), budget.month())];
        for (when, since, most) in limits {
            let Some(most) = most else { continue };
            let spent = store.spent_since(since, key).await?;
            let whose = key.unwrap_or("all repositories");
            printer.say(&format!("{when}: {} of {} for {whose}", dollars(spent), dollars(most)));
        }
    }
    Ok(())
}

fn shown(by: CostBy, of: &str) -> String {
    match by {
        CostBy::Day => of.parse().map_or_else(|_| of.to_owned(), date),
        CostBy::Model if of.is_empty() => "(no answer)".to_owned(),
        CostBy::Repository | CostBy::Model | CostBy::Task => of.to_owned(),
    }
}

/// The date of a day counted from 1970.
fn date(days: i64) -> String {
    jiff::Timestamp::from_second(days * 86_400)
        .map_or_else(|_| days.to_string(), |at| at.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_written_as_dates() {
        let days = [0, 58, 59, 365, 11_016, 20_782].map(date);
        assert_eq!(days, ["1970-01-01", "1970-02-28", "1970-03-01", "1971-01-01", "2000-02-29", "2026-11-25"]);
    }
}
