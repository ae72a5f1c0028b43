//! The task machine: what an input does to a task. Pure and total: an input that does not fit the state changes nothing. Tests:
//! `tests/machine/table.rs`, `tests/machine/properties.rs` (one end, no action past a checkpoint, any prefix folds).

mod advance;
mod artifact;
mod ask;
mod budget;
mod ci;
mod decide;
mod go_on;
mod host;
mod merge;
mod publish;
mod rebase;
mod remark;
mod steer;
mod summary;
mod suspend;
mod unrun;
mod work;

use crate::{
    Account, Commit, Decision, Effect, End, Ending, Envelope, Event, FailedEffect, Failure, Input, Notice, PauseReason,
    Request, State, Task, To, plan,
};

/// Milliseconds after something that followed somebody else's decision in which a bare `/approve` may have meant what was there before.
const DOUBT_MS: i64 = 60_000;

/// Result of an input: events to store, then effects to carry out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// Events to append to the task's log, in order.
    pub events: Vec<Event>,
    /// Effects to put into the outbox, in order.
    pub effects: Vec<Effect>,
}

/// A step that is being built: each event is applied at once, so that what follows sees the new state.
pub(crate) struct Draft {
    pub task: Task,
    pub now: crate::Millis,
    /// Whether the decision was held before: what it is answered now is posted beside what it was answered then.
    pub judged_again: bool,
    step: Step,
}

impl Draft {
    pub fn emit(&mut self, event: Event) {
        self.task.apply(&event);
        self.step.events.push(event);
    }

    pub fn want(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    pub fn say(&mut self, notice: Notice) {
        let at = u32::try_from(self.step.effects.len()).unwrap_or(u32::MAX);
        self.want(Effect::Comment { to: To::Step { seq: self.task.seq, at }, notice });
    }

    /// Posts a notice where the text with this decision is.
    pub fn answer(&mut self, to: &Decision, notice: Notice) {
        let again = self.judged_again.then_some(self.task.seq);
        self.want(Effect::Comment { to: To::Asked { number: to.number, thread: to.thread, again }, notice });
    }

    /// Refuses a decision, and records the reason.
    pub fn refused(&mut self, decision: &Decision, reason: &str) {
        let (source, poster) = (decision.source.clone(), decision.poster.clone());
        self.emit(Event::DecisionRefused { source, poster, reason: reason.to_owned() });
    }

    /// As [`Draft::refused`], and posts a notice where the decision was given.
    pub fn refuse(&mut self, decision: &Decision, reason: &str, notice: Notice) {
        self.refused(decision, reason);
        self.answer(decision, notice);
    }

    pub fn pause(&mut self, reason: PauseReason) {
        advance::end(self, Ending::Paused, true);
        self.emit(Event::Paused { reason: reason.clone() });
        self.rest();
        self.say(Notice::Paused { reason });
    }

    /// Wants the sandbox stopped and its subnet closed, which is so whenever the task does not work.
    pub fn rest(&mut self) {
        self.want(Effect::Rest { serial: self.task.seq });
    }

    pub fn end(&mut self, end: End, notice: Notice) {
        let keep_pull = matches!(end, End::Delivered | End::Expired);
        // A final approval has attached it already.
        let attached = matches!(self.task.state, State::Approved { .. });
        self.over(end);
        self.say(notice);
        // It may have been opened already without anything saying so: then its branch is there.
        let may_have_pull = self.task.pull.is_some() || self.task.pushed.is_some();
        if may_have_pull && !keep_pull {
            self.want(Effect::ClosePull);
        }
        if self.task.actions > 0 && !attached {
            self.want(Effect::AttachLog);
        }
    }

    /// As [`Draft::end`], where what was posted last says it already.
    pub fn over(&mut self, end: End) {
        self.emit(Event::Ended { end });
        self.want(Effect::Teardown);
    }

    /// Records a plan of the agent or of a person.
    pub fn plan(&mut self, markdown: &str, by: Option<&Account>) {
        let (plan, steps) = (markdown.to_owned(), plan::read(markdown));
        self.emit(Event::PlanUpdated { plan, steps, by: by.cloned() });
    }

    /// Records the plan in somebody's text, if it holds one.
    pub fn plan_of(&mut self, words: &str, by: Option<&Account>) {
        let steps = plan::read(words);
        if !steps.is_empty() {
            let plan = plan::written(&steps);
            self.emit(Event::PlanUpdated { plan, steps, by: by.cloned() });
        }
    }

    /// Wants the status comment brought to the present state.
    pub fn show_status(&mut self) {
        if !self.step.effects.contains(&Effect::StatusComment) {
            self.want(Effect::StatusComment);
        }
    }

    pub fn open(&mut self) {
        self.want(Effect::Open { serial: self.task.seq });
    }

    /// Queues the task for a slot.
    pub fn line_up(&mut self) {
        self.emit(Event::SlotAwaited);
    }
}

/// Computes the step of an input. `task` is the fold of the log so far; returned are the task after the step's events and the step, which
/// has to be stored in one transaction with the envelope's key.
pub fn transition(task: &Task, envelope: &Envelope) -> (Task, Step) {
    let before = task.state.name();
    let mut draft = Draft { task: task.clone(), now: envelope.now, judged_again: false, step: Step::default() };
    if !task.state.ended() {
        take(&mut draft, &envelope.input);
    } else if let Input::EgressSet { serial, notice } = &envelope.input {
        // The person who asked is answered even if the task ended before the router applied the change.
        host::in_force(&mut draft, *serial, notice);
    } else if let Input::StatusShown { seq } = envelope.input {
        status_shown(&mut draft, seq);
    } else if let Input::UpstreamCiEnded(said) = &envelope.input {
        ci::upstream(&mut draft, said);
    } else if let Input::Decided { decision } = &envelope.input {
        decide::decided_after(&mut draft, decision);
    } else if let Input::ModelCallRefused { turn, .. } | Input::PicturesRefused { turn } = envelope.input
        && task.charged
    {
        // What the call was charged is taken back; no model is asked any more. Not what a summary behind it may have cost.
        work::worked(&mut draft, &Input::ModelCallRefused { turn, fallback: None });
    } else if let Input::SecondLooked { n, .. } = envelope.input
        && task.looking == Some(n)
    {
        // So was a second look; one that was refused cost nothing.
        publish::published(&mut draft, &envelope.input);
    } else if matches!(envelope.input, Input::ReplyStarting { .. } | Input::Replied { .. }) {
        // People ask about it after its end, too.
        steer::asked(&mut draft, &envelope.input);
    } else if matches!(envelope.input, Input::LogAttached) {
        // An edit that was under way may have come before the file that it is to link.
        draft.show_status();
    }
    let after = draft.task.state.name();
    if before != after || (task.request.is_none() && draft.task.request.is_some()) {
        draft.want(Effect::Label { serial: draft.task.seq, name: after.to_owned() });
    }
    if !draft.step.events.is_empty() && draft.task.request.is_some() {
        draft.show_status();
    }
    (draft.task, draft.step)
}

/// The comment shows the task as it was at event `seq`; what happened since is shown by another edit.
fn status_shown(draft: &mut Draft, seq: u32) {
    if draft.task.seq != seq {
        draft.show_status();
    }
}

fn noticed(draft: &mut Draft, notice: &Notice) {
    // Nobody has to do anything about it, so nobody is notified.
    if matches!(notice, Notice::Trouble { .. }) {
        return draft.show_status();
    }
    let to = if let Notice::Beside { number, thread, .. } = notice {
        To::Beside { number: *number, thread: *thread }
    } else {
        To::Seen { seq: draft.task.seq, digest: Some(notice.digest()) }
    };
    draft.want(Effect::Comment { to, notice: notice.clone() });
}

fn take(draft: &mut Draft, input: &Input) {
    match input {
        Input::Requested { request } => requested(draft, request),
        Input::SlotFree => slot_free(draft),
        // Of a task that goes on the log is not attached by itself; and nothing of it is upstream.
        Input::Settled | Input::LogAttached | Input::UpstreamCiEnded(_) => {}
        Input::StatusShown { seq } => status_shown(draft, *seq),
        Input::Noticed { notice } => noticed(draft, notice),
        Input::ReplyStarting { .. } | Input::Replied { .. } => steer::asked(draft, input),
        Input::Decided { decision } => decide::decided(draft, decision),
        Input::Ordered { order } => go_on::ordered(draft, *order),
        Input::EffectFailed { effect, failure } => failed(draft, FailedEffect::of(effect), failure),
        Input::AdvanceRead { n, decision } => advance::read(draft, *n, decision.as_deref()),
        Input::EgressSet { serial, notice } => host::in_force(draft, *serial, notice),
        Input::IssueClosed => draft.end(End::Declined, Notice::Declined),
        Input::PullClosed { merged, how } => merge::pull_closed(draft, *merged, how.as_ref()),
        Input::NotMerged { why, login, to } => merge::refused(draft, why, login, *to),
        Input::Fetched { commit } => fetched(draft, commit),
        Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens } } => {
            work::window_full(draft, *context_tokens);
        }
        Input::PauseAsked { reason } => pause_asked(draft, reason),
        Input::Expired => expired(draft),
        Input::Idled { suspension } => suspend::idled(draft, *suspension),
        Input::WorkKept { commit } => suspend::kept(draft, commit),
        Input::WorkNotKept { reasons } => suspend::not_kept(draft, reasons.clone()),
        Input::RouterReplaced => {
            if draft.task.state.busy() {
                draft.emit(Event::RouterReplaced);
            }
        }
        Input::QuestionPosted { about, number } => ask::posted(draft, *about, *number),
        Input::PermissionAsked { number, reason } => ask::permission(draft, *number, reason),
        Input::CheckpointVoided { n } => publish::voided(draft, *n),
        Input::Artifacts { step } => artifact::happened(draft, step),
        Input::CiEnded { n, outcome, checks, more } => ci::ended(draft, *n, *outcome, checks, *more),
        Input::RemarksWithdrawn { remarks } => remark::withdrawn(draft, remarks),
        Input::SecondLookStarting { .. }
        | Input::SecondLooked { .. }
        | Input::TreeCaptured { .. }
        | Input::TreeUnchanged { .. }
        | Input::TreeRefused { .. }
        | Input::Pushed { .. }
        | Input::PullOpened { .. }
        | Input::Verified { .. }
        | Input::ReviewPosted { .. }
        | Input::AnswerPosted { .. } => publish::published(draft, input),
        Input::SummaryStarting { .. } | Input::Summarised { .. } => summary::summarised(draft, input),
        Input::Prepared { .. }
        | Input::Looked { .. }
        | Input::Compacted { .. }
        | Input::AnotherWay { .. }
        | Input::ModelCallStarting { .. }
        | Input::ModelCallRefused { .. }
        | Input::PicturesRefused { .. }
        | Input::ModelAnswered { .. }
        | Input::ActionEnded { .. }
        | Input::Opened { .. } => work::worked(draft, input),
    }
}

fn fetched(draft: &mut Draft, commit: &Commit) {
    if matches!(&draft.task.state, State::Approved { commit: approved, .. } if approved == commit) {
        draft.end(End::Delivered, Notice::Delivered);
    }
}

fn pause_asked(draft: &mut Draft, reason: &PauseReason) {
    if !matches!(draft.task.state, State::Paused { .. } | State::Approved { .. }) {
        draft.pause(reason.clone());
    }
}

fn expired(draft: &mut Draft) {
    let in_line = draft.task.state == State::Queued && draft.task.next.is_some();
    if !draft.task.state.busy() && !in_line {
        draft.end(End::Expired, Notice::Expired);
    }
}

fn requested(draft: &mut Draft, request: &Request) {
    if draft.task.request.is_none() {
        draft.emit(Event::Requested { request: Box::new(request.clone()) });
        draft.plan_of(&request.words, Some(&request.asker));
        // The first answer that a person sees, so it comes before the label.
        draft.show_status();
    }
}

fn slot_free(draft: &mut Draft) {
    if draft.task.state == State::Queued && draft.task.request.is_some() {
        draft.emit(Event::SlotGranted);
        go_on::again(draft);
    }
}

fn failed(draft: &mut Draft, effect: FailedEffect, failure: &Failure) {
    // The running action ends here in any case, because no other input ends it.
    if let (Failure::Blocked { sentence: why } | Failure::Fatal { why }, Some(number)) = (failure, draft.task.running)
        && effect == (FailedEffect::Act { number })
    {
        work::interrupt(draft, why);
    }
    match failure {
        Failure::Blocked { sentence } if effect == FailedEffect::Keep => {
            suspend::not_kept(draft, vec![sentence.clone()]);
        }
        Failure::Blocked { sentence } => match draft.task.state {
            State::Paused { .. } => {}
            // An approved task has no work left that a pause could stop. The log has no event of this, so it is no step's text.
            State::Approved { .. } => noticed(draft, &Notice::LeftUndone { sentence: sentence.clone() }),
            State::Queued
            | State::Preparing
            | State::Running
            | State::Publishing { .. }
            | State::AwaitingReview { .. }
            | State::Asking { .. }
            | State::Verifying { .. }
            | State::AwaitingCi { .. }
            | State::FinalReview { .. }
            | State::Ended { .. } => draft.pause(PauseReason::Blocked { sentence: sentence.clone() }),
        },
        Failure::ContextFull { context_tokens } => work::window_full(draft, *context_tokens),
        Failure::SandboxGone { loss } => work::sandbox_gone(draft, effect, *loss),
        Failure::Fatal { why } => draft.end(End::Failed { why: why.clone() }, Notice::Failed { why: why.clone() }),
    }
}
