//! Whether a text still says what was posted. The forge tells an edit by its time, in whole seconds; the deliveries tell the words
//! as they were posted, and each edit. A text whose delivery never came is judged by its times alone.

use super::Threads;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::gitea::parse::{Act, DeliveredIssue, delivered_issue, delivered_text};
use crate::forge::{Change, Comment, Issue, Review, ReviewComment};
use crate::trouble::Trouble;
use domain::Source;

/// A text this young (ms, by the forge's clock) whose delivery is not here yet may still be on its way.
const ON_ITS_WAY_MS: i64 = 4_000;

/// What the deliveries say of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    Nothing,
    AsPosted,
    Changed,
}

impl Threads {
    /// `words` are the title (of an issue) and the body as the forge tells them now.
    async fn evidence(&self, entry: &Repository, about: &str, words: (&str, &str)) -> Result<Evidence, Trouble> {
        let mut found = Evidence::Nothing;
        for delivery in self.store.deliveries_about(&entry.key, about).await? {
            // One that cannot be read may be the one that tells of an edit.
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

    /// Whether deliveries say that the text with this number was another one, or was changed.
    pub async fn contradicted(&self, entry: &Repository, number: i64, body: &str) -> Result<bool, Trouble> {
        Ok(self.evidence(entry, &format!("comment:{number}"), ("", body)).await? == Evidence::Changed)
    }

    pub(super) async fn comment_edited(&self, entry: &Repository, comment: &Comment) -> Result<bool, Trouble> {
        Ok(comment.updated_at != comment.created_at || self.contradicted(entry, comment.id, &comment.body).await?)
    }

    /// A text that was read before its delivery came: that one brings the next reading, or the next round does.
    pub async fn on_its_way(&self, entry: &Repository, source: &Source, at: i64) -> Result<bool, Trouble> {
        // Of a review the deliveries say nothing that would be waited for.
        if matches!(source, Source::Review(_)) || (now() - self.clock.ahead() - at).abs() >= ON_ITS_WAY_MS {
            return Ok(false);
        }
        Ok(self.store.deliveries_about(&entry.key, &source.to_string()).await?.is_empty())
    }

    /// The issue's own time moves with everything that happens to it: where the deliveries say nothing, the forge is asked what did.
    pub async fn issue_edited(&self, entry: &Repository, issue: &Issue) -> Result<bool, Trouble> {
        match self.evidence(entry, &format!("issue:{}", issue.id), (&issue.title, &issue.body)).await? {
            Evidence::AsPosted => Ok(false),
            Evidence::Changed => Ok(true),
            Evidence::Nothing => Ok(!self.forge.untouched(&self.place(entry)?, issue).await?),
        }
    }

    /// As [`Threads::on_its_way`], of an assignment or a label: its delivery has the issue's words as they were then.
    pub async fn change_on_its_way(&self, entry: &Repository, issue: &Issue, change: &Change) -> Result<bool, Trouble> {
        if (now() - self.clock.ahead() - change.at).abs() >= ON_ITS_WAY_MS {
            return Ok(false);
        }
        Ok(self.since_change(entry, issue, change).await?.is_empty())
    }

    /// Whether an issue's text is another one than when it was assigned or labelled. An edit within the same second counts as one after it.
    pub async fn edited_since(&self, entry: &Repository, issue: &Issue, change: &Change) -> Result<bool, Trouble> {
        let words = (issue.title.as_str(), issue.body.as_str());
        let told = self.since_change(entry, issue, change).await?;
        if told.iter().any(|it| it.edited || (it.title.as_str(), it.body.as_str()) != words) {
            return Ok(true);
        }
        // The delivery of the change itself: later ones may follow an edit that nothing tells of.
        if told.iter().any(|it| it.at - change.at <= 1000) {
            return Ok(false);
        }
        Ok(!self.forge.untouched_since(&self.place(entry)?, issue, change.id).await?)
    }

    /// What deliveries say of an issue since it was changed so.
    async fn since_change(
        &self,
        entry: &Repository,
        issue: &Issue,
        change: &Change,
    ) -> Result<Vec<DeliveredIssue>, Trouble> {
        let mut told = Vec::new();
        for about in [format!("signs:{}", issue.id), format!("issue:{}", issue.id)] {
            for delivery in self.store.deliveries_about(&entry.key, &about).await? {
                // One that cannot be read may be the one that tells of an edit.
                let unread = DeliveredIssue { edited: true, title: String::new(), body: String::new(), at: change.at };
                told.push(delivered_issue(&delivery.body).unwrap_or(unread));
            }
        }
        told.retain(|it| it.at >= change.at);
        Ok(told)
    }

    /// A review's remarks are its reviewer's `own` ones. One that was written before the review was handed in may have been changed
    /// until then.
    pub(super) async fn review_edited(
        &self,
        entry: &Repository,
        review: &Review,
        own: &[&ReviewComment],
    ) -> Result<bool, Trouble> {
        if review.updated_at > review.submitted_at
            || own.iter().any(|note| note.updated_at > note.created_at.max(review.submitted_at))
        {
            return Ok(true);
        }
        // No delivery names a review; an edit on the page names the number that it is shown by.
        let shown = std::iter::once((review.number, &review.body)).chain(own.iter().map(|note| (note.id, &note.body)));
        for (id, body) in shown {
            if self.contradicted(entry, id, body).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
