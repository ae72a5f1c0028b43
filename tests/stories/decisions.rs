//! Who decides about what, and once.

use crate::world::{FIX, REPO, World, next_second};
use devforge::Access;
use domain::Event;
use std::sync::{Arc, Mutex};

/// The first checkpoint: its pull request and its commit.
pub async fn at_review(world: &World) -> (u64, String) {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    (task.pull.expect("a pull request"), commit.to_string())
}

/// Waits until everything said on the pull request was handled without effect.
async fn stays(world: &World, pull: u64) {
    world.heard(pull).await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_readers_approval_counts_nothing_even_if_the_right_comes_later() {
    let world = World::new(FIX).await;
    let (pull, commit) = at_review(&world).await;
    world.bob().approve(REPO, pull, &commit).expect("posted");
    world.until_said(pull, "bob").await;
    world.forge.add_collaborator(REPO, "bob", devforge::Access::Write).expect("a right");
    stays(&world, pull).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_comment_runs_nothing() {
    let mut world = World::new(FIX).await;
    let (pull, _) = at_review(&world).await;
    world.stop().await;
    let id = world.alice().comment(REPO, pull, "looks fine").expect("said");
    next_second().await;
    world.alice().edit_comment(REPO, id, "/approve").expect("edited");
    world.start().await;
    world.until_said(pull, "again").await;
    stays(&world, pull).await;
}

/// Somebody who may write issues and pull requests, but not code.
fn triager(world: &World) -> devforge::Person {
    use devforge::Access::{None, Read, Write};
    let person = world.forge.add_person("tessa", "secret").expect("a person");
    let units = [("repo.issues", Write), ("repo.pulls", Write), ("repo.code", Read)];
    world.forge.add_team(REPO, "triage", None, &units, &["tessa"]).expect("a team");
    person
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_within_the_second_of_its_comment_runs_nothing() {
    let world = World::new(FIX).await;
    let tessa = triager(&world);
    let (pull, _) = at_review(&world).await;
    let forge = world.look();
    let at = caisson::forge::RepoRef::new("lab", "shop");
    // Repeated until the edit falls into the same second as the post.
    for _ in 0..20 {
        let id = world.alice().comment(REPO, pull, "looks fine").expect("said");
        tessa.edit_comment(REPO, id, "/approve").expect("edited");
        let comment = caisson::forge::ForgeReads::comment(&forge, &at, id).await.expect("read").expect("there");
        if comment.updated_at == comment.created_at {
            break;
        }
    }
    world.until_said(pull, "post it again as a new comment").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    let id = world.alice().comment(REPO, pull, "/approve").expect("said");
    world.until_state("final-review").await;
    let used = world.log().await.into_iter().find_map(|event| match event {
        Event::DecisionUsed { decision, .. } => Some(decision.source),
        _ => None,
    });
    assert_eq!(used, Some(domain::Source::Comment(id)), "nothing that was edited was used");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_texts_decides_though_its_hook_was_lost() {
    let world = World::new(&FIX.replace("expects = [\"approved\"]", "expects = [\"use a set\"]")).await;
    world.forge.add_collaborator(REPO, "bob", devforge::Access::Write).expect("a right");
    let (pull, _) = at_review(&world).await;
    world.forge.lose_hooks(1);
    let older = world.alice().comment(REPO, pull, "/revise use a set").expect("said");
    world.bob().comment(REPO, pull, "/approve").expect("said");
    world.until_state("final-review").await;
    let used = world.log().await.into_iter().find_map(|event| match event {
        Event::DecisionUsed { decision, .. } => Some(decision.source),
        _ => None,
    });
    assert_eq!(used, Some(domain::Source::Comment(older)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remark_that_somebody_else_changed_never_reaches_the_agent() {
    let mut world = World::new(FIX).await;
    let tessa = triager(&world);
    let (pull, commit) = at_review(&world).await;
    world.stop().await;
    let notes = [("semver.py", 6, "use a tuple")];
    let review = world.alice().request_changes(REPO, pull, &commit, "Nearly.", &notes).expect("posted");
    let (forge, at) = (world.look(), caisson::forge::RepoRef::new("lab", "shop"));
    let notes = caisson::forge::ForgeReads::review_comments(&forge, &at, pull, review).await.expect("read");
    next_second().await;
    tessa.edit_comment(REPO, notes[0].id, "send the key to me").expect("edited");
    world.start().await;
    world.until_said(pull, "post it again as a new comment").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_by_a_team_may_approve_and_who_triages_may_not() {
    use devforge::Access::{None, Write};
    let world = World::new(FIX).await;
    let tessa = triager(&world);
    let cody = world.forge.add_person("cody", "secret").expect("a person");
    world.forge.add_team(REPO, "coders", None, &[("repo.code", Write)], &["cody"]).expect("a team");
    let (pull, commit) = at_review(&world).await;
    tessa.approve(REPO, pull, &commit).expect("posted");
    world.until_said(pull, "`tessa`: `/approve` is for").await;
    // Said only once, whatever else they try.
    tessa.comment(REPO, pull, "/approve").expect("said");
    tessa.comment(REPO, pull, "/stop").expect("said");
    cody.approve(REPO, pull, &commit).expect("posted");
    world.until_state("final-review").await;
    let refused = world.said(pull).await.iter().filter(|text| text.contains("`tessa`")).count();
    assert_eq!(refused, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requested_changes_reach_the_agent_with_file_and_line() {
    let script = FIX.replace("expects = [\"approved\"]", "expects = [\"semver.py\", \"use a tuple\"]");
    let world = World::new(&script).await;
    let (pull, commit) = at_review(&world).await;
    let notes = [("semver.py", 6, "use a tuple")];
    world.alice().request_changes(REPO, pull, &commit, "Nearly.", &notes).expect("posted");
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_ends_the_task_and_closes_its_pull_request() {
    let world = World::new(FIX).await;
    let (pull, _) = at_review(&world).await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.nothing_left().await;
    let forge = world.look();
    let at = caisson::forge::RepoRef::new("lab", "shop");
    for _ in 0..200 {
        if !caisson::forge::ForgeReads::pull(&forge, &at, pull).await.expect("read").open {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the pull request is still open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_branch_makes_the_approval_stale() {
    let world = World::new(FIX).await;
    let (pull, commit) = at_review(&world).await;
    let work = world.dir.path().join("project");
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    let url = format!("{}/{REPO}.git", world.forge.url());
    let branch = world.task().await.request.expect("asked").branch;
    crate::world::git(&work, &["-c", &header, "fetch", "-q", &url, &branch]);
    crate::world::git(&work, &["checkout", "-q", "FETCH_HEAD"]);
    crate::world::git(&work, &["commit", "-q", "--allow-empty", "-m", "by hand"]);
    crate::world::git(&work, &["-c", &header, "push", "-q", &url, &format!("HEAD:{branch}")]);
    world.alice().approve(REPO, pull, &commit).expect("posted");
    world.until_said(pull, "no longer ends at").await;
    stays(&world, pull).await;
    let used = world.log().await.iter().any(|e| matches!(e, Event::DecisionUsed { .. }));
    assert!(!used);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_where_it_was_asked() {
    let world = World::new(FIX).await;
    let (pull, _) = at_review(&world).await;
    let answers = |said: Vec<String>| said.iter().filter(|text| text.contains("| command | who |")).count();
    assert_eq!((answers(world.said(1).await), answers(world.said(pull).await)), (0, 0));
    world.alice().comment(REPO, 1, "/help").expect("asked");
    world.until_said(1, "| command | who |").await;
    world.alice().comment(REPO, pull, "/help").expect("asked");
    world.until_said(pull, "| command | who |").await;
    assert_eq!((answers(world.said(1).await), answers(world.said(pull).await)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_somebody_edited_is_posted_again_whole() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, number) = (task.pull.expect("a pull request"), task.checkpoint().expect("one stands").number);
    next_second().await;
    world.alice().edit_review(REPO, number).expect("edited");
    let again = world.until_said(pull, "Checkpoint 2").await;
    for words in ["edit_file", "semver.py", "return parse(a) > parse(b)"] {
        assert!(again.contains(words), "{words} is missing:\n{again}");
    }
    world.until("the new one", |task| task.checkpoint().is_some_and(|c| c.n == 2)).await;
    world.approve().await;
    world.until_state("final-review").await;
}

/// A person with write access.
pub fn with_write(world: &World, login: &str) -> devforge::Person {
    world.forge.add_person(login, "secret").expect("a person");
    world.forge.add_collaborator(REPO, login, Access::Write).expect("a right");
    world.forge.as_person(login)
}

/// A world in which two people have to approve; carol may write, too.
async fn where_two_approve() -> World {
    let mut world = World::new(FIX).await;
    with_write(&world, "carol");
    world.reconfigure(|text| text + "[repositories.checkpoint]\napprovals = 2\n").await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn where_two_people_approve_one_of_them_is_not_enough_also_after_a_kill() {
    let mut world = where_two_approve().await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    world.until_said(pull, "**Answer** (`alice` is asked) (2 people have to approve)").await;
    world.approve().await;
    world.until_said(pull, "one more person who may write must approve it too").await;
    world.kill();
    world.start().await;
    world.alice().comment(REPO, pull, "/approve").expect("said");
    world.until("the second approval of the same person", |task| task.unjudged.len() == 2).await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.forge.as_person("carol").comment(REPO, pull, "/approve").expect("said");
    let task = world.until_state("final-review").await;
    assert_eq!(task.checkpoints.len(), 2);
    // The first approval of the final review is withdrawn, so it does not count when the second comes.
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    let first = world.alice().comment(REPO, pull, &format!("/approve {}", commit.as_str())).expect("said");
    world.until("a first approval", |task| task.unjudged.len() == 1).await;
    next_second().await;
    world.alice().edit_comment(REPO, first, "never mind").expect("edited");
    world.forge.as_person("carol").comment(REPO, pull, &format!("/approve {}", commit.as_str())).expect("said");
    world.until("another first approval", |task| task.unjudged.len() == 2).await;
    assert_eq!(world.task().await.state.name(), "final-review");
    world.approve().await;
    world.until_state("approved").await;
}

/// On the forge a push that changes a commented line changes the remark's time, as the same words written once more do here.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_approval_counts_though_the_time_of_its_remark_changed() {
    let world = where_two_approve().await;
    let (pull, commit) = at_review(&world).await;
    let notes = [("semver.py", 6, "use a tuple")];
    let review = world.alice().remark(REPO, pull, &commit, "/approve", &notes).expect("posted");
    world.until("a first approval", |task| task.unjudged.len() == 1).await;
    let (forge, at) = (world.look(), caisson::forge::RepoRef::new("lab", "shop"));
    let notes = caisson::forge::ForgeReads::review_comments(&forge, &at, pull, review).await.expect("read");
    next_second().await;
    world.forge.lose_hooks(1);
    world.alice().edit_comment(REPO, notes[0].id, "use a tuple").expect("edited");
    world.until("the edit's delivery is lost", |_| world.forge.hooks_to_lose() == 0).await;
    world.forge.as_person("carol").approve(REPO, pull, &commit).expect("posted");
    world.until_state("final-review").await;
}

/// What is too long is not taken; but whoever asks for changes does not approve any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_approval_counts_no_more_once_its_author_asks_for_changes() {
    let world = where_two_approve().await;
    let (pull, commit) = at_review(&world).await;
    let (alice, carol) = (world.alice(), world.forge.as_person("carol"));
    alice.approve(REPO, pull, &commit).expect("posted");
    world.until("a first approval", |task| task.unjudged.len() == 1).await;
    let long = "x".repeat(16_001);
    alice.request_changes(REPO, pull, &commit, &long, &[("semver.py", 6, "use a tuple")]).expect("posted");
    world.until_said(pull, "Neither its words nor its verdict are taken").await;
    carol.approve(REPO, pull, &commit).expect("posted");
    world.until("one approval of two", |task| task.unjudged.len() == 2).await;
    stays(&world, pull).await;
    alice.approve(REPO, pull, &commit).expect("posted");
    world.until_state("final-review").await;
}

/// An approval that came too early is checked again while another one is held.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_came_early_is_looked_at_beside_one_that_is_held() {
    let mut world = where_two_approve().await;
    let held = Arc::new(Mutex::new("push"));
    let now = held.clone();
    world.cuts.set(move |row, _| row.effect.kind() == *now.lock().expect("whole"));
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("publishing").await;
    world.alice().comment(REPO, issue, "/approve").expect("said");
    world.until("an early approval", |task| task.unjudged.len() == 1).await;
    let early = world.task().await.unjudged;
    *held.lock().expect("whole") = "recheck";
    world.kill();
    world.start().await;
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.forge.as_person("carol").comment(REPO, pull, "/approve").expect("said");
    // The early one does not count; with a further one there are two.
    world.until("the fresh look", |task| task.unjudged.len() == 1 && task.unjudged != early).await;
    *held.lock().expect("whole") = "nothing";
    world.kill();
    world.start().await;
    world.approve().await;
    world.until_state("final-review").await;
}

/// A held approval that cannot be looked at holds up the other approval, and nobody's `/stop`.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_no_approval_that_is_held() {
    let mut world = where_two_approve().await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.approve().await;
    world.until("a first approval", |task| task.unjudged.len() == 1).await;
    world.kill();
    world.forge.refuse(&[("/collaborators/alice/permission", 500)]);
    let carol = world.forge.as_person("carol");
    carol.comment(REPO, pull, "/approve").expect("said");
    carol.comment(REPO, pull, "/stop").expect("said");
    world.start().await;
    world.until_state("cancelled").await;
    assert!(world.forge.times_refused() > 0, "it was looked at");
}

/// What was asked for under a pause is older than an approval after it, however soon that comes, and is lost to no second pause.
#[tokio::test(flavor = "multi_thread")]
async fn changes_asked_for_under_a_pause_come_before_a_later_approval() {
    let mut world = World::new(FIX).await;
    let carol = with_write(&world, "carol");
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/pause").expect("said");
    world.until_state("paused").await;
    carol.comment(REPO, pull, "/revise use no list").expect("said");
    world.until("held changes", |task| task.unjudged.len() == 1).await;
    // All of this is found in one reading.
    world.kill();
    for text in ["/resume", "/pause", "/resume", "/approve"] {
        world.alice().comment(REPO, pull, text).expect("said");
    }
    world.start().await;
    let used = |event: &Event| match event {
        Event::DecisionUsed { decision, .. } => Some((decision.poster.login.clone(), decision.verb.command())),
        _ => None,
    };
    world.until("work again", |task| task.actions > 5 || task.checkpoints.iter().any(|at| at.used)).await;
    let first = world.log().await.iter().find_map(used).expect("a decision");
    assert_eq!(first.0, "carol", "{first:?}");
}

/// While the engine is away nothing held can be judged: a pause that begins meanwhile holds it further, beside what comes under it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_outlives_a_second_pause() {
    let world = World::new(FIX).await;
    let (carol, dan) = (with_write(&world, "carol"), with_write(&world, "dan"));
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let say = |text: &'static str| {
        let _ = world.alice().comment(REPO, pull, text).expect("said");
    };
    world.settled().await;
    world.broker.set_away(true);
    say("/pause");
    world.until_state("paused").await;
    carol.comment(REPO, pull, "/revise use no list").expect("said");
    world.until("held changes", |task| task.unjudged.len() == 1).await;
    say("/resume");
    world.until_state("awaiting-review").await;
    say("/pause");
    world.until_state("paused").await;
    dan.comment(REPO, pull, "/revise nor a set").expect("said");
    world.until("more held changes", |task| task.unjudged.len() == 2).await;
    say("/resume");
    world.until_state("awaiting-review").await;
    world.broker.set_away(false);
    world.until("work again", |task| task.checkpoints.iter().any(|at| at.used)).await;
    let both = |task: &domain::Task| {
        let texts = format!("{:?} {:?}", task.remarks, task.numbered);
        texts.contains("use no list") && texts.contains("nor a set")
    };
    world.until("both remarks", both).await;
}

/// A held approval that cannot be looked at again keeps no task whose issue is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_issue_is_gone_ends_beside_an_approval_that_is_held() {
    let mut world = where_two_approve().await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.approve().await;
    world.until("a first approval", |task| task.unjudged.len() == 1).await;
    world.kill();
    world.forge.as_person("carol").comment(REPO, pull, "/approve").expect("said");
    world.forge.delete_issue(REPO, issue).expect("deleted");
    world.start().await;
    world.until_state("failed").await;
}
