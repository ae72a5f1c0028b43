//! Entries of repositories in the store: added, changed and removed while tasks continue, on each host that shares it.

use crate::hosts::told;
use crate::second_host::SecondHost;
use crate::world::{PATIENCE, REPO, World, held, postgres};
use caisson::bot::{gone, sealed};
use caisson::config::Secret;
use caisson::config::process::Repository;
use caisson::forge::{ForgeReads, RepoRef};
use caisson::secret::SealingKey;
use caisson::store::{Store, StoredEntry};
use devforge::Access;
use domain::{Event, OutcomeStatus};
use hmac::{Hmac, KeyInit, Mac};
use std::time::{Duration, Instant};

const TILL: &str = "lab/till";

/// Sets a repository up on the forge as `caisson repo add` does, as far as reading needs it.
async fn till(world: &World) -> Repository {
    world.forge.add_repository(TILL, false).await.expect("a repository");
    for (login, access) in [("caisson", Access::Admin), ("alice", Access::Write)] {
        world.forge.add_collaborator(TILL, login, access).expect("a right");
    }
    let id = world.look().repository(&RepoRef::new("lab", "till")).await.expect("there").id;
    entry("till", id)
}

fn entry(key: &str, id: i64) -> Repository {
    Repository {
        key: key.into(),
        owner: "lab".into(),
        name: key.into(),
        id,
        default_branch: "main".into(),
        ..Repository::default()
    }
}

fn written(world: &World, entry: &Repository, secrets: &[&str], generation: i64) -> StoredEntry {
    let key = SealingKey::of(&Secret::read(&world.config.mark_key_file()).expect("a key"));
    let secrets: Vec<Secret> = secrets.iter().map(|text| Secret::new(*text)).collect();
    sealed(&key, entry, &secrets, (generation, "a story")).expect("sealed")
}

/// Puts an entry as `caisson repo` does with a running bot.
async fn put(world: &World, entry: &StoredEntry) -> (u16, String) {
    let token = Secret::read(&world.config.state_dir.join("ops.token")).expect("a token");
    let request = reqwest::Client::new().post(format!("{}/repositories", world.ops())).json(entry);
    let answer = request.bearer_auth(token.expose()).send().await.expect("answered");
    (answer.status().as_u16(), answer.text().await.expect("read"))
}

/// The answer of the hooks' listener to a delivery with this signature.
async fn signed(url: &str, secret: &str) -> u16 {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
    mac.update(b"{}");
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let request = reqwest::Client::new().post(url).header("x-hub-signature-256", signature);
    let request = request.header("x-gitea-delivery", "1").header("x-gitea-event-type", "issues");
    request.body("{}").send().await.expect("answered").status().as_u16()
}

/// The URL of the hooks' listener for this repository, on the host with this configuration.
fn hook_of(config: &caisson::config::Process, key: &str) -> String {
    format!("http://{}/webhooks/gitea/{key}", config.listen.webhooks)
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "waited for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Somebody asks in the new repository and gets an answer.
async fn is_read(world: &World) {
    let issue = world.alice().open_issue(TILL, "A question", "Who is there?").expect("an issue");
    world.alice().comment(TILL, issue, "/status").expect("said");
    world.until_said_in(TILL, issue, "no task belongs to this issue").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_comes_changes_and_goes_while_a_task_of_another_goes_on() {
    let world = World::new(&held()).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let (till, hook) = (till(&world).await, world.config.hook_url("till"));
    let first = written(&world, &till, &["one"], 1);
    assert_eq!(signed(&hook, "one").await, 401, "nobody knows it yet");
    let unproven = reqwest::Client::new().post(format!("{}/repositories", world.ops())).json(&first);
    assert_eq!(unproven.send().await.expect("answered").status(), 401);
    let forged = StoredEntry { document: first.document.replace("till", "shop"), ..first.clone() };
    let (status, why) = put(&world, &forged).await;
    assert!(status == 422 && why.contains("mark.key"), "{status} {why}");
    assert!(world.store().entries().await.expect("read").is_empty());
    assert_eq!(put(&world, &first).await.0, 204);
    // Once a put is answered, the entry is in effect.
    assert_eq!(signed(&hook, "one").await, 202);
    assert_eq!(put(&world, &first).await.0, 409, "somebody else was first");
    is_read(&world).await;
    // During a change of the secret both are accepted; afterwards only the new one.
    assert_eq!(put(&world, &written(&world, &till, &["two", "one"], 2)).await.0, 204);
    assert_eq!((signed(&hook, "one").await, signed(&hook, "two").await), (202, 202));
    assert_eq!(put(&world, &written(&world, &till, &["two"], 3)).await.0, 204);
    assert_eq!((signed(&hook, "one").await, signed(&hook, "two").await), (401, 202));
    assert_eq!(put(&world, &gone("till", (4, "a story"))).await.0, 204);
    assert_eq!(signed(&hook, "two").await, 401, "it was taken out");
    assert!(world.task().await.running.is_some(), "the action is the same all the time");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    let log = format!("{:?}", world.log().await);
    assert!(!log.contains("SandboxLost") && !log.contains("Interrupted"), "{log}");
    let state = std::fs::read_dir(&world.config.state_dir).expect("read");
    for file in state.flatten().filter(|file| file.file_name().to_string_lossy().starts_with("caisson.db")) {
        let bytes = std::fs::read(file.path()).expect("read");
        assert!(!bytes.windows(7).any(|part| part == b"[\"two\"]"), "the secret lies open in {:?}", file.path());
    }
}

/// The configuration without the entry, which is now in the store; the world's bot is stopped.
async fn moved(world: &mut World) {
    let shop = entry("shop", world.config.repositories()[0].id);
    let shop = written(world, &shop, &["sekret"], 1);
    world.kill();
    let store = Store::open(caisson::cli::store::location(&world.config).expect("a place")).await.expect("opened");
    store.put_entry(shop).await.expect("stored");
}

fn without_entries(text: String) -> String {
    text.split("[[repositories]]").next().expect("a first part").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_taken_out_of_the_store_has_no_way_out_at_once_and_nothing_goes_on_there() {
    let mut world = World::networked(&held(), "").await;
    moved(&mut world).await;
    world.reconfigure(without_entries).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let before = told(&world);
    assert!(before.iter().any(|words| words == "open 0 semver.org"), "{before:#?}");
    let refused = put(&world, &gone("shop", (2, "a story"))).await;
    assert!(refused.0 == 409 && refused.1.contains("a task of shop has begun meanwhile"), "{refused:?}");
    // A removal by somebody with write access to the database also works; it is noticed at the next command.
    let sql = "UPDATE repositories SET document = '', generation = 2 WHERE key = 'shop'";
    sqlx::query(sql).execute(&world.by_hand().await).await.expect("written");
    assert_eq!(put(&world, &gone("shop", (2, "a story"))).await.0, 409);
    let closed = async || told(&world).split_off(before.len()).last().map(String::as_str) == Some("close 0");
    until("its way out to be closed", closed).await;
    assert!(world.task().await.running.is_some(), "its action is still under way");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("paused").await;
    let ran = |event: &Event| matches!(event, Event::ActionFinished { number: 2.., outcome } if outcome.status == OutcomeStatus::Ok);
    assert!(!world.log().await.iter().any(ran), "nothing more ran there");
    let after: Vec<String> = told(&world).split_off(before.len());
    assert!(!after.iter().any(|words| words.starts_with("open")), "{after:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_an_entry_in_its_file_works_for_what_another_adds_and_finishes_what_it_began() {
    let Some(store) = postgres() else { return };
    let mut world = World::with(&held(), &store).await;
    moved(&mut world).await;
    world.reconfigure(without_entries).await;
    let mut beside = SecondHost::new(&world, |text| text);
    assert!(beside.config.keys().is_empty());
    beside.start(&world).await;
    let till = till(&world).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    // On the other host the same action does not wait, because it runs in another workspace.
    world.until("an action", |task| task.used == 1).await;
    assert_eq!(put(&world, &written(&world, &till, &["one"], 1)).await.0, 204);
    let hook = hook_of(&beside.config, "till");
    until("the other host to know its hook", async || signed(&hook, "one").await == 202).await;
    world.kill();
    is_read(&world).await;
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await;
    // An entry changed by somebody with write access to the database is refused by name, without affecting others.
    let changed = "UPDATE repositories SET generation = generation + 1, written_by = 'somebody' WHERE key = 'till'";
    sqlx::query(changed).execute(&world.by_hand().await).await.expect("changed");
    until("the forged entry to be refused", async || signed(&hook, "one").await == 401).await;
    assert_eq!(signed(&hook_of(&beside.config, "shop"), "sekret").await, 202);
    world.approve().await;
    world.until_state("approved").await;
    // So it is after a start, which reports it.
    beside.kill();
    world.start().await;
    let ready = reqwest::get(format!("{}/readyz", world.ops())).await.expect("answered").text().await.expect("read");
    assert!(ready.contains("the repository till of the store") && !ready.contains("shop"), "{ready}");
}
