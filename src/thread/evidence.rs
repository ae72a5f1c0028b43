//! Whether a text is still as it was posted. The forge's times tell an edit only to the second; stored deliveries contain the text as
//! posted, and each edit. A text whose delivery never came is judged by its times alone.

use crate::clock::{Clock, now};
use crate::config::process::Repository;
use crate::forge::gitea::parse::{Act, DeliveredIssue, delivered_issue, delivered_text};
use crate::forge::{Change, Comment, Forge, Issue, RepositoryAddresses, Review, ReviewComment, review_hash};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::Source;
use std::sync::Arc;

/// If a text is younger than this (milliseconds, by the forge's clock), its delivery may still arrive.
const ON_ITS_WAY_MS: i64 = 4_000;

/// What the stored deliveries say about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    Nothing,
    AsPosted,
    Changed,
}

/// What the stored deliveries say about an issue since it was assigned or labelled.
#[derive(Default)]
struct SinceChange {
    /// Whether its text was edited, or another one.
    is_edited: bool,
    /// Whether the delivery of that change itself is here.
    is_delivered: bool,
}

/// Looks whether texts were edited.
pub struct Edits {
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) clock: Arc<Clock>,
}

impl Edits {
    /// Compares the deliveries about a text with `words`: the title (of an issue) and the body that the forge shows now.
    async fn evidence(&self, entry: &Repository, about: &str, words: (&str, &str)) -> Result<Evidence, Trouble> {
        let mut found = Evidence::Nothing;
        let mut deliveries = self.store.deliveries_about(&entry.key, about).await?;
        while let Some(delivery) = deliveries.next().await? {
            // A delivery that cannot be parsed may be that of an edit.
            let Ok(told) = delivered_text(&delivery.event_type, &delivery.body) else { return Ok(Evidence::Changed) };
            match told.act {
                Act::Edited => return Ok(Evidence::Changed),
                Act::Posted if (told.title.as_str(), told.body.as_str()) != words => return Ok(Evidence::Changed),
                Act::Posted => found = Evidence::AsPosted,
                Act::Other => {}
            }
        }
        Ok(found)
    }

    /// Whether deliveries show that the text with this number was different, or was edited.
    pub async fn contradicted(&self, entry: &Repository, number: i64, body: &str) -> Result<bool, Trouble> {
        Ok(self.evidence(entry, &format!("comment:{number}"), ("", body)).await? == Evidence::Changed)
    }

    pub(super) async fn comment_edited(&self, entry: &Repository, comment: &Comment) -> Result<bool, Trouble> {
        Ok(comment.updated_at != comment.created_at || self.contradicted(entry, comment.id, &comment.body).await?)
    }

    /// Whether a reply on a line was edited. A push that changes the line changes the reply's time too, so its delivery says more than whether
    /// that `differs`.
    pub async fn reply_edited(
        &self,
        entry: &Repository,
        (id, body): (i64, &str),
        differs: bool,
    ) -> Result<bool, Trouble> {
        Ok(match self.evidence(entry, &format!("comment:{id}"), ("", body)).await? {
            Evidence::AsPosted => false,
            Evidence::Changed => true,
            Evidence::Nothing => differs,
        })
    }

    /// Whether the text's delivery may still arrive; its arrival causes another reading, as does the next round.
    pub async fn on_its_way(&self, entry: &Repository, source: &Source, at: i64) -> Result<bool, Trouble> {
        // There is no delivery of a review that would be worth waiting for.
        if matches!(source, Source::Review(_)) || (now() - self.clock.ahead() - at).abs() >= ON_ITS_WAY_MS {
            return Ok(false);
        }
        Ok(self.store.deliveries_about(&entry.key, &source.to_string()).await?.next().await?.is_none())
    }

    /// Whether title or body were edited. The issue's time changes with everything about it, so without a delivery the forge is asked what
    /// changed.
    pub async fn issue_edited(&self, entry: &Repository, issue: &Issue) -> Result<bool, Trouble> {
        match self.evidence(entry, &format!("issue:{}", issue.id), (&issue.title, &issue.body)).await? {
            Evidence::AsPosted => Ok(false),
            Evidence::Changed => Ok(true),
            Evidence::Nothing => Ok(!self.forge.untouched(&self.addresses.at(entry)?, issue).await?),
        }
    }

    /// As [`Edits::on_its_way`], of an assignment or a label: its delivery has the issue's words as they were then.
    pub async fn change_on_its_way(&self, entry: &Repository, issue: &Issue, change: &Change) -> Result<bool, Trouble> {
        if (now() - self.clock.ahead() - change.at).abs() >= ON_ITS_WAY_MS {
            return Ok(false);
        }
        Ok(!self.since_change(entry, issue, change).await?.is_delivered)
    }

    /// Whether an issue's text is another one than when it was assigned or labelled. An edit within the same second counts as one after it.
    pub async fn edited_since(&self, entry: &Repository, issue: &Issue, change: &Change) -> Result<bool, Trouble> {
        let since = self.since_change(entry, issue, change).await?;
        if since.is_edited {
            return Ok(true);
        }
        // Others may follow an edit that nothing tells of.
        if since.is_delivered {
            return Ok(false);
        }
        Ok(!self.forge.untouched_since(&self.addresses.at(entry)?, issue, change.id).await?)
    }

    /// What deliveries say of an issue since it was changed so.
    async fn since_change(&self, entry: &Repository, issue: &Issue, change: &Change) -> Result<SinceChange, Trouble> {
        let words = (issue.title.as_str(), issue.body.as_str());
        let mut since = SinceChange::default();
        for about in [format!("signs:{}", issue.id), format!("issue:{}", issue.id)] {
            let mut deliveries = self.store.deliveries_about(&entry.key, &about).await?;
            while let Some(delivery) = deliveries.next().await? {
                match delivered_issue(&delivery.body) {
                    // One that cannot be read may be the one that tells of an edit.
                    None => since.is_edited = true,
                    Some(told) if told.at < change.at => {}
                    Some(told) => {
                        since.is_edited |= told.edited || (told.title.as_str(), told.body.as_str()) != words;
                        since.is_delivered |= is_of(&told, change);
                    }
                }
            }
        }
        Ok(since)
    }

    /// Whether a review or its reviewer's `own` remarks were edited. A remark written before the review was submitted may be changed until
    /// then. A push that changes a commented line changes the remark's time as well, so what was read unedited once is known by its words.
    pub(super) async fn review_edited(
        &self,
        entry: &Repository,
        review: &Review,
        own: &[&ReviewComment],
    ) -> Result<bool, Trouble> {
        let is_later = own.iter().any(|note| note.updated_at > note.created_at.max(review.submitted_at));
        let unedited = unedited_key(review, own);
        let is_known = !own.is_empty() && self.store.knows_input(&unedited).await?;
        if review.is_changed() || is_later && !is_known {
            return Ok(true);
        }
        // Deliveries do not name a review's id; an edit on the page is delivered with the number of the comment that shows it.
        let shown = std::iter::once((review.number, &review.body)).chain(own.iter().map(|note| (note.id, &note.body)));
        for (id, body) in shown {
            if self.contradicted(entry, id, body).await? {
                return Ok(true);
            }
        }
        if !own.is_empty() && !is_known {
            self.store.note_input_of(&entry.key, &unedited, now()).await?;
        }
        Ok(false)
    }
}

/// The key that is noted once a review with these remarks was read unedited.
fn unedited_key(review: &Review, own: &[&ReviewComment]) -> String {
    let own: Vec<ReviewComment> = own.iter().copied().cloned().collect();
    format!("unedited:{}:{}", review.id, review_hash(review, &own))
}

/// Whether this is the delivery of the change itself.
fn is_of(told: &DeliveredIssue, change: &Change) -> bool {
    told.signed_by == Some(change.by.id) && told.at - change.at <= 1000
}
