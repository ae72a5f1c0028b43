//! Applies the events of turns and actions to a task.

use super::Task;
use crate::{Call, CallRequest, Event, QuestionSubject, Reply, State, Usage, plan};

impl Task {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the next part takes the others; `taken_before` names all")]
    pub(super) fn apply_work(&mut self, event: &Event) {
        match event {
            Event::SecondLookStarted { n, worst_micro_usd } => {
                self.charge_worst(*worst_micro_usd);
                self.looking = Some(*n);
            }
            Event::SecondLooked { usage, micro_usd, duration_ms, .. } => self.charge(usage, *micro_usd, *duration_ms),
            Event::ReplyStarted { worst_micro_usd, .. } => {
                self.spent.micro_usd += worst_micro_usd;
                self.reply_worst = *worst_micro_usd;
            }
            // An answer to a person's question costs money and tokens, but neither work time nor an action.
            Event::Replied(Reply { usage, micro_usd, .. }) => {
                self.spent.tokens += usage.total();
                self.spent.unpriced += usage.unpriced;
                self.spent.micro_usd = self.spent.micro_usd.saturating_sub(self.reply_worst) + micro_usd;
                self.reply_worst = 0;
            }
            Event::SummaryStarted { worst_micro_usd, .. } => self.charge_worst(*worst_micro_usd),
            Event::Summarised { summary } => self.charge(&summary.usage, summary.micro_usd, summary.duration_ms),
            Event::ModelCallStarted { worst_micro_usd, .. } => {
                self.charge_worst(*worst_micro_usd);
                self.model_starts += 1;
                self.charged = true;
            }
            Event::ModelCallUncharged { fallback, .. } => {
                if let Some(fallback) = fallback {
                    self.answering = Some(fallback.to.clone());
                }
                self.spent.micro_usd = self.spent.micro_usd.saturating_sub(self.model_worst);
                self.model_worst = 0;
                self.model_starts = self.model_starts.saturating_sub(1);
                self.charged = false;
            }
            Event::TurnCompleted { turn, calls, usage, micro_usd, duration_ms, .. } => {
                self.turn = *turn;
                self.restarted = false;
                self.charge(usage, *micro_usd, *duration_ms);
                (self.model_starts, self.charged) = (0, false);
                self.noted |= self.only_notes(calls);
                self.waiting = calls.iter().cloned().enumerate().map(|(i, c)| (i as u32, c)).collect();
            }
            _ => self.apply_calls(event),
        }
    }

    /// Whether calls of the agent only note something, so that nothing is done by them: a plan, or another answer to a remark that has one.
    pub(crate) fn only_notes(&self, calls: &[CallRequest]) -> bool {
        let notes = |request: &CallRequest| match &request.call {
            Call::UpdatePlan { .. } => true,
            Call::AnswerRemark { answer } => {
                self.numbered.known(answer.remark).is_some_and(|remark| !remark.is_open() || remark.answer.is_some())
            }
            Call::Action { .. }
            | Call::Recall { .. }
            | Call::Ask { .. }
            | Call::Done { .. }
            | Call::Malformed { .. } => false,
        };
        !calls.is_empty() && calls.iter().all(notes)
    }

    /// Charges the worst case of a call that is about to be made.
    fn charge_worst(&mut self, worst_micro_usd: u64) {
        self.spent.micro_usd += worst_micro_usd;
        (self.model_worst, self.looking) = (worst_micro_usd, None);
    }

    /// Replaces the worst case by the actual cost of the answer.
    fn charge(&mut self, usage: &Usage, micro_usd: u64, duration_ms: u64) {
        self.spent.tokens += usage.total();
        self.spent.unpriced += usage.unpriced;
        self.spent.micro_usd = self.spent.micro_usd.saturating_sub(self.model_worst) + micro_usd;
        (self.model_worst, self.looking) = (0, None);
        self.spent.work_ms += duration_ms;
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the next part takes the others; `taken_before` names all")]
    fn apply_calls(&mut self, event: &Event) {
        match event {
            Event::CallAnswered { turn, index, malformed, .. } => {
                self.waiting.retain(|(i, _)| i != index);
                // An answer counts once, however many of its calls can't be carried out.
                if *malformed && self.malformed_in != *turn {
                    (self.malformed, self.malformed_in) = (self.malformed.saturating_add(1), *turn);
                }
            }
            // Actions that requests now leave out may be recalled again.
            Event::Compacted { .. } => self.recalls = 0,
            Event::Recalled { index, .. } => {
                self.waiting.retain(|(i, _)| i != index);
                self.recalls = self.recalls.saturating_add(1);
            }
            Event::Asked { turn, index, question } => {
                self.waiting.retain(|(i, _)| i != index);
                self.question = Some(question.clone());
                self.questions = self.questions.saturating_add(1);
                (self.malformed, self.noted) = (0, false);
                let about = QuestionSubject::Question { turn: *turn, index: *index };
                self.state = State::Asking { about, number: None };
            }
            Event::Nudged { .. } => self.malformed += 1,
            Event::ActionStarted { number, index, .. } => self.start_action(*number, *index),
            Event::ActionFinished { outcome, .. } => {
                self.no_action();
                self.lost = false;
                self.spent.work_ms += outcome.duration_ms;
            }
            // A new conversation gets its own chance to call.
            Event::AnotherWay { .. } => {
                (self.other_ways, self.malformed, self.noted) = (self.other_ways.saturating_add(1), 0, false);
            }
            Event::ConversationRestarted => self.restarted = true,
            Event::PlanUpdated { plan, steps, by } => {
                self.plan_noted = by.is_none();
                self.plan = Some(plan.clone());
                self.steps = if steps.is_empty() { plan::read(plan) } else { steps.clone() };
                self.plan_changed = true;
            }
            Event::DoneSaid { index, summary, .. } => {
                self.waiting.retain(|(i, _)| i != index);
                self.summary = Some(summary.clone());
                (self.malformed, self.noted) = (0, false);
            }
            _ => self.apply_checkpoint(event),
        }
    }

    fn start_action(&mut self, number: u32, index: u32) {
        let taken = self.waiting.iter().find(|(at, _)| *at == index).map(|(_, request)| &request.call);
        let changes = taken.is_some_and(Call::may_change_the_tree);
        self.action = taken.and_then(Call::action).cloned();
        self.waiting.retain(|(i, _)| *i != index);
        (self.running, self.actions) = (Some(number), number);
        self.lost = false;
        (self.recalls, self.questions, self.refused) = (0, 0, false);
        self.used = self.used.saturating_add(1);
        self.spent.actions += 1;
        (self.malformed, self.noted) = (0, false);
        if changes {
            (self.uncommitted, self.not_kept) = (true, false);
        }
    }
}
