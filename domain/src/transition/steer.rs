//! The commands `/pause` and `/model`, and the cost of people's questions about a task.

use super::Draft;
use crate::{Decision, Event, Input, ModelChosen, Notice, PauseReason, Reply, State};

/// Pauses the task in any state; `/resume` continues there.
pub(super) fn pause(draft: &mut Draft, decision: &Decision) {
    let login = decision.poster.login.clone();
    match draft.task.state {
        // An approved task only waits to be fetched, so there is no work to stop.
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
        | State::AwaitingCi { .. }
        | State::FinalReview { .. } => draft.pause(PauseReason::Asked { login }),
    }
}

/// Chooses the model; `among` is what the operator lets commands name.
pub(super) fn model(draft: &mut Draft, decision: &Decision, id: &str, among: &[String]) {
    let (login, id) = (decision.poster.login.clone(), id.to_owned());
    if !among.contains(&id) {
        let among = among.to_vec();
        return draft.refuse(decision, "no such model", Notice::NoSuchModel { login, id, among });
    }
    draft.emit(Event::ModelChosen(ModelChosen { id: id.clone(), decision: Box::new(decision.clone()) }));
    draft.answer(decision, Notice::ModelChosen { login, id });
}

/// Records cost and answer of a person's question, in any state.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are not for here; `take` names every input")]
pub(super) fn asked(draft: &mut Draft, input: &Input) {
    match input {
        Input::ReplyStarting { number, call, worst_micro_usd } => {
            let (number, call, worst_micro_usd) = (*number, *call, *worst_micro_usd);
            draft.emit(Event::ReplyStarted { number, call, worst_micro_usd });
        }
        Input::Replied { number, call, text, usage, micro_usd, model } => draft.emit(Event::Replied(Reply {
            number: *number,
            call: *call,
            text: text.clone(),
            usage: *usage,
            micro_usd: *micro_usd,
            model: model.clone(),
        })),
        _ => {}
    }
}
