//! A command that a person has run on a commit (`/test-pr`, `/test-pr-bug`), with the real broker in real containers.

use std::sync::Arc;

use caisson::sandbox::broker::{Broker as _, SocketBroker};
use caisson::sandbox::{AskedRun, LaidOver, PrepareSpec, RunOptions, Sandboxes, Settings, SetupSpec, VerifySpec};
use domain::Commit;
use protocol::broker::ContainerLimits;

use crate::docker::{IMAGE, in_containers};
use crate::world::{KEY, World, commit, url};

const MENDED: &str = "def add(a, b):\n    return a + b\n";
/// Shows the commit, what setup left, what an earlier run would have left, and what can be reached; then leaves everything it can.
const LOOK: &str = "git rev-parse HEAD; git status --short; tail -1 sum.py; cat ~/.tool build/warm; \
    for file in left ~/left /tmp/left later.txt; do [ ! -e \"$file\" ] || echo \"there is $file\"; done; ls /sys/class/net; \
    cat .git/objects/info/alternates 2>/dev/null; \
    python3 -c \"import socket; socket.create_connection(('172.17.0.1', 22), 2)\" 2>&1 | tail -1; \
    (sleep 300 >/dev/null 2>&1 &); echo spoiled | tee left ~/left /tmp/left ~/.tool build/warm sum.py >/dev/null";

fn limits() -> ContainerLimits {
    ContainerLimits { memory_bytes: 512 << 20, tmp_bytes: 32 << 20, ..ContainerLimits::default() }
}

fn asked(kept: Option<&str>) -> RunOptions<'_> {
    RunOptions { setup: None, kept, side: "branch", egress: &[] }
}

fn spec(world: &World, commit: &Commit, command: &str) -> VerifySpec {
    VerifySpec { image: IMAGE.to_owned(), limits: limits(), wall_ms: 30_000, ..world.checks(commit, Some(command)) }
}

async fn fetched(world: &World) {
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
}

/// With a mirror of the repository, or with none, and what the project's setup left; no container is left of making either.
async fn set_up(world: &World, broker: &Arc<SocketBroker>, mirrored: bool) -> (Sandboxes, Option<String>) {
    let mut settings = Settings::new(world.dir.path().join(format!("mirrored-{mirrored}")), IMAGE);
    settings.mirror_from_bytes = if mirrored { 0 } else { u64::MAX };
    let sandboxes = Sandboxes::new(broker.clone(), None, world.repos.clone(), settings, 1).expect("sandboxes");
    let leave = "id -u >build/warm; echo tool >~/.tool".to_owned();
    let spec = PrepareSpec {
        image: IMAGE.to_owned(),
        network: false,
        egress: Vec::new(),
        limits: limits(),
        setup: Some(SetupSpec { commands: vec![leave], commit: world.base.clone(), wall_ms: 900_000 }),
        ..world.spec(1)
    };
    sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    sandboxes.of_tasks.remove(1).await.expect("removed");
    let kept = sandboxes.runs.set_up(&spec).await.expect("set up");
    sandboxes.of_tasks.remove(1).await.expect("removed");
    (sandboxes, kept)
}

/// Runs it, and waits until its container is gone, because the next one of the same commit has the same name.
async fn run(sandboxes: &Sandboxes, spec: &VerifySpec, kept: Option<&str>) -> AskedRun {
    let ran = sandboxes.runs.run_asked(spec, asked(kept)).await.expect("it ran");
    sandboxes.leave().await;
    ran
}

/// Twice, each time as if nothing had run before.
#[tokio::test(flavor = "multi_thread")]
async fn in_containers_a_command_runs_on_exactly_its_commit_with_nothing_of_an_earlier_run_and_no_network() {
    in_containers(
        "asked",
        |_| {},
        |world, broker, _| async move {
            let broker = Arc::new(broker);
            let mended = commit(&world.upstream(), &[("sum.py", MENDED)], "work");
            // The branch has moved on since.
            commit(&world.upstream(), &[("later.txt", "later\n"), ("sum.py", "later\n")], "more");
            fetched(&world).await;
            for mirrored in [true, false] {
                let (sandboxes, kept) = set_up(&world, &broker, mirrored).await;
                let spec = spec(&world, &mended, LOOK);
                for time in ["first", "second"] {
                    let ran = run(&sandboxes, &spec, kept.as_deref()).await;
                    let printed = ran.log.strip_prefix(&format!("$ {LOOK}\n")).expect("the command comes first");
                    let mirror = if mirrored { "/mirror/objects\n" } else { "" };
                    let clean = format!("{mended}\n    return a + b\ntool\n10003\nlo\n{mirror}");
                    let reached = printed.strip_prefix(&clean).unwrap_or_else(|| panic!("{time}: {printed}"));
                    assert!(reached.contains("unreachable"), "{time}: {reached}");
                    assert_eq!((ran.exit.exit_code, ran.exit.at_setup), (Some(0), false), "{time}: {ran:?}");
                }
                assert!(broker.list().await.expect("a list").is_empty(), "a container is left");
            }
        },
    )
    .await;
}

/// The branch adds a test and removes one; a file of the base has the branch's text.
#[tokio::test(flavor = "multi_thread")]
async fn in_containers_the_branchs_tests_are_laid_over_the_bases_sources() {
    in_containers(
        "laid",
        |_| {},
        |world, broker, _| async move {
            let broker = Arc::new(broker);
            let test = "import unittest\nfrom sum import add\n\n\nclass T(unittest.TestCase):\n    def test_more(self):\n        self.assertEqual(add(2, 3), 5)\n";
            std::fs::remove_file(world.upstream().join("test_sum.py")).expect("removed");
            let branch = commit(&world.upstream(), &[("sum.py", MENDED), ("test_more.py", test)], "work");
            fetched(&world).await;
            let command = "git rev-parse HEAD; ls test_*.py; tail -1 sum.py; cat docs/link-target.md; test -x README.md && echo may run; \
                python3 -m unittest -q test_more";
            let file = |path: &str, mode: &str, text: &str| LaidOver {
                path: path.to_owned(),
                mode: mode.to_owned(),
                text: text.to_owned(),
            };
            let laid = [file("docs/link-target.md", "100644", "laid over\n"), file("README.md", "100755", "# Run me\n")];
            for mirrored in [true, false] {
                let (sandboxes, kept) = set_up(&world, &broker, mirrored).await;
                let on_branch = run(&sandboxes, &spec(&world, &branch, command), kept.as_deref()).await;
                assert_eq!(on_branch.exit.exit_code, Some(0), "{on_branch:?}");
                let base = world.base.clone();
                let under = VerifySpec { base: branch.clone(), ..spec(&world, &base, command) };
                let ran = sandboxes.runs.run_asked_under(&under, asked(kept.as_deref()), &laid).await;
                sandboxes.leave().await;
                let (ran, files) = ran.expect("it ran");
                let printed = ran.log.strip_prefix(&format!("$ {command}\n")).expect("the command comes first");
                let seen = format!("{base}\ntest_more.py\n    return a - b\nlaid over\nmay run\n");
                assert!(printed.starts_with(&seen), "not the base's sources under the branch's tests: {printed}");
                assert!(printed.contains("AssertionError: -1 != 5"), "{printed}");
                assert_eq!((ran.exit.exit_code, files), (Some(1), 4), "two that steer tests, two laid over: {ran:?}");
                assert!(broker.list().await.expect("a list").is_empty(), "a container is left");
            }
        },
    )
    .await;
}
