//! What an operator says at the command line, to a bot that runs and to one that does not.

use crate::world::{FIX, REPO, World};
use std::fs::File;
use std::process::{Command, Output};

/// The program itself, over the configuration of this world.
async fn caisson(world: &World, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caisson"));
    command.arg("--config").arg(world.dir.path().join("caisson.toml")).args(args).env("NO_COLOR", "1");
    if let Some(ops) = world.is_running().then(|| world.ops()) {
        command.env("CAISSON_LISTEN_OPS", ops.trim_start_matches("http://"));
    }
    tokio::task::spawn_blocking(move || command.output().expect("caisson starts")).await.expect("joined")
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&[out.stdout.as_slice(), &out.stderr].concat()).into_owned()
}

/// As `serve` holds it.
fn held(world: &World) -> File {
    let file = File::options().write(true).create(true).truncate(false).open(world.config.state_dir.join("lock"));
    let file = file.expect("opened");
    file.try_lock().expect("nobody else has it");
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_bot_obeys_stop_at_once() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let listed = caisson(&world, &["task", "list"]).await;
    assert!(said(&listed).contains("awaiting-review"), "{}", said(&listed));
    let resumed = caisson(&world, &["task", "resume", "1"]).await;
    assert!(!resumed.status.success() && said(&resumed).contains("only what is paused"), "{}", said(&resumed));
    let stopped = caisson(&world, &["task", "stop", "1"]).await;
    assert!(stopped.status.success() && said(&stopped).contains("task 1 is cancelled"), "{}", said(&stopped));
    world.until_said(pull, "Stopped by `operator`").await;
    world.nothing_left().await;
    let again = caisson(&world, &["task", "stop", "1"]).await;
    assert!(!again.status.success() && said(&again).contains("it has ended"), "{}", said(&again));
    let unknown = caisson(&world, &["task", "stop", "7"]).await;
    assert!(!unknown.status.success() && said(&unknown).contains("there is no task 7"), "{}", said(&unknown));
    assert!(world.said(issue).await.iter().any(|text| text.contains("is on it")));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_hold_the_token_orders_nothing() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let client = reqwest::Client::new();
    for token in ["", "Bearer ", "Bearer wrong"] {
        let post = client.post(format!("{}/tasks/1/stop", world.ops())).header("Authorization", token);
        assert_eq!(post.send().await.expect("answered").status().as_u16(), 401);
    }
    assert_eq!(world.task().await.state.name(), "awaiting-review");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_while_no_bot_runs_is_obeyed_and_carried_out_by_the_next() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.stop().await;
    let stopped = caisson(&world, &["task", "stop", "1"]).await;
    assert!(said(&stopped).contains("the next one carries out"), "{}", said(&stopped));
    assert_eq!(world.task().await.state.name(), "cancelled");
    world.start().await;
    world.until_said(pull, "Stopped by `operator`").await;
    world.nothing_left().await;
}
