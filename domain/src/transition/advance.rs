//! Approvals given in advance: each use covers one checkpoint after the approval was read again, and any other word of a person ends them.

use super::Draft;
use crate::{Access, Advance, Commit, Decision, Effect, Ending, Event, Notice, Risk, State, Verb};

/// Wants the approval read again for a posted checkpoint, unless there is a risk.
pub(super) fn ask(draft: &mut Draft, n: u32, risk: Option<Risk>) {
    if let (Some(advance), None) = (&draft.task.advance, risk) {
        let source = advance.source.clone();
        draft.want(Effect::Advance { n, source });
    }
}

/// Uses the approval if its author may still write, its text is unchanged, and the branch ends at the checkpoint's commit.
pub(super) fn read(draft: &mut Draft, n: u32, fresh: Option<&Decision>) {
    let Some(advance) = draft.task.advance.clone() else { return };
    let State::AwaitingReview { n: now, commit: Some(commit) } = draft.task.state.clone() else { return };
    // A checkpoint with a risk waits for a person, whatever asked for the reading.
    if now != n || !draft.task.checkpoint().is_some_and(|at| at.n == n && at.coverable) {
        return;
    }
    match judge(draft, &advance, fresh, &commit) {
        Err(why) => end(draft, why, true),
        Ok(decision) => {
            draft.emit(Event::DecisionUsed { decision: Box::new(decision), n });
            draft.line_up();
        }
    }
}

fn judge(draft: &Draft, given: &Advance, fresh: Option<&Decision>, commit: &Commit) -> Result<Decision, Ending> {
    let same = |d: &&Decision| {
        let in_advance = matches!(d.verb, Verb::Approve { next, .. } if next > 0);
        in_advance && !d.edited && d.text_hash == given.text_hash && d.source == given.source
    };
    let decision = fresh.filter(same).filter(|d| d.poster.id == given.poster.id).ok_or(Ending::Withdrawn)?;
    // Given when one person's was enough: it is none any more.
    if decision.right < Access::Write || decision.barred.is_some() || decision.others.is_some() {
        return Err(Ending::NoRight);
    }
    if decision.head.as_ref() != Some(commit) {
        return Err(Ending::Moved { commit: commit.clone() });
    }
    if decision.base.as_deref() != draft.task.request.as_ref().map(|r| r.base_branch.as_str()) {
        return Err(Ending::Retargeted);
    }
    Ok(Decision { in_advance: true, ..decision.clone() })
}

/// Ends the approval because somebody with write access said something. An answer to the posted checkpoint needs no notice of its own.
pub(super) fn end_by_words(draft: &mut Draft, decision: &Decision) {
    let quiet = match (&decision.verb, &draft.task.state) {
        (Verb::Status | Verb::Cost | Verb::Ask { .. } | Verb::Help, _) => return,
        (Verb::Stop | Verb::Retry { .. }, _) | (_, State::FinalReview { .. }) => true,
        (Verb::Approve { .. } | Verb::Changes { .. }, State::AwaitingReview { .. }) => true,
        _ => false,
    };
    if decision.right >= Access::Write {
        end(draft, Ending::Overtaken { login: decision.poster.login.clone() }, !quiet);
    }
}

/// Ends the approval in force; `tell` posts a notice about it.
pub(super) fn end(draft: &mut Draft, why: Ending, tell: bool) {
    let Some(advance) = draft.task.advance.clone() else { return };
    let (left, login) = (advance.left, advance.poster.login);
    draft.emit(Event::AdvanceEnded { source: advance.source, left, why: why.clone() });
    if tell {
        draft.say(Notice::AdvanceEnded { login, left, why });
    }
}
