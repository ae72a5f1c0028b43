//! `/resume`, and how a task continues after a pause or with a new slot.

use super::{Draft, ask, publish};
use crate::{Commit, Decision, Effect, End, Event, Notice, Order, PauseReason, State, Why};

/// Login shown for orders from the command line.
const OPERATOR: &str = "operator";

pub(super) fn resume(draft: &mut Draft, decision: &Decision) {
    let login = decision.poster.login.clone();
    let notice = resumed(draft, &login).unwrap_or(Notice::NotPaused { login });
    draft.answer(decision, notice);
}

/// Carries out an operator's order, which needs no right on the forge.
pub(super) fn ordered(draft: &mut Draft, order: Order) {
    let login = OPERATOR.to_owned();
    match order {
        Order::Stop => draft.end(End::Cancelled { by: login.clone(), number: 0 }, Notice::Cancelled { login }),
        // The status comment says that it goes on; nobody asked on the forge.
        Order::Resume => {
            if let Some(notice @ Notice::BudgetNeeded { .. }) = resumed(draft, &login) {
                draft.say(notice);
            }
        }
    }
}

/// Ends a pause and gives the notice to post; none where nothing is paused.
fn resumed(draft: &mut Draft, login: &str) -> Option<Notice> {
    let State::Paused { reason, .. } = draft.task.state.clone() else { return None };
    // What paused it may fit by now: another model, or a question's answer that cost less than its worst case.
    let used_up = draft.task.granted.exhausted(&draft.task.spent);
    if let (PauseReason::Budget { .. }, Some(what)) = (reason, used_up) {
        return Some(Notice::BudgetNeeded { login: login.to_owned(), what: what.to_owned() });
    }
    leave_pause(draft);
    Some(Notice::Resumed)
}

/// Ends the pause: a task that would work queues for a slot, one that waits for a person waits again.
pub(super) fn leave_pause(draft: &mut Draft) {
    if matches!(&draft.task.state, State::Paused { reason: PauseReason::ContextFull { .. }, .. }) {
        draft.emit(Event::ConversationRestarted);
    }
    draft.emit(Event::Resumed);
    if draft.task.state.busy() { draft.line_up() } else { again(draft) }
}

/// Wants the effects with which the state continues after a pause or with a new slot.
pub(super) fn again(draft: &mut Draft) {
    match draft.task.state.clone() {
        State::Preparing => draft.want(Effect::Prepare { serial: draft.task.seq }),
        // An action that is still under way continues without another effect.
        State::Running if draft.task.running.is_none() || draft.task.permitted => draft.open(),
        State::Publishing { n, why } => stage(draft, n, why),
        State::Verifying { n, commit } if draft.task.verdict.is_none() => draft.want(Effect::Verify { n, commit }),
        State::Verifying { n, commit } => publish::show_verdict(draft, n, commit),
        State::AwaitingReview { n, .. } | State::FinalReview { n, .. } => publish::stand_again(draft, n),
        State::Asking { .. } => ask::stand_again(draft),
        // Whoever reads the forge's statuses goes on with it.
        State::AwaitingCi { .. } => {}
        State::Running | State::Queued | State::Approved { .. } | State::Paused { .. } | State::Ended { .. } => {}
    }
}

fn stage(draft: &mut Draft, n: u32, why: Why) {
    let nothing_to_show =
        |task: &crate::Task, commit: &Commit| task.on_the_forge() == Some(commit) && task.base.as_ref() == Some(commit);
    match draft.task.captured.clone() {
        _ if draft.task.kind.reads_only() => draft.want(Effect::Review { n, commit: None, last: false }),
        None if draft.task.refusal.is_empty() => draft.want(Effect::Capture { n, why }),
        None => draft.want(Effect::Review { n, commit: None, last: false }),
        Some(commit) if nothing_to_show(&draft.task, &commit) => {
            draft.want(Effect::Review { n, commit: None, last: false });
        }
        Some(commit) if draft.task.pushed.as_ref() != Some(&commit) => {
            let expected = draft.task.pushed.clone();
            draft.want(Effect::Push { n, commit, expected });
        }
        Some(_) if draft.task.pull.is_none() => draft.want(Effect::OpenPull),
        Some(commit) => publish::stands(draft, n, &commit, why),
    }
}
