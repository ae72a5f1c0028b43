//! Open remarks that their authors took back, as the forge shows it. Only looks, and only while remarks are open.

use super::read::{Thread, ThreadReader};
use crate::forge::{ForgeError, RepoRef, Review, ReviewComment, ReviewState};
use domain::{Remark, RemarkWithdrawn, Source, Task, Withdrawal};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// The most comments outside of reviews that are looked for, one request each.
const MOST_COMMENTS: usize = 10;

impl ThreadReader {
    /// Open remarks of this task that were taken back: one request for the reviews, and one for each review with open remarks. What cannot be
    /// found out until `end` is left for the next time.
    pub async fn withdrawn(&self, at: &RepoRef, task: &Task, end: Instant) -> Vec<RemarkWithdrawn> {
        let mut of_reviews: BTreeMap<i64, Vec<&Remark>> = BTreeMap::new();
        let mut of_comments: BTreeMap<i64, Vec<&Remark>> = BTreeMap::new();
        for remark in task.numbered.open() {
            match remark.from {
                // A reply belongs to the conversations of the review that it is listed under.
                Source::Review(id) | Source::Reply { review: id, .. } => of_reviews.entry(id).or_default().push(remark),
                Source::Comment(id) => of_comments.entry(id).or_default().push(remark),
                Source::Issue(_) | Source::Change(_) => {}
            }
        }
        let mut found = Vec::new();
        if let Some(pull) = task.pull.filter(|_| !of_reviews.is_empty())
            && let Some(reviews) = within(end, self.forge.reviews(at, pull)).await
        {
            for (id, remarks) in of_reviews {
                found.extend(self.of_one_review(at, pull, (&reviews, id), &remarks, end).await);
            }
        }
        for (id, remarks) in of_comments.into_iter().take(MOST_COMMENTS) {
            if within(end, self.forge.comment(at, id)).await.is_some_and(|comment| comment.is_none())
                && self.is_readable(at, task, end).await
            {
                let why = Withdrawal::Deleted;
                found.extend(remarks.into_iter().map(|remark| RemarkWithdrawn { remark: remark.number, why }));
            }
        }
        found
    }

    async fn of_one_review(
        &self,
        at: &RepoRef,
        pull: u64,
        (reviews, id): (&[Review], i64),
        remarks: &[&Remark],
        end: Instant,
    ) -> Vec<RemarkWithdrawn> {
        // Who replied is asked for nothing where somebody else's review is dismissed.
        let whole = |remark: &Remark| {
            let why = listed(reviews, id, remark);
            why.filter(|why| *why == Withdrawal::Deleted || !matches!(remark.from, Source::Reply { .. }))
        };
        let asks = remarks.iter().any(|remark| whole(remark).is_none() && remark.item.comment.is_some());
        let inline = match asks {
            true => within(end, self.forge.review_comments(at, pull, id)).await,
            false => None,
        };
        let why = |remark: &Remark| whole(remark).or_else(|| of_comment(inline.as_deref()?, remark.item.comment?));
        let found =
            remarks.iter().filter_map(|remark| Some(RemarkWithdrawn { remark: remark.number, why: why(remark)? }));
        found.collect()
    }

    /// Whether the task's issue can be read, so that a comment that is not there is gone and not hidden.
    async fn is_readable(&self, at: &RepoRef, task: &Task, end: Instant) -> bool {
        let Some(request) = &task.request else { return false };
        within(end, self.forge.comments(at, request.issue)).await.is_some()
    }
}

/// What the forge answers until then; none, with a line in the log, where it does not or fails.
async fn within<T>(end: Instant, asked: impl Future<Output = Result<T, ForgeError>>) -> Option<T> {
    match tokio::time::timeout_at(end, asked).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(%error, "whether remarks were taken back is not known");
            None
        }
        Err(_) => {
            tracing::warn!("whether remarks were taken back is not known: the forge takes too long");
            None
        }
    }
}

/// What a thread that was read anyway shows of this, without a further request.
pub(super) fn seen(task: &Task, thread: &Thread) -> Vec<RemarkWithdrawn> {
    let why = |remark: &Remark| match remark.from {
        Source::Review(id) if thread.reviewed => listed(&thread.reviews, id, remark),
        Source::Comment(id) if thread.hidden.is_empty() => {
            let gone = thread.comments.iter().all(|comment| comment.id != id);
            gone.then_some(Withdrawal::Deleted)
        }
        Source::Review(_) | Source::Comment(_) | Source::Reply { .. } | Source::Issue(_) | Source::Change(_) => None,
    };
    let found = |remark: &Remark| Some(RemarkWithdrawn { remark: remark.number, why: why(remark)? });
    task.numbered.open().filter_map(found).collect()
}

/// Why a remark of this review does not count any more, as far as the list of reviews shows that. Where the review's text was deleted on the
/// page, its inline comments stand.
fn listed(reviews: &[Review], id: i64, remark: &Remark) -> Option<Withdrawal> {
    let is_text = matches!(remark.from, Source::Review(_)) && remark.item.path.is_none();
    let off_page = is_text && reviews.iter().any(|review| review.id == id && review.is_off_page());
    of_review(reviews, id).or_else(|| off_page.then_some(Withdrawal::Deleted))
}

/// Why nothing of a review counts any more. The forge itself dismisses the earlier reviews of somebody who reviews again, so a dismissal
/// withdraws only what nobody's later verdict can have replaced; one whose text was deleted on the page has lost its number, and its id tells.
/// It also dismisses approvals after a push, where a branch's rule says so; remarks in one stand all the same.
fn of_review(reviews: &[Review], id: i64) -> Option<Withdrawal> {
    let Some(review) = reviews.iter().find(|review| review.id == id) else { return Some(Withdrawal::Deleted) };
    let verdict = |other: &&Review| {
        let decides = matches!(
            other.state,
            ReviewState::Approved
                | ReviewState::RequestChanges
                | ReviewState::Dismissed
                | ReviewState::DismissedApproval
        );
        let later = other.number > review.number || (other.is_off_page() && other.id > review.id);
        decides && other.author.id == review.author.id && later
    };
    let replaced = reviews.iter().any(|other| verdict(&other));
    (review.state == ReviewState::Dismissed && !replaced).then_some(Withdrawal::Dismissed)
}

/// Whether an inline comment is gone, or its conversation resolved. The forge marks only the first comment of a conversation, which is all
/// comments on one line of a file.
fn of_comment(inline: &[ReviewComment], id: i64) -> Option<Withdrawal> {
    let Some(own) = inline.iter().find(|comment| comment.id == id) else { return Some(Withdrawal::Deleted) };
    let Some(line) = own.side_and_line() else { return own.resolved.then_some(Withdrawal::Resolved) };
    let same =
        |other: &&ReviewComment| other.path == own.path && other.side_and_line() == Some(line) && other.id <= own.id;
    inline.iter().filter(same).any(|comment| comment.resolved).then_some(Withdrawal::Resolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Account;
    use crate::thread::fixtures;
    use domain::OldLine;

    fn review(id: i64, state: ReviewState, author: i64) -> Review {
        let author = Account { id: author, login: "u".into() };
        Review { id, number: id, author, ..fixtures::review(state, "") }
    }

    #[test]
    fn a_review_that_its_author_replaced_is_not_withdrawn() {
        let dismissed = review(1, ReviewState::Dismissed, 7);
        assert_eq!(of_review(std::slice::from_ref(&dismissed), 1), Some(Withdrawal::Dismissed));
        let by_another = review(2, ReviewState::Approved, 8);
        assert_eq!(of_review(&[dismissed.clone(), by_another], 1), Some(Withdrawal::Dismissed));
        let said_more = review(2, ReviewState::Comment, 7);
        assert_eq!(of_review(&[dismissed.clone(), said_more], 1), Some(Withdrawal::Dismissed));
        for state in [ReviewState::Approved, ReviewState::RequestChanges, ReviewState::Dismissed] {
            assert_eq!(of_review(&[dismissed.clone(), review(2, state, 7)], 1), None, "{state:?}");
        }
        let off_page = Review { number: 0, ..review(2, ReviewState::RequestChanges, 7) };
        assert_eq!(of_review(&[dismissed.clone(), off_page], 1), None);
        assert_eq!(of_review(&[review(1, ReviewState::RequestChanges, 7)], 1), None);
        assert_eq!(of_review(&[review(1, ReviewState::DismissedApproval, 7)], 1), None, "a push may have done it");
        assert_eq!(of_review(&[dismissed], 2), Some(Withdrawal::Deleted));
    }

    #[test]
    fn a_conversation_is_resolved_by_its_first_comment() {
        let comment = |id: i64, line: u64, resolved: bool| {
            let line = Some(line);
            ReviewComment { id, line, resolved, ..fixtures::note("") }
        };
        let all = [comment(3, 1, true), comment(4, 1, false), comment(5, 2, false)];
        assert_eq!(of_comment(&all, 3), Some(Withdrawal::Resolved));
        assert_eq!(of_comment(&all, 4), Some(Withdrawal::Resolved), "the same conversation");
        assert_eq!(of_comment(&all, 5), None);
        assert_eq!(of_comment(&all, 6), Some(Withdrawal::Deleted));
        assert_eq!(of_comment(&[comment(3, 1, false), comment(4, 1, true)], 3), None, "a later conversation");
        let on_old = |id: i64, line: u64, resolved: bool| {
            let old = Some(OldLine { line, removed: None });
            ReviewComment { line: None, old, ..comment(id, 1, resolved) }
        };
        let all = [on_old(3, 1, true), on_old(4, 1, false), on_old(5, 2, false), comment(6, 1, false)];
        let of = |id| of_comment(&all, id);
        assert_eq!([4, 5, 6].map(of), [Some(Withdrawal::Resolved), None, None], "each side has lines of its own");
    }
}
