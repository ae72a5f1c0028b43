//! Finished work whose approval was withdrawn is approved once more, and `caisson fetch` takes it; a withdrawn one stops counting.

use crate::decisions::with_write;
use crate::leases::until;
use crate::orders::{caisson, held, said};
use crate::pages::used;
use crate::rebase::cloned;
use crate::world::{FIX, REPO, World};
use caisson::forge::{ForgeReads, RepoRef};
use domain::{Commit, Task};
use std::path::Path;

/// Follows a task until its final review stands.
async fn at_final(world: &World) -> Task {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await
}

/// As [`at_final`], approved; the pull request and the commit.
pub async fn approved(world: &World) -> (u64, Commit) {
    let task = at_final(world).await;
    world.approve().await;
    world.until_state("approved").await;
    (task.pull.expect("a pull request"), task.pushed.expect("a commit"))
}

/// What `caisson fetch` says, and whether it brought the branch.
async fn fetched(world: &World, clone: &Path) -> (bool, String) {
    let branch = world.task().await.request.expect("asked").branch;
    let out = caisson(world, &["fetch", clone.to_str().expect("UTF-8"), &branch]).await;
    (out.status.success(), said(&out))
}

/// Dismisses every review of this person, as an administrator may.
async fn dismissed(world: &World, login: &str) {
    let pull = world.task().await.pull.expect("a pull request");
    for review in world.look().reviews(&RepoRef::new("lab", "shop"), pull).await.expect("listed") {
        if review.author.login == login {
            world.forge.as_person("root").dismiss(REPO, pull, review.id).expect("dismissed");
        }
    }
}

/// Waits until so many decisions were used.
async fn until_used(world: &World, count: usize) {
    until("a decision was used", async || used(world).await >= count).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_approval_of_finished_work_is_given_once_more() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    let (pull, commit) = approved(&world).await;
    dismissed(&world, "alice").await;
    let first = cloned(&world, "first");
    let (brought, text) = fetched(&world, &first).await;
    assert!(!brought && text.contains("the approval was dismissed") && text.contains("once more"), "{text}");
    // Of work that waits to be fetched, by a review.
    world.approve().await;
    until_used(&world, 3).await;
    assert_eq!(world.task().await.state.name(), "approved");
    let (brought, text) = fetched(&world, &first).await;
    assert!(brought, "{text}");
    world.until_state("delivered").await;
    // Of work that was delivered: by a reader, who may not, and by a comment of a writer.
    dismissed(&world, "alice").await;
    let second = cloned(&world, "second");
    let (brought, text) = fetched(&world, &second).await;
    assert!(!brought && text.contains("the approval was dismissed"), "{text}");
    world.bob().approve(REPO, pull, commit.as_str()).expect("posted");
    world.until_said(pull, "`bob`: `/approve` is for").await;
    assert_eq!((used(&world).await, world.task().await.state.name()), (3, "delivered"));
    let id = world.alice().comment(REPO, pull, &format!("/approve {commit}")).expect("said");
    until_used(&world, 4).await;
    assert_eq!(world.task().await.state.name(), "delivered");
    let (brought, text) = fetched(&world, &second).await;
    assert!(brought, "{text}");
    world.alice().delete_comment(REPO, id).expect("deleted");
    let (brought, text) = fetched(&world, &cloned(&world, "third")).await;
    assert!(!brought && text.contains("the approving comment was deleted"), "{text}");
    // A review of delivered work counts as well, as long as its pull request is open.
    world.alice().approve(REPO, pull, commit.as_str()).expect("approved");
    until_used(&world, 5).await;
    dismissed(&world, "alice").await;
    // One that only comments is refused, since it would not count when the work is fetched.
    world.alice().review_comment(REPO, pull, commit.as_str(), "/approve").expect("posted");
    world.until_said(pull, "Submit a review as Approve").await;
    let (brought, text) = fetched(&world, &cloned(&world, "fourth")).await;
    assert!(!brought && text.contains("the approval was dismissed"), "{text}");
    world.alice().close(REPO, pull).expect("closed");
    world.alice().comment(REPO, pull, &format!("/approve {commit}")).expect("said");
    world.until_said(pull, "so `/approve` has nothing to act on").await;
    assert_eq!(used(&world).await, 5, "its pull request is closed");
}

/// The forge leaves the approval as it was, because the later review has an inline comment.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_changes_after_the_final_approval_takes_it_back() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    let (pull, commit) = approved(&world).await;
    let notes = [("semver.py", 6, "use a tuple")];
    world.alice().request_changes(REPO, pull, commit.as_str(), "Rather not.", &notes).expect("posted");
    world.until_said(pull, "nothing goes back to the agent any more").await;
    let clone = cloned(&world, "clone");
    let (brought, text) = fetched(&world, &clone).await;
    assert!(!brought && text.contains("alice asked for changes after approving it"), "{text}");
    world.approve().await;
    until_used(&world, 3).await;
    let (brought, text) = fetched(&world, &clone).await;
    assert!(brought, "{text}");
}

/// Who approved is known by the account's id: another login is no lost right.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_stands_after_its_author_was_renamed() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    approved(&world).await;
    world.forge.rename_account("alice", "alice-b").expect("renamed");
    world.forge.add_person("alice", "secret").expect("somebody else");
    let (brought, text) = fetched(&world, &cloned(&world, "clone")).await;
    assert!(brought, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_two_people_approve_both_give_it_once_more() {
    let mut world = World::new(FIX).await;
    let carol = with_write(&world, "carol");
    let task = at_final(&world).await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.pushed.expect("a commit"));
    world.reconfigure(|text| text + "[repositories.checkpoint]\napprovals = 2\n").await;
    world.approve().await;
    world.until("one approval", |task| task.unjudged.len() == 1).await;
    carol.approve(REPO, pull, commit.as_str()).expect("approved");
    world.until_state("approved").await;
    dismissed(&world, "carol").await;
    carol.approve(REPO, pull, commit.as_str()).expect("approved");
    world.until("one of two", |task| task.unjudged.len() == 1).await;
    let clone = cloned(&world, "clone");
    let (brought, text) = fetched(&world, &clone).await;
    assert!(!brought && text.contains("is not approved"), "{text}");
    world.approve().await;
    until_used(&world, 3).await;
    let (brought, text) = fetched(&world, &clone).await;
    assert!(brought, "{text}");
}
