//! Commands that change how a task goes on: `/pause`, and `/model`.

use super::Draft;
use crate::{Decision, Event, Notice, PauseReason, State};

/// Everything stands still, whatever the task is in the middle of; `/resume` goes on there.
pub(super) fn pause(draft: &mut Draft, decision: &Decision) {
    let login = decision.poster.login.clone();
    match draft.task.state {
        // What is approved waits to be fetched: nothing works that could stand still.
        State::Paused { .. } | State::Approved { .. } | State::Ended { .. } => {
            draft.refuse(decision, "nothing to pause", Notice::NothingToPause { login });
        }
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::AwaitingReview { .. }
        | State::Asking { .. }
        | State::Verifying { .. }
        | State::FinalReview { .. } => draft.pause(PauseReason::Asked { login }),
    }
}

/// `among`: what the operator lets commands name.
pub(super) fn model(draft: &mut Draft, decision: &Decision, id: &str, among: &[String]) {
    let (login, id) = (decision.poster.login.clone(), id.to_owned());
    if !among.contains(&id) {
        let among = among.to_vec();
        return draft.refuse(decision, "no such model", Notice::NoSuchModel { login, id, among });
    }
    draft.emit(Event::ModelChosen { id: id.clone(), decision: Box::new(decision.clone()) });
    draft.answer(decision, Notice::ModelChosen { login, id });
}
