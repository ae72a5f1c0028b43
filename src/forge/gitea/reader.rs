//! Reading from Gitea; every function is one query, and lists are complete. Tests: below, and the contract suite.

use super::raw::{RequestKind, seg};
use super::{Gitea, convert, sdk, wire};
use crate::forge::*;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most pages of a list that is read again and again.
const FEW: usize = 20;

pub(super) fn base(repo: &RepoRef) -> String {
    format!("/repos/{}/{}", seg(&repo.owner), seg(&repo.name))
}

/// `since` for a query in whole seconds, rounded down, in a form without escaping.
fn since(millis: i64) -> Result<String> {
    let time = jiff::Timestamp::from_second(millis.div_euclid(1000).max(0))
        .map_err(|_| ForgeError::Invalid(format!("{millis} is no time")))?;
    Ok(seg(&time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

#[async_trait::async_trait]
impl ForgeReads for Gitea {
    async fn version(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        Ok(self.raw.get::<Version>("/version").await?.version)
    }

    async fn whoami(&self) -> Result<Account> {
        let (user, _) =
            self.sdk.users().get_my_info().await.map_err(|e| sdk::error(RequestKind::Read, "GET /user", e))?;
        Ok(convert::sdk_account(Some(&user)))
    }

    async fn clock(&self) -> Result<i64> {
        let answer = self.raw.send(RequestKind::Read, Method::GET, "/version", None).await?;
        answer.date.ok_or_else(|| ForgeError::Protocol("GET /version: no Date that can be read".into()))
    }

    async fn locate(&self, id: i64) -> Result<Repository> {
        convert::repository(self.raw.get(&format!("/repositories/{id}")).await?)
    }

    async fn repository(&self, repo: &RepoRef) -> Result<Repository> {
        convert::repository(self.raw.get(&base(repo)).await?)
    }

    async fn lists(&self, repo: &RepoRef, pulls: bool) -> Result<()> {
        // With a type, because Gitea otherwise lists whichever of the two is enabled.
        let kind = if pulls { "pulls" } else { "issues" };
        let path = format!("{}/issues?type={kind}&state=all&limit=1", base(repo));
        self.raw.get::<Option<Vec<wire::Issue>>>(&path).await.map(drop)
    }

    async fn issue(&self, repo: &RepoRef, number: u64) -> Result<Issue> {
        convert::issue(self.raw.get(&format!("{}/issues/{number}", base(repo))).await?)
    }

    async fn issues_by(&self, repo: &RepoRef, login: &str) -> Result<Vec<Issue>> {
        let path = format!("{}/issues?type=issues&state=all&created_by={}", base(repo), seg(login));
        let found: Vec<wire::Issue> = self.raw.pages(&path).await?;
        found.into_iter().map(convert::issue).collect()
    }

    async fn attachments(&self, repo: &RepoRef, number: u64) -> Result<Vec<Attachment>> {
        self.assets(&format!("{}/issues/{number}/assets", base(repo))).await
    }

    async fn comment_attachments(&self, repo: &RepoRef, comment: i64) -> Result<Vec<Attachment>> {
        self.assets(&format!("{}/issues/comments/{comment}/assets", base(repo))).await
    }

    async fn attachment(&self, attachment: &Attachment, most: u64) -> Result<Vec<u8>> {
        // By its id below the forge's own address, whatever address an answer names.
        self.raw.file(&format!("/attachments/{}", seg(&attachment.uuid)), most).await
    }

    async fn issues_since(&self, repo: &RepoRef, from: i64) -> Result<Vec<Issue>> {
        // Without `type` Gitea lists issues and pull requests; without `state=all` only open ones.
        let path = format!("{}/issues?state=all&since={}", base(repo), since(from)?);
        let found: Vec<wire::Issue> = self.raw.pages(&path).await?;
        // Newest first: one opened meanwhile shifts the pages, so that an entry may come twice but none is missing.
        let unique: BTreeMap<u64, wire::Issue> = found.into_iter().map(|i| (i.number, i)).collect();
        unique.into_values().map(convert::issue).collect()
    }

    async fn comments(&self, repo: &RepoRef, issue: u64) -> Result<Vec<Comment>> {
        // This list is not paged.
        let path = format!("{}/issues/{issue}/comments", base(repo));
        match self.raw.get::<Option<Vec<wire::Comment>>>(&path).await {
            Ok(found) => sorted(found.unwrap_or_default()),
            Err(error) => {
                // For a deleted issue Gitea answers 500 here, and 404 only to a query of the issue itself.
                if matches!(error, ForgeError::Unavailable { .. }) {
                    self.issue(repo, issue).await?;
                }
                Err(error)
            }
        }
    }

    async fn comment(&self, repo: &RepoRef, id: i64) -> Result<Option<Comment>> {
        let path = format!("{}/issues/comments/{id}", base(repo));
        let answer = match self.raw.send(RequestKind::Read, Method::GET, &path, None).await {
            Ok(answer) => answer,
            Err(ForgeError::NotFound(_)) => return Ok(None),
            Err(e) => return Err(e),
        };
        // Gitea answers 204 for anything but a plain comment (a review's body, a label change).
        if answer.status == StatusCode::NO_CONTENT || answer.body.is_empty() {
            return Ok(None);
        }
        let found = serde_json::from_slice(&answer.body).map_err(|e| ForgeError::Protocol(format!("{path}: {e}")))?;
        convert::comment(found).map(Some)
    }

    async fn comments_since(&self, repo: &RepoRef, from: i64) -> Result<Vec<Comment>> {
        let path = format!("{}/issues/comments?since={}", base(repo), since(from)?);
        sorted(self.raw.pages(&path).await?)
    }

    async fn pull(&self, repo: &RepoRef, number: u64) -> Result<PullRequest> {
        convert::pull(self.raw.get(&format!("{}/pulls/{number}", base(repo))).await?)
    }

    async fn pulls_of_branch(&self, repo: &RepoRef, branch: &str) -> Result<Vec<PullRequest>> {
        let path = format!("{}/pulls?state=all&sort=oldest", base(repo));
        let found: Vec<Option<wire::Pull>> = match self.raw.pages(&path).await {
            // An empty repository answers 404, so its existence is queried separately.
            Err(ForgeError::NotFound(_)) => self.repository(repo).await.map(|_| Vec::new())?,
            other => other?,
        };
        of_branch(found, repo, branch)
    }

    async fn reviews(&self, repo: &RepoRef, number: u64) -> Result<Vec<Review>> {
        // Without `page` Gitea returns all rows.
        let found: Option<Vec<wire::Review>> = self.raw.get(&format!("{}/pulls/{number}/reviews", base(repo))).await?;
        let mut reviews = found.unwrap_or_default().into_iter().map(convert::review).collect::<Result<Vec<_>>>()?;
        let shown = self.shown_reviews(repo, number).await?;
        for review in &mut reviews {
            if let Some(entry) = shown.get(&review.number) {
                review.submitted_at = convert::millis(entry.created_at.as_deref())?;
                review.updated_at = convert::millis(entry.updated_at.as_deref())?.max(review.submitted_at);
            }
        }
        reviews.sort_by_key(|r| r.id);
        Ok(reviews)
    }

    async fn untouched(&self, repo: &RepoRef, issue: &Issue) -> Result<bool> {
        let here: wire::Repo = self.raw.get(&base(repo)).await?;
        // Brought here by a migration, which makes whoever had it done the author of what strangers wrote, and says so nowhere.
        if issue.created_at < convert::millis(here.created_at.as_deref())? {
            return Ok(false);
        }
        if issue.updated_at <= issue.created_at {
            return Ok(true);
        }
        let (entries, teams) = tokio::try_join!(self.timeline(repo, issue.number), self.teams(repo))?;
        let others = teams.iter().any(|team| team.edits_alone(issue.is_pull));
        Ok(!retitled(&entries) && !others && explains(&entries, issue)?)
    }

    async fn changes(&self, repo: &RepoRef, number: u64) -> Result<Vec<Change>> {
        let found = self.timeline(repo, number).await?.into_iter();
        let mut changes = found.filter_map(|e| convert::change(e).transpose()).collect::<Result<Vec<_>>>()?;
        changes.sort_by_key(|change| change.id);
        Ok(changes)
    }

    async fn closed_by(&self, repo: &RepoRef, number: u64) -> Result<Option<Account>> {
        let entries = self.timeline(repo, number).await?.into_iter();
        Ok(entries.filter(|e| e.kind == "close").max_by_key(|e| e.id).map(|e| convert::account(e.user)))
    }

    async fn untouched_since(&self, repo: &RepoRef, issue: &Issue, change: i64) -> Result<bool> {
        let (entries, teams, author) =
            tokio::try_join!(self.timeline(repo, issue.number), self.teams(repo), self.right(repo, &issue.author))?;
        if !entries.iter().any(|e| e.id == change) {
            return Ok(false);
        }
        let later: Vec<_> = entries.into_iter().filter(|e| e.id >= change).collect();
        if retitled(&later) || !explains(&later, issue)? {
            return Ok(false);
        }
        // An edit within the same second, or before another entry, leaves no trace: whoever can have made it has to be a writer of the code.
        Ok(author >= Access::Write && !teams.iter().any(|team| team.edits_alone(issue.is_pull)))
    }

    async fn review_comments(&self, repo: &RepoRef, number: u64, review: i64) -> Result<Vec<ReviewComment>> {
        let index = index(number)?;
        let what = "GET review comments";
        let (found, _) = self
            .sdk
            .pulls()
            .list_review_comments(&repo.owner, &repo.name, index, review)
            .await
            .map_err(|e| sdk::error(RequestKind::Read, what, e))?;
        let mut comments: Vec<ReviewComment> = found.iter().map(convert::review_comment).collect();
        comments.sort_by_key(|c| c.id);
        Ok(comments)
    }

    async fn labels(&self, repo: &RepoRef, number: u64) -> Result<Vec<String>> {
        let path = format!("{}/issues/{number}/labels", base(repo));
        let found: Option<Vec<wire::Label>> = self.raw.get(&path).await?;
        Ok(found.unwrap_or_default().into_iter().map(|l| l.name).collect())
    }

    async fn statuses(&self, repo: &RepoRef, commit: &str) -> Result<Vec<Status>> {
        Ok(newest(self.raw.pages(&statuses(repo, commit)?).await?))
    }

    async fn few_statuses(&self, repo: &RepoRef, commit: &str) -> Result<Vec<Status>> {
        Ok(newest(self.raw.few_pages(&statuses(repo, commit)?, FEW).await?))
    }

    async fn job_log(&self, repo: &RepoRef, commit: &str, page: &str, most: usize) -> Result<Option<String>> {
        super::jobs::log(&self.raw, &base(repo), commit, page, most).await
    }

    async fn branch(&self, repo: &RepoRef, name: &str) -> Result<Option<String>> {
        let path = format!("{}/branches/{}", base(repo), seg(name));
        let Some(found) = self.raw.find::<wire::Branch>(&path).await? else { return Ok(None) };
        found
            .commit
            .map(|c| Some(c.id))
            .ok_or_else(|| ForgeError::Protocol(format!("{path}: a branch without a commit")))
    }

    async fn guard(&self, repo: &RepoRef, branch: &str) -> Result<Option<BranchGuard>> {
        let path = format!("{}/branches/{}", base(repo), seg(branch));
        let found = self.raw.find::<wire::Branch>(&path).await?;
        Ok(found.map(|branch| BranchGuard {
            protected: branch.protected,
            required_approvals: branch.required_approvals,
            may_push: branch.user_can_push,
            may_merge: branch.user_can_merge,
        }))
    }

    async fn foreign(&self, repo: &RepoRef, ours: &str) -> Result<Vec<String>> {
        let base = base(repo);
        let (hooks, keys, mirrors) = (format!("{base}/hooks"), format!("{base}/keys"), format!("{base}/push_mirrors"));
        // In parallel, because it is queried before each push.
        let (found, hooks, organisation, keys, mirrors) = tokio::try_join!(
            self.raw.get::<wire::Repo>(&base),
            self.raw.pages::<wire::Hook>(&hooks),
            self.owners_hooks(&repo.owner),
            self.raw.pages::<wire::DeployKey>(&keys),
            async {
                match self.raw.pages::<wire::PushMirror>(&mirrors).await {
                    // Gitea answers 400 where mirroring is disabled globally, so nothing is mirrored.
                    Err(ForgeError::Invalid(_)) => Ok(Vec::new()),
                    answer => answer,
                }
            }
        )?;
        let mut names: Vec<String> = found.has_actions.then(|| "actions".to_owned()).into_iter().collect();
        names.extend(hook_names("hook", hooks.into_iter().filter(|hook| address(hook) != ours).collect()));
        names.extend(organisation);
        names.extend(keys.into_iter().map(|key| format!("deploy key {} {:?}", key.id, key.title)));
        names.extend(mirrors.into_iter().map(|mirror| listener("push mirror", &mirror.remote_address)));
        Ok(names)
    }

    async fn permission(&self, repo: &RepoRef, account: &Account) -> Result<Access> {
        self.right(repo, account).await
    }

    async fn in_team(&self, organisation: &str, team: &str, account: &Account) -> Result<Option<bool>> {
        self.is_in_team(organisation, team, account).await
    }
}

impl Gitea {
    async fn assets(&self, path: &str) -> Result<Vec<Attachment>> {
        let found: Option<Vec<wire::Asset>> = self.raw.get(path).await?;
        Ok(found.unwrap_or_default().into_iter().map(convert::attachment).collect())
    }

    /// The timeline's entries by number. An edit of a review's text on the page changes this entry and not the review, and the review's
    /// times are those of its first note and its submission, which may be an hour apart.
    async fn shown_reviews(&self, repo: &RepoRef, number: u64) -> Result<HashMap<i64, wire::Shown>> {
        let found = self.timeline(repo, number).await?;
        Ok(found.into_iter().filter(|e| e.kind == "review").map(|e| (e.id, e)).collect())
    }

    async fn timeline(&self, repo: &RepoRef, number: u64) -> Result<Vec<wire::Shown>> {
        let found: Option<Vec<Option<wire::Shown>>> =
            self.raw.get(&format!("{}/issues/{number}/timeline", base(repo))).await?;
        Ok(found.unwrap_or_default().into_iter().flatten().collect())
    }

    /// Hooks of the owner, which get the pushes of all its repositories. Only an organisation's owners see its hooks.
    async fn owners_hooks(&self, owner: &str) -> Result<Vec<String>> {
        match self.raw.pages(&format!("/orgs/{}/hooks", seg(owner))).await {
            Ok(hooks) => Ok(hook_names("organisation hook", hooks)),
            Err(ForgeError::Forbidden(_)) => Ok(vec![format!("organisation hooks of {owner}: not shown to the bot")]),
            // It is no organisation.
            Err(ForgeError::NotFound(_)) => self.accounts_hooks(owner).await,
            Err(e) => Err(e),
        }
    }

    /// Hooks of an account (Gitea since 1.19), which nobody else is shown.
    async fn accounts_hooks(&self, owner: &str) -> Result<Vec<String>> {
        if !self.whoami().await?.login.eq_ignore_ascii_case(owner) {
            return Ok(vec![format!("account hooks of {owner}: not shown to the bot")]);
        }
        match self.raw.pages("/user/hooks").await {
            Ok(hooks) => Ok(hook_names("account hook", hooks)),
            Err(ForgeError::NotFound(_)) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

/// Those whose head is this branch of the repository itself. Forgejo and older versions of Gitea list `null` for one that they cannot show, as one
/// whose commits or whose fork's files are missing.
fn of_branch(found: Vec<Option<wire::Pull>>, repo: &RepoRef, branch: &str) -> Result<Vec<PullRequest>> {
    let ours = format!("{}/{}", repo.owner, repo.name).to_lowercase();
    let mut pulls = BTreeMap::new();
    for pull in found.into_iter().flatten() {
        let pull = convert::pull(pull)?;
        let here = pull.head_repo.as_ref().is_some_and(|name| name.to_lowercase() == ours);
        if here && pull.head_ref == branch {
            pulls.insert(pull.number, pull);
        }
    }
    Ok(pulls.into_values().collect())
}

fn statuses(repo: &RepoRef, commit: &str) -> Result<String> {
    Ok(format!("{}/commits/{}/statuses", base(repo), commit_id(commit)?))
}

/// The newest status of each context.
fn newest(mut found: Vec<wire::Status>) -> Vec<Status> {
    // Gitea sorts by whole seconds, which may be equal; ids are not.
    found.sort_by_key(|s| std::cmp::Reverse(s.id));
    let mut seen = HashSet::new();
    found.into_iter().map(convert::status).filter(|status| seen.insert(status.context.clone())).collect()
}

fn retitled(entries: &[wire::Shown]) -> bool {
    entries.iter().any(|e| e.kind == "change_title")
}

/// Whether the last of these entries is what changed the issue last.
fn explains(entries: &[wire::Shown], issue: &Issue) -> Result<bool> {
    let mut last = 0;
    for entry in entries {
        last = convert::millis(entry.created_at.as_deref())?.max(last);
    }
    // The entry is written before the issue's time, so in whole seconds they differ by one at most.
    Ok(issue.updated_at - last <= 1000)
}

fn address(hook: &wire::Hook) -> &str {
    hook.config.get("url").map_or("", String::as_str)
}

fn hook_names(what: &str, hooks: Vec<wire::Hook>) -> Vec<String> {
    hooks.iter().map(|hook| listener(&format!("{what} {}", hook.id), address(hook))).collect()
}

fn sorted(found: Vec<wire::Comment>) -> Result<Vec<Comment>> {
    let mut comments = found.into_iter().map(convert::comment).collect::<Result<Vec<_>>>()?;
    comments.sort_by_key(|c| c.id);
    comments.dedup_by_key(|c| c.id);
    Ok(comments)
}

pub(super) fn index(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| ForgeError::Invalid(format!("{number} is no issue's number")))
}

/// Checks a commit id before it is put into an address.
pub(super) fn commit_id(commit: &str) -> Result<&str> {
    let good = matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
    if good { Ok(commit) } else { Err(ForgeError::Invalid(format!("{commit:?} is no full commit id"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_that_the_forge_cannot_show_hides_no_other() {
        let pull = |number: u64, repo: &str, branch: &str| {
            let here = json!({ "id": 2, "name": "shop", "full_name": repo });
            let head = json!({ "label": branch, "ref": branch, "sha": "a".repeat(40), "repo": here });
            json!({ "id": number, "number": number, "state": "open", "head": head, "base": { "ref": "main" } })
        };
        let all = json!([
            null,
            pull(4, "lab/shop", "agent/1-x"),
            pull(5, "eve/shop", "agent/1-x"),
            pull(6, "lab/shop", "other"),
            null,
            pull(7, "Lab/Shop", "agent/1-x"),
        ]);
        let found: Vec<Option<wire::Pull>> = serde_json::from_value(all).unwrap();
        let own = of_branch(found, &RepoRef::new("lab", "shop"), "agent/1-x").unwrap();
        assert_eq!(own.iter().map(|pull| pull.number).collect::<Vec<_>>(), [4, 7]);
    }
}
