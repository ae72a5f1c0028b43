//! Decisions of people: checks who may take them and which checkpoint they are about, and uses each once.

use super::{DOUBT_MS, Draft, advance, ask, budget, go_on, host, merge, rebase, steer, unrun};
use crate::{
    Access, Checkpoint, Commit, Decision, Effect, End, Event, Item, NO_COMMAND, NO_RIGHT, NOT_AMONG, Notice, Source,
    State, Verb,
};
use std::collections::BTreeSet;

/// The least number of digits that may name a commit.
const SHORTEST_COMMIT: usize = 7;

pub(super) fn decided(draft: &mut Draft, decision: &Decision) {
    draft.judged_again = draft.task.unjudged.contains(&decision.source);
    advance::end_by_words(draft, decision);
    let login = decision.poster.login.clone();
    if let (Some(whom), Some(verb)) = (&decision.barred, decision.verb.command())
        && decision.right >= decision.verb.least()
    {
        return not_among(draft, decision, verb, whom);
    }
    match &decision.verb {
        Verb::Status if decision.right >= Access::Read => return draft.answer(decision, Notice::Status),
        Verb::Cost if decision.right >= Access::Read => return draft.answer(decision, Notice::Cost),
        Verb::Help if decision.right >= Access::Read => return draft.answer(decision, Notice::Help),
        Verb::Unknown { word, why } if decision.right >= Access::Read => {
            return unknown(draft, decision, Notice::UnknownCommand { word: word.clone(), why: why.clone() });
        }
        Verb::Status | Verb::Cost | Verb::Help | Verb::Unknown { .. } => return,
        Verb::Say { .. } if decision.right < Access::Write => return,
        // An edited text that would answer the waiting question is asked for again instead of being ignored, and so is a remark on a line.
        Verb::Say { items }
            if decision.edited && !ask::answers(draft, decision) && items.iter().all(|item| item.path.is_none()) =>
        {
            return;
        }
        Verb::Approve { .. }
        | Verb::Changes { .. }
        | Verb::Stop
        | Verb::Resume
        | Verb::Fix { .. }
        | Verb::Plan { .. }
        | Verb::Work { .. }
        | Verb::Say { .. }
        | Verb::Allow { .. }
        | Verb::Deny { .. }
        | Verb::Budget { .. }
        | Verb::Pause
        | Verb::Retry { .. }
        | Verb::Rebase { .. }
        | Verb::Merge { .. }
        | Verb::Ask { .. }
        | Verb::Test { .. }
        | Verb::TestOff
        | Verb::Sync
        | Verb::Model { .. } => {}
    }
    // Before anything else, so that who may not decide is told only that, once.
    if decision.right < Access::Write {
        return no_right(draft, decision);
    }
    if decision.edited {
        return draft.refuse(decision, "edited", Notice::Edited { login, pushed: is_overtaken(decision) });
    }
    allowed(draft, decision);
}

/// Whether this review shows another commit than the one at which the branch ends.
fn is_overtaken(decision: &Decision) -> bool {
    let shown = decision.commit.as_ref().filter(|_| matches!(decision.source, Source::Review(_)));
    shown.zip(decision.head.as_ref()).is_some_and(|(shown, head)| shown != head)
}

/// As [`decided`], for a task that is over: only an approval of what was delivered is taken, and a question, which leaves no event of its own.
pub(super) fn decided_after(draft: &mut Draft, decision: &Decision) {
    if approves_again(draft, decision) {
        decided(draft, decision);
    } else if let Verb::Ask { question } = &decision.verb
        && decision.right >= Access::Write
        && decision.barred.is_none()
        && !decision.edited
    {
        reply(draft, decision, question);
    }
}

/// Has the question answered where it was asked.
fn reply(draft: &mut Draft, decision: &Decision, question: &str) {
    let (login, number) = (decision.poster.login.clone(), decision.number);
    draft.answer(decision, Notice::Reply { login, number, question: question.to_owned() });
}

/// Whether it approves work that is finished and was approved before, whose approval may have been withdrawn since.
fn approves_again(draft: &Draft, decision: &Decision) -> bool {
    matches!(decision.verb, Verb::Approve { .. }) && draft.task.is_finished()
}

/// Refuses a decision of an account without write access; the account is told once.
fn no_right(draft: &mut Draft, decision: &Decision) {
    let (login, verb) = (decision.poster.login.clone(), decision.verb.command().unwrap_or("comment").to_owned());
    if !draft.task.told_no_right.contains(&decision.poster.id) {
        draft.answer(decision, Notice::Refused { login, verb });
    }
    draft.refused(decision, NO_RIGHT);
}

/// Answers a command that is none; an account without write access is answered so once, or anybody could make the bot post without end.
fn unknown(draft: &mut Draft, decision: &Decision, notice: Notice) {
    if decision.right >= Access::Write {
        return draft.answer(decision, notice);
    }
    if !draft.task.told_no_command.contains(&decision.poster.id) {
        draft.answer(decision, notice);
    }
    draft.refused(decision, NO_COMMAND);
}

/// As [`no_right`], for a command that the operator reserves for others.
fn not_among(draft: &mut Draft, decision: &Decision, verb: &str, whom: &str) {
    let (login, verb, whom) = (decision.poster.login.clone(), verb.to_owned(), whom.to_owned());
    if !draft.task.told_no_right.contains(&decision.poster.id) {
        draft.answer(decision, Notice::NotAmong { login, verb, whom });
    }
    draft.refused(decision, NOT_AMONG);
}

fn allowed(draft: &mut Draft, decision: &Decision) {
    let (login, number) = (decision.poster.login.clone(), decision.number);
    if ask::keep_for_later(draft, decision) {
        return;
    }
    match &decision.verb {
        Verb::Stop => draft.end(End::Cancelled { by: login.clone(), number }, Notice::Cancelled { login }),
        Verb::Ask { question } => reply(draft, decision, question),
        // Carried out beside the task, which is only told of one that may not.
        Verb::Test { .. } | Verb::TestOff | Verb::Sync => {}
        Verb::Pause => steer::pause(draft, decision),
        Verb::Retry { .. } => draft.end(End::Cancelled { by: login.clone(), number }, Notice::Retried { login }),
        Verb::Rebase { .. } => rebase::asked(draft, decision),
        Verb::Merge { bar } => merge::asked(draft, decision, bar.as_ref()),
        Verb::Resume => go_on::resume(draft, decision),
        Verb::Model { id, among } => steer::model(draft, decision, id, among),
        Verb::Budget { more, ceiling, who } => budget::grant(draft, decision, more, ceiling, *who),
        Verb::Allow { host, repo, bar } => host::allow(draft, decision, host, *repo, bar.as_ref()),
        Verb::Deny { host, kept } => host::deny(draft, decision, host, *kept),
        Verb::Plan { terms, .. } | Verb::Fix { terms, .. } | Verb::Work { terms, .. } if !terms.is_empty() => {
            draft.refuse(decision, "its options are for a task that begins", Notice::TermsTooLate { login });
        }
        Verb::Work { kind, .. } if kind.of_a_pull() && !draft.task.of_a_pull() => {
            let own = draft.task.pull.is_some() && draft.task.pull == decision.thread;
            draft.answer(decision, Notice::NotReviewed { login, own });
        }
        Verb::Plan { .. } | Verb::Work { .. } => draft.answer(decision, Notice::AlreadyLive),
        Verb::Fix { words, .. } => {
            if draft.task.kind.reads_only() && matches!(draft.task.state, State::AwaitingReview { .. }) {
                judge(draft, decision, Some(words.clone()));
            } else {
                draft.answer(decision, Notice::AlreadyLive);
            }
        }
        // A review whose inline comments give nothing but commands that are not carried out.
        Verb::Say { items } if items.is_empty() => {}
        Verb::Say { .. } | Verb::Changes { .. } if ask::answers(draft, decision) => ask::answered(draft, decision),
        Verb::Approve { .. } if ask::permits(draft, decision) => ask::permitted(draft, decision),
        Verb::Say { items } => keep(draft, decision, items, false),
        Verb::Approve { .. } | Verb::Changes { .. } => about_checkpoint(draft, decision),
        Verb::Status | Verb::Cost | Verb::Help | Verb::Unknown { .. } => {}
    }
}

/// An approval or a request for changes, as the state takes it.
fn about_checkpoint(draft: &mut Draft, decision: &Decision) {
    if is_held(draft, decision) {
        return draft.emit(Event::DecisionHeld { source: decision.source.clone(), number: decision.number });
    }
    match &draft.task.state {
        State::AwaitingReview { .. } | State::FinalReview { .. } => judge(draft, decision, None),
        State::Approved { .. } | State::Ended { .. } if approves_again(draft, decision) => judge(draft, decision, None),
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. }
        | State::Asking { .. }
        | State::Approved { .. }
        | State::Paused { .. }
        | State::Ended { .. } => early(draft, decision),
    }
}

/// Whether a decision waits: whatever is decided while a review may be posted, and changes asked for about a checkpoint that stands under a
/// pause or in the line. Of a person's pull request nothing waits: its review is over when it is posted.
fn is_held(draft: &Draft, decision: &Decision) -> bool {
    let under = draft.task.underneath();
    let may_be_posted = matches!(under, State::Publishing { .. } | State::Verifying { .. } | State::AwaitingCi { .. });
    let waits = draft.task.review_is_interrupted();
    !draft.task.of_a_pull() && (may_be_posted || waits && matches!(decision.verb, Verb::Changes { .. }))
}

/// Keeps remarks for the next decision.
fn keep(draft: &mut Draft, decision: &Decision, items: &[Item], asks: bool) {
    draft.emit(Event::FeedbackGiven { items: items.to_vec(), from: decision.source.clone(), asks });
}

/// Handles a decision while nothing waits for one: an approval is answered, remarks wait for the next decision, which approved work has not.
fn early(draft: &mut Draft, decision: &Decision) {
    let login = decision.poster.login.clone();
    if let Verb::Changes { items } = &decision.verb {
        if matches!(draft.task.underneath(), State::Approved { .. }) {
            return draft.refuse(decision, "the work is approved", Notice::NoChangesAnyMore { login });
        }
        keep(draft, decision, items, true);
    } else {
        draft.refuse(decision, "nothing to approve", Notice::NothingToApprove { login });
    }
}

fn judge(draft: &mut Draft, decision: &Decision, words: Option<String>) {
    let login = decision.poster.login.clone();
    let Some(checkpoint) = draft.task.checkpoint().cloned() else {
        return draft.refuse(decision, "no checkpoint stands", Notice::NothingToApprove { login });
    };
    if let Verb::Changes { items } = &decision.verb
        && decision.number <= checkpoint.number
    {
        // The author had not seen this checkpoint: the remarks are kept, the decision is not used.
        keep(draft, decision, items, true);
        return draft.answer(decision, Notice::RemarksKept { login, n: checkpoint.n });
    }
    if decision.number <= checkpoint.number {
        let reason = format!("it was given before checkpoint {} stood", checkpoint.n);
        return draft.refuse(decision, &reason.clone(), Notice::Stale { login, reason });
    }
    if matches!(decision.verb, Verb::Approve { .. })
        && let Err((reason, notice)) = approves(draft, decision, &checkpoint)
    {
        return draft.refuse(decision, &reason, notice);
    }
    let beside = counted(draft, decision, &checkpoint);
    if awaits_others(draft, decision, &checkpoint, &beside) {
        return;
    }
    let mut decision = decision.clone();
    if let Some(others) = &mut decision.others {
        others.approvals = beside;
    }
    accept(draft, &decision, &checkpoint, words);
}

/// The approvals of others that count beside this one.
fn counted(draft: &Draft, decision: &Decision, at: &Checkpoint) -> Vec<Decision> {
    let counts = |other: &&Decision| {
        matches!(other.verb, Verb::Approve { next: 0, .. })
            && other.number > at.number
            && !other.edited
            && other.right >= Access::Write
            && other.barred.is_none()
            && other.poster.id != decision.poster.id
            && approves(draft, other, at).is_ok()
    };
    let all = decision.others.iter().flat_map(|others| &others.approvals);
    all.filter(counts).cloned().collect()
}

/// Holds an approval that is not enough by itself. A plan's answer is one person's to approve.
fn awaits_others(draft: &mut Draft, decision: &Decision, at: &Checkpoint, beside: &[Decision]) -> bool {
    let Some(others) = decision.others.as_ref().filter(|_| !draft.task.kind.reads_only()) else { return false };
    let Verb::Approve { next, .. } = &decision.verb else { return false };
    let login = decision.poster.login.clone();
    if *next > 0 {
        let reason = "more than one person approves here, and each of them one checkpoint at a time".to_owned();
        draft.refuse(decision, &reason.clone(), Notice::Stale { login, reason });
        return true;
    }
    let people: BTreeSet<i64> = beside.iter().map(|other| other.poster.id).collect();
    let left = usize::from(others.needed).saturating_sub(people.len());
    if left == 0 {
        return false;
    }
    if !draft.task.unjudged.contains(&decision.source) {
        let left = u8::try_from(left).unwrap_or(u8::MAX);
        draft.answer(decision, Notice::OthersAwaited { login, n: at.n, left });
    }
    draft.emit(Event::DecisionHeld { source: decision.source.clone(), number: decision.number });
    true
}

fn stale(login: &str, reason: String) -> (String, Notice) {
    (reason.clone(), Notice::Stale { login: login.to_owned(), reason })
}

/// Checks that this approval is about exactly the checkpoint that waits.
fn approves(draft: &Draft, decision: &Decision, at: &Checkpoint) -> Result<(), (String, Notice)> {
    let login = &decision.poster.login;
    let Verb::Approve { checkpoint, commit: named, .. } = &decision.verb else { return Ok(()) };
    if checkpoint.is_some_and(|c| c != at.n) {
        return Err(stale(login, format!("it names another checkpoint than {}", at.n)));
    }
    if let Some(commit) = &at.commit {
        about_commit(draft, decision, commit, named.as_deref())?;
        // Whoever takes the commit reads the approval again: a review counts there only by its state.
        let names_it = match decision.source {
            Source::Review(_) => !decision.only_comments,
            Source::Issue(_) | Source::Comment(_) | Source::Change(_) | Source::Reply { .. } => named.is_some(),
        };
        if at.last && !names_it {
            let notice = Notice::NameTheCommit { login: login.clone(), commit: commit.clone() };
            return Err(("the final approval names its commit".to_owned(), notice));
        }
    }
    if let Some(reason) = draft.task.unapprovable().filter(|_| at.last) {
        let notice = Notice::Unapprovable { login: login.clone(), reason: reason.clone() };
        return Err((reason, notice));
    }
    let bare = checkpoint.is_none() && named.is_none() && matches!(decision.source, Source::Comment(_));
    let other = draft.task.last_decider.as_ref().is_some_and(|a| a.id != decision.poster.id);
    if bare && other && decision.at - at.at < DOUBT_MS {
        return Err(("doubtful".to_owned(), Notice::Doubtful { login: login.clone(), n: at.n }));
    }
    Ok(())
}

fn about_commit(
    draft: &Draft,
    decision: &Decision,
    commit: &Commit,
    named: Option<&str>,
) -> Result<(), (String, Notice)> {
    let login = &decision.poster.login;
    if named.is_some_and(|p| p.len() < SHORTEST_COMMIT || !commit.as_str().starts_with(p)) {
        return Err(stale(login, format!("it names another commit than {}", commit.short())));
    }
    if matches!(decision.source, Source::Review(_)) && decision.commit.as_ref() != Some(commit) {
        return Err(stale(login, format!("the page it was given on showed another commit than {}", commit.short())));
    }
    if decision.head.as_ref() != Some(commit) {
        return Err(stale(login, format!("the branch no longer ends at {}", commit.short())));
    }
    let base = draft.task.request.as_ref().map(|r| r.base_branch.as_str());
    if decision.base.as_deref() != base {
        return Err(stale(login, "the pull request now aims at another branch".to_owned()));
    }
    Ok(())
}

fn accept(draft: &mut Draft, decision: &Decision, at: &Checkpoint, words: Option<String>) {
    let plan = draft.task.kind.reads_only();
    let changes = matches!(decision.verb, Verb::Changes { .. });
    let again = approves_again(draft, decision);
    draft.emit(Event::DecisionUsed { decision: Box::new(as_used(decision, words.is_some())), n: at.n });
    // What follows the final approval was done at the first one.
    if again && let Some(commit) = at.commit.clone() {
        return draft.answer(decision, Notice::Approved { commit });
    }
    if let State::Approved { commit, .. } = draft.task.state.clone() {
        draft.say(Notice::Approved { commit: commit.clone() });
        draft.want(Effect::CommitStatus { n: at.n, commit, state: "success".to_owned() });
        draft.want(Effect::ReadyPull);
        merge::approved(draft, decision);
        return draft.want(Effect::Teardown);
    }
    if changes {
        unrun::asked_otherwise(draft);
    }
    if plan && !changes {
        let words = words.unwrap_or_default();
        draft.emit(Event::WidenedToFix { words: words.clone() });
        draft.plan_of(&words, Some(&decision.poster));
    }
    if let Some(next) = draft.task.advance.as_ref().map(|given| given.left) {
        let login = decision.poster.login.clone();
        draft.answer(decision, Notice::InAdvance { login, next });
    }
    draft.line_up();
}

/// The decision as it is stored: `/fix` below a plan's answer counts as its approval.
fn as_used(decision: &Decision, fix: bool) -> Decision {
    let mut used = decision.clone();
    if fix {
        used.verb = Verb::approve();
    }
    used
}
