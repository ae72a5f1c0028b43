//! A trial of a project: the output of each setup command, and checks that start with the result.

use caisson::sandbox::{PrepareSpec, SandboxError, SetupSpec, Tried, VerifySpec};

use crate::world::World;

fn setup(world: &World, attempt: u32, commands: &[&str]) -> PrepareSpec {
    let commands = commands.iter().map(|&command| command.to_owned()).collect();
    PrepareSpec {
        attempt,
        setup: Some(SetupSpec { commands, commit: world.base.clone(), wall_ms: 900_000 }),
        ..world.spec(1)
    }
}

async fn checks(world: &World, tries: u32, command: &str) -> Tried {
    let spec = VerifySpec { tries, ..world.checks(&world.base, None) };
    world.sandboxes.trials.try_checks(&spec, &world.base, command, "checks").await.expect("run")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_told_with_all_it_said_and_leaves_nothing() {
    let world = World::new().await;
    let failing = setup(&world, 1, &["echo one", "echo no such host; exit 7", "echo never"]);
    let tried = world.sandboxes.trials.try_setup(&failing).await.expect("tried");
    assert_eq!(tried.iter().map(Tried::worked).collect::<Vec<_>>(), [true, false], "{tried:?}");
    assert!(tried[1].outcome.text.contains("no such host"));
    assert!(world.left().await.is_empty());
    let told = world.doors.told.lock().unwrap().clone();
    assert_eq!(told.last().map(String::as_str), Some("close 0"), "its subnet is closed: {told:?}");

    let good = setup(&world, 2, &["mkdir -p build && echo warm >build/cache.txt"]);
    assert!(world.sandboxes.trials.try_setup(&good).await.expect("tried").iter().all(Tried::worked));
    assert!(checks(&world, 1, "grep -qx warm build/cache.txt").await.worked());
    world.sandboxes.trials.without_setup(1).expect("forgotten");
    assert!(!checks(&world, 2, "grep -qx warm build/cache.txt").await.worked(), "the plain commit again");
    // The result was kept, so nothing runs again.
    assert!(world.sandboxes.trials.try_setup(&good).await.expect("tried").is_empty());
    assert!(checks(&world, 3, "grep -qx warm build/cache.txt").await.worked());
    assert!(world.left().await.is_empty(), "a container is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_an_error_of_its_own() {
    let world = World::with(crate::world::FILES, |settings| settings.setup_bytes = 1 << 20).await;
    let large = setup(&world, 1, &["head -c 3000000 /dev/zero >build/large"]);
    let refused = world.sandboxes.trials.try_setup(&large).await;
    assert!(matches!(refused, Err(SandboxError::Limit(_))), "{refused:?}");
}
