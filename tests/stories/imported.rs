//! Texts that an import from another forge brought: they are nobody's words, whoever imported them.

use crate::triggers::tasks;
use crate::world::{FIX, REPO, World};

#[tokio::test(flavor = "multi_thread")]
async fn what_an_import_brought_begins_nothing_in_the_name_of_who_imported_it() {
    let world = World::new(FIX).await;
    let issue = world.alice().import_issue(REPO, "Versions compare as text", "/fix").expect("imported");
    let other = world.alice().open_issue(REPO, "Dates compare as text", "Like the versions.").expect("issue");
    world.alice().import_comment(REPO, other, "/fix").expect("imported");
    world.heard(issue).await;
    world.heard(other).await;
    assert_eq!(tasks(&world).await, Vec::<u64>::new());
    assert_eq!(world.said(issue).await.len(), 1, "only the answer to /status");
    // Their own words count there as anywhere.
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until_state("awaiting-review").await;
    assert_eq!(tasks(&world).await, [issue]);
}
