//! Merging the pull request of approved work, by `/merge` or right after the final approval, and what its end on the forge means. Nothing
//! here approves: only work that is approved already is merged. Tests: `tests/machine/merge.rs`.

use super::Draft;
use crate::{CiEnded, Decision, Effect, End, Event, MergeBar, MergeStep, Merged, Notice, State, To, VerdictKind};

/// Takes up a `/merge` by somebody who may write; `bar` is what the operator set.
pub(super) fn asked(draft: &mut Draft, decision: &Decision, bar: Option<&MergeBar>) {
    let login = decision.poster.login.clone();
    let why = match (&draft.task.state, bar) {
        _ if has_upstream(draft) => MergeBar::Copied,
        (_, Some(bar)) => bar.clone(),
        (State::Approved { commit, .. }, None) if decision.head.as_ref() == Some(commit) => {
            let to = To::Asked { number: decision.number, thread: decision.thread, again: None };
            return want(draft, decision, to);
        }
        (State::Approved { commit, .. }, None) => MergeBar::Moved { commit: commit.clone() },
        (
            State::Queued
            | State::Preparing
            | State::Running
            | State::Publishing { .. }
            | State::AwaitingReview { .. }
            | State::Asking { .. }
            | State::Verifying { .. }
            | State::AwaitingCi { .. }
            | State::FinalReview { .. }
            | State::Paused { .. }
            | State::Ended { .. },
            None,
        ) => MergeBar::NotApproved,
    };
    draft.refuse(decision, "the pull request is not merged", Notice::NotMerged { login, why });
}

/// Wants the merge after this final approval, where the operator lets it follow.
pub(super) fn approved(draft: &mut Draft, decision: &Decision) {
    let verdict = matches!(&draft.task.state, State::Approved { verdict, .. } if verdict.kind == VerdictKind::Failed);
    let failed = verdict || draft.task.ci.as_ref().is_some_and(CiEnded::failed);
    // What its checks, or the forge's CI, do not hold is merged only by a person's `/merge`.
    if decision.merges && !failed && !has_upstream(draft) {
        let at = u32::try_from(draft.step.effects.len()).unwrap_or(u32::MAX);
        want(draft, decision, To::Step { seq: draft.task.seq.saturating_add(1), at });
    }
}

fn want(draft: &mut Draft, decision: &Decision, to: To) {
    let State::Approved { commit, .. } = draft.task.state.clone() else { return };
    draft.emit(Event::Merge(MergeStep::Wanted { decision: Box::new(decision.clone()) }));
    let asker = decision.poster.clone();
    draft.want(Effect::Merge { serial: draft.task.seq, commit, asker, to });
}

/// Records that it was not done, and says why; the task stays approved.
pub(super) fn refused(draft: &mut Draft, why: &MergeBar, login: &str, to: To) {
    if matches!(draft.task.state, State::Approved { .. }) {
        draft.emit(Event::Merge(MergeStep::Refused { why: why.clone() }));
        let notice = Notice::NotMerged { login: login.to_owned(), why: why.clone() };
        draft.want(Effect::Comment { to, notice });
    }
}

/// Ends the task after its pull request was closed; with an upstream, a merge counts as delivery only after the approval.
pub(super) fn pull_closed(draft: &mut Draft, merged: bool, how: Option<&Merged>) {
    if let Some(how) = how.filter(|_| merged) {
        draft.emit(Event::Merge(MergeStep::Done(how.clone())));
    }
    let approved = matches!(draft.task.state, State::Approved { .. });
    match (merged && (approved || !has_upstream(draft)), how) {
        (true, Some(how)) => draft.end(End::Delivered, Notice::Merged { how: how.clone() }),
        (true, None) => draft.end(End::Delivered, Notice::Delivered),
        (false, _) => draft.end(End::Declined, Notice::Declined),
    }
}

fn has_upstream(draft: &Draft) -> bool {
    draft.task.request.as_ref().is_some_and(|request| request.has_upstream)
}
