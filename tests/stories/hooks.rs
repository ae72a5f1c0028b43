//! Deliveries at the hooks' listener, and the operations' listener.

use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::forge::{ForgeReads, RepoRef};
use devforge::Traps;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, StatusCode};
use sha2::Sha256;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

fn signed(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

async fn post(url: &str, signature: Option<String>, uuid: &str, event: &str, body: &[u8]) -> (StatusCode, String) {
    let mut request = Client::new().post(url).header("X-Gitea-Event-Type", event).body(body.to_vec());
    if !uuid.is_empty() {
        request = request.header("X-Gitea-Delivery", uuid);
    }
    if let Some(signature) = signature {
        request = request.header("X-Hub-Signature-256", signature);
    }
    let answer = request.send().await.expect("answered");
    (answer.status(), answer.text().await.expect("read"))
}

/// The body of a delivery about an issue, as the forge would make it.
async fn opened(world: &World, repository: i64, number: u64) -> Vec<u8> {
    let it = world.look().issue(&RepoRef::new("lab", "shop"), number).await.expect("read");
    let issue = serde_json::json!({ "id": it.id, "number": number, "title": it.title, "body": it.body });
    let body =
        serde_json::json!({ "action": "opened", "number": number, "issue": issue, "repository": { "id": repository } });
    body.to_string().into_bytes()
}

/// Two issues that ask for a task, without any delivery.
fn unheard_of(world: &World) -> (u64, u64) {
    world.forge.lose_hooks(1000);
    let open = || world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    (open(), open())
}

/// Waits until there are this many tasks, and returns their issues.
async fn tasks_of(world: &World, count: usize) -> Vec<i64> {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let tasks = world.store().tasks(5).await.expect("read");
        if tasks.len() >= count {
            return tasks.iter().map(|task| task.issue).collect();
        }
        assert!(std::time::Instant::now() < end, "{} of {count} tasks", tasks.len());
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_signed_and_whole_is_taken_and_once() {
    let world = World::only_hooked(FIX).await;
    let (first, second) = unheard_of(&world);
    let id = world.config.repositories()[0].id;
    let url = world.config.hook_url("shop");
    let body = &opened(&world, id, first).await[..];
    let good = || Some(signed("sekret", body));
    assert_eq!(post(&url, None, "u1", "issues", body).await.0, 401);
    assert_eq!(post(&url, Some(signed("other", body)), "u1", "issues", body).await.0, 401);
    assert_eq!(post(&url, Some("sha256=".into()), "u1", "issues", body).await.0, 401);
    let elsewhere = url.replace("/shop", "/nobody");
    assert_eq!(post(&elsewhere, good(), "u1", "issues", body).await.0, 401, "no name is told");
    for said in [None, Some("sha256=".into()), Some("sha1=00".into()), Some(signed("nobody", body))] {
        let known = post(&url, said.clone(), "u1", "issues", body).await;
        assert_eq!(post(&elsewhere, said.clone(), "u1", "issues", body).await, known, "{said:?}");
    }
    let broken: &[u8] = b"{\"repository\":";
    assert_eq!(post(&url, Some(signed("sekret", broken)), "u1", "issues", broken).await.0, 400);
    assert_eq!(post(&url, good(), "", "issues", body).await.0, 400, "no delivery id");
    let large = vec![b' '; 1_100_000];
    assert_eq!(post(&url, Some(signed("sekret", &large)), "u1", "issues", &large).await.0, 413);
    assert_eq!(post(&url, good(), "u2", "never_heard_of", body).await.0, 202, "unknown types are ignored");
    // Sent last and handled in order: once its task exists, one for an earlier delivery would exist too.
    let body_of_second = opened(&world, id, second).await;
    let signature = Some(signed("sekret", &body_of_second));
    assert_eq!(post(&url, signature, "u3", "issues", &body_of_second).await.0, 202);
    assert_eq!(tasks_of(&world, 1).await, [second as i64], "nothing of the others woke it");
    assert_eq!(post(&url, good(), "u1", "issues", body).await, (StatusCode::ACCEPTED, "stored".into()));
    assert_eq!(post(&url, good(), "u1", "issues", body).await, (StatusCode::ACCEPTED, "known".into()), "replayed");
    assert!(tasks_of(&world, 2).await.contains(&(first as i64)), "the same words, signed and whole");
}

/// Waits until the number of open deliveries satisfies `holds`.
async fn until_open(world: &World, holds: impl Fn(usize) -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let open = world.store().open_deliveries(10, &[]).await.expect("read").len();
        if holds(open) {
            return;
        }
        assert!(Instant::now() < end, "{open} are open");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// If the bot is killed before it has read the thread, the delivery is still open after the restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_handled_when_what_it_is_about_has_been_read() {
    let world = World::only_hooked(FIX).await;
    world.forge.set_traps(Traps { answer_delay: Duration::from_millis(300), ..Traps::none() });
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    until_open(&world, |open| open > 0).await;
    until_open(&world, |open| open == 0).await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1, "what it asked for was not taken up");
}

/// A reading that had already begun does not cover it.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_comes_during_a_reading_waits_for_the_next_one() {
    let world = World::only_hooked(FIX).await;
    world.forge.set_traps(Traps { answer_delay: Duration::from_millis(400), ..Traps::none() });
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "Please.").expect("issue");
    until_open(&world, |open| open > 0).await;
    // By then the reading has made its last request. If not, the test checks less but does not fail.
    tokio::time::sleep(Duration::from_millis(1000)).await;
    world.alice().comment(REPO, issue, "/fix").expect("said");
    until_open(&world, |open| open == 2).await;
    until_open(&world, |open| open == 0).await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1, "what it asked for was not taken up");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_guesses_is_turned_away_and_nothing_is_lost() {
    let world = World::new(FIX).await;
    let url = world.config.hook_url("shop");
    let body: &[u8] = br#"{"repository":{"id":1}}"#;
    for _ in 0..world.config.listen.bad_signatures_per_minute {
        assert_eq!(post(&url, Some(signed("guess", body)), "u1", "issues", body).await.0, 401);
    }
    assert_eq!(post(&url, Some(signed("guess", body)), "u1", "issues", body).await.0, 429);
    assert_eq!(post(&url, Some(signed("sekret", body)), "u1", "issues", body).await.0, 429, "before anything is read");
    // The forge uses the same address here, so its hooks are limited as well.
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_readiness_and_metrics_stand_apart() {
    let world = World::new(FIX).await;
    let get = async |path: &str| {
        let answer = reqwest::get(format!("{}{path}", world.ops())).await.expect("answered");
        (answer.status(), answer.text().await.expect("read"))
    };
    assert_eq!(get("/healthz").await, (StatusCode::OK, "ok".into()));
    assert_eq!(get("/readyz").await, (StatusCode::OK, "ready".into()));
    assert_eq!(get("/metrics").await.0, 200);
    world.forge.set_outage(Some(502));
    let (status, text) = get("/readyz").await;
    assert!(status == 503 && text.starts_with("forge:"), "{text}");
    let report = serde_json::json!({ "task": 1, "commit": "1111111111111111111111111111111111111111" });
    let told = Client::new().post(format!("{}/fetched", world.ops())).json(&report).send().await.expect("answered");
    assert_eq!(told.status(), 401, "only who can read the state directory may say so");
    let token = std::fs::read_to_string(world.config.state_dir.join("ops.token")).expect("a token");
    let told = Client::new().post(format!("{}/fetched", world.ops())).bearer_auth(token.trim()).json(&report);
    let told = told.send().await.expect("answered");
    assert_eq!(
        (told.status(), told.text().await.expect("read").as_str()),
        (StatusCode::NOT_FOUND, "there is no task 1")
    );
}

/// Whoever on this machine opens as many as they can leaves the bot what it needs for its work.
#[tokio::test(flavor = "multi_thread")]
async fn connections_to_the_operations_listener_have_a_limit() {
    let world = World::new(FIX).await;
    let address = world.ops().trim_start_matches("http://").to_owned();
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(TcpStream::connect(&address).await.expect("connected"));
    }
    let mut further = TcpStream::connect(&address).await.expect("connected");
    let read = tokio::time::timeout(PATIENCE, further.read(&mut [0; 8])).await.expect("it is closed at once");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    drop(open);
    let end = Instant::now() + PATIENCE;
    while reqwest::get(format!("{}/healthz", world.ops())).await.is_err() {
        assert!(Instant::now() < end, "places are not given back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_repository_wakes_nothing() {
    let world = World::only_hooked(FIX).await;
    let (first, second) = unheard_of(&world);
    let (id, url) = (world.config.repositories()[0].id, world.config.hook_url("shop"));
    for (uuid, repository, issue) in [("u7", 999_999, first), ("u8", id, second)] {
        let body = opened(&world, repository, issue).await;
        assert_eq!(post(&url, Some(signed("sekret", &body)), uuid, "issues", &body).await.0, 202);
    }
    assert_eq!(tasks_of(&world, 1).await, [second as i64], "the one before it woke nothing");
    let body = opened(&world, id, first).await;
    assert_eq!(post(&url, Some(signed("sekret", &body)), "u9", "issues", &body).await.0, 202);
    assert!(tasks_of(&world, 2).await.contains(&(first as i64)), "the same issue, named by its own repository");
}
