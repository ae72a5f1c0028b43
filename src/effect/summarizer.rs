//! Has a model, or its fallbacks, summarize older turns of a conversation, or a part of a file. The worst case is charged first, as for every
//! call, and the answer is an event; any failure ends the wait.

use super::ask_models::{self, Inquired, Inquiry, ModelAsker};
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::{SpendingLimits, unpaid};
use crate::engine::style::Style;
use crate::engine::{Ready, TurnAnswer, is_wordless, summarize};
use crate::redact;
use crate::store::Store;
use crate::text::cut;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, ModelSummary, State, SummaryOf, Task, Trust};
use std::sync::Arc;
use std::time::Duration;

/// Time limit of the calls.
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
    /// Asked in this order until one answers.
    pub models: &'a [&'a ConfiguredModel],
    /// Position of the one that is asked first.
    pub begin: usize,
    /// The call to one of them; none if it does not fit.
    pub call: &'a (dyn Fn(&Task, &ConfiguredModel) -> Option<Ready> + Sync),
    /// What is stored of an answer.
    pub keeps: &'a (dyn Fn(ModelSummary) -> ModelSummary + Sync),
    /// The most characters kept of the answer.
    pub most: usize,
}

/// Result of a request.
pub(super) enum SummaryOutcome {
    /// The task with the answer in its log; the answer may be empty.
    Stored(Box<Task>),
    /// The call does not fit into the model that would be asked first, or into what the task may still spend.
    NoRoom,
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
        let models = configured.each();
        let due = summarize::due(task, log, &ask_models::labels(&models));
        let Some((of @ SummaryOf::Turns { upto, .. }, begin)) = due else { return Ok(None) };
        let context_tokens = worker.model.context_tokens();
        let question = Question {
            of,
            trust: summarize::trust(log, upto),
            models: &models,
            begin,
            call: &|now: &Task, it: &ConfiguredModel| {
                summarize::turns(now, log, upto, &worker.engine, &it.engine, it.model.as_ref())
            },
            keeps: &|summary: ModelSummary| {
                summarize::fitting(task, log, style, &worker.engine, context_tokens, summary)
            },
            most: worker.engine.summary_chars,
        };
        if let SummaryOutcome::NoRoom = self.ask(task, question, (tries, feed)).await? {
            tracing::info!(task = %task.id, upto, "no summary: it does not fit into the model or the budget");
            return Ok(None);
        }
        let log = self.store.log(task.id).await?;
        Ok(Some(log.into_iter().map(|(_, event)| event).collect()))
    }

    /// Asks, and stores what the question keeps of the answer.
    pub(super) async fn ask(
        &self,
        task: &Task,
        question: Question<'_>,
        (tries, feed): (i64, &dyn Feed),
    ) -> Result<SummaryOutcome, Trouble> {
        const STOPPED: &str = "the work was stopped meanwhile";
        let (models, begin, request) = (question.models, question.begin, SummaryRequest { question });
        let (spending_limits, limit) = (&*self.spending_limits, PATIENCE);
        let asker = ModelAsker { spending_limits, feed, task: task.id, epoch: self.epoch, tries, limit };
        Ok(match asker.ask(task, models, begin, &request).await? {
            Inquired::Answered(_, Some(now)) => SummaryOutcome::Stored(now),
            Inquired::Answered(_, None) | Inquired::Stopped => SummaryOutcome::None(STOPPED.to_owned()),
            Inquired::Refused => SummaryOutcome::None("no model answered".to_owned()),
            Inquired::Lost => SummaryOutcome::None("the model's answer was lost".to_owned()),
            Inquired::Unfit(_) => SummaryOutcome::NoRoom,
            Inquired::Spent(reason) => SummaryOutcome::None(unpaid(&reason)),
        })
    }
}

struct SummaryRequest<'a> {
    question: Question<'a>,
}

impl Inquiry for SummaryRequest<'_> {
    fn name(&self) -> (&'static str, String) {
        ("summary", name(&self.question.of))
    }

    fn ready(&self, task: &Task, configured: &ConfiguredModel) -> Result<Ready, String> {
        (self.question.call)(task, configured).ok_or_else(|| "it does not fit".to_owned())
    }

    fn starting(&self, _before: u32, worst_micro_usd: u64) -> Input {
        Input::SummaryStarting { of: self.question.of, worst_micro_usd }
    }

    fn is_open(&self, task: &Task) -> bool {
        task.state == State::Running
    }

    fn answered(&self, _before: u32, answer: TurnAnswer) -> Input {
        let Question { of, trust, keeps, most, .. } = &self.question;
        // Of one that was cut off before its first word nothing stands in place of the host's lines.
        let words = if is_wordless(&answer.text) { "" } else { answer.text.trim() };
        let summary = ModelSummary {
            of: *of,
            text: cut(&redact::redacted(words).0, (*most).min(LONGEST)).0.to_owned(),
            trust: *trust,
            usage: answer.usage,
            micro_usd: answer.micro_usd,
            duration_ms: answer.duration_ms,
            model: answer.model,
        };
        Input::Summarised { summary: Box::new(keeps(summary)) }
    }
}

/// A name that is unique within a task.
fn name(of: &SummaryOf) -> String {
    match of {
        SummaryOf::Turns { upto, .. } => format!("turns-{upto}"),
        SummaryOf::Lines { number, level, from, .. } => format!("lines-{number}-{level}-{from}"),
    }
}
