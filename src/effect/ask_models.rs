//! Asks the models of a list one question beside the conversation: a person's question, a second look, a summary. Each try's worst case is
//! charged before it. A model that certainly did not answer gets a stored answer of no tokens, which takes its charge back, and the next
//! model of the list is asked where a conversation would be continued by it too. Tests: below, and `tests/stories/fallbacks.rs`.

use super::configured_model::ConfiguredModel;
use super::money::SpendingLimits;
use crate::engine::{self, Ready, TurnAnswer, TurnError};
use crate::llm::Silent;
use crate::llm::retry::Patience;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Input, PauseReason, Task, TaskId, Usage};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A question that any model of a list may answer.
pub(super) trait Inquiry: Sync {
    /// What distinguishes it in the keys of its inputs: its kind, and its number or name within the task.
    fn name(&self) -> (&'static str, String);

    /// The call to this model; the error says why there is none.
    fn ready(&self, task: &Task, configured: &ConfiguredModel) -> Result<Ready, String>;

    /// The input that charges a try; `before` counts the tries before it.
    fn starting(&self, before: u32, worst_micro_usd: u64) -> Input;

    /// Whether the task still needs the answer.
    fn is_open(&self, task: &Task) -> bool;

    /// The input that stores the answer of a try.
    fn answered(&self, before: u32, answer: TurnAnswer) -> Input;

    /// The host's words that are stored in place of an answer.
    fn words_of(&self, _error: &TurnError) -> String {
        String::new()
    }
}

/// Result of an inquiry.
pub(super) enum Inquired {
    /// A model answered, and the task took the answer if it still could. The task after it; none if it was fed before.
    Answered(TurnAnswer, Option<Box<Task>>),
    /// No model answered, which cost nothing and is stored.
    Refused,
    /// A call may have been charged without an answer: its charge stays.
    Lost,
    /// The call to the first model that was considered cannot be made; with the reason. Nothing is stored.
    Unfit(String),
    /// The call to the first model that was considered may not be paid. Nothing is stored.
    Spent(PauseReason),
    /// The task no longer needs an answer, or was paused; what was refused until then is stored.
    Stopped,
}

/// Asks within these limits, and stores by this feed.
pub(super) struct ModelAsker<'a> {
    pub spending_limits: &'a SpendingLimits,
    pub feed: &'a dyn Feed,
    pub task: TaskId,
    /// Number of this process's epoch.
    pub epoch: i64,
    /// Number of tries of the effect that asks.
    pub tries: i64,
    /// Time limit of all models together.
    pub limit: Duration,
}

impl ModelAsker<'_> {
    /// Asks the models in their order, from position `begin` on, until one answers. A fallback whose call does not fit or may not be paid
    /// is left out.
    pub(super) async fn ask(
        &self,
        task: &Task,
        models: &[&ConfiguredModel],
        begin: usize,
        inquiry: &dyn Inquiry,
    ) -> Result<Inquired, Trouble> {
        let _paid = self.spending_limits.paid.one();
        let end = Instant::now() + self.limit;
        let (mut now, mut before, mut left_out) = (task.clone(), 0, None);
        for (at, configured) in models.iter().copied().enumerate().skip(begin) {
            // A call that would certainly be cut off is not paid for.
            let rest = end.saturating_duration_since(Instant::now());
            let Some(share) = share(self.limit, rest, models.len() - at) else { break };
            let key = |what: &str| match at {
                0 => self.key(inquiry, what),
                _ => format!("{}:{}", self.key(inquiry, what), configured.entry.id),
            };
            let ready = match self.charged(&now, configured, inquiry, before, &key("asks")).await? {
                Ok(ready) => ready,
                Err(Inquired::Stopped) => return Ok(Inquired::Stopped),
                Err(why) if at == 0 => return Ok(why),
                Err(why) => {
                    left_out.get_or_insert(why);
                    continue;
                }
            };
            let error = match called(configured, &ready, share, end).await {
                Ok(answer) => {
                    let input = inquiry.answered(before, answer.clone());
                    let after = self.feed.feed(self.task, &key("said"), input).await?;
                    return Ok(Inquired::Answered(answer, after.map(Box::new)));
                }
                Err(error) => error,
            };
            tracing::warn!(task = %self.task, model = configured.entry.id.as_str(), %error, "a model did not answer");
            if error.may_cost() {
                return Ok(Inquired::Lost);
            }
            let nothing = none(inquiry.words_of(&error), configured.model.label());
            let after = self.feed.feed(self.task, &key("said"), inquiry.answered(before, nothing)).await?;
            now = match after {
                // A fallback that the request does not fit into is left out here too.
                Some(after) if error.fallback().is_some() || at > 0 && error.is_full() => after,
                _ => return Ok(Inquired::Refused),
            };
            before += 1;
        }
        Ok(match left_out {
            Some(why) if before == 0 => why,
            _ => Inquired::Refused,
        })
    }

    /// Key of an input about this question.
    pub(super) fn key(&self, inquiry: &dyn Inquiry, what: &str) -> String {
        let (kind, name) = inquiry.name();
        format!("{kind}:{what}:{}:{name}:{}:{}", self.task, self.epoch, self.tries)
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
        if let Some(reason) = self.spending_limits.spent(task, ready.worst_micro_usd, self.feed).await? {
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

/// The models' labels, by which stored answers name them.
pub(super) fn labels(models: &[&ConfiguredModel]) -> Vec<String> {
    models.iter().map(|configured| configured.model.label()).collect()
}

/// An answer of no tokens: the host's own words, why there is none.
pub(super) fn none(text: String, model: String) -> TurnAnswer {
    let (calls, usage) = (Vec::new(), Usage::default());
    TurnAnswer { turn: 0, text, calls, usage, micro_usd: 0, duration_ms: 0, model, vendor: None }
}

/// How long the next of `left` models is asked again: it has its share of the time that is left, and its last request a while of it. None
/// if that time is too short for an answer.
fn share(limit: Duration, rest: Duration, left: usize) -> Option<Duration> {
    let least = limit / 8;
    let share = rest / u32::try_from(left).unwrap_or(u32::MAX);
    (rest >= least).then(|| share.saturating_sub(least))
}

async fn called(
    configured: &ConfiguredModel,
    ready: &Ready,
    share: Duration,
    end: Instant,
) -> Result<TurnAnswer, TurnError> {
    let patience = Patience { until: Some(Instant::now() + share), ..Patience::default() };
    let cancel = CancellationToken::new();
    let call = engine::converse(configured.model.as_ref(), ready, &Silent, &patience, &cancel);
    tokio::time::timeout_at(end, call).await.unwrap_or(Err(TurnError::Cancelled))
}

#[cfg(test)]
mod tests {
    use super::share;
    use std::time::Duration;

    #[test]
    fn each_model_of_a_list_has_its_share_of_the_time() {
        let of = |rest, left| share(Duration::from_secs(120), Duration::from_secs(rest), left).map(|it| it.as_secs());
        assert_eq!((of(120, 1), of(120, 3)), (Some(105), Some(25)));
        assert_eq!((of(20, 2), of(14, 1)), (Some(0), None), "one request, and none");
    }
}
