//! Issues and plain comments.

use crate::pulls::open;
use crate::support::forges::Lab;
use caisson::forge::{Attachment, ForgeError, ForgeReads, ForgeWrites, Issue, IssueEdit};
use serde_json::json;
use std::sync::Arc;

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

pub async fn issues_are_read_as_written(lab: Arc<Lab>) {
    let place = lab.place("issues").await;
    let body = "/fix the thing\n\n> not this\n\nÜmläut `code`";
    let number = lab.hand("alice").open_issue(&place.repo, "Broken \"add\"", body).await;
    let issue = lab.bot.issue(&place.repo, number).await.unwrap();
    assert_eq!((issue.title.as_str(), issue.body.as_str()), ("Broken \"add\"", body));
    assert_eq!(issue.author.login, "alice");
    assert!(issue.open && !issue.is_pull && issue.id > 0);
    assert!(issue.created_at % 1000 == 0 && (now() - issue.created_at).abs() < 60_000, "{}", issue.created_at);
    assert!(issue.html_url.ends_with(&format!("/lab/issues/issues/{number}")), "{}", issue.html_url);
    lab.hand("alice").set_open(&place.repo, number, false).await;
    assert!(!lab.bot.issue(&place.repo, number).await.unwrap().open);
    let missing = lab.bot.issue(&place.repo, 999).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
}

pub async fn files_of_an_issue_are_listed_and_handed_out_to_whoever_may_read_it(lab: Arc<Lab>) {
    let place = lab.place("attached").await;
    let repo = &place.repo;
    let number = lab.hand("alice").open_issue(repo, "t", "b").await;
    assert!(lab.bot.attachments(repo, number).await.unwrap().is_empty());
    // Begins like a PNG, because a forge may check the type.
    let bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\r\n--other\r\n".repeat(40);
    lab.hand("alice").attach(repo, number, "a shot.png", &bytes).await;
    lab.hand("alice").attach(repo, number, "second.png", &bytes[..80]).await;
    lab.bot.attach(repo, number, "task-1-actions.md", b"# What\n".to_vec()).await.unwrap();
    let missing = lab.bot.attach(repo, 999, "a.md", b"x".to_vec()).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
    let found = lab.bot.attachments(repo, number).await.unwrap();
    let seen: Vec<_> = found.iter().map(|file| (file.name.as_str(), file.size)).collect();
    assert_eq!(seen, [("a shot.png", bytes.len() as u64), ("second.png", 80), ("task-1-actions.md", 7)]);
    assert_eq!(lab.bot.attachment(&found[0], 1 << 20).await.unwrap(), bytes);
    let large = lab.bot.attachment(&found[0], 100).await.unwrap_err();
    assert!(matches!(large, ForgeError::TooLarge(_)), "{large:?}");
    let nowhere = Attachment { uuid: "00000000-0000-4000-8000-000000000000".into(), ..found[0].clone() };
    let missing = lab.bot.attachment(&nowhere, 100).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
    let missing = lab.bot.attachments(repo, 999).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
}

pub async fn an_archive_is_taken_and_a_file_of_another_type_is_not(lab: Arc<Lab>) {
    let place = lab.place("archives").await;
    let repo = &place.repo;
    let number = lab.hand("alice").open_issue(repo, "t", "b").await;
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("report.html", zip::write::SimpleFileOptions::default()).unwrap();
    // As large as it may be by default.
    std::io::Write::write_all(&mut archive, &vec![b'x'; 16 << 20]).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    lab.bot.attach(repo, number, "task-1-artifacts-0123456789.zip", bytes.clone()).await.unwrap();
    for name in ["report.html", "shop-1.0-py3-none-any.whl"] {
        let refused = lab.bot.attach(repo, number, name, b"<p>ok</p>".to_vec()).await.unwrap_err();
        assert!(matches!(refused, ForgeError::Invalid(_)), "{refused:?}");
    }
    let found = lab.bot.attachments(repo, number).await.unwrap();
    let names: Vec<&str> = found.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["task-1-artifacts-0123456789.zip"]);
    assert!(lab.bot.attachment(&found[0], 32 << 20).await.unwrap() == bytes, "handed out as it was");
}

pub async fn changed_issues_are_found_again(lab: Arc<Lab>) {
    let place = lab.place("changed").await;
    let start = now() - 2000;
    assert!(lab.bot.issues_since(&place.repo, start).await.unwrap().is_empty());
    // More than one page.
    for n in 0..53 {
        lab.hand("alice").open_issue(&place.repo, &format!("issue {n}"), "").await;
    }
    lab.hand("alice").set_open(&place.repo, 7, false).await;
    let found = lab.bot.issues_since(&place.repo, start).await.unwrap();
    let numbers: Vec<u64> = found.iter().map(|i| i.number).collect();
    assert_eq!(numbers, (1..=53).collect::<Vec<_>>());
    assert!(!found[6].open && found[7].open);
    assert!(lab.bot.issues_since(&place.repo, now() + 3_600_000).await.unwrap().is_empty());
}

pub async fn comments_come_and_go(lab: Arc<Lab>) {
    let place = lab.place("comments").await;
    let (alice, repo) = (lab.as_account("alice"), &place.repo);
    let number = lab.hand("alice").open_issue(repo, "t", "b").await;
    assert!(lab.bot.comments(repo, number).await.unwrap().is_empty());
    let first = alice.post_comment(repo, number, "/approve\nplease").await.unwrap();
    let second = lab.bot.post_comment(repo, number, "done").await.unwrap();
    assert!(second.id > first.id);
    assert_eq!((first.author.login.as_str(), first.issue, first.body.as_str()), ("alice", number, "/approve\nplease"));
    assert!(first.html_url.ends_with(&format!("#issuecomment-{}", first.id)), "{}", first.html_url);
    assert_eq!(first.created_at, first.updated_at);
    assert_eq!(lab.bot.comments(repo, number).await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(lab.bot.comment(repo, first.id).await.unwrap(), Some(first.clone()));
    // An edit shows only in `updated_at`, which has whole seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    lab.bot.edit_comment(repo, second.id, "done, twice").await.unwrap();
    let edited = lab.bot.comment(repo, second.id).await.unwrap().unwrap();
    assert_eq!((edited.body.as_str(), edited.id, edited.created_at), ("done, twice", second.id, second.created_at));
    assert_eq!((edited.author.id, edited.html_url.as_str()), (second.author.id, second.html_url.as_str()));
    assert!(edited.updated_at > edited.created_at);
    lab.bot.delete_comment(repo, second.id).await.unwrap();
    lab.bot.delete_comment(repo, second.id).await.unwrap();
    assert_eq!(lab.bot.comment(repo, second.id).await.unwrap(), None);
    let gone = lab.bot.edit_comment(repo, second.id, "again").await.unwrap_err();
    assert!(matches!(gone, ForgeError::NotFound(_)), "{gone:?}");
    let empty = lab.bot.post_comment(repo, number, "").await.unwrap_err();
    assert!(matches!(empty, ForgeError::Invalid(_)), "{empty:?}");
    // Gitea answers 500 for a missing issue, so this cannot be distinguished from a failure.
    assert!(lab.bot.post_comment(repo, 999, "x").await.is_err());
}

pub async fn comments_of_the_repository_are_found_again(lab: Arc<Lab>) {
    let place = lab.place("all-comments").await;
    let repo = &place.repo;
    let start = now() - 2000;
    let (one, two) =
        (lab.hand("alice").open_issue(repo, "1", "").await, lab.hand("alice").open_issue(repo, "2", "").await);
    let mut wanted = Vec::new();
    for n in 0..52 {
        let on = if n % 2 == 0 { one } else { two };
        wanted.push((lab.bot.post_comment(repo, on, &format!("c {n}")).await.unwrap().id, on));
    }
    let found = lab.bot.comments_since(repo, start).await.unwrap();
    assert_eq!(found.iter().map(|c| (c.id, c.issue)).collect::<Vec<_>>(), wanted);
    assert!(lab.bot.comments_since(repo, now() + 3_600_000).await.unwrap().is_empty());
}

pub async fn who_may_not_edit_is_refused(lab: Arc<Lab>) {
    let place = lab.place("edits").await;
    let repo = &place.repo;
    let number = lab.hand("alice").open_issue(repo, "t", "b").await;
    let own = lab.bot.post_comment(repo, number, "mine").await.unwrap();
    let bob = lab.as_account("bob");
    // A reader may comment, but not change what others wrote.
    bob.post_comment(repo, number, "/approve").await.unwrap();
    let refused = bob.edit_comment(repo, own.id, "yours").await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden(_)), "{refused:?}");
    // A writer may edit others' comments: that is why an edited comment is never run as a command.
    lab.as_account("alice").edit_comment(repo, own.id, "changed by a writer").await.unwrap();
    assert_eq!(lab.bot.comment(repo, own.id).await.unwrap().unwrap().author.login, "caisson");
    // The author may put it right again.
    lab.bot.edit_comment(repo, own.id, "mine again").await.unwrap();
    assert_eq!(lab.bot.comment(repo, own.id).await.unwrap().unwrap().body, "mine again");
    let hidden = lab.as_account("carol").comments(repo, number).await.unwrap_err();
    assert!(matches!(hidden, ForgeError::NotFound(_)), "{hidden:?}");
}

/// An issue's `updated_at` moves with every change; where nothing else changed it, its text is still the original.
pub async fn what_moved_an_issue_is_told_apart_from_an_edit(lab: Arc<Lab>) {
    let place = lab.place("moved").await;
    let repo = &place.repo;
    let alice = lab.hand("alice");
    let untouched = async |number| {
        let issue = lab.bot.issue(repo, number).await.unwrap();
        (issue.updated_at > issue.created_at, lab.bot.untouched(repo, &issue).await.unwrap())
    };
    let mut numbers = Vec::new();
    for title in ["left alone", "talked about", "labelled", "edited", "retitled"] {
        numbers.push(alice.open_issue(repo, title, "/fix").await);
    }
    lab.bot.ensure_label(repo, "kind", "#00aabb", "").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
    lab.as_account("bob").post_comment(repo, numbers[1], "me too").await.unwrap();
    lab.bot.add_label(repo, numbers[2], "kind").await.unwrap();
    for (number, body) in [(numbers[3], json!({ "body": "/fix more" })), (numbers[4], json!({ "title": "another" }))] {
        assert_eq!(alice.call("PATCH", &format!("/repos/{repo}/issues/{number}"), body).await.0, 201);
    }
    let wanted = [(false, true), (true, true), (true, true), (true, false), (true, false)];
    for (number, wanted) in numbers.iter().zip(wanted) {
        assert_eq!(untouched(*number).await, wanted, "issue {number}");
    }
    // One that a migration brought keeps its time, and has whoever had that done as its author.
    let brought = Issue { created_at: 1000, updated_at: 1000, ..lab.bot.issue(repo, numbers[0]).await.unwrap() };
    assert!(!lab.bot.untouched(repo, &brought).await.unwrap());
    // An account that may write issues, but not code, may have changed it before the comment.
    let team = json!({ "name": "issue-writers", "permission": "write", "units_map": { "repo.issues": "write" } });
    let (status, made) = lab.hand("root").call("POST", "/orgs/lab/teams", team).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/teams/{}/repos/{repo}", made["id"]);
    assert_eq!(lab.hand("root").call("PUT", &path, json!({})).await.0, 204);
    assert_eq!(untouched(numbers[1]).await, (true, false));
    assert_eq!(untouched(numbers[0]).await, (false, true));
}

/// A pull request's text is changed by whoever may write pull requests, as an issue's is by whoever may write issues.
pub async fn who_may_write_pull_requests_alone_may_have_changed_their_texts(lab: Arc<Lab>) {
    let place = lab.place("pull-texts").await;
    let repo = &place.repo;
    lab.branch(&place, "mend", &[("mend.txt", "mended\n")]);
    let pull = open(&lab, &place, "mend", "mend").await.number;
    tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
    lab.as_account("bob").post_comment(repo, pull, "me too").await.unwrap();
    let untouched = async || {
        let issue = lab.bot.issue(repo, pull).await.unwrap();
        (issue.is_pull, issue.updated_at > issue.created_at, lab.bot.untouched(repo, &issue).await.unwrap())
    };
    assert_eq!(untouched().await, (true, true, true));
    let team = json!({ "name": "pull-writers", "permission": "write", "units_map": { "repo.pulls": "write" } });
    let (status, made) = lab.hand("root").call("POST", "/orgs/lab/teams", team).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/teams/{}/repos/{repo}", made["id"]);
    assert_eq!(lab.hand("root").call("PUT", &path, json!({})).await.0, 204);
    assert_eq!(untouched().await, (true, true, false));
}

pub async fn a_deleted_thread_is_gone_and_its_repository_is_not(lab: Arc<Lab>) {
    let place = lab.place("vanish").await;
    lab.branch(&place, "agent/1-v", &[("calc.txt", "1\n")]);
    let issue = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    let pull = crate::pulls::open(&lab, &place, "agent/1-v", "WIP: v").await.number;
    for number in [issue, pull] {
        let path = format!("/repos/{}/issues/{number}", place.repo);
        assert_eq!(lab.hand("root").call("DELETE", &path, json!({})).await.0, 204);
        for answer in
            [lab.bot.issue(&place.repo, number).await.map(drop), lab.bot.comments(&place.repo, number).await.map(drop)]
        {
            assert!(matches!(answer, Err(ForgeError::NotFound(_))), "#{number}: {answer:?}");
        }
    }
    for answer in [lab.bot.pull(&place.repo, pull).await.map(drop), lab.bot.reviews(&place.repo, pull).await.map(drop)]
    {
        assert!(matches!(answer, Err(ForgeError::NotFound(_))), "{answer:?}");
    }
    let id = lab.bot.repository(&place.repo).await.unwrap().id;
    assert_eq!(lab.bot.locate(id).await.unwrap().id, id);
}

pub async fn a_comment_has_files_of_its_own(lab: Arc<Lab>) {
    let place = lab.place("files").await;
    let repo = &place.repo;
    let number = lab.as_account("alice").open_issue(repo, "Files", "Look.").await.unwrap().number;
    let comment = lab.bot.post_comment(repo, number, "What it printed:").await.unwrap();
    assert_eq!(lab.bot.comment_attachments(repo, comment.id).await.unwrap(), []);
    lab.bot.attach_to_comment(repo, comment.id, "test-run-1.log", b"ok\n".to_vec()).await.unwrap();
    let found = lab.bot.comment_attachments(repo, comment.id).await.unwrap();
    assert_eq!(found.iter().map(|file| (file.name.as_str(), file.size)).collect::<Vec<_>>(), [("test-run-1.log", 3)]);
    assert_eq!(lab.bot.attachment(&found[0], 100).await.unwrap(), b"ok\n");
    assert_eq!(lab.bot.attachments(repo, number).await.unwrap(), [], "the issue itself has none");
    let missing = lab.bot.attach_to_comment(repo, i64::from(i32::MAX), "a.log", b"x".to_vec()).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
}

pub async fn the_issues_of_an_account_are_opened_changed_and_found_again(lab: Arc<Lab>) {
    let place = lab.place("opened").await;
    let (repo, alice) = (&place.repo, lab.as_account("alice"));
    alice.open_issue(repo, "Of somebody else", "").await.unwrap();
    let me = lab.bot.whoami().await.unwrap();
    assert_eq!(lab.bot.issues_by(repo, &me.login).await.unwrap(), []);
    let made = lab.bot.open_issue(repo, "Rewritten", "What to type").await.unwrap();
    assert_eq!((made.open, made.author.id, made.body.as_str()), (true, me.id, "What to type"));
    let edit = IssueEdit { body: Some("It is over.".into()), open: Some(false) };
    lab.bot.edit_issue(repo, made.number, &edit).await.unwrap();
    let found = lab.bot.issues_by(repo, &me.login).await.unwrap();
    let told: Vec<_> = found.iter().map(|it| (it.number, it.open, it.title.as_str(), it.body.as_str())).collect();
    assert_eq!(told, [(made.number, false, "Rewritten", "It is over.")]);
    lab.bot.edit_issue(repo, made.number, &IssueEdit { open: Some(true), body: None }).await.unwrap();
    assert!(lab.bot.issue(repo, made.number).await.unwrap().open);
}
