//! One model call. Its worst case is charged before it goes out; the whole answer and the true charge arrive in one step.
//! Repeated freely: a call whose answer was lost costs its worst case, and three of them pause the task.

use super::{EffectRunner, Speaker};
use crate::engine::style::round::{self, Step};
use crate::engine::style::{Style, settled};
use crate::engine::{self, Ready, TurnError};
use crate::llm::deltas::Tally;
use crate::llm::retry::Patience;
use crate::store::EffectRow;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, PauseReason, State, Task};
use std::ops::ControlFlow;
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
        let style = self.style(task).await?;
        let (mut purse, log) = match self.before(task, turn, style, row, feed).await? {
            ControlFlow::Continue(ahead) => ahead,
            ControlFlow::Break(input) => return Ok(input),
        };
        let speaker = self.who(task, style, &log);
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
                match self.noted("compacted", task, turn, input, row, feed).await? {
                    Some(shortened) => ready = prepare(&shortened),
                    None => return Ok(Input::Settled),
                }
            }
        }
        let ready = match ready {
            Ok(ready) => ready,
            Err(refusal) => return Ok(Input::PauseAsked { reason: refusal.reason() }),
        };
        match self.charged(task, turn, &ready, row, feed).await? {
            Some(instead) => Ok(instead),
            None => self.call(task, speaker, &ready, row, feed).await,
        }
    }

    /// What comes before a request: what the host does in the model's place, what it reads for it, and whether the work gets anywhere.
    /// Gives the task with what it may spend, and the log; or what the effect ends with.
    async fn before(
        &self,
        task: &Task,
        turn: u32,
        style: Style,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<ControlFlow<Input, (Task, Vec<Event>)>, Trouble> {
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        if style == Style::Files && task.state == State::Running {
            if let Some(answer) = settled(task, &log) {
                return Ok(ControlFlow::Break(answer.into_input()));
            }
            match round::next(task, &log) {
                Step::Ask => {}
                Step::Say(answer) => return Ok(ControlFlow::Break(answer.into_input())),
                Step::Stop(sentence) => {
                    let reason = PauseReason::Stuck { sentence };
                    return Ok(ControlFlow::Break(Input::PauseAsked { reason }));
                }
            }
            // Paused meanwhile: the resume asks anew.
            let looked = self.looked(task, turn, log, row, feed).await?;
            return Ok(looked.map_or(ControlFlow::Break(Input::Settled), ControlFlow::Continue));
        }
        let stuck = engine::way_out(task, &log).filter(|_| style != Style::Files && !row.held);
        match stuck {
            None => Ok(ControlFlow::Continue((task.clone(), log))),
            Some(another @ Input::AnotherWay { .. }) => {
                let anew = self.noted("another", task, turn, another, row, feed).await?;
                Ok(anew.map_or(ControlFlow::Break(Input::Settled), |log| ControlFlow::Continue((task.clone(), log))))
            }
            Some(pause) => Ok(ControlFlow::Break(pause)),
        }
    }

    /// Charges the call's worst case before it goes out; gives what the effect ends with where it may not.
    async fn charged(
        &self,
        task: &Task,
        turn: u32,
        ready: &Ready,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Option<Input>, Trouble> {
        if row.held {
            return Ok(None);
        }
        let _one = self.spending.lock().await;
        if let Some(reason) = self.day_spent(task, ready.worst_micro_usd).await? {
            return Ok(Some(Input::PauseAsked { reason }));
        }
        let starting = Input::ModelCallStarting { turn, worst_micro_usd: ready.worst_micro_usd };
        let key = format!("model:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
        match feed.feed(task.id, &key, starting).await? {
            Some(now) if now.state == State::Running => Ok(None),
            // Paused meanwhile: the resume asks anew.
            _ => Ok(Some(Input::Settled)),
        }
    }

    async fn call(
        &self,
        task: &Task,
        speaker: &Speaker,
        ready: &Ready,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Input, Trouble> {
        let patience = Patience::default();
        let (model, tally) = (speaker.model.as_ref(), Tally::default());
        // Dropping this future ends the call; the outbox drops it when the task ends.
        let answer = engine::converse(model, ready, &tally, &patience, &CancellationToken::new()).await;
        tracing::debug!(task = %task.id, turn = ready.turn, arrived = tally.summary(), "a model call ended");
        match answer {
            Ok(answer) => Ok(answer.into_input()),
            Err(error) => {
                let unspent = !error.may_cost();
                let trouble = trouble(error);
                match trouble {
                    Trouble::Later { .. } if unspent => self.store.hold_charge(row.id).await?,
                    Trouble::Failed(_) if unspent => self.release(task, ready.turn, row, feed).await?,
                    Trouble::Later { .. } | Trouble::Failed(_) | Trouble::Moved { .. } | Trouble::Doubtful { .. } => {}
                }
                Err(trouble)
            }
        }
    }

    /// Who is asked: the planner, where work that got nowhere begins anew.
    fn who(&self, task: &Task, style: Style, log: &[Event]) -> &Speaker {
        let newest = log.iter().rev().find_map(|event| match event {
            Event::AnotherWay { .. } => Some(true),
            Event::TurnCompleted { .. } => Some(false),
            _ => None,
        });
        match newest {
            Some(true) if style == Style::Tools => &self.planner,
            _ => self.speaker(task),
        }
    }

    /// The log with this taken in, which its next request obeys; none when the task went another way meanwhile.
    async fn noted(
        &self,
        what: &str,
        task: &Task,
        turn: u32,
        input: Input,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Option<Vec<Event>>, Trouble> {
        let key = format!("{what}:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
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
