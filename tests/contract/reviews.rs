//! Reviews: how checkpoints are posted and answered.

use crate::pulls::open;
use crate::support::forges::Lab;
use caisson::forge::{ForgeError, ForgeReads, ForgeWrites, NewReview, Note, ReviewState};
use serde_json::json;
use std::sync::Arc;

fn checkpoint(commit: &str, body: &str, lines: &[u64]) -> NewReview {
    let note = |line: &u64| Note { path: "calc.txt".into(), line: *line, body: format!("note at {line}") };
    NewReview { commit: commit.into(), body: body.into(), notes: lines.iter().map(note).collect() }
}

pub async fn a_review_keeps_its_notes(lab: Arc<Lab>) {
    let place = lab.place("notes").await;
    let head = lab.branch(&place, "agent/1-n", &[("calc.txt", "one\n2\nthree\nfour\n")]);
    let pull = open(&lab, &place, "agent/1-n", "WIP: n").await.number;
    let body = "### Checkpoint 1\n\n```diff\n+four\n```\n<!-- mark -->";
    let posted = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, body, &[2, 4])).await.unwrap();
    assert_eq!(
        (posted.state, posted.body.as_str(), posted.commit.as_str()),
        (ReviewState::Comment, body, head.as_str())
    );
    assert!(posted.number > 0 && posted.html_url.ends_with(&format!("#issuecomment-{}", posted.number)), "{posted:?}");
    let all = lab.bot.reviews(&place.repo, pull).await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((all[0].id, all[0].number, all[0].comments), (posted.id, posted.number, 2));
    assert_eq!(all[0].updated_at, all[0].submitted_at);
    let notes = lab.bot.review_comments(&place.repo, pull, posted.id).await.unwrap();
    let seen: Vec<_> =
        notes.iter().map(|n| (n.path.as_str(), n.line, n.body.as_str(), n.author.login.as_str())).collect();
    let wanted = [("calc.txt", Some(2), "note at 2", "caisson"), ("calc.txt", Some(4), "note at 4", "caisson")];
    assert_eq!(seen, wanted);
    assert!(notes.iter().all(|n| n.review == posted.id));
    // A review without inline notes, and an empty one.
    let plain = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "plain", &[])).await.unwrap();
    assert!(lab.bot.review_comments(&place.repo, pull, plain.id).await.unwrap().is_empty());
    let empty = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "", &[])).await.unwrap_err();
    assert!(matches!(empty, ForgeError::Invalid(_)), "{empty:?}");
    let short = lab.bot.post_review(&place.repo, pull, &checkpoint("abc", "x", &[])).await.unwrap_err();
    assert!(matches!(short, ForgeError::Invalid(_)), "{short:?}");
}

pub async fn numbers_rise_over_comments_and_reviews(lab: Arc<Lab>) {
    let place = lab.place("numbers").await;
    let head = lab.branch(&place, "agent/1-o", &[("o.txt", "o\n")]);
    let pull = open(&lab, &place, "agent/1-o", "WIP: o").await.number;
    let mut numbers = Vec::new();
    for turn in 0..3 {
        numbers.push(lab.bot.post_comment(&place.repo, pull, &format!("c{turn}")).await.unwrap().id);
        let review = checkpoint(&head, &format!("r{turn}"), &[1]);
        numbers.push(lab.bot.post_review(&place.repo, pull, &review).await.unwrap().number);
    }
    assert!(numbers.is_sorted() && numbers.windows(2).all(|w| w[0] != w[1]), "{numbers:?}");
    // A review's number is not a comment's, and no list of comments contains it.
    assert_eq!(lab.bot.comment(&place.repo, numbers[1]).await.unwrap(), None);
    let plain: Vec<i64> = lab.bot.comments(&place.repo, pull).await.unwrap().iter().map(|c| c.id).collect();
    assert_eq!(plain, [numbers[0], numbers[2], numbers[4]]);
    let since = lab.bot.comments_since(&place.repo, 0).await.unwrap();
    assert_eq!(
        since.iter().map(|c| (c.id, c.issue)).collect::<Vec<_>>(),
        plain.iter().map(|n| (*n, pull)).collect::<Vec<_>>()
    );
}

pub async fn an_approval_names_its_commit(lab: Arc<Lab>) {
    let place = lab.place("approvals").await;
    let old = lab.branch(&place, "agent/1-p", &[("p.txt", "1\n")]);
    let pull = open(&lab, &place, "agent/1-p", "WIP: p").await.number;
    let new = lab.branch(&place, "agent/1-p", &[("p.txt", "2\n")]);
    // The forge accepts an approval of a commit that is no longer the head.
    let (status, _) = lab.hand("alice").review(&place.repo, pull, "APPROVED", &old, "fine").await;
    assert_eq!(status, 200);
    let (status, _) = lab.hand("bob").review(&place.repo, pull, "APPROVED", &new, "").await;
    assert_eq!(status, 200, "a reader may approve too; it counts for nothing");
    let seen: Vec<_> = lab.bot.reviews(&place.repo, pull).await.unwrap();
    let seen: Vec<_> = seen.iter().map(|r| (r.author.login.as_str(), r.state, r.commit.as_str())).collect();
    assert_eq!(seen, [("alice", ReviewState::Approved, old.as_str()), ("bob", ReviewState::Approved, new.as_str())]);
    let (status, _) = lab.hand("caisson").review(&place.repo, pull, "APPROVED", &new, "me").await;
    assert_eq!(status, 422, "nobody approves an own pull request");
    // A dismissed review no longer counts; no webhook reports it.
    let first = lab.bot.reviews(&place.repo, pull).await.unwrap()[0].id;
    let path = format!("/repos/{}/pulls/{pull}/reviews/{first}/dismissals", place.repo);
    let (status, said) = lab.hand("caisson").call("POST", &path, json!({ "message": "no", "priors": false })).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(lab.bot.reviews(&place.repo, pull).await.unwrap()[0].state, ReviewState::DismissedApproval);
}

/// An approval given in advance is read again after later pushes, which mark it as stale; that is not an edit.
pub async fn a_later_push_is_no_edit_of_an_approval(lab: Arc<Lab>) {
    let place = lab.place("later").await;
    let old = lab.branch(&place, "agent/1-l", &[("l.txt", "1\n")]);
    let pull = open(&lab, &place, "agent/1-l", "WIP: l").await.number;
    let (status, _) = lab.hand("alice").review(&place.repo, pull, "APPROVED", &old, "/approve next 3").await;
    assert_eq!(status, 200);
    // Times have whole seconds: a change within the same second would not show.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    lab.branch(&place, "agent/1-l", &[("l.txt", "2\n")]);
    let path = format!("/repos/{}/pulls/{pull}/reviews", place.repo);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while lab.hand("alice").call("GET", &path, json!(null)).await.1[0]["stale"] != json!(true) {
        assert!(std::time::Instant::now() < end, "never marked as stale");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let review = &lab.bot.reviews(&place.repo, pull).await.unwrap()[0];
    assert_eq!((review.state, review.updated_at, &review.commit), (ReviewState::Approved, review.submitted_at, &old));
}

pub async fn requested_changes_come_with_their_lines(lab: Arc<Lab>) {
    let place = lab.place("changes").await;
    let head = lab.branch(&place, "agent/1-q", &[("calc.txt", "one\n2\nthree\n")]);
    let pull = open(&lab, &place, "agent/1-q", "WIP: q").await.number;
    lab.hand("alice").review_with_note(&place.repo, pull, &head, "calc.txt", 2, "use a word").await;
    let reviews = lab.bot.reviews(&place.repo, pull).await.unwrap();
    assert_eq!((reviews[0].state, reviews[0].body.as_str()), (ReviewState::RequestChanges, "not yet"));
    let notes = lab.bot.review_comments(&place.repo, pull, reviews[0].id).await.unwrap();
    assert_eq!(
        (notes[0].author.login.as_str(), notes[0].line, notes[0].body.as_str()),
        ("alice", Some(2), "use a word")
    );
}

pub async fn a_request_for_review_is_a_row(lab: Arc<Lab>) {
    let place = lab.place("asked").await;
    lab.branch(&place, "agent/1-r", &[("r.txt", "r\n")]);
    let pull = open(&lab, &place, "agent/1-r", "WIP: r").await.number;
    lab.bot.request_review(&place.repo, pull, "alice").await.unwrap();
    lab.bot.request_review(&place.repo, pull, "alice").await.unwrap();
    let reviews = lab.bot.reviews(&place.repo, pull).await.unwrap();
    assert_eq!(reviews.len(), 1, "{reviews:?}");
    assert_eq!((reviews[0].author.login.as_str(), reviews[0].state), ("alice", ReviewState::RequestReview));
    let own = lab.bot.request_review(&place.repo, pull, "caisson").await.unwrap_err();
    assert!(matches!(own, ForgeError::Invalid(_)), "{own:?}");
}

pub async fn reviews_can_be_deleted_twice(lab: Arc<Lab>) {
    let place = lab.place("twice").await;
    let head = lab.branch(&place, "agent/1-s", &[("s.txt", "s\n")]);
    let pull = open(&lab, &place, "agent/1-s", "WIP: s").await.number;
    let posted = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "twice", &[1])).await.unwrap();
    // A pending review is visible only to its author, and can be deleted before the next try.
    let pending = json!({ "event": "PENDING", "body": "half", "commit_id": head, "comments": [] });
    let path = format!("/repos/{}/pulls/{pull}/reviews", place.repo);
    let (status, made) = lab.hand("caisson").call("POST", &path, pending).await;
    assert_eq!(status, 200, "{made}");
    let states = |reviews: Vec<caisson::forge::Review>| reviews.iter().map(|r| r.state).collect::<Vec<_>>();
    let own = states(lab.bot.reviews(&place.repo, pull).await.unwrap());
    assert!(own.contains(&ReviewState::Pending), "{own:?}");
    assert!(!states(lab.as_account("alice").reviews(&place.repo, pull).await.unwrap()).contains(&ReviewState::Pending));
    for id in [posted.id, made["id"].as_i64().unwrap()] {
        lab.bot.delete_review(&place.repo, pull, id).await.unwrap();
        lab.bot.delete_review(&place.repo, pull, id).await.unwrap();
    }
    assert!(lab.bot.reviews(&place.repo, pull).await.unwrap().is_empty());
    let foreign = lab.hand("alice").review(&place.repo, pull, "COMMENT", &head, "hers").await.1["id"].as_i64().unwrap();
    let refused = lab.bot.delete_review(&place.repo, pull, foreign).await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden(_)), "{refused:?}");
}

/// Nothing is shown of a review with a note on a file whose difference has a line of 64 KiB; what was begun of it stays, in each try.
pub async fn a_note_beside_a_line_that_is_too_long_fails_and_leaves_a_pending_review(lab: Arc<Lab>) {
    let place = lab.place("too-long").await;
    let long = format!("{}\nshort\n", "x".repeat(70_000));
    let head = lab.branch(&place, "agent/1-x", &[("calc.txt", long.as_str())]);
    let pull = open(&lab, &place, "agent/1-x", "WIP: x").await.number;
    let Err(lost) = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "on its line", &[2])).await else {
        assert!(lab.devforge().is_none(), "the built-in forge takes what Gitea 1.25 fails at");
        return;
    };
    assert!(matches!(lost, ForgeError::Ambiguous(_)), "{lost:?}");
    let left = lab.bot.reviews(&place.repo, pull).await.unwrap();
    let seen: Vec<_> = left.iter().map(|it| (it.state, it.comments)).collect();
    assert_eq!(seen, [(ReviewState::Pending, 0)], "{left:?}");
    lab.bot.delete_review(&place.repo, pull, left[0].id).await.unwrap();
    let posted = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "in the text", &[])).await.unwrap();
    assert_eq!((posted.state, posted.comments), (ReviewState::Comment, 0));
}

pub async fn an_edit_on_the_page_shows(lab: Arc<Lab>) {
    let place = lab.place("edited").await;
    let head = lab.branch(&place, "agent/1-t", &[("t.txt", "t\n")]);
    let pull = open(&lab, &place, "agent/1-t", "WIP: t").await.number;
    let posted = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "as posted", &[])).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    // A writer edits the text that the page shows; the review's `body` is unchanged, so only the time shows the edit.
    lab.as_account("alice").edit_comment(&place.repo, posted.number, "as forged").await.unwrap();
    let now = &lab.bot.reviews(&place.repo, pull).await.unwrap()[0];
    assert_eq!(now.body, "as posted");
    assert!(now.updated_at > now.submitted_at, "{now:?}");
}

pub async fn a_review_that_was_deleted_on_its_page_is_listed_without_a_number(lab: Arc<Lab>) {
    let place = lab.place("off-page").await;
    let head = lab.branch(&place, "agent/1-o", &[("o.txt", "o\n")]);
    let pull = open(&lab, &place, "agent/1-o", "WIP: o").await.number;
    let posted = lab.bot.post_review(&place.repo, pull, &checkpoint(&head, "as posted", &[])).await.unwrap();
    assert!(!posted.is_off_page(), "{posted:?}");
    lab.as_account("alice").delete_comment(&place.repo, posted.number).await.unwrap();
    let now = &lab.bot.reviews(&place.repo, pull).await.unwrap()[0];
    assert_eq!((now.id, now.state, now.body.as_str()), (posted.id, ReviewState::Comment, "as posted"));
    // Forgejo, and Gitea before 1.23, delete it on the page alone, and answer this request for nothing.
    assert!(now.is_off_page() || lab.devforge().is_none(), "{now:?}");
}

pub async fn a_review_begun_earlier_is_no_edit(lab: Arc<Lab>) {
    let place = lab.place("begun").await;
    let head = lab.branch(&place, "agent/1-b", &[("b.txt", "b\n")]);
    let pull = open(&lab, &place, "agent/1-b", "WIP: b").await.number;
    let path = format!("/repos/{}/pulls/{pull}/reviews", place.repo);
    let note = json!([{ "path": "b.txt", "new_position": 1, "body": "one remark" }]);
    let begun = json!({ "event": "PENDING", "commit_id": head, "body": "so far", "comments": note });
    assert_eq!(lab.hand("alice").call("POST", &path, begun).await.0, 200);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let handed_in = json!({ "event": "APPROVED", "commit_id": head, "body": "fine" });
    assert_eq!(lab.hand("alice").call("POST", &path, handed_in).await.0, 200);
    let reviews = lab.bot.reviews(&place.repo, pull).await.unwrap();
    assert_eq!((reviews.len(), reviews[0].state, reviews[0].comments), (1, ReviewState::Approved, 1), "{reviews:?}");
    assert_eq!(reviews[0].updated_at, reviews[0].submitted_at, "nobody edited it");
}
