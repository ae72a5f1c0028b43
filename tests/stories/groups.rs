//! Commands that the operator keeps for code owners or a team: asked of the base's `CODEOWNERS` and of the forge when the command is read.

use crate::retry::second;
use crate::world::{FIX, REPO, World};
use devforge::Access::{None, Write};
use devforge::Person;
use domain::Event;
use std::time::Duration;

/// A file that gives the code to alice, and the documents to bob.
const OWNERS: &str = "semver.py @alice\ndocs/.* @bob\n";

/// Somebody in the team `lab/core`, which may write.
pub fn in_core(world: &World) -> Person {
    let cody = world.forge.add_person("cody", "secret").expect("a person");
    world.forge.add_team(REPO, "core", None, &[("repo.code", Write)], &["cody"]).expect("a team");
    cody
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_owner_may_approve_what_she_owns_and_another_writer_may_not() {
    let who = "who.fix = [\"code_owners\"]\nwho.approve = [\"code_owners\"]";
    let mut world = World::with(FIX, who).await;
    world.push(&[("docs/CODEOWNERS", OWNERS)]);
    world.forge.add_collaborator(REPO, "bob", Write).expect("a right");
    let dora = world.forge.add_person("dora", "secret").expect("a person");
    world.forge.add_collaborator(REPO, "dora", Write).expect("a right");
    let issue = dora.open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_said(issue, "`/fix` is for code owners of what it is about here").await;
    // Before there is work, whoever owns anything may begin it.
    world.bob().comment(REPO, issue, "/fix").expect("said");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.checkpoint().and_then(|c| c.commit.clone()));
    let commit = commit.expect("a commit");
    world.bob().approve(REPO, pull, commit.as_str()).expect("posted");
    world.until_said(pull, "`/approve` is for code owners of what it is about here").await;
    let refused = |event: &Event| matches!(event, Event::DecisionRefused { reason, .. } if reason == domain::NOT_AMONG);
    assert!(world.log().await.iter().any(refused), "it is in the log");
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    let begun = world.task().await.request.expect("a request");
    assert_eq!((begun.right, begun.listed), (Some(domain::Access::Write), vec!["code_owners".to_owned()]));
    world.approve().await;
    world.until_state("final-review").await;
    let listed = world.log().await.into_iter().find_map(|event| match event {
        Event::DecisionUsed { decision, .. } => Some(decision.listed),
        _ => Option::None,
    });
    assert_eq!(listed, Some(vec!["code_owners".to_owned()]), "which list let her in is in the log");
    // The repository's own table stands in place of the installation's, command by command.
    world.reconfigure(|text| format!("{text}[repositories.who]\nstop = [\"@bob\"]\napprove = [\"admins\"]\n")).await;
    world.approve().await;
    world.until_said(pull, "`/approve` is for administrators of the repository here").await;
    world.bob().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_asked_of_the_forge_and_a_command_waits_while_that_does_not_answer() {
    let world = World::with(FIX, "who.fix = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    let issue = cody.open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let mut tries = 0;
    while world.forge.times_refused() < 2 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        tries += 1;
        assert!(tries < 600, "nobody asked who is in the team");
    }
    assert_eq!(world.said(issue).await, Vec::<String>::new(), "neither begun nor refused");
    world.forge.refuse(&[]);
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_said(issue, "`/fix` is for members of the team `lab/core` here").await;
}

/// A team that is not there, or that the bot may not see, lets nobody in.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_that_is_not_shown_has_no_members() {
    let world = World::with(FIX, "who.fix = [\"team:lab/none-such\"]").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_said(issue, "`/fix` is for members of the team `lab/none-such` here").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty());
}

/// From an organisation's former name the forge redirects, as from a repository's: nobody is in a team there, and the thread is heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_of_an_organisation_that_was_renamed_has_no_members() {
    let world = World::with(FIX, "who.approve = [\"team:lab/core\"]").await;
    in_core(&world);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.forge.refuse(&[("/orgs/lab/teams", 301)]);
    world.alice().comment(REPO, pull, "/approve").expect("said");
    world.until_said(pull, "`/approve` is for members of the team `lab/core` here").await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
}

/// What cannot be judged yet holds up later decisions, and nobody's `/stop`.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_no_team() {
    let mut world = World::with(FIX, "who.approve = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    cody.open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    world.kill();
    cody.comment(REPO, pull, "/approve").expect("said");
    cody.comment(REPO, pull, "/revise use a tuple").expect("said");
    world.alice().comment(REPO, pull, "/pause").expect("said");
    world.start().await;
    let task = world.until_state("paused").await;
    assert!(!task.checkpoint().expect("a checkpoint").used, "the approval was not judged: {task:?}");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    assert!(world.forge.times_refused() > 0);
}

/// A `/retry` that could not be judged in time begins nothing behind the `/stop` that was written after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_to_begin_an_attempt_before_a_stop_begins_none_after_it() {
    let mut world = World::with(FIX, "who.retry = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    cody.open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    world.kill();
    cody.comment(REPO, pull, "/retry").expect("said");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.start().await;
    world.until_state("cancelled").await;
    assert!(world.forge.times_refused() > 0, "the `/retry` was not judged");
    world.forge.refuse(&[]);
    world.until_said(pull, "`/retry` was written before task 1 began or was ended").await;
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.store().tasks(9).await.expect("read").len(), 1, "no attempt began");
    cody.comment(REPO, pull, "/retry").expect("said");
    second(&world, "awaiting-review").await;
}

/// Its file may name groups, as the operator's table does.
#[tokio::test(flavor = "multi_thread")]
async fn an_own_command_may_be_for_a_team_or_for_code_owners() {
    let world = World::new(FIX).await;
    let command = |who: &str| format!("+++\ndescription = \"d\"\nwho = [\"{who}\"]\n+++\nCompare {{words}}.\n");
    let (core, owned) = (command("team:lab/core"), command("code_owners"));
    let files = [(".caisson/commands/core.md", core.as_str()), (".caisson/commands/owned.md", owned.as_str())];
    world.push(&[&files[..], &[("docs/CODEOWNERS", OWNERS)]].concat());
    let cody = in_core(&world);
    let dora = world.forge.add_person("dora", "secret").expect("a person");
    world.forge.add_collaborator(REPO, "dora", Write).expect("a right");
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "By their numbers.").expect("issue");
    dora.comment(REPO, issue, "/core versions").expect("said");
    world.until_said(issue, "`dora`: `/core` is for members of the team").await;
    let other = world.alice().open_issue(REPO, "Versions compare as text", "By their numbers.").expect("issue");
    dora.comment(REPO, other, "/owned versions").expect("said");
    world.until_said(other, "`dora`: `/owned` is for code owners of what it is about").await;
    world.alice().comment(REPO, other, "/owned versions").expect("said");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until_state("cancelled").await;
    cody.comment(REPO, issue, "/core versions").expect("said");
    world.until_said(issue, "### Task 2: ").await;
    let begun = world.store().task(domain::TaskId(2)).await.expect("read").request.expect("a request");
    assert_eq!(begun.listed, ["team:lab/core"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_allow_no_host_still_takes_one_back_in_the_same_text() {
    let world = World::networked(FIX, "who.allow = [\"team:lab/core\"]").await;
    in_core(&world);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "By their numbers.").expect("issue");
    world.alice().comment(REPO, issue, "/allow a.example\n/deny b.example").expect("said");
    let told = world.until_said(issue, "nobody allowed `b.example` for this repository").await;
    assert!(told.contains("`/allow` is for members of the team"), "{told}");
}

/// Hosts are taken back beside a command that its author may not give, or that begins nothing where it stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_deny_counts_beside_a_command_that_begins_nothing() {
    let world = World::networked(FIX, "who.retry = [\"team:lab/core\"]").await;
    in_core(&world);
    let text = "/fix\n\n/allow a.example repo\n/allow b.example repo";
    let issue = world.alice().open_issue(REPO, "Versions compare as text", text).expect("issue");
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.alice().comment(REPO, issue, "/retry\n/deny a.example").expect("said");
    world.until_said(issue, "`/retry` is for members of the team").await;
    world.until_said(issue, "took back `a.example` for this repository").await;
    world.alice().close(REPO, issue).expect("closed");
    world.alice().comment(REPO, issue, "/fix\n/deny b.example").expect("said");
    let told = world.until_said(issue, "this issue is closed").await;
    assert!(told.contains("took back `b.example` for this repository"), "{told}");
    assert!(world.store().grants("shop").await.expect("read").is_empty());
}

/// Hosts that are to be taken back are taken back before a task begins; what only asks is answered meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_waits_for_a_deny_that_cannot_be_judged_and_an_answer_does_not() {
    let world = World::networked(FIX, "who.deny = [\"team:lab/core\"]").await;
    let cody = in_core(&world);
    world.forge.refuse(&[("/orgs/lab/teams", 503)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "By their numbers.").expect("issue");
    cody.comment(REPO, issue, "/deny semver.org").expect("said");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.alice().comment(REPO, issue, "/help").expect("said");
    world.until_said(issue, "A command stands at the beginning of a line").await;
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "it would begin with the host");
    world.forge.refuse(&[]);
    world.until_said(issue, "nobody allowed `semver.org` for this repository").await;
    world.until_state("awaiting-review").await;
}
