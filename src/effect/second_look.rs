//! A second model reads a checkpoint's changes before its review is posted, if the configuration names a reviewer. It is asked at most
//! twice per checkpoint, and no failure holds the review back. Its worst case is charged first, as for every call.

use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::SpendingLimits;
use crate::checkpoint::view::CheckpointView;
use crate::engine::{self, Change, Ready, TurnError};
use crate::llm::Silent;
use crate::llm::retry::Patience;
use crate::redact;
use crate::store::{EffectRow, Store};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Failure, Input, Task, Usage};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time limit of the call.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most calls for one checkpoint.
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
        if asked.contains(&true) || asked.len() >= MOST_CALLS {
            return Ok(false);
        }
        let diff: String = view.diff.iter().map(|part| format!("{}\n", part.text)).collect();
        let change = Change { summary: &view.summary, diff: &diff };
        let key = |what: &str| format!("look:{what}:{}:{n}:{}:{}", task.id, self.epoch, row.tries);
        let label = || reviewer.model.label();
        let ready = match engine::second_look(task, &change, &reviewer.engine, reviewer.model.as_ref()) {
            Ok(ready) => ready,
            // The charge of an earlier try stays.
            Err(_) if !asked.is_empty() => return Ok(false),
            Err(why) => {
                feed.feed(task.id, &key("none"), none(n, why, label())).await?;
                return Ok(true);
            }
        };
        let _paid = self.spending_limits.paid.one();
        {
            let _one = self.spending_limits.spending.lock().await;
            if let Some(reason) = self.spending_limits.spent(task, ready.worst_micro_usd).await? {
                if !asked.is_empty() {
                    return Ok(false);
                }
                feed.feed(task.id, &key("none"), none(n, crate::message::paused(&reason), label())).await?;
                return Ok(true);
            }
            let starting = Input::SecondLookStarting { n, worst_micro_usd: ready.worst_micro_usd };
            // Paused meanwhile: the resume asks again.
            if feed.feed(task.id, &key("asks"), starting).await?.is_none_or(|now| !now.state.busy()) {
                return Ok(false);
            }
        }
        let Some(said) = answered(reviewer, &ready, n).await else { return Ok(true) };
        feed.feed(task.id, &key("said"), said).await?;
        Ok(true)
    }
}

/// The reviewer's answer; none if the call may have been charged without one: its charge stays, and the log shows no answer.
async fn answered(reviewer: &ConfiguredModel, ready: &Ready, n: u32) -> Option<Input> {
    let (patience, cancel) = (Patience::default(), CancellationToken::new());
    let call = engine::converse(reviewer.model.as_ref(), ready, &Silent, &patience, &cancel);
    match tokio::time::timeout(PATIENCE, call).await.unwrap_or(Err(TurnError::Cancelled)) {
        Ok(answer) => Some(Input::SecondLooked {
            n,
            text: redact::in_words(crate::text::cut(&answer.text, LONGEST).0),
            usage: answer.usage,
            micro_usd: answer.micro_usd,
            duration_ms: answer.duration_ms,
            model: answer.model,
        }),
        Err(error) => {
            tracing::warn!(n, %error, "no second look");
            (!error.may_cost()).then(|| none(n, redact::in_words(&words_of(&error)), reviewer.model.label()))
        }
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
