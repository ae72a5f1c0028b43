//! The operator's orders on the command line, with and without a running bot.

use crate::world::{FIX, PATIENCE, REPO, World, git, parts};
use caisson::bot::Bot;
use caisson::config::Process;
use caisson::secret::Secret;
use caisson::server::{BotProof, nonce};
use domain::TaskId;
use std::fs::File;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the program with this world's configuration.
pub async fn caisson(world: &World, args: &[&str]) -> Output {
    ran(order(world, args)).await
}

/// The program with this world's configuration, yet to be run.
pub fn order(world: &World, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caisson"));
    command.arg("--config").arg(world.dir.path().join("caisson.toml")).args(args).env("NO_COLOR", "1");
    if let Some(ops) = world.is_running().then(|| world.ops()) {
        command.env("CAISSON_LISTEN_OPS", ops.trim_start_matches("http://"));
    }
    command
}

/// What came of it.
pub async fn ran(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().expect("caisson starts")).await.expect("joined")
}

pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&[out.stdout.as_slice(), &out.stderr].concat()).into_owned()
}

/// Locked as by `serve`.
pub fn held(world: &World) -> File {
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
    world.until_said(issue, "### Task 1: over, cancelled").await;
}

/// The exported file is enough: replayed on another machine, the task has the same state after any event.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_exported_and_replayed_from_its_file() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let file = world.dir.path().join("task.jsonl");
    let path = file.display().to_string();
    let exported = caisson(&world, &["task", "export", "1", "--into", &path]).await;
    assert!(exported.status.success(), "{}", said(&exported));
    let again = caisson(&world, &["task", "export", "1", "--into", &path]).await;
    assert!(!again.status.success() && said(&again).contains("cannot make"), "{}", said(&again));
    let replayed = said(&caisson(&world, &["task", "replay", "--file", &path]).await);
    assert!(replayed.contains("awaiting-review") && replayed.contains("5 since the last decision"), "{replayed}");
    let first = said(&caisson(&world, &["task", "replay", "--file", &path, "--at", "1"]).await);
    assert!(first.contains("queued"), "{first}");
    assert_eq!(said(&caisson(&world, &["task", "replay", "1", "--at", "1"]).await), first, "as from the store");
    let log = said(&caisson(&world, &["task", "log", "1"]).await);
    assert!(log.contains("checkpoint_posted") && log.contains("requested"), "{log}");
    let state = caisson(&world, &["task", "replay", "--file", &path, "--json"]).await;
    let state: serde_json::Value = serde_json::from_slice(&state.stdout).expect("one object");
    assert_eq!((&state["state"], &state["actions_since_decision"]), (&"awaiting-review".into(), &5.into()), "{state}");
    let late = caisson(&world, &["task", "replay", "1", "--at", "9999"]).await;
    assert!(!late.status.success() && said(&late).contains("or less"), "{}", said(&late));
    let none = caisson(&world, &["task", "log", "9"]).await;
    assert!(!none.status.success() && said(&none).contains("there is no task 9"), "{}", said(&none));
}

/// The rows of a task's calls are what it spent, from the store and from its file.
#[tokio::test(flavor = "multi_thread")]
async fn what_each_model_call_of_a_task_cost_is_listed() {
    let mut world = World::new(FIX).await;
    world.model.set_price(1_000_000, 1_000_000);
    world.reconfigure(|text| text).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let listed = caisson(&world, &["task", "cost", "1", "--json"]).await;
    let rows: Vec<serde_json::Value> =
        String::from_utf8_lossy(&listed.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().expect("a number")).sum::<u64>();
    assert_eq!((rows.len(), &rows[0]["for"], &rows[1]["for"]), (2, &"turn 1".into(), &"turn 2".into()), "{rows:?}");
    assert!(task.spent.micro_usd > 0 && rows.iter().all(|row| row["answered"] == true), "{rows:?}");
    assert_eq!(sum("micro_usd"), task.spent.micro_usd);
    let file = world.dir.path().join("task.jsonl").display().to_string();
    caisson(&world, &["task", "export", "1", "--into", &file]).await;
    let table = said(&caisson(&world, &["task", "cost", "1"]).await);
    assert_eq!(said(&caisson(&world, &["task", "cost", "--file", &file]).await), table);
    for words in ["of it thought", "turn 2", "by model", "scripted: compare versions as numbers", "together $"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let shown = said(&caisson(&world, &["task", "show", "1"]).await);
    let first = shown.lines().find(|line| line.starts_with("1  ")).expect("the first action");
    assert!(first.contains('$'), "what its turn cost: {shown}");
}

#[test]
fn what_stdout_could_not_take_is_an_error_and_a_reader_that_went_away_is_none() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caisson"));
    command.args(["config", "--defaults"]).env("NO_COLOR", "1");
    let full = File::options().write(true).open("/dev/full").expect("opened");
    let refused = command.stdout(full).output().expect("caisson starts");
    assert!(!refused.status.success() && said(&refused).contains("stdout could not be written"), "{}", said(&refused));
    let mut left = command.stdout(Stdio::piped()).spawn().expect("caisson starts");
    drop(left.stdout.take());
    assert!(left.wait().expect("it ends").success());
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

/// The status of an order with this credential, to a task that is not there.
async fn ordered_with(world: &World, credential: &Secret) -> u16 {
    let post = reqwest::Client::new().post(format!("{}/tasks/7/stop", world.ops())).bearer_auth(credential.expose());
    post.send().await.expect("answered").status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_proves_that_it_has_the_token_and_takes_a_pass_of_this_run_alone() {
    let mut world = World::new(FIX).await;
    let token = Secret::read(&world.config.state_dir.join("ops.token")).expect("a token");
    let proven = async |nonce: &str| {
        let url = format!("{}/proof?nonce={nonce}", world.ops());
        reqwest::Client::new().get(url).send().await.expect("answered")
    };
    let at = world.ops().trim_start_matches("http://").parse().expect("an address");
    let nonce = nonce().expect("random bytes");
    let proof: BotProof = proven(&nonce).await.json().await.expect("a proof");
    assert_eq!(proven("none").await.status().as_u16(), 400);
    let pass = proof.pass(&token, at, &nonce).expect("proven");
    assert_eq!((ordered_with(&world, &pass).await, ordered_with(&world, &token).await), (404, 404));
    world.stop().await;
    world.start().await;
    assert_eq!((ordered_with(&world, &pass).await, ordered_with(&world, &token).await), (401, 404));
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

/// What a life began that then ends at once may cost money again in the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_finds_its_port_taken_begins_nothing() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.stop().await;
    let stopped = caisson(&world, &["task", "stop", "1"]).await;
    assert!(stopped.status.success(), "{}", said(&stopped));
    let db = world.by_hand().await;
    let due = async || -> i64 {
        let sql = "SELECT COUNT(*) FROM effects WHERE state = 'pending'";
        sqlx::query_scalar(sql).fetch_one(&db).await.expect("a number")
    };
    let before = due().await;
    assert!(before > 0, "nothing is due");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut config = Process::load(&world.dir.path().join("caisson.toml")).expect("a configuration");
    config.listen.ops = taken.local_addr().expect("an address");
    let (broker, barrier, inspector) = (world.broker.clone(), world.barrier.subscribe(), world.inspector.clone());
    let refused = Bot::start(parts(Arc::new(config), broker, None, barrier, inspector).await).await;
    let why = format!("{:#}", refused.err().expect("the port is taken"));
    assert!(why.contains("another program has the port"), "{why}");
    // Time in which it would begin.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(due().await, before);
    db.close().await;
}

/// The task's refs in the bot's own repository.
fn refs(world: &World, task: i64) -> String {
    let dir = world.config.state_dir.join("repos/shop.git");
    git(&dir, &["for-each-ref", "--format=%(objectname)", &format!("refs/caisson/{task}")])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_task_is_deleted_by_the_running_bot_and_its_number_is_nobodys() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let live = caisson(&world, &["task", "delete", "1"]).await;
    assert!(!live.status.success() && said(&live).contains("caisson task stop 1"), "{}", said(&live));
    assert!(!refs(&world, 1).is_empty(), "nothing was deleted");
    let post = reqwest::Client::new().post(format!("{}/tasks/1/delete", world.ops()));
    assert_eq!(post.send().await.expect("answered").status().as_u16(), 401);
    assert!(caisson(&world, &["task", "stop", "1"]).await.status.success());
    world.until_said(pull, "Stopped by `operator`").await;
    world.nothing_left().await;
    world.settled().await;
    let deleted = caisson(&world, &["task", "delete", "1"]).await;
    assert!(deleted.status.success() && said(&deleted).contains("task 1 is deleted"), "{}", said(&deleted));
    assert!(world.store().task_row(TaskId(1)).await.expect("read").is_none() && refs(&world, 1).is_empty());
    for args in [["task", "delete", "1"], ["task", "stop", "1"], ["task", "show", "1"]] {
        let gone = caisson(&world, &args).await;
        assert!(!gone.status.success() && said(&gone).contains("there is no task 1"), "{}", said(&gone));
    }
    // What the bot posted on the forge stays, and the next task works in the same repository.
    assert!(world.said(pull).await.iter().any(|text| text.contains("Stopped by `operator`")));
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_said(issue, "is on it").await;
    let end = Instant::now() + PATIENCE;
    while world.store().task_row(TaskId(2)).await.expect("read").is_none() {
        assert!(Instant::now() < end, "no second task began");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(world.store().task_row(TaskId(1)).await.expect("read").is_none());
}

/// What the bot owes an issue that is gone waits for it to come back, and keeps no task from being deleted.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_issue_was_deleted_is_deleted_by_the_running_bot() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.forge.delete_issue(REPO, issue).expect("deleted");
    world.until_state("failed").await;
    world.nothing_left().await;
    let end = Instant::now() + PATIENCE;
    loop {
        let deleted = caisson(&world, &["task", "delete", "1"]).await;
        if deleted.status.success() {
            break;
        }
        assert!(Instant::now() < end, "{}", said(&deleted));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(world.store().task_row(TaskId(1)).await.expect("read").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_bot_its_objects_are_gone_at_once() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.stop().await;
    let live = caisson(&world, &["task", "delete", "1"]).await;
    assert!(!live.status.success() && said(&live).contains("it has not ended"), "{}", said(&live));
    // The first is the task's base, which its branch still has.
    let commit = refs(&world, 1).lines().nth(1).expect("a checkpoint").to_owned();
    assert!(caisson(&world, &["task", "stop", "1"]).await.status.success());
    let deleted = caisson(&world, &["task", "delete", "1"]).await;
    assert!(deleted.status.success() && said(&deleted).contains("task 1 is deleted"), "{}", said(&deleted));
    assert!(world.store().task_row(TaskId(1)).await.expect("read").is_none() && refs(&world, 1).is_empty());
    let dir = world.config.state_dir.join("repos/shop.git");
    let left = git(&dir, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    assert!(!left.is_empty() && !left.contains(&commit), "its commit still lies there");
    let unknown = caisson(&world, &["task", "delete", "1"]).await;
    assert!(!unknown.status.success() && said(&unknown).contains("there is no task 1"), "{}", said(&unknown));
    world.start().await;
    world.nothing_left().await;
}
