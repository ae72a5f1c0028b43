//! A second model reads a checkpoint's changes before its review is posted, if the configuration names a reviewer. Its fallbacks are asked
//! where it does not answer. At most two calls per checkpoint may lose their answers, and no failure holds the review back.

use super::ask_models::{Inquired, Inquiry, ModelAsker};
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::SpendingLimits;
use crate::checkpoint::view::CheckpointView;
use crate::engine::{self, Change, Ready, TurnAnswer, TurnError};
use crate::redact;
use crate::store::{EffectRow, Store};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Failure, Input, Task, TaskId, Usage};
use std::sync::Arc;
use std::time::Duration;

/// Time limit of the calls.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most calls for one checkpoint whose answers were lost.
const MOST_CALLS: usize = 2;
/// The most characters kept of an answer.
const LONGEST: usize = 6_000;

/// Asks the reviewer.
pub(super) struct SecondLook {
    pub models: Arc<ConfiguredModels>,
    pub store: Store,
    pub spending_limits: Arc<SpendingLimits>,
    /// Number of this process's epoch.
    pub epoch: i64,
}

impl SecondLook {
    /// Asks the reviewer about the changes of checkpoint `n`, if that is due; the answer is then in the log.
    pub(super) async fn look_again(
        &self,
        task: &Task,
        row: &EffectRow,
        n: u32,
        view: &CheckpointView,
        feed: &dyn Feed,
    ) -> Result<bool, Trouble> {
        let Some(reviewer) = self.models.reviewer(task).filter(|_| !view.diff.is_empty()) else { return Ok(false) };
        let log = self.store.log(task.id).await?;
        let of_this = |event: &Event| match event {
            Event::SecondLooked { n: of, .. } if *of == n => Some(true),
            Event::SecondLookStarted { n: of, .. } if *of == n => Some(false),
            _ => None,
        };
        let asked: Vec<bool> = log.iter().filter_map(|(_, event)| of_this(event)).collect();
        let ended = asked.iter().filter(|answered| **answered).count();
        // A refusal behind which another model was asked is not the end.
        if asked.last() == Some(&true) || asked.len().saturating_sub(2 * ended) >= MOST_CALLS {
            return Ok(false);
        }
        let diff: String = view.diff.iter().map(|part| format!("{}\n", part.text)).collect();
        let change = Change { summary: &view.summary, diff: &diff };
        let look = Look { task: task.id, n, change, epoch: self.epoch, tries: row.tries };
        let asker = ModelAsker { spending_limits: &self.spending_limits, feed };
        let why = match asker.ask(task, &reviewer.each(), &look).await? {
            Inquired::Answered(..) | Inquired::Refused(_) | Inquired::Lost => return Ok(true),
            // Paused meanwhile: the resume asks again.
            Inquired::Stopped => return Ok(false),
            Inquired::Unfit(why) => why,
            Inquired::Spent(reason) => crate::message::paused(&reason),
        };
        // The charge of an earlier try stays.
        if !asked.is_empty() {
            return Ok(false);
        }
        feed.feed(task.id, &look.key("none"), none(n, why, reviewer.model.label())).await?;
        Ok(true)
    }
}

/// The question about one checkpoint.
struct Look<'a> {
    task: TaskId,
    n: u32,
    change: Change<'a>,
    epoch: i64,
    tries: i64,
}

impl Inquiry for Look<'_> {
    fn limit(&self) -> Duration {
        PATIENCE
    }

    fn key(&self, what: &str) -> String {
        format!("look:{what}:{}:{}:{}:{}", self.task, self.n, self.epoch, self.tries)
    }

    fn ready(&self, task: &Task, configured: &ConfiguredModel) -> Result<Ready, String> {
        engine::second_look(task, &self.change, &configured.engine, configured.model.as_ref())
    }

    fn starting(&self, _before: u32, worst_micro_usd: u64) -> Input {
        Input::SecondLookStarting { n: self.n, worst_micro_usd }
    }

    fn is_open(&self, task: &Task) -> bool {
        task.state.busy()
    }

    fn answered(&self, _before: u32, answer: TurnAnswer) -> Input {
        Input::SecondLooked {
            n: self.n,
            text: redact::in_words(crate::text::cut(&answer.text, LONGEST).0),
            usage: answer.usage,
            micro_usd: answer.micro_usd,
            duration_ms: answer.duration_ms,
            model: answer.model,
        }
    }

    fn refused(&self, _before: u32, error: &TurnError, label: String) -> Input {
        none(self.n, redact::in_words(&words_of(error)), label)
    }
}

/// An answer of no tokens: the host's own words, why there is no second look.
fn none(n: u32, why: String, model: String) -> Input {
    Input::SecondLooked { n, text: why, usage: Usage::default(), micro_usd: 0, duration_ms: 0, model }
}

fn words_of(error: &TurnError) -> String {
    match error {
        TurnError::Cancelled => "the call was called off".to_owned(),
        TurnError::Later { sentence, .. } | TurnError::Pictures(sentence) => sentence.clone(),
        TurnError::Failed(failure) | TurnError::Refused { failure, .. } => match failure {
            Failure::Blocked { sentence } => sentence.clone(),
            Failure::Fatal { why } => why.clone(),
            Failure::ContextFull { .. } => "the changes do not fit into its model".to_owned(),
            Failure::SandboxGone { .. } => "the sandbox is gone".to_owned(),
        },
    }
}
