//! Changes of issues and comments, for the API, pages and persons of tests. Rights are checked here; each function queues the
//! deliveries that Gitea would send.

use crate::hooks::{self, ISSUES, PULL};
use crate::world::{Changed, Comment, Issue, Repo, Result, World, refuse};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl World {
    pub fn add_repo(&mut self, owner: &str, name: &str, private: bool, default_branch: &str) -> Result<i64> {
        let owner = self.account(owner)?.login.clone();
        if self.repo_at(&owner, name).is_some() {
            return refuse(409, "The repository with the same name already exists.");
        }
        let good = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !good || name.starts_with('.') {
            return refuse(422, format!("repository name is not usable [name: {name}]"));
        }
        let (id, created) = (self.id(), self.now());
        self.repos.push(Repo {
            id,
            owner,
            name: name.to_owned(),
            private,
            default_branch: default_branch.to_owned(),
            has_issues: true,
            has_pulls: true,
            archived: false,
            has_actions: true,
            created,
            fork_of: None,
            collaborators: BTreeMap::new(),
            labels: Vec::new(),
            issues: BTreeMap::new(),
            hooks: Vec::new(),
            keys: Vec::new(),
            statuses: Vec::new(),
            jobs: Vec::new(),
            protections: Vec::new(),
            refs: BTreeMap::new(),
            fresh: BTreeMap::new(),
            empty_until: None,
        });
        Ok(id)
    }

    /// A new issue without its delivery, also used for pull requests; returns the number.
    pub(crate) fn new_issue(&mut self, at: usize, author: i64, title: &str, body: &str) -> Result<u64> {
        if title.trim().is_empty() {
            return refuse(422, "[Title]: Required");
        }
        let (id, time) = (self.id(), self.now());
        let issues = &mut self.repos[at].issues;
        let number = issues.last_key_value().map_or(1, |(n, _)| n + 1);
        let (title, body) = (title.to_owned(), body.to_owned());
        issues.insert(
            number,
            Issue {
                id,
                number,
                title,
                body,
                author,
                open: true,
                created: time,
                updated: time,
                labels: vec![],
                assignees: vec![],
                comments: vec![],
                attachments: vec![],
                changes: vec![],
                pull: None,
                depends_on: vec![],
                imported: false,
            },
        );
        Ok(number)
    }

    pub fn open_issue(&mut self, at: usize, author: i64, title: &str, body: &str) -> Result<u64> {
        let number = self.new_issue(at, author, title, body)?;
        self.emit_issue(at, number, ISSUES, "opened", author, None);
        Ok(number)
    }

    /// As [`World::open_issue`], with labels and assignees, which count from who may write issues alone. As in Gitea the delivery of an
    /// assignment comes before the issue's, and that of labels after it.
    pub(crate) fn open_issue_with(
        &mut self,
        at: usize,
        author: i64,
        title: &str,
        body: &str,
        (labels, assignees): (Vec<i64>, Vec<&str>),
    ) -> Result<u64> {
        let may = self.may_edit(at, author, false);
        let accounts = if may { self.assignable(at, &assignees, 422)? } else { Vec::new() };
        let number = self.new_issue(at, author, title, body)?;
        if may {
            self.put_labels(at, number, author, &labels)?;
            for account in accounts {
                self.toggle_assignee(at, number, author, account)?;
            }
        }
        self.emit_issue(at, number, ISSUES, "opened", author, None);
        if !self.issue(at, number)?.labels.is_empty() {
            self.labels_changed(at, number, author)?;
        }
        Ok(number)
    }

    /// Edits an issue, by its author or a writer; `None` leaves a field unchanged.
    pub fn edit_issue(
        &mut self,
        at: usize,
        number: u64,
        actor: i64,
        title: Option<&str>,
        body: Option<&str>,
        open: Option<bool>,
    ) -> Result<()> {
        let issue = self.issue(at, number)?;
        let may = self.may_edit(at, actor, issue.pull.is_some());
        if issue.author != actor && !may {
            return refuse(403, "user should be the poster or have write access");
        }
        if issue.pull.as_ref().is_some_and(|p| p.merged.is_some()) && open.is_some() {
            return refuse(412, "cannot change state of this pull request, it was already merged");
        }
        let kind = if issue.pull.is_some() { PULL } else { ISSUES };
        let edited = title.is_some_and(|t| t != issue.title) || body.is_some_and(|b| b != issue.body);
        let changes = hooks::changes(issue, title, body);
        let retitled = title.filter(|t| *t != issue.title);
        let retitled = retitled.map(|new| Changed::Title { old: issue.title.clone(), new: new.to_owned() });
        let flips = open.filter(|o| *o != issue.open).map(|open| if open { "reopen" } else { "close" });
        for what in retitled.into_iter().chain(flips.map(Changed::State)) {
            self.note_change(at, number, actor, what)?;
        }
        let time = self.now();
        let issue = self.issue_mut(at, number)?;
        title.unwrap_or(&issue.title.clone()).clone_into(&mut issue.title);
        body.unwrap_or(&issue.body.clone()).clone_into(&mut issue.body);
        let flipped = open.filter(|o| *o != issue.open);
        issue.open = flipped.unwrap_or(issue.open);
        issue.updated = time;
        if edited {
            self.emit_issue(at, number, kind, "edited", actor, Some(changes));
        }
        if let Some(open) = flipped {
            self.emit_issue(at, number, kind, if open { "reopened" } else { "closed" }, actor, None);
        }
        Ok(())
    }

    pub fn add_comment(&mut self, at: usize, number: u64, author: i64, body: &str) -> Result<i64> {
        let id = self.new_comment(at, number, author, body)?;
        self.emit_comment(at, number, self.comment_value(at, number, id), "created", author, None);
        Ok(id)
    }

    /// A new comment without its delivery; returns its number.
    pub(crate) fn new_comment(&mut self, at: usize, number: u64, author: i64, body: &str) -> Result<i64> {
        if body.is_empty() {
            return refuse(422, "[Body]: Required");
        }
        if self.issue(at, number).is_err() {
            // Gitea's answer, although 404 would be right.
            return refuse(500, "");
        }
        let (id, time) = (self.number(), self.now());
        let issue = self.issue_mut(at, number)?;
        let (body, attachments) = (body.to_owned(), Vec::new());
        issue.comments.push(Comment { id, author, body, created: time, updated: time, attachments, imported: false });
        issue.updated = time;
        Ok(id)
    }

    pub(crate) fn comment_value(&self, at: usize, number: u64, id: i64) -> Value {
        let repo = &self.repos[at];
        let found = repo.issues.get(&number).and_then(|i| Some((i, i.comments.iter().find(|c| c.id == id)?)));
        found.map_or(Value::Null, |(issue, comment)| self.comment_json(repo, issue, comment))
    }

    /// Edits a comment, by its author or *anyone with write access*, so an edited text does not prove its author. A review's number is
    /// accepted too; then only its shown text changes, which only the timeline has.
    pub fn edit_comment(&mut self, at: usize, id: i64, actor: i64, body: &str) -> Result<()> {
        if self.comment_at(at, id).is_none() {
            return self.edit_shown_review(at, id, actor, body);
        }
        let (number, place) = self.own_comment(at, id, actor)?;
        let time = self.now();
        let comment = &mut self.issue_mut(at, number)?.comments[place];
        let old = std::mem::replace(&mut comment.body, body.to_owned());
        comment.updated = time.max(comment.created);
        let changes = json!({ "body": { "from": old } });
        self.emit_comment(at, number, self.comment_value(at, number, id), "edited", actor, Some(changes));
        Ok(())
    }

    /// Deletes a comment, an inline comment, or the text that a page shows of the review with this number.
    pub fn delete_comment(&mut self, at: usize, id: i64, actor: i64) -> Result<()> {
        if self.is_inline(at, id) {
            return self.delete_inline(at, id, actor);
        }
        if self.comment_at(at, id).is_none() {
            return self.delete_shown_review(at, id, actor);
        }
        let (number, place) = self.own_comment(at, id, actor)?;
        let value = self.comment_value(at, number, id);
        self.issue_mut(at, number)?.comments.remove(place);
        self.emit_comment(at, number, value, "deleted", actor, None);
        Ok(())
    }

    fn own_comment(&self, at: usize, id: i64, actor: i64) -> Result<(u64, usize)> {
        let Some((number, place)) = self.comment_at(at, id) else { return refuse(404, "comment does not exist") };
        let writer = self.may_edit(at, actor, self.issue(at, number)?.pull.is_some());
        if self.issue(at, number)?.comments[place].author != actor && !writer {
            return refuse(403, "user should be the poster or have write access");
        }
        Ok((number, place))
    }
}
