//! Applies the events of people's decisions to a task.

use super::Task;
use crate::{
    Advance, DOUBTFUL, Event, Grant, Item, ModelChosen, NO_COMMAND, NO_RIGHT, NOT_AMONG, QuestionSubject, Source,
    State, TaskKind,
};

impl Task {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the last part takes the others, and names every event")]
    pub(super) fn apply_decision(&mut self, event: &Event) {
        match event {
            Event::DecisionHeld { source, .. } => {
                if !self.unjudged.contains(source) {
                    self.unjudged.push(source.clone());
                }
            }
            Event::DecisionUsed { decision, n } => self.use_decision(decision, *n),
            Event::HostAllowed { host, repo, decision } => {
                self.hosts.retain(|grant| grant.host != *host);
                self.hosts.push(Grant { host: host.clone(), repo: *repo, by: decision.poster.clone() });
                self.reach_changed = true;
            }
            Event::HostDenied { host, .. } => {
                self.hosts.retain(|grant| !grant.is_named_by(host));
                self.reach_changed = true;
            }
            Event::AdvanceEnded { .. } => self.advance = None,
            Event::FeedbackGiven { items, from, .. } => self.hear(items, from),
            Event::QuestionPosted(crate::QuestionPosted { number: posted, at }) => {
                self.asked_at = *at;
                if let Some(State::Asking { number, .. }) = self.asking() {
                    *number = Some(*posted);
                }
            }
            Event::PermissionAsked { number, reason } => {
                self.permission = Some(reason.clone());
                self.state = State::Asking { about: QuestionSubject::Permission { number: *number }, number: None };
            }
            Event::PermissionGiven { decision, .. } | Event::PermissionRefused { decision, .. } => {
                self.last_decider = Some(decision.poster.clone());
                self.permitted = matches!(event, Event::PermissionGiven { .. });
                if let Some(asking) = self.asking() {
                    *asking = State::Running;
                    self.permission = None;
                    self.unjudged.clear();
                }
            }
            Event::QuestionAnswered { .. } => {
                if let Some(asking) = self.asking() {
                    *asking = State::Running;
                    self.question = None;
                    self.unjudged.clear();
                }
            }
            Event::ModelChosen(ModelChosen { id, .. }) => (self.model, self.answering) = (Some(id.clone()), None),
            Event::WidenedToFix { .. } => self.kind = TaskKind::Fix,
            Event::DecisionRefused { source, poster, reason } => {
                self.unjudged.retain(|s| s != source);
                match reason.as_str() {
                    DOUBTFUL => self.asked_at = 0,
                    NO_RIGHT | NOT_AMONG => self.told_no_right.extend([poster.id]),
                    NO_COMMAND => self.told_no_command.extend([poster.id]),
                    _ => {}
                }
            }
            _ => taken_before(event),
        }
    }

    /// The state of a waiting question, also inside a pause; none where none waits.
    fn asking(&mut self) -> Option<&mut State> {
        let asks = |state: &State| matches!(state, State::Asking { .. });
        if asks(&self.state) {
            return Some(&mut self.state);
        }
        let State::Paused { from, .. } = &mut self.state else { return None };
        asks(from).then_some(&mut **from)
    }

    fn hear(&mut self, items: &[Item], from: &Source) {
        self.remarks.extend(items.iter().cloned());
        self.unjudged.retain(|source| source != from);
    }

    fn use_decision(&mut self, decision: &crate::Decision, n: u32) {
        self.unjudged.clear();
        self.last_decider = Some(decision.poster.clone());
        // Finished work was approved again: it stays where it is.
        if matches!(self.state, State::Approved { .. } | State::Ended { .. }) {
            return;
        }
        self.advance = Advance::after(self.advance.take(), decision);
        self.checkpoints.iter_mut().filter(|c| c.n == n).for_each(|c| c.used = true);
        let approved = matches!(decision.verb, crate::Verb::Approve { .. });
        let rebase = matches!(decision.verb, crate::Verb::Rebase { .. });
        if rebase {
            self.want_rebase();
        }
        self.state = match (&self.state, approved) {
            (State::FinalReview { commit, verdict, .. }, true) => {
                self.advance = None;
                self.approved = Some(commit.clone());
                State::Approved { commit: commit.clone(), verdict: verdict.clone() }
            }
            _ => {
                (self.used, self.refused) = (0, false);
                (self.malformed, self.noted) = (0, false);
                if !approved {
                    self.other_ways = 0;
                }
                (self.recalls, self.questions) = (0, 0);
                self.plan_noted = false;
                (self.starved, self.losses) = (0, 0);
                // Nobody tells the agent about them then: a clean move is published at once.
                if !rebase {
                    self.remarks.clear();
                }
                if rebase { State::Preparing } else { State::Running }
            }
        };
    }
}

/// Names every event, so that a new one does not compile before it is listed here and handled in one of the parts.
#[rustfmt::skip]
fn taken_before(event: &Event) {
    match event {
        // The first two are only shown to people or to the model, and change nothing.
        Event::Looked { .. } | Event::RouterReplaced | Event::Requested { .. } | Event::SlotGranted
        | Event::SlotAwaited | Event::Prepared { .. } | Event::Rebased(_) | Event::SecondLookStarted { .. }
        | Event::SecondLooked { .. } | Event::SummaryStarted { .. } | Event::Summarised { .. } | Event::ModelCallStarted { .. } | Event::ModelCallUncharged { .. } | Event::PicturesRefused { .. }
        | Event::TurnCompleted { .. } | Event::CallAnswered { .. } | Event::ActionStarted { .. }
        | Event::ActionFinished { .. } | Event::PlanUpdated { .. } | Event::Recalled { .. }
        | Event::AnotherWay { .. } | Event::Asked { .. } | Event::Compacted { .. } | Event::DoneSaid { .. }
        | Event::Nudged { .. } | Event::PublishStarted { .. } | Event::TreeCaptured { .. }
        | Event::TreeUnchanged { .. } | Event::TreeRefused { .. } | Event::Pushed { .. }
        | Event::PullOpened { .. } | Event::VerifyStarted { .. } | Event::Verified { .. }
        | Event::CiAwaited(_) | Event::CiEnded(_) | Event::UpstreamCiEnded(_)
        | Event::VerdictReturned { .. } | Event::DoneReturned { .. } | Event::CheckpointPosted { .. }
        | Event::Answered { .. } | Event::CheckpointVoided { .. } | Event::BudgetGranted { .. }
        | Event::Paused { .. } | Event::Resumed | Event::SandboxLost { .. } | Event::WorkKeeping
        | Event::WorkKept { .. } | Event::WorkNotKept { .. } | Event::ConversationRestarted
        | Event::SandboxSuspended { .. } | Event::Ended { .. } | Event::PermissionAsked { .. }
        | Event::PermissionGiven { .. } | Event::PermissionRefused { .. } | Event::QuestionPosted(_)
        | Event::QuestionAnswered { .. } | Event::DecisionHeld { .. } | Event::DecisionUsed { .. }
        | Event::DecisionRefused { .. } | Event::AdvanceEnded { .. } | Event::HostAllowed { .. }
        | Event::HostDenied { .. } | Event::FeedbackGiven { .. } | Event::ModelChosen(_)
        | Event::ReplyStarted { .. } | Event::Replied(_) | Event::RemarkAnswered(_) | Event::RemarkWithdrawn(_) | Event::Merge(_) | Event::Artifacts(_) | Event::WidenedToFix { .. } => {}
    }
}
