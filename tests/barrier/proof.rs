//! What `serve` does with the self-test: it is proven once, stored for this machine in its present state, and failing checks are named.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use caisson::barrier::{BarrierState, Proof};
use caisson::bot::{Prover, barrier_key};
use caisson::git::Repos;
use caisson::sandbox::broker::Broker;
use caisson::sandbox::{Sandboxes, Settings};
use serde_json::json;
use tokio::sync::watch;

use crate::lab::{IMAGE, Lab, Weak, run, runner};

static MADE: AtomicU32 = AtomicU32::new(0);

fn prover(lab: &Lab, broker: Arc<dyn Broker>) -> (Prover, watch::Receiver<BarrierState>) {
    let mut config = lab.config("");
    config.sandbox.network = caisson::config::process::Network::None;
    std::fs::create_dir_all(&config.state_dir).expect("a directory");
    let (repos, settings) = (Repos::new(lab.dir.path().join("repos")), Settings::new(&config.state_dir, IMAGE));
    let sandboxes = Arc::new(Sandboxes::new(broker.clone(), None, repos, settings, 1).expect("sandboxes"));
    Prover::new(Arc::new(config), broker, None, &sandboxes)
}

async fn standing(lab: &Lab, broker: Arc<dyn Broker>) -> BarrierState {
    let (prover, watched) = prover(lab, broker);
    assert!(matches!(&*watched.borrow(), BarrierState::Waiting(_)), "nothing is proven before it was tried");
    prover.run().await;
    watched.borrow().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weakness_is_refused_by_name_and_a_proof_is_kept_for_this_machine_alone() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let weak = |lab: &Arc<Lab>| {
            let change = |body: &mut serde_json::Value, _: &Lab| {
                MADE.fetch_add(1, Ordering::Relaxed);
                body["HostConfig"]["PidsLimit"] = json!(0);
            };
            Arc::new(Weak::new(lab, change))
        };
        let BarrierState::Broken(mismatches) = standing(&lab, weak(&lab)).await else { panic!("it was believed") };
        assert_eq!(mismatches.len(), 1, "{mismatches:?}");
        assert!(mismatches[0].contains("check 23") && mismatches[0].contains("processes: max"), "{mismatches:?}");
        let mut config = lab.config("");
        config.sandbox.network = caisson::config::process::Network::None;
        let key = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        let kept = Proof::last(&config.state_dir).expect("kept");
        assert!(kept.key == key && !kept.shows(&key), "a mismatch is kept for doctor, and is no proof");

        assert_eq!(standing(&lab, lab.broker.clone()).await, BarrierState::Proven);
        assert!(Proof::last(&config.state_dir).expect("kept").shows(&key));
        // Nothing has changed, so nothing is tried and the weakness is not found.
        let before = MADE.load(Ordering::Relaxed);
        assert_eq!(standing(&lab, weak(&lab)).await, BarrierState::Proven);
        assert_eq!(MADE.load(Ordering::Relaxed), before);
        // With another limit the barrier has to be proven again.
        config.sandbox.pids += 1;
        let other = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        assert!(!Proof::last(&config.state_dir).expect("kept").shows(&other));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_hold_is_tried_again_and_holds_once_it_is_mended() {
    static TRIES: AtomicU32 = AtomicU32::new(0);
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let change = |body: &mut serde_json::Value, _: &Lab| {
            if TRIES.fetch_add(1, Ordering::Relaxed) == 0 {
                body["HostConfig"]["PidsLimit"] = json!(0);
            }
        };
        let (prover, mut watched) = prover(&lab, Arc::new(Weak::new(&lab, change)));
        let prover = prover.mended_within(Duration::from_millis(100));
        let proving = tokio::spawn(async move { prover.stay().await });
        assert!(matches!(
            &*watched.wait_for(|it| !matches!(it, BarrierState::Waiting(_))).await.expect("known"),
            BarrierState::Broken(_)
        ));
        assert_eq!(*watched.wait_for(|it| *it == BarrierState::Proven).await.expect("proven"), BarrierState::Proven);
        proving.abort();
        assert_eq!(TRIES.load(Ordering::Relaxed), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outdated_runner_is_named_and_nothing_is_tried_with_it() {
    let Some(runner) = runner() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let old = dir.path().join("old-runner");
    let program = std::fs::read(&runner).expect("read");
    let mark = |version: u32| format!("caisson-runner protocol={version} build=0123456789abcdef;");
    let marks = [
        (mark(protocol::runner::VERSION), "of another build (0123456789abcdef)"),
        (mark(0), "version 0 of the runner's protocol"),
        (String::new(), "it does not say which"),
    ];
    for (mark, said) in marks {
        std::fs::write(&old, remarked(&program, mark.as_bytes())).expect("written");
        let named = old.display().to_string();
        run(old.clone(), move |lab| async move {
            let untouched = |_: &mut serde_json::Value, _: &Lab| panic!("a sandbox was made with it");
            let BarrierState::Refused(why) = standing(&lab, Arc::new(Weak::new(&lab, untouched))).await else {
                panic!("it was tried");
            };
            assert!(why.contains(said) && why.contains(&named) && why.contains("`make build`"), "{why}");
        })
        .await;
    }
}

/// A copy of the program with another version string.
fn remarked(program: &[u8], mark: &[u8]) -> Vec<u8> {
    let own = protocol::runner::MARK.as_bytes();
    let at = program.windows(own.len()).position(|window| window == own).expect("the runner of this checkout");
    let mut program = program.to_owned();
    program[at..at + own.len()].fill(b' ');
    program[at..at + mark.len()].copy_from_slice(mark);
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn each_profile_that_the_configuration_chooses_is_part_of_the_proof() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let mut config = lab.config("");
        config.sandbox.network = caisson::config::process::Network::None;
        let sealed = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        config.sandbox.hardening = caisson::config::process::Hardening::Debug;
        let debug = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        assert_eq!(
            (sealed.profiles, debug.profiles),
            (vec!["sealed".to_owned()], vec!["sealed".to_owned(), "debug".to_owned()])
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernels_look_at_where_packets_come_from_is_part_of_the_proof_for_each_bridge() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let _ground = lab.networked(lab.broker.clone(), "").await;
        let config = lab.config("");
        let before = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        let named = format!("caisson-{}-berth-000", lab.installation);
        let seen = before.machine.clone().expect("with a router").rp_filter;
        assert!(seen.len() == 3 && seen.contains_key(&named), "a task's subnet and two of the test: {seen:?}");
        let id = Command::new("docker").args(["network", "inspect", "-f", "{{.Id}}", &named]).output().expect("docker");
        let bridge = format!("br-{}", &String::from_utf8_lossy(&id.stdout)[..12]);
        let other = if seen[&named] == 2 { "0" } else { "2" };
        let setting = format!("/proc/sys/net/ipv4/conf/{bridge}/rp_filter");
        std::fs::write(&setting, other).expect("set, as root");
        let all = std::fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter").expect("read");
        let after = barrier_key(&config, lab.broker.as_ref()).await.expect("a key");
        // The larger of `all` and the interface's own value is in effect.
        assert_eq!(after == before, all.trim() == "2" && other == "0", "{bridge}: {after:?}");
    })
    .await;
}
