//! What ordinary repositories have besides plain files, from a sandbox into a checkpoint.

use caisson::sandbox::Captured;
use domain::Commit;
use protocol::runner::Status;

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

/// Adds a submodule with this path and commit to the upstream.
fn submodule(world: &World, path: &str, commit: &Commit) {
    let link = format!("160000,{commit},{path}");
    git(&world.upstream(), &["update-index", "--add", "--cacheinfo", &link]);
    git(&world.upstream(), &["commit", "--quiet", "-m", "a submodule"]);
}

#[tokio::test]
async fn what_is_written_into_the_directory_of_a_submodule_is_not_lost_in_silence() {
    let mut world = World::new().await;
    submodule(&world, "vendor/lib", &Commit::parse(&"5".repeat(40)).expect("an id"));
    begun(&mut world).await;
    world.bash(1, "echo x > vendor/lib/new.c").await;
    let why = changed(&world).await.expect_err("refused");
    assert!(why.contains("vendor/lib is a submodule") && why.contains("move what you made in it"), "{why}");
    world.sandboxes.of_tasks.open(1).await.expect("opened");
    world.bash(1, "mv vendor/lib/new.c .").await;
    assert_eq!(changed(&world).await, Ok(vec!["new.c".to_owned(), "sum.py".to_owned()]));
}

#[tokio::test]
async fn nothing_that_a_clone_in_the_place_of_a_submodule_configures_runs() {
    nothing_runs("vendor/lib").await;
}

#[tokio::test]
async fn nor_where_its_path_is_one_that_git_quotes_or_reads_as_a_pattern() {
    nothing_runs("vendor/[a] \"lib\"").await;
}

#[tokio::test]
async fn a_submodule_whose_path_holds_a_line_feed_is_refused() {
    let mut world = World::new().await;
    submodule(&world, "vendor\nlib", &Commit::parse(&"5".repeat(40)).expect("an id"));
    begun(&mut world).await;
    let why = changed(&world).await.expect_err("refused");
    assert!(why.contains("a submodule whose path holds a line feed"), "{why}");
}

async fn nothing_runs(path: &str) {
    let mut world = World::new().await;
    let lib = world.dir.path().join("lib");
    submodule(&world, path, &crate::world::project(&lib, &[("lib.c", "int one;\n")]));
    begun(&mut world).await;
    let canary = world.dir.path().join("canary");
    let made = format!(
        "(set -e; git clone -q {} '{path}'; cd '{path}'; git config filter.x.clean 'touch {}; cat'
         mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; touch -d '2001-01-01' lib.c)",
        lib.display(),
        canary.display()
    );
    let done = world.bash(1, &made).await;
    assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
    assert_eq!(changed(&world).await, Ok(vec!["sum.py".to_owned()]));
    assert!(!canary.exists(), "something of the agent's ran");
    world.sandboxes.of_tasks.open(1).await.expect("opened");
    let more = format!("cd '{path}' && git -c user.name=x -c user.email=x commit -q --allow-empty -m x");
    let done = world.bash(1, &more).await;
    assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
    assert!(changed(&world).await.expect_err("refused").contains(" is a submodule"));
}
