//! Gitea's JSON of each object, in the shape of the recorded deliveries (`tests/fixtures/gitea-1.25.4`). Pure functions.

use crate::world::{Access, Account, Comment, Inline, Issue, Label, Repo, Review, ReviewState, Status, World};
use serde_json::{Value, json};
use std::time::Instant;

pub(crate) fn time(seconds: i64) -> Value {
    jiff::Timestamp::from_second(seconds)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
        .into()
}

/// Name and id of the original author, as of an import from GitHub.
fn original(imported: bool) -> (&'static str, i64) {
    if imported { ("octocat", 583_231) } else { ("", 0) }
}

impl World {
    pub fn user_json(&self, id: i64) -> Value {
        self.accounts.iter().find(|a| a.id == id).map_or(Value::Null, |a| self.account_json(a))
    }

    pub fn account_json(&self, a: &Account) -> Value {
        json!({
            "id": a.id, "login": a.login, "login_name": "", "source_id": 0, "full_name": "",
            "email": format!("{}@noreply.localhost", a.login), "avatar_url": format!("{}/avatars/{}", self.base, a.id),
            "html_url": format!("{}/{}", self.base, a.login), "language": "", "is_admin": a.admin,
            "last_login": "0001-01-01T00:00:00Z", "created": time(a.created), "restricted": false, "active": true,
            "prohibit_login": false, "location": "", "website": "", "description": "", "visibility": "public",
            "followers_count": 0, "following_count": 0, "starred_repos_count": 0, "username": a.login,
        })
    }

    pub fn repo_json(&self, repo: &Repo, login: Option<&str>) -> Value {
        let access = self.access(repo, login);
        let full = format!("{}/{}", repo.owner, repo.name);
        let owner = self.find_account(&repo.owner).map_or(Value::Null, |a| self.account_json(a));
        let open = |pulls: bool| repo.issues.values().filter(|i| i.open && i.pull.is_some() == pulls).count();
        json!({
            "id": repo.id, "owner": owner, "name": repo.name, "full_name": full, "description": "",
            "empty": repo.is_empty(), "private": repo.private, "fork": repo.fork_of.is_some(), "template": false, "mirror": false,
            "size": 0, "language": "", "html_url": format!("{}/{full}", self.base), "link": "",
            "url": format!("{}/api/v1/repos/{full}", self.base), "ssh_url": format!("gitea@localhost:{full}.git"),
            "clone_url": format!("{}/{full}.git", self.base), "original_url": "", "website": "", "stars_count": 0,
            "forks_count": 0, "watchers_count": 1, "open_issues_count": open(false), "open_pr_counter": open(true),
            "release_counter": 0, "default_branch": repo.default_branch, "archived": repo.archived,
            "created_at": time(repo.created), "updated_at": time(repo.created), "archived_at": "1970-01-01T00:00:00Z",
            "permissions": { "admin": access >= Access::Admin, "push": access >= Access::Write, "pull": access >= Access::Read },
            "has_issues": repo.has_issues, "has_code": true, "has_wiki": true, "has_pull_requests": repo.has_pulls, "has_projects": true,
            "has_releases": true, "has_packages": true, "has_actions": repo.has_actions, "internal": false,
            "object_format_name": "sha1", "avatar_url": "", "allow_merge_commits": true, "default_merge_style": "merge", "topics": [], "licenses": [],
        })
    }

    pub fn label_json(&self, label: &Label) -> Value {
        json!({
            "id": label.id, "name": label.name, "exclusive": label.exclusive, "is_archived": false,
            "color": label.color.trim_start_matches('#'), "description": label.description,
            "url": format!("{}/api/v1/labels/{}", self.base, label.id),
        })
    }

    /// The labels of an issue, which can be the repository's or its organisation's.
    pub fn labels_json(&self, repo: &Repo, issue: &Issue) -> Vec<Value> {
        let of_owner = self.find_account(&repo.owner).map_or(&[][..], |a| &a.labels[..]);
        let all = || repo.labels.iter().chain(of_owner);
        issue.labels.iter().filter_map(|id| all().find(|l| l.id == *id)).map(|l| self.label_json(l)).collect()
    }

    fn assignees_json(&self, issue: &Issue) -> Vec<Value> {
        issue.assignees.iter().map(|id| self.user_json(*id)).collect()
    }

    pub(crate) fn page(&self, repo: &Repo, issue: &Issue) -> String {
        let kind = if issue.pull.is_some() { "pulls" } else { "issues" };
        format!("{}/{}/{}/{kind}/{}", self.base, repo.owner, repo.name, issue.number)
    }

    pub fn issue_json(&self, repo: &Repo, issue: &Issue) -> Value {
        let pull = issue.pull.as_ref().map(|p| {
            json!({ "merged": p.merged.is_some(), "merged_at": null, "draft": is_draft(&issue.title), "html_url": self.page(repo, issue) })
        });
        let assignees = self.assignees_json(issue);
        let all = Some(&assignees).filter(|all| !all.is_empty());
        json!({
            "id": issue.id, "html_url": self.page(repo, issue), "number": issue.number, "user": self.user_json(issue.author),
            "url": format!("{}/api/v1/repos/{}/{}/issues/{}", self.base, repo.owner, repo.name, issue.number),
            "original_author": original(issue.imported).0, "original_author_id": original(issue.imported).1,
            "title": issue.title, "body": issue.body, "ref": "",
            "assets": self.assets_json(issue),
            "labels": self.labels_json(repo, issue), "milestone": null, "assignee": assignees.first(), "assignees": all,
            "state": state(issue), "is_locked": false, "comments": issue.comments.len(), "created_at": time(issue.created),
            "updated_at": time(issue.updated), "closed_at": if issue.open { Value::Null } else { time(issue.updated) },
            "due_date": null, "time_estimate": 0, "pull_request": pull, "pin_order": 0,
            "repository": { "id": repo.id, "name": repo.name, "owner": repo.owner, "full_name": format!("{}/{}", repo.owner, repo.name) },
        })
    }

    pub fn comment_json(&self, repo: &Repo, issue: &Issue, comment: &Comment) -> Value {
        let page = self.page(repo, issue);
        let pull = issue.pull.is_some();
        json!({
            "id": comment.id, "html_url": format!("{page}#issuecomment-{}", comment.id),
            "pull_request_url": if pull { page.as_str() } else { "" }, "issue_url": if pull { "" } else { page.as_str() },
            "user": self.user_json(comment.author), "original_author": original(comment.imported).0,
            "original_author_id": original(comment.imported).1, "body": comment.body,
            "assets": [], "created_at": time(comment.created), "updated_at": time(comment.updated),
        })
    }

    pub fn pull_json(&self, repo: &Repo, issue: &Issue, login: Option<&str>) -> Value {
        let Some(pull) = &issue.pull else { return Value::Null };
        let page = self.page(repo, issue);
        let base_sha = repo.refs.get(&format!("refs/heads/{}", pull.base)).cloned().unwrap_or_default();
        let whole = self.repo_json(repo, login);
        let of = self.repos.iter().find(|other| other.id == pull.from);
        let branch_there = of.is_some_and(|of| of.refs.contains_key(&format!("refs/heads/{}", pull.head)));
        let head_repo = of.map_or(Value::Null, |of| self.repo_json(of, login));
        let head_ref = if branch_there { pull.head.clone() } else { format!("refs/pull/{}/head", issue.number) };
        let mut reviewers: Vec<i64> = pull.reviews.iter().map(|r| r.author).collect();
        reviewers.sort_unstable();
        reviewers.dedup();
        let assignees = self.assignees_json(issue);
        json!({
            "id": issue.id, "url": page, "number": issue.number, "user": self.user_json(issue.author), "title": issue.title,
            "body": issue.body, "labels": self.labels_json(repo, issue), "milestone": null, "assignee": assignees.first(), "assignees": assignees,
            "requested_reviewers": reviewers.iter().map(|id| self.user_json(*id)).collect::<Vec<_>>(),
            "requested_reviewers_teams": [], "state": state(issue), "draft": is_draft(&issue.title), "is_locked": false,
            "comments": issue.comments.len(), "review_comments": pull.reviews.len(), "additions": 0, "deletions": 0,
            "changed_files": 0, "html_url": page, "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
            "mergeable": issue.open, "merged": pull.merged.is_some(), "merged_at": pull.merged.as_ref().map(|_| time(issue.updated)),
            "merge_commit_sha": pull.merged, "merged_by": pull.merged_by.map(|id| self.user_json(id)), "allow_maintainer_edit": false,
            "base": { "label": pull.base, "ref": pull.base, "sha": base_sha, "repo_id": repo.id, "repo": whole },
            "head": { "label": pull.head, "ref": head_ref, "sha": pull.head_sha, "repo_id": pull.from, "repo": head_repo },
            "merge_base": base_sha, "due_date": null, "created_at": time(issue.created), "updated_at": time(issue.updated),
            "closed_at": if issue.open { Value::Null } else { time(issue.updated) }, "pin_order": 0,
        })
    }

    pub fn review_json(&self, repo: &Repo, issue: &Issue, review: &Review) -> Value {
        let page = self.page(repo, issue);
        let html = if review.number > 0 { format!("{page}#issuecomment-{}", review.number) } else { String::new() };
        json!({
            "id": review.id, "user": self.user_json(review.author), "team": null, "state": review_word(review.state),
            "body": review.body, "commit_id": review.commit, "official": review.official, "dismissed": review.dismissed,
            "stale": review.stale_from.is_some_and(|at| Instant::now() >= at), "comments_count": review.notes.len(),
            "submitted_at": time(review.begun), "updated_at": time(review.submitted), "html_url": html, "pull_request_url": page,
        })
    }

    pub fn inline_json(&self, repo: &Repo, issue: &Issue, review: &Review, note: &Inline) -> Value {
        let page = self.page(repo, issue);
        json!({
            "id": note.id, "body": note.body, "user": self.user_json(note.author), "resolver": note.resolver.map(|id| self.user_json(id)),
            "pull_request_review_id": review.id, "created_at": time(note.created), "updated_at": time(note.updated),
            "path": note.path, "commit_id": review.commit, "original_commit_id": "", "diff_hunk": "",
            "position": note.new_line, "original_position": note.old_line,
            "html_url": format!("{page}#issuecomment-{}", note.id), "pull_request_url": page,
        })
    }

    pub fn status_json(&self, repo: &Repo, status: &Status) -> Value {
        json!({
            "id": status.id, "status": status.state, "target_url": status.target_url, "description": status.description,
            "url": format!("{}/api/v1/repos/{}/{}/statuses/{}", self.base, repo.owner, repo.name, status.sha),
            "context": status.context, "creator": self.user_json(status.author), "created_at": time(status.created),
            "updated_at": time(status.created),
        })
    }
}

fn state(issue: &Issue) -> &'static str {
    if issue.open { "open" } else { "closed" }
}

/// Gitea's default work-in-progress prefixes.
pub(crate) fn is_draft(title: &str) -> bool {
    let title = title.trim_start().to_uppercase();
    title.starts_with("WIP:") || title.starts_with("[WIP]")
}

pub(crate) fn review_word(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Pending => "PENDING",
        ReviewState::Approved => "APPROVED",
        ReviewState::Comment => "COMMENT",
        ReviewState::RequestChanges => "REQUEST_CHANGES",
        ReviewState::RequestReview => "REQUEST_REVIEW",
    }
}
