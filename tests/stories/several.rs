//! Two hosts, each a bot with its own state directory and engine, on one PostgreSQL database. Hosts are ended by `kill -9`, unless a story
//! says otherwise.

use crate::dice::{Dice, number};
use crate::second_host::SecondHost;
use crate::world::{FIX, PATIENCE, REPO, World, held, postgres};
use caisson::store::Host;
use domain::{Event, Loss, OutcomeStatus, TaskId};
use std::time::{Duration, Instant};

/// A world whose first host polls once a second, and works for the repository.
async fn world(script: &str) -> Option<World> {
    let store = postgres()?;
    let world = World::with(script, &store).await;
    until_held(&world, &["main"]).await;
    Some(world)
}

/// The installations of the hosts that hold the repository's lease.
async fn holders(world: &World) -> Vec<String> {
    let hosts: Vec<Host> = world.store().hosts().await.expect("read");
    let holds = hosts.into_iter().filter(|host| !host.repositories.is_empty());
    holds.map(|host| host.address.split(['(', ',']).nth(1).unwrap_or_default().to_owned()).collect()
}

async fn until_held(world: &World, by: &[&str]) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = holders(world).await;
        if found.iter().map(String::as_str).eq(by.iter().copied()) {
            return;
        }
        assert!(Instant::now() < end, "waited for {by:?}; it is {found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Until when the leases last that somebody has, from now on.
async fn longest_lease_ms(world: &World) -> i64 {
    let sql = "SELECT MAX(until - CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)) FROM leases";
    sqlx::query_scalar(sql).fetch_one(&world.by_hand().await).await.expect("read")
}

async fn owner(world: &World) -> String {
    world.store().task_row(TaskId(1)).await.expect("read").expect("there").owner
}

/// Nothing was posted twice, each action ended once, and actions that may have run twice say so.
async fn judge(world: &World, issue: u64) {
    let (task, log) = (world.task().await, world.log().await);
    let ended: Vec<u32> = log
        .iter()
        .filter_map(|event| if let Event::ActionFinished { number, .. } = event { Some(*number) } else { None })
        .collect();
    let started: Vec<u32> = log
        .iter()
        .filter_map(|event| if let Event::ActionStarted { number, .. } = event { Some(*number) } else { None })
        .collect();
    assert_eq!(started, ended, "each action that began ended, once");
    let mut said = world.said(issue).await;
    said.extend(world.said(task.pull.expect("a pull request")).await);
    let mut marks: Vec<String> = said
        .iter()
        .filter_map(|text| text.split("caisson:1:").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned))
        .collect();
    let all = marks.len();
    marks.sort();
    marks.dedup();
    assert_eq!(marks.len(), all, "something was said twice: {said:#?}");
    let next = caisson::forge::RepoRef::new("lab", "shop");
    let next = caisson::forge::ForgeReads::issue(&world.look(), &next, task.pull.unwrap_or(0) + 1).await;
    assert!(next.is_err(), "a second pull request");
}

/// Approves each checkpoint until the task is approved.
async fn to_the_end(world: &World, issue: u64) {
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    world.until_state("approved").await;
    judge(world, issue).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_at_an_action_is_followed_by_the_other() {
    let Some(mut world) = world(&held()).await else { return };
    let mut beside = SecondHost::new(&world, |text| text);
    beside.start(&world).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action", |task| task.used == 1).await;
    // The other host's copy of that action does not wait, because it runs in another workspace.
    world.kill();
    let killed = Instant::now();
    until_held(&world, &["beside"]).await;
    assert!(killed.elapsed() < Duration::from_secs(30), "the lease lasts 10 s");
    world.until("the first action's end", |task| task.used > 1 || task.state.name() == "awaiting-review").await;
    let log = world.log().await;
    let first = log.iter().find_map(|event| match event {
        Event::ActionFinished { number: 1, outcome } => Some(outcome.status.clone()),
        _ => None,
    });
    assert_eq!(first, Some(OutcomeStatus::Interrupted), "it may have run");
    let lost = |event: &Event| matches!(event, Event::SandboxLost { loss: Loss::Moved, .. });
    assert!(log.iter().any(lost), "{log:?}");
    to_the_end(&world, issue).await;
    // The first host's sandbox is older than the log, so it is removed as soon as that host is back.
    assert!(world.broker.workspace("task-1-1").exists());
    world.start().await;
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_and_not_pushed_is_pushed_by_the_other() {
    let Some(mut world) = world(FIX).await else { return };
    world.cuts.set(|row, _| row.effect.kind() == "push");
    let mut beside = SecondHost::new(&world, |text| text);
    beside.start(&world).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let captured = |task: &domain::Task| task.state.name() == "publishing" && task.seq > 0;
    world.until("a sealed tree", captured).await;
    let end = Instant::now() + PATIENCE;
    while !world.log().await.iter().any(|event| matches!(event, Event::TreeCaptured { .. })) {
        assert!(Instant::now() < end, "never sealed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.kill();
    to_the_end(&world, issue).await;
    let captured = |event: &&Event| matches!(event, Event::TreeCaptured { n: 1, .. });
    assert_eq!(world.log().await.iter().filter(captured).count(), 1, "the same commit, though its host is gone");
}

/// As where its pack takes longer than the server waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_cannot_be_stored_for_other_hosts_is_pushed_all_the_same() {
    let Some(world) = world(FIX).await else { return };
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'; \
                  CREATE TRIGGER refuse BEFORE INSERT ON packs FOR EACH ROW EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refuse).execute(&world.by_hand().await).await.expect("made");
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    to_the_end(&world, issue).await;
}

/// Both are restarted, one after the other: what a host that stops keeps ends within a lease, what is approved while it is away is done by
/// the other before it is back, and nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_leaves_no_gap() {
    let Some(mut world) = world(FIX).await else { return };
    let mut beside = SecondHost::new(&world, |text| text);
    beside.start(&world).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.stop().await;
    assert!(longest_lease_ms(&world).await <= 10_000);
    world.approve().await;
    let task = world.until_state("final-review").await;
    assert_eq!(task.checkpoints.len(), 2);
    until_held(&world, &["beside"]).await;
    world.start().await;
    beside.stop().await;
    assert!(longest_lease_ms(&world).await <= 10_000);
    world.approve().await;
    world.until_state("approved").await;
    until_held(&world, &["main"]).await;
    judge(&world, issue).await;
    world.nothing_left().await;
}

/// Sandbox and lease still exist, so no other host takes over.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_back_at_once_goes_on_where_it_was() {
    let Some(mut world) = world(FIX).await else { return };
    let mut beside = SecondHost::new(&world, |text| text);
    beside.start(&world).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("some work", |task| task.used >= 2).await;
    let before = owner(&world).await;
    world.stop().await;
    world.start().await;
    to_the_end(&world, issue).await;
    assert_eq!(owner(&world).await, before);
    assert!(!world.log().await.iter().any(|event| matches!(event, Event::SandboxLost { .. })));
}

/// The forge calls one host while another works for the repository.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_may_arrive_at_any_host() {
    let Some(mut world) = world(FIX).await else { return };
    // It polls once an hour, so it is woken by what the other host stored.
    let mut beside = SecondHost::new(&world, |text| text.replace("poll_s = 1\n", "poll_s = 3600\n"));
    beside.start(&world).await;
    world.stop().await;
    until_held(&world, &["beside"]).await;
    let end = Instant::now() + PATIENCE;
    while world.store().watermark("shop").await.expect("read").is_none() {
        assert!(Instant::now() < end, "the first reading never ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.start().await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    to_the_end(&world, issue).await;
    assert_eq!(holders(&world).await, ["beside"]);
    assert!(world.broker.created.lock().expect("created").is_empty(), "nothing of it ran on the first host");
}

/// What is left to answer where a kill lost an answer, or both hosts lost what was done.
const SPARE: &str = r#"
[[turn]]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;

/// Either host is killed at random, and comes back before or after its leases end. `make soak` asks for more kills (CAISSON_KILLS);
/// CAISSON_SEED repeats a run.
#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_are_killed_wherever_the_dice_fall_finish_the_task() {
    let wanted = number("CAISSON_KILLS").unwrap_or(6);
    let ((mut dice, seed), mut kills) = (Dice::cast(), 0);
    while kills < wanted {
        let Some(mut world) = world(&format!("{FIX}{}", SPARE.repeat(12))).await else { return };
        let mut beside = SecondHost::new(&world, |text| text);
        beside.start(&world).await;
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let (mut back, mut next) = ([Instant::now(); 2], Instant::now() + Duration::from_millis(dice.roll(3_000)));
        let (mut approved, mut resumed, limit) = (0, 0, Instant::now() + Duration::from_secs(600));
        loop {
            let now = Instant::now();
            assert!(now < limit, "CAISSON_SEED={seed}: came no further than {:?}", world.task().await.state);
            if now >= next && kills < wanted && (world.is_running() || beside.is_running()) {
                let first =
                    if world.is_running() && beside.is_running() { dice.roll(2) == 0 } else { world.is_running() };
                if first {
                    world.kill()
                } else {
                    beside.kill()
                }
                kills += 1;
                back[usize::from(!first)] = now + Duration::from_millis(dice.roll(14_000));
                next = now + Duration::from_millis(500 + dice.roll(6_000));
            }
            if !world.is_running() && now >= back[0] {
                world.start().await;
            }
            if !beside.is_running() && now >= back[1] {
                beside.start(&world).await;
            }
            let task = world.task().await;
            let waits = matches!(task.state.name(), "awaiting-review" | "final-review");
            if waits && task.checkpoints.len() > approved {
                approved = task.checkpoints.len();
                match task.checkpoint().is_some_and(|c| c.commit.is_some()) {
                    true => world.approve().await,
                    // Both hosts lost the sandbox before anything was pushed: there is no commit to review on the page.
                    false => {
                        assert!(task.pushed.is_none(), "CAISSON_SEED={seed}: {:?}", task.state);
                        world.alice().comment(REPO, task.pull.unwrap_or(issue), "/approve").expect("said");
                    }
                }
            }
            // Resumes each pause once: both hosts may be down meanwhile.
            if task.state.name() == "paused" && task.seq > resumed {
                resumed = task.seq;
                world.alice().comment(REPO, issue, "/resume").expect("said");
            }
            if task.state.name() == "approved" && world.store().tasks_with_effects().await.expect("read").is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        judge(&world, issue).await;
    }
}
