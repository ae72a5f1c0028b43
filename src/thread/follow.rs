//! Reads a task's thread: feeds every new text, in the forge's own order, and what happened to its issue, pull request and reviews.

use super::accounts::BEHIND_NAME;
use super::answer::Answers;
use super::apart::CommandsApart;
use super::attempt::Retries;
use super::decisions::{Decisions, FoundDecision};
use super::further::{FurtherCommands, beside_key};
use super::hosts::{HostCommands, is_older};
use super::keys::decision_key;
use super::moved::Moves;
use super::read::{Thread, ThreadReader, counts_in_part, whole};
use super::remarks::{feed_remarks, tell_unheard};
use super::{Feed, withdrawn, words};
use crate::clock::now;
use crate::command::OwnNames;
use crate::config::Process;
use crate::config::process::Repository;
use crate::config::who::is_of_readers;
use crate::forge::{ForgeError, IssueEdit, RepoRef, RepositoryAddresses, Review, ReviewState};
use crate::message;
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Access, Decision, Input, Notice, RemarkWithdrawn, Source, State, Task, TaskId, Verb};
use std::sync::Arc;

/// Reads the threads of tasks, and feeds what is new in them.
pub struct Follower {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) moves: Arc<Moves>,
    pub(super) reader: Arc<ThreadReader>,
    pub(super) decisions: Decisions,
    pub(super) dispatcher: Dispatcher,
}

impl Follower {
    /// Feeds everything new that was said to a task, and what happened to its issue, pull request and reviews.
    pub async fn follow(&self, entry: &Repository, id: TaskId, feed: &dyn Feed) -> Result<Thread, Trouble> {
        let task = feed.look(id).await?;
        let at = self.addresses.at(entry)?;
        let mut thread = self.reader.thread(entry, &at, &task, &[]).await?;
        match self.moves.was_at(entry, &at, feed).await {
            Ok(()) => {}
            // If parts are hidden, the caller judges the thread by those.
            Err(trouble) if thread.hidden.is_empty() || matches!(trouble, Trouble::Moved { .. }) => {
                return Err(trouble);
            }
            Err(_) => return Ok(thread),
        }
        // Before the decisions, so that an approval of an edited review finds it voided.
        notice_voided(&task, &thread, feed).await?;
        notice_withdrawn(&task, &thread, feed).await?;
        let found = self.decisions.decisions(entry, &task, &thread, None).await?;
        let unread = thread.unread.take().map(Trouble::from);
        let (mut failed, mut held) = (None, unread.or(found.failed));
        for given in found.decisions {
            let decision = &given.decision;
            let now = feed.look(id).await?;
            if now.state.ended() {
                break;
            }
            // The oldest decides: what a pause held comes before what was said after it. Where a part is hidden nothing decides.
            if held.is_none()
                && thread.hidden.is_empty()
                && decides(&decision.verb)
                && let Err(trouble) = self.judge_held(&now, feed).await
            {
                if matches!(trouble, Trouble::Moved { .. }) {
                    return Err(trouble);
                }
                held = Some(trouble);
            }
            let in_part = held.is_some() || !thread.hidden.is_empty();
            let unfit = in_part && (!counts_in_part(&decision.verb) || rests(&now, &decision.verb));
            if unfit || is_too_late(&now, &thread, decision) {
                continue;
            }
            // These are answered while they are read: what the forge does not take as an answer must hold up no decision, and is given by the
            // next reading. After any other failure later texts wait, because the oldest decides; but those that hold back, or are about the state.
            let answered = decision.verb.is_apart() || matches!(decision.verb, Verb::Retry { .. });
            match self.dispatcher.take(entry, (id, &task), &thread, given, feed).await {
                Ok(()) => {}
                Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                Err(trouble) if answered => failed = failed.or(Some(trouble)),
                Err(trouble) => held = held.or(Some(trouble)),
            }
        }
        // Nor does it end meanwhile: whether finished work was approved before it was merged may depend on what waits.
        let approved = matches!(feed.look(id).await?.underneath(), State::Approved { .. });
        if let Some(trouble) = held.take_if(|_| !approved) {
            return Err(trouble);
        }
        self.notice_ends(&at, id, &thread, feed).await?;
        held.or(failed).map_or(Ok(thread), Err)
    }

    async fn notice_ends(&self, at: &RepoRef, id: TaskId, thread: &Thread, feed: &dyn Feed) -> Result<(), Trouble> {
        if let Some(pull) = thread.pull.as_ref().filter(|p| p.merged || !p.open) {
            let input = Input::PullClosed { merged: pull.merged, how: pull.merge() };
            feed.feed(id, &format!("pull-closed:{id}"), input).await?;
        } else if !thread.is_open() && !self.opens_again(at, id, thread, feed).await? {
            feed.feed(id, &format!("issue-closed:{id}"), Input::IssueClosed).await?;
        }
        Ok(())
    }

    /// Opens the issue of a task again that nobody here closed: what the account that keeps in step pushes are the upstream's commits, and the
    /// forge closes the issues that their messages name. By these numbers the upstream means its own.
    async fn opens_again(&self, at: &RepoRef, id: TaskId, thread: &Thread, feed: &dyn Feed) -> Result<bool, Trouble> {
        let (accounts, forge) = (&self.decisions.accounts, &self.reader.forge);
        let Some(issue) = thread.issue.as_ref().filter(|_| accounts.sync.is_some()) else { return Ok(false) };
        if feed.look(id).await?.state.ended() {
            return Ok(false);
        }
        let by = match forge.closed_by(at, issue.number).await {
            // Whoever closes an issue with so long a thread is to be heard all the same.
            Err(ForgeError::TooLarge(_)) => None,
            by => by?,
        };
        if !by.is_some_and(|by| accounts.keeps_in_step(&by)) {
            return Ok(false);
        }
        let edit = IssueEdit { open: Some(true), ..IssueEdit::default() };
        forge.edit_issue(at, issue.number, &edit).await?;
        tracing::info!(repository = %at, issue = issue.number, "opened again: a commit of the upstream's closed it");
        Ok(true)
    }
}

/// Hands a text to what carries it out.
pub(super) struct Dispatcher {
    pub hosts: Arc<HostCommands>,
    pub further: Arc<FurtherCommands>,
    pub answers: Arc<Answers>,
    pub apart: Arc<CommandsApart>,
    pub retries: Arc<Retries>,
}

impl Dispatcher {
    /// Takes up one text of a task's thread.
    async fn take(
        &self,
        entry: &Repository,
        (id, task): (TaskId, &Task),
        thread: &Thread,
        given: FoundDecision,
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let decision = &given.decision;
        let key = decision_key(&decision.source);
        let text = thread.text(&decision.source);
        let number = thread.number(&decision.source, task);
        if is_older(decision, task) && !decision.verb.is_apart() {
            return match may_now(decision) {
                true => self.hosts.take_denials(entry, (id, task, number), (&key, text), decision, feed).await,
                false => Ok(()),
            };
        }
        if may_now(decision) {
            let text = self.answer_beside(entry, task, thread, &given).await?;
            if !text.is_empty() {
                // By the task's queue, so that nothing waits for the forge to take it.
                let notice = Notice::Beside { number: decision.number, thread: number, text };
                feed.feed(id, &beside_key(&key), Input::Noticed { notice }).await?;
            }
        }
        let FoundDecision { decision, text_edited, remarks, long, denied, .. } = given;
        // Before the decision itself, because its key marks the whole text as taken up.
        // Hosts are judged by the text that names them, whatever became of a list of steps.
        let of_text = Decision { edited: text_edited, ..decision.clone() };
        self.hosts.feed_hosts(entry, id, &key, (text, &of_text, Some(task), long.is_some()), feed).await?;
        self.hosts.feed_denials(entry, (id, task), &key, (denied, &of_text), feed).await?;
        let unheard = feed_remarks(id, (&key, number), (&decision, remarks), feed).await?;
        // The text's own key is left for the new attempt, which begins once this task has ended.
        let ends = matches!(decision.verb, Verb::Retry { .. }) && may_now(&decision);
        let apart = decision.verb.is_apart() && may_now(&decision);
        let who = &decision.poster;
        if (ends || apart) && self.answers.is_taken_up(entry, number, &key, who.id).await? {
            return Ok(());
        }
        if apart {
            return self.apart.carry_out(entry, number, &key, (who, &decision.verb), &decision.source).await;
        }
        // The task is not ended if the new attempt may not begin.
        if ends && let Some(answer) = self.retries.bars_attempt(entry, &feed.look(id).await?, &decision).await? {
            return self.answers.answer_once(entry, number, &key, &answer).await;
        }
        let key = if ends { format!("{key}~") } else { key };
        feed.feed(id, &key, Input::Decided { decision: Box::new(decision) }).await?;
        tell_unheard(id, &key, unheard, feed).await
    }

    /// What is answered beside the decision to a text whose author may decide: to its further commands, to those on lines, to those behind the
    /// bot's name, to an approval that does not count, and to a text that is too long. Empty where there is nothing to answer.
    async fn answer_beside(
        &self,
        entry: &Repository,
        task: &Task,
        thread: &Thread,
        given: &FoundDecision,
    ) -> Result<String, Trouble> {
        let decision = &given.decision;
        let said = (&decision.poster, thread.text(&decision.source), &decision.verb);
        let beside = self.further.beside(entry, (said, &OwnNames::new()), decision.right, Some(task)).await?;
        // What only asks is answered wherever it stands.
        let (asks, left): (Vec<String>, Vec<String>) = given.left.iter().cloned().partition(|name| is_of_readers(name));
        let asked: String = asks.iter().map(|name| format!("/{name}\n")).collect();
        let on_lines = (&decision.poster, asked.as_str(), &decision.verb);
        let on_lines = self.further.beside(entry, (on_lines, &OwnNames::new()), decision.right, Some(task)).await?;
        let inline = (!left.is_empty()).then(|| message::left_inline(&decision.poster.login, &left));
        let approval = approval_left(thread, task, decision).filter(|_| given.long.is_none());
        let long = given.long.filter(|_| decision.verb != Verb::Stop);
        let long = long.map(|count| message::too_long(&decision.poster.login, count, &decision.source));
        let behind = given.behind.iter().map(|word| message::unknown_beside(word, Some(BEHIND_NAME), &[]));
        let all = [long, approval, beside, on_lines, inline];
        Ok(all.into_iter().flatten().chain(behind).collect::<Vec<_>>().join("\n\n"))
    }
}

impl Follower {
    /// Judges what is held about the checkpoint that stands.
    async fn judge_held(&self, task: &Task, feed: &dyn Feed) -> Result<(), Trouble> {
        match &task.state {
            State::AwaitingReview { n, .. } | State::FinalReview { n, .. } if !task.unjudged.is_empty() => {
                self.recheck(task, *n, &task.unjudged, feed).await
            }
            _ => Ok(()),
        }
    }

    /// Reads these comments and reviews of a task again, and feeds their decisions with the current right and head. `n` is the checkpoint that
    /// they are about: they came while it was being published, or while a pause interrupted the wait for its decision.
    pub async fn recheck(&self, task: &Task, n: u32, sources: &[Source], feed: &dyn Feed) -> Result<(), Trouble> {
        let key = task.request.as_ref().map(|r| r.repository.as_str()).unwrap_or_default();
        let Some(entry) = self.config.repository(key) else { return Ok(()) };
        let at = self.addresses.at(&entry)?;
        // What was held since this was asked for is judged with it: an open effect keeps the list that it began with.
        let now = feed.look(task.id).await?;
        let stands = now.checkpoint().is_some_and(|at| at.n == n);
        let later = now.unjudged.iter().filter(|it| stands && !sources.contains(it));
        let mut open = Vec::new();
        for source in sources.iter().chain(later) {
            // Those that wait for further approvals were judged before.
            if !self.store.knows_input(&recheck_key(task.id, n, source)).await? {
                open.push(source.clone());
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        let sources = open;
        let thread = whole(self.reader.thread(&entry, &at, task, &sources).await?)?;
        self.moves.was_at(&entry, &at, feed).await?;
        let found = self.decisions.decisions(&entry, task, &thread, Some(&sources)).await?.all()?;
        for FoundDecision { decision, .. } in found {
            // Held again it would be lost, because its key counts once; the end of this pause asks for it again.
            if feed.look(task.id).await?.review_is_interrupted() {
                return Ok(());
            }
            let key = recheck_key(task.id, n, &decision.source);
            feed.feed(task.id, &key, Input::Decided { decision: Box::new(decision) }).await?;
        }
        Ok(())
    }

    /// The current state of an approval given in advance, after everything said since was taken up; none if it is gone.
    pub async fn advance(&self, task: &Task, source: &Source, feed: &dyn Feed) -> Result<Option<Decision>, Trouble> {
        let key = task.request.as_ref().map(|r| r.repository.as_str()).unwrap_or_default();
        let Some(entry) = self.config.repository(key) else { return Ok(None) };
        let thread = whole(self.follow(&entry, task.id, feed).await?)?;
        let only = std::slice::from_ref(source);
        Ok(self.decisions.decisions(&entry, task, &thread, Some(only)).await?.all()?.pop().map(|it| it.decision))
    }
}

/// Whether this `/pause` would change nothing now. It is left for the reading that sees everything, so that an older `/resume` which cannot be
/// judged yet does not come after it.
fn rests(task: &Task, verb: &Verb) -> bool {
    *verb == Verb::Pause && matches!(task.state, State::Paused { .. })
}

/// Whether it approves the commit of finished work once more whose pull request is closed or merged. The forge takes no approving review then.
fn is_too_late(task: &Task, thread: &Thread, decision: &Decision) -> bool {
    let closed = thread.pull.as_ref().is_some_and(|pull| pull.merged || !pull.open);
    let late = match decision.source {
        Source::Comment(_) => matches!(decision.verb, Verb::Approve { commit: Some(_), .. }),
        // One that approves is older than the end; one that only comments need not be.
        Source::Review(id) => {
            let comments = |review: &Review| review.id == id && review.state == ReviewState::Comment;
            matches!(decision.verb, Verb::Approve { .. }) && thread.reviews.iter().any(comments)
        }
        Source::Issue(_) | Source::Reply { .. } | Source::Change(_) => false,
    };
    closed && late && matches!(task.state, State::Approved { .. })
}

fn recheck_key(id: TaskId, n: u32, source: &Source) -> String {
    format!("recheck:{id}:{n}:{source}")
}

/// Whether it decides about a checkpoint.
fn decides(verb: &Verb) -> bool {
    matches!(verb, Verb::Approve { .. } | Verb::Changes { .. } | Verb::Rebase { .. } | Verb::Fix { .. })
}

/// What the author of an approving review is told where a command of it, which is taken up, contradicts the approval. Beside an `/approve` of
/// its text that one is named.
fn approval_left(thread: &Thread, task: &Task, decision: &Decision) -> Option<String> {
    let careful = matches!(decision.verb, Verb::Stop | Verb::Changes { .. } | Verb::Rebase { .. } | Verb::Pause);
    let approves =
        |review: &&Review| decision.source == Source::Review(review.id) && review.state == ReviewState::Approved;
    let review = thread.reviews.iter().find(approves).filter(|_| careful && task.persons_pull().is_none())?;
    let names_it = words::commands(&review.body).iter().any(|verb| matches!(verb, Verb::Approve { .. }));
    (!names_it).then(|| message::approval_left(&decision.poster.login))
}

/// Whether it was not edited, and its author may give it.
fn may_now(decision: &Decision) -> bool {
    !decision.edited && decision.right >= Access::Write && decision.barred.is_none()
}

/// Voids a checkpoint whose review was edited or deleted. `before` is the task as it was before the thread was read.
async fn notice_voided(before: &Task, thread: &Thread, feed: &dyn Feed) -> Result<(), Trouble> {
    let task = feed.look(before.id).await?;
    if let Some(n) = voided(before, &task, thread) {
        feed.feed(task.id, &format!("void:{}:{n}", task.id), Input::CheckpointVoided { n }).await?;
    }
    Ok(())
}

/// The checkpoint whose review was edited or deleted, as far as this reading shows it. One that was posted while the thread was read may be
/// missing from it however long ago that is, so only one that stood `before` is judged.
fn voided(before: &Task, task: &Task, thread: &Thread) -> Option<u32> {
    let checkpoint = task.checkpoint().filter(|c| c.review > 0 && !c.used && thread.reviewed)?;
    before.checkpoint().filter(|known| known.n == checkpoint.n)?;
    let found = thread.reviews.iter().find(|r| r.id == checkpoint.review);
    let listed = found.is_some_and(|r| !r.is_changed());
    // The forge lists a review a moment after it was posted.
    let older = thread.reviews.iter().map(|r| r.number).max().unwrap_or(0) < checkpoint.number;
    if listed || (found.is_none() && older && recent(checkpoint.at)) {
        return None;
    }
    Some(checkpoint.n)
}

/// Records open remarks that were taken back, as far as this reading shows it. `task` is as it was before the thread was read, so that no
/// newer text seems to be gone.
async fn notice_withdrawn(task: &Task, thread: &Thread, feed: &dyn Feed) -> Result<(), Trouble> {
    let remarks = withdrawn::seen(task, thread);
    if !remarks.is_empty() {
        let key = withdrawn_key(task.id, &remarks);
        feed.feed(task.id, &key, Input::RemarksWithdrawn { remarks }).await?;
    }
    Ok(())
}

/// The key under which remarks are found withdrawn; each is so once.
pub fn withdrawn_key(id: TaskId, remarks: &[RemarkWithdrawn]) -> String {
    let numbers: Vec<String> = remarks.iter().map(|one| one.remark.to_string()).collect();
    format!("withdrawn:{id}:{}", numbers.join(","))
}

/// Whether it was posted so recently (Unix milliseconds) that a list may not contain it yet.
fn recent(at: i64) -> bool {
    (0..10_000).contains(&(now() - at))
}

#[cfg(test)]
mod tests {
    use super::{Thread, now, voided};
    use crate::forge::{Account, Review, ReviewState};
    use crate::thread::fixtures;
    use domain::{Checkpoint, Task, TaskId};

    /// A task whose checkpoints with these numbers were posted at this time.
    fn task(numbers: &[u32], at: i64) -> Task {
        let posted = |n: &u32| Checkpoint {
            n: *n,
            commit: None,
            review: i64::from(*n),
            number: i64::from(*n),
            at,
            last: false,
            void: false,
            used: false,
            coverable: false,
        };
        let mut task = Task::new(TaskId(1));
        task.checkpoints = numbers.iter().map(posted).collect();
        task
    }

    /// A thread with the reviews of these checkpoints, changed at this time.
    fn thread(numbers: &[i64], updated_at: i64) -> Thread {
        let review = |number: &i64| Review {
            id: *number,
            number: *number,
            author: Account { id: 4, login: "caisson".into() },
            updated_at,
            ..fixtures::review(ReviewState::Comment, "")
        };
        Thread {
            comments: Vec::new(),
            reviews: numbers.iter().map(review).collect(),
            replies: Vec::new(),
            unread: None,
            pull: None,
            issue: None,
            reviewed: true,
            hidden: Vec::new(),
        }
    }

    #[test]
    fn a_checkpoint_that_was_posted_while_the_thread_was_read_is_not_voided() {
        let long_ago = now() - 60_000;
        let (first, both) = (task(&[1], long_ago), task(&[1, 2], long_ago));
        assert_eq!(voided(&first, &both, &thread(&[1], 0)), None, "read from before it was posted");
        assert_eq!(voided(&task(&[], 0), &first, &thread(&[], 0)), None, "the first one");
        assert_eq!(voided(&both, &both, &thread(&[1], 0)), Some(2), "deleted");
        assert_eq!(voided(&both, &both, &thread(&[1, 2], 1)), Some(2), "edited");
        assert_eq!(voided(&both, &both, &thread(&[1, 2], 0)), None, "as it was posted");
        let mut off_page = thread(&[1, 2], 0);
        off_page.reviews[1].number = 0;
        assert_eq!(voided(&both, &both, &off_page), Some(2), "deleted on the page, which the forge still lists");
        let young = task(&[1, 2], now());
        assert_eq!(voided(&young, &young, &thread(&[1], 0)), None, "not listed yet");
    }
}
