//! Replies in the conversations on a pull request's lines. The forge lists each under the review that began the conversation, the bot's own
//! too, and shows in the list of reviews only how many comments each has. Facts: Gitea 1.25, `tests/contract/remarks.rs`.
//! Tests: `tests/stories/replies.rs`.

use super::accounts::Accounts;
use super::keys::{SLACK_MS, decision_key};
use crate::config::process::Repository;
use crate::forge::{Forge, ForgeError, RepoRef, RepositoryAddresses, Review, ReviewComment, ReviewState, own_remarks};
use crate::store::{Store, StoreError};
use crate::trouble::Trouble;
use domain::Source;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reviews that are remembered; with more, all are looked at once again.
const MOST: usize = 10_000;

/// How the names of these watermarks begin.
pub const MARKS: &str = "replies:";

/// What is seen of a review without asking for its comments: how many there are, and when its pull request changed last. The number alone
/// does not show that one was deleted and another one written.
type ReviewFingerprint = (u32, i64);

/// The reviews all of whose replies were taken up, by their ids: while they look the same there is nothing to ask for.
#[derive(Default)]
pub(super) struct ReadReplies(Mutex<HashMap<i64, ReviewFingerprint>>);

impl ReadReplies {
    fn knows(&self, review: i64, seen: ReviewFingerprint) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&review) == Some(&seen)
    }

    fn note(&self, review: i64, seen: ReviewFingerprint) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(review, seen);
    }
}

/// The replies that were read.
#[derive(Default)]
pub struct Replies {
    /// In no order. Each is `resolved` where its conversation is.
    pub found: Vec<ReviewComment>,
    /// Why those under a review could not be read; the other ones are among `found`.
    pub failed: Option<ForgeError>,
}

/// Where a reply stands.
pub fn source(reply: &ReviewComment) -> Source {
    Source::Reply { review: reply.review, comment: reply.id }
}

/// Reads what people wrote on the lines of a pull request.
pub struct InlineComments {
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) read_replies: ReadReplies,
}

impl InlineComments {
    /// Since when replies count in this repository, by the forge's clock: earlier versions did not read them, and what was said to those is
    /// not taken up by this one.
    pub(super) async fn replies_since(&self, entry: &Repository) -> Result<i64, Trouble> {
        let mark = format!("{MARKS}{}", entry.key);
        let at = match self.store.watermark(&mark).await? {
            Some(at) => at,
            None => {
                let at = self.forge.clock().await?;
                self.store.set_watermark_of(&entry.key, &mark, at).await?;
                at
            }
        };
        Ok(at - SLACK_MS)
    }

    /// The replies of people under these reviews, as far as `of_use` takes them: one request for each review that has comments and does not
    /// look as it did when all its replies were taken up. Of reviews in `again` they are read in any case. `changed` is when the pull
    /// request changed last (Unix milliseconds), asked before the comments are.
    ///
    /// # Errors
    /// Only of the store; where the forge does not answer, the result says so.
    pub async fn replies(
        &self,
        (at, pull, changed): (&RepoRef, u64, i64),
        reviews: &[Review],
        of_use: impl Fn(&ReviewComment) -> bool,
        again: &[i64],
    ) -> Result<Replies, StoreError> {
        let mut replies = Replies::default();
        let hidden = |state| matches!(state, ReviewState::Pending | ReviewState::RequestReview);
        for review in reviews.iter().filter(|review| review.comments > 0 && !hidden(review.state)) {
            let seen = (review.comments, changed);
            if self.read_replies.knows(review.id, seen) && !again.contains(&review.id) {
                continue;
            }
            let inline = match self.forge.review_comments(at, pull, review.id).await {
                Ok(inline) => inline,
                Err(error) => {
                    replies.failed = replies.failed.or(Some(error));
                    continue;
                }
            };
            let mut all = inline.len() == review.comments as usize;
            for reply in of_people(review, inline) {
                if self.accounts.counts(&reply.author) && of_use(&reply) {
                    all &= self.store.knows_input(&decision_key(&source(&reply))).await?;
                    replies.found.push(reply);
                }
            }
            if all {
                self.read_replies.note(review.id, seen);
            }
        }
        Ok(replies)
    }
}

/// What was written under a review after it was submitted; what belongs to it was submitted with it.
fn of_people(review: &Review, inline: Vec<ReviewComment>) -> Vec<ReviewComment> {
    let own: Vec<i64> = own_remarks(review, &inline).iter().map(|note| note.id).collect();
    // The forge marks the first comment of a conversation, which is all comments on one line.
    let conversation = |note: &ReviewComment| (note.path.clone(), note.side_and_line());
    let resolved: Vec<_> = inline.iter().filter(|note| note.resolved).map(conversation).collect();
    // Without the review's number the reviewer's own comments cannot be told apart.
    let unknown = |note: &ReviewComment| review.number == 0 && note.author.id == review.author.id;
    let replies = inline.into_iter().filter(|note| !own.contains(&note.id) && !unknown(note));
    // The forge lists them under this review; what it says of that itself may be left out.
    let of_review = |note: ReviewComment| {
        // Without a line conversations cannot be told apart.
        let resolved = note.side_and_line().is_some() && resolved.contains(&conversation(&note));
        ReviewComment { review: review.id, resolved, ..note }
    };
    replies.map(of_review).collect()
}
