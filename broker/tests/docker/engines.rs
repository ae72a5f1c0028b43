//! Missing features of an engine are named when the broker starts, and it refuses to start.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use caisson_broker::{Broker, Gpus, Settings, teardown};
use protocol::broker::{EngineInfo, Problem, ProblemKind, Purpose, Request, VERSION};

use crate::lab::{IMAGE, absent, run, shell, spec};
use crate::skipped::skipped;

/// The broker's check with these settings; nothing of it is left.
async fn checked(change: impl FnOnce(&mut Settings)) -> Result<(), Problem> {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().file_name().unwrap().to_string_lossy().to_lowercase();
    let installation = format!("t{}-{}", std::process::id(), own.trim_start_matches('.'));
    let mut settings = Settings::new(dir.path().join("own/broker.sock"), installation, shell());
    settings.images = vec![IMAGE.into()];
    change(&mut settings);
    let broker = Broker::bind(settings.clone()).unwrap();
    let said = broker.check().await;
    drop(broker);
    let _ = teardown(settings).await;
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_the_engine_has_not_is_refused_by_name_before_anything_is_served() {
    if absent(IMAGE) {
        return;
    }
    let problem = checked(|settings| settings.runtime = Some("no-such-runtime".into())).await.unwrap_err();
    assert!(problem.kind == ProblemKind::Refused && problem.text.contains("\"no-such-runtime\""), "{problem}");
    // It names the available ones, and accepts these.
    assert!(problem.text.contains("runc"), "{problem}");
    checked(|settings| settings.runtime = Some("runc".into())).await.unwrap();
    // A broker that was started before its engine reports it when asked.
    run(
        |settings| settings.runtime = Some("no-such-runtime".into()),
        async |lab| {
            let problem = lab.ask::<EngineInfo>(&Request::Hello { version: VERSION }).await.unwrap_err();
            assert!(problem.text.contains("\"no-such-runtime\""), "{problem}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_runtime_is_the_one_containers_get_and_another_one_is_another_proof() {
    if absent(IMAGE) {
        return;
    }
    let hello = Request::Hello { version: VERSION };
    let (said, told) = tokio::sync::oneshot::channel();
    run(
        |_| {},
        async move |lab| said.send(lab.ask::<EngineInfo>(&Request::Hello { version: VERSION }).await.unwrap()).unwrap(),
    )
    .await;
    let usual = told.await.unwrap();
    run(
        |settings| settings.runtime = Some("runc".into()),
        async move |lab| {
            let info: EngineInfo = lab.ask(&hello).await.unwrap();
            assert_eq!((info.runtime.as_deref(), info.gpus.as_str()), (Some("runc"), "none"));
            assert_ne!(info.daemon, usual.daemon, "what was proven with the engine's default holds for that alone");
            lab.done(Request::Create(spec("named"))).await;
            let shape = "{{.HostConfig.Runtime}} {{.HostConfig.DeviceRequests}}";
            assert_eq!(lab.docker(&["inspect", "-f", shape, &lab.box_name("named")]), "runc []");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gpus_are_refused_where_the_engine_has_no_driver_and_stay_out_of_every_other_container() {
    if absent(IMAGE) {
        return;
    }
    match checked(|settings| settings.gpus = Gpus::All).await {
        Ok(()) => skipped("no-gpu", "this engine has GPUs, so it refuses none"),
        Err(problem) => {
            assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
            assert!(problem.text.contains("`--gpus all`") && problem.text.contains("toolkit"), "{problem}");
        }
    }
    run(
        |settings| settings.gpus = Gpus::All,
        async |lab| {
            for (name, purpose, asked) in [("t", Purpose::Task, "1"), ("v", Purpose::Verify, "0")] {
                let mut wanted = spec(name);
                (wanted.purpose, wanted.user) = (purpose, 10_003);
                lab.done(Request::Create(wanted)).await;
                let shape = "{{len .HostConfig.DeviceRequests}}";
                assert_eq!(lab.docker(&["inspect", "-f", shape, &lab.box_name(name)]), asked, "{name}");
            }
            // Verification runs without a GPU.
            lab.done(Request::Start { name: "v".into() }).await;
        },
    )
    .await;
}

struct Podman(Child, PathBuf);

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        // Podman mounts its store over itself and leaves the mount behind.
        let _ = Command::new("umount").arg(self.1.join("overlay")).stderr(Stdio::null()).status();
    }
}

/// Podman's service with storage of its own; `None` with a message without Podman.
fn podman(dir: &Path) -> Option<Podman> {
    let address = format!("unix://{}", dir.join("podman.sock").display());
    let mut command = Command::new("podman");
    command.arg("--root").arg(dir.join("root")).arg("--runroot").arg(dir.join("run"));
    command.args(["system", "service", "--time=0", &address]).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(Podman(child, dir.join("root"))),
        Err(error) => {
            skipped("podman", &format!("podman cannot be started ({error})"));
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn podman_is_named_and_refused_with_what_does_not_work_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_podman) = podman(dir.path()) else { return };
    let socket = dir.path().join("podman.sock");
    for _ in 0..150 {
        if socket.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let problem = checked(|settings| settings.engine = socket).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
    assert!(problem.text.contains("the engine is Podman ") && problem.text.contains("seccomp"), "{problem}");
}
