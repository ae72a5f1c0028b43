//! A default installation: the results of a build are on the engine's disk, in a task, its setup and its verification.
//!
//! Needs what `docker.rs` needs, and 10 GB of disk for half a minute.

use std::sync::Arc;

use caisson::config::Process;
use caisson::sandbox::{PrepareSpec, Sandboxes, Settings, SetupSpec, VerifySpec};
use domain::{Action, VerdictKind};
use protocol::runner::{Limits, Status};

use crate::docker::{IMAGE, in_containers};

/// 3 GiB in the workspace and 2 in the home, of incompressible bytes.
const BUILD: &str =
    "set -e; head -c 1M /dev/urandom >build/block; for n in $(seq 512); do cat build/block; done >build/half
    for n in 1 2 3 4 5 6; do cat build/half; done >build/large; for n in 1 2 3 4; do cat build/half; done >~/large
    stat -c %s build/large ~/large; stat -f -c %T build ~ | grep -c tmpfs || true";
const BUILT: &str = "3221225472\n2147483648\n0\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_leaves_five_gib_fits_an_installation_as_it_comes() {
    in_containers(
        "five",
        |_| {},
        |world, broker, _| async move {
            let usual =
                Process::from_layers(std::path::Path::new("caisson.toml"), "", &|_| None).expect("the defaults");
            let limits = usual.sandbox.limits();
            let settings = Settings {
                setup_bytes: usual.sandbox.setup_mib << 20,
                setup_total_bytes: usual.sandbox.setup_total_mib << 20,
                disk_floor_bytes: usual.sandbox.disk_floor_mib << 20,
                ..Settings::new(world.dir.path().join("docker"), IMAGE)
            };
            let sandboxes =
                Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
            // More than a sandbox's memory; it is copied along.
            let leave = "head -c 2200M /dev/zero >build/warm; head -c 100M /dev/zero >~/warm".to_owned();
            let setup = Some(SetupSpec { commands: vec![leave], commit: world.base.clone(), wall_ms: 900_000 });
            let spec = PrepareSpec {
                image: IMAGE.to_owned(),
                network: false,
                egress: Vec::new(),
                limits,
                setup,
                ..world.spec(1)
            };
            sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
            let bash = async |id, command: &str| {
                let limits = Limits { wall_ms: 300_000, output_bytes: 4000 };
                sandboxes
                    .actions
                    .act(1, id, &Action::Bash { command: command.to_owned() }, limits)
                    .await
                    .expect("acted")
                    .outcome
            };
            let warm = bash(1, "stat -c %s build/warm ~/warm; rm build/warm ~/warm").await;
            assert_eq!((warm.text.as_str(), warm.status), ("2306867200\n104857600\n", Status::Ok));
            let built = bash(2, BUILD).await;
            assert_eq!((built.text.as_str(), built.status), (BUILT, Status::Ok));
            sandboxes.of_tasks.remove(1).await.expect("removed");
            let verify = VerifySpec {
                image: IMAGE.to_owned(),
                limits,
                wall_ms: 300_000,
                ..world.checks(&world.base, Some(&format!("mkdir -p build; {BUILD}")))
            };
            let verdict = sandboxes.verification.verify(&verify).await.expect("verified");
            assert_eq!((verdict.kind, verdict.tail.as_str()), (VerdictKind::Passed, BUILT), "{verdict:?}");
            sandboxes.leave().await;
        },
    )
    .await;
}
