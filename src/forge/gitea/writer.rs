//! Writing to Gitea; every function is one request (labels by name and merges: one read before; a merge that failed: one after). Nothing is
//! retried: see the trait.
//! Tests: below, and the contract suite.

use super::raw::RequestKind;
use super::reader::{base, commit_id, index};
use super::{Gitea, convert, sdk, wire};
use crate::forge::*;
use crate::redact::in_words;
use gitea_sdk_rs::options::issue::{CreateIssueCommentOption, EditIssueCommentOption, IssueLabelsOption};
use gitea_sdk_rs::options::pull::PullReviewRequestOptions;
use reqwest::Method;
use serde_json::{Value, json};

/// The most issues that are named where they hold something back.
const MOST_NAMED: usize = 10;

#[async_trait::async_trait]
impl ForgeWrites for Gitea {
    async fn post_comment(&self, repo: &RepoRef, issue: u64, body: &str) -> Result<Comment> {
        let option = CreateIssueCommentOption { body: in_words(body) };
        let issues = self.sdk.issues();
        let posted = issues.create_issue_comment(&repo.owner, &repo.name, index(issue)?, option).await;
        let (c, _) = posted.map_err(|e| sdk::error(RequestKind::Write, "POST comment", e))?;
        Ok(Comment {
            id: c.id,
            issue,
            author: convert::sdk_account(c.poster.as_ref()),
            body: c.body,
            created_at: c.created.unix_timestamp().saturating_mul(1000),
            updated_at: c.updated.unix_timestamp().saturating_mul(1000),
            html_url: c.html_url,
        })
    }

    async fn edit_comment(&self, repo: &RepoRef, id: i64, body: &str) -> Result<()> {
        let option = EditIssueCommentOption { body: in_words(body) };
        let edited = self.sdk.issues().edit_issue_comment(&repo.owner, &repo.name, id, option).await;
        edited.map(drop).map_err(|e| sdk::error(RequestKind::Write, "PATCH comment", e))
    }

    async fn delete_comment(&self, repo: &RepoRef, id: i64) -> Result<()> {
        let gone = self.sdk.issues().delete_issue_comment(&repo.owner, &repo.name, id).await;
        missing_is_done(gone.map(drop).map_err(|e| sdk::error(RequestKind::Write, "DELETE comment", e)))
    }

    async fn open_issue(&self, repo: &RepoRef, title: &str, body: &str) -> Result<Issue> {
        let body = json!({ "title": in_words(title), "body": in_words(body) });
        convert::issue(self.raw.write::<wire::Issue>(Method::POST, &format!("{}/issues", base(repo)), &body).await?)
    }

    async fn edit_issue(&self, repo: &RepoRef, number: u64, edit: &IssueEdit) -> Result<()> {
        let mut body = serde_json::Map::new();
        if let Some(text) = &edit.body {
            body.insert("body".to_owned(), in_words(text).into());
        }
        if let Some(open) = edit.open {
            body.insert("state".to_owned(), if open { "open" } else { "closed" }.into());
        }
        self.raw.put(Method::PATCH, &format!("{}/issues/{number}", base(repo)), Some(&Value::Object(body))).await
    }

    async fn open_pull(&self, repo: &RepoRef, new: &NewPull) -> Result<PullRequest> {
        let body =
            json!({ "title": in_words(&new.title), "body": in_words(&new.body), "head": new.head, "base": new.base });
        convert::pull(self.raw.write::<wire::Pull>(Method::POST, &format!("{}/pulls", base(repo)), &body).await?)
    }

    async fn merge_pull(&self, repo: &RepoRef, number: u64, head: &str) -> Result<()> {
        let style = style(&self.raw.get::<wire::Repo>(&base(repo)).await?)?;
        // `force_merge` is left out: with it an administrator's account would pass the rules.
        let body = json!({ "Do": style, "head_commit_id": head });
        let path = format!("{}/pulls/{number}/merge", base(repo));
        match self.raw.put(Method::POST, &path, Some(&body)).await {
            Err(ForgeError::Forbidden(why) | ForgeError::Invalid(why)) => Err(ForgeError::Conflict(why)),
            // Gitea answers 500 without a word where something that the pull request depends on is open.
            Err(ForgeError::Ambiguous(why)) => match self.open_dependencies(repo, number).await.unwrap_or_default() {
                open if open.is_empty() => Err(ForgeError::Ambiguous(why)),
                open => Err(ForgeError::Conflict(format!("something it depends on is open: {}", named(repo, &open)))),
            },
            merged => merged,
        }
    }

    async fn edit_pull(&self, repo: &RepoRef, number: u64, edit: &PullEdit) -> Result<()> {
        let mut body = serde_json::Map::new();
        let mut set = |name: &str, value: Option<Value>| value.map(|v| body.insert(name.to_owned(), v));
        set("title", edit.title.as_deref().map(in_words).map(Value::from));
        set("body", edit.body.as_deref().map(in_words).map(Value::from));
        set("state", edit.open.map(|open| if open { "open" } else { "closed" }.into()));
        if body.is_empty() {
            return Ok(());
        }
        self.raw.put(Method::PATCH, &format!("{}/pulls/{number}", base(repo)), Some(&Value::Object(body))).await
    }

    async fn request_review(&self, repo: &RepoRef, number: u64, login: &str) -> Result<()> {
        let option = PullReviewRequestOptions { reviewers: vec![login.to_owned()], team_reviewers: vec![] };
        let asked = self.sdk.pulls().create_review_requests(&repo.owner, &repo.name, index(number)?, option).await;
        asked.map(drop).map_err(|e| sdk::error(RequestKind::Write, "POST requested_reviewers", e))
    }

    async fn post_review(&self, repo: &RepoRef, number: u64, new: &NewReview) -> Result<Review> {
        let comments: Vec<Value> = new
            .notes
            .iter()
            .map(|n| json!({ "path": n.path, "body": in_words(&n.body), "new_position": n.line, "old_position": 0 }))
            .collect();
        // Exactly "COMMENT", because Gitea keeps a review with any other word pending.
        let body = json!({ "event": "COMMENT", "body": in_words(&new.body), "commit_id": commit_id(&new.commit)?, "comments": comments });
        let path = format!("{}/pulls/{number}/reviews", base(repo));
        convert::review(self.raw.write(Method::POST, &path, &body).await?)
    }

    async fn attach(&self, repo: &RepoRef, number: u64, name: &str, bytes: Vec<u8>) -> Result<()> {
        let issues = self.sdk.issues();
        let sent = issues.create_issue_attachment(&repo.owner, &repo.name, index(number)?, bytes, name).await;
        sent.map(drop).map_err(|e| sdk::error(RequestKind::Write, "POST attachment", e))
    }

    async fn attach_to_comment(&self, repo: &RepoRef, comment: i64, name: &str, bytes: Vec<u8>) -> Result<()> {
        let issues = self.sdk.issues();
        let sent = issues.create_issue_comment_attachment(&repo.owner, &repo.name, comment, bytes, name).await;
        sent.map(drop).map_err(|e| sdk::error(RequestKind::Write, "POST attachment", e))
    }

    async fn delete_review(&self, repo: &RepoRef, number: u64, review: i64) -> Result<()> {
        let gone = self.sdk.pulls().delete_review(&repo.owner, &repo.name, index(number)?, review).await;
        missing_is_done(gone.map(drop).map_err(|e| sdk::error(RequestKind::Write, "DELETE review", e)))
    }

    async fn add_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()> {
        let id = self.label_id(repo, name).await?;
        let id = id.ok_or_else(|| ForgeError::NotFound(format!("label {name:?} in {repo}")))?;
        let option = IssueLabelsOption { labels: vec![id] };
        let added = self.sdk.issues().add_issue_labels(&repo.owner, &repo.name, index(number)?, option).await;
        added.map(drop).map_err(|e| sdk::error(RequestKind::Write, "POST label", e))
    }

    async fn remove_label(&self, repo: &RepoRef, number: u64, name: &str) -> Result<()> {
        let path = format!("{}/issues/{number}/labels", base(repo));
        let here: Option<Vec<wire::Label>> = self.raw.get(&path).await?;
        let Some(label) = here.unwrap_or_default().into_iter().find(|l| l.name == name) else { return Ok(()) };
        let gone = self.sdk.issues().delete_issue_label(&repo.owner, &repo.name, index(number)?, label.id).await;
        missing_is_done(gone.map(drop).map_err(|e| sdk::error(RequestKind::Write, "DELETE label", e)))
    }

    async fn post_status(&self, repo: &RepoRef, commit: &str, new: &NewStatus) -> Result<()> {
        let body = json!({
            "state": convert::status_word(new.state),
            "context": new.context,
            "description": new.description,
            "target_url": new.target_url,
        });
        self.raw.put(Method::POST, &format!("{}/statuses/{}", base(repo), commit_id(commit)?), Some(&body)).await
    }
}

/// How the repository lets pull requests be merged, in Gitea's words: a merge commit if it may be one.
fn style(repo: &wire::Repo) -> Result<&'static str> {
    let styles = [
        (repo.allow_merge_commits, "merge"),
        (repo.allow_squash_merge, "squash"),
        (repo.allow_rebase_explicit, "rebase-merge"),
        (repo.allow_rebase, "rebase"),
        (repo.allow_fast_forward_only_merge, "fast-forward-only"),
    ];
    let allowed = styles.into_iter().find_map(|(allowed, style)| allowed.then_some(style));
    allowed.ok_or_else(|| ForgeError::Conflict("the repository allows no way of merging that the bot knows".into()))
}

/// These issues by their numbers, as far as they are this repository's: not everybody who reads that may see the others.
fn named(repo: &RepoRef, issues: &[wire::Issue]) -> String {
    let path = format!("/{}/{}/", repo.owner, repo.name).to_lowercase();
    let here = issues.iter().filter(|it| it.html_url.to_lowercase().contains(&path));
    let mut names: Vec<String> = here.take(MOST_NAMED).map(|it| format!("#{}", it.number)).collect();
    if names.len() < issues.len() {
        names.push(format!("{} not named here", issues.len() - names.len()));
    }
    names.join(", ")
}

impl Gitea {
    /// What is open of what an issue or pull request depends on.
    async fn open_dependencies(&self, repo: &RepoRef, number: u64) -> Result<Vec<wire::Issue>> {
        let mut found: Vec<wire::Issue> =
            self.raw.pages(&format!("{}/issues/{number}/dependencies", base(repo))).await?;
        found.retain(|it| it.state == "open");
        Ok(found)
    }

    /// A label's id by name: of the repository first, then of its organisation, in Gitea's own order.
    async fn label_id(&self, repo: &RepoRef, name: &str) -> Result<Option<i64>> {
        let of_repo: Vec<wire::Label> = self.raw.pages(&format!("{}/labels", base(repo))).await?;
        if let Some(label) = of_repo.iter().find(|l| l.name == name) {
            return Ok(Some(label.id));
        }
        let path = format!("/orgs/{}/labels", super::raw::seg(&repo.owner));
        match self.raw.pages::<wire::Label>(&path).await {
            Ok(of_org) => Ok(of_org.iter().find(|l| l.name == name).map(|l| l.id)),
            // The owner is a person, or an organisation that this account may not see.
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

fn missing_is_done(result: Result<()>) -> Result<()> {
    match result {
        Err(ForgeError::NotFound(_)) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_merge_back_in_another_repository_is_not_named() {
        let issue = |number: u64, repo: &str| -> wire::Issue {
            let url = format!("https://forge/{repo}/issues/{number}");
            serde_json::from_value(json!({ "id": 1, "number": number, "html_url": url })).expect("an issue")
        };
        let issues: Vec<wire::Issue> = vec![issue(3, "lab/shop"), issue(4, "board/plans"), issue(5, "Lab/Shop")];
        let repo = RepoRef::new("lab", "shop");
        assert_eq!(named(&repo, &issues), "#3, #5, 1 not named here");
        assert_eq!((named(&repo, &issues[..1]), named(&repo, &issues[1..2])), ("#3".into(), "1 not named here".into()));
        let many: Vec<wire::Issue> = (1..=12).map(|number| issue(number, "lab/shop")).collect();
        assert!(named(&repo, &many).ends_with("#10, 2 not named here"));
    }
}
