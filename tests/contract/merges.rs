//! Merging a pull request: only at the head that is named, and only as the rule of the base branch allows.

use super::people::gitea_minor;
use super::pulls::open;
use super::support::forges::Lab;
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, RepoRef};
use domain::{BranchGuard, GuardLack};
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

/// Merges as the bot does: while the forge looks for conflicts it asks to try again later.
async fn merge(lab: &Lab, at: &RepoRef, number: u64, head: &str) -> Result<(), ForgeError> {
    let end = Instant::now() + Duration::from_secs(60);
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
    assert_eq!(lab.bot.guard(&place.repo, "nowhere").await.unwrap(), None);
}
