//! The wait for the forge's CI between the bot's own checks and the final review. It takes no slot: the state is left by an input alone,
//! and what goes on after it queues for one.

use super::Draft;
use crate::{
    CiAwaited, CiCheck, CiEnded, CiOutcome, CiWait, Commit, Effect, End, Event, Notice, State, UpstreamChecks,
    VERIFY_LIMIT,
};

/// Begins to wait; the sandbox rests meanwhile.
pub(super) fn wait(draft: &mut Draft, n: u32, commit: &Commit, wait: &CiWait) {
    let awaited = CiAwaited { n, commit: commit.clone(), at: draft.now, wait: wait.clone() };
    draft.emit(Event::CiAwaited(Box::new(awaited)));
    draft.rest();
}

/// Takes what the CI said: a failure goes back to the agent as one of the bot's own checks does, anything else to the final review.
pub(super) fn ended(draft: &mut Draft, n: u32, outcome: CiOutcome, checks: &[CiCheck], more: u32) {
    let State::AwaitingCi { n: now, commit } = draft.task.state.clone() else { return };
    if now != n {
        return;
    }
    let failed = outcome == CiOutcome::Failed;
    let again = draft.task.failures + 1 < VERIFY_LIMIT && draft.task.used < draft.task.every();
    let returned = failed && again;
    let ended =
        CiEnded { n, commit: commit.clone(), outcome, checks: checks.to_vec(), more, returned, upstream: false };
    draft.emit(Event::CiEnded(Box::new(ended)));
    if !returned {
        let state = if failed { "failure" } else { "pending" };
        draft.want(Effect::CommitStatus { n, commit, state: state.to_owned() });
    }
    draft.line_up();
}

/// Takes what the upstream's CI said of delivered work: told where the work was reviewed, and kept for the next attempt.
pub(super) fn upstream(draft: &mut Draft, said: &UpstreamChecks) {
    let UpstreamChecks { commit, outcome, checks, more } = said.clone();
    let delivered = draft.task.state == State::Ended { end: End::Delivered };
    let checkpoint = draft.task.checkpoints.iter().rev().find(|it| it.commit.as_ref() == Some(&commit));
    let Some(n) = checkpoint.filter(|_| delivered).map(|it| it.n) else { return };
    let ended = CiEnded { n, commit, outcome, checks, more, returned: false, upstream: true };
    draft.emit(Event::UpstreamCiEnded(Box::new(ended.clone())));
    draft.say(Notice::UpstreamCi { ended: Box::new(ended) });
}
