//! Pull requests and their reviews, with Gitea's traps: reviews are not atomic, `stale` lags, an approval of an old commit is accepted, a
//! new branch is not visible at once. Rights are checked here.

use crate::hooks::{APPROVED, CREATE, DELETE, PULL, PULL_SYNC, REJECTED, REVIEW_COMMENT, REVIEW_REQUEST};
use crate::traps::Traps;
use crate::world::{Access, Inline, Pull, Repo, Result, Review, ReviewState, World, refuse};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;

/// An inline comment to be made.
#[derive(Debug, Clone, Default)]
pub struct NewNote {
    /// Path of the file, relative to the root of the repository.
    pub path: String,
    /// Line in the new file, counted from 1; not used if `old_line` is above 0.
    pub new_line: i64,
    /// Line in the old file, counted from 1; 0 = the comment is on the new file.
    pub old_line: i64,
    /// Text of the comment.
    pub body: String,
}

/// A review to be made.
#[derive(Debug, Clone)]
pub struct NewReview {
    /// What the review decides; [`ReviewState::Pending`] leaves it a draft.
    pub state: ReviewState,
    /// Text of the review; empty is refused with 422 for some states, as Gitea does.
    pub body: String,
    /// Commit of the review; empty = the present head.
    pub commit: String,
    /// Inline comments, which join those of a pending review of the same author.
    pub notes: Vec<NewNote>,
}

impl World {
    pub fn open_pull(
        &mut self,
        at: usize,
        author: i64,
        text: (&str, &str),
        head: &str,
        base: &str,
        traps: Traps,
    ) -> Result<u64> {
        let repo = &self.repos[at];
        let (of, head) = self.head_repository(at, head)?;
        let lagging = of.fresh.get(head).is_some_and(|seen| seen.elapsed() < traps.branch_lag);
        let branch = |repo: &Repo, name: &str| repo.refs.get(&format!("refs/heads/{name}")).cloned();
        let (Some(head_sha), Some(_), false) = (branch(of, head), branch(repo, base), lagging) else {
            return refuse(404, "The target couldn't be found.");
        };
        let from = of.id;
        let same = |p: &Pull| p.from == from && p.head == head && p.base == base;
        if repo.issues.values().any(|i| i.open && i.pull.as_ref().is_some_and(same)) {
            return refuse(409, "pull request already exists for these targets");
        }
        if repo.id == from && repo.refs.get(&format!("refs/heads/{base}")) == Some(&head_sha) && head == base {
            return refuse(422, "head and base are the same");
        }
        let number = self.new_issue(at, author, text.0, text.1)?;
        let (head, base) = (head.to_owned(), base.to_owned());
        let kept = String::new();
        let pull = Pull { from, head, base, head_sha, kept, merged: None, merged_by: None, reviews: vec![] };
        self.issue_mut(at, number)?.pull = Some(pull);
        self.emit_issue(at, number, PULL, "opened", author, None);
        Ok(number)
    }

    /// Aims an open pull request at another branch, by its author or a writer.
    pub fn retarget(&mut self, at: usize, number: u64, actor: i64, base: &str) -> Result<()> {
        if self.issue(at, number)?.author != actor && !self.may_edit(at, actor, true) {
            return refuse(403, "user should be the poster or have write access");
        }
        if !self.repos[at].refs.contains_key(&format!("refs/heads/{base}")) {
            return refuse(404, "The target couldn't be found.");
        }
        let time = self.now();
        let old = std::mem::replace(&mut self.pull_mut(at, number)?.base, base.to_owned());
        self.issue_mut(at, number)?.updated = time;
        self.emit_issue(at, number, PULL, "edited", actor, Some(json!({ "ref": { "from": old } })));
        Ok(())
    }

    pub fn request_review(&mut self, at: usize, number: u64, actor: i64, login: &str) -> Result<()> {
        let asked = self.account(login)?.id;
        let author = self.issue(at, number)?.author;
        self.pull(at, number)?;
        if asked == author {
            return refuse(422, "poster of pr can't be reviewer");
        }
        if self.access(&self.repos[at], Some(login)) < Access::Read {
            return refuse(422, "Reviewer can't read");
        }
        let by_author = actor == author || self.access(&self.repos[at], Some(self.login_of(actor))) >= Access::Write;
        if !by_author {
            return refuse(403, "doer can't choose reviewer");
        }
        let waits = |r: &&Review| r.author == asked && r.state == ReviewState::RequestReview;
        if self.pull(at, number)?.reviews.iter().find(waits).is_some() {
            return Ok(());
        }
        let review = self.blank_review(asked, ReviewState::RequestReview);
        self.pull_mut(at, number)?.reviews.push(review);
        self.emit_issue(at, number, REVIEW_REQUEST, "review_requested", actor, None);
        Ok(())
    }

    fn blank_review(&mut self, author: i64, state: ReviewState) -> Review {
        let (id, time) = (self.id(), self.now());
        Review {
            id,
            number: 0,
            author,
            state,
            body: String::new(),
            commit: String::new(),
            official: false,
            dismissed: false,
            stale_from: None,
            begun: time,
            submitted: time,
            shown_updated: time,
            notes: vec![],
        }
    }

    /// The checks that Gitea makes before it stores anything.
    pub fn check_review(&self, at: usize, number: u64, author: i64, new: &NewReview) -> Result<()> {
        let issue = self.issue(at, number)?;
        self.pull(at, number)?;
        let decides = matches!(new.state, ReviewState::Approved | ReviewState::RequestChanges);
        if decides && issue.author == author {
            let word = if new.state == ReviewState::Approved { "approve" } else { "reject" };
            return refuse(422, format!("{word} your own pull is not allowed"));
        }
        if decides && !issue.open {
            return refuse(422, "the pull request is closed");
        }
        let said = !new.body.trim().is_empty();
        match new.state {
            ReviewState::Comment if !said && new.notes.is_empty() => {
                refuse(422, "review event COMMENT requires a body or a comment")
            }
            ReviewState::RequestChanges | ReviewState::Pending if !said => refuse(422, "review event requires a body"),
            _ => Ok(()),
        }
    }

    /// First step of a review: its notes are added to the author's *pending* review, even if another request created that.
    pub fn stage_notes(&mut self, at: usize, number: u64, author: i64, notes: &[NewNote]) -> Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        self.begin_review(at, number, author)?;
        let pending = |r: &Review| r.author == author && r.state == ReviewState::Pending;
        for note in notes {
            let time = self.now();
            let inline = Inline {
                id: self.number(),
                author,
                path: note.path.clone(),
                new_line: if note.old_line > 0 { 0 } else { note.new_line },
                old_line: note.old_line,
                body: note.body.clone(),
                resolver: None,
                created: time,
                updated: time,
            };
            if let Some(review) = self.pull_mut(at, number)?.reviews.iter_mut().find(|r| pending(r)) {
                review.notes.push(inline);
            }
        }
        Ok(())
    }

    /// Gives the author a pending review to put notes into, if there is none.
    pub fn begin_review(&mut self, at: usize, number: u64, author: i64) -> Result<()> {
        let pending = |r: &Review| r.author == author && r.state == ReviewState::Pending;
        if !self.pull(at, number)?.reviews.iter().any(pending) {
            let review = self.blank_review(author, ReviewState::Pending);
            self.pull_mut(at, number)?.reviews.push(review);
        }
        Ok(())
    }

    /// Second step: the author's present pending review, if any, gets text and state. Returns the review's id.
    pub fn submit_review(&mut self, at: usize, number: u64, author: i64, new: &NewReview) -> Result<i64> {
        let head = self.pull(at, number)?.head_sha.clone();
        let commit = if new.commit.is_empty() { head.clone() } else { new.commit.clone() };
        let writer = self.access(&self.repos[at], Some(self.login_of(author))) >= Access::Write;
        let decides = matches!(new.state, ReviewState::Approved | ReviewState::RequestChanges);
        let fallback = self.blank_review(author, new.state);
        let shared_number = if new.state == ReviewState::Pending { 0 } else { self.number() };
        let time = self.now();
        let reviews = &mut self.pull_mut(at, number)?.reviews;
        let staged = reviews.iter().any(|r| r.author == author && r.state == ReviewState::Pending);
        if decides {
            for old in reviews.iter_mut().filter(|r| r.author == author && r.official) {
                // One that was begun as a draft, as every one with inline comments is, only takes the earlier one's weight.
                (old.official, old.dismissed) = (false, old.dismissed || !staged);
            }
        }
        // A posted review, even a COMMENT, removes the author's open review request.
        reviews.retain(|r| !(r.author == author && r.state == ReviewState::RequestReview));
        let staged = reviews.iter().position(|r| r.author == author && r.state == ReviewState::Pending);
        let mut review = staged.map_or(fallback, |place| reviews.remove(place));
        review.number = shared_number;
        review.state = new.state;
        review.body.clone_from(&new.body);
        review.official = decides && writer;
        review.stale_from = (decides && commit != head).then(Instant::now);
        review.commit = commit;
        (review.submitted, review.shown_updated) = (time, time);
        let id = review.id;
        reviews.push(review);
        self.issue_mut(at, number)?.updated = time;
        match new.state {
            ReviewState::Approved => self.emit_review(at, number, APPROVED, &new.body, author),
            ReviewState::RequestChanges => self.emit_review(at, number, REJECTED, &new.body, author),
            ReviewState::Comment => self.emit_review(at, number, REVIEW_COMMENT, &new.body, author),
            ReviewState::Pending | ReviewState::RequestReview => {}
        }
        Ok(id)
    }

    /// Deletes an own review, or any for a site admin.
    pub fn delete_review(&mut self, at: usize, number: u64, review: i64, actor: i64) -> Result<()> {
        let admin = self.accounts.iter().any(|a| a.id == actor && a.admin);
        let Some(found) = self.pull(at, number)?.reviews.iter().find(|r| r.id == review && visible(r, actor)) else {
            return refuse(404, "review does not exist");
        };
        if found.author != actor && !admin {
            return refuse(403, "");
        }
        self.pull_mut(at, number)?.reviews.retain(|r| r.id != review);
        Ok(())
    }

    /// The review that a page shows under this number, or whose inline comment it is, with its pull request's number; for its author and writers.
    fn shown_review(&mut self, at: usize, id: i64, actor: i64) -> Result<(u64, &mut Review)> {
        let writer = self.may_edit(at, actor, true);
        let pulls = self.repos[at].issues.values_mut().filter_map(|i| Some((i.number, i.pull.as_mut()?)));
        let mut reviews = pulls.flat_map(|(number, pull)| pull.reviews.iter_mut().map(move |review| (number, review)));
        let Some((number, review)) =
            reviews.find(|(_, r)| id > 0 && (r.number == id || r.notes.iter().any(|n| n.id == id)))
        else {
            return refuse(404, "comment does not exist");
        };
        if review.author != actor && !writer {
            return refuse(403, "user should be the poster or have write access");
        }
        Ok((number, review))
    }

    /// Edits the shown text of a review, whose own `body` stays as it was, or the inline comment with this number.
    pub fn edit_shown_review(&mut self, at: usize, id: i64, actor: i64, body: &str) -> Result<()> {
        let time = self.now();
        let (number, review) = self.shown_review(at, id, actor)?;
        let old = match review.notes.iter_mut().find(|n| n.id == id) {
            Some(note) => {
                note.updated = time;
                std::mem::replace(&mut note.body, body.to_owned())
            }
            None => {
                review.shown_updated = time;
                review.body.clone()
            }
        };
        let author = self.user_json(review_author(&self.repos[at], id));
        let comment = json!({ "id": id, "user": author, "body": body });
        self.emit_comment(at, number, comment, "edited", actor, Some(json!({ "body": { "from": old } })));
        Ok(())
    }

    /// Deletes what a page shows of a review, which is listed all the same, without a number; its author and writers may.
    pub fn delete_shown_review(&mut self, at: usize, id: i64, actor: i64) -> Result<()> {
        let (number, review) = self.shown_review(at, id, actor)?;
        let author = review.author;
        review.number = 0;
        let comment = json!({ "id": id, "user": self.user_json(author), "body": "" });
        self.emit_comment(at, number, comment, "deleted", actor, None);
        Ok(())
    }

    /// Dismisses an approval or rejection, for repository admins only and without a delivery.
    pub fn dismiss_review(&mut self, at: usize, number: u64, review: i64, actor: i64) -> Result<()> {
        if self.access(&self.repos[at], Some(self.login_of(actor))) < Access::Admin {
            return refuse(403, "must be repo admin");
        }
        match self.pull_mut(at, number)?.reviews.iter_mut().find(|r| r.id == review) {
            Some(review) => (review.dismissed, review.official) = (true, false),
            None => return refuse(404, "review does not exist"),
        }
        Ok(())
    }

    /// Replies to an inline comment; the reply is listed under *that* review, whoever wrote it.
    pub fn reply(&mut self, at: usize, number: u64, review: i64, author: i64, body: &str) -> Result<i64> {
        let (id, time) = (self.number(), self.now());
        let Some(found) = self.pull_mut(at, number)?.reviews.iter_mut().find(|r| r.id == review) else {
            return refuse(404, "review does not exist");
        };
        let Some(first) = found.notes.first().cloned() else { return refuse(422, "the review has no inline comment") };
        let resolver = None;
        found.notes.push(Inline { id, author, body: body.to_owned(), resolver, created: time, updated: time, ..first });
        self.issue_mut(at, number)?.updated = time;
        // As of a comment, without its line and review.
        let comment = json!({ "id": id, "user": self.user_json(author), "body": body });
        self.emit_comment(at, number, comment, "created", author, None);
        Ok(id)
    }

    /// Whether this is the number of an inline comment.
    pub fn is_inline(&self, at: usize, id: i64) -> bool {
        self.repos[at].issues.values().filter_map(|i| i.pull.as_ref()).flat_map(|p| &p.reviews).any(|r| has(r, id))
    }

    /// Deletes an inline comment; its author and writers may.
    pub fn delete_inline(&mut self, at: usize, id: i64, actor: i64) -> Result<()> {
        let writer = self.may_edit(at, actor, true);
        let pulls = self.repos[at].issues.values_mut().filter_map(|i| i.pull.as_mut());
        let Some(review) = pulls.flat_map(|p| p.reviews.iter_mut()).find(|r| has(r, id)) else {
            return refuse(404, "comment does not exist");
        };
        if !writer && review.notes.iter().any(|note| note.id == id && note.author != actor) {
            return refuse(403, "user should be the poster or have write access");
        }
        review.notes.retain(|note| note.id != id);
        Ok(())
    }

    /// Resolves the conversation that begins with this inline comment, as the page does, without a delivery; writers and the author of the
    /// pull request may.
    pub fn resolve(&mut self, at: usize, number: u64, comment: i64, actor: i64) -> Result<()> {
        let may = self.issue(at, number)?.author == actor
            || self.access(&self.repos[at], Some(self.login_of(actor))) >= Access::Write;
        if !may {
            return refuse(403, "");
        }
        let notes = self.pull_mut(at, number)?.reviews.iter_mut().flat_map(|review| &mut review.notes);
        let Some(note) = notes.into_iter().find(|note| note.id == comment) else {
            return refuse(404, "comment does not exist");
        };
        note.resolver = Some(actor);
        Ok(())
    }

    /// Applies a push, from the references before and after: deliveries, heads of pull requests, staleness.
    pub fn references_changed(&mut self, at: usize, actor: i64, refs: BTreeMap<String, String>, traps: Traps) {
        let zero = "0".repeat(40);
        let before = std::mem::replace(&mut self.repos[at].refs, refs);
        let after = self.repos[at].refs.clone();
        if before.is_empty() {
            self.repos[at].empty_until = Some(Instant::now() + traps.branch_lag);
        }
        for (name, old) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
            self.emit_ref(at, DELETE, name, old, actor);
            self.head_gone(at, name, actor);
        }
        for (name, new) in &after {
            let old = before.get(name);
            if old == Some(new) {
                continue;
            }
            let short = name.strip_prefix("refs/heads/");
            if let (None, Some(short)) = (old, short) {
                self.repos[at].fresh.insert(short.to_owned(), Instant::now());
            }
            if old.is_none() {
                self.emit_ref(at, CREATE, name, new, actor);
            }
            self.emit_push(at, name, old.unwrap_or(&zero), new, actor);
            if let Some(short) = short {
                self.head_moved(at, short, new, actor, traps);
            }
        }
    }

    /// Deleting a head branch closes its open pull requests.
    fn head_gone(&mut self, at: usize, name: &str, actor: i64) {
        let Some(branch) = name.strip_prefix("refs/heads/") else { return };
        let (of, time) = (self.repos[at].id, self.now());
        let is_head = |p: &Pull| p.from == of && p.head == branch;
        let all =
            self.repos.iter_mut().enumerate().flat_map(|(at, repo)| repo.issues.values_mut().map(move |i| (at, i)));
        let open = all.filter(|(_, i)| i.open && i.pull.as_ref().is_some_and(is_head));
        let closed: Vec<(usize, u64)> = open
            .map(|(at, issue)| {
                (issue.open, issue.updated) = (false, time);
                (at, issue.number)
            })
            .collect();
        for (at, number) in closed {
            self.emit_issue(at, number, PULL, "closed", actor, None);
        }
    }

    fn head_moved(&mut self, at: usize, branch: &str, new: &str, actor: i64, traps: Traps) {
        let (of, time, mut moved) = (self.repos[at].id, self.now(), Vec::new());
        let all =
            self.repos.iter_mut().enumerate().flat_map(|(at, repo)| repo.issues.values_mut().map(move |i| (at, i)));
        for (at, issue) in all.filter(|(_, i)| i.open) {
            let moves = |p: &&mut Pull| p.from == of && p.head == branch && p.head_sha != new;
            let Some(pull) = issue.pull.as_mut().filter(moves) else { continue };
            new.clone_into(&mut pull.head_sha);
            for review in &mut pull.reviews {
                // `stale` turns true late, so an approval may still look valid for commits that nobody has seen.
                review.stale_from = if review.commit == new { None } else { Some(Instant::now() + traps.stale_lag) };
            }
            issue.updated = time;
            moved.push((at, issue.number));
        }
        for (at, number) in moved {
            self.emit_issue(at, number, PULL_SYNC, "synchronized", actor, None);
        }
    }
}

fn review_author(repo: &Repo, id: i64) -> i64 {
    let reviews = repo.issues.values().filter_map(|i| i.pull.as_ref()).flat_map(|p| &p.reviews);
    let by =
        |r: &Review| r.notes.iter().find(|n| n.id == id).map(|n| n.author).or((r.number == id).then_some(r.author));
    reviews.filter_map(by).next().unwrap_or(0)
}

/// A pending review is visible only to its author.
pub(crate) fn visible(review: &Review, login_id: i64) -> bool {
    review.state != ReviewState::Pending || review.author == login_id
}

fn has(review: &Review, inline: i64) -> bool {
    review.notes.iter().any(|note| note.id == inline)
}
