//! A person's pull request from a fork, or pushed for review: its commits exist in the target repository, and a review can be placed on its
//! lines.

use crate::support::forges::{Lab, LabRepository, git};
use crate::support::skipped::skipped;
use caisson::forge::{ForgeReads, ForgeWrites, NewReview, Note, ReviewState};
use caisson::git::{Auth, RemoteUrl, Repos};
use domain::Commit;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Waits until the pull request has this head and the target repository has the commit, then fetches it by its id, as the bot does.
async fn fetched(lab: &Lab, place: &LabRepository, pull: u64, commit: &str, repos: &Repos) {
    let url =
        RemoteUrl::parse(lab.url.join(&format!("{}.git", place.repo)).expect("an address").as_str()).expect("one");
    let auth = Auth::basic("caisson", lab.token("caisson").expose());
    let wanted = Commit::parse(commit).expect("a commit");
    let end = Instant::now() + Duration::from_secs(300);
    loop {
        let head = lab.bot.pull(&place.repo, pull).await.expect("the pull request").head_sha;
        let brought = repos.fetch_commit("shop", &url, Some(&auth), &wanted).await;
        if head == commit && brought.is_ok() {
            return;
        }
        assert!(Instant::now() < end, "the head is {head}, not {commit}; {brought:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub async fn a_forks_pull_is_fetched_by_its_commit_and_reviewed_on_its_lines(lab: Arc<Lab>) {
    let place = lab.place("forked").await;
    let fork = lab.fork(&place, "bob").await;
    let first = lab.branch_by("bob", &fork, "mend", &[("calc.txt", "one\n2\nthree\nfour\n")]);
    let body = json!({ "title": "Mend", "body": "From outside.", "head": "bob:mend", "base": "main" });
    let opened = Instant::now() + Duration::from_secs(300);
    let pull = loop {
        let (status, made) = lab.hand("bob").call("POST", &format!("/repos/{}/pulls", place.repo), body.clone()).await;
        match made["number"].as_u64() {
            Some(number) => break number,
            None => assert!(Instant::now() < opened, "{status} {made}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let seen = lab.bot.pull(&place.repo, pull).await.expect("the pull request");
    assert_eq!((seen.author.login.as_str(), seen.head_ref.as_str(), seen.base_ref.as_str()), ("bob", "mend", "main"));
    assert_eq!((seen.head_repo.as_deref(), seen.head_sha.as_str()), (Some("bob/forked"), first.as_str()));
    let dir = tempfile::tempdir().expect("a directory");
    let repos = Repos::new(dir.path());
    fetched(&lab, &place, pull, &first, &repos).await;
    let note = |line: u64| Note { path: "calc.txt".into(), line, body: format!("**note** — at {line}") };
    let new = NewReview { commit: first.clone(), body: "### Review".into(), notes: vec![note(2), note(4)] };
    let posted = lab.bot.post_review(&place.repo, pull, &new).await.expect("a review of a stranger's pull request");
    assert_eq!((posted.state, posted.commit.as_str()), (ReviewState::Comment, first.as_str()));
    let notes = lab.bot.review_comments(&place.repo, pull, posted.id).await.expect("its notes");
    let shown: Vec<_> = notes.iter().map(|note| (note.path.as_str(), note.line, note.body.as_str())).collect();
    assert_eq!(shown, [("calc.txt", Some(2), "**note** — at 2"), ("calc.txt", Some(4), "**note** — at 4")]);
    // A push to the fork moves the head; the previous commit can still be fetched.
    let second = lab.branch_by("bob", &fork, "mend", &[("calc.txt", "1\n2\n3\n")]);
    fetched(&lab, &place, pull, &second, &repos).await;
    let again = Repos::new(dir.path().join("again"));
    let url = lab.url.join(&format!("{}.git", place.repo)).expect("an address");
    let header = format!("http.extraHeader=Authorization: token {}", lab.token("caisson").expose());
    // A forge moves it after it has taken the push.
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let listed = git(dir.path(), &["-c", &header, "ls-remote", url.as_str(), &format!("refs/pull/{pull}/head")]);
        if listed.starts_with(&second) {
            break;
        }
        assert!(Instant::now() < limit, "{listed}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (url, auth) =
        (RemoteUrl::parse(url.as_str()).expect("one"), Auth::basic("caisson", lab.token("caisson").expose()));
    again.fetch_commit("shop", &url, Some(&auth), &Commit::parse(&first).expect("one")).await.expect("still there");
    assert!(again.has("shop", &Commit::parse(&first).expect("one")).await.expect("read"));
}

/// A reader may push for review (AGit): the head has no branch, though the forge says that it lies in the repository itself.
pub async fn a_head_that_was_pushed_for_review_is_no_branch(lab: Arc<Lab>) {
    if lab.devforge().is_some() {
        return skipped("builtin-review-push", "the built-in forge takes no push for review; that needs a real forge");
    }
    let place = lab.place("for-review").await;
    let commit = lab.push_for_review(&place, "bob", "main", "mend");
    let path = format!("/repos/{}/pulls", place.repo);
    let (_, listed) = lab.hand("bob").call("GET", &path, json!(null)).await;
    let number = listed[0]["number"].as_u64().unwrap_or_else(|| panic!("no pull request: {listed}"));
    let seen = lab.bot.pull(&place.repo, number).await.expect("the pull request");
    assert_eq!((seen.author.login.as_str(), seen.head_sha.as_str()), ("bob", commit.as_str()));
    assert_eq!(seen.head_repo.as_deref(), Some(place.repo.to_string().as_str()));
    assert_eq!(seen.head_ref, format!("refs/pull/{number}/head"));
    let dir = tempfile::tempdir().expect("a directory");
    fetched(&lab, &place, number, &commit, &Repos::new(dir.path())).await;
}
