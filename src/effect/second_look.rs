//! A second model reads a checkpoint's changes before its review is posted, if the configuration names a reviewer. It is asked at most
//! twice per checkpoint, and no failure holds the review back. Its worst case is charged first, as for every call.

use super::configured_model::ConfiguredModels;
use super::money::SpendingLimits;
use crate::checkpoint::view::CheckpointView;
use crate::engine::{self, Change, TurnError};
use crate::llm::Silent;
use crate::llm::retry::Patience;
use crate::redact;
use crate::store::{EffectRow, Store};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, Task, Usage};
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
        let Some(ready) = engine::second_look(task, &change, &reviewer.engine, reviewer.model.as_ref()) else {
            tracing::info!(task = %task.id, n, "no second look: it does not fit into the model or the budget");
            return Ok(false);
        };
        let key = |what: &str| format!("look:{what}:{}:{n}:{}:{}", task.id, self.epoch, row.tries);
        let _paid = self.spending_limits.paid.one();
        {
            let _one = self.spending_limits.spending.lock().await;
            if self.spending_limits.spent(task, ready.worst_micro_usd).await?.is_some() {
                return Ok(false);
            }
            let starting = Input::SecondLookStarting { n, worst_micro_usd: ready.worst_micro_usd };
            // Paused meanwhile: the resume asks again.
            if feed.feed(task.id, &key("asks"), starting).await?.is_none_or(|now| !now.state.busy()) {
                return Ok(false);
            }
        }
        let (patience, cancel) = (Patience::default(), CancellationToken::new());
        let call = engine::converse(reviewer.model.as_ref(), &ready, &Silent, &patience, &cancel);
        let answer = tokio::time::timeout(PATIENCE, call).await.unwrap_or(Err(TurnError::Cancelled));
        let said = match answer {
            Ok(answer) => Input::SecondLooked {
                n,
                text: redact::without(crate::text::cut(&answer.text, LONGEST).0.to_owned()),
                usage: answer.usage,
                micro_usd: answer.micro_usd,
                duration_ms: answer.duration_ms,
                model: answer.model,
            },
            Err(error) => {
                tracing::warn!(task = %task.id, n, %error, "no second look");
                if error.may_cost() {
                    return Ok(false);
                }
                let (text, usage, model) = (String::new(), Usage::default(), reviewer.model.label());
                Input::SecondLooked { n, text, usage, micro_usd: 0, duration_ms: 0, model }
            }
        };
        feed.feed(task.id, &key("said"), said).await?;
        Ok(true)
    }
}
