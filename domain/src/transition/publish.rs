//! From a captured tree to a posted review, with the verification between them.

use super::{Draft, advance, artifact, ci, unrun};
use crate::{
    CiEnded, CiWait, Commit, Effect, End, Ending, Event, Input, Notice, Risk, State, VERIFY_LIMIT, Verdict,
    VerdictKind, Why,
};

pub(super) fn published(draft: &mut Draft, input: &Input) {
    let state = draft.task.state.clone();
    match (input, state) {
        (Input::TreeCaptured { n, tree }, State::Publishing { n: now, .. }) if *n == now => {
            let expected = draft.task.pushed.clone();
            let commit = tree.commit.clone();
            draft.emit(Event::TreeCaptured { n: *n, tree: tree.clone() });
            draft.want(Effect::Push { n: *n, commit, expected });
        }
        (Input::TreeUnchanged { n, commit, left_out }, State::Publishing { n: now, .. }) if *n == now => {
            unchanged(draft, *n, commit, left_out)
        }
        (Input::TreeRefused { n, reasons }, State::Publishing { n: now, why }) if *n == now => {
            refused(draft, *n, why, reasons);
        }
        (Input::Pushed { n, commit }, State::Publishing { n: now, why }) if *n == now => {
            draft.emit(Event::Pushed { n: *n, commit: commit.clone() });
            if draft.task.pull.is_none() { draft.want(Effect::OpenPull) } else { stands(draft, *n, commit, why) }
        }
        (Input::PullOpened { number, url }, State::Publishing { n, why }) => {
            draft.emit(Event::PullOpened { number: *number, url: url.clone() });
            if let Some(commit) = draft.task.pushed.clone() {
                stands(draft, n, &commit, why);
            }
        }
        // The task was paused meanwhile, or is in line again: the push is recorded, and what follows continues after it.
        (input, State::Paused { .. } | State::Queued) if while_waiting(draft, input) => {}
        (Input::Verified { n, verdict, ci }, State::Verifying { n: now, commit }) if *n == now => {
            verified(draft, *n, &commit, verdict, ci.as_ref());
        }
        (Input::SecondLookStarting { n, worst_micro_usd }, state) if state.publishes(*n) => {
            draft.emit(Event::SecondLookStarted { n: *n, worst_micro_usd: *worst_micro_usd });
        }
        (Input::SecondLooked { n, text, usage, micro_usd, duration_ms, model }, _)
            if draft.task.underneath().publishes(*n) || draft.task.state.ended() =>
        {
            let (n, usage, micro_usd, duration_ms) = (*n, *usage, *micro_usd, *duration_ms);
            let (text, model) = (text.clone(), model.clone());
            draft.emit(Event::SecondLooked { n, text, usage, micro_usd, duration_ms, model });
        }
        (Input::ReviewPosted { n, review, number, risk }, _) => posted(draft, *n, *review, *number, *risk),
        (Input::AnswerPosted { n, number }, State::Publishing { n: now, .. }) if *n == now => {
            draft.emit(Event::Answered { n: *n, number: *number, at: draft.now });
            match draft.task.of_a_pull() {
                true => draft.over(End::Answered),
                false => waiting(draft, *n),
            }
        }
        _ => {}
    }
}

/// Handles a refused tree: it goes back to the agent while it has actions left, and to a person if it is refused again without an action.
fn refused(draft: &mut Draft, n: u32, why: Why, reasons: &[String]) {
    let again = draft.task.refused;
    draft.emit(Event::TreeRefused { n, reasons: reasons.to_vec() });
    unrun::tree_not_taken(draft);
    let back = draft.task.state == State::Running;
    if back && !again {
        return draft.open();
    }
    if back {
        draft.emit(Event::PublishStarted { n, why });
    }
    draft.want(Effect::Review { n, commit: None, last: false });
}

/// Records a push, or the pull request, of a task that a pause or the queue for a slot interrupts; false where it is neither, or not of what
/// it publishes.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these two are recorded then; `take` names every input")]
fn while_waiting(draft: &mut Draft, input: &Input) -> bool {
    match input {
        Input::Pushed { n, commit } if draft.task.underneath().publishes(*n) => {
            draft.emit(Event::Pushed { n: *n, commit: commit.clone() });
        }
        Input::PullOpened { number, url } if matches!(draft.task.underneath(), State::Publishing { .. }) => {
            draft.emit(Event::PullOpened { number: *number, url: url.clone() });
        }
        _ => return false,
    }
    true
}

/// Handles a tree that equals the last commit's: without a pull request only the summary is posted, and a first `done` without any change
/// goes back to the agent, unless the work was just brought onto a newer base.
pub(super) fn unchanged(draft: &mut Draft, n: u32, commit: &Commit, left_out: &[String]) {
    let State::Publishing { why, .. } = draft.task.state else { return };
    let moved = draft.task.rebase.is_some();
    draft.emit(Event::TreeUnchanged { n, commit: commit.clone(), left_out: left_out.to_vec() });
    let nothing = draft.task.base.as_ref() == Some(commit);
    let start = draft.task.request.as_ref().and_then(|it| it.start());
    let as_begun = nothing || draft.task.pushed.is_none() && start.is_some_and(|start| start.commit == *commit);
    // After a move the newer base may have all of the work already, which is for a person to see.
    if why == Why::Done && as_begun && !moved && !draft.task.done_returned && draft.task.used < draft.task.every() {
        draft.emit(Event::DoneReturned { n });
        draft.open();
    } else if draft.task.pushed.is_none()
        && !nothing
        && draft.task.request.as_ref().is_some_and(|it| it.start().is_some())
    {
        // What an earlier attempt had approved stands on no branch of this one yet.
        draft.want(Effect::Push { n, commit: commit.clone(), expected: None });
    } else if draft.task.pull.is_some() && !draft.task.replaces {
        stands(draft, n, commit, why);
    } else {
        draft.want(Effect::Review { n, commit: None, last: false });
    }
}

/// Continues after the commit was pushed: with the review, or with the verification.
pub(super) fn stands(draft: &mut Draft, n: u32, commit: &Commit, why: Why) {
    match why {
        Why::Checkpoint | Why::Rebased => draft.want(Effect::Review { n, commit: Some(commit.clone()), last: false }),
        Why::Done => {
            draft.emit(Event::VerifyStarted { n, commit: commit.clone() });
            draft.want(Effect::Verify { n, commit: commit.clone() });
        }
    }
}

/// After the bot's own checks: a failure goes back to the agent, and the CI is only waited for where they did not fail.
fn verified(draft: &mut Draft, n: u32, commit: &Commit, verdict: &Verdict, wait: Option<&CiWait>) {
    draft.emit(Event::Verified { n, commit: commit.clone(), verdict: verdict.clone() });
    let failed = verdict.kind == VerdictKind::Failed;
    if failed && draft.task.failures < VERIFY_LIMIT && draft.task.used < draft.task.every() {
        draft.emit(Event::VerdictReturned { n, verdict: verdict.clone() });
        draft.open();
        return;
    }
    if let Some(wait) = wait.filter(|_| !failed) {
        return ci::wait(draft, n, commit, wait);
    }
    show_verdict(draft, n, commit.clone());
    let state = if failed { "failure" } else { "pending" };
    draft.want(Effect::CommitStatus { n, commit: commit.clone(), state: state.to_owned() });
}

pub(super) fn show_verdict(draft: &mut Draft, n: u32, commit: Commit) {
    let last = is_last(draft);
    if last {
        artifact::attach(draft, n, &commit);
    }
    draft.want(Effect::Review { n, commit: Some(commit), last });
}

/// Whether the review after a verification is the final one: not if the agent gets the failure back.
fn is_last(draft: &Draft) -> bool {
    let failed = draft.task.verdict.as_ref().is_some_and(|v| v.kind == VerdictKind::Failed)
        || draft.task.ci.as_ref().is_some_and(CiEnded::failed);
    !failed || draft.task.failures >= VERIFY_LIMIT
}

fn posted(draft: &mut Draft, n: u32, review: i64, number: i64, seen: Option<Risk>) {
    let (commit, last, verdict) = match &draft.task.state {
        State::Publishing { n: now, .. } if *now == n => (draft.task.captured.clone(), false, None),
        State::Verifying { n: now, commit } if *now == n => {
            (Some(commit.clone()), is_last(draft), draft.task.verdict.clone())
        }
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::AwaitingReview { .. }
        | State::Asking { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. }
        | State::FinalReview { .. }
        | State::Approved { .. }
        | State::Paused { .. }
        | State::Ended { .. } => return,
    };
    let risk = draft.task.risk(last).or(seen);
    let status = if last { None } else { commit.clone() };
    let show_plan = draft.task.plan_changed && draft.task.pull.is_some();
    draft.emit(Event::CheckpointPosted { n, review, number, at: draft.now, commit, last, verdict });
    if let Some(commit) = status {
        draft.want(Effect::CommitStatus { n, commit, state: "pending".to_owned() });
    }
    if show_plan {
        draft.want(Effect::ShowPlan { n });
    }
    waiting(draft, n);
    advance::ask(draft, n, risk);
}

/// After a checkpoint was posted: wants the held decisions judged and the sandbox stopped.
fn waiting(draft: &mut Draft, n: u32) {
    judge_held(draft, n);
    draft.rest();
}

fn judge_held(draft: &mut Draft, n: u32) {
    if !draft.task.unjudged.is_empty() {
        let sources = draft.task.unjudged.clone();
        draft.want(Effect::Recheck { n, sources });
    }
}

/// After a pause: posts a checkpoint again that was voided meanwhile, otherwise wants the held decisions judged.
pub(super) fn stand_again(draft: &mut Draft, n: u32) {
    if draft.task.checkpoints.last().is_some_and(|at| at.n == n && at.void) {
        post_again(draft, n);
    } else {
        judge_held(draft, n);
    }
}

/// Voids a checkpoint whose review was edited or deleted; it is posted again under a new number.
pub(super) fn voided(draft: &mut Draft, n: u32) {
    if draft.task.checkpoint().is_some_and(|at| at.n == n) {
        advance::end(draft, Ending::Voided, true);
    }
    let paused = matches!(draft.task.state, State::Paused { .. });
    let stands = matches!(draft.task.underneath(),
        State::AwaitingReview { n: now, commit: Some(_) } | State::FinalReview { n: now, .. } if *now == n);
    if !stands || draft.task.checkpoint().is_none() {
        return;
    }
    draft.emit(Event::CheckpointVoided { n });
    draft.say(Notice::Voided { n });
    // A paused task posts it again when it resumes.
    if !paused {
        post_again(draft, n);
    }
}

/// Posts the same commit again, with what its checks and the CI gave if it was verified: publishing it anew would forget that.
fn post_again(draft: &mut Draft, n: u32) {
    let again = n + 1;
    let state = draft.task.state.clone();
    let (State::AwaitingReview { commit: Some(commit), .. } | State::FinalReview { commit, .. }) = state else {
        return;
    };
    let verified = draft.task.verdict.is_some();
    draft.emit(match verified {
        true => Event::VerifyStarted { n: again, commit: commit.clone() },
        false => Event::PublishStarted { n: again, why: Why::Checkpoint },
    });
    draft.emit(Event::TreeUnchanged { n: again, commit: commit.clone(), left_out: Vec::new() });
    let last = verified && is_last(draft);
    draft.want(Effect::Review { n: again, commit: Some(commit), last });
}
