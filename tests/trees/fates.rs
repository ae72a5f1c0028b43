//! How a sandbox was lost, on a real engine: external changes to its container are distinguished from its own.
//!
//! Needs what `docker.rs` needs. Restarts of the engine: `restarts.rs`.

use std::process::Command;
use std::sync::Arc;

use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{Acted, PrepareSpec, SandboxError, Sandboxes, Settings};
use domain::{Action, Loss};
use protocol::broker::ContainerLimits;
use protocol::runner::{Limits, Status};

use crate::docker::{IMAGE, in_containers};
use crate::world::{World, acted};

/// Memory used by a file is not freed by killing a process, so in the end the last process left, process 1, is killed.
const FILL: &str = "head -c 200M /dev/zero >big; true";

fn docker(words: &[&str]) {
    let out = Command::new("docker").args(words).output().expect("docker runs");
    assert!(out.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&out.stderr));
}

fn spec(world: &World) -> PrepareSpec {
    let limits = ContainerLimits {
        memory_bytes: 96 << 20,
        workspace_bytes: 1 << 30,
        tmp_bytes: 8 << 20,
        ..ContainerLimits::default()
    };
    PrepareSpec { image: IMAGE.to_owned(), network: false, egress: Vec::new(), limits, ..world.spec(1) }
}

struct Actor {
    sandboxes: Sandboxes,
    next: u64,
}

impl Actor {
    async fn act(&mut self, action: Action) -> Acted {
        self.next += 1;
        let limits = Limits { wall_ms: 60_000, output_bytes: 4000 };
        acted(self.sandboxes.actions.act(1, self.next, &action, limits).await)
    }

    async fn bash(&mut self, command: &str) -> Acted {
        self.act(Action::Bash { command: command.to_owned() }).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_a_container_is_known() {
    in_containers(
        "fates",
        |_| {},
        |world, broker, installation| async move { road(&world, broker, &installation).await },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_on_disk_is_held_to_its_budget() {
    in_containers("disk", |_| {}, |world, broker, _| async move { on_disk(&world, broker).await }).await;
}

async fn on_disk(world: &World, broker: SocketBroker) {
    let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
    let sandboxes = Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
    let mut actor = Actor { sandboxes, next: 0 };
    let mut asked = spec(world);
    (asked.limits.workspace_bytes, asked.limits.disk_bytes) = (0, 32 << 20);
    (asked.limits.memory_bytes, asked.limits.disk_floor_bytes) = (512 << 20, u64::MAX >> 8);
    let refused = actor.sandboxes.of_tasks.prepare(&asked).await;
    let lacks = matches!(&refused, Err(SandboxError::Unavailable(why)) if why.contains("are to stay free"));
    assert!(lacks, "{refused:?}");
    asked.limits.disk_floor_bytes = 0;
    actor.sandboxes.of_tasks.prepare(&asked).await.expect("prepared");
    assert_eq!(actor.bash("head -c 8M /dev/zero >small").await.outcome.status, Status::Ok);
    let status = actor.bash("head -c 200M /dev/zero >big; sleep 60").await.outcome.status;
    assert!(matches!(&status, Status::DiskSpent { what } if what.contains("32 MiB")), "{status:?}");
    let mended = actor.bash("ps -e | wc -l; rm big").await;
    assert_eq!((mended.outcome.status, mended.lost), (Status::Ok, None), "process 1 lives");
    actor.sandboxes.of_tasks.remove(1).await.expect("removed");
    actor.sandboxes.leave().await;
}

async fn road(world: &World, broker: SocketBroker, installation: &str) {
    let settings = Settings::new(world.dir.path().join("docker"), IMAGE);
    let sandboxes = Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
    let mut actor = Actor { sandboxes, next: 0 };
    let container = format!("caisson-{installation}-box-task-1-1");
    let outside: [(&[&str], Loss); 4] = [
        (&["kill"], Loss::Stopped),
        (&["stop", "-t", "1"], Loss::Stopped),
        (&["rm", "-f"], Loss::Removed),
        (&["restart", "-t", "1"], Loss::Restarted),
    ];
    for (words, loss) in outside {
        // A busy engine takes so long to start it again that it may be found stopped, once.
        let mut lost = lost_by(&mut actor, world, &container, words).await;
        if loss == Loss::Restarted && lost == Some(Loss::Stopped) {
            lost = lost_by(&mut actor, world, &container, words).await;
        }
        assert_eq!(lost, Some(loss), "docker {words:?}");
    }
    actor.sandboxes.of_tasks.prepare(&spec(world)).await.expect("prepared");
    let ended = actor.bash("kill -TERM 1; sleep 60").await;
    assert_eq!(ended.lost, Some(Loss::Ended), "{ended:?}");
    actor.sandboxes.of_tasks.prepare(&spec(world)).await.expect("prepared");
    let mut last = actor.bash(FILL).await;
    for n in 0..50 {
        if last.lost.is_some() {
            break;
        }
        let (path, content) = (format!("more{n}"), "x".repeat(900_000));
        last = actor.act(Action::WriteFile { path, content }).await;
    }
    assert_eq!(last.lost, Some(Loss::Memory), "{:?}", last.outcome.status);
    actor.sandboxes.of_tasks.remove(1).await.expect("removed");
    actor.sandboxes.leave().await;
}

/// What becomes of a task's container by this command of the engine while an action runs in it.
async fn lost_by(actor: &mut Actor, world: &World, container: &str, words: &[&str]) -> Option<Loss> {
    actor.sandboxes.of_tasks.prepare(&spec(world)).await.expect("prepared");
    // A process that was killed earlier for lack of memory does not explain a later end of the container.
    let hungry = actor.bash("tail /dev/zero").await;
    assert_eq!((hungry.outcome.status, hungry.lost), (Status::OutOfMemory, None));
    let meanwhile = tokio::task::spawn_blocking({
        let words: Vec<String> = words.iter().copied().chain([container]).map(str::to_owned).collect();
        move || {
            let begun = ["exec", words.last().expect("a name"), "test", "-e", "/workspace/begun"];
            let begun = || Command::new("docker").args(begun).status().is_ok_and(|it| it.success());
            let until = std::time::Instant::now() + std::time::Duration::from_secs(300);
            while !begun() {
                assert!(std::time::Instant::now() < until, "the action did not begin");
            }
            docker(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
    });
    let lost = actor.bash("touch begun; sleep 60").await.lost;
    meanwhile.await.expect("done");
    lost
}
