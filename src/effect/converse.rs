//! One model call. Its worst case is charged before it is sent; the whole answer and the true cost are stored in one step.
//! May be repeated: a call whose answer was lost costs its worst case, and three of them pause the task. If a model does not answer, the
//! next one of its list is asked; the log says which, so that a repeated call begins with the one that answered last.

use super::checks::Checks;
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::SpendingLimits;
use super::pictures::Pictures;
use super::repository::Repositories;
use super::summarizer::Summarizer;
use super::turned_away::TurnedAway;
use crate::engine::style::round::{self, Step};
use crate::engine::style::{Style, settled};
use crate::engine::{self, Ready, TurnError};
use crate::llm::deltas::Tally;
use crate::llm::retry::Patience;
use crate::sandbox::Sandboxes;
use crate::store::{EffectRow, Store};
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Failure, Fallback, FallbackReason, Input, PauseReason, State, Task};
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Parameters that all models of a list are asked with.
#[derive(Clone, Copy)]
struct Asking<'a> {
    turn: u32,
    row: &'a EffectRow,
    feed: &'a dyn Feed,
    style: Style,
    /// Whether there is no fallback model: the charge may then be kept for the effect's next try.
    alone: bool,
    /// Whether the model that is asked is a fallback, so that one whose window is too small is left out.
    is_fallback: bool,
    /// Whether an earlier try charged this very call and cost nothing.
    own_charge: bool,
}

/// A task before its next request.
struct BeforeRequest {
    task: Task,
    /// Whether it makes a new approach with the next answer, which the planner gives.
    anew: bool,
    /// Its log, if nothing was added since it was read.
    log: Option<Vec<Event>>,
}

/// Result of asking one model.
enum ModelOutcome {
    /// The effect's result.
    Ended(Box<Input>),
    /// The model did not answer and cost nothing, so another may be asked.
    FallBack(FallbackReason, Trouble),
}

impl ModelOutcome {
    fn ended(input: Input) -> Self {
        ModelOutcome::Ended(Box::new(input))
    }
}

impl Asking<'_> {
    /// Whether an earlier try charged this call and cost nothing.
    fn holds(&self) -> bool {
        self.own_charge
    }

    /// The key of an input that is fed during this try.
    fn key(&self, what: &str, task: &Task, configured: &ConfiguredModel, epoch: i64) -> String {
        let key = format!("{what}:{}:{}:{epoch}:{}", task.id, self.turn, self.row.tries);
        if self.alone { key } else { format!("{key}:{}", configured.entry.id) }
    }
}

/// Makes the model calls of the work.
pub(super) struct Conversations {
    pub store: Store,
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
    pub checks: Arc<Checks>,
    pub models: Arc<ConfiguredModels>,
    pub spending_limits: Arc<SpendingLimits>,
    pub pictures: Arc<Pictures>,
    pub summarizer: Arc<Summarizer>,
    /// Number of this process's epoch.
    pub epoch: i64,
    pub turned_away: TurnedAway,
}

impl Conversations {
    /// Takes back what the last call of a task that has ended was charged if it certainly cost nothing, because nobody asks again.
    pub(super) async fn settle(&self, task: &Task, feed: &dyn Feed) -> Result<(), Trouble> {
        if self.turned_away.contains(task.id) || self.store.charge_was_kept(task.id).await? {
            let refused = Input::ModelCallRefused { turn: task.turn + 1, fallback: None };
            feed.feed(task.id, &format!("unspent:{}", task.id), refused).await?;
        }
        self.turned_away.forget(task.id);
        Ok(())
    }

    pub(super) async fn converse(
        &self,
        task: &Task,
        turn: u32,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Input, Trouble> {
        // An error if the repository is no longer configured, so that nothing is paid for it.
        self.repositories.configured(task)?;
        self.models.there(task)?;
        let style = self.models.style(task).await?;
        let BeforeRequest { mut task, anew, mut log } = match self.another_way(task, turn, style, row, feed).await? {
            ControlFlow::Continue(ahead) => ahead,
            ControlFlow::Break(input) => return Ok(input),
        };
        // A model that a person named also takes the first step of a new approach.
        let anew = anew && task.model.is_none();
        let models = if anew { self.models.planner(&task).each() } else { self.models.of(&task).each() };
        let alone = models.len() == 1;
        let asking = Asking { turn, row, feed, style, alone, is_fallback: false, own_charge: false };
        let other = row.charge_kept && chosen_since_charged(&self.log(&task).await?);
        let asking = Asking { own_charge: row.charge_kept && !other && asking.alone, ..asking };
        if row.charge_kept && !asking.own_charge {
            // Charged while there was no fallback model, or for a model that a person has replaced since.
            match self.release("replaced", &task, models[0], &Asking { alone: true, ..asking }).await? {
                Some(now) if now.state == State::Running => (task, log) = (now, None),
                _ => return Ok(Input::Settled),
            }
        }
        let begin = models.iter().position(|it| task.answering.as_ref() == Some(&it.entry.id)).unwrap_or(0);
        let (mut later, mut failed) = (None, None);
        for at in (0..models.len()).map(|step| (begin + step) % models.len()) {
            let configured = models[at];
            let asking = Asking { is_fallback: at > 0, ..asking };
            let (why, trouble) = match self.ask(&task, log.take(), configured, &asking).await? {
                ModelOutcome::Ended(input) => return Ok(*input),
                ModelOutcome::FallBack(why, trouble) => (why, trouble),
            };
            let next = &models[(at + 1) % models.len()].entry.id;
            match self.fall_back(&task, configured, next, why, &trouble, &asking).await? {
                Some(now) if now.state == State::Running => task = now,
                // Paused meanwhile: the resume asks again.
                _ => return Ok(Input::Settled),
            }
            let kept = if matches!(trouble, Trouble::Later { .. }) { &mut later } else { &mut failed };
            // The failure of the model that is asked first says what a person can do.
            if why != FallbackReason::Full {
                kept.get_or_insert(trouble);
            }
        }
        // A failure that passes by itself needs no person, so it is preferred.
        Err(later.or(failed).unwrap_or_else(|| Trouble::later("no model was asked")))
    }

    /// Checks whether the work is making progress, and has the conversation restarted if it is not. Breaks with the effect's result if a
    /// person is to be asked, or the task was paused or ended meanwhile.
    async fn another_way(
        &self,
        task: &Task,
        turn: u32,
        style: Style,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<ControlFlow<Input, BeforeRequest>, Trouble> {
        // In this style the host decides what comes next.
        if style == Style::Files {
            return Ok(ControlFlow::Continue(BeforeRequest { task: task.clone(), anew: false, log: None }));
        }
        let log = self.log(task).await?;
        match engine::way_out(task, &log).filter(|_| !row.charge_kept) {
            None => {
                let anew = log.iter().rev().find_map(|event| match event {
                    Event::AnotherWay { .. } => Some(true),
                    Event::TurnCompleted { .. } => Some(false),
                    _ => None,
                });
                let anew = style == Style::Tools && anew == Some(true);
                Ok(ControlFlow::Continue(BeforeRequest { task: task.clone(), anew, log: Some(log) }))
            }
            Some(another @ Input::AnotherWay { .. }) => {
                let key = format!("another:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
                match feed.feed(task.id, &key, another).await? {
                    Some(now) if now.state == State::Running => {
                        Ok(ControlFlow::Continue(BeforeRequest { task: now, anew: style == Style::Tools, log: None }))
                    }
                    _ => Ok(ControlFlow::Break(Input::Settled)),
                }
            }
            Some(pause) => Ok(ControlFlow::Break(pause)),
        }
    }

    async fn log(&self, task: &Task) -> Result<Vec<Event>, Trouble> {
        Ok(self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect())
    }

    /// Takes the charge back, and records which model is asked from now on.
    async fn fall_back(
        &self,
        task: &Task,
        configured: &ConfiguredModel,
        next: &str,
        why: FallbackReason,
        trouble: &Trouble,
        asking: &Asking<'_>,
    ) -> Result<Option<Task>, Trouble> {
        let from = configured.entry.id.clone();
        tracing::warn!(task = %task.id, turn = asking.turn, model = from, next, %trouble, "another model is asked");
        let fallback = Some(Fallback { from, to: next.to_owned(), why });
        let key = asking.key("refused", task, configured, self.epoch);
        Ok(asking.feed.feed(task.id, &key, Input::ModelCallRefused { turn: asking.turn, fallback }).await?)
    }

    /// Asks one model. `log` is the task's log, if nothing was added since it was read.
    async fn ask(
        &self,
        task: &Task,
        log: Option<Vec<Event>>,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<ModelOutcome, Trouble> {
        let Asking { turn, row, feed, style, .. } = *asking;
        let mut log = match log {
            Some(log) => log,
            None => self.log(task).await?,
        };
        let mut current = task.clone();
        if style == Style::Files && task.state == State::Running {
            if let Some(answer) = settled(task, &log) {
                return Ok(ModelOutcome::ended(answer.into_input()));
            }
            match round::next(task, &log) {
                Step::Ask => {}
                Step::Say(answer) => return Ok(ModelOutcome::ended(answer.into_input())),
                Step::Stop(sentence) => return Ok(pause(PauseReason::Stuck { sentence })),
            }
            match self.looked(task, turn, log, row, feed).await? {
                Some(looked) => (current, log) = looked,
                // Paused meanwhile: the resume asks again.
                None => return Ok(ModelOutcome::ended(Input::Settled)),
            }
        }
        let charge_kept = asking.holds();
        if charge_kept && task.state != State::Running {
            self.release("refused", task, configured, asking).await?;
            return Ok(ModelOutcome::ended(Input::Settled));
        }
        if charge_kept {
            // The kept charge is that of this very call.
            current.spent.micro_usd = current.spent.micro_usd.saturating_sub(task.model_worst);
        }
        let mut ready = match self.prepared(task, &current, &log, configured, asking).await? {
            Ok(ready) => ready,
            Err(ended) => {
                if charge_kept {
                    self.release("refused", task, configured, asking).await?;
                }
                let is_full = matches!(&ended, ModelOutcome::Ended(input) if is_window_full(input));
                if asking.is_fallback && is_full {
                    return self.left_out(task, configured, asking).await;
                }
                return Ok(ended);
            }
        };
        self.pictures.put_in(task, &mut ready.request).await?;
        if !charge_kept && let Some(ended) = self.charged(task, &ready, configured, asking).await? {
            return Ok(ended);
        }
        self.called(task, &ready, configured, asking).await
    }

    /// The request, shortened if that is due; or the effect's result if there is none.
    async fn prepared(
        &self,
        task: &Task,
        current: &Task,
        log: &[Event],
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<Result<Ready, ModelOutcome>, Trouble> {
        let prepare = |current: &Task, log: &[Event]| {
            engine::prepare(current, log, asking.style, &configured.engine, configured.model.as_ref())
        };
        let ready = prepare(current, log);
        // A request that was sent before is not changed.
        let Some(tokens) = engine::prompt_tokens(&ready).filter(|_| !asking.holds()) else {
            return Ok(ready.map_err(|refusal| pause(refusal.reason())));
        };
        let sizes = (tokens, configured.model.context_tokens());
        let mut shorter = None;
        if let Some(input) = engine::compaction_due(task, log, asking.style, &configured.engine, sizes) {
            match self.compacted(task, input, configured, asking).await? {
                Some(shortened) => shorter = Some(shortened),
                None => return Ok(Err(ModelOutcome::ended(Input::Settled))),
            }
        }
        let of = (asking.style, configured);
        let now = shorter.as_deref().unwrap_or(log);
        if let Some(told) = self.summarizer.summarize_turns(task, now, of, asking.row.tries, asking.feed).await? {
            shorter = Some(told);
        }
        let Some(shorter) = shorter else { return Ok(ready.map_err(|refusal| pause(refusal.reason()))) };
        // A summary that was paid for leaves less to spend.
        let current = Task::fold(task.id, &shorter);
        if current.state != State::Running {
            return Ok(Err(ModelOutcome::ended(Input::Settled)));
        }
        Ok(prepare(&current, &shorter).map_err(|refusal| pause(refusal.reason())))
    }

    /// Charges the worst case; the effect's result if the call may not be made.
    async fn charged(
        &self,
        task: &Task,
        ready: &Ready,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<Option<ModelOutcome>, Trouble> {
        let _one = self.spending_limits.spending.lock().await;
        if let Some(reason) = self.spending_limits.spent(task, ready.worst_micro_usd, asking.feed).await? {
            return Ok(Some(pause(reason)));
        }
        let starting = Input::ModelCallStarting { turn: asking.turn, worst_micro_usd: ready.worst_micro_usd };
        let key = asking.key("model", task, configured, self.epoch);
        match asking.feed.feed(task.id, &key, starting).await? {
            Some(now) if now.state == State::Running => Ok(None),
            // Paused meanwhile: the resume asks again.
            _ => Ok(Some(ModelOutcome::ended(Input::Settled))),
        }
    }

    /// Records a call that is not sent, because the request does not fit into this fallback's window.
    async fn left_out(
        &self,
        task: &Task,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<ModelOutcome, Trouble> {
        let starting = Input::ModelCallStarting { turn: asking.turn, worst_micro_usd: 0 };
        let key = asking.key("model", task, configured, self.epoch);
        Ok(match asking.feed.feed(task.id, &key, starting).await? {
            Some(now) if now.state == State::Running => {
                let context_tokens = Some(configured.model.context_tokens());
                let trouble = Trouble::Failed(Failure::ContextFull { context_tokens });
                ModelOutcome::FallBack(FallbackReason::Full, trouble)
            }
            // Paused meanwhile: the resume asks again.
            _ => ModelOutcome::ended(Input::Settled),
        })
    }

    /// Makes the call.
    async fn called(
        &self,
        task: &Task,
        ready: &Ready,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<ModelOutcome, Trouble> {
        let patience = Patience::default();
        let (model, tally) = (configured.model.as_ref(), Tally::default());
        let _under_way = self.turned_away.under_way(task.id, &tally);
        // Dropping this future cancels the call; the outbox drops it when the task ends.
        let answer = engine::converse(model, ready, &tally, &patience, &CancellationToken::new()).await;
        tracing::debug!(task = %task.id, turn = asking.turn, arrived = tally.summary(), "a model call ended");
        let error = match answer {
            Ok(answer) => return Ok(ModelOutcome::ended(answer.into_input())),
            Err(error) => error,
        };
        if let TurnError::Pictures(sentence) = error {
            tracing::warn!(task = %task.id, turn = asking.turn, sentence, "asked again without pictures");
            let key = asking.key("pictures", task, configured, self.epoch);
            asking.feed.feed(task.id, &key, Input::PicturesRefused { turn: asking.turn }).await?;
            return Err(Trouble::Later { sentence, after_ms: Some(0) });
        }
        let full = (asking.is_fallback && error.is_full()).then_some(FallbackReason::Full);
        let (unspent, fallback) = (!error.may_cost(), error.fallback().or(full));
        let trouble = self.models.explained(task, configured, trouble(error));
        if let Some(why) = fallback.filter(|_| !asking.alone) {
            return Ok(ModelOutcome::FallBack(why, trouble));
        }
        match trouble {
            Trouble::Later { .. } if unspent => self.store.hold_charge(asking.row.id).await?,
            Trouble::Failed(_) if unspent => drop(self.release("refused", task, configured, asking).await?),
            Trouble::Later { .. } | Trouble::Failed(_) | Trouble::Moved { .. } | Trouble::Doubtful { .. } => {}
        }
        Err(trouble)
    }

    /// The log with what the next request leaves out; none if the task was paused or ended meanwhile.
    async fn compacted(
        &self,
        task: &Task,
        input: Input,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<Option<Vec<Event>>, Trouble> {
        let key = asking.key("compacted", task, configured, self.epoch);
        match asking.feed.feed(task.id, &key, input).await? {
            Some(now) if now.state == State::Running => Ok(Some(self.log(task).await?)),
            _ => Ok(None),
        }
    }

    /// Takes back a charge that was not spent; one try may do so for two reasons, `what`.
    async fn release(
        &self,
        what: &str,
        task: &Task,
        configured: &ConfiguredModel,
        asking: &Asking<'_>,
    ) -> Result<Option<Task>, Trouble> {
        let key = asking.key(what, task, configured, self.epoch);
        let input = Input::ModelCallRefused { turn: asking.turn, fallback: None };
        Ok(asking.feed.feed(task.id, &key, input).await?)
    }
}

/// Whether a person named another model after the newest charge.
fn chosen_since_charged(log: &[Event]) -> bool {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::ModelChosen(_) => Some(true),
        Event::ModelCallStarted { .. } => Some(false),
        _ => None,
    });
    newest == Some(true)
}

/// Whether the result is the pause of a conversation that does not fit into the model's window.
fn is_window_full(input: &Input) -> bool {
    matches!(input, Input::PauseAsked { reason: PauseReason::ContextFull { .. } })
}

fn pause(reason: PauseReason) -> ModelOutcome {
    ModelOutcome::ended(Input::PauseAsked { reason })
}

fn trouble(error: TurnError) -> Trouble {
    match error {
        TurnError::Cancelled => Trouble::later("the model call was called off"),
        TurnError::Later { sentence, after_ms, .. } => Trouble::Later { sentence, after_ms },
        TurnError::Pictures(sentence) => Trouble::later(sentence),
        TurnError::Failed(failure) | TurnError::Refused { failure, .. } => Trouble::Failed(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::chosen_since_charged;
    use domain::{Access, Account, Decision, Event, Source, Verb};

    #[test]
    fn a_charge_is_not_another_models() {
        let charged = Event::ModelCallStarted { turn: 1, worst_micro_usd: 5 };
        let decision = Decision::new(
            Source::Comment(1),
            1,
            (Account { id: 1, login: "alice".into() }, Access::Write),
            Verb::Model { id: "local".into(), among: Vec::new() },
        );
        let chosen = Event::ModelChosen(domain::ModelChosen { id: "local".into(), decision: Box::new(decision) });
        assert!(!chosen_since_charged(&[chosen.clone(), charged.clone()]) && !chosen_since_charged(&[]));
        assert!(chosen_since_charged(&[charged, chosen]));
    }
}
