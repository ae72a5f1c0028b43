//! Labels and assignees of an issue, and the entries that changes leave in its timeline. Rights are checked here; each function queues the
//! deliveries that Gitea would send.

use crate::hooks::{ISSUE_ASSIGN, ISSUE_LABEL, PULL_ASSIGN, PULL_LABEL};
use crate::json::time;
use crate::world::{Access, Change, Changed, Issue, Label, Repo, Result, World, refuse};
use serde_json::{Value, json};

impl World {
    /// Adds an entry to the timeline and updates the issue's time.
    pub(crate) fn note_change(&mut self, at: usize, number: u64, actor: i64, what: Changed) -> Result<()> {
        let (entry, time) = (self.number(), self.now());
        let issue = self.issue_mut(at, number)?;
        issue.changes.push(Change { number: entry, actor, at: time, what });
        issue.updated = time;
        Ok(())
    }

    fn known_labels(&self, at: usize) -> Vec<Label> {
        let of_owner = self.find_account(&self.repos[at].owner).map_or(vec![], |a| a.labels.clone());
        self.repos[at].labels.iter().cloned().chain(of_owner).collect()
    }

    /// Adds labels by id; unknown ids are ignored, and of an exclusive scope only the newest label stays. One delivery for all of them,
    /// even if nothing changes; an entry of the timeline for each that does.
    pub fn add_labels(&mut self, at: usize, number: u64, actor: i64, ids: &[i64]) -> Result<()> {
        self.may_label(at, number, actor)?;
        self.put_labels(at, number, actor, ids)?;
        self.labels_changed(at, number, actor)
    }

    /// As [`World::add_labels`], without its delivery.
    pub(crate) fn put_labels(&mut self, at: usize, number: u64, actor: i64, ids: &[i64]) -> Result<()> {
        let known = self.known_labels(at);
        for label in ids.iter().filter_map(|id| known.iter().find(|l| l.id == *id)) {
            let set = self.issue(at, number)?.labels.clone();
            if set.contains(&label.id) {
                continue;
            }
            let scope = exclusive_scope(label);
            let same = |id: &i64| known.iter().any(|l| l.id == *id && exclusive_scope(l) == scope);
            for other in set.iter().filter(|id| scope.is_some() && same(id)) {
                self.take_label(at, number, actor, *other)?;
            }
            self.issue_mut(at, number)?.labels.push(label.id);
            self.note_change(at, number, actor, Changed::Label { id: label.id, added: true })?;
        }
        Ok(())
    }

    fn take_label(&mut self, at: usize, number: u64, actor: i64, id: i64) -> Result<()> {
        let labels = &mut self.issue_mut(at, number)?.labels;
        let before = labels.len();
        labels.retain(|l| *l != id);
        if labels.len() < before {
            self.note_change(at, number, actor, Changed::Label { id, added: false })?;
        }
        Ok(())
    }

    fn may_label(&self, at: usize, number: u64, actor: i64) -> Result<()> {
        match self.may_edit(at, actor, self.issue(at, number)?.pull.is_some()) {
            true => Ok(()),
            false => refuse(403, "write permission is required"),
        }
    }

    pub fn remove_label(&mut self, at: usize, number: u64, actor: i64, id: i64) -> Result<()> {
        self.may_label(at, number, actor)?;
        self.take_label(at, number, actor, id)?;
        self.labels_changed(at, number, actor)
    }

    pub(crate) fn labels_changed(&mut self, at: usize, number: u64, actor: i64) -> Result<()> {
        let kind = if self.issue(at, number)?.pull.is_some() { PULL_LABEL } else { ISSUE_LABEL };
        self.emit_issue(at, number, kind, "label_updated", actor, None);
        Ok(())
    }

    /// The label of this name that the repository or its organisation has.
    pub fn label_named(&self, at: usize, name: &str) -> Result<i64> {
        let found = self.known_labels(at).iter().find(|label| label.name == name).map(|label| label.id);
        found.map_or_else(|| refuse(404, "label does not exist"), Ok)
    }

    /// The accounts of these logins if each can be assigned: any right to write, or to read pull requests. `wrong` is the answer otherwise.
    pub(crate) fn assignable(&self, at: usize, logins: &[&str], wrong: u16) -> Result<Vec<i64>> {
        let mut ids = Vec::new();
        for login in logins {
            let Some(account) = self.find_account(login) else { return refuse(wrong, "") };
            if account.owners.is_some() || self.access(&self.repos[at], Some(login)) < Access::Read {
                return refuse(wrong, "");
            }
            if !ids.contains(&account.id) {
                ids.push(account.id);
            }
        }
        Ok(ids)
    }

    /// Assigns exactly these accounts, with a delivery and an entry of the timeline for each that changes; without the right to write issues
    /// nothing happens, and nothing is said about it.
    pub fn assign(&mut self, at: usize, number: u64, actor: i64, logins: &[&str]) -> Result<()> {
        if !self.may_edit(at, actor, self.issue(at, number)?.pull.is_some()) {
            return Ok(());
        }
        // Gitea's answer, although 422 would be right.
        let wanted = self.assignable(at, logins, 500)?;
        let before = self.issue(at, number)?.assignees.clone();
        for account in before.iter().filter(|id| !wanted.contains(id)) {
            self.toggle_assignee(at, number, actor, *account)?;
        }
        for account in wanted.iter().filter(|id| !before.contains(id)) {
            self.toggle_assignee(at, number, actor, *account)?;
        }
        Ok(())
    }

    pub(crate) fn toggle_assignee(&mut self, at: usize, number: u64, actor: i64, account: i64) -> Result<()> {
        let assignees = &mut self.issue_mut(at, number)?.assignees;
        let removed = assignees.contains(&account);
        match removed {
            true => assignees.retain(|id| *id != account),
            false => assignees.push(account),
        }
        self.note_change(at, number, actor, Changed::Assignee { account, removed })?;
        let kind = if self.issue(at, number)?.pull.is_some() { PULL_ASSIGN } else { ISSUE_ASSIGN };
        self.emit_issue(at, number, kind, if removed { "unassigned" } else { "assigned" }, actor, None);
        Ok(())
    }

    /// A change as the timeline shows it; none for one of a label that the repository does not have any more.
    pub fn change_json(&self, repo: &Repo, issue: &Issue, change: &Change) -> Option<Value> {
        let page = self.page(repo, issue);
        let pull = issue.pull.is_some();
        let when = time(change.at);
        let mut value = json!({
            "id": change.number, "html_url": format!("{page}#issuecomment-{}", change.number),
            "pull_request_url": if pull { page.as_str() } else { "" }, "issue_url": if pull { "" } else { page.as_str() },
            "user": self.user_json(change.actor), "body": "", "created_at": when, "updated_at": when,
            "old_project_id": 0, "project_id": 0, "old_milestone": null, "milestone": null, "tracked_time": null,
            "old_title": "", "new_title": "", "old_ref": "", "new_ref": "", "ref_issue": null, "ref_comment": null,
            "ref_action": "none", "ref_commit_sha": "", "review_id": 0, "label": null, "assignee": null,
            "assignee_team": null, "removed_assignee": false, "resolve_doer": null, "dependent_issue": null,
        });
        let word = match &change.what {
            Changed::State(word) => word,
            Changed::Title { old, new } => {
                (value["old_title"], value["new_title"]) = (old.as_str().into(), new.as_str().into());
                "change_title"
            }
            Changed::Label { id, added } => {
                let of_owner = self.find_account(&repo.owner).map_or(&[][..], |a| &a.labels[..]);
                value["label"] = self.label_json(repo.labels.iter().chain(of_owner).find(|l| l.id == *id)?);
                value["body"] = if *added { "1" } else { "" }.into();
                "label"
            }
            Changed::Assignee { account, removed } => {
                (value["assignee"], value["removed_assignee"]) = (self.user_json(*account), (*removed).into());
                "assignees"
            }
        };
        value["type"] = word.into();
        Some(value)
    }
}

/// `scope` of an exclusive `scope/name`.
fn exclusive_scope(label: &Label) -> Option<&str> {
    label.name.rsplit_once('/').map(|(scope, _)| scope).filter(|_| label.exclusive)
}
