//! Submodules and Git LFS files are not fetched, and the first review says so.

use crate::world::{FIX, REPO, World, git};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_brought_in_is_named_in_the_first_review() {
    let world = World::new(FIX).await;
    let work = world.dir.path().join("project");
    std::fs::create_dir_all(work.join("vendor/lib")).expect("a directory");
    let link = format!("160000,{},vendor/lib", "5".repeat(40));
    git(&work, &["update-index", "--add", "--cacheinfo", &link]);
    world.push(&[(".gitattributes", "art/*.psd filter=lfs diff=lfs merge=lfs -text\n")]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "Checkpoint 1").await;
    for words in ["Submodules are not brought", "vendor/lib", "Git LFS is not supported", "art/"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    world.approve().await;
    world.until_state("final-review").await;
    let last = world.until_said(pull, "Final review").await;
    assert!(!last.contains("Git LFS"), "said once:\n{last}");
}
