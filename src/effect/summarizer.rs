//! Has a model summarize older turns of a conversation, or a part of a file. The worst case is charged first, as for every call, and the
//! answer is an event; any failure ends the wait.

use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::SpendingLimits;
use crate::engine::style::Style;
use crate::engine::{self, Ready, TurnError, summarize};
use crate::llm::Silent;
use crate::llm::retry::Patience;
use crate::redact;
use crate::store::Store;
use crate::text::cut;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, ModelSummary, State, SummaryOf, Task, Trust, Usage};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time limit of the call.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most characters kept of an answer.
const LONGEST: usize = 8_000;

/// Asks for summaries.
pub(super) struct Summarizer {
    pub models: Arc<ConfiguredModels>,
    pub store: Store,
    pub spending_limits: Arc<SpendingLimits>,
    /// Number of this process's epoch.
    pub epoch: i64,
}

/// One request for a summary.
pub(super) struct Question<'a> {
    pub of: SummaryOf,
    /// The lowest trust of the texts that are shown.
    pub trust: Trust,
    pub ready: Ready,
    pub configured: &'a ConfiguredModel,
    /// The most characters kept of the answer.
    pub most: usize,
}

/// Result of a request.
pub(super) enum SummaryOutcome {
    /// The task with the answer in its log; the answer may be empty.
    Stored(Box<Task>),
    /// There is no answer; with the reason for people and models. The log may say that a call was made.
    None(String),
}

impl Summarizer {
    /// The model that summarizes files: the configured summarizer, otherwise the task's own model.
    ///
    /// # Errors
    /// As [`ConfiguredModels::there`].
    pub(super) fn of(&self, task: &Task) -> Result<&ConfiguredModel, Trouble> {
        match self.models.summarizer(task) {
            Some(own) => Ok(own),
            None => self.models.there(task).map(|()| self.models.of(task)),
        }
    }

    /// Summarizes the turns that were just left out of the conversation, if a summarizer is configured and that is due. Returns the log
    /// after it, or none if nothing was asked; `worker` is the model of the conversation.
    pub(super) async fn summarize_turns(
        &self,
        task: &Task,
        log: &[Event],
        (style, worker): (Style, &ConfiguredModel),
        tries: i64,
        feed: &dyn Feed,
    ) -> Result<Option<Vec<Event>>, Trouble> {
        let Some(configured) = self.models.summarizer(task) else { return Ok(None) };
        let Some(of @ SummaryOf::Turns { upto, .. }) = summarize::due(task, log) else { return Ok(None) };
        let ready = summarize::turns(task, log, upto, &worker.engine, &configured.engine, configured.model.as_ref());
        let Some((ready, trust)) = ready else {
            tracing::info!(task = %task.id, upto, "no summary: it does not fit into the model or the budget");
            return Ok(None);
        };
        let context_tokens = worker.model.context_tokens();
        let fitting = |summary| summarize::fitting(task, log, style, &worker.engine, context_tokens, summary);
        let question = Question { of, trust, ready, configured, most: worker.engine.summary_chars };
        self.ask(task, question, (tries, feed), fitting).await?;
        let log = self.store.log(task.id).await?;
        Ok(Some(log.into_iter().map(|(_, event)| event).collect()))
    }

    /// Asks, and stores what `keeps` makes of the answer.
    pub(super) async fn ask(
        &self,
        task: &Task,
        question: Question<'_>,
        (tries, feed): (i64, &dyn Feed),
        keeps: impl FnOnce(ModelSummary) -> ModelSummary,
    ) -> Result<SummaryOutcome, Trouble> {
        let Question { of, trust, ready, configured, most } = question;
        let key = |what: &str| format!("summary:{what}:{}:{}:{}:{tries}", task.id, name(&of), self.epoch);
        let _paid = self.spending_limits.paid.one();
        {
            let _one = self.spending_limits.spending.lock().await;
            if self.spending_limits.spent(task, ready.worst_micro_usd).await?.is_some() {
                return Ok(SummaryOutcome::None("what may be spent in a day is spent".to_owned()));
            }
            let starting = Input::SummaryStarting { of, worst_micro_usd: ready.worst_micro_usd };
            match feed.feed(task.id, &key("asks"), starting).await? {
                Some(now) if now.state == State::Running => {}
                _ => return Ok(SummaryOutcome::None("the work was stopped meanwhile".to_owned())),
            }
        }
        let (patience, cancel) = (Patience::default(), CancellationToken::new());
        let call = engine::converse(configured.model.as_ref(), &ready, &Silent, &patience, &cancel);
        let answer = tokio::time::timeout(PATIENCE, call).await.unwrap_or(Err(TurnError::Cancelled));
        let summary = match answer {
            Ok(answer) => ModelSummary {
                of,
                text: redact::without(cut(answer.text.trim(), most.min(LONGEST)).0.to_owned()),
                trust,
                usage: answer.usage,
                micro_usd: answer.micro_usd,
                duration_ms: answer.duration_ms,
                model: answer.model,
            },
            Err(error) => {
                tracing::warn!(task = %task.id, ?of, %error, "no summary");
                if error.may_cost() {
                    return Ok(SummaryOutcome::None("the model's answer was lost".to_owned()));
                }
                let (text, usage, model) = (String::new(), Usage::default(), configured.model.label());
                ModelSummary { of, text, trust, usage, micro_usd: 0, duration_ms: 0, model }
            }
        };
        match feed.feed(task.id, &key("said"), Input::Summarised { summary: Box::new(keeps(summary)) }).await? {
            Some(now) => Ok(SummaryOutcome::Stored(Box::new(now))),
            None => Ok(SummaryOutcome::None("the work was stopped meanwhile".to_owned())),
        }
    }
}

/// A name that is unique within a task.
fn name(of: &SummaryOf) -> String {
    match of {
        SummaryOf::Turns { upto, .. } => format!("turns-{upto}"),
        SummaryOf::Lines { number, level, from, .. } => format!("lines-{number}-{level}-{from}"),
    }
}
