//! A person at the forge, for tests and pages, who does in-process what a browser would do. Repositories are named `owner/name`. Rights are
//! those of the account, checked where the API checks them.

use crate::api::{Shared, repos};
use crate::names::split;
use crate::reviews::{NewNote, NewReview};
use crate::world::{Issue, Pull, Result, ReviewState, World, refuse};
use std::sync::Arc;

/// Acts as one account; errors are those of the API: a [`crate::Refusal`] has its status.
#[derive(Clone)]
pub struct Person {
    pub(crate) shared: Arc<Shared>,
    pub(crate) login: String,
}

impl Person {
    pub(crate) fn act<T>(&self, repo: &str, what: impl FnOnce(&mut World, usize, i64) -> Result<T>) -> Result<T> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let actor = world.account(&self.login)?.id;
        let at = world.repo(owner, name, Some(&self.login), crate::world::Access::Read)?;
        what(&mut world, at, actor)
    }

    /// Login name of the account.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Opens an issue and returns its number.
    pub fn open_issue(&self, repo: &str, title: &str, body: &str) -> Result<u64> {
        self.act(repo, |world, at, me| world.open_issue(at, me, title, body))
    }

    /// Opens an issue as an import does: in this account's name, with an original author, and without a delivery. Gitea 1.25.4 has the fields
    /// for that, but leaves them empty in its answers.
    pub fn import_issue(&self, repo: &str, title: &str, body: &str) -> Result<u64> {
        self.act(repo, |world, at, me| {
            let number = world.new_issue(at, me, title, body)?;
            world.issue_mut(at, number)?.imported = true;
            Ok(number)
        })
    }

    /// Posts a comment as an import does; see [`Person::import_issue`]. Returns its id.
    pub fn import_comment(&self, repo: &str, number: u64, body: &str) -> Result<i64> {
        self.act(repo, |world, at, me| {
            let id = world.new_comment(at, number, me, body)?;
            let comments = &mut world.issue_mut(at, number)?.comments;
            comments.iter_mut().filter(|comment| comment.id == id).for_each(|comment| comment.imported = true);
            Ok(id)
        })
    }

    /// Replaces title and text of an issue or pull request, where given; the author and writers may.
    pub fn edit_issue(&self, repo: &str, number: u64, title: Option<&str>, body: Option<&str>) -> Result<()> {
        self.act(repo, |world, at, me| world.edit_issue(at, number, me, title, body, None))
    }

    /// Assigns exactly these accounts to an issue or pull request; without the right to write issues nothing happens.
    pub fn assign(&self, repo: &str, number: u64, logins: &[&str]) -> Result<()> {
        self.act(repo, |world, at, me| world.assign(at, number, me, logins))
    }

    /// Puts a label on an issue or pull request; 404 if the repository has none of this name.
    pub fn label(&self, repo: &str, number: u64, name: &str) -> Result<()> {
        self.act(repo, |world, at, me| {
            let id = world.label_named(at, name)?;
            world.add_labels(at, number, me, &[id])
        })
    }

    /// Takes a label off an issue or pull request.
    pub fn unlabel(&self, repo: &str, number: u64, name: &str) -> Result<()> {
        self.act(repo, |world, at, me| {
            let id = world.label_named(at, name)?;
            world.remove_label(at, number, me, id)
        })
    }

    /// Closes or reopens an issue or pull request.
    pub fn set_open(&self, repo: &str, number: u64, open: bool) -> Result<()> {
        self.act(repo, |world, at, me| world.edit_issue(at, number, me, None, None, Some(open)))
    }

    /// Aims a pull request at another branch.
    pub fn retarget(&self, repo: &str, pull: u64, base: &str) -> Result<()> {
        self.act(repo, |world, at, me| world.retarget(at, pull, me, base))
    }

    /// Closes an issue or pull request.
    pub fn close(&self, repo: &str, number: u64) -> Result<()> {
        self.set_open(repo, number, false)
    }

    /// Posts a comment and returns its id, which is its number.
    pub fn comment(&self, repo: &str, number: u64, body: &str) -> Result<i64> {
        self.act(repo, |world, at, me| world.add_comment(at, number, me, body))
    }

    /// Replaces the text of a comment, or the shown text of the review with this number; the author and writers may.
    pub fn edit_comment(&self, repo: &str, id: i64, body: &str) -> Result<()> {
        self.act(repo, |world, at, me| world.edit_comment(at, id, me, body))
    }

    /// Deletes a comment of an issue or pull request, an inline comment of a review, or the shown text of the review with this number; the author
    /// and writers may.
    pub fn delete_comment(&self, repo: &str, id: i64) -> Result<()> {
        self.act(repo, |world, at, me| world.delete_comment(at, id, me))
    }

    /// Approves `commit`, which need not be the head any more; returns the review's id.
    pub fn approve(&self, repo: &str, pull: u64, commit: &str) -> Result<i64> {
        self.review(repo, pull, ReviewState::Approved, commit, "", &[])
    }

    /// As [`Person::approve`], with a text and `notes` as in [`Person::request_changes`].
    pub fn approve_with(
        &self,
        repo: &str,
        pull: u64,
        commit: &str,
        body: &str,
        notes: &[(&str, i64, &str)],
    ) -> Result<i64> {
        self.review(repo, pull, ReviewState::Approved, commit, body, notes)
    }

    /// Requests changes; `notes` are (path, line in the new file, text).
    pub fn request_changes(
        &self,
        repo: &str,
        pull: u64,
        commit: &str,
        body: &str,
        notes: &[(&str, i64, &str)],
    ) -> Result<i64> {
        self.review(repo, pull, ReviewState::RequestChanges, commit, body, notes)
    }

    /// Posts a review of kind COMMENT, which decides nothing.
    pub fn review_comment(&self, repo: &str, pull: u64, commit: &str, body: &str) -> Result<i64> {
        self.review(repo, pull, ReviewState::Comment, commit, body, &[])
    }

    /// As [`Person::review_comment`], with `notes` as in [`Person::request_changes`].
    pub fn remark(&self, repo: &str, pull: u64, commit: &str, body: &str, notes: &[(&str, i64, &str)]) -> Result<i64> {
        self.review(repo, pull, ReviewState::Comment, commit, body, notes)
    }

    pub(crate) fn review(
        &self,
        repo: &str,
        pull: u64,
        state: ReviewState,
        commit: &str,
        body: &str,
        notes: &[(&str, i64, &str)],
    ) -> Result<i64> {
        let note = |(path, line, text): &(&str, i64, &str)| NewNote {
            path: (*path).to_owned(),
            new_line: *line,
            old_line: 0,
            body: (*text).to_owned(),
        };
        let notes: Vec<NewNote> = notes.iter().map(note).collect();
        let new = NewReview { state, body: body.to_owned(), commit: commit.to_owned(), notes };
        self.act(repo, |world, at, me| {
            world.check_review(at, pull, me, &new)?;
            world.stage_notes(at, pull, me, &new.notes)?;
            world.submit_review(at, pull, me, &new)
        })
    }

    /// The ids of the inline comments of a review, which the page shows in its links.
    pub fn notes(&self, repo: &str, pull: u64, review: i64) -> Result<Vec<i64>> {
        self.act(repo, |world, at, _| {
            let reviews = &world.pull(at, pull)?.reviews;
            let notes = reviews.iter().filter(|one| one.id == review).flat_map(|one| &one.notes);
            Ok(notes.map(|note| note.id).collect())
        })
    }

    /// Replies to the first inline comment of a review; the reply is listed under *that* review. Returns its id.
    pub fn reply(&self, repo: &str, pull: u64, review: i64, body: &str) -> Result<i64> {
        self.act(repo, |world, at, me| world.reply(at, pull, review, me, body))
    }

    /// Resolves the conversation that begins with this inline comment.
    pub fn resolve(&self, repo: &str, pull: u64, comment: i64) -> Result<()> {
        self.act(repo, |world, at, me| world.resolve(at, pull, comment, me))
    }

    /// Deletes an own review.
    pub fn delete_review(&self, repo: &str, pull: u64, review: i64) -> Result<()> {
        self.act(repo, |world, at, me| world.delete_review(at, pull, review, me))
    }

    /// Edits the shown text of the review with this *number*, as the page allows its author and every writer.
    pub fn edit_review(&self, repo: &str, number: i64) -> Result<()> {
        self.act(repo, |world, at, me| world.edit_shown_review(at, number, me, "edited"))
    }

    /// Dismisses an approval or rejection; 403 unless the person is an admin of the repository.
    pub fn dismiss(&self, repo: &str, pull: u64, review: i64) -> Result<()> {
        self.act(repo, |world, at, me| world.dismiss_review(at, pull, review, me))
    }

    /// Forks a repository under its own name; returns the fork's `owner/name`.
    pub async fn fork(&self, repo: &str) -> Result<String> {
        crate::forks::fork(&self.shared, split(repo)?, &self.login, "").await
    }

    /// Merges by a merge commit; a draft, a conflict or too few approvals are refused with 405.
    pub async fn merge(&self, repo: &str, pull: u64) -> Result<()> {
        let (owner, name) = split(repo)?;
        let actor = self.shared.world().account(&self.login)?.id;
        merge(&self.shared, (owner, name), (pull, None), actor).await
    }
}

/// In the order of Gitea's `CheckPullMergeable` and `CheckPullBranchProtections` (`services/pull`).
fn may_be_merged(world: &World, at: usize, issue: &Issue, pull: &Pull) -> Result<()> {
    match (pull.merged.is_some(), issue.open) {
        (true, _) => return refuse(405, "The PR is already merged"),
        (false, false) => return refuse(404, "The target couldn't be found."),
        (false, true) => {}
    }
    if crate::json::is_draft(&issue.title) {
        return refuse(405, "Work in progress PRs cannot be merged");
    }
    if !repos::required_statuses_pass(world, at, &pull.base, &pull.head_sha) {
        return refuse(405, "Not all required status checks successful");
    }
    let stands = |state: ReviewState| {
        pull.reviews.iter().filter(|one| one.official && !one.dismissed && one.state == state).count() as u64
    };
    if stands(ReviewState::Approved) < repos::required_approvals(world, at, &pull.base) {
        return refuse(405, "Does not have enough approvals");
    }
    if stands(ReviewState::RequestChanges) > 0 && repos::blocks_on_rejection(world, at, &pull.base) {
        return refuse(405, "There are requested changes");
    }
    if world.is_held_up(at, issue) {
        // Gitea's answer, although 405 would be right.
        return refuse(500, "");
    }
    Ok(())
}

/// `head` is the commit that the pull request has to end at; nothing or an empty one asks for none.
pub(crate) async fn merge(
    shared: &Shared,
    (owner, name): (&str, &str),
    (number, head): (u64, Option<&str>),
    actor: i64,
) -> Result<()> {
    if shared.switches.looks_for_conflicts() {
        return refuse(405, "Please try again later");
    }
    let wanted = head.filter(|head| !head.is_empty());
    let (base, head, title, login) = {
        let world = shared.world();
        let login = world.login_of(actor).to_owned();
        let at = world.repo(owner, name, Some(&login), crate::world::Access::Write)?;
        let (issue, pull) = (world.issue(at, number)?, world.pull(at, number)?);
        may_be_merged(&world, at, issue, pull)?;
        if wanted.is_some_and(|wanted| wanted != pull.head_sha) {
            return refuse(409, "head out of date");
        }
        (pull.base.clone(), pull.head_sha.clone(), issue.title.clone(), login)
    };
    let dir = crate::git::path(&shared.root, owner, name);
    let message = format!("Merge pull request '{title}' (#{number})");
    let merged = match crate::git::merge(&dir, &base, &head, &login, &message).await {
        Ok(commit) => commit,
        Err(e) => return refuse(405, format!("{e:#}")),
    };
    let refs = crate::git::refs(&dir).await.or_else(|e| refuse(500, format!("{e:#}")))?;
    let mut world = shared.world();
    let at = world.repo(owner, name, Some(&login), crate::world::Access::Write)?;
    let time = world.now();
    let pull = world.pull_mut(at, number)?;
    (pull.merged, pull.merged_by) = (Some(merged), Some(actor));
    let issue = world.issue_mut(at, number)?;
    (issue.open, issue.updated) = (false, time);
    world.emit_issue(at, number, crate::hooks::PULL, "closed", actor, None);
    world.references_changed(at, actor, refs, shared.switches.traps());
    Ok(())
}
