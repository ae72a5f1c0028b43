//! What all tasks together may spend in a day: looked at before each model call, whose worst case counts.

use super::repository::request;
use crate::clock::now;
use crate::config::Process;
use crate::store::{Store, day_began};
use crate::text::dollars;
use crate::trouble::Trouble;
use domain::{PauseReason, Task};
use std::sync::Arc;

/// What may still be spent.
pub(super) struct Purse {
    pub config: Arc<Process>,
    pub store: Store,
    /// Held from the look at what a day may cost until the call is charged.
    pub spending: tokio::sync::Mutex<()>,
}

impl Purse {
    /// Why a call that may cost so many millionths of a dollar is not made today; none when it may.
    pub(super) async fn day_spent(&self, task: &Task, worst_micro_usd: u64) -> Result<Option<PauseReason>, Trouble> {
        let key = &request(task)?.repository;
        let (all, own) = (self.config.budget.day(), self.config.budget_of(key).day());
        let own = own.filter(|_| self.config.repository(key).is_some_and(|entry| entry.budget.is_some()));
        let since = day_began(now());
        let days = [(all, None, "budget.day_dollars"), (own, Some(key.as_str()), "repositories.budget.day_dollars")];
        for (most, of, name) in days {
            let Some(most) = most else { continue };
            if worst_micro_usd > most {
                let (worst, most) = (dollars(worst_micro_usd), dollars(most));
                return Ok(Some(PauseReason::DaySpent {
                    sentence: format!(
                        "one call may cost {worst}, and a whole day only {most} (`{name}`): the operator has to raise it, or lower `max_output_tokens` of the model"
                    ),
                }));
            }
            let spent = self.store.spent_since(since, of).await?;
            if spent.saturating_add(worst_micro_usd) > most {
                let whose = of.map_or_else(|| "all repositories".to_owned(), |key| format!("the repository {key}"));
                return Ok(Some(PauseReason::DaySpent {
                    sentence: format!(
                        "{} of {} that {whose} may use today is spent, and the next call may cost {} (`{name}`); the next day begins at midnight UTC",
                        dollars(spent),
                        dollars(most),
                        dollars(worst_micro_usd)
                    ),
                }));
            }
        }
        Ok(None)
    }
}
