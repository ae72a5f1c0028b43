//! Posts on the forge exactly once: the bot finds its own posts again by a keyed mark.
//!
//! Comments: if an earlier try may have posted, the list is searched first. Reviews, in each try: list; a review of ours with this key and
//! all its inline notes is the result; a PENDING one of ours is left over from an interrupted request and deleted; then post; then list
//! again, and delete the younger of two. One post at a time on each issue or pull request, because the forge mixes up concurrent ones of
//! one account. A first try after a review that was seen complete in this process posts at once, because nothing can be left over. Tests:
//! `tests/stories/kills.rs`.

use crate::checkpoint::mark;
use crate::config::Secret;
use crate::forge::{Comment, Forge, ForgeError, IssueLocks, NewReview, RepoRef, Review, ReviewState};
use crate::redact::in_words;
use crate::store::{EffectRow, Store};
use crate::trouble::Trouble;
use domain::{Again, TaskId};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
            let body = in_words(&self.marked(text, &post.key()));
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
        let body = self.marked(text, &post.key());
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
    pub(super) async fn review(&self, post: &Post<'_>, mut new: NewReview) -> Result<Review, Trouble> {
        let (repository, at) = post.repository;
        let key = post.key();
        new.body = self.marked(&new.body, &key);
        let _turn = self.locks.enter(repository, post.number).await;
        let place = (repository.to_owned(), post.number);
        let tidy = self.tidy().remove(&place) && !post.ambiguous;
        let review = self.converge(at, post.number, &key, &new, tidy).await?;
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

    fn marked(&self, text: &str, key: &str) -> String {
        format!("{text}\n\n{}", mark::mark(self.key.bytes(), key))
    }

    fn is_marked(&self, text: &str, key: &str) -> bool {
        mark::is_of(self.key.bytes(), key, text)
    }

    async fn converge(
        &self,
        at: &RepoRef,
        pull: u64,
        key: &str,
        new: &NewReview,
        tidy: bool,
    ) -> Result<Review, Trouble> {
        if !tidy && let Some(found) = self.whole(at, pull, key, new, true).await? {
            return Ok(found);
        }
        match self.forge.post_review(at, pull, new).await {
            Ok(_) => {}
            Err(ForgeError::Invalid(why)) => {
                return Err(Trouble::blocked(format!("the forge refuses the review: {why}")));
            }
            Err(other) => return Err(other.into()),
        }
        match self.whole(at, pull, key, new, false).await? {
            Some(review) => Ok(review),
            None => Err(Trouble::later("the forge took the review but does not show it whole")),
        }
    }

    /// Our review with this key, if it is complete; removes what interrupted tries left.
    async fn whole(
        &self,
        at: &RepoRef,
        pull: u64,
        key: &str,
        new: &NewReview,
        before: bool,
    ) -> Result<Option<Review>, Trouble> {
        let mut found: Vec<Review> = Vec::new();
        for review in self.forge.reviews(at, pull).await? {
            if review.author.id != self.me {
                continue;
            }
            let pending = review.state == ReviewState::Pending;
            let ours = self.is_marked(&review.body, key);
            if pending && before {
                self.forge.delete_review(at, pull, review.id).await?;
            } else if ours && !pending {
                found.push(review);
            }
        }
        found.sort_by_key(|review| review.number);
        let mut kept: Option<Review> = None;
        for review in found {
            let complete = review.comments as usize >= new.notes.len();
            if kept.is_none() && complete {
                kept = Some(review);
            } else {
                self.forge.delete_review(at, pull, review.id).await?;
            }
        }
        Ok(kept)
    }
}
