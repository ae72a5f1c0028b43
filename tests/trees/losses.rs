//! A lost sandbox reports how it was lost until it is made anew, also to a bot that was restarted meanwhile.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caisson::sandbox::broker::Broker as _;
use caisson::sandbox::{Captured, SandboxError, Sandboxes, Settings};
use domain::{Action, Loss};
use protocol::broker::{ContainerSpec, End, Purpose};
use protocol::frame::Message;
use protocol::runner::{FromRunner, Limits, MAX_PAYLOAD, MAX_REQUESTS, Status, VERSION};

use crate::mirror::in_memory;
use crate::world::World;

const CONTAINER: &str = "task-1-1";

async fn gone(sandboxes: &Sandboxes) -> Loss {
    match sandboxes.of_tasks.open(1).await {
        Err(SandboxError::Gone(loss)) => loss,
        other => panic!("it is lost: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn how_it_was_lost_outlives_the_bot_and_a_try_to_make_it_anew_that_fails() {
    let world = World::new().await;
    let made = async || drop(world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared"));
    for (end, loss) in [
        (End::Memory, Loss::Memory),
        (End::Itself, Loss::Ended),
        (End::Stopped, Loss::Stopped),
        (End::EngineRestarted, Loss::EngineRestarted),
    ] {
        made().await;
        assert_eq!(world.bash(1, "true").await.lost, None);
        world.broker.end(CONTAINER, end);
        assert_eq!(world.bash(1, "true").await.lost, Some(loss), "{end:?}");
        let mut settings = Settings::new(world.dir.path().join("state"), "local");
        let again = |settings| {
            Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, 2)
        };
        assert_eq!(gone(&again(settings.clone()).expect("sandboxes")).await, loss, "{end:?}");
        settings.base_pack_bytes = 1;
        let poor = again(settings).expect("sandboxes");
        assert!(
            matches!(poor.of_tasks.prepare(&world.spec(1)).await, Err(SandboxError::Limit(_))),
            "it could not be made"
        );
        assert_eq!(gone(&poor).await, loss, "{end:?}");
        world.sandboxes.of_tasks.remove(1).await.expect("removed");
    }
    assert_eq!(gone(&world.sandboxes).await, Loss::PutAway, "the bot removed it itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_boot_is_no_sandbox_of_ours_and_an_engine_that_is_away_is_no_loss() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.broker.restart(CONTAINER);
    assert_eq!(world.bash(1, "true").await.lost, Some(Loss::Restarted));
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("made anew");
    world.broker.set_away(true);
    world.broker.end(CONTAINER, End::EngineRestarted);
    let action = Action::Bash { command: "true".to_owned() };
    let acted = world.sandboxes.actions.act(1, 77, &action, Limits { wall_ms: 1_000, output_bytes: 100 }).await;
    assert!(matches!(acted, Err(SandboxError::Unavailable(_))), "{acted:?}");
    world.broker.set_away(false);
    assert_eq!(gone(&world.sandboxes).await, Loss::EngineRestarted);
}

/// As after a copy of the state directory was put back.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_obeys_a_later_life_is_made_anew() {
    let world = World::new().await;
    let life = |epoch| {
        let settings = Settings::new(world.dir.path().join("state"), "local");
        Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, epoch)
            .expect("sandboxes")
    };
    let later = life(7);
    later.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    let action = Action::Bash { command: "echo work >README.md".to_owned() };
    later.actions.act(1, 1, &action, Limits { wall_ms: 20_000, output_bytes: 100 }).await.expect("acted");
    let earlier = life(6);
    assert_eq!(gone(&earlier).await, Loss::Unknown);
    earlier.of_tasks.prepare(&world.spec(1)).await.expect("made anew");
    assert_eq!(earlier.of_tasks.open(1).await, Ok(false));
    assert_eq!(earlier.looks.text(1, "README.md", 100).await, Ok(Some("# Demo\n".to_owned())));
}

/// What a look reads. It is repeated once, as by the outbox, because the first one may be what notices that its connection is over.
async fn looked(world: &World) -> Result<Option<String>, SandboxError> {
    match world.sandboxes.looks.text(1, "README.md", 100).await {
        Err(SandboxError::Unavailable(_)) => world.sandboxes.looks.text(1, "README.md", 100).await,
        looked => looked,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_goes_on_after_the_broker_s_restart_and_tells_the_end_of_the_sandbox() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    assert_eq!(looked(&world).await, Ok(Some("# Demo\n".to_owned())));
    world.broker.cut(CONTAINER).await;
    assert_eq!(looked(&world).await, Ok(Some("# Demo\n".to_owned())));
    world.broker.end(CONTAINER, End::Itself);
    assert_eq!(looked(&world).await, Err(SandboxError::Gone(Loss::Ended)));
    assert_eq!(gone(&world.sandboxes).await, Loss::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_actions_after_more_waits_than_the_runner_keeps_results() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    for n in 0..MAX_REQUESTS + 6 {
        let acted = world.bash(1, "true").await;
        assert_eq!((acted.outcome.status, acted.lost), (Status::Ok, None), "action {n}");
        world.sandboxes.of_tasks.rest(1).await.expect("resting");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_answers_a_connection_that_was_given_up_breaks_no_protocol() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, "echo work >work.txt").await;
    world.sandboxes.of_tasks.rest(1).await.expect("resting");
    world.broker.unpause(CONTAINER).await.expect("thawed");
    world.broker.stall(CONTAINER, true);
    let given_up = tokio::time::timeout(Duration::from_millis(500), world.sandboxes.of_tasks.open(1)).await;
    assert!(given_up.is_err(), "it does not answer: {given_up:?}");
    world.broker.stall(CONTAINER, false);
    let acted = world.bash(1, "cat work.txt").await;
    assert_eq!((acted.outcome.text.as_str(), acted.lost), ("work\n", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_is_replaced_names_the_tasks_with_an_open_way() {
    let world = World::new().await;
    for task in [1, 2] {
        world.sandboxes.of_tasks.prepare(&world.spec(task)).await.expect("prepared");
        world.sandboxes.of_tasks.open(task).await.expect("opened");
    }
    world.sandboxes.of_tasks.rest(2).await.expect("resting");
    world.doors.replace_router();
    assert_eq!(world.sandboxes.egress.router_replaced().await.1, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_that_failed_is_no_freeze_and_what_does_not_run_needs_none() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.broker.faults.no_pause.store(true, Ordering::SeqCst);
    let rested = world.sandboxes.of_tasks.rest(1).await;
    assert!(matches!(rested, Err(SandboxError::Unavailable(_))), "{rested:?}");
    world.broker.faults.no_pause.store(false, Ordering::SeqCst);
    world.broker.end(CONTAINER, End::Itself);
    world.sandboxes.of_tasks.rest(1).await.expect("it does not run");
    world.broker.remove(CONTAINER).await.expect("removed");
    world.sandboxes.of_tasks.rest(1).await.expect("it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn how_one_was_lost_is_no_word_on_the_one_that_was_made_anew() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.broker.end(CONTAINER, End::Memory);
    assert_eq!(world.bash(1, "true").await.lost, Some(Loss::Memory));
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("made anew");
    let mut settings = Settings::new(world.dir.path().join("state"), "local");
    settings.base_pack_bytes = 1;
    let poor = Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, 2);
    let (poor, mut next) = (poor.expect("sandboxes"), world.spec(1));
    next.attempt = 2;
    assert!(matches!(poor.of_tasks.prepare(&next).await, Err(SandboxError::Limit(_))), "it could not be made");
    assert_eq!(gone(&poor).await, Loss::PutAway, "the bot removed it itself");
}

/// Bytes that our runner never sends: an unrequested greeting.
fn noise() -> Vec<u8> {
    let (boot, runner, requests) = (String::new(), String::new(), Vec::new());
    let hello = FromRunner::Hello { version: VERSION, epoch: 1, boot, runner, requests, lacks: None };
    Message::bare(hello).to_frame(MAX_PAYLOAD).expect("a frame")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_breaks_the_protocol_is_removed_wherever_that_is_seen() {
    for seen_by in ["an action", "a look", "a checkpoint", "attaching", "waking"] {
        let world = World::new().await;
        world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
        match seen_by {
            "attaching" => world.sandboxes.of_tasks.rest(1).await.expect("resting"),
            "waking" => world.sandboxes.of_tasks.stop(1).await.expect("stopped"),
            _ => {}
        }
        world.broker.say(CONTAINER, &noise()).await;
        match seen_by {
            "an action" => assert_eq!(world.bash(1, "true").await.lost, Some(Loss::Untrusted)),
            "a look" => {
                assert_eq!(looked(&world).await, Err(SandboxError::Gone(Loss::Untrusted)));
                // Where the look itself met it, the next one who needs the sandbox has it removed.
                assert_eq!(gone(&world.sandboxes).await, Loss::Untrusted, "{seen_by}");
            }
            "a checkpoint" => {
                let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &world.base)).await;
                assert_eq!(captured.err(), Some(SandboxError::Gone(Loss::Untrusted)));
            }
            _ => assert_eq!(gone(&world.sandboxes).await, Loss::Untrusted, "{seen_by}"),
        }
        assert!(!world.left().await.contains(&CONTAINER.to_owned()), "{seen_by}");
        assert_eq!(gone(&world.sandboxes).await, Loss::Untrusted, "{seen_by}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_runs_and_never_answers_a_greeting_is_removed_in_the_end() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.broker.stall(CONTAINER, true);
    let mut settings = Settings::new(world.dir.path().join("state"), "local");
    settings.hello = Duration::from_millis(50);
    let next = Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, 2);
    let next = next.expect("sandboxes");
    for _ in 0..5 {
        let opened = next.of_tasks.open(1).await;
        assert!(matches!(opened, Err(SandboxError::Unavailable(_))), "it may be busy: {opened:?}");
    }
    assert!(world.left().await.contains(&CONTAINER.to_owned()));
    assert_eq!(gone(&next).await, Loss::Untrusted);
    assert!(!world.left().await.contains(&CONTAINER.to_owned()));
    assert_eq!(gone(&next).await, Loss::Untrusted);
    next.of_tasks.prepare(&world.spec(1)).await.expect("made anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_one_of_its_name_that_was_never_started_says_that_ours_was_removed() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.sandboxes.of_tasks.rest(1).await.expect("resting");
    world.broker.remove(CONTAINER).await.expect("removed");
    let other = ContainerSpec {
        name: CONTAINER.to_owned(),
        task: Some(1),
        purpose: Purpose::Task,
        user: 10_003,
        image: "local".to_owned(),
        subnet: None,
        limits: world.spec(1).limits,
        env: Vec::new(),
        profile: String::new(),
        mirror: None,
        layered: false,
    };
    world.broker.create(&other).await.expect("created");
    assert_eq!(gone(&world.sandboxes).await, Loss::Removed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_one_does_not_wake_on_a_disk_that_is_nearly_full() {
    let world = World::new().await;
    let mut spec = world.spec(1);
    (spec.limits.workspace_bytes, spec.limits.disk_floor_bytes) = (0, 0);
    world.sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    world.sandboxes.of_tasks.stop(1).await.expect("stopped");
    world.broker.fill_disk(CONTAINER);
    for _ in 0..2 {
        let woken = world.sandboxes.of_tasks.open(1).await;
        let lacks = matches!(&woken, Err(SandboxError::Unavailable(why)) if why.contains("are to stay free"));
        assert!(lacks, "{woken:?}");
    }
}

/// A checkpoint of one that was stopped would find an empty tree.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_made_in_memory_is_not_stopped_whatever_is_configured_since() {
    let world = World::new().await;
    let life = &world.sandboxes.of_tasks;
    life.prepare(&in_memory(&world, 1).await).await.expect("prepared");
    world.bash(1, "echo work >work.txt").await;
    life.rest(1).await.expect("resting");
    life.stop(1).await.expect("frozen");
    assert_eq!(life.open(1).await, Ok(false), "nothing of it was ended");
    assert_eq!(world.bash(1, "cat work.txt").await.outcome.text, "work\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_beside_it_that_somebody_removes_is_no_loss_of_the_sandbox() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, "echo work >work.txt").await;
    *world.broker.faults.swept.lock().unwrap() = Some("quarantine-".to_owned());
    let spec = world.capture_spec(1, 1, &world.base);
    let captured = world.sandboxes.captures.capture(&spec).await;
    assert!(matches!(&captured, Err(SandboxError::Unavailable(why)) if why.contains("quarantine")), "{captured:?}");
    let captured = world.sandboxes.captures.capture(&spec).await;
    assert!(matches!(captured, Ok(Captured::Commit { .. })), "nothing of it is lost: {captured:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_whose_container_somebody_removes_before_they_run_have_not_failed() {
    let world = World::new().await;
    *world.broker.faults.swept.lock().unwrap() = Some("verify-".to_owned());
    let spec = world.checks(&world.base, Some("true"));
    let judged = world.sandboxes.verification.verify(&spec).await;
    assert_eq!(judged.err(), Some(SandboxError::Gone(Loss::Removed)));
    assert_eq!(world.left().await, [""; 0]);
    let judged = world.sandboxes.verification.verify(&spec).await.expect("judged");
    assert_eq!(judged.exit_code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_could_not_be_removed_goes_with_the_next_one() {
    let world = World::new().await;
    let spec = world.checks(&world.base, Some("true"));
    world.broker.faults.stuck.store(true, Ordering::SeqCst);
    world.sandboxes.runs.run_on(&spec, "one").await.expect("run");
    let left = world.left().await;
    assert!(left.len() == 1 && left[0].ends_with("-one"), "{left:?}");
    world.sandboxes.runs.run_on(&spec, "two").await.expect("run");
    assert_eq!(world.left().await, [""; 0]);
}
