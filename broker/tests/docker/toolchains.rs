//! Images of toolchain profiles on a real engine: built from the same files as by `build.sh`, found again, listed, pruned.
//!
//! No package is fetched, because the base already has those of the profile `base`, so its build takes seconds.

use std::collections::HashMap;
use std::process::Command;

use caisson_broker::toolchain::{BASE, DEFAULT_BASE, Progress, Pruned, Toolchains, profile, profiles};

use crate::lab::{IMAGE, absent};
use crate::skipped::skipped;

fn docker(words: &[&str]) -> String {
    let out = Command::new("docker").args(words).output().unwrap();
    assert!(out.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

async fn toolchains() -> Toolchains {
    Toolchains::connect("/var/run/docker.sock".as_ref()).await.unwrap()
}

#[tokio::test]
async fn what_build_sh_made_is_not_built_again() {
    if absent(DEFAULT_BASE) || absent(IMAGE) {
        return;
    }
    let mut said = Vec::new();
    let built =
        toolchains().await.build(profile(BASE).unwrap(), DEFAULT_BASE, false, &mut |it| said.push(it)).await.unwrap();
    assert!(built.before && said.is_empty(), "one of the two hashes other things: {said:?}");
    assert_eq!(docker(&["image", "inspect", "-f", "{{.Id}}", IMAGE]), built.id);
}

#[tokio::test]
async fn a_base_that_is_not_there_is_refused_by_name() {
    if absent(IMAGE) {
        return;
    }
    let mut silent = |_| {};
    let problem =
        toolchains().await.build(profile("go").unwrap(), "nobody-has:this", false, &mut silent).await.unwrap_err();
    assert!(problem.text.contains("docker pull nobody-has:this"), "{problem}");
}

/// What the test created; removed when dropped, also after a failure.
#[derive(Default)]
struct TestObjects(Vec<(&'static str, String)>);

impl TestObjects {
    fn container(&mut self, image: &str, words: &[&str]) -> String {
        let id = docker(&[&["create", image], words].concat());
        self.0.push(("container", id.clone()));
        id
    }

    fn image(&mut self, reference: String) -> String {
        self.0.push(("image", reference.clone()));
        reference
    }
}

impl Drop for TestObjects {
    fn drop(&mut self) {
        for (kind, name) in self.0.iter().rev() {
            let _ = Command::new("docker").args([kind, "rm", name]).output();
        }
    }
}

/// For each kept image the reason; removed ones are left out.
fn kept(done: Vec<Pruned>) -> HashMap<String, String> {
    let kept = done.into_iter().filter_map(|one| match one {
        Pruned::Kept { id, because, .. } => Some((id, because)),
        Pruned::Removed { .. } => None,
    });
    kept.collect()
}

#[tokio::test]
async fn a_profile_is_built_listed_replaced_and_pruned() {
    if absent(DEFAULT_BASE) || absent(IMAGE) {
        return;
    }
    let engine = toolchains().await;
    let before = engine.stock(Some(DEFAULT_BASE)).await.unwrap();
    let Some(it) = profiles().find(|it| before.of(*it).is_none()) else {
        skipped("profile", "every profile is built here already, and this test would move the tag of one");
        return;
    };
    // A base in which every package counts as installed, so that nothing is fetched.
    let mut made = TestObjects::default();
    let base = made.image(format!("caisson-test-base:{}", std::process::id()));
    let bare = made.container(DEFAULT_BASE, &["sh", "-c", PRETEND]);
    docker(&["start", "-a", &bare]);
    docker(&["commit", &bare, &base]);
    made.image(it.tag());

    let mut steps = Vec::new();
    let first = engine.build(it, &base, false, &mut |said| steps.push(said)).await.unwrap();
    assert!(!first.before && steps.iter().any(|said| matches!(said, Progress::Step { number: 1, .. })), "{steps:?}");
    let again = engine.build(it, &base, false, &mut |_| {}).await.unwrap();
    assert!(again.before && again.id == first.id);

    // An image that a user derived from it has its labels, and belongs to the user.
    let theirs = made.image(format!("caisson-test-theirs:{}", std::process::id()));
    let copy = made.container(&first.id, &["sh"]);
    docker(&["commit", "-c", "ENV MINE=1", &copy, &theirs]);
    docker(&["rm", &copy]);
    let stock = engine.stock(Some(&base)).await.unwrap();
    assert!(!stock.outdated(it) && stock.images.iter().all(|image| !image.tags.contains(&theirs)), "{stock:?}");
    assert!(engine.stock(Some(DEFAULT_BASE)).await.unwrap().outdated(it), "another base makes another image");

    // Built twice more, so that the first two lose their name. Other leftovers on this engine do not belong to the test.
    let second = engine.build(it, &base, true, &mut |_| {}).await.unwrap();
    made.image(second.id.clone());
    let used = made.container(&second.id, &["sh"]);
    let third = engine.build(it, &base, true, &mut |_| {}).await.unwrap();
    let others: Vec<String> = before.left_over().map(|image| image.id.clone()).collect();
    let needed = [&others[..], std::slice::from_ref(&second.id)].concat();
    let why = kept(engine.prune(&needed).await.unwrap());
    assert!(why[&second.id].contains("configuration"), "{why:?}");
    let why = kept(engine.prune(&others).await.unwrap());
    assert!(why[&second.id].contains("a container uses it"), "{why:?}");
    docker(&["rm", &used]);
    let why = kept(engine.prune(&others).await.unwrap());
    assert!(!why.contains_key(&second.id), "{why:?}");
    docker(&["image", "inspect", &theirs]);
    docker(&["image", "inspect", &first.id]);
    let now = engine.stock(None).await.unwrap();
    assert!(now.images.iter().all(|image| image.id != second.id), "{now:?}");
    assert_eq!(now.of(it).map(|image| &image.id), Some(&third.id), "what a profile stands for stays");
    assert_eq!(now.left_over().count(), others.len());
}

/// A replacement of dpkg-query that gives the same answer for every package.
const PRETEND: &str =
    "printf '#!/bin/sh\\necho install ok installed\\n' >/usr/local/bin/dpkg-query; chmod 755 /usr/local/bin/dpkg-query";
