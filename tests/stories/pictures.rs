//! Pictures attached to an issue, and those that the agent reads.

use crate::world::{REPO, World, single};
use base64::Engine;
use domain::{Event, Picture};
use sha2::{Digest, Sha256};

/// A PNG of one pixel.
pub fn png() -> Vec<u8> {
    let text = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Reads a picture that it made, a file that is not one, and one that is too large to be shown.
fn looks(more: &str) -> String {
    let shown = format!("shown image/png {}", digest(&png()));
    let hex = hex::encode(png());
    format!(
        r#"
name = "looks at pictures"
[[turn]]
expects = ["Versions compare as text"{more}]
text = "I look at what hangs there, and draw one."
call = [
  {{ name = "bash", arguments = {{ command = "python3 -c \"open('a.png','wb').write(bytes.fromhex('{hex}'))\"" }} }},
  {{ name = "read_file", arguments = {{ path = "a.png" }} }},
  {{ name = "bash", arguments = {{ command = "echo text > b.png; head -c 4000000 /dev/zero >> a.png" }} }},
  {{ name = "read_file", arguments = {{ path = "b.png" }} }},
]
[[turn]]
expects = ["a.png is a picture: PNG, 1×1 pixels", "1\ttext"{}]
text = "And the large one."
call = [ {{ name = "read_file", arguments = {{ path = "a.png" }} }} ]
[[turn]]
expects = ["it is not shown, for that is more than 3 MiB"]
text = "It is done."
call = [
  {{ name = "edit_file", arguments = {{ path = "semver.py", old = "return a > b", new = "return [int(part) for part in a.split('.')] > [int(part) for part in b.split('.')]" }} }},
  {{ name = "done", arguments = {{ summary = "newer() compares the parsed numbers." }} }},
]
"#,
        if more.is_empty() { String::new() } else { format!(", \"{shown}\"") }
    )
}

async fn pictures_of(world: &World) -> (Vec<Picture>, Vec<Picture>) {
    let (mut hung, mut read) = (Vec::new(), Vec::new());
    for event in world.log().await {
        match event {
            Event::Prepared { pictures, .. } => hung.extend(pictures),
            Event::ActionFinished { outcome, .. } => read.extend(outcome.picture.map(|picture| *picture)),
            _ => {}
        }
    }
    (hung, read)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_shown_what_hangs_on_the_issue_and_what_it_reads() {
    let shown = format!("shown image/png {}", digest(&png()));
    let world = World::new(&looks(&format!(", \"shot.png: image/png, 1×1 pixels\", \"{shown}\""))).await;
    let alice = world.alice();
    let issue = alice.open_issue(REPO, "Versions compare as text", "See the picture.").expect("issue");
    alice.attach(REPO, issue, "shot.png", &png()).expect("attached");
    alice.attach(REPO, issue, "no.png", b"<svg onload='alert(1)'/>").expect("attached");
    alice.attach(REPO, issue, "log.txt", b"words").expect("attached");
    // Not the forge's own address, so it is never fetched.
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/x.png", elsewhere.local_addr().expect("an address"));
    alice.attach_elsewhere(REPO, issue, "elsewhere.png", &address).expect("attached");
    alice.comment(REPO, issue, "/fix").expect("said");
    let task = world.until_state("awaiting-review").await;
    assert!(!task.request.as_ref().expect("a request").edited, "files change no text");
    let (hung, read) = pictures_of(&world).await;
    let seen: Vec<_> = hung.iter().map(|picture| (picture.name.as_str(), picture.digest.clone())).collect();
    assert_eq!(seen, [("shot.png", digest(&png()))]);
    assert_eq!(read.iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>(), ["a.png"]);
    assert_eq!(world.store().kept_file(task.id, &digest(&png())).await.expect("read"), Some(png()));
    let review = world.until_said(task.pull.expect("a pull request"), "It was given 1 picture of the issue.").await;
    assert!(review.contains("`no.png` of the issue is no PNG, JPEG, GIF or WebP and was not shown."), "{review}");
    assert!(review.contains("`elsewhere.png` of the issue could not be had from the forge"), "{review}");
    assert!(!review.contains("log.txt"), "{review}");
    let asked = tokio::time::timeout(std::time::Duration::from_millis(50), elsewhere.accept()).await;
    assert!(asked.is_err(), "another host was asked for a picture");
    // The log names pictures but does not contain their bytes.
    let log = serde_json::to_string(&world.log().await).expect("JSON");
    assert!(!log.contains(&base64::engine::general_purpose::STANDARD.encode(png())));
    world.approve().await;
    world.until_state("final-review").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_takes_none_is_told_their_names_and_so_is_the_person() {
    let told = ", \"shot.png: image/png, 1×1 pixels (this model is shown no pictures)\"";
    let script = looks("").replacen("\"Versions compare as text\"", &format!("\"Versions compare as text\"{told}"), 1);
    let world = World::of_models(&script, &format!("{}vision = false\n", single("tools"))).await;
    let alice = world.alice();
    let issue = alice.open_issue(REPO, "Versions compare as text", "See the picture.").expect("issue");
    alice.attach(REPO, issue, "shot.png", &png()).expect("attached");
    alice.comment(REPO, issue, "/fix").expect("said");
    let task = world.until_state("awaiting-review").await;
    world.until_said(task.pull.expect("a pull request"), "such a model is told their names alone").await;
    world.approve().await;
    world.until_state("final-review").await;
}

/// A broken picture stops no task: if the server refuses it, the request is repeated once without pictures.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_pictures_are_refused_is_made_without_them() {
    let told = ", \"shot.png: image/png, 1×1 pixels (this model is shown no pictures)\"";
    let script = looks("").replacen("\"Versions compare as text\"", &format!("\"Versions compare as text\"{told}"), 1);
    // The recording refuses every request with pictures.
    let world = World::new(&script).await;
    let alice = world.alice();
    let issue = alice.open_issue(REPO, "Versions compare as text", "See the picture.").expect("issue");
    alice.attach(REPO, issue, "shot.png", &png()).expect("attached");
    alice.comment(REPO, issue, "/fix").expect("said");
    let task = world.until_state("awaiting-review").await;
    let refused = world.log().await.iter().filter(|event| matches!(event, Event::PicturesRefused { turn: 1 })).count();
    assert_eq!((refused, task.model_worst), (1, 0), "asked once more, and charged once");
    world.until_said(task.pull.expect("a pull request"), "refused the pictures").await;
}
