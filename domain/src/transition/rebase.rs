//! `/rebase`: the work is brought onto the base branch's newest commit, in a sandbox that is prepared anew. Asks for a new checkpoint and
//! approves nothing.

use super::{Draft, unrun};
use crate::{Commit, Decision, Effect, Event, Notice, Rebase, RebaseBar, Rebased, State, Task, Verb, Why};

/// Takes up a `/rebase` by somebody who may write.
pub(super) fn asked(draft: &mut Draft, decision: &Decision) {
    let Verb::Rebase { tip } = &decision.verb else { return };
    let login = decision.poster.login.clone();
    let checkpoint = draft.task.checkpoint().map(|at| (at.n, at.number));
    match (bar(&draft.task, checkpoint, decision, tip.as_ref()), checkpoint) {
        (None, Some((n, _))) => {
            draft.emit(Event::DecisionUsed { decision: Box::new(decision.clone()), n });
            unrun::moved(draft);
            draft.answer(decision, Notice::Rebasing { login });
            draft.line_up();
        }
        (why, _) => {
            let why = why.unwrap_or(RebaseBar::Later);
            draft.refuse(decision, reason(&why), Notice::NotRebased { login, why });
        }
    }
}

/// Why it is not followed; `checkpoint` is the number of the one that stands, and its number on the forge.
fn bar(task: &Task, checkpoint: Option<(u32, i64)>, decision: &Decision, tip: Option<&Commit>) -> Option<RebaseBar> {
    if task.kind.reads_only() || task.of_a_pull() {
        return Some(RebaseBar::NoWork);
    }
    match &task.state {
        State::AwaitingReview { .. } | State::FinalReview { .. } => {}
        State::Paused { .. } => return Some(RebaseBar::Paused),
        State::Approved { .. } => return Some(RebaseBar::Approved),
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::Asking { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. }
        | State::Ended { .. } => return Some(RebaseBar::Later),
    }
    let Some((n, number)) = checkpoint else { return Some(RebaseBar::Later) };
    if decision.number <= number {
        return Some(RebaseBar::Early { n });
    }
    match tip {
        _ if task.uncommitted || task.kept.is_some() => Some(RebaseBar::Uncommitted),
        None => Some(RebaseBar::NoBranch),
        tip if tip == task.base.as_ref() => Some(RebaseBar::NotMoved),
        Some(_) => None,
    }
}

/// The reason as the log has it.
fn reason(why: &RebaseBar) -> &'static str {
    match why {
        RebaseBar::NoWork => "nothing to bring onto another base",
        RebaseBar::Later => "no checkpoint waits",
        RebaseBar::Paused => "the task is paused",
        RebaseBar::Approved => "the work is approved",
        RebaseBar::Early { .. } => "it was given before the checkpoint stood",
        RebaseBar::Uncommitted => "the newest tree was refused",
        RebaseBar::NotMoved => "the base branch has not moved",
        RebaseBar::NoBranch => "there is no base branch",
    }
}

/// The sandbox stands on the new base, with the work merged into it. Without conflicts a person sees it at once, verified where the work
/// was done; otherwise the agent resolves them.
pub(super) fn prepared(draft: &mut Draft, wanted: Rebase, onto: &Commit, conflicts: &[String]) {
    let Rebase { from, head, done, .. } = wanted;
    let (onto, conflicts) = (onto.clone(), conflicts.to_vec());
    let clean = conflicts.is_empty();
    draft.emit(Event::Rebased(Box::new(Rebased { from, onto, head, conflicts })));
    if !clean {
        // With the router's rules as the new base has them, whatever was allowed meanwhile.
        return draft.open();
    }
    let (n, why) = (draft.task.next_n(), if done { Why::Done } else { Why::Rebased });
    draft.emit(Event::PublishStarted { n, why });
    draft.want(Effect::Capture { n, why });
}
