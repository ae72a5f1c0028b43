//! What ordinary repositories have besides plain files, from a sandbox into a checkpoint.

use caisson::sandbox::Captured;

use crate::world::{FILES, KEY, World, git, head, url, write};

/// The first checkpoint of the world's task: its changed files, or why it was refused.
async fn changed(world: &World) -> Result<Vec<String>, String> {
    match world.sandboxes.captures.capture(&world.capture_spec(1, 1, &world.base)).await.expect("captured") {
        Captured::Commit { files, .. } => Ok(files.into_iter().map(|file| file.path).collect()),
        Captured::Refused { reasons } => Err(reasons.join("\n")),
        Captured::Unchanged { left_out } => panic!("nothing, without {left_out:?}"),
    }
}

/// Has the task begin at what was committed upstream, and the agent change one file.
async fn begun(world: &mut World) {
    world.base = head(&world.upstream());
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, "sed -i 's/a - b/a + b/' sum.py").await;
}

#[tokio::test]
async fn ends_of_lines_that_attributes_would_turn_stay_as_the_base_has_them() {
    let files = [("shop.sln", "Project\r\nEndProject\r\n"), ("new.txt", "one\ntwo\n")];
    let mut world = World::with(&[FILES, &files].concat(), |_| {}).await;
    // Committed later and alone, as where nobody turned what was there.
    write(&world.upstream(), ".gitattributes", "*.sln text eol=crlf\nnew.txt text eol=crlf\n");
    git(&world.upstream(), &["add", ".gitattributes"]);
    git(&world.upstream(), &["commit", "--quiet", "-m", "attributes"]);
    begun(&mut world).await;
    let returns = world.bash(1, "grep -c \"$(printf '\\r')\" shop.sln new.txt").await;
    assert_eq!(returns.outcome.text, "shop.sln:2\nnew.txt:2\n");
    assert_eq!(changed(&world).await, Ok(vec!["sum.py".to_owned()]));
}
