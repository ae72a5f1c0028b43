//! A second model reads a checkpoint's changes before its review is posted, if the configuration names a reviewer. Its fallbacks are asked
//! where it does not answer. At most two calls per checkpoint may lose their answers, and no failure holds the review back.

use super::ask_models::{self, Inquired, Inquiry, ModelAsker};
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::{SpendingLimits, unpaid};
use crate::checkpoint::view::CheckpointView;
use crate::engine::{self, Change, Ready, Tries, TurnAnswer, TurnError};
use crate::redact;
use crate::store::{EffectRow, Store};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Failure, Input, Task};
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
        let tries = Tries::of(log.iter().filter_map(|(_, event)| of_this(event)));
        if tries.is_over() || tries.lost() >= MOST_CALLS {
            return Ok(false);
        }
        let diff: String = view.diff.iter().map(|part| format!("{}\n", part.text)).collect();
        let change = Change { summary: &view.summary, diff: &diff };
        let look = Look { n, change };
        let (spending_limits, limit) = (&*self.spending_limits, PATIENCE);
        let asker = ModelAsker { spending_limits, feed, task: task.id, epoch: self.epoch, tries: row.tries, limit };
        let why = match asker.ask(task, &reviewer.each(), &look).await? {
            // What was refused before a pause is in the log too; who resumes has the review without a look then.
            Inquired::Answered(..) | Inquired::Refused(_) | Inquired::Lost | Inquired::Stopped => return Ok(true),
            Inquired::Unfit(why) => why,
            Inquired::Spent(reason) => unpaid(&reason),
        };
        // The charge of an earlier try stays.
        if tries != Tries::default() {
            return Ok(false);
        }
        let nothing = look.answered(0, ask_models::none(why, reviewer.model.label()));
        feed.feed(task.id, &asker.key(&look, "none"), nothing).await?;
        Ok(true)
    }
}

/// The question about one checkpoint.
struct Look<'a> {
    n: u32,
    change: Change<'a>,
}

impl Inquiry for Look<'_> {
    fn name(&self) -> (&'static str, String) {
        ("look", self.n.to_string())
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

    fn words_of(&self, error: &TurnError) -> String {
        words_of(error)
    }
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
