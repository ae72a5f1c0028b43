//! A sandbox whose runner has another version: uncommitted work is taken out of it and put into its replacement.

use std::sync::Arc;

use caisson::sandbox::{Captured, EgressControl, SandboxError, Sandboxes, Settings};
use domain::{Action, Loss};
use protocol::runner::{Limits, VERSION};

use crate::world::World;

const CONTAINER: &str = "task-1-1";
const OTHER: u32 = VERSION + 7;

/// Another process of the bot with the same state, for which the sandbox of task 1 has another version.
fn another_life(world: &World, epoch: u64, spoken: Option<u32>) -> Sandboxes {
    let record = world.dir.path().join("state/sandboxes/1.json");
    let text = std::fs::read(&record).expect("a record");
    let mut told: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(told["runner"], VERSION, "whose runner it is, is remembered");
    if let Some(spoken) = spoken {
        told["runner"] = spoken.into();
        std::fs::write(&record, told.to_string()).expect("written");
    }
    let control: Arc<dyn EgressControl> = Arc::clone(&world.doors) as _;
    let settings = Settings::new(world.dir.path().join("state"), "local");
    Sandboxes::new(Arc::clone(&world.broker) as _, Some(control), world.repos.clone(), settings, epoch)
        .expect("sandboxes")
}

async fn bash(sandboxes: &Sandboxes, id: u64, command: &str) -> Result<String, SandboxError> {
    let action = Action::Bash { command: command.to_owned() };
    let acted = sandboxes.actions.act(1, id, &action, Limits { wall_ms: 20_000, output_bytes: 10_000 }).await?;
    Ok(acted.outcome.text)
}

const WORK: &str =
    "sed -i 's/a - b/a + b/' sum.py; echo new >new.txt; rm README.md; echo warm >build/cache; chmod +x test_sum.py";
const LOOK: &str = "git status --short; tail -1 sum.py; cat new.txt; ls build; git log --oneline | wc -l";
const SEEN: &str = " D README.md\n M sum.py\n M test_sum.py\n?? new.txt\n    return a + b\nnew\nkept.txt\n1\n";

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_committed_is_in_the_one_that_takes_its_place() {
    for state in ["at work", "frozen", "stopped"] {
        let world = World::new().await;
        world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
        world.bash(1, WORK).await;
        match state {
            "frozen" => world.sandboxes.of_tasks.rest(1).await.expect("resting"),
            "stopped" => world.sandboxes.of_tasks.stop(1).await.expect("stopped"),
            _ => {}
        }
        world.broker.speaks(CONTAINER, OTHER);
        // With this host's version it cannot be reached.
        let stranded = another_life(&world, 2, None).of_tasks.open(1).await;
        assert!(
            matches!(&stranded, Err(SandboxError::Refused(why)) if why.contains("version")),
            "{state}: {stranded:?}"
        );

        let next = another_life(&world, 3, Some(OTHER));
        assert_eq!(next.of_tasks.open(1).await.err(), Some(SandboxError::Gone(Loss::Outdated)), "{state}");
        assert_eq!(bash(&next, 900, "true").await.err(), Some(SandboxError::Gone(Loss::Outdated)), "{state}");
        // Interrupted after the old one was removed: nothing is lost.
        let mut missing = world.spec(1);
        missing.image = "missing".to_owned();
        next.of_tasks.prepare(&missing).await.expect_err("no such image");
        assert!(next.of_tasks.open(1).await.is_err(), "{state}: no sandbox stands");
        next.of_tasks.prepare(&world.spec(1)).await.expect("prepared anew");
        next.of_tasks.open(1).await.expect("open");
        assert_eq!(bash(&next, 901, LOOK).await.expect("acted"), SEEN, "{state}");
        assert!(std::fs::read_dir(world.dir.path().join("state/carried")).expect("made").next().is_none(), "{state}");
        // It is an ordinary sandbox: its tree is captured as the work.
        let captured = next.captures.capture(&world.capture_spec(1, 1, &world.base)).await.expect("captured");
        assert!(matches!(&captured, Captured::Commit { files, .. } if files.len() == 4), "{state}: {captured:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_brought_over_never_comes_back_over_a_later_commit() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, WORK).await;
    world.broker.speaks(CONTAINER, OTHER);
    let next = another_life(&world, 2, Some(OTHER));
    let mut missing = world.spec(1);
    missing.image = "missing".to_owned();
    next.of_tasks.prepare(&missing).await.expect_err("no such image");
    let carried = world.dir.path().join("state/carried/1");
    let taken = std::fs::read(&carried).expect("taken out");
    // As left by a process that was killed before it removed it, or that could not.
    let left_over = || std::fs::write(&carried, &taken).expect("written");
    next.of_tasks.prepare(&world.spec(1)).await.expect("prepared anew");
    left_over();
    next.of_tasks.open(1).await.expect("open");
    assert!(!carried.exists(), "opened");
    bash(&next, 901, "echo newer >new.txt").await.expect("acted");
    left_over();
    let captured = next.captures.capture(&world.capture_spec(1, 1, &world.base)).await.expect("captured");
    let Captured::Commit { commit, .. } = captured else { panic!("{captured:?}") };
    assert!(!carried.exists(), "sealed");
    next.of_tasks.remove(1).await.expect("removed");
    left_over();
    let mut later = world.spec(1);
    later.base = commit;
    next.of_tasks.prepare(&later).await.expect("prepared from the checkpoint");
    next.of_tasks.open(1).await.expect("open");
    assert_eq!(bash(&next, 902, "git status --short; cat new.txt").await.expect("acted"), "newer\n");
    assert!(!carried.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_is_taken_by_the_old_runner_itself() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, WORK).await;
    world.broker.speaks(CONTAINER, OTHER);
    let next = another_life(&world, 2, Some(OTHER));
    let captured = next.captures.capture(&world.capture_spec(1, 1, &world.base)).await.expect("captured");
    assert!(matches!(&captured, Captured::Commit { files, .. } if files.len() == 4), "{captured:?}");
    next.of_tasks.remove(1).await.expect("removed");
}
