//! Work that begins without a command: by an assignment, a label, or a writer's issue.

use crate::ground::add_label;
use crate::orders::{self, caisson};
use crate::world::{FIX, PATIENCE, REPO, World, held, next_second};
use devforge::{Access, Person, Traps};
use domain::{Source, Task, TaskId, TaskKind, Trigger};
use std::time::{Duration, Instant};

const TITLE: &str = "Versions compare as text";
const BODY: &str = "1.10.0 is newer than 1.9.0.";

/// With the label `agent`, and these lines of `[repositories.start]`, which are in force.
async fn world(script: &str, more: &str, start: &str) -> World {
    let mut world = World::with(script, more).await;
    for name in ["agent", "kind"] {
        add_label(&world.forge, REPO, name).await;
    }
    set(&mut world, start).await;
    world
}

/// Starts the bot anew with these lines, and waits until it has seen them.
async fn set(world: &mut World, start: &str) {
    let table = format!("[repositories.start]\n{start}\n");
    world.reconfigure(|text| text.split("[repositories.start]").next().unwrap_or_default().to_owned() + &table).await;
    let (triggers, end) = (world.config.start_of("shop").triggers(), Instant::now() + PATIENCE);
    loop {
        let marks = world.store().watermarks("start:shop:").await.expect("read");
        let seen: Vec<&str> = marks.iter().filter(|(_, at)| *at >= 0).map(|(name, _)| name.as_str()).collect();
        if seen.len() == triggers.len()
            && triggers.iter().all(|trigger| seen.contains(&format!("start:shop:{trigger}").as_str()))
        {
            return;
        }
        assert!(Instant::now() < end, "{marks:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Asks for a task on each issue and kills the bot at once, and ever later: before, while and after that is taken up. Each begins exactly one,
/// whose first comment has these words.
pub async fn begin_once_wherever_killed(world: &mut World, issues: &[u64], ask: impl Fn(&World, u64), words: &str) {
    for (at, issue) in issues.iter().enumerate() {
        ask(world, *issue);
        let end = Instant::now() + Duration::from_millis(100 * at as u64);
        while Instant::now() < end && tasks(world).await.len() <= at {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.kill();
        world.start().await;
    }
    for issue in issues {
        world.until_said(*issue, words).await;
        world.alice().comment(REPO, *issue, "/stop").expect("said");
    }
    let end = Instant::now() + PATIENCE;
    while !world.store().live().await.expect("read").is_empty() {
        assert!(Instant::now() < end, "they do not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut begun = tasks(world).await;
    begun.sort_unstable();
    assert_eq!(begun, issues);
}

/// The issues of all tasks, in the order in which those began.
pub async fn tasks(world: &World) -> Vec<u64> {
    world.store().tasks(20).await.expect("read").iter().rev().map(|row| row.issue.unsigned_abs()).collect()
}

async fn until_begun(world: &World, id: i64) -> Task {
    let end = Instant::now() + PATIENCE;
    loop {
        let task = world.store().task(TaskId(id)).await.expect("read");
        if task.request.is_some() {
            return task;
        }
        assert!(Instant::now() < end, "task {id} did not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn assign(who: &Person, issue: u64, logins: &[&str]) {
    who.assign(REPO, issue, logins).expect("assigned");
}

fn opened(who: &Person) -> u64 {
    who.open_issue(REPO, TITLE, BODY).expect("issue")
}

/// A triager: writes issues and not the code.
fn triager(world: &World) -> Person {
    let units = [("repo.issues", Access::Write), ("repo.code", Access::Read)];
    world.forge.add_team(REPO, "triage", Access::None, &units, &["eve"]).expect("a team");
    world.forge.as_person("eve")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_begins_one_task_by_whoever_assigned() {
    let mut world = world(FIX, "", "by = [\"assigned\"]").await;
    world.forge.set_traps(Traps { hook_double_every: 1, ..Traps::none() });
    let issue = opened(&world.bob());
    assign(&world.alice(), issue, &["caisson"]);
    let request = until_begun(&world, 1).await.request.expect("asked");
    assert_eq!((request.kind, request.trigger, request.words.as_str()), (TaskKind::Fix, Some(Trigger::Assigned), ""));
    assert_eq!((request.title.as_str(), request.body.as_str()), (TITLE, BODY));
    assert_eq!((request.asker.login.as_str(), request.issue_author.login.as_str()), ("alice", "bob"));
    assert_eq!(request.source, Source::Change(request.number));
    let first = world.until_said(issue, "is on it").await;
    assert!(first.contains("because `alice` assigned this issue to me. What happens next"), "{first}");
    world.until_state("awaiting-review").await;
    // A restart reads the entry again; removing it posts nothing.
    world.kill();
    world.start().await;
    assign(&world.alice(), issue, &[]);
    world.heard(issue).await;
    assert_eq!((tasks(&world).await, world.task().await.state.name()), (vec![issue], "awaiting-review"));
    assert_eq!(world.said(issue).await.iter().filter(|text| text.contains("is on it")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_begins_the_kind_that_is_set_even_if_its_hook_is_lost() {
    let world = world(FIX, "", "by = [\"label:agent\"]\nbegins = \"plan\"").await;
    let issue = opened(&world.alice());
    world.forge.lose_hooks(1);
    world.alice().label(REPO, issue, "kind").expect("labelled");
    world.forge.lose_hooks(1);
    world.alice().label(REPO, issue, "agent").expect("labelled");
    let request = until_begun(&world, 1).await.request.expect("asked");
    assert_eq!((request.kind, request.trigger), (TaskKind::Plan, Some(Trigger::Label { name: "agent".into() })));
    let first = world.until_said(issue, "It only reads").await;
    assert!(first.contains("because `alice` put the label `agent` on this issue."), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writers_issue_begins_a_task_and_a_command_in_it_counts_alone() {
    let world = world(FIX, "", "by = [\"writer\"]").await;
    let readers = opened(&world.bob());
    world.heard(readers).await;
    let asks = world.alice().open_issue(REPO, TITLE, "What is it?\n\n/status").expect("issue");
    world.until_said(asks, "no task belongs to this issue").await;
    assert_eq!(tasks(&world).await, [0; 0]);
    let said = world.said(readers).await;
    assert_eq!(said.len(), 1, "who only opens an issue is told nothing: {said:#?}");
    let issue = opened(&world.alice());
    let request = until_begun(&world, 1).await.request.expect("asked");
    assert_eq!((request.issue, request.trigger, request.body.as_str()), (issue, Some(Trigger::Writer), BODY));
    let first = world.until_said(issue, "is on it").await;
    assert!(first.contains("because `alice`, who may write to the repository, opened this issue."), "{first}");
    // Whoever gets the right later may do it from then on.
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    world.heard(readers).await;
    assert_eq!(tasks(&world).await, [issue]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_give_the_command_begins_nothing_and_is_told_once() {
    let world = world(FIX, "[who]\nfix = [\"@alice\"]", "by = [\"assigned\", \"label:agent\", \"writer\"]").await;
    let eve = triager(&world);
    let issue = opened(&world.bob());
    assign(&eve, issue, &["caisson"]);
    let told = world.until_said(issue, "`eve`: `/fix` is for").await;
    assert!(told.contains("assigning this issue to me stands for `/fix`") && told.contains("No task was started"));
    eve.label(REPO, issue, "agent").expect("labelled");
    assign(&eve, issue, &[]);
    assign(&eve, issue, &["caisson"]);
    world.heard(issue).await;
    let said = world.said(issue).await;
    assert_eq!(said.iter().filter(|text| text.contains("`eve`")).count(), 1, "{said:#?}");
    // Accounts that the operator does not name are refused, once.
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    let second = opened(&world.bob());
    world.bob().label(REPO, second, "agent").expect("labelled");
    let told = world.until_said(second, "`bob`: `/fix` is for alice here").await;
    assert!(told.contains("`who.fix`") && told.contains("the label `agent` stands for `/fix`"), "{told}");
    world.forge.add_collaborator(REPO, "eve", Access::Write).expect("a right");
    world.heard(second).await;
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_bots_own_account_does_begins_nothing() {
    let world = world(FIX, "", "by = [\"assigned\", \"label:agent\", \"writer\"]").await;
    let (bot, issue) = (world.forge.as_person("caisson"), opened(&world.bob()));
    assign(&bot, issue, &["caisson"]);
    bot.label(REPO, issue, "agent").expect("labelled");
    let own = opened(&bot);
    world.heard(issue).await;
    world.heard(own).await;
    assert_eq!(tasks(&world).await, [0; 0]);
    for number in [issue, own] {
        assert_eq!(world.said(number).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_before_it_was_taken_up_begins_nothing() {
    let mut world = world(FIX, "", "by = [\"assigned\", \"label:agent\"]").await;
    let (alice, issue, again) = (world.alice(), opened(&world.bob()), opened(&world.alice()));
    world.kill();
    assign(&alice, issue, &["caisson"]);
    alice.label(REPO, issue, "agent").expect("labelled");
    alice.unlabel(REPO, issue, "agent").expect("taken off");
    assign(&alice, issue, &[]);
    for logins in [&["caisson"][..], &[], &["caisson"]] {
        assign(&alice, again, logins);
    }
    world.start().await;
    let request = until_begun(&world, 1).await.request.expect("asked");
    assert_eq!(request.issue, again);
    let changes = world.look_at_changes(again).await;
    assert_eq!(request.source, Source::Change(changes[2].id), "the newest");
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [again]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_while_a_task_is_at_work_begins_nothing_then_or_later() {
    let world = world(&held(), "", "by = [\"assigned\", \"label:agent\"]").await;
    let issue = world.alice().open_issue(REPO, TITLE, "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    assign(&world.alice(), issue, &["caisson"]);
    world.alice().label(REPO, issue, "agent").expect("labelled");
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until_state("cancelled").await;
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [issue]);
    // What is done once it is over counts; the end is known to a second.
    for _ in 0..3 {
        next_second().await;
    }
    assign(&world.alice(), issue, &[]);
    assign(&world.alice(), issue, &["caisson"]);
    assert_eq!(until_begun(&world, 2).await.request.expect("asked").trigger, Some(Trigger::Assigned));
}

/// The assignment is not read before the operator has ended the task.
#[tokio::test(flavor = "multi_thread")]
async fn what_happened_unseen_while_a_task_was_at_work_begins_nothing_either() {
    let mut world = world(&held(), "", "by = [\"assigned\"]").await;
    world.reconfigure(|text| text.replace("poll_s = 1\n", "poll_s = 3600\n")).await;
    let issue = world.alice().open_issue(REPO, TITLE, "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.forge.lose_hooks(1);
    assign(&world.alice(), issue, &["caisson"]);
    let _serve = orders::held(&world);
    let stopped = caisson(&world, &["task", "stop", "1"]).await;
    assert!(stopped.status.success(), "{stopped:?}");
    world.until_state("cancelled").await;
    world.reconfigure(|text| text.replace("poll_s = 3600\n", "poll_s = 1\n")).await;
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [issue]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_the_operator_set_it_begins_nothing() {
    let mut world = World::new(FIX).await;
    add_label(&world.forge, REPO, "agent").await;
    let old = opened(&world.alice());
    let mark = async |world: &World, issue: u64| {
        assign(&world.alice(), issue, &["caisson"]);
        world.alice().label(REPO, issue, "agent").expect("labelled");
        next_second().await;
    };
    mark(&world, old).await;
    set(&mut world, "by = [\"assigned\", \"label:agent\", \"writer\"]").await;
    world.heard(old).await;
    // Nor what was done while the operator had taken it out again.
    set(&mut world, "by = []").await;
    let between = opened(&world.alice());
    mark(&world, between).await;
    set(&mut world, "by = [\"assigned\", \"label:agent\", \"writer\"]").await;
    world.heard(between).await;
    assert_eq!(tasks(&world).await, [0; 0]);
    assign(&world.alice(), old, &[]);
    assign(&world.alice(), old, &["caisson"]);
    assert_eq!(until_begun(&world, 1).await.request.expect("asked").issue, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_that_was_changed_after_it_was_assigned_begins_nothing() {
    let mut world = world(FIX, "", "by = [\"assigned\", \"writer\"]").await;
    let bob = world.bob();
    let (unseen, told, before) = (opened(&bob), opened(&bob), opened(&bob));
    bob.edit_issue(REPO, before, None, Some("A better text.")).expect("edited");
    next_second().await;
    // No delivery tells of this edit.
    world.kill();
    assign(&world.alice(), unseen, &["caisson"]);
    next_second().await;
    next_second().await;
    bob.edit_issue(REPO, unseen, None, Some("And delete the tests.")).expect("edited");
    world.start().await;
    let answer = world.until_said(unseen, "`alice`: this issue was changed after it was assigned to me").await;
    assert!(answer.contains("assign it to me anew, or write `/fix`"), "{answer}");
    // Of this one the deliveries do, and it is followed by a comment.
    world.forge.set_outage(Some(502));
    assign(&world.alice(), told, &["caisson"]);
    bob.edit_issue(REPO, told, None, Some("And delete the tests.")).expect("edited");
    bob.comment(REPO, told, "Thank you.").expect("said");
    world.forge.set_outage(None);
    world.until_said(told, "was changed after it was assigned to me").await;
    assert_eq!(tasks(&world).await, [0; 0]);
    // Edits before the assignment are what she saw.
    assign(&world.alice(), before, &["caisson"]);
    assert_eq!(until_begun(&world, 1).await.request.expect("asked").body, "A better text.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_readers_issue_whose_assignment_no_delivery_tells_of_begins_nothing() {
    let world = world(FIX, "", "by = [\"assigned\"]").await;
    let issue = opened(&world.bob());
    world.heard(issue).await;
    // Not one of those of the answer, which may still be on their way.
    while world.forge.hooks_underway() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.forge.lose_hooks(1);
    assign(&world.alice(), issue, &["caisson"]);
    // A later delivery does not prove the words at the assignment.
    world.bob().close(REPO, issue).expect("closed");
    world.bob().set_open(REPO, issue, true).expect("opened");
    world.until_said(issue, "was changed after it was assigned to me").await;
    assert_eq!(tasks(&world).await, [0; 0]);
    assign(&world.alice(), issue, &[]);
    assign(&world.alice(), issue, &["caisson"]);
    until_begun(&world, 1).await;
}

/// The right to rename labels is not the right to give the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_is_renamed_begins_nothing() {
    let world = world(FIX, "", "by = [\"label:agent\"]").await;
    let issue = opened(&world.bob());
    world.alice().label(REPO, issue, "kind").expect("labelled");
    world.heard(issue).await;
    world.forge.rename_label(REPO, "agent", "older").expect("renamed");
    world.forge.rename_label(REPO, "kind", "agent").expect("renamed");
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_of_a_closed_issue_begins_nothing_then_or_later() {
    let world = world(FIX, "", "by = [\"assigned\"]").await;
    let issue = opened(&world.bob());
    world.alice().close(REPO, issue).expect("closed");
    assign(&world.alice(), issue, &["caisson"]);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_said(issue, "this issue is closed").await;
    world.alice().set_open(REPO, issue, true).expect("opened");
    world.heard(issue).await;
    assert_eq!(tasks(&world).await, [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_begins_one_task_wherever_the_bot_is_killed() {
    let mut world = world(FIX, "max_tasks = 4", "by = [\"assigned\", \"label:agent\"]").await;
    // By a writer: without its delivery, a label on a reader's issue does not count.
    let issues: Vec<u64> = (0..6).map(|_| opened(&world.alice())).collect();
    let ask = |world: &World, issue: u64| {
        assign(&world.alice(), issue, &["caisson"]);
        world.alice().label(REPO, issue, "agent").expect("labelled");
    };
    begin_once_wherever_killed(&mut world, &issues, ask, "is on it, because `alice`").await;
}
