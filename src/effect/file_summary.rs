//! Summarizes a file that is too long to be shown, with a model: part by part, then summaries of summaries. One action, however many calls
//! it takes; each part's summary is in the log, so that an interrupted one does not pay for it again.

use super::act::{Actions, outcome};
use super::ask_models;
use super::configured_model::ConfiguredModel;
use super::summarizer::{Question, SummaryOutcome};
use crate::engine::reading::{self, Next, Reading};
use crate::redact::redacted;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, ModelSummary, Outcome, OutcomeStatus, SummaryOf, Task, Trust};
use protocol::runner::Status;

/// The most characters kept of one part's summary.
const MOST: usize = 1_500;
const NO_ROOM: &str = "the next part does not fit into the model, or into what the task may still spend";

/// Result of one step of a reading.
enum StepResult {
    /// The task, with one more summary in its log.
    Continue(Box<Task>),
    /// The reading is over; with the reason if the end of the file was not reached.
    End(Option<String>),
    /// The file has no lines to show; with the outcome of reading it.
    Unread(Outcome),
}

impl Actions {
    /// Summarizes the file from a line on, as far as limits, budget and models allow.
    pub(super) async fn summarize(
        &self,
        task: &Task,
        number: u32,
        (path, from): (&str, u64),
        (tries, feed): (i64, &dyn Feed),
    ) -> Result<Input, Trouble> {
        let mut now = task.clone();
        let (why, log) = loop {
            let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
            match self.step(&now, number, (path, from), &log, (tries, feed)).await? {
                StepResult::Continue(task) => now = *task,
                StepResult::End(why) => break (why, log),
                StepResult::Unread(outcome) => return Ok(Input::ActionEnded { number, outcome }),
            }
        };
        let model = self.summarizer.of(task)?.model.as_ref();
        let reading = Reading::of(&log, number);
        let outcome = match reading.result(number, reading::at_once(model)) {
            Some((text, last)) => {
                let (calls, tokens) = reading.cost();
                let rest = why.map(|why| format!(". It ends with line {last}: {why}")).unwrap_or_default();
                let note = format!(
                    "a model's words, of {calls} calls and {tokens} tokens: read the lines themselves before you rely on them{rest}"
                );
                Outcome { note: Some(note), ..Outcome::new(OutcomeStatus::Ok, text) }
            }
            None => {
                let why = why.unwrap_or_else(|| "no model answered".to_owned());
                let reason = format!("it could not be told in short: {why}. Read it in parts, or search it");
                Outcome::new(OutcomeStatus::Failed { reason }, "")
            }
        };
        Ok(Input::ActionEnded { number, outcome })
    }

    /// The next step, by the model that answered last or those behind it in the list; or, as after a kill, by those behind the one that
    /// refused last.
    async fn step(
        &self,
        task: &Task,
        number: u32,
        (path, from): (&str, u64),
        log: &[Event],
        (tries, feed): (i64, &dyn Feed),
    ) -> Result<StepResult, Trouble> {
        let reading = Reading::of(log, number);
        let configured = self.summarizer.of(task)?;
        let models = configured.each();
        let behind = reading.next_model(&ask_models::labels(&models));
        if reading.is_over() && behind.is_none() {
            return Ok(StepResult::End(Some("calls to the model gave nothing, or too many were made".to_owned())));
        }
        // The parts' lengths are the first model's, whoever tells them, so that a reading is one.
        let model = configured.model.as_ref();
        let (of, lines, parts) = match reading.next(number, from, reading::at_once(model)) {
            Next::End => return Ok(StepResult::End(rest(&reading, number, model))),
            Next::Join { of, parts } => (of, None, parts),
            Next::Read { from } => {
                let cap = u64::try_from(reading::at_once(model)).unwrap_or(u64::MAX);
                let part = self.sandboxes.looks.lines(task.id.0, path, from, cap).await?;
                let Some((lines, to, total)) = reading::shown(&part.text).filter(|_| part.status == Status::Ok) else {
                    return Ok(StepResult::Unread(outcome(part)));
                };
                let of = SummaryOf::Lines { number, level: 0, from, to, total };
                (of, Some(redacted(lines).0.into_owned()), Vec::new())
            }
        };
        let last = reading.last_model();
        let begin = models.iter().position(|it| last.is_some_and(|last| it.model.label() == last)).unwrap_or(0);
        let question = Question {
            of,
            trust: Trust::None,
            models: &models,
            begin: behind.unwrap_or(begin),
            call: &|now: &Task, it: &ConfiguredModel| match &lines {
                Some(lines) => reading::lines(now, of, lines, &it.engine, it.model.as_ref()),
                None => reading::joined(now, of, &parts, &it.engine, it.model.as_ref()),
            },
            keeps: &|summary: ModelSummary| summary,
            most: MOST,
        };
        Ok(match self.summarizer.ask(task, question, (tries, feed)).await? {
            SummaryOutcome::Stored(now) => StepResult::Continue(now),
            SummaryOutcome::NoRoom => StepResult::End(Some(NO_ROOM.to_owned())),
            SummaryOutcome::None(why) => StepResult::End(Some(why)),
        })
    }
}

/// The reason if the limit on parts ends the reading before the file does.
fn rest(reading: &Reading<'_>, number: u32, model: &dyn crate::llm::Model) -> Option<String> {
    let (_, last) = reading.result(number, reading::at_once(model))?;
    let total = reading.total()?;
    (last < total).then(|| format!("one call reads no more; go on with `summary` true and `from` {}", last + 1))
}
