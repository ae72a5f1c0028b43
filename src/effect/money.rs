//! What all tasks together may spend in a day and in a month, and each task by itself, checked before each model call with its worst case.

use super::repository::{Repositories, request};
use crate::clock::now;
use crate::config::process::Budget;
use crate::store::{Store, day_began, month_began};
use crate::text::dollars;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{PauseReason, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of calls under way that would have to be paid for again if they were cancelled.
#[derive(Debug, Default)]
pub struct Paid(AtomicUsize);

impl Paid {
    /// Counts one more call until the guard is dropped.
    pub fn one(&self) -> impl Drop + '_ {
        self.0.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }

    /// Whether any call is under way.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

struct UnderWay<'a>(&'a Paid);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Checks what may still be spent.
pub(super) struct SpendingLimits {
    /// Calls that shutdown waits for.
    pub paid: Arc<Paid>,
    pub repositories: Arc<Repositories>,
    pub store: Store,
    /// Held from the check of the limits until the call is charged.
    pub spending: tokio::sync::Mutex<()>,
}

/// A period whose costs are limited.
#[derive(Clone, Copy)]
enum Period {
    Day,
    Month,
}

impl Period {
    const ALL: [Self; 2] = [Self::Day, Self::Month];

    fn began(self, now: i64) -> i64 {
        match self {
            Self::Day => day_began(now),
            Self::Month => month_began(now),
        }
    }

    /// The limit in millionths of a US dollar; none = no limit.
    fn most(self, budget: &Budget) -> Option<u64> {
        match self {
            Self::Day => budget.day(),
            Self::Month => budget.month(),
        }
    }

    /// Its key in the configuration.
    fn key(self) -> &'static str {
        match self {
            Self::Day => "day_dollars",
            Self::Month => "month_dollars",
        }
    }

    /// Words for the period that is used up, for one period in general, and for the next one.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Day => ("today", "a whole day", "the next day begins at midnight UTC"),
            Self::Month => ("this month", "a whole month", "the next month begins on its first day at midnight UTC"),
        }
    }

    fn spent(self, sentence: String) -> PauseReason {
        match self {
            Self::Day => PauseReason::DaySpent { sentence },
            Self::Month => PauseReason::MonthSpent { sentence },
        }
    }
}

/// Why a call is not paid, as half a sentence after "because".
pub(super) fn unpaid(reason: &PauseReason) -> String {
    if let PauseReason::DaySpent { sentence } | PauseReason::MonthSpent { sentence } = reason {
        return sentence.clone();
    }
    "a call may cost more than the task may still use (`/cost` says what is left, `/budget …` grants more)".to_owned()
}

impl SpendingLimits {
    /// Why a call of this worst case (millionths of a US dollar) may not be made now; none if it may. `spending` has to be held.
    pub(super) async fn spent(
        &self,
        task: &Task,
        worst_micro_usd: u64,
        feed: &dyn Feed,
    ) -> Result<Option<PauseReason>, Trouble> {
        if !pays(task, worst_micro_usd, feed).await? {
            return Ok(Some(PauseReason::Budget { what: "money".to_owned() }));
        }
        let (key, operators) = (request(task)?.repository.as_str(), self.repositories.operators(task)?);
        let own = operators.own_budget.map(|budget| (Some(key), "repositories.budget", budget));
        let tables = [(None, "budget", operators.shared_budget)].into_iter().chain(own);
        let now = now();
        for (of, table, budget) in tables {
            for period in Period::ALL {
                let Some(most) = period.most(budget) else { continue };
                let name = format!("{table}.{}", period.key());
                let (this, whole, next) = period.words();
                if worst_micro_usd > most {
                    let (worst, most) = (dollars(worst_micro_usd), dollars(most));
                    return Ok(Some(period.spent(format!(
                        "one call may cost {worst}, and {whole} only {most} (`{name}`): the operator has to raise it, or lower `max_output_tokens` of the model"
                    ))));
                }
                let spent = self.store.spent_since(period.began(now), of).await?;
                if spent.saturating_add(worst_micro_usd) > most {
                    let whose = of.map_or_else(|| "all repositories".to_owned(), |key| format!("the repository {key}"));
                    return Ok(Some(period.spent(format!(
                        "{} of {} that {whose} may use {this} is spent, and the next call may cost {} (`{name}`); {next}",
                        dollars(spent),
                        dollars(most),
                        dollars(worst_micro_usd)
                    ))));
                }
            }
        }
        Ok(None)
    }
}

/// Whether a task may pay this itself, as it is now: a call is prepared from an earlier state, and another one may have been charged since.
async fn pays(task: &Task, worst_micro_usd: u64, feed: &dyn Feed) -> Result<bool, Trouble> {
    let present = feed.look(task.id).await?;
    Ok(present.granted.pays(&present.spent, worst_micro_usd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;
    use crate::store::tests::created;
    use domain::{Input, TaskId};

    /// A task as it is now.
    struct Present(Task);

    #[async_trait::async_trait]
    impl Feed for Present {
        async fn look(&self, _: TaskId) -> Result<Task, StoreError> {
            Ok(self.0.clone())
        }

        async fn feed(&self, _: TaskId, _: &str, _: Input) -> Result<Option<Task>, StoreError> {
            Ok(None)
        }
    }

    #[tokio::test]
    async fn what_was_charged_beside_a_call_that_is_prepared_leaves_it_less() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let task = created(&store, "opened:3").await;
        let mut present = task.clone();
        (present.granted.micro_usd, present.spent.micro_usd) = (100, 60);
        assert_eq!(pays(&task, 40, &Present(present.clone())).await, Ok(true));
        assert_eq!(pays(&task, 41, &Present(present.clone())).await, Ok(false));
        present.granted.micro_usd = 0;
        assert_eq!(pays(&task, 41, &Present(present)).await, Ok(true), "no limit in money");
    }

    #[test]
    fn the_reason_names_the_limit_that_was_reached() {
        let month = PauseReason::MonthSpent { sentence: "$5.00 of $5.00 may be used this month".into() };
        assert_eq!(unpaid(&month), "$5.00 of $5.00 may be used this month");
        assert!(unpaid(&PauseReason::Budget { what: "money".into() }).contains("`/budget …`"));
    }
}
