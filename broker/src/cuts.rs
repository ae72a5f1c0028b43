//! Fails every request at each of its calls to the engine, before and after the call took effect, and repeats it: the result equals that of
//! an undisturbed request, with nothing left over.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::broker::{ContainerLimits, ContainerSpec, Problem, ProblemKind, Purpose, RouterSpec, USERS};
use protocol::host::{FENCED, Network, UNFENCED};

use crate::Settings;
use crate::engine::memory::{Cut, MemoryEngine};
use crate::service::Service;

fn engine(cut: Option<(usize, Cut)>) -> Arc<MemoryEngine> {
    Arc::new(MemoryEngine::new(cut, says()))
}

fn says() -> HashMap<&'static str, String> {
    let network = serde_json::to_string(&Network::default()).unwrap();
    HashMap::from([
        ("/bin/sh", "looked\n".to_owned()),
        ("report", network),
        ("fence", FENCED.to_owned()),
        ("unfence", UNFENCED.to_owned()),
        ("walls", "walls ready\n".to_owned()),
    ])
}

/// One process life of a broker, without memory of another.
fn life(engine: &Arc<MemoryEngine>, dir: &std::path::Path) -> Service {
    let runner = dir.join("runner");
    std::fs::write(&runner, b"\x7fELF and more").unwrap();
    let mut settings = Settings::new(dir.join("socket"), "one", runner);
    settings.images = vec!["sandbox:1".into()];
    settings.router_images = vec!["router:1".into()];
    Service::on(engine.clone(), settings).unwrap()
}

fn spec(disk: bool) -> ContainerSpec {
    let workspace_bytes = if disk { 0 } else { 1 << 30 };
    let limits = ContainerLimits { memory_bytes: 1 << 30, pids: 64, cpus: 1.0, workspace_bytes, ..Default::default() };
    ContainerSpec {
        name: "task-1-1".into(),
        task: Some(1),
        purpose: Purpose::Task,
        user: *USERS.start(),
        image: "sandbox:1".into(),
        subnet: Some(0),
        limits,
        env: Vec::new(),
        profile: "sealed".into(),
        mirror: None,
        layered: false,
    }
}

fn way_out() -> RouterSpec {
    RouterSpec {
        image: "router:1".into(),
        subnets: 2,
        pool: Some("10.90.0.0/24".into()),
        upstream: Some("10.1.2.3:53".into()),
        private: Vec::new(),
    }
}

async fn all_of_it(service: &Service, disk: bool) -> Result<(), Problem> {
    service.router.ensure(&way_out()).await?;
    service.containers.create(&spec(disk)).await?;
    service.containers.start("task-1-1").await
}

#[tokio::test]
async fn what_is_made_is_made_whole_wherever_it_was_cut() {
    for disk in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let whole = engine(None);
        all_of_it(&life(&whole, dir.path()), disk).await.unwrap();
        let wanted = whole.all();
        assert!(wanted.len() > 8 && !wanted.iter().any(|it| it.contains("helper")), "{wanted:?}");
        for kind in [Cut::Before, Cut::After] {
            for at in 0.. {
                let engine = engine(Some((at, kind)));
                let first = all_of_it(&life(&engine, dir.path()), disk).await;
                if !engine.was_cut() {
                    assert!(at > 40, "only {at} calls");
                    break;
                }
                // Another life of the broker continues with what exists.
                let next = life(&engine, dir.path());
                if let Err(why) = all_of_it(&next, disk).await {
                    panic!("{kind:?} {at}: {why}, after {first:?}: {:?}", engine.all());
                }
                next.reaper.reap(&["task-1-1".to_owned()], &[]).await.unwrap();
                assert_eq!(engine.all(), wanted, "{kind:?} {at}, after {first:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_taken_down_is_gone_wherever_it_was_cut() {
    for kind in [Cut::Before, Cut::After] {
        for at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let engine = engine(Some((at, kind)));
            let first = life(&engine, dir.path());
            let made = all_of_it(&first, true).await;
            let taken = first.reaper.teardown().await;
            if !engine.was_cut() {
                assert!(at > 60, "only {at} calls");
                break;
            }
            let next = life(&engine, dir.path());
            next.reaper.teardown().await.unwrap();
            assert_eq!(engine.all(), [""; 0], "{kind:?} {at}, after {made:?} and {taken:?}");
        }
    }
}

/// The requests of a task's life in order, with a mirror and a layered workspace; each is repeated until it succeeds.
async fn a_life_of_requests(service: &dyn Fn() -> Arc<Service>) -> Vec<String> {
    let mirror = ContainerSpec {
        name: "mirror-1".into(),
        task: None,
        purpose: Purpose::Mirror,
        subnet: None,
        mirror: Some("m1".into()),
        ..spec(true)
    };
    let task = ContainerSpec { mirror: Some("m1".into()), layered: true, ..spec(true) };
    let verify = ContainerSpec { name: "verify-1".into(), purpose: Purpose::Verify, subnet: None, ..spec(false) };
    let mut said = Vec::new();
    macro_rules! until_done {
        ($name:literal, $service:ident, $work:expr) => {
            for _ in 0..TRIES {
                let $service = service();
                match $work.await {
                    Ok(done) => {
                        said.push(format!("{} {done:?}", $name));
                        break;
                    }
                    Err(problem) if problem.kind == ProblemKind::Unavailable => {}
                    Err(problem) => panic!("{}: {problem:?} after {said:?}", $name),
                }
            }
        };
    }
    until_done!("way out", it, it.router.ensure(&way_out()));
    until_done!("mirror", it, it.containers.create(&mirror));
    until_done!("fill", it, it.containers.start("mirror-1"));
    until_done!("filled", it, it.containers.remove("mirror-1"));
    until_done!("create", it, it.containers.create(&task));
    until_done!("start", it, it.containers.start("task-1-1"));
    until_done!("pause", it, it.containers.pause("task-1-1"));
    until_done!("unpause", it, it.containers.unpause("task-1-1"));
    until_done!("verify", it, it.containers.create(&verify));
    until_done!("stop", it, it.containers.stop("task-1-1"));
    until_done!("gone", it, it.containers.remove("verify-1"));
    until_done!("router", it, it.router.restart());
    until_done!("kept", it, it.mirrors.remove("m1"));
    until_done!("removed", it, it.containers.remove("task-1-1"));
    until_done!("anew", it, it.containers.create(&task));
    until_done!("reaped", it, async { it.reaper.reap(&["task-1-1".to_owned()], &["m1".to_owned()]).await.map(drop) });
    assert_eq!(said.len(), 16, "{said:?}");
    said
}

/// More failures in a row than any step has.
const TRIES: usize = 1_000;

#[tokio::test]
async fn requests_that_are_tried_until_they_succeed_end_where_uncut_ones_do() {
    let dir = tempfile::tempdir().unwrap();
    let whole = engine(None);
    let said = a_life_of_requests(&|| Arc::new(life(&whole, dir.path()))).await;
    let wanted = whole.all();
    for seed in 1..=40 {
        let cut = Arc::new(MemoryEngine::unsteady(seed, says()));
        // With one life of the broker, or with another for each try.
        let one = Arc::new(life(&cut, dir.path()));
        let next = || if seed % 2 == 0 { one.clone() } else { Arc::new(life(&cut, dir.path())) };
        let again = a_life_of_requests(&next).await;
        assert_eq!((&again, &cut.all()), (&said, &wanted), "seed {seed}");
    }
}

#[tokio::test]
async fn a_way_out_whose_networks_were_removed_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(None);
    let service = life(&engine, dir.path());
    service.router.ensure(&way_out()).await.unwrap();
    let wanted = engine.all();
    engine.end_all();
    engine.prune_networks();
    service.router.ensure(&way_out()).await.unwrap();
    assert_eq!(engine.all(), wanted);
    assert!(service.router.runs().await.unwrap());
}

#[tokio::test]
async fn a_stopped_sandbox_keeps_its_network_although_the_holder_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(None);
    let service = life(&engine, dir.path());
    all_of_it(&service, true).await.unwrap();
    let wanted = engine.all();
    service.containers.stop("task-1-1").await.unwrap();
    service.router.remove().await.unwrap();
    service.reaper.reap(&["task-1-1".to_owned()], &[]).await.unwrap();
    service.router.ensure(&way_out()).await.unwrap();
    // With another network of that name it could never be started again.
    service.containers.start("task-1-1").await.unwrap();
    assert_eq!(engine.all(), wanted);
}
