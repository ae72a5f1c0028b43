//! Pull requests.

use crate::support::forges::{Lab, LabRepository};
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, NewPull, PullEdit, PullRequest};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Opens a pull request as the bot does: a 404 right after the push is retried.
pub async fn open(lab: &Lab, place: &LabRepository, head: &str, title: &str) -> PullRequest {
    let new = NewPull { title: title.into(), body: "Fixes nothing".into(), head: head.into(), base: "main".into() };
    let end = Instant::now() + Duration::from_secs(300);
    loop {
        match lab.bot.open_pull(&place.repo, &new).await {
            Err(ForgeError::NotFound(_)) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(100)).await
            }
            other => return other.expect("a pull request"),
        }
    }
}

pub async fn a_draft_is_opened_and_made_ready(lab: Arc<Lab>) {
    let place = lab.place("draft").await;
    let head = lab.branch(&place, "agent/1-add", &[("new.txt", "x\n")]);
    let pull = open(&lab, &place, "agent/1-add", "WIP: add").await;
    assert!(pull.draft && pull.open && !pull.merged);
    assert_eq!((pull.head_ref.as_str(), pull.base_ref.as_str()), ("agent/1-add", "main"));
    assert_eq!((pull.head_sha.as_str(), pull.base_sha.as_str()), (head.as_str(), place.main.as_str()));
    assert_eq!(pull.head_repo.as_deref(), Some("lab/draft"));
    assert_eq!(pull.author.login, "caisson");
    assert!(pull.html_url.ends_with(&format!("/pulls/{}", pull.number)), "{}", pull.html_url);
    let ready = PullEdit { title: Some("add".into()), ..PullEdit::default() };
    lab.bot.edit_pull(&place.repo, pull.number, &ready).await.unwrap();
    let now = lab.bot.pull(&place.repo, pull.number).await.unwrap();
    assert!(!now.draft && now.title == "add" && now.body == pull.body, "{now:?}");
    assert!(lab.bot.issue(&place.repo, pull.number).await.unwrap().is_pull);
    lab.bot.edit_pull(&place.repo, pull.number, &PullEdit { open: Some(false), ..PullEdit::default() }).await.unwrap();
    assert!(!lab.bot.pull(&place.repo, pull.number).await.unwrap().open);
    let nothing = lab.bot.edit_pull(&place.repo, pull.number, &PullEdit::default()).await;
    assert_eq!(nothing, Ok(()));
    let missing = lab.bot.pull(&place.repo, 999).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
}

pub async fn a_second_pull_of_a_branch_conflicts(lab: Arc<Lab>) {
    let place = lab.place("second").await;
    lab.branch(&place, "agent/2-x", &[("x.txt", "x\n")]);
    let first = open(&lab, &place, "agent/2-x", "WIP: x").await;
    let new = NewPull { title: "again".into(), body: String::new(), head: "agent/2-x".into(), base: "main".into() };
    let refused = lab.bot.open_pull(&place.repo, &new).await.unwrap_err();
    assert!(matches!(refused, ForgeError::Conflict(_)), "{refused:?}");
    let found = lab.bot.pulls_of_branch(&place.repo, "agent/2-x").await.unwrap();
    assert_eq!(found.iter().map(|p| p.number).collect::<Vec<_>>(), [first.number]);
    // A closed pull request is still found.
    lab.bot.edit_pull(&place.repo, first.number, &PullEdit { open: Some(false), ..PullEdit::default() }).await.unwrap();
    let found = lab.bot.pulls_of_branch(&place.repo, "agent/2-x").await.unwrap();
    assert_eq!(found.iter().map(|p| (p.number, p.open)).collect::<Vec<_>>(), [(first.number, false)]);
}

pub async fn a_missing_branch_is_not_found(lab: Arc<Lab>) {
    let place = lab.place("nobranch").await;
    let new = NewPull { title: "t".into(), body: String::new(), head: "agent/9-none".into(), base: "main".into() };
    let refused = lab.bot.open_pull(&place.repo, &new).await.unwrap_err();
    assert!(matches!(refused, ForgeError::NotFound(_)), "{refused:?}");
}

pub async fn a_branch_without_a_pull_has_none(lab: Arc<Lab>) {
    let place = lab.place("nopull").await;
    assert_eq!(lab.bot.pulls_of_branch(&place.repo, "main").await.unwrap(), []);
    let empty = caisson::forge::RepoRef::new("lab", "empty");
    let made = lab.bot.create_repository(&empty, "main").await.unwrap();
    assert!(made.empty);
    assert_eq!(lab.bot.pulls_of_branch(&empty, "main").await.unwrap(), []);
    assert_eq!(lab.bot.branch(&empty, "main").await.unwrap(), None);
    let again = lab.bot.create_repository(&empty, "main").await.unwrap_err();
    assert!(matches!(again, ForgeError::Conflict(_)), "{again:?}");
}

pub async fn a_deleted_branch_keeps_its_name(lab: Arc<Lab>) {
    let place = lab.place("deleted").await;
    let head = lab.branch(&place, "agent/3-y", &[("y.txt", "y\n")]);
    let pull = open(&lab, &place, "agent/3-y", "WIP: y").await;
    lab.push_deletion(&place, "caisson", "agent/3-y").unwrap();
    let end = Instant::now() + Duration::from_secs(300);
    let now = loop {
        let now = lab.bot.pull(&place.repo, pull.number).await.unwrap();
        if !now.open || Instant::now() > end {
            break now;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(!now.open && !now.merged, "{now:?}");
    assert_eq!((now.head_ref.as_str(), now.head_sha.as_str()), ("agent/3-y", head.as_str()));
    let found = lab.bot.pulls_of_branch(&place.repo, "agent/3-y").await.unwrap();
    assert_eq!(found.iter().map(|p| p.number).collect::<Vec<_>>(), [pull.number]);
    assert_eq!(lab.bot.branch(&place.repo, "agent/3-y").await.unwrap(), None);
}

pub async fn the_head_follows_a_push(lab: Arc<Lab>) {
    let place = lab.place("moving").await;
    let first = lab.branch(&place, "agent/4-z", &[("z.txt", "1\n")]);
    let pull = open(&lab, &place, "agent/4-z", "WIP: z").await;
    assert_eq!(pull.head_sha, first);
    let second = lab.branch(&place, "agent/4-z", &[("z.txt", "2\n")]);
    let end = Instant::now() + Duration::from_secs(300);
    while lab.bot.pull(&place.repo, pull.number).await.unwrap().head_sha != second {
        assert!(Instant::now() < end, "the head never moved");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(lab.bot.branch(&place.repo, "agent/4-z").await.unwrap().as_deref(), Some(second.as_str()));
}
