//! Replies in the conversations on a pull request's lines. The forge lists each under the review that began the conversation, the bot's own
//! too, and shows in the list of reviews only how many comments each has. Facts: Gitea 1.25, `tests/contract/remarks.rs`.
//! Tests: `tests/stories/replies.rs`.

use super::{Threads, decision_key};
use crate::forge::{ForgeError, RepoRef, Review, ReviewComment, ReviewState, own_remarks};
use crate::trouble::Trouble;
use domain::Source;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Reviews that are remembered; with more, all are looked at once again.
const MOST: usize = 10_000;

/// How many inline comments a review had when all its replies were taken up, by the review's id: with as many there is nothing to ask for.
#[derive(Default)]
pub(super) struct ReadReplies(Mutex<HashMap<i64, u32>>);

impl ReadReplies {
    fn knows(&self, review: &Review) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&review.id) == Some(&review.comments)
    }

    fn note(&self, review: &Review) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(review.id, review.comments);
    }
}

/// Where a reply stands.
pub fn source(reply: &ReviewComment) -> Source {
    Source::Reply { review: reply.review, comment: reply.id }
}

impl Threads {
    /// The replies of people under these reviews, as far as `of_use` takes them: one request for each review that has some which were not
    /// taken up, or of which that is not known. Of reviews in `again` they are read in any case. What the forge does not show is left.
    pub async fn replies(
        &self,
        (at, pull): (&RepoRef, u64),
        reviews: &[Review],
        of_use: impl Fn(&ReviewComment) -> bool,
        again: &[i64],
    ) -> Result<Vec<ReviewComment>, Trouble> {
        let mut found = Vec::new();
        let hidden = |state| matches!(state, ReviewState::Pending | ReviewState::RequestReview);
        for review in reviews.iter().filter(|review| review.comments > 0 && !hidden(review.state)) {
            if self.read_replies.knows(review) && !again.contains(&review.id) {
                continue;
            }
            let inline = match self.forge.review_comments(at, pull, review.id).await {
                Ok(inline) => inline,
                Err(error @ (ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::TooLarge(_))) => {
                    tracing::warn!(%error, pull, review = review.id, "the replies under a review could not be read");
                    continue;
                }
                Err(other) => return Err(other.into()),
            };
            let own: Vec<i64> = own_remarks(review, &inline).iter().map(|note| note.id).collect();
            let mut new = false;
            for note in inline {
                if own.contains(&note.id) || !self.counts(&note.author) || !of_use(&note) {
                    continue;
                }
                // The forge lists it under this review; what it says of that itself may be left out.
                let note = ReviewComment { review: review.id, ..note };
                new |= !self.store.knows_input(&decision_key(&source(&note))).await?;
                found.push(note);
            }
            if !new {
                self.read_replies.note(review);
            }
        }
        Ok(found)
    }
}
