//! Converts Gitea's JSON to our types: pure functions. An answer without a required field is a protocol error.
//! Tests: below, and the contract suite.

use super::wire;
use crate::forge::{
    Access, Account, Attachment, Change, Changed, Comment, ForgeError, Issue, PullRequest, Repository, Result, Review,
    ReviewComment, ReviewState, Status, StatusState,
};
use crate::redact::redacted_diff;
use domain::OldLine;
use gitea_sdk_rs as sdk;

/// The most characters of a removed line that are read.
const MOST_REMOVED: usize = 300;

/// RFC 3339 to Unix milliseconds. Absent and Gitea's "unset" (year 1) become 0.
pub(super) fn millis(text: Option<&str>) -> Result<i64> {
    let Some(text) = text.filter(|t| !t.is_empty()) else { return Ok(0) };
    let time: jiff::Timestamp = text.parse().map_err(|_| ForgeError::Protocol(format!("{text:?} is no time")))?;
    Ok(time.as_millisecond().max(0))
}

/// A deleted account is `null` or has an id below 1; both become the ghost account.
pub(super) fn account(user: Option<wire::User>) -> Account {
    let user = user.unwrap_or(wire::User { id: -1, login: "Ghost".into() });
    Account { id: user.id, login: user.login }
}

/// Who wrote a text. One that an import brought counts as nobody's, since the account beside it only imported it.
fn author(user: Option<wire::User>, (original, id): (&str, i64)) -> Account {
    account(user.filter(|_| original.is_empty() && id == 0))
}

pub(super) fn sdk_account(user: Option<&sdk::types::User>) -> Account {
    account(user.map(|u| wire::User { id: u.id, login: u.user_name.clone() }))
}

pub(super) fn access(word: &str) -> Access {
    match word {
        "owner" => Access::Owner,
        "admin" => Access::Admin,
        "write" => Access::Write,
        "read" => Access::Read,
        // An unknown permission gives no right.
        _ => Access::None,
    }
}

pub(super) fn repository(repo: wire::Repo) -> Result<Repository> {
    let owner = repo.full_name.split_once('/').map(|(owner, _)| owner.to_owned());
    let owner = owner.ok_or_else(|| ForgeError::Protocol(format!("repository {} has no owner", repo.id)))?;
    Ok(Repository {
        id: repo.id,
        owner,
        name: repo.name,
        default_branch: repo.default_branch,
        empty: repo.empty,
        private: repo.private,
        archived: repo.archived,
        clone_url: repo.clone_url,
        html_url: repo.html_url,
    })
}

pub(super) fn issue(issue: wire::Issue) -> Result<Issue> {
    Ok(Issue {
        id: issue.id,
        number: issue.number,
        title: issue.title,
        body: issue.body,
        author: author(issue.user, (&issue.original_author, issue.original_author_id)),
        open: issue.state == "open",
        created_at: millis(issue.created_at.as_deref())?,
        updated_at: millis(issue.updated_at.as_deref())?,
        is_pull: issue.pull_request.is_some_and(|p| !p.is_null()),
        html_url: issue.html_url,
    })
}

pub(super) fn attachment(asset: wire::Asset) -> Attachment {
    Attachment { uuid: asset.uuid, name: asset.name, size: asset.size }
}

/// None for an entry of the timeline that is neither an assignment nor a label.
pub(super) fn change(entry: wire::Shown) -> Result<Option<Change>> {
    let at = millis(entry.created_at.as_deref())?;
    let what = match (entry.kind.as_str(), entry.assignee, entry.label) {
        ("assignees", Some(who), _) => {
            Changed::Assignee { account: account(Some(who)), added: !entry.removed_assignee }
        }
        ("label", _, Some(label)) => Changed::Label { name: label.name, added: entry.body == "1" },
        _ => return Ok(None),
    };
    Ok(Some(Change { id: entry.id, by: account(entry.user), at, what }))
}

pub(super) fn comment(comment: wire::Comment) -> Result<Comment> {
    // Repository-wide lists lack the number: it is in one of the two addresses, and the other is empty.
    let number =
        [&comment.issue_url, &comment.pull_request_url, &comment.html_url].into_iter().find_map(|u| number_in(u));
    Ok(Comment {
        issue: number.ok_or_else(|| ForgeError::Protocol(format!("comment {} names no issue", comment.id)))?,
        id: comment.id,
        author: author(comment.user, (&comment.original_author, comment.original_author_id)),
        body: comment.body,
        created_at: millis(comment.created_at.as_deref())?,
        updated_at: millis(comment.updated_at.as_deref())?,
        html_url: comment.html_url,
    })
}

/// The issue's number in `…/issues/7#issuecomment-9` or `…/pulls/7`.
fn number_in(url: &str) -> Option<u64> {
    url.split('#').next()?.rsplit('/').next()?.parse().ok()
}

/// The N of `#issuecomment-N`; 0 where the address has none.
pub(super) fn forge_number(html_url: &str) -> i64 {
    html_url.rsplit_once("#issuecomment-").and_then(|(_, n)| n.parse().ok()).unwrap_or(0)
}

pub(super) fn pull(pull: wire::Pull) -> Result<PullRequest> {
    let missing = |end: &str| ForgeError::Protocol(format!("pull request {} has no {end}", pull.number));
    let (head, base) = (pull.head.ok_or_else(|| missing("head"))?, pull.base.ok_or_else(|| missing("base"))?);
    // After the branch is deleted the reference is a `refs/pull/…`, but the label still has the branch.
    let gone = head.reference.starts_with("refs/pull/") && !head.label.is_empty();
    Ok(PullRequest {
        id: pull.id,
        number: pull.number,
        title: pull.title,
        body: pull.body,
        open: pull.state == "open",
        merged: pull.merged,
        merged_by: pull.merged_by.map(|by| account(Some(by))),
        draft: pull.draft,
        head_ref: if gone { head.label } else { head.reference },
        head_sha: head.sha,
        base_ref: base.reference,
        base_sha: base.sha,
        head_repo: head.repo.map(|r| r.full_name),
        author: account(pull.user),
        html_url: pull.html_url,
        created_at: millis(pull.created_at.as_deref())?,
        updated_at: millis(pull.updated_at.as_deref())?,
    })
}

pub(super) fn review(review: wire::Review) -> Result<Review> {
    let state = match review.state.as_str() {
        "APPROVED" if review.dismissed => ReviewState::DismissedApproval,
        _ if review.dismissed => ReviewState::Dismissed,
        "APPROVED" => ReviewState::Approved,
        "REQUEST_CHANGES" => ReviewState::RequestChanges,
        "COMMENT" => ReviewState::Comment,
        "PENDING" => ReviewState::Pending,
        "REQUEST_REVIEW" => ReviewState::RequestReview,
        other => return Err(ForgeError::Protocol(format!("review {} has the unknown state {other:?}", review.id))),
    };
    let submitted_at = millis(review.submitted_at.as_deref())?;
    Ok(Review {
        id: review.id,
        number: forge_number(&review.html_url),
        author: account(review.user),
        state,
        body: review.body,
        commit: review.commit_id,
        submitted_at,
        updated_at: millis(review.updated_at.as_deref())?.max(submitted_at),
        comments: review.comments_count,
        html_url: review.html_url,
    })
}

/// The text of an old line that this hunk of a difference removes, without credentials; none where nothing is left of it. These are looked for in
/// the whole hunk, because a private key has many lines, and a token of which a part was cut off is not known as one.
fn removed(hunk: &str, line: u64) -> Option<String> {
    let hunk = redacted_diff(hunk);
    let (head, rows) = hunk.split_once('\n')?;
    let begin = head.strip_prefix("@@ -")?.split([',', ' ']).next()?;
    let mut number: u64 = begin.parse().ok()?;
    for row in rows.lines().filter(|row| !row.starts_with(['+', '\\'])) {
        if number == line {
            let text = row.strip_prefix('-').filter(|text| !text.trim().is_empty())?;
            return Some(text.chars().take(MOST_REMOVED).collect());
        }
        number = number.checked_add(1)?;
    }
    None
}

/// A position on the forge counts from 1, and 0 is none.
fn position(number: i64) -> Option<u64> {
    u64::try_from(number).ok().filter(|n| *n > 0)
}

pub(super) fn review_comment(c: &sdk::types::PullReviewComment) -> ReviewComment {
    let line = position(c.line_num);
    let old = position(c.old_line_num).filter(|_| line.is_none());
    ReviewComment {
        id: c.id,
        review: c.review_id,
        author: sdk_account(c.reviewer.as_deref()),
        path: c.path.clone(),
        line,
        old: old.map(|line| OldLine { line, removed: removed(&c.diff_hunk, line) }),
        body: c.body.clone(),
        resolved: c.resolver.is_some(),
        created_at: c.created.unix_timestamp().saturating_mul(1000),
        updated_at: c.updated.unix_timestamp().saturating_mul(1000),
    }
}

pub(super) fn status(status: wire::Status) -> Status {
    let state = match status.status.as_str() {
        "success" => StatusState::Success,
        "error" => StatusState::Error,
        "failure" => StatusState::Failure,
        "warning" => StatusState::Warning,
        "skipped" => StatusState::Skipped,
        // Gitea stores a mistyped state unchanged and counts it as pending, as we do.
        _ => StatusState::Pending,
    };
    Status { context: status.context, state, description: status.description, target_url: status.target_url }
}

pub(super) fn status_word(state: StatusState) -> &'static str {
    match state {
        StatusState::Pending => "pending",
        StatusState::Success => "success",
        StatusState::Error => "error",
        StatusState::Failure => "failure",
        StatusState::Warning => "warning",
        StatusState::Skipped => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_from_addresses() {
        assert_eq!(number_in("http://f/o/r/issues/7#issuecomment-9"), Some(7));
        assert_eq!(number_in("http://f/o/r/pulls/12"), Some(12));
        assert_eq!(number_in(""), None);
        assert_eq!(forge_number("http://f/o/r/pulls/2#issuecomment-41"), 41);
        assert_eq!(forge_number("http://f/o/r/pulls/2"), 0);
    }

    #[test]
    fn a_comment_on_the_old_side_has_its_line_there_and_the_text_that_was_removed() {
        let hunk = "@@ -2,4 +2,4 @@ def total():\n a\n+b\n-\told = 1\n-last";
        let comment = |position: u64, original: u64, hunk: &str| {
            let json = serde_json::json!({
                "id": 1, "body": "why?", "user": null, "pull_request_review_id": 2, "path": "a.py", "commit_id": "",
                "created_at": "2026-11-22T10:00:00Z", "updated_at": "2026-11-22T10:00:00Z", "original_commit_id": "",
                "diff_hunk": hunk, "position": position, "original_position": original, "html_url": "",
                "pull_request_url": "",
            });
            let read: sdk::types::PullReviewComment = serde_json::from_value(json).expect("a comment");
            let read = review_comment(&read);
            (read.line, read.old)
        };
        let old = |line, removed: Option<&str>| Some(OldLine { line, removed: removed.map(str::to_owned) });
        assert_eq!(comment(0, 3, hunk), (None, old(3, Some("\told = 1"))));
        assert_eq!(comment(0, 4, hunk), (None, old(4, Some("last"))));
        assert_eq!(comment(0, 2, hunk), (None, old(2, None)), "the line is still there");
        assert_eq!(comment(0, 9, hunk), (None, old(9, None)), "the hunk does not reach it");
        assert_eq!(comment(0, 3, ""), (None, old(3, None)));
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let cut = format!("@@ -1 +0,0 @@\n-{} {token}", "x".repeat(MOST_REMOVED - 10));
        let shown = format!("{} [left out", "x".repeat(MOST_REMOVED - 10));
        assert_eq!(comment(0, 1, &cut), (None, old(1, Some(&shown))), "no part of a token");
        let data = "aB3/".repeat(16);
        let key = format!("@@ -1,3 +0,0 @@\n------BEGIN {0} KEY-----\n-{data}\n------END {0} KEY-----", "PRIVATE");
        assert_eq!(comment(0, 2, &key), (None, old(2, None)), "nor a line of a key");
        assert_eq!(comment(3, 3, hunk), (Some(3), None));
        assert_eq!(comment(0, 0, hunk), (None, None));
    }

    #[test]
    fn what_an_import_brought_is_nobodys_words() {
        let author_of = |original: serde_json::Value, id: serde_json::Value| {
            let json = serde_json::json!({
                "id": 1, "number": 7, "html_url": "http://f/o/r/issues/7", "user": { "id": 5, "login": "alice" },
                "original_author": original, "original_author_id": id, "body": "/fix", "pull_request": null,
            });
            let read = issue(serde_json::from_value(json.clone()).expect("an issue")).expect("converted");
            let remark = comment(serde_json::from_value(json).expect("a comment")).expect("converted");
            assert_eq!(read.author, remark.author);
            read.author.id
        };
        assert_eq!(author_of("".into(), 0.into()), 5);
        assert_eq!(author_of(serde_json::Value::Null, serde_json::Value::Null), 5);
        for (original, id) in [("octocat", 583_231), ("octocat", 0), ("", 583_231)] {
            assert!(author_of(original.into(), id.into()) < 1, "{original} {id}");
        }
    }

    #[test]
    fn times_with_any_offset_are_the_same_instant() {
        assert_eq!(millis(Some("2026-11-22T10:00:00Z")), millis(Some("2026-11-22T11:00:00+01:00")));
        assert_eq!(millis(None), Ok(0));
        assert_eq!(millis(Some("0001-01-01T00:00:00Z")), Ok(0));
        assert!(millis(Some("yesterday")).is_err());
    }

    #[test]
    fn an_unknown_permission_gives_nothing() {
        assert_eq!(access("maintainer"), Access::None);
        assert!(access("admin") > access("write"));
    }
}
