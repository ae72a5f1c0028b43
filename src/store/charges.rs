//! Costs of model calls: one row each, written with the event that charged it, so that a day or a repository can be summed without folding
//! tasks. The sum of a task's rows equals the spending in its log. Tests: `contract/charges.rs`.

use super::{Store, StoreError};
use domain::{CallAnswer, CallPurpose, Event, TaskId, Usage};
use sqlx::{AnyConnection, FromRow};

/// Grouping of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// A row for each day (UTC), newest first.
    Day,
    /// A row for each repository.
    Repository,
    /// A row for each model.
    Model,
    /// A row for each task, newest first.
    Task,
}

/// One line of `caisson cost`.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, serde::Serialize)]
pub struct Cost {
    /// The day (days since 1970), the repository's key, the model's label or the task's number; an empty model stands for a lost answer.
    pub of: String,
    /// Number of model calls.
    pub calls: i64,
    /// Tokens of prompts that were neither read from a cache nor written to one.
    pub input: i64,
    /// Tokens of answers.
    pub output: i64,
    /// Part of `output`: hidden reasoning, as far as servers report it.
    pub reasoning: i64,
    /// Tokens of prompts that were read from a cache.
    pub cache_read: i64,
    /// Tokens of prompts that were written to a cache.
    pub cache_write: i64,
    /// Millionths of a US dollar.
    pub micro_usd: i64,
    /// Of the tokens: those whose price is unknown, so that `micro_usd` has nothing of them.
    pub unpriced: i64,
}

/// One day in milliseconds.
pub const DAY_MS: i64 = 24 * 3600 * 1000;

/// Beginning of the day (UTC) of an instant, both in Unix milliseconds.
pub fn day_began(now: i64) -> i64 {
    now - now.rem_euclid(DAY_MS)
}

/// Beginning of the calendar month (UTC) of an instant, both in Unix milliseconds.
pub fn month_began(now: i64) -> i64 {
    let first = jiff::Timestamp::from_millisecond(now).ok().and_then(|at| {
        let day = at.to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
        day.to_zoned(jiff::tz::TimeZone::UTC).ok()
    });
    // For an instant outside of any calendar everything counts.
    first.map_or(0, |at| at.timestamp().as_millisecond())
}

const SPENT: &str = "SELECT CAST(COALESCE(SUM(micro_usd), 0) AS BIGINT) FROM charges WHERE at >= $1";
const SPENT_OF: &str =
    "SELECT CAST(COALESCE(SUM(micro_usd), 0) AS BIGINT) FROM charges WHERE at >= $1 AND repository = $2";

impl Store {
    /// Millionths of a US dollar charged since this time (Unix milliseconds), in one repository if one is named; includes worst cases of
    /// calls under way.
    pub async fn spent_since(&self, since: i64, repository: Option<&str>) -> Result<u64, StoreError> {
        let readers = self.readers();
        let query = match repository {
            None => sqlx::query_scalar(SPENT).bind(since),
            Some(key) => sqlx::query_scalar(SPENT_OF).bind(since).bind(key),
        };
        let spent: i64 = self.read(query.fetch_one(&readers)).await?;
        Ok(u64::try_from(spent).unwrap_or(0))
    }

    /// Sums of the costs since this time.
    pub async fn costs(&self, by: CostBy, since: i64) -> Result<Vec<Cost>, StoreError> {
        let (of, order) = match by {
            CostBy::Day => ("CAST(at / 86400000 AS TEXT)", "MAX(at) DESC"),
            CostBy::Repository => ("repository", "micro_usd DESC, repository"),
            CostBy::Model => ("model", "micro_usd DESC, model"),
            CostBy::Task => ("CAST(task AS TEXT)", "MAX(task) DESC"),
        };
        let sums = ["input", "output", "reasoning", "cache_read", "cache_write", "micro_usd", "unpriced"];
        let sums = sums.map(|it| format!("CAST(SUM({it}) AS BIGINT) AS {it}")).join(", ");
        // `micro_usd` in the order is the alias of the sum.
        let sql = format!(
            "SELECT {of} AS of, COUNT(*) AS calls, {sums} FROM charges WHERE at >= $1 GROUP BY {of} ORDER BY {order}"
        );
        let readers = self.readers();
        self.read(sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(since).fetch_all(&readers)).await
    }
}

/// The turn that a call is charged to; 0 for a second look and a summary, negative for a person's question.
fn of_turn(purpose: CallPurpose) -> i64 {
    match purpose {
        CallPurpose::Turn(turn) => i64::from(turn),
        CallPurpose::SecondLook(_) | CallPurpose::Summary => 0,
        CallPurpose::Reply(call) => -i64::from(call),
    }
}

/// Without the last value, whether the answer is pending.
const INSERT: &str = "INSERT INTO charges (task, seq, turn, at, repository, model, input, output, cache_read, cache_write, micro_usd, reasoning, unpriced, open) \
                      SELECT $1, $2, $3, $4, repository, $5, $6, $7, $8, $9, $10, $11, $12, ";

/// Writes what an event charged or refunded, as the fold of the log does.
pub(super) async fn project(
    c: &mut AnyConnection,
    id: TaskId,
    seq: i64,
    event: &Event,
    now: i64,
) -> Result<(), StoreError> {
    if let Some((purpose, worst_micro_usd)) = event.call_start() {
        let is_question = matches!(purpose, CallPurpose::Reply(_));
        // An answer still pending is lost, and its worst case stays charged. A question runs beside other calls and is never pending.
        if !is_question {
            sqlx::query("UPDATE charges SET open = FALSE WHERE task = $1 AND open").bind(id.0).execute(&mut *c).await?;
        }
        let open = if is_question { "FALSE" } else { "TRUE" };
        let sql = sqlx::AssertSqlSafe(format!("{INSERT} {open} FROM tasks WHERE id = $1"));
        let query = sqlx::query(sql).bind(id.0).bind(seq).bind(of_turn(purpose)).bind(now).bind("");
        let query = query.bind(0_i64).bind(0_i64).bind(0_i64).bind(0_i64).bind(worst_micro_usd as i64);
        query.bind(0_i64).bind(0_i64).execute(c).await?;
    } else if let Some(answer) = event.call_answer() {
        answered(c, id, seq, &answer, now).await?;
    } else if matches!(event, Event::ModelCallUncharged { .. }) {
        sqlx::query("DELETE FROM charges WHERE task = $1 AND open").bind(id.0).execute(c).await?;
    } else if matches!(event, Event::CheckpointPosted { .. } | Event::Answered { .. }) {
        // A second look or summary whose answer was lost stays charged.
        sqlx::query("UPDATE charges SET open = FALSE WHERE task = $1 AND open").bind(id.0).execute(c).await?;
    }
    Ok(())
}

/// Replaces the worst case by what the answer cost.
async fn answered(
    c: &mut AnyConnection,
    id: TaskId,
    seq: i64,
    answer: &CallAnswer<'_>,
    now: i64,
) -> Result<(), StoreError> {
    let Usage { input, output, cache_read, cache_write, reasoning, unpriced } = answer.usage;
    let [input, output, cache_read, cache_write, reasoning, unpriced, micro_usd] =
        [input, output, cache_read, cache_write, reasoning, unpriced, answer.micro_usd].map(|it| it as i64);
    // A person's question is found by its number, because other calls are pending beside it.
    let is_question = matches!(answer.purpose, CallPurpose::Reply(_));
    let row = if is_question { "turn = $10" } else { "open" };
    let sql = format!(
        "UPDATE charges SET model = $2, input = $3, output = $4, cache_read = $5, cache_write = $6, micro_usd = $7, \
         reasoning = $8, unpriced = $9, open = FALSE WHERE task = $1 AND {row}"
    );
    let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.0).bind(answer.model).bind(input).bind(output);
    let query = query.bind(cache_read).bind(cache_write).bind(micro_usd).bind(reasoning).bind(unpriced);
    let query = if is_question { query.bind(of_turn(answer.purpose)) } else { query };
    let known = query.execute(&mut *c).await?.rows_affected() > 0;
    // Started under a version that stored no charges; the host's own answers cost nothing.
    if !known && !is_question && answer.is_of_a_model() {
        let sql = sqlx::AssertSqlSafe(format!("{INSERT} FALSE FROM tasks WHERE id = $1"));
        let query = sqlx::query(sql).bind(id.0).bind(seq).bind(of_turn(answer.purpose)).bind(now).bind(answer.model);
        let query = query.bind(input).bind(output).bind(cache_read).bind(cache_write).bind(micro_usd);
        query.bind(reasoning).bind(unpriced).execute(c).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, month_began};

    #[test]
    fn a_month_begins_on_its_first_day_at_midnight() {
        // 1970, a leap year's February and March, and the last millisecond of a year.
        let days = [(0, 0), (30, 0), (31, 31), (11_016, 10_988), (11_017, 11_017)];
        for (day, first) in days {
            assert_eq!(month_began(day * DAY_MS + 5), first * DAY_MS, "day {day}");
            assert_eq!(month_began((day + 1) * DAY_MS - 1), first * DAY_MS, "day {day}");
        }
        assert_eq!(month_began(i64::MAX), 0);
    }
}
