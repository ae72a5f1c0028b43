//! Asks the models of a list one question beside the conversation: a person's question, a second look, a summary. Each try's worst case is
//! charged before it. A model that certainly did not answer gets a stored answer of no tokens, which takes its charge back, and the next
//! model of the list is asked where a conversation would be continued by it too. Tests: `tests/stories/fallbacks.rs`.

use super::configured_model::ConfiguredModel;
use super::money::SpendingLimits;
use crate::engine::{self, Ready, TurnAnswer, TurnError};
use crate::llm::Silent;
use crate::llm::retry::Patience;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Input, PauseReason, Task};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A question that any model of a list may answer.
pub(super) trait Inquiry: Sync {
    /// Time limit of all tries together.
    fn limit(&self) -> Duration;

    /// Key of an input that is fed for the first model of the list.
    fn key(&self, what: &str) -> String;

    /// The call to this model; the error says why there is none.
    fn ready(&self, task: &Task, configured: &ConfiguredModel) -> Result<Ready, String>;

    /// The input that charges a try; `before` counts the tries before it.
    fn starting(&self, before: u32, worst_micro_usd: u64) -> Input;

    /// Whether the task still needs the answer.
    fn is_open(&self, task: &Task) -> bool;

    /// The input that stores the answer.
    fn answered(&self, before: u32, answer: TurnAnswer) -> Input;

    /// The input that stores that this model did not answer, and cost nothing.
    fn refused(&self, before: u32, error: &TurnError, label: String) -> Input;
}

/// Result of an inquiry.
pub(super) enum Inquired {
    /// The answer of the model at this place of the list is stored. The task after it; none if the input was fed before.
    Answered(usize, Option<Box<Task>>),
    /// No model answered, which cost nothing and is stored. The task as with an answer.
    Refused(Option<Box<Task>>),
    /// A call may have been charged without an answer: its charge stays.
    Lost,
    /// The call to the first model cannot be made; with the reason. Nothing is stored.
    Unfit(String),
    /// The call to the first model may not be paid. Nothing is stored.
    Spent(PauseReason),
    /// The task no longer needs an answer.
    Stopped,
}

/// Asks with these limits and this feed.
pub(super) struct ModelAsker<'a> {
    pub spending_limits: &'a SpendingLimits,
    pub feed: &'a dyn Feed,
}

impl ModelAsker<'_> {
    /// Asks the models in their order until one answers. A fallback whose call does not fit or may not be paid is left out.
    pub(super) async fn ask(
        &self,
        task: &Task,
        models: &[&ConfiguredModel],
        inquiry: &dyn Inquiry,
    ) -> Result<Inquired, Trouble> {
        let _paid = self.spending_limits.paid.one();
        let end = Instant::now() + inquiry.limit();
        let (mut now, mut before) = (task.clone(), 0);
        for (at, configured) in models.iter().copied().enumerate() {
            // A call that would certainly be cut off is not paid for.
            if at > 0 && end.saturating_duration_since(Instant::now()) < inquiry.limit() / 4 {
                break;
            }
            let key = |what: &str| match at {
                0 => inquiry.key(what),
                _ => format!("{}:{}", inquiry.key(what), configured.entry.id),
            };
            let ready = match self.charged(&now, configured, inquiry, before, &key("asks")).await? {
                Ok(ready) => ready,
                Err(Inquired::Stopped) => return Ok(Inquired::Stopped),
                Err(why) if at == 0 => return Ok(why),
                Err(_) => continue,
            };
            let patience = patience(inquiry.limit(), at + 1 == models.len());
            let error = match called(configured, &ready, &patience, end).await {
                Ok(answer) => {
                    let input = inquiry.answered(before, answer);
                    let after = self.feed.feed(task.id, &key("said"), input).await?;
                    return Ok(Inquired::Answered(at, after.map(Box::new)));
                }
                Err(error) => error,
            };
            tracing::warn!(task = %task.id, model = configured.entry.id.as_str(), %error, "a model did not answer");
            if error.may_cost() {
                return Ok(Inquired::Lost);
            }
            let input = inquiry.refused(before, &error, configured.model.label());
            let after = self.feed.feed(task.id, &key("said"), input).await?;
            now = match after {
                Some(after) if error.fallback().is_some() => after,
                after => return Ok(Inquired::Refused(after.map(Box::new))),
            };
            before += 1;
        }
        Ok(Inquired::Refused(Some(Box::new(now))))
    }

    /// The call, once its worst case is charged; otherwise why it is not made.
    async fn charged(
        &self,
        task: &Task,
        configured: &ConfiguredModel,
        inquiry: &dyn Inquiry,
        before: u32,
        key: &str,
    ) -> Result<Result<Ready, Inquired>, Trouble> {
        let ready = match inquiry.ready(task, configured) {
            Ok(ready) => ready,
            Err(why) => return Ok(Err(Inquired::Unfit(why))),
        };
        let _one = self.spending_limits.spending.lock().await;
        if let Some(reason) = self.spending_limits.spent(task, ready.worst_micro_usd).await? {
            return Ok(Err(Inquired::Spent(reason)));
        }
        let starting = inquiry.starting(before, ready.worst_micro_usd);
        let charged = self.feed.feed(task.id, key, starting).await?;
        Ok(match charged {
            Some(after) if inquiry.is_open(&after) => Ok(ready),
            _ => Err(Inquired::Stopped),
        })
    }
}

/// How long a model is waited for within the limit: one before the last of its list gives way to the next before the time is over.
fn patience(limit: Duration, last: bool) -> Patience {
    let usual = Patience::default();
    if last { usual } else { Patience { longest: usual.longest.min(limit / 10), ..usual } }
}

async fn called(
    configured: &ConfiguredModel,
    ready: &Ready,
    patience: &Patience,
    end: Instant,
) -> Result<TurnAnswer, TurnError> {
    let cancel = CancellationToken::new();
    let call = engine::converse(configured.model.as_ref(), ready, &Silent, patience, &cancel);
    tokio::time::timeout_at(end, call).await.unwrap_or(Err(TurnError::Cancelled))
}

#[cfg(test)]
mod tests {
    use super::patience;
    use std::time::Duration;

    #[test]
    fn what_a_model_waits_for_leaves_the_next_one_time() {
        let limit = Duration::from_secs(120);
        let all = |last| patience(limit, last).longest * (patience(limit, last).tries - 1);
        assert!(all(false) < limit * 3 / 4, "{:?}", all(false));
        assert_eq!(patience(limit, true), crate::llm::retry::Patience::default());
    }
}
