//! Approved work is merged on the forge by the bot where the operator lets it, and by nobody's word past the branch's rule.

use crate::leases::until;
use crate::orders;
use crate::unread::refused;
use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::config::Secret;
use caisson::forge::{ForgeReads, Gitea, PullRequest, RepoRef};
use domain::{End, Event, MergeStep, Task};

fn repo() -> RepoRef {
    RepoRef::new("lab", "shop")
}

/// Makes it a repository that is no copy of another one, with this setting, whose `main` requires an approval.
pub async fn merging(world: &mut World, setting: &str) {
    set(world, setting).await;
    let root = owner(world);
    root.ensure_protection(&repo(), "main", &["alice"]).await.expect("protected");
    root.ensure_approval(&repo(), "main").await.expect("an approval is required");
}

async fn set(world: &mut World, setting: &str) {
    let upstream = "upstream = \"https://example.org/shop.git\"\n";
    world.reconfigure(|text| text.replace(upstream, &format!("merge = \"{setting}\"\n"))).await;
}

/// The client of an administrator of the forge.
pub fn owner(world: &World) -> Gitea {
    let at = world.forge.url().parse().expect("an address");
    Gitea::new(&at, Secret::new(world.forge.admin_token()), "test").expect("a client")
}

/// Opens an issue and follows it to the final review; its number and the pull request's.
async fn at_final(world: &World) -> (u64, u64) {
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.approve().await;
    world.until_state("final-review").await;
    (issue, pull)
}

/// As [`at_final`], approved by a review.
async fn approved(world: &World) -> (u64, u64) {
    let at = at_final(world).await;
    world.approve().await;
    world.until_state("approved").await;
    at
}

async fn pull_request(world: &World, pull: u64) -> PullRequest {
    world.look().pull(&repo(), pull).await.expect("the pull request")
}

async fn delivered(world: &World) -> Task {
    let task = world.until("an end", |task| task.end().is_some()).await;
    assert_eq!(task.end(), Some(&End::Delivered));
    task
}

async fn steps(world: &World) -> Vec<MergeStep> {
    let log = world.log().await;
    log.into_iter().filter_map(|event| if let Event::Merge(step) = event { Some(step) } else { None }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_work_is_merged_when_a_writer_says_so() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "command").await;
    let (issue, pull) = approved(&world).await;
    assert!(!pull_request(&world, pull).await.merged, "nobody asked");
    world.bob().comment(REPO, issue, "/merge").expect("said");
    world.until_said(issue, "`bob`").await;
    assert!(!pull_request(&world, pull).await.merged, "bob may not write");
    world.alice().comment(REPO, pull, "/merge").expect("said");
    let task = delivered(&world).await;
    let merged = pull_request(&world, pull).await;
    assert!(merged.merged && Some(merged.head_sha.as_str()) == task.pushed.as_ref().map(|it| it.as_str()));
    world.until_said(pull, "Merged at `").await;
    let steps = steps(&world).await;
    let [MergeStep::Wanted { decision }, MergeStep::Done(how)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!((decision.poster.login.as_str(), how.by.as_str()), ("alice", "caisson"));
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_final_approval_merges_where_the_operator_set_it() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "final_approval").await;
    let (_, pull) = at_final(&world).await;
    assert!(!pull_request(&world, pull).await.merged);
    world.approve().await;
    delivered(&world).await;
    assert!(pull_request(&world, pull).await.merged);
    world.until_said(pull, "Merged at `").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_it_is_not_set_or_the_repository_is_a_copy_the_answer_says_what_to_do() {
    let mut world = World::new(FIX).await;
    let (_, pull) = at_final(&world).await;
    world.alice().comment(REPO, pull, "/merge").expect("said");
    let said = world.until_said(pull, "a copy of another one").await;
    assert!(said.contains("caisson fetch path/to/your/clone agent/1-"), "{said}");
    assert!(steps(&world).await.is_empty());
    let mut other = World::new(FIX).await;
    set(&mut other, "never").await;
    let (_, pull) = at_final(&other).await;
    other.alice().comment(REPO, pull, "/merge").expect("said");
    other.until_said(pull, "merge = \"command\"").await;
    set_never_to(&mut other, "command").await;
    other.alice().comment(REPO, pull, "/merge").expect("said");
    other.until_said(pull, "only finally approved work is merged").await;
    assert!(steps(&other).await.is_empty() && !pull_request(&other, pull).await.merged);
    world.kill();
}

async fn set_never_to(world: &mut World, setting: &str) {
    world.reconfigure(|text| text.replace("merge = \"never\"", &format!("merge = \"{setting}\""))).await;
}

/// An approval in a comment is no review: that is answered once, as is a refusal of the forge, and the work stays approved.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_forge_refuses_is_answered_once_and_can_be_asked_for_again() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "final_approval").await;
    let (issue, pull) = at_final(&world).await;
    let commit = world.task().await.pushed.expect("a commit");
    // The approvals of both checkpoints were reviews; this one's is taken back, as if it had been a comment too.
    for review in world.look().reviews(&repo(), pull).await.expect("listed") {
        if review.author.login == "alice" {
            world.forge.as_person("root").dismiss(REPO, pull, review.id).expect("dismissed");
        }
    }
    world.alice().comment(REPO, issue, &format!("/approve {commit}")).expect("said");
    let said = world.until_said(pull, "no review of somebody who may write approves exactly this commit").await;
    assert!(said.contains("`/merge` tries again"), "{said}");
    let task = world.task().await;
    assert_eq!(task.state.name(), "approved");
    world.alice().approve(REPO, pull, commit.as_str()).expect("approved");
    world.forge.refuse(&[("POST /merge", 409)]);
    world.alice().comment(REPO, issue, "/merge").expect("said");
    world.until_said(issue, "the forge refuses it").await;
    world.forge.refuse(&[]);
    world.alice().comment(REPO, issue, "/merge").expect("said");
    delivered(&world).await;
    let all = [world.said(pull).await, world.said(issue).await].concat();
    for why in ["no review of somebody", "the forge refuses it"] {
        assert_eq!(all.iter().filter(|text| text.contains(why)).count(), 1, "{all:#?}");
    }
    let merge: Vec<bool> = steps(&world).await.iter().map(|it| matches!(it, MergeStep::Refused { .. })).collect();
    assert_eq!(merge, [false, true, false, true, false, false], "wanted, refused, twice; wanted, done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_rule_requires_no_approval_is_merged_into_by_nobodys_command() {
    let mut world = World::new(FIX).await;
    set(&mut world, "command").await;
    let (_, pull) = approved(&world).await;
    world.alice().comment(REPO, pull, "/merge").expect("said");
    world.until_said(pull, "has no rule on the forge").await;
    owner(&world).ensure_protection(&repo(), "main", &["alice"]).await.expect("protected");
    world.alice().comment(REPO, pull, "/merge").expect("said");
    world.until_said(pull, "requires nobody's approval").await;
    owner(&world).ensure_protection(&repo(), "main", &["alice", "caisson"]).await.expect("protected");
    owner(&world).ensure_approval(&repo(), "main").await.expect("required");
    world.alice().comment(REPO, pull, "/merge").expect("said");
    world.until_said(pull, "push past the approvals").await;
    assert!(!pull_request(&world, pull).await.merged);
    assert_eq!(world.task().await.state.name(), "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_a_person_is_told_with_her_name() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "command").await;
    let (_, pull) = approved(&world).await;
    let end = std::time::Instant::now() + PATIENCE;
    while pull_request(&world, pull).await.draft {
        assert!(std::time::Instant::now() < end, "it stays a draft");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    world.alice().merge(REPO, pull).await.expect("merged");
    delivered(&world).await;
    let said = world.until_said(pull, "Merged at `").await;
    assert!(said.contains("by `alice`"), "{said}");
}

/// Where there is no upstream, a person's merge is the delivery, also of work that she has not approved before.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_before_the_last_approval_delivers_where_there_is_no_upstream() {
    let mut world = World::new(FIX).await;
    set(&mut world, "never").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().edit_issue(REPO, pull, Some("Merged by hand"), None).expect("no draft any more");
    world.alice().merge(REPO, pull).await.expect("merged");
    delivered(&world).await;
    let said = world.until_said(pull, "Merged at `").await;
    assert!(said.contains("by `alice`"), "{said}");
    world.nothing_left().await;
}

/// An approval of the first checkpoint is none of what was pushed after it, whoever merges that.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_merged_after_an_approval_of_an_earlier_commit_is_not_fetched_as_approved() {
    let script = FIX.replacen("git diff --stat || true", "echo '# more' >> semver.py", 1);
    let mut world = World::new(&script).await;
    set(&mut world, "never").await;
    let (_, pull) = at_final(&world).await;
    let task = world.task().await;
    let (first, newest) = (task.checkpoints[0].commit.clone(), task.pushed.clone().expect("pushed"));
    assert!(first.is_some() && first.as_ref() != Some(&newest), "{:?}", task.checkpoints);
    world.alice().edit_issue(REPO, pull, Some("Merged by hand"), None).expect("no draft any more");
    world.alice().merge(REPO, pull).await.expect("merged");
    delivered(&world).await;
    let (clone, branch) = (world.dir.path().join("project"), task.request.expect("asked").branch);
    let out = orders::caisson(&world, &["fetch", clone.to_str().expect("UTF-8"), &branch]).await;
    let text = orders::said(&out);
    assert!(!out.status.success() && text.contains("is not approved"), "{text}");
    assert!(text.contains(&format!("alice merged the pull request at {}", newest.short())), "{text}");
    assert!(text.contains("nobody approved") && text.contains("--unreviewed"), "{text}");
}

/// A forge that starts, or a proxy before it, denies for a moment; a denial that stays is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_is_denied_for_a_moment_is_made_after_it() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "command").await;
    let (issue, pull) = approved(&world).await;
    world.forge.refuse(&[("GET /branches/main", 403)]);
    world.alice().comment(REPO, issue, "/merge").expect("said");
    world.until_said(issue, "the forge refuses it").await;
    assert!(world.forge.times_refused() >= 3, "asked again before it was certain: {}", world.forge.times_refused());
    world.alice().comment(REPO, issue, "/merge").expect("said");
    refused(&world, 1).await;
    world.forge.refuse(&[]);
    delivered(&world).await;
    let said = world.said(issue).await;
    assert_eq!(said.iter().filter(|text| text.contains("the forge refuses it")).count(), 1, "{said:#?}");
    assert!(pull_request(&world, pull).await.merged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_waits_for_another_issue_is_answered_at_once_with_its_number() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "command").await;
    let (issue, pull) = approved(&world).await;
    let first = world.alice().open_issue(REPO, "First this", "").expect("issue");
    world.alice().depend(REPO, pull, first).expect("noted");
    world.alice().comment(REPO, issue, "/merge").expect("said");
    let said = world.until_said(issue, "the forge refuses it").await;
    assert!(said.contains("depends on is open") && said.contains(&first.to_string()), "{said}");
    world.alice().close(REPO, first).expect("closed");
    world.alice().comment(REPO, issue, "/merge").expect("said");
    delivered(&world).await;
    assert!(pull_request(&world, pull).await.merged);
}

/// While the forge looks for conflicts a merge is tried again for some seconds; who stops the task meanwhile has its work not merged.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_stopped_while_its_merge_is_tried_is_not_merged() {
    let mut world = World::new(FIX).await;
    merging(&mut world, "command").await;
    let (_, pull) = approved(&world).await;
    world.forge.look_for_conflicts(true);
    world.alice().comment(REPO, pull, "/merge").expect("said");
    let merge = format!("/pulls/{pull}/merge");
    until("the merge to be tried", async || world.forge.requests(|path| path.ends_with(&merge)) > 0).await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until("an end", |task| task.end().is_some()).await;
    world.forge.look_for_conflicts(false);
    // Both wait in the queue behind the merge: the answer, and closing the pull request.
    world.until_said(pull, "Stopped by `alice`").await;
    world.settled().await;
    let seen = pull_request(&world, pull).await;
    assert!(!seen.open && !seen.merged, "{seen:?}");
}
