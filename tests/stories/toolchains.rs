//! Which image a task gets: what its repository asks for, what its files tell, and what happens when that is not there.

use crate::world::{FIX, REPO, World};
use domain::Event;

/// The local broker has every image but `missing`.
const ALL: &str = "image = \"caisson-sandbox:base\"\ntoolchains = { rust = \"built:rust\", go = \"missing\" }";

async fn image(world: &World) -> String {
    let log = world.log().await;
    let prepared = log.iter().find_map(|event| match event {
        Event::Prepared { image, .. } => Some(image.clone()),
        _ => None,
    });
    prepared.expect("a sandbox")
}

/// A task on a repository with these files, at its first checkpoint: with the pull request's number and the review.
async fn begun(files: &[(&str, &str)]) -> (World, u64, String) {
    let world = World::in_image(FIX, ALL).await;
    world.push(files);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    (world, pull, review)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_the_base_tell_the_toolchain() {
    let (world, _, review) = begun(&[("Cargo.toml", "[package]\nname = \"shop\"\n")]).await;
    assert_eq!(image(&world).await, "built:rust");
    assert!(!review.contains("[!NOTE]"), "{review}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_only_guessed_falls_back_and_the_first_review_says_so() {
    let (world, pull, review) = begun(&[("go.mod", "module shop\n")]).await;
    assert_eq!(image(&world).await, "caisson-sandbox:base");
    for words in ["tells of the toolchain go, whose image is not there", "works in `caisson-sandbox:base` instead"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    world.approve().await;
    world.until_state("final-review").await;
    let last = world.until_said(pull, "Final review").await;
    assert!(!last.contains("tells of the toolchain"), "said once:\n{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_repository_asks_for_it_gets_or_its_task_does_not_start() {
    let world = World::in_image(FIX, ALL).await;
    world.push(&[(".caisson.toml", "toolchain = \"go\"\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    let said = world.until_said(issue, "asks for the toolchain go").await;
    assert!(said.contains("missing") && said.contains("/resume"), "{said}");
    assert!(world.broker.created.lock().expect("listed").is_empty(), "no sandbox was made");

    // Mended on the default branch, or by the operator: the same task goes on.
    world.push(&[(".caisson.toml", "toolchain = \"rust\"\n")]);
    world.alice().comment(REPO, issue, "/resume").expect("resumed");
    world.until_state("awaiting-review").await;
    assert_eq!(image(&world).await, "built:rust");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_toolchain_nobody_offers_is_refused_by_name() {
    let world = World::in_image(FIX, ALL).await;
    world.push(&[(".caisson.toml", "toolchain = \"cobol\"\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    let said = world.until_said(issue, "asks for the toolchain cobol").await;
    assert!(said.contains("not offered here"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_the_operators_own_is_not_second_guessed() {
    let world = World::new(FIX).await;
    world.push(&[("Cargo.toml", "[package]\nname = \"shop\"\n")]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    assert_eq!(image(&world).await, "local");
}
