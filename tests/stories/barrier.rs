//! While the barrier is not proven, hooks are accepted and people answered, but nothing of an agent runs.

use caisson::barrier::BarrierState;
use caisson::sandbox::broker::Broker;
use protocol::broker::ContainerState;

use crate::world::{FIX, REPO, World, held};

#[tokio::test(flavor = "multi_thread")]
async fn no_task_starts_and_none_goes_on_before_the_barrier_is_proven() {
    let mut world = World::new(FIX).await;
    world.barrier.send_replace(BarrierState::Broken(vec!["check 18 (sockets of engines): OPEN".to_owned()]));
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.alice().comment(REPO, 1, "/status").expect("asked");
    world.until_said(1, "in line").await;
    assert_eq!(world.task().await.state.name(), "queued");
    let answer = reqwest::get(format!("{}/readyz", world.ops())).await.expect("answered");
    assert_eq!(answer.status(), 503);
    let said = answer.text().await.expect("read");
    assert!(said.contains("barrier: does not hold") && said.contains("check 18"), "{said}");

    world.barrier.send_replace(BarrierState::Proven);
    world.until_state("awaiting-review").await;
    assert_eq!(reqwest::get(format!("{}/readyz", world.ops())).await.expect("answered").status(), 200);

    // An approved task waits in line as well, also after a restart.
    world.barrier.send_replace(BarrierState::Waiting("it is about to be tried".to_owned()));
    world.stop().await;
    world.start().await;
    world.approve().await;
    let pull = world.until_state("queued").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/status").expect("asked");
    world.until_said(pull, "in line").await;
    let states: Vec<ContainerState> = world.broker.list().await.expect("listed").iter().map(|it| it.state).collect();
    assert_eq!(states, [ContainerState::Paused], "its sandbox was not woken");
    world.barrier.send_replace(BarrierState::Proven);
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_at_work_when_the_bot_ended_waits_for_the_barrier_too() {
    let mut world = World::new(&held()).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    world.kill();
    world.barrier.send_replace(BarrierState::Waiting("it is about to be tried".to_owned()));
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.start().await;
    world.alice().comment(REPO, issue, "/status").expect("asked");
    world.until_said(issue, "at work").await;
    let task = world.task().await;
    assert_eq!((task.actions, task.running), (1, Some(1)), "nobody has asked the sandbox for the result yet");
    world.barrier.send_replace(BarrierState::Proven);
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_does_not_hold_runs_nothing_and_the_person_is_told_which_check() {
    let world = World::new(FIX).await;
    let wrong = "check 9 (routes): routes: default via 10.0.0.1";
    world.inspector.0.lock().expect("whole").push(wrong.to_owned());
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let said = world.until_said(1, "the barrier does not hold in this task's sandbox").await;
    assert!(said.contains("check 9") && said.contains("routes"), "{said}");
    let task = world.until_state("paused").await;
    assert_eq!(task.spent.actions, 0);
    assert!(world.broker.list().await.expect("listed").is_empty(), "and the sandbox is gone");

    // Once the barrier holds, the work continues from its beginning.
    world.inspector.0.lock().expect("whole").clear();
    world.alice().comment(REPO, 1, "/resume").expect("said");
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_barrier_cannot_be_proven_tasks_are_refused_with_the_reason() {
    let mut world = World::new(FIX).await;
    let why = "the static runner is of another build, so no task can run; the operator has to make it anew";
    world.barrier.send_replace(BarrierState::Waiting("it is about to be tried".to_owned()));
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("queued").await;
    world.barrier.send_replace(BarrierState::Refused(why.to_owned()));
    let said = world.until_said(1, "of another build").await;
    assert!(said.contains("make it anew") && said.contains("`/resume`"), "{said}");
    world.until_state("paused").await;
    assert!(world.broker.list().await.expect("listed").is_empty(), "nothing was made");
    let ready = reqwest::get(format!("{}/readyz", world.ops())).await.expect("answered").text().await.expect("read");
    assert!(ready.contains("barrier: can't be proven: the static runner"), "{ready}");

    world.barrier.send_replace(BarrierState::Proven);
    world.alice().comment(REPO, 1, "/resume").expect("said");
    world.until_state("awaiting-review").await;

    // After a restart a task that was under way is refused as well.
    world.stop().await;
    world.barrier.send_replace(BarrierState::Refused(why.to_owned()));
    world.start().await;
    world.approve().await;
    world.until_state("paused").await;
    world.barrier.send_replace(BarrierState::Proven);
    world.alice().comment(REPO, 1, "/resume").expect("said");
    world.until_state("final-review").await;
}
