//! The built-in forge's switches reproduce behaviour that was observed on a real Gitea, where it cannot be triggered on purpose.

use crate::pulls::open;
use crate::support::forges;
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, NewReview, Note, ReviewState};
use devforge::Access::{Read, Write};
use devforge::Options;
use serde_json::json;
use std::time::Duration;

fn review(commit: &str, body: &str, notes: u64) -> NewReview {
    let note = |line| Note { path: "calc.txt".into(), line, body: format!("{body} {line}") };
    NewReview { commit: commit.into(), body: body.into(), notes: (1..=notes).map(note).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_review_leaves_a_pending_one_that_the_next_would_adopt() {
    let lab = forges::builtin(Options::quiet()).await;
    let place = lab.place("cut").await;
    let head = lab.branch(&place, "agent/1-c", &[("calc.txt", "1\n2\n3\n")]);
    let pull = open(&lab, &place, "agent/1-c", "WIP: c").await.number;
    lab.devforge().unwrap().cut_next_review(2);
    let lost = lab.bot.post_review(&place.repo, pull, &review(&head, "first", 3)).await.unwrap_err();
    assert!(matches!(lost, ForgeError::Ambiguous(_)), "{lost:?}");
    let left = lab.bot.reviews(&place.repo, pull).await.unwrap();
    assert_eq!((left[0].state, left[0].comments, left[0].body.as_str()), (ReviewState::Pending, 2, ""));
    let adopted = lab.bot.post_review(&place.repo, pull, &review(&head, "second", 1)).await.unwrap();
    assert_eq!((adopted.id, adopted.comments), (left[0].id, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_comment_lands_late() {
    let lab = forges::builtin(Options::quiet()).await;
    let place = lab.place("late").await;
    let number = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    lab.devforge().unwrap().cut_next_comment(Some(Duration::from_millis(200)));
    let lost = lab.bot.post_comment(&place.repo, number, "late").await.unwrap_err();
    assert!(matches!(lost, ForgeError::Ambiguous(_)), "{lost:?}");
    assert!(lab.bot.comments(&place.repo, number).await.unwrap().is_empty());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(lab.bot.comments(&place.repo, number).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reviews_of_one_account_mix() {
    let lab = forges::builtin(Options::default()).await;
    let place = lab.place("mix").await;
    let head = lab.branch(&place, "agent/1-m", &[("calc.txt", "1\n2\n3\n")]);
    let pull = open(&lab, &place, "agent/1-m", "WIP: m").await.number;
    // Whether two requests meet is the machine's choice; that pairs do meet is not.
    for _ in 0..50 {
        let (a, b) = (review(&head, "a", 1), review(&head, "b", 1));
        let (a, b) =
            tokio::join!(lab.bot.post_review(&place.repo, pull, &a), lab.bot.post_review(&place.repo, pull, &b));
        let mut counts = [a.unwrap().comments, b.unwrap().comments];
        counts.sort_unstable();
        if counts == [0, 2] {
            return;
        }
        assert_eq!(counts, [1, 1]);
    }
    panic!("no two reviews mixed in 50 pairs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_unavailable_for_reads_and_ambiguous_for_writes() {
    let lab = forges::builtin(Options::quiet()).await;
    let place = lab.place("away").await;
    let number = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    for status in [500, 502, 503, 0] {
        lab.devforge().unwrap().set_outage(Some(status));
        let read = lab.bot.issue(&place.repo, number).await.unwrap_err();
        assert!(matches!(read, ForgeError::Unavailable { .. }), "{status}: {read:?}");
        let write = lab.bot.post_comment(&place.repo, number, "x").await.unwrap_err();
        assert!(matches!(write, ForgeError::Ambiguous(_)), "{status}: {write:?}");
    }
    lab.devforge().unwrap().set_outage(None);
    assert!(lab.bot.comments(&place.repo, number).await.unwrap().is_empty());
}

/// Teams created by an older Gitea may have one right for all units, which is then reported as their members' permission.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_told_too_high_is_caught() {
    let lab = forges::builtin(Options::quiet()).await;
    let place = lab.place("told").await;
    let at = place.repo.to_string();
    let triager = lab.newcomer("triager").await;
    let units = [("repo.issues", Write), ("repo.code", Read)];
    lab.devforge().unwrap().add_team(&at, "triage", Write, &units, &["triager"]).unwrap();
    let path = format!("/repos/{at}/collaborators/triager/permission");
    let told = lab.hand("caisson").call("GET", &path, json!({})).await.1;
    assert_eq!(told["permission"], "write");
    assert_eq!(lab.bot.permission(&place.repo, &triager).await.unwrap(), caisson::forge::Access::Read);
    // No other account's right is affected.
    let alice = lab.as_account("alice").whoami().await.unwrap();
    assert_eq!(lab.bot.permission(&place.repo, &alice).await.unwrap(), caisson::forge::Access::Write);
}
