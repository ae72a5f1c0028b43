//! Setup: runs once on the pinned base in a sandbox of its own; its result is copied.

use std::time::Duration;

use caisson::sandbox::broker::Broker as _;
use caisson::sandbox::{PrepareSpec, SandboxError, SetupSpec};
use domain::{Commit, VerdictKind};

use crate::world::{KEY, World, commit, url};

/// A command that counts its runs outside of the sandbox (a plain process here), and leaves files of every kind.
fn command(world: &World) -> String {
    let count = world.dir.path().join("runs");
    let leave = "mkdir -p build && echo warm >build/cache.txt && echo tool >\"$HOME/.tool\" && echo no >README.md && echo no >stray.txt";
    format!("echo ran >>{} && {leave}", count.display())
}

fn runs(world: &World) -> usize {
    std::fs::read_to_string(world.dir.path().join("runs")).map_or(0, |text| text.lines().count())
}

fn spec(world: &World, task: i64, base: &Commit, commands: &[String]) -> PrepareSpec {
    let setup = Some(SetupSpec { commands: commands.to_vec(), commit: base.clone(), wall_ms: 900_000 });
    PrepareSpec { setup, base: base.clone(), ..world.spec(task) }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_runs_once_and_the_second_task_starts_warm() {
    let world = World::new().await;
    let commands = [command(&world)];
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await.expect("prepared");
    assert_eq!(
        (runs(&world), &world.broker.created.lock().unwrap()[..]),
        (1, &["setup-1-1".into(), "task-1-1".into()][..])
    );
    let seen =
        world.bash(1, "cat build/cache.txt \"$HOME/.tool\" README.md; ls; git status --porcelain").await.outcome.text;
    assert!(
        seen.starts_with("warm\ntool\n# Demo\n") && !seen.contains("stray"),
        "only what is ignored comes along: {seen}"
    );
    assert!(!seen.contains(" M ") && !seen.contains("??"), "the agent's tree is the base: {seen}");
    // Its subnet was open during the run, and closed before anything was read and before the task began.
    let told = world.doors.told.lock().unwrap().clone();
    assert_eq!(told[..4], ["close 0", "open 0 docs.example.org", "close 0", "close 0"], "{told:?}");
    let names: Vec<_> = world.broker.list().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["task-1-1"], "the sandbox of setup is gone");

    // Changes of a task to its copy do not affect others.
    world.bash(1, "echo poisoned >build/cache.txt; echo poisoned >\"$HOME/.tool\"").await;
    world.sandboxes.of_tasks.prepare(&spec(&world, 2, &world.base, &commands)).await.expect("prepared");
    assert_eq!(world.bash(2, "cat build/cache.txt \"$HOME/.tool\"").await.outcome.text, "warm\ntool\n");
    assert_eq!(runs(&world), 1, "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_setup_brought_into_an_ignored_folder_comes_along_whole() {
    let world = World::new().await;
    let commands = ["git init -q build/deps/source && echo fetched >build/deps/source/lib.c".to_owned()];
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await.expect("prepared");
    let seen = world.bash(1, "cat build/deps/source/lib.c; ls build/deps/source/.git/HEAD").await.outcome.text;
    assert_eq!(seen, "fetched\nbuild/deps/source/.git/HEAD\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_there_waits_for_no_setup_that_runs() {
    let world = World::new().await;
    let warm = [command(&world)];
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &warm)).await.expect("prepared");
    let (begun, go) = (world.dir.path().join("begun"), world.dir.path().join("go"));
    // Gives up by itself, so that who waits for it sees it fail.
    let slow = format!(
        "touch {}; for n in $(seq 600); do test -e {} && exit 0; sleep 0.1; done; exit 9",
        begun.display(),
        go.display()
    );
    let slow = spec(&world, 2, &world.base, &[slow]);
    let quick = async {
        for _ in 0..1_500 {
            if begun.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let prepared = world.sandboxes.of_tasks.prepare(&spec(&world, 3, &world.base, &warm)).await;
        std::fs::write(&go, "").expect("written");
        prepared
    };
    let (slow, quick) = tokio::join!(world.sandboxes.of_tasks.prepare(&slow), quick);
    slow.expect("the setup goes on once the other is prepared");
    quick.expect("prepared");
    assert_eq!(runs(&world), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_base_or_other_commands_are_another_setup() {
    let world = World::new().await;
    let commands = [command(&world)];
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await.expect("prepared");
    let same_tree = commit(&world.upstream(), &[], "nothing new");
    let other = commit(&world.upstream(), &[("package.lock", "2\n")], "a new lock");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
    world.sandboxes.of_tasks.prepare(&spec(&world, 2, &same_tree, &commands)).await.expect("prepared");
    assert_eq!(runs(&world), 1, "the same tree");
    world.sandboxes.of_tasks.prepare(&spec(&world, 3, &other, &commands)).await.expect("prepared");
    assert_eq!(runs(&world), 2, "another tree");
    let more = [command(&world), "true".to_owned()];
    world.sandboxes.of_tasks.prepare(&spec(&world, 4, &other, &more)).await.expect("prepared");
    assert_eq!(runs(&world), 3, "other commands");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_named_and_no_sandbox_is_made() {
    let world = World::new().await;
    let commands = ["true".to_owned(), "echo no such package; exit 7".to_owned()];
    let refused = world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await;
    let Err(SandboxError::Refused(why)) = refused else { panic!("{refused:?}") };
    for words in ["the setup command echo no such package", "exit code 7", ": no such package"] {
        assert!(why.contains(words), "{words} is missing: {why}");
    }
    assert!(world.broker.list().await.unwrap().is_empty(), "nothing is left");
    assert_eq!(world.doors.told.lock().unwrap().last().map(String::as_str), Some("close 0"));
    // After a correction: the failed run left nothing that counts as a result.
    let mended = [command(&world)];
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &mended)).await.expect("prepared");
    assert_eq!(runs(&world), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_starts_from_the_bases_setup_whatever_the_branch_says() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &[command(&world)])).await.expect("prepared");
    world.bash(1, "echo poisoned >build/cache.txt").await;
    let branch = commit(&world.upstream(), &[(".caisson.toml", "setup = [\"echo evil\"]\n")], "work");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
    let verify = world.checks(&branch, Some("grep -qx warm build/cache.txt"));
    let verdict = world.sandboxes.verification.verify(&verify).await.expect("verified");
    assert_eq!((verdict.kind, verdict.base_exit_code), (VerdictKind::Passed, Some(0)), "{verdict:?}");
    assert_eq!(runs(&world), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_be_kept_is_refused_by_name() {
    let world = World::with(crate::world::FILES, |settings| settings.setup_bytes = 1 << 20).await;
    let commands = ["head -c 3000000 /dev/zero >build/large".to_owned()];
    let refused = world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await;
    let Err(SandboxError::Limit(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("more than 1 MiB") && why.contains("sandbox.setup_mib"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_fill_the_bots_own_disk_is_not_kept() {
    let world = World::with(crate::world::FILES, |settings| settings.disk_floor_bytes = u64::MAX >> 8).await;
    let refused = world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &[command(&world)])).await;
    let Err(SandboxError::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("sandbox.disk_floor_mib"), "{why}");
    assert!(world.broker.list().await.unwrap().is_empty(), "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_its_own_sandbox_is_no_engine_that_is_away() {
    let world = World::new().await;
    let commands = ["kill -KILL $PPID; sleep 5".to_owned()];
    let prepared = world.sandboxes.of_tasks.prepare(&spec(&world, 1, &world.base, &commands)).await;
    let Err(SandboxError::Limit(why)) = prepared else { panic!("it would do so again: {prepared:?}") };
    assert!(why.contains("the setup command kill") && why.contains("ended by itself"), "{why}");
    assert!(world.broker.list().await.unwrap().is_empty(), "its sandbox is gone");
}
