//! The same steps with the real broker and a real engine: one container, one checkpoint, one verification, nothing left.
//!
//! Needs Docker, the image `caisson-sandbox:local` and the static runner; skipped with a message without them, unless
//! `CAISSON_REQUIRE` lists `docker`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use ::broker::{Broker, teardown};
use caisson::sandbox::broker::{Broker as _, SocketBroker};
use caisson::sandbox::{CaptureSpec, Captured, Sandboxes, Settings, SetupSpec, SurveySpec, VerifySpec};
use domain::{Action, VerdictKind};
use protocol::broker::ContainerLimits;
use protocol::runner::{Limits, Status};
use protocol::survey::{Question, Reason};

use crate::artifacts::rules;
use crate::skipped::skipped;
use crate::world::{KEY, World};

pub const IMAGE: &str = "caisson-sandbox:local";

pub fn runner() -> Option<PathBuf> {
    let named = std::env::var_os("CAISSON_RUNNER").map(PathBuf::from);
    let usual =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/static/x86_64-unknown-linux-gnu/small/caisson-runner");
    let runner = named.into_iter().chain([usual]).find(|path| path.is_file());
    let image = Command::new("docker").args(["image", "inspect", "-f", "{{.Id}}", IMAGE]).output();
    let ready = image.is_ok_and(|out| out.status.success());
    if let Some(runner) = runner.filter(|_| ready) {
        return Some(runner);
    }
    skipped("docker", &format!("there is no container engine with {IMAGE}, or no static runner (CAISSON_RUNNER)"));
    None
}

/// Runs a test in an installation of its own on the real engine; everything of it is removed, also after a failure.
pub async fn in_containers<F: Future<Output = ()> + Send + 'static>(
    name: &str,
    change: impl FnOnce(&mut ::broker::Settings),
    road: impl FnOnce(World, SocketBroker, String) -> F,
) {
    let Some(runner) = runner() else { return };
    let world = World::new().await;
    let socket = world.dir.path().join("own/broker.sock");
    let installation = format!("t{}-{name}", std::process::id());
    let mut settings = ::broker::Settings::new(&socket, &installation, runner);
    settings.images = vec![IMAGE.to_owned()];
    change(&mut settings);
    let broker = Broker::bind(settings.clone()).expect("a broker");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(broker.run(async move { drop(stopped.await) }));
    let done = tokio::spawn(road(world, SocketBroker::new(&socket), installation)).await;
    let _ = stop.send(());
    serving.await.expect("the broker ends");
    teardown(settings).await.expect("everything is removed");
    if let Err(panic) = done {
        std::panic::resume_unwind(panic.into_panic());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_road_in_containers() {
    in_containers(
        "trees",
        |_| {},
        |world, broker, _| async move {
            let broker = Arc::new(broker);
            // With a mirror and without one.
            for (state, from) in [("mirrored", 0), ("sent", u64::MAX)] {
                let mut settings = Settings::new(world.dir.path().join(state), IMAGE);
                settings.mirror_from_bytes = from;
                road(&world, broker.clone(), settings).await;
            }
        },
    )
    .await;
}

async fn road(world: &World, broker: Arc<SocketBroker>, settings: Settings) {
    let mirrored = settings.mirror_from_bytes == 0;
    let sandboxes = Sandboxes::new(broker.clone(), None, world.repos.clone(), settings, 1).expect("sandboxes");
    let limits = ContainerLimits { memory_bytes: 512 << 20, tmp_bytes: 32 << 20, ..ContainerLimits::default() };
    let mut spec = world.spec(1);
    (spec.image, spec.network, spec.egress, spec.limits) = (IMAGE.to_owned(), false, Vec::new(), limits);
    let leave =
        "id -u >build/warm; echo tool >~/.tool; mkdir -p ~/.cargo/bin; ln -s ../x ~/.cargo/bin/y; echo gone >stray";
    spec.setup = Some(SetupSpec { commands: vec![leave.to_owned()], commit: world.base.clone(), wall_ms: 900_000 });
    sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    let bash = |id, command: &str| {
        let action = Action::Bash { command: command.to_owned() };
        let sandboxes = &sandboxes;
        async move {
            sandboxes.actions.act(1, id, &action, Limits { wall_ms: 30_000, output_bytes: 4000 }).await.expect("acted")
        }
    };
    let done = bash(1, "id -u; pwd; git status --short; sed -i 's/a - b/a + b/' sum.py").await;
    assert_eq!((done.outcome.text.as_str(), done.outcome.status), ("10003\n/workspace\n", Status::Ok));
    let tried = bash(7, "cat .git/objects/info/alternates; touch /mirror/new; ls .git/objects/pack").await.outcome.text;
    let shown = "/mirror/objects\ntouch: cannot touch '/mirror/new': Read-only file system\n";
    assert_eq!(tried == shown, mirrored, "{tried}");
    let warm = bash(6, "cat build/warm ~/.tool; readlink ~/.cargo/bin/y; stat -c %a ~; ls stray").await.outcome.text;
    assert!(warm.starts_with("10003\ntool\n../x\n700\n") && warm.contains("cannot access 'stray'"), "{warm}");
    look_for_files(world, &sandboxes).await;
    let capture = CaptureSpec { protected: Vec::new(), ..world.capture_spec(1, 1, &world.base) };
    bash(2, "ln -s /etc/passwd link").await;
    let Captured::Refused { reasons } = sandboxes.captures.capture(&capture).await.expect("judged") else {
        panic!("taken")
    };
    assert!(reasons[0].contains("absolute path"), "{reasons:?}");
    sandboxes.of_tasks.open(1).await.expect("open");
    bash(3, "rm link; sleep 300 & true").await;
    let Captured::Commit { commit, files, .. } = sandboxes.captures.capture(&capture).await.expect("captured") else {
        panic!("refused")
    };
    assert_eq!(files.len(), 1, "{files:?}");
    let beside = sandboxes.captures.artifacts(1, &rules(&["build/warm", "**/none"])).await.expect("found");
    assert_eq!(beside.files, [("build/warm".to_owned(), b"10003\n".to_vec())], "ignored, and taken: {beside:?}");
    sandboxes.of_tasks.rest(1).await.expect("resting");
    sandboxes.of_tasks.open(1).await.expect("open again");
    assert_eq!(bash(4, "cat sum.py | tail -1").await.outcome.text, "    return a + b\n");
    sandboxes.of_tasks.rest(1).await.expect("resting");
    sandboxes.of_tasks.stop(1).await.expect("stopped");
    let kept = sandboxes.captures.capture(&world.capture_spec(1, 1_000_000, &commit)).await.expect("taken");
    assert!(matches!(kept, Captured::Unchanged { .. }), "stopped and woken, the tree is the same: {kept:?}");
    sandboxes.of_tasks.open(1).await.expect("open once more");
    let verify = VerifySpec {
        image: IMAGE.to_owned(),
        limits,
        wall_ms: 30_000,
        ..world.checks(&commit, Some("grep -q 'a + b' sum.py && test -s build/warm"))
    };
    let verdict = sandboxes.verification.verify(&verify).await.expect("verified");
    assert_eq!((verdict.kind, verdict.base_exit_code), (VerdictKind::Passed, Some(1)), "{verdict:?}");
    broker.stop("task-1-1").await.expect("stopped by somebody");
    assert!(bash_gone(&sandboxes).await, "told as gone or interrupted");
    sandboxes.of_tasks.remove(1).await.expect("removed");
    sandboxes.leave().await;
    assert!(broker.list().await.expect("a list").is_empty(), "a container is left");
}

/// The runner's program in the container, as a process beside process 1.
async fn look_for_files(world: &World, sandboxes: &Sandboxes) {
    let question = Question { words: "sum.py subtracts".to_owned(), most: 3, texts: 1000, ..Question::default() };
    let spec = SurveySpec { task: 1, repo_key: KEY.to_owned(), commit: world.base.clone(), question };
    let told = sandboxes.looks.survey(&spec).await.expect("surveyed");
    assert_eq!((told.files[0].path.as_str(), &told.files[0].because[0], told.strange), ("sum.py", &Reason::Named, 0));
    assert!(told.files[0].text.as_ref().is_some_and(|text| text.ends_with("a + b\n")), "as it is now: {told:?}");
    assert!(told.files.iter().all(|file| file.path != "build/warm"), "what is ignored: {told:?}");
}

async fn bash_gone(sandboxes: &Sandboxes) -> bool {
    let action = Action::Bash { command: "true".to_owned() };
    match sandboxes.actions.act(1, 5, &action, Limits { wall_ms: 5_000, output_bytes: 100 }).await {
        Ok(acted) => acted.lost.is_some(),
        Err(e) => matches!(e, caisson::sandbox::SandboxError::Gone(_)),
    }
}
