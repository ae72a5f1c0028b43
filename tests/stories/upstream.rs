//! A repository is kept in step with what it was copied from: by itself, and by `/sync`, which is answered once.

use crate::world::{FIX, PATIENCE, REPO, World, git};
use caisson::config::Secret;
use caisson::forge::{ForgeReads as _, Issue, RepoRef};
use domain::End;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A world whose repository is a copy of a bare one, compared every so many seconds.
async fn copied(every: u32) -> World {
    let mut world = World::new(FIX).await;
    git(world.dir.path(), &["clone", "-q", "--bare", "project", "upstream.git"]);
    Secret::new(world.forge.admin_token()).write(&world.dir.path().join("sync.token")).expect("written");
    let path = upstream(&world).display().to_string();
    world
        .reconfigure(|text| {
            let text = text.replace("https://example.org/shop.git", &path);
            let text = text.replace("[listen]", &format!("[upstream]\nsync_s = {every}\n[listen]"));
            text.replace("token_file = \"bot.token\"", "token_file = \"bot.token\"\nsync_token_file = \"sync.token\"")
        })
        .await;
    world
}

fn upstream(world: &World) -> PathBuf {
    world.dir.path().join("upstream.git")
}

/// One more commit on the upstream's `main`, on top of another; the commit.
fn commit(world: &World, on: &str) -> String {
    commit_to(world, "main", on)
}

/// The same on a branch of the upstream.
fn commit_to(world: &World, branch: &str, on: &str) -> String {
    let at = upstream(world);
    let tree = git(&at, &["rev-parse", "main^{tree}"]);
    // Commits with equal message, parent and second would have one id.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let words = format!("More {}", COUNT.fetch_add(1, Ordering::Relaxed));
    let new = git(&at, &["commit-tree", &tree, "-p", on, "-m", &words]);
    git(&at, &["update-ref", &format!("refs/heads/{branch}"), &new]);
    new
}

async fn main_of(world: &World) -> String {
    world.look().branch(&RepoRef::new("lab", "shop"), "main").await.expect("answered").expect("a branch")
}

async fn until_main(world: &World, commit: &str) {
    let end = Instant::now() + PATIENCE;
    while main_of(world).await != commit {
        assert!(Instant::now() < end, "it never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn issue(world: &World) -> u64 {
    world.alice().open_issue(REPO, "About the copy", "Is it new?").expect("issue")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_new_upstream_comes_by_itself() {
    let world = copied(1).await;
    let first = main_of(&world).await;
    let second = commit(&world, &first);
    until_main(&world, &second).await;
    let third = commit(&world, &second);
    until_main(&world, &third).await;
    // Unrelated history is refused, whatever commits follow it.
    let other = commit(&world, &first);
    git(&upstream(&world), &["tag", "v1", &other]);
    let end = Instant::now() + PATIENCE;
    while git(&world.forge.repository_dir(REPO), &["tag"]) != "v1" {
        assert!(Instant::now() < end, "the tag never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(main_of(&world).await, third);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_has_it_brought_and_is_told_what_came() {
    let world = copied(0).await;
    let (issue, first) = (issue(&world), main_of(&world).await);
    world.bob().comment(REPO, issue, "/sync").expect("said");
    world.until_said(issue, "`bob`: `/sync` is for").await;
    world.alice().comment(REPO, issue, "/sync").expect("said");
    world.until_said(issue, "**nothing to bring**").await;
    let third = commit(&world, &commit(&world, &first));
    world.alice().comment(REPO, issue, "/sync").expect("said");
    let said = world.until_said(issue, "**brought in step**").await;
    assert!(said.contains(&format!("`main`: 2 commits brought, from {} to {}", &first[..10], &third[..10])), "{said}");
    assert_eq!(main_of(&world).await, third);
    let other = commit(&world, &first);
    world.alice().comment(REPO, issue, "/sync").expect("said");
    let said = world.until_said(issue, "`main` **has diverged** from the upstream's").await;
    assert!(said.contains(&format!("caisson repo sync shop --rewritten {other}")), "{said}");
    assert_eq!(main_of(&world).await, third);
    std::fs::remove_dir_all(upstream(&world)).expect("removed");
    world.alice().comment(REPO, issue, "/sync").expect("said");
    world.until_said(issue, "**not done**: ").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "it is no task");
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_task_it_moves_the_task_nowhere() {
    let world = copied(0).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let before = world.log().await.len();
    let second = commit(&world, &main_of(&world).await);
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/sync").expect("said");
    world.until_said(pull, "**brought in step**").await;
    assert_eq!(main_of(&world).await, second);
    assert_eq!((world.task().await.state.name(), world.log().await.len()), ("awaiting-review", before));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_meanwhile_nothing_is_brought_or_answered_twice() {
    let mut world = copied(0).await;
    let issue = issue(&world);
    let second = commit(&world, &main_of(&world).await);
    world.alice().comment(REPO, issue, "/sync").expect("said");
    until_main(&world, &second).await;
    world.kill();
    world.start().await;
    // After a kill between the two it is done again, finds nothing more to bring, and is answered.
    world.until_said(issue, "`/sync` of").await;
    world.heard(issue).await;
    let answers = world.said(issue).await.iter().filter(|text| text.contains("`/sync` of")).count();
    assert_eq!(answers, 1);
    world.alice().comment(REPO, issue, "/sync").expect("said");
    world.heard(issue).await;
    let after = world.said(issue).await.iter().filter(|text| text.contains("`/sync` of")).count();
    assert_eq!((after, main_of(&world).await), (answers + 1, second));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_pushed_to_a_repository_that_took_the_name() {
    let mut world = copied(1).await;
    // Rounds of reading look the address up as well, so there are none.
    world.reconfigure(|text| text.replace("poll_s = 1\n", "poll_s = 3600\n")).await;
    let second = commit(&world, &main_of(&world).await);
    until_main(&world, &second).await;
    world.forge.rename(REPO, "store").expect("renamed");
    world.forge.add_repository(REPO, false).await.expect("another one");
    let third = commit(&world, &second);
    let end = Instant::now() + PATIENCE;
    while world.look().branch(&RepoRef::new("lab", "store"), "main").await.expect("answered").as_ref() != Some(&third) {
        assert!(Instant::now() < end, "it never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(std::fs::read_dir(world.forge.repository_dir(REPO).join("refs/heads")).expect("read").count(), 0);
}

async fn told(world: &World) -> Vec<Issue> {
    world.look().issues_by(&RepoRef::new("lab", "shop"), "caisson").await.expect("issues")
}

async fn until_told(world: &World, what: &str, holds: impl Fn(&[Issue]) -> bool) -> Vec<Issue> {
    let end = Instant::now() + PATIENCE;
    loop {
        let all = told(world).await;
        if holds(&all) {
            return all;
        }
        assert!(Instant::now() < end, "waited for {what}: {all:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_upstream_has_one_issue_that_the_bot_closes_when_it_is_over() {
    let mut world = copied(1).await;
    let first = main_of(&world).await;
    let second = commit(&world, &first);
    until_main(&world, &second).await;
    assert_eq!(told(&world).await, []);
    let other = commit(&world, &first);
    let all = until_told(&world, "an issue", |all| all.len() == 1 && all[0].open).await;
    let typed = format!("caisson repo sync shop --rewritten {other}");
    for words in [second.as_str(), other.as_str(), typed.as_str()] {
        assert!(all[0].body.contains(words), "{words} is missing:\n{}", all[0].body);
    }
    assert_eq!(all[0].title, "main has diverged from the upstream's");
    // The next life finds it again, and one that a person closed stays closed until there is something new.
    world.kill();
    world.alice().close(REPO, all[0].number).expect("closed");
    world.start().await;
    let third = commit(&world, &first);
    let all = until_told(&world, "the newer commit", |all| all.iter().any(|it| it.body.contains(&third))).await;
    assert!(all.len() == 1 && all[0].open, "{all:#?}");
    // What the forge has is contained again: nobody is needed any more.
    git(&upstream(&world), &["update-ref", "refs/heads/main", &second]);
    let all = until_told(&world, "its end", |all| all.len() == 1 && !all[0].open).await;
    assert!(all[0].body.starts_with("The history of `main` here goes together"), "{}", all[0].body);
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "it begins no task");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_about_a_branch_that_is_gone_or_not_followed_is_closed_and_says_so() {
    let mut world = copied(1).await;
    let (repo, first) = (RepoRef::new("lab", "shop"), main_of(&world).await);
    for branch in ["dev", "old"] {
        commit_to(&world, branch, &first);
    }
    world.reconfigure(|text| format!("{text}branches = [\"dev\", \"old\"]\n")).await;
    for branch in ["dev", "old"] {
        let end = Instant::now() + PATIENCE;
        while world.look().branch(&repo, branch).await.expect("answered").is_none() {
            assert!(Instant::now() < end, "{branch} never came");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        commit_to(&world, branch, &first);
    }
    until_told(&world, "both", |all| all.len() == 2 && all.iter().all(|it| it.open)).await;
    // A branch that the upstream deleted is not in step.
    git(&upstream(&world), &["update-ref", "-d", "refs/heads/dev"]);
    let all = until_told(&world, "the first end", |all| all.iter().any(|it| !it.open)).await;
    let closed: Vec<&str> = all.iter().filter(|it| !it.open).map(|it| it.body.as_str()).collect();
    assert!(closed.len() == 1 && closed[0].starts_with("The upstream has no branch `dev` any more."), "{closed:#?}");
    world.reconfigure(|text| text.replace("branches = [\"dev\", \"old\"]\n", "")).await;
    let all = until_told(&world, "the second end", |all| all.iter().all(|it| !it.open)).await;
    let left = all.iter().filter(|it| it.body.starts_with("This branch is not kept in step with the upstream")).count();
    assert!(all.len() == 2 && left == 1, "{all:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_merged_here_is_not_called_a_rewritten_upstream() {
    let world = copied(1).await;
    let (first, project) = (main_of(&world).await, world.dir.path().join("project"));
    let tree = git(&project, &["rev-parse", &format!("{first}^{{tree}}")]);
    let merged = git(&project, &["commit-tree", &tree, "-p", &first, "-m", "Merged here"]);
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    let url = format!("{}/{REPO}.git", world.forge.url());
    git(&project, &["-c", &header, "push", "-q", &url, &format!("{merged}:refs/heads/main")]);
    let theirs = commit(&world, &first);
    let all = until_told(&world, "an issue", |all| all.len() == 1 && all[0].body.contains(&theirs)).await;
    assert_eq!(all[0].title, "main has diverged from the upstream's");
    assert!(all[0].body.contains("**Somebody merged or pushed something here**"), "{}", all[0].body);
    assert_eq!(main_of(&world).await, merged);
}

/// The forge closes what a commit's message names once it stands on the default branch, and by its numbers the upstream means its own issues.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_the_upstreams_that_closes_an_issue_of_its_own_ends_no_task_here() {
    let world = copied(1).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let (at, first) = (upstream(&world), main_of(&world).await);
    let tree = git(&at, &["rev-parse", "main^{tree}"]);
    let new = git(&at, &["commit-tree", &tree, "-p", &first, "-m", &format!("Mend it\n\nFixes #{issue}")]);
    git(&at, &["update-ref", "refs/heads/main", &new]);
    until_main(&world, &new).await;
    let (repo, end) = (RepoRef::new("lab", "shop"), Instant::now() + PATIENCE);
    loop {
        let by = world.look().closed_by(&repo, issue).await.expect("answered");
        if by.is_some() && world.look().issue(&repo, issue).await.expect("answered").open {
            break;
        }
        assert!(world.task().await.end().is_none(), "nobody here closed it");
        assert!(Instant::now() < end, "it stays closed, by {by:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.heard(issue).await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.alice().close(REPO, issue).expect("closed");
    let task = world.until("an end", |task| task.end().is_some()).await;
    assert_eq!(task.end(), Some(&End::Declined));
}
