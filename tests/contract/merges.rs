//! Merging a pull request: only at the head that is named, and only as the rule of the base branch allows.

use super::people::gitea_minor;
use super::pulls::open;
use super::support::forges::Lab;
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, IssueEdit, NewStatus, RepoRef, StatusState};
use domain::{BranchGuard, GuardLack};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub async fn approved_work_is_merged_at_its_head_and_nothing_else_is(lab: Arc<Lab>) {
    let place = lab.place("merges").await;
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    require_approval(&lab, &place.repo).await;
    let old = lab.branch(&place, "agent/1-x", &[("a.txt", "a\n")]);
    let pull = open(&lab, &place, "agent/1-x", "Mend it").await;
    let refused = merge(&lab, &place.repo, pull.number, &pull.head_sha).await.unwrap_err();
    assert!(matches!(&refused, ForgeError::Conflict(said) if said.contains("approvals")), "{refused:?}");
    let (status, _) = lab.hand("alice").review(&place.repo, pull.number, "APPROVED", &pull.head_sha, "").await;
    assert_eq!(status, 200);
    let other = "0123456789012345678901234567890123456789";
    let moved = merge(&lab, &place.repo, pull.number, other).await.unwrap_err();
    assert!(matches!(moved, ForgeError::Conflict(_)), "{moved:?}");
    let still = lab.bot.pull(&place.repo, pull.number).await.unwrap();
    assert!(still.open && !still.merged && still.merge().is_none());
    merge(&lab, &place.repo, pull.number, &pull.head_sha).await.unwrap();
    let done = lab.bot.pull(&place.repo, pull.number).await.unwrap();
    assert!(done.merged && !done.open);
    let how = done.merge().expect("who merged it");
    assert_eq!((how.commit.as_str(), how.by.as_str()), (old.as_str(), "caisson"));
    let again = lab.bot.merge_pull(&place.repo, pull.number, &pull.head_sha).await;
    assert!(again.is_err(), "a second time");
}

/// What `/test-pr` sets can be what a branch's rule asks for: only its success at the pull request's newest commit lets it be merged.
pub async fn a_required_status_holds_a_merge_back_until_it_succeeds(lab: Arc<Lab>) {
    let place = lab.place("required").await;
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    let rule = json!({ "enable_status_check": true, "status_check_contexts": ["caisson/test"] });
    let path = format!("/repos/{}/branch_protections/main", place.repo);
    let (status, said) = lab.hand("caisson").call("PATCH", &path, rule).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["status_check_contexts"], json!(["caisson/test"]), "{said}");
    let first = lab.branch(&place, "agent/1-x", &[("a.txt", "a\n")]);
    let pull = open(&lab, &place, "agent/1-x", "Mend it").await;
    let set = async |commit: &str, context: &str, state: StatusState| {
        let (description, target_url) = ("by a test".to_owned(), String::new());
        let new = NewStatus { context: context.into(), state, description, target_url };
        lab.bot.post_status(&place.repo, commit, &new).await.unwrap();
    };
    let held = async |head: &str, why: &str| {
        let refused = merge(&lab, &place.repo, pull.number, head).await.unwrap_err();
        let told = matches!(&refused, ForgeError::Conflict(said) if said.contains("status checks"));
        assert!(told, "{why}: {refused:?}");
    };
    held(&first, "none yet").await;
    set(&first, "caisson/test-bug", StatusState::Success).await;
    held(&first, "another context").await;
    set(&first, "caisson/test", StatusState::Pending).await;
    held(&first, "pending").await;
    set(&first, "caisson/test", StatusState::Failure).await;
    held(&first, "failed").await;
    set(&first, "caisson/test", StatusState::Success).await;
    let second = lab.branch(&place, "agent/1-x", &[("a.txt", "b\n")]);
    until_head(&lab, &place.repo, pull.number, &second).await;
    held(&second, "the success is of the commit before").await;
    set(&second, "caisson/test", StatusState::Success).await;
    merge(&lab, &place.repo, pull.number, &second).await.unwrap();
    assert!(lab.bot.pull(&place.repo, pull.number).await.unwrap().merged);
}

pub async fn what_it_depends_on_holds_a_merge_back_until_it_is_closed(lab: Arc<Lab>) {
    let place = lab.place("depends").await;
    let first = lab.bot.open_issue(&place.repo, "First this", "").await.unwrap();
    lab.branch(&place, "agent/1-x", &[("a.txt", "a\n")]);
    let pull = open(&lab, &place, "agent/1-x", "Mend it").await;
    let on = json!({ "owner": place.repo.owner, "repo": place.repo.name, "index": first.number });
    let path = format!("/repos/{}/issues/{}/dependencies", place.repo, pull.number);
    let (status, said) = lab.hand("alice").call("POST", &path, on).await;
    assert_eq!(status, 201, "{said}");
    let refused = merge(&lab, &place.repo, pull.number, &pull.head_sha).await.unwrap_err();
    let expected = format!("something it depends on is open: #{}", first.number);
    assert_eq!(refused, ForgeError::Conflict(expected));
    let closed = IssueEdit { open: Some(false), ..IssueEdit::default() };
    lab.bot.edit_issue(&place.repo, first.number, &closed).await.unwrap();
    merge(&lab, &place.repo, pull.number, &pull.head_sha).await.unwrap();
    assert!(lab.bot.pull(&place.repo, pull.number).await.unwrap().merged);
}

/// The forge takes a push into a pull request a moment later.
async fn until_head(lab: &Lab, at: &RepoRef, number: u64, head: &str) {
    let end = Instant::now() + Duration::from_secs(300);
    while lab.bot.pull(at, number).await.unwrap().head_sha != head {
        assert!(Instant::now() < end, "the pull request never ends at {head}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Merges as the bot does: while the forge looks for conflicts it asks to try again later.
async fn merge(lab: &Lab, at: &RepoRef, number: u64, head: &str) -> Result<(), ForgeError> {
    let end = Instant::now() + Duration::from_secs(300);
    loop {
        match lab.bot.merge_pull(at, number, head).await {
            Err(ForgeError::Conflict(said)) if said.contains("try again later") => {
                assert!(Instant::now() < end, "it is never checked: {said}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            done => return done,
        }
    }
}

/// Sets that the branch requires an approval; false where the forge cannot hold administrators to it, as Gitea before 1.23, which is said.
async fn require_approval(lab: &Lab, at: &RepoRef) -> bool {
    match lab.bot.ensure_approval(at, "main").await {
        Ok(_) => true,
        Err(ForgeError::Conflict(why)) if gitea_minor(lab).await.is_some_and(|minor| minor < 23) => {
            assert!(why.contains("cannot hold administrators to it"), "{why}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

async fn lack(lab: &Lab, at: &RepoRef) -> Option<GuardLack> {
    lab.bot.guard(at, "main").await.unwrap().and_then(BranchGuard::lack)
}

pub async fn a_branchs_rule_is_told_as_it_is_for_the_account(lab: Arc<Lab>) {
    let place = lab.place("guarded").await;
    assert_eq!(lack(&lab, &place.repo).await, Some(GuardLack::Rule));
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    assert_eq!(lack(&lab, &place.repo).await, Some(GuardLack::Approvals));
    assert!(!lab.bot.requires_approval(&place.repo, "main").await.unwrap());
    let binds_admins = require_approval(&lab, &place.repo).await;
    assert_eq!(lab.bot.requires_approval(&place.repo, "main").await.unwrap(), binds_admins);
    assert_eq!(lack(&lab, &place.repo).await, None);
    // What keeps the branch leaves the approval as it is.
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    assert_eq!(lack(&lab, &place.repo).await, None);
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync", "caisson"]).await.unwrap();
    assert_eq!(lack(&lab, &place.repo).await, Some(GuardLack::PushBar));
    let binds = lab.bot.requires_approval(&place.repo, "main").await.unwrap();
    assert_eq!(binds, binds_admins, "another list of who may push lets no administrator past the approval");
    assert_eq!(lab.bot.guard(&place.repo, "nowhere").await.unwrap(), None);
}
