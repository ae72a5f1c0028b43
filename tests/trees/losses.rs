//! A sandbox that is lost says how, and says it again until it is made anew: also to a bot that was restarted in between.

use caisson::sandbox::{SandboxError, Sandboxes, Settings};
use domain::{Action, Loss};
use protocol::broker::End;
use protocol::runner::Limits;

use crate::world::World;

const CHAMBER: &str = "task-1-1";

async fn gone(sandboxes: &Sandboxes) -> Loss {
    match sandboxes.open(1).await {
        Err(SandboxError::Gone(loss)) => loss,
        other => panic!("it is lost: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn how_it_was_lost_outlives_the_bot_and_a_try_to_make_it_anew_that_fails() {
    let world = World::new().await;
    let made = async || drop(world.sandboxes.prepare(&world.spec(1)).await.expect("prepared"));
    for (end, loss) in [
        (End::Memory, Loss::Memory),
        (End::Itself, Loss::Ended),
        (End::Stopped, Loss::Stopped),
        (End::EngineRestarted, Loss::EngineRestarted),
    ] {
        made().await;
        assert_eq!(world.bash(1, "true").await.lost, None);
        world.broker.end(CHAMBER, end);
        assert_eq!(world.bash(1, "true").await.lost, Some(loss), "{end:?}");
        let mut settings = Settings::new(world.dir.path().join("state"), "local");
        let again = |settings| {
            Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, 2)
        };
        assert_eq!(gone(&again(settings.clone()).expect("sandboxes")).await, loss, "{end:?}");
        settings.base_pack_bytes = 1;
        let poor = again(settings).expect("sandboxes");
        assert!(matches!(poor.prepare(&world.spec(1)).await, Err(SandboxError::Limit(_))), "it could not be made");
        assert_eq!(gone(&poor).await, loss, "{end:?}");
        world.sandboxes.remove(1).await.expect("removed");
    }
    assert_eq!(gone(&world.sandboxes).await, Loss::PutAway, "the bot removed it itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_boot_is_no_sandbox_of_ours_and_an_engine_that_is_away_is_no_loss() {
    let world = World::new().await;
    world.sandboxes.prepare(&world.spec(1)).await.expect("prepared");
    world.broker.restart(CHAMBER);
    assert_eq!(world.bash(1, "true").await.lost, Some(Loss::Restarted));
    world.sandboxes.prepare(&world.spec(1)).await.expect("made anew");
    world.broker.set_away(true);
    world.broker.end(CHAMBER, End::EngineRestarted);
    let action = Action::Bash { command: "true".to_owned() };
    let acted = world.sandboxes.act(1, 77, &action, Limits { wall_ms: 1_000, output_bytes: 100 }).await;
    assert!(matches!(acted, Err(SandboxError::Unavailable(_))), "{acted:?}");
    world.broker.set_away(false);
    assert_eq!(gone(&world.sandboxes).await, Loss::EngineRestarted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_is_replaced_names_the_tasks_with_an_open_way() {
    let world = World::new().await;
    for task in [1, 2] {
        world.sandboxes.prepare(&world.spec(task)).await.expect("prepared");
    }
    world.sandboxes.rest(2).await.expect("resting");
    world.doors.replace_router();
    assert_eq!(world.sandboxes.router_replaced().await.1, [1]);
}
