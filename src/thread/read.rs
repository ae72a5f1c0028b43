//! The current thread of one task on the forge: issue, comments, pull request and reviews, and which of these could not be read.

use super::replies::{InlineComments, Replies};
use crate::config::process::Repository;
use crate::forge::{Comment, Forge, ForgeError, Issue, PullRequest, RepoRef, Review, ReviewComment};
use crate::trouble::Trouble;
use domain::{Source, Task, Verb};
use std::sync::Arc;

/// The current thread of one task.
pub struct Thread {
    pub(super) comments: Vec<Comment>,
    pub(super) reviews: Vec<Review>,
    /// People's replies on lines, those among them that were not taken up yet; on a person's pull request those with a command.
    pub(super) replies: Vec<ReviewComment>,
    /// Why some of these could not be read now.
    pub(super) unread: Option<ForgeError>,
    pub(super) pull: Option<PullRequest>,
    /// The issue; none where the forge did not show it.
    pub(super) issue: Option<Issue>,
    pub(super) reviewed: bool,
    /// The parts that the forge did not show.
    pub hidden: Vec<Hidden>,
}

impl Thread {
    /// False once the issue is known to be closed.
    pub(super) fn is_open(&self) -> bool {
        self.issue.as_ref().is_none_or(|issue| issue.open)
    }

    /// The number of the issue or pull request that holds one of its texts.
    pub(super) fn number(&self, source: &Source, task: &Task) -> u64 {
        let issue = task.request.as_ref().map_or(0, |request| request.issue);
        match source {
            Source::Comment(id) => self.comments.iter().find(|c| c.id == *id).map_or(issue, |c| c.issue),
            Source::Review(_) | Source::Reply { .. } => task.pull.unwrap_or(issue),
            Source::Issue(_) | Source::Change(_) => issue,
        }
    }

    /// The text of its issue, or of one of its comments or reviews; empty for a reply on a line, whose commands count as those of an inline comment do.
    pub(super) fn text(&self, source: &Source) -> &str {
        let found = match source {
            Source::Comment(id) => self.comments.iter().find(|c| c.id == *id).map(|c| &c.body),
            Source::Review(id) => self.reviews.iter().find(|r| r.id == *id).map(|r| &r.body),
            Source::Issue(_) => self.issue.as_ref().map(|issue| &issue.body),
            Source::Change(_) | Source::Reply { .. } => None,
        };
        found.map_or("", String::as_str)
    }
}

/// A part of a task's thread that could not be read.
pub struct Hidden {
    /// The part.
    pub what: Part,
    /// The forge's answer.
    pub error: ForgeError,
}

/// An issue or pull request whose thread is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The issue of this number.
    Issue(u64),
    /// The pull request of this number.
    Pull(u64),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Issue(number) => write!(f, "its issue #{number}"),
            Part::Pull(number) => write!(f, "its pull request #{number}"),
        }
    }
}

/// The result of one call; none, and an entry in `hidden`, if the forge refuses. Temporary errors end the reading.
fn part<T>(what: Part, answer: Result<T, ForgeError>, hidden: &mut Vec<Hidden>) -> Result<Option<T>, ForgeError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error @ (ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::TooLarge(_))) => {
            hidden.push(Hidden { what, error });
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Whether a command counts although a part of the thread is hidden. That part may hold a `/stop`, so nothing counts that continues work.
pub(super) fn counts_in_part(verb: &Verb) -> bool {
    matches!(verb, Verb::Stop | Verb::Pause | Verb::Status | Verb::Cost | Verb::Help)
}

/// An error if any part is hidden or unread, for callers that need everything that was said.
pub(super) fn whole(mut thread: Thread) -> Result<Thread, Trouble> {
    if let Some(error) = thread.unread.take() {
        return Err(error.into());
    }
    match thread.hidden.first() {
        None => Ok(thread),
        Some(hidden) => Err(Trouble::later(format!("{} cannot be read: {}", hidden.what, hidden.error))),
    }
}

/// The review under which a reply is listed.
fn review_of(source: &Source) -> Option<i64> {
    match source {
        Source::Reply { review, .. } => Some(*review),
        Source::Issue(_) | Source::Comment(_) | Source::Review(_) | Source::Change(_) => None,
    }
}

/// The pull request of this number; none if it is an issue.
pub(crate) async fn pull_here(forge: &dyn Forge, at: &RepoRef, number: u64) -> Result<Option<PullRequest>, Trouble> {
    if !forge.issue(at, number).await?.is_pull {
        return Ok(None);
    }
    match forge.pull(at, number).await {
        Err(ForgeError::NotFound(_)) => Err(Trouble::later("the forge does not show the pull request")),
        found => Ok(Some(found?)),
    }
}

/// Reads the threads of tasks.
pub struct ThreadReader {
    pub(super) forge: Arc<dyn Forge>,
    /// What people wrote on lines.
    pub lines: Arc<InlineComments>,
}

impl ThreadReader {
    /// Reads the thread of a task, with the replies among `again`, taken up or not.
    pub(super) async fn thread(
        &self,
        entry: &Repository,
        at: &RepoRef,
        task: &Task,
        again: &[Source],
    ) -> Result<Thread, Trouble> {
        // Noted before there is a pull request, so that no reply to it is older.
        let since = self.lines.replies_since(entry).await?;
        let number = task.request.as_ref().map_or(0, |r| r.issue);
        let (issue, talk) = tokio::join!(self.forge.issue(at, number), self.forge.comments(at, number));
        let (what, mut hidden) = (Part::Issue(number), Vec::new());
        let issue = part(what, issue, &mut hidden)?;
        let mut comments = part(what, talk, &mut hidden)?.unwrap_or_default();
        let (mut reviews, mut pull) = (None, None);
        if let Some(number) = task.pull {
            let (found, given, more) = tokio::join!(
                self.forge.pull(at, number),
                self.forge.reviews(at, number),
                self.forge.comments(at, number)
            );
            let what = Part::Pull(number);
            pull = part(what, found, &mut hidden)?;
            reviews = part(what, given, &mut hidden)?;
            comments.extend(part(what, more, &mut hidden)?.unwrap_or_default());
        }
        // It is not the task's own: that it is closed is seen by its issue, and its head is pinned.
        let persons = task.persons_pull();
        if let Some(number) = persons {
            reviews = part(Part::Pull(number), self.forge.reviews(at, number).await, &mut hidden)?;
        }
        let (reviewed, reviews) = (reviews.is_some(), reviews.unwrap_or_default());
        let again: Vec<i64> = again.iter().filter_map(review_of).collect();
        let mut replies = Replies::default();
        if let Some(pull) = &pull {
            let place = (at, pull.number, pull.updated_at);
            replies = self.lines.replies(place, &reviews, |reply| reply.created_at >= since, &again).await?;
        } else if let (Some(number), Some(issue)) = (persons, &issue) {
            replies = self.lines.replies_with_command(task, (at, number, issue.updated_at), &reviews, &again).await?;
        }
        if let Some(moved @ ForgeError::Moved(_)) = replies.failed {
            return Err(moved.into());
        }
        let (unread, replies) = (replies.failed, replies.found);
        Ok(Thread { comments, reviews, replies, unread, pull, issue, reviewed, hidden })
    }
}
