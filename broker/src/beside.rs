//! Tests of containers with a router in memory: what they request of it, and what happens when it refuses.

use std::collections::HashMap;
use std::sync::Arc;

use bollard::models::{SystemInfo, VolumeCreateRequest};
use protocol::broker::{ContainerLimits, ContainerSpec, Problem, ProblemKind, Purpose, RouterSpec, USERS, VERSION};

use crate::Settings;
use crate::engine::Engine as _;
use crate::engine::memory::MemoryEngine;
use crate::router::memory::MemoryWayOut;
use crate::service::Service;

struct World {
    engine: Arc<MemoryEngine>,
    router: Arc<MemoryWayOut>,
    service: Service,
    _dir: tempfile::TempDir,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let runner = dir.path().join("runner");
    std::fs::write(&runner, b"\x7fELF and more").unwrap();
    let mut settings = Settings::new(dir.path().join("socket"), "one", runner);
    settings.images = vec!["sandbox:1".into()];
    let engine = Arc::new(MemoryEngine::new(None, HashMap::from([("/bin/sh", "looked\n".to_owned())])));
    let router = Arc::new(MemoryWayOut::new("one").unwrap());
    let service = Service::beside(engine.clone(), settings, router.clone()).unwrap();
    World { engine, router, service, _dir: dir }
}

fn spec(name: &str, subnet: Option<u32>) -> ContainerSpec {
    let limits = ContainerLimits {
        memory_bytes: 1 << 30,
        pids: 64,
        cpus: 1.0,
        workspace_bytes: 1 << 30,
        ..ContainerLimits::default()
    };
    ContainerSpec {
        name: name.into(),
        task: Some(1),
        purpose: if subnet.is_some() { Purpose::Task } else { Purpose::Verify },
        user: *USERS.start(),
        image: "sandbox:1".into(),
        subnet,
        limits,
        env: Vec::new(),
        profile: "sealed".into(),
        mirror: None,
        layered: false,
    }
}

async fn with_subnets(world: &World, subnets: u32) {
    let spec = RouterSpec { image: "router:1".into(), subnets, pool: None, upstream: None, private: Vec::new() };
    assert_eq!(world.service.router.ensure(&spec).await.unwrap().subnets.len(), subnets as usize);
    world.router.asked();
}

fn containers(world: &World) -> Vec<String> {
    world.engine.all().into_iter().filter(|it| it.starts_with("container ")).collect()
}

#[tokio::test]
async fn nothing_is_made_on_a_subnet_that_is_not_there() {
    let world = world();
    with_subnets(&world, 1).await;
    let absent = world.service.containers.create(&spec("task-1-1", Some(1))).await.unwrap_err();
    assert_eq!((absent.kind, world.router.asked()), (ProblemKind::NotFound, vec!["place"]));
    assert_eq!(containers(&world), [""; 0]);
    world.service.containers.create(&spec("task-1-1", Some(0))).await.unwrap();
    assert_eq!((containers(&world).len(), world.router.asked()), (1, vec!["place"]));
}

#[tokio::test]
async fn no_container_with_a_subnet_is_started_before_the_table_stands() {
    let world = world();
    with_subnets(&world, 1).await;
    let containers = &world.service.containers;
    containers.create(&spec("task-1-1", Some(0))).await.unwrap();
    containers.create(&spec("verify-1", None)).await.unwrap();
    world.router.asked();
    world.router.set_unfenced(Some(Problem::unavailable("the kernel has no such table")));
    let why = containers.start("task-1-1").await.unwrap_err();
    assert_eq!((why.kind, why.text.as_str()), (ProblemKind::Unavailable, "the kernel has no such table"));
    let is_running = async |name: &str| {
        let found = containers.inspect(name).await.unwrap().unwrap();
        found.state == protocol::broker::ContainerState::Running
    };
    assert!(!is_running("task-1-1").await);
    assert_eq!(world.router.asked(), ["fenced"]);
    // A container without a network needs no firewall.
    containers.start("verify-1").await.unwrap();
    assert!(is_running("verify-1").await && world.router.asked().is_empty());
    world.router.set_unfenced(None);
    containers.start("task-1-1").await.unwrap();
    assert!(is_running("task-1-1").await);
    // It already runs, so the table is not loaded again.
    containers.start("task-1-1").await.unwrap();
    assert_eq!(world.router.asked(), ["fenced"]);
}

#[tokio::test]
async fn a_way_out_that_is_not_there_is_no_container_that_is_gone() {
    let world = world();
    with_subnets(&world, 1).await;
    let containers = &world.service.containers;
    containers.create(&spec("task-1-1", Some(0))).await.unwrap();
    world.service.router.remove().await.unwrap();
    let why = containers.start("task-1-1").await.unwrap_err();
    assert_eq!(why.kind, ProblemKind::Unavailable, "otherwise its task's sandbox would count as removed: {why}");
    let gone = containers.start("task-2-1").await.unwrap_err();
    assert_eq!(gone.kind, ProblemKind::NotFound, "{gone}");
    with_subnets(&world, 1).await;
    containers.start("task-1-1").await.unwrap();
}

#[tokio::test]
async fn the_way_out_stays_for_a_task_and_goes_with_the_rest() {
    let world = world();
    with_subnets(&world, 1).await;
    let Service { containers, reaper, .. } = &world.service;
    containers.create(&spec("task-1-1", Some(0))).await.unwrap();
    containers.create(&spec("verify-1", None)).await.unwrap();
    world.router.asked();
    assert_eq!((reaper.leave().await.unwrap(), world.router.asked()), (Vec::new(), Vec::new()));
    assert_eq!(reaper.reap(&["task-1-1".to_owned()], &[]).await.unwrap()[0], "verify-1");
    assert_eq!(world.router.asked(), ["sweep"], "a holder may hold it");
    containers.remove("task-1-1").await.unwrap();
    containers.create(&spec("verify-1", None)).await.unwrap();
    assert_eq!(reaper.leave().await.unwrap(), ["verify-1", "way out", "sha256:router"]);
    assert_eq!(world.router.asked(), ["remove", "remove networks"], "networks go once nobody stands on them");
    with_subnets(&world, 1).await;
    reaper.teardown().await.unwrap();
    assert_eq!(world.router.asked(), ["remove", "sweep"]);
}

#[tokio::test]
async fn a_runner_whose_volume_was_removed_is_supplied_again() {
    let world = world();
    let containers = &world.service.containers;
    containers.create(&spec("verify-1", None)).await.unwrap();
    let supplied = world.engine.filled();
    assert!(supplied.len() == 1 && supplied[0].contains("-runner-"), "{supplied:?}");
    containers.remove("verify-1").await.unwrap();
    world.engine.prune_volumes();
    assert_eq!(world.engine.filled(), [""; 0]);
    containers.create(&spec("verify-2", None)).await.unwrap();
    assert_eq!(world.engine.filled(), supplied, "otherwise nothing could be started in it");
    world.service.reaper.teardown().await.unwrap();
    assert_eq!(world.engine.all(), [""; 0], "and it is ours");
}

/// The volume was removed right before a container was created with it, so the engine made an empty one.
#[tokio::test]
async fn a_runner_whose_volume_the_engine_made_anew_is_not_taken_for_ours() {
    let world = world();
    let containers = &world.service.containers;
    containers.create(&spec("verify-1", None)).await.unwrap();
    let volume = world.engine.filled().pop();
    containers.remove("verify-1").await.unwrap();
    world.engine.prune_volumes();
    let empty = VolumeCreateRequest { name: volume.clone(), ..Default::default() };
    world.engine.create_volume(empty).await.unwrap();
    for name in ["verify-2", "verify-3"] {
        let why = containers.create(&spec(name, None)).await.unwrap_err();
        assert_eq!(why.kind, ProblemKind::Refused);
        assert!(why.text.contains("does not carry this installation's label; remove it"), "{why}");
    }
    world.engine.prune_volumes();
    containers.create(&spec("verify-4", None)).await.unwrap();
    assert_eq!(world.engine.filled().pop(), volume, "and once it was removed it is supplied");
}

#[tokio::test]
async fn why_an_image_cannot_be_looked_into_is_said_in_the_engine_s_words() {
    let world = world();
    let containers = &world.service.containers;
    world.engine.set_unstartable(Some(Problem::refused("the engine said: mounting proc: permission denied")));
    let why = containers.create(&spec("verify-1", None)).await.unwrap_err();
    assert_eq!(why.kind, ProblemKind::Refused);
    let words = ["image sandbox:1", "cannot start /bin/sh", "mounting proc: permission denied"];
    assert!(words.iter().all(|word| why.text.contains(word)), "{why}");
    // As where containers are pruned.
    world.engine.set_unstartable(Some(Problem::new(ProblemKind::NotFound, "the engine said: no such container")));
    let why = containers.create(&spec("verify-1", None)).await.unwrap_err();
    assert_eq!(why.kind, ProblemKind::Unavailable, "no word on the image: {why}");
    world.engine.set_unstartable(None);
    containers.create(&spec("verify-1", None)).await.unwrap();
    assert_eq!(self::containers(&world), ["container caisson-one-box-verify-1 created"]);
}

#[tokio::test]
async fn a_container_that_cannot_be_removed_keeps_no_other_one() {
    let world = world();
    let Service { containers, reaper, .. } = &world.service;
    for name in ["verify-1", "verify-2", "verify-3"] {
        containers.create(&spec(name, None)).await.unwrap();
    }
    world.engine.set_stuck(Some("caisson-one-box-verify-1"));
    let why = reaper.reap(&["verify-3".to_owned()], &[]).await.unwrap_err();
    assert_eq!((why.kind, why.text.as_str()), (ProblemKind::Engine, "its files are busy"));
    let left = ["verify-1", "verify-3"].map(|name| format!("container caisson-one-box-{name} created"));
    assert_eq!(self::containers(&world), left);
    world.engine.set_stuck(None);
    let removed = reaper.reap(&["verify-3".to_owned()], &[]).await.unwrap();
    assert_eq!(removed, ["verify-1"]);
}

#[tokio::test]
async fn a_volume_that_cannot_be_removed_keeps_no_other_one() {
    let world = world();
    let Service { containers, reaper, .. } = &world.service;
    for name in ["verify-1", "verify-2"] {
        containers.create(&spec(name, None)).await.unwrap();
        // Somebody removes the container alone.
        let made = world.engine.container(&format!("caisson-one-box-{name}")).await.unwrap().unwrap();
        world.engine.remove(&made.id.unwrap()).await.unwrap();
    }
    world.engine.set_stuck(Some("caisson-one-work-verify-1"));
    let why = reaper.reap(&[], &[]).await.unwrap_err();
    assert_eq!((why.kind, why.text.as_str()), (ProblemKind::Engine, "its files are busy"));
    let left = world.engine.all().into_iter().filter(|it| it.contains("-work-")).collect::<Vec<_>>();
    assert_eq!(left, ["volume caisson-one-work-verify-1"]);
    world.engine.set_stuck(None);
    assert_eq!(reaper.reap(&[], &[]).await.unwrap(), ["caisson-one-work-verify-1"]);
}

#[tokio::test]
async fn an_engine_that_was_restarted_with_userns_remap_is_known_after_the_next_greeting() {
    let world = world();
    let users = async || world.service.core.host().await.unwrap().users_from;
    assert_eq!(users().await, (0, 0));
    world.engine.become_another(SystemInfo {
        security_options: Some(vec!["name=userns".into()]),
        docker_root_dir: Some("/var/lib/docker/200000.300000".into()),
        ..Default::default()
    });
    world.service.core.hello(VERSION).await.unwrap();
    assert_eq!(users().await, (200_000, 300_000));
}
