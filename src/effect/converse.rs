//! One model call. Its worst case is charged before it goes out; the whole answer and the true charge arrive in one step.
//! Repeated freely: a call whose answer was lost costs its worst case, and three of them pause the task.

use super::EffectRunner;
use crate::engine::style::round::{self, Step};
use crate::engine::style::{Style, settled};
use crate::engine::{self, TurnError};
use crate::llm::deltas::Tally;
use crate::llm::retry::Patience;
use crate::store::EffectRow;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, PauseReason, State, Task};
use tokio_util::sync::CancellationToken;

impl EffectRunner {
    pub(super) async fn converse(
        &self,
        task: &Task,
        turn: u32,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Input, Trouble> {
        // Nothing is paid for where its repository is not configured any more.
        self.configured(task)?;
        let mut log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        let (style, speaker) = (self.style(task).await?, self.speaker(task));
        let mut purse = task.clone();
        if style == Style::Files && task.state == State::Running {
            if let Some(answer) = settled(task, &log) {
                return Ok(answer.into_input());
            }
            match round::next(task, &log) {
                Step::Ask => {}
                Step::Say(answer) => return Ok(answer.into_input()),
                Step::Stop(sentence) => return Ok(Input::PauseAsked { reason: PauseReason::Stuck { sentence } }),
            }
            match self.looked(task, turn, log, row, feed).await? {
                Some(looked) => (purse, log) = looked,
                // Paused meanwhile: the resume asks anew.
                None => return Ok(Input::Settled),
            }
        }
        if row.held {
            if task.state != State::Running {
                self.release(task, turn, row, feed).await?;
                return Ok(Input::Settled);
            }
            // It is this call's own charge.
            purse.spent.micro_usd = purse.spent.micro_usd.saturating_sub(task.model_worst);
        }
        let prepare = |log: &[Event]| engine::prepare(&purse, log, style, &speaker.engine, speaker.model.as_ref());
        let mut ready = prepare(&log);
        // One that went out before stays as it was.
        if let Some(tokens) = engine::prompt_tokens(&ready).filter(|_| !row.held) {
            let sizes = (tokens, speaker.model.context_tokens());
            if let Some(input) = engine::compaction_due(task, &log, style, &speaker.engine, sizes) {
                match self.compacted(task, turn, input, row, feed).await? {
                    Some(shortened) => ready = prepare(&shortened),
                    None => return Ok(Input::Settled),
                }
            }
        }
        let ready = match ready {
            Ok(ready) => ready,
            Err(refusal) => return Ok(Input::PauseAsked { reason: refusal.reason() }),
        };
        if !row.held {
            let _one = self.spending.lock().await;
            if let Some(reason) = self.day_spent(task, ready.worst_micro_usd).await? {
                return Ok(Input::PauseAsked { reason });
            }
            let starting = Input::ModelCallStarting { turn, worst_micro_usd: ready.worst_micro_usd };
            let key = format!("model:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
            match feed.feed(task.id, &key, starting).await? {
                Some(now) if now.state == State::Running => {}
                // Paused meanwhile: the resume asks anew.
                _ => return Ok(Input::Settled),
            }
        }
        let patience = Patience::default();
        let (model, tally) = (speaker.model.as_ref(), Tally::default());
        // Dropping this future ends the call; the outbox drops it when the task ends.
        let answer = engine::converse(model, &ready, &tally, &patience, &CancellationToken::new()).await;
        tracing::debug!(task = %task.id, turn, arrived = tally.summary(), "a model call ended");
        match answer {
            Ok(answer) => Ok(answer.into_input()),
            Err(error) => {
                let unspent = !error.may_cost();
                let trouble = trouble(error);
                match trouble {
                    Trouble::Later { .. } if unspent => self.store.hold_charge(row.id).await?,
                    Trouble::Failed(_) if unspent => self.release(task, turn, row, feed).await?,
                    Trouble::Later { .. } | Trouble::Failed(_) | Trouble::Moved { .. } | Trouble::Doubtful { .. } => {}
                }
                Err(trouble)
            }
        }
    }

    /// The log, with what its next request leaves out; none when the task went another way meanwhile.
    async fn compacted(
        &self,
        task: &Task,
        turn: u32,
        input: Input,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Option<Vec<Event>>, Trouble> {
        let key = format!("compacted:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
        match feed.feed(task.id, &key, input).await? {
            Some(now) if now.state == State::Running => {
                let log = self.store.log(task.id).await?;
                Ok(Some(log.into_iter().map(|(_, event)| event).collect()))
            }
            _ => Ok(None),
        }
    }

    /// Takes a charge back that was not spent.
    async fn release(&self, task: &Task, turn: u32, row: &EffectRow, feed: &dyn Feed) -> Result<(), Trouble> {
        let key = format!("refused:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
        feed.feed(task.id, &key, Input::ModelCallRefused { turn }).await?;
        Ok(())
    }
}

fn trouble(error: TurnError) -> Trouble {
    match error {
        TurnError::Cancelled => Trouble::later("the model call was called off"),
        TurnError::Later { sentence, after_ms, .. } => Trouble::Later { sentence, after_ms },
        TurnError::Failed(failure) => Trouble::Failed(failure),
    }
}
