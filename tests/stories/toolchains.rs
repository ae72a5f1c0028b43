//! The image of a task: what its repository asks for, what its files indicate, and what happens if that is missing.

use crate::world::{FIX, REPO, World};
use domain::Event;

/// The local broker has every image except `missing`.
const ALL: &str = "image = \"caisson-sandbox:base\"\nimages = [\"team/builder\"]\n[sandbox.toolchains]\nrust = \"built:rust\"\ngo = \"missing\"\n\
                   node = \"built:node=18.19.0\"\n\"node@20\" = \"built:node-20=20.11.1\"";

async fn image(world: &World) -> String {
    let log = world.log().await;
    let prepared = log.iter().find_map(|event| match event {
        Event::Prepared { image, .. } => Some(image.clone()),
        _ => None,
    });
    prepared.expect("a sandbox")
}

/// A task at its first checkpoint on a repository with these files; returns the pull request's number and the review.
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
    assert!(!review.contains("asks for") && !review.contains("does not say which"), "{review}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_toolchains_the_one_that_the_named_test_command_uses_is_taken() {
    let files = [("Cargo.toml", ""), ("package.json", "{}"), (".caisson.toml", "test = \"npm test\"\n")];
    let (world, ..) = begun(&files).await;
    assert_eq!(image(&world).await, "built:node=18.19.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_toolchain_a_task_stops_before_its_first_action_and_says_what_to_type() {
    let world = World::in_image(FIX, ALL).await;
    world.push(&[("go.mod", "module shop\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    let said = world.until_said(issue, "tells of the toolchain go").await;
    assert!(said.contains("bring the image missing") && said.contains("/resume"), "{said}");
    assert_eq!(world.task().await.actions, 0);
    assert!(world.broker.created.lock().expect("listed").is_empty(), "no sandbox was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_a_project_pins_chooses_among_what_is_offered() {
    let (world, _, review) = begun(&[("package.json", "{}"), (".nvmrc", "v20\n")]).await;
    assert_eq!(image(&world).await, "built:node-20=20.11.1");
    assert!(!review.contains("[!NOTE]"), "{review}");
    let world = World::in_image(FIX, ALL).await;
    world.push(&[("package.json", "{}"), (".nvmrc", "22\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    let said = world.until_said(issue, "asks for node 22").await;
    for words in ["`built:node=18.19.0` is `18.19.0`", "caisson image build node@22", "--from-host"] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
    // A repository that needs no toolchain says so on its default branch.
    world.push(&[(".caisson.toml", "toolchain = \"base\"\n")]);
    world.alice().comment(REPO, issue, "/resume").expect("resumed");
    world.until_state("awaiting-review").await;
    assert_eq!(image(&world).await, "caisson-sandbox:base");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_devcontainers_image_is_taken_where_the_operator_lists_it() {
    let named = |image: &str| format!("{{\n  // ours\n  \"image\": \"{image}\",\n}}\n");
    let (world, ..) = begun(&[("Cargo.toml", ""), (".devcontainer.json", &named("team/builder"))]).await;
    assert_eq!(image(&world).await, "team/builder");
    let (world, ..) = begun(&[("Cargo.toml", ""), (".devcontainer.json", &named("elsewhere/any"))]).await;
    assert_eq!(image(&world).await, "built:rust", "what nobody listed is not taken");
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

    // After a correction on the default branch, or by the operator, the same task continues.
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
