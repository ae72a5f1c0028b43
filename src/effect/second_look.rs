//! A second model reads a checkpoint's changes before its review is posted, if the configuration names a reviewer. Its fallbacks are asked
//! where it does not answer. At most two calls per checkpoint may lose their answers, and no failure holds the review back.

use super::ask_models::{self, Inquired, Inquiry, ModelAsker};
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::{SpendingLimits, unpaid};
use crate::checkpoint::view::CheckpointView;
use crate::engine::{self, CallStep, Change, Ready, Tries, TurnAnswer, TurnError};
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
        let tries = looks(log.iter().map(|(_, event)| event), n);
        let models = reviewer.each();
        let next = tries.next(&ask_models::labels(&models));
        if tries.is_over() && next.is_none() || tries.lost() >= MOST_CALLS {
            return Ok(false);
        }
        let diff: String = view.diff.iter().map(|part| format!("{}\n", part.text)).collect();
        let change = Change { summary: &view.summary, diff: &diff };
        let look = Look { n, change };
        let (spending_limits, limit) = (&*self.spending_limits, PATIENCE);
        let asker = ModelAsker { spending_limits, feed, task: task.id, epoch: self.epoch, tries: row.tries, limit };
        let why = match asker.ask(task, &models, next.unwrap_or(0), &look).await? {
            // What was refused before a pause is in the log too; after the resume the list goes on behind it.
            Inquired::Answered(..) | Inquired::Refused | Inquired::Lost | Inquired::Stopped => return Ok(true),
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

/// The calls about checkpoint `n`.
fn looks<'a>(log: impl Iterator<Item = &'a Event>, n: u32) -> Tries<'a> {
    Tries::of(log.filter_map(|event| match event {
        Event::SecondLooked { n: of, model, usage, .. } if *of == n => Some(CallStep::stored(model, usage.total())),
        Event::SecondLookStarted { n: of, .. } if *of == n => Some(CallStep::Begun),
        _ => None,
    }))
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
        // A note that it was cut off before its first word is no look.
        let words = if engine::is_wordless(&answer.text) { "" } else { answer.text.as_str() };
        Input::SecondLooked {
            n: self.n,
            text: crate::text::cut(&redact::in_words(words), LONGEST).0.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::{Change, Inquiry, Look, ask_models, looks};
    use domain::{Event, Input, Usage};

    #[test]
    fn a_note_that_the_look_was_cut_off_before_its_first_word_is_none() {
        let look = Look { n: 1, change: Change { summary: "", diff: "+x\n" } };
        let stored = |text: &str| match look.answered(0, ask_models::none(text.to_owned(), "m".to_owned())) {
            Input::SecondLooked { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(stored("\n[cut off: the answer reached its limit of 8800 tokens]"), "");
        let half = "1. It panics\n[cut off: the answer reached its limit of 8800 tokens]";
        assert_eq!(stored(half), half);
    }

    #[test]
    fn after_a_kill_the_list_goes_on_behind_the_model_that_refused_the_look() {
        let asked = || Event::SecondLookStarted { n: 1, worst_micro_usd: 5 };
        let looked = |model: &str, output| Event::SecondLooked {
            n: 1,
            text: "words of the host, or of the model".into(),
            usage: Usage { output, ..Usage::default() },
            micro_usd: 0,
            duration_ms: 0,
            model: model.into(),
        };
        let labels = ["strict", "spare"].map(str::to_owned);
        let next = |log: &[Event], n| looks(log.iter(), n).next(&labels);
        let refused = [asked(), looked("strict", 0)];
        assert_eq!((next(&refused, 1), next(&refused, 2)), (Some(1), None));
        assert_eq!(next(&[asked(), looked("strict", 9)], 1), None, "it answered");
        assert_eq!(next(&[looked("strict", 0)], 1), None, "it was not asked, and the review says why");
        let both = [&refused[..], &[asked(), looked("spare", 0)]].concat();
        assert!(next(&both, 1).is_none() && looks(both.iter(), 1).is_over());
    }
}
