//! Posts on the forge exactly once: the bot finds its own posts again by a keyed mark.
//!
//! Comments: if an earlier try may have posted, the list is searched first. Reviews, in each try: list; a review of ours with this key and
//! all its inline notes is the result; a PENDING one of ours is left over from an interrupted request and deleted; then post; then list
//! again, and delete the younger of two. One post at a time on each issue or pull request, because the forge mixes up concurrent ones of
//! one account. A first try after a review that was seen complete in this process posts at once, because nothing can be left over. Where the
//! forge fails in the middle of a review again and again, its notes are put into its text. Tests: `tests/stories/kills.rs`,
//! `tests/stories/interruptions.rs`.

use crate::checkpoint::{mark, render_notes_in_text};
use crate::config::Secret;
use crate::forge::{Comment, Forge, ForgeError, IssueLocks, NewReview, Note, RepoRef, Review, ReviewState};
use crate::redact::{in_comment, in_words};
use crate::store::{EffectRow, Store};
use crate::trouble::Trouble;
use domain::{Again, TaskId};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tries of a review with its notes on their lines, before they are put into its text.
const MOST_ON_LINES: i64 = 3;

/// Posts with the bot's own account.
pub struct Posts {
    forge: Arc<dyn Forge>,
    store: Store,
    /// The bot's own account.
    me: i64,
    /// Key of the marks by which our own posts are found again.
    key: Secret,
    locks: IssueLocks,
    /// Pull requests on which our last review in this process was seen complete, so that nothing of ours is left over.
    tidy: Mutex<HashSet<(String, u64)>>,
}

/// Whether an earlier try may have posted it unnoticed.
pub(super) fn ambiguous(row: &EffectRow) -> bool {
    row.tries > 0 && row.effect.needs().again == Again::ReadBack
}

/// Identifies a post: the task, its effect, and where it goes.
pub(super) struct Post<'a> {
    pub task: TaskId,
    /// Key of the effect that posts it.
    pub effect: &'a str,
    /// Whether an earlier try may have posted it unnoticed.
    pub ambiguous: bool,
    /// How often it was tried before.
    pub tries: i64,
    /// The repository's key in the configuration, and its place on the forge now.
    pub repository: (&'a str, &'a RepoRef),
    /// Number of the issue or pull request.
    pub number: u64,
}

impl Post<'_> {
    fn key(&self) -> String {
        format!("{}:{}", self.task, self.effect)
    }
}

impl Posts {
    /// `me` is the id of the bot's own account, `key` the installation's key of marks.
    pub fn new(forge: Arc<dyn Forge>, store: Store, me: i64, key: Secret) -> Self {
        Self { forge, store, me, key, locks: IssueLocks::default(), tidy: Mutex::default() }
    }

    /// Whether an earlier try posted this comment; without an earlier try none did, and nothing is read.
    pub(super) async fn has_comment(&self, post: &Post<'_>) -> Result<bool, Trouble> {
        if !post.ambiguous {
            return Ok(false);
        }
        Ok(!self.posted(post).await?.is_empty())
    }

    /// The comments that tries of this post left, the oldest first.
    async fn posted(&self, post: &Post<'_>) -> Result<Vec<Comment>, Trouble> {
        let key = post.key();
        let mut ours: Vec<Comment> = self.forge.comments(post.repository.1, post.number).await?;
        ours.retain(|comment| comment.author.id == self.me && self.is_marked(&comment.body, &key));
        ours.sort_by_key(|comment| comment.id);
        Ok(ours)
    }

    /// Brings a comment of ours to this text, posting it if no try did before. One that somebody deleted is not made again, and of one that is
    /// no longer known by author and mark a second one is posted, once.
    pub(super) async fn show(&self, post: &Post<'_>, text: &str) -> Result<(), Trouble> {
        let (_, at) = post.repository;
        let second = format!("{}:2", post.effect);
        for effect in [post.effect, &second] {
            let post = Post { effect, ..*post };
            let body = in_words(&self.comment_of(text, &post.key()));
            let Some(id) = self.store.post(post.task, effect).await? else {
                // One that an earlier try left has that try's text.
                let first = self.comment(&post, text).await?;
                return self.bring_to(at, &first, &body).await;
            };
            let Some(standing) = self.forge.comment(at, id).await? else {
                // A forge that hides the thread says the same of each comment.
                self.forge.issue(at, post.number).await?;
                return Ok(());
            };
            let ours = standing.author.id == self.me && standing.issue == post.number;
            if !ours || !self.is_marked(&standing.body, &post.key()) {
                continue;
            }
            return self.bring_to(at, &standing, &body).await;
        }
        tracing::warn!(task = %post.task, number = post.number, "its status comment was taken twice, and is not posted again");
        Ok(())
    }

    async fn bring_to(&self, at: &RepoRef, comment: &Comment, body: &str) -> Result<(), Trouble> {
        if comment.body == body { Ok(()) } else { Ok(self.forge.edit_comment(at, comment.id, body).await?) }
    }

    /// Posts a comment so that exactly one exists.
    pub(super) async fn comment(&self, post: &Post<'_>, text: &str) -> Result<Comment, Trouble> {
        let (repository, at) = post.repository;
        let body = self.comment_of(text, &post.key());
        let _turn = self.locks.enter(repository, post.number).await;
        if post.ambiguous {
            let ours = self.posted(post).await?;
            for younger in ours.iter().skip(1) {
                self.forge.delete_comment(at, younger.id).await?;
            }
            if let Some(first) = ours.into_iter().next() {
                self.store.remember_post(post.task, post.effect, first.id).await?;
                return Ok(first);
            }
        }
        let comment = self.forge.post_comment(at, post.number, &body).await?;
        self.store.remember_post(post.task, post.effect, comment.id).await?;
        Ok(comment)
    }

    /// Posts a review so that exactly one exists, with all its notes. `new.body` comes without its mark.
    pub(super) async fn review(&self, post: &Post<'_>, new: &NewReview) -> Result<Review, Trouble> {
        let (repository, _) = post.repository;
        let _turn = self.locks.enter(repository, post.number).await;
        let place = (repository.to_owned(), post.number);
        let tidy = self.tidy().remove(&place) && !post.ambiguous;
        let review = self.converge(post, new, tidy).await?;
        self.tidy().insert(place);
        self.store.remember_post(post.task, post.effect, review.id).await?;
        Ok(review)
    }

    fn tidy(&self) -> MutexGuard<'_, HashSet<(String, u64)>> {
        self.tidy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Digits of a key for the name of a file: with them nobody else can give a file that name beforehand.
    pub(super) fn digits(&self, key: &str) -> String {
        mark::digits(self.key.bytes(), key)
    }

    /// As [`Posts::marked`], of a comment, whose beginning forges show apart; of a review they show the first line, which is ours.
    fn comment_of(&self, text: &str, key: &str) -> String {
        self.marked(&in_comment(text), key)
    }

    fn marked(&self, text: &str, key: &str) -> String {
        format!("{text}\n\n{}", mark::mark(self.key.bytes(), key))
    }

    fn is_marked(&self, text: &str, key: &str) -> bool {
        mark::is_of(self.key.bytes(), key, text)
    }

    async fn converge(&self, post: &Post<'_>, new: &NewReview, tidy: bool) -> Result<Review, Trouble> {
        let (at, key) = (post.repository.1, post.key());
        let mut interrupted = false;
        if !tidy {
            let ours = self.own_reviews(at, post.number, &key, new, true).await?;
            if let Some(found) = ours.whole {
                return Ok(found);
            }
            interrupted = ours.interrupted;
        }
        // Gitea answers 500 to a note on a file whose difference has a line of 64 KiB, and each time leaves a pending review.
        let in_text = interrupted && post.tries >= MOST_ON_LINES && !new.notes.is_empty();
        let (text, notes) = match in_text {
            true => (format!("{}\n\n{}", new.body, notes_in_text(&new.notes)), Vec::new()),
            false => (new.body.clone(), new.notes.clone()),
        };
        let posted = NewReview { commit: new.commit.clone(), body: self.marked(&text, &key), notes };
        match self.forge.post_review(at, post.number, &posted).await {
            Ok(_) => {}
            Err(ForgeError::Invalid(why)) => {
                return Err(Trouble::blocked(format!("the forge refuses the review: {why}")));
            }
            Err(other) => return Err(other.into()),
        }
        match self.own_reviews(at, post.number, &key, new, false).await?.whole {
            Some(review) => Ok(review),
            None => Err(Trouble::later("the forge took the review but does not show it whole")),
        }
    }

    /// Looks for our review with this key and these notes; removes what interrupted tries left. One of another commit is left alone: it is from
    /// before a copy of the state directory was put back, and nobody approves by it what it does not show.
    async fn own_reviews(
        &self,
        at: &RepoRef,
        pull: u64,
        key: &str,
        NewReview { commit, notes, .. }: &NewReview,
        before: bool,
    ) -> Result<OwnReviews, Trouble> {
        let mut ours = OwnReviews::default();
        let mut found: Vec<Review> = Vec::new();
        for review in self.forge.reviews(at, pull).await? {
            if review.author.id != self.me {
                continue;
            }
            let pending = review.state == ReviewState::Pending;
            let of_commit = review.commit.is_empty() || review.commit == *commit;
            let marked = of_commit && self.is_marked(&review.body, key);
            if pending && before {
                self.forge.delete_review(at, pull, review.id).await?;
                ours.interrupted = true;
            } else if marked && !pending {
                found.push(review);
            }
        }
        found.sort_by_key(|review| review.number);
        let in_text = in_words(&notes_in_text(notes));
        for review in found {
            let complete = review.comments as usize >= notes.len() || review.body.contains(&in_text);
            if ours.whole.is_none() && complete {
                ours.whole = Some(review);
            } else {
                self.forge.delete_review(at, pull, review.id).await?;
            }
        }
        Ok(ours)
    }
}

/// What of ours is among the reviews of a pull request.
#[derive(Default)]
struct OwnReviews {
    /// The review that was looked for, if it has all its notes.
    whole: Option<Review>,
    /// Whether an interrupted request had left a pending one.
    interrupted: bool,
}

fn notes_in_text(notes: &[Note]) -> String {
    render_notes_in_text(notes.iter().map(|note| (note.path.as_str(), note.line, note.body.as_str())))
}
