//! From a notice of the task machine to its text.

use super::about::About;
use super::answer::NotReviewed;
use super::{answer, budget, cost, host, life, merge, rebase, reply, terms, upstream_ci};
use crate::config::own_commands::OwnCommands;
use crate::text::code;
use domain::{Notice, PauseReason, QuestionSubject, State, TaskKind};

/// The text of a notice.
pub fn notice(notice: &Notice, about: &About<'_>) -> String {
    match notice {
        Notice::Accepted => life::accepted(about),
        Notice::Refused { login, verb } => answer::refused(login, verb),
        Notice::NotAmong { login, verb, whom } => answer::not_among(login, verb, whom),
        Notice::AlreadyLive => answer::already_live(about),
        Notice::NotReviewed { login, own } => not_reviewed(login, *own),
        Notice::Edited { login, pushed: false } => answer::edited(login),
        Notice::Edited { login, pushed: true } => answer::edited_or_pushed(login),
        Notice::Unapprovable { login, reason } => answer::unapprovable(login, reason),
        Notice::Stale { login, reason } => answer::stale(login, reason),
        Notice::OthersAwaited { login, n, left } => answer::others_awaited(login, *n, *left),
        Notice::Doubtful { login, n } => answer::doubtful(login, *n),
        Notice::NameTheCommit { login, commit } => answer::name_the_commit(login, commit.as_str()),
        Notice::Status => answer::status(about),
        // If a model is asked, its answer is posted instead.
        Notice::Reply { login, .. } => reply::unanswered(login, "no model was asked"),
        Notice::Cost => cost::cost(about, &[]),
        Notice::Help => answer::help(&OwnCommands::default()),
        Notice::UnknownCommand { word, why } => answer::unknown_here(word, why.as_deref(), &[]),
        Notice::HostAllowed { login, host, repo } => host::allowed(login, host, *repo, about),
        Notice::HostDenied { login, host } => host::denied(login, host),
        Notice::HostBarred { login, host, bar } => host::barred(login, host, bar),
        Notice::NothingToDeny { login, host } => host::nothing_to_deny(login, host, about),
        Notice::RemarksKept { login, n } => answer::remarks_kept(login, *n),
        Notice::NoChangesAnyMore { login } => answer::no_changes_any_more(login),
        Notice::BudgetGranted { login, more, lacks } => budget::granted(login, more, lacks.as_deref()),
        Notice::BudgetRefused { login, why } => budget::refused(login, why),
        Notice::BudgetNeeded { login, what } => budget::needed(login, what),
        Notice::NothingToApprove { login } => answer::nothing_to_approve(login, about),
        Notice::DoubtfulPermission { login, number } => super::permission::doubtful(login, *number),
        Notice::InAdvance { login, next } => answer::in_advance(login, *next),
        Notice::AdvanceEnded { login, left, why } => answer::advance_ended(login, *left, why),
        Notice::NothingToPause { login } => answer::nothing_to_pause(login, about),
        Notice::TermsTooLate { login } => terms::too_late(login),
        Notice::ModelChosen { login, id } => terms::chosen(login, id),
        Notice::NoSuchModel { login, id, among } => terms::no_such_model(login, id, among),
        Notice::NotPaused { login } => answer::not_paused(login, about),
        Notice::Paused { reason } => life::paused_now(reason, about),
        Notice::Resumed => life::resumed(about),
        Notice::Approved { commit } => life::approved(commit.as_str(), about),
        Notice::Voided { n } => life::voided(*n),
        Notice::Cancelled { login } => life::cancelled(login, about),
        Notice::Retried { login } => life::retried(login, about),
        Notice::Rebasing { login } => rebase::rebasing(login, about),
        Notice::NotRebased { login, why } => rebase::not_rebased(login, why, about),
        Notice::NotMerged { login, why } => merge::not_merged(login, why, about),
        Notice::Merged { how } => merge::merged(how),
        Notice::Declined => life::declined(about),
        Notice::Failed { why } => life::failed(why, about),
        Notice::Delivered => life::delivered(),
        Notice::UpstreamCi { ended } => upstream_ci::ended(ended),
        Notice::Expired => life::expired(about),
        Notice::Trouble { sentence } => life::trouble(sentence),
        Notice::LeftUndone { sentence } => life::left_undone(sentence),
        Notice::Beside { text, .. } => text.clone(),
        Notice::Moved { from, to } => life::moved(from, to),
    }
}

fn not_reviewed(login: &str, own: bool) -> String {
    let why = if own { NotReviewed::Own } else { NotReviewed::NoPull };
    answer::not_reviewed(login, TaskKind::Review.name(), why)
}

impl About<'_> {
    /// The task's state, as the end of "the task is …".
    pub(super) fn state_words(&self) -> String {
        match &self.task.state {
            State::Queued => match self.line {
                Some(line) => format!("in line for a free place, {}", super::waits::words(line)),
                None => "in line for a free place".to_owned(),
            },
            State::Preparing => "getting its sandbox".to_owned(),
            State::Running => "at work".to_owned(),
            State::Publishing { n, .. } => format!("publishing checkpoint {n}"),
            State::AwaitingReview { n, .. } => format!("waiting for an answer to checkpoint {n}"),
            State::Asking { about: QuestionSubject::Question { .. }, .. } => {
                "waiting for an answer to its question".to_owned()
            }
            State::Asking { about: QuestionSubject::Permission { .. }, .. } => "waiting for a permission".to_owned(),
            State::Verifying { .. } => "being checked by the bot".to_owned(),
            State::AwaitingCi { .. } => "waiting for the forge's CI".to_owned(),
            State::FinalReview { .. } => "done, and waiting for the last approval".to_owned(),
            State::Approved { .. } => "approved".to_owned(),
            State::Paused { .. } => "paused".to_owned(),
            State::Ended { .. } => format!("over ({})", self.task.state.name()),
        }
    }

    /// What a person can do next.
    pub(super) fn next_words(&self) -> String {
        let review = match self.pull_url {
            Some(url) => format!("its [pull request]({url})"),
            None => "this issue".to_owned(),
        };
        match &self.task.state {
            State::Queued
            | State::Preparing
            | State::Running
            | State::Publishing { .. }
            | State::Verifying { .. }
            | State::AwaitingCi { .. } => {
                "`/stop` ends it; remarks on it reach the agent with your next decision.".to_owned()
            }
            State::AwaitingReview { .. } => format!("Answer on {review}."),
            State::Asking { about: QuestionSubject::Permission { .. }, .. } => {
                format!(
                    "`/approve` in a comment on {review} permits it; other words refuse it, and `/stop` ends the task."
                )
            }
            State::Asking { .. } => format!("Answer its question with a comment on {review}; `/stop` ends it."),
            State::FinalReview { commit, .. } => format!(
                "Approve the final review on {review}, or write {}.",
                code(&format!("/approve {}", commit.as_str().get(..10).unwrap_or_default()))
            ),
            State::Approved { .. } => "`caisson fetch` brings it home.".to_owned(),
            State::Paused { reason: PauseReason::Budget { .. }, .. } => {
                "`/budget …` grants more and goes on, `/stop` ends it.".to_owned()
            }
            State::Paused { .. } => "`/resume` goes on, `/stop` ends it.".to_owned(),
            State::Ended { .. } => format!("{} starts a new one.", self.again()),
        }
    }
}
