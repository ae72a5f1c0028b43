//! What comes in at the hook's door, and the listener beside it.

use crate::world::{FIX, REPO, World};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, StatusCode};
use sha2::Sha256;

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

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_signed_and_whole_is_taken_and_once() {
    let world = World::new(FIX).await;
    let url = world.config.hook_url("shop");
    let body: &[u8] = br#"{"repository":{"id":1}}"#;
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
    assert_eq!(post(&url, good(), "u1", "issues", body).await, (StatusCode::ACCEPTED, "stored".into()));
    assert_eq!(post(&url, good(), "u1", "issues", body).await, (StatusCode::ACCEPTED, "known".into()), "replayed");
    assert_eq!(post(&url, good(), "u2", "never_heard_of", body).await.0, 202, "unknown types are ignored");
    assert!(world.store().tasks(5).await.expect("read").is_empty());
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
    // The forge has the same address here, so its hooks are turned away as well.
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_repository_wakes_nothing() {
    let world = World::new(FIX).await;
    world.forge.lose_hooks(1000);
    let body = serde_json::json!({ "action": "opened", "number": 1, "issue": { "number": 1 }, "repository": { "id": 999_999 } });
    let body = body.to_string();
    let url = world.config.hook_url("shop");
    let signature = Some(signed("sekret", body.as_bytes()));
    assert_eq!(post(&url, signature, "u9", "issues", body.as_bytes()).await.0, 202);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
}
