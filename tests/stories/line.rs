//! Several tasks at once: which is next, within which limits, and files that two of them change.

use crate::world::{FIX, PATIENCE, REPO, World, held};
use devforge::Access;
use domain::TaskId;
use std::time::{Duration, Instant};

/// Waits until the tasks are in these states, in order of their numbers.
async fn until_states(world: &World, states: &[&str]) {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut rows = world.store().tasks(20).await.expect("read");
        rows.reverse();
        if rows.iter().map(|row| row.state.as_str()).eq(states.iter().copied()) {
            return;
        }
        assert!(Instant::now() < end, "waited for {states:?}: {rows:?}");
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

fn let_go(world: &World, name: &str) {
    std::fs::write(world.broker.workspace(name).join("go"), "").expect("let go");
}

async fn with_carol(more: &str) -> World {
    let world = World::with(&held(), more).await;
    world.forge.add_person("carol", "secret").expect("a person");
    world.forge.add_collaborator(REPO, "carol", Access::Write).expect("a right");
    world
}

fn open(world: &World, login: &str) -> u64 {
    world.forge.as_person(login).open_issue(REPO, "Versions compare as text", "/fix").expect("issue")
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_first_task_waits_comes_before_another_persons_second_also_after_a_kill() {
    let mut world = with_carol("max_tasks = 1").await;
    open(&world, "alice");
    until_states(&world, &["running"]).await;
    let (second, _) = (open(&world, "alice"), until_states(&world, &["running", "queued"]).await);
    let (third, _) = (open(&world, "alice"), until_states(&world, &["running", "queued", "queued"]).await);
    world.until_said(second, "in line first, number 1 of 1: the only place is taken").await;
    open(&world, "carol");
    until_states(&world, &["running", "queued", "queued", "queued"]).await;
    world.alice().comment(REPO, third, "/status").expect("said");
    world.until_said(third, "Task 3 is in line for a free place, number 3 of 3: the only place is taken.").await;
    world.kill();
    world.start().await;
    let_go(&world, "task-1-1");
    until_states(&world, &["awaiting-review", "queued", "queued", "running"]).await;
    let_go(&world, "task-4-1");
    until_states(&world, &["awaiting-review", "running", "queued", "awaiting-review"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_and_a_repository_hold_beside_free_slots_also_after_a_kill() {
    let mut world = with_carol("max_tasks = 4\n[slots]\nper_repository = 2\nper_person = 1").await;
    open(&world, "alice");
    until_states(&world, &["running"]).await;
    let second = open(&world, "alice");
    until_states(&world, &["running", "queued"]).await;
    world.until_said(second, "`alice` has 1 task at work, and may have no more").await;
    open(&world, "carol");
    until_states(&world, &["running", "queued", "running"]).await;
    world.kill();
    world.start().await;
    world.alice().comment(REPO, second, "/status").expect("said");
    world.until_said(second, "number 1 of 1: its repository has 2 tasks at work, and may have no more").await;
    until_states(&world, &["running", "queued", "running"]).await;
    let_go(&world, "task-1-1");
    until_states(&world, &["awaiting-review", "running", "running"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tasks_that_change_the_same_file_say_so_in_both_reviews() {
    let world = World::new(FIX).await;
    open(&world, "alice");
    let first = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let alone = world.until_said(first, "### Checkpoint 1 ").await;
    assert!(!alone.contains("Changed by other tasks too"), "{alone}");
    open(&world, "alice");
    until_states(&world, &["awaiting-review", "awaiting-review"]).await;
    let second = world.store().task(TaskId(2)).await.expect("read").pull.expect("a pull request");
    let review = world.until_said(second, "### Checkpoint 1 ").await;
    assert!(review.contains(&format!("⚠️ task 1 (pull request #{first}): `semver.py`.")), "{review}");
    world.approve().await;
    let later = world.until_said(first, "### Final review").await;
    assert!(later.contains(&format!("⚠️ task 2 (pull request #{second}): `semver.py`.")), "{later}");
}
